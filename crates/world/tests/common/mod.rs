//! Small worlds that several tests share.

use domain::{Body, BodyForm, BodyId, Motion, Shape, Static, StaticId};
use glam::{DVec3, Quat, Vec3};
use world::{World, WorldConfig};

/// The plane y = 0.
pub fn ground() -> Static {
    Static {
        id: StaticId(0),
        shape: Shape::Plane,
        position: DVec3::ZERO,
        rotation: Quat::IDENTITY,
        material: Default::default(),
    }
}

/// A world with the ground, around this origin.
pub fn world_at(origin: DVec3) -> World {
    let config = WorldConfig {
        origin,
        ..WorldConfig::default()
    };
    World::new(config, &[ground()]).expect("a plane is fine")
}

/// A one-metre box.
pub fn cube(id: u64, position: DVec3) -> Body {
    let shape = Shape::Cuboid { size: Vec3::ONE };
    Body::new(BodyId(id), BodyForm::of(shape), Motion::at(position))
}

/// Boxes exactly on top of each other.
pub fn stack(count: u64, foot: DVec3) -> Vec<Body> {
    (0..count)
        .map(|i| cube(i + 1, foot + DVec3::Y * (0.5 + i as f64)))
        .collect()
}

pub fn spawn_all(world: &mut World, bodies: &[Body]) {
    for body in bodies {
        world.spawn(body).expect("the body is fine");
    }
}

pub fn steps(world: &mut World, count: usize) {
    for _ in 0..count {
        world.step();
    }
}

/// The largest distance between equal bodies of two worlds.
pub fn apart(one: &World, two: &World) -> f64 {
    assert!(one.ids().eq(two.ids()), "the worlds hold different bodies");
    one.motions()
        .zip(two.motions())
        .map(|((_, p), (_, q))| p.position.distance(q.position))
        .fold(0.0, f64::max)
}
