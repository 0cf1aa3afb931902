//! `auramesh sim --soak`: hundreds of random runs, each of which must be clean.

use crate::args::SimArgs;
use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::{Status, reproduce, summary};
use serde::Serialize;
use simulator::checkers::ErrorCounts;
use simulator::soak::SoakRun;
use simulator::{Outcome, SimError};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Used if none is given.
const FIRST_SEED: u64 = 1;

/// What all runs came to.
#[derive(Debug, Default, Serialize)]
struct Tally {
    runs: u32,
    first_seed: u64,
    servers: u64,
    faults: u64,
    bodies: u64,
    ticks: u64,
    migrations: u64,
    collisions: u64,
    tolerances_exceeded: u64,
    /// What crashes and cut links explain, by kind.
    excused: ErrorCounts,
    failures: Vec<Failure>,
}

/// A run that broke a promise.
#[derive(Debug, Serialize)]
struct Failure {
    seed: u64,
    run: String,
    why: String,
    command: String,
}

/// Runs seeds K, K+1, … and reports.
pub fn run(args: &SimArgs, runs: u32) -> Status {
    let first_seed = args.seed.unwrap_or(FIRST_SEED);
    let mut tally = Tally {
        runs,
        first_seed,
        ..Tally::default()
    };
    let progress = Progress::new("soak");
    for index in 0..runs {
        let run = SoakRun::of(first_seed.wrapping_add(u64::from(index)));
        if let Some(failure) = tally.add(&run) {
            progress.note(&described(failure));
        }
        progress.set(f64::from(index + 1) / f64::from(runs));
    }
    drop(progress);
    if args.json {
        print_json(&tally);
    } else {
        print(&described_tally(&tally));
    }
    match tally.failures.is_empty() {
        true => Status::Fine,
        false => Status::Failed,
    }
}

impl Tally {
    /// Makes a run and counts it; says how it failed, if it did.
    fn add(&mut self, run: &SoakRun) -> Option<&Failure> {
        // A broken assertion is a finding like any other: the other seeds still get their turn.
        let result = catch_unwind(AssertUnwindSafe(|| run.run()));
        let why = match result {
            Ok(Ok(outcome)) => self.count(run, &outcome)?,
            Ok(Err(error)) => unsound(&error),
            Err(_) => "panicked (see above)".into(),
        };
        self.failures.push(Failure {
            seed: run.seed,
            run: run.to_string(),
            why,
            command: reproduce::command_with(&[
                "sim",
                "--soak",
                "1",
                "--seed",
                &run.seed.to_string(),
            ]),
        });
        self.failures.last()
    }

    fn count(&mut self, run: &SoakRun, outcome: &Outcome) -> Option<String> {
        let exceeded = outcome.tolerance_exceeded;
        let exceeded = [
            ("speed", exceeded.speed),
            ("latency", exceeded.latency),
            ("frame", exceeded.frame),
        ];
        self.servers += outcome.servers as u64;
        self.faults += run.options.faults.len() as u64;
        self.bodies += outcome.bodies.start + outcome.bodies.spawned;
        self.ticks += outcome.ticks;
        self.migrations += outcome.migrations;
        self.collisions += outcome.collisions;
        self.tolerances_exceeded += exceeded.iter().map(|(_, count)| count).sum::<u64>();
        self.excused += outcome.excused;
        if outcome.is_clean() {
            return None;
        }
        let first = outcome.first_violation.as_ref().map(ToString::to_string);
        let first = first.or_else(|| outcome.aborted.clone());
        let exceeded: Vec<String> = exceeded
            .iter()
            .map(|(what, count)| format!("{what} {count} x"))
            .collect();
        Some(format!(
            "{}  tolerances exceeded: {}",
            first.unwrap_or_default(),
            exceeded.join(", ")
        ))
    }
}

/// The generator promises sound runs.
fn unsound(error: &SimError) -> String {
    format!("the drawn run cannot be set up: {error}")
}

fn described(failure: &Failure) -> String {
    format!(
        "FAILED {}\n  {}\n  to see it again: {}\n",
        failure.run, failure.why, failure.command
    )
}

fn described_tally(tally: &Tally) -> String {
    let Tally {
        runs,
        first_seed,
        servers,
        faults,
        bodies,
        ticks,
        migrations,
        collisions,
        ..
    } = tally;
    let last_seed = first_seed.wrapping_add(u64::from(*runs) - 1);
    let verdict = match tally.failures.len() {
        0 => "all checkers at zero in every run".into(),
        failed => format!("{failed} of {runs} runs FAILED"),
    };
    format!(
        "soak        {runs} random runs, seeds {first_seed} to {last_seed}\n\
         in all      {servers} servers, {bodies} bodies, {ticks} ticks, {faults} crashes and cuts\n\
         happened    {migrations} migrations, {collisions} collisions; tolerances exceeded {} times\n\
         excused     within crashes and cuts: {}\n\
         checkers    {verdict}\n",
        tally.tolerances_exceeded,
        summary::listed(&tally.excused)
    )
}
