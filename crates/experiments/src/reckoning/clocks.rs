//! Which clock a receiver goes by, and what it costs if that clock or the guess of the delay is wrong (beyond the thesis, which
//! assumes perfect clocks): global, global with a known fault, global as synchronised over the same network, one-way delay, local.

use super::motion::Motion;
use super::playback::{Arrival, Playback};
use super::summary::Summary;
use super::trace::{Trace, frames};
use super::{Scale, parallel};
use crate::result::{Claim, ExperimentResult};
use crate::seeds;
use crate::table::Table;
use domain::{BodyId, SimTime};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::fairness::Link;
use reckoning::motion::{
    ClockMode, Exchange, InjectedClock, OneWayDelay, Receiver, SharedClock, TANK_SPEED,
};
use serde_json::json;

/// Counted from here on: the clock has been synchronised for a while.
const START_SECS: f64 = 5.0;
/// A clock exchange this often.
const EXCHANGE_SECS: f64 = 0.5;
/// A quartz that is 3.7 s and 50 ppm off.
const QUARTZ: InjectedClock = InjectedClock {
    start: SimTime(3_700_000_000),
    drift: 5e-5,
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Clock {
    /// Perfect, or ahead by so many ms.
    Global {
        ahead_ms: f64,
    },
    /// A bad quartz, synchronised by exchanges over the same links.
    Synchronised,
    /// Half the measured round trip.
    OneWay,
    Local,
}

const CLOCKS: [Clock; 7] = [
    Clock::Global { ahead_ms: 0.0 },
    Clock::Global { ahead_ms: 4.0 },
    Clock::Global { ahead_ms: 20.0 },
    Clock::Global { ahead_ms: 100.0 },
    Clock::Synchronised,
    Clock::OneWay,
    Clock::Local,
];

impl Clock {
    fn name(self) -> String {
        match self {
            Self::Global { ahead_ms: 0.0 } => "global, perfect".into(),
            Self::Global { ahead_ms } => format!("global, {ahead_ms} ms off"),
            Self::Synchronised => "global, synchronised".into(),
            Self::OneWay => "one-way (half a round trip)".into(),
            Self::Local => "local".into(),
        }
    }
}

/// Mean delays out and back, and the variance of both, ms.
const NETWORKS: [(&str, f64, f64, f64); 3] = [
    ("300 ms both ways", 300.0, 300.0, 0.0),
    ("300 ± 180 ms both ways", 300.0, 300.0, 180.0),
    ("100 ms out, 500 ms back", 100.0, 500.0, 0.0),
];

/// A receiver and whatever tells it the time.
struct Station {
    clock: Clock,
    receiver: Receiver,
    delay: OneWayDelay,
    shared: SharedClock,
    sum: f64,
    frames: f64,
}

impl Station {
    fn new(clock: Clock) -> Self {
        let mode = match clock {
            Clock::Local => ClockMode::Local,
            Clock::OneWay => ClockMode::OneWay {
                delay: SimTime::ZERO,
            },
            Clock::Global { .. } | Clock::Synchronised => ClockMode::Global,
        };
        Self {
            clock,
            receiver: Receiver::new(BodyId(1), mode),
            delay: OneWayDelay::default(),
            shared: SharedClock::default(),
            sum: 0.0,
            frames: 0.0,
        }
    }

    /// The time this receiver goes by; `None` before its clock knows any.
    fn reads(&self, now: SimTime) -> Option<SimTime> {
        match self.clock {
            Clock::Global { ahead_ms } => Some(now + SimTime::from_millis(ahead_ms)),
            Clock::Synchronised => self.shared.now(QUARTZ.read(now)),
            Clock::OneWay | Clock::Local => Some(now),
        }
    }

    fn arrive(&mut self, arrival: &Arrival) {
        if self.clock == Clock::OneWay {
            self.delay.handle_round_trip(arrival.round_trip);
            let delay = self.delay.delay();
            self.receiver.set_mode(ClockMode::OneWay { delay });
        }
        if let Some(at) = self.reads(arrival.at) {
            // A stale one is dropped: delays that vary reorder.
            let _ = self.receiver.receive(at, &arrival.vector);
        }
    }

    fn observe(&mut self, now: SimTime, trace: &Trace) {
        let Some(placed) = self.reads(now).and_then(|at| self.receiver.place(at)) else {
            return;
        };
        let real = trace.course.state_at(now).position;
        self.sum += placed.position.distance(real);
        self.frames += 1.0;
    }
}

/// The trigger rate, and the mean error by clock, of one run.
fn watch(motion: Motion, network: usize, seed: u64, secs: f64) -> (f64, Vec<f64>) {
    let (_, out_ms, back_ms, spread_ms) = NETWORKS[network];
    let out = Link::fixed(out_ms).with_spread(spread_ms);
    let back = Link::fixed(back_ms).with_spread(spread_ms);
    let trace = Trace::record(motion, BodyId(1), seed, secs);
    let mut playback = Playback::new(&trace, &out, &back, seed);
    let mut exchanges = exchanges(&out, &back, seed, secs).into_iter().peekable();
    let mut stations: Vec<Station> = CLOCKS.into_iter().map(Station::new).collect();
    for now in frames(trace.duration) {
        while let Some((_, exchange)) = exchanges.next_if(|(arrival, _)| *arrival <= now) {
            for station in &mut stations {
                station
                    .shared
                    .handle_exchange(QUARTZ.read(now), &exchange)
                    .expect("a true exchange");
            }
        }
        for arrival in playback.due(now) {
            stations.iter_mut().for_each(|one| one.arrive(arrival));
        }
        if now.as_secs() >= START_SECS {
            stations.iter_mut().for_each(|one| one.observe(now, &trace));
        }
    }
    let mean = |station: &Station| station.sum / station.frames.max(1.0);
    (trace.rate(), stations.iter().map(mean).collect())
}

/// Questions to the master over the same links, by the arrival of their answers.
fn exchanges(out: &Link, back: &Link, seed: u64, secs: f64) -> Vec<(SimTime, Exchange)> {
    let mut rng = Pcg64Mcg::seed_from_u64(seeds::derive(seed, &[12]));
    let mut delay = |link: &Link| {
        let spread = link.spread_ms * rng.random_range(-1.0..=1.0);
        SimTime::from_millis(link.delay_ms + spread)
    };
    let asked = (0..(secs / EXCHANGE_SECS) as u32).map(|n| f64::from(n) * EXCHANGE_SECS);
    let mut exchanges: Vec<_> = asked
        .map(|at| {
            let asked = SimTime::from_secs(at);
            let answered = asked + delay(back);
            let returned = answered + delay(out);
            let exchange = Exchange {
                sent: QUARTZ.read(asked),
                received: answered,
                replied: answered,
                returned: QUARTZ.read(returned),
            };
            (returned, exchange)
        })
        .collect();
    exchanges.sort_by_key(|(returned, _)| *returned);
    exchanges
}

/// Adds the table and its claims.
pub(super) fn add(result: &mut ExperimentResult, scale: &Scale, progress: &mut dyn FnMut(f64)) {
    let motions = [Motion::Linear, Motion::StopAndGo];
    let mut jobs = Vec::new();
    for motion in motions {
        for network in 0..NETWORKS.len() {
            jobs.extend((0..scale.seeds).map(|run| (motion, network, run)));
        }
    }
    let work = |(motion, network, run): &(Motion, usize, u32)| {
        watch(*motion, *network, motion.seed(scale.seed, *run), scale.secs)
    };
    let seen = parallel::map(&jobs, work, progress);
    let rate_of = |motion: Motion| {
        let own = jobs.iter().zip(&seen).filter(|(job, _)| job.0 == motion);
        Summary::of(own.map(|(_, (rate, _))| *rate))
    };
    let over_seeds = |motion: Motion, network: usize, clock: Clock| {
        let index = CLOCKS.iter().position(|one| *one == clock).expect("listed");
        let runs = jobs.iter().zip(&seen);
        let own = runs.filter(|((m, n, _), _)| *m == motion && *n == network);
        Summary::of(own.map(|(_, (_, errors))| errors[index]))
    };
    let mut table = Table::new(
        "Beyond the thesis: mean distance from the real to the placed path by clock, units",
        &["Motion", "Triggers/s", "Network", "Clock", "Mean error"],
    );
    for motion in motions {
        let rate = rate_of(motion);
        for (network, (name, ..)) in NETWORKS.iter().enumerate() {
            for clock in CLOCKS {
                let error = over_seeds(motion, network, clock);
                result.rows.push(json!({
                    "table": "clocks",
                    "motion": motion,
                    "network": name,
                    "clock": clock.name(),
                    "seeds": scale.seeds,
                    "triggers_per_sec": rate.json(),
                    "mean_error": error.json(),
                    "published": null,
                }));
                table.push(vec![
                    motion.name().into(),
                    format!("{:.1}", rate.mean),
                    (*name).into(),
                    clock.name(),
                    error.text(),
                ]);
            }
        }
    }
    result.tables.push(table);
    let linear = |network, clock| over_seeds(Motion::Linear, network, clock).mean;
    let perfect = linear(0, CLOCKS[0]);
    let off = [4.0, 20.0, 100.0].map(|ahead_ms| linear(0, Clock::Global { ahead_ms }) - perfect);
    let expected = [4.0, 20.0, 100.0].map(|ms| TANK_SPEED * ms * 1e-3);
    // While a vector is under way the error is not parallel to the course, so a little less than all of it adds up.
    let near = |off: f64, expected: f64| (0.7..=1.02).contains(&(off / expected));
    result.claims.push(Claim::new(
        "beyond",
        "a clock that is δ off costs about speed × δ for ever (linear motion, 300 ms): 0.1, 0.5 and 2.5 units for 4, 20 and 100 ms",
        off.iter().zip(expected).all(|(off, expected)| near(*off, expected)),
        format!("{:.3} / {:.3} / {:.3} units more than with a perfect clock", off[0], off[1], off[2]),
    ));
    let [one_way, asymmetric] = [0, 2].map(|network| linear(network, Clock::OneWay));
    let [jitter, jitter_global] = [Clock::OneWay, CLOCKS[0]].map(|clock| linear(1, clock));
    result.claims.push(Claim::new(
        "beyond",
        "the one-way delay is as good as a perfect clock on a steady symmetric path; variance and asymmetry make it worse (linear motion)",
        one_way < 1.05 * perfect + 0.01 && jitter > 1.5 * jitter_global && asymmetric > 3.0 * linear(2, CLOCKS[0]),
        format!(
            "one-way against perfect: symmetric {one_way:.3} and {perfect:.3}, ± 180 ms {jitter:.3} and {jitter_global:.3}, asymmetric {asymmetric:.3} and {:.3} units",
            linear(2, CLOCKS[0])
        ),
    ));
    let synchronised = [0, 1].map(|network| linear(network, Clock::Synchronised));
    result.claims.push(Claim::new(
        "beyond",
        "a clock synchronised over the network is nearly as good as a perfect one on symmetric paths, with and without variance (within 0.25 units, 10 ms at full speed)",
        synchronised[0] < perfect + 0.25 && synchronised[1] < jitter_global + 0.25,
        format!(
            "{:.3} against {perfect:.3} units; ± 180 ms: {:.3} against {jitter_global:.3}",
            synchronised[0], synchronised[1]
        ),
    ));
}
