//! AP-25: two bodies that call each other over at the same time are counted, and the tie-break ends it.

use crate::common::{network, parse, run, run_clean};
use simulator::SimOptions;

/// Pairs of small balls that meet exactly on the border: both sides project, the normal case for small bodies (digest 8.2).
fn pairs() -> scenes::Scene {
    let mut text = String::from(
        r#"
name = "pairs on the border"
seconds = 3.0
gravity = [0.0, 0.0, 0.0]
[world]
min = [-60.0, -60.0]
max = [60.0, 60.0]
[regions]
layout = "columns"
servers = 2
[tolerances]
speed = 16.0
latency_ms = 10.0
"#,
    );
    for i in 0..10 {
        for side in [-1, 1] {
            let (x, z) = (side as f64 * (12.0 + 0.13 * i as f64), -50 + 10 * i);
            let speed = -8 * side;
            text += &format!(
                "[[body]]\nshape = {{ type = \"sphere\", radius = 0.3 }}\nposition = [{x}, 2, {z}]\nvelocity = [{speed}, 0, 0]\n"
            );
        }
    }
    parse(&text)
}

fn options(seed: u64, tie_break: bool) -> SimOptions {
    SimOptions {
        seed: Some(seed),
        tie_break,
        // Ranks of size `adaptive` cannot be switched off.
        aura: boundary::AuraSize::Safe,
        // Words take longer than the servers' frames are apart: both sides decide before they hear of the other's decision.
        network: network("latency_ms=8"),
        ..SimOptions::default()
    }
}

/// AP-25: without the tie-break pairs thrash, and each is counted.
#[test]
fn without_the_tie_break_pairs_thrash() {
    let scene = pairs();
    let thrashed: Vec<u64> = (1..=3)
        .map(|seed| run(&scene, &options(seed, false)).thrashed_pairs)
        .collect();
    assert!(
        thrashed.iter().all(|pairs| (1..=10).contains(pairs)),
        "{thrashed:?}"
    );
}

/// AP-25: with it none does: one of each pair moves, once, and they meet.
#[test]
fn with_the_tie_break_none_does() {
    let scene = pairs();
    for seed in 1..=3 {
        let outcome = run_clean(&scene, &options(seed, true));
        assert_eq!(outcome.thrashed_pairs, 0);
        assert_eq!(outcome.collisions, 10);
    }
}
