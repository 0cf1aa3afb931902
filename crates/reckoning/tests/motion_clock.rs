//! The shared clock's promise, in ten thousand simulated runs (DR-7): the reported bound is true every time, and time
//! never runs backwards.

use domain::SimTime;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::motion::{Exchange, InjectedClock, SharedClock, SyncOutcome};
use std::f64::consts::TAU;

const RUNS: u64 = 10_000;
const RUN_SECS: f64 = 60.0;
/// The stated assumption: no local clock is off by more than 100 ppm at any instant.
const MAX_DRIFT: f64 = 1e-4;

/// A host's own clock: wrong by an offset, a drift, and a drift that comes and goes with the temperature.
struct LocalClock {
    start_ns: f64,
    drift: f64,
    wander: f64,
    period_ns: f64,
    phase: f64,
}

impl LocalClock {
    fn draw(rng: &mut Pcg64Mcg) -> Self {
        let drift = rng.random_range(-MAX_DRIFT..MAX_DRIFT);
        Self {
            start_ns: rng.random_range(0.0..1e14),
            drift,
            wander: rng.random_range(0.0..1.0) * (MAX_DRIFT - drift.abs()),
            period_ns: rng.random_range(5e9..200e9),
            phase: rng.random_range(0.0..TAU),
        }
    }

    fn read(&self, global: SimTime) -> SimTime {
        let t = global.0 as f64;
        let turn = TAU * t / self.period_ns + self.phase;
        let wandered = self.wander * self.period_ns / TAU * turn.sin();
        SimTime((self.start_ns + t * (1.0 + self.drift) + wandered).round() as u64)
    }
}

/// A path with its own mean delay in each direction (10 to 800 ms), jitter up to ±180 ms, and loss.
struct Path {
    means_ms: [f64; 2],
    jitter_ms: f64,
}

impl Path {
    fn draw(rng: &mut Pcg64Mcg) -> Self {
        Self {
            means_ms: [(); 2].map(|()| rng.random_range(10.0..800.0)),
            jitter_ms: rng.random_range(0.0..180.0),
        }
    }

    fn delay(&self, rng: &mut Pcg64Mcg, direction: usize) -> SimTime {
        let jitter = rng.random_range(-1.0..1.0) * self.jitter_ms;
        SimTime::from_millis((self.means_ms[direction] + jitter).max(0.1))
    }
}

/// All exchanges of a run with the global time of their arrival, in that order: questions go out without waiting for
/// answers, so answers overtake each other.
fn exchanges(rng: &mut Pcg64Mcg, clock: &LocalClock, path: &Path) -> Vec<(SimTime, Exchange)> {
    let mut done = Vec::new();
    let mut sent = SimTime::from_secs(rng.random_range(0.0..1e4));
    let end = sent + SimTime::from_secs(RUN_SECS);
    while sent < end {
        let received = sent + path.delay(rng, 0);
        let replied = received + SimTime::from_millis(rng.random_range(0.0..20.0));
        let returned = replied + path.delay(rng, 1);
        if rng.random_range(0.0..1.0) > 0.1 {
            let (sent, returned_local) = (clock.read(sent), clock.read(returned));
            let exchange = Exchange {
                sent,
                received,
                replied,
                returned: returned_local,
            };
            done.push((returned, exchange));
        }
        sent += SimTime::from_secs(rng.random_range(0.25..2.0));
    }
    done.sort_by_key(|(returned, _)| *returned);
    done
}

#[derive(Default)]
struct Tally {
    probes: u64,
    violations: u64,
    backward_steps: u64,
    disputes: u64,
    /// Error as part of the bound, the largest seen.
    tightest: f64,
}

/// Compares shown and true time at a few instants of `from..to`.
fn probe(
    rng: &mut Pcg64Mcg,
    clock: &SharedClock,
    local: &LocalClock,
    from: SimTime,
    to: SimTime,
    last: &mut SimTime,
    tally: &mut Tally,
) {
    let mut instants = [
        0.0,
        1.0,
        rng.random_range(0.0..1.0),
        rng.random_range(0.0..1.0),
    ];
    instants.sort_by(f64::total_cmp);
    for part in instants {
        let global = from + SimTime::from_secs((to - from).as_secs() * part);
        let reading = local.read(global);
        let shown = clock.now(reading).expect("after the first exchange");
        let bound = clock
            .error_bound(reading)
            .expect("after the first exchange");
        let error = SimTime(shown.0.abs_diff(global.0));
        tally.probes += 1;
        tally.violations += u64::from(error > bound);
        tally.backward_steps += u64::from(shown < *last);
        tally.tightest = tally.tightest.max(error.as_secs() / bound.as_secs());
        *last = shown;
    }
}

