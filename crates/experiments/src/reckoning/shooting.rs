//! A bot that shoots at what it sees.
//!
//! ```text
//!   shooter ─────────────► where it sees the tank, or will see it when the shell is there
//!           60 units         ▭ where it really is: 6 by 2.8 units. A hit if the shell passes through it.
//! ```

use super::motion::Motion;
use super::playback::Playback;
use super::trace::{FRAME, Trace, frames};
use crate::seeds;
use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::fairness::Link;
use reckoning::motion::{ClockMode, Placed, Receiver};
use std::f64::consts::TAU;

/// From the shooter to the tank, units.
const DISTANCE: f64 = 60.0;
/// BZFlag's shells, units/s.
const SHELL_SPEED: f64 = 100.0;
/// Half the tank's length and width, units.
const HALF_TANK: (f64, f64) = (3.0, 1.4);
/// A shot every half second.
const FRAMES_PER_SHOT: u64 = 25;
/// The first shot.
const START_SECS: f64 = 2.0;
/// The shell's flight is looked at this often, seconds: 0.4 units at a time.
const FLIGHT_STEP_SECS: f64 = 0.004;
/// It can meet the tank between these times of its flight: a tank that comes towards it, one that flees.
const FLIGHT_SECS: (f64, f64) = (0.44, 0.86);

/// What the bot shoots with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Weapon {
    /// Flies at 100 units/s; the bot leads the target by what it sees of its course.
    Shell,
    /// There at once; the bot aims at where it sees the tank.
    Laser,
}

impl Weapon {
    pub const ALL: [Self; 2] = [Self::Shell, Self::Laser];

    /// As in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Laser => "laser",
        }
    }
}

/// Shots that hit, of `shots`, by weapon: local clock, global clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Game {
    pub shots: u32,
    pub hits: [[u32; 2]; 2],
    pub triggers_per_sec: f64,
}

impl Game {
    /// Hit rates in %: local, global.
    pub fn rates(&self, weapon: usize) -> [f64; 2] {
        self.hits[weapon].map(|hits| 100.0 * f64::from(hits) / f64::from(self.shots.max(1)))
    }

    /// By how many percentage points the global clock hits more often.
    pub fn gap(&self, weapon: usize) -> f64 {
        let [local, global] = self.rates(weapon);
        global - local
    }
}

/// The shell's velocity so that it meets a target that goes on as it is seen: |seen + v·t − from| = speed · t.
fn lead(from: DVec3, seen: &Placed) -> DVec3 {
    let (apart, v) = (seen.position - from, seen.velocity);
    let a = v.length_squared() - SHELL_SPEED * SHELL_SPEED;
    let b = 2.0 * apart.dot(v);
    let c = apart.length_squared();
    // The tank is slower than the shell, so a < 0 and there is exactly one positive solution.
    let time = (-b - (b * b - 4.0 * a * c).sqrt()) / (2.0 * a);
    (apart + v * time).normalize_or_zero() * SHELL_SPEED
}

/// Is this point within the tank?
fn inside(point: DVec3, tank: DVec3, rotation: DQuat) -> bool {
    let seen = rotation.inverse() * (point - tank);
    seen.x.abs() <= HALF_TANK.0 && seen.z.abs() <= HALF_TANK.1
}

fn hits(trace: &Trace, now: SimTime, from: DVec3, seen: &Placed, weapon: Weapon) -> bool {
    let aim = match weapon {
        Weapon::Shell => lead(from, seen),
        Weapon::Laser => (seen.position - from).normalize_or_zero() * SHELL_SPEED,
    };
    let standing = trace.course.state_at(now);
    let steps = ((FLIGHT_SECS.1 - FLIGHT_SECS.0) / FLIGHT_STEP_SECS) as u32;
    (0..=steps).any(|step| {
        let secs = FLIGHT_SECS.0 + f64::from(step) * FLIGHT_STEP_SECS;
        let tank = match weapon {
            Weapon::Shell => trace.course.state_at(now + SimTime::from_secs(secs)),
            Weapon::Laser => standing,
        };
        inside(from + aim * secs, tank.position, tank.rotation)
    })
}

/// One game: every shot is fired by both clocks and with both weapons.
pub(super) fn play(motion: Motion, delay_ms: f64, seed: u64, secs: f64) -> Game {
    let trace = Trace::record(motion, BodyId(1), seed, secs);
    let link = Link::fixed(delay_ms);
    let mut playback = Playback::new(&trace, &link, &link, seed);
    // Where the shooter stands does not depend on the delay: every delay is given the same shots.
    let mut rng = Pcg64Mcg::seed_from_u64(seeds::derive(seed, &[13]));
    let modes = [ClockMode::Local, ClockMode::Global];
    let mut receivers = modes.map(|mode| Receiver::new(BodyId(1), mode));
    let mut game = Game {
        triggers_per_sec: trace.rate(),
        ..Game::default()
    };
    let last = SimTime::from_secs(secs - 1.0);
    for now in frames(last) {
        for arrival in playback.due(now) {
            for receiver in &mut receivers {
                receiver
                    .receive(arrival.at, &arrival.vector)
                    .expect("a fixed delay keeps the order");
            }
        }
        if now.as_secs() < START_SECS || !(now.0 / FRAME.0).is_multiple_of(FRAMES_PER_SHOT) {
            continue;
        }
        let bearing = DQuat::from_rotation_y(rng.random_range(0.0..TAU));
        let from = trace.course.state_at(now).position + bearing * DVec3::X * DISTANCE;
        game.shots += 1;
        for (weapon, hit) in Weapon::ALL.into_iter().zip(&mut game.hits) {
            for (receiver, hit) in receivers.iter().zip(hit) {
                let seen = receiver.place(now).expect("vectors arrived long ago");
                *hit += u32::from(hits(&trace, now, from, &seen, weapon));
            }
        }
    }
    game
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_led_right_meets_a_tank_on_a_straight_course() {
        let seen = Placed {
            position: DVec3::new(60.0, 0.0, 0.0),
            velocity: DVec3::new(0.0, 0.0, 25.0),
            rotation: DQuat::IDENTITY,
        };
        let shell = lead(DVec3::ZERO, &seen);
        let time = seen.position.x / shell.x;
        assert!((shell * time).distance(seen.position + seen.velocity * time) < 1e-9);
        assert!((shell.length() - SHELL_SPEED).abs() < 1e-9);
    }

    #[test]
    fn the_tank_is_longer_than_wide() {
        let turned = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
        assert!(inside(DVec3::X * 2.9, DVec3::ZERO, DQuat::IDENTITY));
        assert!(!inside(DVec3::Z * 2.9, DVec3::ZERO, DQuat::IDENTITY));
        assert!(inside(DVec3::Z * 2.9, DVec3::ZERO, turned));
    }

    /// What one sees without delay is where it is: a laser always hits.
    #[test]
    fn without_delay_a_laser_never_misses() {
        let game = play(Motion::Smooth, 0.0, 3, 20.0);
        assert!(game.shots > 30);
        assert_eq!(game.hits[1], [game.shots; 2]);
    }
}
