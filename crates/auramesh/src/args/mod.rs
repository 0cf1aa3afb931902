//! What can be typed. The names are fixed by the design; clap checks them and prints the help.

mod help;
mod processes;
mod values;

pub use processes::{ClusterArgs, CoordinatorArgs, GatewayArgs, ServerArgs};

use crate::group_moves::GroupMove;
use crate::local_cluster::Namespaces;
use clap::{Args, Parser, ValueEnum};
use domain::Layout;
use help::{
    DUEL_EXAMPLES, EXAMPLES, EXPERIMENT_EXAMPLES, bench_help, check_help, demo_help,
    experiment_help, record_help, run_help, sim_help,
};
use simulator::faults::Fault;
use simulator::network::NetworkConditions;
use std::net::SocketAddr;
use std::path::PathBuf;
use values::{delay_ms, frame_ms, network, network_text, seconds, share};

/// How many runs `--soak` makes unless told otherwise.
pub const SOAK_RUNS: &str = "200";

/// One seamless rigid-body physics world on many machines.
#[derive(Debug, Parser)]
#[command(name = "auramesh", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub subcommand: Subcommand,
}

#[derive(Debug, clap::Subcommand)]
pub enum Subcommand {
    /// Runs a scene under virtual time on simulated servers, watched by checkers.
    #[command(after_help = sim_help())]
    Sim(Box<SimArgs>),
    /// A whole cluster on this machine: region servers, coordinator and gateway; prints its URL, ends with Ctrl-C.
    #[command(after_help = demo_help())]
    Demo(DemoArgs),
    /// Runs a scene in real time on region servers that are processes of this machine, watched by the same checkers.
    #[command(after_help = run_help())]
    Run(RunArgs),
    /// Records a run into a file: a simulated one, reproducibly, or what a live gateway shows.
    #[command(after_help = record_help())]
    Record(RecordArgs),
    /// Shows a recording in the viewer; prints its URL, ends with Ctrl-C.
    Replay(ReplayArgs),
    /// A coordinator: assigns regions to servers and notices when one dies.
    Coordinator(CoordinatorArgs),
    /// A region server: simulates the regions it is given.
    Server(ServerArgs),
    /// A gateway: what players and viewers connect to.
    Gateway(GatewayArgs),
    /// Two stations play against each other over UDP, each with its own avatar, and agree on every hit (motion-lock).
    #[command(after_help = DUEL_EXAMPLES)]
    Duel(DuelArgs),
    /// Who is in a cluster, and who has which region.
    Status(StatusArgs),
    /// Reads a scene and says what is in it, or everything that is wrong with it and where.
    #[command(after_help = check_help())]
    Check(CheckArgs),
    /// Repeats published experiments and compares.
    #[command(subcommand, after_help = EXPERIMENT_EXAMPLES)]
    Experiment(ExperimentArgs),
    /// Measures what it costs, against bare Rapier and as bodies, servers, density, speed and delay grow: every number of
    /// docs/benchmarks.md. Nothing else should run on the machine meanwhile.
    #[command(after_help = bench_help())]
    Bench(BenchArgs),
}

