//! What a station knows of another.

use crate::messages::{Header, LinkKey, Refusal};
use domain::SimTime;

/// How much of a measured delay survives the next one: as TCP smooths its round trips.
const DELAY_MEMORY: f64 = 0.875;
const DEVIATION_MEMORY: f64 = 0.75;
/// So many sequence numbers back a datagram may be late and still be told from a repeated one.
const WINDOW: u64 = 128;
const SECOND: SimTime = SimTime(1_000_000_000);

#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub key: LinkKey,
    pub next_sequence: u64,
    incarnation: Option<u32>,
    newest: u64,
    /// Bit i: `newest − i` was seen.
    seen: u128,
    /// Seconds: smoothed delay, and its mean deviation.
    delay: Option<(f64, f64)>,
    pub heard_at: Option<SimTime>,
    pub silent: bool,
    counted_since: SimTime,
    counted: u32,
}

impl Peer {
    pub fn new(key: LinkKey) -> Self {
        Self {
            key,
            next_sequence: 1,
            incarnation: None,
            newest: 0,
            seen: 0,
            delay: None,
            heard_at: None,
            silent: false,
            counted_since: SimTime::ZERO,
            counted: 0,
        }
    }

    /// Lets each datagram in once, and only so many.
    pub fn admit(&mut self, now: SimTime, header: &Header, per_sec: u32) -> Result<(), Refusal> {
        if now.since(self.counted_since) >= SECOND {
            self.counted_since = now;
            self.counted = 0;
        }
        if self.counted >= per_sec {
            return Err(Refusal::TooMany);
        }
        match self.incarnation {
            Some(known) if header.incarnation < known => return Err(Refusal::Replayed),
            Some(known) if header.incarnation == known => {}
            _ => {
                self.incarnation = Some(header.incarnation);
                (self.newest, self.seen) = (0, 0);
            }
        }
        self.mark(header.sequence)?;
        self.counted += 1;
        Ok(())
    }

    fn mark(&mut self, sequence: u64) -> Result<(), Refusal> {
        if sequence > self.newest {
            let ahead = sequence - self.newest;
            self.seen = if ahead >= WINDOW {
                0
            } else {
                self.seen << ahead
            };
            self.seen |= 1;
            self.newest = sequence;
            return Ok(());
        }
        let back = self.newest - sequence;
        if back >= WINDOW || self.seen >> back & 1 == 1 {
            return Err(Refusal::Replayed);
        }
        self.seen |= 1 << back;
        Ok(())
    }

    /// A datagram sent at `sent` arrived at `now`, both on the shared clock.
    pub fn measure(&mut self, sent: SimTime, now: SimTime) {
        let new = now.since(sent).as_secs();
        self.delay = Some(match self.delay {
            None => (new, 0.5 * new),
            Some((mean, deviation)) => (
                DELAY_MEMORY * mean + (1.0 - DELAY_MEMORY) * new,
                DEVIATION_MEMORY * deviation + (1.0 - DEVIATION_MEMORY) * (new - mean).abs(),
            ),
        });
    }

    pub fn delay(&self) -> Option<(SimTime, SimTime)> {
        self.delay
            .map(|(mean, deviation)| (SimTime::from_secs(mean), SimTime::from_secs(deviation)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(incarnation: u32, sequence: u64) -> Header {
        Header {
            incarnation,
            sequence,
            sent: SimTime::ZERO,
        }
    }

    #[test]
    fn each_datagram_is_let_in_once() {
        let mut peer = Peer::new(LinkKey::none());
        let mut admit = |incarnation, sequence| {
            peer.admit(SimTime::ZERO, &header(incarnation, sequence), 1000)
                .is_ok()
        };
        assert!(admit(1, 5));
        assert!(admit(1, 3), "late is fine");
        assert!(!admit(1, 3), "twice is not");
        assert!(admit(1, 500));
        assert!(!admit(1, 500 - WINDOW), "too late to tell");
        assert!(admit(1, 501 - WINDOW));
        assert!(admit(2, 1), "started anew");
        assert!(!admit(1, 502), "its ghost");
    }

    #[test]
    fn only_so_many_per_second() {
        let mut peer = Peer::new(LinkKey::none());
        for sequence in 1..=10 {
            assert!(peer.admit(SimTime::ZERO, &header(1, sequence), 10).is_ok());
        }
        assert_eq!(
            peer.admit(SimTime::ZERO, &header(1, 11), 10),
            Err(Refusal::TooMany)
        );
        assert!(peer.admit(SECOND, &header(1, 12), 10).is_ok());
    }
}
