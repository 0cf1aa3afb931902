//! Dead reckoning: what can be chosen at both ends.

use super::ms;
use domain::SimTime;
use serde::{Deserialize, Serialize};

/// How a replica's motion is foretold from what its owner sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Predictor {
    /// Updates carry position, velocity and acceleration; constant acceleration in between (ML-3).
    Dis,
    /// Updates carry a position only; velocity and acceleration come from the last three (ML-4).
    PositionHistory,
}

/// The curve through a replica's past and into its future.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Curve {
    /// First order when nearly straight or very sharp, second order in between: as published.
    Adaptive,
    /// Always second order.
    SecondOrder,
    /// As `Adaptive`, but between its limits the curve is a turn at constant rate and speed. A parabola through a circle
    /// errs with the cube of the time, an arc does not.
    Turn,
}

/// How a shown replica gets from where it is to where it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Convergence {
    /// At once.
    Snap,
    /// The offset decays linearly over the last interval between updates, within these limits.
    Linear {
        /// Not shorter than this.
        min: SimTime,
        /// Not longer than this.
        max: SimTime,
    },
    /// A cubic Hermite curve from the shown position and velocity to the foretold ones, over the same interval.
    Cubic {
        /// Not shorter than this.
        min: SimTime,
        /// Not longer than this.
        max: SimTime,
    },
}

/// What a bounce does to the history from which a replica is foretold (ML-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HistoryReset {
    /// Nothing: a parabola is fitted through the corner.
    None,
    /// Samples stamped before the hit, as this station timed it, are forgotten.
    ByTime,
    /// Updates carry the number of the master's stretch of free motion; a new number forgets the old samples. Also
    /// right for bounces the receiver knows nothing of: walls, and masters among themselves.
    BySegment,
}

/// Reasons to send an update beyond the plain threshold. All off is the plain rule of both papers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SenderPolicies {
    /// Send at once when the body starts from rest, stops, or turns by more than this many degrees in a frame (Duncan and Gracanin).
    pub pre_reckoning_deg: Option<f64>,
    /// Shrink the threshold when another body is near (Cai).
    pub distance: Option<DistanceThreshold>,
    /// Send when deviation × time since the last update exceeds this, in length × seconds (Roberts).
    pub time_space: Option<f64>,
    /// Take the receivers' reports of how wrong they were into account (Kenny).
    pub closed_loop: Option<ClosedLoop>,
    /// Send at least this often while a contact within the given time is possible (Ohlenburg).
    pub proximity_rate: Option<ProximityRate>,
    /// Send not where the body is but where a Kalman filter expects it to be after the measured delay (Tumanov).
    pub kalman_lead: Option<KalmanLead>,
    /// Keep sending every frame for so many frames after a bounce (default 0): a lost first update is soon made good.
    pub bounce_repeats: u8,
    /// Updates in the first 250 ms after a bounce carry the velocity too, so that one packet is enough to follow it.
    pub velocity_at_bounce: bool,
}

/// The threshold as a share of the plain one: falls from 1 at `far` to `near_share` at contact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistanceThreshold {
    /// Gap between surfaces from which on the plain threshold holds.
    pub far: f64,
    /// Share of the plain threshold that is left at contact, in (0, 1].
    pub near_share: f64,
}

/// Replicas report their measured deviation; the master scales its threshold so that it stays at the goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClosedLoop {
    /// The deviation at the receivers that is aimed for.
    pub goal: f64,
    /// How often a receiver reports.
    pub every: SimTime,
    /// The threshold is never scaled below this share of the plain one ...
    pub min_share: f64,
    /// ... nor above this multiple.
    pub max_share: f64,
}

/// More updates where a hit is near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProximityRate {
    /// A contact is possible within this time if both bodies made straight for each other.
    pub within: SimTime,
    /// At least one update per this time then.
    pub every: SimTime,
}

/// A sender-side Kalman filter with constant acceleration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KalmanLead {
    /// Process noise: how fast acceleration may change, in length/s³.
    pub jerk: f64,
    /// Measurement noise, in length.
    pub noise: f64,
    /// Never look further ahead than this.
    pub max_lead: SimTime,
}

/// Dead reckoning at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReckoningSettings {
    /// What updates carry (default position history). Can be changed while running (ML-5).
    pub predictor: Predictor,
    /// The curve of the position history (default adaptive).
    pub curve: Curve,
    /// A master is sent when its replicas would be off by more than this (default 1). Smaller: more packets, smaller errors.
    pub threshold: f64,
    /// ... and at least this often (default 500 ms).
    pub keepalive: SimTime,
    /// Below this turn, in degrees, the path counts as straight (default 2).
    pub min_turn_deg: f64,
    /// Above this turn, in degrees, it counts as a corner and only its last leg is followed (default 60).
    pub max_turn_deg: f64,
    /// A sample older than this is followed in a straight line from there on (default 500 ms), so that no parabola runs away.
    pub horizon: SimTime,
    /// How shown replicas converge (default snap, which the offline tables need).
    pub convergence: Convergence,
    /// A replica follows its local bounce at most this long (default 500 ms) if no newer updates arrive.
    pub correction: SimTime,
    /// What a bounce does to histories (default by segment).
    pub reset: HistoryReset,
    /// Further reasons to send.
    pub sender: SenderPolicies,
}

impl Default for ReckoningSettings {
    fn default() -> Self {
        Self {
            predictor: Predictor::PositionHistory,
            curve: Curve::Adaptive,
            threshold: 1.0,
            keepalive: ms(500),
            min_turn_deg: 2.0,
            max_turn_deg: 60.0,
            horizon: ms(500),
            convergence: Convergence::Snap,
            correction: ms(500),
            reset: HistoryReset::BySegment,
            sender: SenderPolicies::default(),
        }
    }
}
