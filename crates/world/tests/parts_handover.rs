//! AP-20: pairs that touch through several parts of a mesh or compound keep their memory, too.

use crate::common::{apart, cube, spawn_all, steps};
use domain::{Body, BodyForm, BodyId, CompoundPart, Motion, Shape, Static, StaticId};
use glam::{DVec3, Quat, Vec3};
use world::{World, WorldConfig};

/// A ground of two triangles per square metre, so that every box lies across several.
fn mesh_ground() -> Static {
    let side = 6i32;
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for x in 0..=side {
        for z in 0..=side {
            vertices.push(Vec3::new((x - side / 2) as f32, 0.0, (z - side / 2) as f32));
        }
    }
    let corner = |x: i32, z: i32| (x * (side + 1) + z) as u32;
    for x in 0..side {
        for z in 0..side {
            triangles.push([corner(x, z), corner(x, z + 1), corner(x + 1, z)]);
            triangles.push([corner(x + 1, z), corner(x, z + 1), corner(x + 1, z + 1)]);
        }
    }
    Static {
        id: StaticId(0),
        shape: Shape::Mesh {
            vertices: vertices.into(),
            triangles: triangles.into(),
        },
        position: DVec3::ZERO,
        rotation: Quat::IDENTITY,
        material: Default::default(),
    }
}

/// A table: a board on two planks.
fn table(id: u64, position: DVec3) -> Body {
    let part = |size: [f32; 3], at: [f32; 3]| CompoundPart {
        position: at.into(),
        rotation: Quat::IDENTITY,
        shape: Shape::Cuboid { size: size.into() },
    };
    let parts = [
        part([1.2, 0.2, 1.2], [0.0, 0.4, 0.0]),
        part([0.2, 0.8, 1.2], [-0.5, -0.1, 0.0]),
        part([0.2, 0.8, 1.2], [0.5, -0.1, 0.0]),
    ];
    let shape = Shape::Compound {
        parts: parts.to_vec().into(),
    };
    Body::new(BodyId(id), BodyForm::of(shape), Motion::at(position))
}

fn world(origin: DVec3) -> World {
    let config = WorldConfig {
        origin,
        ..WorldConfig::default()
    };
    World::new(config, &[mesh_ground()]).expect("the mesh is fine")
}

fn handed(bodies: &[Body], every: usize, sleeping: bool) -> World {
    let ids: Vec<BodyId> = bodies.iter().map(|body| body.id).collect();
    let mut here = world(DVec3::ZERO);
    let mut there = world(DVec3::new(40.0, 0.0, -8.5));
    here.set_sleeping(sleeping);
    there.set_sleeping(sleeping);
    spawn_all(&mut here, bodies);
    for tick in 1..=300 {
        here.step();
        there.step();
        if tick % every == 0 {
            let cluster = here.extract(&ids);
            there.insert(&cluster).expect("the cluster is fine");
            std::mem::swap(&mut here, &mut there);
        }
    }
    here
}

fn check(bodies: &[Body]) {
    for sleeping in [true, false] {
        let mut reference = world(DVec3::ZERO);
        reference.set_sleeping(sleeping);
        spawn_all(&mut reference, bodies);
        steps(&mut reference, 300);
        for every in [1, 3, 10] {
            let error = apart(&handed(bodies, every, sleeping), &reference);
            println!("sleeping {sleeping}, every {every}: {:.2} mm", error * 1e3);
            assert!(
                error < 0.05,
                "every {every}, sleeping {sleeping}: {error} m"
            );
        }
    }
}

#[test]
fn a_stack_on_a_mesh_stands() {
    let stack: Vec<Body> = (0..6)
        .map(|i| cube(i + 1, DVec3::new(0.1, 0.5 + i as f64, 0.07)))
        .collect();
    check(&stack);
}

#[test]
fn a_stack_of_tables_stands() {
    let stack: Vec<Body> = (0..4)
        .map(|i| table(i + 1, DVec3::new(0.1, 0.5 + i as f64, 0.07)))
        .collect();
    check(&stack);
}
