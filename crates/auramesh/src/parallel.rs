//! What a build whose engine steps on several threads refuses to do: see [`world::STEPS_IN_PARALLEL`].

use crate::args::{ExperimentArgs, Subcommand};

/// Why this command cannot be run by this build, if so.
pub fn refusal(command: &Subcommand) -> Option<String> {
    let name = hashing(command).filter(|_| world::STEPS_IN_PARALLEL)?;
    Some(format!(
        "auramesh {name}: this build steps regions on several threads (--cfg auramesh_parallel), and nobody promises \
         that its state hashes are those of other builds. Take a build without it; demo, run and the servers work."
    ))
}

/// The name of a command whose results are the same for the same seed, and are compared.
fn hashing(command: &Subcommand) -> Option<&'static str> {
    match command {
        Subcommand::Sim(_) => Some("sim"),
        // What a live gateway shows is never the same twice.
        Subcommand::Record(args) if args.connect.is_none() => Some("record"),
        Subcommand::Experiment(ExperimentArgs::Run(_)) => Some("experiment run"),
        // CPU time of one thread is what it measures.
        Subcommand::Bench(args) if !args.list => Some("bench"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::Parser;

    fn name(line: &str) -> Option<&'static str> {
        let words = line.split(' ');
        let arguments = Arguments::try_parse_from(words).expect("valid");
        let refused = refusal(&arguments.subcommand).is_some();
        let name = hashing(&arguments.subcommand);
        assert_eq!(refused, world::STEPS_IN_PARALLEL && name.is_some());
        name
    }

    #[test]
    fn whatever_prints_or_compares_hashes_is_refused() {
        assert_eq!(name("auramesh sim head-on"), Some("sim"));
        assert_eq!(name("auramesh sim --soak 3"), Some("sim"));
        assert_eq!(name("auramesh record head-on --out a"), Some("record"));
        assert_eq!(
            name("auramesh experiment run ap-speed"),
            Some("experiment run")
        );
        assert_eq!(name("auramesh bench bare"), Some("bench"));
    }

    #[test]
    fn what_runs_in_real_time_works() {
        for line in [
            "auramesh run head-on",
            "auramesh demo",
            "auramesh check head-on",
            "auramesh record --connect http://127.0.0.1:8080/ --out a",
            "auramesh experiment list",
            "auramesh bench --list",
        ] {
            assert_eq!(name(line), None, "{line}");
        }
    }
}
