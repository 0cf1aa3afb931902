//! Test motions: entities that drive by themselves, the same way for the same seed.
//!
//! The thesis had a human drive a BZFlag tank, and neither the person nor the recordings are available. These drivers
//! stand in (digest §4.11); experiments, tests and demos share them. They move in the x–z plane with y up; heading 0
//! looks along +x and a positive turn rate turns left, seen from above. Speeds are signed: a negative one reverses.
//!
//! | driver | motion | triggers at BZFlag's thresholds, 50 Hz |
//! |---|---|---|
//! | [`Driver::straight`] | constant velocity | only the time threshold |
//! | [`Driver::circle`] | constant speed and turn rate | only the time threshold |
//! | [`Driver::smooth`] | speed and turn rate swing all the time | about 6.5 per second (7.1 at 0.075 instead of 0.09) |
//! | [`Driver::stop_and_go`] | both jump every 0.2 to 1.5 s | about 1.6 per second |

use super::true_state::TrueState;
use domain::SimTime;
use glam::{DQuat, DVec3};
use rand::{Rng, RngExt};
use std::f64::consts::TAU;

/// BZFlag's tank speed, units (metres) per second.
pub const TANK_SPEED: f64 = 25.0;
/// BZFlag's turn rate, π/4 rad/s.
pub const TANK_TURN_RATE: f64 = std::f64::consts::FRAC_PI_4;

/// Stop-and-go: what the next speed is drawn from, in parts of the tank speed ...
const SPEEDS: [f64; 6] = [1.0, 1.0, 1.0, 0.5, 0.0, -0.5];
/// ... and the next turn rate, rad/s.
const TURN_RATES: [f64; 6] = [0.0, 0.0, TANK_TURN_RATE, -TANK_TURN_RATE, 0.4, -0.4];
/// Length of a piece of the table of a smooth drive.
const PIECE_SECS: f64 = 0.01;

/// A motion known for every instant of a run.
#[derive(Clone, Debug)]
pub struct Driver {
    steering: Steering,
    /// Poses from which each piece goes on, in order of time.
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Steering {
    /// Constant within each piece.
    Steady,
    Smooth(Swing),
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    start_secs: f64,
    position: DVec3,
    heading: f64,
    speed: f64,
    turn_rate: f64,
}

/// The frequencies and phases of a smooth driver's two swings.
#[derive(Clone, Copy, Debug)]
struct Swing {
    frequency: [f64; 4],
    phase: [f64; 4],
}

impl Driver {
    /// Straight ahead at the tank's speed.
    pub fn straight() -> Self {
        Self::steady(TANK_SPEED, 0.0)
    }

    /// In a circle to the left, at the tank's speed and turn rate (radius 32 m).
    pub fn circle() -> Self {
        Self::steady(TANK_SPEED, TANK_TURN_RATE)
    }

    /// For ever at this speed and turn rate.
    pub fn steady(speed: f64, turn_rate: f64) -> Self {
        Self {
            steering: Steering::Steady,
            pieces: vec![Piece::first(speed, turn_rate)],
        }
    }

    /// Jumps to a new speed and turn rate every 0.2 to 1.5 s, without inertia, until `duration`; then goes on with
    /// the last.
    pub fn stop_and_go(rng: &mut impl Rng, duration: SimTime) -> Self {
        let (speed, turn_rate) = draw_steering(rng);
        let mut pieces = vec![Piece::first(speed, turn_rate)];
        let mut last = pieces[0];
        while last.start_secs < duration.as_secs() {
            let start_secs = last.start_secs + rng.random_range(0.2..1.5);
            let (position, heading) = last.arc(start_secs);
            let (speed, turn_rate) = draw_steering(rng);
            last = Piece {
                start_secs,
                position,
                heading,
                speed,
                turn_rate,
            };
            pieces.push(last);
        }
        Self {
            steering: Steering::Steady,
            pieces,
        }
    }

    /// Speed and turn rate swing like waves of slowly changing pitch. Made for `duration`; later times are right but
    /// take longer to compute.
    pub fn smooth(rng: &mut impl Rng, duration: SimTime) -> Self {
        let swing = Swing {
            frequency: std::array::from_fn(|_| rng.random_range(0.8..1.2)),
            phase: std::array::from_fn(|_| rng.random_range(0.0..TAU)),
        };
        let mut pieces = vec![Piece::first(0.0, 0.0)];
        let mut last = pieces[0];
        while last.start_secs < duration.as_secs() {
            last = swing.next_piece(&last, PIECE_SECS);
            pieces.push(last);
        }
        Self {
            steering: Steering::Smooth(swing),
            pieces,
        }
    }

    /// The true state at this time. A driver stands on the ground, so it counts as in contact; it never rests.
    pub fn state_at(&self, time: SimTime) -> TrueState {
        let secs = time.as_secs();
        let after = self
            .pieces
            .partition_point(|piece| piece.start_secs <= secs);
        let piece = self.pieces[after.saturating_sub(1)];
        match &self.steering {
            Steering::Steady => {
                let (position, heading) = piece.arc(secs);
                state(position, heading, piece.speed, piece.turn_rate, 0.0)
            }
            Steering::Smooth(swing) => swing.state_from(piece, secs),
        }
    }
}

fn draw_steering(rng: &mut impl Rng) -> (f64, f64) {
    let speed = TANK_SPEED * SPEEDS[rng.random_range(0..SPEEDS.len())];
    let turn_rate = TURN_RATES[rng.random_range(0..TURN_RATES.len())];
    (speed, turn_rate)
}

fn forward(heading: f64) -> DVec3 {
    DVec3::new(heading.cos(), 0.0, -heading.sin())
}

fn state(position: DVec3, heading: f64, speed: f64, turn_rate: f64, push: f64) -> TrueState {
    let velocity = forward(heading) * speed;
    let spin = DVec3::Y * turn_rate;
    TrueState {
        position,
        rotation: DQuat::from_rotation_y(heading),
        velocity,
        spin,
        acceleration: spin.cross(velocity) + forward(heading) * push,
        in_contact: true,
        ..TrueState::default()
    }
}

impl Piece {
    fn first(speed: f64, turn_rate: f64) -> Self {
        Self {
            start_secs: 0.0,
            position: DVec3::ZERO,
            heading: 0.0,
            speed,
            turn_rate,
        }
    }

