//! A hit, told to the other participant: the one record the whole protocol turns on.

use super::Grid;
use crate::ids::PairId;
use domain::{BodyId, SimTime};
use glam::DVec3;
use reckoning::codec::{BitReader, BitWriter, Malformed, Why};
use serde::{Deserialize, Serialize};

/// A record carries the times of at most so many earlier hits.
pub const MAX_EARLIER: usize = 3;

/// How far a hit has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RecordKind {
    /// Committed: it will happen at its time (`cp`).
    Notice,
    /// It happened (`c`). Also what a heartbeat repeats.
    Done,
}

/// One hit of one pair (ML-20).
///
/// ```text
/// participant ── Record ──▶ the other participant
/// low elastic │ high − low elastic │ kind u1 │ index elastic │ time signed µs │ score u8 │ has velocities u1 │ (2 × 3 × steps) │
/// earlier u2 │ earlier × (time signed µs)
/// ```
///
/// 8 bytes without velocities, 23 with them in the plane, 27 in space. One record per index replaces the published
/// pair of messages that overwrote each other's time (D4).
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Which bodies.
    pub pair: PairId,
    /// Committed or happened.
    pub kind: RecordKind,
    /// The `cp` (notice) or `c` (done) it brings the pair to. A `Done` of index 0 says: nothing yet.
    pub index: u32,
    /// When it happens, happened.
    pub time: SimTime,
    /// How sure the author is, 255 = it knows.
    pub score: u8,
    /// Velocities of the lower and the higher body right after it.
    pub velocities: Option<[DVec3; 2]>,
    /// Times of the hits before it, newest first: so that none is lost although every message can be.
    pub earlier: Vec<SimTime>,
}

impl Record {
    pub(super) fn put(&self, out: &mut BitWriter, grid: &Grid) {
        let [low, high] = self.pair.bodies();
        out.elastic(low.0);
        out.elastic(high.0 - low.0);
        out.flag(self.kind == RecordKind::Done);
        out.elastic(self.index.into());
        grid.put_time(out, self.time);
        out.bits(self.score.into(), 8);
        out.flag(self.velocities.is_some());
        for velocity in self.velocities.iter().flatten() {
            grid.put_vector(out, *velocity);
        }
        let earlier = &self.earlier[..self.earlier.len().min(MAX_EARLIER)];
        out.bits(earlier.len() as u64, 2);
        for time in earlier {
            grid.put_time(out, *time);
        }
    }

    pub(super) fn get(reader: &mut BitReader<'_>, grid: &Grid) -> Result<Self, Malformed> {
        let low = BodyId(reader.elastic("lower body")?);
        let distance = reader.elastic("distance to the higher body")?;
        let pair = low
            .0
            .checked_add(distance)
            .and_then(|high| PairId::new(low, BodyId(high)))
            .ok_or_else(|| reader.error("pair", Why::TooLarge(distance)))?;
        let kind = match reader.flag("kind")? {
            true => RecordKind::Done,
            false => RecordKind::Notice,
        };
        let index = reader.elastic_max(u32::MAX.into(), "index")? as u32;
        let time = grid.get_time(reader, "time")?;
        let score = reader.bits(8, "score")? as u8;
        let velocities = match reader.flag("velocities")? {
            true => Some([
                grid.get_vector(reader, "velocity of the lower body")?,
                grid.get_vector(reader, "velocity of the higher body")?,
            ]),
            false => None,
        };
        let earlier = (0..reader.bits(2, "earlier hits")?)
            .map(|_| grid.get_time(reader, "earlier hit"))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            pair,
            kind,
            index,
            time,
            score,
            velocities,
            earlier,
        })
    }
}
