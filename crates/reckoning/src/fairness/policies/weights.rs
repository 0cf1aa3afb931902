//! How urgently each receiver needs a vector, as a share of 1 (digest §2.8).
//!
//! PA is its share of the accumulated error, PI its share of the most recent error, PT its share of the time since it was last
//! heard of; PC mixes them.

use super::{Context, Recipient};
use crate::fairness::delay::DelayModel;
use serde::{Deserialize, Serialize};

/// What counts as the most recent error (digest §7, A9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instantaneous {
    /// Since the newest acknowledged *reception*: AEE − CEE (Appendix B).
    #[default]
    SinceReception,
    /// Since the *generation* of the vector in use (the thesis's text).
    SinceGeneration,
}

/// When a receiver was last heard of (digest §7, A8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LastHeard {
    /// The reception that its newest acknowledgement reports (Appendix B): far receivers look older, which is what makes it fair.
    #[default]
    Acked,
    /// When it was last sent something (the thesis's text): cannot tell near from far.
    Sent,
}

/// How much each factor counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// α1, of PA.
    pub accumulated: f64,
    /// α2, of PI.
    pub instantaneous: f64,
    /// α3, of PT. The three sum to 1.
    pub time: f64,
    /// PA is the share of AEE to this power (default 1, the thesis). Above 1 equalises harder and costs mean error.
    pub exponent: f64,
    /// Which recent error.
    pub recent: Instantaneous,
    /// Which last time.
    pub last: LastHeard,
}

impl Weights {
    /// Case 1: the accumulated error only; best for the deterministic policy.
    pub const PA: Self = Self::mix(1.0, 0.0, 0.0);
    /// Case 2: the recent error only; best for the probabilistic policy.
    pub const PI: Self = Self::mix(0.0, 1.0, 0.0);
    /// Case 3: the time only.
    pub const PT: Self = Self::mix(0.0, 0.0, 1.0);
    /// The five cases of the thesis, in its order.
    pub const CASES: [Self; 5] = [
        Self::PA,
        Self::PI,
        Self::PT,
        Self::mix(1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0),
        Self::mix(0.5, 0.5, 0.0),
    ];

    /// α1, α2, α3 with the default definitions.
    pub const fn mix(accumulated: f64, instantaneous: f64, time: f64) -> Self {
        Self {
            accumulated,
            instantaneous,
            time,
            exponent: 1.0,
            recent: Instantaneous::SinceReception,
            last: LastHeard::Acked,
        }
    }

    /// PA of AEE to a power.
    pub const fn powered(exponent: f64) -> Self {
        Self {
            exponent,
            ..Self::PA
        }
    }

    pub(super) fn label(&self) -> String {
        let case = Self::CASES.iter().position(|case| case == self);
        match case {
            Some(0) => "PA".into(),
            Some(1) => "PI".into(),
            Some(2) => "PT".into(),
            Some(index) => format!("case {}", index + 1),
            None if *self == Self::powered(self.exponent) => format!("PA^{}", self.exponent),
            None => format!(
                "({:.2},{:.2},{:.2})",
                self.accumulated, self.instantaneous, self.time
            ),
        }
    }

    /// PC of every receiver; they sum to 1. One that cannot be judged yet (it has not acknowledged anything, or has no error)
    /// counts as an average one: taken at its word, zero, it would be starved before its first acknowledgement comes back.
    pub(super) fn shares(&self, context: &Context<'_>, model: DelayModel) -> Vec<f64> {
        let factors: Vec<_> = (0..context.recipients().len())
            .map(|index| self.factors(context, index, model))
            .collect();
        let known: Vec<_> = factors.iter().flatten().copied().collect();
        let fair = 1.0 / factors.len().max(1) as f64;
        let mut shares = self.mixed(&known).into_iter();
        let rest = fair * known.len() as f64;
        let share = |one: &Option<_>| match one {
            Some(_) => shares.next().unwrap_or(0.0) * rest,
            None => fair,
        };
        factors.iter().map(share).collect()
    }

    /// AEE, IE and time of one receiver, if it can be judged.
    fn factors(&self, context: &Context<'_>, index: usize, model: DelayModel) -> Option<[f64; 3]> {
        let Recipient { ledger, .. } = &context.recipients()[index];
        let estimate = context.estimate(index, model);
        if !ledger.has_acked() || estimate.aee() <= 0.0 {
            return None;
        }
        let recent = match self.recent {
            _ if self.instantaneous == 0.0 => 0.0,
            Instantaneous::SinceReception => estimate.eee,
            Instantaneous::SinceGeneration => {
                ledger.error_since_generation(context.exported(), context.now(), model)
            }
        };
        let last = match self.last {
            LastHeard::Acked => ledger.exact_until(),
            LastHeard::Sent => ledger.last_sent(),
        };
        let waiting = context.now().since(last.unwrap_or(ledger.joined()));
        let accumulated = estimate.aee().powf(self.exponent);
        Some([accumulated, recent, waiting.as_secs()])
    }

    /// PC from the factors of all receivers that can be judged.
    fn mixed(&self, factors: &[[f64; 3]]) -> Vec<f64> {
        let alphas = [self.accumulated, self.instantaneous, self.time];
        let mut shares = vec![0.0; factors.len()];
        for (factor, alpha) in alphas.into_iter().enumerate() {
            let sum: f64 = factors.iter().map(|one| one[factor]).sum();
            for (share, one) in shares.iter_mut().zip(factors) {
                let part = if sum > 0.0 {
                    one[factor] / sum
                } else {
                    1.0 / factors.len() as f64
                };
                *share += alpha * part;
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTORS: [[f64; 3]; 3] = [[600.0, 1.0, 0.2], [300.0, 1.0, 0.3], [100.0, 2.0, 0.5]];

    #[test]
    fn dr_29_five_cases_each_sum_to_one() {
        let expected = [
            [0.6, 0.3, 0.1],
            [0.25, 0.25, 0.5],
            [0.2, 0.3, 0.5],
            [1.05 / 3.0, 0.85 / 3.0, 1.1 / 3.0],
            [0.425, 0.275, 0.3],
        ];
        for (case, expected) in Weights::CASES.iter().zip(expected) {
            let shares = case.mixed(&FACTORS);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (share, expected) in shares.iter().zip(expected) {
                assert!((share - expected).abs() < 1e-12, "{}", case.label());
            }
        }
    }

    #[test]
    fn dr_29_a_factor_that_is_zero_for_all_is_shared_evenly() {
        let shares = Weights::PI.mixed(&[[1.0, 0.0, 1.0], [2.0, 0.0, 1.0]]);
        assert_eq!(shares, vec![0.5, 0.5]);
    }
}
