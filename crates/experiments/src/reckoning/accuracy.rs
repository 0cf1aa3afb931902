//! E1: how far what a receiver shows is from the truth, with a local and with a global clock, from one and the same stream of
//! vectors (DR-10, DR-38).

use super::figures::COLOURS;
use super::motion::Motion;
use super::summary::{Summary, round};
use super::watched::{Watched, watch};
use super::{Scale, accuracy_claims, clocks, convergence, parallel, part};
use crate::plot::{Chart, Line, LineStyle};
use crate::result::{ExperimentInfo, ExperimentResult};
use crate::table::Table;
use serde_json::json;
use std::fmt::Write as _;

/// One receiver each.
pub(super) const DELAYS_MS: [f64; 3] = [100.0, 300.0, 800.0];
/// The thesis's three, of which "random" is stop-and-go; smooth is ours.
pub(super) const MOTIONS: [Motion; 4] = [
    Motion::Linear,
    Motion::Circular,
    Motion::StopAndGo,
    Motion::Smooth,
];
/// One receiver at one delay, all seeds.
pub(super) struct Case {
    pub motion: Motion,
    pub delay_ms: f64,
    pub runs: Vec<Watched>,
}

/// Runs E1 and what belongs to it.
pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> ExperimentResult {
    let mut cases = Vec::new();
    for motion in MOTIONS {
        for delay_ms in DELAYS_MS {
            let runs: Vec<u32> = (0..scale.seeds).collect();
            let work =
                |run: &u32| watch(motion, delay_ms, motion.seed(scale.seed, *run), scale.secs);
            let done = cases.len() as f64 / 12.0;
            let mut heard = part(progress, 0.5 * done, 0.5 * (done + 1.0 / 12.0));
            cases.push(Case {
                motion,
                delay_ms,
                runs: parallel::map(&runs, work, &mut heard),
            });
        }
    }
    let mut result = ExperimentResult::new(info, scale.seed);
    add_table(&mut result, &cases);
    result.claims.extend(accuracy_claims::all(&cases));
    for motion in MOTIONS {
        add_window(&mut result, motion, &cases);
    }
    result.add_data("points.csv", csv(&cases));
    clocks::add(&mut result, scale, &mut part(progress, 0.5, 0.8));
    convergence::add(&mut result, scale, &mut part(progress, 0.8, 1.0));
    result.notes.extend([
        "Linear and circular: legs of 4 to 8 s with sudden changes between them, at 25 units/s. Random: the stop-and-go drive. The smooth drive is ours. A tank is 2.8 units wide and 6 long.".into(),
        "The one measured value the thesis gives for E1: at 300 ms on a straight course the local error is \"up to 2 tank units\" (length or width is not said), the global one close to 0.".into(),
        "With 100 ms out and 500 ms back nothing can tell the two apart: a synchronised clock is then as wrong as half a round trip (200 ms), and both are worse than a local clock. Only the synchronised one says how wrong it may be.".into(),
    ]);
    result
}

