//! E5 and E6: a third of base's vectors, given out by chance (DR-42, DR-43).

use super::motion::Motion;
use super::plans::{
    BASE, FIXED, PROB_4, PROB_5, PROB_PA, PROB_PI, PROB_PI_GENERATION, PROB_PI_ZERO, PROB_PT,
    PROB_PT_SENT, Plan, THIRD,
};
use super::relation::{claim, ratio};
use super::report::{self, Comparison};
use super::trial::{Group, Lane, Outcome, Setup, run_all};
use super::{Scale, figures};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};

/// The thesis's five cases, in its order.
const CASES: [Plan; 5] = [PROB_PA, PROB_PI, PROB_PT, PROB_4, PROB_5];

const PLANS: [Plan; 11] = [
    BASE,
    THIRD,
    FIXED,
    PROB_PA,
    PROB_PI,
    PROB_PT,
    PROB_4,
    PROB_5,
    PROB_PI_ZERO,
    PROB_PI_GENERATION,
    PROB_PT_SENT,
];

const SHOWN: [Plan; 8] = [
    BASE, THIRD, FIXED, PROB_PA, PROB_PI, PROB_PT, PROB_4, PROB_5,
];

/// Runs E5 and E6.
pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let setups = Motion::REGIMES.map(|motion| Setup::thesis(motion, 0.0, &PLANS, scale.secs));
    let groups = run_all(setups.to_vec(), scale, progress)?;
    let mut result = ExperimentResult::new(info, scale.seed);
    let published = |name: &str| match name {
        "prob PI" => "SD lowest of the five, mean above 1/3 base (Fig. 3.15–3.17; values lost)",
        "prob PA" | "prob PT" | "prob case 4" | "prob case 5" => {
            "SD below, mean above 1/3 base (Fig. 3.15–3.17; values lost)"
        }
        "1/3 probabilistic" => "every AEE above 1/3 base's (Fig. 3.18; values lost)",
        _ => "",
    };
    let comparison = Comparison {
        reference: THIRD,
        published: &published,
    };
    report::add(&mut result, &groups, &comparison);
    for group in &groups {
        result
            .claims
            .extend(CASES.iter().map(|plan| fairer(group, plan)));
        result
            .claims
            .extend(CASES.iter().map(|plan| less_accurate(group, plan)));
        result.claims.extend([best(group), irregular(group)]);
        if group.setup.motion == Motion::Smooth {
            result.claims.push(readings(group));
        }
        figures::add_over_time(&mut result, group, &SHOWN, scale, "as Fig. 3.15 and 3.16")?;
        figures::add_receivers(&mut result, group, &SHOWN, "as Fig. 3.17 and 3.18");
    }
    result.notes.push("PT counts from the newest acknowledgement (Appendix B), IE is AEE less CEE with a delay estimate (digest A8, A9): only these readings reproduce the thesis's relations in the smooth regime. The last three rows are the other readings.".into());
    Ok(result)
}

fn fairer(group: &Group, plan: &Plan) -> Claim {
    claim(
        "DR-42",
        &format!("{}: SD of AEE below 1/3 base's", plan.name),
        group,
        |run| run.lane(plan).sd() < run.lane(&THIRD).sd(),
        format!("SD × {}", ratio(group, plan, &THIRD, Lane::sd).range()),
    )
}

fn less_accurate(group: &Group, plan: &Plan) -> Claim {
    claim(
        "DR-42",
        &format!(
            "{}: mean and every receiver's AEE above 1/3 base's",
            plan.name
        ),
        group,
        |run| {
            let (lane, third) = (run.lane(plan), run.lane(&THIRD));
            lane.mean() > third.mean() && above(lane, third)
        },
        format!("mean × {}", ratio(group, plan, &THIRD, Lane::mean).range()),
    )
}

fn above(lane: &Lane, reference: &Lane) -> bool {
    lane.aee
        .iter()
        .zip(&reference.aee)
        .all(|(one, other)| one > other)
}

fn best(group: &Group) -> Claim {
    let lowest = |run: &Outcome| {
        let others = CASES.iter().filter(|plan| plan.name != PROB_PI.name);
        others
            .map(|plan| run.lane(plan).sd())
            .all(|sd| run.lane(&PROB_PI).sd() < sd)
    };
    let sds = CASES.map(|plan| {
        let ratio = ratio(group, &plan, &THIRD, Lane::sd);
        format!("{} × {:.2}", plan.name, ratio.mean)
    });
    claim(
        "DR-42",
        "PI alone gives the lowest SD of the five cases",
        group,
        lowest,
        sds.join(", "),
    )
}

/// E6: irregular gaps cost more than they gain.
fn irregular(group: &Group) -> Claim {
    claim(
        "DR-43",
        "1/3 probabilistic: every receiver's AEE above 1/3 base's, at the same cost (within 10 %)",
        group,
        |run| {
            let (lane, third) = (run.lane(&FIXED), run.lane(&THIRD));
            above(lane, third) && (lane.sent as f64 / third.sent as f64 - 1.0).abs() < 0.1
        },
        format!(
            "mean × {}, vectors × {}",
            ratio(group, &FIXED, &THIRD, Lane::mean).range(),
            ratio(group, &FIXED, &THIRD, |lane| lane.sent as f64).range()
        ),
    )
}

/// Which reading of the text is behind the figures cannot be seen any more; this is why ours was chosen.
fn readings(group: &Group) -> Claim {
    claim(
        "DR-42",
        "the readings matter: PT counted from sending and PI with a zero-delay estimate are both less fair than as Appendix B has them",
        group,
        |run| {
            run.lane(&PROB_PT_SENT).sd() > run.lane(&PROB_PT).sd()
                && run.lane(&PROB_PI_ZERO).sd() > run.lane(&PROB_PI).sd()
        },
        format!(
            "SD × {} against {}, and × {} against {} of 1/3 base",
            ratio(group, &PROB_PT_SENT, &THIRD, Lane::sd).range(),
            ratio(group, &PROB_PT, &THIRD, Lane::sd).range(),
            ratio(group, &PROB_PI_ZERO, &THIRD, Lane::sd).range(),
            ratio(group, &PROB_PI, &THIRD, Lane::sd).range()
        ),
    )
}
