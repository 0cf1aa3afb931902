//! Carriers take datagrams from one process to another. They may lose, double and shuffle them; channels above make that good, so a
//! carrier needs no promise to keep.
//!
//! ```text
//!  region thread ─► PostOffice (channels) ─► Carrier ~~~ network ~~~ Carrier ─► Switchboard ─► mailbox of the end spoken to
//! ```

mod letters;
mod udp;
#[cfg(feature = "distributed")]
mod zenoh;

#[cfg(feature = "distributed")]
pub use self::zenoh::{ZenohCarrier, ZenohMode, ZenohSettings, ZenohTls};
pub use letters::{ClusterKey, MAX_DATAGRAM_BYTES};
pub use udp::UdpCarrier;

use crate::names::NodeId;
use channel::EndpointId;
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

/// Sends datagrams. Never waits.
pub trait Carrier: Send + Sync {
    /// Sends a datagram as well as it can. What cannot be sent is lost.
    fn send(&self, from: EndpointId, to: EndpointId, bytes: &[u8]);

    /// Where every end is from now on, for carriers that must be told.
    fn set_routes(&self, routes: FxHashMap<EndpointId, SocketAddr>);

    /// Lets others notice when this process is gone, where the carrier can.
    fn announce(&self, _node: NodeId) {}

    /// Calls back when a process that was announced is gone, where the carrier can tell. Heartbeats tell it too, a little later.
    fn watch_deaths(&self, _died: Box<dyn Fn(NodeId) + Send + Sync>) {}

    /// How many bytes and datagrams have been sent and received.
    fn traffic(&self) -> Traffic;
}

/// What a carrier has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Datagrams sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Datagrams received and passed on.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Datagrams dropped: damaged, not authentic, or for an end that is not here.
    pub refused: u64,
}

/// Counts [`Traffic`] from several threads.
#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    sent_bytes: AtomicU64,
    received: AtomicU64,
    received_bytes: AtomicU64,
    refused: AtomicU64,
}

impl Counts {
    fn count_sent(&self, bytes: usize) {
        self.sent.fetch_add(1, Relaxed);
        self.sent_bytes.fetch_add(bytes as u64, Relaxed);
    }

    fn count_received(&self, bytes: usize, delivered: bool) {
        if delivered {
            self.received.fetch_add(1, Relaxed);
            self.received_bytes.fetch_add(bytes as u64, Relaxed);
        } else {
            self.refused.fetch_add(1, Relaxed);
        }
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            sent: self.sent.load(Relaxed),
            sent_bytes: self.sent_bytes.load(Relaxed),
            received: self.received.load(Relaxed),
            received_bytes: self.received_bytes.load(Relaxed),
            refused: self.refused.load(Relaxed),
        }
    }
}

/// A datagram that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Who says it sent it. (Authentic as far as the carrier's key is secret.)
    pub from: EndpointId,
    /// What it says.
    pub bytes: Vec<u8>,
}

/// Takes datagrams for one end. Called on the carrier's thread: it must not wait.
pub type Mailbox = Arc<dyn Fn(Datagram) + Send + Sync>;

/// Is told of every end that comes (`true`) and goes (`false`), one after another.
pub type EndObserver = Arc<dyn Fn(EndpointId, bool) + Send + Sync>;

/// Which ends are in this process, and where their mailboxes are.
#[derive(Clone, Default)]
pub struct Switchboard {
    ends: Arc<RwLock<FxHashMap<EndpointId, Mailbox>>>,
    /// Held while ends come and go, so that observers hear of it in the order in which it happened. Never held while a datagram is
    /// delivered: an observer may wait for a carrier that waits for a delivery.
    observers: Arc<Mutex<Vec<EndObserver>>>,
}

impl Switchboard {
    /// From now on datagrams for this end go there.
    pub fn connect(&self, end: EndpointId, mailbox: Mailbox) {
        let observers = self.observers();
        if self.write().insert(end, mailbox).is_none() {
            observers.iter().for_each(|observer| observer(end, true));
        }
    }

    /// Datagrams for this end are dropped from now on.
    pub fn disconnect(&self, end: EndpointId) {
        let observers = self.observers();
        if self.write().remove(&end).is_some() {
            observers.iter().for_each(|observer| observer(end, false));
        }
    }

    /// Tells an observer of all ends that are here and of all that come and go later. It must not connect or disconnect any itself.
    pub fn observe(&self, observer: EndObserver) {
        let mut observers = self.observers();
        let mut here: Vec<EndpointId> = {
            let ends = self
                .ends
                .read()
                .unwrap_or_else(|poison| poison.into_inner());
            ends.keys().copied().collect()
        };
        here.sort_unstable();
        here.into_iter().for_each(|end| observer(end, true));
        observers.push(observer);
    }

    /// Delivers a datagram; says whether anyone wanted it.
    pub fn deliver(&self, to: EndpointId, datagram: Datagram) -> bool {
        let mailbox = {
            let ends = self
                .ends
                .read()
                .unwrap_or_else(|poison| poison.into_inner());
            ends.get(&to).cloned()
        };
        mailbox.inspect(|mailbox| mailbox(datagram)).is_some()
    }

    fn observers(&self) -> MutexGuard<'_, Vec<EndObserver>> {
        self.observers
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, FxHashMap<EndpointId, Mailbox>> {
        self.ends
            .write()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}
