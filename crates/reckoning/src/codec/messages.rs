//! What a packet carries: ghosts, acks of vectors, events.
//!
//! ```text
//! tag u4
//! 1 vector   policy │ vector                                                   without ghosts: a bare stream of vectors
//! 2 ack      [`VectorAck`]
//! 3 event    guarantee u2 │ [number elastic] │ method elastic │ bytes u11 │ bytes        unguaranteed ones have no number
//! 4 ghost    entity elastic │ new flag │ [class u16 │ life u16] │ dirty bits u32, elastic │ bit 0: policy, vector without its entity
//!                                                                             │ bits 1–31: bytes u8 │ bytes
//! 5 kill     entity elastic
//! ```
//! Tag 0 ends a packet.

use super::acks::{get_policy, put_policy};
use super::vectors::{check_vector, get_fields, put_fields, read_vector};
use super::{BitReader, BitWriter, Limits, Malformed, Unsendable, VectorAck, Why, write_vector};
use crate::DrVector;
use crate::fairness::PolicyTag;
use domain::{BodyId, SimTime};

/// The most bytes of one event's arguments.
pub const MAX_EVENT_BYTES: usize = 768;
/// The most bytes behind one of the 31 application state bits.
pub const MAX_STATE_BYTES: usize = 128;

/// What the sender of an event may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guarantee {
    /// Arrives once, after all earlier events of this class.
    Ordered,
    /// Arrives once, in any order.
    Guaranteed,
    /// Arrives at most once.
    Unguaranteed,
}

/// A method called on the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// How hard to try.
    pub guarantee: Guarantee,
    /// Counts the events of one class, from 0; 0 for unguaranteed ones.
    pub number: u32,
    /// Which method; the two sides agree on the numbers.
    pub method: u16,
    /// Its arguments, at most [`MAX_EVENT_BYTES`].
    pub arguments: Vec<u8>,
}

/// Which of an object's 32 independent pieces of state: bit 0 is the vector (DR-47), 1 to 31 are the application's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateBits(pub u32);

impl StateBits {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The vector.
    pub const VECTOR: Self = Self(1);

    /// One of the application's bits; `None` unless it is 1 to 31.
    pub fn application(bit: u8) -> Option<Self> {
        (1..32).contains(&bit).then(|| Self(1 << bit))
    }

    /// Is there nothing?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Does it contain all of these?
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These, but not those.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The indices of the application's bits among these, rising.
    pub fn application_bits(self) -> impl Iterator<Item = u8> {
        (1..32).filter(move |bit| self.0 & 1 << bit != 0)
    }
}

/// What a new object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Introduction {
    /// The application's kind of thing.
    pub class: u16,
    /// Which of its lives in the receiver's scope this is. A receiver that still holds the object from an earlier one, since it
    /// never heard that it left, starts afresh.
    pub life: u16,
}

/// The present state of an object, or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct GhostUpdate {
    /// Which object.
    pub entity: BodyId,
    /// What it is, until the receiver is known to have the object.
    pub introduction: Option<Introduction>,
    /// Its newest vector, and the policy that sent it.
    pub vector: Option<(PolicyTag, DrVector)>,
    /// Is the vector's time on the wire (global clock), or will each hop project it (one-way-delay mode)?
    pub timed: bool,
    /// The application's state: (bit 1 to 31, rising; bytes).
    pub state: Vec<(u8, Vec<u8>)>,
}

impl GhostUpdate {
    /// Which bits of state it carries.
    pub fn bits(&self) -> StateBits {
        let vector = self.vector.map_or(0, |_| StateBits::VECTOR.0);
        let state = self.state.iter().map(|(bit, _)| 1 << bit);
        StateBits(state.fold(vector, |all, bit: u32| all | bit))
    }

    fn check(&self) -> Result<(), Unsendable> {
        if let Some((_, vector)) = &self.vector {
            check_vector(vector)?;
        }
        let rising = self.state.windows(2).all(|two| two[0].0 < two[1].0);
        let sizes = self.state.iter().map(|(_, bytes)| bytes.len());
        at_most("bytes of state", sizes.max().unwrap_or(0), MAX_STATE_BYTES)?;
        let in_range = self.state.iter().all(|(bit, _)| (1..32).contains(bit));
        at_most(
            "state bits (1 to 31, rising)",
            if rising && in_range {
                0
            } else {
                self.state.len()
            },
            0,
        )
    }

    fn put(&self, out: &mut BitWriter, base: SimTime) {
        out.elastic(self.entity.0);
        out.flag(self.introduction.is_some());
        if let Some(Introduction { class, life }) = self.introduction {
            out.bits(class.into(), 16);
            out.bits(life.into(), 16);
        }
        out.elastic(self.bits().0.into());
        if let Some((policy, vector)) = &self.vector {
            put_policy(out, *policy);
            put_fields(out, vector, base, self.timed);
        }
        for (_, bytes) in &self.state {
            out.bits(bytes.len() as u64, 8);
            out.bytes(bytes);
        }
    }

