//! What a member knows of objects, which ones it holds, and what it tells the other members of them.

use super::{Member, Term};
use crate::{
    Address, Batch, GroupEpoch, Message, NodeId, ObjectClass, ObjectInfo, ObjectKey, ObjectState,
    Version,
};
use domain::{Bounds, SimTime};
use std::collections::BTreeMap;

/// One object, as this member knows it.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) info: ObjectInfo,
    pub(super) state: ObjectState,
    /// We are its holder: the one who tells what becomes of it.
    pub(super) held: bool,
    /// It reaches into our part, and its holder keeps us informed.
    replica: bool,
    /// What was last heard of it from someone who held it.
    heard: Version,
    /// Something has happened to it that nobody could foresee.
    changed: bool,
    told_at: SimTime,
    /// The allocation gave it to us and its former holder has not said its last word yet: from which version on it may, and
    /// until when.
    awaits: Option<(Version, SimTime)>,
    /// A state was ever heard.
    placed: bool,
}

impl Known {
    fn new(info: ObjectInfo) -> Self {
        Self {
            info,
            state: ObjectState::at_rest(info.key, glam::DVec3::ZERO),
            held: false,
            replica: false,
            heard: Version::default(),
            changed: false,
            told_at: SimTime::ZERO,
            awaits: None,
            placed: false,
        }
    }

    fn bounds(&self) -> Bounds {
        Bounds::of_sphere(self.state.position, f64::from(self.info.extent_m))
    }

    /// A new allocation begins.
    pub(super) fn start(
        &mut self,
        epoch: GroupEpoch,
        me: NodeId,
        held: bool,
        awaits: Option<(Version, SimTime)>,
    ) {
        self.held = held;
        self.replica = false;
        self.awaits = awaits;
        if held {
            self.state.version = Version {
                epoch,
                count: 1,
                author: me,
            };
            self.heard = self.state.version;
            // The coordinator hears soon who has it.
            self.changed = true;
        }
    }

    fn adopt(&mut self, state: ObjectState) {
        self.heard = self.heard.max(state.version);
        self.state = state;
        self.placed = true;
    }
}

impl Member {
    pub(super) fn learn_objects(&mut self, infos: &[ObjectInfo]) {
        for info in infos {
            self.objects
                .entry(info.key)
                .or_insert_with(|| Known::new(*info));
        }
    }

    /// Avatars come and go with their clients.
    pub(super) fn learn_avatars(&mut self, infos: &[ObjectInfo]) {
        self.learn_objects(infos);
        let there: std::collections::BTreeSet<ObjectKey> =
            infos.iter().map(|info| info.key).collect();
        self.objects
            .retain(|key, _| key.is_persistent() || there.contains(key));
        if let Some(leader) = &mut self.leader {
            leader.forget_avatars(&there);
        }
    }

    /// What is to be stepped now: everything while the whole world is ours, else what we hold and what reaches into our part.
    /// Avatars are not: their clients move them.
    pub fn simulated(&self) -> impl Iterator<Item = (&ObjectState, &ObjectInfo)> {
        let whole = self.is_whole();
        let ours = move |known: &&Known| {
            known.placed
                && known.info.class.is_deterministic()
                && (whole || known.held || known.replica)
        };
        self.objects
            .values()
            .filter(ours)
            .map(|known| (&known.state, &known.info))
    }

    /// Do we hold this object under the allocation we work under?
    pub fn holds(&self, key: ObjectKey) -> bool {
        self.objects.get(&key).is_some_and(|known| known.held)
    }

    /// Are we the one who simulates this object for everyone who works under this allocation? Its holder is; and before we have been
    /// told to start, the one who was given it: we simulate everything then.
    pub fn serves(&self, epoch: GroupEpoch, key: ObjectKey) -> bool {
        let given = |term: &Term| {
            term.epoch == epoch && term.assigned.get(&key).map(|(holder, _)| *holder) == self.id
        };
        match self.epoch() == Some(epoch) {
            true => self.holds(key),
            false => self.pending.as_ref().is_some_and(given) && self.simulates(key),
        }
    }

    /// Do we step this object?
    pub fn simulates(&self, key: ObjectKey) -> bool {
        self.simulated().any(|(state, _)| state.key == key)
    }

    /// What we know of an object; of an avatar, where it is now if dead reckoning is on.
    pub fn state(&self, now: SimTime, key: ObjectKey) -> Option<ObjectState> {
        let known = self.objects.get(&key).filter(|known| known.placed)?;
        let reckons = self.environment.as_ref().is_some_and(|e| e.dead_reckoning);
        match known.info.class == ObjectClass::Avatar && reckons {
            true => Some(known.state.reckoned(now)),
            false => Some(known.state),
        }
    }

