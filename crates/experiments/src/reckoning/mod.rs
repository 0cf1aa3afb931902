//! Dead reckoning, accurate and fair: the experiments of Banavar's thesis (2005) and what lies beyond it.
//!
//! ```text
//!   Motion ─► Trace: one trigger trace per seed ─┬─► Watch: real path ↔ placed path            (E1, E2)
//!                                                └─► Setup: all policies in one run ─► Outcome  (E3 to E8)
//!                                                          one network draw per seed     │
//!                                 rows, claims, figures ◄── Group: one Outcome per seed ◄┘
//! ```
//!
//! The thesis's result figures are lost in the text that has come to us; it gives relations ("lower", "multifold"), hardly any
//! number. So a claim is a relation, tried on every seed; it holds if it does on at least 19 of 20 (see [`relation`]). The trigger
//! rate relative to the delays decides much, and the thesis does not give it: everything is run in two regimes.

mod accuracy;
mod accuracy_claims;
pub(crate) mod bars;
mod cheat;
mod clocks;
mod convergence;
mod crowd;
mod deterministic;
mod figures;
mod gaps;
mod hit_rate;
mod late_join;
mod motion;
pub(crate) mod parallel;
mod plans;
mod playback;
mod probabilistic;
mod relation;
mod report;
mod schedule;
mod server;
mod shooting;
mod summary;
mod trace;
mod trial;
mod variable_delay;
mod watched;

use crate::result::{ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};

/// Said wherever a published value would stand.
const LOST: &str = "The thesis gives relations only: its result figures (2.2, 3.2 to 3.13, 3.15 to 3.27) are lost in the text we have, so no published value stands beside ours.";

/// How a claim is decided, and what it is decided on.
const RULE: &str = "A relation holds if it does so in at least 95 % of the seeds. Each seed is one trigger trace and one set of network draws, shared by all policies; intervals are 95 % confidence intervals of the mean over seeds (Student).";

/// Why some claims fail on purpose.
const REGIMES: &str = "Two regimes: smooth (about 7 triggers/s) and stop-and-go (about 1.6). The thesis does not give its trigger rate. Its relations are claimed in both, and a claim that does not hold says that the relation is not reproduced at that rate: a result, not a defect of the run.";

/// The experiments, in the order of the thesis.
pub(crate) const ALL: [ExperimentInfo; 7] = [
    ExperimentInfo {
        id: "dr-accuracy",
        title: "Dead reckoning: accuracy of global, local and one-way clocks, and convergence (E1)",
        what: "How far what receivers at 100, 300 and 800 ms show is from the truth, by the clock they use and by how they converge.",
    },
    ExperimentInfo {
        id: "dr-hit-rate",
        title: "Dead reckoning: who hits what he aims at (E2)",
        what: "Bots shoot at where they see a tank, with global and with local clocks.",
    },
    ExperimentInfo {
        id: "dr-schedule-1",
        title: "Fair dead reckoning: scheduling algorithm #1 (E3)",
        what: "Everybody's error is raised to that of the farthest receiver; waiting vectors are dropped at a new trigger.",
    },
    ExperimentInfo {
        id: "dr-schedule-2",
        title: "Fair dead reckoning: scheduling algorithm #2 (E4)",
        what: "As #1, but waiting vectors are sent at a new trigger.",
    },
    ExperimentInfo {
        id: "dr-probabilistic",
        title: "Fair dead reckoning: a budget spent by chance (E5, E6)",
        what: "One vector per trigger for three receivers, given out by chance, five ways to weigh who needs it.",
    },
    ExperimentInfo {
        id: "dr-deterministic",
        title: "Fair dead reckoning: a budget spent to a timetable (E7)",
        what: "The recommended policy; with 100 receivers, late joiners, a cheating client, and a server for many entities.",
    },
    ExperimentInfo {
        id: "dr-variable-delay",
        title: "Fair dead reckoning: budgets under variable delay (E8)",
        what: "Both budget algorithms with delays that vary by 100 and 180 ms, and with loss.",
    },
];

/// Runs one of [`ALL`].
pub(crate) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let scale = Scale::of(options);
    let mut result = match info.id {
        "dr-accuracy" => accuracy::run(info, &scale, progress),
        "dr-hit-rate" => hit_rate::run(info, &scale, progress),
        "dr-schedule-1" => schedule::run_first(info, &scale, progress)?,
        "dr-schedule-2" => schedule::run_second(info, &scale, progress)?,
        "dr-probabilistic" => probabilistic::run(info, &scale, progress)?,
        "dr-deterministic" => deterministic::run(info, &scale, progress)?,
        "dr-variable-delay" => variable_delay::run(info, &scale, progress)?,
        other => unreachable!("{other} is listed but has no code"),
    };
    result.notes.extend([LOST, RULE, REGIMES].map(String::from));
    Ok(result)
}

/// How much is run.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Of everything random.
    seed: u64,
    /// Runs per set-up.
    seeds: u32,
    /// Length of a run in seconds.
    secs: f64,
    /// Of the runs with many receivers.
    crowd_secs: f64,
}

impl Scale {
    /// The thesis gives neither lengths nor repetitions; these are the digest's.
    fn of(options: &RunOptions) -> Self {
        let (seeds, secs, crowd_secs) = if options.quick {
            (3, 40.0, 15.0)
        } else {
            (20, 120.0, 40.0)
        };
        Self {
            seed: options.seed,
            seeds: options.runs.unwrap_or(seeds),
            secs,
            crowd_secs,
        }
    }
}

/// A part of the whole progress.
pub(crate) fn part<'a>(
    progress: &'a mut dyn FnMut(f64),
    from: f64,
    to: f64,
) -> impl FnMut(f64) + 'a {
    move |share| progress(from + (to - from) * share)
}
