//! Rays and overlaps are answered in the thread that steps the region: they may take a share of its time and no more.

use domain::SimTime;
use std::time::Duration;

/// The share of a region's time that questions may take.
const SHARE: f64 = 0.1;
/// So much at once.
const AT_ONCE: Duration = Duration::from_millis(2);

/// What questions have cost lately.
#[derive(Debug, Default)]
pub struct QueryBudget {
    debt: Duration,
    paid: SimTime,
}

impl QueryBudget {
    /// Is there time for another one?
    pub fn allows(&mut self, now: SimTime) -> bool {
        let earned = Duration::from_secs_f64(now.since(self.paid).as_secs() * SHARE);
        self.paid = now;
        self.debt = self.debt.saturating_sub(earned);
        self.debt < AT_ONCE
    }

    /// It has taken so long.
    pub fn spend(&mut self, cost: Duration) {
        self.debt += cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many are asked and whatever they cost, ticks keep nine tenths of the time.
    #[test]
    fn questions_take_a_tenth_of_the_time_and_no_more() {
        for cost in [10, 700, 9_000].map(Duration::from_micros) {
            let mut budget = QueryBudget::default();
            let mut spent = Duration::ZERO;
            // A thousand questions in each of ten thousand milliseconds.
            for ms in 0..10_000 {
                for _ in 0..1000 {
                    if !budget.allows(SimTime(ms * 1_000_000)) {
                        break;
                    }
                    budget.spend(cost);
                    spent += cost;
                }
            }
            let most = Duration::from_secs(1) + AT_ONCE + cost;
            assert!(spent <= most, "{spent:?} at {cost:?} each");
            assert!(spent >= Duration::from_millis(900), "{spent:?}");
        }
    }
}
