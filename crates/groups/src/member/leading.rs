//! What the first member of a group does beside its own part: it speaks for the group (thesis §3.3.8, §4.3.2.10.7).

use super::Member;
use crate::sync_gate::SyncGate;
use crate::{
    Address, Batch, ClientId, GroupEpoch, Message, Mode, NodeId, ObjectKey, ObjectState, arbitrate,
};
use domain::{Bounds, SimTime};
use std::collections::{BTreeMap, BTreeSet};

/// A leader's memory.
#[derive(Debug)]
pub(super) struct Leader {
    /// The last that was told of every object.
    repository: BTreeMap<ObjectKey, ObjectState>,
    /// Who said what of an object lately, for arbitration.
    opinions: BTreeMap<ObjectKey, BTreeMap<NodeId, ObjectState>>,
    avatars: BTreeMap<ObjectKey, SentAvatar>,
    to_coordinator: Batch,
    updates_to_coordinator: Batch,
    to_nodes: BTreeMap<NodeId, BTreeMap<ObjectKey, (ObjectState, bool)>>,
    corrections: BTreeMap<NodeId, Batch>,
    to_clients: BTreeMap<ClientId, Batch>,
    results_to_clients: BTreeMap<ClientId, Batch>,
    gate: SyncGate,
    next_update: SimTime,
    suppressed: u64,
}

/// An avatar as the group's members were last told of it.
#[derive(Debug)]
struct SentAvatar {
    state: ObjectState,
    responsible: Vec<NodeId>,
    at: SimTime,
}

impl Leader {
    pub(super) fn new(iteration: u64, now: SimTime) -> Self {
        Self {
            repository: BTreeMap::new(),
            opinions: BTreeMap::new(),
            avatars: BTreeMap::new(),
            to_coordinator: Batch::default(),
            updates_to_coordinator: Batch::default(),
            to_nodes: BTreeMap::new(),
            corrections: BTreeMap::new(),
            to_clients: BTreeMap::new(),
            results_to_clients: BTreeMap::new(),
            gate: SyncGate::new(iteration),
            next_update: now,
            suppressed: 0,
        }
    }

    pub(super) fn seed(&mut self, objects: &[ObjectState]) {
        for state in objects {
            let known = self.repository.entry(state.key).or_insert(*state);
            if state.version > known.version
                || (!state.key.is_persistent() && state.stamp > known.stamp)
            {
                *known = *state;
            }
        }
    }

    pub(super) fn forget_avatars(&mut self, there: &BTreeSet<ObjectKey>) {
        self.repository
            .retain(|key, _| key.is_persistent() || there.contains(key));
        self.avatars.retain(|key, _| there.contains(key));
    }
}

impl Member {
    /// The group has started and we lead it: everyone hears the avatars and what it does not hold.
    pub(super) fn begin_leading(&mut self, now: SimTime) {
        let leader = self
            .leader
            .as_mut()
            .expect("it was made when the allocation came");
        leader.gate = SyncGate::new(0);
        leader.next_update = now;
        leader.opinions.clear();
        leader.to_nodes.clear();
        leader.corrections.clear();
        leader.avatars.clear();
        let avatars: Vec<ObjectState> = leader
            .repository
            .values()
            .filter(|s| !s.key.is_persistent())
            .copied()
            .collect();
        for state in avatars {
            self.route_avatar(now, state);
        }
    }

    /// Our own results go to the leader, or to ourselves if that is us.
    pub(super) fn report(&mut self, now: SimTime) {
        let Some(epoch) = self.epoch() else { return };
        let synchronised = self
            .environment
            .as_ref()
            .is_some_and(|e| e.mode == Mode::Synchronised);
        if self.results.is_empty() && !synchronised {
            return;
        }
        let states = std::mem::take(&mut self.results).finish();
        let (iteration, id) = (
            self.done,
            self.id.expect("who has an allocation has a name"),
        );
        match self.leader_of_term() {
            Some(leader) if leader == id => self.take_results(now, id, iteration, &states),
            Some(leader) => crate::outbox::in_parts(states, |states| {
                self.tell_node(
                    leader,
                    Message::Results {
                        epoch,
                        iteration,
                        states,
                    },
                );
            }),
            None => {}
        }
    }

