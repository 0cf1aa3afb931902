//! Random runs within the tolerances: what nobody thought of, tried by the hundred.
//!
//! A seed is a whole run: the scene, how space is cut, the network, the servers' frames, what breaks. Every run is drawn to
//! stay within its own tolerances (a datagram that is lost several times over, or a body pushed harder than expected, may still exceed
//! one; that is counted), so no checker may find anything, and a seed that fails is all a colleague needs.
//! Every tenth run is made twice and must give the same bits (I7).
//!
//! The tolerances come first, everything else is drawn to respect them: speeds and heights of fall from the speed tolerance,
//! latency, jitter and hold-back from the latency tolerance. A lossy network gets only a small share of the latency tolerance, so that a
//! datagram that has to be sent again is still in time.

mod cast;
mod draws;
mod space;

use crate::faults::Fault;
use crate::frames::FrameModel;
use crate::network::NetworkConditions;
use crate::{Outcome, SendOrder, SimError, SimOptions, Simulation};
use boundary::{AuraGeometry, BoundaryConfig, HandoverMode};
use domain::{RegionId, TickLength};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use scenes::{Scene, Tolerances};
use std::fmt;

/// Disasters come at least this long after each other, seconds: by then everyone is back and has taken a snapshot since.
const BETWEEN_DISASTERS_SECS: f64 = 1.8;
/// What belongs to one disaster happens within this time, seconds: about the time between two snapshots.
const DISASTER_SECS: f64 = 0.6;
/// One in so many runs is made twice.
const SEEDS_PER_REPETITION: u64 = 10;
/// How often a datagram may be lost in a row and still be in time.
const RESENDS_IN_TIME: f64 = 3.0;

/// One random run, ready to go.
#[derive(Clone, Debug)]
pub struct SoakRun {
    /// Where it came from.
    pub seed: u64,
    /// What is in the world.
    pub scene: Scene,
    /// Everything else.
    pub options: SimOptions,
}

impl SoakRun {
    /// The run of a seed, always the same one.
    pub fn of(seed: u64) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(seed ^ 0x0073_6f61_6b00);
        let lossy = rng.random_bool(0.6);
        let tolerances = tolerances(&mut rng, lossy);
        let handover = match rng.random_bool(0.15) {
            true => HandoverMode::Freeze,
            false => HandoverMode::CatchUp,
        };
        let geometry = AuraGeometry::of(&boundary_config(&tolerances, handover));
        let (regions, world) = space::draw(&mut rng, &geometry);
        let seconds = rng.random_range(2.0..4.0);
        let servers = regions.servers;
        let scene = cast::draw(
            &mut rng, seed, seconds, regions, world, tolerances, &geometry,
        );
        let options = SimOptions {
            seed: Some(seed),
            network: network(&mut rng, &tolerances, lossy),
            handover,
            frames: Some(frames(&mut rng, &tolerances)),
            send_order: match rng.random_bool(0.25) {
                true => SendOrder::NextFrame,
                false => SendOrder::AfterPhysics,
            },
            aligned_steps: rng.random_bool(0.5),
            faults: faults(&mut rng, servers, seconds),
            ..SimOptions::default()
        };
        Self {
            seed,
            scene,
            options,
        }
    }

    /// Runs it to the end.
    pub fn run(&self) -> Result<Outcome, SimError> {
        let once = || Ok::<_, SimError>(Simulation::new(&self.scene, &self.options)?.run(|_| {}));
        let mut outcome = once()?;
        if self.seed.is_multiple_of(SEEDS_PER_REPETITION) {
            let again = once()?;
            if again.history_hash != outcome.history_hash {
                outcome.aborted.get_or_insert(format!(
                    "I7: the same run again gave other bits ({} and {} over all ticks)",
                    outcome.history_hash, again.history_hash
                ));
            }
        }
        Ok(outcome)
    }
}