    /// The time of which the last news of an object spoke.
    pub fn last_heard(&self, key: ObjectKey) -> Option<SimTime> {
        let known = self.objects.get(&key).filter(|known| known.placed)?;
        Some(known.state.stamp)
    }

    /// All avatars we know a place of, extrapolated to now if dead reckoning is on.
    pub fn avatars(&self, now: SimTime) -> Vec<(ObjectState, ObjectInfo)> {
        let avatars = self
            .objects
            .values()
            .filter(|known| known.info.class == ObjectClass::Avatar);
        avatars
            .filter_map(|known| Some((self.state(now, known.info.key)?, known.info)))
            .collect()
    }

    /// The result of a step. `changed`: something happened that extrapolating would not have told (a collision). Unknown objects and
    /// impossible states are refused.
    pub fn put(&mut self, state: ObjectState, changed: bool) {
        let id = self.id.unwrap_or_default();
        let epoch = self.epoch().unwrap_or_default();
        let Some(known) = self.objects.get_mut(&state.key) else {
            self.rejections.unknown_object += 1;
            return;
        };
        if !state.is_sane() {
            self.rejections.impossible_state += 1;
            return;
        }
        let mut version = known.state.version;
        if known.held && known.info.class.is_deterministic() {
            version = Version {
                epoch,
                count: version.count.wrapping_add(1),
                author: id,
            };
            known.heard = version;
        }
        known.state = ObjectState { version, ..state };
        known.changed |= changed;
        // An avatar's own time goes on with its client; a result is newer than the update it follows.
        if known.info.class == ObjectClass::Avatar && changed && known.held {
            self.results.put(known.state);
        }
    }

    /// After a step: objects that have left our part go to whoever has the part they are in.
    pub fn finish_step(&mut self, now: SimTime) {
        let (Some(id), Some(division)) = (self.id, self.division()) else {
            return;
        };
        let Some(term) = &self.current else { return };
        for known in self
            .objects
            .values_mut()
            .filter(|k| k.held && k.info.class.is_deterministic())
        {
            let owner = term
                .allocation
                .owner_at(&division, known.state.position)
                .expect("we are a member");
            if owner != id {
                (known.held, known.changed) = (false, false);
                known.awaits = None;
                known.replica = term
                    .allocation
                    .sub_space(&division, id)
                    .is_some_and(|s| s.reached_by(&known.bounds()));
                self.transfers.entry(owner).or_default().put(known.state);
            } else if known.changed
                || now.since(known.told_at) >= SimTime::from_secs(self.config.refresh_secs)
            {
                self.results.put(known.state);
                (known.changed, known.told_at) = (false, now);
            }
        }
        // What happened to copies of others' objects is an opinion for the leader.
        let whole = self.is_whole();
        for known in self
            .objects
            .values_mut()
            .filter(|k| k.replica && k.changed && !k.held)
        {
            known.changed = false;
            if !whole {
                self.results.put(known.state);
            }
        }
        self.send_transfers();
        self.done = self.begun;
        if self
            .environment
            .as_ref()
            .is_some_and(|e| e.mode == crate::Mode::Synchronised)
        {
            self.report(now);
        }
    }

    /// At once: an object on its way is nobody's.
    fn send_transfers(&mut self) {
        let Some(epoch) = self.epoch() else { return };
        for (to, batch) in std::mem::take(&mut self.transfers) {
            crate::outbox::in_parts(batch.finish(), |states| {
                self.tell_node(
                    to,
                    Message::Transfer {
                        epoch,
                        hand_off: false,
                        states,
                    },
                );
            });
        }
    }

    pub(super) fn tell_all_held(&mut self, now: SimTime) {
        for known in self.objects.values_mut().filter(|known| known.held) {
            self.results.put(known.state);
            known.told_at = now;
        }
    }

    /// Everything that has gathered goes out (ST-47): replicates, results, and as a leader what leaders send.
    pub(super) fn flush(&mut self, now: SimTime) {
        self.send_replicates(now);
        self.report(now);
        self.flush_leader(now);
    }

