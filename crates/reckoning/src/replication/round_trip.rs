//! How long a packet and its answer take, and what that says about one way.

use crate::motion::OneWayDelay;
use domain::SimTime;

/// How much of the old deviation survives a new sample.
const DEVIATION_SMOOTHING: f64 = 0.9;

/// Estimates from the round trips of packets; time the other side held them is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTrip {
    one_way: OneWayDelay,
    samples: u64,
    deviation_secs: f64,
    min: Option<SimTime>,
}

impl RoundTrip {
    /// One measured round trip.
    pub fn handle_sample(&mut self, round_trip: SimTime) {
        if self.samples > 0 {
            let off = (round_trip.as_secs() - self.smoothed().as_secs()).abs();
            self.deviation_secs =
                DEVIATION_SMOOTHING * self.deviation_secs + (1.0 - DEVIATION_SMOOTHING) * off;
        }
        self.one_way.handle_round_trip(round_trip);
        self.min = Some(self.min.map_or(round_trip, |min| min.min(round_trip)));
        self.samples += 1;
    }

    /// Smoothed (0.9 old + 0.1 new); zero before the first sample.
    pub fn smoothed(&self) -> SimTime {
        let one_way = self.one_way.delay();
        one_way + one_way
    }

    /// Half of it: right if both ways take equally long.
    pub fn one_way(&self) -> SimTime {
        self.one_way.delay()
    }

    /// Mean deviation of a round trip from the smoothed one.
    pub fn deviation(&self) -> SimTime {
        SimTime::from_secs(self.deviation_secs)
    }

    /// The shortest so far.
    pub fn min(&self) -> Option<SimTime> {
        self.min
    }

    /// How many there were.
    pub fn samples(&self) -> u64 {
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_steady_round_trip_is_the_way_and_jitter_is_seen() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.one_way(), SimTime::ZERO);
        for i in 0..200 {
            let jitter = if i % 2 == 0 { 20.0 } else { -20.0 };
            round_trip.handle_sample(SimTime::from_millis(100.0 + jitter));
        }
        let one_way_ms = round_trip.one_way().as_millis();
        assert!((one_way_ms - 50.0).abs() < 2.0, "{one_way_ms}");
        let deviation_ms = round_trip.deviation().as_millis();
        assert!((deviation_ms - 20.0).abs() < 3.0, "{deviation_ms}");
        assert_eq!(round_trip.min(), Some(SimTime::from_millis(80.0)));
    }
}
