//! AP-20: a handover reproduces pose, velocities, shape, material and sleep state bit by bit.

use crate::common::{apart, cube, spawn_all, stack, steps, world_at};
use domain::{Body, BodyForm, BodyId, Joint, JointId, JointKind, Motion, Shape};
use glam::{DVec3, Vec3};
use world::{World, WorldError};

fn tumbling() -> Vec<Body> {
    (0..30)
        .map(|i| {
            let shape = match i % 3 {
                0 => Shape::Sphere { radius: 0.3 },
                1 => Shape::Cuboid {
                    size: Vec3::new(0.4, 0.7, 0.5),
                },
                _ => Shape::Convex {
                    points: vec![
                        Vec3::new(0.4, 0.0, 0.0),
                        Vec3::new(-0.3, 0.0, 0.4),
                        Vec3::new(-0.3, 0.0, -0.4),
                        Vec3::new(0.0, 0.6, 0.0),
                    ]
                    .into(),
                },
            };
            let mut form = BodyForm::of(shape);
            form.material.density = 300.0 + i as f32;
            form.material.restitution = 0.01 * i as f32;
            form.linear_damping = 0.001 * i as f32;
            form.continuous = i % 5 == 0;
            let place = DVec3::new(0.3 * i as f64, 1.0 + 0.2 * i as f64, 0.1 * (i % 7) as f64);
            let mut body = Body::new(BodyId(i), form, Motion::at(place));
            body.motion.angular_velocity = Vec3::new(1.0, -0.3 * i as f32, 0.2);
            body
        })
        .collect()
}

fn all(world: &World) -> Vec<BodyId> {
    world.ids().collect()
}

#[test]
fn a_round_trip_is_exact() {
    for origin in [
        DVec3::ZERO,
        DVec3::new(512.0, 0.0, -2048.0),
        DVec3::new(123.456, 7.0, -9.1),
    ] {
        let mut here = world_at(origin);
        spawn_all(&mut here, &tumbling());
        for _ in 0..40 {
            steps(&mut here, 5);
            let cluster = here.copy(&all(&here));
            let mut there = world_at(origin);
            there.insert(&cluster).expect("the cluster is fine");
            assert_eq!(
                there.copy(&all(&there)),
                cluster,
                "nothing is lost or rounded"
            );
            assert_eq!(there.state_hash(), here.state_hash());
        }
    }
}

#[test]
fn another_origin_rounds_once() {
    let mut here = world_at(DVec3::ZERO);
    spawn_all(&mut here, &tumbling());
    steps(&mut here, 60);
    let mut there = world_at(DVec3::new(100.0, 0.0, 100.0));
    there
        .insert(&here.copy(&all(&here)))
        .expect("the cluster is fine");
    // Half a unit in the last place at 128 m.
    assert!(apart(&here, &there) < 2e-5);
    // From there on the coordinates are the new frame's own: no second rounding.
    let moved = there.copy(&all(&there));
    let mut again = world_at(DVec3::new(100.0, 0.0, 100.0));
    again.insert(&moved).expect("the cluster is fine");
    assert_eq!(again.copy(&all(&again)), moved);
}

#[test]
fn sleep_survives_a_handover() {
    let mut here = world_at(DVec3::ZERO);
    spawn_all(&mut here, &stack(10, DVec3::ZERO));
    steps(&mut here, 200);
    assert_eq!(here.awake_count(), 0);
    let before = here.state_hash();
    // Fresh worlds (as for a catch-up), busy worlds, the same world again: the pile sleeps on, and
    // does not move by a single bit in three hundred handovers.
    let mut busy = world_at(DVec3::ZERO);
    for i in 0..5 {
        let mut body = cube(100 + i, DVec3::new(20.0 + 3.0 * i as f64, 5.0, 0.0));
        body.form.material.restitution = 0.9;
        busy.spawn(&body).expect("the body is fine");
    }
    let pile: Vec<BodyId> = (1..=10).map(BodyId).collect();
    for round in 0..100 {
        let mut fresh = world_at(DVec3::ZERO);
        fresh
            .insert(&here.extract(&pile))
            .expect("the cluster is fine");
        assert_eq!(fresh.state_hash(), before, "round {round}, before the step");
        fresh.step();
        assert_eq!(fresh.state_hash(), before, "round {round}, after the step");
        busy.step();
        busy.insert(&fresh.extract(&pile))
            .expect("the cluster is fine");
        busy.step();
        assert!(pile.iter().all(|id| busy.is_asleep(*id)));
        here.step();
        here.insert(&busy.extract(&pile))
            .expect("the cluster is fine");
        steps(&mut here, 1 + round % 3);
        assert_eq!(here.state_hash(), before, "round {round}, back home");
    }
}

#[test]
fn a_sleeper_that_comes_in_beside_a_mover_wakes() {
    let mut here = world_at(DVec3::ZERO);
    spawn_all(&mut here, &stack(3, DVec3::ZERO));
    steps(&mut here, 200);
    assert_eq!(here.awake_count(), 0);
    let mut there = world_at(DVec3::ZERO);
    let mut falling = cube(50, DVec3::new(0.2, 3.49, 0.0));
    falling.motion.linear_velocity = Vec3::new(0.0, -2.0, 0.0);
    there.spawn(&falling).expect("the body is fine");
    there
        .insert(&here.extract(&[BodyId(1), BodyId(2), BodyId(3)]))
        .expect("the cluster is fine");
    steps(&mut there, 3);
    assert_eq!(there.awake_count(), 4, "the blow wakes the whole stack");
}

