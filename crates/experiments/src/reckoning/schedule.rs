//! E3 and E4: scheduling raises everybody to the error of the worst receiver (DR-40, DR-41).

use super::motion::Motion;
use super::plans::{
    BASE, FIRST_S0, FIRST_SD, FIRST_SK, FIRST_SP, Plan, SECOND_NEW, SECOND_S0, SECOND_SD, SECOND_SP,
};
use super::relation::{claim, ratio};
use super::report::{self, Comparison};
use super::trial::{Group, Lane, Setup, run_all};
use super::{Scale, figures};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};

/// No, moderate and high variance, ms.
pub(super) const SPREADS_MS: [f64; 3] = [0.0, 100.0, 180.0];

const FIRST: [Plan; 5] = [BASE, FIRST_S0, FIRST_SD, FIRST_SP, FIRST_SK];
const SECOND: [Plan; 6] = [BASE, SECOND_S0, SECOND_SD, SECOND_SP, SECOND_NEW, FIRST_S0];

fn groups(
    plans: &[Plan],
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Group>, ExperimentError> {
    let mut setups = Vec::new();
    for motion in Motion::REGIMES {
        for spread_ms in SPREADS_MS {
            setups.push(Setup::thesis(motion, spread_ms, plans, scale.secs));
        }
    }
    run_all(setups, scale, progress)
}

/// Runs E3.
pub(super) fn run_first(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let groups = groups(&FIRST, scale, progress)?;
    let mut result = ExperimentResult::new(info, scale.seed);
    let published = |name: &str| match name {
        "#1 S-0" => {
            "SD much lower, mean multifold, every AEE far above base's worst (Fig. 3.2–3.10; values lost)"
        }
        _ => "",
    };
    let comparison = Comparison {
        reference: BASE,
        published: &published,
    };
    report::add(&mut result, &groups, &comparison);
    for group in &groups {
        result.claims.extend(first_claims(group));
    }
    result.claims.extend(groups.iter().map(delay_aware));
    for group in &groups {
        let spread_ms = group.setup.spread_ms();
        if spread_ms == 0.0 {
            figures::add_over_time(&mut result, group, &FIRST, scale, "as Fig. 3.2 and 3.5")?;
        }
        if spread_ms != 100.0 {
            figures::add_receivers(&mut result, group, &FIRST, "as Fig. 3.8 and 3.10");
        }
    }
    result.notes.push("Which variant the thesis ran is not said; S-0 (zero delay assumed) is its text's default and what the claims DR-40 are about. S-D sends earlier by the estimated delay, S-P aims at what the worst receiver will have when it is reached, S-K knows the true mean delay.".into());
    Ok(result)
}

/// The thesis's relations about #1.
fn first_claims(group: &Group) -> [Claim; 3] {
    let lower = claim(
        "DR-40",
        "#1 (S-0): SD of AEE much lower than base's (less than half)",
        group,
        |run| run.lane(&FIRST_S0).sd() < 0.5 * run.lane(&BASE).sd(),
        format!("SD × {}", ratio(group, &FIRST_S0, &BASE, Lane::sd).range()),
    );
    let multifold = claim(
        "DR-40",
        "#1 (S-0): mean AEE a multiple of base's (more than twice)",
        group,
        |run| run.lane(&FIRST_S0).mean() > 2.0 * run.lane(&BASE).mean(),
        format!(
            "mean × {}",
            ratio(group, &FIRST_S0, &BASE, Lane::mean).range()
        ),
    );
    let above = claim(
        "DR-40",
        "#1 (S-0): every receiver's AEE is above that of base's worst receiver",
        group,
        |run| {
            let worst = run.lane(&BASE).worst();
            run.lane(&FIRST_S0).aee.iter().all(|error| *error > worst)
        },
        format!(
            "its best receiver has × {} of base's worst",
            super::summary::Summary::of(group.outcomes.iter().map(|run| {
                let best = run
                    .lane(&FIRST_S0)
                    .aee
                    .iter()
                    .copied()
                    .fold(f64::INFINITY, f64::min);
                best / run.lane(&BASE).worst()
            }))
            .range()
        ),
    );
    [lower, multifold, above]
}

/// Beyond the thesis: knowing the delay cures the growth.
fn delay_aware(group: &Group) -> Claim {
    claim(
        "beyond",
        "#1 S-D brings every receiver to base's worst (within 15 %), at a fifth of base's SD or less and with fewer vectors than base",
        group,
        |run| {
            let (lane, base) = (run.lane(&FIRST_SD), run.lane(&BASE));
            lane.aee
                .iter()
                .all(|error| (error / base.worst() - 1.0).abs() < 0.15)
                && lane.sd() < 0.2 * base.sd()
                && lane.sent < base.sent
        },
        format!(
            "worst × {}, SD × {}, mean × {}, vectors × {}",
            ratio(group, &FIRST_SD, &BASE, Lane::worst).range(),
            ratio(group, &FIRST_SD, &BASE, Lane::sd).range(),
            ratio(group, &FIRST_SD, &BASE, Lane::mean).range(),
            ratio(group, &FIRST_SD, &BASE, |lane| lane.sent as f64).range()
        ),
    )
}

/// Runs E4.
pub(super) fn run_second(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let groups = groups(&SECOND, scale, progress)?;
    let mut result = ExperimentResult::new(info, scale.seed);
    let published = |name: &str| match name {
        "#2 S-0" => {
            "SD lower, mean moderately higher, farthest as in base (Fig. 3.11–3.13; fixed delays only; values lost)"
        }
        _ => "",
    };
    let comparison = Comparison {
        reference: BASE,
        published: &published,
    };
    report::add(&mut result, &groups, &comparison);
    for group in &groups {
        result.claims.extend(second_claims(group));
    }
    for group in groups.iter().filter(|group| group.setup.spread_ms() == 0.0) {
        figures::add_over_time(&mut result, group, &SECOND, scale, "as Fig. 3.11 and 3.12")?;
        figures::add_receivers(&mut result, group, &SECOND, "as Fig. 3.13");
    }
    result.notes.push("The thesis shows #2 with fixed delays only and argues that it copes with variance; the runs with variance are ours. Its trigger rate is not given: at a low rate a waiting vector is sent long after the receiver needed it, and the relations about mean and farthest receiver break.".into());
    Ok(result)
}

/// The thesis's relations about #2.
fn second_claims(group: &Group) -> [Claim; 4] {
    let lower = claim(
        "DR-41",
        "#2 (S-0): SD of AEE lower than base's",
        group,
        |run| run.lane(&SECOND_S0).sd() < run.lane(&BASE).sd(),
        format!("SD × {}", ratio(group, &SECOND_S0, &BASE, Lane::sd).range()),
    );
    let moderate = claim(
        "DR-41",
        "#2 (S-0): mean AEE moderately higher than base's (by at most half) and below #1's",
        group,
        |run| {
            let mean = run.lane(&SECOND_S0).mean();
            let base = run.lane(&BASE).mean();
            mean > base && mean <= 1.5 * base && mean < run.lane(&FIRST_S0).mean()
        },
        format!(
            "mean × {}, #1's × {}",
            ratio(group, &SECOND_S0, &BASE, Lane::mean).range(),
            ratio(group, &FIRST_S0, &BASE, Lane::mean).range()
        ),
    );
    // The first receiver is the farthest: the thesis calls it player 1 and player 3 in turn (digest X2).
    let farthest = claim(
        "DR-41",
        "#2 (S-0): the farthest receiver is as well off as in base (within 5 %), the others are worse off",
        group,
        |run| {
            let (lane, base) = (run.lane(&SECOND_S0), run.lane(&BASE));
            let others = lane.aee[1..].iter().zip(&base.aee[1..]);
            (lane.aee[0] / base.aee[0] - 1.0).abs() <= 0.05
                && others.into_iter().all(|(raised, base)| raised > base)
        },
        format!(
            "farthest × {}",
            ratio(group, &SECOND_S0, &BASE, |lane| lane.aee[0]).range()
        ),
    );
    let same = claim(
        "DR-41",
        "#2 sends as many vectors as base, but for those that still wait at the end (one per receiver at most)",
        group,
        |run| {
            let (lane, base) = (run.lane(&SECOND_S0), run.lane(&BASE));
            base.sent.abs_diff(lane.sent) <= base.aee.len() as u64
        },
        format!(
            "× {}",
            ratio(group, &SECOND_S0, &BASE, |lane| lane.sent as f64).range()
        ),
    );
    [lower, moderate, farthest, same]
}
