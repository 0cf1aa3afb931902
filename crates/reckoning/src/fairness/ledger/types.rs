//! How a ledger is kept, what it says, and what it refuses.

use crate::fairness::exported::Measure;
use crate::vector::Seq;
use domain::SimTime;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How a ledger is kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerSettings {
    /// How error is added up.
    pub measure: Measure,
    /// How far back a late acknowledgement still corrects the total (default 2 s). More costs memory.
    pub window: SimTime,
    /// A vector unacknowledged for this long is taken to have arrived as estimated (default 10 s), so that a silent receiver
    /// does not make the sender remember everything. More than any round trip.
    pub give_up: SimTime,
    /// Whether reported times are clamped to what is possible (default true; false only to show what a liar would gain).
    pub clamp: bool,
    /// The longest delay a receiver is granted (default none). A client that withholds its acknowledgements looks slow; with this it
    /// cannot look slower than the slowest client that is admitted.
    pub admitted_delay: Option<SimTime>,
}

impl Default for LedgerSettings {
    fn default() -> Self {
        Self {
            measure: Measure::default(),
            window: SimTime::from_secs(2.0),
            give_up: SimTime::from_secs(10.0),
            clamp: true,
            admitted_delay: None,
        }
    }
}

/// Why an acknowledgement was refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AckError {
    /// It has more pairs than one may have.
    #[error("{0} receptions in one acknowledgement")]
    TooMany(usize),
    /// It names a vector newer than all sent to this receiver.
    #[error("vector {} was never sent", .0.0)]
    NeverSent(Seq),
}

/// Why a ledger from another server was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the ledger is damaged: {0}")]
pub struct Damaged(pub(super) &'static str);

/// The export error of one receiver at one instant, in unit · s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Known from feedback.
    pub cee: f64,
    /// Estimated for the time since.
    pub eee: f64,
}

impl Estimate {
    /// The accumulated export error: comparable between receivers, since for all of them it ends now.
    pub fn aee(&self) -> f64 {
        self.cee + self.eee
    }
}

/// What happened to vectors and acknowledgements of one receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerCounts {
    /// Vectors sent.
    pub sent: u64,
    /// Of those, how many are known to have arrived.
    pub acked: u64,
    /// Acknowledgements for a time further back than the window; they changed nothing.
    pub late: u64,
    /// Vectors whose arrival was assumed after [`LedgerSettings::give_up`].
    pub assumed: u64,
    /// Reported times that were not possible.
    pub clamped: u64,
}
