//! What two ends of a channel say to each other.
//!
//! ```text
//! checksum │ version │ flags │ sender's incarnation │ receiver's, as the sender knows it │ ack? │ number? │ pieces …
//! 4        │ 1       │ 1     │ varint               │ varint, 0 = not known              │
//!
//! ack:    largest number seen │ how long ago, µs │ next piece wanted │ n │ n × (pieces missing, pieces had)
//! piece:  sequence number │ length and "ends a payload" │ bytes
//! ```
//!
//! The checksum finds damage, strangers' bytes and datagrams of other links (the two ends' names are its seed, at
//! no cost in bytes). It does not keep out someone who wants to do harm.

use crate::EndpointId;
use crate::{ChannelError, MAX_DATAGRAM_BYTES};
use std::ops::Range;
use wire::bytes::{Malformed, Reader, Why, put_varint};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 4;
const FLAGS_AT: usize = 5;

const HELLO: u8 = 1;
const ACK: u8 = 2;
const NUMBER: u8 = 4;

/// Gaps reported in one ack; the rest is told by the acks that follow.
pub(crate) const MAX_ACK_RANGES: usize = 16;

/// What has arrived, told by the receiver after every datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The largest datagram number seen; 0 if none.
    pub largest: u64,
    /// How long before this ack that was, microseconds.
    pub delay_us: u64,
    /// All pieces below this one have arrived.
    pub next: u64,
    /// Pieces above it that have arrived too, ascending.
    pub ranges: Vec<Range<u64>>,
}

/// A part of a payload, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub sequence: u64,
    pub ends_payload: bool,
    pub bytes: &'a [u8],
}

/// A datagram taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    /// The sender's incarnation plus one.
    pub from: u64,
    /// The receiver's incarnation plus one; 0 if the sender does not know it yet.
    pub to: u64,
    pub hello: bool,
    pub ack: Option<Ack>,
    pub number: Option<u64>,
    pub pieces: Vec<Piece<'a>>,
}

/// From whom to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub from: EndpointId,
    pub to: EndpointId,
}

impl Way {
    pub(crate) fn back(self) -> Self {
        let Self { from, to } = self;
        Self { from: to, to: from }
    }

    fn checksum(self, rest: &[u8]) -> [u8; CHECKSUM_BYTES] {
        let name = self.from.0.rotate_left(32) ^ self.to.0;
        (xxh3_64_with_seed(rest, name) as u32).to_le_bytes()
    }
}

/// Takes a datagram apart, or says why it is none. Nothing has changed yet when this fails.
pub(crate) fn parse(way: Way, bytes: &[u8]) -> Result<Parts<'_>, ChannelError> {
    let Some((sum, rest)) = bytes.split_first_chunk::<CHECKSUM_BYTES>() else {
        return Err(ChannelError::NotADatagram);
    };
    if bytes.len() > MAX_DATAGRAM_BYTES || *sum != way.checksum(rest) {
        return Err(ChannelError::NotADatagram);
    }
    Ok(read(&mut Reader::new(rest))?)
}

fn read<'a>(reader: &mut Reader<'a>) -> Result<Parts<'a>, Malformed> {
    let unknown = reader.error("version", Why::Misplaced);
    let version = reader.u8("version")?;
    if version != VERSION {
        let why = Why::UnknownTag(version);
        return Err(Malformed { why, ..unknown });
    }
    let unknown = reader.error("flags", Why::Misplaced);
    let flags = reader.u8("flags")?;
    if flags & !(HELLO | ACK | NUMBER) != 0 {
        let why = Why::UnknownTag(flags);
        return Err(Malformed { why, ..unknown });
    }
    let has = |flag| flags & flag != 0;
    let mut parts = Parts {
        from: reader.varint("incarnation")?,
        to: reader.varint("incarnation")?,
        hello: has(HELLO),
        ack: None,
        number: None,
        pieces: Vec::new(),
    };
    if has(ACK) {
        parts.ack = Some(read_ack(reader)?);
    }
    if has(NUMBER) {
        parts.number = Some(reader.varint("number")?);
    }
    while reader.remaining() > 0 {
        parts.pieces.push(read_piece(reader)?);
    }
    Ok(parts)
}

fn read_ack(reader: &mut Reader<'_>) -> Result<Ack, Malformed> {
    let mut ack = Ack {
        largest: reader.varint("largest number")?,
        delay_us: reader.varint("ack delay")?,
        next: reader.varint("next piece")?,
        ranges: Vec::new(),
    };
    let too_many = reader.error("ack ranges", Why::Misplaced);
    let count = usize::from(reader.u8("ack ranges")?);
    if count > MAX_ACK_RANGES {
        let why = Why::TooMany(count as u64);
        return Err(Malformed { why, ..too_many });
    }
    let mut end = ack.next;
    for _ in 0..count {
        let overflow = reader.error("ack range", Why::TooLarge(end));
        let (gap, length) = (reader.varint("ack gap")?, reader.varint("ack length")?);
        let start = end.checked_add(gap).ok_or(overflow.clone())?;
        end = start.checked_add(length).ok_or(overflow)?;
        ack.ranges.push(start..end);
    }
    Ok(ack)
}

