//! What another choice of the free parameters does to what we claim.

use super::arms::Arm;
use super::cells::{Cell, Grid};
use super::locks_claim;
use super::networks::{Net, Shape};
use super::published;
use super::setup::Setup;
use crate::reckoning::part;
use crate::result::{ExperimentResult, RunOptions};
use crate::table::Table;
use scenes::encounters::Scenario;
use serde_json::json;
use simulator::stations::Measure;

const ARMS: [Arm; 4] = [
    Arm::Control,
    Arm::PostCollision,
    Arm::MotionLock,
    Arm::Improved,
];

/// One parameter changed at a time.
fn variations(setup: &Setup) -> Vec<(&'static str, Setup)> {
    let base = *setup;
    vec![
        ("as chosen", base),
        (
            "delays ± 50 %",
            Setup {
                shape: Shape::Even(0.5),
                ..base
            },
        ),
        (
            "delays normal, sd 10 %",
            Setup {
                shape: Shape::Bell(0.1),
                ..base
            },
        ),
        (
            "delays Poisson",
            Setup {
                shape: Shape::Poisson,
                ..base
            },
        ),
        (
            "60 Hz frames",
            Setup {
                frame_ms: 1000.0 / 60.0,
                ..base
            },
        ),
        (
            "30 Hz frames",
            Setup {
                frame_ms: 1000.0 / 30.0,
                ..base
            },
        ),
        (
            "B's frames 7 ms after A's",
            Setup {
                phase_ms: 7.0,
                ..base
            },
        ),
        (
            "circle 60 px",
            Setup {
                circle_radius: 60.0,
                ..base
            },
        ),
        (
            "circle 120 px",
            Setup {
                circle_radius: 120.0,
                ..base
            },
        ),
        (
            "circle speed 350 px/s",
            Setup {
                circle_speed: 350.0,
                ..base
            },
        ),
        (
            "circle speed 650 px/s",
            Setup {
                circle_speed: 650.0,
                ..base
            },
        ),
        (
            "line speed 125 px/s",
            Setup {
                line_speed: 125.0,
                ..base
            },
        ),
        (
            "line speed 400 px/s",
            Setup {
                line_speed: 400.0,
                ..base
            },
        ),
        (
            "towards each other",
            Setup {
                head_on: true,
                ..base
            },
        ),
        (
            "threshold 0.5 px",
            Setup {
                threshold: 0.5,
                ..base
            },
        ),
        (
            "threshold 3 px",
            Setup {
                threshold: 3.0,
                ..base
            },
        ),
        (
            "meeting at 1.2 s",
            Setup {
                meeting_secs: 1.2,
                ..base
            },
        ),
        (
            "bundled datagrams",
            Setup {
                bundle: true,
                ..base
            },
        ),
        (
            "replicas glide for 200 ms",
            Setup {
                glide_ms: 200.0,
                ..base
            },
        ),
    ]
}

