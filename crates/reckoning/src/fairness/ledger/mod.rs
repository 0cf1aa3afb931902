//! What the sender knows of one receiver's error: exactly, as far as acknowledgements tell; by estimate from there to now.
//!
//! ```text
//!              first reception          newest acknowledged reception        now
//!   ───────────────┼───────────────────────────────┼──────────────────────────┼──►
//!   nothing counts │      CEE: exact               │  EEE: vectors sent but   │
//!                  │                               │  not acknowledged are    │
//!                  │◄──── checkpoints (2 s) ──────►│  assumed to arrive after │
//!                  │      so that late news can    │  the estimated delay     │
//!                  │      still be worked in       │                          │
//!                        AEE = CEE + EEE
//! ```
//!
//! The receiver's word is bounded: a vector cannot have arrived before it was sent, nor after the acknowledgement. Otherwise a client
//! would report late receptions, seem to be worse off than all others, and be sent what was meant for them.

mod estimate;
mod types;
mod validate;

pub use types::{AckError, Damaged, Estimate, LedgerCounts, LedgerSettings};

use super::acks::{ACK_PAIRS, Ack};
use super::delay::{DelayEstimator, DelayModel};
use super::exported::{ExportedPath, Walk};
use crate::vector::{DrVector, Seq};
use domain::SimTime;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Checkpoint {
    at: SimTime,
    vector: DrVector,
    /// The error up to `at`.
    cee: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Sent {
    seq: Seq,
    generated: SimTime,
    at: SimTime,
}

/// One receiver's account at the sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    settings: LedgerSettings,
    joined: SimTime,
    seed: f64,
    /// Receptions that took effect, times and numbers ascending.
    checkpoints: VecDeque<Checkpoint>,
    /// The first checkpoint is the receiver's very first reception.
    whole: bool,
    /// Sent, fate unknown; in the order of sending.
    sent: VecDeque<Sent>,
    newest_sent: Seq,
    last_sent: Option<SimTime>,
    delays: DelayEstimator,
    counts: LedgerCounts,
}

impl Ledger {
    /// For a receiver that joins now. `seed` is the error it starts with: the mean of the others, so that a newcomer is
    /// neither starved beside veterans with large totals nor served before them.
    pub fn new(joined: SimTime, seed: f64, settings: LedgerSettings) -> Self {
        Self {
            settings,
            joined,
            seed,
            checkpoints: VecDeque::new(),
            whole: true,
            sent: VecDeque::new(),
            newest_sent: Seq::default(),
            last_sent: None,
            delays: DelayEstimator::default(),
            counts: LedgerCounts::default(),
        }
    }

    /// Notes that a vector leaves for the receiver now. Sending the newest once more is noted as one sending.
    pub fn handle_sent(&mut self, now: SimTime, vector: &DrVector) {
        self.counts.sent += 1;
        self.last_sent = Some(now);
        self.newest_sent = self.newest_sent.max(vector.seq);
        if self.sent.iter().all(|sent| sent.seq != vector.seq) {
            self.sent.push_back(Sent {
                seq: vector.seq,
                generated: vector.time,
                at: now,
            });
        }
    }

    /// Takes an acknowledgement that arrives now, however late, often or out of order.
    pub fn handle_ack(
        &mut self,
        now: SimTime,
        ack: &Ack,
        exported: &ExportedPath,
    ) -> Result<(), AckError> {
        if ack.pairs.len() > ACK_PAIRS {
            return Err(AckError::TooMany(ack.pairs.len()));
        }
        if let Some(&(seq, _)) = ack.pairs.iter().find(|pair| pair.0 > self.newest_sent) {
            return Err(AckError::NeverSent(seq));
        }
        for &(seq, reported) in &ack.pairs {
            self.received(now, seq, reported, exported);
        }
        self.forget();
        Ok(())
    }

    fn received(&mut self, now: SimTime, seq: Seq, reported: SimTime, exported: &ExportedPath) {
        // Each reception is reported up to eight times; what is no longer open has been dealt with.
        let Some(index) = self.sent.iter().position(|sent| sent.seq == seq) else {
            return;
        };
        let Some(sent) = self.sent.remove(index) else {
            return;
        };
        let at = self.believed(reported, sent.at, now);
        self.counts.acked += 1;
        self.delays.record(at.since(sent.at));
        if let Some(vector) = exported.get(seq) {
            self.place(at, *vector, exported);
        }
    }

    /// A reported time, as far as it can be true.
    fn believed(&mut self, reported: SimTime, sent: SimTime, now: SimTime) -> SimTime {
        if !self.settings.clamp {
            return reported;
        }
        let granted = self
            .settings
            .admitted_delay
            .map_or(now, |delay| later(sent, delay));
        let believed = reported.min(granted).min(now).max(sent);
        self.counts.clamped += u64::from(believed != reported);
        believed
    }

