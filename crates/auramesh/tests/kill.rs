//! Servers die, hang and come back; nothing is lost, nothing is doubled.
//!
//! `AURAMESH_KILLS` says how many servers are killed (default 4; the long test of the README: 20).

mod live_processes;

use cluster::names::Term;
use domain::RegionId;
use live_processes::Cluster;
use rand::{RngExt, SeedableRng};
use std::time::{Duration, Instant};

const REGIONS: u32 = 4;

fn kills() -> u32 {
    let wanted = std::env::var("AURAMESH_KILLS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(4)
}

async fn ready(scene: &str) -> Cluster {
    let mut cluster = Cluster::start(scene, REGIONS, REGIONS + 1).await;
    let patience = Duration::from_secs(30);
    cluster
        .watch_until("everyone steps", patience, |cluster| {
            cluster.roll.newest.len() == REGIONS as usize && cluster.is_safe()
        })
        .await;
    cluster.watch_for(Duration::from_secs(2)).await;
    cluster
}

/// SIGKILL, random victims at random times.
async fn killed_servers_are_replaced(scene: &str, seed: u64) {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
    let mut cluster = ready(scene).await;
    let mut slowest = Duration::ZERO;
    for kill in 0..kills() {
        let region = RegionId(rng.random_range(0..REGIONS));
        let pause = Duration::from_millis(rng.random_range(0..1000));
        cluster.watch_for(pause).await;
        let (victim, term) = cluster.owner(region).expect("someone owns it");
        let its: Vec<_> = (0..REGIONS)
            .map(RegionId)
            .filter(|region| {
                cluster
                    .owner(*region)
                    .is_some_and(|(name, _)| name == victim)
            })
            .map(|region| (region, cluster.owner(region).expect("owned").1))
            .collect();
        drop(cluster.servers.remove(&victim));
        let killed = Instant::now();
        cluster
            .watch_until(
                "its regions step again",
                Duration::from_secs(10),
                |cluster| {
                    let back = |(region, term): &(RegionId, Term)| {
                        cluster.back_since(*region, *term).is_some()
                    };
                    its.iter().all(back)
                },
            )
            .await;
        let back = its
            .iter()
            .filter_map(|(region, term)| cluster.back_since(*region, *term));
        let took = back
            .map(|at| at.duration_since(killed))
            .max()
            .expect("it had one");
        slowest = slowest.max(took);
        println!(
            "{scene}: kill {kill} of {victim} ({region}, term {}): back after {took:?}",
            term.0
        );
        cluster.add_server();
        cluster.watch_for(Duration::from_millis(1500)).await;
        cluster
            .watch_until(
                "everyone is safe again",
                Duration::from_secs(10),
                Cluster::is_safe,
            )
            .await;
        cluster.check_latest();
    }
    println!("{scene}: slowest recovery {slowest:?}");
    assert!(slowest < Duration::from_secs(1), "took {slowest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_servers_are_replaced_at_a_corner() {
    killed_servers_are_replaced("corner-stacks", 1).await;
}

/// SIGSTOP for 5 s, then SIGCONT: what comes back has been replaced and touches nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_replaced_and_touches_nothing_when_it_comes_back() {
    let mut cluster = ready("corner-stacks").await;
    let (victim, term) = cluster.owner(RegionId(0)).expect("someone owns it");
    cluster.servers[&victim].signal("STOP");
    let hung = Instant::now();
    cluster
        .watch_until(
            "its region steps again",
            Duration::from_secs(10),
            |cluster| cluster.back_since(RegionId(0), term).is_some(),
        )
        .await;
    let back = cluster.back_since(RegionId(0), term).expect("it is");
    let took = back.duration_since(hung);
    assert!(took < Duration::from_secs(1), "took {took:?}");
    cluster.watch_for(Duration::from_secs(5)).await;
    cluster.check_latest();
    cluster.servers[&victim].signal("CONT");
    cluster.watch_for(Duration::from_secs(3)).await;
    let revived = cluster.settled_tick();
    cluster.check_all(revived - 120..revived);
    let (owner, now) = cluster.owner(RegionId(0)).expect("someone owns it");
    assert!(now > term && owner != victim || now > term.next());
}

/// The coordinator, and with it the control plane, dies and comes back: physics goes on, and afterwards deaths are noticed again.
#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_dies_does_not_stop_the_physics() {
    let mut cluster = ready("corner-stacks").await;
    let before = cluster.settled_tick();
    drop(cluster.coordinator.take());
    cluster.watch_for(Duration::from_secs(4)).await;
    let without = cluster.settled_tick();
    assert!(
        without > before + 200,
        "only {} ticks in 4 s",
        without - before
    );
    cluster.check_all(before..without);
    cluster.restart_coordinator();
    cluster.watch_for(Duration::from_secs(8)).await;
    let (victim, term) = cluster.owner(RegionId(1)).expect("someone owns it");
    drop(cluster.servers.remove(&victim));
    cluster
        .watch_until(
            "its region steps again",
            Duration::from_secs(10),
            |cluster| cluster.back_since(RegionId(1), term).is_some(),
        )
        .await;
    cluster.watch_for(Duration::from_secs(2)).await;
    cluster.check_latest();
}

/// Servers join and leave a running world; whoever leaves gives everything away first, and no tick of any body is lost.
#[tokio::test(flavor = "multi_thread")]
async fn servers_join_and_leave_without_losing_a_tick() {
    let mut cluster = Cluster::start("corner-stacks", REGIONS, 2).await;
    cluster
        .watch_until("everyone steps", Duration::from_secs(30), |cluster| {
            cluster.roll.newest.len() == REGIONS as usize && cluster.is_safe()
        })
        .await;
    cluster.watch_for(Duration::from_secs(1)).await;
    let first = cluster.settled_tick();
    cluster.add_server();
    cluster.add_server();
    cluster.watch_for(Duration::from_secs(4)).await;
    let owners = |cluster: &Cluster| -> std::collections::BTreeSet<String> {
        let regions = (0..REGIONS).map(RegionId);
        regions
            .filter_map(|region| Some(cluster.owner(region)?.0))
            .collect()
    };
    assert_eq!(owners(&cluster).len(), 4, "regions are spread over all");
    for leaver in ["s0", "s1"] {
        let mut process = cluster.servers.remove(leaver).expect("it runs");
        process.signal("TERM");
        cluster
            .watch_until(
                "it gives its regions away",
                Duration::from_secs(15),
                |cluster| !owners(cluster).contains(leaver),
            )
            .await;
        assert!(process.wait().success());
    }
    cluster.watch_for(Duration::from_secs(2)).await;
    cluster.check_all(first..cluster.settled_tick());
}
