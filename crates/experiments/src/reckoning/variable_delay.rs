//! E8: both budget algorithms while delays vary (DR-45).

use super::motion::Motion;
use super::plans::{BASE, DET_PA, PROB_PA, PROB_PI, Plan, THIRD};
use super::relation::{claim, ratio};
use super::report::{self, Comparison};
use super::trial::{Group, Lane, Setup, run_all};
use super::{Scale, figures};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};

const PLANS: [Plan; 5] = [BASE, THIRD, PROB_PA, PROB_PI, DET_PA];
/// Moderate and high variance, ms.
const SPREADS_MS: [f64; 2] = [100.0, 180.0];
/// Beyond the thesis: this part of all vectors and acknowledgements is lost.
const LOSS: f64 = 0.05;

/// Runs E8.
pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let mut setups = Vec::new();
    for motion in Motion::REGIMES {
        let setup = |spread_ms| Setup::thesis(motion, spread_ms, &PLANS, scale.secs);
        setups.extend(SPREADS_MS.map(setup));
        let mut lossy = setup(SPREADS_MS[1]);
        lossy.links.iter_mut().for_each(|link| link.loss = LOSS);
        setups.push(lossy);
    }
    let groups = run_all(setups, scale, progress)?;
    let mut result = ExperimentResult::new(info, scale.seed);
    let published = |name: &str| match name {
        "det PA" => "SD below, mean about as 1/3 base (Fig. 3.22–3.27; values lost)",
        "prob PA" | "prob PI" => {
            "SD below, mean above 1/3 base (factor not stated; Fig. 3.22–3.27; values lost)"
        }
        _ => "",
    };
    let comparison = Comparison {
        reference: THIRD,
        published: &published,
    };
    report::add(&mut result, &groups, &comparison);
    for group in &groups {
        let lossy = group.setup.links[0].loss > 0.0;
        let id = if lossy { "beyond" } else { "DR-45" };
        result.claims.extend(claims(id, group));
        if !lossy {
            figures::add_receivers(&mut result, group, &PLANS, "as Fig. 3.26 and 3.27");
            if group.setup.spread_ms() == SPREADS_MS[1] {
                figures::add_over_time(&mut result, group, &PLANS, scale, "as Fig. 3.23 and 3.25")?;
            }
        }
    }
    result.notes.push("Variance is uniform about the mean, in both directions; vectors overtake each other. Which factor the thesis's probabilistic runs used is not stated: PA and PI are both run. Loss is beyond the thesis.".into());
    Ok(result)
}

fn claims(id: &'static str, group: &Group) -> Vec<Claim> {
    let below = |plan: Plan| {
        claim(
            id,
            &format!("{}: SD of AEE below 1/3 base's", plan.name),
            group,
            |run| run.lane(&plan).sd() < run.lane(&THIRD).sd(),
            format!("SD × {}", ratio(group, &plan, &THIRD, Lane::sd).range()),
        )
    };
    let above = |plan: Plan| {
        claim(
            id,
            &format!("{}: mean AEE above 1/3 base's", plan.name),
            group,
            |run| run.lane(&plan).mean() > run.lane(&THIRD).mean(),
            format!("mean × {}", ratio(group, &plan, &THIRD, Lane::mean).range()),
        )
    };
    let deterministic = claim(
        id,
        "det PA: SD also below base's, mean as 1/3 base's (within 10 %), worst receiver better, the same cost (within 2 %)",
        group,
        |run| {
            let (lane, third) = (run.lane(&DET_PA), run.lane(&THIRD));
            lane.sd() < run.lane(&BASE).sd()
                && (lane.mean() / third.mean() - 1.0).abs() < 0.1
                && lane.worst() < third.worst()
                && (lane.sent as f64 / third.sent as f64 - 1.0).abs() < 0.02
        },
        format!(
            "SD × {} of base, mean × {}, worst × {}, vectors × {}",
            ratio(group, &DET_PA, &BASE, Lane::sd).range(),
            ratio(group, &DET_PA, &THIRD, Lane::mean).range(),
            ratio(group, &DET_PA, &THIRD, Lane::worst).range(),
            ratio(group, &DET_PA, &THIRD, |lane| lane.sent as f64).range()
        ),
    );
    vec![
        below(PROB_PA),
        below(PROB_PI),
        below(DET_PA),
        above(PROB_PA),
        above(PROB_PI),
        deterministic,
    ]
}
