//! What it costs, and from where on it pays: every number of `docs/benchmarks.md`.
//!
//! ```text
//!   bare      ─► a crowd in Rapier alone, and on 1, 2, 4, 8 regions, in turn ─► ratios, crossover
//!   servers   ─► the thesis's columns on 1 and on n servers in turn ─► factor
//!   bodies    ┐
//!   density   ├► a crowd on four servers, one thing grows, the others stay ─► cost per body, overhead
//!   speed     │
//!   delay     ┘
//! ```
//!
//! A section is run and reported like an experiment (tables, rows, figures, a folder), but repeats no publication: it
//! is not among [`crate::list`]. All runs go one after another, in rounds: whatever slows the machine down for a while
//! slows down all that are compared.

mod bare;
mod bare_report;
mod beside;
mod crossover;
mod growth;
mod growth_plans;
mod servers;
mod spent;
mod trial;

use crate::catalogue::find;
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use crate::scale::TIMES;

/// The sections.
const BENCHES: &[ExperimentInfo] = &[
    ExperimentInfo {
        id: "bare",
        title: "Against bare Rapier",
        what: "64 to 16,000 bodies in Rapier alone and on 1, 2, 4 and 8 regions in turn: from how many bodies on \
            do several servers pay? About 8 minutes.",
    },
    ExperimentInfo {
        id: "servers",
        title: "More servers",
        what: "The thesis's columns at full size, 9,600 bodies, on 2, 4, 8 and 16 servers against one, the thesis's \
            factors beside. About 10 minutes.",
    },
    ExperimentInfo {
        id: "bodies",
        title: "More bodies",
        what: "500 to 32,000 bodies on four servers, equally dense: what does a body cost? Minutes.",
    },
    ExperimentInfo {
        id: "density",
        title: "Denser crowds",
        what: "4,000 bodies on four servers, 0.025 to 0.8 on a square metre. Minutes.",
    },
    ExperimentInfo {
        id: "speed",
        title: "Faster bodies",
        what: "4,000 bodies on four servers, half of them bouncing at up to 1 to 30 m/s. Minutes.",
    },
    ExperimentInfo {
        id: "delay",
        title: "Slower networks",
        what: "4,000 bodies on four servers, 0.5 to 50 ms apart, with tolerances to fit. Minutes.",
    },
];

/// All sections, in the order of the page.
pub fn list() -> &'static [ExperimentInfo] {
    BENCHES
}

/// Runs the section of this name; `progress` hears the share that is done, 0 to 1.
pub fn run(
    id: &str,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let info = find("section", BENCHES, id)?;
    if options.runs == Some(0) {
        return Err(ExperimentError::NoRuns);
    }
    let extent = Extent::of(options);
    let mut result = match info.id {
        "bare" => bare::run(info, &extent, progress)?,
        "servers" => servers::run(info, &extent, progress)?,
        _ => growth::run(info, &extent, progress)?,
    };
    result.notes.extend([TIMES, IN_TURN].map(String::from));
    Ok(result)
}

/// Said under every table.
const IN_TURN: &str = "Runs go one after another in rounds, all with the same seed, and numbers are medians over \
    rounds; nothing else should run on the machine meanwhile. Servers share one thread and so its caches, which \
    separate machines would not. Before the first round checkers watch each run once, untimed; what they find is an \
    error, not a statistic.";

/// How much is run.
#[derive(Clone, Copy, Debug)]
struct Extent {
    seed: u64,
    rounds: u32,
    quick: bool,
}

/// Fewer rounds have no middle worth the name.
const ROUNDS: u32 = 5;

impl Extent {
    fn of(options: &RunOptions) -> Self {
        let usual = if options.quick { 1 } else { ROUNDS };
        Self {
            seed: options.seed,
            rounds: options.runs.unwrap_or(usual),
            quick: options.quick,
        }
    }
}

/// What every section claims, whatever it measures.
fn no_errors(id: &'static str, errors: u64) -> Claim {
    Claim::new(
        id,
        "no error of any kind",
        errors == 0,
        format!("{errors} errors"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_section_is_answered_with_the_nearest() {
        let error = run("densty", &RunOptions::default(), &mut |_| {}).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "there is no section 'densty'; did you mean 'density'?"
        );
    }

    /// The list of experiments is that of the theses; sections and experiments never share a name.
    #[test]
    fn sections_are_no_experiments() {
        for section in list() {
            assert!(crate::list().iter().all(|info| info.id != section.id));
        }
    }

    #[test]
    fn rounds_are_as_many_as_asked_for() {
        let rounds = |runs, quick| {
            let options = RunOptions {
                runs,
                quick,
                seed: 7,
            };
            Extent::of(&options).rounds
        };
        assert_eq!((rounds(None, false), rounds(None, true)), (5, 1));
        assert_eq!((rounds(Some(2), false), rounds(Some(3), true)), (2, 3));
    }
}
