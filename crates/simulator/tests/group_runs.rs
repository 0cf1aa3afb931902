//! Consistency groups under joins, leaves, crashes, partitions, slow lines and votes: random runs of at least 60 simulated
//! seconds, each judged by every checker. `auramesh sim --group-soak 1000` makes a thousand.

use simulator::groups::{GroupRun, GroupSim};

/// ST-21 (through re-allocations), ST-32, ST-33, ST-34, ST-52, ST-53: no object orphaned, doubled or unsimulated; no flapping.
#[test]
fn random_runs_are_clean() {
    let runs = std::env::var("GROUP_RUNS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(60);
    for seed in 1..=runs {
        let run = GroupRun::of(seed);
        let text = run.to_string();
        let outcome = GroupSim::new(run).run();
        if std::env::var("GROUP_VERBOSE").is_ok() {
            println!(
                "{text}\n   {:?} {} messages",
                outcome.findings, outcome.messages
            );
        }
        assert!(
            outcome.findings.broken.is_empty(),
            "{text}\n{:#?}",
            outcome.findings
        );
        assert_eq!(outcome.findings.impossible, 0, "{text}");
    }
}
