//! `auramesh demo`: everything on this machine, and where to look at it.

use crate::Status;
use crate::args::DemoArgs;
use crate::cluster_process::{block_on, ended, start_logging, stop_signal};
use crate::coordinator::world_of;
use crate::local_cluster::{Ground, LocalCluster};
use crate::output::print;
use cluster::gateway::{Gateway, GatewaySettings};
use cluster::node::Node;
use cluster::schema::{Role, WorldOptions};
use cluster::server::HostSettings;
use std::net::SocketAddr;
use std::time::Duration;

/// How often it is looked after servers that have died.
const LOOK: Duration = Duration::from_millis(500);

/// Shows it until Ctrl-C.
pub fn run(args: &DemoArgs) -> Status {
    start_logging("warn");
    ended(block_on(demo(args)).and_then(|result| result))
}

async fn demo(args: &DemoArgs) -> Result<(), String> {
    let options = WorldOptions {
        regions: Some(args.servers),
        ..WorldOptions::default()
    };
    let mut world = world_of(&args.scene, &options)?;
    let servers = world.map.len();
    world.min_servers = servers;
    let bind = SocketAddr::from(([127, 0, 0, 1], args.port));
    let settings = GatewaySettings {
        feed_ticks: HostSettings::default().feed_ticks,
        ..GatewaySettings::new(bind)
    };
    let gateway = Gateway::bind(settings)
        .await
        .map_err(|error| format!("{error} (--port chooses another one, 0 any that is free)"))?;
    let mut stop = stop_signal(false);
    let mut cluster = LocalCluster::start(world, servers, Ground::default()).await?;
    let url = gateway.url();
    let node = Node::join(
        cluster.connection(),
        Role::Gateway,
        "gateway",
        Some(url.clone()),
    )
    .await;
    let node = node.map_err(|error| format!("cannot start a gateway: {error}"))?;
    let serving = tokio::spawn(gateway.run(node, stop.clone()));
    print(&format!(
        "{}: {servers} region servers on this machine (processes {})\n{url}\nCtrl-C ends everything.\n",
        args.scene,
        cluster.process_ids()
    ));
    loop {
        tokio::select! {
            () = cluster::node::stopped(&mut stop) => break,
            () = tokio::time::sleep(LOOK) => cluster.replace_dead()?,
        }
    }
    let _ = serving.await;
    cluster.stop().await;
    Ok(())
}