/// One line: what this run is about.
impl fmt::Display for SoakRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scene, net) = (&self.scene, &self.options.network);
        let injected: usize = scene.injectors.iter().map(scenes::Injector::total).sum();
        write!(
            f,
            "seed {}: {} servers ({}), {} + {injected} bodies, {} joints, {:.1} s, up to {:.0} m/s; net {:.1} ms +- {:.1}, {:.1} % lost",
            self.seed,
            scene.regions.servers,
            scene.regions.layout,
            scene.bodies.len(),
            scene.joints.len(),
            scene.seconds,
            scene.tolerances.speed,
            net.latency_ms,
            net.jitter_ms,
            net.loss * 100.0,
        )?;
        if self.options.handover == HandoverMode::Freeze {
            f.write_str("; freeze")?;
        }
        self.options
            .faults
            .iter()
            .try_for_each(|fault| write!(f, "; {fault}"))
    }
}

fn tolerances(rng: &mut Pcg64Mcg, lossy: bool) -> Tolerances {
    // A datagram sent again needs at least the channel's shortest patience of 2.5 ms more.
    let least_latency_ms = if lossy { 10.0 } else { 1.0 };
    Tolerances {
        speed: rng.random_range(10.0..24.0),
        latency_ms: rng.random_range(least_latency_ms..14.0),
        frame_ms: rng.random_range(5.0..15.0),
    }
}

fn boundary_config(tolerances: &Tolerances, handover: HandoverMode) -> BoundaryConfig {
    BoundaryConfig {
        handover,
        tolerances: boundary::Tolerances {
            speed: tolerances.speed,
            latency_secs: tolerances.latency_ms * 1e-3,
            frame_secs: tolerances.frame_ms * 1e-3,
        },
        step: TickLength::default(),
        ..BoundaryConfig::default()
    }
}

fn network(rng: &mut Pcg64Mcg, tolerances: &Tolerances, lossy: bool) -> NetworkConditions {
    // Each resend waits about two latencies for an answer.
    let slowest_ms = match lossy {
        true => tolerances.latency_ms / (2.0 * RESENDS_IN_TIME + 2.0),
        false => tolerances.latency_ms,
    };
    let latency_ms = slowest_ms * rng.random_range(0.1..0.7);
    let spare_ms = slowest_ms - latency_ms;
    NetworkConditions {
        latency_ms,
        jitter_ms: spare_ms * rng.random_range(0.0..0.6),
        loss: if lossy {
            rng.random_range(0.0..0.05)
        } else {
            0.0
        },
        duplicate: rng.random_range(0.0..0.05),
        reorder: rng.random_range(0.0..0.05),
        reorder_ms: spare_ms * 0.4,
        // Far above what such a small world needs, but enough to hold back a burst.
        bandwidth_bytes_per_sec: rng.random_bool(0.2).then_some(2e6),
    }
}

fn frames(rng: &mut Pcg64Mcg, tolerances: &Tolerances) -> FrameModel {
    let longest = tolerances.frame_ms * 1e-3;
    match rng.random_bool(0.5) {
        true => FrameModel::Fixed(longest * rng.random_range(0.2..1.0)),
        // Six deviations below the tolerance: a longer frame does not happen.
        false => FrameModel::Normal {
            mean: longest * 0.7,
            deviation: longest * 0.05,
        },
    }
}