    pub(super) fn member_results(
        &mut self,
        now: SimTime,
        node: NodeId,
        epoch: GroupEpoch,
        iteration: u64,
        states: &[ObjectState],
    ) {
        if !self.is_ours(node, epoch) {
            return;
        }
        if !self.is_leader() || self.leader.is_none() {
            self.rejections.misdirected += 1;
            return;
        }
        self.heard.insert(node, now);
        self.take_results(now, node, iteration, states);
    }

    fn take_results(&mut self, now: SimTime, node: NodeId, iteration: u64, states: &[ObjectState]) {
        for state in states {
            if !self.objects.contains_key(&state.key) {
                self.rejections.unknown_object += 1;
            } else if !state.is_sane() {
                self.rejections.impossible_state += 1;
            } else if state.key.is_persistent() {
                self.object_result(node, *state);
            } else {
                self.avatar_result(now, *state);
            }
        }
        if let Some(leader) = &mut self.leader {
            leader.gate.reported(node, iteration);
        }
        self.next_iteration(now);
    }

    /// A holder tells its object's state; who merely has a copy of it gives an opinion (ST-38).
    fn object_result(&mut self, node: NodeId, state: ObjectState) {
        let extent = f64::from(self.objects[&state.key].info.extent_m);
        let threshold_m = self.config.theta_intra * 2.0 * extent;
        let Some(leader) = &mut self.leader else {
            return;
        };
        if state.version.author == node {
            let known = leader.repository.entry(state.key).or_insert(state);
            if state.version < known.version {
                self.rejections.stale_state += 1;
                return;
            }
            *known = state;
            leader.to_coordinator.put(state);
        }
        let opinions = leader.opinions.entry(state.key).or_default();
        opinions.insert(node, state);
        if opinions.len() < 2 {
            return;
        }
        let weigh = |(who, s): (&NodeId, &ObjectState)| {
            (*s, if s.version.author == *who { 2.0 } else { 1.0 })
        };
        let reports: Vec<(ObjectState, f64)> = opinions.iter().map(weigh).collect();
        if let Some(truth) = arbitrate(&reports, threshold_m) {
            for who in opinions.keys() {
                leader.corrections.entry(*who).or_default().put(truth);
            }
            leader.opinions.remove(&state.key);
        }
    }

    /// An avatar was hit: its client hears it from us if it is one of ours; the coordinator always does (ST-36).
    fn avatar_result(&mut self, now: SimTime, state: ObjectState) {
        let ours = state.key.owner().filter(|client| self.is_local(*client));
        let Some(leader) = &mut self.leader else {
            return;
        };
        leader.to_coordinator.put(state);
        leader.repository.insert(state.key, state);
        if let Some(client) = ours {
            leader
                .results_to_clients
                .entry(client)
                .or_default()
                .put(state);
        }
        self.route_avatar(now, state);
    }

    /// Is this client's node in our group?
    fn is_local(&self, client: ClientId) -> bool {
        let host = self.clients.get(&client).and_then(|info| info.host);
        let group = |node: NodeId| self.nodes.get(&node).map(|info| info.group);
        let ours = self.id.and_then(group);
        ours.is_some() && host.and_then(group) == ours
    }

    /// A client tells us what its avatars do.
    pub(super) fn avatars_from_client(
        &mut self,
        now: SimTime,
        from: Address,
        states: &[ObjectState],
    ) {
        let client = self
            .clients
            .values()
            .find(|info| info.address == from)
            .map(|info| info.client);
        let Some(client) = client else {
            self.rejections.stranger += 1;
            return;
        };
        if self.leader.is_none() || !self.is_local(client) {
            self.rejections.misdirected += 1;
            return;
        }
        for state in states {
            if state.key.owner() != Some(client) {
                // It speaks for someone else; perhaps for whoever was at this address before it.
                self.rejections.stranger += 1;
            } else if let Some(fresh) = self.fresh_avatar(state) {
                self.accept_avatar(now, fresh, true);
            }
        }
        self.next_iteration(now);
    }

    /// The coordinator tells us what avatars elsewhere do.
    pub(super) fn avatars_from_outside(&mut self, now: SimTime, states: &[ObjectState]) {
        if self.leader.is_none() {
            self.rejections.misdirected += 1;
            return;
        }
        for state in states {
            if let Some(fresh) = self.fresh_avatar(state) {
                self.accept_avatar(now, fresh, false);
            }
        }
        self.next_iteration(now);
    }

