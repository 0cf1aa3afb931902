//! A cluster of real processes of the program, clients at its gateway, and someone who watches it from above.

// Not every test uses all of it.
#![allow(dead_code)]

#[cfg(feature = "distributed")]
#[path = "../../../cluster/tests/certificates/mod.rs"]
pub mod certificates;
#[cfg(feature = "distributed")]
#[path = "../../../cluster/tests/etcd_process/mod.rs"]
pub mod etcd_process;
mod onlookers;
mod roll_call;

pub use onlookers::Onlooker;
pub use roll_call::RollCall;

use cluster::carrier::ClusterKey;
use cluster::names::{NodeId, Term};
use cluster::node::{Connection, Network, Node};
use cluster::observer::{Observer, Sight};
use cluster::schema::{ClusterView, Role, WorldOptions, WorldSpec};
use cluster::store::{Remote, Store};
use domain::{BodyId, RegionId};
use scenes::Scene;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_auramesh");
const SECRET: &str = "the secret of the test cluster";

/// Ticks after which whatever was handed over has arrived, also on a busy machine.
const ON_THEIR_WAY: u64 = 60;
/// Everything has settled after so long, also on a busy machine.
const LONGEST_AFTERMATH: Duration = Duration::from_secs(90);
/// So many ticks without a change of owners can be judged.
const CALM_TICKS: usize = 30;
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
    /// The memory it uses now, as Linux counts it.
    pub fn resident_bytes(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.0.id());
        let text = std::fs::read_to_string(path).expect("it runs");
        let pages = text.split_whitespace().nth(1).expect("resident pages");
        pages.parse::<u64>().expect("a number") * 4096
    }

    fn start(args: &[String]) -> Self {
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

    /// Is it still there?
    pub fn is_alive(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Sends it a signal by name.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.0.id().to_string()])
            .status();
        assert!(status.expect("kill runs").success());
    }

    /// A line to its standard input.
    pub fn say(&mut self, line: &str) {
        use std::io::Write;
        let input = self.0.stdin.as_mut().expect("piped");
        writeln!(input, "{line}").expect("it reads");
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.0.wait().expect("it was started")
    }
}

/// One cluster at a time: what is measured here is not how many of them a small machine can bear.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Which engines the cluster runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engines {
    /// The control plane in the coordinator, datagrams over UDP.
    #[default]
    Embedded,
    /// The control plane in etcd.
    Etcd,
    /// Datagrams over Zenoh.
    Zenoh,
    /// The same with certificates on both sides of every link.
    ZenohTls,
}

/// How a cluster is set up.
pub struct Setup<'a> {
    pub engines: Engines,
    pub scene: &'a str,
    pub regions: u32,
    pub servers: u32,
    /// More lines for the coordinator's table of the config file.
    pub coordinator: &'a str,
}

/// The processes and the watcher.
pub struct Cluster {
    _turn: tokio::sync::MutexGuard<'static, ()>,
    control: Control,
    pub coordinator: Option<Process>,
    pub servers: BTreeMap<String, Process>,
    started: u32,
    _node: Node,
    pub observer: Observer,
    pub roll: RollCall,
    pub onlookers: Vec<Onlooker>,
    /// Bodies that clients have spawned.
    pub spawned: BTreeSet<BodyId>,
    pub world: WorldSpec,
    scene: Scene,
    regions: u32,
    folder: tempfile::TempDir,
    /// Whose certificates they have; its files go with it.
    _papers: Papers,
    scene_name: String,
}

/// Where the control plane is.
enum Control {
    Served(SocketAddr),
    #[cfg(feature = "distributed")]
    Etcd(etcd_process::EtcdProcess),
}

impl Control {
    /// How a process is told of it.
    fn flags(&self) -> [String; 2] {
        match self {
            Self::Served(address) => ["--control".to_owned(), address.to_string()],
            #[cfg(feature = "distributed")]
            Self::Etcd(etcd) => ["--etcd".to_owned(), etcd.settings().endpoints[0].clone()],
        }
    }

    async fn store(&self, key: &ClusterKey) -> Arc<dyn Store> {
        match self {
            Self::Served(address) => Arc::new(Remote::new(*address, key.clone())),
            #[cfg(feature = "distributed")]
            Self::Etcd(etcd) => Arc::new(etcd.connect().await),
        }
    }
}

