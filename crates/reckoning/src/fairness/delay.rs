//! How long vectors take to one receiver, learnt from its acknowledgements. With a shared clock these are true one-way delays.

use domain::SimTime;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How much a new sample counts in the average.
const SAMPLE_WEIGHT: f64 = 0.1;
/// How many samples the minimum looks back on.
const MINIMUM_OVER: usize = 16;

/// Which delay to reckon with for a vector that is not acknowledged yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DelayModel {
    /// None: it arrives the moment it is sent. What the thesis's experiments did.
    Zero,
    /// The moving average (0.9 old + 0.1 new).
    #[default]
    Average,
    /// The least of the last 16.
    Minimum,
    /// What somebody who knows has told ([`DelayEstimator::tell`]). For experiments.
    Oracle,
}

/// Estimates of the delay to one receiver (DR-20).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelayEstimator {
    average_secs: Option<f64>,
    recent: VecDeque<SimTime>,
    told: Option<SimTime>,
}

impl DelayEstimator {
    /// Takes the delay of one acknowledged vector.
    pub fn record(&mut self, delay: SimTime) {
        let secs = delay.as_secs();
        let average = self.average_secs.unwrap_or(secs);
        self.average_secs = Some(average + SAMPLE_WEIGHT * (secs - average));
        if self.recent.len() == MINIMUM_OVER {
            self.recent.pop_front();
        }
        self.recent.push_back(delay);
    }

    /// Tells the true mean delay, for [`DelayModel::Oracle`].
    pub fn tell(&mut self, delay: SimTime) {
        self.told = Some(delay);
    }

    /// The delay under a model; zero while nothing is known.
    pub fn delay(&self, model: DelayModel) -> SimTime {
        let known = match model {
            DelayModel::Zero => None,
            DelayModel::Average => self.average_secs.map(SimTime::from_secs),
            DelayModel::Minimum => self.recent.iter().min().copied(),
            DelayModel::Oracle => self.told,
        };
        known.unwrap_or(SimTime::ZERO)
    }

    pub(super) fn is_sane(&self) -> bool {
        self.average_secs
            .is_none_or(|secs| secs.is_finite() && secs >= 0.0)
            && self.recent.len() <= MINIMUM_OVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dr_20_average_minimum_and_oracle() {
        let mut delays = DelayEstimator::default();
        assert_eq!(delays.delay(DelayModel::Average), SimTime::ZERO);
        delays.record(SimTime::from_millis(100.0));
        delays.record(SimTime::from_millis(200.0));
        delays.tell(SimTime::from_millis(130.0));
        let millis = |model| delays.delay(model).as_millis();
        assert_eq!(millis(DelayModel::Zero), 0.0);
        assert!((millis(DelayModel::Average) - 110.0).abs() < 1e-6);
        assert_eq!(millis(DelayModel::Minimum), 100.0);
        assert_eq!(millis(DelayModel::Oracle), 130.0);
    }

    #[test]
    fn dr_20_follows_a_change_and_forgets_an_old_minimum() {
        let mut delays = DelayEstimator::default();
        delays.record(SimTime::from_millis(20.0));
        for _ in 0..60 {
            delays.record(SimTime::from_millis(300.0));
        }
        assert!((delays.delay(DelayModel::Average).as_millis() - 300.0).abs() < 1.0);
        assert_eq!(delays.delay(DelayModel::Minimum).as_millis(), 300.0);
    }
}
