//! Moves the shown time to the estimate without a step, like a pendulum clock put right by its screw and not by its
//! hands.
//!
//! Between two exchanges the shown offset is a closed function of the local time: it makes for a target, which itself
//! moves with the estimated drift, at a fixed speed, and then stays on it. At each exchange it starts anew from where
//! it is.

use domain::SimTime;

/// A correction should be done in about this time ...
const CORRECTION_SECS: f64 = 2.0;
/// ... but small ones at no more than 5 ms per second, which no motion on the screen betrays ...
const GENTLE: f64 = 0.005;
/// ... and the largest never at more than half speed, so that time always goes on.
const FASTEST: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
pub(super) struct Slew {
    /// Local time from which this counts.
    at: SimTime,
    target_ns: i64,
    /// How the target moves: the estimated drift.
    rate: f64,
    /// Shown less target offset, at `at`.
    gap_ns: f64,
    /// How fast the gap closes, in seconds per second.
    speed: f64,
}

impl Slew {
    /// Shows this offset at once: for the first exchange, before which no time was shown.
    pub fn start(local: SimTime, offset_ns: i64) -> Self {
        Self {
            at: local,
            target_ns: offset_ns,
            rate: 0.0,
            gap_ns: 0.0,
            speed: GENTLE,
        }
    }

    /// From what is shown at `local` on, makes for a new target.
    pub fn aim(&mut self, local: SimTime, target_ns: i64, rate: f64) {
        let local = local.max(self.at);
        let gap_ns = (self.offset_at(local) - target_ns) as f64;
        let speed = gap_ns.abs() * 1e-9 / CORRECTION_SECS;
        *self = Self {
            at: local,
            target_ns,
            rate,
            gap_ns,
            speed: speed.clamp(GENTLE, FASTEST),
        };
    }

    /// The shown offset. Its slope is above −1 (drift takes at most 0.12 of it, closing the gap at most 0.5), so that
    /// local time plus offset never decreases.
    pub fn offset_at(&self, local: SimTime) -> i64 {
        let elapsed_ns = local.since(self.at).0 as f64;
        let left = (self.gap_ns.abs() - self.speed * elapsed_ns).max(0.0);
        let moved = self.rate * elapsed_ns + left.copysign(self.gap_ns);
        self.target_ns + moved.round() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: f64) -> SimTime {
        SimTime::from_millis(millis)
    }

    #[test]
    fn a_small_correction_runs_at_five_milliseconds_a_second() {
        let mut slew = Slew::start(SimTime::ZERO, 0);
        slew.aim(ms(1_000.0), 8_000_000, 0.0);
        assert_eq!(slew.offset_at(ms(1_000.0)), 0, "no step");
        assert_eq!(slew.offset_at(ms(2_000.0)), 5_000_000);
        assert_eq!(slew.offset_at(ms(9_000.0)), 8_000_000);
    }

    #[test]
    fn a_huge_correction_backwards_halves_the_speed_of_time_but_never_turns_it() {
        let mut slew = Slew::start(SimTime::ZERO, 0);
        slew.aim(ms(1_000.0), -60_000_000_000, -1e-4);
        let shown = |local: SimTime| local.0 as i64 + slew.offset_at(local);
        for step in 0..1_000_u64 {
            let local = SimTime(1_000_000_000 + step * 7);
            assert!(shown(SimTime(local.0 + 1)) >= shown(local));
        }
        assert_eq!(slew.offset_at(ms(3_000.0)), -1_000_000_000 - 200_000);
    }
}
