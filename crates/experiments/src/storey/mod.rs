//! Distributed collision detection: the experiments of Storey's thesis (2007), and what it could not measure.
//!
//! ```text
//!   gas: n cubes + one avatar per member in a box ─► GroupRun (checkers off) ─► CPU time per member and tick ─► Loop
//!                                                 └► GroupRun (checkers on)  ─► missed and doubled pairs, deviations
//! ```
//!
//! Times are CPU times of each member's own work, parcels read and written included; all members run in one thread and are then replayed one by
//! one, so that 32 of them on any machine are measured alike. The thesis's milliseconds (Java, Pentium 4, 2006) stand beside ours for their shape.

mod against_aura;
mod consistency;
mod gas;
mod group_size;
mod measure;
mod performance;
mod published;
mod scalability;
mod tables;

use crate::result::{ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};

/// The experiments, in the order of the thesis.
pub(crate) const ALL: [ExperimentInfo; 3] = [
    ExperimentInfo {
        id: "st-performance",
        title: "Distributed collision detection: one node (E1, Table 5.1)",
        what: "500 to 5000 cubes on one node: CPU time of an iteration, and collisions found.",
    },
    ExperimentInfo {
        id: "st-scalability",
        title: "Distributed collision detection: groups of 1 to 8 (E2, Tables 5.2 to 5.6), and consistency",
        what: "500 to 4000 cubes on 1 to 8 members: mean, leader and slowest member; missed and doubled pairs; deviation; against aura.",
    },
    ExperimentInfo {
        id: "st-group-size",
        title: "Distributed collision detection: how large a group (E3, Table 5.7)",
        what: "1000, 2000 and 3000 cubes on 1 to 32 members: when do more members stop helping?",
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
        "st-performance" => performance::run(info, &scale, progress)?,
        "st-scalability" => scalability::run(info, &scale, progress)?,
        "st-group-size" => group_size::run(info, &scale, progress)?,
        other => unreachable!("{other} is listed but has no code"),
    };
    result
        .notes
        .extend([SETUP, TIMES, THEIRS].map(String::from));
    Ok(result)
}

/// Said under every table.
const SETUP: &str = "Unit cubes, elastic, without friction or gravity, 1 to 5 m/s, in a cube of side (n / 0.0044)^(1/3) m (ST-56); one avatar per member changes its velocity twice a second; Δt = 1/60 s. The thesis gives neither coverage nor speeds; 0.44 % is inferred from its numbers of collisions.";
const TIMES: &str = "Times are thread CPU time of a member's own work per iteration, reading and writing parcels included, replayed alone from the recorded parcels, so that members who share this machine do not push each other out of its caches; of nine replays, bit by bit the same, the fastest of each iteration counts; then the median over blocks of 30 iterations of the block's mean (other programs disturb some blocks), averaged over seeds. The cost of reading the clock is subtracted. Members are synchronised unless a table says otherwise.";
const THEIRS: &str = "Thesis: milliseconds of wall time, Java, 2.8 GHz Pentium 4, shared machines. Only ratios and shapes compare.";

/// How much is run.
#[derive(Clone, Copy, Debug)]
struct Scale {
    seed: u64,
    runs: u32,
    warm_up: u64,
    ticks: u64,
    quick: bool,
}

impl Scale {
    /// The thesis repeats three times; it gives no number of iterations.
    fn of(options: &RunOptions) -> Self {
        let (runs, warm_up, ticks) = match options.quick {
            true => (1, 30, 90),
            false => (3, 60, 240),
        };
        Self {
            seed: options.seed,
            runs: options.runs.unwrap_or(runs),
            warm_up,
            ticks,
            quick: options.quick,
        }
    }
}
