//! From one allocation to the next.

use super::leading::Leader;
use super::{Member, MemberEvent, Term};
use crate::{GroupEpoch, GroupId, Message, Mode, NodeId, ObjectState, allocate};
use domain::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// The most allocations of which ready members are remembered before we know the allocation.
const MAX_EARLY: usize = 16;
/// The most messages that are kept for an allocation that has not started here yet.
const MAX_AHEAD: usize = 256;

impl Member {
    /// A new allocation: the whole world is ours to simulate until it starts (ST-34).
    pub(super) fn allocate(
        &mut self,
        now: SimTime,
        epoch: GroupEpoch,
        group: GroupId,
        members: &[NodeId],
        objects: &[ObjectState],
    ) {
        let newest = [&self.current, &self.pending]
            .into_iter()
            .flatten()
            .map(|term| term.epoch)
            .max();
        let (Some(id), Some(division)) = (self.id, self.division()) else {
            self.rejections.misdirected += 1;
            return;
        };
        if !members.contains(&id) || newest.is_some_and(|newest| epoch <= newest) {
            self.rejections.wrong_epoch += 1;
            return;
        }
        let allocation = allocate(members);
        let mut assigned = BTreeMap::new();
        for state in objects
            .iter()
            .filter(|state| state.key.is_persistent() && state.is_sane())
        {
            let owner = allocation
                .owner_at(&division, state.position)
                .expect("we are a member");
            assigned.insert(state.key, (owner, state.version));
        }
        if self.pending.is_none() && !self.alone {
            self.take_copies_up(now);
        }
        let moved = self
            .current
            .as_ref()
            .is_some_and(|term| term.group != group);
        let seeds = match moved {
            // Another group's world: it becomes ours at the start, not while we still serve the old group.
            true => objects.to_vec(),
            false => {
                self.take_seeds(now, objects, false);
                Vec::new()
            }
        };
        let leader = allocation.leader().expect("we are a member");
        let replaced = self.pending.replace(Term {
            epoch,
            group,
            allocation,
            assigned,
            seeds,
        });
        // Others may have started it, and sent us something under it.
        replaced.iter().for_each(|term| self.past.add(term));
        self.events.push_back(MemberEvent::Preparing(epoch));
        self.early.retain(|early, _| *early >= epoch);
        if leader == id {
            self.ready = self.early.remove(&epoch).unwrap_or_default();
            self.ready.insert(id);
            self.seed_leader(now, objects);
            self.start_if_all_ready(now);
        } else {
            self.ready = BTreeSet::new();
            self.tell_node(leader, Message::Ready { epoch });
        }
    }

    /// The leader begins with what the coordinator knows (ST-41); one that led before keeps what it has.
    fn seed_leader(&mut self, now: SimTime, objects: &[ObjectState]) {
        let iteration = self.begun;
        let leader = self
            .leader
            .get_or_insert_with(|| Leader::new(iteration, now));
        leader.seed(objects);
    }

    /// Says again that we are ready, until it starts: the leader may not have known us yet when we said it first.
    pub(super) fn repeat_ready(&mut self) {
        let Some(term) = &self.pending else { return };
        let epoch = term.epoch;
        if let Some(leader) = term
            .allocation
            .leader()
            .filter(|leader| Some(*leader) != self.id)
        {
            self.tell_node(leader, Message::Ready { epoch });
        }
    }

    pub(super) fn member_ready(&mut self, now: SimTime, node: NodeId, epoch: GroupEpoch) {
        let forming = self.pending.as_ref().filter(|term| term.epoch == epoch);
        match forming {
            Some(term)
                if term.allocation.leader() == self.id
                    && term.allocation.vertex_of(node).is_some() =>
            {
                self.ready.insert(node);
                self.start_if_all_ready(now);
            }
            Some(_) => self.rejections.misdirected += 1,
            // It may have heard of it before us.
            None if self.epoch() < Some(epoch)
                && (self.early.len() < MAX_EARLY || self.early.contains_key(&epoch)) =>
            {
                self.early.entry(epoch).or_default().insert(node);
            }
            None => self.rejections.wrong_epoch += 1,
        }
    }

