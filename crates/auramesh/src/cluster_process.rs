//! What all processes of a live cluster have in common: logs, secrets, the control plane, and how they end.

use crate::Status;
use crate::args::ClusterArgs;
use crate::bad_network::BadNetwork;
use cluster::carrier::ClusterKey;
use cluster::config::{Config, EtcdConfig, ZenohConfig};
use cluster::gateway::Counters;
use cluster::node::{Before, Connection, Network, Node};
use cluster::operations::{self, Operations};
use cluster::schema::Role;
use cluster::server::ServerGauges;
use cluster::store::{Remote, Store};
use simulator::network::NetworkConditions;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

/// The environment variable with the cluster's secret.
pub const KEY_VARIABLE: &str = "AURAMESH_CLUSTER_KEY";
/// The environment variable with what is logged.
pub const LOG_VARIABLE: &str = "AURAMESH_LOG";

/// Logs go to stderr; stdout is for results.
pub fn start_logging(default: &str) {
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(default));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr);
    // Already set: a test that runs several commands in one process.
    let _ = subscriber.try_init();
}

/// Runs a process's task on all cores.
pub fn block_on<T>(task: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let result = runtime.block_on(task);
    runtime.shutdown_background();
    Ok(result)
}

/// Flags and config file together.
pub struct Settings {
    /// What the file says, with the flags put over it.
    pub config: Config,
    net: Option<NetworkConditions>,
    with_parent: bool,
    /// The network that the parent may change, once there is one.
    adjustable: Option<Adjustable>,
}

type Adjustable = Arc<OnceLock<Arc<BadNetwork>>>;

impl Settings {
    /// Reads the config file, if there is one.
    pub fn new(args: &ClusterArgs) -> Result<Self, String> {
        let mut config = match &args.config {
            Some(file) => Config::load(file).map_err(|error| error.to_string())?,
            None => Config::default(),
        };
        fn over<T: Clone>(key: &mut Option<T>, flag: &Option<T>) {
            if flag.is_some() {
                key.clone_from(flag);
            }
        }
        over(&mut config.cluster, &args.cluster);
        over(&mut config.name, &args.name);
        over(&mut config.bind, &args.bind);
        over(&mut config.advertise, &args.advertise);
        over(&mut config.cluster_key_file, &args.cluster_key_file);
        over(&mut config.http, &args.http);
        if args.control.is_some() {
            (config.control, config.etcd) = (args.control, None);
        }
        if !args.etcd.is_empty() {
            config.control = None;
            config
                .etcd
                .get_or_insert_default()
                .endpoints
                .clone_from(&args.etcd);
        }
        let with_parent = args.with_parent;
        Ok(Self {
            config,
            net: args.net,
            with_parent,
            adjustable: args.adjustable_net.then(Adjustable::default),
        })
    }

    fn bind(&self) -> SocketAddr {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        self.config.bind.unwrap_or(loopback)
    }

    /// The cluster's secret. Without one only this machine may be listened to.
    pub fn cluster_key(&self) -> Result<ClusterKey, String> {
        let secret = match &self.config.cluster_key_file {
            Some(file) => Some(read_secret(file)?),
            None => std::env::var(KEY_VARIABLE).ok(),
        };
        let secret = secret.map(|secret| secret.trim().to_owned());
        match secret.filter(|secret| !secret.is_empty()) {
            Some(secret) if secret.len() < 16 => {
                Err("the cluster key is too short: at least 16 characters".to_owned())
            }
            Some(secret) => Ok(ClusterKey::new(secret.as_bytes())),
            None if self.is_out_of_reach() => {
                tracing::warn!("no cluster key: only processes of this machine are listened to");
                Ok(ClusterKey::none())
            }
            None => Err(format!(
                "other machines can reach this process ({}); a cluster key is needed (cluster_key_file, or {KEY_VARIABLE} in the environment)",
                self.listens_at()
            )),
        }
    }

    fn listens_at(&self) -> String {
        let data = match &self.config.zenoh {
            Some(zenoh) => zenoh.listen.join(", "),
            None => self.bind().to_string(),
        };
        let control = self.config.coordinator.serve_control;
        control.map_or(data.clone(), |control| format!("{data}, {control}"))
    }