fn add_table(result: &mut ExperimentResult, cases: &[Case]) {
    let mut table = Table::new(
        "E1: distance from the real to the placed path, units; published averages are lost",
        &[
            "Motion",
            "Delay",
            "Triggers/s",
            "Local, mean",
            "Global, mean",
            "Local, most",
            "Global, most",
            "Global none, % of time",
            "Global worse, % of time",
            "... of it braking, %",
            "Thesis (Fig. 2.2)",
        ],
    );
    for case in cases {
        let over = |of: &dyn Fn(&Watched) -> f64| Summary::of(case.runs.iter().map(of));
        let rate = over(&|run| run.triggers_per_sec);
        let (local, global) = (
            over(&|run| run.local.mean()),
            over(&|run| run.global.mean()),
        );
        let none = over(&|run| 100.0 * run.global.none());
        let worse = over(&|run| 100.0 * run.worse);
        let braking = case.runs.iter().filter(|run| run.worse > 0.0);
        let braking = Summary::of(braking.map(|run| 100.0 * run.worse_braking));
        let published = published(case.motion, case.delay_ms);
        result.rows.push(json!({
            "table": "E1",
            "motion": case.motion,
            "delay_ms": case.delay_ms,
            "seeds": case.runs.len(),
            "triggers_per_sec": rate.json(),
            "local_mean": local.json(),
            "global_mean": global.json(),
            "local_most": round(over(&|run| run.local.most).most),
            "global_most": round(over(&|run| run.global.most).most),
            "global_none_pct": none.json(),
            "global_worse_pct": worse.json(),
            "global_worse_braking_pct": if worse.mean > 0.0 { braking.json() } else { serde_json::Value::Null },
            "published": published,
        }));
        table.push(vec![
            case.motion.name().into(),
            format!("{} ms", case.delay_ms),
            format!("{:.1}", rate.mean),
            local.text(),
            global.text(),
            format!("{:.1}", over(&|run| run.local.most).most),
            format!("{:.1}", over(&|run| run.global.most).most),
            none.text(),
            worse.text(),
            if worse.mean > 0.0 {
                format!("{:.0}", braking.mean)
            } else {
                "–".into()
            },
            published.unwrap_or("").into(),
        ]);
    }
    result.tables.push(table);
}

fn published(motion: Motion, delay_ms: f64) -> Option<&'static str> {
    match motion {
        Motion::Linear if delay_ms == 300.0 => {
            Some("local up to 2 tank units, global close to 0; averages lost")
        }
        Motion::Linear => Some("global mostly 0, far below local; averages lost"),
        Motion::Circular => Some("like linear; averages lost"),
        Motion::StopAndGo => {
            Some("global substantially below local, but not at stops; averages lost")
        }
        Motion::Smooth => None,
    }
}

fn add_window(result: &mut ExperimentResult, motion: Motion, cases: &[Case]) {
    let shown = cases.iter().filter(|case| case.motion == motion);
    let lines: Vec<Line> = shown
        .zip(&COLOURS[1..])
        .flat_map(|(case, colour)| {
            let points = |of: fn(&(f64, f64, f64)) -> f64| {
                let window = case.runs.first().map_or(&[][..], |run| &run.window);
                window.iter().map(|point| (point.0, of(point))).collect()
            };
            [
                Line {
                    name: format!("{} ms, global", case.delay_ms),
                    colour: *colour,
                    points: points(|point| point.2),
                    style: LineStyle::Plain,
                },
                Line {
                    name: format!("{} ms, local (thin)", case.delay_ms),
                    colour: *colour,
                    points: points(|point| point.1),
                    style: LineStyle::Edge,
                },
            ]
        })
        .collect();
    let chart = Chart {
        title: format!("Error over time, {} motion", motion.name()),
        x_label: "time, s".into(),
        y_label: "error, units".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 6.0,
        lines,
    };
    result.add_figure(
        &format!("window-{}.svg", motion.name()),
        format!(
            "Distance from the real to the placed path between 25 and 30 s, {} motion, first seed; thick: global clock, thin of the same colour: local clock. As Fig. 2.2 (lost).",
            motion.name()
        ),
        chart.svg(),
    );
}

fn csv(cases: &[Case]) -> String {
    let mut text = String::from(
        "motion,delay_ms,run,triggers_per_sec,local_mean,global_mean,local_most,global_most,global_none,global_worse,global_worse_braking\n",
    );
    for case in cases {
        for (index, run) in case.runs.iter().enumerate() {
            let _ = writeln!(
                text,
                "{},{},{index},{},{},{},{},{},{},{},{}",
                case.motion.name(),
                case.delay_ms,
                round(run.triggers_per_sec),
                round(run.local.mean()),
                round(run.global.mean()),
                round(run.local.most),
                round(run.global.most),
                round(run.global.none()),
                round(run.worse),
                round(run.worse_braking)
            );
        }
    }
    text
}
