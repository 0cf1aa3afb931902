//! Shapes, vectors and rotations, bit for bit.

use super::read_list;
use crate::bytes::{Malformed, Reader, Why, put_f32, put_varint};
use domain::{CompoundPart, Shape};
use glam::{Quat, Vec3};
use std::sync::Arc;

const VEC3_BYTES: usize = 12;
const TRIANGLE_MIN_BYTES: usize = 3;
const PART_MIN_BYTES: usize = 12 + 16 + 1;

pub(crate) fn write_shape(out: &mut Vec<u8>, shape: &Shape) {
    match shape {
        Shape::Sphere { radius } => {
            out.push(0);
            put_f32(out, *radius);
        }
        Shape::Cuboid { size } => {
            out.push(1);
            put_vec3(out, *size);
        }
        Shape::Capsule { radius, height } => {
            out.push(2);
            put_f32(out, *radius);
            put_f32(out, *height);
        }
        Shape::Convex { points } => {
            out.push(3);
            put_points(out, points);
        }
        Shape::Mesh {
            vertices,
            triangles,
        } => {
            out.push(4);
            put_points(out, vertices);
            put_varint(out, triangles.len() as u64);
            for corner in triangles.iter().flatten() {
                put_varint(out, (*corner).into());
            }
        }
        Shape::Compound { parts } => {
            out.push(5);
            put_varint(out, parts.len() as u64);
            for part in parts.iter() {
                put_vec3(out, part.position);
                put_quat(out, part.rotation);
                write_shape(out, &part.shape);
            }
        }
        Shape::Plane => out.push(6),
    }
}

/// Compounds do not nest: refusing one inside another here also bounds the recursion, so that no bytes can
/// exhaust the stack.
pub(crate) fn read_shape(
    reader: &mut Reader<'_>,
    may_be_compound: bool,
) -> Result<Shape, Malformed> {
    let misplaced = reader.error("shape", Why::Misplaced);
    match reader.u8("shape")? {
        0 => Ok(Shape::Sphere {
            radius: reader.f32("radius")?,
        }),
        1 => Ok(Shape::Cuboid {
            size: read_vec3(reader, "size")?,
        }),
        2 => Ok(Shape::Capsule {
            radius: reader.f32("radius")?,
            height: reader.f32("height")?,
        }),
        3 => Ok(Shape::Convex {
            points: read_points(reader, "points")?,
        }),
        4 => Ok(Shape::Mesh {
            vertices: read_points(reader, "vertices")?,
            triangles: read_list(reader, "triangles", TRIANGLE_MIN_BYTES, read_triangle)?.into(),
        }),
        5 if may_be_compound => Ok(Shape::Compound {
            parts: read_list(reader, "parts", PART_MIN_BYTES, read_part)?.into(),
        }),
        5 => Err(misplaced),
        6 => Ok(Shape::Plane),
        tag => Err(Malformed {
            why: Why::UnknownTag(tag),
            ..misplaced
        }),
    }
}

fn read_triangle(reader: &mut Reader<'_>) -> Result<[u32; 3], Malformed> {
    let mut corner = || reader.varint_u32("triangle");
    Ok([corner()?, corner()?, corner()?])
}

fn read_part(reader: &mut Reader<'_>) -> Result<CompoundPart, Malformed> {
    Ok(CompoundPart {
        position: read_vec3(reader, "position of a part")?,
        rotation: read_quat(reader, "rotation of a part")?,
        shape: read_shape(reader, false)?,
    })
}

fn put_points(out: &mut Vec<u8>, points: &[Vec3]) {
    put_varint(out, points.len() as u64);
    for point in points {
        put_vec3(out, *point);
    }
}

fn read_points(reader: &mut Reader<'_>, what: &'static str) -> Result<Arc<[Vec3]>, Malformed> {
    Ok(read_list(reader, what, VEC3_BYTES, |r| read_vec3(r, what))?.into())
}

pub(crate) fn put_vec3(out: &mut Vec<u8>, vector: Vec3) {
    for value in vector.to_array() {
        put_f32(out, value);
    }
}

pub(crate) fn read_vec3(reader: &mut Reader<'_>, what: &'static str) -> Result<Vec3, Malformed> {
    let mut value = || reader.f32(what);
    Ok(Vec3::new(value()?, value()?, value()?))
}

pub(crate) fn put_quat(out: &mut Vec<u8>, rotation: Quat) {
    for value in rotation.to_array() {
        put_f32(out, value);
    }
}

pub(crate) fn read_quat(reader: &mut Reader<'_>, what: &'static str) -> Result<Quat, Malformed> {
    let mut value = || reader.f32(what);
    Ok(Quat::from_xyzw(value()?, value()?, value()?, value()?))
}
