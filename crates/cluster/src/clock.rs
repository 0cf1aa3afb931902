//! One time for all processes: Unix time as the leading coordinator knows it.
//!
//! The coordinator reads the machine's clock once and counts on from there, so that nobody's correction of that clock
//! makes the world jump. The others ask it with every heartbeat and estimate, with a bound that they report (`reckoning`'s clock).

use crate::messages::Pulse;
use domain::SimTime;
use reckoning::motion::{Exchange, SharedClock};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A process's idea of the common time.
pub struct ClusterClock {
    start: Instant,
    /// The machine's own idea of Unix time at `start`.
    machine: SimTime,
    shared: Mutex<SharedClock>,
    answered: AtomicU64,
}

impl Default for ClusterClock {
    fn default() -> Self {
        Self::new()
    }
}

impl ClusterClock {
    /// A clock that knows only the machine it runs on.
    pub fn new() -> Self {
        let machine = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = machine.map_or(0, |since| since.as_nanos());
        Self {
            start: Instant::now(),
            machine: SimTime(u64::try_from(nanos).unwrap_or(0)),
            shared: Mutex::default(),
            answered: AtomicU64::new(0),
        }
    }

    /// When the last heartbeat was sent that the coordinator has answered.
    pub fn answered(&self) -> SimTime {
        SimTime(self.answered.load(Ordering::Relaxed))
    }

    /// Time since the process began.
    pub fn local(&self) -> SimTime {
        SimTime(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Unix time by this machine: the coordinator's word.
    pub fn machine(&self) -> SimTime {
        self.machine + self.local()
    }

    /// The common time; `None` before the coordinator has answered for the first time.
    pub fn common(&self) -> Option<SimTime> {
        self.lock().now(self.local())
    }

    /// How far [`Self::common`] may be from the coordinator's.
    pub fn bound(&self) -> Option<SimTime> {
        self.lock().error_bound(self.local())
    }

    /// The coordinator has answered.
    pub fn handle_pulse(&self, pulse: &Pulse) {
        let returned = self.local();
        if pulse.sent <= returned {
            self.answered.fetch_max(pulse.sent.0, Ordering::Relaxed);
        }
        let exchange = Exchange {
            sent: pulse.sent,
            received: pulse.received,
            replied: pulse.replied,
            returned,
        };
        if let Err(error) = self.lock().handle_exchange(returned, &exchange) {
            tracing::warn!(%error, "the coordinator's clock makes no sense");
        }
    }

    fn lock(&self) -> MutexGuard<'_, SharedClock> {
        self.shared
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}
