//! What another station may make us believe (G6, ML-59): authentic is not yet true.
//!
//! A cheat can lie about its own bodies and about hits it shares with us. Lies about where its body is are bounded by speed; a hit must be at a
//! time that can be, between bodies that can touch, with an outcome that physics allows, and not more often than
//! bodies can bounce. What is not believed is counted and reported; it changes nothing. What cannot be caught here is
//! silence: who never admits a hit differs from us in its count, and only somebody above both can settle that.

use super::Station;
use super::bodies::{Body, Kind};
use super::motion::gap;
use crate::agreement::Pair;
use crate::body::State;
use crate::events::Disbelief;
use crate::messages::{Record, RecordKind, Update};
use domain::SimTime;
use glam::DVec3;

const SECOND: SimTime = SimTime(1_000_000_000);

impl Station {
    /// A body does not jump.
    pub(super) fn judge_update(&self, now: SimTime, update: &Update) -> Result<(), Disbelief> {
        let guard = &self.settings.guard;
        if !guard.enabled {
            return Ok(());
        }
        if update.time.since(now) > self.slack() + guard.max_ahead {
            return Err(Disbelief::TooFarAhead);
        }
        if update
            .velocity
            .is_some_and(|velocity| velocity.length() > guard.max_speed)
        {
            return Err(Disbelief::Implausible);
        }
        let Some(body) = self.bodies.get(&update.body) else {
            return Ok(());
        };
        if let Kind::Replica(replica) = &body.kind
            && let Some((time, position)) = replica.last_told()
            && update.time > time
        {
            let reach = guard.max_speed * update.time.since(time).as_secs() + guard.reach_slack;
            if position.distance(update.position) > reach {
                return Err(Disbelief::Implausible);
            }
        }
        Ok(())
    }

    pub(super) fn judge_record(&self, now: SimTime, record: &Record) -> Result<(), Disbelief> {
        let guard = &self.settings.guard;
        let Some(pair) = self.pairs.get(&record.pair) else {
            return Ok(());
        };
        // What is known already can do no harm, and a heartbeat must not be judged by where the bodies are by now.
        let known =
            pair.ledger.has(record.index, record.time) && pair.ledger.news(record).is_empty();
        if !guard.enabled || record.index == 0 {
            return Ok(());
        }
        let fresh = now.since(record.time) < self.settings.agreement.cut_off;
        if let Some(velocities) = record.velocities
            && fresh
        {
            self.judge_outcome(pair, velocities)?;
        }
        if known {
            return Ok(());
        }
        let ahead = match record.kind {
            RecordKind::Notice => guard.max_ahead,
            RecordKind::Done => SimTime(2 * self.settings.frame.0),
        };
        if record.time.since(now) > ahead + self.slack() {
            return Err(Disbelief::TooFarAhead);
        }
        self.judge_pace(pair, record, now)?;
        if fresh {
            self.judge_reach(now, record)?;
        }
        Ok(())
    }

    /// How far two honest clocks may differ.
    fn slack(&self) -> SimTime {
        self.clock_error().unwrap_or_default()
    }

    /// Bodies bounce only so often.
    fn judge_pace(&self, pair: &Pair, record: &Record, now: SimTime) -> Result<(), Disbelief> {
        let per_sec = self.settings.guard.max_hits_per_sec;
        let lately = pair
            .ledger
            .recent()
            .filter(|time| record.time.since(*time) < SECOND && *time <= record.time);
        let lived = now.since(pair.since).as_secs();
        let most = (1.0 + lived) * f64::from(per_sec);
        if lately.count() >= per_sec as usize || f64::from(record.index) > most {
            return Err(Disbelief::TooMany);
        }
        Ok(())
    }

    /// Could they touch at that time, give or take what we may be wrong about?
    fn judge_reach(&self, now: SimTime, record: &Record) -> Result<(), Disbelief> {
        let guard = &self.settings.guard;
        let Some([one, other]) = self.both(record.pair) else {
            return Ok(());
        };
        let apart_secs = record.time.since(now).max(now.since(record.time)).as_secs();
        let reach = |body: &Body| {
            let State {
                velocity,
                acceleration,
                ..
            } = body.state();
            let doubt = match &body.kind {
                Kind::Replica(replica) => {
                    let basis = replica.last_told().map_or(now, |(time, _)| time);
                    // It may have turned round since we last heard.
                    2.0 * velocity.length() * now.since(basis).as_secs()
                }
                _ => 0.0,
            };
            velocity.length() * apart_secs + acceleration.length() * apart_secs * apart_secs + doubt
        };
        match gap(one, other) > reach(one) + reach(other) + guard.reach_slack {
            true => Err(Disbelief::OutOfReach),
            false => Ok(()),
        }
    }

    /// No energy from nowhere. A replica may be faster than it is shown by `reach_slack` per tenth of a second.
    fn judge_outcome(&self, pair: &Pair, velocities: [DVec3; 2]) -> Result<(), Disbelief> {
        let guard = &self.settings.guard;
        if velocities
            .iter()
            .any(|velocity| velocity.length() > guard.max_speed)
        {
            return Err(Disbelief::Implausible);
        }
        let Some(bodies) = self.both(pair.id) else {
            return Ok(());
        };
        let energy = |speeds: [f64; 2]| -> f64 {
            bodies
                .iter()
                .zip(speeds)
                .filter(|(body, _)| body.ball.mass.is_finite())
                .map(|(body, speed)| body.ball.mass * speed * speed)
                .sum()
        };
        let shown = bodies.map(|body| match &body.kind {
            Kind::Replica(_) => body.state().velocity.length() + 10.0 * guard.reach_slack,
            _ => body.state().velocity.length(),
        });
        let played = pair
            .played
            .map_or([0.0; 2], |played| played.velocities.map(DVec3::length));
        let before = energy(shown).max(energy(played));
        match energy(velocities.map(DVec3::length)) > guard.energy_factor * before {
            true => Err(Disbelief::Implausible),
            false => Ok(()),
        }
    }
}
