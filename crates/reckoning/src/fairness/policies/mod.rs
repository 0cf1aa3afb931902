//! Policies: who is sent a vector, and when. Each is one small type behind [`Policy`].
//!
//! ```text
//!   trigger ──► on_trigger ──► send now ─────────────► receiver
//!                   │                                     ▲
//!                   └─► wait until next_wakeup ─► on_time ┘
//! ```
//!
//! | policy | vectors | what it is good for |
//! |---|---|---|
//! | [`Base`] | all | as accurate as can be, unfair: far receivers see everything late |
//! | [`EveryKth`] | 1/k | the same at a k-th of the cost |
//! | [`FixedProbability`] | p | a control: irregular gaps cost accuracy |
//! | [`Scheduling`] | fewer or all | raises everyone to the error of the worst receiver |
//! | [`Probabilistic`] | a budget | fairer than 1/k, less accurate |
//! | [`Deterministic`] | a budget | **the default**: fairer than 1/k at the same mean and the same cost |

mod base;
mod budget;
mod deterministic;
mod every_kth;
mod fixed_probability;
mod frequencies;
mod probabilistic;
mod scheduling;
mod weights;

pub use base::Base;
pub use budget::Budget;
pub use deterministic::Deterministic;
pub use every_kth::EveryKth;
pub use fixed_probability::FixedProbability;
pub use frequencies::frequencies;
pub use probabilistic::Probabilistic;
pub use scheduling::{Scheduling, Variant, Waiting};
pub use weights::{Instantaneous, LastHeard, Weights};

use super::delay::DelayModel;
use super::exported::ExportedPath;
use super::ledger::{Estimate, Ledger};
use crate::vector::DrVector;
use domain::SimTime;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// A receiver of vectors: a client's connection, or a player of the thesis.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ReceiverId(pub u32);

/// One receiver as a policy sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipient {
    /// Who it is.
    pub id: ReceiverId,
    /// Its account.
    pub ledger: Ledger,
}

/// A vector on its way to a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sending {
    /// To whom.
    pub to: ReceiverId,
    /// What; it keeps the time of its generation, so it is exact however late it is sent.
    pub vector: DrVector,
}

/// What a policy looks at and acts upon.
#[derive(Debug)]
pub struct Context<'a> {
    now: SimTime,
    exported: &'a ExportedPath,
    recipients: &'a mut [Recipient],
    outbox: &'a mut Vec<Sending>,
    luck: u64,
}

impl<'a> Context<'a> {
    /// `recipients` in ascending order of id; `luck` is drawn once per trigger and shared by all policies that see it.
    pub fn new(
        now: SimTime,
        exported: &'a ExportedPath,
        recipients: &'a mut [Recipient],
        outbox: &'a mut Vec<Sending>,
        luck: u64,
    ) -> Self {
        Self {
            now,
            exported,
            recipients,
            outbox,
            luck,
        }
    }

    /// The time of the trigger or wake-up.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// The newest vector generated: at a trigger, the one to distribute.
    pub fn newest(&self) -> Option<DrVector> {
        self.exported.newest().copied()
    }

    /// Everything generated.
    pub fn exported(&self) -> &ExportedPath {
        self.exported
    }

    /// All receivers, in ascending order of id.
    pub fn recipients(&self) -> &[Recipient] {
        self.recipients
    }

    /// The index of a receiver in [`Self::recipients`], if it is still there.
    pub fn index_of(&self, id: ReceiverId) -> Option<usize> {
        let found = self.recipients.binary_search_by_key(&id, |one| one.id);
        found.ok()
    }

    /// The error of a receiver now.
    pub fn estimate(&self, index: usize, model: DelayModel) -> Estimate {
        let ledger = &self.recipients[index].ledger;
        ledger.estimate(self.exported, self.now, model)
    }

    /// Sends a vector now; the ledger knows of it at once.
    pub fn send(&mut self, index: usize, vector: DrVector) {
        let recipient = &mut self.recipients[index];
        recipient.ledger.handle_sent(self.now, &vector);
        self.outbox.push(Sending {
            to: recipient.id,
            vector,
        });
    }

    /// Sends the newest vector to all receivers that pass.
    pub fn send_newest_if(&mut self, mut pass: impl FnMut(&Self, usize) -> bool) {
        let Some(vector) = self.newest() else { return };
        for index in 0..self.recipients.len() {
            if pass(self, index) {
                self.send(index, vector);
            }
        }
    }

    /// Whether a receiver was never sent anything. Every policy sends it the next vector, whatever it does otherwise.
    pub fn is_new(&self, index: usize) -> bool {
        self.recipients[index].ledger.last_sent().is_none()
    }

    /// A number in [0, 1) for this trigger and receiver: the same for every policy, so that they differ by what they do, and
    /// running one more changes nothing for the others.
    pub fn luck(&self, index: usize) -> f64 {
        let receiver = u128::from(self.recipients[index].id.0);
        let mut rng = Pcg64Mcg::new(
            u128::from(self.luck) << 64 | receiver.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        );
        rng.random::<u64>();
        rng.random()
    }
}

/// Decides who is sent which vector when.
pub trait Policy: Debug + Send {
    /// For logs and tables.
    fn name(&self) -> String;

    /// A vector was generated; it is [`Context::newest`].
    fn on_trigger(&mut self, context: &mut Context<'_>);

    /// Time moved on; it may be [`Self::next_wakeup`] or later.
    fn on_time(&mut self, _context: &mut Context<'_>) {}

    /// When [`Self::on_time`] has something to do.
    fn next_wakeup(&self) -> Option<SimTime> {
        None
    }

    /// The delay with which this policy estimates errors.
    fn delay_model(&self) -> DelayModel {
        DelayModel::Average
    }
}
