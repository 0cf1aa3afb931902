//! Hits before they happen: who will touch whom, is it sure, and the commitment to it (ML-18).

use super::Station;
use super::bodies::{Body, Kind};
use crate::agreement::Commit;
use crate::geometry::{Bouncer, Course, bounce, closest, first_contact, is_inside};
use crate::ids::PairId;
use crate::messages::{Message, on_grid, whole_micros};
use crate::settings::{ForesightPath, LockWindow, Protocol};
use domain::SimTime;
use glam::DVec3;

/// Beyond the touch, look so long for how deep the hit would be.
const DEPTH_SECS: f64 = 0.2;

/// A hit that is about to happen.
struct Foreseen {
    pair: PairId,
    secs: f64,
}

impl Station {
    /// Commits to what is near enough and sure enough, the soonest first.
    pub(super) fn foresee(&mut self, now: SimTime) {
        if !self.settings.protocol.locks() {
            return;
        }
        let mut foreseen: Vec<Foreseen> = self
            .near
            .iter()
            .filter_map(|pair| self.look_ahead(now, *pair))
            .collect();
        foreseen.sort_by(|a, b| a.secs.total_cmp(&b.secs).then(a.pair.cmp(&b.pair)));
        for Foreseen { pair, secs } in foreseen {
            match self.settings.protocol {
                Protocol::PreCollision | Protocol::LiteralPreCollision => {
                    self.request(now, pair, secs);
                }
                _ => self.commit(now, pair, secs),
            }
        }
    }

    /// Will this pair touch within the window?
    fn look_ahead(&self, now: SimTime, id: PairId) -> Option<Foreseen> {
        let pair = self.pairs.get(&id)?;
        if pair.commit.is_some() || pair.voting.will || !self.may_hit(now, id) {
            return None;
        }
        let window = self.window(id).as_secs();
        let [one, other] = self.both(id)?;
        let reach = one.ball.radius + other.ball.radius;
        // Most pairs are too far apart to bother.
        let (a, b) = (one.state(), other.state());
        let speed = |state: crate::body::State| {
            state.velocity.length() + state.acceleration.length() * window
        };
        if a.position.distance(b.position) - reach > (speed(a) + speed(b)) * window {
            return None;
        }
        let courses = [one, other].map(|body| body.course(self.settings.foresight.path, now));
        let curved = self.settings.foresight.path != ForesightPath::Straight
            || one.is_locked()
            || other.is_locked();
        let secs = first_contact([&courses[0], &courses[1]], now, reach, window, curved)?;
        // What touches already is no longer foreseen: it is a contact. But a bucket takes it in (Algorithm 4: 0 ≤ Δt).
        let buckets = self.settings.protocol == Protocol::MotionLockBuckets;
        let foreseen = secs > 0.0 || (buckets && self.is_held_by_others(id));
        (foreseen && self.is_sure(now, id, secs)).then_some(Foreseen { pair: id, secs })
    }

    /// Whether this pair can have a new hit at all.
    pub(super) fn may_hit(&self, now: SimTime, id: PairId) -> bool {
        self.pairs.get(&id).is_some_and(|pair| {
            let heard = |peer| self.peers.get(peer).is_some_and(|peer| !peer.silent);
            pair.ledger.is_armed(now) && pair.peers.iter().all(heard)
        })
    }

    pub(super) fn both(&self, pair: PairId) -> Option<[&Body; 2]> {
        let [one, other] = pair.bodies().map(|body| self.bodies.get(&body));
        Some([one?, other?])
    }

    /// How far ahead hits of this pair are committed (G3).
    pub(super) fn window(&self, id: PairId) -> SimTime {
        let max = self.settings.lock.max;
        let LockWindow::Measured { jitters } = self.settings.lock.window else {
            return max;
        };
        let peers = self.pairs.get(&id).map_or(&[][..], |pair| &pair.peers);
        let delays = peers.iter().map(|peer| self.delay_from(*peer));
        let needed = delays.map(|delay| {
            delay.map_or(max, |(mean, deviation)| {
                mean + SimTime::from_secs(deviation.as_secs() * jitters) + self.settings.frame
            })
        });
        needed.max().unwrap_or(max).min(max)
    }

    /// How far off the pair's bodies may be at the time of the touch.
    fn doubt(&self, now: SimTime, id: PairId, secs: f64) -> f64 {
        let doubt = |body: &Body| match &body.kind {
            Kind::Replica(replica) => replica.uncertainty(now, secs, &self.settings.reckoning),
            // We know where it is, not what its player will do next.
            Kind::Master(master) => master.forecasts.error(secs),
            Kind::Global(_) => 0.0,
        };
        self.both(id)
            .map_or(f64::INFINITY, |bodies| bodies.into_iter().map(doubt).sum())
    }