impl Cluster {
    /// As set up; `None` if the test was told to do without an engine that it needs.
    pub async fn start_with(setup: Setup<'_>) -> Option<Self> {
        let turn = TURN.lock().await;
        let control = match setup.engines {
            #[cfg(feature = "distributed")]
            Engines::Etcd => Control::Etcd(etcd_process::EtcdProcess::start().await?),
            _ => Control::Served(free_address()),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let papers = Papers::of(setup.engines);
        let scheme = papers.scheme();
        let meeting_point = format!("{scheme}/{}", free_address());
        let zenoh = |listen: &str, connect: &str| match setup.engines {
            Engines::Zenoh | Engines::ZenohTls => format!(
                "[zenoh]\nlisten = [{listen:?}]\nconnect = [{connect}]\n{}",
                papers.keys()
            ),
            _ => String::new(),
        };
        let others = zenoh(
            &format!("{scheme}/127.0.0.1:0"),
            &format!("{meeting_point:?}"),
        );
        let first = format!(
            "{}[coordinator]\n{}\n",
            zenoh(&meeting_point, ""),
            setup.coordinator
        );
        std::fs::write(folder.path().join("others.toml"), others).expect("written");
        std::fs::write(folder.path().join("coordinator.toml"), first).expect("written");
        let key = ClusterKey::new(SECRET.as_bytes());
        let connection = Connection {
            cluster: "test".to_owned(),
            store: control.store(&key).await,
            key,
            network: network(setup.engines, meeting_point, &papers),
            before: None,
        };
        let options = WorldOptions {
            regions: Some(setup.regions as usize),
            ..WorldOptions::default()
        };
        let text = scenes::builtin::text(setup.scene).expect("built in");
        let world = WorldSpec::new(text, None, &options).expect("fits");
        let scene = world.load_scene().expect("valid");
        let flags = coordinator_flags(&control, &folder, setup.scene, setup.regions);
        let coordinator = Process::start(&flags);
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
            onlookers: Vec::new(),
            spawned: BTreeSet::new(),
            world,
            scene,
            regions: setup.regions,
            folder,
            _papers: papers,
            scene_name: setup.scene.to_owned(),
        };
        for _ in 0..setup.servers {
            cluster.add_server();
        }
        Some(cluster)
    }

    /// One more coordinator: again from its file, or, with etcd, beside others.
    pub fn start_coordinator(&self) -> Process {
        let flags = coordinator_flags(&self.control, &self.folder, &self.scene_name, self.regions);
        Process::start(&flags)
    }

    fn flags(&self, role: &str, name: &str) -> Vec<String> {
        let config = self.folder.path().join("others.toml");
        let mut flags = common_flags(role, config);
        flags.extend(["--name".to_owned(), name.to_owned()]);
        flags.extend(self.control.flags());
        flags
    }

    /// One more server; returns its name.
    pub fn add_server(&mut self) -> String {
        self.add_server_with(&[])
    }

    /// The same, with these flags.
    pub fn add_server_with(&mut self, more: &[&str]) -> String {
        let name = format!("s{}", self.started);
        self.started += 1;
        let mut flags = self.flags("server", &name);
        flags.extend(more.iter().map(|flag| (*flag).to_owned()));
        let process = Process::start(&flags);
        self.servers.insert(name.clone(), process);
        name
    }