#[test]
fn who_loses_a_neighbour_wakes() {
    let mut here = world_at(DVec3::ZERO);
    spawn_all(&mut here, &stack(4, DVec3::ZERO));
    here.spawn(&cube(9, DVec3::new(30.0, 0.5, 0.0)))
        .expect("the body is fine");
    steps(&mut here, 200);
    assert_eq!(here.awake_count(), 0);
    // The two lower boxes go; the upper ones must fall, and the ones that went know that something
    // has changed about them, too.
    let cluster = here.extract(&[BodyId(2), BodyId(1)]);
    assert!(cluster.bodies.iter().all(|body| !body.rest.asleep));
    assert!(!here.is_asleep(BodyId(3)) && !here.is_asleep(BodyId(4)));
    assert!(here.is_asleep(BodyId(9)), "a far sleeper is not disturbed");
    steps(&mut here, 120);
    let lowest = here.motion(BodyId(3)).expect("it stayed").position.y;
    assert!(
        (lowest - 0.5).abs() < 0.02,
        "it fell to the ground: {lowest}"
    );
}

#[test]
fn joints_travel_with_their_bodies() {
    let joint = |id, a, b| Joint {
        id: JointId(id),
        kind: JointKind::Revolute,
        a: BodyId(a),
        b: BodyId(b),
        anchor_a: Vec3::new(0.6, 0.0, 0.0),
        anchor_b: Vec3::new(-0.6, 0.0, 0.0),
        axis: Vec3::Z,
    };
    let mut here = world_at(DVec3::ZERO);
    for i in 0..5 {
        here.spawn(&cube(i, DVec3::new(1.2 * i as f64, 3.0, 0.0)))
            .expect("the body is fine");
    }
    here.add_joint(&joint(1, 0, 1)).expect("the joint is fine");
    here.add_joint(&joint(2, 1, 2)).expect("the joint is fine");
    assert_eq!(here.assembly(BodyId(2)), [0, 1, 2].map(BodyId));
    assert_eq!(here.assembly(BodyId(3)), [BodyId(3)]);
    let mut unmoved = world_at(DVec3::ZERO);
    unmoved
        .insert(&here.copy(&all(&here)))
        .expect("the cluster is fine");
    let mut there = world_at(DVec3::new(5.0, 0.0, 0.0));
    for _ in 0..60 {
        steps(&mut here, 2);
        let chain = here.assembly(BodyId(0)).to_vec();
        let cluster = here.extract(&chain);
        assert_eq!(cluster.joints.len(), 2);
        assert_eq!(here.joint_count(), 0);
        there.insert(&cluster).expect("the cluster is fine");
        steps(&mut there, 2);
        here.insert(&there.extract(&chain))
            .expect("the cluster is fine");
    }
    let chained = |world: &World| {
        let ends = [0, 1].map(|id| world.motion(BodyId(id)).expect("it is here"));
        let anchor = |m: &Motion, x: f32| m.position + (m.rotation * (Vec3::X * x)).as_dvec3();
        anchor(&ends[0], 0.6).distance(anchor(&ends[1], -0.6))
    };
    assert!(chained(&here) < 0.02, "the hinge holds: {}", chained(&here));
    assert_eq!(here.assembly(BodyId(1)), [0, 1, 2].map(BodyId));
}

#[test]
fn a_sleeping_assembly_sleeps_on() {
    let mut here = world_at(DVec3::ZERO);
    spawn_all(&mut here, &stack(2, DVec3::ZERO));
    let joint = Joint {
        id: JointId(1),
        kind: JointKind::Fixed,
        a: BodyId(1),
        b: BodyId(2),
        anchor_a: Vec3::Y * 0.5,
        anchor_b: Vec3::Y * -0.5,
        axis: Vec3::X,
    };
    here.add_joint(&joint).expect("the joint is fine");
    steps(&mut here, 200);
    assert_eq!(here.awake_count(), 0);
    let before = here.state_hash();
    for _ in 0..10 {
        let mut there = world_at(DVec3::ZERO);
        there
            .insert(&here.extract(&[BodyId(1), BodyId(2)]))
            .expect("the cluster is fine");
        steps(&mut there, 2);
        assert_eq!(there.state_hash(), before);
        here = there;
    }
}

#[test]
fn a_body_is_never_taken_twice() {
    let mut here = world_at(DVec3::ZERO);
    spawn_all(&mut here, &stack(3, DVec3::ZERO));
    let cluster = here.copy(&[BodyId(2)]);
    let before = here.state_hash();
    assert_eq!(
        here.insert(&cluster),
        Err(WorldError::DuplicateBody(BodyId(2)))
    );
    assert_eq!(here.state_hash(), before);
}

#[test]
fn the_same_operations_give_the_same_bits() {
    let run = || {
        let mut here = world_at(DVec3::ZERO);
        let mut there = world_at(DVec3::new(9.0, 0.0, 3.0));
        spawn_all(&mut here, &tumbling());
        let mut hashes = Vec::new();
        for round in 0..40u64 {
            steps(&mut here, 3);
            steps(&mut there, 3);
            let some: Vec<BodyId> = (0..30)
                .filter(|i| (i + round) % 4 == 0)
                .map(BodyId)
                .collect();
            let mine = here.extract(&some);
            let theirs = there.extract(&some);
            there.insert(&mine).expect("the cluster is fine");
            here.insert(&theirs).expect("the cluster is fine");
            hashes.push((here.state_hash(), there.state_hash()));
        }
        hashes
    };
    assert_eq!(run(), run());
}