    /// Whether the hit would be one even if the replica is as far off as it usually is (G2).
    pub(super) fn is_sure(&self, now: SimTime, id: PairId, secs: f64) -> bool {
        let (Some(gate), Some([one, other])) = (self.settings.foresight.gate, self.both(id)) else {
            return true;
        };
        let reach = one.ball.radius + other.ball.radius;
        let courses = [one, other].map(|body| body.course(self.settings.foresight.path, now));
        // The deeper the hit would become, the surer it is; but the farther ahead that is, the less is known.
        let margin = |secs| gate.sigmas * self.doubt(now, id, secs);
        let ahead = (secs, secs + DEPTH_SECS);
        closest([&courses[0], &courses[1]], now, ahead, margin) <= reach
    }

    /// How sure we are of this hit, 255 = we know.
    pub(super) fn score(&self, now: SimTime, id: PairId, secs: f64) -> u8 {
        let reach = self
            .both(id)
            .map_or(1.0, |[one, other]| one.ball.radius + other.ball.radius);
        let doubt = (self.doubt(now, id, secs) / reach).clamp(0.0, 1.0);
        (255.0 * (1.0 - doubt)).round() as u8
    }

    /// Commits to a hit in `secs`: both bodies' motion is fixed, `cp` rises once (ML-22), the other is told at once (ML-20).
    fn commit(&mut self, now: SimTime, id: PairId, secs: f64) {
        let wanted = whole_micros(now + SimTime::from_secs(secs));
        let Some(time) = self.place_in_bucket(id, wanted) else {
            return;
        };
        let Some(courses) = self.courses(now, id) else {
            return;
        };
        if !self.stays_inside(id, &courses, time) {
            return;
        }
        let velocities = self.outcome(id, &courses, time);
        let score = self.score(now, id, secs);
        let order = self.commits;
        let us = self.id;
        let (conflict, deadline) = (
            self.settings.agreement.conflict,
            now + self.settings.lock.max,
        );
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        pair.commit = Some(Commit {
            index: pair.ledger.commit(),
            time,
            deadline,
            velocities,
            score,
            author: us,
            order,
        });
        pair.weigh_notice(us, conflict);
        let until = pair.commit.map_or(time, |commit| commit.time);
        self.commits += 1;
        self.lock(now, id, until, courses, true);
        self.tell_notice(now, id);
    }

    pub(super) fn courses(&self, now: SimTime, id: PairId) -> Option<[Course; 2]> {
        let path = self.settings.foresight.path;
        Some(self.both(id)?.map(|body| body.course(path, now)))
    }

    /// When the hit is to be played. Bodies that are free: at its own time. A body that is locked already: not at all (ML-31), or with
    /// buckets together with what it is locked for, if the hit is not later than that (ML-30). The bucket is all hits
    /// that hang together by locked bodies, whosever masters they are (D11).
    fn place_in_bucket(&self, id: PairId, wanted: SimTime) -> Option<SimTime> {
        if !self.is_held_by_others(id) {
            return Some(wanted);
        }
        if self.settings.protocol != Protocol::MotionLockBuckets {
            return None;
        }
        let shares =
            |other: &PairId| *other != id && id.bodies().iter().any(|body| other.has(*body));
        let mut members = 0;
        let mut bucket: Option<SimTime> = None;
        for other in self.locks.keys().filter(|other| shares(other)) {
            let commit = self.pairs.get(other)?.commit?;
            bucket = Some(bucket.map_or(commit.time, |time| time.min(commit.time)));
            members += 1;
        }
        let bucket = bucket?;
        (wanted <= bucket && members < self.settings.lock.max_bucket).then_some(bucket)
    }

    /// A hit beyond a wall is none: the wall comes first.
    fn stays_inside(&self, id: PairId, courses: &[Course; 2], time: SimTime) -> bool {
        let (Some(arena), Some(bodies)) = (&self.arena, self.both(id)) else {
            return true;
        };
        bodies
            .iter()
            .zip(courses)
            .all(|(body, course)| is_inside(arena, &body.ball, course.at(time).position))
    }

    /// The velocities after a hit at that time, in numbers that survive the wire unchanged.
    pub(super) fn outcome(&self, id: PairId, courses: &[Course; 2], time: SimTime) -> [DVec3; 2] {
        let Some([one, other]) = self.both(id) else {
            return [DVec3::ZERO; 2];
        };
        let bouncer = |body: &Body, course: &Course| {
            let state = course.at(time);
            Bouncer {
                ball: body.ball,
                position: state.position,
                velocity: state.velocity,
            }
        };
        let bouncers = [bouncer(one, &courses[0]), bouncer(other, &courses[1])];
        bounce(self.settings.bounce, bouncers, false)
            .map(|velocity| on_grid(velocity, self.settings.wire.steps_per_unit))
    }

    /// Tells the other participant, and nobody else (ML-29), of our commit.
    pub(super) fn tell_notice(&mut self, now: SimTime, id: PairId) {
        let Some(pair) = self.pairs.get_mut(&id) else {
            return;
        };
        let Some(record) = pair.notice_record(&self.settings.agreement) else {
            return;
        };
        pair.told_at = Some(now);
        for peer in pair.peers.clone() {
            self.say(peer, Message::Record(record.clone()));
        }
    }
}
