//! The border queries find exactly the bodies a walk over all of them finds, at every moment.

use crate::common::{cube, ground};
use domain::{Body, BodyForm, BodyId, Bounds, Motion, Rect, Shape};
use glam::{DVec3, Vec3};
use world::{World, WorldConfig};

/// A small generator of its own, so that the scene is the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        low + (self.0 >> 11) as f64 / (1u64 << 53) as f64 * (high - low)
    }
}

fn rolling(id: u64, dice: &mut Dice) -> Body {
    let shape = match id % 3 {
        0 => Shape::Sphere { radius: 0.5 },
        1 => Shape::Cuboid {
            size: Vec3::new(0.5, 0.5, 2.0),
        },
        _ => Shape::Capsule {
            radius: 0.2,
            height: 1.5,
        },
    };
    let place = DVec3::new(
        dice.roll(-40.0, 40.0),
        dice.roll(0.5, 8.0),
        dice.roll(-40.0, 40.0),
    );
    let mut body = Body::new(BodyId(id), BodyForm::of(shape), Motion::at(place));
    body.motion.linear_velocity =
        DVec3::new(dice.roll(-9.0, 9.0), 0.0, dice.roll(-9.0, 9.0)).as_vec3();
    body
}

fn assert_complete(world: &World) {
    let inner = Rect {
        min: [-25.0, -18.0],
        max: [22.0, 31.0],
    };
    let mut found = Vec::new();
    world.for_each_not_within(&inner, |id, body| found.push((id, body.bounds)));
    found.sort_unstable_by_key(|(id, _)| *id);
    let expected: Vec<(BodyId, Bounds)> = world
        .bodies()
        .map(|(id, view)| (id, view.bounds))
        .filter(|(_, bounds)| !inner.contains(&bounds.ground()))
        .collect();
    assert_eq!(found, expected);

    let boxes = [
        Bounds::of_sphere(DVec3::new(10.0, 1.0, -5.0), 6.0),
        Bounds::of_sphere(DVec3::new(12.0, 1.0, -5.0), 6.0),
        Bounds::of_sphere(DVec3::new(-30.0, 1.0, 30.0), 4.0),
    ];
    let mut found = Vec::new();
    world.for_each_touching(&boxes, |id, _| found.push(id));
    found.sort_unstable();
    let expected: Vec<BodyId> = world
        .bodies()
        .filter(|(_, view)| boxes.iter().any(|other| other.touches(&view.bounds)))
        .map(|(id, _)| id)
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn no_body_is_missed_or_told_twice() {
    let config = WorldConfig {
        origin: DVec3::new(3.3, 0.0, -7.7),
        ..WorldConfig::default()
    };
    let mut world = World::new(config, &[ground()]).expect("a plane is fine");
    let mut dice = Dice(7);
    let mut next = 0;
    for tick in 0..300 {
        // Bodies come and go all the time; some slots are used again before the tree knows.
        for _ in 0..3 {
            world
                .spawn(&rolling(next, &mut dice))
                .expect("the body is fine");
            next += 1;
        }
        assert_complete(&world);
        if tick % 2 == 1 {
            let gone: Vec<BodyId> = world.ids().filter(|id| id.0 % 97 == tick % 97).collect();
            let cluster = world.extract(&gone);
            assert_complete(&world);
            if tick % 4 == 1 {
                world.insert(&cluster).expect("the cluster is fine");
                assert_complete(&world);
            }
        }
        world.step();
        assert_complete(&world);
    }
    assert!(world.len() > 400);
}

#[test]
fn bounds_are_those_of_the_true_shape() {
    let mut world = World::new(WorldConfig::default(), &[]).expect("nothing is fine");
    let mut body = cube(1, DVec3::new(5.0, 6.0, 7.0));
    body.motion.rotation = glam::Quat::from_rotation_y(std::f32::consts::FRAC_PI_4);
    world.spawn(&body).expect("the body is fine");
    let view = world.body(BodyId(1)).expect("it is here");
    let half = DVec3::new(0.5f64.sqrt(), 0.5, 0.5f64.sqrt());
    assert!(view.bounds.min.distance(body.motion.position - half) < 1e-5);
    assert!(view.bounds.max.distance(body.motion.position + half) < 1e-5);
    assert!((view.radius - 0.75f32.sqrt()).abs() < 1e-6);
}
