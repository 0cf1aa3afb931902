//! `auramesh demo`: everything on this machine, and where to look at it.

use crate::Status;
use crate::args::DemoArgs;
use crate::cluster_process::{block_on, ended, start_logging, stop_signal};
use crate::coordinator::world_of;
use crate::local_cluster::{Ground, LocalCluster};
use crate::output::print;
use client_protocol::EmulatedNetwork;
use cluster::gateway::{DemoControls, Gateway, GatewayError, GatewaySettings};
use cluster::node::Node;
use cluster::schema::{Role, WorldOptions};
use cluster::server::HostSettings;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// How often it is looked after servers that have died.
const LOOK: Duration = Duration::from_millis(500);
/// The gateway's people get so long to say goodbye.
const FAREWELL: Duration = Duration::from_secs(3);
/// Wishes that wait; more must wait with whoever has them.
const MOST_WISHES: usize = 16;

/// Shows it until Ctrl-C, or for as long as was said.
pub fn run(args: &DemoArgs) -> Status {
    start_logging("warn");
    ended(block_on(demo(args)).and_then(|result| result))
}

/// What clients want of the demonstration itself.
enum Wish {
    Kill(String),
    Network(EmulatedNetwork),
}

/// Passes wishes on to whoever has the servers.
struct Hands {
    wishes: mpsc::Sender<(Wish, oneshot::Sender<Result<(), String>>)>,
    network: Mutex<EmulatedNetwork>,
}

impl Hands {
    async fn wish(&self, wish: Wish) -> Result<(), String> {
        let ending = || "the demonstration ends".to_owned();
        let (sender, answer) = oneshot::channel();
        let sent = self.wishes.send((wish, sender)).await;
        sent.map_err(|_| ending())?;
        answer.await.unwrap_or_else(|_| Err(ending()))
    }

    fn lock(&self) -> MutexGuard<'_, EmulatedNetwork> {
        let lock = self.network.lock();
        lock.unwrap_or_else(|poison| poison.into_inner())
    }
}

#[async_trait::async_trait]
impl DemoControls for Hands {
    async fn kill_server(&self, name: &str) -> Result<(), String> {
        self.wish(Wish::Kill(name.to_owned())).await
    }

    async fn set_network(&self, network: EmulatedNetwork) -> Result<(), String> {
        self.wish(Wish::Network(network)).await?;
        *self.lock() = network;
        Ok(())
    }

    fn network(&self) -> EmulatedNetwork {
        *self.lock()
    }
}

async fn demo(args: &DemoArgs) -> Result<(), String> {
    let options = WorldOptions {
        regions: Some(args.servers),
        aura: Some(args.aura.into()),
        handover: Some(args.handover.into()),
        ..WorldOptions::default()
    };
    let mut world = world_of(&args.scene, &options)?;
    let servers = world.map.len();
    world.min_servers = servers;
    let bind = SocketAddr::from(([127, 0, 0, 1], args.port));
    let settings = GatewaySettings {
        feed_ticks: HostSettings::default().feed_ticks,
        tokens: args.tokens_file.clone(),
        ..GatewaySettings::new(bind)
    };
    let gateway = Gateway::bind(settings).await.map_err(|error| {
        let hint = match error {
            GatewayError::Listen(..) => " (--port chooses another one, 0 any that is free)",
            _ => "",
        };
        format!("{error}{hint}")
    })?;
    let (wishes, mut wanted) = mpsc::channel(MOST_WISHES);
    let gateway = gateway.for_demo(Arc::new(Hands {
        wishes,
        network: Mutex::default(),
    }));
    let mut stop = stop_signal();
    let mut cluster = LocalCluster::start(world, servers, Ground::of_demo()).await?;
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
    let end = args
        .seconds
        .map(|secs| Instant::now() + Duration::from_secs_f64(secs));
    while end.is_none_or(|end| Instant::now() < end) {
        tokio::select! {
            () = cluster::node::stopped(&mut stop) => break,
            Some((wish, answer)) = wanted.recv() => {
                // Whoever asked may have gone.
                let _ = answer.send(fulfil(&mut cluster, wish).await);
            }
            () = tokio::time::sleep(LOOK) => {}
        }
        cluster.replace_dead().await?;
    }
    // If nobody has asked to stop, the gateway does not know that it ends.
    let farewell = if *stop.borrow() {
        FAREWELL
    } else {
        Duration::ZERO
    };
    let _ = tokio::time::timeout(farewell, serving).await;
    cluster.stop().await;
    Ok(())
}

async fn fulfil(cluster: &mut LocalCluster, wish: Wish) -> Result<(), String> {
    match wish {
        Wish::Kill(name) => cluster.kill(&name),
        Wish::Network(EmulatedNetwork {
            latency_ms,
            jitter_ms,
            loss,
        }) => {
            let conditions = format!("latency_ms={latency_ms},jitter_ms={jitter_ms},loss={loss}");
            cluster.set_network(conditions).await;
            Ok(())
        }
    }
}
