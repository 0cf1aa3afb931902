//! A server that is cut off lives on, alone; its regions go on elsewhere, and when the cut heals nobody listens to it.

#[allow(dead_code, reason = "shared with other tests")]
mod live_common;
mod stalls;

use async_trait::async_trait;
use channel::EndpointId;
use cluster::carrier::{Carrier, Traffic};
use cluster::names::{NodeId, Term};
use cluster::node::{Connection, Network, Node};
use cluster::observer::{Observer, Sight};
use cluster::schema::Role;
use cluster::server::{HostSettings, Server, ServerGauges};
use cluster::store::{Change, LeaseId, Listing, Revision, Store, StoreError, Transaction};
use domain::{BodyId, RegionId};
use live_common::{Cluster, start_bodies, world};
use region::RegionEvent;
use rustc_hash::FxHashMap;
use stalls::Stalls;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

const REGIONS: u32 = 3;
/// What takes over was sent in pieces, as the snapshot of a large region is.
const PIECE_BYTES: usize = 16;
/// One cluster at a time: how long it takes is measured.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// What is cut off one process.
#[derive(Default)]
struct Cuts {
    /// What it says does not leave.
    speech: AtomicBool,
    /// What it is told does not arrive.
    hearing: AtomicBool,
    /// The control plane does not answer it.
    control: AtomicBool,
}

/// A carrier whose datagrams may be cut off.
struct Muted {
    carrier: Arc<dyn Carrier>,
    cuts: Arc<Cuts>,
}

impl Carrier for Muted {
    fn send(&self, from: EndpointId, to: EndpointId, bytes: &[u8]) {
        if !self.cuts.speech.load(Relaxed) {
            self.carrier.send(from, to, bytes);
        }
    }

    fn set_routes(&self, routes: FxHashMap<EndpointId, SocketAddr>) {
        self.carrier.set_routes(routes);
    }

    fn traffic(&self) -> Traffic {
        self.carrier.traffic()
    }
}

/// A control plane that may be out of reach.
struct Remote {
    store: Arc<dyn Store>,
    cuts: Arc<Cuts>,
}

impl Remote {
    fn reach(&self) -> Result<&dyn Store, StoreError> {
        match self.cuts.control.load(Relaxed) {
            true => Err(StoreError::Unreachable("cut off".to_owned())),
            false => Ok(&*self.store),
        }
    }
}

#[async_trait]
impl Store for Remote {
    async fn grant(&self, ttl: Duration) -> Result<LeaseId, StoreError> {
        self.reach()?.grant(ttl).await
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<(), StoreError> {
        self.reach()?.keep_alive(lease).await
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), StoreError> {
        self.reach()?.revoke(lease).await
    }

    async fn list(&self, prefix: &str) -> Result<Listing, StoreError> {
        self.reach()?.list(prefix).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Revision, StoreError> {
        self.reach()?.commit(transaction).await
    }

    /// While it is cut off changes wait, as they do in a connection that hangs.
    async fn watch(
        &self,
        prefix: &str,
        after: Revision,
    ) -> Result<mpsc::Receiver<Change>, StoreError> {
        let mut changes = self.reach()?.watch(prefix, after).await?;
        let (sender, receiver) = mpsc::channel(64);
        let cuts = Arc::clone(&self.cuts);
        tokio::spawn(async move {
            while let Some(change) = changes.recv().await {
                while cuts.control.load(Relaxed) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                if sender.send(change).await.is_err() {
                    return;
                }
            }
        });
        Ok(receiver)
    }
}

/// Passes datagrams on to a process, unless it is cut off.
fn hallway(to: SocketAddr, cuts: Arc<Cuts>) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback works");
    let address = socket.local_addr().expect("bound");
    // It ends with the test's process.
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, _)) = socket.recv_from(&mut buffer) {
            if !cuts.hearing.load(Relaxed) {
                let _ = socket.send_to(&buffer[..length], to);
            }
        }
    });
    address
}

struct CuttableServer {
    node: NodeId,
    cuts: Arc<Cuts>,
    gauges: ServerGauges,
    _stop: watch::Sender<bool>,
}

impl CuttableServer {
    async fn start(connection: &Connection, name: &str) -> Self {
        let cuts = Arc::new(Cuts::default());
        let bind = {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback works");
            socket.local_addr().expect("bound")
        };
        let before = Arc::clone(&cuts);
        let connection = Connection {
            store: Arc::new(Remote {
                store: Arc::clone(&connection.store),
                cuts: Arc::clone(&cuts),
            }),
            network: Network::Udp {
                bind,
                advertise: Some(hallway(bind, Arc::clone(&cuts))),
            },
            before: Some(Arc::new(move |carrier| {
                let cuts = Arc::clone(&before);
                Arc::new(Muted { carrier, cuts })
            })),
            ..connection.clone()
        };
        let node = Node::join(&connection, Role::Server, name, None).await;
        let node = node.expect("joins");
        let id = node.id;
        let server = Server::new(
            id,
            node.clock,
            node.carrier,
            node.switchboard,
            HostSettings {
                piece_bytes: PIECE_BYTES,
                ..HostSettings::default()
            },
        );
        let server = server.expect("starts");
        let gauges = server.gauges();
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(server.run(node.membership, stopped));
        Self {
            node: id,
            cuts,
            gauges,
            _stop: stop,
        }
    }
}

