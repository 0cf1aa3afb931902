//! The thesis's grid, small: what our numbers look like. The experiment `ml-offline` is the real one.

use crate::common::*;
use station::{Protocol, Settings, StationId};

#[test]
#[ignore = "prints a table; for people"]
fn table() {
    let runs = 50;
    let arms: [(&str, Settings); 5] = [
        ("control", Settings::published(Protocol::Control)),
        (
            "super",
            Settings::published(Protocol::SuperNode {
                authority: StationId(0),
            }),
        ),
        ("post", Settings::published(Protocol::PostCollision)),
        ("lock", Settings::published(Protocol::MotionLock)),
        ("ours", Settings::improved()),
    ];
    for (name, net) in [
        ("good", Net::GOOD),
        ("moderate", Net::MODERATE),
        ("congested", Net::CONGESTED),
    ] {
        for scenario in [
            Scenario::Llc,
            Scenario::Llp,
            Scenario::Clc,
            Scenario::Clp,
            Scenario::Ccc,
            Scenario::Ccp,
            Scenario::Wlc,
            Scenario::Wlp,
            Scenario::Wwc,
            Scenario::Wwp,
        ] {
            for (arm, settings) in &arms {
                let mut counts = [0, 0];
                let (mut unequal, mut deltas, mut deviation) = (0, Vec::new(), 0.0);
                for seed in 0..runs {
                    let outcome = run(scenario, *settings, net, seed);
                    counts[0] += outcome.counts[0];
                    counts[1] += outcome.counts[1];
                    unequal += u32::from(outcome.counts[0] != outcome.counts[1]);
                    deltas.extend(outcome.delta_ms);
                    deviation += outcome.deviation / runs as f64;
                }
                let mean = deltas.iter().sum::<f64>() / deltas.len().max(1) as f64;
                println!(
                    "{name:9} {scenario:?} {arm:8} {:3}/{:3} unequal {unequal:2} dt {mean:6.1} ({}) dev {deviation:7.0}",
                    counts[0],
                    counts[1],
                    deltas.len()
                );
            }
        }
    }
}
