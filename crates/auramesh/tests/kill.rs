//! Servers, coordinators and gateways die, hang, fall behind and come back; nothing is lost, nothing is doubled, and clients stay.
//!
//! `AURAMESH_KILLS` says how many servers are killed on each engine (default 4 and 2; the long test of the README: 20). `AURAMESH_LOAD` says how many threads keep the machine busy
//! meanwhile (default none, and 12 in the test that is about it): then living servers are taken for dead too, and how long it takes is only told.

mod busy;
mod live_processes;
#[path = "../../cluster/tests/stalls/mod.rs"]
mod stalls;

use cluster::names::Term;
use domain::RegionId;
use live_processes::{Cluster, Engines, Setup, free_address};
use rand::{RngExt, SeedableRng};
use stalls::Stalls;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const REGIONS: u32 = 4;
/// Clients that look on while servers die.
const CLIENTS: usize = 3;
/// A region must be back within this time.
const BACK: Duration = Duration::from_secs(1);
/// A kill while the machine itself stood still does not count; as many more are made, up to this.
const MOST_STALLED: u32 = 3;
/// For tests that are about something else than how soon a death is noticed: nobody is taken for dead because the machine paused.
const PATIENT: &str = "silence_ms = 3000\n";

fn kills(default: u32) -> u32 {
    let wanted = std::env::var("AURAMESH_KILLS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn setup(scene: &str, engines: Engines) -> Setup<'_> {
    Setup {
        engines,
        scene,
        regions: REGIONS,
        servers: REGIONS + 1,
        coordinator: "",
    }
}

async fn settle(cluster: &mut Cluster) {
    let patience = Duration::from_secs(30);
    cluster
        .watch_until("everyone steps", patience, |cluster| {
            cluster.roll.newest.len() == REGIONS as usize && cluster.is_safe()
        })
        .await;
    cluster.watch_for(Duration::from_secs(2)).await;
}

async fn ready(scene: &str) -> Cluster {
    ready_with(setup(scene, Engines::Embedded)).await
}

async fn ready_with(setup: Setup<'_>) -> Cluster {
    let mut cluster = Cluster::start_with(setup).await.expect("embedded");
    settle(&mut cluster).await;
    cluster
}

/// Waits until regions step under later owners than these; says how long it took.
async fn back(cluster: &mut Cluster, regions: &[(RegionId, Term)], since: Instant) -> Duration {
    let is_back = |cluster: &Cluster| {
        let back = |(region, term): &(RegionId, Term)| cluster.back_since(*region, *term);
        regions.iter().map(back).collect::<Option<Vec<_>>>()
    };
    let patience = Duration::from_secs(60);
    cluster
        .watch_until("its regions step again", patience, |cluster| {
            is_back(cluster).is_some()
        })
        .await;
    let times = is_back(cluster).expect("just seen");
    let last = times.into_iter().max().expect("it had one");
    last.duration_since(since)
}

/// Someone who spawns.
async fn player(gateway: std::net::SocketAddr) -> client::Client {
    let url = format!("ws://{gateway}/ws");
    let options = client::Options {
        area: client::Area::Nothing,
        ..client::Options::default()
    };
    let connected = client::Client::connect(&url, options).await;
    connected.expect("lets us in")
}

/// A few bodies into the middle of a region; they must exist from now on.
async fn spawn_into(cluster: &mut Cluster, player: &client::Client, region: RegionId) {
    let rect = cluster.world.map.finite_rect(region);
    let middle = |axis: usize| f64::midpoint(rect.min[axis], rect.max[axis]);
    for n in 0..3 {
        let place = glam::DVec3::new(middle(0) + f64::from(n), 8.0, middle(1));
        let ball = domain::Shape::Sphere { radius: 0.3 };
        let spawned = player.spawn(client::Spawn::new(ball, place)).await;
        let body = spawned.expect("its region answers");
        cluster.spawned.insert(body);
    }
}

/// SIGKILL, random victims at random times, while clients look on.
async fn killed_servers_are_replaced(setup: Setup<'_>, seed: u64, kills: u32, load: usize) {
    let what = format!("{} on {:?}", setup.scene, setup.engines);
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
    let Some(mut cluster) = Cluster::start_with(setup).await else {
        return;
    };
    let address = free_address();
    let mut gateway = cluster.start_gateway(address);
    settle(&mut cluster).await;
    cluster.invite(CLIENTS, &[address]).await;
    cluster.check_onlookers(Duration::from_secs(10)).await;
    let player = player(address).await;
    let _busy = busy::Threads::start(load);
    let patience = Duration::from_secs(60);
    let stalls = Stalls::watch();
    let mut slowest = Duration::ZERO;
    let (mut kill, mut stalled) = (0, 0);
    while kill < kills + stalled {
        let region = RegionId(rng.random_range(0..REGIONS));
        let pause = Duration::from_millis(rng.random_range(0..1000));
        cluster.watch_for(pause).await;
        let (victim, term) = cluster.owner(region).expect("someone owns it");
        let its = cluster.regions_of(&victim);
        // What it has just promised to have is in no snapshot. (On a busy machine it may be taken for dead before it has promised anything.)
        if load == 0 {
            spawn_into(&mut cluster, &player, region).await;
        }
        let killed = Instant::now();
        drop(cluster.servers.remove(&victim));
        let took = back(&mut cluster, &its, killed).await;
        if load > 0 || stalls.judge(took, BACK, killed) {
            slowest = slowest.max(took);
        } else {
            stalled += 1;
            assert!(stalled <= MOST_STALLED, "this machine is too busy");
        }
        println!(
            "{what}: kill {kill} of {victim} ({region}, term {}): back after {took:?}",
            term.0
        );
        kill += 1;
        cluster.add_server();
        cluster.watch_for(Duration::from_millis(1500)).await;
        cluster
            .watch_until("everyone is safe again", patience, Cluster::is_safe)
            .await;
        cluster.check_afterwards().await;
        cluster.check_onlookers(patience / 2).await;
        for onlooker in &cluster.onlookers {
            onlooker.check_undisturbed();
        }
    }
    let gaps = cluster.onlookers.iter().map(|it| it.story().longest_gap);
    println!(
        "{what}: slowest recovery {slowest:?}; longest time without an update for a client {:?}",
        gaps.max().expect("there are some")
    );
    assert!(gateway.is_alive());
    println!(
        "{what}: {} bodies of a client's own outlived it",
        cluster.spawned.len()
    );
    let terms = cluster
        .view()
        .assignment
        .seats
        .iter()
        .map(|seat| seat.term.0 - 1)
        .sum::<u32>();
    println!(
        "{what}: regions were replaced or moved {terms} times for {kill} kills, {stalled} of them while the machine stood still"
    );
}

/// I1, I2: no body may depend on how busy the machine is.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_doubled_on_a_busy_machine() {
    let setup = setup("corner-stacks", Engines::Embedded);
    killed_servers_are_replaced(setup, 4, kills(2), busy::threads(12)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_servers_are_replaced_and_clients_stay() {
    let setup = setup("corner-stacks", Engines::Embedded);
    killed_servers_are_replaced(setup, 1, kills(4), busy::threads(0)).await;
}

#[cfg(feature = "distributed")]
#[tokio::test(flavor = "multi_thread")]
async fn killed_servers_are_replaced_and_clients_stay_on_etcd() {
    let setup = setup("corner-stacks", Engines::Etcd);
    killed_servers_are_replaced(setup, 2, kills(2), busy::threads(0)).await;
}

#[cfg(feature = "distributed")]
#[tokio::test(flavor = "multi_thread")]
async fn killed_servers_are_replaced_and_clients_stay_on_zenoh() {
    let setup = setup("corner-stacks", Engines::Zenoh);
    killed_servers_are_replaced(setup, 3, kills(2), busy::threads(0)).await;
}

/// With certificates liveliness tokens are believed: a death is noticed when the link is lost (`zenoh.lease_ms`), before the silence would tell.
#[cfg(feature = "distributed")]
#[tokio::test(flavor = "multi_thread")]
async fn with_certificates_a_death_is_noticed_however_patient_the_coordinator_is() {
    let setup = Setup {
        coordinator: PATIENT,
        ..setup("corner-stacks", Engines::ZenohTls)
    };
    killed_servers_are_replaced(setup, 5, kills(2), busy::threads(0)).await;
}

/// A server dies and, before anybody has noticed, an admin begins the world anew; on a busy machine. Every region of the new world steps soon, nothing is lost in it, and
/// nobody's memory grows without end.
#[tokio::test(flavor = "multi_thread")]
async fn a_world_begun_anew_right_after_a_death_runs() {
    let mut cluster = ready("corner-stacks").await;
    let address = free_address();
    let _gateway = cluster.start_gateway(address);
    cluster.invite(1, &[address]).await;
    cluster.check_onlookers(Duration::from_secs(10)).await;
    let url = format!("ws://{address}/ws");
    let admin = client::Client::connect(&url, client::Options::default());
    let admin = admin.await.expect("lets us in");
    let _busy = busy::Threads::start(busy::threads(8));
    for round in 0..kills(2) {
        let (victim, _) = cluster
            .owner(RegionId(round % REGIONS))
            .expect("someone owns it");
        let before = cluster.roll.generation;
        drop(cluster.servers.remove(&victim));
        admin.reset().await.expect("an admin may");
        let began = Instant::now();
        cluster
            .watch_until("the new world runs", Duration::from_secs(30), |cluster| {
                cluster.roll.generation > before && cluster.roll.newest.len() == REGIONS as usize
            })
            .await;
        println!(
            "round {round}: all regions step {:?} after the reset",
            began.elapsed()
        );
        cluster.add_server();
        cluster.watch_for(Duration::from_secs(3)).await;
        cluster.check_afterwards().await;
        for (name, server) in &cluster.servers {
            let bytes = server.resident_bytes();
            println!("round {round}: {name} has {} MB", bytes >> 20);
            assert!(bytes < 120 << 20, "{name} has {} MB", bytes >> 20);
        }
    }
}

/// SIGSTOP for 5 s, then SIGCONT: what comes back has been replaced and touches nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_replaced_and_touches_nothing_when_it_comes_back() {
    let mut cluster = ready("corner-stacks").await;
    let address = free_address();
    let _gateway = cluster.start_gateway(address);
    cluster.invite(1, &[address]).await;
    let (victim, term) = cluster.owner(RegionId(0)).expect("someone owns it");
    let its = cluster.regions_of(&victim);
    let stalls = Stalls::watch();
    let stopped = Instant::now();
    cluster.servers[&victim].signal("STOP");
    let took = back(&mut cluster, &its, stopped).await;
    stalls.judge(took, BACK, stopped);
    cluster.watch_for(Duration::from_secs(5)).await;
    cluster.check_afterwards().await;
    let revived = cluster.settled_tick();
    cluster.servers[&victim].signal("CONT");
    cluster.watch_for(Duration::from_secs(3)).await;
    cluster.check_since(revived).await;
    let (owner, now) = cluster.owner(RegionId(0)).expect("someone owns it");
    assert!(now > term && owner != victim || now > term.next());
    cluster.check_onlookers(Duration::from_secs(30)).await;
    cluster.onlookers[0].check_undisturbed();
}

/// A server that gets next to no time from its machine lives, but its region falls behind: it goes to another one, and does not come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_too_slow_loses_its_region_and_is_remembered() {
    let slow = Setup {
        coordinator: "lag_ms = 1000\nsilence_ms = 1500\n",
        ..setup("corner-stacks", Engines::Embedded)
    };
    let mut cluster = Cluster::start_with(slow).await.expect("embedded");
    settle(&mut cluster).await;
    let (victim, term) = cluster.owner(RegionId(0)).expect("someone owns it");
    let its = cluster.regions_of(&victim);
    let stopped = Instant::now();
    // A few milliseconds of every quarter of a second: enough for its heart, not for its physics. It is shorter than what counts as death.
    while cluster.back_since(RegionId(0), term).is_none() {
        assert!(stopped.elapsed() < Duration::from_secs(30), "not noticed");
        cluster.servers[&victim].signal("STOP");
        cluster.watch_for(Duration::from_millis(250)).await;
        cluster.servers[&victim].signal("CONT");
        std::thread::sleep(Duration::from_millis(3));
    }
    let took = back(&mut cluster, &its, stopped).await;
    println!("a slow server: replaced after {took:?}");
    cluster.watch_for(Duration::from_secs(5)).await;
    let (owner, _) = cluster.owner(RegionId(0)).expect("someone owns it");
    assert_ne!(owner, victim, "not back to who was too slow");
    assert!(cluster.regions_of(&victim).is_empty());
    let settled = cluster.settled_tick();
    cluster.check_all(settled - 120..settled);
}