    /// An avatar's state, if there is such an avatar and this is news of it (ST-51).
    fn fresh_avatar(&mut self, state: &ObjectState) -> Option<ObjectState> {
        let announced = self
            .objects
            .get(&state.key)
            .is_some_and(|known| known.info.class == crate::ObjectClass::Avatar);
        let leader = self.leader.as_ref()?;
        let stale = leader
            .repository
            .get(&state.key)
            .is_some_and(|known| state.stamp <= known.stamp);
        match (announced, state.is_sane(), stale) {
            (false, ..) => self.rejections.unknown_object += 1,
            (_, false, _) => self.rejections.impossible_state += 1,
            (_, _, true) => self.rejections.stale_state += 1,
            _ => return Some(*state),
        }
        None
    }

    fn accept_avatar(&mut self, now: SimTime, state: ObjectState, from_client: bool) {
        let leader = self.leader.as_mut().expect("the caller has looked");
        leader.repository.insert(state.key, state);
        leader.gate.input();
        // As its client last said: an extrapolation everyone can make is not worth a message (ST-46).
        let refresh = SimTime::from_secs(self.config.refresh_secs);
        let expected = leader.avatars.get(&state.key).is_some_and(|sent| {
            let still = now.since(sent.at) < refresh;
            still
                && self.config.dead_reckoning
                && sent.state.deviation(&state) <= self.config.suppress_m
        });
        if expected && !self.responsibility_changes(&state) {
            self.leader.as_mut().expect("still there").suppressed += 1;
            return;
        }
        let owner = state.key.owner();
        let hosted: Vec<ClientId> = self
            .clients
            .keys()
            .copied()
            .filter(|c| Some(*c) != owner && self.is_local(*c))
            .collect();
        let leader = self.leader.as_mut().expect("still there");
        if from_client {
            leader.updates_to_coordinator.put(state);
        }
        for client in hosted {
            leader.to_clients.entry(client).or_default().put(state);
        }
        self.route_avatar(now, state);
    }

    fn responsible(&self, state: &ObjectState) -> Vec<NodeId> {
        let extent = self
            .objects
            .get(&state.key)
            .map_or(0.0, |known| f64::from(known.info.extent_m));
        match (&self.current, self.division()) {
            (Some(term), Some(division)) => term
                .allocation
                .owners_touching(&division, &Bounds::of_sphere(state.position, extent)),
            _ => Vec::new(),
        }
    }

    fn responsibility_changes(&self, state: &ObjectState) -> bool {
        let sent = self
            .leader
            .as_ref()
            .and_then(|leader| leader.avatars.get(&state.key));
        sent.is_none_or(|sent| sent.responsible != self.responsible(state))
    }

    /// To the members responsible for it now, and to those who were, so that they let go (ST-37).
    fn route_avatar(&mut self, now: SimTime, state: ObjectState) {
        let responsible = self.responsible(&state);
        let Some(leader) = &mut self.leader else {
            return;
        };
        let before = leader
            .avatars
            .remove(&state.key)
            .map(|sent| sent.responsible)
            .unwrap_or_default();
        for node in &responsible {
            leader
                .to_nodes
                .entry(*node)
                .or_default()
                .insert(state.key, (state, true));
        }
        for node in before.iter().filter(|node| !responsible.contains(node)) {
            leader
                .to_nodes
                .entry(*node)
                .or_default()
                .insert(state.key, (state, false));
        }
        leader.avatars.insert(
            state.key,
            SentAvatar {
                state,
                responsible,
                at: now,
            },
        );
    }

    /// How many avatar updates this leader has held back because everyone can extrapolate them.
    pub fn suppressed_updates(&self) -> u64 {
        self.leader.as_ref().map_or(0, |leader| leader.suppressed)
    }

    /// Groups differed, and the coordinator says what is true: the members who have the object hear it.
    pub(super) fn corrected_from_outside(
        &mut self,
        _now: SimTime,
        epoch: GroupEpoch,
        states: &[ObjectState],
    ) {
        if self.epoch() != Some(epoch) {
            self.rejections.wrong_epoch += 1;
            return;
        }
        if !self.is_leader() || self.leader.is_none() {
            self.rejections.misdirected += 1;
            return;
        }
        let members = self.members();
        for state in states {
            if !self.objects.contains_key(&state.key) {
                self.rejections.unknown_object += 1;
            } else if !state.is_sane() {
                self.rejections.impossible_state += 1;
            } else {
                let leader = self.leader.as_mut().expect("we lead");
                for node in &members {
                    leader.corrections.entry(*node).or_default().put(*state);
                }
            }
        }
    }

