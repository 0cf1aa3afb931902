//! Envelopes to bytes and back.
//!
//! ```text
//! 'A' 'M' │ version 2 │ checksum of the body, 4 bytes │ body
//! body:     from │ to │ tick │ sent_at │ message count │ messages …
//! message:  tag, then its fields; a run of aura upserts is one tag and a count (see `auras`)
//! ```
//!
//! Bytes come from a socket: every count is checked against the bytes that are left before memory is taken
//! for it, nothing recurses, and what comes out has passed [`Envelope::check`].
//!
//! Why not a general serialiser (postcard)? Its bytes for an aura are two to six times ours, it cannot say where
//! an error is, and its decoder recurses as deep as the bytes tell it to: a shape is a recursive type, and one
//! megabyte of nested compounds overflows the stack. `cargo run --release -p auramesh-wire --example sizes`
//! compares the two.

use crate::auras;
use crate::bytes::{Malformed, Reader, Why, put_f64, put_varint, put_zigzag};
use crate::check::{Invalid, MAX_MESSAGES};
use crate::clusters::read_list;
use crate::frame::{Broken, Frame, HEADER_BYTES};
use crate::offers::{put_tagged, read_handover, read_offer, write_offer};
use crate::{AuraDelete, AuraUpsert, ClusterKey, Envelope, Message, NewOwner, Ownership, Visitor};
use domain::{BodyId, Epoch, Rect, RegionId, SimTime, Tick};
use thiserror::Error;

/// The version of the bytes. A change of any byte is a new version.
pub const VERSION: u8 = 5;
/// The largest envelope. A cluster of thousands of bodies in contact travels in one: 16 MiB hold over a
/// hundred thousand bricks, or forty thousand with four contact points each.
pub const MAX_ENVELOPE_BYTES: usize = 16 << 20;

const FRAME: Frame = Frame {
    letters: *b"AM",
    version: VERSION,
    max_bytes: MAX_ENVELOPE_BYTES,
};
/// A tag and a number.
const MESSAGE_MIN_BYTES: usize = 2;

/// Why an envelope was not encoded: its sender has made something impossible.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EncodeError {
    /// It makes no sense; the receiver would refuse it.
    #[error("the envelope makes no sense: {0}")]
    Invalid(#[from] Invalid),
    /// It is larger than [`MAX_ENVELOPE_BYTES`]. Fewer messages per envelope help.
    #[error("the envelope has {0} bytes, more than the {MAX_ENVELOPE_BYTES} allowed")]
    TooLong(usize),
}

/// Why bytes are not an envelope. The peer has another version, or the bytes were damaged or made up.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DecodeError {
    /// More than [`MAX_ENVELOPE_BYTES`].
    #[error("{0} bytes are more than an envelope may have")]
    TooLong(usize),
    /// They do not begin as envelopes do.
    #[error("these bytes are not an envelope")]
    NotAnEnvelope,
    /// Another version's bytes.
    #[error("an envelope of version {0}; this is version {VERSION}")]
    UnknownVersion(u8),
    /// The body is not what was sent.
    #[error("the envelope was damaged on its way")]
    Damaged,
    /// The body does not follow the format.
    #[error("malformed envelope: {0}")]
    Malformed(#[from] Malformed),
    /// The body says something that makes no sense.
    #[error("the envelope makes no sense: {0}")]
    Invalid(#[from] Invalid),
}

impl From<Broken> for DecodeError {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::TooLong(bytes) => Self::TooLong(bytes),
            Broken::OtherKind => Self::NotAnEnvelope,
            Broken::OtherVersion(version) => Self::UnknownVersion(version),
            Broken::Damaged => Self::Damaged,
        }
    }
}

/// All kinds of messages with the tags that stand before them, as `docs/protocols/region.md` lists them.
pub const MESSAGE_TAGS: &[(u8, &str)] = &[
    (tag::AURAS, "AuraUpsert"),
    (tag::AURA_DELETE, "AuraDelete"),
    (tag::OFFER, "Offer"),
    (tag::ACCEPT, "Accept"),
    (tag::RELEASE, "Release"),
    (tag::INTRODUCE, "Introduce"),
    (tag::SNAPSHOT_COVERS, "SnapshotCovers"),
    (tag::RESTARTED, "Restarted"),
    (tag::RECOVERY, "Recovery"),
];

mod tag {
    pub const AURAS: u8 = 0;
    pub const AURA_DELETE: u8 = 1;
    pub const OFFER: u8 = 2;
    pub const ACCEPT: u8 = 3;
    pub const RELEASE: u8 = 4;
    pub const INTRODUCE: u8 = 5;
    pub const SNAPSHOT_COVERS: u8 = 6;
    pub const RESTARTED: u8 = 7;
    pub const RECOVERY: u8 = 8;
}

