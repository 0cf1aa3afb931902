//! What was in doubt when it happened is known afterwards: the other's samples say where its body was, and where ours was we know ourselves (G2).
//!
//! A photo finish. Nobody at the line could tell who was first, so nobody is declared the winner; when the film is developed, everybody
//! can. The film is one delay late. A hit that is found on it is played if that is less than T_cut ago, and counted in any case.

use super::Station;
use super::bodies::{Body, Kind};
use super::play::Due;
use crate::body::State;
use crate::events::Cause;
use crate::geometry::{Bouncer, bounce, touched_ago};
use crate::ids::PairId;
use crate::messages::{Record, RecordKind, on_grid};
use crate::reckon::Leg;
use domain::{BodyId, SimTime};
use glam::DVec3;
use std::collections::VecDeque;

/// Frames that are remembered: at 60 Hz more than half a second.
const FRAMES: usize = 40;
/// A way between two samples is looked at in steps no longer than this.
const STEP_SECS: f64 = 0.005;
/// How far back from the first certain overlap the touch is sought.
const MOST_BACK_SECS: f64 = 0.1;

/// Where a master has been, frame by frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    frames: VecDeque<(SimTime, State)>,
}

impl Trail {
    pub fn push(&mut self, now: SimTime, state: State) {
        if self.frames.len() == FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back((now, state));
    }

    /// Between two frames it went straight.
    fn at(&self, time: SimTime) -> Option<State> {
        let after = self.frames.partition_point(|(at, _)| *at < time);
        let (next, there) = self.frames.get(after)?;
        if *next == time {
            return Some(*there);
        }
        let (before, here) = self.frames.get(after.checked_sub(1)?)?;
        let share = time.since(*before).as_secs() / next.since(*before).as_secs();
        Some(State::moving(
            here.position.lerp(there.position, share),
            here.velocity.lerp(there.velocity, share),
        ))
    }
}

/// A touch in the past, and how both moved then.
struct Found {
    pair: PairId,
    time: SimTime,
    bouncers: [Bouncer; 2],
}

impl Station {
    /// Remembers where the masters are.
    pub(super) fn film(&mut self, now: SimTime) {
        if self.looks_back() {
            for body in self.bodies.values_mut() {
                if let Kind::Master(master) = &mut body.kind {
                    master.trail.push(now, master.state);
                }
            }
        }
    }

    fn looks_back(&self) -> bool {
        let gate = self.settings.foresight.gate;
        gate.is_some_and(|gate| gate.contacts)
    }

    /// Hits that this frame's samples prove.
    pub(super) fn play_hindsight(&mut self, now: SimTime) {
        if !self.looks_back() {
            return;
        }
        let mut news: Vec<(BodyId, Vec<Leg>)> = Vec::new();
        for (id, body) in &mut self.bodies {
            if let Kind::Replica(replica) = &mut body.kind
                && replica.has_legs()
            {
                news.push((*id, replica.take_legs()));
            }
        }
        if news.is_empty() {
            return;
        }
        let bodies = self.bodies.iter();
        let masters = bodies.filter(|(_, body)| matches!(body.kind, Kind::Master(_)));
        let masters: Vec<BodyId> = masters.map(|(id, _)| *id).collect();
        for (replica, legs) in news {
            for id in masters.iter().filter_map(|own| PairId::new(*own, replica)) {
                let found = legs
                    .iter()
                    .find_map(|leg| self.develop(now, id, replica, leg));
                if let Some(found) = found {
                    self.play_found(now, &found);
                }
            }
        }
    }

    /// Did the replica's owner's body, on this way, touch our master?
    fn develop(&self, now: SimTime, id: PairId, replica: BodyId, leg: &Leg) -> Option<Found> {
        let [one, other] = self.both(id)?;
        let (ours, theirs) = if id.bodies()[0] == replica {
            (other, one)
        } else {
            (one, other)
        };
        let Kind::Master(master) = &ours.kind else {
            return None;
        };
        let reach = ours.ball.radius + theirs.ball.radius;
        // Most pairs are too far apart to bother.
        let then = master.trail.at(leg.end());
        if then.is_some_and(|then| leg.is_far_from(&then, reach)) {
            return None;
        }
        let pair = self.pairs.get(&id).filter(|pair| pair.commit.is_none())?;
        if !self.may_hit(now, id) || self.is_held_by_others(id) {
            return None;
        }
        let since = pair.since;
        let mut were_apart = false;
        for (time, place, doubt) in leg.places(STEP_SECS) {
            let Some(own) = master.trail.at(time).filter(|_| time >= since) else {
                continue;
            };
            let closing = own.velocity - leg.velocity;
            // Two clocks that disagree have two bodies in places where they were not at the same time.
            let clocks = self.clock_error().unwrap_or_default().as_secs() * closing.length();
            let offset = own.position - place;
            were_apart |= offset.length() > reach;
            // As for contacts that are seen: what overlaps and comes apart hits only if it came together before our eyes.
            let comes_together = were_apart || offset.dot(closing) < 0.0;
            if !comes_together || offset.length() + doubt + clocks > reach {
                continue;
            }
            let back = touched_ago(offset, closing, reach).unwrap_or(0.0);
            let back = back.min(MOST_BACK_SECS);
            let touch = time.since(SimTime::from_secs(back));
            if pair.ledger.knows(touch) {
                return None;
            }
            let bouncer = |body: &Body, position: DVec3, velocity: DVec3| Bouncer {
                ball: body.ball,
                position: position - velocity * back,
                velocity,
            };
            let mut bouncers = [
                bouncer(ours, own.position, own.velocity),
                bouncer(theirs, place, leg.velocity),
            ];
            if id.bodies()[0] == replica {
                bouncers.reverse();
            }
            return Some(Found {
                pair: id,
                time: crate::messages::whole_micros(touch),
                bouncers,
            });
        }
        None
    }

    fn play_found(&mut self, now: SimTime, found: &Found) {
        let (pair, time) = (found.pair, found.time);
        if now.since(time) >= self.settings.agreement.cut_off {
            let record = Record {
                pair,
                kind: RecordKind::Done,
                index: 0,
                time,
                score: u8::MAX,
                velocities: None,
                earlier: Vec::new(),
            };
            self.count_only(now, &record, self.id);
        } else {
            let outcome = bounce(self.settings.bounce, found.bouncers, false);
            let steps = self.settings.wire.steps_per_unit;
            let due = Due {
                pair,
                cause: Cause::Hindsight,
                time,
                velocities: Some(outcome.map(|velocity| on_grid(velocity, steps))),
                author: self.id,
                score: u8::MAX,
            };
            self.play(now, due);
        }
        self.tell_done(now, pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> SimTime {
        SimTime(millis * 1_000_000)
    }

    #[test]
    fn a_trail_knows_its_past_and_nothing_else() {
        let mut trail = Trail::default();
        for frame in 0..100_u64 {
            let place = DVec3::X * frame as f64;
            trail.push(ms(20 * frame), State::moving(place, DVec3::X * 50.0));
        }
        let at = |millis| trail.at(ms(millis)).map(|state| state.position.x);
        assert_eq!(at(1_980), Some(99.0));
        assert_eq!(at(1_970), Some(98.5));
        assert_eq!(at(1_981), None, "not yet");
        assert_eq!(at(1_000), None, "long ago");
    }
}