    /// Objects of ours that reach into others' parts; an empty message now and then says that we are here.
    fn send_replicates(&mut self, now: SimTime) {
        let (Some(division), Some(term)) = (self.division(), &self.current) else {
            return;
        };
        let epoch = term.epoch;
        let mut batches: BTreeMap<NodeId, Batch> = BTreeMap::new();
        for known in self
            .objects
            .values()
            .filter(|k| k.held && k.info.class.is_deterministic())
        {
            for node in term.allocation.owners_touching(&division, &known.bounds()) {
                batches.entry(node).or_default().put(known.state);
            }
        }
        let quiet = SimTime::from_secs(self.config.alive_secs);
        for node in self.peers() {
            let batch = batches.remove(&node).unwrap_or_default();
            let said = self.said.get(&node).copied();
            if batch.is_empty() && said.is_some_and(|at| now.since(at) < quiet) {
                continue;
            }
            self.said.insert(node, now);
            crate::outbox::in_parts(batch.finish(), |states| {
                self.tell_node(node, Message::Replicate { epoch, states })
            });
        }
    }

    pub(super) fn replicated(
        &mut self,
        now: SimTime,
        node: NodeId,
        epoch: GroupEpoch,
        states: &[ObjectState],
    ) {
        if !self.is_ours(node, epoch) {
            return;
        }
        self.heard.insert(node, now);
        for state in states {
            let Some(known) = self.acceptable(state) else {
                continue;
            };
            if known.held || state.version <= known.heard {
                self.rejections.stale_state += 1;
                continue;
            }
            known.adopt(*state);
            known.replica = true;
        }
    }

    /// The object of a state from outside, if it may be one.
    fn acceptable(&mut self, state: &ObjectState) -> Option<&mut Known> {
        if !state.is_sane() {
            self.rejections.impossible_state += 1;
            return None;
        }
        let known = self.objects.get_mut(&state.key);
        self.rejections.unknown_object += u64::from(known.is_none());
        known
    }

    /// Objects that are ours now, if the message is of our time; otherwise they go to whoever our time gave them to.
    pub(super) fn transferred(
        &mut self,
        now: SimTime,
        node: NodeId,
        from: Address,
        epoch: GroupEpoch,
        hand_off: bool,
        states: Vec<ObjectState>,
    ) {
        let prepared = self.pending.as_ref().filter(|term| term.epoch == epoch);
        if prepared.is_some_and(|term| term.allocation.vertex_of(node).is_none()) {
            self.rejections.stranger += 1;
            return;
        }
        // Its allocation has not started here, or has not even reached us.
        if Some(epoch) > self.epoch() {
            let message = Message::Transfer {
                epoch,
                hand_off,
                states,
            };
            return self.keep_for_later(from, message);
        }
        if Some(epoch) < self.epoch() {
            if self.was_ours(node, epoch) {
                self.late_transfer(now, &states);
            }
            return;
        }
        if !self.is_ours(node, epoch) {
            return;
        }
        self.heard.insert(node, now);
        for state in &states {
            match hand_off {
                true => self.last_word(now, state),
                false => self.take_over(epoch, state),
            }
        }
    }

    fn take_over(&mut self, epoch: GroupEpoch, state: &ObjectState) {
        let id = self.id.expect("who has an allocation has a name");
        let Some(known) = self.acceptable(state) else {
            return;
        };
        // The very state that is handed over may have been heard of before, by way of the leader: that does not make it old.
        if known.held || state.version < known.heard {
            self.rejections.stale_state += 1;
            return;
        }
        known.adopt(*state);
        known.held = true;
        known.state.version = Version {
            epoch,
            count: state.version.count.wrapping_add(1),
            author: id,
        };
        known.heard = known.state.version;
        known.changed = true;
    }

    /// What the former holder of an object we were given knew of it in the end. Once, and only if it is newer than the list.
    fn last_word(&mut self, now: SimTime, state: &ObjectState) {
        let Some(known) = self.acceptable(state) else {
            return;
        };
        let news = |(base, until)| state.version > base && now <= until;
        let welcome = known.held && known.awaits.is_some_and(news);
        if !welcome {
            self.rejections.stale_state += 1;
            return;
        }
        let stamp = known.state.stamp;
        let version = known.state.version;
        known.awaits = None;
        known.adopt(state.reckoned(stamp));
        known.state.version = version;
        known.changed = true;
    }

    /// Given to us under an allocation that is over here: the news go to whoever was given the object by the new one.
    fn late_transfer(&mut self, now: SimTime, states: &[ObjectState]) {
        let Some(term) = &self.current else { return };
        let (epoch, id) = (term.epoch, self.id);
        let mut forward: BTreeMap<NodeId, Vec<ObjectState>> = BTreeMap::new();
        for state in states {
            match term.assigned.get(&state.key) {
                _ if !state.is_sane() => self.rejections.impossible_state += 1,
                Some((holder, _)) => forward.entry(*holder).or_default().push(*state),
                None => self.rejections.unknown_object += 1,
            }
        }
        for (holder, states) in forward {
            if Some(holder) == id {
                states.iter().for_each(|state| self.last_word(now, state));
            } else {
                self.tell_node(
                    holder,
                    Message::Transfer {
                        epoch,
                        hand_off: true,
                        states,
                    },
                );
            }
        }
    }

