//! The dead-reckoning vector: a sample of an entity's state from which a receiver extrapolates.

use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// Counts the vectors *generated* for one entity, from 1. A receiver that holds 0 has none yet.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Seq(pub u32);

impl Seq {
    /// The number of the next vector.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// How to go on from a vector. Named in it, so that both ends use the same curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Stays where it is; velocity and spin are zero.
    AtRest,
    /// Constant velocity; turns about `spin` without changing course.
    #[default]
    Linear,
    /// Constant speed; the course turns with `spin`.
    Circular,
    /// Constant `acceleration` (free flight under gravity); turns about `spin`.
    Ballistic,
}

/// State of one entity at one instant of the global clock, as the owner exports it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrVector {
    /// Whose state this is.
    pub entity: BodyId,
    /// Number in the order of generation.
    pub seq: Seq,
    /// When it was generated, on the global clock; stays the same however late it is sent.
    pub time: SimTime,
    /// The curve to extrapolate along.
    pub kind: Kind,
    /// Whatever discrete state the application tracks; a change triggers a new vector.
    pub status: u16,
    /// Metres, world coordinates.
    pub position: DVec3,
    /// m/s.
    pub velocity: DVec3,
    /// m/s²; used by [`Kind::Ballistic`] only.
    pub acceleration: DVec3,
    /// A unit quaternion.
    pub rotation: DQuat,
    /// Axis times rad/s.
    pub spin: DVec3,
}
