//! The two curves of a body: where its centre goes, and how it turns.
//!
//! A body's path is cut into pieces, each of which costs the server one record and the client one evaluation per frame:
//! a parabola or a straight line for the position, an even turn for the orientation. Both have their own starts, since
//! a ball that rolls changes course without changing its turn.
//!
//! A curve's numbers are whole: positions in 1/256 m, velocities in 1/8192 m per tick, orientations as three quaternion
//! components in 1/512, spins in 1/8192 rad per tick. Where a curve leads is computed with additions, multiplications,
//! divisions and square roots of doubles only, in the order given here: IEEE 754 fixes their results to the last bit, so
//! server and client agree exactly whatever they are written in.

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// Steps per metre.
pub const POSITION_STEPS: f64 = 256.0;
/// Steps per metre per tick.
pub const VELOCITY_STEPS: f64 = 8192.0;
/// Steps per unit of a quaternion's components.
pub const ROTATION_STEPS: f64 = 512.0;
/// Steps per radian per tick (of 2·tan of half the angle, which is the angle as long as it is small).
pub const SPIN_STEPS: f64 = 8192.0;
/// Farthest position from the world's zero, metres.
pub const MAX_POSITION_M: f64 = 1e6;
/// Fastest speed, metres per tick, and spin, 2·tan of half the angle per tick.
pub const MAX_PER_TICK: f64 = 100.0;

/// What pulls a body that moves along a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Course {
    /// Nothing moves; the velocity is zero.
    #[default]
    Resting,
    /// A straight line.
    Straight,
    /// Free fall.
    Falling,
}

/// Where a body's centre is from a tick on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flight {
    /// The tick at which it begins.
    pub start: u64,
    /// What pulls it.
    pub course: Course,
    /// In 1/256 m.
    pub position: [i32; 3],
    /// In 1/8192 m per tick; zero when resting.
    pub velocity: [i32; 3],
}

/// How a body is turned from a tick on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The tick at which it begins.
    pub start: u64,
    /// At that tick.
    pub rotation: Packed,
    /// In 1/8192 of 2·tan(half the angle) per tick, about the world's axes.
    pub spin: [i32; 3],
}

/// A unit quaternion as three of its components in 1/512; the fourth is positive and follows from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    /// Which component is left out: x, y, z, w are 0 to 3.
    pub left_out: u8,
    /// The others, in the order x, y, z, w.
    pub others: [i32; 3],
}

impl Default for Packed {
    fn default() -> Self {
        Self {
            left_out: 3,
            others: [0; 3],
        }
    }
}

/// To the nearest whole number, halves up. (`f64::round` takes halves away from zero, JavaScript's does not.)
pub(crate) fn nearest(value: f64) -> i32 {
    (value + 0.5).floor() as i32
}

fn steps(vector: DVec3, per_unit: f64) -> [i32; 3] {
    [
        nearest(vector.x * per_unit),
        nearest(vector.y * per_unit),
        nearest(vector.z * per_unit),
    ]
}

fn metres(steps: [i32; 3], per_unit: f64) -> DVec3 {
    DVec3::new(
        f64::from(steps[0]) / per_unit,
        f64::from(steps[1]) / per_unit,
        f64::from(steps[2]) / per_unit,
    )
}

impl Flight {
    /// The nearest curve to these numbers. `velocity` is in metres per tick.
    pub(crate) fn new(start: u64, course: Course, position: DVec3, velocity: DVec3) -> Self {
        Self {
            start,
            course,
            position: steps(position, POSITION_STEPS),
            velocity: match course {
                Course::Resting => [0; 3],
                _ => steps(velocity, VELOCITY_STEPS),
            },
        }
    }

    /// Where it leads `ticks` after its start, in metres. `pull` is gravity in metres per tick².
    ///
    /// The engine first changes the velocity, then moves by it: after n ticks a falling body has come
    /// n·velocity + (1 + 2 + … + n)·pull far.
    pub fn position(&self, ticks: f64, pull: DVec3) -> DVec3 {
        let start = metres(self.position, POSITION_STEPS);
        let velocity = metres(self.velocity, VELOCITY_STEPS);
        match self.course {
            Course::Resting => start,
            Course::Straight => start + velocity * ticks,
            Course::Falling => start + velocity * ticks + pull * (0.5 * ticks * (ticks + 1.0)),
        }
    }

