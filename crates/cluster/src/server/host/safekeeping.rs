//! A region's snapshots, on their way to its standby.

use super::{Host, LONGEST_BACKLOG};
use crate::messages::{FromRegion, Subscription};
use crate::names::NodeId;
use crate::server::pieces;
use crate::server::standby::KeptSnapshot;
use channel::EndpointId;
use domain::{SimTime, Tick};

/// A snapshot that was sent and is not kept after so long got lost at its receiver.
const LONGEST_KEEPING: SimTime = SimTime(10_000_000_000);

impl Host {
    pub(super) fn handle_kept(&mut self, from: EndpointId, tick: Tick) {
        let Some(standby) = self.standby.filter(|standby| standby.endpoint() == from) else {
            return;
        };
        if self.unkept.is_none_or(|(sent, _)| sent != tick) {
            return;
        }
        self.unkept = None;
        self.kept = tick;
        self.region.snapshot_kept(tick);
        self.gauges.lock().kept = Some((standby, tick));
    }

    /// What was under way to this end does not arrive any more. If that was a snapshot, it is not the last one.
    pub(super) fn forgot_snapshot(&mut self, end: EndpointId) {
        let is_standby = self.standby.map(NodeId::endpoint) == Some(end);
        // One that was called safe has arrived.
        if is_standby && self.unkept.is_some() {
            self.given_away = false;
            self.send_snapshot_again();
        }
    }

    pub(super) fn send_snapshot_again(&mut self) {
        self.unkept = None;
        self.unsent.clear();
        self.snapshot_wanted = true;
    }

    pub(super) fn send_snapshot(&mut self) {
        let Some(standby) = self.standby else {
            // Nobody could go on in our place: nothing is gained if others remember for us, or wait.
            let due = self.region.take_snapshot();
            let wanted = self.region.wants_snapshot();
            let wanted = wanted.then(|| self.region.make_snapshot());
            if let Some(snapshot) = wanted.or(due) {
                self.region.snapshot_kept(snapshot.tick);
            }
            return;
        };
        self.send_pieces(standby);
        let local = self.shared.clock.local();
        let is_lost = |(_, since): (Tick, SimTime)| local.since(since) > LONGEST_KEEPING;
        if self.unkept.is_some_and(is_lost) && self.unsent.is_empty() && !self.given_away {
            tracing::warn!(place = %self.place, %standby, "a snapshot was not kept; another one is sent");
            self.unkept = None;
            self.snapshot_wanted = true;
        }
        // One at a time: a standby that does not keep up must not drown.
        if self.unkept.is_some() || self.given_away {
            self.region.take_snapshot();
            return;
        }
        let recovering = self.region.is_recovering();
        let due = self.region.take_snapshot();
        let wanted = self.snapshot_wanted && !recovering || self.region.wants_snapshot();
        let now = wanted.then(|| self.region.make_snapshot());
        let Some(snapshot) = now.or(due) else {
            return;
        };
        self.snapshot_wanted = false;
        self.given_away = self.moving;
        let bytes = snapshot.to_bytes();
        self.gauges.lock().snapshot_bytes = bytes.len() as u64;
        let kept = KeptSnapshot {
            term: self.term,
            tick: snapshot.tick,
            last: self.given_away,
            spawned_before: self.timetable.spawned_before(),
            subscribers: self.known_subscribers(),
            bytes,
        };
        if self.given_away {
            // Its new owner may die before anyone has a snapshot of it.
            self.shared.standby.keep(self.place, kept.clone());
        }
        let message = FromRegion::Snapshot {
            tick: kept.tick,
            last: kept.last,
            spawned_before: kept.spawned_before,
            subscribers: kept.subscribers,
            bytes_before: 0,
            bytes: kept.bytes,
        };
        self.unkept = Some((snapshot.tick, local));
        self.unsent = pieces::cut(message, self.shared.settings.piece_bytes);
        self.send_pieces(standby);
    }

    /// What can be sent of the snapshot without filling the channel.
    pub(super) fn send_pieces(&mut self, standby: NodeId) {
        let end = standby.endpoint();
        while self.post.backlog(end) < LONGEST_BACKLOG {
            let Some(piece) = self.unsent.pop_front() else {
                return;
            };
            if !self.send(end, &piece) {
                // What cannot be sent is not waited for; the next one may fit.
                self.unsent.clear();
                self.unkept = None;
                self.given_away = false;
            }
        }
    }

    pub(super) fn known_subscribers(&self) -> Vec<(NodeId, Subscription)> {
        let subscribers = self.subscribers.iter();
        subscribers
            .filter_map(|(end, wanted)| Some((NodeId::of_endpoint(*end)?, *wanted)))
            .collect()
    }
}
