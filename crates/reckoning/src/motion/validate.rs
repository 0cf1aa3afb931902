//! What a receiver refuses to believe. A vector comes from another machine: a bug or a bad intention there must not
//! move anything here.

use crate::vector::{DrVector, Seq};
use domain::{BodyId, SimTime};
use glam::DVec3;
use thiserror::Error;

/// The largest values a vector may carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest coordinate, in metres from the world's origin (default 1e7, a quarter of the way round the Earth).
    pub coordinate_m: f64,
    /// Largest speed in m/s (default 1e5).
    pub speed: f64,
    /// Largest acceleration in m/s² (default 1e6).
    pub acceleration: f64,
    /// Fastest spin in rad/s (default 1e4).
    pub spin: f64,
    /// How far the rotation may be from unit length (default 0.01, far above what quantisation costs).
    pub unit_error: f64,
    /// How far ahead of this host's clock a time stamp may be (default 0.5 s). At least the sum of both hosts' clock
    /// bounds.
    pub future: SimTime,
    /// How old the vector of a moving entity may be (default 60 s): extrapolating further shows nonsense. What is at
    /// rest may be of any age.
    pub age: SimTime,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            coordinate_m: 1e7,
            speed: 1e5,
            acceleration: 1e6,
            spin: 1e4,
            unit_error: 0.01,
            future: SimTime::from_secs(0.5),
            age: SimTime::from_secs(60.0),
        }
    }
}

/// Why a vector was not taken. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Rejected {
    /// Meant for another receiver.
    #[error("vector of entity {0} given to the receiver of another one")]
    OtherEntity(BodyId),
    /// Overtaken by a newer one, or a duplicate. Normal on a network that reorders.
    #[error("vector {} is not newer than vector {} in use", seq.0, held.0)]
    Stale {
        /// The number it has.
        seq: Seq,
        /// The number of the vector in use.
        held: Seq,
    },
    /// Not a number, or infinite.
    #[error("{0} is not a finite number")]
    NotFinite(&'static str),
    /// Finite but absurd.
    #[error("{what} is {size:e}, more than {limit:e}")]
    TooLarge {
        /// Which field.
        what: &'static str,
        /// Its magnitude.
        size: f64,
        /// The most that is believed.
        limit: f64,
    },
    /// The quaternion is no rotation.
    #[error("rotation has length {0}, not 1")]
    NotARotation(f64),
    /// Says it was generated when this host's clock has not got to yet.
    #[error("time stamp {time} is too far ahead of {now}")]
    FromTheFuture {
        /// Its time stamp.
        time: SimTime,
        /// This host's time.
        now: SimTime,
    },
    /// Too long ago to extrapolate from.
    #[error("time stamp {time} is too old at {now}")]
    TooOld {
        /// Its time stamp.
        time: SimTime,
        /// This host's time.
        now: SimTime,
    },
}

/// Checks the content of a vector; its time stamp too if `now`, on the shared clock, is given.
pub fn validate(vector: &DrVector, now: Option<SimTime>, limits: &Limits) -> Result<(), Rejected> {
    let coordinate = vector.position.abs().max_element();
    check_size("position", vector.position, coordinate, limits.coordinate_m)?;
    check_length("velocity", vector.velocity, limits.speed)?;
    check_length("acceleration", vector.acceleration, limits.acceleration)?;
    check_length("spin", vector.spin, limits.spin)?;
    check_rotation(vector, limits)?;
    match now {
        Some(now) => check_time(vector, now, limits),
        None => Ok(()),
    }
}

fn check_length(what: &'static str, value: DVec3, limit: f64) -> Result<(), Rejected> {
    check_size(what, value, value.length(), limit)
}

fn check_size(what: &'static str, value: DVec3, size: f64, limit: f64) -> Result<(), Rejected> {
    if !value.is_finite() {
        Err(Rejected::NotFinite(what))
    } else if size > limit {
        Err(Rejected::TooLarge { what, size, limit })
    } else {
        Ok(())
    }
}

fn check_rotation(vector: &DrVector, limits: &Limits) -> Result<(), Rejected> {
    let length = vector.rotation.length();
    if !vector.rotation.is_finite() {
        Err(Rejected::NotFinite("rotation"))
    } else if (length - 1.0).abs() > limits.unit_error {
        Err(Rejected::NotARotation(length))
    } else {
        Ok(())
    }
}

fn check_time(vector: &DrVector, now: SimTime, limits: &Limits) -> Result<(), Rejected> {
    let time = vector.time;
    let moving = vector.kind != crate::vector::Kind::AtRest;
    if time.since(now) > limits.future {
        Err(Rejected::FromTheFuture { time, now })
    } else if moving && now.since(time) > limits.age {
        Err(Rejected::TooOld { time, now })
    } else {
        Ok(())
    }
}
