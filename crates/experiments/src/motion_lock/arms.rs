//! The protocols that are compared, by name.

use super::setup::Setup;
use domain::SimTime;
use serde::Serialize;
use station::{Conflict, Convergence, Protocol, Settings, StationId};

/// The station that decides everything in the super-node arm.
pub(crate) const SUPER: StationId = StationId(0);

/// One protocol with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Arm {
    /// Dead reckoning alone.
    Control,
    /// Station A decides.
    SuperNode,
    /// "Naive-send" in the paper.
    PostCollision,
    /// Two-phase; described in the thesis, never measured there.
    PreCollision,
    /// As published, with what makes it count at all.
    MotionLock,
    /// The same with the other reading of its conflict rule: the hit that is due first counts.
    SecondReading,
    /// With spatial-temporal buckets.
    Buckets,
    /// Published motion-lock and one trajectory set per hit.
    TieBreak,
    /// ... and histories that are forgotten when the owner's stretch of free motion ends, not when the hit was seen here.
    Stretches,
    /// ... and the notice repeated until its time.
    Repeat,
    /// ... and the lock no longer than the measured delay needs.
    ShortLock,
    /// ... and turns instead of tangents.
    Turns,
    /// Everything: the gate too.
    Improved,
    /// Everything, in buckets.
    ImprovedBuckets,
}

impl Arm {
    /// The four of the thesis's offline experiment, in the order of its tables.
    pub const PUBLISHED: [Self; 4] = [
        Self::Control,
        Self::SuperNode,
        Self::PostCollision,
        Self::MotionLock,
    ];
    /// All of the offline experiment.
    pub const OFFLINE: [Self; 14] = [
        Self::Control,
        Self::SuperNode,
        Self::PostCollision,
        Self::PreCollision,
        Self::MotionLock,
        Self::SecondReading,
        Self::Buckets,
        Self::TieBreak,
        Self::Stretches,
        Self::Repeat,
        Self::ShortLock,
        Self::Turns,
        Self::Improved,
        Self::ImprovedBuckets,
    ];
    /// The thesis's four of the online experiment, and ours.
    pub const ONLINE: [Self; 6] = [
        Self::Control,
        Self::PostCollision,
        Self::MotionLock,
        Self::Buckets,
        Self::Improved,
        Self::ImprovedBuckets,
    ];

    /// As in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Control => "Control",
            Self::SuperNode => "Super-node",
            Self::PostCollision => "Post-collision",
            Self::PreCollision => "Pre-collision",
            Self::MotionLock => "Motion-lock",
            Self::SecondReading => "Motion-lock, 2nd reading",
            Self::Buckets => "Motion-lock + buckets",
            Self::TieBreak => "+ tie-break",
            Self::Stretches => "+ stretches",
            Self::Repeat => "+ repeated notice",
            Self::ShortLock => "+ measured lock",
            Self::Turns => "+ turns",
            Self::Improved => "Ours (+ gate)",
            Self::ImprovedBuckets => "Ours + buckets",
        }
    }

    /// Does it lock?
    pub fn locks(self) -> bool {
        !matches!(self, Self::Control | Self::SuperNode | Self::PostCollision)
    }

    /// Its settings.
    pub fn settings(self, setup: &Setup) -> Settings {
        let published = Settings::published;
        let mut settings = match self {
            Self::Control => published(Protocol::Control),
            Self::SuperNode => published(Protocol::SuperNode { authority: SUPER }),
            Self::PostCollision => published(Protocol::PostCollision),
            Self::PreCollision => published(Protocol::PreCollision),
            Self::MotionLock => published(Protocol::MotionLock),
            Self::SecondReading => {
                let mut settings = published(Protocol::MotionLock);
                settings.agreement.conflict = Conflict::EarlierFirst;
                settings
            }
            Self::Buckets => published(Protocol::MotionLockBuckets),
            Self::TieBreak | Self::Stretches | Self::Repeat | Self::ShortLock | Self::Turns => {
                self.step()
            }
            Self::Improved => Settings::improved(),
            Self::ImprovedBuckets => Settings {
                protocol: Protocol::MotionLockBuckets,
                ..Settings::improved()
            },
        };
        settings.frame = SimTime::from_millis(setup.frame_ms);
        settings.reckoning.threshold = setup.threshold;
        settings.lock.max = SimTime::from_millis(setup.lock_ms);
        settings.agreement.busy_beat = SimTime::from_millis(setup.beat_ms);
        // Every message is late or lost for itself in all arms, or they could not be compared in pairs.
        settings.wire.bundle = setup.bundle;
        if setup.glide_ms > 0.0 {
            let over = SimTime::from_millis(setup.glide_ms);
            settings.reckoning.convergence = Convergence::Linear {
                min: over,
                max: over,
            };
        }
        settings
    }

    /// Published motion-lock and the improvements up to this one, so that each one's own share is seen.
    fn step(self) -> Settings {
        let ours = Settings::improved();
        let mut settings = Settings::published(Protocol::MotionLock);
        settings.agreement.conflict = ours.agreement.conflict;
        if self >= Self::Stretches {
            settings.reckoning.reset = ours.reckoning.reset;
        }
        if self >= Self::Repeat {
            settings.lock.repeat_notice = true;
        }
        if self >= Self::ShortLock {
            settings.lock.window = ours.lock.window;
        }
        if self >= Self::Turns {
            settings.reckoning = ours.reckoning;
            settings.foresight.path = ours.foresight.path;
        }
        settings
    }
}
