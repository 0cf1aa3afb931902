//! Every shape rests where its geometry says, every joint allows what its kind says, fast bodies with
//! continuous detection do not pass through thin ones.

use crate::common::{cube, ground, steps, world_at};
use domain::{
    Body, BodyForm, BodyId, CompoundPart, Joint, JointId, JointKind, Motion, Shape, Static,
};
use glam::{DVec3, Quat, Vec3};
use std::sync::Arc;
use world::{World, WorldConfig};

/// A tetrahedron's or cube's corners are all a hull needs.
fn cube_corners(half: f32) -> Arc<[Vec3]> {
    let signs = [-half, half];
    let mut corners = Vec::new();
    for x in signs {
        for y in signs {
            corners.extend(signs.map(|z| Vec3::new(x, y, z)));
        }
    }
    corners.into()
}

fn shapes() -> Vec<(&'static str, Shape, f64)> {
    let side = |y: f32| CompoundPart {
        position: Vec3::new(0.0, y, 0.0),
        rotation: Quat::IDENTITY,
        shape: Shape::Cuboid {
            size: Vec3::new(0.6, 0.4, 0.6),
        },
    };
    vec![
        ("sphere", Shape::Sphere { radius: 0.5 }, 0.5),
        (
            "cuboid",
            Shape::Cuboid {
                size: Vec3::new(1.0, 0.6, 2.0),
            },
            0.3,
        ),
        (
            "capsule",
            Shape::Capsule {
                radius: 0.4,
                height: 2.0,
            },
            1.0,
        ),
        (
            "all caps",
            Shape::Capsule {
                radius: 0.4,
                height: 0.8,
            },
            0.4,
        ),
        (
            "hull",
            Shape::Convex {
                points: cube_corners(0.35),
            },
            0.35,
        ),
        (
            "compound",
            Shape::Compound {
                parts: vec![side(-0.2), side(0.2)].into(),
            },
            0.4,
        ),
    ]
}

#[test]
fn shapes_rest_at_their_height() {
    for (name, shape, height) in shapes() {
        let mut world = world_at(DVec3::new(2.0, 0.0, 2.0));
        let place = DVec3::new(0.0, height + 0.02, 0.0);
        let body = Body::new(BodyId(1), BodyForm::of(shape), Motion::at(place));
        world.spawn(&body).expect(name);
        let bounds = world.body(BodyId(1)).expect(name).bounds;
        assert!((bounds.min.y - 0.02).abs() < 1e-5, "{name}: {bounds:?}");
        steps(&mut world, 60);
        let rest = world.motion(BodyId(1)).expect(name).position.y;
        assert!((rest - height).abs() < 0.01, "{name} rests at {rest}");
    }
}

#[test]
fn a_tilted_plane_is_tilted() {
    let slope = Static {
        rotation: Quat::from_rotation_z(0.5),
        ..ground()
    };
    let mut world = World::new(WorldConfig::default(), &[slope]).expect("a slope is fine");
    let ball = BodyForm::of(Shape::Sphere { radius: 0.5 });
    world
        .spawn(&Body::new(BodyId(1), ball, Motion::at(DVec3::Y)))
        .expect("the ball is fine");
    steps(&mut world, 60);
    let motion = world.motion(BodyId(1)).expect("it is here");
    assert!(motion.position.x < -0.5, "it rolls down: {motion:?}");
}

/// Against static scenery the engine always sweeps fast bodies; against bodies only on demand.
#[test]
fn a_fast_ball_needs_continuous_detection() {
    for continuous in [false, true] {
        let mut world = world_at(DVec3::ZERO);
        let mut plate = cube(1, DVec3::new(0.0, 50.0, 0.0));
        plate.form = BodyForm::of(Shape::Cuboid {
            size: Vec3::new(0.05, 10.0, 10.0),
        });
        let mut ball = cube(2, DVec3::new(-2.6, 50.0, 0.0));
        ball.form = BodyForm::of(Shape::Sphere { radius: 0.1 });
        ball.form.continuous = continuous;
        ball.motion.linear_velocity = Vec3::X * 90.0;
        for body in [&mut plate, &mut ball] {
            body.form.gravity_scale = 0.0;
            world.spawn(body).expect("the body is fine");
        }
        steps(&mut world, 10);
        let x = |id| world.motion(BodyId(id)).expect("it is here").position.x;
        assert_eq!(
            x(2) < x(1),
            continuous,
            "ball at {}, plate at {}",
            x(2),
            x(1)
        );
    }
}

