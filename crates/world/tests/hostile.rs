//! Whatever comes from a file or a socket: a clear refusal, never a panic, and the world is as before.

use crate::common::{apart, cube, ground, spawn_all, stack, steps, world_at};
use domain::{
    Body, BodyId, Cluster, CompoundPart, ContactEnd, Joint, JointId, JointKind, Shape, Static,
    StaticId,
};
use glam::{DVec3, Quat, Vec3};
use world::{World, WorldConfig, WorldError, check_body, check_cluster, mend_cluster};

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

/// A thin spindle with two blunt ends, as a hull is found by rolling dice a million times: its numbers are sound, and the engine's builder makes nothing of it.
const NO_HULL: [[f32; 3]; 11] = [
    [3e-5, 10.00003, 3e-5],
    [-3e-5, -9.99997, -1e-5],
    [2e-5, -7.33337, -0.66666],
    [3e-5, 9.99996, -4e-5],
    [0.6667, -4.33332, -0.33332],
    [4e-5, -10.00004, -3e-5],
    [3e-5, 10.00001, 4e-5],
    [-1e-5, -9.99996, 4e-5],
    [0.0, 10.00002, -5e-5],
    [0.33332, 9.33333, -0.33334],
    [4e-5, -9.99999, 0.0],
];

/// Only the engine knows: that is why a body is built before it is promised.
#[test]
fn a_hull_with_sound_numbers_may_be_none() {
    let mut body = cube(1, DVec3::ZERO);
    body.form.shape = Shape::Convex {
        points: NO_HULL.map(Vec3::from_array).to_vec().into(),
    };
    assert_eq!(body.form.shape.check_for_body(), Ok(()));
    let cluster = Cluster {
        bodies: vec![body.clone()],
        ..Cluster::default()
    };
    assert_eq!(check_cluster(&cluster), Ok(()), "by its numbers");
    assert!(check_body(&body).is_err());
    assert!(world_at(DVec3::ZERO).spawn(&body).is_err());
    assert!(world_at(DVec3::ZERO).insert(&cluster).is_err());
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
    let stranger = world.apply_impulse(BodyId(2), Vec3::X, None);
    assert_eq!(stranger, Err(WorldError::UnknownBody(BodyId(2))));
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
    let push = Vec3::X * 2000.0;
    assert_eq!(world.apply_impulse(BodyId(1), push, None), Ok(()));
    let motion = world.motion(BodyId(1)).expect("it is here");
    assert!((motion.linear_velocity.x - 2.0).abs() < 1e-4);
    assert_eq!(motion.angular_velocity, Vec3::ZERO);
    world.step();
    let above = motion.position + DVec3::Y * 0.5;
    let push = Vec3::X * 100.0;
    assert_eq!(world.apply_impulse(BodyId(1), push, Some(above)), Ok(()));
    let spin = world
        .motion(BodyId(1))
        .expect("it is here")
        .angular_velocity;
    // Torque 50 N·m·s over an inertia of 1000/6 kg·m².
    assert!((spin.z + 0.3).abs() < 0.01, "{spin}");
}

/// The heaviest push that a gateway lets through.
const HARD: f32 = 1e7;

/// Found by an audit: a lever of 1e300 m is infinite in the engine's numbers, and the spin it gave was none.
#[test]
fn a_push_after_which_the_numbers_would_make_no_sense_is_refused() {
    let mut world = world_at(DVec3::ZERO);
    let mut feather = cube(1, DVec3::Y * 5.0);
    feather.form.material.density = domain::LOWEST_DENSITY as f32;
    feather.form.shape = Shape::Sphere { radius: 0.01 };
    spawn_all(&mut world, &[feather, cube(2, DVec3::Y * 9.0)]);
    for stepped in [false, true] {
        if stepped {
            world.step();
        }
        let before = world.state_hash();
        let far = |x: f64| Some(DVec3::new(x, 0.0, 0.0));
        for (body, push, at) in [
            (1, Vec3::X * HARD, None),
            (1, Vec3::Y * f32::MAX, far(1.0)),
            (1, Vec3::Y * HARD, far(1e8)),
            (2, Vec3::Y, far(1e300)),
            (2, Vec3::Y, far(f64::NAN)),
            (2, Vec3::Y, far(2e9)),
            (2, Vec3::splat(f32::NAN), None),
            (2, Vec3::Y * f32::INFINITY, None),
        ] {
            let id = BodyId(body);
            let refused = world.apply_impulse(id, push, at);
            let refused = matches!(refused, Err(WorldError::BadPush { .. }));
            assert!(refused, "{body} {push} {at:?}");
        }
        for velocity in [Vec3::X * 1e6, Vec3::X * f32::MAX, Vec3::NAN] {
            let refused = world.set_velocity(BodyId(2), velocity);
            assert!(matches!(refused, Err(WorldError::BadPush { .. })));
        }
        assert_eq!(world.state_hash(), before, "nothing has happened");
    }
    steps(&mut world, 60);
    assert_eq!(world.survey(false), []);
}