    /// We begin to simulate for ourselves: what we only had copies of goes on from where it should be by now.
    pub(super) fn take_copies_up(&mut self, now: SimTime) {
        for known in self.objects.values_mut() {
            if known.placed && !known.held && !known.replica && known.info.class.is_deterministic()
            {
                known.state = known.state.reckoned(now);
            }
        }
    }

    /// What the coordinator knows, where it knows better: of everything that is not ours; of everything if we change groups.
    pub(super) fn take_seeds(&mut self, now: SimTime, states: &[ObjectState], all: bool) {
        for state in states {
            let Some(known) = self.acceptable(state) else {
                continue;
            };
            let avatar = known.info.class == ObjectClass::Avatar;
            let newer = match avatar {
                true => !known.placed || state.stamp > known.state.stamp,
                false => !known.placed || all || state.version > known.heard,
            };
            // While the old allocation is served, what we hold under it stays ours.
            if newer && !(known.held && known.placed && !all) {
                known.adopt(if avatar { *state } else { state.reckoned(now) });
            }
        }
    }

    /// Does our present leader say this? Who else does is counted; the leader has been heard.
    fn is_word_of_our_leader(&mut self, now: SimTime, node: NodeId, epoch: GroupEpoch) -> bool {
        if !self.is_ours(node, epoch) {
            return false;
        }
        if self.leader_of_term() != Some(node) {
            self.rejections.misdirected += 1;
            return false;
        }
        self.heard.insert(node, now);
        true
    }

    /// The leader's news of objects we do not hold (ST-39).
    pub(super) fn node_update(
        &mut self,
        now: SimTime,
        node: NodeId,
        epoch: GroupEpoch,
        states: &[ObjectState],
    ) {
        if !self.is_word_of_our_leader(now, node, epoch) {
            return;
        }
        for state in states {
            let Some(known) = self.acceptable(state) else {
                continue;
            };
            let newer = match known.info.class {
                ObjectClass::Avatar => !known.placed || state.stamp > known.state.stamp,
                _ => state.version > known.heard,
            };
            if newer && !known.held {
                known.adopt(*state);
            }
        }
    }

    /// Opinions differed, and this is what is true.
    pub(super) fn corrected(
        &mut self,
        now: SimTime,
        node: NodeId,
        epoch: GroupEpoch,
        states: &[ObjectState],
    ) {
        if !self.is_word_of_our_leader(now, node, epoch) {
            return;
        }
        states
            .iter()
            .for_each(|state| self.take_correction(now, state));
    }

    pub(super) fn take_correction(&mut self, now: SimTime, state: &ObjectState) {
        let Some(known) = self.acceptable(state) else {
            return;
        };
        let version = known.state.version;
        let mut truth = state.reckoned(known.state.stamp.max(now));
        truth.version = version;
        if known.held || known.placed {
            known.state = truth;
        }
        if known.held {
            known.changed = true;
            self.events.push_back(super::MemberEvent::Corrected(truth));
        }
    }

    pub(super) fn leader_of_term(&self) -> Option<NodeId> {
        self.current
            .as_ref()
            .and_then(|term: &Term| term.allocation.leader())
    }

    /// Avatars from the leader: ours to test for collisions, or not any more (ST-37).
    pub(super) fn dispatched(
        &mut self,
        now: SimTime,
        node: NodeId,
        epoch: GroupEpoch,
        iteration: u64,
        states: &[(ObjectState, bool)],
    ) {
        if !self.is_word_of_our_leader(now, node, epoch) {
            return;
        }
        self.take_dispatch(iteration, states);
    }

    pub(super) fn take_dispatch(&mut self, iteration: u64, states: &[(ObjectState, bool)]) {
        self.begun = self.begun.max(iteration);
        for (state, responsible) in states {
            let Some(known) = self.acceptable(state) else {
                continue;
            };
            if known.info.class != ObjectClass::Avatar {
                self.rejections.impossible_state += 1;
            } else if known.placed && state.stamp < known.state.stamp {
                self.rejections.stale_state += 1;
            } else {
                known.adopt(*state);
                known.held = *responsible;
            }
        }
    }
}
