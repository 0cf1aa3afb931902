//! The interval in which the offset (global − local) is known to lie, and how it widens as it ages.

use super::exchange::ClockAssumptions;
use domain::SimTime;

/// A limit of the offset, in force at one reading of the local clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub offset_ns: i64,
    pub at: SimTime,
}

impl Mark {
    /// How far the offset may have moved from this mark at `local`.
    fn moved(self, local: SimTime, rate: f64) -> f64 {
        let elapsed = local.since(self.at).0 + self.at.since(local).0;
        elapsed as f64 * rate
    }

    /// As a point estimate: moved on at this rate, backwards for an earlier time.
    fn carried(self, local: SimTime, rate: f64) -> f64 {
        let moved = self.moved(local, rate);
        if local >= self.at { moved } else { -moved }
    }
}

/// The best upper and the best lower limit, usually from different exchanges. All limits widen at the same rate, so
/// the better of two stays the better for ever and no other needs to be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffsetInterval {
    pub upper: Mark,
    pub lower: Mark,
}

impl OffsetInterval {
    fn upper_at(&self, local: SimTime, widening: f64) -> i64 {
        self.upper.offset_ns + self.upper.moved(local, widening).ceil() as i64
    }

    fn lower_at(&self, local: SimTime, widening: f64) -> i64 {
        self.lower.offset_ns - self.lower.moved(local, widening).ceil() as i64
    }

    pub fn is_empty_at(&self, local: SimTime, widening: f64) -> bool {
        self.lower_at(local, widening) > self.upper_at(local, widening)
    }

    /// What both say; `None` if they contradict each other. `local` must not be before either of them was made.
    pub fn intersect(&self, other: &Self, local: SimTime, widening: f64) -> Option<Self> {
        let upper = *[self, other]
            .into_iter()
            .min_by_key(|interval| interval.upper_at(local, widening))?;
        let lower = *[self, other]
            .into_iter()
            .max_by_key(|interval| interval.lower_at(local, widening))?;
        let both = Self {
            upper: upper.upper,
            lower: lower.lower,
        };
        (!both.is_empty_at(local, widening)).then_some(both)
    }

    /// The best estimate: half-way between the limits, each moved on at the estimated drift.
    pub fn middle_at(&self, local: SimTime, rate: f64) -> i64 {
        let moved = self.upper.carried(local, rate) + self.lower.carried(local, rate);
        let limits = self.upper.offset_ns.midpoint(self.lower.offset_ns);
        limits + (0.5 * moved).round() as i64
    }

    /// The largest distance the true offset can have from `offset_ns`.
    pub fn farthest_from(
        &self,
        offset_ns: i64,
        local: SimTime,
        assumptions: &ClockAssumptions,
    ) -> u64 {
        let widening = assumptions.widening();
        let above = self.upper_at(local, widening).abs_diff(offset_ns);
        let below = self.lower_at(local, widening).abs_diff(offset_ns);
        above.max(below)
    }
}