/// Everything a simulated run can be told.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// A scene file, or the name of a built-in scene (listed below).
    #[arg(required_unless_present_any = ["soak", "group_soak", "groups"], conflicts_with_all = ["soak", "group_soak", "groups"])]
    pub scene: Option<String>,

    /// How many region servers [default: as the scene says].
    #[arg(long, value_name = "N", conflicts_with = "soak")]
    pub servers: Option<usize>,

    /// How space is cut into regions: single, columns, grid, tree, boxes, thesis-3 or thesis-7 [default: as the scene
    /// says].
    #[arg(long, conflicts_with = "soak")]
    pub layout: Option<Layout>,

    /// Seed of everything random [default: the scene's; with --soak: 1].
    #[arg(long, value_name = "K")]
    pub seed: Option<u64>,

    /// Simulated seconds [default: as the scene says].
    #[arg(long, value_name = "S", value_parser = seconds, conflicts_with = "soak")]
    pub seconds: Option<f64>,

    /// The network between servers: perfect, data_centre, home_wifi or lossy_mobile, or
    /// latency_ms=..,jitter_ms=..,loss=..,dup=..,reorder=..,reorder_ms=..,bandwidth_bytes_per_sec=.., or a preset and pairs
    /// that change it [default: data_centre].
    #[arg(long, value_parser = network, conflicts_with = "soak")]
    pub net: Option<NetworkConditions>,

    /// Who owns a body near a border. `naive`, the contrast, is expected to fail the checkers.
    #[arg(long, value_enum, default_value_t, conflicts_with = "soak")]
    pub policy: Policy,

    /// With --policy replicate: members do not wait for each other (the thesis's usual mode). Faster on a slow network, but for
    /// moments a pair may be tested by nobody or by two.
    #[arg(long, conflicts_with = "soak")]
    pub unsynchronised: bool,

    /// With --policy replicate: where the world is cut.
    #[arg(long, value_enum, default_value_t, conflicts_with = "soak")]
    pub cuts: Cuts,

    /// How large auras are. `safe` is for comparison; `thesis` is for comparison and may fail the checkers.
    #[arg(long, value_enum, default_value_t, conflicts_with = "soak")]
    pub aura: Aura,

    /// Two clusters that want each other may change places, as in the thesis.
    #[arg(long, conflicts_with = "soak")]
    pub no_tie_break: bool,

    /// For tests of the bound (size `adaptive`): bodies promise only this share of their motion. Promises that are too small
    /// are broken all the time; only holding bodies to them keeps servers' bodies apart.
    #[arg(long, value_name = "0..1", value_parser = share, default_value_t = 1.0, conflicts_with = "soak")]
    pub promise_share: f64,

    /// For tests of the bound (size `adaptive`): bodies are not held to what they have promised.
    #[arg(long, conflicts_with = "soak")]
    pub unkept: bool,

    /// What a body does on its way to another server. `catch-up` catches up at most 120 ticks (2 s); a body that was away for
    /// longer, behind a cut link or a crash, has stood still before.
    #[arg(long, value_enum, default_value_t, conflicts_with = "soak")]
    pub handover: Handover,

    /// What goes wrong: crash=SERVER@SECONDS+SECONDS (dies, and is back so much later), cut=SERVER-SERVER@SECONDS+SECONDS;
    /// several separated by commas. A run lasts at least a second longer than its last fault.
    #[arg(
        long,
        value_name = "FAULT",
        value_delimiter = ',',
        conflicts_with = "soak"
    )]
    pub faults: Vec<Fault>,

    /// Length of every server's frames, milliseconds [default: a third of the scene's frame tolerance].
    #[arg(long, value_name = "MS", value_parser = frame_ms, conflicts_with = "soak")]
    pub frame_ms: Option<f64>,

    /// Servers step each at its own moment instead of together.
    #[arg(long, conflicts_with = "soak")]
    pub unaligned: bool,

    /// Prints one JSON object on stdout, nothing else there.
    #[arg(long)]
    pub json: bool,

    /// Instead of a scene: that many runs of random scenes, layouts, networks and faults, seeded K, K+1, ..
    #[arg(long, value_name = "RUNS", num_args = 0..=1, default_missing_value = SOAK_RUNS,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub soak: Option<u32>,

    /// Instead of a scene: that many runs of consistency groups, a minute each, with joins, leaves, crashes, partitions, slow
    /// lines and votes, seeded K, K+1, ..
    #[arg(long, value_name = "RUNS", num_args = 0..=1, default_missing_value = SOAK_RUNS,
          value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["soak", "servers", "seconds", "net", "layout", "policy", "unsynchronised", "cuts", "aura", "no_tie_break", "promise_share", "unkept", "handover", "faults", "frame_ms", "unaligned"])]
    pub group_soak: Option<u32>,

    /// Instead of a scene: machines at so many places that are far apart; measured pings decide who shares a world, and
    /// avatars are relayed between the groups. --servers is the number of machines [default: 3 per place], the latency of --net lies between
    /// two places [default: 60 ms].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16),
          conflicts_with_all = ["soak", "group_soak", "layout", "policy", "unsynchronised", "cuts", "aura", "no_tie_break", "promise_share", "unkept", "handover", "faults", "frame_ms", "unaligned"])]
    pub groups: Option<u32>,
}

