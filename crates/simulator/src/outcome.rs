//! What came out of a run: the numbers of the command line's JSON, in its names.

use crate::checkers::{ErrorCounts, Report, Tally, Violation};
use crate::facts::Fact;
use crate::network::Network;
use crate::options::SimOptions;
use crate::replicate::ReplicateReport;
use crate::server::Server;
use crate::timeline::Timeline;
use boundary::{AuraSize, ExceededTolerances, HandoverMode, Kept, Policy};
use domain::{RegionMap, TickLength};
use scenes::Scene;
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

/// Counts that need no checker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Changes of owner, per body.
    pub migrations: u64,
    /// First contacts between two bodies.
    pub collisions: u64,
    /// Sum over ticks and regions of bodies that project.
    pub boundary_bodies: u64,
}

impl Counters {
    /// Counts one fact.
    pub fn count(&mut self, fact: &Fact<'_>) {
        match fact {
            Fact::Departed { members, .. } => self.migrations += members.len() as u64,
            Fact::Contact {
                restored: false, ..
            } => self.collisions += 1,
            _ => {}
        }
    }
}

/// CPU time per tick, milliseconds, of the servers' own work (per-thread CPU time).
#[derive(Clone, Debug, Default, Serialize)]
pub struct CpuPerTick {
    /// Median over ticks of the slowest server.
    pub max_server_p50: f64,
    /// 99th percentile over ticks of the slowest server.
    pub max_server_p99: f64,
    /// Mean over servers and ticks.
    pub mean_server: f64,
    /// Mean over ticks, per server.
    pub per_server: Vec<f64>,
    /// Of that, what the engine's own step takes; absent where nobody measures it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub step_per_server: Vec<f64>,
    /// Everything but the step, as a share of the step, all servers together: what being distributed costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<f64>,
}

/// Bytes sent.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Bytes {
    /// Datagrams between region servers, lost and repeated ones included.
    pub between_servers: u64,
    /// To clients (none in a simulated run without gateway).
    pub to_clients: u64,
}

/// Everything about a run.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The scene's name.
    pub scene: String,
    /// Region servers.
    pub servers: usize,
    /// The boundary policy.
    pub policy: Policy,
    /// The aura size.
    pub aura: AuraSize,
    /// The handover mode.
    pub handover: HandoverMode,
    /// The seed.
    pub seed: u64,
    /// Ticks run.
    pub ticks: u64,
    /// Digest of the final state; with one server that of its world.
    pub state_hash: String,
    /// Digest of every region's state at every tick.
    pub history_hash: String,
    /// How many bodies there were.
    pub bodies: Tally,
    /// Spawns still announced at the end, not yet born.
    pub unborn: u64,
    /// Changes of owner, counted per body.
    pub migrations: u64,
    /// Pairs that migrated because of each other more than once before they met.
    pub thrashed_pairs: u64,
    /// First contacts between two bodies.
    pub collisions: u64,
    /// Broken promises. All zero, or there is a bug.
    pub errors: ErrorCounts,
    /// The same kinds within known disturbances (crashes, cut links).
    pub excused: ErrorCounts,
    /// How often each tolerance was exceeded.
    pub tolerance_exceeded: ExceededTolerances,
    /// How often bodies were held to what they had promised (size `adaptive`).
    pub kept: Kept,
    /// The largest cluster of which it had to be decided whether it migrates (size `adaptive`).
    pub largest_cluster: u64,
    /// CPU time per tick.
    pub cpu_ms_per_tick: CpuPerTick,
    /// Bodies that project, mean over ticks, all servers together.
    pub boundary_bodies: f64,
    /// Bytes sent.
    pub bytes: Bytes,
    /// Datagrams between servers that are no neighbours: only strays and recoveries need them.
    pub datagrams_between_strangers: u64,
    /// Body ticks that no overlap could be looked for in: a handover took very long, or a region went back in time.
    pub untested_updates: u64,
    /// Body ticks spent standing still in flight (handover mode `freeze`).
    pub frozen_updates: u64,
    /// What only the policy `replicate` shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicate: Option<ReplicateReport>,
    /// The first broken promise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_violation: Option<Violation>,
    /// Why the run ended before its time, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborted: Option<String>,
    /// The physics step.
    #[serde(skip)]
    pub step: TickLength,
    /// Every server's run, tick by tick.
    #[serde(skip)]
    pub timelines: Vec<Timeline>,
}

impl Outcome {
    /// Before anything has happened.
    pub fn of(scene: &Scene, options: &SimOptions, map: &RegionMap, seed: u64) -> Self {
        Self {
            scene: scene.name.clone(),
            servers: map.len(),
            policy: options.policy,
            aura: options.aura,
            handover: options.handover,
            seed,
            ticks: 0,
            state_hash: String::new(),
            history_hash: String::new(),
            bodies: Tally::default(),
            unborn: 0,
            migrations: 0,
            thrashed_pairs: 0,
            collisions: 0,
            errors: ErrorCounts::default(),
            excused: ErrorCounts::default(),
            tolerance_exceeded: ExceededTolerances::default(),
            kept: Kept::default(),
            largest_cluster: 0,
            cpu_ms_per_tick: CpuPerTick::default(),
            boundary_bodies: 0.0,
            bytes: Bytes::default(),
            datagrams_between_strangers: 0,
            untested_updates: 0,
            frozen_updates: 0,
            replicate: None,
            first_violation: None,
            aborted: None,
            step: scene.step,
            timelines: Vec::new(),
        }
    }

    /// Did the run reach its end, and every checker stay silent?
    pub fn is_clean(&self) -> bool {
        self.errors.total() == 0 && self.aborted.is_none()
    }

