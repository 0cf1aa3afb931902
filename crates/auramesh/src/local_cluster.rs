//! A whole cluster on this machine: the control plane and the coordinator in this process, region servers as processes of their own.

use crate::cluster_process::{KEY_VARIABLE, LEAVE, LOG_VARIABLE};
use cluster::carrier::ClusterKey;
use cluster::coordinator::{Coordinator, PlannerSettings};
use cluster::names::NodeId;
use cluster::node::{Connection, Network};
use cluster::schema::WorldSpec;
use cluster::store::{Embedded, Store, serve};
use domain::SimTime;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const NAME: &str = "local";

/// Where the servers live, and what lies between them.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// How bad the network between the servers is made on purpose.
    pub links: Links,
    /// Network namespaces, one per server; without, all share this machine's loopback.
    pub namespaces: Option<Namespaces>,
    /// When a server counts as dead or too slow.
    pub planner: PlannerSettings,
}

/// Network namespaces that exist, `NAME0`, `NAME1`, and so on, each for one server: the addresses of a common network that others have prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespaces {
    name: String,
    network: Ipv4Addr,
}

impl FromStr for Namespaces {
    type Err = String;

    /// `NAME:A.B.C.0`: this process has the address `A.B.C.1`, the server in `NAMEn` has `A.B.C.(n+2)`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(':');
        let parsed = parts.and_then(|(name, network)| Some((name, network.parse().ok()?)));
        let (name, network) = parsed.ok_or("NAME:A.B.C.0 is expected")?;
        let name = name.to_owned();
        Ok(Self { name, network })
    }
}

impl Namespaces {
    fn host(&self, number: u8) -> IpAddr {
        let [a, b, c, _] = self.network.octets();
        Ipv4Addr::new(a, b, c, number).into()
    }
}

/// A demonstration shares its machine with a browser and a user who would rather see a late server than one that is replaced for being late.
const DEMO_SILENCE_MS: f64 = 1500.0;

impl Ground {
    /// For a demonstration.
    pub fn of_demo() -> Self {
        Self {
            links: Links::Adjustable,
            planner: PlannerSettings {
                silence: SimTime::from_millis(DEMO_SILENCE_MS),
                ..PlannerSettings::default()
            },
            ..Self::default()
        }
    }

    /// The address of this process.
    fn here(&self) -> SocketAddr {
        let namespaces = self.namespaces.as_ref();
        let host = namespaces.map_or(Ipv4Addr::LOCALHOST.into(), |it| it.host(1));
        SocketAddr::new(host, 0)
    }

    /// The program, in the namespace of this server.
    fn command(&self, program: &Path, server: u32) -> Command {
        let Some(namespaces) = &self.namespaces else {
            return Command::new(program);
        };
        let mut command = Command::new("ip");
        let name = format!("{}{server}", namespaces.name);
        command.args(["netns", "exec", &name]).arg(program);
        command
    }

    fn flags(&self, server: u32) -> Vec<String> {
        let mut flags = Vec::new();
        if let Some(namespaces) = &self.namespaces {
            let host = namespaces.host(u8::try_from(server + 2).unwrap_or(u8::MAX));
            flags.extend(["--bind".to_owned(), SocketAddr::new(host, 0).to_string()]);
        }
        match &self.links {
            Links::Own => {}
            Links::Bad(net) => flags.extend(["--net".to_owned(), net.clone()]),
            Links::Adjustable => flags.push("--adjustable-net".to_owned()),
        }
        flags
    }
}

/// A server that has died is replaced after so long: first one is to see how the others take over.
const MOURNING: Duration = Duration::from_secs(3);

/// The network between the servers.
#[derive(Clone, Debug, Default)]
pub enum Links {
    /// The machine's own.
    #[default]
    Own,
    /// As bad as this, for as long as it lasts.
    Bad(String),
    /// Good at first; [`LocalCluster::set_network`] makes it worse or better.
    Adjustable,
}

impl Links {
    /// As the command line says.
    pub fn of(net: Option<&str>) -> Self {
        net.map_or(Self::Own, |net| Self::Bad(net.to_owned()))
    }
}

/// One server process.
struct ServerProcess {
    name: String,
    child: Child,
    died: Option<Instant>,
}

/// The cluster.
pub struct LocalCluster {
    connection: Connection,
    control: SocketAddr,
    secret: String,
    stop: watch::Sender<bool>,
    coordinator: JoinHandle<()>,
    /// Whoever drops these kills the processes: nothing is left behind.
    servers: Vec<ServerProcess>,
    /// Those that give their regions away before they end.
    retiring: Vec<ServerProcess>,
    ground: Ground,
    /// What adjustable links are like now.
    conditions: Option<String>,
    /// How many were ever started.
    started: u32,
}

