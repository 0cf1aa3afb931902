//! A live cluster with a gateway, in one process.

use crate::live_common::{Cluster, Running, world};
use client::{Client, Event, Options};
use cluster::gateway::{Counters, Gateway, GatewaySettings};
use cluster::node::Node;
use cluster::schema::{Role, WorldSpec};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A gateway and the cluster behind it.
pub struct Live {
    pub cluster: Cluster,
    pub servers: Vec<Running>,
    pub url: String,
    pub counters: Arc<Counters>,
    stop: watch::Sender<bool>,
    gateway: JoinHandle<()>,
}

pub fn settings() -> GatewaySettings {
    GatewaySettings::new("127.0.0.1:0".parse().expect("an address"))
}

impl Live {
    /// A built-in scene on so many servers.
    pub async fn scene(name: &str, servers: usize) -> Self {
        Self::start(world(name, servers), servers, settings()).await
    }

    pub async fn start(world: WorldSpec, servers: usize, settings: GatewaySettings) -> Self {
        let cluster = Cluster::new();
        cluster.coordinator(world).await;
        let mut running = Vec::new();
        for n in 0..servers {
            running.push(cluster.server(&format!("s{n}")).await);
        }
        let gateway = Gateway::bind(settings).await.expect("listens");
        let counters = gateway.counters();
        let address = gateway.address();
        let url = Some(gateway.url());
        let node = Node::join(&cluster.connection, Role::Gateway, "g", url)
            .await
            .expect("joins");
        let (stop, stopped) = watch::channel(false);
        let gateway = tokio::spawn(gateway.run(node, stopped));
        Self {
            cluster,
            servers: running,
            url: format!("ws://{address}/ws"),
            counters,
            stop,
            gateway,
        }
    }

    pub async fn client(&self) -> Client {
        let connected = Client::connect(&self.url, Options::default()).await;
        connected.expect("lets us in")
    }

    pub async fn client_with(&self, options: Options) -> Client {
        let connected = Client::connect(&self.url, options).await;
        connected.expect("lets us in")
    }

    /// Ends the gateway.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.gateway.await.expect("it ends well");
    }
}

/// However soon something is expected: a machine that runs tests may be busy, and to be patient costs nothing when all is well.
const PATIENCE: f64 = 30.0;

/// Waits until something holds, for so many seconds and more if need be.
pub async fn until(secs: f64, what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let limit = Duration::from_secs_f64(secs.max(PATIENCE));
    let done = tokio::time::timeout(limit, waiting).await;
    assert!(done.is_ok(), "not within {limit:?}: {what}");
}

/// Waits for an event that fits; returns all that came before it, and it.
pub async fn wait_for(
    client: &mut Client,
    secs: f64,
    what: &str,
    mut fits: impl FnMut(&Event) -> bool,
) -> Vec<Event> {
    let mut seen = Vec::new();
    let waiting = async {
        loop {
            let event = client.next_event().await.expect("stays connected");
            let done = fits(&event);
            seen.push(event);
            if done {
                return;
            }
        }
    };
    let limit = Duration::from_secs_f64(secs.max(PATIENCE));
    let done = tokio::time::timeout(limit, waiting).await;
    assert!(done.is_ok(), "not within {limit:?}: {what}");
    seen
}
