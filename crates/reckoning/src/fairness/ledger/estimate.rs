//! What is not known yet, by estimate: vectors that were sent but not acknowledged arrive after the delay one reckons with.

use super::types::Estimate;
use super::{Ledger, later};
use crate::fairness::delay::DelayModel;
use crate::fairness::exported::{ExportedPath, Walk};
use crate::vector::DrVector;
use domain::SimTime;

impl Ledger {
    /// CEE and EEE now (DR-19).
    pub fn estimate(&self, exported: &ExportedPath, now: SimTime, model: DelayModel) -> Estimate {
        let measure = &self.settings.measure;
        let (known, at) = match self.checkpoints.back() {
            Some(newest) => (newest.cee, newest.at),
            None => (self.seed, self.joined),
        };
        let cee = measure.faded(known, now.since(at).as_secs());
        let aee = self
            .walk_to(exported, now, model)
            .until(exported, now, measure);
        Estimate {
            cee,
            eee: aee - cee,
        }
    }

    /// The path the receiver is believed to have followed, up to `now`.
    fn walk_to(&self, exported: &ExportedPath, now: SimTime, model: DelayModel) -> Walk {
        let mut walk = match self.checkpoints.len().checked_sub(1) {
            Some(newest) => self.walk_from(newest),
            None => Walk::new(self.seed, self.joined, None),
        };
        for (at, vector) in self.assumed(exported, model) {
            if at > now {
                break;
            }
            walk.receive(exported, at, vector, &self.settings.measure);
        }
        walk
    }

    /// When the open vectors should arrive.
    fn assumed<'a>(
        &'a self,
        exported: &'a ExportedPath,
        model: DelayModel,
    ) -> impl Iterator<Item = (SimTime, &'a DrVector)> {
        let delay = self.delays.delay(model);
        let open = self.sent.iter();
        open.filter_map(move |sent| Some((later(sent.at, delay), exported.get(sent.seq)?)))
    }

    /// The vector the receiver is believed to follow at `now`: where [`Self::walk_to`] ends, without adding up the way.
    fn in_use(&self, exported: &ExportedPath, now: SimTime, model: DelayModel) -> Option<DrVector> {
        let arrived = self
            .assumed(exported, model)
            .take_while(|(at, _)| *at <= now);
        let known = self.checkpoints.back().map(|newest| &newest.vector);
        let newest = known.into_iter().chain(arrived.map(|(_, vector)| vector));
        newest.max_by_key(|vector| vector.seq).copied()
    }

    /// The error that will come between `now` and `until` if nothing more is sent and nothing more is generated. With
    /// `in_flight` the open vectors arrive on their way; without it the receiver stays with what it uses now.
    pub fn error_ahead(
        &self,
        exported: &ExportedPath,
        now: SimTime,
        until: SimTime,
        model: DelayModel,
        in_flight: bool,
    ) -> f64 {
        let mut ahead = Walk::new(0.0, now, self.in_use(exported, now, model));
        if in_flight {
            for (at, vector) in self.assumed(exported, model) {
                if at > now && at < until {
                    ahead.receive(exported, at, vector, &self.settings.measure);
                }
            }
        }
        ahead.until(exported, until, &self.settings.measure)
    }

    /// The error since the vector now in use was *generated*: the wait for it is part of it (digest §7 A9, the text's definition).
    pub fn error_since_generation(
        &self,
        exported: &ExportedPath,
        now: SimTime,
        model: DelayModel,
    ) -> f64 {
        let walk = self.walk_to(exported, now, model);
        let Some(generated) = walk.following().map(|vector| vector.time.min(now)) else {
            return 0.0;
        };
        let measure = &self.settings.measure;
        let known = self
            .checkpoints
            .partition_point(|known| known.at <= generated);
        let before = match known.checked_sub(1) {
            Some(last) if last + 1 == self.checkpoints.len() => {
                self.walk_to(exported, generated, model)
            }
            Some(index) => self.walk_from(index),
            None => Walk::new(self.seed, self.joined.min(generated), None),
        };
        let before = before.until(exported, generated, measure);
        let before = measure.faded(before, now.since(generated).as_secs());
        (walk.until(exported, now, measure) - before).max(0.0)
    }
}
