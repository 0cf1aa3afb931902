//! Snapshots, and regions that start again from one.
//!
//! Each region may step back to its latest *kept* snapshot at any time, and any number of them at once. Three rules keep every body in exactly one
//! place (docs/protocols/cluster.md has the cases):
//!
//! 1. Who gives keeps what it gave until a kept snapshot of the receiver holds it.
//! 2. Who has restarted gives up what anybody knows to have gone on since, and asks everybody before it steps.
//! 3. What is said to who has restarted is never taken back: a running region answers when a snapshot that holds the answer is kept. A region that recovers itself
//!    answers once it has heard all who run, because they may have heard of it after they answered others.

use super::Boundary;
use crate::handover::{Arrival, HandoverLedger};
use crate::lifecycle::LifeState;
use crate::nursery::Nursery;
use crate::projection::Track;
use domain::{BodyId, RegionId, SimTime, Tick};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use wire::{HandoverNumber, Message, Ownership};

/// Who does not answer is asked again after so long: a word may be lost when several restart, before they know of each other.
const ASK_AGAIN: SimTime = SimTime(500_000_000);

/// What of a boundary must outlive a crash. Remote auras are told again by their owners.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BoundarySnapshot {
    /// When it was taken.
    pub tick: Tick,
    tracks: BTreeMap<BodyId, Track>,
    nursery: Nursery,
    ledger: HandoverLedger,
    arrivals: Vec<Arrival>,
}

impl BoundarySnapshot {
    /// This body cannot come back.
    pub fn forget(&mut self, body: BodyId) {
        self.tracks.remove(&body);
    }
}

/// A snapshot that may still be lost with us.
#[derive(Clone, Debug)]
pub(super) struct UnkeptSnapshot {
    tick: Tick,
    /// Up to which of whose offers it holds.
    covered: Vec<(RegionId, HandoverNumber)>,
    /// Who had asked before it was taken, and what they are told.
    asked: BTreeSet<RegionId>,
    known: Vec<Ownership>,
}

/// Our own restart, and those of others.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    /// The snapshot we have started again from, and for the how-manieth time.
    restored: Option<(Tick, u32)>,
    /// Whose answers we await.
    awaiting: BTreeSet<RegionId>,
    ask_again: Option<SimTime>,
    /// What arrived meanwhile.
    deferred: Vec<Arrival>,
    /// Who else has restarted since we have.
    beside_us: BTreeSet<RegionId>,
    /// Who awaits our answer.
    asked: BTreeSet<RegionId>,
    /// The latest life we have heard of.
    lives: BTreeMap<RegionId, u32>,
}

impl Recovery {
    /// Until it is certain what is ours. An offer that is repeated meanwhile is the same one.
    pub(super) fn defer(&mut self, arrival: Arrival) {
        let same = |other: &Arrival| {
            other.from == arrival.from && other.offer.handover == arrival.offer.handover
        };
        if !self.deferred.iter().any(same) {
            self.deferred.push(arrival);
        }
    }

    /// Has everybody answered who is not in the same state as we are?
    fn has_heard_all_who_run(&self) -> bool {
        self.awaiting.is_subset(&self.beside_us)
    }
}

impl Boundary {
    /// What must outlive a crash. Once it is kept where it survives us, say so: [`Self::snapshot_kept`].
    pub fn snapshot(&mut self, tick: Tick) -> BoundarySnapshot {
        let snapshot = BoundarySnapshot {
            tick,
            tracks: self
                .tracks
                .iter()
                .map(|(id, track)| (*id, track.clone()))
                .collect(),
            nursery: self.nursery.clone(),
            ledger: self.ledger.clone(),
            arrivals: self.arrivals.iter().cloned().collect(),
        };
        let asked = self.recovery.asked.clone();
        self.unkept.push_back(UnkeptSnapshot {
            tick,
            covered: self.ledger.snapshot_taken(),
            known: match asked.is_empty() {
                true => Vec::new(),
                false => self.ledger.known_moves(),
            },
            asked,
        });
        snapshot
    }

    /// Does someone wait for a snapshot to be kept? Then the next one should not wait for its time.
    pub fn wants_snapshot(&self) -> bool {
        !self.recovery.asked.is_empty() && !self.is_recovering()
    }

    /// The snapshot of this tick survives our death, and so need not be those before it: tells those who wait for it that handovers are
    /// covered, and answers who asked before it was taken.
    pub fn snapshot_kept(&mut self, tick: Tick) {
        let mut covered = BTreeMap::new();
        while let Some(kept) = self.unkept.pop_front_if(|unkept| unkept.tick <= tick) {
            covered.extend(kept.covered);
            for peer in kept.asked {
                self.answer(tick, peer, &kept.known);
            }
        }
        for (peer, upto) in covered {
            self.buffers
                .say(peer, Message::SnapshotCovers { tick, upto });
        }
    }

    /// Starts again from a snapshot. Until all other regions have answered, nothing is certain: see [`Self::is_recovering`]. Every restart of a region
    /// has a higher `incarnation` than the one before.
    pub fn restore(&mut self, snapshot: BoundarySnapshot, incarnation: u32) {
        let tick = snapshot.tick;
        for (id, track) in snapshot.tracks {
            let mut restored = Track::new(track.epoch, LifeState::Injected, track.since);
            if let Some(mut bound) = track.bound {
                bound.told = None;
                bound.leaves_at = None;
                restored.bound = Some(bound);
                self.bound.insert(id);
            }
            self.tracks.insert(id, restored);
            self.fresh.push(id);
        }
        self.nursery = snapshot.nursery;
        for ghost in self.nursery.values_mut() {
            ghost.audience.clear();
        }
        self.ledger = snapshot.ledger;
        self.ledger.begin_life(incarnation);
        self.arrivals = snapshot.arrivals.into();
        self.recovery.restored = Some((tick, incarnation));
        self.recovery.awaiting = self
            .map
            .regions()
            .filter(|region| *region != self.me)
            .collect();
        self.ask();
    }

