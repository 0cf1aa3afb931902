//! AP-20, AP-32: a stack of ten boxes that is handed back and forth between two worlds stands as if it
//! had never been moved.

mod common;

use common::{apart, spawn_all, stack, steps, world_at};
use domain::BodyId;
use glam::DVec3;
use world::World;

const TICKS: usize = 600;

/// Two worlds, the stack in one of them, moved to the other every `every` ticks.
fn handed(every: usize, origins: [DVec3; 2], sleeping: bool) -> World {
    let ids: Vec<BodyId> = (1..=10).map(BodyId).collect();
    let mut here = world_at(origins[0]);
    let mut there = world_at(origins[1]);
    here.set_sleeping(sleeping);
    there.set_sleeping(sleeping);
    spawn_all(&mut here, &stack(10, DVec3::new(3.0, 0.0, -2.0)));
    for tick in 1..=TICKS {
        here.step();
        there.step();
        if tick % every == 0 {
            let cluster = here.extract(&ids);
            assert_eq!(cluster.bodies.len(), 10);
            there.insert(&cluster).expect("the cluster is fine");
            std::mem::swap(&mut here, &mut there);
        }
    }
    here
}

fn still(origin: DVec3, sleeping: bool) -> World {
    let mut world = world_at(origin);
    world.set_sleeping(sleeping);
    spawn_all(&mut world, &stack(10, DVec3::new(3.0, 0.0, -2.0)));
    steps(&mut world, TICKS);
    world
}

#[test]
fn a_stack_handed_over_every_k_ticks_stands() {
    let far = DVec3::new(-37.25, 0.0, 411.7);
    for sleeping in [true, false] {
        let reference = still(DVec3::ZERO, sleeping);
        for origins in [[DVec3::ZERO; 2], [DVec3::ZERO, far]] {
            for every in [1, 2, 5, 10, 30] {
                let moved = handed(every, origins, sleeping);
                let error = apart(&moved, &reference);
                println!("sleeping {sleeping}, far {}, every {every}: {:.2} mm", origins[1] != origins[0], error * 1e3);
                assert!(error < 0.05, "every {every} ticks, sleeping {sleeping}: {error} m away");
            }
        }
    }
}
