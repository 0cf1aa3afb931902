//! From a scene to members.

use super::node::Node;
use super::options::{Cuts, ReplicateOptions};
use crate::network::ChannelConfig;
use crate::options::SimOptions;
use crate::simulation::SimError;
use boundary::replicate::{Member, MemberConfig, SubSpaces};
use detection::{Freezing, Limits, MeshNarrow, Settings};
use domain::{Bounds, RegionId, SimTime};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use scenes::Scene;
use std::sync::Arc;

/// How often contacts are swept over where things lie on each other.
const SWEEPS_OF_HEAPS: u32 = 10;

/// What the policy cannot do.
pub(super) fn check(scene: &Scene, options: &SimOptions) -> Result<(), SimError> {
    let what = if !scene.joints.is_empty() {
        "joints: a pair is tested and answered by one member, a joint would need all of them"
    } else if !options.faults.is_empty() {
        "faults: members that die are the business of consistency groups, which divide the world anew"
    } else {
        return Ok(());
    };
    Err(SimError::Unsupported {
        policy: "replicate",
        what,
    })
}

/// The part of space that is divided: the scene's ground, as high as its bodies begin.
pub(super) fn world(scene: &Scene) -> Bounds {
    let bodies = scene.bodies.iter().map(|body| body.motion.position.y);
    let injectors = scene
        .injectors
        .iter()
        .flat_map(|injector| [injector.min.y, injector.max.y]);
    let (low, high) = bodies
        .chain(injectors)
        .fold((0.0_f64, 1.0_f64), |(low, high), y| {
            (low.min(y), high.max(y))
        });
    Bounds {
        min: DVec3::new(scene.world.min[0], low, scene.world.min[1]),
        max: DVec3::new(scene.world.max[0], high, scene.world.max[1]),
    }
}

/// Cut as the options say; `places` is where the bodies are.
pub(super) fn divide(
    world: Bounds,
    members: u32,
    cuts: Cuts,
    places: impl FnOnce() -> Vec<DVec3>,
) -> Arc<SubSpaces> {
    Arc::new(match cuts {
        Cuts::Published => SubSpaces::published(world, members),
        Cuts::Balanced { .. } => SubSpaces::balanced(world, members, &places()),
    })
}

fn settings(scene: &Scene, options: &ReplicateOptions) -> Settings {
    let forms = scene.bodies.iter().map(|body| &body.form);
    let forms = forms.chain(scene.injectors.iter().flat_map(|injector| &injector.forms));
    let radius = forms
        .map(|form| form.shape.bounding_radius())
        .fold(0.1, f32::max);
    let heavy = scene.gravity != glam::Vec3::ZERO;
    Settings {
        limits: Limits {
            min_size: 2.0 * radius,
            ..Limits::default()
        },
        rule: options.rule,
        effort: options.effort,
        gravity: scene.gravity,
        step_secs: scene.step.as_secs() as f32,
        sweeps: if heavy {
            SWEEPS_OF_HEAPS
        } else {
            Settings::default().sweeps
        },
        freezing: heavy.then(Freezing::default),
        responds: options.responds,
    }
}

/// One node per member, with everything it starts with.
pub(super) fn nodes(
    scene: &Scene,
    options: &SimOptions,
    spaces: &Arc<SubSpaces>,
    seed: u64,
) -> Result<Vec<Node>, SimError> {
    (0..spaces.members())
        .map(|id| node(scene, options, spaces, seed, id))
        .collect()
}

/// One of them.
pub(super) fn node(
    scene: &Scene,
    options: &SimOptions,
    spaces: &Arc<SubSpaces>,
    seed: u64,
    id: u32,
) -> Result<Node, SimError> {
    let replicate = &options.replicate;
    let config = MemberConfig {
        mode: replicate.mode,
        conflict: replicate.conflict,
        max_speed: replicate.max_speed.unwrap_or(scene.tolerances.speed as f32),
        report_settled: replicate.report_settled,
        theta_intra: replicate.theta_intra,
        ..MemberConfig::new(RegionId(id), spaces.clone(), settings(scene, replicate))
    };
    let mut member = Member::new(config).expect("sensible limits");
    if replicate.triangles {
        member.set_narrow_phase(Box::new(MeshNarrow::default()));
    }
    for scenery in &scene.statics {
        member.add_static(scenery).map_err(SimError::Shape)?;
    }
    for command in &scene.commands {
        member.expect_commands(command.body);
    }
    for body in &scene.bodies {
        member.place(body).map_err(SimError::Shape)?;
    }
    let mut rng = Pcg64Mcg::seed_from_u64(seed ^ (u64::from(id) << 32 | 0x7265));
    let phase = match options.aligned_steps {
        true => 0.0,
        false => rng.random_range(0.0..scene.step.as_secs()),
    };
    let channel = ChannelConfig {
        resend: options.resend,
        ..ChannelConfig::default()
    };
    Ok(Node::new(member, SimTime::from_secs(phase), channel))
}
