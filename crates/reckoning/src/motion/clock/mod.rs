//! The shared clock: every host's idea of the one global time, and how wrong it can be.
//!
//! You ask by letter what time it is. You posted the question at 1:00 by your watch, the answer says "I got it at
//! 5:03 and posted this at 5:04", and it reaches you at 1:09. Letters do not travel back in time, so at 1:00 it was
//! *at most* 5:03 there: the other clock is at most 4:03 ahead. And at 1:09 it was *at least* 5:04: it is at least
//! 3:55 ahead. Half-way, 3:59, can be wrong by 4 minutes: half of the 8 minutes the letters were under way.
//!
//! ```text
//!  global clock  ────────── t1 ──── t2 ───────────────►      offset = global − local
//!                         ↗           ↘                      offset ≤ t1 − t0   (at local time t0)
//!  local clock   ──── t0 ──────────────── t3 ─────────►      offset ≥ t2 − t3   (at local time t3)
//! ```
//!
//! **The bound.** Every exchange gives such an interval, and it is a hard one: no assumption on delay, jitter or
//! symmetry. The only assumption is how fast the two clocks may drift apart ([`ClockAssumptions::max_drift`]); by
//! that the interval is widened as it ages, and intersected with those of later exchanges. So the fastest letter in
//! *each direction* decides, whatever slower ones say: that is min-delay filtering with a proof. What is reported as
//! the bound is the distance from the time shown to the farther end of the interval; it is true whatever the estimate
//! inside does, and includes that the shown time may still be on its way to the estimate.
//!
//! **Asymmetric paths.** Nothing can tell a slow way out from a slow way back, so the bound cannot be less than half
//! of the fastest way out plus the fastest way back (at most half the fastest round trip), and settles there, plus
//! drift × age, plus what is left to slew. With 400
//! ms out and 10 ms back the truth lies at one end of the interval: the error is 195 ms, the bound 205 ms.
//!
//! **No steps.** The shown time runs a little faster or slower until it has caught up with the estimate;
//! it never goes back and, after the first exchange, never jumps.
//!
//! **Contradiction.** An exchange that cannot be reconciled with what was known means: a clock was set, drifts more
//! than assumed, or somebody lies. It is reported ([`SyncOutcome::Disputed`]); the bound is stretched to cover both
//! stories; once [`DISPUTES_TO_RESTART`] exchanges in a row tell the same new story, the old one is dropped
//! ([`SyncOutcome::Restarted`]). One exchange that agrees with the old story ends the dispute. Who can forge the other
//! end's answers can of course set this clock to anything: it is the master's word that is measured here, not its
//! honesty.

mod drift;
mod exchange;
mod injected;
mod interval;
mod slew;

pub use exchange::{BadExchange, ClockAssumptions, Exchange};
pub use injected::InjectedClock;

use domain::SimTime;
use drift::DriftEstimator;
use interval::OffsetInterval;
use slew::Slew;

/// So many contradicting exchanges in a row, agreeing among themselves, replace what was known.
pub const DISPUTES_TO_RESTART: u32 = 3;

/// What an exchange taught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncOutcome {
    /// The first one: from now on there is a global time.
    First,
    /// In agreement with what was known.
    Agreed,
    /// In contradiction; so many in a row. The bound covers both stories until it is resolved.
    Disputed(u32),
    /// The new story was told often enough; the old one is forgotten.
    Restarted,
}

/// One host's estimate of the global clock.
///
/// Feed it with [`Self::handle_exchange`]; ask [`Self::now`] and [`Self::error_bound`]. All three take the reading of
/// the local clock, which must not run backwards.
#[derive(Clone, Debug)]
pub struct SharedClock {
    assumptions: ClockAssumptions,
    state: Option<State>,
}

#[derive(Clone, Debug)]
struct State {
    known: OffsetInterval,
    rival: Option<Rival>,
    drift: DriftEstimator,
    slew: Slew,
}

/// The other story while there is a dispute.
#[derive(Clone, Copy, Debug)]
struct Rival {
    interval: OffsetInterval,
    told: u32,
}

impl Default for SharedClock {
    fn default() -> Self {
        Self::new(ClockAssumptions::default())
    }
}

impl SharedClock {
    /// A clock that knows nothing yet.
    pub fn new(assumptions: ClockAssumptions) -> Self {
        Self {
            assumptions,
            state: None,
        }
    }