/// The envelope's bytes.
pub fn encode(envelope: &Envelope) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    encode_into(envelope, &mut out)?;
    Ok(out)
}

/// The envelope's bytes in a buffer that is used again; it is cleared first, and left empty on an error.
pub fn encode_into(envelope: &Envelope, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.clear();
    envelope.check()?;
    // About what an aura takes.
    out.reserve(HEADER_BYTES + 24 + 16 * envelope.messages.len());
    FRAME.begin(out);
    write_body(out, envelope);
    FRAME.finish(out).map_err(EncodeError::TooLong)
}

/// The envelope in these bytes, all of them. What it returns has passed [`Envelope::check`].
pub fn decode(bytes: &[u8]) -> Result<Envelope, DecodeError> {
    let body = FRAME.open(bytes)?;
    let mut reader = Reader::new(body);
    let envelope = read_body(&mut reader)?;
    reader.finish("envelope")?;
    envelope.check()?;
    Ok(envelope)
}

fn write_body(out: &mut Vec<u8>, envelope: &Envelope) {
    put_varint(out, envelope.from.0.into());
    put_varint(out, envelope.to.0.into());
    put_varint(out, envelope.tick.0);
    put_varint(out, envelope.sent_at.0);
    put_varint(out, envelope.messages.len() as u64);
    let is_upsert = |message: &Message| matches!(message, Message::AuraUpsert(_));
    for run in envelope
        .messages
        .chunk_by(|a, b| is_upsert(a) && is_upsert(b))
    {
        if is_upsert(&run[0]) {
            out.push(tag::AURAS);
            put_varint(out, run.len() as u64);
            auras::write_run(out, envelope.tick, run.iter().filter_map(as_upsert));
        } else {
            write_message(out, &run[0], envelope.tick);
        }
    }
}

fn as_upsert(message: &Message) -> Option<&AuraUpsert> {
    match message {
        Message::AuraUpsert(upsert) => Some(upsert),
        _ => None,
    }
}

fn read_body(reader: &mut Reader<'_>) -> Result<Envelope, Malformed> {
    let from = RegionId(reader.varint_u32("from")?);
    let to = RegionId(reader.varint_u32("to")?);
    let tick = Tick(reader.varint("tick")?);
    let sent_at = SimTime(reader.varint("sent_at")?);
    let too_many = reader.error("messages", Why::Misplaced);
    let count = reader.count("messages", MESSAGE_MIN_BYTES)?;
    if count > MAX_MESSAGES {
        let why = Why::TooMany(count as u64);
        return Err(Malformed { why, ..too_many });
    }
    let mut messages = Vec::with_capacity(count);
    while messages.len() < count {
        read_messages(reader, tick, count - messages.len(), &mut messages)?;
    }
    Ok(Envelope {
        from,
        to,
        tick,
        sent_at,
        messages,
    })
}

/// Reads one message, or one run of aura upserts.
fn read_messages(
    reader: &mut Reader<'_>,
    envelope_tick: Tick,
    expected: usize,
    messages: &mut Vec<Message>,
) -> Result<(), Malformed> {
    let unknown = reader.error("message", Why::Misplaced);
    let tag = reader.u8("message")?;
    if tag != tag::AURAS {
        messages.push(read_message(reader, tag, envelope_tick, unknown)?);
        return Ok(());
    }
    let wrong = reader.error("auras", Why::Misplaced);
    let count = reader.count("auras", auras::MIN_BYTES)?;
    if count == 0 || count > expected {
        return Err(wrong);
    }
    auras::read_run(reader, envelope_tick, count, |upsert| {
        messages.push(Message::AuraUpsert(upsert));
    })
}

fn write_message(out: &mut Vec<u8>, message: &Message, envelope_tick: Tick) {
    match message {
        Message::AuraUpsert(_) => unreachable!("upserts are written as runs"),
        Message::AuraDelete(delete) => {
            out.push(tag::AURA_DELETE);
            write_delete(out, delete, envelope_tick);
        }
        Message::Offer(offer) => {
            out.push(tag::OFFER);
            write_offer(out, offer);
        }
        Message::Accept { handover } => put_tagged(out, tag::ACCEPT, handover.0),
        Message::Release { handover } => put_tagged(out, tag::RELEASE, handover.0),
        Message::Introduce { visitors } => {
            put_tagged(out, tag::INTRODUCE, visitors.len() as u64);
            for Visitor { region, place } in visitors {
                put_varint(out, region.0.into());
                for edge in place.min.into_iter().chain(place.max) {
                    put_f64(out, edge);
                }
            }
        }
        Message::SnapshotCovers { tick, upto } => {
            put_tagged(out, tag::SNAPSHOT_COVERS, tick.0);
            put_varint(out, upto.0);
        }
        Message::Restarted {
            snapshot,
            incarnation,
        } => {
            put_tagged(out, tag::RESTARTED, snapshot.0);
            put_varint(out, u64::from(*incarnation));
        }
        Message::Recovery { known } => {
            put_tagged(out, tag::RECOVERY, known.len() as u64);
            for ownership in known {
                put_varint(out, ownership.body.0);
                put_varint(out, ownership.epoch.0.into());
                put_varint(out, ownership.owner.0.into());
            }
        }
    }
}

