//! Servers die and come back, links are cut: no body is lost, none is doubled, and the run goes on (I1, I2, I4).

use crate::common::{assert_clean, network, parse, run, run_watched, scene};
use scenes::Scene;
use simulator::faults::Fault;
use simulator::{Outcome, SimOptions};

/// Balls cross a border in both directions all the time: 12 of them, one every quarter of a second each way.
fn traffic() -> Scene {
    let mut text = String::from(
        r#"
name = "traffic over a border"
seconds = 3.0
gravity = [0.0, 0.0, 0.0]
[world]
min = [-30.0, -30.0]
max = [30.0, 30.0]
[regions]
layout = "columns"
servers = 2
[tolerances]
speed = 8.0
"#,
    );
    for i in 0..6 {
        for side in [-1.0, 1.0] {
            let x = side * (1.5 + 1.5 * f64::from(i));
            // Two lanes, near enough that bodies of both call each other over.
            let z = 1.2 * side + 4.0 * f64::from(i % 2);
            let speed = -6.0 * side;
            text += &format!(
                "[[body]]\nshape = {{ type = \"sphere\", radius = 0.4 }}\nposition = [{x}, 2, {z}]\nvelocity = [{speed}, 0, 0]\n"
            );
        }
    }
    parse(&text)
}

fn options(faults: Vec<Fault>, seed: u64) -> SimOptions {
    SimOptions {
        seed: Some(seed),
        network: network("latency_ms=1,jitter_ms=0.5,loss=0.02,dup=0.02"),
        faults,
        ..SimOptions::default()
    }
}