/// The coordinator, and with it the control plane, dies and comes back: physics goes on, and afterwards deaths are noticed again.
#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_dies_does_not_stop_the_physics() {
    let mut cluster = ready("corner-stacks").await;
    let before = cluster.settled_tick();
    drop(cluster.coordinator.take());
    let stalls = Stalls::watch();
    cluster.watch_for(Duration::from_secs(4)).await;
    let without = cluster.settled_tick();
    let stall = stalls.longest(Instant::now()).unwrap_or_default();
    let due = 200_u64.saturating_sub((stall.as_secs_f64() * 60.0) as u64);
    assert!(
        without > before + due,
        "only {} ticks in 4 s",
        without - before
    );
    cluster.check_all(before..without);
    cluster.coordinator = Some(cluster.start_coordinator());
    cluster.watch_for(Duration::from_secs(8)).await;
    let (victim, _) = cluster.owner(RegionId(1)).expect("someone owns it");
    let its = cluster.regions_of(&victim);
    drop(cluster.servers.remove(&victim));
    back(&mut cluster, &its, Instant::now()).await;
    cluster.watch_for(Duration::from_secs(2)).await;
    cluster.check_afterwards().await;
}

/// With etcd another coordinator stands by; it leads when the first one's lease has run out.
#[cfg(feature = "distributed")]
#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_on_etcd_is_replaced_by_another() {
    let started = Cluster::start_with(setup("corner-stacks", Engines::Etcd)).await;
    let Some(mut cluster) = started else {
        return;
    };
    settle(&mut cluster).await;
    let _second = cluster.start_coordinator();
    cluster.watch_for(Duration::from_secs(1)).await;
    let leader = |cluster: &Cluster| Some(cluster.view().leader.as_ref()?.node);
    let first = leader(&cluster).expect("one leads");
    let stalls = Stalls::watch();
    let before = cluster.settled_tick();
    drop(cluster.coordinator.take());
    let patience = Duration::from_secs(60);
    cluster
        .watch_until("the other one leads", patience, |cluster| {
            leader(cluster).is_some_and(|now| now != first)
        })
        .await;
    // It does not take for dead whom it has not had the time to hear.
    cluster.watch_for(Duration::from_secs(3)).await;
    match stalls.longest(Instant::now()) {
        None => drop(cluster.check_all(before..cluster.settled_tick())),
        Some(_) => cluster.check_afterwards().await,
    }
    let (victim, _) = cluster.owner(RegionId(1)).expect("someone owns it");
    let its = cluster.regions_of(&victim);
    let killed = Instant::now();
    drop(cluster.servers.remove(&victim));
    let took = back(&mut cluster, &its, killed).await;
    stalls.judge(took, BACK, killed);
    cluster.watch_for(Duration::from_secs(2)).await;
    cluster.check_afterwards().await;
}

