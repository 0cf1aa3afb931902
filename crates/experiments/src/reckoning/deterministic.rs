//! E7: a third of base's vectors, given out to a timetable: the recommended policy (DR-44), and what it is worth beyond the
//! thesis's three receivers.

use super::motion::Motion;
use super::plans::{
    BASE, DET_4, DET_5, DET_PA, DET_PA_1_5, DET_PA_2, DET_PA_4, DET_PA_ZERO, DET_PI, DET_PT, Plan,
    THIRD,
};
use super::relation::{claim, ratio};
use super::report::{self, Comparison};
use super::trial::{Group, Lane, Outcome, Setup, run_all};
use super::{Scale, cheat, crowd, figures, late_join, part, server};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};

const PLANS: [Plan; 11] = [
    BASE,
    THIRD,
    DET_PA,
    DET_PI,
    DET_PT,
    DET_4,
    DET_5,
    DET_PA_1_5,
    DET_PA_2,
    DET_PA_4,
    DET_PA_ZERO,
];
const SHOWN: [Plan; 8] = [BASE, THIRD, DET_PA, DET_PI, DET_PT, DET_4, DET_5, DET_PA_2];
/// All that are subject to the cap against starvation.
const TIMETABLES: [Plan; 9] = [
    DET_PA,
    DET_PI,
    DET_PT,
    DET_4,
    DET_5,
    DET_PA_1_5,
    DET_PA_2,
    DET_PA_4,
    DET_PA_ZERO,
];

/// K_max with three receivers and one vector per trigger.
const CAP: u32 = 9;

/// Runs E7 and what lies beyond it.
pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let setups = Motion::REGIMES.map(|motion| Setup::thesis(motion, 0.0, &PLANS, scale.secs));
    let mut groups = run_all(setups.to_vec(), scale, &mut part(progress, 0.0, 0.3))?;
    let mut result = ExperimentResult::new(info, scale.seed);
    for group in &groups {
        result.claims.extend(claims(group));
        figures::add_over_time(&mut result, group, &SHOWN, scale, "as Fig. 3.19 and 3.20")?;
        figures::add_receivers(&mut result, group, &SHOWN, "as Fig. 3.21");
    }
    groups.extend(crowd::run(scale, &mut part(progress, 0.3, 0.7))?);
    for group in &groups[2..] {
        result.claims.push(crowd::claim(group));
        crowd::add_figure(&mut result, group);
    }
    let published = |name: &str| match name {
        "det PA" => {
            "SD below base and 1/3 base, mean as 1/3 base, highest AEE falls (Fig. 3.19–3.21; values lost)"
        }
        "det PI" | "det PT" | "det case 4" | "det case 5" => "tried, less good than PA; not shown",
        _ => "",
    };
    let comparison = Comparison {
        reference: THIRD,
        published: &published,
    };
    report::add(&mut result, &groups, &comparison);
    late_join::add(&mut result, scale, &mut part(progress, 0.7, 0.8))?;
    cheat::add(&mut result, scale, &mut part(progress, 0.8, 0.9))?;
    server::add(&mut result, scale, &mut part(progress, 0.9, 1.0));
    result.notes.push("PA^γ: weights in proportion to AEE to the power γ. Everything beside the five cases and everything with more or fewer than three receivers is beyond the thesis.".into());
    Ok(result)
}

