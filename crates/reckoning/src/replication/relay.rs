//! The objects a server knows: its own and its clients', who owns which, and who is told of a change.

use super::dr_object::{DrObject, ObjectError, Timing};
use super::fair::FairDistribution;
use super::link::Link;
use super::scope::{ClientId, Scope, Viewer};
use crate::DrVector;
use crate::codec::{GhostUpdate, StateBits};
use crate::fairness::PolicyTag;
use crate::motion::{Rejected, TrueState};
use domain::{BodyId, SimTime};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Why an object's news was refused; the object is as before.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NewsError {
    /// Somebody else owns it.
    #[error("{0} belongs to somebody else")]
    NotYours(BodyId),
    /// It was never introduced.
    #[error("{0} was never introduced")]
    Unknown(BodyId),
    /// No more objects are accepted from there.
    #[error("{0} would be one object too many")]
    TooMany(BodyId),
    /// Its vector is not believable.
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

#[derive(Debug)]
struct Relayed {
    object: DrObject,
    /// `None`: the server itself.
    owner: Option<ClientId>,
    /// Who has it in scope.
    watchers: BTreeSet<ClientId>,
}

impl Relayed {
    fn new(object: DrObject, owner: Option<ClientId>) -> Self {
        Self {
            object,
            owner,
            watchers: BTreeSet::new(),
        }
    }
}

/// All objects of a server.
#[derive(Debug)]
pub(super) struct Relay {
    timing: Timing,
    objects: BTreeMap<BodyId, Relayed>,
    fair: Option<FairDistribution>,
}

impl Relay {
    pub(super) fn new(timing: Timing, fair: Option<FairDistribution>) -> Self {
        Self {
            timing,
            objects: BTreeMap::new(),
            fair,
        }
    }

