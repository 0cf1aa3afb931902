//! What a simulated run can be asked to do differently from its scene.

use crate::faults::Fault;
use crate::frames::FrameModel;
use crate::network::{NetworkConditions, ResendPolicy};
use crate::replicate::ReplicateOptions;
use boundary::{AuraSize, HandoverMode, Policy};
use domain::{Layout, RegionId};
use std::collections::BTreeMap;

/// When a server sends what has gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOrder {
    /// Right after physics (default).
    AfterPhysics,
    /// At the start of the next frame: the worst case that the thesis's formula budgets for.
    NextFrame,
}

/// Options of a run; the defaults are those of the command line.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Number of region servers; `None`: as the scene says.
    pub servers: Option<usize>,
    /// How space is cut; `None`: as the scene says.
    pub layout: Option<Layout>,
    /// Seed of everything random; `None`: the scene's.
    pub seed: Option<u64>,
    /// Simulated seconds; `None`: the scene's.
    pub seconds: Option<f64>,
    /// The network between servers.
    pub network: NetworkConditions,
    /// How lost packets are sent again.
    pub resend: ResendPolicy,
    /// Who owns a body near a border.
    pub policy: Policy,
    /// Everything about the policy `replicate`; others do not look at it.
    pub replicate: ReplicateOptions,
    /// How large auras are.
    pub aura: AuraSize,
    /// What happens to a cluster in flight.
    pub handover: HandoverMode,
    /// Break the tie when two clusters want each other.
    pub tie_break: bool,
    /// Size `adaptive`: hold bodies to what they have promised. Only tests turn this off.
    pub keep_promises: bool,
    /// Size `adaptive`: the share of its motion that a body promises. Only tests make it less than 1.
    pub promise_share: f64,
    /// Frame times of every server; `None`: a third of the scene's frame tolerance.
    pub frames: Option<FrameModel>,
    /// Servers whose frames differ from those of the others (AP-34).
    pub frames_of: BTreeMap<RegionId, FrameModel>,
    /// Links, one way each, whose conditions differ from those of the others (AP-34).
    pub links: Vec<(RegionId, RegionId, NetworkConditions)>,
    /// When buffers are flushed.
    pub send_order: SendOrder,
    /// Do servers step at the same instants (shared clock), or each at its own random phase?
    pub aligned_steps: bool,
    /// What goes wrong, and when.
    pub faults: Vec<Fault>,
    /// Snapshot every so many ticks; `None`: only if a server is to crash (then 30).
    pub snapshot_ticks: Option<u64>,
    /// Watch every invariant at every tick. Only benchmarks turn this off.
    pub checkers: bool,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            servers: None,
            layout: None,
            seed: None,
            seconds: None,
            network: NetworkConditions::data_centre(),
            resend: ResendPolicy::Short,
            policy: Policy::Aura,
            replicate: ReplicateOptions::default(),
            aura: AuraSize::Adaptive,
            handover: HandoverMode::CatchUp,
            tie_break: true,
            keep_promises: true,
            promise_share: 1.0,
            frames: None,
            frames_of: BTreeMap::new(),
            links: Vec::new(),
            send_order: SendOrder::AfterPhysics,
            aligned_steps: true,
            faults: Vec::new(),
            snapshot_ticks: None,
            checkers: true,
        }
    }
}