/// Everything a run in real time can be told.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A scene file, or the name of a built-in scene (listed below).
    pub scene: String,

    /// How many regions, each on a server process of its own [default: as the scene says].
    #[arg(long, value_name = "N")]
    pub servers: Option<usize>,

    /// How space is cut into regions [default: as the scene says].
    #[arg(long)]
    pub layout: Option<Layout>,

    /// How large auras are. `safe` is for comparison; `thesis` is for comparison and may fail the checkers.
    #[arg(long, value_enum, default_value_t)]
    pub aura: Aura,

    /// What a body does on its way to another server.
    #[arg(long, value_enum, default_value_t)]
    pub handover: Handover,

    /// Seed of everything random [default: the scene's].
    #[arg(long, value_name = "K")]
    pub seed: Option<u64>,

    /// Seconds [default: as the scene says].
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,

    /// A bad network between the servers, made on purpose: as for `sim`, for example latency_ms=2,jitter_ms=1,loss=0.01 [default: the
    /// machine's own].
    #[arg(long, value_parser = network_text)]
    pub net: Option<String>,

    /// Network namespaces for the servers, NAME:A.B.C.0: server n in NAMEn at A.B.C.(n+2), this process at A.B.C.1 (tests/namespaces.rs makes them).
    #[arg(long, hide = true)]
    pub namespaces: Option<Namespaces>,

    /// Prints one JSON object on stdout, nothing else there.
    #[arg(long)]
    pub json: bool,
}

/// Everything a duel can be told.
#[derive(Debug, Args)]
pub struct DuelArgs {
    /// How long they play.
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "15")]
    pub seconds: f64,

    /// Seed of what the players do, and of a bad network made on purpose.
    #[arg(long, value_name = "K", default_value_t = 7)]
    pub seed: u64,

    /// How they agree on hits.
    #[arg(long, value_enum, default_value_t)]
    pub protocol: DuelProtocol,

    /// A bad network made on purpose, for what arrives: as for `sim`, for example latency_ms=80,jitter_ms=10,loss=0.1
    /// [default: the machine's own].
    #[arg(long, value_parser = network)]
    pub net: Option<NetworkConditions>,

    /// Play only this side, against another machine.
    #[arg(long, value_enum, requires_all = ["listen", "peer"])]
    pub side: Option<Side>,

    /// With --side: the address and UDP port to listen at.
    #[arg(long, value_name = "ADDRESS", requires = "side")]
    pub listen: Option<SocketAddr>,

    /// With --side: where the other side listens.
    #[arg(long, value_name = "ADDRESS", requires = "side")]
    pub peer: Option<SocketAddr>,

    /// With --side: how long to wait for the other side before giving up.
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "30", requires = "side")]
    pub wait: f64,

    /// What both sides know and nobody else: datagrams are signed with it.
    #[arg(long, default_value = "auramesh")]
    pub secret: String,

    /// Writes what both sides saw, side by side (with --side: what this side saw), into a recording; `auramesh replay FILE` shows it.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Prints one JSON object on stdout, nothing else there.
    #[arg(long)]
    pub json: bool,
}

/// How two stations agree on hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DuelProtocol {
    /// Motion-lock with all our improvements.
    #[default]
    Ours,
    /// The same, with hits close in time and place played together.
    Buckets,
    /// Motion-lock as published.
    MotionLock,
    /// Each tells the other what it saw, after the fact.
    PostCollision,
    /// Not at all: each believes what it sees.
    Control,
}

/// One of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// Its clock counts.
    First,
    /// It asks the first for the time.
    Second,
}

