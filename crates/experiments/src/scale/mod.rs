//! Does it scale? E1 to E6 of the aura thesis (5.1) at their published size, and what the thesis did not ask.
//!
//! ```text
//!   generated scene for n servers ─┬─► on one server  ─┐   one after the other,
//!                                  ├─► on n, `thesis` ─┤   round after round
//!                                  └─► on n, ours     ─┴─► factor = CPU of the one / CPU of the slowest of n
//! ```
//!
//! All runs of an experiment go one after another: CPU time is what is measured, and two runs at once push each other
//! out of the machine's caches. At full size a run takes minutes and `ap-columns` takes hours.

pub(crate) mod bench;
mod field;
mod fits;
mod kept;
mod layout_claims;
mod layout_figures;
pub(crate) mod layout_tables;
mod layouts;
pub(crate) mod measure;
mod moments;
pub(crate) mod published;
mod rest;
mod weak;
mod worst;

use crate::result::{ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use boundary::AuraSize;
use layouts::Family;
use simulator::SimOptions;

/// The experiments.
pub(crate) const ALL: [ExperimentInfo; 7] = [
    ExperimentInfo {
        id: "ap-columns",
        title: "Aura Projection: servers in columns (E1, E3 to E6)",
        what: "160 bodies/s for 60 s on 1 to 10, 16 and 32 columns: CPU time, migrations, updates, overhead, \
            P(n). Hours.",
    },
    ExperimentInfo {
        id: "ap-corners",
        title: "Aura Projection: servers that meet at corners (E2, E3 to E6)",
        what: "The same on 3, 4, 9, 16 and 36 regions with corners. Hours.",
    },
    ExperimentInfo {
        id: "scale-weak",
        title: "Constant work per server",
        what: "The same crowd in each of 1 to 256 regions: does the slowest server notice how many others there are?",
    },
    ExperimentInfo {
        id: "scale-field",
        title: "A field of stacks",
        what: "10,000 stacks of five boxes, 8 m apart, in a rain of balls on 64 servers: is the work shared, \
            and does what stands stay?",
    },
    ExperimentInfo {
        id: "scale-worst",
        title: "Everything near a border",
        what: "1,000 bodies bounce in a trench along the borders of four regions: are four servers still \
            faster than one?",
    },
    ExperimentInfo {
        id: "scale-rest",
        title: "A world at rest",
        what: "6,464 boxes, 99 in 100 asleep, against the same boxes awake: CPU time, and bytes beyond heartbeats.",
    },
    ExperimentInfo {
        id: "scale-kept",
        title: "Bodies that are held to their promises",
        what: "E1 on 8 and 16 columns with and without: kinetic energy, deep overlaps, how many are held and for how long.",
    },
];

/// The sizes that are compared. What is claimed is claimed of [`ours`].
const SIZES: &[AuraSize] = &[AuraSize::Thesis, AuraSize::Safe, AuraSize::Adaptive];

/// What one gets who does not ask for another.
pub(crate) fn ours() -> AuraSize {
    SimOptions::default().aura
}

fn name(size: AuraSize) -> String {
    format!("{size:?}").to_lowercase()
}

/// Runs one of [`ALL`].
pub(crate) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let scale = Scale::of(options);
    let mut result = match info.id {
        "ap-columns" => layouts::run(info, Family::Columns, &scale, progress)?,
        "ap-corners" => layouts::run(info, Family::Corners, &scale, progress)?,
        "scale-weak" => weak::run(info, &scale, progress)?,
        "scale-field" => field::run(info, &scale, progress)?,
        "scale-worst" => worst::run(info, &scale, progress)?,
        "scale-rest" => rest::run(info, &scale, progress)?,
        "scale-kept" => kept::run(info, &scale, progress)?,
        other => unreachable!("{other} is listed but has no code"),
    };
    result.notes.extend([TIMES, ALONE].map(String::from));
    Ok(result)
}

/// Said under every table.
pub(crate) const TIMES: &str = "Times are thread CPU time of a server's own work per tick: physics, boundary, reading \
    and writing messages; all servers run in one thread under virtual time. Overhead is everything but the \
    engine's step, as a share of the step, all servers together.";
const ALONE: &str = "Runs go one after another, and nothing else should run on the machine meanwhile; runs of \
    different kinds alternate, so that a slow hour slows them all. Checkers watch one run per seed and size; \
    what they find is an error, not a statistic.";

/// How much is run.
#[derive(Clone, Copy, Debug)]
struct Scale {
    seed: u64,
    /// Different seeds.
    seeds: u32,
    /// How often the same seed is run for a factor.
    rounds: u32,
    quick: bool,
}

/// A factor is the median of at least so many pairs of runs.
const LEAST_PAIRS: u32 = 5;

impl Scale {
    fn of(options: &RunOptions) -> Self {
        let seeds = options.runs.unwrap_or(if options.quick { 1 } else { 3 });
        Self {
            seed: options.seed,
            seeds,
            rounds: if options.quick {
                1
            } else {
                LEAST_PAIRS.div_ceil(seeds)
            },
            quick: options.quick,
        }
    }

    /// The seed of a run, the same whatever the number of servers and the size of auras.
    fn seed_of(&self, index: u32) -> u64 {
        crate::seeds::derive(self.seed, &[u64::from(index)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(runs: Option<u32>, quick: bool) -> Scale {
        Scale::of(&RunOptions {
            runs,
            quick,
            seed: 7,
        })
    }

    #[test]
    fn a_factor_rests_on_five_pairs_at_least() {
        for runs in [None, Some(1), Some(2), Some(4), Some(5), Some(50)] {
            let scale = scale(runs, false);
            assert!(
                scale.seeds * scale.rounds >= LEAST_PAIRS,
                "{runs:?}: {scale:?}"
            );
        }
        assert_eq!(scale(None, false).seeds, 3);
        assert_eq!(
            (scale(Some(50), false).seeds, scale(Some(50), false).rounds),
            (50, 1)
        );
        assert_eq!((scale(None, true).seeds, scale(None, true).rounds), (1, 1));
    }

    /// A change of the default needs a change of the list.
    #[test]
    fn the_default_size_is_among_those_compared() {
        assert!(SIZES.contains(&ours()));
        assert_eq!(name(AuraSize::Thesis), "thesis");
    }
}
