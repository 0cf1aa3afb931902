//! Pre-collision agreement: two-phase commit before every hit (ML-17).
//!
//! ```text
//! A foresees: lock, will ── Request ──▶ B: foresees it too? ── Yes ──▶ A: can ── Ack ──▶ B: can
//!                                                          └─ No ───▶ A: unlock
//! contact: can → play; otherwise nothing: the bodies pass through each other
//! ```
//!
//! Three one-way delays must fit before the contact. If only the last one does not, one side plays and the other does not: the
//! general's dilemma, kept here as the negative result it is. Its locks obey T_lock like all others.

use super::Station;
use super::play::Due;
use crate::agreement::Voting;
use crate::events::{Cause, Event, Unlock};
use crate::ids::{PairId, StationId};
use crate::messages::{Message, Vote, VoteKind};
use crate::settings::Protocol;
use domain::SimTime;

impl Station {
    /// We foresee a hit in `secs`: lock, and ask.
    pub(super) fn request(&mut self, now: SimTime, id: PairId, secs: f64) {
        if self.is_held_by_others(id) {
            return;
        }
        let Some(courses) = self.courses(now, id) else {
            return;
        };
        let until = now + SimTime::from_secs(secs);
        self.lock(now, id, until, courses, true);
        if let Some(pair) = self.pairs.get_mut(&id) {
            pair.voting = Voting {
                will: true,
                can: false,
            };
        }
        self.vote(id, VoteKind::Request);
    }

    /// Requests are repeated every frame, as the published loop does.
    pub(super) fn repeat_request(&mut self, id: PairId) {
        let waiting = self
            .pairs
            .get(&id)
            .is_some_and(|pair| pair.voting.will && !pair.voting.can);
        if waiting {
            self.vote(id, VoteKind::Request);
        }
    }

    fn vote(&mut self, pair: PairId, kind: VoteKind) {
        let peers = self
            .pairs
            .get(&pair)
            .map_or(Vec::new(), |pair| pair.peers.clone());
        for peer in peers {
            self.say(peer, Message::Vote(Vote { pair, kind }));
        }
    }

    pub(super) fn handle_vote(&mut self, now: SimTime, from: StationId, vote: &Vote) {
        let Some(pair) = self.pairs.get_mut(&vote.pair) else {
            return;
        };
        if !pair.peers.contains(&from) {
            return;
        }
        let will = pair.voting.will;
        match vote.kind {
            VoteKind::Request => {
                let answer = if will { VoteKind::Yes } else { VoteKind::No };
                self.vote(vote.pair, answer);
            }
            VoteKind::Yes if will => {
                pair.voting.can = true;
                self.vote(vote.pair, VoteKind::Ack);
            }
            VoteKind::Ack if will => pair.voting.can = true,
            VoteKind::No => {
                pair.voting = Voting::default();
                self.unlock(now, vote.pair, Unlock::Aborted);
            }
            VoteKind::Yes | VoteKind::Ack => {}
        }
    }

    /// The bodies touch: play if both have agreed, abort otherwise.
    pub(super) fn decide(&mut self, now: SimTime, id: PairId) {
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        let voting = std::mem::take(&mut pair.voting);
        if !voting.can {
            pair.ledger.disarm();
            self.unlock(now, id, Unlock::Aborted);
            self.events.push_back(Event::Aborted { pair: id, at: now });
            return;
        }
        self.play(
            now,
            Due {
                pair: id,
                cause: Cause::Commit,
                time: now,
                velocities: None,
                author: self.id,
                score: 0,
            },
        );
        if self.settings.protocol == Protocol::LiteralPreCollision {
            self.count_by_object(id);
        }
    }

    /// D14: Algorithm 2 prints one counter per object, so a hit of one pair counts for every pair of the object.
    fn count_by_object(&mut self, id: PairId) {
        let shares =
            |other: &PairId| *other != id && id.bodies().iter().any(|body| other.has(*body));
        for (_, pair) in self.pairs.iter_mut().filter(|(other, _)| shares(other)) {
            pair.ledger.count_untimed(1);
        }
    }
}