    /// Can only this machine reach what we listen at?
    fn is_out_of_reach(&self) -> bool {
        // Whoever reaches the control plane may change it.
        let control = self.config.coordinator.serve_control;
        if control.is_some_and(|address| !address.ip().is_loopback()) {
            return false;
        }
        let Some(zenoh) = &self.config.zenoh else {
            return self.bind().ip().is_loopback();
        };
        let is_loopback = |place: &String| {
            let address = place.split_once('/').map(|(_, address)| address);
            let address = address.and_then(|address| address.parse::<SocketAddr>().ok());
            address.is_some_and(|address| address.ip().is_loopback())
        };
        zenoh.listen.iter().chain(&zenoh.connect).all(is_loopback)
    }

    /// How this process reaches the others, with the control plane that the settings name.
    pub async fn connection(&self) -> Result<Connection, String> {
        let key = self.cluster_key()?;
        let store: Arc<dyn Store> = match (&self.config.etcd, self.config.control) {
            (Some(etcd), _) => etcd_store(etcd).await?,
            (None, Some(control)) => Arc::new(Remote::new(control, key.clone())),
            (None, None) => {
                return Err(
                    "where is the control plane? (--control HOST:PORT, or --etcd URL)".to_owned(),
                );
            }
        };
        self.with_store(key, store)
    }

    /// The same with a control plane that is at hand.
    pub fn with_store(&self, key: ClusterKey, store: Arc<dyn Store>) -> Result<Connection, String> {
        let cluster = self.config.cluster.clone();
        let cluster = cluster.unwrap_or_else(|| "auramesh".to_owned());
        let network = match &self.config.zenoh {
            Some(zenoh) => zenoh_network(&cluster, zenoh)?,
            None => Network::Udp {
                bind: self.bind(),
                advertise: self.config.advertise,
            },
        };
        Ok(Connection {
            cluster,
            store,
            key,
            network,
            before: self.before(),
        })
    }

    fn before(&self) -> Option<Before> {
        if let Some(slot) = self.adjustable.clone() {
            return Some(Arc::new(move |carrier| {
                let network = slot.get_or_init(|| BadNetwork::adjustable(carrier));
                Arc::<BadNetwork>::clone(network)
            }));
        }
        let conditions = self.net?;
        Some(Arc::new(move |carrier| {
            BadNetwork::before(carrier, conditions)
        }))
    }

    /// Joins the cluster.
    pub async fn join(&self, connection: &Connection, role: Role) -> Result<Node, String> {
        let default = match role {
            Role::Coordinator => "coordinator",
            Role::Server => "server",
            Role::Gateway => "gateway",
            Role::Observer => "observer",
        };
        let name = self.config.name.as_deref().unwrap_or(default);
        let node = Node::join(connection, role, name, None).await;
        let node = node.map_err(|error| format!("cannot join: {error}"))?;
        tracing::info!(node = %node.id, name, "joined");
        Ok(node)
    }

    /// Serves `/metrics` and so on, if that is wanted.
    pub async fn operate(
        &self,
        role: Role,
        node: &Node,
        server: Option<ServerGauges>,
        gateway: Option<Arc<Counters>>,
    ) -> Result<(), String> {
        let Some(address) = self.config.http else {
            return Ok(());
        };
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener = listener.map_err(|error| format!("http {address}: {error}"))?;
        let operations = Operations {
            role,
            clock: Arc::clone(&node.clock),
            carrier: Arc::clone(&node.carrier),
            view: node.membership.view(),
            server,
            gateway,
            groups: Arc::clone(&node.groups),
        };
        tokio::spawn(operations::serve(listener, operations));
        Ok(())
    }

    /// Becomes true when the process shall end.
    pub fn stop_signal(&self) -> watch::Receiver<bool> {
        let parent = self.with_parent.then(|| self.adjustable.clone());
        stop_when(signalled(), parent)
    }
}

fn read_secret(file: &Path) -> Result<String, String> {
    let name = file.display();
    std::fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))
}

