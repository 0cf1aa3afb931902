//! What is logged of a policy at one instant.

use super::ledger::Estimate;
use super::policies::ReceiverId;

/// One receiver's line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverSample {
    /// Who.
    pub id: ReceiverId,
    /// CEE and EEE.
    pub error: Estimate,
    /// Vectors sent to it so far.
    pub sent: u64,
}

/// One policy's receivers at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneSample {
    /// Ascending by id.
    pub receivers: Vec<ReceiverSample>,
}

impl LaneSample {
    /// Accuracy: the mean AEE; 0 without receivers.
    pub fn mean_aee(&self) -> f64 {
        mean(&self.aee())
    }

    /// Fairness: the population standard deviation of AEE (÷ n).
    pub fn sd_aee(&self) -> f64 {
        population_sd(&self.aee())
    }

    /// The AEE of the worst receiver.
    pub fn worst_aee(&self) -> f64 {
        self.aee().into_iter().fold(0.0, f64::max)
    }

    /// Vectors sent to all.
    pub fn sent(&self) -> u64 {
        self.receivers.iter().map(|one| one.sent).sum()
    }

    fn aee(&self) -> Vec<f64> {
        self.receivers.iter().map(|one| one.error.aee()).collect()
    }
}

/// The arithmetic mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The standard deviation of these values as the whole population (÷ n).
pub fn population_sd(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / values.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    // DR-36, digest §7 A10
    #[test]
    fn dr_36_mean_and_population_sd_are_of_aee() {
        let receiver = |id, cee, eee| ReceiverSample {
            id: ReceiverId(id),
            error: Estimate { cee, eee },
            sent: 2,
        };
        let sample = LaneSample {
            receivers: vec![receiver(1, 1.0, 1.0), receiver(2, 0.0, 4.0)],
        };
        assert_eq!(sample.mean_aee(), 3.0);
        assert_eq!(sample.sd_aee(), 1.0);
        assert_eq!(sample.worst_aee(), 4.0);
        assert_eq!(sample.sent(), 4);
        assert_eq!(LaneSample::default().mean_aee(), 0.0);
    }
}
