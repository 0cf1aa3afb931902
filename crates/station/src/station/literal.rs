//! Algorithms 3 and 4 of the thesis, letter by letter, with the defects the digest lists (D1 to D5, D9 to D12): so that tests can show
//! what each does. Nothing else uses them; `Settings::published` is the work as it must have been meant.
//!
//! The names are the pseudo-code's: `c`, `cp`, `t`, `ts` are this station's, `cb`, `cpb`, `tb` what the other sent.

use super::Station;
use super::bodies::Kind;
use super::motion::{gap, is_touching};
use crate::body::State;
use crate::events::{Cause, Counters, Event, Hit, Unlock};
use crate::geometry::{Course, bounce, time_to_contact};
use crate::ids::PairId;
use crate::messages::{Message, Record, RecordKind};
use domain::{BodyId, SimTime};

/// One pair's variables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LiteralPair {
    c: u32,
    cp: u32,
    t: Option<SimTime>,
    ts: SimTime,
    cb: u32,
    cpb: u32,
    /// `None` is the pseudo-code's infinity.
    tb: Option<SimTime>,
    velocities: Option<[glam::DVec3; 2]>,
}

/// One master's `collisionList` and `t_bucket`.
#[derive(Clone, Debug, Default)]
pub(super) struct LiteralBucket {
    list: Vec<BodyId>,
    time: Option<SimTime>,
}

impl LiteralPair {
    pub fn counters(&self) -> Counters {
        Counters {
            c: self.c,
            cp: self.cp,
        }
    }
}

impl Station {
    /// "On receipt: store." Whatever it is, however old (D4).
    pub(super) fn literal_store(&mut self, record: &Record) {
        let own = self.literal.entry(record.pair).or_default();
        match record.kind {
            RecordKind::Notice => own.cpb = record.index,
            RecordKind::Done => own.cb = record.index,
        }
        own.tb = Some(record.time);
        own.velocities = record.velocities;
    }

    pub(super) fn literal_motion_lock(&mut self, now: SimTime) {
        let ids: Vec<PairId> = self.pairs.keys().copied().collect();
        for id in ids {
            let mut own = self.literal.get(&id).copied().unwrap_or_default();
            let remain = self.literal_prediction(id);
            if remain <= self.settings.lock.max.as_secs() {
                for body in id.bodies() {
                    self.literal_lock(now, id, body);
                }
                let time = now + SimTime::from_secs(remain);
                own.t = Some(time);
                own.cp = own.cp.saturating_add(1); // in every frame of the window (D1)
                own.ts = now;
                self.literal_send(id, RecordKind::Notice, own.cp, time);
            } else {
                for body in id.bodies() {
                    self.literal_unlock(now, id, body); // whoever holds it (D2)
                }
            }
            if self
                .both(id)
                .is_some_and(|[one, other]| is_touching(one, other))
            {
                own.c = own.c.saturating_add(1); // cp may stay behind (D3)
                own.t = Some(now);
                own.ts = now;
                self.literal_resolve(now, id, Cause::Contact, own.c, None);
                self.literal_send(id, RecordKind::Done, own.c, now);
            } else {
                self.literal_peer_counters(now, id, &mut own);
            }
            self.literal.insert(id, own);
        }
    }

    /// The two branches "else if" that Algorithms 3 and 4 share; says whether one of them was taken.
    fn literal_peer_counters(&mut self, now: SimTime, id: PairId, own: &mut LiteralPair) -> bool {
        let past = own.tb.is_some_and(|tb| tb <= now);
        let young = own
            .tb
            .is_some_and(|tb| now.since(tb) < self.settings.agreement.cut_off);
        let cause = |cause| if young { cause } else { Cause::CountOnly };
        if own.cpb > own.cp && past {
            (own.cp, own.c, own.t) = (own.cpb, own.cpb, Some(now));
            own.tb = None;
            self.literal_resolve(now, id, cause(Cause::Notice), own.c, own.velocities);
            return true;
        }
        if own.cb > own.c {
            (own.c, own.cp, own.t) = (own.cb, own.cb, Some(now));
            self.literal_resolve(now, id, cause(Cause::Count), own.c, own.velocities);
            return true;
        }
        false
    }