    /// Its velocity then, in metres per tick.
    pub fn velocity(&self, ticks: f64, pull: DVec3) -> DVec3 {
        let velocity = metres(self.velocity, VELOCITY_STEPS);
        match self.course {
            Course::Resting => DVec3::ZERO,
            Course::Straight => velocity,
            Course::Falling => velocity + pull * ticks,
        }
    }

    /// What a curve that begins at `start` would be if nothing happened to the body before: what is sent is the
    /// difference from it.
    pub(crate) fn expected(&self, start: u64, pull: DVec3) -> Self {
        let ticks = ticks_between(self.start, start);
        Self {
            start,
            course: self.course,
            position: steps(self.position(ticks, pull), POSITION_STEPS),
            velocity: steps(self.velocity(ticks, pull), VELOCITY_STEPS),
        }
    }

    /// Are all numbers within what a world may hold?
    pub(crate) fn is_sane(&self) -> bool {
        let within = |values: [i32; 3], max: f64| values.iter().all(|v| f64::from(*v).abs() <= max);
        within(self.position, MAX_POSITION_M * POSITION_STEPS)
            && within(self.velocity, MAX_PER_TICK * VELOCITY_STEPS)
    }
}

impl Turn {
    /// Which way it is turned `ticks` after its start. Whole ticks are exact on every platform.
    pub fn rotation(&self, ticks: f64) -> DQuat {
        let start = self.rotation.unpack();
        if self.spin == [0; 3] {
            return start;
        }
        let step = step_of(metres(self.spin, SPIN_STEPS));
        let whole = ticks.floor();
        let turned = times(power(step, whole), start);
        if whole == ticks {
            return turned;
        }
        // Between two ticks only the screen asks: bits do not matter there.
        DQuat::IDENTITY.slerp(step, ticks - whole) * turned
    }

    /// See [`Flight::expected`].
    pub(crate) fn expected(&self, start: u64) -> Self {
        let rotation = self.rotation(ticks_between(self.start, start));
        Self {
            start,
            rotation: Packed::nearest_to(rotation),
            spin: self.spin,
        }
    }

    /// Are all numbers within what a rotation may hold?
    pub(crate) fn is_sane(&self) -> bool {
        let square: f64 = self
            .rotation
            .others
            .iter()
            .map(|v| f64::from(*v) * f64::from(*v))
            .sum();
        self.rotation.left_out < 4
            // A corner of the grid may lie a little outside the sphere.
            && square <= (ROTATION_STEPS + 2.0) * (ROTATION_STEPS + 2.0)
            && self.spin.iter().all(|v| f64::from(*v).abs() <= MAX_PER_TICK * SPIN_STEPS)
    }
}

/// The rotation of one tick from 2·tan(half the angle) about an axis: no sine is needed.
pub(crate) fn step_of(spin: DVec3) -> DQuat {
    unit(DQuat::from_xyzw(
        0.5 * spin.x,
        0.5 * spin.y,
        0.5 * spin.z,
        1.0,
    ))
}

/// The inverse of [`step_of`] for `angular` in radians per tick.
pub(crate) fn spin_of(angular: DVec3) -> DVec3 {
    let angle = angular.length();
    if angle < 1e-6 {
        return angular;
    }
    angular * (2.0 * (0.5 * angle.min(3.0)).tan() / angle)
}

pub(crate) fn spin_steps(spin: DVec3) -> [i32; 3] {
    steps(spin, SPIN_STEPS)
}

/// `first`, then `then`; written out so that the order of operations is fixed.
pub(crate) fn times(then: DQuat, first: DQuat) -> DQuat {
    let (a, b) = (then, first);
    DQuat::from_xyzw(
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
        a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    )
}

fn unit(q: DQuat) -> DQuat {
    let length = (q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w).sqrt();
    DQuat::from_xyzw(q.x / length, q.y / length, q.z / length, q.w / length)
}

