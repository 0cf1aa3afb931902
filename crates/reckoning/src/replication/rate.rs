//! How much may be sent: a bucket of bytes that fills at the connection's rate, and a rate that gives way when the path is
//! full.
//!
//! Random loss (radio, a few per cent) is no reason to slow down; a path that loses one packet in seven is. So the rate
//! falls by a fifth when the smoothed loss is above 15 %, at most twice a second, and climbs back by a twentieth per
//! quarter of a second while it is below 5 %.

use domain::SimTime;

/// Limits of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateConfig {
    /// Bytes per second when the path is good (default 64,000).
    pub max_bytes_per_sec: f64,
    /// Bytes per second however bad it is (default 4,000): enough to notice that it got better.
    pub min_bytes_per_sec: f64,
    /// Most bytes saved up while nothing was sent (default 3,000). More lets larger bursts through.
    pub burst_bytes: f64,
}

impl Default for RateConfig {
    fn default() -> Self {
        Self {
            max_bytes_per_sec: 64_000.0,
            min_bytes_per_sec: 4_000.0,
            burst_bytes: 3_000.0,
        }
    }
}

const LOSS_SMOOTHING: f64 = 1.0 / 32.0;
const BAD_LOSS: f64 = 0.15;
const GOOD_LOSS: f64 = 0.05;
const SLOW_DOWN: f64 = 0.8;
const SPEED_UP: f64 = 1.05;
const SLOW_DOWN_EVERY: SimTime = SimTime(500_000_000);
const SPEED_UP_EVERY: SimTime = SimTime(250_000_000);

/// The bytes a connection may send now.
#[derive(Clone, Debug)]
pub struct RateControl {
    config: RateConfig,
    bytes_per_sec: f64,
    saved_bytes: f64,
    filled_at: SimTime,
    loss: f64,
    changed_at: SimTime,
}

impl RateControl {
    /// With a full bucket and the full rate.
    pub fn new(config: RateConfig, now: SimTime) -> Self {
        Self {
            config,
            bytes_per_sec: config.max_bytes_per_sec,
            saved_bytes: config.burst_bytes,
            filled_at: now,
            loss: 0.0,
            changed_at: now,
        }
    }

    /// Bytes that may be sent now.
    pub fn available(&self, now: SimTime) -> usize {
        self.saved(now) as usize
    }

    /// When this many bytes may be sent, if nothing else is (never more than a full bucket).
    pub fn ready_at(&self, bytes: usize) -> SimTime {
        let missing = (bytes as f64).min(self.config.burst_bytes) - self.saved_bytes;
        self.filled_at + SimTime::from_secs(missing.max(0.0) / self.bytes_per_sec)
    }

    /// Takes what was sent.
    pub fn spend(&mut self, now: SimTime, bytes: usize) {
        self.saved_bytes = (self.saved(now) - bytes as f64).max(0.0);
        self.filled_at = now;
    }

    /// Learns the fate of one packet.
    pub fn learn(&mut self, now: SimTime, lost: bool) {
        self.loss += LOSS_SMOOTHING * (f64::from(u8::from(lost)) - self.loss);
        let (factor, every) = match self.loss {
            loss if loss > BAD_LOSS => (SLOW_DOWN, SLOW_DOWN_EVERY),
            loss if loss < GOOD_LOSS => (SPEED_UP, SPEED_UP_EVERY),
            _ => return,
        };
        if now.since(self.changed_at) < every {
            return;
        }
        // What was saved up was saved at the old rate.
        self.saved_bytes = self.saved(now);
        self.filled_at = now;
        self.changed_at = now;
        let RateConfig {
            min_bytes_per_sec: min,
            max_bytes_per_sec: max,
            ..
        } = self.config;
        self.bytes_per_sec = (self.bytes_per_sec * factor).max(min).min(max);
    }

    /// The present rate.
    pub fn bytes_per_sec(&self) -> f64 {
        self.bytes_per_sec
    }

    /// Share of packets lost, smoothed over the last 32 or so.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    fn saved(&self, now: SimTime) -> f64 {
        let added = now.since(self.filled_at).as_secs() * self.bytes_per_sec;
        (self.saved_bytes + added).min(self.config.burst_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends as much as allowed for ten seconds, in steps of a millisecond, losing every `lose`-th packet.
    fn bytes_in_ten_secs(lose: u64) -> (u64, RateControl) {
        let mut rate = RateControl::new(RateConfig::default(), SimTime::ZERO);
        let (mut total, mut packets) = (0, 0);
        for ms in 0..10_000 {
            let now = SimTime::from_millis(f64::from(ms));
            while rate.available(now) >= 1000 {
                rate.spend(now, 1000);
                packets += 1;
                rate.learn(now, packets % lose == 0);
                total += 1000;
            }
        }
        (total, rate)
    }

    #[test]
    fn the_byte_budget_is_kept_and_used() {
        let (total, _) = bytes_in_ten_secs(u64::MAX);
        let budget = 64_000 * 10 + 3_000;
        assert!(total <= budget && total > budget * 95 / 100, "{total}");
    }

    #[test]
    fn a_full_path_is_given_way_and_a_lossy_one_is_not() {
        let (_, congested) = bytes_in_ten_secs(4);
        assert_eq!(congested.bytes_per_sec(), 4_000.0, "25 % lost");
        let (_, radio) = bytes_in_ten_secs(50);
        assert_eq!(radio.bytes_per_sec(), 64_000.0, "2 % lost");
    }

    #[test]
    fn it_says_when_there_will_be_enough() {
        let mut rate = RateControl::new(RateConfig::default(), SimTime::ZERO);
        rate.spend(SimTime::ZERO, 3_000);
        let ready = rate.ready_at(640);
        assert_eq!(ready, SimTime::from_millis(10.0));
        assert!(rate.available(ready) >= 640);
        assert!(rate.available(SimTime::from_millis(9.0)) < 640);
    }
}