    /// Takes a completed exchange; `local_now` is the local clock's reading at this moment, not before the answer's
    /// arrival. On an error nothing has changed.
    pub fn handle_exchange(
        &mut self,
        local_now: SimTime,
        exchange: &Exchange,
    ) -> Result<SyncOutcome, BadExchange> {
        let new = exchange.interval(local_now, &self.assumptions)?;
        let Some(state) = &mut self.state else {
            self.state = Some(State::new(local_now, new, &self.assumptions));
            return Ok(SyncOutcome::First);
        };
        let outcome = state.learn(local_now, new, &self.assumptions);
        state.aim(local_now);
        Ok(outcome)
    }

    /// The global time; `None` before the first exchange. Never decreases as `local` increases.
    pub fn now(&self, local: SimTime) -> Option<SimTime> {
        let state = self.state.as_ref()?;
        let global = i128::from(local.0) + i128::from(state.slew.offset_at(local));
        Some(SimTime(global.clamp(0, i128::from(u64::MAX)) as u64))
    }

    /// How far [`Self::now`] can be from the true global time, in either direction; `None` before the first exchange.
    pub fn error_bound(&self, local: SimTime) -> Option<SimTime> {
        let state = self.state.as_ref()?;
        Some(SimTime(state.bound_at(local, &self.assumptions)))
    }

    /// By how much the global clock is estimated to gain on the local one, in seconds per second; 0 while too little
    /// is known to say. An estimate: only the bound is a promise.
    pub fn drift(&self) -> f64 {
        self.state
            .as_ref()
            .map_or(0.0, |state| state.drift.estimate())
    }

    /// Whether the last exchange contradicted what was known before.
    pub fn is_disputed(&self) -> bool {
        self.state
            .as_ref()
            .is_some_and(|state| state.rival.is_some())
    }
}

impl State {
    fn new(local_now: SimTime, known: OffsetInterval, assumptions: &ClockAssumptions) -> Self {
        let mut drift = DriftEstimator::new(assumptions.widening());
        drift.observe(&known);
        Self {
            known,
            rival: None,
            drift,
            slew: Slew::start(local_now, known.middle_at(local_now, 0.0)),
        }
    }

    fn learn(
        &mut self,
        local_now: SimTime,
        new: OffsetInterval,
        assumptions: &ClockAssumptions,
    ) -> SyncOutcome {
        let widening = assumptions.widening();
        if let Some(narrower) = self.known.intersect(&new, local_now, widening) {
            self.known = narrower;
            self.rival = None;
            self.drift.observe(&new);
            return SyncOutcome::Agreed;
        }
        let rival = Rival::hear(self.rival, new, local_now, widening);
        if rival.told < DISPUTES_TO_RESTART {
            self.rival = Some(rival);
            return SyncOutcome::Disputed(rival.told);
        }
        self.known = rival.interval;
        self.rival = None;
        self.drift = DriftEstimator::new(widening);
        self.drift.observe(&new);
        SyncOutcome::Restarted
    }

    /// Lets the shown time make for the best estimate.
    fn aim(&mut self, local_now: SimTime) {
        let rate = self.drift.estimate();
        let target = self.known.middle_at(local_now, rate);
        self.slew.aim(local_now, target, rate);
    }

    fn bound_at(&self, local: SimTime, assumptions: &ClockAssumptions) -> u64 {
        let shown = self.slew.offset_at(local);
        let known = self.known.farthest_from(shown, local, assumptions);
        let rival = self.rival.map_or(0, |rival| {
            rival.interval.farthest_from(shown, local, assumptions)
        });
        known.max(rival)
    }
}

