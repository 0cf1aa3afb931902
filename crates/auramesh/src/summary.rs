//! A run in a few lines for people.

use crate::memory::Memory;
use boundary::{AuraSize, ExceededTolerances, HandoverMode, Kept, Policy};
use simulator::Outcome;
use simulator::checkers::ErrorCounts;
use simulator::replicate::ReplicateReport;
use std::fmt::Write;

/// What ran, what happened, and whether every promise was kept; and what memory it took, where that is known.
pub fn of(outcome: &Outcome, memory: Option<Memory>) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "{label:<11} {value}");
    };
    line("scene", what_ran(outcome));
    line("boundary", boundary(outcome));
    line("bodies", bodies(outcome));
    line("migrations", migrations(outcome));
    line("collisions", counted(outcome.collisions));
    line("cpu", cpu(outcome));
    if let Some(memory) = memory {
        line("memory", needed(&memory));
    }
    line("traffic", traffic(outcome));
    line("tolerances", tolerances(&outcome.tolerance_exceeded));
    if outcome.policy == Policy::Aura && outcome.aura == AuraSize::Adaptive {
        line("promises", promises(&outcome.kept, outcome.largest_cluster));
    }
    line("state hash", state_hash(outcome));
    line("checkers", verdict(&outcome.errors));
    if outcome.excused.total() > 0 {
        line(
            "excused",
            format!("within crashes and cuts: {}", listed(&outcome.excused)),
        );
    }
    if outcome.untested_updates + outcome.frozen_updates > 0 {
        line(
            "not looked",
            format!(
                "at overlaps in {} body ticks; {} body ticks frozen in flight",
                counted(outcome.untested_updates),
                counted(outcome.frozen_updates)
            ),
        );
    }
    if let Some(why) = &outcome.aborted {
        line("ABORTED", why.clone());
    }
    if outcome.errors.total() > 0 {
        text.push_str(&table(&outcome.errors));
    }
    text
}

/// In real time no two histories are the same, and none is given.
fn state_hash(outcome: &Outcome) -> String {
    let (last, all) = (&outcome.state_hash, &outcome.history_hash);
    if all.is_empty() {
        return last.clone();
    }
    format!("{last} (all ticks: {all})")
}

fn what_ran(outcome: &Outcome) -> String {
    format!(
        "{}, {}, {} s ({} ticks), seed {}",
        outcome.scene,
        plural(outcome.servers as u64, "server", "servers"),
        outcome.ticks as f64 * outcome.step.as_secs(),
        counted(outcome.ticks),
        outcome.seed
    )
}

fn boundary(outcome: &Outcome) -> String {
    if outcome.policy == Policy::Naive {
        return "naive: the region that holds the centre owns the body".into();
    }
    if let Some(report) = &outcome.replicate {
        return replicate(report);
    }
    let size = match outcome.aura {
        AuraSize::Thesis => "thesis",
        AuraSize::Safe => "safe",
        AuraSize::Adaptive => "adaptive",
    };
    let handover = match outcome.handover {
        HandoverMode::CatchUp => "caught up",
        HandoverMode::Freeze => "frozen",
    };
    format!("aura, size {size}; bodies in flight are {handover}")
}

fn replicate(report: &ReplicateReport) -> String {
    let (pairs, copies) = (&report.pairs, &report.consistency);
    format!(
        "replicate, {}; {} pairs could touch: {} missed, {} tested twice, {} in vain; {:.2} copies per body, at most {:.3} m apart",
        report.mode,
        counted(pairs.could_touch),
        counted(pairs.missed),
        counted(pairs.doubled),
        counted(pairs.in_vain),
        report.copies_per_body,
        copies.max_m
    )
}

fn bodies(outcome: &Outcome) -> String {
    let bodies = &outcome.bodies;
    let mut text = format!(
        "{} at the start + {} spawned - {} removed = {} owned + {} in flight",
        counted(bodies.start),
        counted(bodies.spawned),
        counted(bodies.removed),
        counted(bodies.end),
        counted(bodies.in_flight)
    );
    if outcome.unborn > 0 {
        let _ = write!(
            text,
            "; {} announced, not yet born",
            counted(outcome.unborn)
        );
    }
    text
}

fn migrations(outcome: &Outcome) -> String {
    let per_sec =
        outcome.migrations as f64 / (outcome.ticks.max(1) as f64 * outcome.step.as_secs());
    format!(
        "{} ({per_sec:.1} per second); {} thrashed",
        counted(outcome.migrations),
        plural(outcome.thrashed_pairs, "pair", "pairs")
    )
}

fn cpu(outcome: &Outcome) -> String {
    let cpu = &outcome.cpu_ms_per_tick;
    let overhead = cpu.overhead.map_or(String::new(), |share| {
        format!(
            ", {:.1} % of it on top of the physics step",
            100.0 * share / (1.0 + share)
        )
    });
    format!(
        "slowest server {:.3} ms per tick (median), {:.3} ms (99 %); all servers {:.3} ms (mean){overhead}",
        cpu.max_server_p50, cpu.max_server_p99, cpu.mean_server
    )
}

fn needed(memory: &Memory) -> String {
    let per_body = memory.peak_bytes_per_body.map_or(String::new(), |share| {
        format!(", {} per body", bytes(share))
    });
    format!(
        "{} at most, the whole process with its checkers{per_body}",
        bytes(memory.peak_bytes as f64)
    )
}

