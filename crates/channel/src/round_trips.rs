//! How long an answer takes, and hence how long to wait before saying it again.

use domain::SimTime;

/// When a datagram without an answer is sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResendPolicy {
    /// As soon as the answer is overdue by what was measured: a late aura is worth more than a few bytes. After
    /// several tries the pauses double, up to a fifth of a second. A gap in the acks resends at once.
    #[default]
    Short,
    /// After this time (at least a millisecond), always, and for no other reason: how a library that is not made
    /// for this does it.
    Fixed(SimTime),
}

/// Before anything is measured; the first hello measures it.
const FIRST_GUESS: SimTime = SimTime(5_000_000);
/// Never sooner: a server needs a moment to answer.
const SOONEST: SimTime = SimTime(2_500_000);
/// However steady the answers come, wait half a millisecond longer than they take.
const LEAST_MARGIN: u64 = 500_000;
/// A pause of nothing would be a loop without end.
const SHORTEST_PAUSE: SimTime = SimTime(1_000_000);
const LATEST: SimTime = SimTime(200_000_000);
/// So many times without a pause growing; by then 15 % loss has struck one datagram in two hundred million.
const EAGER_TRIES: u32 = 10;

/// The round trip, measured as TCP does (RFC 6298): a moving mean and a moving deviation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrips {
    mean: Option<u64>,
    deviation: u64,
}

impl RoundTrips {
    pub(crate) fn add(&mut self, sample: SimTime) {
        let Some(mean) = self.mean else {
            self.mean = Some(sample.0);
            self.deviation = sample.0 / 2;
            return;
        };
        self.deviation = (3 * self.deviation + mean.abs_diff(sample.0)) / 4;
        self.mean = Some((7 * mean + sample.0) / 8);
    }

    pub(crate) fn mean(&self) -> Option<SimTime> {
        self.mean.map(SimTime)
    }

    /// How long to wait for an answer to the `tries`-th sending.
    pub(crate) fn resend_after(&self, policy: ResendPolicy, tries: u32) -> SimTime {
        match policy {
            ResendPolicy::Fixed(pause) => pause.max(SHORTEST_PAUSE),
            ResendPolicy::Short => {
                let doublings = tries.saturating_sub(EAGER_TRIES).min(16);
                let patience = self.patience();
                SimTime(patience.0.saturating_mul(1 << doublings)).min(LATEST.max(patience))
            }
        }
    }

    fn patience(&self) -> SimTime {
        let Some(mean) = self.mean else {
            return FIRST_GUESS;
        };
        let margin = (self.deviation.saturating_mul(4))
            .max(mean / 8)
            .max(LEAST_MARGIN);
        SimTime(mean.saturating_add(margin)).max(SOONEST)
    }
}

/// Has the other side been silent for so long that repeating everything would only add to its troubles?
pub(crate) fn seems_gone(tries: u32) -> bool {
    tries > EAGER_TRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: f64) -> SimTime {
        SimTime::from_millis(millis)
    }

    #[test]
    fn a_steady_link_is_resent_soon_after_an_answer_was_due() {
        let mut trips = RoundTrips::default();
        (0..50).for_each(|_| trips.add(ms(4.0)));
        assert_eq!(trips.mean(), Some(ms(4.0)));
        assert_eq!(trips.resend_after(ResendPolicy::Short, 1), ms(4.5));
        (0..50).for_each(|_| trips.add(ms(0.2)));
        assert_eq!(trips.resend_after(ResendPolicy::Short, 1), SOONEST);
    }

    #[test]
    fn an_unsteady_link_is_given_more_time() {
        let mut trips = RoundTrips::default();
        (0..100).for_each(|n| trips.add(ms(if n % 2 == 0 { 3.0 } else { 5.0 })));
        let wait = trips.resend_after(ResendPolicy::Short, 1);
        assert!((ms(7.0)..ms(9.0)).contains(&wait), "{wait}");
    }

    #[test]
    fn pauses_grow_only_after_several_tries_and_not_for_ever() {
        let mut trips = RoundTrips::default();
        (0..50).for_each(|_| trips.add(ms(4.0)));
        let after = |tries| trips.resend_after(ResendPolicy::Short, tries);
        assert_eq!(after(10), after(1));
        assert_eq!(after(11), ms(9.0));
        assert_eq!(after(400), LATEST);
        let fixed = ResendPolicy::Fixed(ms(100.0));
        assert_eq!(trips.resend_after(fixed, 1), ms(100.0));
        assert_eq!(trips.resend_after(fixed, 400), ms(100.0));
    }
}
