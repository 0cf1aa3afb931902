//! What the processes of a cluster are told.

use super::values::network;
use clap::Args;
use simulator::network::NetworkConditions;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How a process reaches its cluster. What is given here counts more than what the config file says.
#[derive(Clone, Debug, Default, Args)]
pub struct ClusterArgs {
    /// A config file (docs/operations.md lists its keys).
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The control plane: HOST:PORT of a coordinator that keeps it itself.
    #[arg(long, value_name = "ADDRESS")]
    pub control: Option<SocketAddr>,

    /// The control plane: addresses of an etcd, such as http://127.0.0.1:2379, separated by commas (needs a build with --features distributed).
    #[arg(
        long,
        value_name = "URL",
        value_delimiter = ',',
        conflicts_with = "control"
    )]
    pub etcd: Vec<String>,

    /// The cluster's name in the control plane [default: auramesh].
    #[arg(long)]
    pub cluster: Option<String>,

    /// What people call this process [default: its role].
    #[arg(long)]
    pub name: Option<String>,

    /// Where datagrams of other processes arrive [default: 127.0.0.1, any free port].
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<SocketAddr>,

    /// Where others reach this process, if that is not where it listens.
    #[arg(long, value_name = "ADDRESS")]
    pub advertise: Option<SocketAddr>,

    /// Where /metrics, /healthz and /status are served [default: nowhere].
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,

    /// A file with the secret that all processes of the cluster share [default: the environment variable
    /// AURAMESH_CLUSTER_KEY; without either, only on loopback].
    #[arg(long, value_name = "FILE")]
    pub cluster_key_file: Option<PathBuf>,

    /// Treat datagrams badly on purpose (see `run --net`).
    #[arg(long, hide = true, value_parser = network)]
    pub net: Option<NetworkConditions>,

    /// The network between regions can be made worse and better on standard input (see `demo`).
    #[arg(long, hide = true, conflicts_with = "net")]
    pub adjustable_net: bool,

    /// End when standard input ends: for processes that must not outlive the one that started them.
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

/// What a coordinator is told.
#[derive(Debug, Args)]
pub struct CoordinatorArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// Keep the control plane in this process and serve it to the others here.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["control", "etcd"])]
    pub serve_control: Option<SocketAddr>,

    /// Keep it in this file, so that a coordinator that is started again goes on [default: in memory].
    #[arg(long, value_name = "FILE")]
    pub control_file: Option<PathBuf>,

    /// The scene to begin with, if the cluster has no world yet: a file or the name of a built-in scene.
    #[arg(long)]
    pub scene: Option<String>,

    /// How many regions [default: as the scene says].
    #[arg(long, value_name = "N")]
    pub regions: Option<usize>,

    /// The world starts when so many servers are there [default: 1].
    #[arg(long, value_name = "N")]
    pub servers: Option<usize>,
}

/// What a region server is told.
#[derive(Debug, Args)]
pub struct ServerArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// What a gateway is told.
#[derive(Debug, Args)]
pub struct GatewayArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// Where clients connect [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,

    /// Who may do what: a file with a line `token role [name]` each; roles: view, play, admin [default: everyone everything, and only on loopback].
    #[arg(long, value_name = "FILE")]
    pub tokens_file: Option<PathBuf>,
}
