//! Shapes: what a body's geometry may be, in the body's own frame.

use glam::{Quat, Vec3};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::cell::Cell;
use std::sync::Arc;
use thiserror::Error;

/// The most points or triangles one shape may have; a larger one is refused at the door.
pub const MAX_SHAPE_ELEMENTS: usize = 100_000;
/// The most parts of a compound.
pub const MAX_COMPOUND_PARTS: usize = 256;
/// The smallest size of a moving body, metres. The moment of inertia of a smaller one is so little that the engine's numbers end.
pub const SMALLEST_BODY_M: f32 = 1e-3;

/// A body's geometry. Large ones are behind an `Arc`: cloning a shape is always cheap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Shape {
    /// A ball.
    Sphere {
        /// In metres.
        radius: f32,
    },
    /// A box.
    Cuboid {
        /// Full extents in metres.
        size: Vec3,
    },
    /// A cylinder along y with half-spheres at both ends.
    Capsule {
        /// In metres.
        radius: f32,
        /// Total height, both caps included; at least twice the radius.
        height: f32,
    },
    /// The convex hull of points.
    Convex {
        /// At least four, not all in one plane.
        points: Arc<[Vec3]>,
    },
    /// A triangle mesh; best for static scenery.
    Mesh {
        /// Corners.
        vertices: Arc<[Vec3]>,
        /// Indices into `vertices`.
        triangles: Arc<[[u32; 3]]>,
    },
    /// Several shapes fixed to each other.
    Compound {
        /// None of them a compound, a mesh or a plane.
        parts: Arc<[CompoundPart]>,
    },
    /// The half-space below y = 0 of its frame; only for static scenery.
    Plane,
}

/// One part of a compound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompoundPart {
    /// Of the part's origin in the body's frame.
    pub position: Vec3,
    /// A unit quaternion.
    pub rotation: Quat,
    /// The part.
    #[serde(deserialize_with = "not_nested")]
    pub shape: Shape,
}

/// Compounds do not nest. Checked while reading: bytes that nest them a million times must not exhaust the stack.
fn not_nested<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Shape, D::Error> {
    thread_local! {
        static INSIDE: Cell<bool> = const { Cell::new(false) };
    }
    if INSIDE.replace(true) {
        return Err(D::Error::custom("a compound cannot be part of a compound"));
    }
    let shape = Shape::deserialize(deserializer);
    INSIDE.set(false);
    shape
}

/// Why a shape is refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ShapeError {
    /// A size is zero, negative, not finite or absurd.
    #[error("{what} must be a finite number above 0 and at most 100000, not {value}")]
    BadSize {
        /// Which one.
        what: &'static str,
        /// What it was.
        value: f32,
    },
    /// Too small to move.
    #[error("{what} of a moving body must be at least {SMALLEST_BODY_M} m, not {value}")]
    TooSmall {
        /// Which size.
        what: &'static str,
        /// What it was.
        value: f32,
    },
    /// A capsule whose caps overlap.
    #[error("a capsule's height ({height}) must be at least twice its radius ({radius})")]
    FlatCapsule {
        /// Total height.
        height: f32,
        /// Radius.
        radius: f32,
    },
    /// Too few or too many elements.
    #[error("{what}: {count} given, {min} to {max} allowed")]
    BadCount {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// At least.
        min: usize,
        /// At most.
        max: usize,
    },
    /// Points in one plane have no hull with a volume.
    #[error("the points of a convex shape must not all lie in one plane")]
    FlatHull,
    /// A triangle names a vertex that does not exist.
    #[error("triangle {triangle} names vertex {vertex}, but there are only {count}")]
    BadIndex {
        /// Which triangle.
        triangle: usize,
        /// Which vertex.
        vertex: u32,
        /// How many there are.
        count: usize,
    },
    /// Compounds do not nest, planes do not move.
    #[error("{what} cannot be {place}")]
    Misplaced {
        /// The offending shape.
        what: &'static str,
        /// Where it stood.
        place: &'static str,
    },
    /// Points must be numbers, and parts turned, not stretched.
    #[error("coordinates must be finite, at most 100000 m away, and rotations of length 1")]
    NotFinite,
}

