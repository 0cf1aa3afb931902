//! How fast the two clocks drift apart, estimated.
//!
//! A single exchange says little: at 100 ms of jitter the offset it suggests is worth nothing compared to a drift of
//! 50 µs per second. So time is cut into blocks; in each the fastest letter of each direction is kept (min-delay
//! filtering), which gives one point per block; a straight line through the points of the last two minutes has the
//! drift as its slope. How far the points scatter about the line tells how much to trust it: with little trust the
//! estimate is drawn to zero. The clock's bound does not rest on any of this.

use super::interval::{Mark, OffsetInterval};
use domain::SimTime;
use std::collections::VecDeque;

const BLOCK: SimTime = SimTime(4_000_000_000);
const MAX_POINTS: usize = 32;
/// Fewer points always lie nearly on a line, whatever the noise.
const MIN_POINTS: usize = 6;

#[derive(Clone, Debug)]
pub(super) struct DriftEstimator {
    max_rate: f64,
    block: Option<OffsetInterval>,
    block_start: SimTime,
    points: VecDeque<Mark>,
    rate: f64,
}

impl DriftEstimator {
    pub fn new(max_rate: f64) -> Self {
        Self {
            max_rate,
            block: None,
            block_start: SimTime::ZERO,
            points: VecDeque::new(),
            rate: 0.0,
        }
    }

    /// Global seconds gained per local second.
    pub fn estimate(&self) -> f64 {
        self.rate
    }

    /// Takes what one exchange says of the offset.
    pub fn observe(&mut self, new: &OffsetInterval) {
        let Some(block) = &mut self.block else {
            self.begin_block(new);
            return;
        };
        if new.lower.at.since(self.block_start) < BLOCK {
            keep_fastest(block, new);
            return;
        }
        let point = centre(block);
        self.begin_block(new);
        self.points.push_back(point);
        if self.points.len() > MAX_POINTS {
            self.points.pop_front();
        }
        self.rate = self.fit();
    }

    fn begin_block(&mut self, new: &OffsetInterval) {
        self.block = Some(*new);
        self.block_start = new.lower.at;
    }

    /// Least squares, drawn to zero by the slope's own uncertainty against what a drift can be at all.
    fn fit(&self) -> f64 {
        let Some(first) = self.points.front() else {
            return 0.0;
        };
        if self.points.len() < MIN_POINTS {
            return 0.0;
        }
        let relative = |point: &Mark| {
            let x = point.at.since(first.at).as_secs();
            (x, (point.offset_ns - first.offset_ns) as f64 * 1e-9)
        };
        let points: Vec<_> = self.points.iter().map(relative).collect();
        let (slope, variance) = line(&points);
        let prior = self.max_rate * self.max_rate;
        if prior == 0.0 || !(slope.is_finite() && variance.is_finite()) {
            return 0.0;
        }
        (slope * prior / (prior + variance)).clamp(-self.max_rate, self.max_rate)
    }
}

fn keep_fastest(block: &mut OffsetInterval, new: &OffsetInterval) {
    if new.upper.offset_ns < block.upper.offset_ns {
        block.upper = new.upper;
    }
    if new.lower.offset_ns > block.lower.offset_ns {
        block.lower = new.lower;
    }
}

fn centre(block: &OffsetInterval) -> Mark {
    Mark {
        offset_ns: block.upper.offset_ns.midpoint(block.lower.offset_ns),
        at: SimTime(block.upper.at.0.midpoint(block.lower.at.0)),
    }
}

/// Slope of the least-squares line, and the variance of that slope.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let common: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let slope = common / spread;
    let residual = |p: &(f64, f64)| p.1 - mean_y - slope * (p.0 - mean_x);
    let scatter: f64 = points.iter().map(|p| residual(p).powi(2)).sum();
    (slope, scatter / ((count - 2.0) * spread))
}
