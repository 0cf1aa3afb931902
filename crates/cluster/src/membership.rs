//! A process as a member of the cluster: it registers, stays registered, and follows what the control plane says.

use crate::Boxed;
use crate::carrier::Carrier;
use crate::names::Place;
use crate::schema::{self, ClusterView, Keys, NodeInfo};
use crate::store::{LeaseId, Mirror, Store, StoreError, Transaction, Write};
use channel::EndpointId;
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A process that is silent towards the control plane for so long is forgotten there. (Regions are rescued much earlier, by heartbeats.)
pub const LEASE: Duration = Duration::from_secs(5);
const RENEWAL: Duration = Duration::from_secs(1);

/// A registered process.
pub struct Membership {
    store: Arc<dyn Store>,
    keys: Keys,
    info: watch::Sender<NodeInfo>,
    view: watch::Receiver<Arc<ClusterView>>,
    lapses: watch::Receiver<u64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Membership {
    /// Registers the process and begins to follow the cluster. Waits until the control plane has answered.
    pub fn join(
        store: Arc<dyn Store>,
        keys: Keys,
        info: NodeInfo,
        carrier: Arc<dyn Carrier>,
    ) -> Boxed<'static, Self> {
        Box::pin(async move {
            let mirror = Mirror::follow(Arc::clone(&store), keys.all()).await;
            let (info, changed) = watch::channel(info);
            let first = read(&keys, &mirror, &*carrier);
            let (sender, view) = watch::channel(first);
            let (lapsed, lapses) = watch::channel(0);
            let tasks = vec![
                tokio::spawn(follow(keys.clone(), mirror, carrier, sender)),
                tokio::spawn(stay_registered(
                    Arc::clone(&store),
                    keys.clone(),
                    changed,
                    lapsed,
                )),
            ];
            Self {
                store,
                keys,
                info,
                view,
                lapses,
                tasks,
            }
        })
    }

    /// What the control plane says, as it changes.
    pub fn view(&self) -> watch::Receiver<Arc<ClusterView>> {
        self.view.clone()
    }

    /// How often the control plane has forgotten us, though we live: others have taken us for dead, and may have forgotten what they had to tell us.
    pub fn lapses(&self) -> watch::Receiver<u64> {
        self.lapses.clone()
    }

    /// What it says at this very moment, not what we have heard so far.
    pub async fn look(&self) -> Result<ClusterView, StoreError> {
        let listing = self.store.list(self.keys.all()).await?;
        let entries = listing
            .entries
            .into_iter()
            .map(|entry| (entry.key.clone(), entry));
        Ok(ClusterView::read(&self.keys, &entries.collect()))
    }

    /// The control plane.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The cluster's keys.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Who we are.
    pub fn info(&self) -> NodeInfo {
        self.info.borrow().clone()
    }

    /// Asks the coordinator to give our regions to others.
    pub fn announce_leaving(&self) {
        self.info.send_modify(|info| info.leaving = true);
    }

    /// Leaves: the control plane forgets us at once.
    pub fn leave(self) -> Boxed<'static, ()> {
        Box::pin(async move {
            for task in &self.tasks {
                task.abort();
            }
            let key = self.keys.node(self.info.borrow().node);
            let writes = vec![Write::Delete { key }];
            let conditions = Vec::new();
            // If it cannot be told, the lease will tell it.
            let _ = self.store.commit(Transaction { conditions, writes }).await;
        })
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

fn read(keys: &Keys, mirror: &Mirror, carrier: &dyn Carrier) -> Arc<ClusterView> {
    let view = ClusterView::read(keys, &mirror.view());
    carrier.set_routes(routes(&view));
    Arc::new(view)
}

async fn follow(
    keys: Keys,
    mut mirror: Mirror,
    carrier: Arc<dyn Carrier>,
    view: watch::Sender<Arc<ClusterView>>,
) {
    loop {
        mirror.changed().await;
        view.send_replace(read(&keys, &mirror, &*carrier));
    }
}

/// Where every end is.
fn routes(view: &ClusterView) -> FxHashMap<EndpointId, SocketAddr> {
    let mut routes = FxHashMap::default();
    for (node, info) in &view.nodes {
        for end in [
            node.endpoint(),
            node.pulse_endpoint(),
            node.group_endpoint(),
            node.group_pulse_endpoint(),
        ] {
            routes.insert(end, info.address);
        }
    }
    let generation = view.assignment.generation;
    for (region, seat) in view.assignment.regions() {
        let place = Place { generation, region };
        if let Some(info) = seat.owner.and_then(|owner| view.nodes.get(&owner)) {
            routes.insert(place.endpoint(), info.address);
        }
    }
    routes
}

async fn stay_registered(
    store: Arc<dyn Store>,
    keys: Keys,
    mut info: watch::Receiver<NodeInfo>,
    lapsed: watch::Sender<u64>,
) {
    let mut lease: Option<LeaseId> = None;
    let mut told: Option<NodeInfo> = None;
    loop {
        let current = info.borrow_and_update().clone();
        let renewed = match lease {
            Some(lease) if told.as_ref() == Some(&current) => store.keep_alive(lease).await,
            _ => register(&*store, &keys, &current, &mut lease).await,
        };
        match renewed {
            Ok(()) => told = Some(current),
            Err(StoreError::NoLease) => {
                tracing::warn!("the control plane had forgotten this process; registering again");
                lapsed.send_modify(|times| *times += 1);
                (lease, told) = (None, None);
                continue;
            }
            Err(error) => tracing::warn!(%error, "cannot renew the registration"),
        }
        tokio::select! {
            () = tokio::time::sleep(RENEWAL) => {}
            changed = info.changed() => if changed.is_err() { return },
        }
    }
}

async fn register(
    store: &dyn Store,
    keys: &Keys,
    info: &NodeInfo,
    lease: &mut Option<LeaseId>,
) -> Result<(), StoreError> {
    let bound = match *lease {
        Some(lease) => lease,
        None => *lease.insert(store.grant(LEASE).await?),
    };
    let put = Write::Put {
        key: keys.node(info.node),
        value: schema::to_bytes(info),
        lease: Some(bound),
    };
    let transaction = Transaction {
        conditions: Vec::new(),
        writes: vec![put],
    };
    store.commit(transaction).await.map(drop)
}