impl Shape {
    /// The radius of the smallest sphere around the body's origin that holds the shape; infinite for a plane.
    pub fn bounding_radius(&self) -> f32 {
        match self {
            Self::Sphere { radius } => *radius,
            Self::Cuboid { size } => size.length() * 0.5,
            Self::Capsule { height, .. } => height * 0.5,
            Self::Convex { points } => farthest(points),
            Self::Mesh { vertices, .. } => farthest(vertices),
            Self::Compound { parts } => parts
                .iter()
                .map(|part| part.position.length() + part.shape.bounding_radius())
                .fold(0.0, f32::max),
            Self::Plane => f32::INFINITY,
        }
    }

    /// Is this a shape a moving body may have? (Checks every number: shapes come from files and sockets.)
    pub fn check_for_body(&self) -> Result<(), ShapeError> {
        match self {
            Self::Plane => Err(ShapeError::Misplaced {
                what: "a plane",
                place: "a moving body",
            }),
            other => other.check(true),
        }
    }

    /// Is it large enough to move, every part of it? (A shape about which is only asked, and scenery, may be smaller.)
    pub fn check_size_of_body(&self) -> Result<(), ShapeError> {
        match self {
            Self::Sphere { radius } | Self::Capsule { radius, .. } => large("the radius", *radius),
            Self::Cuboid { size } => large("the size", size.min_element()),
            Self::Convex { points: corners }
            | Self::Mesh {
                vertices: corners, ..
            } => large("the extent", extent(corners)),
            Self::Compound { parts } => parts
                .iter()
                .try_for_each(|part| part.shape.check_size_of_body()),
            Self::Plane => Ok(()),
        }
    }

    /// Is this a shape static scenery may have?
    pub fn check_for_static(&self) -> Result<(), ShapeError> {
        self.check(true)
    }

    fn check(&self, compound_allowed: bool) -> Result<(), ShapeError> {
        match self {
            Self::Sphere { radius } => size("radius", *radius),
            Self::Cuboid { size: extents } => {
                extents.to_array().iter().try_for_each(|v| size("size", *v))
            }
            Self::Capsule { radius, height } => {
                size("radius", *radius)?;
                size("height", *height)?;
                if *height < 2.0 * radius {
                    return Err(ShapeError::FlatCapsule {
                        height: *height,
                        radius: *radius,
                    });
                }
                Ok(())
            }
            Self::Convex { points } => {
                count("points", points.len(), 4, MAX_SHAPE_ELEMENTS)?;
                finite(points)?;
                if is_flat(points) {
                    return Err(ShapeError::FlatHull);
                }
                Ok(())
            }
            Self::Mesh {
                vertices,
                triangles,
            } => {
                count("vertices", vertices.len(), 3, MAX_SHAPE_ELEMENTS)?;
                if !compound_allowed {
                    // The engine cannot put a mesh inside a compound.
                    return Err(ShapeError::Misplaced {
                        what: "a mesh",
                        place: "part of a compound",
                    });
                }
                count("triangles", triangles.len(), 1, MAX_SHAPE_ELEMENTS)?;
                finite(vertices)?;
                indices(triangles, vertices.len())
            }
            Self::Compound { parts } if compound_allowed => {
                count("parts", parts.len(), 1, MAX_COMPOUND_PARTS)?;
                parts.iter().try_for_each(CompoundPart::check)
            }
            Self::Compound { .. } => Err(ShapeError::Misplaced {
                what: "a compound",
                place: "part of a compound",
            }),
            Self::Plane if compound_allowed => Ok(()),
            Self::Plane => Err(ShapeError::Misplaced {
                what: "a plane",
                place: "part of a compound",
            }),
        }
    }
}

