//! A rigid body and everything needed to create it again elsewhere; joints; static scenery.

use crate::{BodyId, JointId, Shape, StaticId};
use glam::{DVec3, Quat, Vec3};
use serde::{Deserialize, Serialize};

/// The lightest stuff, kg/m³ (a thousandth of air): with less, an ordinary push gives speeds for which the engine has no numbers.
pub const LOWEST_DENSITY: f64 = 1e-3;

/// What a body is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// Kilograms per cubic metre (default 1000). Must be above zero.
    pub density: f32,
    /// Coulomb friction coefficient (default 0.5).
    pub friction: f32,
    /// Share of the approach speed given back by a bounce, 0 to 1 (default 0).
    pub restitution: f32,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            density: 1000.0,
            friction: 0.5,
            restitution: 0.0,
        }
    }
}

/// What stays the same during a body's life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyForm {
    /// Its geometry around the body's origin.
    pub shape: Shape,
    /// What it is made of.
    pub material: Material,
    /// Continuous collision detection: a fast body is swept, so that it does not pass through thin ones.
    pub continuous: bool,
    /// How much of the world's gravity it feels (default 1).
    pub gravity_scale: f32,
    /// Share of linear velocity lost per second (default 0).
    pub linear_damping: f32,
    /// Share of angular velocity lost per second (default 0).
    pub angular_damping: f32,
}

impl BodyForm {
    /// A form of this shape with default material and no damping.
    pub fn of(shape: Shape) -> Self {
        Self {
            shape,
            material: Material::default(),
            continuous: false,
            gravity_scale: 1.0,
            linear_damping: 0.0,
            angular_damping: 0.0,
        }
    }
}

/// Where a body is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    /// Of the body's origin, in world coordinates.
    pub position: DVec3,
    /// A unit quaternion.
    pub rotation: Quat,
    /// Of the centre of mass, m/s.
    pub linear_velocity: Vec3,
    /// Axis times rad/s.
    pub angular_velocity: Vec3,
}

impl Motion {
    /// At rest at a place.
    pub fn at(position: DVec3) -> Self {
        Self {
            position,
            rotation: Quat::IDENTITY,
            linear_velocity: Vec3::ZERO,
            angular_velocity: Vec3::ZERO,
        }
    }

    /// Are all numbers finite?
    pub fn is_finite(&self) -> bool {
        self.position.is_finite()
            && self.rotation.is_finite()
            && self.linear_velocity.is_finite()
            && self.angular_velocity.is_finite()
    }
}

/// Whether a body sleeps, and for how long it has been still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// Not stepped until something touches it.
    pub asleep: bool,
    /// The engine's sleep timer, seconds.
    pub still_secs: f32,
}

/// Everything needed to create a body, here or on another server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Its name, forever.
    pub id: BodyId,
    /// What stays the same.
    pub form: BodyForm,
    /// Where it is and how it moves.
    pub motion: Motion,
    /// Its sleep state.
    pub rest: Rest,
}

impl Body {
    /// A new, awake body.
    pub fn new(id: BodyId, form: BodyForm, motion: Motion) -> Self {
        Self {
            id,
            form,
            motion,
            rest: Rest::default(),
        }
    }
}

/// Scenery that never moves; every region has all of it, so that a cluster hosted outside its
/// owner's region still stands on the ground.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Static {
    /// Its place in the scene's list.
    pub id: StaticId,
    /// Its geometry ([`Shape::Plane`] is allowed here).
    pub shape: Shape,
    /// Of its origin.
    pub position: DVec3,
    /// A unit quaternion.
    pub rotation: Quat,
    /// Friction and restitution matter, density does not.
    pub material: Material,
}

/// The ways two bodies can be tied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JointKind {
    /// No relative motion.
    Fixed,
    /// A hinge about `axis`.
    Revolute,
    /// A ball joint.
    Spherical,
    /// A slider along `axis`.
    Prismatic,
}

/// Two bodies tied together; they always have one owner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    /// Its name.
    pub id: JointId,
    /// What it allows.
    pub kind: JointKind,
    /// One end.
    pub a: BodyId,
    /// The other end.
    pub b: BodyId,
    /// The joint's point in `a`'s own frame.
    pub anchor_a: Vec3,
    /// The joint's point in `b`'s own frame.
    pub anchor_b: Vec3,
    /// Unit axis of a hinge or slider, in both bodies' own frames.
    pub axis: Vec3,
}
