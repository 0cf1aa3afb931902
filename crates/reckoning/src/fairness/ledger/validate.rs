//! A ledger that comes with a handover is from another machine: it is looked through before it is believed.

use super::types::Damaged;
use super::{Checkpoint, Ledger};
use crate::fairness::exported::{Measure, is_finite};
use std::collections::VecDeque;

impl Ledger {
    /// Checks a ledger that came from another server before it is used here.
    pub fn validated(self) -> Result<Self, Damaged> {
        let ascending = |points: &VecDeque<Checkpoint>| {
            let mut pairs = points.iter().zip(points.iter().skip(1));
            pairs.all(|(a, b)| a.at <= b.at && a.vector.seq <= b.vector.seq)
        };
        let sound = |known: &Checkpoint| is_finite(&known.vector) && is_error(known.cee);
        if !is_error(self.seed) || !self.checkpoints.iter().all(sound) {
            Err(Damaged("an error or a vector that is no number"))
        } else if !ascending(&self.checkpoints) {
            Err(Damaged("receptions out of order"))
        } else if self.sent.iter().any(|sent| sent.seq > self.newest_sent) {
            Err(Damaged("an open vector that was never sent"))
        } else if !self.delays.is_sane() || !half_life_is_sane(&self.settings.measure) {
            Err(Damaged("a delay or half-life that is no time"))
        } else {
            Ok(self)
        }
    }
}

fn is_error(error: f64) -> bool {
    error.is_finite() && error >= 0.0
}

fn half_life_is_sane(measure: &Measure) -> bool {
    measure
        .half_life_secs
        .is_none_or(|secs| secs.is_finite() && secs > 0.0)
}
