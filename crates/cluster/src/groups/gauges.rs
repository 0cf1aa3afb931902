//! What of consistency groups can be watched.

use crate::names::NodeId;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// What a process has measured and counted. Zero, and nobody, where groups are off.
#[derive(Debug, Default)]
pub struct Gauges {
    delays: Mutex<BTreeMap<NodeId, f64>>,
    refused: AtomicU64,
    votes: AtomicU64,
}

impl Gauges {
    /// The average round trip to each other server, milliseconds.
    pub fn delays_ms(&self) -> BTreeMap<NodeId, f64> {
        self.lock().clone()
    }

    /// Messages that could not be read, were not believed, or had no room.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Votes that have put a server in or out, while this coordinator led.
    pub fn votes(&self) -> u64 {
        self.votes.load(Relaxed)
    }

    pub(super) fn set_delays(&self, delays: BTreeMap<NodeId, f64>) {
        *self.lock() = delays;
    }

    pub(super) fn count_refused(&self, more: u64) {
        self.refused.fetch_add(more, Relaxed);
    }

    pub(super) fn count_vote(&self) {
        self.votes.fetch_add(1, Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<NodeId, f64>> {
        self.delays
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}