/// A body that is pushed in vain is not even woken.
#[test]
fn a_refused_push_wakes_nobody() {
    let mut world = world_at(DVec3::ZERO);
    spawn_all(&mut world, &stack(1, DVec3::ZERO));
    steps(&mut world, 200);
    assert!(world.is_asleep(BodyId(1)));
    let push = Vec3::Y * f32::MAX;
    assert!(world.apply_impulse(BodyId(1), push, None).is_err());
    assert!(world.is_asleep(BodyId(1)));
    assert_eq!(world.apply_impulse(BodyId(1), Vec3::Y, None), Ok(()));
    assert!(!world.is_asleep(BodyId(1)));
}

/// Lighter or smaller, and an ordinary push or a touch overflows.
#[test]
fn grains_and_vapours_are_refused() {
    let mut vapour = cube(1, DVec3::Y);
    vapour.form.material.density = 1e-32;
    let mut grain = cube(1, DVec3::Y);
    grain.form.shape = Shape::Sphere { radius: 1e-12 };
    let mut part = cube(1, DVec3::Y);
    let turned = CompoundPart {
        position: Vec3::ZERO,
        rotation: Quat::from_xyzw(0.0, 0.0, 0.0, 0.0),
        shape: Shape::Sphere { radius: 0.5 },
    };
    part.form.shape = Shape::Compound {
        parts: vec![turned].into(),
    };
    for body in [vapour, grain, part] {
        assert!(check_body(&body).is_err(), "{body:?}");
        assert!(world_at(DVec3::ZERO).spawn(&body).is_err());
    }
}

/// Where gravity is this strong, [`doomed`] bodies are.
const PULL: Vec3 = Vec3::new(0.0, -1000.0, 0.0);

/// The engine overflows by itself: an absurd weight. (Scenes and clients cannot ask for it, a broken peer could.)
fn doomed(id: u64, position: DVec3) -> Body {
    let mut body = cube(id, position);
    body.form.gravity_scale = f32::MAX;
    body
}

/// What a step breaks is found in that very step, and without it the others go on as if it had never been.
#[test]
fn what_a_step_breaks_is_found_and_can_be_taken_out() {
    let alone = || {
        let config = WorldConfig {
            gravity: PULL,
            ..WorldConfig::default()
        };
        let mut world = World::new(config, &[ground()]).expect("a plane is fine");
        let mut bodies = stack(3, DVec3::ZERO);
        for body in &mut bodies {
            body.form.gravity_scale = 0.01;
        }
        spawn_all(&mut world, &bodies);
        world
    };
    let (mut world, mut without) = (alone(), alone());
    steps(&mut world, 5);
    steps(&mut without, 5);
    assert_eq!(world.survey(false), []);
    let far = DVec3::new(20.0, 5.0, 0.0);
    spawn_all(
        &mut world,
        &[doomed(7, far), doomed(9, far + DVec3::X * 4.0)],
    );
    world.step();
    without.step();
    let broken: Vec<BodyId> = world.survey(false).into_iter().map(|(id, _)| id).collect();
    assert_eq!(broken, [7, 9].map(BodyId));
    for id in broken {
        world.remove(id).expect("it is here");
    }
    for _ in 0..300 {
        world.step();
        without.step();
        assert_eq!(world.survey(false), []);
    }
    assert!(apart(&world, &without) < 1e-3);
    let near = |bounds: domain::Rect| {
        let mut found = Vec::new();
        world.for_each_not_within(&bounds, |id, _| found.push(id));
        found
    };
    let nowhere = domain::Rect {
        min: [50.0; 2],
        max: [60.0; 2],
    };
    assert_eq!(near(nowhere).len(), 3, "the engine's tree is whole");
}

