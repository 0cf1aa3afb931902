//! Who belongs together, and who gets which part.

use super::{Coordinator, CoordinatorEvent};
use crate::cliques::{Nearness, form_groups};
use crate::{GroupEpoch, GroupId, Message, NodeId};
use domain::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// A question to everyone: how far is everyone from you?
#[derive(Debug)]
pub(super) struct Round {
    number: u64,
    missing: BTreeSet<NodeId>,
    delays: BTreeMap<(NodeId, NodeId), f64>,
    answered: BTreeSet<NodeId>,
    until: SimTime,
}

impl Round {
    pub(super) fn gone(&mut self, node: NodeId) {
        self.missing.remove(&node);
    }
}

impl Coordinator {
    pub(super) fn regroup_if_due(&mut self, now: SimTime) {
        if self.round.is_none() && self.regroup_at.is_some_and(|at| at <= now) {
            self.ask_for_candidates(now);
        }
        let over = |round: &Round| round.missing.is_empty() || round.until <= now;
        if self.round.as_ref().is_some_and(over) {
            let round = self.round.take().expect("there is one");
            self.form(now, &round);
        }
    }

    /// Asks everyone. Who has come so lately that others cannot have measured it is asked again with everyone when they can: else it would have to
    /// wait for a vote.
    fn ask_for_candidates(&mut self, now: SimTime) {
        let settle = SimTime::from_secs(self.config.settle_secs);
        let settled = self.nodes.values().map(|record| record.joined + settle);
        self.regroup_at = settled.filter(|at| *at > now).max();
        let number = now.0;
        let everyone: BTreeSet<NodeId> = self.nodes.keys().copied().collect();
        for node in &everyone {
            self.tell_node(*node, Message::AskCandidates { round: number });
        }
        self.round = Some(Round {
            number,
            missing: everyone,
            delays: BTreeMap::new(),
            answered: BTreeSet::new(),
            until: now + SimTime::from_secs(self.config.answer_secs),
        });
    }

    /// An answer. Delays that cannot be are not believed; the others of the list are.
    pub(super) fn candidates(
        &mut self,
        now: SimTime,
        node: NodeId,
        number: u64,
        delays: &[(NodeId, f32)],
    ) {
        let asked = |round: &Round| round.number == number && round.missing.contains(&node);
        let Some(round) = self.round.as_mut().filter(|round| asked(round)) else {
            self.rejections.misdirected += 1;
            return;
        };
        round.missing.remove(&node);
        round.answered.insert(node);
        for (whom, delay) in delays {
            let delay = f64::from(*delay);
            if (0.0..=crate::pings::ABSURD_MS).contains(&delay) {
                round.delays.insert((node, *whom), delay);
            } else {
                self.rejections.absurd_ping += 1;
            }
        }
        self.regroup_if_due(now);
    }

    /// The thesis's greedy cliques over all nodes. Two that share a group already stay near each other up to the rejection
    /// threshold: a newcomer must not tear apart what a vote would have kept together.
    fn form(&mut self, now: SimTime, round: &Round) {
        let mut nearness = Nearness::of(self.nodes.keys().copied());
        let thresholds = self.config.thresholds;
        for who in self.nodes.keys() {
            for whom in self.nodes.keys() {
                let together = self.group_of(*who) == self.group_of(*whom);
                let limit = if together {
                    thresholds.rejection_ms
                } else {
                    thresholds.inclusion_ms
                };
                // Who did not answer in time is taken to be content with where it is.
                let near = match round.answered.contains(who) {
                    true => round
                        .delays
                        .get(&(*who, *whom))
                        .is_some_and(|delay| *delay < limit),
                    false => together,
                };
                if near {
                    nearness.say(*who, *whom);
                }
            }
        }
        let formed = form_groups(&nearness, self.config.max_group);
        self.adopt(now, &formed);
        let settle = SimTime::from_secs(self.config.settle_secs);
        for record in self.nodes.values_mut() {
            // A round's number is when it was asked.
            record.placed |= record.joined + settle <= SimTime(round.number);
        }
    }

    /// Makes these the groups. Each keeps the id of the old group most of its members come from; one that is as it was is left
    /// alone.
    fn adopt(&mut self, now: SimTime, formed: &[Vec<NodeId>]) {
        let mut taken = BTreeSet::new();
        let mut changed = Vec::new();
        let before: BTreeMap<NodeId, GroupId> =
            self.nodes.iter().map(|(n, r)| (*n, r.group)).collect();
        for members in formed {
            let mut from: BTreeMap<GroupId, usize> = BTreeMap::new();
            members
                .iter()
                .for_each(|node| *from.entry(before[node]).or_default() += 1);
            let model = from
                .iter()
                .max_by_key(|(id, count)| (**count, std::cmp::Reverse(**id)));
            let model = *model.expect("a group has members").0;
            let id = match taken.insert(model) {
                true => model,
                false => self.new_group(Some(model)),
            };
            taken.insert(id);
            let members: BTreeSet<NodeId> = members.iter().copied().collect();
            if self.groups[&id].members != members {
                changed.push((id, members));
            }
        }
        self.groups.retain(|id, _| taken.contains(id));
        self.to_groups.retain(|id, _| taken.contains(id));
        for (id, members) in &changed {
            for node in members {
                let record = self
                    .nodes
                    .get_mut(node)
                    .expect("groups are formed of nodes");
                if record.group != *id {
                    (record.group, record.since) = (*id, now);
                }
            }
            self.group_mut(*id).members.clone_from(members);
        }
        for (id, _) in &changed {
            self.reallocate(now, *id);
        }
        if !changed.is_empty() {
            self.populate();
            self.rehome_clients();
        }
    }

    /// A new allocation for a group (ST-33). Everyone in it gets the same list, so everyone knows who holds what.
    pub(super) fn reallocate(&mut self, _now: SimTime, id: GroupId) {
        self.epoch = self.epoch.next();
        let epoch = self.epoch;
        let group = self.group_mut(id);
        (group.epoch, group.started) = (epoch, false);
        let members: Vec<NodeId> = group.members.iter().copied().collect();
        let mut objects: Vec<_> = group.states.values().copied().collect();
        objects.extend(self.avatars.values().filter_map(|avatar| avatar.state));
        for node in &members {
            let allocate = Message::Allocate {
                epoch,
                group: id,
                members: members.clone(),
                objects: objects.clone(),
            };
            self.tell_node(*node, allocate);
        }
        self.events.push_back(CoordinatorEvent::Allocated {
            group: id,
            epoch,
            members,
        });
    }

    /// A leader says its group works together.
    pub(super) fn started(&mut self, node: NodeId, epoch: GroupEpoch) {
        let Some(id) = self.group_of(node) else {
            return;
        };
        let group = self.group_mut(id);
        if group.leader() != Some(node) || group.epoch != epoch || group.started {
            self.rejections.wrong_epoch += 1;
            return;
        }
        group.started = true;
        self.events
            .push_back(CoordinatorEvent::Started { group: id, epoch });
    }
}
