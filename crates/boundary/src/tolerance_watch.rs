//! Notices when a tolerance is exceeded: the designed alarm that errors may now occur (AP-4).

use crate::config::Tolerances;
use domain::SimTime;
use serde::{Deserialize, Serialize};

/// How often each tolerance was exceeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExceededTolerances {
    /// Bodies near a boundary that became faster than the tolerance.
    pub speed: u64,
    /// Envelopes that took longer than the tolerance, and moving bodies' auras that had no news for longer.
    pub latency: u64,
    /// Frames that took longer than the tolerance.
    pub frame: u64,
}

/// Counts; a nanosecond of rounding is no exceedance.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ToleranceWatch {
    last_frame: Option<SimTime>,
    exceeded: ExceededTolerances,
}

const ROUNDING_SECS: f64 = 1e-8;

impl ToleranceWatch {
    /// A frame begins.
    pub fn frame(&mut self, now: SimTime, tolerances: &Tolerances) {
        if let Some(last) = self.last_frame.replace(now)
            && now.since(last).as_secs() > tolerances.frame_secs + ROUNDING_SECS
        {
            self.exceeded.frame += 1;
        }
    }

    /// An envelope has arrived.
    pub fn envelope(&mut self, now: SimTime, sent_at: SimTime, tolerances: &Tolerances) {
        if now.since(sent_at).as_secs() > tolerances.latency_secs + ROUNDING_SECS {
            self.exceeded.latency += 1;
        }
    }

    /// So many auras have fallen silent: what should have come by now has not.
    pub fn silence(&mut self, auras: u64) {
        self.exceeded.latency += auras;
    }

    /// A body near a boundary has this speed; `was_too_fast` is its last verdict. Counts the moment it becomes too fast.
    pub fn speed(&mut self, speed: f64, was_too_fast: &mut bool, tolerances: &Tolerances) {
        let too_fast = speed > tolerances.speed * (1.0 + 1e-6);
        if too_fast && !*was_too_fast {
            self.exceeded.speed += 1;
        }
        *was_too_fast = too_fast;
    }

    /// The counts so far.
    pub fn exceeded(&self) -> ExceededTolerances {
        self.exceeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AP-4: each factor is detected, counted and reported apart.
    #[test]
    fn each_factor_is_counted_apart() {
        let tolerances = Tolerances::default();
        let mut watch = ToleranceWatch::default();
        for ms in [0.0, 15.0, 30.0, 46.0, 61.0] {
            watch.frame(SimTime::from_millis(ms), &tolerances);
        }
        let at = SimTime::from_millis;
        watch.envelope(at(12.0), at(10.0), &tolerances);
        watch.envelope(at(12.1), at(10.0), &tolerances);
        let mut too_fast = false;
        for speed in [31.9, 32.1, 33.0, 31.0, 40.0] {
            watch.speed(speed, &mut too_fast, &tolerances);
        }
        let expected = ExceededTolerances {
            speed: 2,
            latency: 1,
            frame: 1,
        };
        assert_eq!(watch.exceeded(), expected);
    }
}
