//! Time and ticks. `SimTime` is told to a core by its driver; a core never asks a clock.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Nanoseconds since the start of the run. 64 bits last 584 years.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct SimTime(pub u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: Self = Self(0);

    /// From seconds; a negative or non-finite value becomes zero.
    pub fn from_secs(secs: f64) -> Self {
        Self((secs * 1e9).max(0.0).round() as u64)
    }

    /// From milliseconds.
    pub fn from_millis(millis: f64) -> Self {
        Self::from_secs(millis * 1e-3)
    }

    /// In seconds.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// In milliseconds.
    pub fn as_millis(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// The time from `earlier` to this one, zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for SimTime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for SimTime {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for SimTime {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs())
    }
}

/// Index of a fixed physics step: tick k is the state at time k · step. 64 bits never run out.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Tick(pub u64);

impl Tick {
    /// The start of the run, before any step.
    pub const ZERO: Self = Self(0);

    /// The tick after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// How many ticks have passed since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Tick {
    type Output = Self;
    fn add(self, ticks: u64) -> Self {
        Self(self.0 + ticks)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The length of a physics step. Kept as the seconds the engine is given; [`Self::due`] turns a
/// tick into the time at which it should be stepped without accumulating rounding errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickLength {
    secs: f64,
}

impl Default for TickLength {
    fn default() -> Self {
        Self { secs: 1.0 / 60.0 }
    }
}

impl TickLength {
    /// A step of this many seconds; `None` unless it is finite and above zero.
    pub fn from_secs(secs: f64) -> Option<Self> {
        (secs.is_finite() && secs > 0.0).then_some(Self { secs })
    }

    /// In seconds.
    pub fn as_secs(self) -> f64 {
        self.secs
    }

    /// The time at which this tick is due.
    pub fn due(self, tick: Tick) -> SimTime {
        SimTime::from_secs(tick.0 as f64 * self.secs)
    }

    /// The number of whole steps in this many seconds (rounded to the nearest).
    pub fn ticks_in(self, secs: f64) -> u64 {
        (secs / self.secs).round().max(0.0) as u64
    }
}
