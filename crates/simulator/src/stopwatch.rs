//! CPU time of this thread, less what reading it takes: the clock is a call into the kernel, and a server reads it
//! several times in a tick of some hundred microseconds.

use cpu_time::ThreadTime;
use std::sync::OnceLock;
use std::time::Duration;

/// Measures one stretch of work after another.
#[derive(Debug)]
pub struct Stopwatch {
    start: ThreadTime,
}

impl Stopwatch {
    /// Work begins.
    #[must_use]
    pub fn start() -> Self {
        // Found out before anything is measured.
        clock_cost();
        Self {
            start: ThreadTime::now(),
        }
    }

    /// How long it took since the start or the last call.
    pub fn lap(&mut self) -> Duration {
        let now = ThreadTime::now();
        let taken = now.duration_since(self.start);
        self.start = now;
        taken.saturating_sub(clock_cost())
    }
}

/// What reading the clock takes: the median of many empty stretches, found once.
fn clock_cost() -> Duration {
    static COST: OnceLock<Duration> = OnceLock::new();
    *COST.get_or_init(|| {
        let mut costs: Vec<Duration> = (0..1001).map(|_| ThreadTime::now().elapsed()).collect();
        costs.sort_unstable();
        costs[costs.len() / 2]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many empty stretches take next to nothing, and work is seen.
    #[test]
    fn the_clock_itself_is_not_counted() {
        let mut watch = Stopwatch::start();
        let empty: Duration = (0..1000).map(|_| watch.lap()).sum();
        let start = ThreadTime::now();
        while start.elapsed() < Duration::from_millis(5) {}
        let work = watch.lap();
        assert!(work >= Duration::from_millis(4), "{work:?}");
        assert!(empty < 500 * clock_cost(), "{empty:?}");
    }
}
