//! The frame of a packet and of an acknowledgement.
//!
//! ```text
//! packet, server → client (numbers big-endian)
//! byte   0      kind and version: 0x51, or 0x52 if the far tables are used
//!        1–2    packet number, the lowest 16 bits
//!        3–6    tick of the update, the lowest 32 bits
//!        7–8    number of the client's newest acknowledgement the server had (0: none): everything in the packet is told
//!               relative to what the client had when it sent that
//!        9–10   check: of all bytes but these
//!        11…    records, arithmetically coded; zeros at the end are left out
//!
//! acknowledgement, client → server
//! byte   0      0x61
//!        1–2    acknowledgement number, the lowest 16 bits; the first is 1
//!        3–4    newest packet received, the lowest 16 bits
//!        5–12   bit i: the packet i + 1 before the newest was received too
//!        13–14  check
//! ```

use super::symbols::Distance;
use thiserror::Error;

const NEAR_KIND: u8 = 0x51;
const FAR_KIND: u8 = 0x52;
const ACK_KIND: u8 = 0x61;
/// Where a packet's records begin.
pub(crate) const HEADER_BYTES: usize = 11;
/// Bytes of an acknowledgement.
pub const ACK_BYTES: usize = 15;
/// How many packets before the newest an acknowledgement speaks of.
pub(crate) const ACK_WINDOW: u64 = 64;
/// The longest packet that is looked at.
pub const MAX_PACKET_BYTES: usize = 65_000;

/// Why a packet or an acknowledgement was refused. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StreamError {
    /// Shorter than its frame, or longer than any packet.
    #[error("{0} bytes cannot be such a message")]
    BadLength(usize),
    /// Not of this kind or version.
    #[error("kind 0x{0:02x} is not known here")]
    UnknownKind(u8),
    /// Damaged or cut off.
    #[error("the check does not match: damaged or cut off")]
    BadCheck,
    /// Received before, or too old to tell.
    #[error("packet {0} was received before or is too old")]
    Duplicate(u64),
    /// Far ahead of everything seen so far.
    #[error("packet {0} is too far ahead")]
    TooFarAhead(u64),
    /// Relative to an acknowledgement that was never sent.
    #[error("relative to acknowledgement {0}, which was never sent")]
    UnknownAck(u64),
    /// A record speaks of a slot that holds no body.
    #[error("slot {0} holds no body")]
    EmptySlot(u32),
    /// A record is relative to a curve that is not there (any more).
    #[error("slot {0} has no curve to go on from")]
    NoBase(u32),
    /// A body enters a slot that holds another one, or is in another slot.
    #[error("slot {0} is taken, or its body is in another one")]
    SlotTaken(u32),
    /// More bodies than a client may hold.
    #[error("slot {0} is beyond the most bodies a client holds")]
    TooManyBodies(u64),
    /// More records than a packet may have.
    #[error("more records than a packet may have")]
    TooManyRecords,
    /// A curve with numbers that no world holds, or from the future.
    #[error("slot {0}: a curve beyond all bounds")]
    Absurd(u32),
    /// An acknowledgement of a packet that was never sent.
    #[error("packet {0} was never sent")]
    NeverSent(u64),
}

/// The numbers in front of a packet's records, in full length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) number: u64,
    pub(crate) tick: u64,
    pub(crate) relative_to: u64,
    pub(crate) distance: Distance,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    pub(crate) number: u64,
    pub(crate) newest: u64,
    pub(crate) before: u64,
}

impl Header {
    /// The frame, its check still open.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![match self.distance {
            Distance::Near => NEAR_KIND,
            Distance::Far => FAR_KIND,
        }];
        bytes.extend((self.number as u16).to_be_bytes());
        bytes.extend((self.tick as u32).to_be_bytes());
        bytes.extend((self.relative_to as u16).to_be_bytes());
        bytes.extend([0; 2]);
        bytes
    }

    /// Sets the check of a finished packet.
    pub(crate) fn seal(bytes: &mut [u8]) {
        let check = check(bytes, HEADER_BYTES - 2).to_be_bytes();
        bytes[HEADER_BYTES - 2..HEADER_BYTES].copy_from_slice(&check);
    }

    /// The header and the records' bytes. The full numbers are those nearest to `near`.
    pub(crate) fn read<'a>(bytes: &'a [u8], near: &Self) -> Result<(Self, &'a [u8]), StreamError> {
        if !(HEADER_BYTES..=MAX_PACKET_BYTES).contains(&bytes.len()) {
            return Err(StreamError::BadLength(bytes.len()));
        }
        let distance = match bytes[0] {
            NEAR_KIND => Distance::Near,
            FAR_KIND => Distance::Far,
            kind => return Err(StreamError::UnknownKind(kind)),
        };
        let found = u16::from_be_bytes([bytes[HEADER_BYTES - 2], bytes[HEADER_BYTES - 1]]);
        if found != check(bytes, HEADER_BYTES - 2) {
            return Err(StreamError::BadCheck);
        }
        let header = Self {
            number: unfold(low16(bytes, 1), 16, near.number),
            tick: unfold(
                u64::from(u32::from_be_bytes([bytes[3], bytes[4], bytes[5], bytes[6]])),
                32,
                near.tick,
            ),
            relative_to: unfold(low16(bytes, 7), 16, near.relative_to),
            distance,
        };
        Ok((header, &bytes[HEADER_BYTES..]))
    }
}

