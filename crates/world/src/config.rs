//! What a world is built from, and what can be wrong with what it is given.

use domain::{BodyId, JointId, ShapeError, StaticId, TickLength};
use glam::{DVec3, Vec3};
use thiserror::Error;

/// What a world is built from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorldConfig {
    /// Acceleration of free fall, m/s².
    pub gravity: Vec3,
    /// The length of one step.
    pub step: TickLength,
    /// World coordinates of the engine's zero. Choose it near the region's bodies: the engine computes
    /// in `f32`, and already 1 km away from its zero slow bodies creep wrongly.
    pub origin: DVec3,
}

impl Default for WorldConfig {
    fn default() -> Self {
        Self {
            gravity: Vec3::new(0.0, -9.81, 0.0),
            step: TickLength::default(),
            origin: DVec3::ZERO,
        }
    }
}

/// Why a world refuses what it was given. The world is unchanged then.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WorldError {
    /// A static's shape is not acceptable.
    #[error("static {id}: {cause}")]
    BadStatic {
        /// Which one.
        id: StaticId,
        /// What is wrong.
        cause: ShapeError,
    },
    /// Two statics share an id.
    #[error("static {0} appears twice")]
    DuplicateStatic(StaticId),
    /// A number of the configuration or of a static's pose or material is not finite.
    #[error("{what} must be finite")]
    NotFinite {
        /// What.
        what: &'static str,
    },
    /// A body's shape is not acceptable.
    #[error("body {id}: {cause}")]
    BadShape {
        /// Which one.
        id: BodyId,
        /// What is wrong.
        cause: ShapeError,
    },
    /// A number of a body is not finite or out of range.
    #[error("body {id}: {what} is not acceptable")]
    BadBody {
        /// Which one.
        id: BodyId,
        /// What is wrong.
        what: &'static str,
    },
    /// A push or a velocity after which the body's numbers would make no sense.
    #[error("body {id} cannot be pushed like that: {what}")]
    BadPush {
        /// Which one.
        id: BodyId,
        /// What is wrong.
        what: &'static str,
    },
    /// The world already has this body.
    #[error("body {0} is already here")]
    DuplicateBody(BodyId),
    /// The world has no such body.
    #[error("there is no body {0}")]
    UnknownBody(BodyId),
    /// A joint is not acceptable.
    #[error("joint {id}: {what}")]
    BadJoint {
        /// Which one.
        id: JointId,
        /// What is wrong.
        what: &'static str,
    },
    /// Ids of a cluster must rise strictly.
    #[error("the {what} of a cluster must be in rising order of their ids, without repetition")]
    Unsorted {
        /// Bodies or joints.
        what: &'static str,
    },
    /// A query's shape is not acceptable.
    #[error("the query's shape: {0}")]
    BadQuery(ShapeError),
    /// A remembered contact speaks of strangers or of impossible numbers.
    #[error("a remembered contact of the cluster is not acceptable: {what}")]
    BadMemory {
        /// What is wrong.
        what: &'static str,
    },
}
