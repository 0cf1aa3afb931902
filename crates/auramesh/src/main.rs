//! The command line: runs scenes under virtual time, checks scene files, repeats published experiments,
//! measures what it costs.
//!
//! Exit status: 0 fine; 1 a checker or a claim failed; 2 bad input or usage, with the reason on stderr.

mod args;
mod bad_network;
mod bench;
mod catalogue;
mod check;
mod cluster_process;
mod commit;
mod coordinator;
mod demo;
mod duel;
mod duel_recording;
mod experiment;
mod gateway;
mod group_agents;
mod group_avatars;
mod group_demo;
mod group_moves;
mod group_player;
mod group_post;
mod group_sim;
mod group_warden;
mod group_world;
mod local_cluster;
mod memory;
mod output;
mod parallel;
mod progress;
mod record;
mod replay;
mod reproduce;
mod run;
mod server;
mod sim;
mod soak;
mod status;
mod summary;

use args::{Arguments, ExperimentArgs, Subcommand};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = Arguments::parse().subcommand;
    if let Some(reason) = parallel::refusal(&command) {
        eprintln!("{reason}");
        return Status::BadInput.into();
    }
    let status = match command {
        Subcommand::Sim(args) => match (args.soak, args.group_soak, args.groups) {
            (Some(runs), ..) => soak::run(&args, runs),
            (_, Some(runs), _) => group_sim::soak(&args, runs),
            (.., Some(places)) => group_sim::show(&args, places),
            _ => sim::run(&args),
        },
        Subcommand::Run(args) => run::run(&args),
        Subcommand::Coordinator(args) => coordinator::run(args),
        Subcommand::Server(args) => server::run(args),
        Subcommand::Demo(args) if args.groups > 1 => group_demo::run(&args),
        Subcommand::Demo(args) => demo::run(&args),
        Subcommand::Duel(args) => duel::run(&args),
        Subcommand::Record(args) => record::run(&args),
        Subcommand::Replay(args) => replay::run(&args),
        Subcommand::Gateway(args) => gateway::run(args),
        Subcommand::Status(args) => status::run(args),
        Subcommand::Check(args) => check::run(&args),
        Subcommand::Bench(args) => bench::run(&args),
        Subcommand::Experiment(ExperimentArgs::List(args)) => experiment::list(&args),
        Subcommand::Experiment(ExperimentArgs::Run(args)) => experiment::run(&args),
    };
    status.into()
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Everything as promised.
    Fine,
    /// A checker or a claim failed.
    Failed,
    /// What was asked for cannot be done; the reason was printed.
    BadInput,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Fine => 0,
            Status::Failed => 1,
            Status::BadInput => 2,
        })
    }
}
