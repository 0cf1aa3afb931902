//! What the entity does. The thesis had a person drive a tank; these stand in for him.

use crate::seeds;
use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::motion::{
    Driver, TANK_SPEED, TANK_TURN_RATE, Thresholds, TrueState, extrapolate, extrapolate_by,
};
use reckoning::{DrVector, Kind, Seq};
use serde::Serialize;
use std::f64::consts::PI;

/// A leg of linear or circular motion lasts this long, seconds.
const LEG_SECS: std::ops::Range<f64> = 4.0..8.0;

/// How the entity moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Motion {
    /// Straight legs of 4 to 8 s with a sudden turn between them.
    Linear,
    /// Arcs of 4 to 8 s whose turn rate jumps.
    Circular,
    /// Speed and turn rate jump every 0.2 to 1.5 s: about 1.6 triggers/s.
    StopAndGo,
    /// Speed and turn rate swing all the time: about 7.1 triggers/s.
    Smooth,
}

impl Motion {
    /// The regimes of the fairness experiments.
    pub const REGIMES: [Self; 2] = [Self::Smooth, Self::StopAndGo];

    /// As in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Circular => "circular",
            Self::StopAndGo => "stop-and-go",
            Self::Smooth => "smooth",
        }
    }

    /// BZFlag's; slightly finer for the smooth drive, to reach the 7.1 triggers/s of the digest's simulation.
    pub fn thresholds(self) -> Thresholds {
        let mut thresholds = Thresholds::bzflag();
        if self == Self::Smooth {
            thresholds.distance_m = 0.075;
        }
        thresholds
    }

    /// The seed of its `run`-th drive: the same in all experiments.
    pub fn seed(self, master: u64, run: u32) -> u64 {
        seeds::derive(master, &[20 + self as u64, u64::from(run)])
    }

    /// A drive of this kind.
    pub fn course(self, seed: u64, duration: SimTime) -> Course {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        match self {
            Self::Linear => Course::Legs(legs(&mut rng, duration, next_straight)),
            Self::Circular => Course::Legs(legs(&mut rng, duration, next_arc)),
            Self::StopAndGo => Course::Driver(Driver::stop_and_go(&mut rng, duration)),
            Self::Smooth => Course::Driver(Driver::smooth(&mut rng, duration)),
        }
    }
}

/// A motion known at every instant.
#[derive(Clone, Debug)]
pub(super) enum Course {
    /// One of the core's drivers.
    Driver(Driver),
    /// Each followed until the next.
    Legs(Vec<DrVector>),
}

impl Course {
    /// The truth at this time.
    pub fn state_at(&self, time: SimTime) -> TrueState {
        match self {
            Self::Driver(driver) => driver.state_at(time),
            Self::Legs(legs) => {
                let after = legs.partition_point(|leg| leg.time <= time);
                let leg = &legs[after.saturating_sub(1)];
                let placed = extrapolate(leg, time);
                TrueState {
                    position: placed.position,
                    rotation: placed.rotation,
                    velocity: placed.velocity,
                    spin: leg.spin,
                    acceleration: leg.spin.cross(placed.velocity),
                    in_contact: true,
                    ..TrueState::default()
                }
            }
        }
    }
}

/// Heading and turn rate of the next leg.
type Steer = fn(&mut dyn Rng, heading: f64, turn_rate: f64) -> (f64, f64);

fn next_straight(rng: &mut dyn Rng, heading: f64, _: f64) -> (f64, f64) {
    let turn = rng.random_range(0.25 * PI..PI);
    let sign = if rng.random() { 1.0 } else { -1.0 };
    (heading + sign * turn, 0.0)
}

fn next_arc(rng: &mut dyn Rng, heading: f64, turn_rate: f64) -> (f64, f64) {
    let rates = [TANK_TURN_RATE, 0.5 * TANK_TURN_RATE];
    let rate = rates[rng.random_range(0..rates.len())];
    (heading, if turn_rate > 0.0 { -rate } else { rate })
}

fn legs(rng: &mut Pcg64Mcg, duration: SimTime, steer: Steer) -> Vec<DrVector> {
    let (mut at, mut position) = (SimTime::ZERO, DVec3::ZERO);
    let (mut heading, mut turn_rate) = steer(rng, 0.0, 0.0);
    let mut legs = Vec::new();
    while at <= duration {
        let leg = leg(at, position, heading, turn_rate);
        let secs = rng.random_range(LEG_SECS);
        legs.push(leg);
        at += SimTime::from_secs(secs);
        position = extrapolate_by(&leg, secs).position;
        (heading, turn_rate) = steer(rng, heading + turn_rate * secs, turn_rate);
    }
    legs
}

fn leg(time: SimTime, position: DVec3, heading: f64, turn_rate: f64) -> DrVector {
    let rotation = DQuat::from_rotation_y(heading);
    DrVector {
        entity: BodyId(1),
        seq: Seq(0),
        time,
        kind: if turn_rate == 0.0 {
            Kind::Linear
        } else {
            Kind::Circular
        },
        status: 0,
        position,
        velocity: rotation * DVec3::X * TANK_SPEED,
        acceleration: DVec3::ZERO,
        rotation,
        spin: DVec3::Y * turn_rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_are_driven_without_jumps_at_the_tanks_speed() {
        let duration = SimTime::from_secs(60.0);
        let step = SimTime::from_millis(20.0);
        for motion in [Motion::Linear, Motion::Circular] {
            let course = motion.course(3, duration);
            let mut now = SimTime::ZERO;
            while now < duration {
                let (here, there) = (course.state_at(now), course.state_at(now + step));
                let moved = here.position.distance(there.position);
                assert!(moved <= 0.5 + 1e-9, "{motion:?} at {now}: {moved}");
                assert!((here.velocity.length() - TANK_SPEED).abs() < 1e-9);
                now += step;
            }
            let expected = match motion {
                Motion::Linear => Kind::Linear,
                _ => Kind::Circular,
            };
            assert_eq!(course.state_at(SimTime::from_secs(30.0)).kind(), expected);
        }
    }
}
