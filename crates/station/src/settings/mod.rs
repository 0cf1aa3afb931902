//! Everything that can be chosen (ML-35), with meaning, unit, default, and what more or less of it does.
//!
//! [`Settings::published`] is the work as published, with the repairs without which it does not count (the digest's D1 to D6);
//! [`Settings::improved`] is ours. Lengths are in the world's own unit: metres in a scene, pixels in the thesis.

mod reckoning;

pub use reckoning::{
    ClosedLoop, Convergence, Curve, DistanceThreshold, HistoryReset, KalmanLead, Predictor,
    ProximityRate, ReckoningSettings, SenderPolicies,
};

use crate::ids::StationId;
use domain::SimTime;
use serde::{Deserialize, Serialize};

const fn ms(millis: u64) -> SimTime {
    SimTime(millis * 1_000_000)
}

/// How stations come to agree on hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// They do not: each believes what it sees (ML-13).
    Control,
    /// One station decides all hits of all bodies; the others play what it says (ML-14).
    SuperNode {
        /// The station that decides.
        authority: StationId,
    },
    /// Each tells the other what it saw, after the fact; the larger count wins (ML-15). The short paper calls it naive-send.
    PostCollision,
    /// Both vote before the hit, in three messages (ML-17). Needs three one-way delays: a negative result kept as a subject.
    PreCollision,
    /// Predicted hits are committed, both bodies' motion is locked, and the other is told at once (ML-18).
    MotionLock,
    /// Motion-lock whose hits close in time and place are played together (ML-30).
    MotionLockBuckets,
    /// Algorithm 3 letter by letter, with all its defects: for tests of what they do.
    LiteralMotionLock,
    /// Algorithm 4 letter by letter, with all its defects.
    LiteralBuckets,
    /// Algorithm 2 letter by letter: its counter is one per body, not per pair (D14).
    LiteralPreCollision,
}

impl Protocol {
    /// Whether stations exchange collision records at all.
    pub fn has_records(self) -> bool {
        self != Self::Control
    }

    /// Whether this is pseudo-code as printed, kept for tests.
    pub fn is_literal(self) -> bool {
        matches!(self, Self::LiteralMotionLock | Self::LiteralBuckets)
    }

    /// Whether hits are committed before they happen.
    pub fn locks(self) -> bool {
        !matches!(
            self,
            Self::Control | Self::SuperNode { .. } | Self::PostCollision
        )
    }
}

/// How far ahead hits are committed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LockWindow {
    /// Always T_lock: as published.
    Fixed,
    /// As far as the notice needs to be in time: the measured one-way delay plus `jitters` times its mean deviation plus one
    /// frame, never beyond T_lock (G3). Locks are shorter, and fewer near misses are pulled together.
    Measured {
        /// How many mean deviations of the delay to allow for (4 is ample).
        jitters: f64,
    },
}

/// What happens to a player's commands while the body is locked (ML-19, G5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LockedInput {
    /// They are lost, and counted: as measured in the thesis.
    Discard,
    /// The newest one waits and is carried out when the lock ends.
    Buffer,
}

/// The lock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockSettings {
    /// T_lock: hits are committed at most this long before they happen, and no lock lasts longer than this plus one
    /// frame (default 100 ms: players notice input delays above). Larger: hits agree on slower networks, but near
    /// misses are pulled together. Should be at most about r / v of the bodies if near misses matter.
    pub max: SimTime,
    /// How much of it is used (default fixed).
    pub window: LockWindow,
    /// What becomes of commands meanwhile (default discard).
    pub input: LockedInput,
    /// A notice from the other station locks its bodies here too, for the time that is left (D8; default off, as published).
    pub on_notice: bool,
    /// The notice is sent again every frame until its time (D13, G4; default off, as published).
    pub repeat_notice: bool,
    /// Hits with bodies that are already locked: ignored (`MotionLock`), or joined to the bucket (`MotionLockBuckets`). A bucket
    /// takes at most so many hits (default 16).
    pub max_bucket: usize,
}

impl Default for LockSettings {
    fn default() -> Self {
        Self {
            max: ms(100),
            window: LockWindow::Fixed,
            input: LockedInput::Discard,
            on_notice: false,
            repeat_notice: false,
            max_bucket: 16,
        }
    }
}