fn read_piece<'a>(reader: &mut Reader<'a>) -> Result<Piece<'a>, Malformed> {
    let sequence = reader.varint("sequence number")?;
    let length = reader.varint("piece")?;
    // A length too large for `usize` is larger than any datagram anyway.
    let bytes = reader.take(usize::try_from(length >> 1).unwrap_or(usize::MAX), "piece")?;
    Ok(Piece {
        sequence,
        ends_payload: length & 1 == 1,
        bytes,
    })
}

/// Puts a datagram together.
#[derive(Debug)]
pub(crate) struct Builder {
    out: Vec<u8>,
    has_pieces: bool,
}

impl Builder {
    pub(crate) fn new(from: u64, to: u64) -> Self {
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(&[0, 0, 0, 0, VERSION, 0]);
        put_varint(&mut out, from);
        put_varint(&mut out, to);
        let has_pieces = false;
        Self { out, has_pieces }
    }

    fn flag(&mut self, flag: u8) {
        self.out[FLAGS_AT] |= flag;
    }

    pub(crate) fn put_ack(&mut self, ack: &Ack) {
        self.flag(ACK);
        put_varint(&mut self.out, ack.largest);
        put_varint(&mut self.out, ack.delay_us);
        put_varint(&mut self.out, ack.next);
        self.out.push(ack.ranges.len() as u8);
        let mut end = ack.next;
        for range in &ack.ranges {
            put_varint(&mut self.out, range.start - end);
            put_varint(&mut self.out, range.end - range.start);
            end = range.end;
        }
    }

    pub(crate) fn put_hello(&mut self, number: u64) {
        self.flag(HELLO);
        self.put_number(number);
    }

    /// Numbers the datagram, once.
    fn put_number(&mut self, number: u64) {
        if self.out[FLAGS_AT] & NUMBER == 0 {
            self.flag(NUMBER);
            put_varint(&mut self.out, number);
        }
    }

    /// Is there room for one more piece of this many bytes? (Twenty-two: number, sequence number, length.)
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.out.len() + 22 + bytes <= MAX_DATAGRAM_BYTES
    }

    pub(crate) fn put_piece(&mut self, number: u64, piece: Piece<'_>) {
        self.put_number(number);
        self.has_pieces = true;
        put_varint(&mut self.out, piece.sequence);
        let ends = u64::from(piece.ends_payload);
        put_varint(&mut self.out, (piece.bytes.len() as u64) << 1 | ends);
        self.out.extend_from_slice(piece.bytes);
    }

    pub(crate) fn has_pieces(&self) -> bool {
        self.has_pieces
    }

    pub(crate) fn is_numbered(&self) -> bool {
        self.out[FLAGS_AT] & NUMBER != 0
    }

    /// The finished bytes; `None` if nothing was put in.
    pub(crate) fn finish(mut self, way: Way) -> Option<Vec<u8>> {
        if self.out[FLAGS_AT] == 0 {
            return None;
        }
        let (sum, rest) = self.out.split_at_mut(CHECKSUM_BYTES);
        sum.copy_from_slice(&way.checksum(rest));
        Some(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Way = Way {
        from: EndpointId(1),
        to: EndpointId(2),
    };

    #[test]
    fn what_is_put_together_comes_apart() {
        let ack = Ack {
            largest: 300,
            delay_us: 7,
            next: 12,
            ranges: vec![14..15, 20..1000],
        };
        let piece = |sequence, bytes| Piece {
            sequence,
            ends_payload: sequence == 9,
            bytes,
        };
        let pieces = vec![
            piece(8, b"half a " as &[u8]),
            piece(9, b"payload"),
            piece(3, b""),
        ];
        let mut builder = Builder::new(2, 1);
        builder.put_ack(&ack);
        for piece in &pieces {
            builder.put_piece(77, *piece);
        }
        let bytes = builder.finish(WAY).expect("something was put in");
        let expected = Parts {
            from: 2,
            to: 1,
            hello: false,
            ack: Some(ack),
            number: Some(77),
            pieces,
        };
        assert_eq!(parse(WAY, &bytes), Ok(expected));
        assert_eq!(
            parse(WAY.back(), &bytes),
            Err(ChannelError::NotADatagram),
            "an echo is not an answer"
        );
        for end in 0..bytes.len() {
            assert_eq!(parse(WAY, &bytes[..end]), Err(ChannelError::NotADatagram));
        }
        assert_eq!(Builder::new(1, 0).finish(WAY), None);
    }

    /// With the checksum made right, whatever is behind it must still be read with care.
    #[test]
    fn damage_behind_the_checksum_is_an_error_or_another_datagram_never_a_panic() {
        let mut builder = Builder::new(2, 1);
        builder.put_ack(&Ack {
            largest: 3,
            delay_us: 0,
            next: 2,
            ranges: vec![4..5, 7..9],
        });
        let bytes = b"twelve bytes";
        let sequence = 5;
        let ends_payload = true;
        builder.put_piece(
            9,
            Piece {
                sequence,
                ends_payload,
                bytes,
            },
        );
        let good = builder.finish(WAY).expect("something was put in");
        let mut refused = 0;
        for at in CHECKSUM_BYTES..good.len() {
            for byte in 0..=255 {
                let mut bytes = good.clone();
                bytes[at] = byte;
                let sum = WAY.checksum(&bytes[CHECKSUM_BYTES..]);
                bytes[..CHECKSUM_BYTES].copy_from_slice(&sum);
                refused += usize::from(matches!(
                    parse(WAY, &bytes),
                    Err(ChannelError::Malformed(_))
                ));
            }
        }
        assert!(refused > 1000, "only {refused}");
    }
}
