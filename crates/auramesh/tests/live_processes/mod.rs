//! A cluster of real processes of the program, and someone who watches it from above.

use cluster::carrier::ClusterKey;
use cluster::names::{NodeId, Term};
use cluster::node::{Connection, Network, Node};
use cluster::observer::{Observer, Sight};
use cluster::schema::{ClusterView, Role, WorldOptions, WorldSpec};
use cluster::store::Remote;
use domain::{BodyId, RegionId};
use region::RegionEvent;
use scenes::Scene;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_auramesh");
const SECRET: &str = "the secret of the test cluster";

/// A spawn announced at a crowded border waits so long at most.
const LONGEST_BIRTH_SECS: f64 = 5.0;

/// A process that dies with the test.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    fn start(args: &[&str]) -> Self {
        let log = std::env::var("AURAMESH_LOG").unwrap_or_else(|_| "error".to_owned());
        let child = Command::new(PROGRAM)
            .args(args)
            .arg("--with-parent")
            .env("AURAMESH_CLUSTER_KEY", SECRET)
            .env("AURAMESH_LOG", log)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Self(child.expect("the program starts"))
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.0.id().to_string()])
            .status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.0.wait().expect("it was started")
    }
}

/// One cluster at a time: what is measured here is not how many of them a small machine can bear.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The processes and the watcher.
pub struct Cluster {
    _turn: tokio::sync::MutexGuard<'static, ()>,
    control: SocketAddr,
    pub coordinator: Option<Process>,
    pub servers: BTreeMap<String, Process>,
    started: u32,
    _node: Node,
    pub observer: Observer,
    pub roll: RollCall,
    world: WorldSpec,
    scene: Scene,
    regions: u32,
    folder: tempfile::TempDir,
    scene_name: String,
}

impl Cluster {
    /// A coordinator that keeps the control plane in a file, and so many servers for so many regions.
    pub async fn start(scene_name: &str, regions: u32, servers: u32) -> Self {
        let turn = TURN.lock().await;
        let control = free_address();
        let folder = tempfile::tempdir().expect("a folder");
        let key = ClusterKey::new(SECRET.as_bytes());
        let connection = Connection {
            cluster: "test".to_owned(),
            store: Arc::new(Remote::new(control, key.clone())),
            key,
            network: Network::loopback(),
            before: None,
        };
        let options = WorldOptions {
            regions: Some(regions as usize),
            ..WorldOptions::default()
        };
        let text = scenes::builtin::text(scene_name).expect("built in");
        let world = WorldSpec::new(text, None, &options).expect("fits");
        let scene = world.load_scene().expect("valid");
        let file = folder.path().join("control.json");
        let coordinator = start_coordinator(control, &file, scene_name, regions);
        let node = Node::join(&connection, Role::Observer, "test", None).await;
        let node = node.expect("joins");
        let observer = Observer::new(&node);
        let mut cluster = Self {
            _turn: turn,
            control,
            coordinator: Some(coordinator),
            servers: BTreeMap::new(),
            started: 0,
            _node: node,
            observer,
            roll: RollCall::default(),
            world,
            scene,
            regions,
            folder,
            scene_name: scene_name.to_owned(),
        };
        for _ in 0..servers {
            cluster.add_server();
        }
        cluster
    }

    /// Starts the coordinator again, from its file.
    pub fn restart_coordinator(&mut self) {
        let file = self.folder.path().join("control.json");
        let process = start_coordinator(self.control, &file, &self.scene_name, self.regions);
        self.coordinator = Some(process);
    }

    /// One more server; returns its name.
    pub fn add_server(&mut self) -> String {
        let name = format!("s{}", self.started);
        self.started += 1;
        let control = self.control.to_string();
        let args = [
            "server",
            "--cluster",
            "test",
            "--control",
            &control,
            "--name",
            &name,
        ];
        self.servers.insert(name.clone(), Process::start(&args));
        name
    }

    /// The control plane as the watcher knows it.
    pub fn view(&self) -> Arc<ClusterView> {
        self.observer.view()
    }

    /// Which server owns a region.
    pub fn owner(&self, region: RegionId) -> Option<(String, Term)> {
        let view = self.view();
        let seat = view.assignment.seat(region)?;
        let info = view.nodes.get(&seat.owner?)?;
        Some((info.name.clone(), seat.term))
    }

    /// Has every region a standby that is another living server?
    pub fn is_safe(&self) -> bool {
        let view = self.view();
        let alive = |node: NodeId| view.nodes.contains_key(&node);
        let safe = |seat: &cluster::schema::Seat| seat.standby.is_some_and(alive) && !seat.moving;
        view.assignment.seats.len() == self.regions as usize
            && view.assignment.seats.iter().all(safe)
    }

    /// Watches for some time.
    pub async fn watch_for(&mut self, time: Duration) {
        let until = Instant::now() + time;
        self.watch_until("time passes", time * 2, |_| Instant::now() >= until)
            .await;
    }

    /// Watches until something is so.
    pub async fn watch_until(
        &mut self,
        what: &str,
        patience: Duration,
        is_so: impl Fn(&Self) -> bool,
    ) {
        let give_up = Instant::now() + patience;
        while !is_so(self) {
            assert!(
                Instant::now() < give_up,
                "waited {patience:?} in vain: {what}"
            );
            let glance = Duration::from_millis(20);
            if let Ok(Sight::Tick(seen)) = tokio::time::timeout(glance, self.observer.next()).await
            {
                self.roll.hear(seen);
            }
        }
    }

