//! Consistency groups under joins, leaves, crashes, partitions, slow lines and votes: random runs of at least 60 simulated
//! seconds, each judged by every checker. `auramesh sim --group-soak 1000` makes a thousand.

use groups::{Delivery, Stream, TransportChoice};
use simulator::groups::{GroupRun, GroupSim};

/// ST-21 (through re-allocations), ST-32, ST-33, ST-34, ST-52, ST-53: no object orphaned, doubled or unsimulated; no flapping.
#[test]
fn random_runs_are_clean() {
    let number = |name: &str, usual: u64| {
        let set = std::env::var(name).ok();
        set.and_then(|n| n.parse().ok()).unwrap_or(usual)
    };
    let first = number("GROUP_FIRST", 1);
    let mut failures = Vec::new();
    for seed in first..first + number("GROUP_RUNS", 60) {
        let run = GroupRun::of(seed);
        let text = run.to_string();
        let outcome = GroupSim::new(run).run();
        if std::env::var("GROUP_VERBOSE").is_ok() {
            println!(
                "{text}\n   {:?} {} messages",
                outcome.findings, outcome.messages
            );
        }
        if !outcome.findings.broken.is_empty() || outcome.findings.impossible > 0 {
            failures.push(format!("{text}\n{:#?}", outcome.findings));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// ST-48: how states travel is chosen separately for what goes through leaders and the coordinator, and for what goes between members. On a network that
/// loses every tenth datagram everything of a stream that was chosen to be reliable arrives, and the rest does not.
#[test]
fn st_48_the_choice_of_transport_is_how_states_travel() {
    let streams = |transport| {
        let mut run = GroupRun::at_places(3, 2, 6, 60.0, 20.0);
        (run.loss, run.transport) = (0.1, transport);
        GroupSim::new(run).run().streams
    };
    let share = |part: u64, of: u64| part as f64 / of as f64;
    let usual = streams(TransportChoice::default());
    let (peer, object) = (usual[&Stream::Peer], usual[&Stream::Object]);
    assert!(peer.reliable < peer.sent / 2, "transfers only: {peer:?}");
    assert_eq!(object.reliable, 0);
    for lossy in [peer, object] {
        let arrived = share(lossy.arrived, lossy.sent);
        assert!((0.8..0.97).contains(&arrived), "{lossy:?}");
    }
    let admin = usual[&Stream::Admin];
    assert_eq!(admin.reliable, admin.sent);
    assert!(share(admin.arrived, admin.sent) > 0.98, "{admin:?}");
    assert_eq!(usual[&Stream::Ping].reliable, 0);

    let reliable_peers = streams(TransportChoice {
        peer: Delivery::Reliable,
        ..TransportChoice::default()
    });
    let peer = reliable_peers[&Stream::Peer];
    assert_eq!(peer.reliable, peer.sent);
    assert!(share(peer.arrived, peer.sent) > 0.98, "{peer:?}");
    assert_eq!(reliable_peers[&Stream::Object].reliable, 0, "as it was");

    let reliable_objects = streams(TransportChoice {
        object: Delivery::Reliable,
        ..TransportChoice::default()
    });
    let (peer, object) = (
        reliable_objects[&Stream::Peer],
        reliable_objects[&Stream::Object],
    );
    assert!(peer.reliable < peer.sent / 2, "as it was: {peer:?}");
    // Clients' own updates stay as they are: the next one follows.
    assert!(share(object.reliable, object.sent) > 0.5, "{object:?}");
    let lost = object.sent - object.arrived;
    assert!(lost < object.sent - object.reliable, "{object:?}");
}