/// The relations of E7, in the words of the thesis and as tightly as we ask for.
fn claims(group: &Group) -> Vec<Claim> {
    let below = |reference: Plan| {
        claim(
            "DR-44",
            &format!("det PA: SD of AEE below that of {}", reference.name),
            group,
            |run| run.lane(&DET_PA).sd() < run.lane(&reference).sd(),
            format!(
                "SD × {}",
                ratio(group, &DET_PA, &reference, Lane::sd).range()
            ),
        )
    };
    let vectors = |lane: &Lane| lane.sent as f64;
    vec![
        below(BASE),
        below(THIRD),
        claim(
            "DR-44",
            "det PA: mean AEE as 1/3 base's (within 10 %)",
            group,
            mean_is_kept,
            format!(
                "mean × {}",
                ratio(group, &DET_PA, &THIRD, Lane::mean).range()
            ),
        ),
        claim(
            "DR-44",
            "det PA: the worst receiver is better off than in 1/3 base, a better one worse off",
            group,
            |run| {
                let (lane, third) = (run.lane(&DET_PA), run.lane(&THIRD));
                lane.worst() < third.worst() && lane.aee[2] > third.aee[2]
            },
            format!(
                "worst × {}, nearest × {}",
                ratio(group, &DET_PA, &THIRD, Lane::worst).range(),
                ratio(group, &DET_PA, &THIRD, |lane| lane.aee[2]).range()
            ),
        ),
        claim(
            "DR-44",
            "det PA: the same number of vectors as 1/3 base (within 2 %)",
            group,
            same_cost,
            format!("× {}", ratio(group, &DET_PA, &THIRD, vectors).range()),
        ),
        claim(
            "DR-44",
            "det PA: all of it at once: SD below base and 1/3 base, mean within 10 %, worst receiver better, the same cost",
            group,
            |run| {
                let (lane, third) = (run.lane(&DET_PA), run.lane(&THIRD));
                lane.sd() < run.lane(&BASE).sd()
                    && lane.sd() < third.sd()
                    && mean_is_kept(run)
                    && lane.worst() < third.worst()
                    && same_cost(run)
            },
            format!("SD × {}", ratio(group, &DET_PA, &THIRD, Lane::sd).range()),
        ),
        best_factor(group),
        no_starvation(group),
        power(group),
    ]
}

fn mean_is_kept(run: &Outcome) -> bool {
    (run.lane(&DET_PA).mean() / run.lane(&THIRD).mean() - 1.0).abs() < 0.1
}

fn same_cost(run: &Outcome) -> bool {
    (run.lane(&DET_PA).sent as f64 / run.lane(&THIRD).sent as f64 - 1.0).abs() < 0.02
}

/// The thesis calls PA the best of all; it does not say by what measure.
fn best_factor(group: &Group) -> Claim {
    let rivals = [DET_PI, DET_PT, DET_4, DET_5];
    let no_worse = |run: &Outcome, plan: &Plan| {
        let (lane, third) = (run.lane(plan), run.lane(&THIRD));
        (lane.mean() / third.mean() - 1.0).abs() < 0.1
            && (lane.sent as f64 / third.sent as f64 - 1.0).abs() < 0.02
            && lane.sd() < run.lane(&DET_PA).sd()
    };
    let texts = rivals.map(|plan| {
        format!(
            "{}: SD × {:.2}, mean × {:.2}, vectors × {:.2}",
            plan.name,
            ratio(group, &plan, &THIRD, Lane::sd).mean,
            ratio(group, &plan, &THIRD, Lane::mean).mean,
            ratio(group, &plan, &THIRD, |lane| lane.sent as f64).mean
        )
    });
    claim(
        "DR-44",
        "PA is the best factor: no other case reaches a lower SD at the same mean (within 10 %) and cost (within 2 %)",
        group,
        |run| !rivals.iter().any(|plan| no_worse(run, plan)),
        texts.join("; "),
    )
}

fn no_starvation(group: &Group) -> Claim {
    let longest = |run: &Outcome| {
        TIMETABLES
            .iter()
            .map(|plan| run.lane(plan).longest_gap)
            .max()
    };
    let most = group.outcomes.iter().filter_map(longest).max();
    claim(
        "DR-34",
        "no receiver starves from a cold start, with any factor: it waits for at most 9 triggers",
        group,
        |run| longest(run).is_some_and(|gap| gap <= CAP),
        format!("at most {}", most.unwrap_or(0)),
    )
}

/// Beyond the thesis: a power of the error equalises harder.
fn power(group: &Group) -> Claim {
    let plans = [DET_PA, DET_PA_1_5, DET_PA_2, DET_PA_4];
    let texts = plans.map(|plan| {
        format!(
            "{}: SD × {:.2}, mean × {:.2}",
            plan.name,
            ratio(group, &plan, &THIRD, Lane::sd).mean,
            ratio(group, &plan, &THIRD, Lane::mean).mean
        )
    });
    claim(
        "beyond",
        "PA^2 is fairer than PA (SD lower), at a higher mean",
        group,
        |run| {
            let (lane, pa) = (run.lane(&DET_PA_2), run.lane(&DET_PA));
            lane.sd() < pa.sd() && lane.mean() > pa.mean()
        },
        texts.join("; "),
    )
}
