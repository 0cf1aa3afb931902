//! The owner's trigger: when is a new vector due?
//!
//! Every loop the owner asks: where does everybody who holds my last vector believe this entity to be, and is that
//! still good enough? Only if not, a new vector is generated.
//!
//! ```text
//!   real path    o----o----o--.                        ε = distance threshold
//!                              `--o----o
//!   exported     o====o====o====o|                     the last vector, extrapolated
//!                                ↑ real and believed place are more than ε apart: trigger
//! ```
//!
//! The comparison is always with the last vector *generated*, never with the previous frame (slow turns would go
//! unnoticed: digest §7, C2) and never with what one receiver happens to have (the exported path is one for all).

use super::measure::{DistanceRule, angle_between};
use super::models::{BuiltIn, Model, Placed};
use super::true_state::TrueState;
use crate::vector::{DrVector, Kind, Seq};
use domain::{BodyId, SimTime};
use serde::{Deserialize, Serialize};

/// When a vector no longer describes its entity well enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// How far the believed place may be from the real one, in metres (default 0.01). Smaller: more vectors, and what
    /// receivers show is closer to the truth.
    pub distance_m: f64,
    /// How that distance is measured (default [`DistanceRule::Euclidean`]).
    pub distance_rule: DistanceRule,
    /// How far the believed orientation may be turned from the real one, in radians (default 1 degree).
    pub angle_rad: f64,
    /// A moving entity is sent again after this long even if nothing is wrong (default 1 s; the thesis's tΔ), so
    /// that a lost vector is made good.
    pub time: SimTime,
    /// The same for an entity at rest (default 5 s). It can only be wrong if a vector was lost, so less often will
    /// do.
    pub time_at_rest: SimTime,
    /// The shortest time between two vectors of an entity in contact (default 1/30 s). A body in a pile is pushed
    /// about at every step; without this it would trigger at every step. A changed status and falling asleep do not
    /// wait.
    pub min_spacing: SimTime,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            distance_m: 0.01,
            distance_rule: DistanceRule::Euclidean,
            angle_rad: 1.0_f64.to_radians(),
            time: SimTime::from_secs(1.0),
            time_at_rest: SimTime::from_secs(5.0),
            min_spacing: SimTime::from_secs(1.0 / 30.0),
        }
    }
}

impl Thresholds {
    /// The values of the game the thesis measured, BZFlag: 0.09 units on any axis, 0.05 rad, 1 s, no spacing. The
    /// experiments use them.
    pub fn bzflag() -> Self {
        Self {
            distance_m: 0.09,
            distance_rule: DistanceRule::AnyAxis,
            angle_rad: 0.05,
            time: SimTime::from_secs(1.0),
            time_at_rest: SimTime::from_secs(1.0),
            min_spacing: SimTime::ZERO,
        }
    }
}

/// Why a vector was generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// There was none yet.
    First,
    /// The application's status changed.
    Status,
    /// The entity fell asleep; its last vector has it moving.
    Asleep,
    /// Real and believed place are too far apart.
    Distance,
    /// Real and believed orientation are too far apart.
    Angle,
    /// The last vector is old.
    Time,
}

impl Cause {
    /// Whether it may be put off while the minimum spacing has not passed.
    fn can_wait(self) -> bool {
        matches!(self, Self::Distance | Self::Angle | Self::Time)
    }
}

/// The owner's side of one entity's stream of vectors. Feed it the true state every loop:
///
/// ```
/// use reckoning::motion::{Thresholds, Trigger, TrueState};
/// use domain::{BodyId, SimTime};
///
/// let mut trigger = Trigger::new(BodyId(7), Thresholds::default());
/// let state = TrueState::default();
/// assert!(trigger.observe(SimTime::ZERO, &state).is_some(), "the first state is always exported");
/// assert!(trigger.observe(SimTime::from_millis(20.0), &state).is_none(), "nothing changed");
/// ```
#[derive(Clone, Debug)]
pub struct Trigger {
    entity: BodyId,
    thresholds: Thresholds,
    last: Option<DrVector>,
    cause: Option<Cause>,
}

impl Trigger {
    /// For an entity of which no vector exists yet; the first one has number 1.
    pub fn new(entity: BodyId, thresholds: Thresholds) -> Self {
        Self {
            entity,
            thresholds,
            last: None,
            cause: None,
        }
    }

    /// For an entity taken over from another owner: numbers go on from its last vector, so receivers see no break.
    pub fn resume(last: DrVector, thresholds: Thresholds) -> Self {
        Self {
            entity: last.entity,
            thresholds,
            last: Some(last),
            cause: None,
        }
    }

    /// Whose vectors these are.
    pub fn entity(&self) -> BodyId {
        self.entity
    }

    /// The vector that receivers are meant to follow now.
    pub fn last(&self) -> Option<&DrVector> {
        self.last.as_ref()
    }

    /// Why the last vector was generated here; `None` if none was.
    pub fn last_cause(&self) -> Option<Cause> {
        self.cause
    }

    /// The thresholds in use.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// Changes the thresholds from the next loop on (to meet a byte budget, or by distance from the viewers).
    pub fn set_thresholds(&mut self, thresholds: Thresholds) {
        self.thresholds = thresholds;
    }

    /// Tells the true state at `now`; returns the new vector if one is due. `now` must not decrease from call to
    /// call. A state that is not finite is never exported: the receivers keep what they have.
    pub fn observe(&mut self, now: SimTime, state: &TrueState) -> Option<DrVector> {
        self.observe_with(&BuiltIn, now, state)
    }

    /// As [`Self::observe`], with the application's own model; the receivers must use the same one.
    pub fn observe_with(
        &mut self,
        model: &dyn Model,
        now: SimTime,
        state: &TrueState,
    ) -> Option<DrVector> {
        if !state.is_finite() {
            return None;
        }
        let cause = self.cause_at(model, now, state)?;
        let seq = self.last.map_or(Seq::default(), |last| last.seq).next();
        let vector = state.vector(self.entity, seq, now);
        self.last = Some(vector);
        self.cause = Some(cause);
        Some(vector)
    }

    fn cause_at(&self, model: &dyn Model, now: SimTime, state: &TrueState) -> Option<Cause> {
        let Some(last) = &self.last else {
            return Some(Cause::First);
        };
        let cause = self.complaint(last, &model.extrapolate(last, now), now, state)?;
        let too_soon = state.in_contact && now.since(last.time) < self.thresholds.min_spacing;
        (!(too_soon && cause.can_wait())).then_some(cause)
    }

    /// What is wrong with the last vector, the weightiest first.
    fn complaint(
        &self,
        last: &DrVector,
        believed: &Placed,
        now: SimTime,
        state: &TrueState,
    ) -> Option<Cause> {
        let limits = &self.thresholds;
        let too_far = || limits.distance_rule.measure(state.position, believed) > limits.distance_m;
        let too_turned = || angle_between(state.rotation, believed.rotation) > limits.angle_rad;
        if state.status != last.status {
            Some(Cause::Status)
        } else if state.resting && last.kind != Kind::AtRest {
            Some(Cause::Asleep)
        } else if too_far() {
            Some(Cause::Distance)
        } else if too_turned() {
            Some(Cause::Angle)
        } else {
            (now.since(last.time) >= self.time_limit(last)).then_some(Cause::Time)
        }
    }

    fn time_limit(&self, last: &DrVector) -> SimTime {
        match last.kind {
            Kind::AtRest => self.thresholds.time_at_rest,
            _ => self.thresholds.time,
        }
    }
}
