//! The control plane: a small, strictly ordered key-value store with leases, like etcd, of which it uses what it needs.
//!
//! Who is who, which server owns which region, and who is coordinator is decided here and nowhere else; a change
//! that was based on an outdated view does not go through. Three implementations, one test-suite (`tests/store.rs`):
//!
//! * [`Embedded`]: in this process, kept in a file. One machine needs nothing installed.
//! * [`Remote`]: the embedded store of another process, over TCP.
//! * `Etcd` (feature `distributed`): a real etcd.

mod core;
mod embedded;
#[cfg(feature = "distributed")]
mod etcd;
mod frames;
mod mirror;
mod remote;

pub use self::core::{MAX_KEY_BYTES, MAX_VALUE_BYTES, StoreCore};
pub use embedded::Embedded;
#[cfg(feature = "distributed")]
pub use etcd::{Etcd, EtcdSettings, EtcdTls};
pub use mirror::Mirror;
pub use remote::{Remote, serve};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::mpsc;

/// Counts the changes of the store. A key's revision is that of its last change.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Revision(pub u64);

/// A promise to speak up again in time; keys bound to it vanish when it is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LeaseId(pub u64);

/// A key and what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub key: String,
    /// What it holds.
    pub value: Vec<u8>,
    /// When it was last changed.
    pub revision: Revision,
}

/// All entries under a prefix at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The moment.
    pub revision: Revision,
    /// By ascending key.
    pub entries: Vec<Entry>,
}

/// A key was set or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// When.
    pub revision: Revision,
    /// Which.
    pub key: String,
    /// What it holds now; `None`: it is gone.
    pub value: Option<Vec<u8>>,
}

/// A condition: the key's last change was this one. `Revision(0)`: there is no such key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unchanged {
    /// Which.
    pub key: String,
    /// Since when.
    pub since: Revision,
}

/// Sets or removes a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Write {
    /// Sets it; with a lease it lives as long as that.
    Put {
        /// Which.
        key: String,
        /// To what.
        value: Vec<u8>,
        /// For how long.
        lease: Option<LeaseId>,
    },
    /// Removes it.
    Delete {
        /// Which.
        key: String,
    },
}

/// All writes, at one revision, or none: if every condition holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// What must hold.
    pub conditions: Vec<Unchanged>,
    /// What then happens.
    pub writes: Vec<Write>,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum StoreError {
    /// A condition did not hold: someone was faster. Look again.
    #[error("someone else changed it first")]
    Conflict,
    /// The lease has run out, or never was.
    #[error("the lease has run out")]
    NoLease,
    /// The request itself is wrong.
    #[error("bad request: {0}")]
    Bad(String),
    /// The store cannot be reached or does not answer. The request may or may not have been carried out.
    #[error("the control plane does not answer: {0}")]
    Unreachable(String),
}

/// The control plane.
#[async_trait]
pub trait Store: Send + Sync {
    /// Grants a lease that must be kept alive at least this often.
    async fn grant(&self, ttl: Duration) -> Result<LeaseId, StoreError>;

    /// Starts the lease's time anew.
    async fn keep_alive(&self, lease: LeaseId) -> Result<(), StoreError>;

    /// Ends a lease at once, and its keys with it. It is no error if it has ended already.
    async fn revoke(&self, lease: LeaseId) -> Result<(), StoreError>;

    /// All keys that begin with the prefix.
    async fn list(&self, prefix: &str) -> Result<Listing, StoreError>;

    /// Writes, if all conditions hold.
    async fn commit(&self, transaction: Transaction) -> Result<Revision, StoreError>;

    /// Every change under the prefix after the revision, in order. If the stream ends, changes may have been missed: list again.
    async fn watch(
        &self,
        prefix: &str,
        after: Revision,
    ) -> Result<mpsc::Receiver<Change>, StoreError>;
}
