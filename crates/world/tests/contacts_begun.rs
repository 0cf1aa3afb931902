//! Contacts that begin are reported once, with depth and speeds from before the solver acted.

use crate::common::{cube, spawn_all, stack, steps, world_at};
use domain::{BodyId, ContactEnd, StaticId};
use glam::{DVec3, Vec3};
use world::{ContactBegun, World};

/// Steps until something begins to touch.
fn first_contacts(world: &mut World, limit: usize) -> Vec<ContactBegun> {
    for _ in 0..limit {
        world.step();
        if !world.contacts_begun().is_empty() {
            return world.contacts_begun().to_vec();
        }
    }
    panic!("nothing touched in {limit} steps");
}

#[test]
fn a_head_on_hit_is_told_with_its_speeds() {
    let mut world = world_at(DVec3::new(-3.0, 0.0, 8.0));
    let mut left = cube(7, DVec3::new(-3.0, 50.0, 0.0));
    let mut right = cube(4, DVec3::new(3.0, 50.0, 0.0));
    left.form.gravity_scale = 0.0;
    right.form.gravity_scale = 0.0;
    left.motion.linear_velocity = Vec3::new(2.0, 0.0, 1.0);
    right.motion.linear_velocity = Vec3::new(-4.0, 0.0, 1.0);
    spawn_all(&mut world, &[left, right]);
    let told = first_contacts(&mut world, 120);
    assert_eq!(told.len(), 1);
    let hit = told[0];
    assert_eq!((hit.a, hit.b), (BodyId(4), ContactEnd::Body(BodyId(7))));
    assert!((hit.approach_speed - 6.0).abs() < 1e-3, "{hit:?}");
    assert!((hit.relative_speed - 6.0).abs() < 1e-3, "{hit:?}");
    // Noticed at most one step's travel inside, at most the prediction distance before.
    assert!(hit.depth_m < 0.1 && hit.depth_m > -0.03, "{hit:?}");
    assert!(!hit.restored);
    world.step();
    assert!(world.contacts_begun().is_empty(), "a contact begins once");
    assert_eq!(world.touching(BodyId(4)), [BodyId(7)]);
}

#[test]
fn landing_on_the_ground_is_told_too() {
    let mut world = world_at(DVec3::ZERO);
    spawn_all(&mut world, &[cube(1, DVec3::new(0.0, 3.0, 0.0))]);
    let told = first_contacts(&mut world, 120);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].b, ContactEnd::Static(StaticId(0)));
    // It fell 2.5 m: sqrt(2 g h) = 7.0 m/s.
    assert!((told[0].approach_speed - 7.0).abs() < 0.3, "{:?}", told[0]);
    assert!(world.touching(BodyId(1)).is_empty(), "scenery is no body");
}

#[test]
fn contacts_that_were_handed_over_are_marked() {
    let mut here = world_at(DVec3::ZERO);
    spawn_all(&mut here, &stack(3, DVec3::ZERO));
    steps(&mut here, 20);
    let mut there = world_at(DVec3::new(70.0, 0.0, 0.0));
    there
        .insert(&here.extract(&[1, 2, 3].map(BodyId)))
        .expect("the cluster is fine");
    there.step();
    let told = there.contacts_begun();
    assert_eq!(told.len(), 3, "ground and two pairs: {told:?}");
    assert!(told.iter().all(|contact| contact.restored));
    assert!(told.is_sorted_by_key(|contact| (contact.a, contact.b)));
    // A new neighbour's contact is a new one.
    there
        .spawn(&cube(9, DVec3::new(0.0, 3.55, 0.0)))
        .expect("the body is fine");
    let told = first_contacts(&mut there, 60);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].a, told[0].restored), (BodyId(3), false));
}
