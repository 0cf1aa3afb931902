//! `auramesh experiment`: published experiments, repeated.

use crate::Status;
use crate::args::{ExperimentListArgs, ExperimentRunArgs};
use crate::catalogue::{Catalogue, Wanted};
use experiments::RunOptions;

/// The published experiments.
pub const EXPERIMENTS: Catalogue = Catalogue {
    noun: "experiment",
    title: "Experiments",
    words: &["experiment", "run"],
    list: experiments::list,
    run: experiments::run,
};

/// Which experiments there are.
pub fn list(args: &ExperimentListArgs) -> Status {
    EXPERIMENTS.print_list(args.json)
}

/// Runs them.
pub fn run(args: &ExperimentRunArgs) -> Status {
    let wanted = Wanted {
        options: RunOptions {
            runs: args.runs,
            quick: args.quick,
            seed: args.seed,
        },
        out: args.out.clone(),
        json: args.json,
    };
    EXPERIMENTS.run_all(&args.ids, &wanted)
}
