//! One entity of the server: the vectors generated for it lately, and who waits for the next.

use crate::fairness::exported::{PathError, is_finite};
use crate::fairness::policies::ReceiverId;
use crate::vector::DrVector;
use domain::{BodyId, SimTime};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Points at a pair of a client. `serial` tells whether it is still the same pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PairRef {
    pub(super) client: u32,
    pub(super) pair: u32,
    pub(super) serial: u64,
}

/// A pair that waits for something new. `number` tells whether it still does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parking {
    pub(super) pair: PairRef,
    pub(super) number: u32,
}

/// The newest vectors, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Each with its time beside it, so that a search reads one piece of memory and not all vectors.
    vectors: VecDeque<(SimTime, Arc<DrVector>)>,
}

impl History {
    pub(super) fn newest(&self) -> Option<&Arc<DrVector>> {
        self.vectors.back().map(|(_, vector)| vector)
    }

    fn push(&mut self, vector: DrVector, depth: usize) {
        self.vectors.push_back((vector.time, Arc::new(vector)));
        while self.vectors.len() > depth.max(1) {
            self.vectors.pop_front();
        }
    }

    /// Most questions are about the recent past, so it is searched from the end.
    fn index_at(&self, at: SimTime) -> usize {
        let known = self.vectors.iter().rposition(|(time, _)| *time <= at);
        known.unwrap_or(0)
    }

    /// The vector in effect at `at`; the oldest known one if that is further back than is remembered.
    pub(super) fn in_effect(&self, at: SimTime) -> Option<&DrVector> {
        self.vectors
            .get(self.index_at(at))
            .map(|(_, vector)| vector.as_ref())
    }

    /// From `from` to `to`, cut where the vector changes.
    pub(super) fn slices(
        &self,
        from: SimTime,
        to: SimTime,
    ) -> impl ExactSizeIterator<Item = (&DrVector, SimTime, SimTime)> {
        let (first, last) = (self.index_at(from), self.index_at(to));
        let until = if self.vectors.is_empty() { 0 } else { last + 1 };
        (first..until).map(move |index| {
            let (time, vector) = &self.vectors[index];
            let start = if index == first { from } else { *time };
            let next = self.vectors.get(index + 1).map_or(to, |(next, _)| *next);
            (vector.as_ref(), start, next.min(to))
        })
    }
}

/// An entity and the state all its clients share.
#[derive(Clone, Debug)]
pub(super) struct Entity {
    pub(super) id: BodyId,
    /// An entity that is removed and comes back is another one.
    pub(super) serial: u64,
    pub(super) history: History,
    /// What the newest vector costs in a packet.
    pub(super) bytes: usize,
    /// Pairs that were due when there was nothing new for them.
    pub(super) parked: Vec<Parking>,
    /// Errors of all pairs, as of when each was last read, and how many there are.
    pub(super) error_sum: f64,
    pub(super) pairs: usize,
    /// Errors another server handed over, for clients that do not have it in scope yet.
    pub(super) handed_over: BTreeMap<ReceiverId, f64>,
}

impl Entity {
    pub(super) fn new(id: BodyId, serial: u64) -> Self {
        Self {
            id,
            serial,
            history: History::default(),
            bytes: 0,
            parked: Vec::new(),
            error_sum: 0.0,
            pairs: 0,
            handed_over: BTreeMap::new(),
        }
    }

    /// Takes the next vector; remembers at most `depth`.
    pub(super) fn push(
        &mut self,
        vector: DrVector,
        bytes: usize,
        depth: usize,
    ) -> Result<(), PathError> {
        if !is_finite(&vector) {
            return Err(PathError::NotFinite(vector.seq));
        }
        if let Some(newest) = self.history.newest()
            && (vector.seq <= newest.seq || vector.time < newest.time)
        {
            return Err(PathError::OutOfOrder {
                seq: vector.seq,
                time: vector.time,
                newest: newest.seq,
            });
        }
        self.history.push(vector, depth);
        self.bytes = bytes;
        Ok(())
    }

    pub(super) fn mean_error(&self) -> f64 {
        self.error_sum.max(0.0) / self.pairs.max(1) as f64
    }
}
