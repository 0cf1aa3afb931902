//! What all processes of a live cluster have in common: logs, secrets, the control plane, and how they end.

use crate::args::ClusterArgs;
use cluster::carrier::ClusterKey;
use cluster::node::Connection;
use cluster::store::{Remote, Store};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use tokio::io::AsyncReadExt;
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

/// The cluster's secret. Without one only this machine may be listened to.
pub fn cluster_key(args: &ClusterArgs) -> Result<ClusterKey, String> {
    let secret = match &args.cluster_key_file {
        Some(file) => {
            let file_name = file.display();
            let text = std::fs::read_to_string(file);
            Some(text.map_err(|error| format!("cannot read {file_name}: {error}"))?)
        }
        None => std::env::var(KEY_VARIABLE).ok(),
    };
    let secret = secret.map(|secret| secret.trim().to_owned());
    match secret.filter(|secret| !secret.is_empty()) {
        Some(secret) if secret.len() < 16 => {
            Err("the cluster key is too short: at least 16 characters".to_owned())
        }
        Some(secret) => Ok(ClusterKey::new(secret.as_bytes())),
        None if args.bind.ip().is_loopback() => Ok(ClusterKey::none()),
        None => Err(format!(
            "--bind {}: other machines can reach this; a cluster key is needed (--cluster-key-file or {KEY_VARIABLE})",
            args.bind
        )),
    }
}

/// How this process reaches the others.
pub fn connection(args: &ClusterArgs) -> Result<Connection, String> {
    let key = cluster_key(args)?;
    let Some(control) = args.control else {
        return Err("where is the control plane? (--control HOST:PORT)".to_owned());
    };
    let store = Arc::new(Remote::new(control, key.clone()));
    Ok(with_store(args, key, store))
}

/// The same with a control plane that is at hand.
pub fn with_store(args: &ClusterArgs, key: ClusterKey, store: Arc<dyn Store>) -> Connection {
    Connection {
        cluster: args.cluster.clone(),
        store,
        key,
        bind: args.bind,
        advertise: args.advertise,
    }
}

/// Becomes true when the process shall end: SIGTERM, Ctrl-C, or the end of its parent.
pub fn stop_signal(with_parent: bool) -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            () = signalled() => tracing::info!("asked to stop"),
            () = parent_gone(), if with_parent => {}
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

/// Nobody writes to our standard input; when it ends, whoever held it is gone.
async fn parent_gone() {
    let mut input = tokio::io::stdin();
    let mut buffer = [0; 64];
    while input.read(&mut buffer).await.is_ok_and(|bytes| bytes > 0) {}
    // Nobody is left to wait for a farewell, or to give anything to.
    std::process::exit(0);
}
