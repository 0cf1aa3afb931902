//! What the thesis could not measure: how consistent a group is, and two groups are (its 5.3 names the two ways; this is the second).

use super::Scale;
use super::gas::Gas;
use super::tables::short;
use crate::result::{Claim, ExperimentError, ExperimentResult};
use crate::seeds;
use crate::table::Table;
use boundary::Policy;
use boundary::replicate::{ConflictRule, MemberMode};
use scenes::Scene;
use serde_json::json;
use simulator::network::NetworkConditions;
use simulator::replicate::{Apart, RelayOptions, Relayed, ReplicateOptions};
use simulator::{SimOptions, simulate};

/// Denser than the other worlds, so that much happens at the borders.
const COVERAGE: f64 = 0.05;
const OBJECTS: u64 = 500;
const MEMBERS: usize = 4;
/// In the runs of two groups: so many users, and so long is the way from a leader to the relay, seconds.
const AVATARS: u64 = 50;
const TO_RELAY_SECS: f64 = 0.05;

fn gas(scale: &Scale, seconds: f64) -> Gas {
    Gas {
        objects: OBJECTS,
        avatars: MEMBERS as u64,
        coverage: COVERAGE,
        seed: seeds::derive(scale.seed, &[OBJECTS, 77]),
        seconds,
    }
}

