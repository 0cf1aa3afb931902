//! Messages in their envelope: version, incarnation, sequence number, time, digest.

use super::{DIGEST_BYTES, Grid, LinkKey, MAX_TIME, Message};
use crate::ids::StationId;
use domain::SimTime;
use reckoning::codec::{BitReader, BitWriter, Malformed, Why};
use thiserror::Error;

/// The version of the bytes. Any change of them is a new one.
pub const VERSION: u8 = 1;
/// No datagram is longer: it fits into one packet on any path.
pub const MAX_DATAGRAM_BYTES: usize = 1200;
/// Nor holds more messages than this.
pub const MAX_MESSAGES: usize = 128;

/// What stands before the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Rises each time the sender starts anew, so that its sequence may, too. The driver chooses it.
    pub incarnation: u32,
    /// One more with each datagram to this receiver.
    pub sequence: u64,
    /// When it was sent, on the shared clock as the sender knows it; whole microseconds.
    pub sent: SimTime,
}

/// A datagram in the open.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagram {
    /// Who, when.
    pub header: Header,
    /// What.
    pub messages: Vec<Message>,
}

/// Why a datagram was refused. Nothing was changed by it.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refusal {
    /// The driver says it is from a station that was never introduced.
    #[error("from an unknown station")]
    UnknownPeer,
    /// Longer than any may be.
    #[error("{0} bytes are more than a datagram may have")]
    TooLong(usize),
    /// The digest is wrong: forged, damaged, for somebody else, or the keys differ.
    #[error("the digest is wrong")]
    Forged,
    /// Authentic, but not understood: another version, or a sender's bug.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Seen before, or so old that it might have been.
    #[error("seen before, or too old to tell")]
    Replayed,
    /// More than a station may send.
    #[error("too many in too short a time")]
    TooMany,
}

impl Refusal {
    /// How many kinds there are.
    pub const COUNT: usize = 6;

    /// The kind's place in [`Traffic::refused`](crate::Traffic::refused).
    pub fn index(&self) -> usize {
        match self {
            Self::UnknownPeer => 0,
            Self::TooLong(_) => 1,
            Self::Forged => 2,
            Self::Malformed(_) => 3,
            Self::Replayed => 4,
            Self::TooMany => 5,
        }
    }
}

/// Any body with a right digest: for tests and the fuzz target, which look at what is behind the digest.
pub fn seal_bytes(body: &[u8], key: &LinkKey, from: StationId, to: StationId) -> Vec<u8> {
    let mut bytes = body.to_vec();
    bytes.extend_from_slice(&key.digest(from, to, body));
    bytes
}

impl Datagram {
    /// Seals it. What does not fit into [`MAX_DATAGRAM_BYTES`] is left out; the number of messages written is returned.
    pub fn seal(
        &self,
        key: &LinkKey,
        from: StationId,
        to: StationId,
        steps_per_unit: f64,
    ) -> (Vec<u8>, usize) {
        let (bytes, sizes) = self.seal_sized(key, from, to, steps_per_unit);
        (bytes, sizes.len())
    }

    /// Seals it, and says how many bytes each message takes. Messages share bytes at their ends; together they are counted right.
    pub(crate) fn seal_sized(
        &self,
        key: &LinkKey,
        from: StationId,
        to: StationId,
        steps_per_unit: f64,
    ) -> (Vec<u8>, Vec<usize>) {
        let mut out = BitWriter::new();
        out.bits(VERSION.into(), 8);
        out.elastic(self.header.incarnation.into());
        out.elastic(self.header.sequence);
        out.elastic(self.header.sent.0 / 1_000);
        let grid = Grid::new(self.header.sent, steps_per_unit);
        let mut sizes = Vec::new();
        for message in self.messages.iter().take(MAX_MESSAGES) {
            let before = out.len_bits();
            message.put(&mut out, &grid);
            // The end's tag takes at most one byte more.
            if out.len_bytes() + 1 + DIGEST_BYTES > MAX_DATAGRAM_BYTES {
                out.truncate(before);
                break;
            }
            sizes.push(out.len_bits() / 8 - before / 8);
        }
        out.bits(0, 4);
        let mut bytes = out.into_bytes();
        let digest = key.digest(from, to, &bytes);
        bytes.extend_from_slice(&digest);
        (bytes, sizes)
    }

    /// Opens what may be anything at all.
    pub fn open(
        bytes: &[u8],
        key: &LinkKey,
        from: StationId,
        to: StationId,
        steps_per_unit: f64,
    ) -> Result<Self, Refusal> {
        Self::open_sized(bytes, key, from, to, steps_per_unit).map(|(datagram, _)| datagram)
    }

    /// Opens it, and says how many bytes each message takes.
    pub(crate) fn open_sized(
        bytes: &[u8],
        key: &LinkKey,
        from: StationId,
        to: StationId,
        steps_per_unit: f64,
    ) -> Result<(Self, Vec<usize>), Refusal> {
        if bytes.len() > MAX_DATAGRAM_BYTES {
            return Err(Refusal::TooLong(bytes.len()));
        }
        let (body, digest) = bytes.split_at(bytes.len().saturating_sub(DIGEST_BYTES));
        if !key.is_right(from, to, body, digest) {
            return Err(Refusal::Forged);
        }
        Ok(Self::read(body, steps_per_unit)?)
    }

    /// Reads an authentic body.
    fn read(body: &[u8], steps_per_unit: f64) -> Result<(Self, Vec<usize>), Malformed> {
        let mut reader = BitReader::new(body);
        let version = reader.bits(8, "version")? as u8;
        if version != VERSION {
            return Err(reader.error("version", Why::UnknownVersion(version)));
        }
        let incarnation = reader.elastic_max(u32::MAX.into(), "incarnation")? as u32;
        let sequence = reader.elastic_max(u64::MAX >> 1, "sequence")?;
        let micros = reader.elastic_max(MAX_TIME.0 / 1_000, "time of sending")?;
        let header = Header {
            incarnation,
            sequence,
            sent: SimTime(micros * 1_000),
        };
        let grid = Grid::new(header.sent, steps_per_unit);
        let place = |reader: &BitReader<'_>| (body.len() * 8 - reader.remaining()) / 8;
        let mut messages = Vec::new();
        let mut sizes = Vec::new();
        let mut before = place(&reader);
        while let Some(message) = Message::get(&mut reader, &grid)? {
            if messages.len() == MAX_MESSAGES {
                return Err(reader.error("messages", Why::TooLarge(MAX_MESSAGES as u64 + 1)));
            }
            messages.push(message);
            let after = place(&reader);
            sizes.push(after - before);
            before = after;
        }
        reader.finish("end")?;
        Ok((Self { header, messages }, sizes))
    }
}