/// Which trajectories count when both stations have computed some for the same hit (ML-26, D15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Conflict {
    /// One's own, at one's own time: as published, to the letter. The two stations keep two different outcomes.
    LocalPriority,
    /// One's own, unless the other's hit is due at an earlier frame: then that is played, as received. Another reading of the published
    /// rule, whose counters rise while one waits, so that who has waited longer triggers the other.
    EarlierFirst,
    /// Those of the station with the lower id, on both sides, even shortly after the bounce.
    LowerStation,
    /// Those of the station that was surer of what it saw; ties go to the lower id (G1).
    Score,
}

/// When two hits are the same hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// If they have the same index: the larger count wins, as published. Two different hits, one seen on each side, become one (D7).
    Index,
    /// If their times are closer than the refractory time; records carry the times of the last few.
    Time,
}

/// Counting and agreeing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgreementSettings {
    /// T_cut: a hit that is learned of later than this is counted but not played (default 200 ms).
    pub cut_off: SimTime,
    /// T_beat while the pair's last or next hit is less than a second away (default 50 ms).
    pub busy_beat: SimTime,
    /// T_beat otherwise (default 500 ms).
    pub idle_beat: SimTime,
    /// After a hit, a pair's own detections count as that same hit for this long (D6; default 250 ms, about T_cut + delay).
    pub refractory: SimTime,
    /// ... and until the bodies have been this far apart (default 0.5): no bounce is counted twice because it lingers.
    pub rearm_gap: f64,
    /// When two hits are the same (default time).
    pub identity: Identity,
    /// Whose trajectories count (default local priority).
    pub conflict: Conflict,
    /// Whether records carry post-collision velocities (default on; post-collision agreement sends none whatever this says).
    pub trajectories: bool,
    /// A binding commit is played at its time whether or not the shapes touch then (D5; always on but in the literal algorithms).
    /// Bounces are placed inside the frame at their exact time (default on); off: at the frame's end, as published.
    pub within_frame: bool,
}

impl Default for AgreementSettings {
    fn default() -> Self {
        Self {
            cut_off: ms(200),
            busy_beat: ms(50),
            idle_beat: ms(500),
            refractory: ms(250),
            rearm_gap: 0.5,
            identity: Identity::Time,
            conflict: Conflict::LocalPriority,
            trajectories: true,
            within_frame: true,
        }
    }
}

/// The path on which bodies are extrapolated to find hits, and on which they travel while locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForesightPath {
    /// Straight on: as published (ML-11).
    Straight,
    /// With constant acceleration: second order (G2).
    Curved,
    /// A turn at constant rate where the acceleration is mostly sideways, constant acceleration otherwise.
    Turn,
}

/// Commit only what is sure (G2). The uncertainty of a body is how wrong forecasts as far ahead as this one have lately been; a hit is
/// sure if it would still be one with both bodies moved apart by `sigmas` times that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// How many times its usual error a body may be off (default 2).
    pub sigmas: f64,
    /// Whether contacts that were not committed are held back by the same rule until they are sure, until the other station,
    /// which may know better, has spoken, or until its samples prove them (default on).
    pub contacts: bool,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            sigmas: 2.0,
            contacts: true,
        }
    }
}

/// Finding hits before they happen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForesightSettings {
    /// Default straight.
    pub path: ForesightPath,
    /// Default none: everything foretold is committed.
    pub gate: Option<Gate>,
}

impl Default for ForesightSettings {
    fn default() -> Self {
        Self {
            path: ForesightPath::Straight,
            gate: None,
        }
    }
}

/// What a bounce does to velocities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum BounceRule {
    /// Momentum is kept: masses count, and this much of the closing speed comes back (1 = all of it).
    Impulse {
        /// From 0 to 1.
        restitution: f64,
    },
    /// Each body's velocity along the line of centres is reversed, whatever the masses: the thesis's words.
    Mirror,
}

/// Limits on what another station can make us believe (G6, ML-59).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardSettings {
    /// Whether records are checked at all (default on).
    pub enabled: bool,
    /// No body is faster than this (default infinity: not checked).
    pub max_speed: f64,
    /// A notice may speak of a time at most this far ahead of us, T_lock and clock error included (default 250 ms).
    pub max_ahead: SimTime,
    /// A record's bodies must, as we know them, be able to touch at its time, give or take this distance plus what
    /// their speed and the age of what we know allow (default 20).
    pub reach_slack: f64,
    /// A hit may change the pair's total kinetic energy by at most this factor (default 1.5) plus what a body at `max_speed`'s tenth has.
    pub energy_factor: f64,
    /// Records of new hits per pair and second that are believed (default 8); more are counted and ignored.
    pub max_hits_per_sec: u32,
    /// Datagrams per second and peer (default 2000).
    pub max_datagrams_per_sec: u32,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_speed: f64::INFINITY,
            max_ahead: ms(250),
            reach_slack: 20.0,
            energy_factor: 1.5,
            max_hits_per_sec: 8,
            max_datagrams_per_sec: 2000,
        }
    }
}