/// A cluster with something in it that no world could take gives up just that.
#[test]
fn a_cluster_is_mended_by_leaving_out_what_is_wrong() {
    type Spoil = fn(&mut Cluster);
    let flat: &[(Spoil, &[u64])] = &[
        (|_| (), &[]),
        (|c| c.bodies[0].motion.position.x = f64::NAN, &[1]),
        (|c| c.bodies[1].motion.angular_velocity.x = f32::NAN, &[2]),
        (|c| c.bodies[2].motion.position.y = 2e9, &[3]),
        (|c| c.bodies[1].form.material.density = 0.0, &[2]),
        (|c| c.joints[0].axis = Vec3::ZERO, &[]),
        (|c| c.contacts[0].points[0].normal_impulse = f32::NAN, &[]),
    ];
    for (number, (spoil, lost)) in flat.iter().enumerate() {
        let mut cluster = good();
        spoil(&mut cluster);
        let sound = check_cluster(&cluster).is_ok();
        let out = mend_cluster(&mut cluster);
        let out: Vec<BodyId> = out.into_iter().map(|(id, _)| id).collect();
        let expected: Vec<BodyId> = lost.iter().map(|id| BodyId(*id)).collect();
        assert_eq!(out, expected, "spoil {number}");
        let mut world = world_at(DVec3::ZERO);
        assert_eq!(world.insert(&cluster), Ok(()), "spoil {number}");
        assert_eq!(world.len(), 3 - lost.len());
        if sound {
            assert_eq!(cluster, good(), "what is sound is left alone");
        }
    }
}

/// Numbers that nobody would draw by hand, always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f32 {
        (self.roll() >> 40) as f32 / (1 << 24) as f32 - 0.5
    }

    /// Points that make trouble: thin, doubled, on a grid, on a sphere, of very different sizes.
    fn points(&mut self) -> Vec<Vec3> {
        let count = 4 + self.roll() as usize % 28;
        let size = 10f32.powi(self.roll() as i32 % 6 - 3);
        let thin = 10f32.powi(-(self.roll() as i32 % 5));
        let kind = self.roll() % 4;
        let mut points: Vec<Vec3> = Vec::with_capacity(count);
        for _ in 0..count {
            let p = Vec3::new(self.unit(), self.unit() * thin, self.unit());
            points.push(
                match kind {
                    0 => p,
                    1 => (p * 4.0).round() / 4.0 + p * 1e-6,
                    2 => p.normalize_or_zero() * Vec3::new(1.0, thin, 1.0),
                    _ => points.last().map_or(p, |last| *last + p * 1e-5),
                } * size,
            );
        }
        points
    }
}

/// Nothing that was let in is found impossible later, when nobody can be told any more.
#[test]
fn whatever_is_accepted_can_be_built_and_moves() {
    let mut dice = Dice(7);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..2000 {
        let mut body = cube(1, DVec3::Y * 50.0);
        body.form.shape = Shape::Convex {
            points: dice.points().into(),
        };
        body.form.material.density = 10f32.powi(dice.roll() as i32 % 9 - 3);
        if check_body(&body).is_err() {
            refused += 1;
            continue;
        }
        accepted += 1;
        let mut world = world_at(DVec3::ZERO);
        assert_eq!(world.spawn(&body), Ok(()));
        let _ = world.apply_impulse(BodyId(1), Vec3::ONE * HARD, Some(DVec3::X));
        steps(&mut world, 3);
        assert_eq!(world.survey(false), [], "{:?}", body.form);
        assert_eq!(check_cluster(&world.extract(&[BodyId(1)])), Ok(()));
    }
    assert!(accepted > 200 && refused > 200, "{accepted} {refused}");
}
