//! E1: how far what a receiver shows is from the truth, with a local and with a global clock, from one and the same stream of
//! vectors (DR-10, DR-38).

use super::figures::COLOURS;
use super::motion::Motion;
use super::playback::Playback;
use super::summary::{Summary, round};
use super::trace::{Trace, frames};
use super::{Scale, accuracy_claims, clocks, convergence, parallel, part};
use crate::plot::{Chart, Line, LineStyle};
use crate::result::{ExperimentInfo, ExperimentResult};
use crate::table::Table;
use domain::BodyId;
use reckoning::fairness::Link;
use reckoning::motion::{ClockMode, Receiver};
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
/// Counted from here on: by then every receiver has something.
const START_SECS: f64 = 1.0;
/// Fig. 2.2 shows this part of a run, seconds.
const WINDOW_SECS: std::ops::RangeInclusive<f64> = 25.0..=30.0;
/// An error below this counts as none, units: about what the trigger lets pass.
pub(super) const NONE_M: f64 = 0.15;

/// Error of one placed path over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PathError {
    sum: f64,
    pub frames: f64,
    pub most: f64,
    none: f64,
}

impl PathError {
    fn add(&mut self, error: f64) {
        self.sum += error;
        self.frames += 1.0;
        self.most = self.most.max(error);
        self.none += f64::from(u8::from(error <= NONE_M));
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.frames.max(1.0)
    }

    /// The part of the time without an error worth mentioning.
    pub fn none(&self) -> f64 {
        self.none / self.frames.max(1.0)
    }
}

/// What one receiver saw of one drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Watched {
    pub local: PathError,
    pub global: PathError,
    /// Part of the time in which the global clock's error is the larger one ...
    pub worse: f64,
    /// ... and the part of that in which the tank is slower than the receiver believes: it brakes, stops or reverses.
    pub worse_braking: f64,
    pub triggers_per_sec: f64,
    /// Time, local error, global error; in the window of Fig. 2.2 only.
    window: Vec<(f64, f64, f64)>,
}

/// One receiver at one delay, all seeds.
pub(super) struct Case {
    pub motion: Motion,
    pub delay_ms: f64,
    pub runs: Vec<Watched>,
}

fn watch(motion: Motion, delay_ms: f64, seed: u64, secs: f64) -> Watched {
    let trace = Trace::record(motion, BodyId(1), seed, secs);
    let link = Link::fixed(delay_ms);
    let mut playback = Playback::new(&trace, &link, &link, seed);
    let mut local = Receiver::new(BodyId(1), ClockMode::Local);
    let mut global = Receiver::new(BodyId(1), ClockMode::Global);
    let mut watched = Watched {
        triggers_per_sec: trace.rate(),
        ..Watched::default()
    };
    for now in frames(trace.duration) {
        for arrival in playback.due(now) {
            for receiver in [&mut local, &mut global] {
                receiver
                    .receive(arrival.at, &arrival.vector)
                    .expect("a fixed delay keeps the order");
            }
        }
        let (Some(lagging), Some(placed)) = (local.place(now), global.place(now)) else {
            continue;
        };
        if now.as_secs() < START_SECS {
            continue;
        }
        let real = trace.course.state_at(now);
        let by_local = lagging.position.distance(real.position);
        let by_global = placed.position.distance(real.position);
        watched.local.add(by_local);
        watched.global.add(by_global);
        // What differs by less than nothing is no difference.
        if by_global > by_local + NONE_M {
            watched.worse += 1.0;
            let slower =
                real.velocity.dot(placed.velocity) < 0.99 * placed.velocity.length_squared();
            watched.worse_braking += f64::from(u8::from(slower));
        }
        if WINDOW_SECS.contains(&now.as_secs()) {
            watched.window.push((now.as_secs(), by_local, by_global));
        }
    }
    watched.worse_braking /= watched.worse.max(1.0);
    watched.worse /= watched.global.frames.max(1.0);
    watched
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

#[cfg(test)]
mod tests {
    use super::*;

    /// DR-38: the window holds 25 to 30 s at 50 Hz, and both paths come from one stream.
    #[test]
    fn the_window_is_that_of_the_figure() {
        let watched = watch(Motion::Linear, 300.0, 1, 32.0);
        assert_eq!(watched.window.len(), 251);
        assert!(watched.local.mean() > 5.0 && watched.global.mean() < watched.local.mean());
        assert_eq!(watched, watch(Motion::Linear, 300.0, 1, 32.0));
    }

    /// DR-11: at a stop the lagging clock is the nearer one.
    #[test]
    fn stopping_is_where_the_global_clock_is_worse() {
        let watched = watch(Motion::StopAndGo, 300.0, 1, 60.0);
        assert!(watched.worse > 0.0 && watched.worse < 0.5);
        assert!(watched.worse_braking > 0.5);
    }
}
