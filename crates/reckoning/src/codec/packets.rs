//! The header of a connection's packet.
//!
//! ```text
//! token u32 │ number u16 │ answer flag │ acks flag │ [newest u16 │ depth u7 │ depth × 1 bit │ held µs elastic] │ timed flag │ [time µs elastic]
//! ```
//!
//! `newest` is the last packet the sender of this one has processed; bit i (from 0) says whether it has also
//! processed packet `newest − 1 − i`. Only what the other side may still wonder about is listed: the depth reaches back to the
//! newest packet it is known to have heard of. `held` is how long ago `newest` arrived, so that the round trip can be told
//! from waiting. `time` is the global time of packing, to which all times inside are relative.

use super::datagrams::{PACKET_KIND, PROTOCOL_VERSION};
use super::vectors::{MAX_TIME, micros};
use super::{BitReader, BitWriter, Limits, Malformed, Message, Token, Unsendable, Why};
use domain::SimTime;

/// How many packets before the newest one header can report on.
pub const MAX_ACK_WINDOW: u32 = 127;
/// The longest a packet may have been held, µs: over an hour, the connection is long gone.
const MAX_HELD_MICROS: u64 = 1 << 32;

/// Which packets have been processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketAcks {
    /// The newest, lowest 16 bits of its number.
    pub newest: u16,
    /// How many packets before it are reported on, at most [`MAX_ACK_WINDOW`].
    pub depth: u32,
    /// Bit i: was `newest − 1 − i` processed? No bits beyond the depth.
    pub mask: u128,
    /// How long ago the newest arrived.
    pub held: SimTime,
}

/// What every packet starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// The secret of this connection; a packet without it is not ours.
    pub token: Token,
    /// Lowest 16 bits of the packet's number.
    pub number: u16,
    /// Please answer, although there may be nothing in this packet: something before it is overdue.
    pub answer: bool,
    /// Feedback on the other direction.
    pub acks: Option<PacketAcks>,
    /// Global time of packing, whole microseconds; `None` from a sender without a global clock.
    pub time: Option<SimTime>,
}

impl PacketHeader {
    /// What times in the packet are relative to.
    pub fn base(&self) -> SimTime {
        self.time.unwrap_or(SimTime::ZERO)
    }

    pub(super) fn put(&self, out: &mut BitWriter) {
        out.bits(self.token.0.into(), 32);
        out.bits(self.number.into(), 16);
        out.flag(self.answer);
        out.flag(self.acks.is_some());
        if let Some(acks) = &self.acks {
            let depth = acks.depth.min(MAX_ACK_WINDOW);
            out.bits(acks.newest.into(), 16);
            out.bits(depth.into(), 7);
            out.bits(acks.mask as u64, depth.min(64));
            out.bits((acks.mask >> 64) as u64, depth.saturating_sub(64));
            out.elastic(micros(acks.held).min(MAX_HELD_MICROS));
        }
        out.flag(self.time.is_some());
        if let Some(time) = self.time {
            out.elastic(micros(time.min(MAX_TIME)));
        }
    }

    pub(super) fn get(reader: &mut BitReader<'_>, limits: &Limits) -> Result<Self, Malformed> {
        let token = Token(reader.bits(32, "token")? as u32);
        let number = reader.bits(16, "packet number")? as u16;
        let answer = reader.flag("wants an answer")?;
        let acks = match reader.flag("has acks")? {
            true => Some(get_acks(reader)?),
            false => None,
        };
        let time = match reader.flag("has time")? {
            true => Some(get_time(reader, limits)?),
            false => None,
        };
        Ok(Self {
            token,
            number,
            answer,
            acks,
            time,
        })
    }
}

/// Fills one packet up to its size.
#[derive(Clone, Debug)]
pub struct PacketWriter {
    out: BitWriter,
    base: SimTime,
    room_bits: usize,
    messages: usize,
}

/// The tag that ends a packet.
const END_BITS: usize = 4;

impl PacketWriter {
    /// A packet of at most `max_bytes` with this header.
    pub fn new(header: &PacketHeader, max_bytes: usize) -> Self {
        let mut out = BitWriter::new();
        out.bits(PROTOCOL_VERSION.into(), 4);
        out.bits(PACKET_KIND, 4);
        header.put(&mut out);
        Self {
            out,
            base: header.base(),
            room_bits: (max_bytes * 8).saturating_sub(END_BITS),
            messages: 0,
        }
    }

    /// Appends a message if it still fits; says whether it did. What does not fit leaves no trace.
    pub fn push(&mut self, message: &Message) -> Result<bool, Unsendable> {
        let before = self.out.len_bits();
        message.write(&mut self.out, self.base)?;
        if self.out.len_bits() > self.room_bits {
            self.out.truncate(before);
            return Ok(false);
        }
        self.messages += 1;
        Ok(true)
    }

    /// How many messages are in it.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// The packet as a datagram.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.bits(0, END_BITS as u32);
        self.out.into_bytes()
    }
}

fn get_acks(reader: &mut BitReader<'_>) -> Result<PacketAcks, Malformed> {
    let newest = reader.bits(16, "newest packet")? as u16;
    let depth = reader.bits(7, "depth of acks")? as u32;
    let low = reader.bits(depth.min(64), "acks")?;
    let high = reader.bits(depth.saturating_sub(64), "acks")?;
    let held = reader.elastic_max(MAX_HELD_MICROS, "time held")?;
    Ok(PacketAcks {
        newest,
        depth,
        mask: u128::from(low) | u128::from(high) << 64,
        held: SimTime(held * 1000),
    })
}

fn get_time(reader: &mut BitReader<'_>, limits: &Limits) -> Result<SimTime, Malformed> {
    let start = reader.clone();
    let micros = reader.elastic("packet time")?;
    if micros > micros_max() {
        return Err(start.error("packet time", Why::TooLarge(micros)));
    }
    let time = SimTime(micros * 1000);
    limits
        .check(time)
        .map_err(|why| start.error("packet time", why))?;
    Ok(time)
}

fn micros_max() -> u64 {
    micros(MAX_TIME)
}
