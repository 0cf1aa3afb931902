//! What stations say to each other, and its bytes.
//!
//! ```text
//! datagram = version u8 │ incarnation elastic │ sequence elastic │ sent µs elastic │ message* │ tag 0 │ zero bits │ digest 8 bytes
//! message  = tag u4 │ fields
//!
//!   1 Update   owner ───────────────▶ every station that shows the body          where my body is
//!   2 Record   participant ─────────▶ the other participant, nobody else         we hit, or will hit, at this time
//!   3 Vote     participant ─────────▶ the other participant                      pre-collision: may we?
//!   4 Ask      station ─────────────▶ the station whose clock counts             what time is it?
//!   5 Answer   station ◀───────────── the station whose clock counts
//!   6 Report   station that shows ──▶ owner                                      how wrong I was about your body
//! ```
//!
//! Numbers are those of [`reckoning::codec::BitWriter`]: each takes as many bits as it needs, plus 6. Times are whole microseconds,
//! relative to the header's. The digest is keyed with the secret of the two stations and covers sender, receiver and every
//! byte before it, so nobody else can speak in a participant's name; what a participant itself may say is judged by the
//! [guard](crate::GuardSettings). 8 bytes: a forger needs 2⁶³ tries on average, and every miss is counted.

mod datagram;
mod key;
mod record;
mod small;
mod update;

pub use datagram::{
    Datagram, Header, MAX_DATAGRAM_BYTES, MAX_MESSAGES, Refusal, VERSION, seal_bytes,
};
pub use key::{DIGEST_BYTES, LinkKey};
pub use record::{MAX_EARLIER, Record, RecordKind};
pub use small::{ClockAnswer, ClockAsk, Report, Vote, VoteKind};
pub use update::Update;

use domain::SimTime;
use glam::DVec3;
use reckoning::codec::{BitReader, BitWriter, Malformed, Why};
use serde::{Deserialize, Serialize};

/// Positions, velocities and accelerations beyond this are refused.
pub const MAX_COORDINATE: f64 = 1e9;
/// Times beyond this (ten years) are refused.
pub const MAX_TIME: SimTime = SimTime(315_360_000_000_000_000);

/// One thing said.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Where a master is.
    Update(Update),
    /// A hit, committed or done.
    Record(Record),
    /// A vote on a hit.
    Vote(Vote),
    /// What time is it?
    Ask(ClockAsk),
    /// The time.
    Answer(ClockAnswer),
    /// How wrong a replica was.
    Report(Report),
}

/// What bytes are for (ML-44).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    /// Updates.
    Updates,
    /// Notices of committed hits.
    Notices,
    /// Hits that happened, and heartbeats.
    Counts,
    /// Pre-collision votes.
    Votes,
    /// Clock questions and answers.
    Clock,
    /// Closed-loop reports.
    Reports,
    /// Headers, ends and digests of datagrams.
    Framing,
}

impl Class {
    /// All of them, in order.
    pub const ALL: [Self; 7] = [
        Self::Updates,
        Self::Notices,
        Self::Counts,
        Self::Votes,
        Self::Clock,
        Self::Reports,
        Self::Framing,
    ];
}

impl Message {
    /// What its bytes are for.
    pub fn class(&self) -> Class {
        match self {
            Self::Update(_) => Class::Updates,
            Self::Record(record) => match record.kind {
                RecordKind::Notice => Class::Notices,
                RecordKind::Done => Class::Counts,
            },
            Self::Vote(_) => Class::Votes,
            Self::Ask(_) | Self::Answer(_) => Class::Clock,
            Self::Report(_) => Class::Reports,
        }
    }

    pub(crate) fn put(&self, out: &mut BitWriter, grid: &Grid) {
        match self {
            Self::Update(update) => {
                out.bits(1, 4);
                update.put(out, grid);
            }
            Self::Record(record) => {
                out.bits(2, 4);
                record.put(out, grid);
            }
            Self::Vote(vote) => {
                out.bits(3, 4);
                vote.put(out);
            }
            Self::Ask(ask) => {
                out.bits(4, 4);
                ask.put(out);
            }
            Self::Answer(answer) => {
                out.bits(5, 4);
                answer.put(out);
            }
            Self::Report(report) => {
                out.bits(6, 4);
                report.put(out, grid);
            }
        }
    }

    /// The next message, or `None` at the end.
    pub(crate) fn get(reader: &mut BitReader<'_>, grid: &Grid) -> Result<Option<Self>, Malformed> {
        Ok(Some(match reader.bits(4, "tag")? {
            0 => return Ok(None),
            1 => Self::Update(Update::get(reader, grid)?),
            2 => Self::Record(Record::get(reader, grid)?),
            3 => Self::Vote(Vote::get(reader)?),
            4 => Self::Ask(ClockAsk::get(reader)?),
            5 => Self::Answer(ClockAnswer::get(reader)?),
            6 => Self::Report(Report::get(reader, grid)?),
            tag => return Err(reader.error("tag", Why::UnknownKind(tag))),
        }))
    }
}

/// What numbers in a datagram are relative to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    /// Whole microseconds.
    pub sent: SimTime,
    pub steps_per_unit: f64,
}

impl Grid {
    pub(crate) fn new(sent: SimTime, steps_per_unit: f64) -> Self {
        Self {
            sent: whole_micros(sent),
            steps_per_unit,
        }
    }

    pub(crate) fn put_time(&self, out: &mut BitWriter, time: SimTime) {
        out.signed((time.0 / 1_000) as i64 - (self.sent.0 / 1_000) as i64);
    }

    pub(crate) fn get_time(
        &self,
        reader: &mut BitReader<'_>,
        what: &'static str,
    ) -> Result<SimTime, Malformed> {
        let delta = reader.signed(what)?;
        let micros = ((self.sent.0 / 1_000) as i64).checked_add(delta);
        match micros.and_then(|micros| u64::try_from(micros).ok()) {
            Some(micros) if micros <= MAX_TIME.0 / 1_000 => Ok(SimTime(micros * 1_000)),
            _ => Err(reader.error(what, Why::TooLarge(delta.unsigned_abs()))),
        }
    }

    pub(crate) fn put_vector(&self, out: &mut BitWriter, vector: DVec3) {
        for value in vector.to_array() {
            out.steps(value, self.steps_per_unit);
        }
    }

    pub(crate) fn get_vector(
        &self,
        reader: &mut BitReader<'_>,
        what: &'static str,
    ) -> Result<DVec3, Malformed> {
        let mut axis = || reader.steps(self.steps_per_unit, MAX_COORDINATE, what);
        Ok(DVec3::new(axis()?, axis()?, axis()?))
    }
}

/// As it will arrive: rounded down to whole microseconds.
pub fn whole_micros(time: SimTime) -> SimTime {
    SimTime(time.0 / 1_000 * 1_000)
}

/// As it will arrive: on the grid, within the limits; what is not a number becomes zero.
pub(crate) fn on_grid(vector: DVec3, steps_per_unit: f64) -> DVec3 {
    let round = |value: f64| {
        let value = value.clamp(-MAX_COORDINATE, MAX_COORDINATE);
        let value = if value.is_nan() { 0.0 } else { value };
        (value * steps_per_unit).round() / steps_per_unit
    };
    DVec3::new(round(vector.x), round(vector.y), round(vector.z))
}
