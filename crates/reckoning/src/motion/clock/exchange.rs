//! One exchange of four time stamps, and what makes one unbelievable.

use super::interval::{Mark, OffsetInterval};
use domain::SimTime;
use thiserror::Error;

/// Times beyond this (73 years) are absurd, and would overflow the arithmetic below.
const LATEST: SimTime = SimTime(i64::MAX as u64 / 4);

/// What the bound rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockAssumptions {
    /// The rate of the local clock differs from that of the global one by at most this fraction (default 1e-4, 100
    /// ppm; quartz is specified at 20 to 50 ppm). It may vary within. Larger: the bound grows faster between
    /// exchanges. At most 0.1.
    pub max_drift: f64,
    /// Every reading of a clock is right to within this (default 1 µs): resolution, and the time between reading and
    /// sending.
    pub reading_error: SimTime,
    /// Exchanges that took longer are not worth looking at (default 10 s).
    pub max_round_trip: SimTime,
}

impl Default for ClockAssumptions {
    fn default() -> Self {
        Self {
            max_drift: 1e-4,
            reading_error: SimTime(1_000),
            max_round_trip: SimTime::from_secs(10.0),
        }
    }
}

impl ClockAssumptions {
    /// How much the offset may change per second of the *local* clock: a local clock at rate 1 − d sees the global
    /// one gain d/(1 − d).
    pub(super) fn widening(&self) -> f64 {
        let drift = self.max_drift.clamp(0.0, 0.1);
        drift / (1.0 - drift)
    }
}

/// The four time stamps of one question and its answer, NTP's t0 to t3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The question left here; local clock (t0).
    pub sent: SimTime,
    /// It reached the master; global clock (t1).
    pub received: SimTime,
    /// The answer left the master; global clock (t2).
    pub replied: SimTime,
    /// It arrived here; local clock (t3).
    pub returned: SimTime,
}

/// Why an exchange was not taken. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadExchange {
    /// t3 < t0: the local clock ran backwards, or the time stamps are mixed up.
    #[error("the answer arrived before the question was sent")]
    ReturnedBeforeSent,
    /// t2 < t1: the other end is faulty or hostile.
    #[error("the answer was sent before the question arrived")]
    RepliedBeforeReceived,
    /// t2 − t1 > t3 − t0: the other end is faulty or hostile.
    #[error(
        "the other end claims to have held the question for longer than the whole exchange took"
    )]
    HeldTooLong,
    /// More than the assumed longest round trip.
    #[error("the round trip took {0}")]
    TooSlow(SimTime),
    /// t3 is later than now.
    #[error("the answer arrives in the future")]
    NotYetReturned,
    /// A time more than 73 years from zero.
    #[error("absurd time {0}")]
    Absurd(SimTime),
}

impl Exchange {
    /// Time under way, without the time the other end held it; zero if the stamps make no sense.
    pub fn round_trip(&self) -> SimTime {
        let held = self.replied.since(self.received);
        self.returned.since(self.sent).since(held)
    }

    /// The hard interval of the offset that this exchange proves.
    pub(super) fn interval(
        &self,
        local_now: SimTime,
        assumptions: &ClockAssumptions,
    ) -> Result<OffsetInterval, BadExchange> {
        self.check(local_now, assumptions)?;
        let slack = 2 * assumptions.reading_error.0.min(LATEST.0) as i64;
        let upper = Mark {
            offset_ns: difference(self.received, self.sent) + slack,
            at: self.sent,
        };
        let lower = Mark {
            offset_ns: difference(self.replied, self.returned) - slack,
            at: self.returned,
        };
        let interval = OffsetInterval { upper, lower };
        if interval.is_empty_at(self.returned, assumptions.widening()) {
            return Err(BadExchange::HeldTooLong);
        }
        Ok(interval)
    }

    fn check(&self, local_now: SimTime, assumptions: &ClockAssumptions) -> Result<(), BadExchange> {
        let times = [
            self.sent,
            self.received,
            self.replied,
            self.returned,
            local_now,
        ];
        if let Some(absurd) = times.into_iter().find(|time| *time > LATEST) {
            return Err(BadExchange::Absurd(absurd));
        }
        if self.returned < self.sent {
            Err(BadExchange::ReturnedBeforeSent)
        } else if self.replied < self.received {
            Err(BadExchange::RepliedBeforeReceived)
        } else if self.returned > local_now {
            Err(BadExchange::NotYetReturned)
        } else if self.round_trip() > assumptions.max_round_trip {
            Err(BadExchange::TooSlow(self.round_trip()))
        } else {
            Ok(())
        }
    }
}

/// `a − b` in nanoseconds; both are below [`LATEST`], so it fits.
fn difference(a: SimTime, b: SimTime) -> i64 {
    a.0 as i64 - b.0 as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Exchange = Exchange {
        sent: SimTime(1_000_000_000),
        received: SimTime(5_100_000_000),
        replied: SimTime(5_101_000_000),
        returned: SimTime(1_201_000_000),
    };

    fn verdict(exchange: Exchange) -> Option<BadExchange> {
        let now = SimTime::from_secs(20.0);
        exchange.interval(now, &ClockAssumptions::default()).err()
    }

    // DR-7: an exchange that cannot be is refused with its reason.
    #[test]
    fn impossible_exchanges_are_named() {
        assert_eq!(verdict(GOOD), None);
        assert_eq!(GOOD.round_trip(), SimTime::from_millis(200.0));
        let returned = SimTime(999_999_999);
        assert_eq!(
            verdict(Exchange { returned, ..GOOD }),
            Some(BadExchange::ReturnedBeforeSent)
        );
        let replied = SimTime(5_099_999_999);
        assert_eq!(
            verdict(Exchange { replied, ..GOOD }),
            Some(BadExchange::RepliedBeforeReceived)
        );
        let replied = SimTime(5_400_000_000);
        assert_eq!(
            verdict(Exchange { replied, ..GOOD }),
            Some(BadExchange::HeldTooLong)
        );
        let returned = SimTime::from_secs(15.0);
        let slow = verdict(Exchange { returned, ..GOOD });
        assert!(matches!(slow, Some(BadExchange::TooSlow(_))), "{slow:?}");
        let returned = SimTime::from_secs(20.1);
        assert_eq!(
            verdict(Exchange { returned, ..GOOD }),
            Some(BadExchange::NotYetReturned)
        );
        let received = SimTime(u64::MAX);
        assert_eq!(
            verdict(Exchange { received, ..GOOD }),
            Some(BadExchange::Absurd(received))
        );
    }
}
