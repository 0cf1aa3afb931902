//! `auramesh experiment`: published experiments, repeated.

use crate::args::{ExperimentListArgs, ExperimentRunArgs, experiment_list};
use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::{Status, commit, reproduce};
use experiments::{ExperimentError, ExperimentResult, RunOptions};

/// Which experiments there are.
pub fn list(args: &ExperimentListArgs) -> Status {
    if args.json {
        print_json(&experiments::list());
    } else {
        print(&format!("{}\n", experiment_list()));
    }
    Status::Fine
}

/// Runs them one after the other; each is reported as soon as it is done.
pub fn run(args: &ExperimentRunArgs) -> Status {
    let ids = match ids(&args.ids) {
        Ok(ids) => ids,
        Err(reason) => return refuse(&reason),
    };
    // Asked before the first folder is written: results kept in the repository would count as local changes.
    let commit = args.out.as_ref().and_then(|_| commit::current());
    let mut results = Vec::new();
    for id in ids {
        let result = match run_one(id, args, commit.as_deref()) {
            Ok(result) => result,
            Err(reason) => return refuse(&reason),
        };
        if !args.json {
            print(&format!("{}\n", result.summary()));
        }
        results.push(result);
    }
    if args.json {
        print_results(&results);
    }
    match results.iter().all(ExperimentResult::holds) {
        true => Status::Fine,
        false => Status::Failed,
    }
}

fn refuse(reason: &str) -> Status {
    eprintln!("{reason}");
    Status::BadInput
}

/// Every name is known before the first experiment starts; it may take an hour.
fn ids(asked: &[String]) -> Result<Vec<&'static str>, String> {
    let known: Vec<&'static str> = experiments::list().iter().map(|info| info.id).collect();
    if asked.iter().any(|id| id == "all") {
        return Ok(known);
    }
    let find = |id: &String| {
        let found = known.iter().copied().find(|known| known == id);
        found.ok_or_else(|| unknown(id))
    };
    asked.iter().map(find).collect()
}

fn unknown(id: &str) -> String {
    format!("there is no experiment `{id}`\n{}", experiment_list())
}

fn run_one(
    id: &str,
    args: &ExperimentRunArgs,
    commit: Option<&str>,
) -> Result<ExperimentResult, String> {
    let options = RunOptions {
        runs: args.runs,
        quick: args.quick,
        seed: args.seed,
    };
    let progress = Progress::new(id);
    let result = experiments::run(id, &options, &mut |share| progress.set(share));
    drop(progress);
    let result = result.map_err(|error: ExperimentError| format!("{id}: {error}"))?;
    if let Some(dir) = &args.out {
        let written = result.write_to(dir, &command(id, args), commit);
        written.map_err(|error| format!("cannot write to {}: {error}", dir.display()))?;
    }
    Ok(result)
}

/// What makes this one experiment again; the folder is whoever runs it's own choice.
fn command(id: &str, args: &ExperimentRunArgs) -> String {
    let runs = args.runs.map(|runs| runs.to_string());
    let seed = args.seed.to_string();
    let mut words = vec!["experiment", "run", id, "--seed", &seed];
    if let Some(runs) = &runs {
        words.extend(["--runs", runs]);
    }
    if args.quick {
        words.push("--quick");
    }
    reproduce::plain_command(&words)
}

fn print_results(results: &[ExperimentResult]) {
    match results {
        [only] => print_json(only),
        several => print_json(&several),
    }
}
