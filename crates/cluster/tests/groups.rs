//! Servers measure how far they are from each other, and a coordinator makes groups of it: real sockets, with a delay that is made on purpose.

use channel::EndpointId;
use cluster::carrier::{Carrier, ClusterKey, Traffic};
use cluster::coordinator::{Coordinator, PlannerSettings};
use cluster::groups::{self, GroupSettings};
use cluster::metrics;
use cluster::node::{Connection, Network, Node};
use cluster::schema::{ClusterView, Role};
use cluster::store::{Embedded, Store};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// One at a time: what is measured here is not how busy the machine is.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
const FAR_MS: u64 = 160;
const PATIENCE: Duration = Duration::from_secs(40);

/// Wide enough for a busy machine, quick enough for a test.
fn settings() -> GroupSettings {
    GroupSettings {
        inclusion_ms: 40.0,
        rejection_ms: 80.0,
        deviation_ms: 400.0,
        ping_ms: 100.0,
        longest_ping_ms: 500.0,
        window: 6,
        stay_ms: 500.0,
    }
}

/// Sends later.
struct Late {
    carrier: Arc<dyn Carrier>,
    delay_ms: Arc<AtomicU64>,
}

impl Carrier for Late {
    fn send(&self, from: EndpointId, to: EndpointId, bytes: &[u8]) {
        let delay = self.delay_ms.load(Relaxed);
        if delay == 0 {
            return self.carrier.send(from, to, bytes);
        }
        let (carrier, bytes) = (Arc::clone(&self.carrier), bytes.to_vec());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            carrier.send(from, to, &bytes);
        });
    }

    fn set_routes(&self, routes: FxHashMap<EndpointId, SocketAddr>) {
        self.carrier.set_routes(routes);
    }

    fn traffic(&self) -> Traffic {
        self.carrier.traffic()
    }
}

/// A process that only measures.
struct Server {
    node: Node,
    delay_ms: Arc<AtomicU64>,
    stop: watch::Sender<bool>,
}

struct Stage {
    connection: Connection,
    watcher: Node,
}

impl Stage {
    async fn new() -> Self {
        let connection = Connection {
            cluster: "test".to_owned(),
            store: Arc::new(Embedded::in_memory()) as Arc<dyn Store>,
            key: ClusterKey::none(),
            network: Network::loopback(),
            before: None,
        };
        let watcher = Node::join(&connection, Role::Observer, "o", None).await;
        Self {
            connection,
            watcher: watcher.expect("joins"),
        }
    }

    async fn coordinator(&self, name: &str, groups: Option<GroupSettings>) -> watch::Sender<bool> {
        let (stop, stopped) = watch::channel(false);
        let settings = PlannerSettings {
            groups,
            ..PlannerSettings::default()
        };
        Coordinator::start(&self.connection, name, settings, None, stopped)
            .await
            .expect("joins");
        stop
    }

    async fn server(&self, name: &str, delay_ms: u64) -> Server {
        let delay_ms = Arc::new(AtomicU64::new(delay_ms));
        let delay = Arc::clone(&delay_ms);
        let connection = Connection {
            before: Some(Arc::new(move |carrier| {
                let delay_ms = Arc::clone(&delay);
                Arc::new(Late { carrier, delay_ms })
            })),
            ..self.connection.clone()
        };
        let node = Node::join(&connection, Role::Server, name, None).await;
        let node = node.expect("joins");
        let (stop, stopped) = watch::channel(false);
        groups::follow(&node, stopped);
        Server {
            node,
            delay_ms,
            stop,
        }
    }