/// A gateway dies: physics does not notice, its clients go to another one or wait until it is back, by themselves, and see everything again.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_dies_is_replaced_without_stopping_the_physics() {
    let patient = Setup {
        coordinator: PATIENT,
        ..setup("corner-stacks", Engines::Embedded)
    };
    let mut cluster = ready_with(patient).await;
    let (first, second) = (free_address(), free_address());
    let gateway = cluster.start_gateway(first);
    cluster.invite(1, &[first, second]).await;
    cluster.invite(1, &[first]).await;
    // Only now: whoever finds no gateway at the first address tries the second.
    let _other = cluster.start_gateway(second);
    cluster.check_onlookers(Duration::from_secs(30)).await;
    let before = cluster.settled_tick();
    drop(gateway);
    cluster
        .watch_until("one has gone to the other", Duration::from_secs(30), |it| {
            it.onlookers[0].story().reconnected == 1 && it.onlookers[1].story().lost == 1
        })
        .await;
    let waiting = cluster.onlookers[1].story();
    assert_eq!(
        (waiting.lost, waiting.reconnected),
        (1, 0),
        "it has no other"
    );
    let _again = cluster.start_gateway(first);
    cluster
        .watch_until("the other is back", Duration::from_secs(60), |it| {
            it.onlookers[1].story().reconnected == 1
        })
        .await;
    cluster.check_onlookers(Duration::from_secs(30)).await;
    let after = cluster.settled_tick();
    let (all, judged) = cluster.check_all(before..after);
    println!("gateway killed: {judged} of {all} ticks judged");
}

