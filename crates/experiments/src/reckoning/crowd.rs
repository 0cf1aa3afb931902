//! A hundred receivers at 20 to 400 ms (beyond the thesis, which has three).

use super::motion::Motion;
use super::plans::{BASE, DET_PA, DET_PA_2, FIRST_SD, Plan, THIRD};
use super::relation::{self, ratio};
use super::summary::Summary;
use super::trial::{Group, Lane, Setup, run_all};
use super::{Scale, figures};
use crate::plot::{Chart, Line, LineStyle};
use crate::result::{Claim, ExperimentError, ExperimentResult};
use reckoning::fairness::{LedgerSettings, Link};

const RECEIVERS: u32 = 100;
const PLANS: [Plan; 5] = [BASE, THIRD, DET_PA, DET_PA_2, FIRST_SD];

/// Delays evenly from 20 to 400 ms.
fn links() -> Vec<Link> {
    let delay = |n: u32| 20.0 + 380.0 * f64::from(n) / f64::from(RECEIVERS - 1);
    (0..RECEIVERS).map(|n| Link::fixed(delay(n))).collect()
}

/// Both regimes.
pub(super) fn run(
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Group>, ExperimentError> {
    let setups = Motion::REGIMES.map(|motion| Setup {
        motion,
        links: links(),
        plans: PLANS.to_vec(),
        settings: LedgerSettings::default(),
        secs: scale.crowd_secs,
    });
    run_all(setups.to_vec(), scale, progress)
}

/// E7's relations with a hundred receivers.
pub(super) fn claim(group: &Group) -> Claim {
    relation::claim(
        "DR-44",
        "100 receivers at 20 to 400 ms, det PA against 1/3 base: SD lower, mean within 10 %, worst receiver better, the same cost (within 3 %), nobody waits for more than 9 triggers",
        group,
        |run| {
            let (lane, third) = (run.lane(&DET_PA), run.lane(&THIRD));
            lane.sd() < third.sd()
                && (lane.mean() / third.mean() - 1.0).abs() < 0.1
                && lane.worst() < third.worst()
                && (lane.sent as f64 / third.sent as f64 - 1.0).abs() < 0.03
                && lane.longest_gap <= 9
        },
        format!(
            "SD × {}, mean × {}, worst × {}, vectors × {}; SD against base × {}",
            ratio(group, &DET_PA, &THIRD, Lane::sd).range(),
            ratio(group, &DET_PA, &THIRD, Lane::mean).range(),
            ratio(group, &DET_PA, &THIRD, Lane::worst).range(),
            ratio(group, &DET_PA, &THIRD, |lane| lane.sent as f64).range(),
            ratio(group, &DET_PA, &BASE, Lane::sd).range()
        ),
    )
}

/// Error by delay.
pub(super) fn add_figure(result: &mut ExperimentResult, group: &Group) {
    let lines = PLANS
        .iter()
        .zip(figures::COLOURS)
        .map(|(plan, colour)| Line {
            name: plan.name.into(),
            colour,
            points: group
                .setup
                .links
                .iter()
                .enumerate()
                .map(|(index, link)| {
                    let runs = group.outcomes.iter();
                    let error = Summary::of(runs.map(|run| run.lane(plan).aee[index]));
                    (link.delay_ms, error.mean)
                })
                .collect(),
            style: LineStyle::Plain,
        });
    let chart = Chart {
        title: format!("100 receivers, {}", relation::place(group)),
        x_label: "delay, ms".into(),
        y_label: "AEE at the end, unit·s".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 0.0,
        lines: lines.collect(),
    };
    result.add_figure(
        &format!("crowd-{}.svg", group.setup.motion.name()),
        format!(
            "AEE of 100 receivers by delay, means over seeds, {}. Level is fair. The thesis has no figure of it.",
            relation::place(group)
        ),
        chart.svg(),
    );
}