impl Ack {
    pub(crate) fn write(&self) -> [u8; ACK_BYTES] {
        let mut bytes = [0; ACK_BYTES];
        bytes[0] = ACK_KIND;
        bytes[1..3].copy_from_slice(&(self.number as u16).to_be_bytes());
        bytes[3..5].copy_from_slice(&(self.newest as u16).to_be_bytes());
        bytes[5..13].copy_from_slice(&self.before.to_be_bytes());
        let check = check(&bytes, ACK_BYTES - 2).to_be_bytes();
        bytes[ACK_BYTES - 2..].copy_from_slice(&check);
        bytes
    }

    pub(crate) fn read(bytes: &[u8], near: &Self) -> Result<Self, StreamError> {
        if bytes.len() != ACK_BYTES {
            return Err(StreamError::BadLength(bytes.len()));
        }
        if bytes[0] != ACK_KIND {
            return Err(StreamError::UnknownKind(bytes[0]));
        }
        if low16(bytes, ACK_BYTES - 2) != u64::from(check(bytes, ACK_BYTES - 2)) {
            return Err(StreamError::BadCheck);
        }
        let before = bytes[5..13].try_into().map_or(0, u64::from_be_bytes);
        Ok(Self {
            number: unfold(low16(bytes, 1), 16, near.number),
            newest: unfold(low16(bytes, 3), 16, near.newest),
            before,
        })
    }
}

/// Sets the check of a packet. Encoders do so themselves; this is for tests that want damaged records in a right frame.
pub fn seal_packet(bytes: &mut [u8]) {
    if bytes.len() >= HEADER_BYTES {
        Header::seal(bytes);
    }
}

fn low16(bytes: &[u8], at: usize) -> u64 {
    u64::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// The number with these lowest bits that is nearest to `near`.
fn unfold(low: u64, bits: u32, near: u64) -> u64 {
    let size = 1_u64 << bits;
    let ahead = low.wrapping_sub(near) & (size - 1);
    let up = near.wrapping_add(ahead);
    if ahead >= size / 2 && up >= size {
        up - size
    } else {
        up
    }
}

/// FNV-1a over all bytes but the two of the check itself, folded to 16 bits. Finds damage, not malice.
fn check(bytes: &[u8], at: usize) -> u16 {
    let mut hash = 0x811c_9dc5_u32;
    for (index, byte) in bytes.iter().enumerate() {
        if index != at && index != at + 1 {
            hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
    (hash ^ hash >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unfolded_to_the_nearest() {
        assert_eq!(unfold(5, 16, 0), 5);
        assert_eq!(unfold(0xffff, 16, 0x1_0000), 0xffff);
        assert_eq!(unfold(2, 16, 0xffff), 0x1_0002);
        assert_eq!(unfold(0xfff0, 16, 3), 0xfff0, "nothing is before zero");
        assert_eq!(unfold(7, 32, (1 << 32) - 1), (1 << 32) + 7);
    }

    #[test]
    fn headers_and_acknowledgements_come_back() {
        let header = Header {
            number: 70_000,
            tick: 123_456,
            relative_to: 65_540,
            distance: Distance::Far,
        };
        let mut bytes = header.write();
        bytes.extend([1, 2, 3]);
        Header::seal(&mut bytes);
        let near = Header {
            number: 69_990,
            tick: 123_450,
            relative_to: 65_530,
            distance: Distance::Near,
        };
        assert_eq!(Header::read(&bytes, &near), Ok((header, &[1, 2, 3][..])));
        for len in 0..bytes.len() {
            assert!(Header::read(&bytes[..len], &near).is_err(), "cut at {len}");
        }
        let ack = Ack {
            number: 3,
            newest: 9,
            before: 0x8000_0000_0000_0001,
        };
        let near = Ack {
            number: 0,
            newest: 0,
            before: 0,
        };
        assert_eq!(Ack::read(&ack.write(), &near), Ok(ack));
        let mut damaged = ack.write();
        damaged[7] ^= 4;
        assert_eq!(Ack::read(&damaged, &near), Err(StreamError::BadCheck));
    }
}