/// One run; returns the final bound and half of the fastest round trip, in ms.
fn run(seed: u64, tally: &mut Tally) -> (f64, f64) {
    let rng = &mut Pcg64Mcg::seed_from_u64(seed);
    let local = LocalClock::draw(rng);
    let path = Path::draw(rng);
    let exchanges = exchanges(rng, &local, &path);
    let mut clock = SharedClock::default();
    let mut last = SimTime::ZERO;
    let mut fastest = f64::INFINITY;
    for (n, (returned, exchange)) in exchanges.iter().enumerate() {
        let outcome = clock
            .handle_exchange(local.read(*returned), exchange)
            .expect("a fair exchange");
        tally.disputes += u64::from(!matches!(outcome, SyncOutcome::First | SyncOutcome::Agreed));
        fastest = fastest.min(exchange.round_trip().as_millis());
        let next = exchanges
            .get(n + 1)
            .map_or(*returned + SimTime::from_secs(30.0), |(next, _)| *next);
        probe(rng, &clock, &local, *returned, next, &mut last, tally);
    }
    let end = exchanges.last().expect("a minute of exchanges").0;
    let bound = clock.error_bound(local.read(end)).expect("synced");
    (bound.as_millis(), 0.5 * fastest)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

// DR-7
#[test]
fn the_reported_bound_is_true_in_every_run() {
    let mut tally = Tally::default();
    let ends: Vec<_> = (0..RUNS).map(|seed| run(seed, &mut tally)).collect();
    let above_half = ends.iter().map(|(bound, half)| bound - half).collect();
    let (bounds, halves) = ends.iter().copied().unzip();
    println!(
        "{RUNS} runs, {} probes: {} violations, {} steps backwards, {} disputes; error up to {:.6} of the bound",
        tally.probes, tally.violations, tally.backward_steps, tally.disputes, tally.tightest
    );
    let (bound, half, above) = (median(bounds), median(halves), median(above_half));
    println!(
        "after a minute, medians: bound {bound:.1} ms, half the fastest round trip {half:.1} ms, bound above it {above:.2} ms"
    );
    assert_eq!(tally.violations, 0);
    assert_eq!(tally.backward_steps, 0);
    assert_eq!(tally.disputes, 0);
    assert!(
        tally.tightest > 0.9,
        "the bound is no wider than bad luck needs: {}",
        tally.tightest
    );
    // Half the fastest round trip, and 60 s of drift at most.
    assert!(
        above <= 1e3 * RUN_SECS * MAX_DRIFT,
        "median {above} ms above half the round trip"
    );
}

// DR-7: drift is found where the path lets it be found, whatever its asymmetry.
#[test]
fn drift_is_estimated_on_a_quiet_path() {
    for drift in [-8e-5, -2e-5, 0.0, 5e-5] {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let local = InjectedClock {
            start: SimTime::from_secs(5_000.0),
            drift,
        };
        let path = Path {
            means_ms: [40.0, 10.0],
            jitter_ms: 1.0,
        };
        let mut clock = SharedClock::default();
        for second in 0..180 {
            let sent = SimTime::from_secs(f64::from(second));
            let received = sent + path.delay(&mut rng, 0);
            let returned = received + path.delay(&mut rng, 1);
            let [sent, back] = [sent, returned].map(|global| local.read(global));
            let exchange = Exchange {
                sent,
                received,
                replied: received,
                returned: back,
            };
            clock
                .handle_exchange(back, &exchange)
                .expect("a fair exchange");
        }
        // The local clock gains `drift`, so the global one loses it.
        let error = clock.drift() + drift;
        println!(
            "drift {:+.0} ppm: estimated to within {:+.2} ppm",
            -drift * 1e6,
            error * 1e6
        );
        assert!(error.abs() < 1e-5, "{error}");
    }
}

// DR-7: where nothing is unknown, nothing is added.
#[test]
fn a_perfect_clock_over_a_perfect_path_is_exact() {
    let local = InjectedClock::perfect();
    let mut clock = SharedClock::default();
    let at = local.read(SimTime::from_secs(3.0));
    let exchange = Exchange {
        sent: at,
        received: at,
        replied: at,
        returned: at,
    };
    assert_eq!(clock.handle_exchange(at, &exchange), Ok(SyncOutcome::First));
    assert_eq!(clock.now(at), Some(at));
    assert!(
        clock.error_bound(at).expect("synced") <= SimTime(2_000),
        "reading errors only"
    );
}

/// Times near each other or anything at all.
fn any_time() -> impl Strategy<Value = SimTime> {
    let near = (0..2_000_000_000_u64).prop_map(SimTime);
    prop_oneof![near, any::<u64>().prop_map(SimTime)]
}

prop_compose! {
    fn any_exchange()(sent in any_time(), received in any_time(), replied in any_time(), returned in any_time()) -> Exchange {
        Exchange { sent, received, replied, returned }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    // DR-7: whatever arrives, nothing panics, a refusal changes nothing, and time does not run backwards.
    #[test]
    fn any_exchange_is_taken_or_refused_whole(exchanges in prop::collection::vec((any_exchange(), any_time()), 1..12)) {
        let mut clock = SharedClock::default();
        let mut local = SimTime::ZERO;
        let mut last = SimTime::ZERO;
        for (exchange, later) in exchanges {
            local = local.max(SimTime(later.0.min(1 << 60)));
            let before = (clock.now(local), clock.error_bound(local), clock.drift());
            let refused = clock.handle_exchange(local, &exchange).is_err();
            if refused {
                prop_assert_eq!(before, (clock.now(local), clock.error_bound(local), clock.drift()));
            }
            if let Some(now) = clock.now(local) {
                prop_assert!(now >= last);
                last = now;
            }
        }
    }
}
