//! What a user can choose about boundaries.

use domain::TickLength;
use serde::{Deserialize, Serialize};

/// Up to these values no collision can be late; beyond them errors may occur and are reported.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerances {
    /// Highest speed of any body, m/s (default 32: motorway). Larger: auras grow in proportion.
    pub speed: f64,
    /// Highest one-way latency between servers, seconds (default 0.002). Larger: auras grow by whole steps.
    pub latency_secs: f64,
    /// Highest frame time of a server, seconds (default 0.015). Counts twice: once to send, once to act.
    pub frame_secs: f64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Self {
            speed: 32.0,
            latency_secs: 0.002,
            frame_secs: 0.015,
        }
    }
}

/// Who owns a body near a border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Aura Projection: one owner before contact.
    Aura,
    /// Whoever's region holds the centre; nobody knows of the other side. The contrast.
    Naive,
    /// Everyone whose sub-space a body reaches simulates it; each pair is tested by one of them ([`replicate`](crate::replicate)).
    Replicate,
}

/// How large auras are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuraSize {
    /// The thesis's formula, 3n − 1 steps at the speed tolerance.
    Thesis,
    /// Sufficient at every n, with catch-up and unaligned steps; grows while no news arrives.
    Safe,
    /// Each body's own: from how it moves, kept by its owner; almost nothing for what rests (default).
    Adaptive,
}

/// What happens to a cluster between its old owner's last step and its new owner's next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandoverMode {
    /// The receiver steps it alone through the missed ticks (default): no body ever misses an update.
    CatchUp,
    /// It stands still in flight, as in the thesis.
    Freeze,
}

/// Everything the boundary needs to know that is not the map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundaryConfig {
    /// Who owns a body near a border.
    pub policy: Policy,
    /// How large auras are.
    pub aura: AuraSize,
    /// What happens in flight.
    pub handover: HandoverMode,
    /// Break the tie when two clusters want each other (default). Without: the thesis's two-object thrash.
    pub tie_break: bool,
    /// Up to where errors are impossible.
    pub tolerances: Tolerances,
    /// The physics step.
    pub step: TickLength,
    /// Strength of gravity, m/s² (default 9.81): what stands still may begin to fall.
    pub gravity: f64,
    /// Size `adaptive`: hold bodies to what they have promised (default). Without, the bound is a hope.
    pub keep_promises: bool,
    /// Size `adaptive`: the share of its motion that a body promises. Less than 1 is for tests: promises that are too
    /// small must be kept all the same.
    pub promise_share: f64,
}

impl Default for BoundaryConfig {
    fn default() -> Self {
        Self {
            policy: Policy::Aura,
            aura: AuraSize::Adaptive,
            handover: HandoverMode::CatchUp,
            tie_break: true,
            tolerances: Tolerances::default(),
            step: TickLength::default(),
            gravity: 9.81,
            keep_promises: true,
            promise_share: 1.0,
        }
    }
}
