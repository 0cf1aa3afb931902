//! A live world: real sockets, real threads, real time.

mod live_common;

use live_common::{Cluster, RollCall, start_bodies, world};

#[tokio::test(flavor = "multi_thread")]
async fn every_body_is_stepped_exactly_once_per_tick_on_four_live_servers() {
    let world = world("orbit", 4);
    let expected = start_bodies(&world);
    let cluster = Cluster::new();
    let (_node, mut observer) = cluster.observer().await;
    cluster.coordinator(world).await;
    let mut servers = Vec::new();
    for n in 0..4 {
        servers.push(cluster.server(&format!("s{n}")).await);
    }
    let mut roll = RollCall::default();
    roll.watch(&mut observer, 240, 4).await;
    roll.check(30..200, &expected);
    assert!(roll.migrations > 0, "bodies cross borders in this scene");
    for server in servers {
        server.leave().await;
    }
}
