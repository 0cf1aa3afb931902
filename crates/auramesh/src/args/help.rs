//! What stands below the options in a subcommand's help: examples, and lists of what there is.

use crate::bench::SECTIONS;
use crate::experiment::EXPERIMENTS;
use std::fmt::Write;

pub(super) const EXAMPLES: &str = "\
Examples:
  auramesh sim corner-stacks --servers 4
  auramesh check my-scene.toml
  auramesh experiment run ap-speed --quick
  auramesh bench bare

Exit status: 0 fine; 1 a checker or a claim failed; 2 bad input or usage.";

pub(super) const EXPERIMENT_EXAMPLES: &str = "\
Examples:
  auramesh experiment list
  auramesh experiment run ap-speed --quick
  auramesh experiment run all --out results    exits with 1: not every published relation reproduces

`auramesh experiment run --help` lists the experiments.";

pub(super) const DUEL_EXAMPLES: &str = "\
Examples:
  auramesh duel --net latency_ms=80,jitter_ms=10,loss=0.1
  auramesh duel --protocol post-collision --net latency_ms=150,loss=0.4
  auramesh duel --side first --listen 0.0.0.0:7000 --peer 192.0.2.2:7000 --secret ours
  auramesh duel --side second --listen 0.0.0.0:7000 --peer 192.0.2.1:7000 --secret ours

Without --side both play in this process, over sockets of this machine.";

pub(super) fn sim_help() -> String {
    let examples = "\
Examples:
  auramesh sim corner-stacks --servers 4
  auramesh sim head-on --servers 2 --layout columns --policy naive    the contrast: exits with 1
  auramesh sim corner-stacks --policy replicate --unsynchronised
  auramesh sim ragdolls --net latency_ms=1.5,jitter_ms=0.5,loss=0.02 --unaligned --json
  auramesh sim orbit --faults crash=1@3.5+0.8,cut=0-2@6+1 --seconds 10
  auramesh sim --soak 200 --seed 1                                    200 random runs; all must be clean
  auramesh sim --group-soak 1000                                      1000 minutes of consistency groups; all must be clean
  auramesh sim --groups 2 --servers 6                                 two groups form themselves from measured delays";
    format!("{examples}\n\n{}", scene_list())
}

pub(super) fn demo_help() -> String {
    let examples = "\
Examples:
  auramesh demo
  auramesh demo columns --servers 9 --port 0
  auramesh demo --groups 2 --servers 4 --group-delay-ms 60            two groups, each with the whole world; avatars are relayed
Kill one of its region servers, in the viewer or with `kill -9`, and see what happens.";
    format!("{examples}\n\n{}", scene_list())
}

pub(super) fn run_help() -> String {
    let examples = "\
Examples:
  auramesh run corner-stacks --servers 4
  auramesh run columns --servers 4 --seconds 60 --json";
    format!("{examples}\n\n{}", scene_list())
}

pub(super) fn record_help() -> String {
    let examples = "\
Examples:
  auramesh record playground --servers 4 --seconds 20 --out run.aurarec     the same bytes each time
  auramesh record orbit --faults crash=1@3.5+0.8 --seconds 10 --out crash.aurarec
  auramesh record --connect http://127.0.0.1:8080/ --seconds 30 --out live.aurarec";
    format!("{examples}\n\n{}", scene_list())
}

pub(super) fn check_help() -> String {
    format!(
        "Examples:\n  auramesh check my-scene.toml\n  auramesh check corner-stacks\n\n{}",
        scene_list()
    )
}

pub(super) fn experiment_help() -> String {
    let examples = "\
Examples:
  auramesh experiment run ap-speed --quick
  auramesh experiment run ap-control ap-naive --runs 5 --json
  auramesh experiment run all --out results";
    format!("{examples}\n\n{}", EXPERIMENTS.listed())
}

pub(super) fn bench_help() -> String {
    let examples = "\
Examples:
  auramesh bench --out results/bench                  about half an hour
  auramesh bench bare servers --runs 3
  auramesh bench --quick                              to see that it works";
    format!("{examples}\n\n{}", SECTIONS.listed())
}

pub(super) fn scene_list() -> String {
    let mut text = String::from("Built-in scenes:");
    for name in scenes::builtin::names() {
        let about = scenes::builtin::about(name).unwrap_or_default();
        let _ = write!(text, "\n  {name:<16} {about}");
    }
    text.push_str("\n\nGenerated scenes, for any N that is allowed:");
    for (pattern, about) in scenes::generated::patterns() {
        let _ = write!(text, "\n  {pattern:<16} {about}");
    }
    text
}