/// What the watcher has seen.
#[derive(Default)]
struct Watched {
    /// By tick and region's owner: who was stepped.
    ticks: BTreeMap<u64, Vec<(RegionId, Term, Vec<BodyId>)>>,
    newest: BTreeMap<RegionId, (Term, u64)>,
}

impl Watched {
    async fn until(&mut self, observer: &mut Observer, what: &str, so: impl Fn(&Self) -> bool) {
        let give_up = Instant::now() + Duration::from_secs(30);
        while !so(self) {
            assert!(Instant::now() < give_up, "in vain: {what}");
            let next = tokio::time::timeout(Duration::from_millis(20), observer.next());
            let Ok(Sight::Tick(seen)) = next.await else {
                continue;
            };
            let (region, term) = (seen.place.region, seen.term);
            for event in &seen.record.before_step {
                if let RegionEvent::CaughtUp { tick, bodies, .. } = event {
                    let ids = bodies.iter().map(|(id, _)| *id).collect();
                    self.ticks
                        .entry(tick.0)
                        .or_default()
                        .push((region, term, ids));
                }
            }
            if let Some(bodies) = &seen.record.bodies {
                let ids = bodies.iter().map(|(id, _)| *id).collect();
                let tick = seen.record.tick.0;
                self.ticks
                    .entry(tick)
                    .or_default()
                    .push((region, term, ids));
                self.newest.insert(region, (term, tick));
            }
        }
    }

    fn slowest(&self) -> u64 {
        let newest = self.newest.values().map(|(_, tick)| *tick);
        newest.min().unwrap_or(0)
    }

    /// At these ticks everyone was stepped exactly once, by whoever.
    fn check(&self, ticks: std::ops::Range<u64>, expected: &BTreeSet<BodyId>) {
        for tick in ticks {
            let stepped = self.ticks.get(&tick).into_iter().flatten();
            let all: Vec<BodyId> = stepped.flat_map(|(_, _, ids)| ids.clone()).collect();
            let distinct: BTreeSet<BodyId> = all.iter().copied().collect();
            assert_eq!(&distinct, expected, "lost at tick {tick}");
            assert_eq!(all.len(), distinct.len(), "doubled at tick {tick}");
        }
    }
}

/// Cuts the owner of region 0 off as told, heals it later.
async fn cut_off(cut: impl Fn(&Cuts, bool)) {
    let _turn = TURN.lock().await;
    let stalls = Stalls::watch();
    let world = world("orbit", REGIONS as usize);
    let expected = start_bodies(&world);
    let cluster = Cluster::new();
    let (_node, mut observer) = cluster.observer().await;
    cluster.coordinator(world).await;
    let mut servers = Vec::new();
    for n in 0..=REGIONS {
        let name = format!("s{n}");
        servers.push(CuttableServer::start(&cluster.connection, &name).await);
    }
    let mut watched = Watched::default();
    let what = "everyone steps";
    watched
        .until(&mut observer, what, |it| {
            it.newest.len() == REGIONS as usize && it.slowest() > 90
        })
        .await;
    let seat = *observer
        .view()
        .assignment
        .seat(RegionId(0))
        .expect("a seat");
    let victim = servers
        .iter()
        .find(|server| Some(server.node) == seat.owner);
    let victim = victim.expect("one of ours");
    let mut its = victim.gauges.regions().into_iter();
    let (_, _, its) = its.next().expect("it has one");
    let pieces = its.snapshot_bytes.div_ceil(PIECE_BYTES as u64);
    println!("its snapshot travels in {pieces} pieces");
    assert!(pieces > 2, "in {pieces} pieces");
    cut(&victim.cuts, true);
    let since = Instant::now();
    let later = |watched: &Watched| watched.newest[&RegionId(0)].0 > seat.term;
    watched
        .until(&mut observer, "its region steps elsewhere", later)
        .await;
    let took = since.elapsed();
    println!("back after {took:?}");
    stalls.judge(took, Duration::from_secs(1), since);
    let recovered = watched.slowest();
    let alone = Duration::from_secs(3);
    watched
        .until(&mut observer, "some time passes", |_| {
            since.elapsed() > alone
        })
        .await;
    // It heals; whoever was alone has much to say, under a term that is over.
    cut(&victim.cuts, false);
    let healed = watched.slowest();
    watched
        .until(&mut observer, "time goes on", |it| {
            it.slowest() > healed + 180
        })
        .await;
    let last = watched.slowest().saturating_sub(30);
    watched.check(recovered + 30..last, &expected);
    let (term, _) = watched.newest[&RegionId(0)];
    assert!(term > seat.term, "nobody went back to the old owner");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_cut_off_from_everything_is_replaced_and_fenced() {
    cut_off(|cuts, cut| {
        cuts.speech.store(cut, Relaxed);
        cuts.hearing.store(cut, Relaxed);
        cuts.control.store(cut, Relaxed);
    })
    .await;
}

/// It hears everything, and the control plane answers it; but nobody hears it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_nobody_hears_is_replaced_and_fenced() {
    cut_off(|cuts, cut| cuts.speech.store(cut, Relaxed)).await;
}