fn traffic(outcome: &Outcome) -> String {
    let seconds = outcome.ticks.max(1) as f64 * outcome.step.as_secs();
    format!(
        "{} sent between servers, resends included ({}/s); {:.1} bodies near borders on average",
        bytes(outcome.bytes.between_servers as f64),
        bytes(outcome.bytes.between_servers as f64 / seconds),
        outcome.boundary_bodies
    )
}

fn tolerances(exceeded: &ExceededTolerances) -> String {
    match exceeded.speed + exceeded.latency + exceeded.frame {
        0 => "never exceeded".into(),
        _ => format!(
            "exceeded: speed {} x, latency {} x, frame {} x",
            counted(exceeded.speed),
            counted(exceeded.latency),
            counted(exceeded.frame)
        ),
    }
}

fn promises(kept: &Kept, largest_cluster: u64) -> String {
    let mut text = match kept.held {
        0 => "nobody had to be held".to_owned(),
        held => format!(
            "{} held of {} watched, {} of them kept out; longest {}, {:.3} m back",
            plural(held, "body tick", "body ticks"),
            counted(kept.watched),
            counted(kept.kept_out),
            plural(kept.longest_ticks, "tick", "ticks"),
            kept.longest_m
        ),
    };
    let _ = write!(
        text,
        "; {} spared; largest cluster {}",
        counted(kept.spared),
        counted(largest_cluster)
    );
    text
}

fn verdict(errors: &ErrorCounts) -> String {
    match errors.total() {
        0 => "all at zero".into(),
        total => format!("FAILED: {}", plural(total, "error", "errors")),
    }
}

/// One line per kind that occurred.
fn table(errors: &ErrorCounts) -> String {
    let occurred = kinds(errors).into_iter().filter(|(_, count)| *count > 0);
    occurred.fold(String::new(), |mut text, (what, count)| {
        let _ = writeln!(text, "{:>11} {what}", counted(count));
        text
    })
}

/// What occurred, in words.
pub fn listed(errors: &ErrorCounts) -> String {
    let occurred = kinds(errors).into_iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> = occurred
        .map(|(what, count)| format!("{} {what}", counted(count)))
        .collect();
    if parts.is_empty() {
        return "nothing".into();
    }
    parts.join(", ")
}

fn kinds(errors: &ErrorCounts) -> [(&'static str, u64); 11] {
    [
        ("lost", errors.lost),
        ("duplicated", errors.duplicated),
        ("cross-owner overlaps", errors.cross_owner_overlaps),
        ("late collisions", errors.late_collisions),
        ("missed updates", errors.missed_updates),
        ("doubled updates", errors.doubled_updates),
        ("orphan auras", errors.orphan_auras),
        ("split clusters", errors.split_clusters),
        ("epoch errors", errors.epoch_errors),
        ("pairs tested by nobody", errors.missed_pairs),
        ("pairs tested twice or in vain", errors.doubled_pairs),
    ]
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", counted(count), if count == 1 { one } else { many })
}

/// 1234567 as 1,234,567.
fn counted(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn bytes(count: f64) -> String {
    match count {
        c if c < 1e3 => format!("{c:.0} B"),
        c if c < 1e6 => format!("{:.1} kB", c * 1e-3),
        c if c < 1e9 => format!("{:.1} MB", c * 1e-6),
        c => format!("{:.1} GB", c * 1e-9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(counted(0), "0");
        assert_eq!(counted(999), "999");
        assert_eq!(counted(1_234_567), "1,234,567");
        assert_eq!(plural(1, "pair", "pairs"), "1 pair");
        assert_eq!(bytes(1_234_567.0), "1.2 MB");
        assert_eq!(bytes(12.0), "12 B");
    }

    #[test]
    fn memory_is_told_for_all_and_for_each() {
        let mut memory = Memory {
            peak_bytes: 23_400_000,
            peak_bytes_per_body: Some(50_000.0),
        };
        let all = "23.4 MB at most, the whole process with its checkers";
        assert_eq!(needed(&memory), format!("{all}, 50.0 kB per body"));
        memory.peak_bytes_per_body = None;
        assert_eq!(needed(&memory), all);
    }

    #[test]
    fn who_was_held_is_told() {
        let kept = Kept {
            watched: 12_345,
            held: 20,
            longest_ticks: 1,
            longest_m: 0.0625,
            spared: 3,
            kept_out: 4,
        };
        assert_eq!(
            promises(&kept, 17),
            "20 body ticks held of 12,345 watched, 4 of them kept out; longest 1 tick, 0.062 m back; \
             3 spared; largest cluster 17"
        );
        let none = promises(&Kept::default(), 0);
        assert_eq!(none, "nobody had to be held; 0 spared; largest cluster 0");
    }

    #[test]
    fn only_what_occurred_is_listed() {
        let errors = ErrorCounts {
            lost: 2,
            late_collisions: 1,
            ..ErrorCounts::default()
        };
        assert_eq!(listed(&errors), "2 lost, 1 late collisions");
        assert_eq!(table(&errors).lines().count(), 2);
        assert_eq!(verdict(&errors), "FAILED: 3 errors");
        assert_eq!(verdict(&ErrorCounts::default()), "all at zero");
    }
}
