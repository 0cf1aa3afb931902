//! The policies under test, by name. A run makes its own of each.

use reckoning::fairness::DelayModel;
use reckoning::fairness::policies::{
    Base, Budget, Deterministic, EveryKth, FixedProbability, Instantaneous, LastHeard, Policy,
    Probabilistic, Scheduling, Variant, Waiting, Weights,
};
use std::num::NonZeroU32;

/// A policy and its name in tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub name: &'static str,
    pub make: fn() -> Box<dyn Policy>,
}

/// A third of all vectors, however many receivers there are: with three of them, n1 = 1.
const THIRD_OF_ALL: Budget = Budget::Share(1.0 / 3.0);

pub(super) const BASE: Plan = plan("base", || Box::new(Base));
pub(super) const THIRD: Plan = plan("1/3 base", || {
    Box::new(EveryKth::new(
        NonZeroU32::new(3).expect("three is not zero"),
    ))
});
pub(super) const FIXED: Plan = plan("1/3 probabilistic", || {
    Box::new(FixedProbability::new(1.0 / 3.0))
});

pub(super) const FIRST_S0: Plan = plan("#1 S-0", || {
    scheduling(Waiting::Discard, Variant::ZeroDelay)
});
pub(super) const FIRST_SD: Plan = plan("#1 S-D", || scheduling(Waiting::Discard, Variant::Delay));
pub(super) const FIRST_SP: Plan = plan("#1 S-P", || {
    scheduling(Waiting::Discard, Variant::Projected)
});
pub(super) const FIRST_SK: Plan = plan("#1 S-K", || scheduling(Waiting::Discard, Variant::Known));
pub(super) const SECOND_S0: Plan =
    plan("#2 S-0", || scheduling(Waiting::Flush, Variant::ZeroDelay));
pub(super) const SECOND_SD: Plan = plan("#2 S-D", || scheduling(Waiting::Flush, Variant::Delay));
pub(super) const SECOND_SP: Plan =
    plan("#2 S-P", || scheduling(Waiting::Flush, Variant::Projected));
pub(super) const SECOND_NEW: Plan = plan("#2 S-0, newest instead", || {
    scheduling(Waiting::FlushNew, Variant::ZeroDelay)
});

pub(super) const PROB_PA: Plan = plan("prob PA", || probabilistic(Weights::PA));
pub(super) const PROB_PI: Plan = plan("prob PI", || probabilistic(Weights::PI));
pub(super) const PROB_PT: Plan = plan("prob PT", || probabilistic(Weights::PT));
pub(super) const PROB_4: Plan = plan("prob case 4", || probabilistic(Weights::CASES[3]));
pub(super) const PROB_5: Plan = plan("prob case 5", || probabilistic(Weights::CASES[4]));
pub(super) const PROB_PI_ZERO: Plan = plan("prob PI, zero-delay EEE", || {
    let policy = Probabilistic::new(Weights::PI, THIRD_OF_ALL);
    Box::new(policy.with_delay_model(DelayModel::Zero))
});
pub(super) const PROB_PI_GENERATION: Plan = plan("prob PI, since generation", || {
    probabilistic(Weights {
        recent: Instantaneous::SinceGeneration,
        ..Weights::PI
    })
});
pub(super) const PROB_PT_SENT: Plan = plan("prob PT, from sending", || {
    probabilistic(Weights {
        last: LastHeard::Sent,
        ..Weights::PT
    })
});

pub(super) const DET_PA: Plan = plan("det PA", || deterministic(Weights::PA));
pub(super) const DET_PI: Plan = plan("det PI", || deterministic(Weights::PI));
pub(super) const DET_PT: Plan = plan("det PT", || deterministic(Weights::PT));
pub(super) const DET_4: Plan = plan("det case 4", || deterministic(Weights::CASES[3]));
pub(super) const DET_5: Plan = plan("det case 5", || deterministic(Weights::CASES[4]));
pub(super) const DET_PA_1_5: Plan = plan("det PA^1.5", || deterministic(Weights::powered(1.5)));
pub(super) const DET_PA_2: Plan = plan("det PA^2", || deterministic(Weights::powered(2.0)));
pub(super) const DET_PA_4: Plan = plan("det PA^4", || deterministic(Weights::powered(4.0)));
pub(super) const DET_PA_ZERO: Plan = plan("det PA, zero-delay EEE", || {
    let policy = Deterministic::new(Weights::PA, THIRD_OF_ALL);
    Box::new(policy.with_delay_model(DelayModel::Zero))
});

const fn plan(name: &'static str, make: fn() -> Box<dyn Policy>) -> Plan {
    Plan { name, make }
}

fn scheduling(waiting: Waiting, variant: Variant) -> Box<dyn Policy> {
    // The time threshold is the same in both regimes.
    let limit = reckoning::motion::Thresholds::bzflag().time;
    Box::new(Scheduling::new(waiting, variant, limit))
}

fn probabilistic(weights: Weights) -> Box<dyn Policy> {
    Box::new(Probabilistic::new(weights, THIRD_OF_ALL))
}

fn deterministic(weights: Weights) -> Box<dyn Policy> {
    Box::new(Deterministic::new(weights, THIRD_OF_ALL))
}
