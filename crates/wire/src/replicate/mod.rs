//! What members of a group say to each other under the policy `replicate`.
//!
//! ```text
//! member ── Parcel [Replicate, …] ──────────────────────► member    straddling bodies; may be lost
//! member ── Parcel [Transfer, Accept, …] ───────────────► member    who answers for a body; must arrive
//! member ── Parcel [Contested, Settled] ────────► leader           results of the iterations since the last one
//! member ◄────────────────── Parcel [Correct] ── leader            what is to be believed
//! member ── Parcel [Done] ──► up the tree ──► leader ── Parcel [Go] ──► down the tree      the next iteration
//! ```
//!
//! Results, not events: a parcel carries new states, at most one per body (ST-23). See `docs/protocols/replicate.md`.

mod bytes;
mod check;

pub use crate::frame::seal;
pub use bytes::{
    MAX_PARCEL_BYTES, ParcelError, VERSION, decode, encode, encode_into, open_settled, settled,
};
pub use check::{Absurd, MAX_MEMBERS, MAX_SPEED, MAX_STATES};

use domain::{BodyId, Epoch, Motion, RegionId, Tick};

/// Everything one member says to another at one flush.
#[derive(Clone, Debug, PartialEq)]
pub struct Parcel {
    /// The division of the world it is about; others are dropped, except transfers.
    pub allocation: u32,
    /// Who speaks.
    pub from: RegionId,
    /// The speaker's latest completed tick; all states are of its end.
    pub tick: Tick,
    /// What is said, in order.
    pub words: Vec<Word>,
}

/// One thing said.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// Bodies that reach into the receiver's sub-space, or did, as the sender sees them. Loss is repaired by the next one.
    Replicate(Vec<BodyState>),
    /// From now on the receiver answers for these. Sent until accepted.
    Transfer(Vec<BodyState>),
    /// These transfers have been received.
    Accept(Vec<(BodyId, Epoch)>),
    /// To the leader: straddling bodies that have changed, for arbitration.
    Contested(Vec<BodyState>),
    /// To the leader: other bodies that have changed, for the server, which the leader need not look into.
    Settled(Vec<u8>),
    /// From the leader: believe this.
    Correct(Vec<BodyState>),
    /// Up the tree of members, whose root is the leader: everyone below has done this iteration, and who wrote to whom.
    Done {
        /// Writer and reader.
        wrote: Vec<(RegionId, RegionId)>,
    },
    /// Down the tree: all are done; begin the next iteration as soon as everyone who wrote to you has been heard.
    Go {
        /// Writer and reader; readers are the receiver and those below it.
        wrote: Vec<(RegionId, RegionId)>,
    },
}

/// A body as its author sees it.
///
/// ```text
/// body │ epoch │ version │ author │ home │ flags │ position 24 │ rotation 16 │ velocities 12 + 12, unless at rest │ base?
/// ```
///
/// 64 bytes of numbers: members decide by them who tests which pair, so they travel whole. A body at rest takes 24 fewer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyState {
    /// Which.
    pub body: BodyId,
    /// How often the answer for it has changed hands.
    pub epoch: Epoch,
    /// How often its motion has been changed by anything but free flight. The higher one is right.
    pub version: u32,
    /// Who changed it last; of two states of one version that of `home` is right.
    pub author: RegionId,
    /// Who answers for it.
    pub home: RegionId,
    /// Does it rest until something touches it?
    pub frozen: bool,
    /// Where it is and how it moves.
    pub motion: Motion,
    /// Its motion before the change, for a receiver that does not know the body yet and may have to add up several changes. Only with a version of 1 or
    /// more: a body that was never changed has no change.
    pub base: Option<Motion>,
}
