//! Scheduling: everybody is raised to the error of the worst receiver, by sending later to those who are better off.
//!
//! ```text
//!   error
//!    5.0 ┤ X ───────────────────  the worst receiver gets the vector now
//!        │              ,
//!    2.0 ┤ m ,,,,,,,,,'           m gets it when its own error has grown as large: T_m (Eq. 3.4)
//!        └──────────────┴──────►
//!         now          T_m
//! ```
//!
//! The delay to m decides how well this works. Sent *at* T_m (variant [`Variant::ZeroDelay`], the thesis), it arrives too late, m
//! overshoots and becomes the new worst receiver, and everybody's error grows without bound.

use super::{Context, Policy, ReceiverId};
use crate::fairness::delay::DelayModel;
use crate::vector::DrVector;
use domain::SimTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Eq. 3.4 is solved to this.
const RESOLUTION: SimTime = SimTime(1_000_000);

/// How delay enters the schedule (digest §2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    /// S-0: as if vectors took no time. What the thesis's experiments most likely did.
    ZeroDelay,
    /// S-D: sent earlier by the estimated delay.
    #[default]
    Delay,
    /// S-P: as S-D, and what is still in flight arrives on its way; the target is the error the worst receiver will have
    /// when the vector reaches it.
    Projected,
    /// S-K: as S-P with the true delay.
    Known,
}

impl Variant {
    fn model(self) -> DelayModel {
        match self {
            Self::ZeroDelay => DelayModel::Zero,
            Self::Delay | Self::Projected => DelayModel::Average,
            Self::Known => DelayModel::Oracle,
        }
    }

    fn projects(self) -> bool {
        matches!(self, Self::Projected | Self::Known)
    }
}

/// What happens at a new trigger to vectors that still wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waiting {
    /// Algorithm #1: they are dropped (DR-24).
    #[default]
    Discard,
    /// Algorithm #2: they are sent (DR-25).
    Flush,
    /// The new vector is sent in their place, and those receivers are not scheduled again: fewer messages, less equal.
    FlushNew,
}

/// The thesis's scheduling algorithms #1 and #2 (§3.3).
#[derive(Clone, Debug)]
pub struct Scheduling {
    variant: Variant,
    waiting: Waiting,
    /// The time threshold tΔ: the next trigger comes no later, so nothing is planned further ahead.
    limit: SimTime,
    plan: BTreeMap<ReceiverId, Planned>,
}

/// A vector that waits. Without a time ("beyond") it waits for the next trigger.
#[derive(Clone, Copy, Debug)]
struct Planned {
    vector: DrVector,
    at: Option<SimTime>,
}

impl Scheduling {
    /// `limit` is the time threshold of the trigger.
    pub fn new(waiting: Waiting, variant: Variant, limit: SimTime) -> Self {
        Self {
            variant,
            waiting,
            limit,
            plan: BTreeMap::new(),
        }
    }

    /// When each waiting vector will be sent; `None` is beyond the limit.
    pub fn planned(&self) -> impl Iterator<Item = (ReceiverId, Option<SimTime>)> {
        self.plan.iter().map(|(id, planned)| (*id, planned.at))
    }

    /// Deals with what still waits. Returns who need not be scheduled any more.
    fn flush(&mut self, context: &mut Context<'_>, newest: DrVector) -> Vec<ReceiverId> {
        let waiting = std::mem::take(&mut self.plan);
        let mut served = Vec::new();
        for (id, planned) in waiting {
            let Some(index) = context.index_of(id) else {
                continue;
            };
            match self.waiting {
                Waiting::Discard => {}
                Waiting::Flush => context.send(index, planned.vector),
                Waiting::FlushNew => {
                    context.send(index, newest);
                    served.push(id);
                }
            }
        }
        served
    }

    /// The error this receiver is compared by: now, or when a vector sent now will reach it.
    fn level(&self, context: &Context<'_>, index: usize) -> f64 {
        let error = context.estimate(index, self.variant.model()).aee();
        if !self.variant.projects() {
            return error;
        }
        error + self.ahead(context, index, self.delay(context, index))
    }

    fn delay(&self, context: &Context<'_>, index: usize) -> SimTime {
        let ledger = &context.recipients()[index].ledger;
        ledger.delays().delay(self.variant.model())
    }

    /// The error a receiver will gather in the next `time`.
    fn ahead(&self, context: &Context<'_>, index: usize, time: SimTime) -> f64 {
        context.recipients()[index].ledger.error_ahead(
            context.exported(),
            context.now(),
            context.now() + time,
            self.variant.model(),
            self.variant.projects(),
        )
    }

    /// The time from now after which a receiver's error is `target`, to the millisecond; `None` if it takes longer than the limit.
    /// The error never shrinks, so bisection finds it (DR-23).
    fn time_until(&self, context: &Context<'_>, index: usize, target: f64) -> Option<SimTime> {
        let missing = target - context.estimate(index, self.variant.model()).aee();
        if self.ahead(context, index, self.limit) < missing {
            return None;
        }
        let (mut low, mut high) = (SimTime::ZERO, self.limit);
        while high - low > RESOLUTION {
            let middle = SimTime((low.0 + high.0) / 2);
            if self.ahead(context, index, middle) < missing {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(high)
    }

    fn schedule(&mut self, context: &mut Context<'_>, newest: DrVector, index: usize, target: f64) {
        let until = self.time_until(context, index, target);
        let wait = until.map(|time| time.since(self.delay(context, index)));
        if wait == Some(SimTime::ZERO) {
            return context.send(index, newest);
        }
        let planned = Planned {
            vector: newest,
            at: wait.map(|wait| context.now() + wait),
        };
        self.plan.insert(context.recipients()[index].id, planned);
    }
}

impl Policy for Scheduling {
    fn name(&self) -> String {
        let number = match self.waiting {
            Waiting::Discard => "#1",
            Waiting::Flush => "#2",
            Waiting::FlushNew => "#2 new",
        };
        let variant = match self.variant {
            Variant::ZeroDelay => "S-0",
            Variant::Delay => "S-D",
            Variant::Projected => "S-P",
            Variant::Known => "S-K",
        };
        format!("{number} {variant}")
    }

    fn on_trigger(&mut self, context: &mut Context<'_>) {
        let Some(newest) = context.newest() else {
            return;
        };
        let served = self.flush(context, newest);
        let receivers = context.recipients().len();
        let levels: Vec<f64> = (0..receivers).map(|i| self.level(context, i)).collect();
        let worst = levels.iter().copied().fold(0.0, f64::max);
        for (index, level) in levels.into_iter().enumerate() {
            if served.contains(&context.recipients()[index].id) {
                continue;
            }
            // All who share the first place get it at once: at the start everybody does.
            if context.is_new(index) || level >= worst {
                context.send(index, newest);
            } else {
                self.schedule(context, newest, index, worst);
            }
        }
    }

    fn on_time(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        let is_due = |planned: &Planned| planned.at.is_some_and(|at| at <= now);
        let due: Vec<_> = self
            .plan
            .iter()
            .filter(|(_, p)| is_due(p))
            .map(|(id, p)| (*id, p.vector))
            .collect();
        for (id, vector) in due {
            self.plan.remove(&id);
            if let Some(index) = context.index_of(id) {
                context.send(index, vector);
            }
        }
    }

    fn next_wakeup(&self) -> Option<SimTime> {
        self.plan.values().filter_map(|planned| planned.at).min()
    }

    fn delay_model(&self) -> DelayModel {
        self.variant.model()
    }
}