    fn get(reader: &mut BitReader<'_>, base: SimTime, limits: &Limits) -> Result<Self, Malformed> {
        let entity = BodyId(reader.elastic("ghost")?);
        let introduction = match reader.flag("ghost is new")? {
            true => Some(Introduction {
                class: reader.bits(16, "class")? as u16,
                life: reader.bits(16, "life")? as u16,
            }),
            false => None,
        };
        let bits = StateBits(reader.elastic_max(u32::MAX.into(), "state bits")? as u32);
        let (mut vector, mut timed) = (None, true);
        if bits.contains(StateBits::VECTOR) {
            let policy = get_policy(reader)?;
            let (read, has_time) = get_fields(reader, entity, base, limits)?;
            (vector, timed) = (Some((policy, read)), has_time);
        }
        let mut state = Vec::new();
        for bit in bits.application_bits() {
            state.push((bit, get_bytes(reader, 8, MAX_STATE_BYTES, "state")?));
        }
        Ok(Self {
            entity,
            introduction,
            vector,
            timed,
            state,
        })
    }
}

/// One thing in a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A bare vector, for streams that need no ghosts.
    Vector {
        /// Which policy sent it.
        policy: PolicyTag,
        /// The vector.
        vector: DrVector,
    },
    /// Receptions of vectors.
    Ack(VectorAck),
    /// A method call.
    Event(Event),
    /// State of an object.
    Ghost(GhostUpdate),
    /// An object that is gone from the receiver's scope.
    Kill(BodyId),
}

impl Message {
    /// Appends the message, with times relative to `base`. Nothing is appended if it may not be sent.
    pub fn write(&self, out: &mut BitWriter, base: SimTime) -> Result<(), Unsendable> {
        match self {
            Self::Vector { policy, vector } => {
                check_vector(vector)?;
                out.bits(1, 4);
                put_policy(out, *policy);
                write_vector(out, vector, base, true)?;
            }
            Self::Ack(ack) => {
                ack.check()?;
                out.bits(2, 4);
                ack.put(out, base);
            }
            Self::Event(event) => {
                at_most("bytes of arguments", event.arguments.len(), MAX_EVENT_BYTES)?;
                out.bits(3, 4);
                put_event(out, event);
            }
            Self::Ghost(update) => {
                update.check()?;
                out.bits(4, 4);
                update.put(out, base);
            }
            Self::Kill(entity) => {
                out.bits(5, 4);
                out.elastic(entity.0);
            }
        }
        Ok(())
    }

    /// Reads one message; `None` at the packet's end.
    pub fn read(
        reader: &mut BitReader<'_>,
        base: SimTime,
        limits: &Limits,
    ) -> Result<Option<Self>, Malformed> {
        let start = reader.clone();
        Ok(Some(match reader.bits(4, "tag of message")? {
            0 => return Ok(None),
            1 => Self::Vector {
                policy: get_policy(reader)?,
                vector: read_vector(reader, base, limits)?,
            },
            2 => Self::Ack(VectorAck::get(reader, base, limits)?),
            3 => Self::Event(get_event(reader)?),
            4 => Self::Ghost(GhostUpdate::get(reader, base, limits)?),
            5 => Self::Kill(BodyId(reader.elastic("killed ghost")?)),
            tag => return Err(start.error("tag of message", Why::UnknownKind(tag))),
        }))
    }
}

fn put_event(out: &mut BitWriter, event: &Event) {
    let code = match event.guarantee {
        Guarantee::Ordered => 0,
        Guarantee::Guaranteed => 1,
        Guarantee::Unguaranteed => 2,
    };
    out.bits(code, 2);
    if event.guarantee != Guarantee::Unguaranteed {
        out.elastic(event.number.into());
    }
    out.elastic(event.method.into());
    out.bits(event.arguments.len() as u64, 11);
    out.bytes(&event.arguments);
}

fn get_event(reader: &mut BitReader<'_>) -> Result<Event, Malformed> {
    let start = reader.clone();
    let guarantee = match reader.bits(2, "guarantee")? {
        0 => Guarantee::Ordered,
        1 => Guarantee::Guaranteed,
        2 => Guarantee::Unguaranteed,
        code => return Err(start.error("guarantee", Why::UnknownKind(code))),
    };
    let number = match guarantee {
        Guarantee::Unguaranteed => 0,
        _ => reader.elastic_max(u32::MAX.into(), "number of event")? as u32,
    };
    Ok(Event {
        guarantee,
        number,
        method: reader.elastic_max(u16::MAX.into(), "method")? as u16,
        arguments: get_bytes(reader, 11, MAX_EVENT_BYTES, "arguments")?,
    })
}

fn get_bytes(
    reader: &mut BitReader<'_>,
    length_bits: u32,
    max: usize,
    what: &'static str,
) -> Result<Vec<u8>, Malformed> {
    let start = reader.clone();
    let count = reader.bits(length_bits, what)?;
    if count > max as u64 {
        return Err(start.error(what, Why::TooLarge(count)));
    }
    reader.bytes(count as usize, what)
}

fn at_most(what: &'static str, count: usize, max: usize) -> Result<(), Unsendable> {
    if count > max {
        return Err(Unsendable::TooMany { what, count, max });
    }
    Ok(())
}
