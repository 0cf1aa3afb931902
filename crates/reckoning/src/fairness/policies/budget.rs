//! How many vectors may be sent per trigger.

use domain::SimTime;
use serde::{Deserialize, Serialize};

/// How much the newest gap between triggers counts in the average.
const GAP_WEIGHT: f64 = 0.05;

/// A budget of vectors (Eq. 3.5: n·t = n1·t1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Budget {
    /// This many per trigger (n1).
    PerTrigger(f64),
    /// This part of the receivers per trigger: 1/3 costs as much as 1/3 base, however many receivers there are.
    Share(f64),
    /// This many per second, whatever the trigger rate turns out to be.
    PerSecond(f64),
}

impl Budget {
    /// What a lower threshold leaves per trigger: `receivers` were each sent all of `triggers`, and now there are
    /// `more_triggers` in the same time.
    pub fn for_lower_threshold(receivers: usize, triggers: u64, more_triggers: u64) -> Self {
        Self::PerTrigger(receivers as f64 * triggers as f64 / more_triggers.max(1) as f64)
    }
}

/// A budget and the measured trigger rate it is applied to.
#[derive(Clone, Copy, Debug)]
pub(super) struct BudgetMeter {
    budget: Budget,
    last: Option<SimTime>,
    gap_secs: Option<f64>,
}

impl BudgetMeter {
    pub(super) fn new(budget: Budget) -> Self {
        Self {
            budget,
            last: None,
            gap_secs: None,
        }
    }

    /// Counts a trigger.
    pub(super) fn trigger(&mut self, now: SimTime) {
        if let Some(last) = self.last {
            let gap = now.since(last).as_secs();
            let mean = self.gap_secs.unwrap_or(gap);
            self.gap_secs = Some(mean + GAP_WEIGHT * (gap - mean));
        }
        self.last = Some(now);
    }

    /// n1 for this many receivers. Never more than all of them.
    pub(super) fn per_trigger(&self, receivers: usize) -> f64 {
        let all = receivers as f64;
        let wanted = match self.budget {
            Budget::PerTrigger(vectors) => vectors,
            Budget::Share(share) => share * all,
            Budget::PerSecond(rate) => self.gap_secs.map_or(all, |gap| rate * gap),
        };
        // `max` also turns a NaN into 0.
        wanted.max(0.0).min(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dr_28_the_budget_equation() {
        let budget = Budget::for_lower_threshold(3, 100, 300);
        assert_eq!(budget, Budget::PerTrigger(1.0));
        assert_eq!(BudgetMeter::new(budget).per_trigger(3), 1.0);
        assert_eq!(BudgetMeter::new(Budget::Share(0.5)).per_trigger(6), 3.0);
        assert_eq!(
            BudgetMeter::new(Budget::PerTrigger(5.0)).per_trigger(3),
            3.0
        );
        assert_eq!(
            BudgetMeter::new(Budget::PerTrigger(f64::NAN)).per_trigger(3),
            0.0
        );
    }

    #[test]
    fn dr_28_vectors_per_second_follow_the_measured_rate() {
        let mut meter = BudgetMeter::new(Budget::PerSecond(8.0));
        for trigger in 0..100 {
            meter.trigger(SimTime::from_millis(250.0 * f64::from(trigger)));
        }
        assert!((meter.per_trigger(5) - 2.0).abs() < 1e-9);
    }
}
