//! How deep do two shapes overlap? For checkers that look at all worlds from above.

use crate::shapes;
use domain::{Shape, ShapeError};
use glam::{DVec3, Quat};
use rapier3d::math::Pose;
use rapier3d::parry::query;
use rapier3d::prelude::SharedShape;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A shape ready for overlap tests, built once. Cloning is cheap.
#[derive(Clone)]
pub struct PreparedShape {
    shape: SharedShape,
    radius: f64,
}

impl PreparedShape {
    /// Builds the shape; an unacceptable one is refused.
    pub fn new(shape: &Shape) -> Result<Self, ShapeError> {
        shape.check_for_static()?;
        Ok(Self {
            shape: shapes::build(shape)?,
            radius: f64::from(shape.bounding_radius()),
        })
    }

    /// Of the sphere around the origin that holds it; infinite for a plane.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// How deep the two overlap, metres; zero or negative if they do not (then no closer than that
    /// many metres, if they are near each other). The relative pose is computed in `f64`.
    pub fn penetration(&self, pose: (DVec3, Quat), other: &Self, other_pose: (DVec3, Quat)) -> f64 {
        let gap = other_pose.0 - pose.0;
        let reach = self.radius + other.radius;
        if gap.length_squared() > reach * reach {
            return reach - gap.length();
        }
        let back = pose.1.as_dquat().conjugate();
        let relative = Pose::from_parts(
            (back * gap).as_vec3(),
            (back * other_pose.1.as_dquat()).as_quat(),
        );
        let contact = query::contact(&Pose::IDENTITY, &*self.shape, &relative, &*other.shape, 0.0);
        match contact {
            Ok(Some(contact)) => -f64::from(contact.dist),
            _ => 0.0,
        }
    }
}

/// How deep two shapes at two poses overlap, metres; zero or negative if they do not. A shape that no
/// world would accept overlaps nothing. Builds both shapes: for repeated tests keep a [`ShapeCache`].
pub fn penetration(a: &Shape, pose_a: (DVec3, Quat), b: &Shape, pose_b: (DVec3, Quat)) -> f64 {
    match (PreparedShape::new(a), PreparedShape::new(b)) {
        (Ok(a), Ok(b)) => a.penetration(pose_a, &b, pose_b),
        _ => 0.0,
    }
}

/// Prepared shapes by value, so that a thousand equal boxes are built once.
#[derive(Default)]
pub struct ShapeCache {
    prepared: FxHashMap<Key, (Shape, PreparedShape)>,
}

/// What tells two shapes apart: numbers by their bits, shared data by its address (the cache keeps the
/// data alive, so an address is never used again for something else).
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Sphere(u32),
    Cuboid([u32; 3]),
    Capsule([u32; 2]),
    Convex(usize),
    Mesh(usize, usize),
    Compound(usize),
    Plane,
}

impl ShapeCache {
    /// The prepared shape, built at the first call.
    pub fn get(&mut self, shape: &Shape) -> Result<PreparedShape, ShapeError> {
        let key = key(shape);
        if let Some((_, prepared)) = self.prepared.get(&key) {
            return Ok(prepared.clone());
        }
        let prepared = PreparedShape::new(shape)?;
        self.prepared.insert(key, (shape.clone(), prepared.clone()));
        Ok(prepared)
    }
}

fn key(shape: &Shape) -> Key {
    match shape {
        Shape::Sphere { radius } => Key::Sphere(radius.to_bits()),
        Shape::Cuboid { size } => Key::Cuboid(size.to_array().map(f32::to_bits)),
        Shape::Capsule { radius, height } => Key::Capsule([radius, height].map(|v| v.to_bits())),
        Shape::Convex { points } => Key::Convex(Arc::as_ptr(points).cast::<()>() as usize),
        Shape::Mesh {
            vertices,
            triangles,
        } => Key::Mesh(
            Arc::as_ptr(vertices).cast::<()>() as usize,
            Arc::as_ptr(triangles).cast::<()>() as usize,
        ),
        Shape::Compound { parts } => Key::Compound(Arc::as_ptr(parts).cast::<()>() as usize),
        Shape::Plane => Key::Plane,
    }
}
