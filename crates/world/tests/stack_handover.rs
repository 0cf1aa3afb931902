//! AP-20: a stack of ten boxes that is handed back and forth between two worlds stands as if it
//! had never been moved.

use crate::common::{apart, cube, ground, spawn_all, stack, steps, world_at};
use domain::{Body, BodyId, ContactEnd, Static};
use glam::{DVec3, Quat, Vec3};
use world::{World, WorldConfig};

const TICKS: usize = 600;
const FOOT: DVec3 = DVec3::new(3.0, 0.0, -2.0);

/// Two worlds, the stack in one of them, moved to the other every `every` ticks.
fn handed(every: usize, origins: [DVec3; 2], sleeping: bool, memory: bool) -> World {
    let ids: Vec<BodyId> = (1..=10).map(BodyId).collect();
    let mut here = world_at(origins[0]);
    let mut there = world_at(origins[1]);
    here.set_sleeping(sleeping);
    there.set_sleeping(sleeping);
    spawn_all(&mut here, &stack(10, FOOT));
    for tick in 1..=TICKS {
        here.step();
        there.step();
        if tick % every == 0 {
            let mut cluster = here.extract(&ids);
            assert_eq!(cluster.bodies.len(), 10);
            if !memory {
                cluster.contacts.clear();
            }
            there.insert(&cluster).expect("the cluster is fine");
            std::mem::swap(&mut here, &mut there);
        }
    }
    here
}

fn unmoved(sleeping: bool) -> World {
    let mut world = world_at(DVec3::ZERO);
    world.set_sleeping(sleeping);
    spawn_all(&mut world, &stack(10, FOOT));
    steps(&mut world, TICKS);
    world
}

#[test]
fn a_stack_handed_over_every_k_ticks_stands() {
    let far = DVec3::new(-37.25, 0.0, 411.7);
    for sleeping in [true, false] {
        let reference = unmoved(sleeping);
        for other in [DVec3::ZERO, far] {
            for every in [1, 2, 5, 10, 30] {
                let moved = handed(every, [DVec3::ZERO, other], sleeping, true);
                let error = apart(&moved, &reference);
                println!(
                    "sleeping {sleeping}, other origin {other}, every {every}: {:.2} mm",
                    error * 1e3
                );
                assert!(
                    error < 0.02,
                    "every {every}, sleeping {sleeping}: {error} m"
                );
            }
        }
    }
}

#[test]
fn without_the_memory_of_contacts_it_falls() {
    let moved = handed(1, [DVec3::ZERO; 2], true, false);
    let top = moved.motion(BodyId(10)).expect("it is here").position.y;
    assert!(top < 9.0, "the memory is what holds the stack: {top}");
}

/// Three boxes that only friction holds on a slope, handed between worlds that number them in opposite
/// order, so that every pair changes its sides.
#[test]
fn sides_may_be_swapped() {
    let slope = Static {
        rotation: Quat::from_rotation_z(0.25),
        ..ground()
    };
    let build = || World::new(WorldConfig::default(), std::slice::from_ref(&slope));
    let mut here = build().expect("a slope is fine");
    let mut there = build().expect("a slope is fine");
    let up = slope.rotation * Vec3::Y;
    let boxes: Vec<Body> = (0..3u64)
        .map(|i| {
            let mut body = cube(i + 1, (up * (0.5 + i as f32)).as_dvec3());
            body.motion.rotation = slope.rotation;
            body
        })
        .collect();
    let mut reference = build().expect("a slope is fine");
    for world in [&mut here, &mut reference] {
        world.set_sleeping(false);
        spawn_all(world, &boxes);
    }
    // Slots are filled last freed first: this leaves them to be filled in falling order.
    there.set_sleeping(false);
    spawn_all(&mut there, &boxes);
    for id in [1, 2, 3] {
        there.remove(BodyId(id)).expect("it is here");
    }
    let mut swaps = 0;
    for _ in 0..300 {
        reference.step();
        here.step();
        let cluster = here.extract(&[1, 2, 3].map(BodyId));
        there.insert(&cluster).expect("the cluster is fine");
        reference.step();
        there.step();
        let back = there.copy(&[1, 2, 3].map(BodyId));
        swaps += usize::from(cluster.contacts.iter().all(|m| m.a < m.b || is_static(m.a)));
        swaps += usize::from(back.contacts.iter().all(|m| m.a > m.b || is_static(m.a)));
        for id in [3, 2, 1] {
            there.remove(BodyId(id)).expect("it is here");
        }
        here.insert(&back).expect("the cluster is fine");
    }
    assert_eq!(swaps, 600, "every handover swaps the sides");
    let error = apart(&here, &reference);
    println!("swapped sides on a slope: {:.2} mm", error * 1e3);
    assert!(error < 0.02, "{error} m");
}

fn is_static(end: ContactEnd) -> bool {
    matches!(end, ContactEnd::Static(_))
}