    pub(super) fn get(&self, id: BodyId) -> Option<&DrObject> {
        self.objects.get(&id).map(|relayed| &relayed.object)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = BodyId> {
        self.objects.keys().copied()
    }

    pub(super) fn fair(&self) -> Option<&FairDistribution> {
        self.fair.as_ref()
    }

    pub(super) fn fair_mut(&mut self) -> Option<&mut FairDistribution> {
        self.fair.as_mut()
    }

    pub(super) fn add_own(&mut self, object: DrObject) -> Result<(), ObjectError> {
        let id = object.id();
        if !object.is_owned() {
            return Err(ObjectError::NotOwned(id));
        }
        if self.objects.contains_key(&id) {
            return Err(ObjectError::Exists(id));
        }
        self.objects.insert(id, Relayed::new(object, None));
        Ok(())
    }

    pub(super) fn observe(
        &mut self,
        now: SimTime,
        id: BodyId,
        state: &TrueState,
    ) -> Result<Option<DrVector>, ObjectError> {
        let relayed = self.objects.get_mut(&id).ok_or(ObjectError::Unknown(id))?;
        relayed.object.observe(now, state)
    }

    pub(super) fn set_state(
        &mut self,
        id: BodyId,
        bit: u8,
        bytes: Vec<u8>,
    ) -> Result<StateBits, ObjectError> {
        let relayed = self.objects.get_mut(&id).ok_or(ObjectError::Unknown(id))?;
        relayed.object.set_state(bit, bytes)
    }

    pub(super) fn remove(&mut self, id: BodyId) -> bool {
        if let Some(fair) = &mut self.fair {
            fair.remove(id);
        }
        self.objects.remove(&id).is_some()
    }

    fn owned_by(&self, client: ClientId) -> Vec<BodyId> {
        let theirs = |(_, relayed): &(&BodyId, &Relayed)| relayed.owner == Some(client);
        self.objects
            .iter()
            .filter(theirs)
            .map(|(id, _)| *id)
            .collect()
    }

    pub(super) fn is_owned_by(&self, id: BodyId, client: ClientId) -> bool {
        let relayed = self.objects.get(&id);
        relayed.is_some_and(|relayed| relayed.owner == Some(client))
    }

    /// A client's news about an object of its own, which is perhaps new or another one under an old id (`afresh`). Says which
    /// bits changed.
    pub(super) fn handle_update(
        &mut self,
        now: SimTime,
        from: ClientId,
        update: &GhostUpdate,
        afresh: bool,
        delay: SimTime,
        max_owned: usize,
    ) -> Result<StateBits, NewsError> {
        let id = update.entity;
        let known = self.objects.get(&id);
        let mut object = match (known, update.introduction) {
            (Some(known), _) if known.owner != Some(from) => return Err(NewsError::NotYours(id)),
            (Some(known), _) if !afresh => known.object.clone(),
            (None, Some(_)) if self.owned_by(from).len() >= max_owned => {
                return Err(NewsError::TooMany(id));
            }
            (_, Some(new)) => DrObject::ghost(id).with_class(new.class),
            (_, None) => return Err(NewsError::Unknown(id)),
        };
        // On a copy, so that a vector that is refused leaves no trace of the rest either.
        let changed = apply(&mut object, now, update, delay)?;
        match self.objects.get_mut(&id) {
            Some(known) if !afresh => known.object = object,
            _ => {
                self.remove(id);
                self.objects.insert(id, Relayed::new(object, Some(from)));
            }
        }
        Ok(changed)
    }

    /// Who is to be told of a new vector?
    pub(super) fn recipients(&mut self, now: SimTime, vector: &DrVector) -> Vec<ClientId> {
        match &mut self.fair {
            Some(fair) => fair.trigger(now, vector),
            None => self.watchers(vector.entity),
        }
    }

    /// Who has an object in scope?
    pub(super) fn watchers(&self, id: BodyId) -> Vec<ClientId> {
        let relayed = self.objects.get(&id);
        relayed.map_or_else(Vec::new, |one| one.watchers.iter().copied().collect())
    }

    /// A client is gone; says which objects were its own.
    pub(super) fn dismiss(&mut self, client: ClientId) -> Vec<BodyId> {
        for (id, relayed) in &mut self.objects {
            relayed.watchers.remove(&client);
            if let Some(fair) = &mut self.fair {
                fair.leave(client, *id);
            }
        }
        self.owned_by(client)
    }

    /// The scope query for one client: what comes into its view, what leaves it.
    pub(super) fn query(
        &mut self,
        now: SimTime,
        client: ClientId,
        link: &mut Link,
        scope: &dyn Scope,
    ) {
        let own = self.objects.values().find(|one| one.owner == Some(client));
        let viewer = Viewer {
            client,
            position: own.and_then(|own| Some(own.object.place(now)?.position)),
        };
        let gone: Vec<_> = link
            .ghosts
            .in_scope()
            .filter(|id| !self.objects.contains_key(id))
            .collect();
        gone.into_iter().for_each(|id| link.ghosts.leave(id));
        for (id, relayed) in &mut self.objects {
            let (object, owner) = (&relayed.object, relayed.owner);
            let seen = link.ghosts.has(*id);
            let importance = match owner == Some(client) {
                true => None,
                false => scope.importance(&viewer, object, seen, now),
            };
            match importance {
                Some(importance) => {
                    if let (false, Some(fair)) = (seen, &mut self.fair) {
                        fair.join(now, client, *id);
                    }
                    let (class, bits) = (object.class(), object.bits());
                    link.ghosts.enter(now, *id, class, bits, importance);
                    relayed.watchers.insert(client);
                }
                None if seen => {
                    link.ghosts.leave(*id);
                    relayed.watchers.remove(&client);
                    if let Some(fair) = &mut self.fair {
                        fair.leave(client, *id);
                    }
                }
                None => {}
            }
        }
    }

    /// What a packet to this client, leaving now, says about an object.
    pub(super) fn update_for(
        &self,
        now: SimTime,
        client: ClientId,
        id: BodyId,
        bits: StateBits,
    ) -> Option<GhostUpdate> {
        let object = self.get(id)?;
        let mut update = update_of(object, now, bits, self.timing)?;
        let allotted = self
            .fair
            .as_ref()
            .and_then(|fair| fair.allotted(client, id));
        if let (Some((_, vector)), Some(allotted), Timing::Timestamped) =
            (&mut update.vector, allotted, self.timing)
        {
            *vector = allotted;
        }
        Some(update)
    }
}

/// The state of an object behind these bits, as a packet that leaves now says it.
pub(super) fn update_of(
    object: &DrObject,
    now: SimTime,
    bits: StateBits,
    timing: Timing,
) -> Option<GhostUpdate> {
    let vector = match bits.contains(StateBits::VECTOR) {
        true => object.vector_to_send(now, timing),
        false => None,
    };
    Some(GhostUpdate {
        entity: object.id(),
        introduction: None,
        vector: vector.map(|vector| (PolicyTag::default(), vector)),
        timed: timing == Timing::Timestamped,
        state: object.states(bits),
    })
}

/// Takes an update in; says which bits changed. A stale vector changes nothing and is no error.
pub(super) fn apply(
    object: &mut DrObject,
    now: SimTime,
    update: &GhostUpdate,
    delay: SimTime,
) -> Result<StateBits, Rejected> {
    let mut changed = StateBits::NONE;
    if let Some((_, vector)) = &update.vector {
        match object.receive(now, vector, (!update.timed).then_some(delay)) {
            Ok(()) => changed = StateBits::VECTOR,
            Err(Rejected::Stale { .. }) => {}
            Err(rejected) => return Err(rejected),
        }
    }
    for (bit, bytes) in &update.state {
        // Sizes and bits were checked by the decoder.
        let bits = object.set_state(*bit, bytes.clone());
        changed = changed.with(bits.unwrap_or_default());
    }
    Ok(changed)
}
