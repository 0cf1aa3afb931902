//! One node's iteration: response, freezing, repeatability (ST-13, ST-15).

use detection::{Aabb, Budget, Effort, Form, Freezing, Level, Plan, Settings, Slot, Space};
use domain::{BodyForm, Material, Motion, Shape};
use glam::{DVec3, Quat, Vec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::time::Duration;

fn space(settings: Settings) -> Space {
    let world = Aabb::around(Vec3::ZERO, Vec3::splat(20.0));
    Space::new(DVec3::ZERO, world, &Plan::Mine, settings).expect("valid")
}

fn floor(space: &mut Space) {
    let shape = Shape::Cuboid {
        size: Vec3::new(40.0, 2.0, 40.0),
    };
    let form = space.add_form(Form::immoveable(&shape, Material::default()).expect("valid"));
    space.add_static(form, Motion::at(DVec3::Y * -1.0));
}

fn cube(space: &mut Space) -> u32 {
    let form = BodyForm::of(Shape::Cuboid { size: Vec3::ONE });
    space.add_form(Form::new(&form).expect("valid"))
}

/// A gas of elastic cubes without gravity.
fn gas(settings: Settings, count: usize) -> Space {
    let mut space = space(Settings {
        gravity: Vec3::ZERO,
        ..settings
    });
    let mut form = BodyForm::of(Shape::Cuboid { size: Vec3::ONE });
    form.material.restitution = 1.0;
    form.material.friction = 0.0;
    let form = space.add_form(Form::new(&form).expect("valid"));
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for _ in 0..count {
        let mut motion = Motion::at(DVec3::from_array(std::array::from_fn(|_| {
            rng.random_range(-12.0..12.0)
        })));
        motion.linear_velocity =
            Vec3::from_array(std::array::from_fn(|_| rng.random_range(-4.0..4.0)));
        space.insert(form, motion);
    }
    space
}

#[test]
fn momentum_is_conserved() {
    let mut space = gas(Settings::default(), 300);
    let momentum = |space: &Space| -> Vec3 {
        space
            .moving()
            .map(|slot| space.motion(slot).linear_velocity)
            .sum()
    };
    let before = momentum(&space);
    let mut collisions = 0;
    for _ in 0..200 {
        space.step();
        collisions += space.stats().collisions;
    }
    assert!(collisions > 200, "{collisions}");
    assert!((momentum(&space) - before).length() < 0.05, "{before}");
}

/// A stack of three boxes comes to rest, is frozen (ST-15), and wakes when it is hit.
#[test]
fn st_15_a_stack_freezes_and_wakes_when_hit() {
    let mut space = space(Settings {
        freezing: Some(Freezing::default()),
        sweeps: 12,
        ..Settings::default()
    });
    floor(&mut space);
    let form = cube(&mut space);
    let stack: Vec<Slot> = (0..3)
        .map(|i| space.insert(form, Motion::at(DVec3::Y * (0.5 + f64::from(i)))))
        .collect();
    for _ in 0..240 {
        space.step();
    }
    for (i, slot) in stack.iter().enumerate() {
        let height = space.motion(*slot).position.y;
        assert!((height - 0.5 - i as f64).abs() < 0.1, "{i}: {height}");
        assert!(space.is_frozen(*slot), "{i}");
    }
    let top = space.motion(stack[2]).position;
    let mut ball = Motion::at(top + DVec3::new(-3.0, 0.0, 0.0));
    ball.linear_velocity = Vec3::X * 8.0;
    let ball = space.insert(form, ball);
    for _ in 0..60 {
        space.step();
    }
    assert!(!space.is_frozen(ball));
    assert!(
        space.motion(stack[2]).position.x > top.x + 0.5,
        "it was pushed"
    );
}

/// ST-15: a slow spinner is not still; both thresholds count.
#[test]
fn st_15_both_speeds_must_be_low() {
    let settings = Settings {
        gravity: Vec3::ZERO,
        freezing: Some(Freezing::default()),
        ..Settings::default()
    };
    let frozen = |linear: f32, angular: f32| {
        let mut space = space(settings);
        let form = cube(&mut space);
        let mut motion = Motion::at(DVec3::ZERO);
        motion.linear_velocity = Vec3::X * linear;
        motion.angular_velocity = Vec3::Y * angular;
        let slot = space.insert(form, motion);
        (0..60).for_each(|_| space.step());
        space.is_frozen(slot)
    };
    assert!(frozen(0.01, 0.01));
    assert!(!frozen(0.2, 0.01));
    assert!(!frozen(0.01, 0.5));
}

/// ST-15: what a frozen body stood on is taken away: it falls.
#[test]
fn st_15_a_frozen_body_does_not_hang_in_the_air() {
    let mut space = space(Settings {
        freezing: Some(Freezing::default()),
        ..Settings::default()
    });
    floor(&mut space);
    let form = cube(&mut space);
    let low = space.insert(form, Motion::at(DVec3::Y * 0.5));
    let high = space.insert(form, Motion::at(DVec3::Y * 1.5));
    (0..120).for_each(|_| space.step());
    assert!(space.is_frozen(high));
    space.remove(low);
    (0..60).for_each(|_| space.step());
    assert!(
        space.motion(high).position.y < 0.7,
        "{}",
        space.motion(high).position
    );
}

/// ST-13: the budget is heard; a fixed level gives the same bits whatever the clock says.
#[test]
fn st_13_a_fixed_level_repeats_bit_by_bit() {
    let run = |effort: Effort, spent: Duration| {
        let mut space = gas(
            Settings {
                effort,
                ..Settings::default()
            },
            200,
        );
        for _ in 0..100 {
            space.step();
            space.note_time(spent);
        }
        let motions: Vec<Motion> = space.moving().map(|slot| *space.motion(slot)).collect();
        (motions, space.settings().effort.level())
    };
    let fixed = Effort::Fixed(Level::FULL);
    let (slow, fast) = (Duration::from_secs(1), Duration::ZERO);
    assert_eq!(run(fixed, slow), run(fixed, fast));
    let within = Effort::Within(Budget::new(Duration::from_millis(10)));
    assert_eq!(run(within, slow).1, Level::LEAST);
    assert_eq!(run(within, fast).1, Level::FULL);
    assert_ne!(run(within, slow).0, run(within, fast).0);
}

#[test]
fn a_body_off_its_centre_of_mass_turns_about_it() {
    let mut space = space(Settings {
        gravity: Vec3::ZERO,
        ..Settings::default()
    });
    let shape = Shape::Compound {
        parts: [domain::CompoundPart {
            position: Vec3::X * 2.0,
            rotation: Quat::IDENTITY,
            shape: Shape::Sphere { radius: 0.5 },
        }]
        .into(),
    };
    let form = space.add_form(Form::new(&BodyForm::of(shape)).expect("valid"));
    let mut motion = Motion::at(DVec3::ZERO);
    motion.angular_velocity = Vec3::Y * 3.0;
    let slot = space.insert(form, motion);
    for _ in 0..60 {
        space.step();
    }
    let motion = space.motion(slot);
    let centre = motion.position + (motion.rotation * (Vec3::X * 2.0)).as_dvec3();
    assert!((centre - DVec3::X * 2.0).length() < 1e-3, "{centre}");
    assert!(motion.position.length() > 1.0, "the origin goes round");
}