    fn view(&self) -> Arc<ClusterView> {
        self.watcher.membership.view().borrow().clone()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&ClusterView) -> bool) {
        let since = Instant::now();
        while !is_so(&self.view()) {
            let groups = self.view().groups.clone();
            assert!(since.elapsed() < PATIENCE, "not {what}: {groups:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        println!("{what}: after {:.1} s", since.elapsed().as_secs_f64());
    }

    async fn until_groups(&self, expected: &[&[&str]]) {
        self.until(&format!("{expected:?}"), |view| are(view, expected))
            .await;
    }
}

/// By their names, that which shares the world first.
fn are(view: &ClusterView, expected: &[&[&str]]) -> bool {
    let name = |node| view.nodes.get(node).map(|info| info.name.as_str());
    let groups = view.groups.iter().flat_map(|it| &it.groups);
    let groups: Vec<BTreeSet<&str>> = groups
        .map(|group| group.iter().filter_map(name).collect())
        .collect();
    let expected = expected.iter();
    let expected: Vec<BTreeSet<&str>> = expected
        .map(|group| group.iter().copied().collect())
        .collect();
    groups == expected
}

fn leader(view: &ClusterView) -> Option<String> {
    let leader = view.nodes.get(&view.leader.as_ref()?.node)?;
    Some(leader.name.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gets_slow_is_put_out_and_who_is_near_again_comes_in() {
    let _turn = TURN.lock().await;
    let stage = Stage::new().await;
    let coordinator = stage.coordinator("c", Some(settings())).await;
    let mut servers = Vec::new();
    for (name, delay_ms) in [("a", 0), ("b", 0), ("far", FAR_MS)] {
        servers.push(stage.server(name, delay_ms).await);
    }
    stage.until_groups(&[&["a", "b"], &["far"]]).await;
    servers[2].delay_ms.store(0, Relaxed);
    stage.until_groups(&[&["a", "b", "far"]]).await;
    servers[2].delay_ms.store(FAR_MS, Relaxed);
    stage.until_groups(&[&["a", "b"], &["far"]]).await;
    let seen = servers[0].node.groups.delays_ms();
    let [near, far] = [1, 2].map(|server| seen[&servers[server].node.id]);
    // Some of the last answers may be from before.
    assert!(far > settings().rejection_ms && far < 2000.0, "{far} ms");
    assert!(near < settings().rejection_ms, "{near} ms");
    let page = metrics::of_groups(&servers[0].node.groups, &stage.view());
    assert!(page.contains("\nauramesh_groups 2\n"), "{page}");
    assert!(page.contains("\nauramesh_group_members 2\n"), "{page}");
    assert!(page.contains("name=\"far\"} 0."), "{page}");
    // One that leaves says so, and is nobody's any more.
    servers[1].node.membership.announce_leaving();
    servers[1].stop.send_replace(true);
    stage.until_groups(&[&["a"], &["far"]]).await;
    coordinator.send_replace(true);
}

/// A coordinator that takes over has measured nobody: what it knows is what the one before has written down, until it knows better. At no time is a server outside that was inside, or
/// the other way round.
#[tokio::test(flavor = "multi_thread")]
async fn another_coordinator_goes_on_with_the_groups_and_measures_for_itself() {
    let _turn = TURN.lock().await;
    let stage = Stage::new().await;
    let first = stage.coordinator("first", Some(settings())).await;
    stage
        .until("the first leads", |view| {
            leader(view).as_deref() == Some("first")
        })
        .await;
    let mut servers = Vec::new();
    for (name, delay_ms) in [("a", 0), ("b", 0), ("far", FAR_MS)] {
        servers.push(stage.server(name, delay_ms).await);
    }
    let expected: &[&[&str]] = &[&["a", "b"], &["far"]];
    stage.until_groups(expected).await;
    let second = stage.coordinator("second", Some(settings())).await;
    first.send_replace(true);
    stage
        .until("the second leads", |view| {
            leader(view).as_deref() == Some("second")
        })
        .await;
    let until = Instant::now() + Duration::from_secs(8);
    while Instant::now() < until {
        let view = stage.view();
        assert!(are(&view, expected), "{:?}", view.groups);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let view = stage.view();
    let told = view.groups.as_ref().map(|it| it.coordinator);
    assert_eq!(told, view.leader.as_ref().map(|leader| leader.node));
    // Only who has joined the second one can be moved by it.
    servers[2].delay_ms.store(0, Relaxed);
    stage.until_groups(&[&["a", "b", "far"]]).await;
    // And one that does not care ends it for everyone.
    let third = stage.coordinator("third", None).await;
    second.send_replace(true);
    stage
        .until("groups are off", |view| {
            view.groups.is_none() && leader(view).as_deref() == Some("third")
        })
        .await;
    let since = Instant::now();
    while !servers[0].node.groups.delays_ms().is_empty() {
        assert!(since.elapsed() < PATIENCE, "it still measures");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    third.send_replace(true);
}