#[cfg(feature = "distributed")]
async fn etcd_store(config: &EtcdConfig) -> Result<Arc<dyn Store>, String> {
    use cluster::store::{Etcd, EtcdSettings, EtcdTls};
    let client = match (&config.certificate, &config.key) {
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (None, None) => None,
        _ => return Err("etcd: a certificate needs its key, and a key its certificate".to_owned()),
    };
    let tls = match (&config.ca, client) {
        (Some(ca), client) => Some(EtcdTls {
            ca: ca.clone(),
            client,
        }),
        (None, None) => None,
        (None, Some(_)) => {
            return Err("etcd: a certificate needs a ca, by whom etcd's own is signed".to_owned());
        }
    };
    let user = match (&config.user, &config.password_file) {
        (Some(user), Some(file)) => Some((user.clone(), read_secret(file)?.trim().to_owned())),
        (None, None) => None,
        _ => return Err("etcd: a user needs a password_file, and the other way round".to_owned()),
    };
    let settings = EtcdSettings {
        endpoints: config.endpoints.clone(),
        tls,
        user,
    };
    let store = Etcd::connect(&settings)
        .await
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(store))
}

#[cfg(not(feature = "distributed"))]
async fn etcd_store(_: &EtcdConfig) -> Result<Arc<dyn Store>, String> {
    Err("this program was built without etcd: build it with --features distributed".to_owned())
}

#[cfg(feature = "distributed")]
fn zenoh_network(cluster: &str, config: &ZenohConfig) -> Result<Network, String> {
    use cluster::carrier::{ZenohMode, ZenohSettings, ZenohTls};
    let mode = match config.mode.as_deref() {
        None | Some("peer") => ZenohMode::Peer,
        Some("client") => ZenohMode::Client,
        Some(other) => return Err(format!("zenoh.mode: '{other}' is neither peer nor client")),
    };
    let tls = match (&config.ca, &config.certificate, &config.key) {
        (Some(ca), Some(certificate), Some(key)) => Some(ZenohTls {
            ca: ca.clone(),
            certificate: certificate.clone(),
            key: key.clone(),
        }),
        (None, None, None) => {
            tracing::warn!(
                "zenoh without certificates: authenticated by the cluster key, but not secret"
            );
            None
        }
        _ => return Err("zenoh: ca, certificate and key belong together".to_owned()),
    };
    let defaults = ZenohSettings::new(cluster);
    let lease = config.lease_ms.map(std::time::Duration::from_millis);
    Ok(Network::Zenoh(ZenohSettings {
        listen: config.listen.clone(),
        connect: config.connect.clone(),
        mode,
        tls,
        lease: lease.unwrap_or(defaults.lease),
        ..defaults
    }))
}

#[cfg(not(feature = "distributed"))]
fn zenoh_network(_: &str, _: &ZenohConfig) -> Result<Network, String> {
    Err("this program was built without Zenoh: build it with --features distributed".to_owned())
}

/// Reports why a process did not start.
pub fn ended(result: Result<(), String>) -> Status {
    match result {
        Ok(()) => Status::Fine,
        Err(reason) => {
            eprintln!("{reason}");
            Status::BadInput
        }
    }
}

/// Becomes true when the process shall end: SIGTERM or Ctrl-C.
pub fn stop_signal() -> watch::Receiver<bool> {
    stop_when(signalled(), None)
}

fn stop_when(
    signal: impl Future<Output = ()> + Send + 'static,
    parent: Option<Option<Adjustable>>,
) -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        match parent {
            Some(network) => tokio::select! {
                () = signal => tracing::info!("asked to stop"),
                () = obey(network) => {}
            },
            None => {
                signal.await;
                tracing::info!("asked to stop");
            }
        }
        sender.send_replace(true);
        // A second signal does not wait for anything.
        signalled().await;
        std::process::exit(130);
    });
    receiver
}

async fn signalled() {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .expect("signals can be listened to");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// What a parent says to a server that shall give its regions away and end.
pub const LEAVE: &str = "leave";

/// Whoever started us may say `net CONDITIONS` on our standard input; when it ends, they are gone.
async fn obey(network: Option<Adjustable>) {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line == LEAVE {
            tracing::info!("told to leave");
            return;
        }
        let conditions = line.strip_prefix("net ").map(NetworkConditions::parse);
        match (conditions, network.as_ref().and_then(|slot| slot.get())) {
            (Some(Ok(conditions)), Some(network)) => network.set(conditions),
            _ => tracing::warn!(line, "not understood"),
        }
    }
    // Nobody is left to wait for a farewell, or to give anything to.
    std::process::exit(0);
}
