//! One time for all processes: on one machine their clocks, and so their ticks, are within a millisecond, and within the bound that each reports.

#[allow(dead_code, reason = "shared with other tests")]
mod live_common;

use cluster::clock::ClusterClock;
use cluster::coordinator::{Coordinator, PlannerSettings};
use cluster::node::Node;
use cluster::schema::Role;
use cluster::server::{HostSettings, Server};
use live_common::{Cluster, world};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

const SERVERS: usize = 4;
const MILLISECOND: f64 = 1e-3;

/// Each clock counts from its own beginning and knows the others' only from heartbeats over real sockets; in one process they can be compared.
#[tokio::test(flavor = "multi_thread")]
async fn clocks_of_servers_agree_within_a_millisecond_and_within_their_bounds() {
    let cluster = Cluster::new();
    let (stop, stopped) = watch::channel(false);
    let node = Node::join(&cluster.connection, Role::Coordinator, "c", None).await;
    let node = node.expect("joins");
    let reference = Arc::clone(&node.clock);
    let world = Some(world("orbit", SERVERS));
    let settings = PlannerSettings::default();
    tokio::spawn(Coordinator::serve(node, settings, world, stopped.clone()));
    let mut clocks: Vec<Arc<ClusterClock>> = Vec::new();
    for n in 0..SERVERS {
        // They begin at different times.
        tokio::time::sleep(Duration::from_millis(37)).await;
        let name = format!("s{n}");
        let node = Node::join(&cluster.connection, Role::Server, &name, None).await;
        let node = node.expect("joins");
        clocks.push(Arc::clone(&node.clock));
        let server = Server::new(
            node.id,
            node.clock,
            node.carrier,
            node.switchboard,
            HostSettings::default(),
        );
        tokio::spawn(
            server
                .expect("starts")
                .run(node.membership, stopped.clone()),
        );
    }
    let start = Instant::now();
    while clocks.iter().any(|clock| clock.common().is_none()) {
        assert!(start.elapsed() < Duration::from_secs(20), "no common time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The first answers may have waited for a busy machine.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (mut worst, mut worst_bound, mut samples) = (0.0_f64, 0.0_f64, 0);
    for _ in 0..300 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        for clock in &clocks {
            let before = reference.machine().0 as i128;
            let common = clock.common().expect("known").0 as i128;
            let bound = clock.bound().expect("known").0 as i128;
            let after = reference.machine().0 as i128;
            // The machine may have done something else in between: the truth lies somewhere there.
            let error = (before - common).max(common - after).max(0);
            assert!(error <= bound, "off by {error} ns, the bound is {bound} ns");
            worst = worst.max(error as f64 * 1e-9);
            worst_bound = worst_bound.max(bound as f64 * 1e-9);
            samples += 1;
        }
    }
    println!(
        "{samples} looks at {SERVERS} clocks: off by at most {:.3} ms, bounds up to {:.3} ms",
        worst * 1e3,
        worst_bound * 1e3
    );
    assert!(worst < MILLISECOND, "off by {worst} s");
    stop.send_replace(true);
}
