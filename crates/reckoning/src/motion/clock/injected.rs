//! A local clock with a known fault, for simulations: what a host's own clock reads at a global time.

use domain::SimTime;

/// A clock that starts off by an offset and runs at a wrong rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InjectedClock {
    /// Its reading at global time zero.
    pub start: SimTime,
    /// Seconds gained per second; negative if it is slow. 50 ppm is 5e-5.
    pub drift: f64,
}

impl InjectedClock {
    /// Always right.
    pub fn perfect() -> Self {
        Self::default()
    }

    /// What it reads at this global time.
    pub fn read(&self, global: SimTime) -> SimTime {
        let gained = (global.0 as f64 * self.drift).round() as i64;
        let right = self.start.0.saturating_add(global.0);
        SimTime(right.saturating_add_signed(gained))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_was_injected() {
        let now = SimTime::from_secs(100.0);
        assert_eq!(InjectedClock::perfect().read(now), now);
        let slow = InjectedClock {
            start: SimTime::from_secs(3.0),
            drift: -1e-4,
        };
        assert_eq!(slow.read(now), SimTime::from_secs(102.99));
    }
}
