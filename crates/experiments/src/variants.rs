//! By which rules a run is played: the thesis's, ours, or none.

use crate::head_on::Conditions;
use boundary::{AuraGeometry, AuraSize, BoundaryConfig, HandoverMode, Policy};
use domain::{Layout, SimTime};
use scenes::Tolerances;
use serde::Serialize;
use simulator::frames::FrameModel;
use simulator::network::{NetworkConditions, ResendPolicy};
use simulator::{SendOrder, SimOptions};

/// Frame times of the thesis scatter by this share around their target (Fig. 5.20 shows the scatter, the number is ours).
pub const FRAME_DEVIATION: f64 = 0.02;
/// The virtual network cannot do with no frame time at all.
const SHORTEST_FRAME_MS: f64 = 0.2;
/// The resend time of the thesis's library is not known; with this one our model reproduces its loss curve (digest 8.5).
const THESIS_RESEND_MS: f64 = 100.0;

/// A set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// One server: what everything is compared with.
    Control,
    /// Aura size 3n − 1, no tie-break, bodies frozen in flight, sent at the start of the next frame, frame times that
    /// scatter around the target.
    Thesis,
    /// The same with every frame exactly as long as asked for.
    ThesisExact,
    /// Size `safe`, tie-break, catch-up, sent right after physics.
    Ours,
    /// Ours with size `adaptive`: the default outside these experiments.
    Adaptive,
    /// Ours, but lost packets are sent again as late as by the thesis's library.
    OursSlowResend,
    /// Ownership by centre, no auras.
    Naive,
}

impl Variant {
    /// As in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Thesis => "thesis",
            Self::ThesisExact => "thesis-exact",
            Self::Ours => "ours",
            Self::Adaptive => "adaptive",
            Self::OursSlowResend => "ours-slow-resend",
            Self::Naive => "naive",
        }
    }

    /// As in claims.
    pub(crate) fn rules(self) -> &'static str {
        match self {
            Self::Ours => "our rules",
            Self::Adaptive => "our rules, adaptive auras",
            other => other.name(),
        }
    }

    /// How many servers.
    pub fn servers(self) -> usize {
        if self == Self::Control { 1 } else { 2 }
    }

    pub(crate) fn layout(self) -> Layout {
        if self == Self::Control {
            Layout::Single
        } else {
            Layout::Columns
        }
    }

    /// The options of a run under these conditions.
    pub fn options(self, conditions: &Conditions) -> SimOptions {
        let thesis = matches!(self, Self::Thesis | Self::ThesisExact);
        let slow = thesis || self == Self::OursSlowResend;
        let frame = conditions.frame_ms.max(SHORTEST_FRAME_MS) * 1e-3;
        SimOptions {
            network: NetworkConditions {
                latency_ms: conditions.latency_ms,
                loss: conditions.loss,
                ..NetworkConditions::perfect()
            },
            resend: if slow {
                ResendPolicy::Fixed(SimTime::from_millis(THESIS_RESEND_MS))
            } else {
                ResendPolicy::Short
            },
            policy: if self == Self::Naive {
                Policy::Naive
            } else {
                Policy::Aura
            },
            aura: match self {
                Self::Thesis | Self::ThesisExact => AuraSize::Thesis,
                Self::Adaptive => AuraSize::Adaptive,
                _ => AuraSize::Safe,
            },
            handover: if thesis {
                HandoverMode::Freeze
            } else {
                HandoverMode::CatchUp
            },
            tie_break: !thesis,
            frames: Some(match self {
                Self::Thesis => FrameModel::Normal {
                    mean: frame,
                    deviation: FRAME_DEVIATION * frame,
                },
                _ => FrameModel::Fixed(frame),
            }),
            send_order: if thesis {
                SendOrder::NextFrame
            } else {
                SendOrder::AfterPhysics
            },
            aligned_steps: false,
            checkers: false,
            ..SimOptions::default()
        }
    }

    /// Two bodies nearer than this start with one owner.
    pub(crate) fn link_m(self, tolerances: &Tolerances) -> f64 {
        let options = self.options(&Conditions {
            speed: 0.0,
            speed_spread: 0.0,
            latency_ms: 0.0,
            frame_ms: 0.0,
            loss: 0.0,
        });
        if options.policy == Policy::Naive || self == Self::Control {
            return 0.0;
        }
        AuraGeometry::of(&BoundaryConfig {
            aura: options.aura,
            handover: options.handover,
            tolerances: boundary_tolerances(tolerances),
            ..BoundaryConfig::default()
        })
        .link_m
    }
}

/// The same tolerances in the boundary's units.
pub(crate) fn boundary_tolerances(tolerances: &Tolerances) -> boundary::Tolerances {
    boundary::Tolerances {
        speed: tolerances.speed,
        latency_secs: tolerances.latency_ms * 1e-3,
        frame_secs: tolerances.frame_ms * 1e-3,
    }
}
