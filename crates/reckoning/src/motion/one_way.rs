//! The delay of one hop, guessed as half a round trip: what receivers without a shared clock project by (thesis
//! chapter 4). Wrong by half the difference between the two directions, and again at every further hop; the shared
//! clock ([`SharedClock`](super::SharedClock)) is wrong by the same at worst, but once, and it says by how much.

use domain::SimTime;

/// How much of the old value survives a new measurement.
const SMOOTHING: f64 = 0.9;

/// Half of the smoothed round-trip time (0.9 old + 0.1 new, as the thesis's library does it).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneWayDelay {
    round_trip_secs: Option<f64>,
}

impl OneWayDelay {
    /// Takes one measured round trip, without the time the other end held it.
    pub fn handle_round_trip(&mut self, round_trip: SimTime) {
        let new = round_trip.as_secs();
        let smooth = |old| SMOOTHING * old + (1.0 - SMOOTHING) * new;
        self.round_trip_secs = Some(self.round_trip_secs.map_or(new, smooth));
    }

    /// The estimate; zero before the first round trip.
    pub fn delay(&self) -> SimTime {
        SimTime::from_secs(0.5 * self.round_trip_secs.unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_trip_counts_fully_and_later_ones_by_a_tenth() {
        let mut delay = OneWayDelay::default();
        assert_eq!(delay.delay(), SimTime::ZERO);
        delay.handle_round_trip(SimTime::from_millis(100.0));
        assert_eq!(delay.delay(), SimTime::from_millis(50.0));
        delay.handle_round_trip(SimTime::from_millis(200.0));
        assert_eq!(delay.delay(), SimTime::from_millis(55.0));
    }
}