impl Rival {
    fn hear(before: Option<Self>, new: OffsetInterval, local: SimTime, widening: f64) -> Self {
        let agreed = before.and_then(|rival| {
            let interval = rival.interval.intersect(&new, local, widening)?;
            Some(Self {
                interval,
                told: rival.told + 1,
            })
        });
        agreed.unwrap_or(Self {
            interval: new,
            told: 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Local clock 2 s behind the global one; the letter takes `out` and `back` milliseconds.
    fn exchange(local_ms: f64, offset_ms: f64, out: f64, back: f64) -> (SimTime, Exchange) {
        let local = |ms: f64| SimTime::from_millis(local_ms + ms);
        let global = |ms: f64| SimTime::from_millis(local_ms + offset_ms + ms);
        let exchange = Exchange {
            sent: local(0.0),
            received: global(out),
            replied: global(out + 1.0),
            returned: local(out + 1.0 + back),
        };
        (exchange.returned, exchange)
    }

    fn feed(clock: &mut SharedClock, at_ms: f64, offset: f64, out: f64, back: f64) -> SyncOutcome {
        let (now, exchange) = exchange(at_ms, offset, out, back);
        clock
            .handle_exchange(now, &exchange)
            .expect("a fair exchange")
    }

    #[test]
    fn it_knows_nothing_before_the_first_exchange() {
        let clock = SharedClock::default();
        assert_eq!(clock.now(SimTime::ZERO), None);
        assert_eq!(clock.error_bound(SimTime::ZERO), None);
        assert_eq!(clock.drift(), 0.0);
    }

    // DR-7: the documented bound of an asymmetric path.
    #[test]
    fn asymmetric_paths_cost_half_the_round_trip() {
        let mut clock = SharedClock::default();
        feed(&mut clock, 1_000.0, 2_000.0, 400.0, 10.0);
        let local = SimTime::from_millis(1_411.0);
        let error = clock.now(local).expect("synced").as_millis() - 3_411.0;
        let bound = clock.error_bound(local).expect("synced").as_millis();
        assert!((error - 195.0).abs() < 0.1, "error {error}");
        assert!((bound - 205.0).abs() < 0.1, "bound {bound}");
    }

    #[test]
    fn the_fastest_letter_in_each_direction_decides() {
        let mut clock = SharedClock::default();
        feed(&mut clock, 1_000.0, 2_000.0, 20.0, 700.0);
        feed(&mut clock, 2_000.0, 2_000.0, 700.0, 20.0);
        feed(&mut clock, 9_000.0, 2_000.0, 500.0, 500.0);
        let local = SimTime::from_secs(100.0);
        let bound = clock.error_bound(local).expect("synced").as_millis();
        assert!(
            (20.0..31.0).contains(&bound),
            "20 ms + 100 ppm of 100 s: {bound}"
        );
    }

    #[test]
    fn a_clock_that_was_set_is_reported_and_followed_without_stepping_back() {
        let mut clock = SharedClock::default();
        feed(&mut clock, 1_000.0, 2_000.0, 10.0, 10.0);
        let before = clock.now(SimTime::from_millis(4_000.0));
        assert_eq!(
            feed(&mut clock, 4_000.0, 1_500.0, 10.0, 10.0),
            SyncOutcome::Disputed(1)
        );
        assert!(clock.is_disputed());
        let bound = clock
            .error_bound(SimTime::from_millis(4_021.0))
            .expect("synced");
        assert!(bound.as_millis() > 500.0, "covers both stories: {bound}");
        assert_eq!(
            feed(&mut clock, 5_000.0, 1_500.0, 10.0, 10.0),
            SyncOutcome::Disputed(2)
        );
        assert_eq!(
            feed(&mut clock, 6_000.0, 1_500.0, 10.0, 10.0),
            SyncOutcome::Restarted
        );
        assert!(!clock.is_disputed());
        let mut last = before;
        for ms in 6_021..30_000 {
            let now = clock.now(SimTime::from_millis(f64::from(ms)));
            assert!(now >= last, "stepped back at {ms} ms");
            last = now;
        }
        assert!((last.expect("synced").as_millis() - 31_499.0).abs() < 1.0);
    }

    #[test]
    fn one_agreeing_exchange_ends_a_dispute() {
        let mut clock = SharedClock::default();
        feed(&mut clock, 1_000.0, 2_000.0, 10.0, 10.0);
        feed(&mut clock, 2_000.0, 9_000.0, 10.0, 10.0);
        assert_eq!(
            feed(&mut clock, 3_000.0, 2_000.0, 10.0, 10.0),
            SyncOutcome::Agreed
        );
        assert!(!clock.is_disputed());
        assert_eq!(
            feed(&mut clock, 4_000.0, 9_000.0, 10.0, 10.0),
            SyncOutcome::Disputed(1)
        );
        assert_eq!(
            feed(&mut clock, 5_000.0, 30_000.0, 10.0, 10.0),
            SyncOutcome::Disputed(1),
            "a third story"
        );
    }

    #[test]
    fn hostile_exchanges_change_nothing() {
        let mut clock = SharedClock::default();
        feed(&mut clock, 1_000.0, 2_000.0, 10.0, 10.0);
        let later = SimTime::from_secs(3.0);
        let before = (clock.now(later), clock.error_bound(later));
        let (now, good) = exchange(2_000.0, 2_000.0, 10.0, 10.0);
        let bad = Exchange {
            received: good.replied + SimTime(1),
            ..good
        };
        assert_eq!(
            clock.handle_exchange(now, &bad),
            Err(BadExchange::RepliedBeforeReceived)
        );
        assert_eq!((clock.now(later), clock.error_bound(later)), before);
    }
}