    /// Asks everyone whose answer is missing.
    fn ask(&mut self) {
        for peer in self.recovery.awaiting.clone() {
            self.ask_one(peer);
        }
    }

    fn ask_one(&mut self, peer: RegionId) {
        if let Some((snapshot, incarnation)) = self.recovery.restored {
            let question = Message::Restarted {
                snapshot,
                incarnation,
            };
            self.buffers.say(peer, question);
        }
    }

    pub(super) fn ask_again(&mut self, now: SimTime) {
        if !self.is_recovering() {
            return;
        }
        let due = *self.recovery.ask_again.get_or_insert(now + ASK_AGAIN);
        if now >= due {
            self.recovery.ask_again = Some(now + ASK_AGAIN);
            self.ask();
        }
    }

    /// Are answers of other regions still missing after a restart? Until then the region must not step.
    pub fn is_recovering(&self) -> bool {
        !self.recovery.awaiting.is_empty()
    }

    /// Whose answers are missing after a restart.
    pub fn awaited(&self) -> impl Iterator<Item = RegionId> {
        self.recovery.awaiting.iter().copied()
    }

    /// Bodies of the snapshot that have a newer owner: the region removes them from its world. Call once recovered, with the
    /// current tick.
    pub fn take_outdated(&mut self, tick: Tick) -> Vec<BodyId> {
        let mut outdated: Vec<BodyId> = self
            .tracks
            .iter()
            .filter(|(id, track)| {
                self.ledger
                    .known(**id)
                    .is_some_and(|known| known > track.epoch)
            })
            .map(|(id, _)| *id)
            .collect();
        outdated.sort_unstable();
        for id in &outdated {
            if let Some(track) = self.tracks.swap_remove(id) {
                self.bound.remove(id);
                self.report(tick, *id, Some(track.state), LifeState::Destroyed);
            }
        }
        self.fresh.retain(|id| !outdated.contains(id));
        let ledger = &self.ledger;
        self.nursery
            .retain(|id, ghost| ledger.known(*id).is_none_or(|known| known <= ghost.epoch));
        // One member of a waiting cluster may have gone on and come back to its sender since; the others have not.
        self.arrivals = std::mem::take(&mut self.arrivals)
            .into_iter()
            .filter_map(|Arrival { from, offer }| {
                let offer = ledger.without_outdated(offer)?;
                Some(Arrival { from, offer })
            })
            .collect();
        outdated
    }

    pub(super) fn peer_restarted(&mut self, tick: Tick, peer: RegionId, incarnation: u32) {
        self.remote.forget_owner(peer);
        self.introductions.forget(peer);
        // It has forgotten our auras, sleepers' too. (It stays in their audience: it may have heard of some between its
        // restart and this word, and must hear of their end.)
        self.forgetful.insert(peer);
        self.ledger.tell_again(peer);
        let earlier = self.recovery.lives.insert(peer, incarnation);
        let begins_anew = earlier.is_none_or(|earlier| earlier < incarnation);
        self.recovery.asked.insert(peer);
        if begins_anew {
            // What we were about to tell its last life may leave out what that one has handed us since.
            for unkept in &mut self.unkept {
                unkept.asked.remove(&peer);
            }
        }
        if self.is_recovering() {
            self.recovery.beside_us.insert(peer);
            if begins_anew {
                // What its last life offered us, this one offers again or still has; what that one knew, this one may know better.
                self.recovery
                    .deferred
                    .retain(|arrival| arrival.from != peer);
                self.recovery.awaiting.insert(peer);
                self.ask_one(peer);
            }
            self.answer_beside_us(tick);
        } else if !self.ledger.retains() {
            self.answer(tick, peer, &self.ledger.known_moves());
        }
    }

    /// To those who have restarted as we have: what our snapshot knows, and what we have heard from all who run.
    fn answer_beside_us(&mut self, tick: Tick) {
        if !self.recovery.has_heard_all_who_run() {
            return;
        }
        let known = self.ledger.known_moves();
        for peer in self.recovery.asked.clone() {
            self.answer(tick, peer, &known);
        }
    }

    fn answer(&mut self, tick: Tick, peer: RegionId, known: &[Ownership]) {
        if !self.recovery.asked.remove(&peer) {
            return;
        }
        let known = known.to_vec();
        self.buffers.say(peer, Message::Recovery { known });
        for offer in self.ledger.offer_again(peer, tick) {
            self.buffers.migrate(peer, offer);
        }
    }

    pub(super) fn peer_answered(&mut self, tick: Tick, peer: RegionId, known: &[Ownership]) {
        for ownership in known {
            self.ledger.hear(peer, ownership);
        }
        if !self.recovery.awaiting.remove(&peer) {
            return;
        }
        // What the snapshot says is on its way may have arrived long ago, or never.
        for offer in self.ledger.unanswered(peer) {
            self.buffers.migrate(peer, offer.clone());
        }
        // Before anything more arrives: that would not outlive us.
        self.answer_beside_us(tick);
        if !self.is_recovering() {
            self.recovery.beside_us.clear();
            self.recovery.ask_again = None;
            for arrival in std::mem::take(&mut self.recovery.deferred) {
                self.receive(arrival);
            }
        }
    }
}
