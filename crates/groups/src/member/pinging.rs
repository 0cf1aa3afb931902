//! Measuring the others, and asking for votes about them.

use super::{Member, MemberEvent};
use crate::{Address, Message, NodeId, VoteKind};
use domain::SimTime;

impl Member {
    pub(super) fn send_pings(&mut self, now: SimTime) {
        let mut slow = Vec::new();
        for ping in self.pinger.due(now, &mut slow) {
            // Even on one machine: what is measured is how fast it answers.
            self.outbox
                .send(ping.to, false, Message::Ping { nonce: ping.nonce });
        }
        for node in slow {
            self.consider_vote(node);
        }
    }

    pub(super) fn answer_ping(&mut self, from: Address, nonce: u64) {
        match self.by_address.contains_key(&from) {
            true => self.outbox.send(from, false, Message::Pong { nonce }),
            false => self.rejections.stranger += 1,
        }
    }

    pub(super) fn ping_answered(&mut self, now: SimTime, from: Address, nonce: u64) {
        match self.pinger.answered(now, from, nonce) {
            Ok(node) => self.consider_vote(node),
            Err(_) => self.rejections.absurd_ping += 1,
        }
    }

    /// After every measurement: is there reason to ask for a vote, and has there been for long enough (ST-29, ST-32)?
    fn consider_vote(&mut self, about: NodeId) {
        let thresholds = self.config.thresholds;
        let window = self
            .pinger
            .window(about)
            .filter(|w| w.len() >= self.config.pings.first_pings);
        let measured = window.and_then(|window| Some((window.average_ms()?, window.last_ms()?)));
        let group = |id: Option<NodeId>| self.nodes.get(&id?).map(|info| info.group);
        let (Some((average, last)), Some(mine), Some(theirs)) =
            (measured, group(self.id), group(Some(about)))
        else {
            return;
        };
        self.too_far.note(about, average, &thresholds);
        let (kind, reason) = match mine == theirs {
            true => (
                VoteKind::Rejection,
                thresholds.wants_rejection(average, last),
            ),
            false => (VoteKind::Inclusion, thresholds.wants_inclusion(average)),
        };
        if self
            .strikes
            .mark(kind, about, reason, self.config.stabilisers.strikes)
        {
            self.tell_coordinator(Message::VoteRequest { kind, about });
        }
    }

    /// A member nobody has heard of for too long: we simulate for ourselves until it speaks or is gone.
    pub(super) fn listen_for_silence(&mut self, now: SimTime) {
        let patience = SimTime::from_secs(self.config.silence_secs);
        let silent = |node: &NodeId| {
            self.heard
                .get(node)
                .is_none_or(|at| now.since(*at) > patience)
        };
        let alone = self.peers().iter().any(silent);
        if alone != self.alone {
            self.alone = alone;
            self.events.push_back(if alone {
                MemberEvent::Alone
            } else {
                MemberEvent::Together
            });
            if alone {
                self.take_copies_up(now);
            }
        }
    }
}
