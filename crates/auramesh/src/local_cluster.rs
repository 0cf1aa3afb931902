//! A whole cluster on this machine: the control plane and the coordinator in this process, region servers as processes of their own.

use crate::cluster_process::{KEY_VARIABLE, LOG_VARIABLE};
use cluster::carrier::ClusterKey;
use cluster::coordinator::{Coordinator, PlannerSettings};
use cluster::names::NodeId;
use cluster::node::{Connection, Network};
use cluster::schema::WorldSpec;
use cluster::store::{Embedded, Store, serve};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const LOOPBACK: &str = "127.0.0.1:0";
const NAME: &str = "local";

/// The cluster.
pub struct LocalCluster {
    connection: Connection,
    control: SocketAddr,
    secret: String,
    stop: watch::Sender<bool>,
    coordinator: JoinHandle<()>,
    /// Whoever drops these kills the processes: nothing is left behind.
    servers: Vec<Child>,
    /// How bad the network between the servers is.
    net: Option<String>,
    /// How many were ever started.
    started: u32,
}

impl LocalCluster {
    /// Starts the control plane, a coordinator with this world, and so many servers.
    pub async fn start(
        world: WorldSpec,
        servers: usize,
        net: Option<&str>,
    ) -> Result<Self, String> {
        // Strangers on this machine do not get in either.
        let secret = format!("{}{}", NodeId::draw(), NodeId::draw());
        let key = ClusterKey::new(secret.as_bytes());
        let store = Embedded::in_memory();
        let listener = TcpListener::bind(LOOPBACK)
            .await
            .map_err(|error| format!("cannot open a port: {error}"))?;
        let control = listener.local_addr().map_err(|error| error.to_string())?;
        tokio::spawn(serve(listener, store.clone(), key.clone()));
        let connection = Connection {
            cluster: NAME.to_owned(),
            store: Arc::new(store) as Arc<dyn Store>,
            key,
            network: Network::loopback(),
            before: None,
        };
        let (stop, stopped) = watch::channel(false);
        let settings = PlannerSettings::default();
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
            net: net.map(str::to_owned),
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
        let child = Command::new(program)
            .args(["server", "--with-parent", "--cluster", NAME])
            .args(["--control", &self.control.to_string()])
            .args(["--name", &format!("server-{}", self.started)])
            .args(self.net.iter().flat_map(|net| ["--net", net]))
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
