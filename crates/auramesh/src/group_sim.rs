//! `auramesh sim --groups` and `--group-soak`: consistency groups under virtual time.

use crate::args::SimArgs;
use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::{Status, reproduce};
use serde::Serialize;
use serde_json::json;
use simulator::groups::{Findings, GroupOutcome, GroupRun, GroupSim};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Used if none is given.
const FIRST_SEED: u64 = 1;
/// One in so many runs is made twice and must give the same bits.
const SEEDS_PER_REPETITION: u64 = 10;
/// Used if nothing else is said: long enough for pings, groups and a little life.
const SHOW_SECS: f64 = 30.0;
const SHOW_DELAY_MS: f64 = 60.0;
/// Everyone pings everyone: more take too long to watch.
const MOST_MACHINES: usize = 48;

/// What all runs came to.
#[derive(Debug, Default, Serialize)]
struct Tally {
    runs: u32,
    first_seed: u64,
    simulated_secs: f64,
    machines: u64,
    upheavals: u64,
    allocations: u64,
    voted_in: u64,
    voted_out: u64,
    given_up: u64,
    alone: u64,
    corrected: u64,
    messages: u64,
    longest_gap_secs: f64,
    longest_calm_gap_secs: f64,
    longest_whole_secs: f64,
    oldest_avatar_secs: f64,
    failures: Vec<Failure>,
}

#[derive(Debug, Serialize)]
struct Failure {
    seed: u64,
    run: String,
    why: Vec<String>,
    command: String,
}

/// Runs seeds K, K+1, … and reports.
pub fn soak(args: &SimArgs, runs: u32) -> Status {
    let first_seed = args.seed.unwrap_or(FIRST_SEED);
    let mut tally = Tally {
        runs,
        first_seed,
        ..Tally::default()
    };
    let progress = Progress::new("group soak");
    for index in 0..runs {
        let seed = first_seed.wrapping_add(u64::from(index));
        if let Some(failure) = tally.add(seed) {
            progress.note(&format!(
                "FAILED {}\n  {}\n  to see it again: {}\n",
                failure.run,
                failure.why.join("\n  "),
                failure.command
            ));
        }
        progress.set(f64::from(index + 1) / f64::from(runs));
    }
    drop(progress);
    match args.json {
        true => print_json(&tally),
        false => print(&described(&tally)),
    }
    if tally.failures.is_empty() {
        Status::Fine
    } else {
        Status::Failed
    }
}

impl Tally {
    fn add(&mut self, seed: u64) -> Option<&Failure> {
        let run = GroupRun::of(seed);
        let text = run.to_string();
        self.simulated_secs += run.seconds;
        self.machines += run.places.len() as u64;
        self.upheavals += run.script.len() as u64;
        // A broken assertion is a finding like any other: the other seeds still get their turn.
        let why = match catch_unwind(AssertUnwindSafe(|| twice(&run))) {
            Ok((outcome, same)) => self.count(&outcome, same),
            Err(_) => vec!["panicked (see above)".into()],
        };
        if why.is_empty() {
            return None;
        }
        let command =
            reproduce::command_with(&["sim", "--group-soak", "1", "--seed", &seed.to_string()]);
        self.failures.push(Failure {
            seed,
            run: text,
            why,
            command,
        });
        self.failures.last()
    }

    fn count(&mut self, outcome: &GroupOutcome, same: bool) -> Vec<String> {
        let Findings {
            allocations,
            voted_in,
            voted_out,
            given_up,
            alone,
            corrected,
            ..
        } = outcome.findings;
        self.allocations += allocations;
        self.voted_in += voted_in;
        self.voted_out += voted_out;
        self.given_up += given_up;
        self.alone += alone;
        self.corrected += corrected;
        self.messages += outcome.messages;
        let found = &outcome.findings;
        let raise = |most: &mut f64, value: f64| *most = most.max(value);
        raise(&mut self.longest_gap_secs, found.longest_gap_secs);
        raise(&mut self.longest_calm_gap_secs, found.longest_calm_gap_secs);
        raise(&mut self.longest_whole_secs, found.longest_whole_secs);
        raise(&mut self.oldest_avatar_secs, found.oldest_avatar_secs);
        let mut why = found.broken.clone();
        if found.impossible > 0 {
            why.push(format!("{} impossible states were sent", found.impossible));
        }
        if !same {
            why.push("I7: the same run again gave other bits".into());
        }
        why
    }
}

/// The outcome, and whether it is the same a second time (which is tried now and then).
fn twice(run: &GroupRun) -> (GroupOutcome, bool) {
    let outcome = GroupSim::new(run.clone()).run();
    let again = run
        .seed
        .is_multiple_of(SEEDS_PER_REPETITION)
        .then(|| GroupSim::new(run.clone()).run().hash);
    let same = again.is_none_or(|hash| hash == outcome.hash);
    (outcome, same)
}

