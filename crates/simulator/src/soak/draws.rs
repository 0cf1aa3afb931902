//! Random shapes, materials and directions.

use domain::{BodyForm, CompoundPart, Material, Shape};
use glam::{Quat, Vec3};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// One of the shapes a body can have, up to a metre and a half long.
pub(super) fn shape(rng: &mut Pcg64Mcg) -> Shape {
    let size: f32 = rng.random_range(0.15..0.5);
    match rng.random_range(0..5) {
        0 => Shape::Sphere { radius: size },
        1 => Shape::Cuboid {
            size: Vec3::splat(size) + within(rng, Vec3::splat(0.1)).abs(),
        },
        2 => Shape::Capsule {
            radius: size * 0.5,
            height: size * 3.0,
        },
        3 => hull(rng, size),
        _ => dumb_bell(size),
    }
}

/// A cube whose corners have been pushed in by different amounts.
fn hull(rng: &mut Pcg64Mcg, size: f32) -> Shape {
    let corner = |i: u32| {
        let sign = |bit: u32| if i & bit == 0 { -1.0 } else { 1.0 };
        Vec3::new(sign(1), sign(2), sign(4)) * size * rng.random_range(0.5..0.8)
    };
    let points: Vec<Vec3> = (0..8).map(corner).collect();
    Shape::Convex {
        points: points.into(),
    }
}

/// Two balls with a little air between them, one body.
fn dumb_bell(size: f32) -> Shape {
    let part = |x: f32| CompoundPart {
        position: Vec3::X * x,
        rotation: Quat::IDENTITY,
        shape: Shape::Sphere { radius: size * 0.5 },
    };
    let parts = vec![part(-size * 0.6), part(size * 0.6)];
    Shape::Compound {
        parts: parts.into(),
    }
}

/// A body of this shape, of a random material.
pub(super) fn form(rng: &mut Pcg64Mcg, shape: Shape) -> BodyForm {
    let material = Material {
        density: rng.random_range(400.0..1500.0),
        friction: rng.random_range(0.2..0.9),
        restitution: rng.random_range(0.0..0.3),
    };
    BodyForm {
        material,
        ..BodyForm::of(shape)
    }
}

/// A vector of which no part is larger than that of `most`.
pub(super) fn within(rng: &mut Pcg64Mcg, most: Vec3) -> Vec3 {
    let mut part = || rng.random_range(-1.0f32..=1.0);
    Vec3::new(part(), part(), part()) * most
}

/// Any orientation.
pub(super) fn rotation(rng: &mut Pcg64Mcg) -> Quat {
    let mut part = || rng.random_range(-1.0f32..=1.0);
    let drawn = Quat::from_xyzw(part(), part(), part(), part());
    // Too short to be normalised well.
    if drawn.length_squared() > 0.01 {
        drawn.normalize()
    } else {
        Quat::IDENTITY
    }
}
