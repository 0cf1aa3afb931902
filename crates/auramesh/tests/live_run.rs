//! `auramesh run`: what was proved under virtual time holds for real processes in real time, by the same checkers.
//!
//! By default one scene for some seconds; with `AURAMESH_FULL=1` every built-in scene for a minute each, on a good and on a bad network.

mod busy;
mod live_report;

use live_report::{run, run_beside, say};

#[test]
fn a_live_world_keeps_all_promises() {
    let report = run("corner-stacks", 6, &[]);
    assert_eq!(report["ticks"], 360);
    // Auras of size `adaptive` move few.
    assert!(report["migrations"].as_u64() > Some(5));
    // What regions tell at the end of a run, under the keys of `sim`.
    let kept = &report["kept"];
    for key in [
        "watched",
        "held",
        "longest_ticks",
        "longest_m",
        "spared",
        "kept_out",
    ] {
        assert!(kept[key].is_number(), "{key} in {kept}");
    }
    assert!(kept["watched"].as_u64() > Some(0), "{kept}");
    assert!(report["largest_cluster"].as_u64() > Some(0));
    let bound = report["clock_bound_ms"].as_f64().expect("a number");
    assert!(bound < 1.0, "servers' clocks are within {bound} ms");
}

#[test]
fn a_live_world_keeps_all_promises_on_a_bad_network() {
    let report = run("orbit", 6, &["--net", "latency_ms=2,jitter_ms=1,loss=0.01"]);
    assert!(report["migrations"].as_u64() > Some(4));
}

/// Two thousand bodies crowd into one region, and others want the processors: neighbours wait for it, and the world is late, not wrong.
#[test]
fn a_crowded_world_on_a_busy_machine_keeps_all_promises() {
    let others = || busy::Threads::start(busy::threads(3));
    run_beside("avalanche", 12, &[], others);
}

#[test]
fn every_scene_keeps_all_promises() {
    if std::env::var_os("AURAMESH_FULL").is_none() {
        say("skipped: every scene for a minute takes 40 minutes; AURAMESH_FULL=1 runs it");
        return;
    }
    for scene in scenes::builtin::names() {
        run(scene, 60, &[]);
        run(scene, 60, &["--net", "latency_ms=2,jitter_ms=1,loss=0.01"]);
    }
}
