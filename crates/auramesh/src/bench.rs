//! `auramesh bench`: every number of `docs/benchmarks.md`.

use crate::Status;
use crate::args::BenchArgs;
use crate::catalogue::{Catalogue, Wanted};
use experiments::RunOptions;

/// The sections of the benchmark.
pub const SECTIONS: Catalogue = Catalogue {
    noun: "section",
    title: "Sections",
    words: &["bench"],
    list: experiments::bench::list,
    run: experiments::bench::run,
};

/// Lists the sections, or runs those that were asked for: all, if none was.
pub fn run(args: &BenchArgs) -> Status {
    if args.list {
        return SECTIONS.print_list(args.json);
    }
    let wanted = Wanted {
        options: RunOptions {
            runs: args.runs,
            quick: args.quick,
            seed: args.seed,
        },
        out: args.out.clone(),
        json: args.json,
    };
    match args.sections.is_empty() {
        true => SECTIONS.run_all(&["all".to_owned()], &wanted),
        false => SECTIONS.run_all(&args.sections, &wanted),
    }
}
