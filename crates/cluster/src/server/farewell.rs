//! How long a server that is asked to end waits until it has given its regions away.
//!
//! Regions go one after another, so a server with many needs longer than one with few. It waits as long as one goes now and then.

use std::time::{Duration, Instant};

/// The next region must be gone after so long.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// And all of them after so long, whatever happens.
const LONGEST_FAREWELL: Duration = Duration::from_secs(300);

/// A server that gives its regions away.
pub struct Farewell {
    began: Instant,
    fewest: usize,
    progress: Instant,
}

impl Farewell {
    /// Begins with so many regions.
    pub fn new(now: Instant, regions: usize) -> Self {
        Self {
            began: now,
            fewest: regions,
            progress: now,
        }
    }

    /// So many regions are left: for how long is it worth waiting for the next one to go? Zero when it is over.
    pub fn patience(&mut self, now: Instant, regions: usize) -> Duration {
        if regions < self.fewest {
            self.fewest = regions;
            self.progress = now;
        }
        let next = self.progress + LONGEST_WAIT;
        let last = self.began + LONGEST_FAREWELL;
        next.min(last).saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cut off after ten seconds whatever happened, a server with many regions took most of them with it.
    #[test]
    fn who_makes_progress_is_not_cut_off() {
        let start = Instant::now();
        let at = |secs: u64| start + Duration::from_secs(secs);
        let mut farewell = Farewell::new(start, 20);
        for (gone, secs) in (1..20).zip((9..).step_by(9)) {
            let left = farewell.patience(at(secs - 1), 20 - gone + 1);
            assert!(left > Duration::ZERO, "after {secs} s");
            assert_eq!(farewell.patience(at(secs), 20 - gone), LONGEST_WAIT);
        }
        let stuck = 9 * 19 + LONGEST_WAIT.as_secs();
        assert_eq!(farewell.patience(at(stuck), 1), Duration::ZERO);
    }

    /// Something that trickles for ever must not keep a machine from being shut down.
    #[test]
    fn nobody_waits_for_ever() {
        let start = Instant::now();
        let mut farewell = Farewell::new(start, 10_000);
        let mut now = start;
        for left in (0..10_000).rev() {
            now += Duration::from_secs(1);
            if farewell.patience(now, left) == Duration::ZERO {
                break;
            }
        }
        assert_eq!(now, start + LONGEST_FAREWELL);
    }
}
