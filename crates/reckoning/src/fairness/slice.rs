//! The export error of one slice: how far apart two vectors put an entity, integrated over a time in which neither changes.
//!
//! ```text
//!   exported   a----.                 at every instant of the slice measure the distance |a(t) − b(t)|,
//!              ↕ ↕ ↕ `---.            and add it all up: unit · s
//!   placed     b----------.
//! ```
//!
//! With straight paths the distance is √(a·t² + b·t + c). The thesis's closed form (Eq. 3.3, Appendix B) gives NaN whenever the
//! two paths meet on a line, which is every instant turn. [`linear_error`] is the same integral along the relative velocity:
//! `u` runs from `u0` to `u1` at the constant distance `h` beside the path, ∫√(u²+h²) du, which has no such holes.

use crate::motion::{extrapolate_by, place_on_circle, signed_secs};
use crate::vector::{DrVector, Kind};
use domain::SimTime;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// How a slice is measured in which the two paths bend against each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Curves {
    /// Cut into pieces until it does not matter (well within 1 % of the true integral).
    #[default]
    Subdivided,
    /// The whole slice as one chord, as the thesis's Appendix B does: up to half as much again too large. To compare with it.
    Chord,
}

/// A piece is fine enough when halving it changes it by no more than this part. The change itself then serves to
/// extrapolate, so that the result is better than this (property test: within 1e-4 of sampling).
const PIECE_TOLERANCE: f64 = 1e-4;
/// How often a piece may be halved. The only pieces that need many are those where the paths touch, and they add next to nothing.
const MAX_HALVINGS: u32 = 10;
/// The largest turn and the longest time in a first piece; with more, its three samples may agree by accident.
const MAX_TURN_RAD: f64 = 0.25;
const MAX_PIECE_SECS: f64 = 0.1;
/// Bounds the work for one slice, however fast something spins.
const MAX_PIECES: f64 = 256.0;

/// ∫ |position + velocity·t| dt for t from 0 to `secs` (digest §2.4, the stable form). Zero if `secs` is not above zero.
pub fn linear_error(position: DVec3, velocity: DVec3, secs: f64) -> f64 {
    if secs <= 0.0 {
        return 0.0;
    }
    let speed = velocity.length();
    if speed * secs <= 1e-3 * position.length() {
        // Nearly parallel: the difference of two large terms would lose digits, and Simpson's rule is exact to 1e-15 here.
        let distance = |t: f64| (position + velocity * t).length();
        return secs * (distance(0.0) + 4.0 * distance(0.5 * secs) + distance(secs)) / 6.0;
    }
    if speed == 0.0 {
        return 0.0;
    }
    let along = position.dot(velocity) / speed;
    let beside = position.cross(velocity).length() / speed;
    (antiderivative(along + speed * secs, beside) - antiderivative(along, beside)) / speed
}

/// Of √(u² + h²).
fn antiderivative(u: f64, h: f64) -> f64 {
    let square = h * h;
    let tail = if square > 0.0 {
        square * (u / h).asinh()
    } else {
        0.0
    };
    0.5 * (u * u.hypot(h) + tail)
}

/// The export error while the sender follows `exported` and the receiver `placed`. Exactly zero for one and the same vector:
/// with a shared clock a receiver that has the newest vector is where the sender is (DR-16).
pub fn slice_error(
    exported: &DrVector,
    placed: &DrVector,
    from: SimTime,
    to: SimTime,
    curves: Curves,
) -> f64 {
    if to <= from || (exported.entity == placed.entity && exported.seq == placed.seq) {
        return 0.0;
    }
    let pair = Pair::new(exported, placed, from);
    let secs = to.since(from).as_secs();
    if let Some(velocity) = pair.straight_velocity() {
        return linear_error(pair.apart(0.0), velocity, secs);
    }
    match curves {
        Curves::Chord => chord(pair.apart(0.0), pair.apart(secs), secs),
        Curves::Subdivided => pair.subdivided(secs),
    }
}

/// The error over a piece whose ends are known, taken as straight.
pub(super) fn chord(start: DVec3, end: DVec3, secs: f64) -> f64 {
    if secs <= 0.0 {
        return 0.0;
    }
    linear_error(start, (end - start) / secs, secs)
}

/// Two vectors seen from the start of a slice.
struct Pair<'a> {
    exported: &'a DrVector,
    placed: &'a DrVector,
    exported_age: f64,
    placed_age: f64,
}

impl<'a> Pair<'a> {
    fn new(exported: &'a DrVector, placed: &'a DrVector, from: SimTime) -> Self {
        Self {
            exported,
            placed,
            exported_age: signed_secs(exported.time, from),
            placed_age: signed_secs(placed.time, from),
        }
    }

    /// From where the receiver shows the entity to where the sender exports it, `t` into the slice.
    fn apart(&self, t: f64) -> DVec3 {
        position_by(self.exported, self.exported_age + t)
            - position_by(self.placed, self.placed_age + t)
    }

    /// The relative velocity if it is constant. Two bodies in free flight under the same gravity move straight against each other.
    fn straight_velocity(&self) -> Option<DVec3> {
        let bends = turn_rate(self.exported) > 0.0
            || turn_rate(self.placed) > 0.0
            || acceleration(self.exported) != acceleration(self.placed);
        let velocity_at = |vector, age| extrapolate_by(vector, age).velocity;
        (!bends).then(|| {
            velocity_at(self.exported, self.exported_age)
                - velocity_at(self.placed, self.placed_age)
        })
    }

