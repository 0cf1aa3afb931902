//! A whole cluster on this machine: the control plane and the coordinator in this process, region servers as processes of their own.

use crate::cluster_process::{KEY_VARIABLE, LOG_VARIABLE};
use cluster::carrier::ClusterKey;
use cluster::coordinator::{Coordinator, PlannerSettings};
use cluster::names::NodeId;
use cluster::node::{Connection, Network};
use cluster::schema::WorldSpec;
use cluster::store::{Embedded, Store, serve};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;
use std::str::FromStr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const NAME: &str = "local";

/// Where the servers live, and what lies between them.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// How bad the network between the servers is made on purpose.
    pub net: Option<String>,
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

impl Ground {
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
        if let Some(net) = &self.net {
            flags.extend(["--net".to_owned(), net.clone()]);
        }
        flags
    }
}

/// The cluster.
pub struct LocalCluster {
    connection: Connection,
    control: SocketAddr,
    secret: String,
    stop: watch::Sender<bool>,
    coordinator: JoinHandle<()>,
    /// Whoever drops these kills the processes: nothing is left behind.
    servers: Vec<Child>,
    ground: Ground,
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
            servers: Vec::new(),
            started: 0,
        };
        for _ in 0..servers {
            cluster.start_server()?;
        }
        Ok(cluster)
    }

    /// One more server.
    pub fn start_server(&mut self) -> Result<(), String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // Their logs are the details of one command's run.
        let log = std::env::var(LOG_VARIABLE).unwrap_or_else(|_| "warn".to_owned());
        let child = self
            .ground
            .command(&program, self.started)
            .args(["server", "--with-parent", "--cluster", NAME])
            .args(["--control", &self.control.to_string()])
            .args(["--name", &format!("server-{}", self.started)])
            .args(self.ground.flags(self.started))
            .env(KEY_VARIABLE, &self.secret)
            .env(LOG_VARIABLE, log)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let child = child.map_err(|error| format!("cannot start a region server: {error}"))?;
        self.servers.push(child);
        self.started += 1;
        Ok(())
    }

    /// The servers' process numbers.
    pub fn process_ids(&self) -> String {
        let ids: Vec<String> = self
            .servers
            .iter()
            .filter_map(|server| Some(server.id()?.to_string()))
            .collect();
        ids.join(", ")
    }

    /// Starts a new server for each one that has died.
    pub fn replace_dead(&mut self) -> Result<(), String> {
        let before = self.servers.len();
        self.servers
            .retain_mut(|server| matches!(server.try_wait(), Ok(None)));
        for _ in self.servers.len()..before {
            self.start_server()?;
            tracing::warn!("a region server has died; started another one");
        }
        Ok(())
    }

    /// How to reach the cluster from this process.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Ends everything.
    pub async fn stop(mut self) {
        for server in &mut self.servers {
            let _ = server.start_kill();
        }
        for server in &mut self.servers {
            let _ = server.wait().await;
        }
        self.stop.send_replace(true);
        let _ = self.coordinator.await;
    }
}
