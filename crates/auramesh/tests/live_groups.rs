//! A server that is too far away is voted out of the world and gives its regions to the others; when it is near again it is voted in and gets some. Real processes; the
//! delay is made on purpose, between the regions and for what measures the way between servers.

mod live_processes;

use live_processes::{Cluster, Engines, Setup};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const REGIONS: u32 = 4;
/// Wide enough for a busy machine: between its processes answers take a millisecond, or thirty. Quick enough for a test.
const GROUPS: &str = "silence_ms = 3000\n[groups]\ninclusion_ms = 40\nrejection_ms = 80\ndeviation_ms = 400\nping_ms = 200\nlongest_ping_ms = 1000\nwindow = 6\nstay_ms = 2000\n";
/// What the server sends takes so long: once for every round trip, whoever asks.
const FAR: &str = "net latency_ms=160";
const NEAR: &str = "net latency_ms=0";
const PATIENCE: Duration = Duration::from_secs(60);

/// The groups as the control plane has them: the names of their members, that which shares the world first.
fn groups(cluster: &Cluster) -> Vec<BTreeSet<String>> {
    let view = cluster.view();
    let name = |node| view.nodes.get(node).map(|info| info.name.clone());
    let groups = view.groups.iter().flat_map(|it| &it.groups);
    groups
        .map(|group| group.iter().filter_map(name).collect())
        .collect()
}

fn are_groups(cluster: &Cluster, expected: &[&[&str]]) -> bool {
    let expected = expected.iter();
    let expected: Vec<BTreeSet<String>> = expected
        .map(|group| group.iter().map(|name| (*name).to_owned()).collect())
        .collect();
    groups(cluster) == expected
}

/// Has it neither a region nor anybody's snapshots to keep, and everyone else what they need?
fn is_out(cluster: &Cluster, server: &str) -> bool {
    let view = cluster.view();
    let its = |node: Option<_>| {
        node.and_then(|node| view.nodes.get(&node))
            .is_some_and(|info| info.name == server)
    };
    let seats = &view.assignment.seats;
    cluster.is_safe()
        && !seats
            .iter()
            .any(|seat| its(seat.owner) || its(seat.standby))
}

async fn until(cluster: &mut Cluster, what: &str, is_so: impl Fn(&Cluster) -> bool) {
    let since = Instant::now();
    cluster.watch_until(what, PATIENCE, is_so).await;
    println!("{what}: after {:.1} s", since.elapsed().as_secs_f64());
}

/// People see who is near whom, and programs too.
fn check_status(cluster: &Cluster) {
    let shown: Value = serde_json::from_str(&cluster.status(&["--json"])).expect("JSON");
    let group = |index: usize| {
        let group = &shown["groups"][index];
        let names = group["members"].as_array().into_iter().flatten();
        let names: BTreeSet<&str> = names.filter_map(Value::as_str).collect();
        (names, group["shares_world"].as_bool())
    };
    assert_eq!(group(0), (BTreeSet::from(["s0", "s1"]), Some(true)));
    assert_eq!(group(1), (BTreeSet::from(["s2"]), Some(false)));
    assert_eq!(shown["groups"].as_array().map(Vec::len), Some(2));
    let text = cluster.status(&[]);
    let groups: Vec<&str> = text.lines().filter(|it| it.starts_with("group ")).collect();
    assert_eq!(groups.len(), 2, "{text}");
    assert!(groups[0].ends_with("shares the world"), "{text}");
    assert!(groups[1].ends_with(" s2"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_far_away_is_voted_out_and_gets_regions_again_when_it_is_near() {
    voted_out_and_in(Engines::Embedded).await;
}

#[cfg(feature = "distributed")]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_far_away_is_voted_out_and_in_on_zenoh() {
    voted_out_and_in(Engines::Zenoh).await;
}

/// In every phase the world goes on, and no tick of any body is lost or doubled while regions move.
async fn voted_out_and_in(engines: Engines) {
    let setup = Setup {
        engines,
        scene: "corner-stacks",
        regions: REGIONS,
        servers: 2,
        coordinator: GROUPS,
    };
    let mut cluster = Cluster::start_with(setup).await.expect("no etcd is needed");
    let far = cluster.add_server_with(&["--adjustable-net"]);
    assert_eq!(far, "s2");
    let joined = |cluster: &Cluster| cluster.view().nodes.values().any(|it| it.name == "s2");
    until(&mut cluster, "it has joined", joined).await;
    let say = |cluster: &mut Cluster, line: &str| {
        let process = cluster.servers.get_mut("s2").expect("it runs");
        process.say(line);
    };
    say(&mut cluster, FAR);
    until(&mut cluster, "everyone steps", |cluster| {
        cluster.roll.newest.len() == REGIONS as usize
    })
    .await;
    until(&mut cluster, "far: two groups", |cluster| {
        are_groups(cluster, &[&["s0", "s1"], &["s2"]])
    })
    .await;
    until(&mut cluster, "far: it has nothing", |cluster| {
        is_out(cluster, "s2")
    })
    .await;
    check_status(&cluster);
    let first = cluster.settled_tick();
    cluster.watch_for(Duration::from_secs(3)).await;
    assert!(is_out(&cluster, "s2"), "and it stays so");

    say(&mut cluster, NEAR);
    until(&mut cluster, "near: one group", |cluster| {
        are_groups(cluster, &[&["s0", "s1", "s2"]])
    })
    .await;
    until(&mut cluster, "near: it has a region", |cluster| {
        !cluster.regions_of("s2").is_empty() && cluster.is_safe()
    })
    .await;
    cluster.watch_for(Duration::from_secs(3)).await;

    say(&mut cluster, FAR);
    until(&mut cluster, "far again: it has nothing", |cluster| {
        is_out(cluster, "s2")
    })
    .await;
    cluster.watch_for(Duration::from_secs(2)).await;
    let (all, judged) = cluster.check_all(first..cluster.settled_tick());
    println!("{judged} of {all} ticks judged");
    assert_eq!(all, judged, "the watcher hears every tick");
}