/// Adds a table and rows.
pub(super) fn add(
    result: &mut ExperimentResult,
    options: &RunOptions,
    setup: &Setup,
    progress: &mut dyn FnMut(f64),
) {
    let runs = options.runs.unwrap_or(if options.quick { 3 } else { 20 });
    let all = variations(setup);
    let all = if options.quick { &all[..4] } else { &all[..] };
    let mut table = Table::new(
        format!(
            "Sensitivity to the free parameters, one changed at a time, {runs} runs per cell. Control: difference to the published counts. Runs with a false hit in CLP+CCP, good / moderate / congested; runs with a missed hit in CLC+CCC; mean Δt_col over all hits of the C-cells; mean post-collision deviation over the C-cells"
        ),
        &[
            "Choice",
            "Control off, %",
            "False: motion-lock",
            "False: ours",
            "Missed: ours",
            "Δt_col post / lock / ours, ms",
            "Deviation control / post / lock / ours, px",
            "Inconsistent runs: lock / ours",
        ],
    );
    let keys = Grid::keys(&ARMS, &Net::ALL, &Scenario::CURVED);
    let mut locks = [0, 0];
    for (index, (name, setup)) in all.iter().enumerate() {
        let from = index as f64 / all.len() as f64;
        let to = (index + 1) as f64 / all.len() as f64;
        let grid = Grid::run(
            &keys,
            setup,
            runs,
            options.seed,
            &mut part(progress, from, to),
        );
        let seen = Seen::of(&grid, runs);
        locks = [0, 1].map(|which| locks[which] + grid.locks()[which]);
        result.rows.push(json!({
            "table": "sensitivity",
            "choice": name,
            "setup": setup.json(),
            "runs": runs,
            "control_off_pct": seen.control_off,
            "false_motion_lock": seen.false_lock,
            "false_ours": seen.false_ours,
            "missed_ours": seen.missed_ours,
            "interval_ms": seen.intervals,
            "deviation_px": seen.deviations,
            "inconsistent_runs": seen.inconsistent,
        }));
        let three = |values: [usize; 3]| values.map(|value| value.to_string()).join(" / ");
        table.push(vec![
            (*name).into(),
            format!("{:.0}", seen.control_off),
            format!("{} of {}", three(seen.false_lock), 2 * runs),
            format!("{} of {}", three(seen.false_ours), 2 * runs),
            format!("{} of {}", three(seen.missed_ours), 2 * runs),
            seen.intervals.map(|ms| format!("{ms:.0}")).join(" / "),
            seen.deviations.map(|px| format!("{px:.0}")).join(" / "),
            seen.inconsistent.map(|runs| runs.to_string()).join(" / "),
        ]);
    }
    result.tables.push(table);
    let claim = locks_claim("with other free parameters", locks);
    result.claims.push(claim);
}

struct Seen {
    control_off: f64,
    false_lock: [usize; 3],
    false_ours: [usize; 3],
    missed_ours: [usize; 3],
    intervals: [f64; 3],
    deviations: [f64; 4],
    inconsistent: [usize; 2],
}

impl Seen {
    fn of(grid: &Grid, runs: u32) -> Self {
        let sum = |arm: Arm, scenarios: [Scenario; 2], of: fn(&Cell) -> usize| {
            Net::ALL.map(|net| {
                let cells = scenarios.iter().filter_map(|one| grid.cell(arm, net, *one));
                cells.map(of).sum()
            })
        };
        let passes = [Scenario::Clp, Scenario::Ccp];
        let meets = [Scenario::Clc, Scenario::Ccc];
        let curved = |arm: Arm| grid.of(arm, &Scenario::CURVED);
        let interval = |arm: Arm| {
            let all = curved(arm).flat_map(|cell| &cell.runs);
            let all: Measure = all.flat_map(|run| run.intervals.clone()).collect();
            all.avg()
        };
        let deviation = |arm: Arm| {
            let means = curved(arm).map(|cell| cell.deviation(0).avg());
            means.collect::<Measure>().avg()
        };
        let inconsistent = |arm: Arm| {
            curved(arm)
                .map(|cell| cell.runs.len() - cell.consistent())
                .sum()
        };
        Self {
            control_off: control_off(grid, runs),
            false_lock: sum(Arm::MotionLock, passes, Cell::false_hits),
            false_ours: sum(Arm::Improved, passes, Cell::false_hits),
            missed_ours: sum(Arm::Improved, meets, Cell::missed_hits),
            intervals: [Arm::PostCollision, Arm::MotionLock, Arm::Improved].map(interval),
            deviations: ARMS.map(deviation),
            inconsistent: [inconsistent(Arm::MotionLock), inconsistent(Arm::Improved)],
        }
    }
}

/// In % of all that could differ.
fn control_off(grid: &Grid, runs: u32) -> f64 {
    let scale = 50.0 / f64::from(runs);
    let off = grid.of(Arm::Control, &Scenario::CURVED).map(|cell| {
        let published = published::counts(cell.key.net, Arm::Control, cell.key.scenario);
        let (a, b) = published.unwrap_or_default();
        let apart = |ours: u32, theirs: u32| (f64::from(ours) * scale - f64::from(theirs)).abs();
        apart(cell.counts().0, a) + apart(cell.counts().1, b)
    });
    100.0 * off.sum::<f64>() / 1200.0
}
