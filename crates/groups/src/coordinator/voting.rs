//! Votes, from the request to what follows (thesis §4.3.1.5).

use super::{Coordinator, CoordinatorEvent};
use crate::votes::Count;
use crate::{Ballot, GroupEpoch, GroupId, Message, NodeId, VoteId, VoteKind};
use domain::SimTime;
use std::collections::BTreeSet;

/// A vote that runs.
#[derive(Debug)]
pub(super) struct Vote {
    kind: VoteKind,
    about: NodeId,
    group: GroupId,
    /// The group's allocation when it was called; a vote about a group that is no more what it was is void.
    epoch: GroupEpoch,
    missing: BTreeSet<NodeId>,
    count: Count,
    until: SimTime,
}

impl Coordinator {
    /// Someone wants a vote. It may be refused: no reason to complain, and no reason to believe it either.
    pub(super) fn vote_requested(
        &mut self,
        now: SimTime,
        who: NodeId,
        kind: VoteKind,
        about: NodeId,
    ) {
        let (Some(group), Some(other)) = (self.group_of(who), self.group_of(about)) else {
            self.rejections.bad_request += 1;
            return;
        };
        // A rejection is about a member of one's own group, an inclusion about one of another; neither about oneself.
        if who == about || (kind == VoteKind::Rejection) != (group == other) {
            self.rejections.bad_request += 1;
            return;
        }
        if self.may_vote(now, who, kind, about, group, other) {
            self.call_vote(now, kind, about, group);
        }
    }

    /// Is it the time, and is it the direction?
    fn may_vote(
        &mut self,
        now: SimTime,
        who: NodeId,
        kind: VoteKind,
        about: NodeId,
        group: GroupId,
        other: GroupId,
    ) -> bool {
        let (to, from) = (
            self.groups[&group].members.len(),
            self.groups[&other].members.len(),
        );
        let full = self.config.max_group > 0 && to >= self.config.max_group;
        // Only into a group at least as large (ST-30), and not beyond its limit (ST-28).
        if kind == VoteKind::Inclusion && (from > to || full) {
            return false;
        }
        let stay = SimTime::from_secs(self.config.stabilisers.min_stay_secs);
        let settled = now.since(self.nodes[&about].since) >= stay;
        let one_at_a_time = !self
            .votes
            .values()
            .any(|vote| vote.about == about || vote.group == group);
        settled && one_at_a_time && self.limit.take(now, who, &self.config.stabilisers)
    }

    fn call_vote(&mut self, now: SimTime, kind: VoteKind, about: NodeId, id: GroupId) {
        let vote = VoteId(self.next_vote);
        self.next_vote += 1;
        let group = &self.groups[&id];
        let missing: BTreeSet<NodeId> = group
            .members
            .iter()
            .copied()
            .filter(|node| *node != about)
            .collect();
        let epoch = group.epoch;
        for node in &missing {
            self.tell_node(*node, Message::VoteCall { vote, kind, about });
        }
        let until = now + SimTime::from_secs(self.config.answer_secs);
        let count = Count::default();
        self.votes.insert(
            vote,
            Vote {
                kind,
                about,
                group: id,
                epoch,
                missing,
                count,
                until,
            },
        );
    }

    pub(super) fn vote_cast(&mut self, now: SimTime, node: NodeId, id: VoteId, ballot: Ballot) {
        let vote = self.votes.get_mut(&id);
        let Some(vote) = vote.filter(|vote| vote.missing.contains(&node)) else {
            self.rejections.bad_ballot += 1;
            return;
        };
        vote.missing.remove(&node);
        vote.count.add(ballot);
        self.close_votes(now);
    }

    /// Votes in which all have spoken, or whose time is up: who was silent has abstained from being counted.
    pub(super) fn close_votes(&mut self, now: SimTime) {
        loop {
            let over = self
                .votes
                .iter()
                .find(|(_, vote)| vote.missing.is_empty() || vote.until <= now);
            let Some((&id, _)) = over else { return };
            let vote = self.votes.remove(&id).expect("just found");
            self.decide(now, &vote);
        }
    }

    /// A node has gone: votes about it are void, and nobody waits for its ballot.
    pub(super) fn votes_without(&mut self, now: SimTime, node: NodeId) {
        self.votes.retain(|_, vote| vote.about != node);
        self.votes
            .values_mut()
            .for_each(|vote| _ = vote.missing.remove(&node));
        self.close_votes(now);
    }

    fn decide(&mut self, now: SimTime, vote: &Vote) {
        let unchanged = self
            .groups
            .get(&vote.group)
            .is_some_and(|group| group.epoch == vote.epoch);
        let Some(from) = self.group_of(vote.about).filter(|_| unchanged) else {
            return;
        };
        let (kind, about) = (vote.kind, vote.about);
        let passed = match kind {
            VoteKind::Inclusion => {
                // The other group may have grown meanwhile.
                let size = |id| self.groups[&id].members.len();
                vote.count.includes() && size(from) <= size(vote.group)
            }
            VoteKind::Rejection => vote.count.rejects(),
        };
        self.events.push_back(CoordinatorEvent::Voted {
            kind,
            about,
            passed,
        });
        if !passed {
            return;
        }
        let to = match kind {
            VoteKind::Inclusion => vote.group,
            VoteKind::Rejection => self.new_group(Some(from)),
        };
        self.move_node(now, about, from, to);
    }

    fn move_node(&mut self, now: SimTime, node: NodeId, from: GroupId, to: GroupId) {
        let record = self.nodes.get_mut(&node).expect("votes are about nodes");
        (record.group, record.since) = (to, now);
        self.group_mut(to).members.insert(node);
        self.remove_from_group(now, node, from);
        self.reallocate(now, to);
        self.populate();
        self.rehome_clients();
    }
}
