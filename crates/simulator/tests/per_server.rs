//! Frame time, latency and loss are set per server and per link (the thesis used `tc` on each server).

use domain::RegionId;
use simulator::frames::FrameModel;
use simulator::network::NetworkConditions;
use simulator::{Outcome, SimOptions, Simulation};

fn run(change: impl FnOnce(&mut SimOptions)) -> Outcome {
    let scene = scenes::Scene::load("head-on").expect("built in");
    let mut options = SimOptions {
        servers: Some(2),
        network: NetworkConditions::perfect(),
        ..SimOptions::default()
    };
    change(&mut options);
    let simulation = Simulation::new(&scene, &options).expect("a sound scene");
    simulation.run(|_| {})
}

/// AP-34: one slow server exceeds the frame tolerance, the other does not, and still steps every tick (AP-32).
#[test]
fn one_server_has_longer_frames() {
    let even = run(|_| {});
    assert_eq!(even.tolerance_exceeded.frame, 0);
    let uneven = run(|options| {
        options
            .frames_of
            .insert(RegionId(1), FrameModel::Fixed(0.040));
    });
    let frames = (uneven.ticks as f64 / 60.0 / 0.040) as u64;
    let exceeded = uneven.tolerance_exceeded.frame;
    assert!(
        exceeded.abs_diff(frames) <= 3,
        "{exceeded} of about {frames} frames of server 1"
    );
    assert_eq!(uneven.errors.missed_updates, 0);
    assert_eq!(uneven.errors.lost, 0);
}

/// AP-34: latency on one link, one way, is noticed by its receiver alone.
#[test]
fn one_link_is_slow_one_way() {
    let slow = NetworkConditions {
        latency_ms: 9.0,
        ..NetworkConditions::perfect()
    };
    let outcome = run(|options| options.links.push((RegionId(0), RegionId(1), slow)));
    assert!(outcome.tolerance_exceeded.latency > 0);
    assert_eq!(run(|_| {}).tolerance_exceeded.latency, 0);
}
