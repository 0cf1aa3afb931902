//! Servers without lock-step: phases, frame times and networks of all kinds (digest 2.13), within the tolerances and beyond them.

use crate::common::{assert_clean, network, run, run_clean, run_watched, scene};
use domain::{RegionId, Tick};
use simulator::frames::FrameModel;
use simulator::{SendOrder, SimOptions};

/// AP-23: steps of different servers are not aligned, frame times scatter and exceed each other: no checker finds anything.
#[test]
fn any_phase_and_any_frame_time_will_do() {
    for (name, seconds) in [("head-on", 4.0), ("islands", 8.0), ("ragdolls", 3.0)] {
        let scene = scene(name);
        for seed in 1..=4 {
            for frames in [
                FrameModel::Fixed(0.0149),
                FrameModel::Normal {
                    mean: 0.009,
                    deviation: 0.001,
                },
            ] {
                let outcome = run_clean(
                    &scene,
                    &SimOptions {
                        seed: Some(seed),
                        seconds: Some(seconds),
                        aligned_steps: false,
                        frames: Some(frames),
                        send_order: if seed % 2 == 0 {
                            SendOrder::NextFrame
                        } else {
                            SendOrder::AfterPhysics
                        },
                        ..SimOptions::default()
                    },
                );
                assert_eq!(outcome.tolerance_exceeded.frame, 0, "{frames:?}");
            }
        }
    }
}

/// AP-32: servers whose frames last 40 ms make every step all the same, in order, two or three per frame, and nobody is late if that
/// frame time is the tolerance.
#[test]
fn forty_millisecond_frames_step_every_tick() {
    let mut scene = scene("islands");
    scene.tolerances.frame_ms = 40.0;
    let options = SimOptions {
        seconds: Some(8.0),
        frames: Some(FrameModel::Fixed(0.040)),
        ..SimOptions::default()
    };
    let (outcome, history) = run_watched(&scene, &options);
    assert_clean(&outcome, "40 ms frames");
    assert_eq!(
        (
            outcome.errors.missed_updates,
            outcome.tolerance_exceeded.frame
        ),
        (0, 0)
    );
    let all: Vec<Tick> = (1..=480).map(Tick).collect();
    assert_eq!(history.stepped.len(), 4);
    for (region, ticks) in &history.stepped {
        assert_eq!(*ticks, all, "{region}");
    }
}

/// AP-4, AP-34: latency, frame time and speed beyond the tolerance are each noticed and counted, and only they.
#[test]
fn exceeded_tolerances_are_counted_apart() {
    let scene = scene("head-on");
    let base = SimOptions {
        network: network("latency_ms=1"),
        frames: Some(FrameModel::Fixed(0.010)),
        ..SimOptions::default()
    };
    let exceeded = |scene: &scenes::Scene, options: &SimOptions| {
        let exceeded = run(scene, options).tolerance_exceeded;
        [exceeded.speed > 0, exceeded.latency > 0, exceeded.frame > 0]
    };
    assert_eq!(exceeded(&scene, &base), [false, false, false]);
    let slow_net = SimOptions {
        network: network("latency_ms=5"),
        ..base.clone()
    };
    assert_eq!(exceeded(&scene, &slow_net), [false, true, false]);
    let slow_frames = SimOptions {
        frames: Some(FrameModel::Fixed(0.020)),
        ..base.clone()
    };
    assert_eq!(exceeded(&scene, &slow_frames), [false, false, true]);
    let mut fast = scene.clone();
    fast.bodies[0].motion.linear_velocity.x = 20.0;
    assert_eq!(exceeded(&fast, &base), [true, false, false]);
}

/// AP-34: frame time, latency and loss can be set for single servers and links, as `tc` would on a real one: it shows there and nowhere else.
#[test]
fn single_servers_and_links_can_be_slowed_down() {
    let scene = scene("islands");
    let slow = RegionId(2);
    // Bodies of region 0 cross the border with region 1.
    let (from, to) = (RegionId(0), RegionId(1));
    let base = SimOptions {
        seconds: Some(6.0),
        network: network("latency_ms=1"),
        frames: Some(FrameModel::Fixed(0.010)),
        ..SimOptions::default()
    };
    let exceeded = |options: &SimOptions| {
        let outcome = run(&scene, options);
        assert_eq!((outcome.errors.lost, outcome.errors.duplicated), (0, 0));
        outcome.tolerance_exceeded
    };
    let slow_server = exceeded(&SimOptions {
        frames_of: [(slow, FrameModel::Fixed(0.020))].into(),
        ..base.clone()
    });
    // 6 s in frames of 20 ms: all of one server's and none of the others'.
    assert!((295..=301).contains(&slow_server.frame), "{slow_server:?}");
    assert_eq!(slow_server.latency, 0);
    let slow_link = exceeded(&SimOptions {
        links: vec![(from, to, network("latency_ms=6"))],
        ..base.clone()
    });
    assert_eq!(slow_link.frame, 0);
    let slow_net = exceeded(&SimOptions {
        network: network("latency_ms=6"),
        ..base.clone()
    });
    // One of the twelve ways between four servers.
    assert!(
        slow_link.latency > 10 && slow_link.latency < slow_net.latency / 4,
        "{slow_link:?} {slow_net:?}"
    );
    let lossy_link = exceeded(&SimOptions {
        links: vec![(from, to, network("latency_ms=1,loss=0.3"))],
        ..base
    });
    assert!(
        lossy_link.latency > 10,
        "what is sent again is late: {lossy_link:?}"
    );
}

/// AP-34, 2.12: loss shows as delay and as more datagrams, never as a lost body.
#[test]
fn loss_costs_time_and_bytes_and_no_body() {
    let scene = scene("islands");
    let run_with = |loss: f64| {
        let options = SimOptions {
            seconds: Some(6.0),
            network: network(&format!("latency_ms=1,loss={loss}")),
            ..SimOptions::default()
        };
        let outcome = run(&scene, &options);
        assert_eq!(
            (outcome.errors.lost, outcome.errors.duplicated),
            (0, 0),
            "loss {loss}"
        );
        assert_eq!(outcome.bodies.end, scene.bodies.len() as u64);
        (
            outcome.tolerance_exceeded.latency,
            outcome.bytes.between_servers,
        )
    };
    let ((late_0, bytes_0), (late_20, bytes_20)) = (run_with(0.0), run_with(0.2));
    assert_eq!(late_0, 0);
    assert!(late_20 > 10, "resent words are late: {late_20}");
    assert!(bytes_20 > bytes_0, "{bytes_20} {bytes_0}");
}
