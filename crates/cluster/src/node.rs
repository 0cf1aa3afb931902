//! What every process of the cluster has: a name, a clock, a carrier, a place in the control plane.

use crate::Boxed;
use crate::carrier::{Carrier, ClusterKey, Switchboard, UdpCarrier};
use crate::clock::ClusterClock;
use crate::groups;
use crate::membership::Membership;
use crate::names::NodeId;
use crate::schema::{Keys, NodeInfo, Role};
use crate::store::Store;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// How a process reaches the others.
#[derive(Clone)]
pub struct Connection {
    /// The cluster's name in the control plane.
    pub cluster: String,
    /// The control plane.
    pub store: Arc<dyn Store>,
    /// The secret that all processes share.
    pub key: ClusterKey,
    /// What carries datagrams.
    pub network: Network,
    /// Something put in front of the carrier: a network that misbehaves on purpose.
    pub before: Option<Before>,
}

/// Puts something in front of a carrier.
pub type Before = Arc<dyn Fn(Arc<dyn Carrier>) -> Arc<dyn Carrier> + Send + Sync>;

/// What carries datagrams.
#[derive(Clone, Debug)]
pub enum Network {
    /// UDP.
    Udp {
        /// Where datagrams arrive; port 0: any that is free.
        bind: SocketAddr,
        /// Where others reach us, if that is not where we listen (`0.0.0.0` is no address to be called at).
        advertise: Option<SocketAddr>,
    },
    /// Zenoh, which finds the others itself.
    #[cfg(feature = "distributed")]
    Zenoh(crate::carrier::ZenohSettings),
}

impl Network {
    /// UDP on this machine only.
    pub fn loopback() -> Self {
        Self::Udp {
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            advertise: None,
        }
    }

    /// Opens it; also where others reach us, if that matters.
    fn open(
        &self,
        key: &ClusterKey,
        switchboard: &Switchboard,
    ) -> io::Result<(Arc<dyn Carrier>, SocketAddr)> {
        match self {
            Self::Udp { bind, advertise } => {
                let carrier = UdpCarrier::open(*bind, key.clone(), switchboard.clone())?;
                let address = advertise.map_or_else(|| carrier.address(), Ok)?;
                Ok((carrier, address))
            }
            #[cfg(feature = "distributed")]
            Self::Zenoh(settings) => {
                let key = key.clone();
                let carrier =
                    crate::carrier::ZenohCarrier::open(settings, key, switchboard.clone())?;
                Ok((carrier, SocketAddr::from(([0, 0, 0, 0], 0))))
            }
        }
    }
}

/// A process that has joined.
pub struct Node {
    /// Its name.
    pub id: NodeId,
    /// Its clock.
    pub clock: Arc<ClusterClock>,
    /// The network.
    pub carrier: Arc<dyn Carrier>,
    /// Who gets what comes from it.
    pub switchboard: Switchboard,
    /// Its place in the control plane.
    pub membership: Membership,
    /// What it measures and counts where consistency groups are on.
    pub groups: Arc<groups::Gauges>,
}

impl Node {
    /// Opens the network and joins.
    pub fn join<'a>(
        connection: &'a Connection,
        role: Role,
        name: &'a str,
        url: Option<String>,
    ) -> Boxed<'a, io::Result<Self>> {
        Box::pin(async move {
            let id = NodeId::draw();
            let switchboard = Switchboard::default();
            let (carrier, address) = connection.network.open(&connection.key, &switchboard)?;
            let carrier = match &connection.before {
                Some(before) => before(carrier),
                None => carrier,
            };
            carrier.announce(id);
            let info = NodeInfo {
                node: id,
                role,
                name: name.to_owned(),
                address,
                url,
                leaving: false,
            };
            let keys = Keys::new(&connection.cluster);
            let store = Arc::clone(&connection.store);
            let membership = Membership::join(store, keys, info, Arc::clone(&carrier)).await;
            Ok(Self {
                id,
                clock: Arc::new(ClusterClock::new()),
                carrier,
                switchboard,
                membership,
                groups: Arc::default(),
            })
        })
    }
}

/// Waits until the flag becomes true (or nobody can set it any more).
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // The guard in the result must not be carried through an await of the caller.
    let _ = stop.wait_for(|stop| *stop).await.map(drop);
}