fn described(tally: &Tally) -> String {
    let last_seed = tally.first_seed.wrapping_add(u64::from(tally.runs) - 1);
    let verdict = match tally.failures.len() {
        0 => "all checkers at zero in every run".into(),
        failed => format!("{failed} of {} runs FAILED", tally.runs),
    };
    format!(
        "group soak  {} random runs of at least 60 s, seeds {} to {last_seed}: {:.0} simulated seconds\n\
         in all      {} machines, {} upheavals, {} messages\n\
         happened    {} re-allocations, {} voted in, {} voted out, {} given up, {} times alone, {} objects corrected between groups\n\
         longest     {:.2} s without a simulator in any member's view ({:.2} s outside trouble), {:.1} s of simulating everything\n\
         avatars     the oldest news in any group at the end: {:.2} s\n\
         checkers    {verdict}\n",
        tally.runs,
        tally.first_seed,
        tally.simulated_secs,
        tally.machines,
        tally.upheavals,
        tally.messages,
        tally.allocations,
        tally.voted_in,
        tally.voted_out,
        tally.given_up,
        tally.alone,
        tally.corrected,
        tally.longest_gap_secs,
        tally.longest_calm_gap_secs,
        tally.longest_whole_secs,
        tally.oldest_avatar_secs,
    )
}

/// Machines at some places: who finds whom, and who gets which part.
pub fn show(args: &SimArgs, places: u32) -> Status {
    let places = places as usize;
    let machines = args.servers.unwrap_or(3 * places);
    if !(places..=MOST_MACHINES).contains(&machines) {
        eprintln!(
            "error: --servers {machines}: with --groups {places} it must be {places} to {MOST_MACHINES} (every place needs a machine)"
        );
        return Status::BadInput;
    }
    let seed = args.seed.unwrap_or(FIRST_SEED);
    let seconds = args.seconds.unwrap_or(SHOW_SECS);
    let between_ms = args.net.map_or(SHOW_DELAY_MS, |net| net.latency_ms);
    let run = GroupRun::at_places(seed, places, machines, between_ms, seconds);
    let outcome = GroupSim::new(run.clone()).run();
    match args.json {
        true => print_json(&as_json(&run, &outcome)),
        false => print(&as_text(&run, &outcome)),
    }
    let clean = outcome.findings.broken.is_empty();
    outcome
        .findings
        .broken
        .iter()
        .for_each(|broken| eprintln!("{broken}"));
    if clean { Status::Fine } else { Status::Failed }
}

fn as_text(run: &GroupRun, outcome: &GroupOutcome) -> String {
    let mut text = format!(
        "{} machines at {} places, {:.0} ms apart (one way); {} objects; {:.0} s\n",
        run.places.len(),
        run.places
            .iter()
            .map(|place| place.site + 1)
            .max()
            .unwrap_or(0),
        run.between_sites_ms,
        run.objects,
        run.seconds
    );
    for group in &outcome.groups {
        let _ = writeln!(
            text,
            "\ngroup {} (allocation {}), {} members",
            group.group,
            group.epoch,
            group.members.len()
        );
        for (i, member) in group.members.iter().enumerate() {
            let delays: Vec<String> = member
                .delays_ms
                .iter()
                .map(|(node, ms)| format!("{node} {ms:.0}"))
                .collect();
            let (min, max) = (member.part.min, member.part.max);
            let _ = writeln!(
                text,
                "  {}{} on machine {} at place {}: {} [{:.1} {:.1} {:.1}]..[{:.1} {:.1} {:.1}], holds {}; round trips, ms: {}",
                member.node,
                if i == 0 { " (leader)" } else { "" },
                member.machine,
                run.places[member.machine].site,
                member.vertex,
                min.x,
                min.y,
                min.z,
                max.x,
                max.y,
                max.z,
                member.holds,
                delays.join(", ")
            );
        }
        // Each member hears of the avatars in its part: the freshest news in the group count.
        let mut freshest: BTreeMap<String, f64> = BTreeMap::new();
        for (key, age) in group.members.iter().flat_map(|member| &member.avatars) {
            let known = freshest.entry(key.to_string()).or_insert(*age);
            *known = known.min(*age);
        }
        let ages: Vec<String> = freshest
            .iter()
            .map(|(key, age)| format!("{key} {:.0} ms", age * 1e3))
            .collect();
        let _ = writeln!(
            text,
            "  avatars known here, and how old the news are: {}",
            ages.join(", ")
        );
    }
    let found = &outcome.findings;
    let _ = writeln!(
        text,
        "\n{} re-allocations, {} objects corrected between groups, {} messages ({} more stayed on their machine), {} kB on the network\ncheckers    {}",
        found.allocations,
        found.corrected,
        outcome.messages,
        found.bypassed,
        outcome.bytes / 1000,
        if found.broken.is_empty() {
            "all at zero"
        } else {
            "FAILED"
        }
    );
    text
}

fn as_json(run: &GroupRun, outcome: &GroupOutcome) -> serde_json::Value {
    let groups: Vec<_> = outcome
        .groups
        .iter()
        .map(|group| {
            let members: Vec<_> = group
                .members
                .iter()
                .map(|m| {
                    let delays: Vec<_> = m.delays_ms.iter().map(|(node, ms)| json!({"node": node.0, "round_trip_ms": ms})).collect();
                    json!({
                        "node": m.node.0, "machine": m.machine, "place": run.places[m.machine].site, "vertex": m.vertex.0,
                        "holds": m.holds, "delays": delays,
                    })
                })
                .collect();
            json!({"group": group.group.0, "epoch": group.epoch.0, "members": members})
        })
        .collect();
    json!({
        "seed": run.seed,
        "places": run.places.iter().map(|p| p.site + 1).max(),
        "machines": run.places.len(),
        "seconds": run.seconds,
        "groups": groups,
        "allocations": outcome.findings.allocations,
        "corrected": outcome.findings.corrected,
        "messages": outcome.messages,
        "bytes": outcome.bytes,
        "broken": outcome.findings.broken,
        "state_hash": format!("{:016x}", outcome.hash),
    })
}