    fn subdivided(&self, secs: f64) -> f64 {
        let turn = secs * turn_rate(self.exported).max(turn_rate(self.placed));
        let pieces = (turn / MAX_TURN_RAD).max(secs / MAX_PIECE_SECS);
        let pieces = pieces.ceil().clamp(1.0, MAX_PIECES);
        let length = secs / pieces;
        let mut start = self.apart(0.0);
        let mut error = 0.0;
        for piece in 0..pieces as u32 {
            let from = f64::from(piece) * length;
            let end = self.apart(from + length);
            let whole = chord(start, end, length);
            error += self.refined(from, length, [start, end], whole, MAX_HALVINGS);
            start = end;
        }
        error
    }

    fn refined(&self, from: f64, secs: f64, ends: [DVec3; 2], whole: f64, halvings: u32) -> f64 {
        let half = 0.5 * secs;
        let middle = self.apart(from + half);
        let left = chord(ends[0], middle, half);
        let right = chord(middle, ends[1], half);
        let change = left + right - whole;
        if halvings == 0 || change.abs() <= PIECE_TOLERANCE * (left + right) {
            // The chord's error falls with the square of the length, so the halves' own is a third of the change.
            return left + right + change / 3.0;
        }
        self.refined(from, half, [ends[0], middle], left, halvings - 1)
            + self.refined(from + half, half, [middle, ends[1]], right, halvings - 1)
    }
}

/// Only the place that [`extrapolate_by`] gives. For bodies that tumble, working out the rotation as well would cost several times as much,
/// and this is what a server does most.
pub(super) fn position_by(vector: &DrVector, secs: f64) -> DVec3 {
    let (position, velocity) = (vector.position, vector.velocity);
    match vector.kind {
        Kind::AtRest => position,
        Kind::Linear => position + velocity * secs,
        Kind::Ballistic => position + velocity * secs + vector.acceleration * (0.5 * secs * secs),
        Kind::Circular => place_on_circle(vector, secs),
    }
}

/// How fast the course of a vector turns, in rad/s.
fn turn_rate(vector: &DrVector) -> f64 {
    if vector.kind == Kind::Circular && vector.velocity != DVec3::ZERO {
        vector.spin.length()
    } else {
        0.0
    }
}

fn acceleration(vector: &DrVector) -> DVec3 {
    match vector.kind {
        Kind::Ballistic => vector.acceleration,
        _ => DVec3::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_alone_is_the_place_of_the_model() {
        for kind in [Kind::AtRest, Kind::Linear, Kind::Circular, Kind::Ballistic] {
            let vector = DrVector {
                entity: domain::BodyId(1),
                seq: crate::Seq(1),
                time: SimTime::ZERO,
                kind,
                status: 0,
                position: DVec3::new(1.0, 2.0, 3.0),
                velocity: DVec3::new(-4.0, 5.0, 6.0),
                acceleration: DVec3::NEG_Y * 9.81,
                rotation: glam::DQuat::IDENTITY,
                spin: DVec3::new(0.3, 1.0, -0.2),
            };
            for secs in [-0.5, 0.0, 1.7] {
                assert_eq!(
                    position_by(&vector, secs),
                    extrapolate_by(&vector, secs).position
                );
            }
        }
    }

    fn flat(x: f64, y: f64) -> DVec3 {
        DVec3::new(x, y, 0.0)
    }

    #[test]
    fn dr_13_the_five_worked_slices() {
        let turn = linear_error(DVec3::ZERO, flat(-25.0, 25.0), 0.3);
        assert!((turn - 25.0 * 2.0_f64.sqrt() * 0.045).abs() < 1e-12);
        let crossing = linear_error(flat(1.0, 2.0), flat(3.0, -4.0), 0.5);
        assert!((crossing - 1.068_35).abs() < 5e-6, "{crossing}");
        assert_eq!(linear_error(DVec3::ZERO, flat(3.0, 4.0), 1.0), 2.5);
        assert_eq!(linear_error(flat(10.0, 0.0), flat(-4.0, 0.0), 1.0), 8.0);
        assert_eq!(linear_error(flat(2.0, 0.0), flat(-4.0, 0.0), 1.0), 1.0);
    }

    // DR-13: what the printed form makes of worked slice (i), and what ours makes of nothing at all.
    #[test]
    fn dr_13_the_printed_form_fails_where_ours_does_not() {
        let printed = |position: DVec3, velocity: DVec3, secs: f64| {
            let (a, b, c) = (
                velocity.length_squared(),
                2.0 * position.dot(velocity),
                position.length_squared(),
            );
            let primitive = |t: f64| {
                let q = (a * t * t + b * t + c).sqrt();
                let log = ((b / 2.0 + a * t) / a.sqrt() + q).ln();
                (2.0 * a * t + b) * q / (4.0 * a) + c / (2.0 * a.sqrt()) * log
                    - b * b / (8.0 * a.powf(1.5)) * log
            };
            primitive(secs) - primitive(0.0)
        };
        assert!(printed(DVec3::ZERO, flat(-25.0, 25.0), 0.3).is_nan());
        let general = (flat(1.0, 2.0), flat(3.0, -4.0), 0.5);
        let ours = linear_error(general.0, general.1, general.2);
        assert!((printed(general.0, general.1, general.2) - ours).abs() < 1e-12);
        assert_eq!(linear_error(DVec3::ZERO, DVec3::ZERO, 1.0), 0.0);
        assert_eq!(linear_error(DVec3::ONE, DVec3::ONE, 0.0), 0.0);
        assert_eq!(linear_error(DVec3::ONE, DVec3::ONE, -1.0), 0.0);
    }
}
