//! Whatever comes from a file or a socket: a clear refusal, never a panic, and the world is as before.

use crate::common::{cube, ground, spawn_all, stack, steps, world_at};
use domain::{
    BodyId, Cluster, CompoundPart, ContactEnd, Joint, JointId, JointKind, Shape, Static, StaticId,
};
use glam::{DVec3, Quat, Vec3};
use world::{World, WorldConfig, WorldError, check_cluster};

/// A good cluster: two boxes on top of each other with a joint and remembered contacts.
fn good() -> Cluster {
    let mut world = world_at(DVec3::ZERO);
    spawn_all(&mut world, &stack(3, DVec3::ZERO));
    let joint = Joint {
        id: JointId(5),
        kind: JointKind::Prismatic,
        a: BodyId(2),
        b: BodyId(3),
        anchor_a: Vec3::Y * 0.5,
        anchor_b: Vec3::Y * -0.5,
        axis: Vec3::Y,
    };
    world.add_joint(&joint).expect("the joint is fine");
    steps(&mut world, 10);
    let cluster = world.extract(&[1, 2, 3].map(BodyId));
    assert!(!cluster.contacts.is_empty() && cluster.joints.len() == 1);
    cluster
}

#[test]
fn a_good_cluster_passes() {
    assert_eq!(check_cluster(&good()), Ok(()));
    assert_eq!(world_at(DVec3::ZERO).insert(&good()), Ok(()));
}

#[test]
fn every_bad_number_is_refused() {
    type Spoil = fn(&mut Cluster);
    let spoils: &[(&str, Spoil)] = &[
        ("position", |c| c.bodies[1].motion.position.x = f64::NAN),
        ("far away", |c| c.bodies[1].motion.position.z = 1e300),
        ("rotation", |c| {
            c.bodies[0].motion.rotation = Quat::from_xyzw(0.0, 0.0, 0.0, 2.0)
        }),
        ("rotation NaN", |c| c.bodies[0].motion.rotation.w = f32::NAN),
        ("velocity", |c| {
            c.bodies[0].motion.linear_velocity.y = f32::INFINITY
        }),
        ("speed", |c| c.bodies[0].motion.linear_velocity.y = 1e30),
        ("spin", |c| c.bodies[0].motion.angular_velocity.y = f32::NAN),
        ("density", |c| c.bodies[0].form.material.density = 0.0),
        ("friction", |c| c.bodies[0].form.material.friction = -1.0),
        ("restitution", |c| {
            c.bodies[0].form.material.restitution = f32::NAN
        }),
        ("damping", |c| c.bodies[0].form.angular_damping = f32::NAN),
        ("gravity", |c| c.bodies[0].form.gravity_scale = f32::NAN),
        ("timer", |c| c.bodies[0].rest.still_secs = f32::NAN),
        ("shape", |c| {
            c.bodies[0].form.shape = Shape::Sphere { radius: -1.0 }
        }),
        ("plane", |c| c.bodies[0].form.shape = Shape::Plane),
        ("order", |c| c.bodies.swap(0, 1)),
        ("twice", |c| c.bodies[1].id = c.bodies[0].id),
        ("joint twice", |c| c.joints.push(c.joints[0])),
        ("joint to a stranger", |c| c.joints[0].b = BodyId(77)),
        ("joint to itself", |c| c.joints[0].b = c.joints[0].a),
        ("joint axis", |c| c.joints[0].axis = Vec3::ZERO),
        ("joint anchor", |c| c.joints[0].anchor_a.x = f32::NAN),
        ("memory of a stranger", |c| {
            c.contacts[0].b = ContactEnd::Body(BodyId(77))
        }),
        ("memory of itself", |c| c.contacts[0].b = c.contacts[0].a),
        ("impulse", |c| {
            c.contacts[0].points[0].normal_impulse = f32::NAN
        }),
        ("friction impulse", |c| {
            c.contacts[0].points[0].friction_impulse.x = f32::INFINITY
        }),
        ("place", |c| c.contacts[0].points[0].place.x = f32::NAN),
        ("points", |c| {
            let point = c.contacts[0].points[0];
            c.contacts[0].points = vec![point; 300];
        }),
    ];
    for (what, spoil) in spoils {
        let mut cluster = good();
        spoil(&mut cluster);
        assert!(check_cluster(&cluster).is_err(), "{what}");
        let mut world = world_at(DVec3::ZERO);
        let before = world.state_hash();
        assert!(world.insert(&cluster).is_err(), "{what}");
        assert_eq!((world.state_hash(), world.len()), (before, 0), "{what}");
    }
}

