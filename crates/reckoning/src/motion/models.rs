//! Models of motion: where an entity is, given its last vector and the time that has passed since.
//!
//! Think of a sailor who knows where the ship was at noon, its course and its speed: a ruler on the chart says where
//! it is now. A vector is that entry in the log; the functions here are the ruler. Both ends use the same one, so the
//! owner knows exactly what everybody else believes.
//!
//! | kind | position after τ | velocity after τ | orientation after τ |
//! |---|---|---|---|
//! | `AtRest` | p | 0 | q |
//! | `Linear` | p + v·τ | v | q turned by ω·τ |
//! | `Circular` | p + ∫ R(ω·s)·v ds | R(ω·τ)·v | q turned by ω·τ |
//! | `Ballistic` | p + v·τ + ½·a·τ² | v + a·τ | q turned by ω·τ |
//!
//! Every form is closed: evaluated from the vector itself and never summed up frame by frame, so a client at 30
//! frames a second and one at 144 agree to the last bits (digest §7, C8). τ may be negative: then the curve is
//! followed backwards.
//!
//! The thesis's circle (§2.1) divides by the turn rate, has the plane of motion fixed and needs the sign of the
//! speed. Here the velocity itself is turned about `spin`: any plane, even a helix, no division, and reversing is
//! simply a velocity that points against the heading.

use crate::vector::{DrVector, Kind};
use domain::SimTime;
use glam::{DQuat, DVec3};
use std::fmt::Debug;

/// Where a model puts an entity at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Metres, world coordinates.
    pub position: DVec3,
    /// A unit quaternion.
    pub rotation: DQuat,
    /// m/s.
    pub velocity: DVec3,
}

/// A rule that turns a vector into a place. Both ends of a stream must use the same one: the owner to know what
/// others believe, the others to believe it.
///
/// The built-in rule is [`BuiltIn`]. An application with motion of its own (a lift on rails, a car with a steering
/// model) implements this and may fall back on [`extrapolate`] for what it does not know better.
pub trait Model: Debug + Send + Sync {
    /// Where the entity of `vector` is at time `at`, which may be earlier than the vector.
    fn extrapolate(&self, vector: &DrVector, at: SimTime) -> Placed;
}

/// The four curves that [`Kind`] names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuiltIn;

impl Model for BuiltIn {
    fn extrapolate(&self, vector: &DrVector, at: SimTime) -> Placed {
        extrapolate(vector, at)
    }
}

/// Where the built-in curves put the entity at time `at`; an `at` before the vector follows the curve backwards.
pub fn extrapolate(vector: &DrVector, at: SimTime) -> Placed {
    extrapolate_by(vector, signed_secs(vector.time, at))
}

/// Where the built-in curves put the entity `secs` after its vector (before it, if negative).
pub fn extrapolate_by(vector: &DrVector, secs: f64) -> Placed {
    let (position, velocity) = match vector.kind {
        Kind::AtRest => (vector.position, DVec3::ZERO),
        Kind::Linear => (vector.position + vector.velocity * secs, vector.velocity),
        Kind::Circular => circular(vector, secs),
        Kind::Ballistic => ballistic(vector, secs),
    };
    let rotation = match vector.kind {
        Kind::AtRest => vector.rotation,
        _ => turned(vector.rotation, vector.spin, secs),
    };
    Placed {
        position,
        rotation,
        velocity,
    }
}

/// Only the place that [`extrapolate_by`] gives for [`Kind::Circular`]: its rotation would cost as much again.
pub(crate) fn place_on_circle(vector: &DrVector, secs: f64) -> DVec3 {
    circular(vector, secs).0
}

/// Seconds from one time to another, negative if `to` is the earlier. Exact to the nanosecond for the first 104 days
/// between the two, and no subtraction that could underflow.
pub fn signed_secs(from: SimTime, to: SimTime) -> f64 {
    if to >= from {
        to.since(from).as_secs()
    } else {
        -from.since(to).as_secs()
    }
}

fn ballistic(vector: &DrVector, secs: f64) -> (DVec3, DVec3) {
    (
        vector.position + vector.velocity * secs + vector.acceleration * (0.5 * secs * secs),
        vector.velocity + vector.acceleration * secs,
    )
}

/// The velocity turns about the spin axis at constant rate. With θ = |ω|·τ the position's integral is
/// `v·τ + (ω×v)·τ²·A(θ) + ω×(ω×v)·τ³·B(θ)`, with A = (1 − cos θ)/θ² and B = (θ − sin θ)/θ³: no division by ω, so that
/// it runs smoothly into the straight line as the spin vanishes.
fn circular(vector: &DrVector, secs: f64) -> (DVec3, DVec3) {
    let (velocity, spin) = (vector.velocity, vector.spin);
    let angle = spin.length() * secs;
    let sideways = spin.cross(velocity);
    let inwards = spin.cross(sideways);
    let moved = velocity * secs
        + sideways * (secs * secs * one_minus_cos_over_square(angle))
        + inwards * (secs * secs * secs * angle_minus_sin_over_cube(angle));
    let turned = velocity
        + sideways * (secs * sin_over_angle(angle))
        + inwards * (secs * secs * one_minus_cos_over_square(angle));
    (vector.position + moved, turned)
}

/// sin θ / θ, 1 at 0.
fn sin_over_angle(angle: f64) -> f64 {
    if angle == 0.0 {
        1.0
    } else {
        angle.sin() / angle
    }
}

/// (1 − cos θ)/θ² = ½·(sin(θ/2)/(θ/2))², which loses no digits for small angles.
fn one_minus_cos_over_square(angle: f64) -> f64 {
    let half = sin_over_angle(0.5 * angle);
    0.5 * half * half
}

/// (θ − sin θ)/θ³. Below half a radian the difference would lose digits, so its series is used (next term: 2e-13).
fn angle_minus_sin_over_cube(angle: f64) -> f64 {
    let square = angle * angle;
    if square > 0.25 {
        return (angle - angle.sin()) / (square * angle);
    }
    let mut series = 1.0 / 39_916_800.0;
    for coefficient in [-1.0 / 362_880.0, 1.0 / 5_040.0, -1.0 / 120.0, 1.0 / 6.0] {
        series = coefficient + square * series;
    }
    series
}

/// The orientation after turning about `spin` (world axes) for this long.
fn turned(rotation: DQuat, spin: DVec3, secs: f64) -> DQuat {
    if spin == DVec3::ZERO {
        return rotation;
    }
    (DQuat::from_scaled_axis(spin * secs) * rotation).normalize()
}
