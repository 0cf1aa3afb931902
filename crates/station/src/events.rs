//! What a station tells its driver: events as they happen, and counters.

use crate::ids::{PairId, StationId};
use crate::messages::Class;
use domain::{BodyId, SimTime};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// How a station came to know of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// It committed the hit itself, and the time has come.
    Commit,
    /// The other station's notice, and its time has come (or has just passed).
    Notice,
    /// It saw the bodies touch.
    Contact,
    /// It was in doubt when the bodies touched, and the other's samples have proved it since.
    Hindsight,
    /// The other station's count: it had happened already.
    Count,
    /// As `Notice`, `Hindsight` or `Count`, but longer ago than T_cut: counted, not played.
    CountOnly,
}

/// One hit, registered (`c` rose by one). Game logic such as damage listens to this and to nothing else (ML-12).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Which bodies.
    pub pair: PairId,
    /// The pair's `c` after it.
    pub index: u32,
    /// The frame's time at which it was registered here: Δt_col compares these.
    pub at: SimTime,
    /// The time of the hit itself: of contact, or as committed.
    pub scheduled: SimTime,
    /// How it became known.
    pub cause: Cause,
    /// Distance between the surfaces when it was played: above zero a gap, below zero an overlap.
    pub gap: f64,
    /// Whose trajectories were applied.
    pub author: StationId,
    /// Velocities of the lower and the higher body right after it, as applied here.
    pub velocities: [DVec3; 2],
    /// How wrong this station's clock may be at worst (zero if the time is given).
    pub clock_error: SimTime,
}

/// Why a lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Unlock {
    /// Its hit was played.
    Played,
    /// The other station's hit of the same pair came first.
    Overtaken,
    /// T_lock was over: the safety net (pre-collision votes that never came, a peer that died).
    Expired,
    /// The other station said no (pre-collision), or the bodies no longer meet (the literal algorithm).
    Aborted,
}

/// Something happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A hit was registered.
    Hit(Hit),
    /// A pair's lock began: both bodies' motion is fixed.
    Locked {
        /// Which.
        pair: PairId,
        /// Since the frame at this time.
        at: SimTime,
        /// Until this time at the latest.
        until: SimTime,
        /// Whether it was our own commit, or the other's notice (`lock_on_notice`).
        own: bool,
    },
    /// A pair's lock ended.
    Unlocked {
        /// Which.
        pair: PairId,
        /// It began at this frame ...
        since: SimTime,
        /// ... and ended at this one.
        at: SimTime,
        /// Because of this.
        why: Unlock,
    },
    /// A pre-collision agreement failed: the bodies passed through each other.
    Aborted {
        /// Which.
        pair: PairId,
        /// When.
        at: SimTime,
    },
    /// The other station's trajectories replaced ours for a hit already played, or the other way round (ours were kept).
    Settled {
        /// Which.
        pair: PairId,
        /// When.
        at: SimTime,
        /// Whose count.
        author: StationId,
        /// How far the winner's directions were from ours, in radians: the larger of the two bodies.
        angle: f64,
    },
    /// A command was not carried out because the body is locked.
    CommandHeld {
        /// Which body.
        body: BodyId,
        /// When.
        at: SimTime,
        /// True: it waits for the lock's end. False: lost.
        buffered: bool,
    },
    /// Two of our own bodies, or one and a global one, bounced: ordinary physics, no counter.
    LocalBounce {
        /// Which.
        pair: PairId,
        /// When.
        at: SimTime,
    },
    /// A peer's record was not believed (see [`Disbelief`]); nothing was changed.
    Disbelieved {
        /// Who said it.
        peer: StationId,
        /// When.
        at: SimTime,
        /// Why not.
        why: Disbelief,
    },
    /// A peer has been silent too long: its replicas take part in no new hits.
    Silent {
        /// Who.
        peer: StationId,
        /// When.
        at: SimTime,
    },
    /// It is back.
    Back {
        /// Who.
        peer: StationId,
        /// When.
        at: SimTime,
    },
}

/// Why a well-formed, authentic message was not believed (ML-59).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Disbelief {
    /// Speaks of a body that is not the sender's.
    NotYours,
    /// Speaks of a pair that this station and the sender do not share.
    NotOurs,
    /// A time too far ahead.
    TooFarAhead,
    /// The bodies cannot touch at that time.
    OutOfReach,
    /// A body faster than anything may be, or energy from nowhere.
    Implausible,
    /// Hits of one pair in quicker succession than can be.
    TooMany,
}

impl Disbelief {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [
        Self::NotYours,
        Self::NotOurs,
        Self::TooFarAhead,
        Self::OutOfReach,
        Self::Implausible,
        Self::TooMany,
    ];
}

/// A pair's counters (ML-12): `c` hits have happened; `cp` have happened or are committed. `cp ≥ c` always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Happened.
    pub c: u32,
    /// Happened or committed.
    pub cp: u32,
}

/// Commands given to one station, and what became of them (ML-45).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCounts {
    /// All that were given.
    pub given: u64,
    /// Lost to locks.
    pub discarded: u64,
    /// Held back by locks. They are carried out afterwards, unless a newer one took their place.
    pub buffered: u64,
}

/// Bytes and messages by class (ML-44). Framing (headers and digests) has a class of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Indexed by [`Class`].
    pub sent: [Amount; Class::ALL.len()],
    /// Indexed by [`Class`]; what was accepted.
    pub received: [Amount; Class::ALL.len()],
    /// Datagrams sent and received.
    pub datagrams_sent: u64,
    /// Datagrams accepted.
    pub datagrams_received: u64,
    /// Datagrams refused: not ours, not whole, not authentic, replayed, too many.
    pub refused: [u64; crate::messages::Refusal::COUNT],
    /// Messages not believed, by [`Disbelief`].
    pub disbelieved: [u64; Disbelief::ALL.len()],
}

/// So many messages of so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Messages.
    pub messages: u64,
    /// Bytes, rounded up per message.
    pub bytes: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

/// One body's lock, as the lock table shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockView {
    /// The pair that holds it.
    pub pair: PairId,
    /// Since this frame.
    pub since: SimTime,
    /// Until this time.
    pub until: SimTime,
}

/// The three bodies of one object, as the thesis draws them (ML-39).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// What the network says: for a master what the others believe, for a replica what its updates foretell.
    pub net: crate::body::State,
    /// What takes part in hits.
    pub physics: crate::body::State,
    /// What is shown.
    pub scene: crate::body::State,
    /// Whether its motion is fixed now.
    pub locked: bool,
    /// How far a replica may be off now: its usual error, scaled to the age of what it is based on. Zero for masters.
    pub uncertainty: f64,
}
