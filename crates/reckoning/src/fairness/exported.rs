//! The exported path: every vector generated for an entity, each followed until the next. It is one for all receivers and all
//! policies; who is sent which vector changes the placed paths only.

use super::slice::{Curves, slice_error};
use crate::vector::{DrVector, Seq};
use domain::{BodyId, SimTime};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use thiserror::Error;

/// Why a vector cannot continue an exported path. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// It belongs to another entity.
    #[error("vector of entity {0} on the path of another one")]
    OtherEntity(BodyId),
    /// Its number or time is not after those of the newest vector.
    #[error("vector {} generated at {time} does not follow vector {}", seq.0, newest.0)]
    OutOfOrder {
        /// Its number.
        seq: Seq,
        /// Its time of generation.
        time: SimTime,
        /// The number of the newest vector.
        newest: Seq,
    },
    /// One of its numbers is NaN or infinite.
    #[error("vector {} has a value that is not finite", .0.0)]
    NotFinite(Seq),
}

/// The vectors generated for one entity, oldest first, as far back as some receiver still needs them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExportedPath {
    vectors: VecDeque<DrVector>,
}

impl ExportedPath {
    /// Appends a newly generated vector.
    pub fn push(&mut self, vector: DrVector) -> Result<(), PathError> {
        if !is_finite(&vector) {
            return Err(PathError::NotFinite(vector.seq));
        }
        if let Some(newest) = self.newest() {
            if vector.entity != newest.entity {
                return Err(PathError::OtherEntity(vector.entity));
            }
            if vector.seq <= newest.seq || vector.time < newest.time {
                return Err(PathError::OutOfOrder {
                    seq: vector.seq,
                    time: vector.time,
                    newest: newest.seq,
                });
            }
        }
        self.vectors.push_back(vector);
        Ok(())
    }

    /// The vector generated last.
    pub fn newest(&self) -> Option<&DrVector> {
        self.vectors.back()
    }

    /// The vector with this number, if it is still kept.
    pub fn get(&self, seq: Seq) -> Option<&DrVector> {
        let index = self.vectors.binary_search_by_key(&seq, |v| v.seq).ok()?;
        self.vectors.get(index)
    }

    /// The vector the sender follows at `at`.
    pub fn in_effect(&self, at: SimTime) -> Option<&DrVector> {
        self.vectors.get(self.index_at(at)?)
    }

    fn index_at(&self, at: SimTime) -> Option<usize> {
        self.vectors
            .partition_point(|vector| vector.time <= at)
            .checked_sub(1)
    }

    /// How many vectors are kept.
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Whether nothing was generated yet.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }

    /// All that is kept, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &DrVector> {
        self.vectors.iter()
    }

    /// Forgets what is no longer followed at `before` (DR-21).
    pub fn prune(&mut self, before: SimTime) {
        if let Some(first_needed) = self.index_at(before) {
            self.vectors.drain(..first_needed);
        }
    }

    /// The path from `from` to `to`, cut where the sender changes its vector. What lies before the first vector is left out.
    pub fn slices(
        &self,
        from: SimTime,
        to: SimTime,
    ) -> impl Iterator<Item = (&DrVector, SimTime, SimTime)> {
        let first = self.index_at(from).unwrap_or(0);
        (first..self.vectors.len())
            .map(move |index| {
                let vector = &self.vectors[index];
                let until = self.vectors.get(index + 1).map_or(to, |next| next.time);
                (vector, vector.time.max(from), until.min(to))
            })
            .take_while(move |(vector, ..)| vector.time < to)
            .filter(|(_, start, end)| start < end)
    }
}

/// A vector and the time from which a receiver follows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reception {
    /// When it arrived.
    pub at: SimTime,
    /// What arrived.
    pub vector: DrVector,
}

/// How error is added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// How bending slices are measured.
    pub curves: Curves,
    /// After this many seconds an error counts half (default: never, as in the thesis). With it the sum speaks of the
    /// recent past, so that joins, pauses and handovers do not leave a mark for ever. Must be above zero.
    pub half_life_secs: Option<f64>,
}

impl Measure {
    /// What is left of an error after this long.
    pub fn faded(&self, error: f64, secs: f64) -> f64 {
        match self.half_life_secs {
            Some(half_life) => error * (-secs / half_life).exp2(),
            None => error,
        }
    }

    /// `total` at `from` becomes the total at `to`, the receiver following `placed` all the time.
    pub(super) fn add(
        &self,
        total: f64,
        exported: &ExportedPath,
        placed: &DrVector,
        from: SimTime,
        to: SimTime,
    ) -> f64 {
        if to <= from {
            return total;
        }
        let mut sum = self.faded(total, to.since(from).as_secs());
        for (vector, start, end) in exported.slices(from, to) {
            let error = slice_error(vector, placed, start, end, self.curves);
            sum += self.faded_evenly(error, end.since(start).as_secs(), to.since(end).as_secs());
        }
        sum
    }

    /// What is left of an error that came evenly over `secs` and ended `ago` seconds ago.
    fn faded_evenly(&self, error: f64, secs: f64, ago: f64) -> f64 {
        let Some(half_life) = self.half_life_secs else {
            return error;
        };
        let rate = std::f64::consts::LN_2 / half_life;
        let mean = -(-rate * secs).exp_m1() / (rate * secs);
        self.faded(error * mean, ago)
    }
}

/// The export error between `from` and `to` of a receiver that got `received`, in order of time (Eq. 3.1). A vector that is not
/// newer than the one in use changes nothing, and nothing before the first reception counts (DR-16).
pub fn export_error(
    exported: &ExportedPath,
    received: &[Reception],
    from: SimTime,
    to: SimTime,
    measure: &Measure,
) -> f64 {
    let mut walk = Walk::new(0.0, from, None);
    for reception in received {
        if reception.at >= to {
            break;
        }
        walk.receive(exported, reception.at, &reception.vector, measure);
    }
    walk.until(exported, to, measure)
}

/// A receiver's path as it is walked along: the vector it follows and the error so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// The error up to `as_of`.
    total: f64,
    as_of: SimTime,
    following: Option<DrVector>,
}

impl Walk {
    /// From a point on the path.
    pub(super) fn new(total: f64, as_of: SimTime, following: Option<DrVector>) -> Self {
        Self {
            total,
            as_of,
            following,
        }
    }

    /// The vector followed now.
    pub(super) fn following(&self) -> Option<&DrVector> {
        self.following.as_ref()
    }

    /// A vector arrives. Arrivals are told in order of time; one told too late counts as arriving now.
    pub(super) fn receive(
        &mut self,
        exported: &ExportedPath,
        at: SimTime,
        vector: &DrVector,
        measure: &Measure,
    ) {
        if self.following.is_some_and(|held| vector.seq <= held.seq) {
            return;
        }
        let at = at.max(self.as_of);
        *self = Self::new(self.until(exported, at, measure), at, Some(*vector));
    }

    /// The error so far at a time not before the last arrival.
    pub(super) fn until(&self, exported: &ExportedPath, to: SimTime, measure: &Measure) -> f64 {
        match &self.following {
            Some(vector) => measure.add(self.total, exported, vector, self.as_of, to),
            None => measure.faded(self.total, to.since(self.as_of).as_secs()),
        }
    }
}

pub(super) fn is_finite(vector: &DrVector) -> bool {
    vector.position.is_finite()
        && vector.velocity.is_finite()
        && vector.acceleration.is_finite()
        && vector.spin.is_finite()
        && vector.rotation.is_finite()
}
