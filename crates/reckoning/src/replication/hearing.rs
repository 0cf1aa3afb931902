//! The receiving half of a connection: which of the other side's packets were heard, and how to tell it.

use super::connection::PacketId;
use crate::codec::{MAX_ACK_WINDOW, PacketAcks};
use domain::SimTime;

/// Which packets were heard.
#[derive(Clone, Debug)]
pub(super) struct Hearing {
    newest: u64,
    /// Bit i: was the packet i + 1 before the newest heard?
    mask: u128,
    /// When the newest arrived.
    at: SimTime,
    /// Up to here the other side knows what we heard.
    told: u64,
}

impl Hearing {
    /// Nothing heard yet.
    pub(super) fn new(now: SimTime) -> Self {
        Self {
            newest: 0,
            mask: 0,
            at: now,
            told: 0,
        }
    }

    /// The newest packet heard, 0 for none: what a packet sent now reports up to.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// When the newest was heard.
    pub(super) fn at(&self) -> SimTime {
        self.at
    }

    /// The number with these lowest bits that is nearest to the one expected next.
    pub(super) fn whole_number(&self, low: u16) -> u64 {
        let expected = self.newest + 1;
        let ahead = low.wrapping_sub(expected as u16) as i16;
        expected.saturating_add_signed(ahead.into())
    }

    /// Was it heard already, or is it too late to tell?
    pub(super) fn is_stale(&self, number: u64) -> bool {
        match self.newest.checked_sub(number) {
            None => false,
            Some(0) => true,
            Some(late) if late > MAX_ACK_WINDOW.into() => true,
            Some(late) => number == 0 || self.mask >> (late - 1) & 1 == 1,
        }
    }

    /// A packet that is not stale. If it is late, packets under way report it missing: up to which packet what they say still holds is
    /// returned.
    pub(super) fn hear(&mut self, now: SimTime, number: u64) -> Option<u64> {
        if number > self.newest {
            self.hear_newest(now, number);
            return None;
        }
        self.mask |= 1 << (self.newest - number - 1);
        self.told = self.told.min(number - 1);
        Some(number - 1)
    }

    fn hear_newest(&mut self, now: SimTime, number: u64) {
        let ahead = number - self.newest;
        let shifted = |by: u64| self.mask.checked_shl(by as u32).unwrap_or(0);
        self.mask = match ahead {
            1..=127 if self.newest > 0 => shifted(ahead) | 1 << (ahead - 1),
            128 if self.newest > 0 => 1 << 127,
            _ => 0,
        };
        self.newest = number;
        self.at = now;
    }

    /// A packet that reported up to here has arrived.
    pub(super) fn told(&mut self, up_to: u64) {
        self.told = self.told.max(up_to);
    }

    /// What to report in a packet that leaves now.
    pub(super) fn acks(&self, now: SimTime) -> Option<PacketAcks> {
        if self.newest == 0 {
            return None;
        }
        let untold = (self.newest - self.told).saturating_sub(1);
        let depth = untold.min(MAX_ACK_WINDOW.into()) as u32;
        Some(PacketAcks {
            newest: self.newest as u16,
            depth,
            mask: self.mask & ((1 << depth) - 1),
            held: now.since(self.at),
        })
    }
}

/// Do these acks, of which the newest is this packet, say that another one was heard?
pub(super) fn says_heard(acks: &PacketAcks, newest: PacketId, packet: PacketId) -> bool {
    match newest.0.checked_sub(packet.0) {
        None => false,
        Some(0) => true,
        Some(behind) if behind > acks.depth.into() => false,
        Some(behind) => acks.mask >> (behind - 1) & 1 == 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_is_told_again() {
        let mut hearing = Hearing::new(SimTime::ZERO);
        assert_eq!(hearing.hear(SimTime::ZERO, 3), None);
        hearing.told(3);
        assert_eq!(hearing.acks(SimTime::ZERO).map(|acks| acks.depth), Some(0));
        assert_eq!(hearing.hear(SimTime::ZERO, 1), Some(0));
        let acks = hearing.acks(SimTime::ZERO).expect("something was heard");
        assert_eq!((acks.depth, acks.mask), (2, 0b10));
        let heard = |packet| says_heard(&acks, PacketId(3), PacketId(packet));
        assert_eq!(
            [heard(1), heard(2), heard(3), heard(4)],
            [true, false, true, false]
        );
    }

    #[test]
    fn each_packet_is_fresh_once_and_not_for_ever() {
        let mut hearing = Hearing::new(SimTime::ZERO);
        for number in [1, 300, 299, 173] {
            assert!(!hearing.is_stale(number), "{number}");
            hearing.hear(SimTime::ZERO, number);
            assert!(hearing.is_stale(number), "{number} again");
        }
        assert!(hearing.is_stale(172), "more than 127 behind");
        assert!(hearing.is_stale(0), "nobody sends packet 0");
    }
}