/// A rotation done `count` times (backwards if negative), by squaring; a whole number.
fn power(step: DQuat, count: f64) -> DQuat {
    let mut square = if count < 0.0 { step.conjugate() } else { step };
    let mut left = count.abs() as u64;
    let mut result = DQuat::IDENTITY;
    while left > 0 {
        if left & 1 == 1 {
            result = times(square, result);
        }
        square = unit(times(square, square));
        left >>= 1;
    }
    result
}

impl Packed {
    /// The nearest packed rotation, its largest component left out.
    pub(crate) fn nearest_to(rotation: DQuat) -> Self {
        let parts = rotation.to_array();
        let mut left_out = 3;
        for index in [2, 1, 0] {
            if parts[index].abs() > parts[left_out].abs() {
                left_out = index;
            }
        }
        Self::without(rotation, left_out as u8)
    }

    /// The nearest packed rotation with this component left out.
    pub(crate) fn without(rotation: DQuat, left_out: u8) -> Self {
        let parts = rotation.to_array();
        let sign = if parts[usize::from(left_out)] < 0.0 {
            -1.0
        } else {
            1.0
        };
        let mut others = [0; 3];
        let rest = (0..4).filter(|i| *i != usize::from(left_out));
        for (other, index) in others.iter_mut().zip(rest) {
            *other = nearest(parts[index] * sign * ROTATION_STEPS);
        }
        Self { left_out, others }
    }

    /// As a unit quaternion.
    pub fn unpack(&self) -> DQuat {
        let others = self.others.map(|v| f64::from(v) / ROTATION_STEPS);
        let square = others[0] * others[0] + others[1] * others[1] + others[2] * others[2];
        let mut parts = [0.0; 4];
        let rest = (0..4).filter(|i| *i != usize::from(self.left_out));
        for (other, index) in others.iter().zip(rest) {
            parts[index] = *other;
        }
        parts[usize::from(self.left_out & 3)] = (1.0 - square).max(0.0).sqrt();
        unit(DQuat::from_array(parts))
    }
}

/// From one tick to another, as the number that curves are evaluated at.
pub(crate) fn ticks_between(from: u64, to: u64) -> f64 {
    to as f64 - from as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PULL: DVec3 = DVec3::new(0.0, -9.81 / 3600.0, 0.0);

    #[test]
    fn a_falling_curve_is_what_the_engine_computes() {
        let flight = Flight::new(10, Course::Falling, DVec3::Y, DVec3::X);
        let (mut position, mut velocity) = (DVec3::Y, DVec3::X);
        for tick in 11..100 {
            velocity += PULL;
            position += velocity;
            let ticks = ticks_between(10, tick);
            assert!(flight.position(ticks, PULL).distance(position) < 1e-9);
            assert!(flight.velocity(ticks, PULL).distance(velocity) < 1e-9);
        }
    }

    #[test]
    fn an_even_turn_is_the_rotation_of_its_spin() {
        let angular = DVec3::new(0.05, -0.1, 0.15);
        let turn = Turn {
            start: 0,
            rotation: Packed::default(),
            spin: spin_steps(spin_of(angular)),
        };
        for ticks in [0.0, 1.0, 7.0, 20.0, 20.5, -3.0] {
            let error = turn
                .rotation(ticks)
                .angle_between(DQuat::from_scaled_axis(angular * ticks));
            assert!(error < 1e-4 * (1.0 + ticks.abs()), "{ticks}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_packed_rotation_is_close(x in -1.0..1.0, y in -1.0..1.0, z in -1.0..1.0, w in 0.01..1.0) {
            let rotation = unit(DQuat::from_xyzw(x, y, z, w));
            let packed = Packed::nearest_to(rotation);
            let off = packed.unpack().dot(rotation).abs().min(1.0).acos() * 2.0;
            prop_assert!(off.to_degrees() < 0.4, "{}", off.to_degrees());
            prop_assert_eq!(Packed::nearest_to(packed.unpack()).unpack().dot(packed.unpack()).abs() > 0.999, true);
        }
    }
}