/// Two boxes side by side in free fall without gravity, tied, the second one pushed.
fn tied(kind: JointKind, axis: Vec3, push: Vec3, spin: Vec3) -> (Motion, Motion) {
    let mut world = world_at(DVec3::ZERO);
    for id in [1, 2] {
        let mut body = cube(id, DVec3::new(1.2 * id as f64, 50.0, 0.0));
        body.form.gravity_scale = 0.0;
        if id == 2 {
            body.motion.linear_velocity = push;
            body.motion.angular_velocity = spin;
        }
        world.spawn(&body).expect("the body is fine");
    }
    let joint = Joint {
        id: JointId(1),
        kind,
        a: BodyId(1),
        b: BodyId(2),
        anchor_a: Vec3::X * 0.6,
        anchor_b: Vec3::X * -0.6,
        axis,
    };
    world.add_joint(&joint).expect("the joint is fine");
    steps(&mut world, 60);
    let motion = |id| world.motion(BodyId(id)).expect("it is here");
    (motion(1), motion(2))
}

fn gap(one: &Motion, two: &Motion) -> f64 {
    let anchor = |m: &Motion, x: f32| m.position + (m.rotation * (Vec3::X * x)).as_dvec3();
    anchor(one, 0.6).distance(anchor(two, -0.6))
}

fn angle(one: &Motion, two: &Motion) -> f32 {
    one.rotation.angle_between(two.rotation)
}

#[test]
fn joints_allow_what_their_kind_says() {
    let (one, two) = tied(JointKind::Fixed, Vec3::X, Vec3::Y, Vec3::Z);
    assert!(gap(&one, &two) < 0.02 && angle(&one, &two) < 0.02);
    let (one, two) = tied(JointKind::Revolute, Vec3::Z, Vec3::ZERO, Vec3::Z);
    assert!(gap(&one, &two) < 0.02 && angle(&one, &two) > 0.3);
    let (one, two) = tied(JointKind::Revolute, Vec3::Z, Vec3::ZERO, Vec3::X);
    assert!(
        gap(&one, &two) < 0.02 && angle(&one, &two) < 0.05,
        "only about its axis"
    );
    let (one, two) = tied(JointKind::Spherical, Vec3::X, Vec3::ZERO, Vec3::X);
    assert!(gap(&one, &two) < 0.02 && angle(&one, &two) > 0.3);
    let (one, two) = tied(JointKind::Prismatic, Vec3::X, Vec3::X, Vec3::ZERO);
    assert!(
        gap(&one, &two) > 0.5 && angle(&one, &two) < 0.02,
        "it slides"
    );
    let (one, two) = tied(JointKind::Prismatic, Vec3::X, Vec3::Y, Vec3::ZERO);
    let between = one.rotation.inverse() * (two.position - one.position).as_vec3();
    assert!(between.y.hypot(between.z) < 0.02, "only along its axis");
}

#[test]
fn bounce_and_damping_are_as_told() {
    let mut world = world_at(DVec3::ZERO);
    let mut ball = cube(1, DVec3::new(0.0, 3.0, 0.0));
    ball.form = BodyForm::of(Shape::Sphere { radius: 0.5 });
    ball.form.material.restitution = 1.0;
    let mut dead = cube(2, DVec3::new(9.0, 3.0, 0.0));
    dead.form = BodyForm::of(Shape::Sphere { radius: 0.5 });
    let mut slow = cube(3, DVec3::new(20.0, 40.0, 0.0));
    slow.form.gravity_scale = 0.0;
    slow.form.linear_damping = 1.0;
    slow.motion.linear_velocity = Vec3::Z * 10.0;
    for body in [&ball, &dead, &slow] {
        world.spawn(body).expect("the body is fine");
    }
    steps(&mut world, 60);
    let y = |id| world.motion(BodyId(id)).expect("it is here").position.y;
    // Restitutions are averaged with the ground's zero: half the speed comes back.
    assert!(y(1) > 0.8 && y(2) < 0.55, "{} {}", y(1), y(2));
    let speed = world
        .motion(BodyId(3))
        .expect("it is here")
        .linear_velocity
        .z;
    assert!((speed - 10.0 / std::f32::consts::E).abs() < 0.2, "{speed}");
}