impl LocalCluster {
    /// Starts the control plane, a coordinator with this world, and so many servers.
    pub async fn start(world: WorldSpec, servers: usize, ground: Ground) -> Result<Self, String> {
        // Strangers on this machine do not get in either.
        let secret = format!("{}{}", NodeId::draw(), NodeId::draw());
        let key = ClusterKey::new(secret.as_bytes());
        let store = Embedded::in_memory();
        let listener = TcpListener::bind(ground.here())
            .await
            .map_err(|error| format!("cannot open a port: {error}"))?;
        let control = listener.local_addr().map_err(|error| error.to_string())?;
        tokio::spawn(serve(listener, store.clone(), key.clone()));
        let connection = Connection {
            cluster: NAME.to_owned(),
            store: Arc::new(store) as Arc<dyn Store>,
            key,
            network: Network::Udp {
                bind: ground.here(),
                advertise: None,
            },
            before: None,
        };
        let (stop, stopped) = watch::channel(false);
        let settings = ground.planner;
        let world = Some(world);
        let coordinator =
            Coordinator::start(&connection, "coordinator", settings, world, stopped).await;
        let coordinator =
            coordinator.map_err(|error| format!("cannot start a coordinator: {error}"))?;
        let mut cluster = Self {
            connection,
            control,
            secret,
            stop,
            coordinator,
            ground,
            conditions: None,
            servers: Vec::new(),
            retiring: Vec::new(),
            started: 0,
        };
        for _ in 0..servers {
            cluster.start_server().await?;
        }
        Ok(cluster)
    }

    /// One more server; its name.
    pub async fn start_server(&mut self) -> Result<String, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // Their logs are the details of one command's run.
        let log = std::env::var(LOG_VARIABLE).unwrap_or_else(|_| "warn".to_owned());
        let name = format!("server-{}", self.started);
        let child = self
            .ground
            .command(&program, self.started)
            .args(["server", "--with-parent", "--cluster", NAME])
            .args(["--control", &self.control.to_string()])
            .args(["--name", &name])
            .args(self.ground.flags(self.started))
            .env(KEY_VARIABLE, &self.secret)
            .env(LOG_VARIABLE, log)
            // Ctrl-C is for us: we end them when it is time.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let child = child.map_err(|error| format!("cannot start a region server: {error}"))?;
        let mut server = ServerProcess {
            name: name.clone(),
            child,
            died: None,
        };
        if let Some(conditions) = &self.conditions {
            server.say(&format!("net {conditions}\n")).await;
        }
        self.servers.push(server);
        self.started += 1;
        Ok(name)
    }

    /// A server shall go: it gives its regions to the others, and ends. If the one of this name has died, whoever stands in for it goes.
    pub async fn retire(&mut self, name: &str) {
        let named = self.servers.iter().position(|server| server.name == name);
        if let Some(index) = named.or(self.servers.len().checked_sub(1)) {
            let mut server = self.servers.remove(index);
            server.say(&format!("{LEAVE}\n")).await;
            self.retiring.push(server);
        }
    }

    /// The servers' process numbers.
    pub fn process_ids(&self) -> String {
        let ids = self.servers.iter();
        let ids: Vec<String> = ids
            .filter_map(|server| Some(server.child.id()?.to_string()))
            .collect();
        ids.join(", ")
    }

    /// Starts a new server for each one that has died a while ago.
    pub async fn replace_dead(&mut self) -> Result<(), String> {
        let now = Instant::now();
        for server in &mut self.servers {
            if server.died.is_none() && !matches!(server.child.try_wait(), Ok(None)) {
                server.died = Some(now);
                tracing::warn!(name = server.name, "a region server has died");
            }
        }
        self.retiring
            .retain_mut(|server| matches!(server.child.try_wait(), Ok(None)));
        let before = self.servers.len();
        let mourned = |died: Instant| now.duration_since(died) < MOURNING;
        self.servers
            .retain(|server| server.died.is_none_or(mourned));
        for _ in self.servers.len()..before {
            self.start_server().await?;
            tracing::warn!("started another region server");
        }
        Ok(())
    }

    /// Kills a server, as `kill -9` does.
    pub fn kill(&mut self, name: &str) -> Result<(), String> {
        let alive = |server: &&mut ServerProcess| server.died.is_none();
        let mut living = self.servers.iter_mut().filter(alive);
        let Some(server) = living.find(|server| server.name == name) else {
            let names = self.servers.iter().filter(|server| server.died.is_none());
            let names: Vec<&str> = names.map(|server| server.name.as_str()).collect();
            let names = names.join(", ");
            return Err(format!("there is no server '{name}'; there are {names}"));
        };
        let killed = server.child.start_kill();
        killed.map_err(|error| format!("cannot kill it: {error}"))
    }

    /// Makes the network between the servers worse or better; as `run --net` has it.
    pub async fn set_network(&mut self, conditions: String) {
        for server in &mut self.servers {
            server.say(&format!("net {conditions}\n")).await;
        }
        self.conditions = Some(conditions);
    }

    /// How to reach the cluster from this process.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Ends everything.
    pub async fn stop(mut self) {
        let mut servers = std::mem::take(&mut self.servers);
        servers.append(&mut self.retiring);
        for server in &mut servers {
            let _ = server.child.start_kill();
        }
        for server in &mut servers {
            let _ = server.child.wait().await;
        }
        self.stop.send_replace(true);
        let _ = self.coordinator.await;
    }
}

impl ServerProcess {
    /// A line to its standard input. One that has died does not hear it.
    async fn say(&mut self, line: &str) {
        if let Some(input) = &mut self.child.stdin {
            let _ = input.write_all(line.as_bytes()).await;
        }
    }
}
