//! All policies of a set-up in one run: the same triggers, the same network (DR-35).

use super::motion::Motion;
use super::plans::Plan;
use super::trace::Trace;
use super::{Scale, gaps, parallel};
use crate::result::ExperimentError;
use crate::seeds;
use domain::{BodyId, SimTime};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reckoning::fairness::{
    LedgerSettings, Link, Measure, PolicyTag, ReceiverId, Rehearsal, Sender, SenderError, mean,
    population_sd,
};

/// Delays of the thesis's fairness experiments, ms.
pub(super) const FAR_MIDDLE_NEAR: [f64; 3] = [800.0, 500.0, 200.0];

/// One sender, its receivers and the policies to compare.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub motion: Motion,
    pub links: Vec<Link>,
    pub plans: Vec<Plan>,
    pub settings: LedgerSettings,
    pub secs: f64,
}

impl Setup {
    /// The thesis's: three receivers at 800, 500 and 200 ms, each ± `spread_ms`.
    pub fn thesis(motion: Motion, spread_ms: f64, plans: &[Plan], secs: f64) -> Self {
        let links = FAR_MIDDLE_NEAR.map(|delay| Link::fixed(delay).with_spread(spread_ms));
        Self {
            motion,
            links: links.to_vec(),
            plans: plans.to_vec(),
            settings: LedgerSettings::default(),
            secs,
        }
    }

    /// The variance of its links, ms.
    pub fn spread_ms(&self) -> f64 {
        self.links.first().map_or(0.0, |link| link.spread_ms)
    }

    /// Its end.
    pub fn end(&self) -> SimTime {
        SimTime::from_secs(self.secs)
    }

    /// The `run`-th trace.
    pub fn trace(&self, master: u64, run: u32) -> Trace {
        Trace::record(
            self.motion,
            BodyId(1),
            self.motion.seed(master, run),
            self.secs,
        )
    }

    /// A rehearsal with everybody joined. Its network does not depend on motion, delays or policies.
    pub fn rehearsal(&self, master: u64, run: u32) -> Result<Rehearsal, SenderError> {
        let mut sender = Sender::new(self.settings);
        for plan in &self.plans {
            sender.add_policy((plan.make)());
        }
        let mut rehearsal = Rehearsal::new(sender, seeds::derive(master, &[10, u64::from(run)]));
        for (id, link) in (0..).map(ReceiverId).zip(&self.links) {
            rehearsal.join(SimTime::ZERO, id, *link)?;
        }
        Ok(rehearsal)
    }

    /// Runs it to the end.
    pub fn rehearse(&self, master: u64, run: u32) -> Result<(Trace, Rehearsal), SenderError> {
        let trace = self.trace(master, run);
        let mut rehearsal = self.rehearsal(master, run)?;
        let mut rng = luck(master, run);
        for vector in &trace.vectors {
            rehearsal.trigger(vector.time, *vector, &mut rng)?;
        }
        rehearsal.advance(self.end())?;
        Ok((trace, rehearsal))
    }

    fn outcome(&self, master: u64, run: u32) -> Result<Outcome, SenderError> {
        let (trace, rehearsal) = self.rehearse(master, run)?;
        let lanes = (0..).map(PolicyTag).zip(&self.plans);
        let lanes = lanes.map(|(tag, plan)| self.lane(&rehearsal, tag, plan));
        Ok(Outcome {
            run,
            triggers_per_sec: trace.rate(),
            lanes: lanes.collect(),
        })
    }

    fn lane(&self, rehearsal: &Rehearsal, tag: PolicyTag, plan: &Plan) -> Lane {
        let ids: Vec<ReceiverId> = (0..self.links.len() as u32).map(ReceiverId).collect();
        let truth = |id| rehearsal.true_error(tag, id, self.end(), &Measure::default());
        let recipients = rehearsal.sender().recipients(tag).iter();
        Lane {
            policy: plan.name,
            aee: ids.iter().map(|id| truth(*id)).collect(),
            sent: recipients.map(|one| one.ledger.counts().sent).sum(),
            longest_gap: gaps::longest(rehearsal, tag, self.end()),
        }
    }
}

/// What chance decides at a sender; one draw per trigger serves all policies.
pub(super) fn luck(master: u64, run: u32) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seeds::derive(master, &[11, u64::from(run)]))
}

/// What one policy achieved in one run. Errors are the true ones, in unit·s.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lane {
    pub policy: &'static str,
    /// By receiver.
    pub aee: Vec<f64>,
    pub sent: u64,
    /// Triggers between two vectors to the same receiver, at most.
    pub longest_gap: u32,
}

impl Lane {
    pub fn mean(&self) -> f64 {
        mean(&self.aee)
    }

    pub fn sd(&self) -> f64 {
        population_sd(&self.aee)
    }

    pub fn worst(&self) -> f64 {
        self.aee.iter().copied().fold(0.0, f64::max)
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome {
    pub run: u32,
    pub triggers_per_sec: f64,
    /// One per policy, in order.
    pub lanes: Vec<Lane>,
}

impl Outcome {
    /// The lane of a policy of this run.
    pub fn lane(&self, plan: &Plan) -> &Lane {
        let found = self.lanes.iter().find(|lane| lane.policy == plan.name);
        found.expect("claims are made about policies that were run")
    }
}

/// A set-up and its runs, one per seed.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub setup: Setup,
    pub outcomes: Vec<Outcome>,
}

/// Runs every set-up once per seed, on all cores.
pub(super) fn run_all(
    setups: Vec<Setup>,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Group>, ExperimentError> {
    let jobs: Vec<(&Setup, u32)> = setups
        .iter()
        .flat_map(|setup| (0..scale.seeds).map(move |run| (setup, run)))
        .collect();
    let work = |(setup, run): &(&Setup, u32)| setup.outcome(scale.seed, *run);
    let mut outcomes = parallel::map(&jobs, work, progress).into_iter();
    let mut groups = Vec::new();
    for setup in &setups {
        let own = outcomes.by_ref().take(scale.seeds as usize);
        groups.push(Group {
            setup: setup.clone(),
            outcomes: own.collect::<Result<_, _>>()?,
        });
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::super::plans::{BASE, DET_PA, THIRD};
    use super::*;

    const SCALE: Scale = Scale {
        seed: 7,
        seeds: 2,
        secs: 20.0,
        crowd_secs: 10.0,
    };

    /// DR-35: triggers and network are those of the seed, whichever policies run and whatever the delays are.
    #[test]
    fn policies_are_compared_on_the_same_runs() {
        let setup = |plans: &[Plan]| Setup::thesis(Motion::Smooth, 100.0, plans, 20.0);
        let setups = vec![setup(&[BASE, THIRD, DET_PA]), setup(&[DET_PA])];
        let groups = run_all(setups, &SCALE, &mut |_| {}).expect("sound");
        for (company, alone) in groups[0].outcomes.iter().zip(&groups[1].outcomes) {
            assert_eq!(company.lane(&DET_PA), alone.lane(&DET_PA));
            assert_ne!(company.lane(&DET_PA).aee, company.lane(&BASE).aee);
        }
        assert_ne!(groups[0].outcomes[0], groups[0].outcomes[1]);
        let third = groups[0].outcomes[0].lane(&THIRD);
        assert_eq!(
            (third.aee.len(), third.sent % 3, third.longest_gap),
            (3, 0, 3)
        );
    }
}
