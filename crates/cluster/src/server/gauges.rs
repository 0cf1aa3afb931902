//! Numbers about a region that other threads look at.

use crate::messages::RegionState;
use crate::names::NodeId;
use crate::schema::Promises;
use boundary::Kept;
use domain::Tick;
use std::sync::{Mutex, MutexGuard};

/// How a region is doing.
#[derive(Clone, Debug, Default)]
pub struct Gauges {
    /// How it is; `None` before it is furnished.
    pub state: Option<RegionState>,
    /// The last completed tick.
    pub tick: Tick,
    /// Ticks that were due when it began the last one, if it was free to do them.
    pub overdue: u64,
    /// Bodies owned.
    pub bodies: u32,
    /// Of these awake.
    pub awake: u32,
    /// Auras of others' bodies.
    pub auras: u32,
    /// The newest snapshot that is safe, and with whom.
    pub kept: Option<(NodeId, Tick)>,
    /// Ticks stepped.
    pub ticks: u64,
    /// Ticks stepped more than one step after they were due.
    pub late_ticks: u64,
    /// Ticks that had to wait for a neighbour that was behind.
    pub held_ticks: u64,
    /// CPU time of all ticks, seconds, with the messages read and written for them.
    pub cpu_secs: f64,
    /// The longest tick since the start, seconds of CPU time.
    pub longest_tick_secs: f64,
    /// Bodies that came from other regions.
    pub arrived: u64,
    /// Bodies that went to other regions.
    pub departed: u64,
    /// How often the tolerances were exceeded: speed, latency, frame.
    pub exceeded: [u64; 3],
    /// How often bodies were held to what they had promised.
    pub promises: Kept,
    /// The largest cluster of which it had to be decided whether it migrates.
    pub largest_cluster: u64,
    /// Offers that could not be carried out.
    pub refused: u64,
    /// Bodies that were taken out, or not born, because the engine could not compute them.
    pub broken: u64,
    /// Payloads that could not be read or sent.
    pub failures: u64,
    /// The size of the last snapshot.
    pub snapshot_bytes: u64,
}

impl Gauges {
    /// What a heartbeat tells of promises.
    pub fn in_short(&self) -> Promises {
        Promises {
            held: self.promises.held,
            longest_ticks: self.promises.longest_ticks,
            largest_cluster: self.largest_cluster,
        }
    }
}

/// Shared between a region's thread and those who look at it.
#[derive(Debug, Default)]
pub struct SharedGauges(Mutex<Gauges>);

impl SharedGauges {
    /// As they are now.
    pub fn read(&self) -> Gauges {
        self.lock().clone()
    }

    /// To change them.
    pub fn lock(&self) -> MutexGuard<'_, Gauges> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}