/// Servers join and leave a running world; whoever leaves gives everything away first, and no tick of any body is lost. The watcher is told every
/// one of them: those who are told what happens move with the region.
#[tokio::test(flavor = "multi_thread")]
async fn servers_join_and_leave_without_losing_a_tick() {
    let patient = Setup {
        servers: 2,
        coordinator: PATIENT,
        ..setup("corner-stacks", Engines::Embedded)
    };
    let mut cluster = Cluster::start_with(patient).await.expect("embedded");
    cluster
        .watch_until("everyone steps", Duration::from_secs(30), |cluster| {
            cluster.roll.newest.len() == REGIONS as usize && cluster.is_safe()
        })
        .await;
    cluster.watch_for(Duration::from_secs(1)).await;
    let first = cluster.settled_tick();
    cluster.add_server();
    cluster.add_server();
    let owners = |cluster: &Cluster| -> BTreeSet<String> {
        let regions = (0..REGIONS).map(RegionId);
        regions
            .filter_map(|region| Some(cluster.owner(region)?.0))
            .collect()
    };
    let patience = Duration::from_secs(60);
    cluster
        .watch_until("regions are spread over all", patience, |cluster| {
            owners(cluster).len() == 4
        })
        .await;
    for leaver in ["s0", "s1"] {
        let mut process = cluster.servers.remove(leaver).expect("it runs");
        process.signal("TERM");
        cluster
            .watch_until("it gives its regions away", patience, |cluster| {
                !owners(cluster).contains(leaver)
            })
            .await;
        assert!(process.wait().success());
    }
    cluster.watch_for(Duration::from_secs(2)).await;
    let (all, judged) = cluster.check_all(first..cluster.settled_tick());
    assert_eq!(all, judged, "the watcher hears every tick");
}