    fn start_if_all_ready(&mut self, now: SimTime) {
        let term = self.pending.as_ref().expect("the caller has looked");
        if !term
            .allocation
            .members()
            .all(|node| self.ready.contains(&node))
        {
            return;
        }
        let epoch = term.epoch;
        let members: Vec<NodeId> = term.allocation.members().collect();
        let id = self.id;
        for node in members.into_iter().filter(|node| Some(*node) != id) {
            self.tell_node(node, Message::Start { epoch });
        }
        self.tell_coordinator(Message::Started { epoch });
        self.start(now);
    }

    pub(super) fn told_to_start(&mut self, now: SimTime, node: NodeId, epoch: GroupEpoch) {
        let term = self.pending.as_ref().filter(|term| term.epoch == epoch);
        match term.map(|term| term.allocation.leader()) {
            Some(leader) if leader == Some(node) => self.start(now),
            Some(_) => self.rejections.misdirected += 1,
            None => self.rejections.wrong_epoch += 1,
        }
    }

    /// From now on our part only. What was ours and is another's now goes to that one.
    fn start(&mut self, now: SimTime) {
        let term = self.pending.take().expect("the caller has looked");
        let id = self.id.expect("who has an allocation has a name");
        let same_group = self
            .current
            .as_ref()
            .is_some_and(|before| before.group == term.group);
        self.take_seeds(now, &term.seeds, true);
        let mut hand_offs: BTreeMap<NodeId, Vec<ObjectState>> = BTreeMap::new();
        let mut orphans = self
            .transfers
            .values()
            .flat_map(|b| b.clone().finish())
            .collect::<Vec<_>>();
        self.transfers.clear();
        let until = now + SimTime::from_secs(self.config.silence_secs);
        for (key, known) in &mut self.objects {
            let Some((holder, base)) = term.assigned.get(key) else {
                continue;
            };
            let (held, was) = (*holder == id, known.held);
            if was && !held && same_group {
                orphans.push(known.state);
            }
            let awaits = (held && !(was && same_group)).then_some((*base, until));
            known.start(term.epoch, id, held, awaits);
        }
        for state in orphans {
            if let Some((holder, _)) = term
                .assigned
                .get(&state.key)
                .filter(|(holder, _)| *holder != id)
            {
                hand_offs.entry(*holder).or_default().push(state);
            }
        }
        for (to, states) in hand_offs {
            let epoch = term.epoch;
            crate::outbox::in_parts(states, |states| {
                self.tell_node(
                    to,
                    Message::Transfer {
                        epoch,
                        hand_off: true,
                        states,
                    },
                );
            });
        }
        let leads = term.allocation.leader() == Some(id);
        let led = self.current.is_some() && self.is_leader();
        let (epoch, group) = (term.epoch, term.group);
        let vertex = term.allocation.vertex_of(id).expect("we are a member");
        self.heard = term.allocation.members().map(|node| (node, now)).collect();
        self.said.clear();
        self.alone = false;
        self.results = crate::Batch::default();
        let over = self.current.replace(term);
        over.iter().for_each(|term| self.past.add(term));
        self.events.push_back(MemberEvent::Started {
            epoch,
            group,
            vertex,
        });
        match (led, leads) {
            (false, true) => self.events.push_back(MemberEvent::Promoted),
            (true, false) => self.events.push_back(MemberEvent::Demoted),
            _ => {}
        }
        (self.begun, self.done) = (0, 0);
        if leads {
            self.begin_leading(now);
        } else {
            self.leader = None;
        }
        for (from, message) in std::mem::take(&mut self.ahead) {
            self.handle_message(now, from, message);
        }
    }

    /// Each stream has an order of its own (ST-42): in synchronised operation the first iteration may be here before the start it follows, and its leader
    /// says nothing more until we have done it.
    pub(super) fn has_overtaken_its_start(&self, node: NodeId, message: &Message) -> bool {
        let synchronised = self.environment.as_ref().map(|e| e.mode) == Some(Mode::Synchronised);
        let (Some(term), Message::Dispatch { epoch, .. }) = (&self.pending, message) else {
            return false;
        };
        synchronised && term.epoch == *epoch && term.allocation.leader() == Some(node)
    }

    /// Keeps a message for when its allocation starts here.
    pub(super) fn keep_for_later(&mut self, from: crate::Address, message: Message) {
        if self.ahead.len() < MAX_AHEAD {
            self.ahead.push((from, message));
        } else {
            self.rejections.wrong_epoch += 1;
        }
    }
}