/// What is put on the wire, and how.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WireSettings {
    /// Positions and velocities are sent in steps of one unit divided by this (default 4096). All stations must agree.
    pub steps_per_unit: f64,
    /// All messages to one station in one frame share a datagram (default), or each goes alone, as in the offline
    /// simulator, where every message is lost or late for itself.
    pub bundle: bool,
}

impl Default for WireSettings {
    fn default() -> Self {
        Self {
            steps_per_unit: 4096.0,
            bundle: true,
        }
    }
}

/// Where the shared time comes from (ML-43).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClockSource {
    /// The driver's `now` is the shared time: simulators, and the station the others ask.
    Given,
    /// `now` is a local clock; the shared time is that of this station, asked by message.
    AskedFrom(StationId),
}

/// Everything a station can be told at the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How hits are agreed on.
    pub protocol: Protocol,
    /// The time between two frames (default 20 ms). A driver that frames at another pace still works; this only scales waits.
    pub frame: SimTime,
    /// Locks.
    pub lock: LockSettings,
    /// Counting and agreeing.
    pub agreement: AgreementSettings,
    /// Dead reckoning.
    pub reckoning: ReckoningSettings,
    /// Prediction of hits.
    pub foresight: ForesightSettings,
    /// Bounces (default impulse with restitution 1).
    pub bounce: BounceRule,
    /// What others may make us believe.
    pub guard: GuardSettings,
    /// Bytes.
    pub wire: WireSettings,
    /// Time.
    pub clock: ClockSource,
    /// A replica whose owner has been silent for this long takes part in no new hit until it is heard of again (G10;
    /// default 2 s).
    pub quarantine: SimTime,
}

impl Settings {
    /// The work as published: straight prediction, local priority, counts merged by index, each message alone, nothing repeated, no gate.
    /// What makes it count at all is in: edge-triggered commits, locks per pair, ordered records, binding
    /// commits, refractory time (D1 to D6).
    pub fn published(protocol: Protocol) -> Self {
        Self {
            protocol,
            frame: ms(20),
            lock: LockSettings::default(),
            agreement: AgreementSettings {
                identity: Identity::Index,
                within_frame: false,
                idle_beat: ms(50),
                ..AgreementSettings::default()
            },
            reckoning: ReckoningSettings {
                reset: HistoryReset::ByTime,
                ..ReckoningSettings::default()
            },
            foresight: ForesightSettings::default(),
            bounce: BounceRule::Impulse { restitution: 1.0 },
            guard: GuardSettings {
                enabled: false,
                ..GuardSettings::default()
            },
            wire: WireSettings {
                bundle: false,
                ..WireSettings::default()
            },
            clock: ClockSource::Given,
            quarantine: ms(2_000),
        }
    }

    /// Ours: turns instead of parabolas, commits only what is sure, locks no longer than the network needs, one
    /// trajectory set per hit, notices repeated until their time.
    pub fn improved() -> Self {
        let published = Self::published(Protocol::MotionLock);
        Self {
            lock: LockSettings {
                window: LockWindow::Measured { jitters: 4.0 },
                repeat_notice: true,
                ..published.lock
            },
            agreement: AgreementSettings {
                identity: Identity::Time,
                conflict: Conflict::Score,
                within_frame: true,
                idle_beat: ms(500),
                ..published.agreement
            },
            reckoning: ReckoningSettings {
                curve: Curve::Turn,
                reset: HistoryReset::BySegment,
                sender: SenderPolicies {
                    velocity_at_bounce: true,
                    bounce_repeats: 2,
                    proximity_rate: Some(ProximityRate {
                        within: ms(400),
                        every: ms(20),
                    }),
                    ..SenderPolicies::default()
                },
                ..published.reckoning
            },
            foresight: ForesightSettings {
                path: ForesightPath::Turn,
                gate: Some(Gate::default()),
            },
            guard: GuardSettings::default(),
            wire: WireSettings::default(),
            ..published
        }
    }
}
