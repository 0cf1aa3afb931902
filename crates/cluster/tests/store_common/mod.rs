//! The stores that the suite runs against, and what its cases say often.

#[cfg(feature = "distributed")]
#[path = "../etcd_process/mod.rs"]
mod etcd_process;

use cluster::carrier::ClusterKey;
use cluster::store::{
    Change, Embedded, LeaseId, Remote, Revision, Store, Transaction, Unchanged, Write, serve,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Longer than anything takes, even on a busy machine.
pub const LONG: Duration = Duration::from_secs(20);
/// The shortest lease that all stores keep as it is.
pub const LEASE: Duration = Duration::from_secs(1);

/// A store, and where it is kept.
pub struct Backend {
    pub store: Arc<dyn Store>,
    place: Place,
}

enum Place {
    Here,
    There(Server),
    #[cfg(feature = "distributed")]
    Etcd(etcd_process::EtcdProcess),
}

impl Backend {
    pub fn embedded() -> Self {
        Self {
            store: Arc::new(Embedded::in_memory()),
            place: Place::Here,
        }
    }

    pub async fn remote() -> Self {
        let server = Server::start(b"secret").await;
        Self {
            store: Arc::new(Remote::new(server.address, ClusterKey::new(b"secret"))),
            place: Place::There(server),
        }
    }

    /// `None` if etcd was asked to be left out.
    #[cfg(feature = "distributed")]
    pub async fn etcd() -> Option<Self> {
        let etcd = etcd_process::EtcdProcess::start().await?;
        Some(Self {
            store: Arc::new(etcd.connect().await),
            place: Place::Etcd(etcd),
        })
    }

    /// Breaks all connections; until [`Self::mend`] no new one can be made. In this process there is none to break.
    pub async fn interrupt(&mut self) {
        match &mut self.place {
            Place::Here => (),
            Place::There(server) => server.stop().await,
            #[cfg(feature = "distributed")]
            Place::Etcd(etcd) => etcd.kill(),
        }
    }

    /// Makes the store reachable again, with all it had, where it was.
    pub async fn mend(&mut self) {
        match &mut self.place {
            Place::Here => (),
            Place::There(server) => server.serve().await,
            #[cfg(feature = "distributed")]
            Place::Etcd(etcd) => etcd.restart().await,
        }
    }

    pub fn can_be_interrupted(&self) -> bool {
        !matches!(self.place, Place::Here)
    }
}

/// A served store. The server has a runtime of its own: when that ends, so do all its connections, as if the process had died.
pub struct Server {
    pub address: SocketAddr,
    store: Embedded,
    key: ClusterKey,
    runtime: Option<Runtime>,
}

impl Server {
    pub async fn start(secret: &[u8]) -> Self {
        let mut server = Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            store: Embedded::in_memory(),
            key: ClusterKey::new(secret),
            runtime: None,
        };
        server.serve().await;
        server
    }

    async fn serve(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.expect("threads");
        let (address, store, key) = (self.address, self.store.clone(), self.key.clone());
        let (sender, bound) = tokio::sync::oneshot::channel();
        runtime.spawn(async move {
            let listener = TcpListener::bind(address).await.expect("the port is ours");
            let address = listener.local_addr().expect("bound");
            sender.send(address).expect("the test waits");
            serve(listener, store, key).await;
        });
        self.address = bound.await.expect("the server starts");
        self.runtime = Some(runtime);
    }

    async fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            let stop = move || runtime.shutdown_timeout(LONG);
            tokio::task::spawn_blocking(stop).await.expect("it stops");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Within a runtime another one cannot be waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub fn put(key: &str, value: &str) -> Write {
    Write::Put {
        key: key.to_owned(),
        value: value.into(),
        lease: None,
    }
}

pub fn put_leased(key: &str, value: &str, lease: LeaseId) -> Write {
    Write::Put {
        key: key.to_owned(),
        value: value.into(),
        lease: Some(lease),
    }
}

pub fn delete(key: &str) -> Write {
    Write::Delete {
        key: key.to_owned(),
    }
}

pub fn since(key: &str, revision: Revision) -> Unchanged {
    Unchanged {
        key: key.to_owned(),
        since: revision,
    }
}

pub fn absent(key: &str) -> Unchanged {
    since(key, Revision(0))
}

pub fn transaction(
    conditions: impl Into<Vec<Unchanged>>,
    writes: impl Into<Vec<Write>>,
) -> Transaction {
    Transaction {
        conditions: conditions.into(),
        writes: writes.into(),
    }
}

/// Writes without conditions.
pub async fn write(store: &dyn Store, writes: impl Into<Vec<Write>>) -> Revision {
    store
        .commit(transaction([], writes))
        .await
        .expect("committed")
}

/// Keys and values under a prefix.
pub async fn values(store: &dyn Store, prefix: &str) -> Vec<(String, String)> {
    let listing = store.list(prefix).await.expect("listed");
    let text = |value: Vec<u8>| String::from_utf8(value).expect("ours");
    listing
        .entries
        .into_iter()
        .map(|entry| (entry.key, text(entry.value)))
        .collect()
}

/// The next change, which must come.
pub async fn next(changes: &mut mpsc::Receiver<Change>) -> Change {
    let change = timeout(LONG, changes.recv()).await.expect("a change comes");
    change.expect("the watch goes on")
}
