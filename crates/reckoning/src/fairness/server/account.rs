//! The account of one pair (entity, client): its decaying export error, in constant time and memory.
//!
//! A [`Ledger`](crate::fairness::Ledger) is exact and remembers a few seconds. A server has one account per pair in scope, hundreds of
//! thousands, so this one remembers two vectors (shared with all other clients) and three numbers, and looks at each vector only when it is sent and
//! when it is acknowledged. Times in which very many vectors were generated are measured at a few points only.

use super::entity::History;
use crate::fairness::exported::Measure;
use crate::fairness::slice::{Curves, position_by, slice_error};
use crate::motion::signed_secs;
use crate::vector::{DrVector, Seq};
use domain::SimTime;
use std::sync::Arc;

/// Up to so many slices are added up one by one.
const EXACT_SLICES: usize = 3;
/// Of more, the error is looked at in one point more than this, an even number.
const POINTS: u64 = 4;

/// The account.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// The newest vector the client is known to have.
    placed: Option<Arc<DrVector>>,
    /// The newest vector sent, and when.
    sent: Option<(Arc<DrVector>, SimTime)>,
    /// The error up to `as_of`, from where on the client follows `placed`.
    error: f64,
    as_of: SimTime,
}

impl Account {
    /// `error` is what it starts with: the mean of the entity's other clients, or what another server handed over.
    pub(super) fn new(now: SimTime, error: f64) -> Self {
        Self {
            placed: None,
            sent: None,
            error,
            as_of: now,
        }
    }

    /// The number of the newest vector sent and not known to be lost.
    pub(super) fn newest_sent(&self) -> Seq {
        let sent = self.sent.as_ref().map(|(vector, _)| vector.seq);
        sent.or(self.placed_seq()).unwrap_or_default()
    }

    fn placed_seq(&self) -> Option<Seq> {
        self.placed.as_ref().map(|vector| vector.seq)
    }

    pub(super) fn is_known(&self) -> bool {
        self.placed.is_some()
    }

    pub(super) fn handle_sent(&mut self, now: SimTime, vector: Arc<DrVector>) {
        self.sent = Some((vector, now));
    }

    /// The vector arrived at `at`. One that is not newer than what the client has changes nothing.
    pub(super) fn handle_ack(
        &mut self,
        at: SimTime,
        vector: &Arc<DrVector>,
        history: &History,
        measure: &Measure,
    ) {
        if self.placed_seq().is_some_and(|placed| vector.seq <= placed) {
            return;
        }
        let at = at.max(self.as_of);
        self.error = self.add(
            self.error,
            self.placed.as_deref(),
            self.as_of,
            at,
            history,
            measure,
        );
        self.as_of = at;
        self.placed = Some(Arc::clone(vector));
        if self
            .sent
            .as_ref()
            .is_some_and(|(sent, _)| sent.seq <= vector.seq)
        {
            self.sent = None;
        }
    }

    /// The packet with this vector was lost. If nothing newer is under way the client needs one again.
    pub(super) fn handle_loss(&mut self, seq: Seq) {
        if self.sent.as_ref().is_some_and(|(sent, _)| sent.seq == seq) {
            self.sent = None;
        }
    }

    /// The accumulated error now; what is under way is assumed to arrive after `delay`.
    pub(super) fn aee(
        &self,
        now: SimTime,
        delay: SimTime,
        history: &History,
        measure: &Measure,
    ) -> f64 {
        let placed = self.placed.as_deref();
        match &self.sent {
            Some((sent, at)) if *at + delay < now => {
                let arrival = (*at + delay).max(self.as_of);
                let then = self.add(self.error, placed, self.as_of, arrival, history, measure);
                self.add(then, Some(sent), arrival, now, history, measure)
            }
            _ => self.add(self.error, placed, self.as_of, now, history, measure),
        }
    }

    fn add(
        &self,
        error: f64,
        placed: Option<&DrVector>,
        from: SimTime,
        to: SimTime,
        history: &History,
        measure: &Measure,
    ) -> f64 {
        let secs = to.since(from).as_secs();
        let old = measure.faded(error, secs);
        match placed {
            // Taken as if it came evenly: a pair is read several times per half-life.
            Some(placed) => old + measure.faded(gathered(history, placed, from, to), secs / 2.0),
            None => old,
        }
    }
}

/// The export error between two times. Few slices are added up exactly; of many, the distance is looked at in a few points, and Simpson's rule
/// does the rest: a fairness weight needs no more, and the cost must not grow with the time a pair has waited.
fn gathered(history: &History, placed: &DrVector, from: SimTime, to: SimTime) -> f64 {
    if to <= from {
        return 0.0;
    }
    let slices = history.slices(from, to);
    if slices.len() <= EXACT_SLICES {
        return slices
            .map(|(vector, start, end)| slice_error(vector, placed, start, end, Curves::default()))
            .sum();
    }
    let step = to.since(from).0 / POINTS;
    let distance = |index: u64| {
        let at = SimTime(from.0 + step * index);
        let place = |vector: &DrVector| position_by(vector, signed_secs(vector.time, at));
        let exported = history.in_effect(at);
        exported.map_or(0.0, |exported| place(exported).distance(place(placed)))
    };
    let weighted = |index: u64| match index {
        0 | POINTS => distance(index),
        _ if index % 2 == 1 => 4.0 * distance(index),
        _ => 2.0 * distance(index),
    };
    let sum: f64 = (0..=POINTS).map(weighted).sum();
    sum * SimTime(step).as_secs() / 3.0
}