/// What a demonstration is told.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// A scene file, or the name of a built-in scene (listed below).
    #[arg(default_value = "playground")]
    pub scene: String,

    /// How large auras are. `safe` is for comparison; `thesis` is for comparison and may fail the checkers.
    #[arg(long, value_enum, default_value_t)]
    pub aura: Aura,

    /// What a body does on its way to another server.
    #[arg(long, value_enum, default_value_t)]
    pub handover: Handover,

    /// How many regions, each on a server process of its own.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub servers: usize,

    /// Where the gateway listens, on this machine only; 0: any port that is free.
    #[arg(long, value_name = "P", default_value_t = 8080)]
    pub port: u16,

    /// Who may do what: a file with a line `token role [name]` each; roles: view, play, admin [default: everyone on this machine everything].
    #[arg(long, value_name = "FILE")]
    pub tokens_file: Option<PathBuf>,

    /// Servers at so many places that are far apart (emulated delay): measured pings decide who shares a world, every group simulates
    /// the whole world for its own users, and avatars are relayed between groups. --servers is the number of machines in all, dealt round.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8), conflicts_with = "tokens_file")]
    pub groups: u32,

    /// With --groups: the emulated delay between two places, milliseconds one way.
    #[arg(long, value_name = "MS", default_value_t = 60.0, value_parser = delay_ms, allow_negative_numbers = true, requires = "groups")]
    pub group_delay_ms: f64,

    /// With --groups: so many seconds after the start a machine moves to another place, SECONDS:MACHINE:PLACE; its delays change, and votes follow.
    /// Can be given several times.
    #[arg(long, value_name = "S:M:P", requires = "groups")]
    pub group_move: Vec<GroupMove>,

    /// Ends after so many seconds [default: with Ctrl-C].
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,
}

/// What to record.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// A scene file, or the name of a built-in scene (listed below).
    #[arg(required_unless_present = "connect", conflicts_with = "connect")]
    pub scene: Option<String>,

    /// Where the recording goes.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    /// Record what this live gateway shows, http://HOST:PORT/ (its token: the environment variable AURAMESH_TOKEN), until Ctrl-C or for --seconds.
    #[arg(long, value_name = "URL")]
    pub connect: Option<String>,

    /// How many region servers [default: as the scene says].
    #[arg(long, value_name = "N", conflicts_with = "connect")]
    pub servers: Option<usize>,

    /// How space is cut into regions [default: as the scene says].
    #[arg(long, conflicts_with = "connect")]
    pub layout: Option<Layout>,

    /// Seed of everything random [default: the scene's].
    #[arg(long, value_name = "K", conflicts_with = "connect")]
    pub seed: Option<u64>,

    /// Seconds [default: as the scene says].
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,

    /// The network between servers, as for `sim` [default: data_centre].
    #[arg(long, value_parser = network, conflicts_with = "connect")]
    pub net: Option<NetworkConditions>,

    /// What goes wrong, as for `sim`.
    #[arg(
        long,
        value_name = "FAULT",
        value_delimiter = ',',
        conflicts_with = "connect"
    )]
    pub faults: Vec<Fault>,

    /// Bodies (numbers, at most 16) whose exact state is recorded as well, to compare with what is shown.
    #[arg(long, value_name = "BODY", value_delimiter = ',', num_args = 0..=16)]
    pub pick: Vec<u64>,

    /// The recording ends before it becomes longer than so many MiB.
    #[arg(long, value_name = "MB", default_value_t = crate::record::MOST_MB,
          value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub max_mb: u64,
}

/// What to show.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  auramesh replay run.aurarec\n  auramesh replay run.aurarec --port 0"
)]
pub struct ReplayArgs {
    /// The recording.
    pub file: PathBuf,

    /// Where it is shown, on this machine only; 0: any port that is free.
    #[arg(long, value_name = "P", default_value_t = 8080)]
    pub port: u16,
}

/// Whose status.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,

    /// Prints one JSON object on stdout, nothing else there.
    #[arg(long)]
    pub json: bool,
}

/// What to check.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A scene file, or the name of a built-in scene (listed below).
    pub scene: String,
}

/// What to do with experiments.
#[derive(Debug, clap::Subcommand)]
pub enum ExperimentArgs {
    /// Lists the experiments.
    #[command(
        after_help = "Examples:\n  auramesh experiment list\n  auramesh experiment list --json"
    )]
    List(ExperimentListArgs),
    /// Runs experiments, prints what they show and writes their folders. Exits with 1 if a claim does not hold.
    #[command(after_help = experiment_help())]
    Run(ExperimentRunArgs),
}

/// How to list.
#[derive(Debug, Args)]
pub struct ExperimentListArgs {
    /// Prints one JSON array on stdout, nothing else there.
    #[arg(long)]
    pub json: bool,
}

/// What to run and how.
#[derive(Debug, Args)]
pub struct ExperimentRunArgs {
    /// Which experiments (listed below); `all` for all of them.
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,

