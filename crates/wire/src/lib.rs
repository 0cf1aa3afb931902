//! The messages between region servers and their bytes.
//!
//! Everything a region says to another in one network update travels in one [`Envelope`] over one
//! reliable ordered channel per pair; see `docs/protocols/region.md`.
//!
//! ```text
//! sender    Envelope ── check ── encode ──► bytes        an impossible message stops at its sender
//! receiver  Envelope ◄── check ── decode ── bytes        anything else becomes an error that says where
//! ```

mod auras;
pub mod bytes;
mod check;
mod clusters;
mod envelopes;
mod frame;
mod messages;
mod offers;
pub mod replicate;

pub use check::{
    Invalid, MAX_AURA_M, MAX_COORDINATE_M, MAX_EPOCH, MAX_MESSAGES, MAX_NUMBER, MAX_VISITORS,
    Problem,
};
pub use envelopes::{
    DecodeError, EncodeError, MAX_ENVELOPE_BYTES, MESSAGE_TAGS, VERSION, decode, encode,
    encode_into,
};
pub use frame::seal;
pub use messages::{
    AuraDelete, AuraUpsert, Bond, ClusterKey, Envelope, HandoverCause, HandoverNumber, Member,
    Message, NewOwner, Offer, Ownership, Unborn, Visitor,
};
