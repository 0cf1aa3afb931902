//! Shapes.
//!
//! ```text
//! 0 sphere    radius f32                         4 mesh      n u32, n × point; m u32, m × three indices u32
//! 1 cuboid    size 3 × f32                       5 compound  n u32, n × (position 3 × f32, rotation 4 × f32, shape)
//! 2 capsule   radius f32, height f32             6 plane
//! 3 convex    n u32, n × point 3 × f32
//! ```

use crate::bytes::{Read, Reader, Why, Writer};
use domain::{CompoundPart, Shape};
use glam::Vec3;

/// No shape has more points or triangles.
const MOST_ELEMENTS: usize = 100_000;
/// No compound has more parts.
const MOST_PARTS: usize = 256;

pub(crate) fn write(writer: &mut Writer, shape: &Shape) {
    match shape {
        Shape::Sphere { radius } => {
            writer.u8(0);
            writer.f32(*radius);
        }
        Shape::Cuboid { size } => {
            writer.u8(1);
            writer.vec3(*size);
        }
        Shape::Capsule { radius, height } => {
            writer.u8(2);
            writer.f32(*radius);
            writer.f32(*height);
        }
        Shape::Convex { points } => {
            writer.u8(3);
            write_points(writer, points);
        }
        Shape::Mesh {
            vertices,
            triangles,
        } => {
            writer.u8(4);
            write_points(writer, vertices);
            writer.count(triangles.len());
            triangles
                .iter()
                .flatten()
                .for_each(|index| writer.u32(*index));
        }
        Shape::Compound { parts } => {
            writer.u8(5);
            writer.count(parts.len());
            for part in parts.iter() {
                writer.vec3(part.position);
                writer.rotation(part.rotation);
                write(writer, &part.shape);
            }
        }
        Shape::Plane => writer.u8(6),
    }
}

fn write_points(writer: &mut Writer, points: &[Vec3]) {
    writer.count(points.len());
    points.iter().for_each(|point| writer.vec3(*point));
}

pub(crate) fn read(reader: &mut Reader) -> Read<Shape> {
    read_one(reader, true)
}

/// Compounds do not nest: however the bytes are, this does not go deeper than two.
fn read_one(reader: &mut Reader, outermost: bool) -> Read<Shape> {
    Ok(match reader.u8("shape")? {
        0 => Shape::Sphere {
            radius: reader.f32("radius")?,
        },
        1 => Shape::Cuboid {
            size: reader.vec3("size")?,
        },
        2 => Shape::Capsule {
            radius: reader.f32("radius")?,
            height: reader.f32("height")?,
        },
        3 => Shape::Convex {
            points: read_points(reader)?.into(),
        },
        4 => {
            let vertices = read_points(reader)?;
            let count = reader.count(12, MOST_ELEMENTS, "triangles")?;
            let mut triangles = Vec::with_capacity(count);
            for _ in 0..count {
                triangles.push([
                    reader.u32("triangle")?,
                    reader.u32("triangle")?,
                    reader.u32("triangle")?,
                ]);
            }
            Shape::Mesh {
                vertices: vertices.into(),
                triangles: triangles.into(),
            }
        }
        5 if outermost => {
            let count = reader.count(28, MOST_PARTS, "parts")?;
            let mut parts = Vec::with_capacity(count);
            for _ in 0..count {
                parts.push(CompoundPart {
                    position: reader.vec3("a part's position")?,
                    rotation: reader.rotation("a part's rotation")?,
                    shape: read_one(reader, false)?,
                });
            }
            Shape::Compound {
                parts: parts.into(),
            }
        }
        6 => Shape::Plane,
        other => return Err(reader.error("shape", Why::UnknownKind(other))),
    })
}

fn read_points(reader: &mut Reader) -> Read<Vec<Vec3>> {
    let count = reader.count(12, MOST_ELEMENTS, "points")?;
    (0..count).map(|_| reader.vec3("point")).collect()
}