impl CompoundPart {
    fn check(&self) -> Result<(), ShapeError> {
        let turned = (self.rotation.length() - 1.0).abs() <= 1e-3;
        if !(self.position.length() <= 1e5 && turned) {
            return Err(ShapeError::NotFinite);
        }
        self.shape.check(false)
    }
}

fn farthest(points: &[Vec3]) -> f32 {
    points.iter().map(|p| p.length()).fold(0.0, f32::max)
}

fn size(what: &'static str, value: f32) -> Result<(), ShapeError> {
    if value.is_finite() && value > 0.0 && value <= 1e5 {
        Ok(())
    } else {
        Err(ShapeError::BadSize { what, value })
    }
}

fn large(what: &'static str, value: f32) -> Result<(), ShapeError> {
    if value >= SMALLEST_BODY_M {
        Ok(())
    } else {
        Err(ShapeError::TooSmall { what, value })
    }
}

/// The longest side of the box around the points.
fn extent(points: &[Vec3]) -> f32 {
    let first = points.first().copied().unwrap_or_default();
    let (low, high) = points
        .iter()
        .fold((first, first), |(low, high), p| (low.min(*p), high.max(*p)));
    (high - low).max_element()
}

fn count(what: &'static str, count: usize, min: usize, max: usize) -> Result<(), ShapeError> {
    if (min..=max).contains(&count) {
        Ok(())
    } else {
        Err(ShapeError::BadCount {
            what,
            count,
            min,
            max,
        })
    }
}

fn finite(points: &[Vec3]) -> Result<(), ShapeError> {
    if points.iter().all(|p| p.is_finite() && p.length() <= 1e5) {
        Ok(())
    } else {
        Err(ShapeError::NotFinite)
    }
}

fn indices(triangles: &[[u32; 3]], count: usize) -> Result<(), ShapeError> {
    for (triangle, corners) in triangles.iter().enumerate() {
        if let Some(&vertex) = corners.iter().find(|v| **v as usize >= count) {
            return Err(ShapeError::BadIndex {
                triangle,
                vertex,
                count,
            });
        }
    }
    Ok(())
}

/// Do all points lie (nearly) in one plane? Then they span no volume.
fn is_flat(points: &[Vec3]) -> bool {
    let a = points[0];
    let far = |score: &dyn Fn(Vec3) -> f32| {
        points
            .iter()
            .copied()
            .max_by(|p, q| score(*p).total_cmp(&score(*q)))
            .expect("a hull has points")
    };
    let b = far(&|p| (p - a).length());
    let c = far(&|p| (b - a).cross(p - a).length());
    let normal = (b - a).cross(c - a);
    let d = far(&|p| normal.dot(p - a).abs());
    let scale = (b - a).length();
    normal.dot(d - a).abs() <= 1e-4 * scale * scale * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounding_radius_holds_every_corner() {
        let cuboid = Shape::Cuboid {
            size: Vec3::new(2.0, 4.0, 4.0),
        };
        assert!((cuboid.bounding_radius() - 3.0).abs() < 1e-6);
        let capsule = Shape::Capsule {
            radius: 0.3,
            height: 2.0,
        };
        assert!((capsule.bounding_radius() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn flat_hulls_and_bad_sizes_are_refused() {
        let flat: Vec<Vec3> = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
            .map(|[x, z]| Vec3::new(x, 0.0, z))
            .into();
        let hull = Shape::Convex {
            points: flat.into(),
        };
        assert_eq!(hull.check_for_body(), Err(ShapeError::FlatHull));
        for radius in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e6] {
            assert!(Shape::Sphere { radius }.check_for_body().is_err());
        }
        for radius in [1e-30, 9e-4] {
            let grain = Shape::Sphere { radius };
            assert!(grain.check_for_body().is_ok());
            assert!(grain.check_size_of_body().is_err());
        }
        assert!(Shape::Plane.check_for_body().is_err());
        assert!(Shape::Plane.check_for_static().is_ok());
    }
}
