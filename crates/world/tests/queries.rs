//! Scene queries, and the overlap test of the checkers.

use crate::common::{cube, spawn_all, world_at};
use domain::{BodyId, ContactEnd, Shape, StaticId};
use glam::{DVec3, Quat, Vec3};
use world::{ShapeCache, World, penetration};

fn scene() -> World {
    // A thousand kilometres away, where f32 could not tell two boxes apart.
    let mut world = world_at(FAR);
    let boxes = [
        cube(1, FAR + DVec3::new(4.0, 0.5, 0.0)),
        cube(2, FAR + DVec3::new(8.0, 0.5, 0.0)),
    ];
    spawn_all(&mut world, &boxes);
    world.step();
    world
}

const FAR: DVec3 = DVec3::new(1_000_000.0, 0.0, -1_000_000.0);

#[test]
fn a_ray_hits_the_first_thing() {
    let world = scene();
    let hit = world
        .cast_ray(FAR + DVec3::new(0.0, 0.5, 0.0), Vec3::X * 3.0, 100.0)
        .expect("there is a box");
    assert_eq!(hit.end, ContactEnd::Body(BodyId(1)));
    assert!((hit.distance - 3.5).abs() < 1e-4);
    assert!(hit.point.distance(FAR + DVec3::new(3.5, 0.5, 0.0)) < 1e-4);
    assert!(hit.normal.distance(-Vec3::X) < 1e-4);
    let down = world
        .cast_ray(FAR + DVec3::Y * 5.0, -Vec3::Y, 100.0)
        .expect("there is ground");
    assert_eq!(down.end, ContactEnd::Static(StaticId(0)));
    assert!(
        world
            .cast_ray(FAR + DVec3::Y * 5.0, -Vec3::Y, 4.0)
            .is_none(),
        "out of reach"
    );
    assert!(
        world.cast_ray(FAR, Vec3::ZERO, 100.0).is_none(),
        "no direction"
    );
}

#[test]
fn a_swept_shape_stops_at_the_first_thing() {
    let world = scene();
    let ball = Shape::Sphere { radius: 0.25 };
    let from = FAR + DVec3::new(0.0, 0.5, 0.0);
    let hit = world
        .cast_shape(&ball, from, Quat::IDENTITY, Vec3::X, 100.0)
        .expect("the shape is fine")
        .expect("there is a box");
    assert_eq!(hit.end, ContactEnd::Body(BodyId(1)));
    assert!((hit.distance - 3.25).abs() < 1e-3);
    assert!((hit.point.x - (FAR.x + 3.5)).abs() < 1e-3, "{hit:?}");
    assert!(
        world
            .cast_shape(&Shape::Plane, from, Quat::IDENTITY, Vec3::X, 1.0)
            .is_err()
    );
}

#[test]
fn an_overlap_lists_everything() {
    let world = scene();
    let ball = Shape::Sphere { radius: 2.0 };
    let found = world
        .overlap_shape(&ball, FAR + DVec3::new(6.0, 0.5, 0.0), Quat::IDENTITY)
        .expect("the shape is fine");
    let expected = [
        ContactEnd::Body(BodyId(1)),
        ContactEnd::Body(BodyId(2)),
        ContactEnd::Static(StaticId(0)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn penetration_is_deep_positive() {
    let cube = Shape::Cuboid { size: Vec3::ONE };
    let ball = Shape::Sphere { radius: 0.5 };
    let at = |x: f64| (FAR + DVec3::X * x, Quat::IDENTITY);
    let deep = penetration(&cube, at(0.0), &cube, at(0.9));
    assert!((deep - 0.1).abs() < 1e-5, "{deep}");
    assert!(penetration(&cube, at(0.0), &cube, at(1.001)) <= 0.0);
    assert!(penetration(&ball, at(0.0), &ball, at(50.0)) <= 0.0);
    let tilted = (
        FAR + DVec3::X * 1.1,
        Quat::from_rotation_y(std::f32::consts::FRAC_PI_4),
    );
    let deep = penetration(&cube, at(0.0), &cube, tilted);
    assert!((deep - (0.5 + 0.5f64.sqrt() - 1.1)).abs() < 1e-4, "{deep}");
    let sunk = penetration(
        &Shape::Plane,
        at(0.0),
        &ball,
        (FAR + DVec3::Y * 0.4, Quat::IDENTITY),
    );
    assert!((sunk - 0.1).abs() < 1e-5, "{sunk}");
}

#[test]
fn a_cache_gives_the_same_answers() {
    let hull = Shape::Convex {
        points: [
            [0.5, 0.0, 0.0],
            [-0.5, 0.0, 0.3],
            [-0.5, 0.0, -0.3],
            [0.0, 0.8, 0.0],
        ]
        .map(Vec3::from)
        .to_vec()
        .into(),
    };
    let ball = Shape::Sphere { radius: 0.4 };
    let mut cache = ShapeCache::default();
    for x in 0..12 {
        let pose = (DVec3::new(0.1 * f64::from(x), 0.2, 0.0), Quat::IDENTITY);
        let home = (DVec3::ZERO, Quat::IDENTITY);
        let (a, b) = (
            cache.get(&hull).expect("fine"),
            cache.get(&ball).expect("fine"),
        );
        assert_eq!(
            a.penetration(home, &b, pose),
            penetration(&hull, home, &ball, pose)
        );
    }
}
