//! How wrong forecasts have been, and so how wrong the present one may be: the confidence behind the gate (G2).
//!
//! Each update that arrives says where the body was at its time, and the samples before it had foretold where it would be.
//! Errors of extrapolation grow about with the square of the time they look ahead, so what is kept is the coefficient of that square,
//! fitted to the last errors. A body that moves as foretold is trusted far ahead; one that weaves is not.

use domain::SimTime;

/// How much of what was learned is left after each update: the last eight or so count.
const MEMORY: f64 = 0.875;
/// A forecast less far ahead than this says little: rounding and thresholds are all it errs by.
const LEAST_SECS: f64 = 0.015;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Forecasts {
    squares: f64,
    weights: f64,
}

impl Forecasts {
    /// A forecast `ahead` into the future turned out to be wrong by `error`.
    pub fn learn(&mut self, ahead: SimTime, error: f64) {
        let secs = ahead.as_secs();
        if secs < LEAST_SECS || !error.is_finite() {
            return;
        }
        self.squares = self.squares * MEMORY + error * error;
        self.weights = self.weights * MEMORY + secs.powi(4);
    }

    /// How wrong a forecast this far ahead usually is.
    pub fn error(&self, ahead_secs: f64) -> f64 {
        if self.weights == 0.0 {
            return 0.0;
        }
        (self.squares / self.weights).sqrt() * ahead_secs * ahead_secs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_scaled_to_how_far_ahead_one_looks() {
        let mut forecasts = Forecasts::default();
        assert_eq!(forecasts.error(1.0), 0.0, "nothing was ever wrong");
        for _ in 0..20 {
            forecasts.learn(SimTime::from_millis(50.0), 2.0);
        }
        assert!((forecasts.error(0.1) - 8.0).abs() < 1e-9);
        for _ in 0..60 {
            forecasts.learn(SimTime::from_millis(50.0), 0.0);
        }
        assert!(forecasts.error(0.1) < 0.2, "forgiven in time");
    }
}