fn fault(text: &str) -> Fault {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Bodies are conserved even within the disturbance: nothing here is ever excused.
fn assert_conserved(outcome: &Outcome, what: &str) {
    assert_clean(outcome, what);
    let (errors, excused) = (outcome.errors, outcome.excused);
    assert_eq!((errors.lost, errors.duplicated), (0, 0), "{what}");
    assert_eq!(
        (excused.lost, excused.duplicated, excused.epoch_errors),
        (0, 0, 0),
        "{what}"
    );
    let tally = outcome.bodies;
    assert_eq!(
        tally.start + tally.spawned - tally.removed,
        tally.end + tally.in_flight,
        "{what}"
    );
}

/// I2: whichever of two servers dies, and whenever, in the midst of handovers: all bodies are there at the end.
#[test]
fn a_crash_at_any_time_loses_no_body() {
    let scene = traffic();
    let mut migrations = 0;
    for step in 0..40 {
        for server in 0..2 {
            let at = 0.05 + 0.05 * f64::from(step);
            let what = format!("crash={server}@{at:.2}+0.2");
            let outcome = run(&scene, &options(vec![fault(&what)], 1 + step as u64));
            assert_conserved(&outcome, &what);
            assert_eq!(outcome.bodies.end + outcome.bodies.in_flight, 12, "{what}");
            migrations += outcome.migrations;
        }
    }
    assert!(migrations > 80 * 6, "there was traffic: {migrations}");
}

/// I2: one after the other, both servers die, each long enough after the other.
#[test]
fn both_may_die_one_after_the_other() {
    let scene = traffic();
    for step in 0..10 {
        let first = 0.1 + 0.04 * f64::from(step);
        let faults = vec![
            fault(&format!("crash=0@{first:.2}+0.3")),
            fault(&format!("crash=1@{:.2}+0.3", first + 1.8)),
        ];
        let what = format!("{faults:?}");
        let outcome = run(&scene, &options(faults, step as u64));
        assert_conserved(&outcome, &what);
    }
}

/// I2: three of four servers at a corner die within one snapshot interval, in every order, and one of them twice.
#[test]
fn three_of_four_may_die_at_once() {
    let scene = scene("ragdolls");
    for step in 0..6 {
        for spared in 0..4 {
            let at = 0.6 + 0.13 * f64::from(step);
            let others = (0..4).filter(|server| *server != spared);
            let mut faults: Vec<Fault> = others
                .enumerate()
                .map(|(rank, server)| {
                    let later = 0.07 * (rank as f64) * f64::from(step % 3);
                    fault(&format!("crash={server}@{:.2}+0.25", at + later))
                })
                .collect();
            let again = (spared + 1) % 4;
            faults.push(fault(&format!("crash={again}@{:.2}+0.2", at + 0.5)));
            let what = format!("{faults:?}");
            let options = SimOptions {
                seconds: Some(3.0),
                ..options(faults, step as u64)
            };
            assert_conserved(&run(&scene, &options), &what);
        }
    }
}

/// A server that dies is back, restored from its snapshot, and steps again to the end.
#[test]
fn a_restarted_server_steps_again() {
    let (outcome, history) = run_watched(&traffic(), &options(vec![fault("crash=1@1+0.3")], 1));
    assert_conserved(&outcome, "crash=1@1+0.3");
    assert_eq!(history.restored.len(), 1);
    let (tick, region) = history.restored[0];
    assert_eq!(region.0, 1);
    assert!(
        (78..90).contains(&tick.0),
        "back soon after 1.3 s: tick {tick}"
    );
    let last = history.stepped[&region].last().expect("it stepped");
    assert_eq!(last.0, 198, "to the end: two seconds after the fault");
}

/// I2: with four servers at a corner, under spawns and joints, any of them may die.
#[test]
fn a_crash_at_a_corner_loses_no_body() {
    for (name, seconds) in [
        ("ragdolls", 3.0),
        ("islands", 3.0),
        ("corner-building", 2.5),
    ] {
        let scene = scene(name);
        for server in 0..4 {
            let what = format!("crash={server}@0.9+0.3");
            let options = SimOptions {
                seconds: Some(seconds),
                ..options(vec![fault(&what)], 3)
            };
            assert_conserved(&run(&scene, &options), &format!("{name} {what}"));
        }
    }
}

/// I6: whoever dies around the time of a call, bodies and auras match again afterwards; also those of bodies that fell asleep meanwhile.
#[test]
fn a_crash_around_a_call_leaves_no_gap_in_the_auras() {
    for (name, seconds, from) in [("group-klm", 5.0, 2.75), ("group-no", 8.5, 6.1)] {
        let scene = scene(name);
        for step in 0..10 {
            for server in 0..3 {
                let what = format!("crash={server}@{:.2}+0.2", from + 0.03 * f64::from(step));
                let options = SimOptions {
                    seconds: Some(seconds),
                    ..options(vec![fault(&what)], step as u64)
                };
                assert_conserved(&run(&scene, &options), &format!("{name} {what}"));
            }
        }
    }
}

/// I2, A-29: a cut link delays handovers and loses none; when it is healed, everyone arrives.
#[test]
fn a_cut_link_loses_no_body() {
    let scene = traffic();
    for step in 0..20 {
        let at = 0.1 + 0.1 * f64::from(step);
        let what = format!("cut=0-1@{at:.2}+0.4");
        let outcome = run(&scene, &options(vec![fault(&what)], 1 + step as u64));
        assert_conserved(&outcome, &what);
        assert_eq!(outcome.bodies.end + outcome.bodies.in_flight, 12, "{what}");
    }
}

/// I2: both servers die within one snapshot interval, at once or one shortly after the other, in the midst of handovers. Whatever of a handover
/// their snapshots have kept, each body is there once at the end.
#[test]
fn both_may_die_at_once() {
    let scene = traffic();
    for step in 0..20 {
        for (later, down) in [(0.0, 0.2), (0.02, 0.3), (0.1, 0.1), (0.25, 0.2), (0.4, 0.3)] {
            for first in 0..2 {
                let at = 0.1 + 0.09 * f64::from(step);
                let faults = vec![
                    fault(&format!("crash={first}@{at:.2}+0.2")),
                    fault(&format!("crash={}@{:.2}+{down}", 1 - first, at + later)),
                ];
                let what = format!("{faults:?}");
                let outcome = run(&scene, &options(faults, step as u64));
                assert_conserved(&outcome, &what);
                assert_eq!(outcome.bodies.end + outcome.bodies.in_flight, 12, "{what}");
            }
        }
    }
}