    /// Synchronised operation: if all have reported and there is something new, everyone goes on (ST-44).
    fn next_iteration(&mut self, now: SimTime) {
        let synchronised = self
            .environment
            .as_ref()
            .is_some_and(|e| e.mode == Mode::Synchronised);
        if !synchronised || self.pending.is_some() || !self.is_leader() {
            return;
        }
        let members = self.members();
        let Some(leader) = &mut self.leader else {
            return;
        };
        if let Some(iteration) = leader.gate.next(members.iter().copied()) {
            let mut out = std::mem::take(&mut leader.to_nodes);
            for node in members {
                let states = out
                    .remove(&node)
                    .unwrap_or_default()
                    .into_values()
                    .collect();
                self.dispatch(now, node, iteration, states);
            }
        }
    }

    fn dispatch(
        &mut self,
        _now: SimTime,
        node: NodeId,
        iteration: u64,
        states: Vec<(ObjectState, bool)>,
    ) {
        let epoch = self.epoch().expect("a leader has an allocation");
        if Some(node) == self.id {
            self.take_dispatch(iteration, &states);
        } else {
            self.tell_node(
                node,
                Message::Dispatch {
                    epoch,
                    iteration,
                    states,
                },
            );
        }
    }

    pub(super) fn flush_leader(&mut self, now: SimTime) {
        let Some(leader) = &mut self.leader else {
            return;
        };
        let updates = std::mem::take(&mut leader.updates_to_coordinator);
        let results = std::mem::take(&mut leader.to_coordinator);
        let to_clients = std::mem::take(&mut leader.to_clients);
        let results_to_clients = std::mem::take(&mut leader.results_to_clients);
        // What a leader in preparation hears from clients passes on; everything else waits for the start.
        if !updates.is_empty() {
            let states = updates.finish();
            self.tell_coordinator(Message::AvatarUpdate { states });
        }
        for (client, batch) in to_clients {
            self.tell_client(
                client,
                Message::AvatarUpdate {
                    states: batch.finish(),
                },
            );
        }
        for (client, batch) in results_to_clients {
            self.tell_client(
                client,
                Message::AvatarResult {
                    states: batch.finish(),
                },
            );
        }
        if !self.is_leader() {
            return;
        }
        let epoch = self.epoch().expect("a leader has an allocation");
        if !results.is_empty() {
            let iteration = self.done;
            crate::outbox::in_parts(results.finish(), |states| {
                self.tell_coordinator(Message::Results {
                    epoch,
                    iteration,
                    states,
                });
            });
        }
        self.flush_to_members(now, epoch);
    }

    fn flush_to_members(&mut self, now: SimTime, epoch: GroupEpoch) {
        let synchronised = self
            .environment
            .as_ref()
            .is_some_and(|e| e.mode == Mode::Synchronised);
        let leader = self.leader.as_mut().expect("the caller has looked");
        let iteration = leader.gate.iteration();
        let corrections = std::mem::take(&mut leader.corrections);
        let to_nodes = if synchronised {
            BTreeMap::new()
        } else {
            std::mem::take(&mut leader.to_nodes)
        };
        let due = now >= leader.next_update;
        for (node, states) in to_nodes {
            self.dispatch(now, node, iteration, states.into_values().collect());
        }
        for (node, batch) in corrections {
            let states = batch.finish();
            match Some(node) == self.id {
                true => states
                    .iter()
                    .for_each(|state| self.take_correction(now, state)),
                false => self.tell_node(node, Message::Correction { epoch, states }),
            }
        }
        if due {
            self.update_members(now, epoch);
        }
    }

    /// Everyone hears what it does not hold, so that it can go on alone if it must (ST-39).
    fn update_members(&mut self, now: SimTime, epoch: GroupEpoch) {
        let peers = self.peers();
        let refresh = SimTime::from_secs(self.config.refresh_secs);
        let leader = self.leader.as_mut().expect("the caller has looked");
        leader.next_update = now + refresh;
        // Opinions that were alone for so long are no disagreement.
        leader.opinions.clear();
        let all: Vec<ObjectState> = leader.repository.values().copied().collect();
        for node in peers {
            crate::outbox::in_parts(all.clone(), |states| {
                self.tell_node(node, Message::NodeUpdate { epoch, states })
            });
        }
    }
}
