//! From a scene and options to servers.

use super::SimError;
use crate::faults::Fault;
use crate::frames::FrameModel;
use crate::network::ChannelConfig;
use crate::options::SimOptions;
use crate::server::{Server, ServerPace};
use boundary::BoundaryConfig;
use domain::SimTime;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use region::Region;
use region::staging::{Staging, tolerances};
use scenes::Scene;

/// A run lasts at least this much longer than its last fault, seconds: longer than what the fault excuses.
const RECOVERY_SECS: f64 = 2.0;
/// Snapshots are taken this often if a server is to crash.
const DEFAULT_SNAPSHOT_TICKS: u64 = 30;

pub(super) fn boundary_config(scene: &Scene, options: &SimOptions) -> BoundaryConfig {
    BoundaryConfig {
        policy: options.policy,
        aura: options.aura,
        handover: options.handover,
        tie_break: options.tie_break,
        tolerances: tolerances(scene),
        step: scene.step,
        keep_promises: options.keep_promises,
        promise_share: options.promise_share,
        ..BoundaryConfig::default()
    }
}

/// A run goes on until everyone has come back from the last fault: only then can it be judged.
pub(super) fn duration(scene: &Scene, options: &SimOptions) -> f64 {
    let recovered = options
        .faults
        .iter()
        .map(|fault| fault.window().1 + RECOVERY_SECS);
    recovered.fold(options.seconds.unwrap_or(scene.seconds), f64::max)
}

pub(super) fn check_faults(faults: &[Fault], servers: usize) -> Result<(), SimError> {
    for fault in faults {
        if let Some(region) = fault
            .regions()
            .into_iter()
            .find(|r| r.0 as usize >= servers)
        {
            return Err(SimError::NoSuchServer {
                fault: *fault,
                region,
                servers,
            });
        }
    }
    Ok(())
}

pub(super) fn servers(
    scene: &Scene,
    options: &SimOptions,
    staging: &Staging,
    seed: u64,
) -> Result<Vec<Server>, SimError> {
    let crashes = options
        .faults
        .iter()
        .any(|fault| matches!(fault, Fault::Crash { .. }));
    let snapshot_ticks = options
        .snapshot_ticks
        .or(crashes.then_some(DEFAULT_SNAPSHOT_TICKS));
    let frames = options.frames.unwrap_or(FrameModel::Fixed(
        staging.boundary.tolerances.frame_secs / 3.0,
    ));
    staging
        .map
        .regions()
        .map(|id| {
            let config = staging.config(id, snapshot_ticks);
            let frames = options.frames_of.get(&id).copied().unwrap_or(frames);
            let mut rng = Pcg64Mcg::seed_from_u64(seed ^ (u64::from(id.0) << 32 | 0x7365));
            let step_phase = if options.aligned_steps {
                0.0
            } else {
                rng.random_range(0.0..scene.step.as_secs())
            };
            let pace = ServerPace {
                frames,
                send_order: options.send_order,
                first_frame: SimTime::from_secs(rng.random_range(0.0..frames.mean_secs())),
                step_phase: SimTime::from_secs(step_phase),
                channel: ChannelConfig {
                    resend: options.resend,
                    ..ChannelConfig::default()
                },
                rng,
            };
            let mut server = Server::new(config.clone(), Region::new(config)?, pace);
            server.greet_neighbours();
            Ok(server)
        })
        .collect()
}