fn faults(rng: &mut Pcg64Mcg, servers: usize, seconds: f64) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !rng.random_bool(0.35) {
        return faults;
    }
    let any = |rng: &mut Pcg64Mcg| RegionId(rng.random_range(0..servers as u32));
    if rng.random_bool(0.6) {
        let mut at = hundredths(rng.random_range(0.3..1.2));
        while at < seconds - 0.5 {
            // Half of them take several servers at once, or one after the other, or the same one again.
            let crashes = match rng.random_bool(0.5) {
                true => rng.random_range(2..=4),
                false => 1,
            };
            for crash in 0..crashes {
                let later = match crash {
                    0 => 0.0,
                    _ => rng.random_range(0.0..DISASTER_SECS),
                };
                faults.push(Fault::Crash {
                    region: any(rng),
                    at: hundredths(at + later),
                    down: hundredths(rng.random_range(0.1..0.6)),
                });
            }
            at = hundredths(at + BETWEEN_DISASTERS_SECS);
        }
    }
    if faults.is_empty() || rng.random_bool(0.3) {
        let (a, b) = (any(rng), any(rng));
        if a != b {
            faults.push(Fault::Cut {
                a,
                b,
                at: hundredths(rng.random_range(0.3..seconds - 0.8)),
                down: hundredths(rng.random_range(0.05..0.5)),
            });
        }
    }
    faults
}

/// So that a fault is short to write down.
fn hundredths(secs: f64) -> f64 {
    (secs * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator keeps its own promises: every run can be set up, is small, and starts within its tolerances.
    #[test]
    fn every_seed_is_a_sound_small_run() {
        for seed in 0..300 {
            let run = SoakRun::of(seed);
            Simulation::new(&run.scene, &run.options)
                .unwrap_or_else(|error| panic!("{run}: {error}"));
            let injected: usize = run
                .scene
                .injectors
                .iter()
                .map(scenes::Injector::total)
                .sum();
            assert!(run.scene.bodies.len() + injected <= 150, "{run}");
            assert!((2..=9).contains(&run.scene.regions.servers), "{run}");
        }
    }

    #[test]
    fn a_seed_is_always_the_same_run() {
        let (a, b) = (SoakRun::of(7), SoakRun::of(7));
        assert_eq!(a.scene, b.scene);
        assert_eq!(a.to_string(), b.to_string());
    }

    /// The generator reaches everything it is meant to reach.
    #[test]
    fn all_layouts_shapes_joints_and_faults_occur() {
        let runs: Vec<SoakRun> = (0..120).map(SoakRun::of).collect();
        let layouts = runs.iter().map(|run| run.scene.regions.layout.name());
        let layouts: std::collections::BTreeSet<_> = layouts.collect();
        assert_eq!(layouts.len(), 6, "{layouts:?}");
        let some = |holds: fn(&SoakRun) -> bool| runs.iter().filter(|run| holds(run)).count() >= 5;
        assert!(some(|run| !run.scene.injectors.is_empty()));
        assert!(some(|run| !run.scene.joints.is_empty()));
        assert!(some(|run| !run.scene.commands.is_empty()));
        assert!(some(|run| run.scene.gravity == glam::Vec3::ZERO));
        assert!(some(|run| run.options.network.loss > 0.02));
        assert!(some(|run| run
            .options
            .network
            .bandwidth_bytes_per_sec
            .is_some()));
        assert!(some(|run| run.options.handover == HandoverMode::Freeze));
        let has_fault = |crash: bool| {
            let is = move |fault: &Fault| matches!(fault, Fault::Crash { .. }) == crash;
            runs.iter()
                .filter(|run| run.options.faults.iter().any(is))
                .count()
                >= 5
        };
        assert!(has_fault(true) && has_fault(false));
        let is_crash = |fault: &&Fault| matches!(fault, Fault::Crash { .. });
        let crashes = |run: &SoakRun| run.options.faults.iter().filter(is_crash).count();
        assert!(runs.iter().filter(|run| crashes(run) >= 3).count() >= 5);
    }

    /// AP-1, AP-21, AP-23, AP-55, the invariants I1 to I6 and I8: a few of the runs that `auramesh sim --soak` makes by the hundred.
    #[test]
    fn random_runs_are_clean() {
        for seed in 1..=20 {
            let run = SoakRun::of(seed);
            let outcome = run.run().expect("sound");
            let first = outcome.first_violation.as_ref().map(ToString::to_string);
            assert!(outcome.is_clean(), "{run}\n{}", first.unwrap_or_default());
        }
    }
}