#[test]
fn lies_about_contacts_do_no_harm() {
    // Memories of contacts that do not exist, of unknown scenery, of other features.
    let mut cluster = good();
    for (i, memory) in cluster.contacts.iter_mut().enumerate() {
        for point in &mut memory.points {
            point.feature_a = i as u32;
            point.place = Vec3::splat(1e6);
            point.normal_impulse = 1e6;
        }
    }
    cluster.contacts[0].a = ContactEnd::Static(StaticId(99));
    let mut world = world_at(DVec3::ZERO);
    world.insert(&cluster).expect("only the memories are wrong");
    steps(&mut world, 60);
    for (id, motion) in world.motions() {
        assert!(motion.position.length() < 4.0, "{id} at {motion:?}");
    }
}

#[test]
fn impossible_hulls_are_errors() {
    let flat: Vec<Vec3> = (0..30)
        .map(|i| Vec3::new(i as f32, 0.0, (i * i) as f32))
        .collect();
    let needle = vec![
        Vec3::ZERO,
        Vec3::X * 1e5,
        Vec3::new(5e4, 1e-30, 0.0),
        Vec3::new(5e4, 0.0, 1e-30),
    ];
    let point = vec![Vec3::splat(3.0); 20];
    for points in [flat, needle, point] {
        let mut body = cube(1, DVec3::ZERO);
        body.form.shape = Shape::Convex {
            points: points.into(),
        };
        assert!(world_at(DVec3::ZERO).spawn(&body).is_err());
    }
    let mesh = Shape::Mesh {
        vertices: vec![Vec3::ZERO, Vec3::X, Vec3::Z].into(),
        triangles: vec![[0, 1, 2]].into(),
    };
    let part = CompoundPart {
        position: Vec3::ZERO,
        rotation: Quat::IDENTITY,
        shape: mesh,
    };
    let mut body = cube(1, DVec3::ZERO);
    body.form.shape = Shape::Compound {
        parts: vec![part].into(),
    };
    assert!(
        world_at(DVec3::ZERO).spawn(&body).is_err(),
        "the engine does not nest meshes"
    );
}

#[test]
fn bad_scenery_and_commands_are_refused() {
    let twice = World::new(WorldConfig::default(), &[ground(), ground()]);
    assert_eq!(twice.err(), Some(WorldError::DuplicateStatic(StaticId(0))));
    let tilted = Static {
        rotation: Quat::from_xyzw(1.0, 1.0, 1.0, 1.0),
        ..ground()
    };
    assert!(World::new(WorldConfig::default(), &[tilted]).is_err());
    let nowhere = WorldConfig {
        origin: DVec3::splat(f64::NAN),
        ..WorldConfig::default()
    };
    assert!(World::new(nowhere, &[]).is_err());
    let mut world = world_at(DVec3::ZERO);
    world.spawn(&cube(1, DVec3::Y)).expect("the body is fine");
    assert_eq!(
        world.spawn(&cube(1, DVec3::Y)),
        Err(WorldError::DuplicateBody(BodyId(1)))
    );
    assert!(!world.apply_impulse(BodyId(1), Vec3::splat(f32::NAN), None));
    assert!(!world.apply_impulse(BodyId(2), Vec3::X, None));
    assert!(world.remove(BodyId(2)).is_none());
    assert!(world.extract(&[BodyId(2)]).bodies.is_empty());
}

#[test]
fn an_impulse_moves_a_body_at_once_and_turns_it_off_centre() {
    let mut world = world_at(DVec3::new(10.0, 0.0, 10.0));
    world
        .spawn(&cube(1, DVec3::Y * 20.0))
        .expect("the body is fine");
    // 1000 kg; a push at the centre of mass, even before the first step.
    assert!(world.apply_impulse(BodyId(1), Vec3::X * 2000.0, None));
    let motion = world.motion(BodyId(1)).expect("it is here");
    assert!((motion.linear_velocity.x - 2.0).abs() < 1e-4);
    assert_eq!(motion.angular_velocity, Vec3::ZERO);
    world.step();
    let above = motion.position + DVec3::Y * 0.5;
    assert!(world.apply_impulse(BodyId(1), Vec3::X * 100.0, Some(above)));
    let spin = world
        .motion(BodyId(1))
        .expect("it is here")
        .angular_velocity;
    // Torque 50 N·m·s over an inertia of 1000/6 kg·m².
    assert!((spin.z + 0.3).abs() < 0.01, "{spin}");
}
