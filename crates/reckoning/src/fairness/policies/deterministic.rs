//! A budget spent to a timetable: each receiver's next vector is so many triggers away, the fewer the larger its error.
//!
//! ```text
//!   f = 0.4 vectors per trigger → every 2.5 triggers → in 3, then 2, 3, 2 … (what is rounded up is credited next time)
//! ```

use super::budget::BudgetMeter;
use super::{Budget, Context, Policy, ReceiverId, Weights, frequencies};
use crate::fairness::delay::DelayModel;
use crate::vector::Seq;
use domain::SimTime;
use std::collections::BTreeMap;

/// The thesis's deterministic budget algorithm (§3.4.2.1, DR-33), its recommended one, with [`Weights::PA`]; and the
/// caps without which it starves newcomers (DR-34).
#[derive(Clone, Debug)]
pub struct Deterministic {
    weights: Weights,
    budget: BudgetMeter,
    model: DelayModel,
    longest_gap: Option<u32>,
    longest_wait: Option<SimTime>,
    slots: BTreeMap<ReceiverId, Slot>,
    newest: Seq,
}

/// A receiver's place in the timetable. One without a slot is due at the next trigger.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Triggers until it is due.
    triggers: u32,
    /// What was rounded up at the last time, in [0, 1).
    credit: f64,
    served: SimTime,
    seq: Seq,
}

impl Deterministic {
    /// With the gap capped at three times the average one, and no cap in time.
    pub fn new(weights: Weights, budget: Budget) -> Self {
        Self {
            weights,
            budget: BudgetMeter::new(budget),
            model: DelayModel::Average,
            longest_gap: None,
            longest_wait: None,
            slots: BTreeMap::new(),
            newest: Seq::default(),
        }
    }

    /// Estimates errors with another delay.
    #[must_use]
    pub fn with_delay_model(self, model: DelayModel) -> Self {
        Self { model, ..self }
    }

    /// Nobody waits for more than this many triggers (K_max; default 3 · ⌈receivers / n1⌉).
    #[must_use]
    pub fn with_longest_gap(self, triggers: u32) -> Self {
        Self {
            longest_gap: Some(triggers.max(1)),
            ..self
        }
    }

    /// Nobody waits for longer than this while there is something newer than what it was sent (default: no such cap). When
    /// triggers come in bursts, "three triggers from now" may be long.
    #[must_use]
    pub fn with_longest_wait(self, wait: SimTime) -> Self {
        Self {
            longest_wait: Some(wait),
            ..self
        }
    }

    fn cap(&self, receivers: usize) -> u32 {
        let average = receivers as f64 / self.budget.per_trigger(receivers).max(1e-3);
        self.longest_gap.unwrap_or(3 * average.ceil() as u32).max(1)
    }

    /// Sends to those who are due and enters them in the timetable anew; the others keep their places.
    fn serve(&mut self, context: &mut Context<'_>, due: &[usize]) {
        let Some(vector) = context.newest() else {
            return;
        };
        if due.is_empty() {
            return;
        }
        for &index in due {
            context.send(index, vector);
        }
        let receivers = context.recipients().len();
        let shares = self.weights.shares(context, self.model);
        let frequencies = frequencies(&shares, self.budget.per_trigger(receivers));
        let cap = f64::from(self.cap(receivers));
        for &index in due {
            let slot = self
                .slots
                .entry(context.recipients()[index].id)
                .or_default();
            let gap = (1.0 / frequencies[index] - slot.credit).min(cap);
            // What credits add up to is a hair off a whole number; that must not cost a trigger.
            let triggers = (gap - 1e-9).ceil().max(1.0);
            *slot = Slot {
                triggers: triggers as u32,
                credit: (triggers - gap).clamp(0.0, 1.0 - f64::EPSILON),
                served: context.now(),
                seq: vector.seq,
            };
        }
    }

    /// Forgets those who left.
    fn tidy(&mut self, context: &Context<'_>) {
        if self.slots.len() > context.recipients().len() {
            self.slots.retain(|id, _| context.index_of(*id).is_some());
        }
    }
}

impl Policy for Deterministic {
    fn name(&self) -> String {
        format!("det {}", self.weights.label())
    }

    fn on_trigger(&mut self, context: &mut Context<'_>) {
        self.budget.trigger(context.now());
        self.newest = context.newest().map_or(self.newest, |vector| vector.seq);
        self.tidy(context);
        for slot in self.slots.values_mut() {
            slot.triggers = slot.triggers.saturating_sub(1);
        }
        let is_due = |one: &super::Recipient| {
            let slot = self.slots.get(&one.id);
            slot.is_none_or(|slot| slot.triggers == 0)
        };
        let everyone = context.recipients().iter().enumerate();
        let due: Vec<_> = everyone
            .filter(|(_, one)| is_due(one))
            .map(|(index, _)| index)
            .collect();
        self.serve(context, &due);
    }

    fn on_time(&mut self, context: &mut Context<'_>) {
        let Some(wait) = self.longest_wait else {
            return;
        };
        self.tidy(context);
        let waited = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.seq < self.newest && context.now().since(slot.served) >= wait);
        let due: Vec<_> = waited.filter_map(|(id, _)| context.index_of(*id)).collect();
        self.serve(context, &due);
    }

    fn next_wakeup(&self) -> Option<SimTime> {
        let wait = self.longest_wait?;
        let behind = self.slots.values().filter(|slot| slot.seq < self.newest);
        behind.map(|slot| slot.served + wait).min()
    }

    fn delay_model(&self) -> DelayModel {
        self.model
    }
}