    /// What `auramesh status` says, with these flags.
    pub fn status(&self, more: &[&str]) -> String {
        let mut flags = self.flags("status", "status");
        flags.extend(more.iter().map(|flag| (*flag).to_owned()));
        let output = Command::new(PROGRAM)
            .args(&flags)
            .env("AURAMESH_CLUSTER_KEY", SECRET)
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// A gateway for clients at this port.
    pub fn start_gateway(&self, listen: SocketAddr) -> Process {
        let mut flags = self.flags("gateway", "gateway");
        flags.extend(["--listen".to_owned(), listen.to_string()]);
        Process::start(&flags)
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

    /// What a server owns, and in which terms.
    pub fn regions_of(&self, server: &str) -> Vec<(RegionId, Term)> {
        let regions = (0..self.regions).map(RegionId);
        let owned = regions.filter_map(|region| {
            let (name, term) = self.owner(region)?;
            (name == server).then_some((region, term))
        });
        owned.collect()
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
        let patience = time + Duration::from_secs(60);
        self.watch_until("time passes", patience, |_| Instant::now() >= until)
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

    /// Which bodies must exist at this tick, and which may.
    pub fn expected(&self, tick: u64) -> (BTreeSet<BodyId>, BTreeSet<BodyId>) {
        let secs = |ticks: u64| ticks as f64 * self.world.boundary.step.as_secs();
        let mut must: BTreeSet<BodyId> = self.scene.bodies.iter().map(|body| body.id).collect();
        must.extend(&self.spawned);
        let mut may = must.clone();
        for spawn in self.scene.spawns(self.world.seed) {
            if spawn.at + LONGEST_BIRTH_SECS <= secs(tick) {
                must.insert(spawn.body.id);
            }
            if spawn.at <= secs(tick) {
                may.insert(spawn.body.id);
            }
        }
        (must, may)
    }

    /// At this tick every body that must exist was stepped exactly once, and none that cannot exist (I1, I2, I8).
    pub fn check(&self, tick: u64) {
        self.check_once_each(tick);
        let lost = self.lost(tick);
        let lost: Vec<_> = lost.iter().collect();
        assert!(
            lost.is_empty(),
            "lost at tick {tick}: {}",
            self.last_seen(&lost)
        );
    }

    /// At this tick no body was stepped twice, and none that cannot exist (I1, I8).
    fn check_once_each(&self, tick: u64) {
        let (_, may) = self.expected(tick);
        let seen = self.roll.ticks.get(&tick).cloned().unwrap_or_default();
        let distinct: BTreeSet<BodyId> = seen.iter().copied().collect();
        assert_eq!(seen.len(), distinct.len(), "doubled at tick {tick}");
        let strange: Vec<_> = distinct.difference(&may).collect();
        assert!(strange.is_empty(), "unknown at tick {tick}: {strange:?}");
    }

    /// Bodies that must exist and were not stepped at this tick.
    fn lost(&self, tick: u64) -> BTreeSet<BodyId> {
        let (must, _) = self.expected(tick);
        let seen = self.roll.ticks.get(&tick);
        let seen: BTreeSet<BodyId> = seen.into_iter().flatten().copied().collect();
        must.difference(&seen).copied().collect()
    }

    /// Clients of a gateway, that see everything.
    pub async fn invite(&mut self, count: usize, urls: &[SocketAddr]) {
        for _ in 0..count {
            let onlooker = Onlooker::connect(urls).await;
            self.onlookers.push(onlooker);
        }
    }

    /// Every client sees every body again, soon, and none was disconnected meanwhile.
    pub async fn check_onlookers(&mut self, patience: Duration) {
        let settled = self.settled_tick();
        let (must, _) = self.expected(settled);
        self.watch_until("every client sees every body", patience, |cluster| {
            cluster.onlookers.iter().all(|it| it.sees(&must))
        })
        .await;
        // By now more may have been born, but nothing that cannot exist.
        let (_, may) = self.expected(settled + 600);
        for onlooker in &self.onlookers {
            onlooker.check_sees_only(&may);
        }
    }

    /// Has every region reported this tick?
    pub fn is_reported(&self, tick: u64) -> bool {
        let reports = self.roll.reports.get(&tick);
        reports.is_some_and(|regions| regions.len() == self.regions as usize)
    }

    /// The ticks since all regions have the owners that they have now, but the newest: what is on its way then may not have arrived yet.
    fn calm_ticks(&self) -> Option<std::ops::Range<u64>> {
        let first = (0..self.regions).map(RegionId).map(|region| {
            let (_, term) = self.owner(region)?;
            self.roll.first_tick.get(&(region, term)).copied()
        });
        let first = first.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
        Some(first + ON_THEIR_WAY..self.settled_tick().saturating_sub(ON_THEIR_WAY))
    }

    /// Waits until all regions have had the same owners for a while, and a tick has been reported by all of them in which every body is there. At none of the ticks of that time is one there
    /// twice. (On a busy machine a living server may be taken for dead: it is fenced, and its regions step back in time once more; while that happens, both owners have reported the same
    /// ticks. And what is handed over may be on its way for seconds, and then enters later than it left.)
    pub async fn check_afterwards(&mut self) {
        self.check_since(0).await;
    }

    /// The same of ticks from this one on.
    pub async fn check_since(&mut self, first: u64) {
        let give_up = Instant::now() + LONGEST_AFTERMATH;
        loop {
            self.watch_for(Duration::from_millis(200)).await;
            let ticks = self.calm_ticks().unwrap_or(0..0);
            let ticks = ticks.start.max(first)..ticks.end;
            let judged: Vec<u64> = ticks.filter(|tick| self.is_reported(*tick)).collect();
            for tick in &judged {
                self.check_once_each(*tick);
            }
            let lost = judged.iter().map(|tick| (*tick, self.lost(*tick)));
            let fewest = lost.min_by_key(|(_, lost)| lost.len());
            match fewest {
                Some((_, lost)) if lost.is_empty() && judged.len() >= CALM_TICKS => return,
                Some((tick, lost)) if Instant::now() >= give_up => {
                    let lost: Vec<_> = lost.iter().collect();
                    panic!("lost, at tick {tick} still: {}", self.last_seen(&lost));
                }
                _ => assert!(
                    Instant::now() < give_up,
                    "no calm ticks in {LONGEST_AFTERMATH:?}"
                ),
            }
        }
    }

    /// Checks all ticks that can be judged; returns how many there are and how many were reported by every region.
    pub fn check_all(&self, ticks: std::ops::Range<u64>) -> (u64, u64) {
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
        (all, judged)
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

fn common_flags(role: &str, config: PathBuf) -> Vec<String> {
    let config = config.display().to_string();
    [role, "--cluster", "test", "--config", &config]
        .map(str::to_owned)
        .to_vec()
}

fn coordinator_flags(
    control: &Control,
    folder: &tempfile::TempDir,
    scene: &str,
    regions: u32,
) -> Vec<String> {
    let mut flags = common_flags("coordinator", folder.path().join("coordinator.toml"));
    flags.extend(["--scene".to_owned(), scene.to_owned()]);
    flags.extend(["--regions".to_owned(), regions.to_string()]);
    match control {
        Control::Served(address) => {
            let file = folder.path().join("control.json").display().to_string();
            flags.extend(["--serve-control".to_owned(), address.to_string()]);
            flags.extend(["--control-file".to_owned(), file]);
        }
        #[cfg(feature = "distributed")]
        Control::Etcd(_) => flags.extend(control.flags()),
    }
    flags
}

/// The certificates of a cluster's processes, if they have any.
#[cfg(feature = "distributed")]
struct Papers(Option<(certificates::Authority, PathBuf, PathBuf)>);

#[cfg(feature = "distributed")]
impl Papers {
    fn of(engines: Engines) -> Self {
        Self((engines == Engines::ZenohTls).then(|| {
            let authority = certificates::Authority::new();
            let (certificate, key) = authority.issue("everyone");
            (authority, certificate, key)
        }))
    }

    fn scheme(&self) -> &'static str {
        if self.0.is_some() { "quic" } else { "tcp" }
    }

    /// As a config file names them.
    fn keys(&self) -> String {
        let lines = self.0.as_ref().map(|(authority, certificate, key)| {
            let ca = authority.certificate();
            let papers = format!("ca = {ca:?}\ncertificate = {certificate:?}\nkey = {key:?}\n");
            format!("{papers}lease_ms = 500\n")
        });
        lines.unwrap_or_default()
    }
}

#[cfg(feature = "distributed")]
fn network(engines: Engines, meeting_point: String, papers: &Papers) -> Network {
    use cluster::carrier::{ZenohSettings, ZenohTls};
    let tls = papers
        .0
        .as_ref()
        .map(|(authority, certificate, key)| ZenohTls {
            ca: authority.certificate(),
            certificate: certificate.clone(),
            key: key.clone(),
        });
    match engines {
        Engines::Zenoh | Engines::ZenohTls => Network::Zenoh(ZenohSettings {
            listen: vec![format!("{}/127.0.0.1:0", papers.scheme())],
            connect: vec![meeting_point],
            tls,
            ..ZenohSettings::new("test")
        }),
        _ => Network::loopback(),
    }
}

/// Nobody has any in a program without TLS.
#[cfg(not(feature = "distributed"))]
struct Papers;

#[cfg(not(feature = "distributed"))]
impl Papers {
    fn of(_: Engines) -> Self {
        Self
    }

    fn scheme(&self) -> &'static str {
        "tcp"
    }

    fn keys(&self) -> String {
        String::new()
    }
}

#[cfg(not(feature = "distributed"))]
fn network(_: Engines, _: String, _: &Papers) -> Network {
    Network::loopback()
}

/// An address of this machine that nobody uses now.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback works");
    listener.local_addr().expect("bound")
}
