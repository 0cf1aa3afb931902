//! Votes, clock questions, reports.

use super::{Grid, MAX_COORDINATE, MAX_TIME};
use crate::ids::PairId;
use domain::{BodyId, SimTime};
use reckoning::codec::{BitReader, BitWriter, Malformed, Why};
use serde::{Deserialize, Serialize};

/// One step of the two-phase agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VoteKind {
    /// I foresee a hit; do you?
    Request,
    /// I do.
    Yes,
    /// I do not.
    No,
    /// Then let it happen.
    Ack,
}

/// A vote on a pair's next hit (pre-collision only).
///
/// ```text
/// participant ── Vote ──▶ the other participant:   low elastic │ high − low elastic │ kind u2
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// Which bodies.
    pub pair: PairId,
    /// What of them.
    pub kind: VoteKind,
}

impl Vote {
    pub(super) fn put(&self, out: &mut BitWriter) {
        let [low, high] = self.pair.bodies();
        out.elastic(low.0);
        out.elastic(high.0 - low.0);
        out.bits(self.kind as u64, 2);
    }

    pub(super) fn get(reader: &mut BitReader<'_>) -> Result<Self, Malformed> {
        let low = BodyId(reader.elastic("lower body")?);
        let distance = reader.elastic("distance to the higher body")?;
        let pair = low
            .0
            .checked_add(distance)
            .and_then(|high| PairId::new(low, BodyId(high)))
            .ok_or_else(|| reader.error("pair", Why::TooLarge(distance)))?;
        let kind = match reader.bits(2, "vote")? {
            0 => VoteKind::Request,
            1 => VoteKind::Yes,
            2 => VoteKind::No,
            _ => VoteKind::Ack,
        };
        Ok(Self { pair, kind })
    }
}

/// A question for the time, in nanoseconds: the clock's bound must owe nothing to rounding.
///
/// ```text
/// station ── Ask(asked) ──▶ clock station        station ◀── Answer(asked, received, replied) ── clock station
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockAsk {
    /// When it was asked, on the asker's clock.
    pub asked: SimTime,
}

impl ClockAsk {
    pub(super) fn put(&self, out: &mut BitWriter) {
        out.elastic(self.asked.0);
    }

    pub(super) fn get(reader: &mut BitReader<'_>) -> Result<Self, Malformed> {
        let asked = SimTime(reader.elastic_max(MAX_TIME.0, "time of asking")?);
        Ok(Self { asked })
    }
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockAnswer {
    /// Repeated from the question.
    pub asked: SimTime,
    /// When the question arrived.
    pub received: SimTime,
    /// When the answer left.
    pub replied: SimTime,
}

impl ClockAnswer {
    pub(super) fn put(&self, out: &mut BitWriter) {
        out.elastic(self.asked.0);
        out.elastic(self.received.0);
        out.elastic(self.replied.since(self.received).0);
    }

    pub(super) fn get(reader: &mut BitReader<'_>) -> Result<Self, Malformed> {
        let asked = SimTime(reader.elastic_max(MAX_TIME.0, "time of asking")?);
        let received = SimTime(reader.elastic_max(MAX_TIME.0, "time of reception")?);
        let held = SimTime(reader.elastic_max(MAX_TIME.0, "time held")?);
        Ok(Self {
            asked,
            received,
            replied: received + held,
        })
    }
}

/// How wrong a replica was when its last update arrived (closed-loop senders).
///
/// ```text
/// station that shows ── Report ──▶ owner:   body elastic │ deviation steps
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Which.
    pub body: BodyId,
    /// Distance between where it was shown and where the update said it was.
    pub deviation: f64,
}

impl Report {
    pub(super) fn put(&self, out: &mut BitWriter, grid: &Grid) {
        out.elastic(self.body.0);
        let deviation = self.deviation.clamp(0.0, MAX_COORDINATE);
        out.elastic((deviation * grid.steps_per_unit).round() as u64);
    }

    pub(super) fn get(reader: &mut BitReader<'_>, grid: &Grid) -> Result<Self, Malformed> {
        let body = BodyId(reader.elastic("body")?);
        let max = (MAX_COORDINATE * grid.steps_per_unit) as u64;
        let deviation = reader.elastic_max(max, "deviation")? as f64 / grid.steps_per_unit;
        Ok(Self { body, deviation })
    }
}
