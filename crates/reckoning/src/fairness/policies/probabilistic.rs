//! A budget spent by chance: each receiver gets a vector with a probability that follows its error.

use super::budget::BudgetMeter;
use super::{Budget, Context, Policy, Weights, frequencies};
use crate::fairness::delay::DelayModel;

/// The thesis's probabilistic budget algorithm (§3.4.1.3, DR-31). PI is its best factor.
#[derive(Clone, Debug)]
pub struct Probabilistic {
    weights: Weights,
    budget: BudgetMeter,
    model: DelayModel,
}

impl Probabilistic {
    /// With the delay model that makes it fairest, the average.
    pub fn new(weights: Weights, budget: Budget) -> Self {
        Self {
            weights,
            budget: BudgetMeter::new(budget),
            model: DelayModel::Average,
        }
    }

    /// Estimates errors with another delay.
    #[must_use]
    pub fn with_delay_model(self, model: DelayModel) -> Self {
        Self { model, ..self }
    }
}

impl Policy for Probabilistic {
    fn name(&self) -> String {
        format!("prob {}", self.weights.label())
    }

    fn on_trigger(&mut self, context: &mut Context<'_>) {
        self.budget.trigger(context.now());
        let shares = self.weights.shares(context, self.model);
        let chances = frequencies(&shares, self.budget.per_trigger(shares.len()));
        context.send_newest_if(|context, index| {
            context.is_new(index) || context.luck(index) < chances[index]
        });
    }

    fn delay_model(&self) -> DelayModel {
        self.model
    }
}
