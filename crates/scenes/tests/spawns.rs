//! Injection volumes (AP-46): box, rate, mix of types, range of velocities; the same for everybody.

use domain::{Motion, Shape};
use glam::DVec3;
use scenes::{Scene, Spawn};

fn columns() -> Scene {
    Scene::load("columns").unwrap()
}

#[test]
fn same_scene_and_seed_same_timetable() {
    let scene = columns();
    let spawns = scene.spawns(7);
    assert_eq!(spawns, columns().spawns(7));
    assert_ne!(spawns, scene.spawns(8));
}

/// Pins the numbers themselves: a library update that changes them changes every recorded run.
#[test]
fn the_timetable_is_the_same_on_every_machine() {
    let scene = columns();
    let digest = |spawn: &Spawn| {
        let Motion {
            position,
            rotation,
            linear_velocity,
            ..
        } = spawn.body.motion;
        let numbers = [spawn.at, position.x, position.y, position.z];
        let small = rotation
            .to_array()
            .into_iter()
            .chain(linear_velocity.to_array());
        let bits = numbers
            .map(f64::to_bits)
            .into_iter()
            .chain(small.map(|v| u64::from(v.to_bits())));
        bits.fold(spawn.body.id.0, |hash, word| {
            (hash ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29)
        })
    };
    let all = scene
        .spawns(scene.seed)
        .iter()
        .map(digest)
        .fold(0, u64::wrapping_add);
    assert_eq!(all, GOLDEN, "{all:#x}");
}

const GOLDEN: u64 = 0xadbe_5c21_714e_6d5c;

#[test]
fn ids_continue_after_the_bodies_of_the_start_in_order_of_time() {
    let scene = Scene::load("corner-stacks").unwrap();
    let spawns = scene.spawns(scene.seed);
    assert!(spawns.is_sorted_by(|a, b| a.at <= b.at && a.body.id.0 + 1 == b.body.id.0));
    assert_eq!(spawns[0].body.id.0, scene.bodies.len() as u64 + 1);
}

// AP-46
#[test]
fn rate_box_mix_and_velocities_are_those_of_the_file() {
    let scene = columns();
    let spawns = scene.spawns(3);
    let expected: usize = scene.injectors.iter().map(|i| i.total()).sum();
    assert_eq!((spawns.len(), expected), (336, 336));
    let in_some_volume = |p: DVec3| {
        scene
            .injectors
            .iter()
            .any(|i| p.cmpge(i.min).all() && p.cmple(i.max).all())
    };
    for Spawn { at, body } in &spawns {
        let v = body.motion.linear_velocity;
        assert!((0.0..scene.seconds).contains(at));
        assert!(in_some_volume(body.motion.position), "{:?}", body.motion);
        assert!(
            v.x.abs() <= 10.0 && v.z.abs() <= 10.0 && (-10.0..=0.0).contains(&v.y),
            "{v}"
        );
        assert!((body.motion.rotation.length() - 1.0).abs() < 1e-6);
        let turned = body.motion.rotation != glam::Quat::IDENTITY;
        assert_eq!(turned, !matches!(body.form.shape, Shape::Sphere { .. }));
    }
    let spheres = spawns
        .iter()
        .filter(|s| matches!(s.body.form.shape, Shape::Sphere { .. }))
        .count();
    assert!(
        (80..=144).contains(&spheres),
        "a third of 336, four sigmas: {spheres}"
    );
    let early = spawns.iter().filter(|s| s.at < 10.0).count();
    assert!(
        (158..=178).contains(&early),
        "half of them in half of the time: {early}"
    );
}

#[test]
fn orientations_prefer_no_direction() {
    let spawns = columns().spawns(5);
    let tops: Vec<glam::Vec3> = spawns
        .iter()
        .filter(|s| !matches!(s.body.form.shape, Shape::Sphere { .. }))
        .map(|s| s.body.motion.rotation * glam::Vec3::Y)
        .collect();
    let mean = tops.iter().sum::<glam::Vec3>() / tops.len() as f32;
    let squares = tops.iter().map(|t| *t * *t).sum::<glam::Vec3>() / tops.len() as f32;
    assert!(mean.length() < 0.2, "{mean}");
    assert!(
        (squares - glam::Vec3::splat(1.0 / 3.0)).abs().max_element() < 0.1,
        "{squares}"
    );
}

/// A crowded volume: without looking for room about every third body would appear inside another.
#[test]
fn bodies_do_not_appear_inside_others_in_flight() {
    let scene = Scene::parse(
        "gravity = [0, 0, 0]\nseconds = 5\n[[injector]]\nmin = [0, 0, 0]\nmax = [6, 6, 6]\nrate = 20\n\
         velocity_min = [-1, -1, -1]\nvelocity_max = [1, 1, 1]\nshapes = [{ type = \"sphere\", radius = 0.5 }]\n",
        None,
    )
    .unwrap();
    let spawns = scene.spawns(1);
    assert_eq!(spawns.len(), 100);
    for (i, new) in spawns.iter().enumerate() {
        for old in spawns[..i].iter().filter(|old| new.at - old.at < 1.5) {
            let Motion {
                position,
                linear_velocity,
                ..
            } = old.body.motion;
            let now = position + linear_velocity.as_dvec3() * (new.at - old.at);
            assert!(
                now.distance(new.body.motion.position) >= 1.0,
                "{} in {}",
                new.body.id,
                old.body.id
            );
        }
    }
}

#[test]
fn another_injector_does_not_shift_the_times_of_the_first() {
    let one = "[[injector]]\nmin = [0, 0, 0]\nmax = [50, 50, 50]\nrate = 3\nshapes = [{ type = \"sphere\", radius = 0.1 }]\n";
    let two = format!(
        "{one}[[injector]]\nmin = [90, 0, 0]\nmax = [99, 9, 9]\nrate = 7\nshapes = [{{ type = \"sphere\", radius = 0.1 }}]\n"
    );
    let alone = Scene::parse(one, None).unwrap().spawns(4);
    let both = Scene::parse(&two, None).unwrap().spawns(4);
    let places = |spawns: &[Spawn]| -> Vec<(f64, DVec3)> {
        let first = spawns.iter().filter(|s| s.body.motion.position.x < 60.0);
        first.map(|s| (s.at, s.body.motion.position)).collect()
    };
    assert_eq!(places(&alone), places(&both));
}