    pub(crate) fn fill(
        &mut self,
        counters: &Counters,
        report: Option<Report>,
        servers: &[Server],
        network: &Network,
        map: &RegionMap,
    ) {
        self.migrations = counters.migrations;
        self.collisions = counters.collisions;
        if let Some(report) = report {
            self.bodies = report.bodies;
            self.thrashed_pairs = report.thrashed_pairs;
            self.errors = report.errors;
            self.excused = report.excused;
            self.first_violation = report.first_violation;
            self.untested_updates = report.untested_updates;
            self.frozen_updates = report.frozen_updates;
        }
        self.state_hash = format!("{:016x}", state_hash(servers));
        let ticks_ms: Vec<&[f32]> = servers.iter().map(|s| &*s.timeline.ticks_ms).collect();
        let steps_ms: Vec<&[f32]> = servers.iter().map(|s| &*s.timeline.steps_ms).collect();
        self.cpu_ms_per_tick = CpuPerTick::of(&ticks_ms).with_steps(&ticks_ms, &steps_ms);
        let ticks = ticks_ms.iter().map(|ticks| ticks.len()).max();
        self.timelines = servers
            .iter()
            .map(|server| server.timeline.clone())
            .collect();
        self.boundary_bodies = counters.boundary_bodies as f64 / ticks.unwrap_or(1).max(1) as f64;
        self.bytes.between_servers = network.stats().bytes;
        self.datagrams_between_strangers = network
            .all_links()
            .filter(|(from, to, _)| !map.are_neighbours(*from, *to))
            .map(|(_, _, stats)| stats.sent)
            .sum();
        for region in servers.iter().filter_map(|server| server.region.as_ref()) {
            let exceeded = region.boundary().exceeded();
            self.tolerance_exceeded.speed += exceeded.speed;
            self.tolerance_exceeded.latency += exceeded.latency;
            self.tolerance_exceeded.frame += exceeded.frame;
            self.unborn += region.boundary().unborn() as u64;
            self.kept.add(&region.boundary().kept());
            self.largest_cluster = self
                .largest_cluster
                .max(region.boundary().largest_cluster());
        }
    }
}

fn state_hash(servers: &[Server]) -> u64 {
    let regions = servers.iter().filter_map(|server| server.region.as_ref());
    let hashes: Vec<u64> = regions.map(|region| region.world().state_hash()).collect();
    combined_hash(&hashes)
}

/// One digest of all regions' digests; that of a single region is its own.
pub fn combined_hash(hashes: &[u64]) -> u64 {
    if let [only] = hashes {
        return *only;
    }
    let mut digest = Xxh3::new();
    for hash in hashes {
        digest.update(&hash.to_le_bytes());
    }
    digest.digest()
}

impl CpuPerTick {
    /// From the milliseconds of every tick of every server.
    pub fn of(servers: &[&[f32]]) -> Self {
        let ticks = servers.iter().map(|ticks| ticks.len()).max().unwrap_or(0);
        let mut slowest: Vec<f64> = (0..ticks)
            .map(|tick| {
                let at = |ticks: &&[f32]| ticks.get(tick).copied().unwrap_or(0.0);
                f64::from(servers.iter().map(at).fold(0.0, f32::max))
            })
            .collect();
        slowest.sort_by(f64::total_cmp);
        let percentile = |share: f64| {
            let index =
                ((slowest.len() as f64 * share) as usize).min(slowest.len().saturating_sub(1));
            slowest.get(index).copied().unwrap_or(0.0)
        };
        let per_server: Vec<f64> = servers.iter().map(|ticks| mean(ticks)).collect();
        Self {
            max_server_p50: percentile(0.5),
            max_server_p99: percentile(0.99),
            mean_server: per_server.iter().sum::<f64>() / per_server.len().max(1) as f64,
            per_server,
            step_per_server: Vec::new(),
            overhead: None,
        }
    }

    /// The same, knowing what of every tick was the engine's own step.
    #[must_use]
    pub fn with_steps(mut self, ticks: &[&[f32]], steps: &[&[f32]]) -> Self {
        let all: f64 = ticks.iter().map(|ticks| sum(ticks)).sum();
        let stepped: f64 = steps.iter().map(|steps| sum(steps)).sum();
        self.step_per_server = steps.iter().map(|steps| mean(steps)).collect();
        self.overhead = (stepped > 0.0).then(|| (all - stepped) / stepped);
        self
    }
}

/// In double precision: hundreds of thousands of ticks would not add up in single.
fn sum(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum()
}

fn mean(values: &[f32]) -> f64 {
    sum(values) / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_is_everything_but_the_step() {
        let (ticks, steps): ([&[f32]; 2], [&[f32]; 2]) =
            ([&[3.0, 5.0], &[2.0]], [&[2.0, 4.0], &[2.0]]);
        let cpu = CpuPerTick::of(&ticks).with_steps(&ticks, &steps);
        assert_eq!(cpu.per_server, [4.0, 2.0]);
        assert_eq!(cpu.step_per_server, [3.0, 2.0]);
        assert_eq!(cpu.overhead, Some(0.25));
    }

    /// A live run does not know its steps, and does not pretend.
    #[test]
    fn what_nobody_measured_is_absent() {
        let cpu = serde_json::to_value(CpuPerTick::of(&[&[1.0]])).expect("plain data");
        assert!(cpu.get("overhead").is_none() && cpu.get("step_per_server").is_none());
        assert_eq!(
            CpuPerTick::of(&[&[1.0]])
                .with_steps(&[&[1.0]], &[&[0.0]])
                .overhead,
            None
        );
    }
}
