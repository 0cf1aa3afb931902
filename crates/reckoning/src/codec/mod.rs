//! The bytes on the wire: bit-packed, quantised, versioned, bounded. Bytes in, values out; nothing here keeps state, so
//! input that is refused has changed nothing.
//!
//! ```text
//! datagram  = version u4 │ kind u4 │ what the kind says │ zero bits up to a whole byte          (≤ MAX_DATAGRAM bytes)
//! packet    = header ([`PacketHeader`]) │ message* │ tag 0
//! message   = tag u4 │ fields ([`Message`])
//! vector    = [`write_vector`]      ack = [`VectorAck`]      clock exchange = [`ClockRequest`], [`ClockReply`]
//! ```
//!
//! Numbers are as in [`BitWriter`]. Times are whole microseconds of the global clock; inside a packet they are
//! written as differences from the packet's own time. Lengths come before what they count and are checked against what
//! is left. A reader is told the present time ([`Limits`]): what claims to come from the future beyond a small slack is
//! refused, since a clock cannot be that wrong and a receiver would show the entity in a place it has not reached.

mod acks;
mod bits;
mod clocks;
mod datagrams;
mod messages;
mod packets;
mod rotations;
mod vectors;

pub use acks::VectorAck;
pub use bits::{BitReader, BitWriter};
pub use clocks::{ClockReply, ClockRequest};
pub use datagrams::{Datagram, MAX_DATAGRAM, PROTOCOL_VERSION, RefusalReason, Token};
pub use messages::{
    Event, GhostUpdate, Guarantee, Introduction, MAX_EVENT_BYTES, MAX_STATE_BYTES, Message,
    StateBits,
};
pub use packets::{MAX_ACK_WINDOW, PacketAcks, PacketHeader, PacketWriter};
pub use vectors::{
    MAX_ACCELERATION, MAX_COORDINATE_M, MAX_SEQ, MAX_SPEED, MAX_SPIN, MAX_TIME, POSITION_STEP_M,
    check_vector, read_vector, rounded, write_vector,
};

use domain::SimTime;
use thiserror::Error;

/// Bits that do not say what they should.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("bit {at_bit}: {what}: {why}")]
pub struct Malformed {
    /// Where, counted from the first bit given to the reader.
    pub at_bit: usize,
    /// What was being read.
    pub what: &'static str,
    /// What is wrong with it.
    pub why: Why,
}

/// What is wrong with some bits.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum Why {
    /// They are too few.
    #[error("the bits end here")]
    Ended,
    /// A number in a longer form than it needs.
    #[error("a number written in too many bits")]
    Overlong,
    /// A number beyond what its field allows.
    #[error("{0} is too large")]
    TooLarge(u64),
    /// A number below what its field allows.
    #[error("{0} is too small")]
    TooSmall(u64),
    /// A version this build does not speak.
    #[error("version {0} is not known")]
    UnknownVersion(u8),
    /// A kind or tag this version does not know.
    #[error("kind {0} is not known")]
    UnknownKind(u64),
    /// Three quaternion components that are already longer than one.
    #[error("not a unit quaternion")]
    NotUnit,
    /// A time that has not come yet.
    #[error("{ahead} ahead of the present")]
    Future {
        /// By how much it lies ahead, slack not counted.
        ahead: SimTime,
    },
    /// Numbers that should fall or rise and do not.
    #[error("not in order")]
    Unordered,
    /// Bits after the end.
    #[error("{0} bits too many")]
    Trailing(usize),
    /// More bytes than a datagram may have.
    #[error("{0} bytes are more than a datagram may have")]
    TooLong(usize),
}

/// A value that must not be sent: our own mistake, or a physics engine that blew up.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Unsendable {
    /// NaN, infinite or beyond its limit.
    #[error("{what}: {value} is not a number between -{max} and {max}")]
    OutOfRange {
        /// Which field.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it may be at most.
        max: f64,
    },
    /// A rotation that is not a unit quaternion.
    #[error("a rotation of length {0} is no rotation")]
    NotUnit(f64),
    /// A sequence number that is 0 or too large.
    #[error("sequence number {0} is not between 1 and {MAX_SEQ}")]
    BadSeq(u32),
    /// A time beyond [`MAX_TIME`].
    #[error("time {0} is too late")]
    TooLate(SimTime),
    /// More of something than one message may hold.
    #[error("{what}: {count} given, {max} allowed")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// At most.
        max: usize,
    },
}

/// What the reader knows of the present, to judge times by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The reader's own global time.
    pub now: SimTime,
    /// How far ahead of it a time may lie (both clocks' error bounds, together).
    pub slack: SimTime,
}

impl Limits {
    /// Any time is welcome: for recordings, and before the clock is known.
    pub const ANY_TIME: Self = Self {
        now: MAX_TIME,
        slack: SimTime::ZERO,
    };

    /// Is this time at most `slack` ahead?
    pub fn check(&self, time: SimTime) -> Result<(), Why> {
        let ahead = time.since(self.now);
        if ahead > self.slack {
            return Err(Why::Future { ahead });
        }
        Ok(())
    }
}
