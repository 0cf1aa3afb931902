//! What a body is made of, as detection and response need it. Bodies of one form share it (the thesis's object factory, 3.5).

use crate::bounds::Aabb;
use crate::mesh::MeshTree;
use domain::{BodyForm, CompoundPart, Material, Shape, ShapeError};
use glam::{Mat3, Quat, Vec3};
use parry3d::math::Pose;
use parry3d::shape::SharedShape;
use parry3d::transformation::try_convex_hull;
use std::panic::catch_unwind;
use std::sync::OnceLock;

/// A shape ready for tests.
#[derive(Clone)]
pub struct Geometry {
    /// For Parry.
    pub(crate) shape: SharedShape,
    outline: Outline,
    /// Radius of the sphere around the origin that holds it.
    pub(crate) radius: f32,
    mesh: OnceLock<MeshTree>,
}

#[derive(Clone, Copy, Debug)]
enum Outline {
    Ball(f32),
    Box(Vec3),
    Other,
}

impl Geometry {
    /// From a shape that passed its own checks.
    pub fn new(shape: &Shape) -> Result<Self, ShapeError> {
        let outline = match shape {
            Shape::Sphere { radius } => Outline::Ball(*radius),
            Shape::Cuboid { size } => Outline::Box(*size * 0.5),
            _ => Outline::Other,
        };
        Ok(Self {
            shape: build(shape)?,
            outline,
            radius: shape.bounding_radius(),
            mesh: OnceLock::new(),
        })
    }

    /// The box around it at a place.
    #[inline]
    pub fn aabb(&self, at: Vec3, rotation: Quat) -> Aabb {
        match self.outline {
            Outline::Ball(radius) => Aabb::around(at, Vec3::splat(radius)),
            Outline::Box(half) => {
                let turned = Mat3::from_quat(rotation);
                let reach = turned.x_axis.abs() * half.x
                    + turned.y_axis.abs() * half.y
                    + turned.z_axis.abs() * half.z;
                Aabb::around(at, reach)
            }
            Outline::Other => {
                let aabb = self.shape.compute_aabb(&Pose::from_parts(at, rotation));
                Aabb {
                    min: aabb.mins,
                    max: aabb.maxs,
                }
            }
        }
    }

    /// Its triangles in a tree, made when first asked for.
    pub fn mesh(&self) -> &MeshTree {
        self.mesh.get_or_init(|| MeshTree::of(&self.shape))
    }

    /// Radius of the sphere around the body's origin that holds it.
    pub fn radius(&self) -> f32 {
        self.radius
    }
}

/// Everything about a body that stays the same.
#[derive(Clone)]
pub struct Form {
    /// Its shape.
    pub geometry: Geometry,
    /// Zero if it cannot be moved.
    pub inverse_mass: f32,
    /// Along the principal axes.
    pub(crate) inverse_inertia: Vec3,
    pub(crate) inertia_frame: Quat,
    /// All principal inertias are equal: turning does not change them.
    pub(crate) round: bool,
    /// Centre of mass from the origin.
    pub(crate) centre_of_mass: Vec3,
    pub(crate) material: Material,
    /// The farthest that any part is from the centre of mass, about which it turns, metres.
    pub(crate) swing: f32,
    pub(crate) gravity_scale: f32,
    pub(crate) linear_damping: f32,
    pub(crate) angular_damping: f32,
}

impl Form {
    /// Of a body that moves.
    pub fn new(form: &BodyForm) -> Result<Self, ShapeError> {
        let geometry = Geometry::new(&form.shape)?;
        let mass = geometry.shape.mass_properties(form.material.density);
        let inertia = mass.inv_principal_inertia;
        let spread = inertia.max_element() - inertia.min_element();
        Ok(Self {
            inverse_mass: mass.inv_mass,
            inverse_inertia: inertia,
            inertia_frame: mass.principal_inertia_local_frame,
            round: spread <= 1e-4 * inertia.max_element(),
            centre_of_mass: mass.local_com,
            swing: geometry.radius + mass.local_com.length(),
            material: form.material,
            gravity_scale: form.gravity_scale,
            linear_damping: form.linear_damping,
            angular_damping: form.angular_damping,
            geometry,
        })
    }

    /// Of something that never moves.
    pub fn immoveable(shape: &Shape, material: Material) -> Result<Self, ShapeError> {
        Ok(Self {
            geometry: Geometry::new(shape)?,
            swing: 0.0,
            inverse_mass: 0.0,
            inverse_inertia: Vec3::ZERO,
            inertia_frame: Quat::IDENTITY,
            round: true,
            centre_of_mass: Vec3::ZERO,
            material,
            gravity_scale: 0.0,
            linear_damping: 0.0,
            angular_damping: 0.0,
        })
    }

    /// What an angular impulse does to the angular velocity.
    #[inline]
    pub(crate) fn turn(&self, rotation: Quat, impulse: Vec3) -> Vec3 {
        if self.round {
            return impulse * self.inverse_inertia.x;
        }
        let frame = rotation * self.inertia_frame;
        frame * ((frame.conjugate() * impulse) * self.inverse_inertia)
    }
}

/// The domain's shapes as Parry's. Its own checks must have passed.
fn build(shape: &Shape) -> Result<SharedShape, ShapeError> {
    Ok(match shape {
        Shape::Sphere { radius } => SharedShape::ball(*radius),
        Shape::Cuboid { size } => {
            let half = *size * 0.5;
            SharedShape::cuboid(half.x, half.y, half.z)
        }
        Shape::Capsule { radius, height } => match height * 0.5 - radius {
            half_axis if half_axis > 0.0 => SharedShape::capsule_y(half_axis, *radius),
            _ => SharedShape::ball(*radius),
        },
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
    if matches!(part.shape, Shape::Mesh { .. } | Shape::Compound { .. }) {
        return Err(ShapeError::Misplaced {
            what: "a mesh or a compound",
            place: "part of a compound",
        });
    }
    let pose = Pose::from_parts(part.position, part.rotation);
    Ok((pose, build(&part.shape)?))
}

/// The hull builder asserts on some degenerate inputs; a failed assertion is an answer here.
fn hull(points: &[Vec3]) -> Result<SharedShape, ShapeError> {
    let hull = catch_unwind(|| {
        let (corners, faces) = try_convex_hull(points).ok()?;
        SharedShape::convex_mesh(corners, &faces)
    });
    hull.ok().flatten().ok_or(ShapeError::FlatHull)
}