    /// Runs per grid point [default: as published, 50; with --quick a few].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,

    /// A few grid points only: seconds instead of minutes. Claims that need the full grid are left out.
    #[arg(long)]
    pub quick: bool,

    /// Seed of everything random.
    #[arg(long, value_name = "K", default_value_t = experiments::RunOptions::default().seed)]
    pub seed: u64,

    /// Where the folders go, one per experiment [default: none are written].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Prints one JSON object on stdout (an array if there are several experiments), nothing else there.
    #[arg(long)]
    pub json: bool,
}

/// What to measure and how.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Which sections (listed below) [default: all, one after another].
    #[arg(value_name = "SECTION", conflicts_with = "list")]
    pub sections: Vec<String>,

    /// Lists the sections and measures nothing.
    #[arg(long, conflicts_with_all = ["runs", "quick", "out"])]
    pub list: bool,

    /// Rounds in which everything takes its turn; numbers are medians over them [default: 5; with --quick 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,

    /// Small crowds for a moment only: seconds instead of minutes. To see that it works; its numbers measure nothing.
    #[arg(long)]
    pub quick: bool,

    /// Seed of everything random, the same in all rounds.
    #[arg(long, value_name = "K", default_value_t = experiments::RunOptions::default().seed)]
    pub seed: u64,

    /// Where the folders go, one per section, with tables, data and figures [default: none are written].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Prints one JSON object on stdout (an array if there are several sections), nothing else there.
    #[arg(long)]
    pub json: bool,
}

/// See [`boundary::Policy`].
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Policy {
    /// Aura Projection: one owner before contact.
    #[default]
    Aura,
    /// Whoever's region holds the centre.
    Naive,
    /// Everyone whose sub-space a body reaches simulates it; each pair is tested by one of them.
    Replicate,
}

/// See [`simulator::replicate::Cuts`].
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Cuts {
    /// At the middle of the longest side, as published.
    Published,
    /// So that every member has as many bodies, again every two seconds.
    #[default]
    Balanced,
}

impl From<Aura> for boundary::AuraSize {
    fn from(size: Aura) -> Self {
        match size {
            Aura::Thesis => Self::Thesis,
            Aura::Safe => Self::Safe,
            Aura::Adaptive => Self::Adaptive,
        }
    }
}

impl From<Handover> for boundary::HandoverMode {
    fn from(mode: Handover) -> Self {
        match mode {
            Handover::CatchUp => Self::CatchUp,
            Handover::Freeze => Self::Freeze,
        }
    }
}

/// See [`boundary::AuraSize`].
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Aura {
    /// 3n - 1 steps at the speed tolerance; for comparison: checkers may fail.
    Thesis,
    /// Large enough at every n, growing while no news arrives; the same for every body.
    Safe,
    /// Each body's own, from how it moves; almost nothing for what rests.
    #[default]
    Adaptive,
}

/// See [`boundary::HandoverMode`].
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Handover {
    /// It is stepped alone through the ticks it would miss, the last 120 of them at most.
    #[default]
    CatchUp,
    /// It stands still, as in the thesis.
    Freeze,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_soak_without_a_number_makes_the_default_number_of_runs() {
        let arguments = Arguments::try_parse_from(["auramesh", "sim", "--soak"]).expect("valid");
        let Subcommand::Sim(sim) = arguments.subcommand else {
            panic!("sim was asked for");
        };
        assert_eq!(sim.soak, SOAK_RUNS.parse().ok());
    }

    #[test]
    fn nonsense_is_refused() {
        let refused: [&[&str]; 9] = [
            &["sim"],
            &["sim", "head-on", "--soak"],
            &["sim", "--soak", "0"],
            &["sim", "--soak", "--servers", "4"],
            &["sim", "head-on", "--seconds", "-1"],
            &["sim", "head-on", "--seconds", "NaN"],
            &["sim", "head-on", "--frame-ms", "0"],
            &["sim", "head-on", "--layout", "circles"],
            &["sim", "head-on", "--faults", "crash=1"],
        ];
        for words in refused {
            let words = [&["auramesh"], words].concat();
            assert!(Arguments::try_parse_from(&words).is_err(), "{words:?}");
        }
    }
}
