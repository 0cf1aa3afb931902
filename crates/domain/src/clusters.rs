//! A cluster on its way: bodies, the joints among them, and what the engine's solver remembers of their
//! contacts. Without that memory a stack that is handed over often enough falls.

use crate::{Body, BodyId, Joint, StaticId};
use glam::Vec3;
use serde::{Deserialize, Serialize};

/// Bodies of one owner that migrate together, in `BodyId` order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The members, by ascending id.
    pub bodies: Vec<Body>,
    /// The joints among them, by ascending id. Joints never leave the cluster.
    pub joints: Vec<Joint>,
    /// What the solver remembers of contacts among members and with static scenery.
    pub contacts: Vec<ContactMemory>,
}

/// One side of a remembered contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ContactEnd {
    /// A member of the cluster.
    Body(BodyId),
    /// Static scenery, which the receiver has too.
    Static(StaticId),
}

/// The solver's memory of one pair of touching colliders (one contact manifold).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContactMemory {
    /// The manifold's first side.
    pub a: ContactEnd,
    /// The manifold's second side.
    pub b: ContactEnd,
    /// Which part of a compound or mesh on the first side (0 for a simple shape, the highest number for
    /// several parts solved as one).
    pub part_a: u32,
    /// The same for the second side.
    pub part_b: u32,
    /// Its contact points.
    pub points: Vec<PointMemory>,
}

/// The solver's memory of one contact point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointMemory {
    /// The engine's feature id on the first side.
    pub feature_a: u32,
    /// The engine's feature id on the second side.
    pub feature_b: u32,
    /// Normal impulse of the last step, from which the next one starts.
    pub normal_impulse: f32,
    /// Friction impulse of the last step in world axes.
    pub friction_impulse: Vec3,
    /// Twist-friction impulse of the last step.
    pub twist_impulse: f32,
    /// Where it is in the first side's frame. The same corner may come back under another feature id;
    /// then the place tells which one it was.
    pub place: Vec3,
}
