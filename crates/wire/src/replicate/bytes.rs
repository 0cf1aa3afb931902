//! Parcels to bytes and back.
//!
//! ```text
//! 'A' 'R' │ version 1 │ checksum of the body, 4 bytes │ body
//! body:     allocation │ from │ tick │ word count │ words …          a word: tag, count, elements
//! ```
//!
//! As with envelopes, every count is checked against the bytes that are left before memory is taken for it.

use super::check::{Absurd, MAX_STATES};
use super::{BodyState, Parcel, Word};
use crate::bytes::{Malformed, Reader, Why, put_f32, put_f64, put_varint};
use crate::frame::{Broken, Frame};
use domain::{BodyId, Epoch, Motion, RegionId, Tick};
use glam::{DVec3, Quat, Vec3};
use thiserror::Error;

/// The version of the bytes. A change of any byte is a new version.
pub const VERSION: u8 = 1;
/// The largest parcel.
pub const MAX_PARCEL_BYTES: usize = 8 << 20;

const FRAME: Frame = Frame {
    letters: *b"AR",
    version: VERSION,
    max_bytes: MAX_PARCEL_BYTES,
};
/// Names, flags, position, rotation.
const STATE_MIN_BYTES: usize = 6 + 24 + 16;

/// Why bytes are not a parcel, or a parcel not worth sending.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ParcelError {
    /// More than [`MAX_PARCEL_BYTES`].
    #[error("{0} bytes are more than a parcel may have")]
    TooLong(usize),
    /// They do not begin as parcels do.
    #[error("these bytes are not a parcel")]
    NotAParcel,
    /// Another version's bytes.
    #[error("a parcel of version {0}; this is version {VERSION}")]
    UnknownVersion(u8),
    /// The body is not what was sent.
    #[error("the parcel was damaged on its way")]
    Damaged,
    /// The body does not follow the format.
    #[error("malformed parcel: {0}")]
    Malformed(#[from] Malformed),
    /// The body says something that cannot be.
    #[error("the parcel makes no sense: {0}")]
    Absurd(#[from] Absurd),
}

impl From<Broken> for ParcelError {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::TooLong(bytes) => Self::TooLong(bytes),
            Broken::OtherKind => Self::NotAParcel,
            Broken::OtherVersion(version) => Self::UnknownVersion(version),
            Broken::Damaged => Self::Damaged,
        }
    }
}

mod tag {
    pub const REPLICATE: u8 = 0;
    pub const TRANSFER: u8 = 1;
    pub const ACCEPT: u8 = 2;
    pub const CONTESTED: u8 = 3;
    pub const SETTLED: u8 = 4;
    pub const CORRECT: u8 = 5;
    pub const DONE: u8 = 6;
    pub const GO: u8 = 7;
}

mod flag {
    pub const FROZEN: u8 = 1;
    pub const MOVES: u8 = 2;
    pub const BASE: u8 = 4;
}

/// The parcel's bytes.
pub fn encode(parcel: &Parcel) -> Result<Vec<u8>, ParcelError> {
    let mut out = Vec::new();
    encode_into(parcel, &mut out)?;
    Ok(out)
}

/// The parcel's bytes in a buffer that is used again; it is cleared first, and left empty on an error.
pub fn encode_into(parcel: &Parcel, out: &mut Vec<u8>) -> Result<(), ParcelError> {
    out.clear();
    parcel.check()?;
    FRAME.begin(out);
    put_varint(out, parcel.allocation.into());
    put_varint(out, parcel.from.0.into());
    put_varint(out, parcel.tick.0);
    put_varint(out, parcel.words.len() as u64);
    for word in &parcel.words {
        write_word(out, word);
    }
    FRAME.finish(out).map_err(ParcelError::TooLong)
}

/// The parcel in these bytes, all of them. What it returns has passed [`Parcel::check`].
pub fn decode(bytes: &[u8]) -> Result<Parcel, ParcelError> {
    let body = FRAME.open(bytes)?;
    let mut reader = Reader::new(body);
    let allocation = reader.varint_u32("allocation")?;
    let from = RegionId(reader.varint_u32("from")?);
    let tick = Tick(reader.varint("tick")?);
    let count = reader.count("words", 2)?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        words.push(read_word(&mut reader)?);
    }
    reader.finish("parcel")?;
    let parcel = Parcel {
        allocation,
        from,
        tick,
        words,
    };
    parcel.check()?;
    Ok(parcel)
}