    /// At this tick every body that must exist was stepped exactly once, and none that cannot exist (I1, I2, I8).
    pub fn check(&self, tick: u64) {
        let secs = |ticks: u64| ticks as f64 * self.world.boundary.step.as_secs();
        let mut must: BTreeSet<BodyId> = self.scene.bodies.iter().map(|body| body.id).collect();
        let mut may = must.clone();
        for spawn in self.scene.spawns(self.world.seed) {
            if spawn.at + LONGEST_BIRTH_SECS <= secs(tick) {
                must.insert(spawn.body.id);
            }
            if spawn.at <= secs(tick) {
                may.insert(spawn.body.id);
            }
        }
        let seen = self.roll.ticks.get(&tick).cloned().unwrap_or_default();
        let distinct: BTreeSet<BodyId> = seen.iter().copied().collect();
        assert_eq!(seen.len(), distinct.len(), "doubled at tick {tick}");
        let lost: Vec<_> = must.difference(&distinct).collect();
        assert!(
            lost.is_empty(),
            "lost at tick {tick}: {}",
            self.last_seen(&lost)
        );
        let strange: Vec<_> = distinct.difference(&may).collect();
        assert!(strange.is_empty(), "unknown at tick {tick}: {strange:?}");
    }

    /// Has every region reported this tick?
    pub fn is_reported(&self, tick: u64) -> bool {
        let reports = self.roll.reports.get(&tick);
        reports.is_some_and(|regions| regions.len() == self.regions as usize)
    }

    /// Checks the newest tick that can be judged.
    pub fn check_latest(&self) {
        let settled = self.settled_tick();
        let recent = (settled.saturating_sub(60)..=settled).rev();
        let tick = recent.into_iter().find(|tick| self.is_reported(*tick));
        self.check(tick.expect("the world was watched in the last second"));
    }

    /// Checks all ticks that can be judged: nearly all of them.
    pub fn check_all(&self, ticks: std::ops::Range<u64>) {
        let all = ticks.end.saturating_sub(ticks.start);
        let reported: Vec<u64> = ticks.filter(|tick| self.is_reported(*tick)).collect();
        for tick in &reported {
            self.check(*tick);
        }
        let judged = reported.len() as u64;
        assert!(
            judged * 10 >= all * 9,
            "only {judged} of {all} ticks were reported"
        );
    }

    fn last_seen(&self, bodies: &[&BodyId]) -> String {
        let of = |body: &&BodyId| {
            let seen = self.roll.ticks.iter().filter(|(_, ids)| ids.contains(body));
            let ticks: Vec<u64> = seen.map(|(tick, _)| *tick).collect();
            let (first, last) = (ticks.first(), ticks.last());
            format!(
                "{body} (seen {} times, from {first:?} to {last:?})",
                ticks.len()
            )
        };
        let lines: Vec<String> = bodies.iter().take(8).map(of).collect();
        format!("{} bodies: {}", bodies.len(), lines.join(", "))
    }

    /// When the region was first seen stepping under a later owner than that of this term.
    pub fn back_since(&self, region: RegionId, term: Term) -> Option<Instant> {
        let later = (region, term.next())..=(region, Term(u32::MAX));
        self.roll.first_step.range(later).next().map(|(_, at)| *at)
    }

    /// The last tick that all regions have reported long ago enough that bodies on their way have arrived.
    pub fn settled_tick(&self) -> u64 {
        let regions = self.regions as usize;
        let newest = self.roll.newest.values().copied();
        assert_eq!(self.roll.newest.len(), regions, "all regions report");
        newest.min().unwrap_or(0).saturating_sub(30)
    }
}

fn start_coordinator(
    control: SocketAddr,
    file: &std::path::Path,
    scene: &str,
    regions: u32,
) -> Process {
    let control = control.to_string();
    let (regions, file) = (regions.to_string(), file.display().to_string());
    Process::start(&[
        "coordinator",
        "--cluster",
        "test",
        "--serve-control",
        &control,
        "--control-file",
        &file,
        "--scene",
        scene,
        "--regions",
        &regions,
    ])
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback works");
    listener.local_addr().expect("bound")
}

/// By tick, who was stepped or caught up.
#[derive(Default)]
pub struct RollCall {
    pub ticks: BTreeMap<u64, Vec<BodyId>>,
    /// Which regions have reported which tick. (A watcher that has not yet found a region's new owner misses some.)
    pub reports: BTreeMap<u64, BTreeSet<RegionId>>,
    /// The newest tick that each region has stepped.
    pub newest: BTreeMap<RegionId, u64>,
    /// When each region was first seen stepping under each owner.
    pub first_step: BTreeMap<(RegionId, Term), Instant>,
}

impl RollCall {
    fn hear(&mut self, seen: cluster::observer::Seen) {
        for event in &seen.record.before_step {
            if let RegionEvent::CaughtUp { tick, bodies, .. } = event {
                let ids = bodies.iter().map(|(id, _)| *id);
                self.ticks.entry(tick.0).or_default().extend(ids);
            }
        }
        let Some(bodies) = &seen.record.bodies else {
            return;
        };
        let region = seen.place.region;
        self.first_step
            .entry((region, seen.term))
            .or_insert_with(Instant::now);
        let tick = seen.record.tick.0;
        self.newest.insert(region, tick);
        self.reports.entry(tick).or_default().insert(region);
        let ids = bodies.iter().map(|(id, _)| *id);
        self.ticks.entry(tick).or_default().extend(ids);
    }
}