    pub(super) fn literal_buckets(&mut self, now: SimTime) {
        let ids: Vec<PairId> = self.pairs.keys().copied().collect();
        for id in ids {
            let Some((master, replica)) = self.literal_roles(id) else {
                continue;
            };
            let mut own = self.literal.get(&id).copied().unwrap_or_default();
            let mut bucket = self.literal_buckets.remove(&master).unwrap_or_default();
            let remain = self.literal_prediction(id);
            // "if 0 ≤ Δt ≤ T": no T is defined anywhere (D12), so nothing bounds it.
            if remain < f64::INFINITY {
                let time = now + SimTime::from_secs(remain);
                own.t = Some(time);
                let joins = match (self.is_locked(master), self.is_locked(replica)) {
                    (false, false) => {
                        bucket.time = Some(time);
                        true
                    }
                    (true, false) => bucket.time.is_none_or(|bucket| time <= bucket),
                    // A replica that another of our masters holds is not provided for (D11).
                    _ => false,
                };
                if joins {
                    self.literal_lock(now, id, master);
                    self.literal_lock(now, id, replica);
                    bucket.list.push(replica);
                    own.cp = own.cp.saturating_add(1);
                    own.ts = now;
                    self.literal_send(id, RecordKind::Notice, own.cp, bucket.time.unwrap_or(time));
                }
            }
            if bucket.time.is_some_and(|time| time <= now) {
                if bucket.list.contains(&replica) {
                    own.c = own.c.saturating_add(1);
                    (own.t, own.ts) = (Some(now), now);
                    bucket.time = None; // the next member finds no bucket (D9)
                    bucket.list.retain(|member| *member != replica);
                    self.literal_resolve(now, id, Cause::Commit, own.c, None);
                    self.literal_unlock(now, id, replica);
                    if bucket.list.is_empty() {
                        self.literal_unlock(now, id, master);
                    }
                    self.literal_send(id, RecordKind::Done, own.c, now);
                }
            } else if self.literal_peer_counters(now, id, &mut own) {
                // The replica stays in the list, and the master may be others' (D10).
                self.literal_unlock(now, id, master);
                self.literal_unlock(now, id, replica);
            }
            self.literal_buckets.insert(master, bucket);
            self.literal.insert(id, own);
        }
    }

    pub(super) fn literal_beat(&mut self, now: SimTime, id: PairId) {
        let Some(own) = self.literal.get_mut(&id) else {
            return;
        };
        if now.since(own.ts) > self.settings.agreement.busy_beat {
            own.ts = now;
            // Only c: a lost notice is never repeated (D13).
            let (c, time) = (own.c, own.t.unwrap_or(now));
            self.literal_send(id, RecordKind::Done, c, time);
        }
    }

    fn literal_roles(&self, id: PairId) -> Option<(BodyId, BodyId)> {
        let master = id.bodies().into_iter().find(|body| {
            matches!(
                self.bodies.get(body).map(|body| &body.kind),
                Some(Kind::Master(_))
            )
        })?;
        Some((master, id.other(master)))
    }

    fn literal_prediction(&self, id: PairId) -> f64 {
        self.both(id).map_or(f64::INFINITY, |[one, other]| {
            let (a, b) = (one.state(), other.state());
            let reach = one.ball.radius + other.ball.radius;
            let offset = a.position - b.position;
            // "The remaining time to a collision": what collides already has none remaining (D3).
            match offset.length() <= reach {
                true => f64::INFINITY,
                false => time_to_contact(offset, a.velocity - b.velocity, reach),
            }
        })
    }

    fn literal_lock(&mut self, now: SimTime, id: PairId, body: BodyId) {
        let Some(body) = self.bodies.get_mut(&body) else {
            return;
        };
        if body.hold.is_none() {
            let State {
                position, velocity, ..
            } = body.state();
            body.hold = Some(Course::straight(now, position, velocity));
            self.locks.entry(id).or_insert(super::locks::Lock {
                since: now,
                until: now + self.settings.lock.max,
            });
        }
    }

    fn literal_unlock(&mut self, now: SimTime, id: PairId, body: BodyId) {
        self.release(now, body);
        if let Some(lock) = self.locks.remove(&id) {
            self.events.push_back(Event::Unlocked {
                pair: id,
                since: lock.since,
                at: now,
                why: Unlock::Aborted,
            });
        }
    }

    fn literal_send(&mut self, id: PairId, kind: RecordKind, index: u32, time: SimTime) {
        let peers = self
            .pairs
            .get(&id)
            .map_or(Vec::new(), |pair| pair.peers.clone());
        for peer in peers {
            self.say(
                peer,
                Message::Record(Record {
                    pair: id,
                    kind,
                    index,
                    time,
                    score: 0,
                    velocities: None,
                    earlier: Vec::new(),
                }),
            );
        }
    }

    fn literal_resolve(
        &mut self,
        now: SimTime,
        id: PairId,
        cause: Cause,
        index: u32,
        velocities: Option<[glam::DVec3; 2]>,
    ) {
        let Some([one, other]) = self.both(id) else {
            return;
        };
        let apart = gap(one, other);
        let late = matches!(cause, Cause::Notice | Cause::Count);
        let computed = bounce(self.settings.bounce, [one.bouncer(), other.bouncer()], late);
        let velocities = velocities.unwrap_or(computed);
        if cause != Cause::CountOnly {
            for (body, velocity) in id.bodies().into_iter().zip(velocities) {
                self.deflect(now, body, velocity, true);
                if let Some(body) = self.bodies.get_mut(&body)
                    && body.hold.is_some()
                {
                    body.hold = Some(Course::straight(now, body.state().position, velocity));
                }
            }
        }
        self.events.push_back(Event::Hit(Hit {
            pair: id,
            index,
            at: now,
            scheduled: now,
            cause,
            gap: apart,
            author: self.id,
            velocities,
            clock_error: SimTime::ZERO,
        }));
    }
}
