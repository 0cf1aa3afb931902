//! Things that can be run by name, one after the other, each reported as soon as it is done: the published experiments,
//! and the sections of the benchmark.

use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::{Status, commit, reproduce};
use experiments::{ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use std::fmt::Write;
use std::path::PathBuf;

/// Runs the one of this name and tells how far it is, 0 to 1.
type RunOne =
    fn(&str, &RunOptions, &mut dyn FnMut(f64)) -> Result<ExperimentResult, ExperimentError>;

/// What there is, and how one of it is run.
pub struct Catalogue {
    /// What one of them is called: "there is no experiment `x`".
    pub noun: &'static str,
    /// All of them: "Experiments:".
    pub title: &'static str,
    /// The words before its name on a command line.
    pub words: &'static [&'static str],
    pub list: fn() -> &'static [ExperimentInfo],
    pub run: RunOne,
}

/// How to run it and where the result goes.
pub struct Wanted {
    pub options: RunOptions,
    pub out: Option<PathBuf>,
    pub json: bool,
}

impl Catalogue {
    /// For people: every name with what it does.
    pub fn listed(&self) -> String {
        let mut text = format!("{}:", self.title);
        for info in (self.list)() {
            let _ = write!(
                text,
                "\n  {:<14} {}\n  {:<14} {}",
                info.id, info.title, "", info.what
            );
        }
        text
    }

    /// Prints what there is.
    pub fn print_list(&self, json: bool) -> Status {
        if json {
            print_json(&(self.list)());
        } else {
            print(&format!("{}\n", self.listed()));
        }
        Status::Fine
    }

    /// Runs what was asked for; `all` is all there is.
    pub fn run_all(&self, asked: &[String], wanted: &Wanted) -> Status {
        let ids = match self.ids(asked) {
            Ok(ids) => ids,
            Err(reason) => return refuse(&reason),
        };
        // Asked before the first folder is written: results kept in the repository would count as local changes.
        let commit = wanted.out.as_ref().and_then(|_| commit::current());
        let mut results = Vec::new();
        for (index, id) in ids.iter().enumerate() {
            let label = match ids.len() {
                1 => (*id).to_owned(),
                all => format!("{id} ({} of {all})", index + 1),
            };
            let result = match self.run_one(id, &label, wanted, commit.as_deref()) {
                Ok(result) => result,
                Err(reason) => return refuse(&reason),
            };
            if !wanted.json {
                print(&format!("{}\n", result.summary()));
            }
            results.push(result);
        }
        if wanted.json {
            print_results(&results);
        }
        match results.iter().all(ExperimentResult::holds) {
            true => Status::Fine,
            false => Status::Failed,
        }
    }

    /// Every name is known before the first one starts; it may take an hour.
    fn ids(&self, asked: &[String]) -> Result<Vec<&'static str>, String> {
        let known: Vec<&'static str> = (self.list)().iter().map(|info| info.id).collect();
        if asked.iter().any(|id| id == "all") {
            return Ok(known);
        }
        let find = |id: &String| {
            let found = known.iter().copied().find(|known| known == id);
            found.ok_or_else(|| self.unknown(id))
        };
        asked.iter().map(find).collect()
    }

    fn unknown(&self, id: &str) -> String {
        let nearest = experiments::nearest((self.list)(), id);
        format!(
            "there is no {} `{id}`; did you mean `{nearest}`?\n{}",
            self.noun,
            self.listed()
        )
    }

    fn run_one(
        &self,
        id: &str,
        label: &str,
        wanted: &Wanted,
        commit: Option<&str>,
    ) -> Result<ExperimentResult, String> {
        let progress = Progress::new(label);
        let result = (self.run)(id, &wanted.options, &mut |share| progress.set(share));
        drop(progress);
        let result = result.map_err(|error: ExperimentError| format!("{id}: {error}"))?;
        if let Some(dir) = &wanted.out {
            let written = result.write_to(dir, &self.command(id, &wanted.options), commit);
            written.map_err(|error| format!("cannot write to {}: {error}", dir.display()))?;
        }
        Ok(result)
    }

    /// What makes this one again; the folder is the caller's choice.
    fn command(&self, id: &str, options: &RunOptions) -> String {
        let runs = options.runs.map(|runs| runs.to_string());
        let seed = options.seed.to_string();
        let mut words = [self.words, &[id, "--seed", &seed]].concat();
        if let Some(runs) = &runs {
            words.extend(["--runs", runs]);
        }
        if options.quick {
            words.push("--quick");
        }
        reproduce::plain_command(&words)
    }
}

fn refuse(reason: &str) -> Status {
    eprintln!("{reason}");
    Status::BadInput
}

fn print_results(results: &[ExperimentResult]) {
    match results {
        [only] => print_json(only),
        several => print_json(&several),
    }
}

#[cfg(test)]
mod tests {
    use crate::bench::SECTIONS;
    use experiments::RunOptions;

    #[test]
    fn the_command_makes_the_same_again() {
        let options = RunOptions {
            runs: Some(3),
            quick: true,
            seed: 9,
        };
        assert_eq!(
            SECTIONS.command("bare", &options),
            "auramesh bench bare --seed 9 --runs 3 --quick"
        );
    }

    #[test]
    fn all_is_all_and_one_wrong_name_stops_everything() {
        let asked = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            SECTIONS.ids(&names)
        };
        let all = asked(&["all"]).expect("known");
        assert_eq!(all.len(), experiments::bench::list().len());
        let refusal = asked(&["bare", "bodys"]).expect_err("unknown");
        assert!(refusal.contains("did you mean `bodies`?"), "{refusal}");
        assert!(refusal.contains("\n  density "), "{refusal}");
    }
}
