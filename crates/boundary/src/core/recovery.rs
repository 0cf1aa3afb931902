//! Snapshots, and a region that starts again from one.

use super::Boundary;
use crate::handover::{Arrival, HandoverLedger};
use crate::lifecycle::LifeState;
use crate::nursery::Nursery;
use crate::projection::Track;
use domain::{BodyId, Epoch, RegionId, Tick};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wire::Message;

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
        let covered = self.ledger.snapshot_taken();
        self.unkept.push_back((tick, covered));
        snapshot
    }

    /// The snapshot of this tick survives our death, and so need not be those before it: tells those who wait for it that handovers are
    /// covered.
    pub fn snapshot_kept(&mut self, tick: Tick) {
        let mut covered = BTreeMap::new();
        while let Some((_, peers)) = self.unkept.pop_front_if(|(taken, _)| *taken <= tick) {
            covered.extend(peers);
        }
        for (peer, upto) in covered {
            self.buffers
                .say(peer, Message::SnapshotCovers { tick, upto });
        }
    }

    /// Starts again from a snapshot. Until all other regions have answered, nothing is certain: see [`Self::is_recovering`].
    pub fn restore(&mut self, snapshot: BoundarySnapshot) {
        let tick = snapshot.tick;
        self.restored_from = Some(tick);
        for (id, track) in snapshot.tracks {
            let since = track.since;
            self.tracks
                .insert(id, Track::new(track.epoch, LifeState::Injected, since));
            self.fresh.push(id);
        }
        self.nursery = snapshot.nursery;
        for ghost in self.nursery.values_mut() {
            ghost.audience.clear();
        }
        self.ledger = snapshot.ledger;
        self.arrivals = snapshot.arrivals.into();
        self.awaiting = self
            .map
            .regions()
            .filter(|region| *region != self.me)
            .collect();
        for peer in &self.awaiting {
            self.buffers
                .say(*peer, Message::Restarted { snapshot: tick });
        }
    }

    /// Are answers of other regions still missing after a restart? Until then the region must not step.
    pub fn is_recovering(&self) -> bool {
        !self.awaiting.is_empty()
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
            if let Some(track) = self.tracks.remove(id) {
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

    pub(super) fn peer_restarted(&mut self, tick: Tick, peer: RegionId, snapshot: Tick) {
        self.remote.forget_owner(peer);
        self.introductions.forget(peer);
        // It has forgotten our auras, sleepers' too. (It stays in their audience: it may have heard of some between its
        // restart and this word, and must hear of their end.)
        self.forgetful.insert(peer);
        let taken = self.ledger.taken_since(peer, snapshot);
        self.buffers.say(peer, Message::Recovery { taken });
        for offer in self.ledger.offer_again(peer, tick) {
            self.buffers.migrate(peer, offer);
        }
        // It may have forgotten our own question before it answered. (Its answer to the repeated one comes after this answer of ours, so two that
        // restart together do not ask each other for ever.)
        if let Some(snapshot) = self.restored_from.filter(|_| self.awaiting.contains(&peer)) {
            self.buffers.say(peer, Message::Restarted { snapshot });
        }
    }

    pub(super) fn peer_answered(&mut self, peer: RegionId, taken: &[(BodyId, Epoch)]) {
        for (body, epoch) in taken {
            self.ledger.learn(*body, *epoch);
        }
        if !self.awaiting.remove(&peer) {
            return;
        }
        // What the snapshot says is on its way may have arrived long ago, or never.
        for offer in self.ledger.unanswered(peer) {
            self.buffers.migrate(peer, offer.clone());
        }
        if self.awaiting.is_empty() {
            for arrival in std::mem::take(&mut self.deferred) {
                self.receive(arrival);
            }
        }
    }
}
