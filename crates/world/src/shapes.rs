//! The domain's shapes as the engine's.
//!
//! Every collider gets a shape of its own, never a shared one: the warm start recognises a pair of
//! colliders by the addresses of their shapes (see `warm_start`).

use domain::{CompoundPart, Shape, ShapeError};
use glam::Vec3;
use rapier3d::math::Pose;
use rapier3d::parry::transformation::try_convex_hull;
use rapier3d::prelude::SharedShape;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Builds the engine's shape. The domain's own checks must have passed.
pub(crate) fn build(shape: &Shape) -> Result<SharedShape, ShapeError> {
    Ok(match shape {
        Shape::Sphere { radius } => SharedShape::ball(*radius),
        Shape::Cuboid { size } => {
            let half = *size * 0.5;
            SharedShape::cuboid(half.x, half.y, half.z)
        }
        Shape::Capsule { radius, height } => capsule(*radius, *height),
        Shape::Convex { points } => hull(points)?,
        Shape::Mesh {
            vertices,
            triangles,
        } => SharedShape::trimesh(vertices.to_vec(), triangles.to_vec())
            .map_err(|_| ShapeError::NotFinite)?,
        Shape::Compound { parts } => {
            let parts: Result<Vec<_>, _> = parts.iter().map(part).collect();
            SharedShape::compound(parts?)
        }
        Shape::Plane => SharedShape::halfspace(Vec3::Y),
    })
}

fn part(part: &CompoundPart) -> Result<(Pose, SharedShape), ShapeError> {
    if matches!(part.shape, Shape::Mesh { .. }) {
        return Err(ShapeError::Misplaced {
            what: "a mesh",
            place: "part of a compound",
        });
    }
    let pose = Pose::from_parts(part.position, part.rotation);
    Ok((pose, build(&part.shape)?))
}

/// A capsule that is all caps is a ball: the engine's capsule needs an axis of some length.
fn capsule(radius: f32, height: f32) -> SharedShape {
    let half_axis = height * 0.5 - radius;
    if half_axis > 0.0 {
        SharedShape::capsule_y(half_axis, radius)
    } else {
        SharedShape::ball(radius)
    }
}

/// The hull builder asserts on some degenerate inputs; points may come from a socket, so a failed
/// assertion is an answer here and not the end of the server.
fn hull(points: &[Vec3]) -> Result<SharedShape, ShapeError> {
    let hull = catch_unwind(|| {
        let (corners, faces) = try_convex_hull(points).ok()?;
        SharedShape::convex_mesh(corners, &faces)
    });
    hull.ok().flatten().ok_or(ShapeError::FlatHull)
}

/// Can the engine tell what it weighs and how it turns? It asks itself in the first step, where a failed assertion would be the end of the server.
pub(crate) fn has_weight(shape: &SharedShape, density: f32) -> bool {
    let weighed = catch_unwind(AssertUnwindSafe(|| shape.mass_properties(density)));
    weighed.is_ok_and(|mass| {
        let inertia = mass.inv_principal_inertia;
        mass.local_com.is_finite()
            && mass.principal_inertia_local_frame.is_finite()
            && (0.0..f32::INFINITY).contains(&mass.inv_mass)
            && inertia.is_finite()
            && inertia.cmpge(Vec3::ZERO).all()
    })
}