    /// Position and heading at a time, at this piece's steady speed and turn rate: along the chord of the arc.
    fn arc(&self, secs: f64) -> (DVec3, f64) {
        let elapsed = secs - self.start_secs;
        let half = 0.5 * self.turn_rate * elapsed;
        let shortening = if half == 0.0 { 1.0 } else { half.sin() / half };
        let chord = forward(self.heading + half) * (self.speed * elapsed * shortening);
        (self.position + chord, self.heading + 2.0 * half)
    }
}

impl Swing {
    fn speed(&self, t: f64) -> f64 {
        TANK_SPEED * self.speed_angle(t).sin()
    }

    fn speed_angle(&self, t: f64) -> f64 {
        let (f, p) = (&self.frequency, &self.phase);
        0.7 * f[0] * t + 1.3 * (0.31 * f[1] * t + p[1]).sin() + p[0]
    }

    /// The derivative of the speed.
    fn push(&self, t: f64) -> f64 {
        let (f, p) = (&self.frequency, &self.phase);
        let pitch = 0.7 * f[0] + 1.3 * 0.31 * f[1] * (0.31 * f[1] * t + p[1]).cos();
        TANK_SPEED * self.speed_angle(t).cos() * pitch
    }

    fn turn_rate(&self, t: f64) -> f64 {
        let (f, p) = (&self.frequency, &self.phase);
        TANK_TURN_RATE * (1.1 * f[2] * t + 2.0 * (0.23 * f[3] * t + p[3]).sin() + p[2]).sin()
    }

    fn heading(&self, from: &Piece, t: f64) -> f64 {
        from.heading + integrate(from.start_secs, t, |t| self.turn_rate(t))
    }

    fn next_piece(&self, from: &Piece, length: f64) -> Piece {
        let end = from.start_secs + length;
        let course = |t| forward(self.heading(from, t)) * self.speed(t);
        Piece {
            start_secs: end,
            position: from.position + integrate(from.start_secs, end, course),
            heading: self.heading(from, end),
            ..*from
        }
    }

    fn state_from(&self, mut piece: Piece, secs: f64) -> TrueState {
        while secs - piece.start_secs > 2.0 * PIECE_SECS {
            piece = self.next_piece(&piece, PIECE_SECS);
        }
        let here = self.next_piece(&piece, secs - piece.start_secs);
        state(
            here.position,
            here.heading,
            self.speed(secs),
            self.turn_rate(secs),
            self.push(secs),
        )
    }
}

/// Gauss–Legendre with three points: exact to the last digits over a hundredth of a second of these swings.
fn integrate<T>(from: f64, to: f64, f: impl Fn(f64) -> T) -> T
where
    T: std::ops::Add<Output = T> + std::ops::Mul<f64, Output = T>,
{
    let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
    let side = half * 0.6_f64.sqrt();
    let sides = f(middle - side) + f(middle + side);
    sides * (half * 5.0 / 9.0) + f(middle) * (half * 8.0 / 9.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    fn drivers() -> [Driver; 4] {
        let duration = SimTime::from_secs(20.0);
        [
            Driver::straight(),
            Driver::circle(),
            Driver::smooth(&mut Pcg64Mcg::seed_from_u64(1), duration),
            Driver::stop_and_go(&mut Pcg64Mcg::seed_from_u64(1), duration),
        ]
    }

    #[test]
    fn velocity_and_heading_are_what_the_positions_say() {
        let step = SimTime(1_000);
        for driver in drivers() {
            for n in 1..500_u64 {
                let now = SimTime(n * 50_123_457);
                let before = driver.state_at(now - step);
                let state = driver.state_at(now);
                let after = driver.state_at(now + step);
                if before.velocity.distance(after.velocity) > 1e-3 {
                    continue; // a jump of stop-and-go lies between
                }
                let measured = (after.position - before.position) / 2e-6;
                assert!(measured.distance(state.velocity) < 1e-4, "{measured}");
                let push = (after.velocity - before.velocity) / 2e-6;
                assert!(push.distance(state.acceleration) < 1e-4, "{push}");
                let course = state.rotation * DVec3::X;
                assert!(course.cross(state.velocity).length() < 1e-9);
            }
        }
    }

    #[test]
    fn a_smooth_drive_beyond_its_table_goes_on_the_same_way() {
        let make = |secs| {
            let duration = SimTime::from_secs(secs);
            Driver::smooth(&mut Pcg64Mcg::seed_from_u64(3), duration)
        };
        let late = SimTime::from_secs(19.9957);
        let (short, long) = (make(5.0).state_at(late), make(60.0).state_at(late));
        assert!(short.position.distance(long.position) < 1e-9);
    }

    #[test]
    fn the_same_seed_drives_the_same_way() {
        let [_, _, smooth, jumpy] = drivers();
        let [_, _, again_smooth, again_jumpy] = drivers();
        let late = SimTime::from_secs(17.3);
        assert_eq!(smooth.state_at(late), again_smooth.state_at(late));
        assert_eq!(jumpy.state_at(late), again_jumpy.state_at(late));
    }
}
