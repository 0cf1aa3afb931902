//! How much of something may happen: so much per second in the long run, twice as much at once.

use domain::SimTime;

/// Fills with time.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    per_sec: f64,
    level: f64,
    filled: SimTime,
}

impl Bucket {
    /// Full.
    pub fn new(per_sec: f64, now: SimTime) -> Self {
        Self {
            per_sec,
            level: 2.0 * per_sec,
            filled: now,
        }
    }

    fn fill(&mut self, now: SimTime) {
        let gained = now.since(self.filled).as_secs() * self.per_sec;
        self.filled = now;
        self.level = (self.level + gained).min(2.0 * self.per_sec);
    }

    /// Is there so much? Then it is gone. What was refused costs nothing: who asks too often still gets its share.
    pub fn take(&mut self, now: SimTime, amount: f64) -> bool {
        self.fill(now);
        let enough = self.level >= amount;
        if enough {
            self.level -= amount;
        }
        enough
    }

    /// Takes what cannot be refused, also what is not there. Debts are forgotten beyond two seconds' worth.
    pub fn spend(&mut self, now: SimTime, amount: f64) {
        self.fill(now);
        self.level = (self.level - amount).max(-2.0 * self.per_sec);
    }

    /// Was more spent than there was?
    pub fn is_overdrawn(&mut self, now: SimTime) -> bool {
        self.fill(now);
        self.level < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(secs: f64) -> SimTime {
        SimTime((secs * 1e9) as u64)
    }

    #[test]
    fn twice_as_much_at_once_then_so_much_per_second_however_often_it_is_asked() {
        let mut bucket = Bucket::new(10.0, secs(0.0));
        let mut taken = |from: u32, to: u32| {
            let times = (from..to).map(|ms| secs(f64::from(ms) / 1000.0));
            times.filter(|now| bucket.take(*now, 1.0)).count()
        };
        assert_eq!(taken(0, 1000), 29, "twenty, and what came in a second");
        assert_eq!(taken(1000, 5000), 40, "refusals cost nothing");
    }

    #[test]
    fn debts_are_paid_off_and_are_bounded() {
        let mut bucket = Bucket::new(10.0, secs(0.0));
        bucket.spend(secs(0.0), 1e9);
        assert!(bucket.is_overdrawn(secs(1.9)));
        assert!(!bucket.is_overdrawn(secs(2.1)));
    }
}