    /// Works a reception into the placed path, and its consequences into the totals after it.
    fn place(&mut self, at: SimTime, vector: DrVector, exported: &ExportedPath) {
        let index = self.checkpoints.partition_point(|known| known.at <= at);
        if index == 0 && !self.whole {
            self.counts.late += 1;
            return;
        }
        if index > 0 && self.checkpoints[index - 1].vector.seq >= vector.seq {
            return;
        }
        let after = self.checkpoints.iter().skip(index);
        let overtaken = after
            .take_while(|known| known.vector.seq < vector.seq)
            .count();
        self.checkpoints.drain(index..index + overtaken);
        let cee = 0.0;
        self.checkpoints
            .insert(index, Checkpoint { at, vector, cee });
        for index in index..self.checkpoints.len() {
            self.checkpoints[index].cee = self.cee_of(index, exported);
        }
    }

    fn cee_of(&self, index: usize, exported: &ExportedPath) -> f64 {
        let at = self.checkpoints[index].at;
        let before = match index.checked_sub(1) {
            Some(before) => self.walk_from(before),
            None => Walk::new(self.seed, self.joined, None),
        };
        before.until(exported, at, &self.settings.measure)
    }

    fn walk_from(&self, index: usize) -> Walk {
        let known = &self.checkpoints[index];
        Walk::new(known.cee, known.at, Some(known.vector))
    }

    /// Forgets what no acknowledgement can change any more.
    fn forget(&mut self) {
        let Some(newest) = self.checkpoints.back().map(|known| known.at) else {
            return;
        };
        while self.checkpoints.len() > 1
            && later(self.checkpoints[1].at, self.settings.window) <= newest
        {
            self.checkpoints.pop_front();
            self.whole = false;
        }
        if !self.whole {
            let oldest = self.checkpoints[0].vector.seq;
            self.sent.retain(|sent| sent.seq > oldest);
        }
    }

    /// Closes what has been open for too long, by estimate. To be called now and then, at the latest before the exported path is
    /// pruned.
    pub fn settle(&mut self, now: SimTime, exported: &ExportedPath) {
        let Some(horizon) = now.0.checked_sub(self.settings.give_up.0).map(SimTime) else {
            return;
        };
        let delay = self.delays.delay(DelayModel::Average);
        while let Some(sent) = self.sent.front().copied() {
            let arrival = later(sent.at, delay);
            if arrival > horizon {
                break;
            }
            self.sent.pop_front();
            self.counts.assumed += 1;
            if let Some(vector) = exported.get(sent.seq) {
                let exact = self.exact_until().unwrap_or(SimTime::ZERO);
                self.place(exact.max(arrival), *vector, exported);
            }
        }
        if let Some(newest) = self.checkpoints.back().copied()
            && newest.at < horizon
        {
            let cee = self.walk_from(self.checkpoints.len() - 1);
            self.checkpoints.push_back(Checkpoint {
                at: horizon,
                cee: cee.until(exported, horizon, &self.settings.measure),
                ..newest
            });
        }
        self.forget();
    }

    /// The exported path from here on is still needed; `None` if nothing of it is.
    pub fn needs_from(&self) -> Option<SimTime> {
        let checkpoint = self.checkpoints.front().map(|known| known.at);
        let sent = self.sent.iter().map(|sent| sent.generated).min();
        [checkpoint, sent].into_iter().flatten().min()
    }

    /// Until when the total is exact: the reception of the newest acknowledged vector.
    pub fn exact_until(&self) -> Option<SimTime> {
        self.checkpoints.back().map(|known| known.at)
    }

    /// The newest vector the receiver is known to have.
    pub fn known_vector(&self) -> Option<&DrVector> {
        self.checkpoints.back().map(|known| &known.vector)
    }

    /// CEE as of [`Self::exact_until`].
    pub fn cee(&self) -> f64 {
        self.checkpoints.back().map_or(self.seed, |known| known.cee)
    }

    /// When something was last sent.
    pub fn last_sent(&self) -> Option<SimTime> {
        self.last_sent
    }

    /// The number of the newest vector sent; 0 if none was.
    pub fn newest_sent(&self) -> Seq {
        self.newest_sent
    }

    /// When this receiver joined.
    pub fn joined(&self) -> SimTime {
        self.joined
    }

    /// Whether it has acknowledged anything.
    pub fn has_acked(&self) -> bool {
        self.counts.acked > 0
    }

    /// Its delays.
    pub fn delays(&self) -> &DelayEstimator {
        &self.delays
    }

    /// Its delays, to tell an oracle's.
    pub fn delays_mut(&mut self) -> &mut DelayEstimator {
        &mut self.delays
    }

    /// What happened so far.
    pub fn counts(&self) -> LedgerCounts {
        self.counts
    }

    /// How many entries it remembers (checkpoints and open vectors).
    pub fn memory(&self) -> usize {
        self.checkpoints.len() + self.sent.len()
    }
}

/// Times here may come from outside, so a sum must not overflow.
fn later(at: SimTime, by: SimTime) -> SimTime {
    SimTime(at.0.saturating_add(by.0))
}
