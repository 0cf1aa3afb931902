//! How much geometry a shape has, and how many bytes it is at most on its way.

use domain::Shape;

/// A point is 12 bytes, a triangle at most 15, a part of a compound at most 48 without what is in it.
const ELEMENT_BYTES: usize = 48;
/// What a body or piece has besides: where it is, how it moves, what it is made of.
const OTHER_BYTES: usize = 512;

/// Points and triangles; parts count, and what has neither is one.
pub fn elements(shape: &Shape) -> usize {
    match shape {
        Shape::Convex { points } => points.len(),
        Shape::Mesh {
            vertices,
            triangles,
        } => vertices.len() + triangles.len(),
        Shape::Compound { parts } => parts.iter().map(|part| 1 + elements(&part.shape)).sum(),
        _ => 1,
    }
}

/// What a body or piece of scenery with this shape takes at most, to a client or to a gateway.
pub fn most_bytes(shape: &Shape) -> usize {
    OTHER_BYTES + ELEMENT_BYTES * elements(shape)
}

/// Cuts a list where its parts would have more bytes than this; one that has more by itself stays alone. At least one part, also if there is nothing.
pub fn cut<T>(list: Vec<T>, most: usize, shape: impl Fn(&T) -> &Shape) -> Vec<Vec<T>> {
    let mut parts = vec![Vec::new()];
    let mut bytes = 0;
    for item in list {
        let more = most_bytes(shape(&item));
        if bytes + more > most && bytes > 0 {
            parts.push(Vec::new());
            bytes = 0;
        }
        bytes += more;
        parts.last_mut().expect("there is always one").push(item);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{self, Entered};
    use client_protocol::{FormEntry, Piece, ToClient};
    use domain::{Body, BodyForm, BodyId, CompoundPart, Epoch, Material, Motion, StaticId};
    use glam::{DVec3, Quat, Vec3};

    fn mesh(count: u32) -> Shape {
        let vertices: Vec<Vec3> = (0..count).map(|n| Vec3::splat(n as f32)).collect();
        let triangles: Vec<[u32; 3]> = (0..count).map(|n| [u32::MAX - n; 3]).collect();
        Shape::Mesh {
            vertices: vertices.into(),
            triangles: triangles.into(),
        }
    }

    fn shapes() -> Vec<Shape> {
        let part = |shape| CompoundPart {
            position: Vec3::ONE,
            rotation: Quat::IDENTITY,
            shape,
        };
        let ball = Shape::Sphere { radius: 1.0 };
        let points: Vec<Vec3> = vec![Vec3::ONE; 700];
        vec![
            ball.clone(),
            mesh(1),
            mesh(2048),
            Shape::Convex {
                points: points.into(),
            },
            Shape::Compound {
                parts: vec![part(ball); 500].into(),
            },
        ]
    }

    /// The arithmetic that all bounds rest on.
    #[test]
    fn nothing_takes_more_bytes_than_is_counted() {
        for shape in shapes() {
            let most = most_bytes(&shape);
            let form = FormEntry {
                number: u32::MAX,
                shape: shape.clone(),
            };
            assert!(ToClient::Forms(vec![form]).encode().len() <= most);
            let piece = Piece {
                id: StaticId(u32::MAX),
                position: DVec3::ONE,
                rotation: Quat::IDENTITY,
                material: Material::default(),
                shape: shape.clone(),
            };
            assert!(ToClient::Statics(vec![piece]).encode().len() <= most);
            let motion = Motion::at(DVec3::splat(1e9));
            let entered = Entered {
                body: Body::new(BodyId(u64::MAX), BodyForm::of(shape), motion),
                epoch: Epoch(u32::MAX),
            };
            assert!(messages::encode(&entered).len() <= most);
        }
    }

    #[test]
    fn lists_are_cut_where_they_would_be_too_long_and_keep_their_order() {
        let list = shapes();
        let parts = cut(list.clone(), 100_000, |shape| shape);
        assert!(parts.len() > 1);
        for part in &parts {
            let bytes: usize = part.iter().map(most_bytes).sum();
            assert!(bytes <= 100_000 || part.len() == 1, "{bytes}");
            assert!(!part.is_empty());
        }
        assert_eq!(parts.concat(), list);
        assert_eq!(cut(Vec::<Shape>::new(), 1, |shape| shape).len(), 1);
    }
}
