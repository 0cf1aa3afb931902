//! From where a replica is shown to where it should be, without a jump (ML-7).

use crate::body::State;
use crate::settings::Convergence;
use domain::SimTime;
use glam::DVec3;

/// The offset of what is shown from what is foretold, on its way to zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Smoother {
    since: SimTime,
    secs: f64,
    offset: DVec3,
    /// How the offset moves at first (cubic only).
    drift: DVec3,
    cubic: bool,
}

impl Smoother {
    /// A new forecast: what was shown stays where it is and goes from there. `interval` is the time between updates.
    pub fn restart(
        &mut self,
        convergence: Convergence,
        now: SimTime,
        shown: State,
        foretold: State,
        interval: Option<SimTime>,
    ) {
        let (min, max, cubic) = match convergence {
            Convergence::Snap => {
                *self = Self::default();
                return;
            }
            Convergence::Linear { min, max } => (min, max, false),
            Convergence::Cubic { min, max } => (min, max, true),
        };
        *self = Self {
            since: now,
            secs: interval.unwrap_or(min).max(min).min(max.max(min)).as_secs(),
            offset: shown.position - foretold.position,
            drift: shown.velocity - foretold.velocity,
            cubic,
        };
    }

    /// How far from the foretold position to show it now.
    pub fn offset(&self, now: SimTime) -> DVec3 {
        let elapsed = now.since(self.since).as_secs();
        if elapsed >= self.secs {
            return DVec3::ZERO;
        }
        let s = elapsed / self.secs;
        if !self.cubic {
            return self.offset * (1.0 - s);
        }
        // Cubic Hermite from (offset, drift) to (0, 0).
        let (s2, s3) = (s * s, s * s * s);
        self.offset * (2.0 * s3 - 3.0 * s2 + 1.0) + self.drift * (self.secs * (s3 - 2.0 * s2 + s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> SimTime {
        SimTime(millis * 1_000_000)
    }

    // ML-7
    #[test]
    fn snap_jumps_and_the_others_do_not() {
        let shown = State::moving(DVec3::X * 10.0, DVec3::Y * 3.0);
        let foretold = State::moving(DVec3::ZERO, DVec3::X);
        let limits = (ms(50), ms(200));
        let mut smoother = Smoother::default();
        smoother.restart(Convergence::Snap, ms(0), shown, foretold, None);
        assert_eq!(smoother.offset(ms(0)), DVec3::ZERO);
        let linear = Convergence::Linear {
            min: limits.0,
            max: limits.1,
        };
        let cubic = Convergence::Cubic {
            min: limits.0,
            max: limits.1,
        };
        for convergence in [linear, cubic] {
            smoother.restart(convergence, ms(0), shown, foretold, Some(ms(100)));
            assert_eq!(smoother.offset(ms(0)), DVec3::X * 10.0);
            let mut last = 10.0;
            for t in 1..=100 {
                let along = smoother.offset(ms(t)).x;
                assert!(along <= last + 1e-12);
                last = along;
            }
            assert_eq!(smoother.offset(ms(100)), DVec3::ZERO);
        }
        // The cubic one also keeps the velocity: no kink at the start.
        let first = smoother.offset(SimTime(1_000)) - smoother.offset(SimTime(0));
        assert!((first / 1e-6 - (DVec3::Y * 3.0 - DVec3::X)).length() < 0.01);
    }

    #[test]
    fn it_lasts_as_long_as_the_interval_within_its_limits() {
        let mut smoother = Smoother::default();
        let linear = Convergence::Linear {
            min: ms(50),
            max: ms(200),
        };
        for (interval, secs) in [
            (Some(ms(20)), 0.05),
            (Some(ms(120)), 0.12),
            (Some(ms(900)), 0.2),
            (None, 0.05),
        ] {
            smoother.restart(
                linear,
                ms(0),
                State::default(),
                State::at(DVec3::X),
                interval,
            );
            assert!((smoother.secs - secs).abs() < 1e-12);
        }
    }
}