pub(super) fn add(
    result: &mut ExperimentResult,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<(), ExperimentError> {
    within(result, scale, &mut |share| progress(0.6 * share))?;
    between(result, scale, &mut |share| progress(0.6 + 0.4 * share))
}

/// Modes and networks that are tried.
fn variants() -> Vec<(&'static str, MemberMode, ConflictRule, &'static str)> {
    let (waits, free) = (MemberMode::Synchronised, MemberMode::Unsynchronised);
    let (sum, home) = (ConflictRule::Sum, ConflictRule::HomeWins);
    vec![
        ("synchronised, changes add up", waits, sum, "data_centre"),
        ("synchronised, changes add up", waits, sum, "lossy_mobile"),
        (
            "synchronised, the home's stands",
            waits,
            home,
            "data_centre",
        ),
        ("unsynchronised", free, home, "perfect"),
        ("unsynchronised", free, home, "latency_ms=5"),
        ("unsynchronised", free, home, "latency_ms=20"),
        ("unsynchronised", free, home, "latency_ms=50"),
        (
            "unsynchronised",
            free,
            home,
            "latency_ms=20,jitter_ms=10,loss=0.05",
        ),
    ]
}

fn within(
    result: &mut ExperimentResult,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<(), ExperimentError> {
    let seconds = if scale.quick { 2.0 } else { 10.0 };
    let scene = gas(scale, seconds).scene();
    let mut table = Table::new(
        format!(
            "Consistency within a group of {MEMBERS}, {OBJECTS} objects at 5 % coverage, {seconds} s, against all pairs compared one by one (no published values)"
        ),
        &[
            "Mode",
            "Network",
            "Pairs",
            "Missed %",
            "Twice %",
            "In vain %",
            "Copies differ %",
            "Mean m",
            "Max m",
            "Conflicts",
            "Corrections",
            "kB/s",
        ],
    );
    let (mut exact, mut exact_pairs) = (true, 0);
    let variants = variants();
    for (done, (mode, waits, conflict, net)) in variants.iter().enumerate() {
        let options = SimOptions {
            policy: Policy::Replicate,
            servers: Some(MEMBERS),
            network: net.parse::<NetworkConditions>().expect("written here"),
            replicate: ReplicateOptions {
                mode: *waits,
                conflict: *conflict,
                ..ReplicateOptions::default()
            },
            ..SimOptions::default()
        };
        let outcome = simulate(&scene, &options, |_| {})?;
        let report = outcome.replicate.clone().expect("the policy reports");
        let (pairs, copies) = (report.pairs, report.consistency);
        if *conflict == ConflictRule::Sum {
            exact &= outcome.is_clean() && copies.different == 0;
            exact_pairs += pairs.could_touch;
        }
        let percent = |count: u64, of: u64| 100.0 * count as f64 / of.max(1) as f64;
        let kb_per_s = outcome.bytes.between_servers as f64 / seconds / 1000.0;
        result.rows.push(json!({
            "table": "consistency", "mode": mode, "network": net,
            "pairs": pairs.could_touch, "missed": pairs.missed, "doubled": pairs.doubled, "in_vain": pairs.in_vain,
            "copies_compared": copies.copies, "copies_different": copies.different,
            "mean_m": copies.mean_m, "max_m": copies.max_m,
            "conflicts": report.conflicts, "corrections": report.corrections, "kb_per_s": kb_per_s,
            "lost": outcome.errors.lost, "duplicated": outcome.errors.duplicated,
        }));
        table.push(vec![
            mode.to_string(),
            net.to_string(),
            pairs.could_touch.to_string(),
            short(percent(pairs.missed, pairs.could_touch)),
            short(percent(pairs.doubled, pairs.could_touch)),
            short(percent(pairs.in_vain, pairs.could_touch)),
            short(percent(copies.different, copies.copies)),
            format!("{:.4}", copies.mean_m),
            short(copies.max_m),
            report.conflicts.to_string(),
            report.corrections.to_string(),
            short(kb_per_s),
        ]);
        progress((done + 1) as f64 / variants.len() as f64);
    }
    result.tables.push(table);
    result.claims.push(Claim::new(
        "ST-4",
        "members that wait for each other test every pair exactly once and have equal copies, bit by bit, on a good and on a bad network",
        exact,
        format!("{exact_pairs} pairs, none missed, doubled or in vain: {exact}"),
    ));
    Ok(())
}

/// Two groups of different size simulate the same world; a relay compares and corrects above θ_inter.
fn between(
    result: &mut ExperimentResult,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<(), ExperimentError> {
    let seconds = if scale.quick { 3.0 } else { 10.0 };
    let mut table = Table::new(
        format!(
            "Two groups (4 and 3 members) simulate the same {OBJECTS} objects and {AVATARS} avatars for {seconds} s; the second hears of users' actions 0.1 s later; the relay is 50 ms from both leaders, who report what has changed ten times a second (no published values)"
        ),
        &[
            "θ_inter, radii",
            "Deviation at the end, mean m",
            "Max m",
            "Bodies more than a radius apart %",
            "Corrections/s",
            "kB/s",
        ],
    );
    let mut means = Vec::new();
    let thetas = [None, Some(2.0_f32), Some(0.5), Some(0.1)];
    for (done, theta) in thetas.iter().enumerate() {
        let seen = two_groups(scale, seconds, *theta)?;
        let name = theta.map_or("no correction".to_string(), |theta| theta.to_string());
        let apart = seen.apart;
        let beyond = 100.0 * apart.beyond as f64 / apart.bodies.max(1) as f64;
        result.rows.push(json!({
            "table": "between groups", "theta_inter": theta, "mean_m": apart.mean_m, "max_m": apart.max_m,
            "apart_percent": beyond, "corrections_per_s": seen.corrections_per_s, "kb_per_s": seen.kb_per_s,
        }));
        table.push(vec![
            name,
            format!("{:.4}", apart.mean_m),
            short(apart.max_m),
            short(beyond),
            short(seen.corrections_per_s),
            short(seen.kb_per_s),
        ]);
        means.push(apart.mean_m);
        progress((done + 1) as f64 / thetas.len() as f64);
    }
    result.tables.push(table);
    result.claims.push(Claim::new(
        "ST-38",
        "between groups that compute the same world independently, one hearing of users later, a lower θ_inter keeps them closer; without the relay they drift apart",
        means.windows(2).all(|pair| pair[1] <= pair[0]),
        format!("mean deviation {} m", means.iter().map(|mean| format!("{mean:.4}")).collect::<Vec<_>>().join(", ")),
    ));
    Ok(())
}

struct Seen {
    apart: Apart,
    corrections_per_s: f64,
    kb_per_s: f64,
}

fn two_groups(scale: &Scale, seconds: f64, theta: Option<f32>) -> Result<Seen, ExperimentError> {
    let near = Gas {
        avatars: AVATARS,
        ..gas(scale, seconds)
    }
    .scene();
    // The second group hears of users' actions later.
    let mut far = near.clone();
    for command in &mut far.commands {
        command.at += 2.0 * TO_RELAY_SECS;
    }
    let group = |members: usize, scene: Scene| {
        let options = SimOptions {
            policy: Policy::Replicate,
            servers: Some(members),
            network: NetworkConditions::perfect(),
            checkers: false,
            ..SimOptions::default()
        };
        (scene, options)
    };
    let options = RelayOptions {
        theta_inter: theta,
        delay_secs: TO_RELAY_SECS,
    };
    let mut run = Relayed::new(&[group(4, near), group(3, far)], options)?;
    run.run_until((seconds * 60.0) as u64);
    // Unit cubes.
    let radius = 0.75_f64.sqrt();
    Ok(Seen {
        apart: run.apart(radius),
        corrections_per_s: run.counts().corrections as f64 / seconds,
        kb_per_s: run.bytes() as f64 / seconds / 1000.0,
    })
}
