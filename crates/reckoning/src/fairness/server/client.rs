//! One client of the server: its pairs, its timetable, its packets under way.

use super::account::Account;
use super::calendar::Calendar;
use crate::fairness::delay::DelayEstimator;
use crate::fairness::policies::ReceiverId;
use crate::vector::DrVector;
use domain::{BodyId, SimTime};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// Counts the packets to one client, from 1. At 60 a second 32 bits last two years.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct PacketSeq(pub u32);

/// Whether a pair is in the timetable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Queued,
    /// Waits at its entity for something new; the number is that of the waiting.
    Parked(u32),
}

/// One entity in a client's scope.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) entity: u32,
    pub(super) entity_id: BodyId,
    pub(super) entity_serial: u64,
    pub(super) serial: u64,
    pub(super) relevance: f64,
    /// Relevance × fairness, as counted in the client's sums.
    pub(super) priority: f64,
    /// As counted in the entity's sum.
    pub(super) error: f64,
    pub(super) account: Account,
    pub(super) credit: f64,
    pub(super) state: State,
    pub(super) parkings: u32,
}

/// A vector in a packet.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) pair: u32,
    pub(super) serial: u64,
    pub(super) vector: Arc<DrVector>,
}

/// A packet whose fate is not known.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) seq: PacketSeq,
    pub(super) sent: SimTime,
    /// Taken out when it is acknowledged.
    pub(super) entries: Vec<Entry>,
}

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: ReceiverId,
    pub(super) bytes_per_sec: f64,
    /// Bytes it may be sent now.
    pub(super) tokens: f64,
    pub(super) pairs: Vec<Option<Pair>>,
    free: Vec<u32>,
    pub(super) by_entity: FxHashMap<BodyId, u32>,
    pub(super) calendar: Calendar<(u32, u64)>,
    /// Of all pairs, and of those in the timetable.
    pub(super) priority_sum: f64,
    pub(super) active_sum: f64,
    pub(super) in_flight: VecDeque<Packet>,
    pub(super) newest_packet: PacketSeq,
    pub(super) delays: DelayEstimator,
    pub(super) round_trips: DelayEstimator,
}

impl Client {
    pub(super) fn new(id: ReceiverId, bytes_per_sec: f64) -> Self {
        Self {
            id,
            bytes_per_sec,
            tokens: 0.0,
            pairs: Vec::new(),
            free: Vec::new(),
            by_entity: FxHashMap::default(),
            calendar: Calendar::new(),
            priority_sum: 0.0,
            active_sum: 0.0,
            in_flight: VecDeque::new(),
            newest_packet: PacketSeq::default(),
            delays: DelayEstimator::default(),
            round_trips: DelayEstimator::default(),
        }
    }

    /// Enters a new pair, due at once.
    pub(super) fn add_pair(&mut self, pair: Pair) {
        self.priority_sum += pair.priority;
        self.active_sum += pair.priority;
        let index = self.free.pop().unwrap_or(self.pairs.len() as u32);
        self.by_entity.insert(pair.entity_id, index);
        self.calendar.insert(0, (index, pair.serial));
        if index as usize == self.pairs.len() {
            self.pairs.push(Some(pair));
        } else {
            self.pairs[index as usize] = Some(pair);
        }
    }

    /// Takes a pair out; what refers to it elsewhere is recognised by its serial number.
    pub(super) fn remove_pair(&mut self, index: u32) -> Option<Pair> {
        let pair = self.pairs.get_mut(index as usize)?.take()?;
        self.free.push(index);
        self.by_entity.remove(&pair.entity_id);
        self.priority_sum -= pair.priority;
        if pair.state == State::Queued {
            self.active_sum -= pair.priority;
        }
        if self.by_entity.is_empty() {
            // Nothing is left to sum; what rounding left behind goes too.
            (self.priority_sum, self.active_sum) = (0.0, 0.0);
        }
        Some(pair)
    }

    /// The pair at this index, if it is still the same one.
    pub(super) fn pair_mut(&mut self, index: u32, serial: u64) -> Option<&mut Pair> {
        let pair = self.pairs.get_mut(index as usize)?.as_mut()?;
        (pair.serial == serial).then_some(pair)
    }

    /// A parked pair becomes due now.
    pub(super) fn wake(&mut self, index: u32, serial: u64) {
        let Some(pair) = self.pair_mut(index, serial) else {
            return;
        };
        if let State::Parked(_) = pair.state {
            pair.state = State::Queued;
            self.active_sum += self.pairs[index as usize]
                .as_ref()
                .map_or(0.0, |pair| pair.priority);
            self.calendar.insert(0, (index, serial));
        }
    }

    /// Sets a pair aside that was just taken from the timetable. Returns the number of its waiting.
    pub(super) fn park(&mut self, index: u32) -> Option<u32> {
        let pair = self.pairs.get_mut(index as usize)?.as_mut()?;
        pair.parkings += 1;
        pair.state = State::Parked(pair.parkings);
        self.active_sum -= pair.priority;
        Some(pair.parkings)
    }

    /// Weighs a pair anew.
    pub(super) fn set_priority(&mut self, index: u32, priority: f64) {
        let Some(Some(pair)) = self.pairs.get_mut(index as usize) else {
            return;
        };
        let change = priority - pair.priority;
        pair.priority = priority;
        self.priority_sum += change;
        if pair.state == State::Queued {
            self.active_sum += change;
        }
    }

    /// The priorities that wait for bytes. Rounding must not make them nothing while there are some.
    pub(super) fn waiting_priority(&self) -> f64 {
        if self.calendar.len() == 0 {
            return 0.0;
        }
        self.active_sum.max(1e-3 * self.mean_priority())
    }

    pub(super) fn mean_priority(&self) -> f64 {
        self.priority_sum.max(0.0) / self.by_entity.len().max(1) as f64
    }
}