fn write_word(out: &mut Vec<u8>, word: &Word) {
    match word {
        Word::Replicate(states) => write_states(out, tag::REPLICATE, states),
        Word::Transfer(states) => write_states(out, tag::TRANSFER, states),
        Word::Contested(states) => write_states(out, tag::CONTESTED, states),
        Word::Correct(states) => write_states(out, tag::CORRECT, states),
        Word::Accept(accepted) => {
            out.push(tag::ACCEPT);
            put_varint(out, accepted.len() as u64);
            for (body, epoch) in accepted {
                put_varint(out, body.0);
                put_varint(out, epoch.0.into());
            }
        }
        Word::Settled(bytes) => {
            out.push(tag::SETTLED);
            put_varint(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        Word::Done { wrote } => write_wrote(out, tag::DONE, wrote),
        Word::Go { wrote } => write_wrote(out, tag::GO, wrote),
    }
}

fn write_states(out: &mut Vec<u8>, tag: u8, states: &[BodyState]) {
    out.reserve(2 + 80 * states.len());
    out.push(tag);
    put_varint(out, states.len() as u64);
    for state in states {
        write_state(out, state);
    }
}

fn write_wrote(out: &mut Vec<u8>, tag: u8, wrote: &[(RegionId, RegionId)]) {
    out.push(tag);
    put_varint(out, wrote.len() as u64);
    for (writer, reader) in wrote {
        put_varint(out, writer.0.into());
        put_varint(out, reader.0.into());
    }
}

/// States in bytes that the leader passes on unopened.
pub fn settled<'a>(states: impl Iterator<Item = &'a BodyState>) -> Vec<u8> {
    let mut out = Vec::new();
    for state in states {
        write_state(&mut out, state);
    }
    out
}

/// What [`settled`] has packed.
pub fn open_settled(bytes: &[u8]) -> Result<Vec<BodyState>, ParcelError> {
    let mut reader = Reader::new(bytes);
    let mut states = Vec::new();
    while reader.remaining() > 0 {
        if states.len() == MAX_STATES {
            return Err(Absurd::TooMany.into());
        }
        let state = read_state(&mut reader)?;
        state.check()?;
        states.push(state);
    }
    Ok(states)
}

fn write_state(out: &mut Vec<u8>, state: &BodyState) {
    put_varint(out, state.body.0);
    put_varint(out, state.epoch.0.into());
    put_varint(out, state.version.into());
    put_varint(out, state.author.0.into());
    put_varint(out, state.home.0.into());
    let moves = |motion: &Motion| {
        motion.linear_velocity != Vec3::ZERO || motion.angular_velocity != Vec3::ZERO
    };
    let flags = (u8::from(state.frozen) * flag::FROZEN)
        | (u8::from(moves(&state.motion)) * flag::MOVES)
        | (u8::from(state.base.is_some()) * flag::BASE);
    out.push(flags);
    write_motion(out, &state.motion, flags & flag::MOVES != 0);
    if let Some(base) = &state.base {
        write_motion(out, base, true);
    }
}

fn write_motion(out: &mut Vec<u8>, motion: &Motion, moves: bool) {
    for value in motion.position.to_array() {
        put_f64(out, value);
    }
    for value in motion.rotation.to_array() {
        put_f32(out, value);
    }
    if moves {
        for vector in [motion.linear_velocity, motion.angular_velocity] {
            for value in vector.to_array() {
                put_f32(out, value);
            }
        }
    }
}

fn read_word(reader: &mut Reader<'_>) -> Result<Word, Malformed> {
    let tag = reader.u8("word")?;
    Ok(match tag {
        tag::REPLICATE => Word::Replicate(read_states(reader)?),
        tag::TRANSFER => Word::Transfer(read_states(reader)?),
        tag::CONTESTED => Word::Contested(read_states(reader)?),
        tag::CORRECT => Word::Correct(read_states(reader)?),
        tag::ACCEPT => {
            let count = reader.count("accepted", 2)?;
            let mut accepted = Vec::with_capacity(count);
            for _ in 0..count {
                let body = BodyId(reader.varint("body")?);
                accepted.push((body, Epoch(reader.varint_u32("epoch")?)));
            }
            Word::Accept(accepted)
        }
        tag::SETTLED => {
            let count = reader.count("settled", 1)?;
            Word::Settled(reader.take(count, "settled")?.to_vec())
        }
        tag::DONE => Word::Done {
            wrote: read_wrote(reader)?,
        },
        tag::GO => Word::Go {
            wrote: read_wrote(reader)?,
        },
        other => return Err(reader.error("word", Why::UnknownTag(other))),
    })
}

fn read_states(reader: &mut Reader<'_>) -> Result<Vec<BodyState>, Malformed> {
    let count = reader.count("states", STATE_MIN_BYTES)?;
    let mut states = Vec::with_capacity(count);
    for _ in 0..count {
        states.push(read_state(reader)?);
    }
    Ok(states)
}

fn read_wrote(reader: &mut Reader<'_>) -> Result<Vec<(RegionId, RegionId)>, Malformed> {
    let count = reader.count("who wrote to whom", 2)?;
    let mut wrote = Vec::with_capacity(count);
    for _ in 0..count {
        let writer = RegionId(reader.varint_u32("writer")?);
        wrote.push((writer, RegionId(reader.varint_u32("reader")?)));
    }
    Ok(wrote)
}

fn read_state(reader: &mut Reader<'_>) -> Result<BodyState, Malformed> {
    let body = BodyId(reader.varint("body")?);
    let epoch = Epoch(reader.varint_u32("epoch")?);
    let version = reader.varint_u32("version")?;
    let author = RegionId(reader.varint_u32("author")?);
    let home = RegionId(reader.varint_u32("home")?);
    let flags = reader.u8("flags")?;
    if flags & !(flag::FROZEN | flag::MOVES | flag::BASE) != 0 {
        return Err(reader.error("flags", Why::UnknownTag(flags)));
    }
    let motion = read_motion(reader, flags & flag::MOVES != 0)?;
    let base = match flags & flag::BASE != 0 {
        true => Some(read_motion(reader, true)?),
        false => None,
    };
    Ok(BodyState {
        body,
        epoch,
        version,
        author,
        home,
        frozen: flags & flag::FROZEN != 0,
        motion,
        base,
    })
}

fn read_motion(reader: &mut Reader<'_>, moves: bool) -> Result<Motion, Malformed> {
    let mut position = [0.0; 3];
    for value in &mut position {
        *value = reader.f64("position")?;
    }
    let mut rotation = [0.0; 4];
    for value in &mut rotation {
        *value = reader.f32("rotation")?;
    }
    let mut velocities = [[0.0; 3]; 2];
    if moves {
        for value in velocities.iter_mut().flatten() {
            *value = reader.f32("velocity")?;
        }
    }
    Ok(Motion {
        position: DVec3::from_array(position),
        rotation: Quat::from_array(rotation),
        linear_velocity: Vec3::from_array(velocities[0]),
        angular_velocity: Vec3::from_array(velocities[1]),
    })
}
