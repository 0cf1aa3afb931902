//! What a run under the policy `replicate` can be asked to do differently.

use boundary::replicate::{ConflictRule, MemberMode};
use detection::{Effort, PairRule};

/// Where the world is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// At the middle of the longest side, as published.
    Published,
    /// So that each member has the same number of bodies at the start, and again after so many ticks (0: never again).
    Balanced {
        /// Ticks between two divisions.
        again_ticks: u64,
    },
}

impl Cuts {
    /// Balanced again every two seconds (120 ticks), the default: nobody has much more to do than the others.
    pub const BALANCED: Self = Self::Balanced { again_ticks: 120 };
}

impl Default for Cuts {
    fn default() -> Self {
        Self::BALANCED
    }
}

/// Options of the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplicateOptions {
    /// Do members wait for each other?
    pub mode: MemberMode,
    /// Which leaf tests a pair.
    pub rule: PairRule,
    /// When two members change one body.
    pub conflict: ConflictRule,
    /// Where the world is cut.
    pub cuts: Cuts,
    /// How hard the narrow phase tries.
    pub effort: Effort,
    /// The thesis's narrow phase on triangles instead of Parry's.
    pub triangles: bool,
    /// Do contacts change anything? Without, detection alone is measured.
    pub responds: bool,
    /// Results of all changed bodies go to the server, too.
    pub report_settled: bool,
    /// The leader corrects above this share of a body's radius.
    pub theta_intra: f32,
    /// No body gets faster than this, m/s; `None`: as the scene's tolerance says.
    pub max_speed: Option<f32>,
}

impl Default for ReplicateOptions {
    fn default() -> Self {
        Self {
            mode: MemberMode::default(),
            rule: PairRule::default(),
            conflict: ConflictRule::default(),
            cuts: Cuts::default(),
            effort: Effort::default(),
            triangles: false,
            responds: true,
            report_settled: false,
            theta_intra: 0.05,
            max_speed: None,
        }
    }
}
