//! `replicate` against `aura` on the same scenes: errors, bytes, CPU time, the slowest server.

use super::Scale;
use super::gas::Gas;
use super::tables::short;
use crate::result::{Claim, ExperimentError, ExperimentResult};
use crate::seeds;
use crate::table::Table;
use boundary::Policy;
use boundary::replicate::MemberMode;
use serde_json::json;
use simulator::replicate::ReplicateOptions;
use simulator::{Outcome, SimOptions, simulate};

/// Number of objects, share of space they fill, number of servers.
const WORLDS: [(u64, f64, usize); 3] = [(1000, 0.0044, 4), (1000, 0.0044, 8), (1000, 0.02, 4)];

pub(super) fn add(
    result: &mut ExperimentResult,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<(), ExperimentError> {
    let seconds = if scale.quick { 1.0 } else { 10.0 };
    let mut table = Table::new(
        format!(
            "Policies on the same scenes, {seconds} s, data-centre network (no published values). Physics differ: aura runs Rapier, replicate its own detection and impulses"
        ),
        &[
            "Objects",
            "Coverage %",
            "Servers",
            "Policy",
            "Errors",
            "Pairs not tested once",
            "Collisions",
            "Mean ms",
            "Slowest ms (median)",
            "kB/s",
            "Migrations/s",
            "Bodies near borders",
        ],
    );
    let mut errors = 0;
    let policies = [
        ("aura", Policy::Aura, MemberMode::Synchronised),
        (
            "replicate, synchronised",
            Policy::Replicate,
            MemberMode::Synchronised,
        ),
        (
            "replicate, unsynchronised",
            Policy::Replicate,
            MemberMode::Unsynchronised,
        ),
        ("naive", Policy::Naive, MemberMode::Synchronised),
    ];
    let worlds = if scale.quick {
        &WORLDS[..1]
    } else {
        &WORLDS[..]
    };
    for (done, (objects, coverage, servers)) in worlds.iter().enumerate() {
        let gas = Gas {
            objects: *objects,
            avatars: 0,
            coverage: *coverage,
            seed: seeds::derive(scale.seed, &[*objects, *servers as u64, 78]),
            seconds,
        };
        let scene = gas.scene();
        for (name, policy, mode) in policies {
            let options = SimOptions {
                policy,
                servers: Some(*servers),
                replicate: ReplicateOptions {
                    mode,
                    ..ReplicateOptions::default()
                },
                ..SimOptions::default()
            };
            let outcome = simulate(&scene, &options, |_| {})?;
            if policy != Policy::Naive {
                errors += outcome.errors.total();
            }
            let unique = not_once(&outcome);
            let per_s = |count: u64| count as f64 / seconds;
            let cpu = &outcome.cpu_ms_per_tick;
            result.rows.push(json!({
                "table": "against aura", "objects": objects, "coverage": coverage, "servers": servers, "policy": name,
                "errors": outcome.errors, "pairs_not_tested_once": unique, "collisions": outcome.collisions,
                "mean_ms": cpu.mean_server, "slowest_p50_ms": cpu.max_server_p50, "slowest_p99_ms": cpu.max_server_p99,
                "bytes_per_s": per_s(outcome.bytes.between_servers), "migrations_per_s": per_s(outcome.migrations),
                "boundary_bodies": outcome.boundary_bodies,
            }));
            table.push(vec![
                objects.to_string(),
                format!("{:.2}", coverage * 100.0),
                servers.to_string(),
                name.into(),
                outcome.errors.total().to_string(),
                unique.map_or("-".into(), |count| count.to_string()),
                outcome.collisions.to_string(),
                short(cpu.mean_server),
                short(cpu.max_server_p50),
                short(per_s(outcome.bytes.between_servers) / 1000.0),
                short(per_s(outcome.migrations)),
                short(outcome.boundary_bodies),
            ]);
        }
        progress((done + 1) as f64 / worlds.len() as f64);
    }
    result.tables.push(table);
    result.claims.push(Claim::new(
        "I9",
        "on the same scenes neither aura nor synchronised replicate makes an error its checkers would see; unsynchronised replicate loses and doubles no body",
        errors == 0,
        format!("{errors} errors"),
    ));
    Ok(())
}

/// Pairs that were missed, tested twice or tested in vain; only replicate has such.
fn not_once(outcome: &Outcome) -> Option<u64> {
    let pairs = outcome.replicate.as_ref()?.pairs;
    Some(pairs.missed + pairs.doubled + pairs.in_vain)
}