/// A region and a rectangle.
const MIN_VISITOR_BYTES: usize = 1 + 4 * 8;

fn read_visitor(reader: &mut Reader<'_>) -> Result<Visitor, Malformed> {
    let region = RegionId(reader.varint_u32("visitor")?);
    let mut edge = || reader.f64("visitor's place");
    let place = Rect {
        min: [edge()?, edge()?],
        max: [edge()?, edge()?],
    };
    Ok(Visitor { region, place })
}

fn read_message(
    reader: &mut Reader<'_>,
    tag: u8,
    envelope_tick: Tick,
    unknown: Malformed,
) -> Result<Message, Malformed> {
    Ok(match tag {
        tag::AURA_DELETE => Message::AuraDelete(read_delete(reader, envelope_tick)?),
        tag::OFFER => Message::Offer(Box::new(read_offer(reader)?)),
        tag::ACCEPT => Message::Accept {
            handover: read_handover(reader)?,
        },
        tag::RELEASE => Message::Release {
            handover: read_handover(reader)?,
        },
        tag::INTRODUCE => Message::Introduce {
            visitors: read_list(reader, "visitors", MIN_VISITOR_BYTES, read_visitor)?,
        },
        tag::SNAPSHOT_COVERS => Message::SnapshotCovers {
            tick: Tick(reader.varint("snapshot tick")?),
            upto: read_handover(reader)?,
        },
        tag::RESTARTED => Message::Restarted {
            snapshot: Tick(reader.varint("snapshot tick")?),
            incarnation: reader.varint_u32("incarnation")?,
        },
        tag::RECOVERY => Message::Recovery {
            known: read_list(reader, "known bodies", 3, |r| {
                Ok(Ownership {
                    body: BodyId(r.varint("known body")?),
                    epoch: Epoch(r.varint_u32("known epoch")?),
                    owner: RegionId(r.varint_u32("known owner")?),
                })
            })?,
        },
        _ => {
            return Err(Malformed {
                why: Why::UnknownTag(tag),
                ..unknown
            });
        }
    })
}

fn write_delete(out: &mut Vec<u8>, delete: &AuraDelete, envelope_tick: Tick) {
    put_varint(out, delete.body.0);
    put_varint(out, delete.epoch.0.into());
    put_zigzag(out, delete.tick.0.wrapping_sub(envelope_tick.0) as i64);
    // Zero is "nobody", so that a region's number is one more than itself.
    let Some(NewOwner { region, key }) = delete.moved_to else {
        out.push(0);
        return;
    };
    put_varint(out, u64::from(region.0) + 1);
    put_varint(out, key.class.into());
    put_zigzag(out, key.body.0.wrapping_sub(delete.body.0) as i64);
    put_zigzag(out, key.since.0.wrapping_sub(delete.tick.0) as i64);
}

fn read_delete(reader: &mut Reader<'_>, envelope_tick: Tick) -> Result<AuraDelete, Malformed> {
    let body = BodyId(reader.varint("deleted aura")?);
    let epoch = Epoch(reader.varint_u32("epoch")?);
    let tick = Tick(envelope_tick.0.wrapping_add(reader.zigzag("tick")? as u64));
    let too_large = reader.error("moved_to", Why::Misplaced);
    let moved_to = match reader.varint("moved_to")? {
        0 => None,
        number => match u32::try_from(number - 1) {
            Ok(region) => Some(NewOwner {
                region: RegionId(region),
                key: ClusterKey {
                    class: reader.varint_u16("new key class")?,
                    body: BodyId(body.0.wrapping_add(reader.zigzag("new key body")? as u64)),
                    since: Tick(tick.0.wrapping_add(reader.zigzag("new key tick")? as u64)),
                },
            }),
            Err(_) => {
                let why = Why::TooLarge(number);
                return Err(Malformed { why, ..too_large });
            }
        },
    };
    Ok(AuraDelete {
        body,
        epoch,
        tick,
        moved_to,
    })
}
