//! Servers, coordinator and control plane for real, each with its own sockets and threads, in one process so that a test sees them all.

use cluster::carrier::ClusterKey;
use cluster::coordinator::{Coordinator, PlannerSettings};
use cluster::node::{Connection, Network, Node};
use cluster::observer::{Observer, Sight};
use cluster::schema::{Role, WorldOptions, WorldSpec};
use cluster::server::{HostSettings, Server, ServerGauges};
use cluster::store::{Embedded, Store};
use domain::BodyId;
use region::RegionEvent;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A built-in scene as a world to be started.
pub fn world(name: &str, servers: usize) -> WorldSpec {
    let text = scenes::builtin::text(name).expect("built in");
    let options = WorldOptions {
        regions: Some(servers),
        ..WorldOptions::default()
    };
    WorldSpec::new(text, None, &options).expect("fits")
}

/// A cluster without its processes.
pub struct Cluster {
    pub connection: Connection,
    stop: watch::Sender<bool>,
}

/// A running server.
pub struct Running {
    /// How its regions are doing.
    #[allow(dead_code, reason = "not every test looks")]
    pub gauges: ServerGauges,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    /// Asks it to leave, and waits until it has.
    pub async fn leave(self) {
        self.stop.send_replace(true);
        self.task.await.expect("it ends well");
    }
}

impl Cluster {
    pub fn new() -> Self {
        let connection = Connection {
            cluster: "test".to_owned(),
            store: Arc::new(Embedded::in_memory()) as Arc<dyn Store>,
            key: ClusterKey::none(),
            network: Network::loopback(),
            before: None,
        };
        Self {
            connection,
            stop: watch::channel(false).0,
        }
    }

    pub async fn observer(&self) -> (Node, Observer) {
        let node = Node::join(&self.connection, Role::Observer, "o", None)
            .await
            .expect("joins");
        let observer = Observer::new(&node);
        (node, observer)
    }

    pub async fn coordinator(&self, world: WorldSpec) {
        let (settings, stop) = (PlannerSettings::default(), self.stop.subscribe());
        Coordinator::start(&self.connection, "c", settings, Some(world), stop)
            .await
            .expect("joins");
    }

    pub async fn server(&self, name: &str) -> Running {
        let node = Node::join(&self.connection, Role::Server, name, None)
            .await
            .expect("joins");
        let settings = HostSettings::default();
        let server = Server::new(
            node.id,
            node.clock,
            node.carrier,
            node.switchboard,
            settings,
        );
        let (stop, stopped) = watch::channel(false);
        let server = server.expect("starts");
        let gauges = server.gauges();
        let task = tokio::spawn(server.run(node.membership, stopped));
        Running { gauges, stop, task }
    }
}

/// By tick, who was stepped or caught up.
#[derive(Default)]
pub struct RollCall {
    ticks: BTreeMap<u64, Vec<BodyId>>,
    reports: BTreeMap<u64, u32>,
    pub migrations: usize,
}

impl RollCall {
    /// Watches until all regions have reported this tick.
    pub async fn watch(&mut self, observer: &mut Observer, until: u64, regions: u32) {
        let watch = async {
            while self.reports.get(&until).copied().unwrap_or(0) < regions {
                let Sight::Tick(seen) = observer.next().await else {
                    continue;
                };
                *self.reports.entry(seen.record.tick.0).or_default() += 1;
                for event in &seen.record.before_step {
                    if let RegionEvent::CaughtUp { tick, bodies, .. } = event {
                        let ids = bodies.iter().map(|(id, _)| *id);
                        self.ticks.entry(tick.0).or_default().extend(ids);
                    }
                    self.migrations += usize::from(matches!(event, RegionEvent::Arrived { .. }));
                }
                let stepped = seen.record.bodies.iter().flatten().map(|(id, _)| *id);
                let stepped: Vec<BodyId> = stepped.collect();
                self.ticks
                    .entry(seen.record.tick.0)
                    .or_default()
                    .extend(stepped);
            }
        };
        tokio::time::timeout(Duration::from_secs(60), watch)
            .await
            .expect("the world goes on");
    }

    /// At these ticks everyone was stepped exactly once (I1, I2, I8).
    pub fn check(&self, ticks: std::ops::Range<u64>, expected: &BTreeSet<BodyId>) {
        for tick in ticks {
            let mut seen = self.ticks.get(&tick).cloned().unwrap_or_default();
            seen.sort_unstable();
            let distinct: BTreeSet<BodyId> = seen.iter().copied().collect();
            let twice = seen.len() - distinct.len();
            assert_eq!(twice, 0, "bodies were stepped twice at tick {tick}");
            assert_eq!(&distinct, expected, "at tick {tick}");
        }
    }
}

/// The bodies at the start.
pub fn start_bodies(world: &WorldSpec) -> BTreeSet<BodyId> {
    let scene = world.load_scene().expect("valid");
    scene.bodies.iter().map(|body| body.id).collect()
}
