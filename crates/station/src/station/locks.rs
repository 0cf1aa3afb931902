//! Who holds whose motion fixed, and for how long (ML-19, ML-23).
//!
//! A lock belongs to a pair, not to a body: a body is free when no pair holds it any more. So no other pair's business can
//! release it (D2), and a bucket needs no list of its own (D9, D10).

use super::Station;
use super::bodies::Kind;
use crate::events::{Event, Unlock};
use crate::geometry::Course;
use crate::ids::PairId;
use domain::{BodyId, SimTime};

/// One pair's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    pub since: SimTime,
    /// At most T_lock later.
    pub until: SimTime,
}

impl Station {
    /// Fixes both bodies' motion. Courses are for those that are not fixed already.
    pub(super) fn lock(
        &mut self,
        now: SimTime,
        pair: PairId,
        until: SimTime,
        courses: [Course; 2],
        own: bool,
    ) {
        let until = until.min(now + self.settings.lock.max);
        for (body, course) in pair.bodies().into_iter().zip(courses) {
            if let Some(body) = self.bodies.get_mut(&body) {
                body.hold.get_or_insert(course);
            }
        }
        self.locks.insert(pair, Lock { since: now, until });
        self.events.push_back(Event::Locked {
            pair,
            at: now,
            until,
            own,
        });
    }

    /// Ends a pair's lock, if it has one; bodies that nobody else holds are free.
    pub(super) fn unlock(&mut self, now: SimTime, pair: PairId, why: Unlock) {
        let Some(Lock { since, .. }) = self.locks.remove(&pair) else {
            return;
        };
        self.events.push_back(Event::Unlocked {
            pair,
            since,
            at: now,
            why,
        });
        for body in pair.bodies() {
            if !self.is_held(body) {
                self.release(now, body);
            }
        }
    }

    /// Whether any pair holds this body.
    pub(super) fn is_held(&self, body: BodyId) -> bool {
        self.locks.keys().any(|pair| pair.has(body))
    }

    /// Whether another pair holds one of this pair's bodies.
    pub(super) fn is_held_by_others(&self, pair: PairId) -> bool {
        let shares = |other: &&PairId| pair.bodies().into_iter().any(|body| other.has(body));
        self.locks
            .keys()
            .filter(|other| **other != pair)
            .any(|other| shares(&other))
    }

    /// The body goes on freely from where it is; a command that waited is carried out next.
    pub(super) fn release(&mut self, now: SimTime, body: BodyId) {
        let settings = self.settings.reckoning;
        let Some(body) = self.bodies.get_mut(&body) else {
            return;
        };
        if body.hold.take().is_none() {
            return;
        }
        match &mut body.kind {
            Kind::Master(master) => master.command = master.waiting.take(),
            Kind::Replica(replica) => replica.release(now, &settings),
            Kind::Global(_) => {}
        }
    }

    /// The safety net: whatever else happens, no lock outlives its time (ML-23, ML-60).
    pub(super) fn end_overdue_locks(&mut self, now: SimTime) {
        let overdue: Vec<PairId> = self
            .locks
            .iter()
            .filter(|(_, lock)| lock.until <= now)
            .map(|(pair, _)| *pair)
            .collect();
        for id in overdue {
            if let Some(pair) = self.pairs.get_mut(&id) {
                // A hit whose time is the other's may be due after our lock: it is played then, the bodies are free meanwhile.
                let given_up = pair.commit.take_if(|commit| commit.time <= now);
                if given_up.is_some() {
                    pair.ledger.uncommit();
                }
                if std::mem::take(&mut pair.voting).will {
                    pair.ledger.disarm();
                }
            }
            self.unlock(now, id, Unlock::Expired);
        }
    }
}
