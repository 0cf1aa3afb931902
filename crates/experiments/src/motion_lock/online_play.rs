//! One protocol of the online scenario, played under virtual time.

use super::arms::Arm;
use super::rounds::{A, B, BODIES, Field, M1, RoundPlayer};
use super::setup::Setup;
use crate::seeds;
use domain::{BodyId, SimTime};
use glam::DVec3;
use serde_json::{Value, json};
use simulator::stations::{
    Delay, Exit, LinkConditions, LockChecker, Measure, Monitor, Sample, Stage, StageOptions,
    Watcher,
};
use station::{Event, PairId, Settings, Station, StationId};
use std::collections::BTreeMap;

/// Positions are logged this often.
const LOG: SimTime = SimTime(20_000_000);
/// Bytes are counted per this time.
const WINDOW: SimTime = SimTime(1_000_000_000);

/// What the texts leave out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OnlineSetup {
    pub field: Field,
    /// One way; the thesis does not report it. Two residential lines in one metropolis.
    pub latency_ms: f64,
    /// Give or take this part of it, evenly.
    pub jitter: f64,
    pub loss: f64,
    /// Frames of A and B; they are not in step.
    pub frame_ms: [f64; 2],
    /// Where a replica may be off before its owner sends.
    pub threshold: f64,
    pub lock_ms: f64,
    pub secs: f64,
}

impl Default for OnlineSetup {
    fn default() -> Self {
        Self {
            field: Field::default(),
            latency_ms: 20.0,
            jitter: 0.5,
            loss: 0.01,
            frame_ms: [15.0, 16.0],
            threshold: 1.0,
            lock_ms: 100.0,
            secs: 1200.0,
        }
    }
}

impl OnlineSetup {
    /// An arm's settings here: messages share datagrams, as in any real program.
    pub fn settings(&self, arm: Arm, station: StationId) -> Settings {
        let setup = Setup {
            threshold: self.threshold,
            lock_ms: self.lock_ms,
            frame_ms: self.frame_ms[usize::from(station == B)],
            bundle: true,
            ..Setup::default()
        };
        let mut settings = arm.settings(&setup);
        // Seven pairs are mostly far apart: "infrequent" heartbeats are enough there.
        settings.agreement.idle_beat = SimTime::from_millis(500.0);
        settings
    }

    fn conditions(&self) -> LinkConditions {
        LinkConditions {
            delay: Delay::around(self.latency_ms, self.jitter),
            loss: self.loss,
        }
    }

    /// For the result's readers.
    pub fn json(&self) -> Value {
        json!({
            "radius": self.field.radius,
            "box_half_width": self.field.half,
            "start_from_centre": self.field.start,
            "speed_per_s": self.field.speed,
            "steering_per_s2": self.field.steering,
            "aim_within": self.field.aim,
            "round_s": self.field.round_secs,
            "latency_ms": self.latency_ms,
            "jitter_part": self.jitter,
            "loss": self.loss,
            "frame_ms": self.frame_ms,
            "threshold": self.threshold,
            "t_lock_ms": self.lock_ms,
            "secs": self.secs,
        })
    }
}

/// What one protocol showed.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub arm: Arm,
    pub secs: f64,
    /// M1's replica, every 20 ms, master interpolated.
    pub deviation: Measure,
    /// Over M1 and its seven pairs, ms.
    pub interval: Measure,
    /// Hits that only one station knows of at the end.
    pub alone: u64,
    pub hits: [u64; 2],
    /// Pairs whose counters differ at the end.
    pub inconsistent: usize,
    /// kB/s at A.
    pub sent: Measure,
    pub received: Measure,
    /// Of A: given and lost to locks.
    pub commands: [u64; 2],
    pub penetration: f64,
    pub overlaps: u64,
    pub jumps: Measure,
    pub angle: Measure,
    pub gap: Measure,
    pub locks: u64,
    pub overlong: u64,
    pub longest_lock_ms: f64,
    pub longest_held_ms: f64,
}

impl Outcome {
    /// Share of commands lost to locks, %.
    pub fn discarded_pct(&self) -> f64 {
        100.0 * self.commands[1] as f64 / self.commands[0].max(1) as f64
    }
}

/// Bytes per window at A.
#[derive(Default)]
struct Bytes {
    sent: BTreeMap<u64, u64>,
    received: BTreeMap<u64, u64>,
}

impl Bytes {
    fn rate(windows: &BTreeMap<u64, u64>, secs: f64) -> Measure {
        let count = (secs / WINDOW.as_secs()).ceil() as u64;
        let bytes = (0..count).map(|window| windows.get(&window).copied().unwrap_or(0));
        bytes
            .map(|bytes| bytes as f64 / 1000.0 / WINDOW.as_secs())
            .collect()
    }
}

struct Eyes {
    monitor: Monitor,
    locks: LockChecker,
    bytes: Bytes,
}

impl Watcher for Eyes {
    fn frame(&mut self, now: SimTime, station: &Station) {
        self.monitor.frame(now, station);
        self.locks.frame(now, station);
    }
    fn event(&mut self, now: SimTime, station: StationId, event: &Event) {
        self.monitor.event(now, station, event);
        self.locks.event(now, station, event);
    }
    fn sent(&mut self, now: SimTime, from: StationId, to: StationId, bytes: usize) {
        self.monitor.sent(now, from, to, bytes);
        if from == A {
            *self.bytes.sent.entry(now.0 / WINDOW.0).or_default() += bytes as u64;
        }
    }
    fn exit(&mut self, from: StationId, to: StationId, exit: &Exit) {
        self.monitor.exit(from, to, exit);
        if to == A && !exit.lost {
            let window = exit.at.0 / WINDOW.0;
            *self.bytes.received.entry(window).or_default() += exit.bytes.len() as u64;
        }
    }
}

/// Plays one protocol under virtual time.
pub(super) fn play(arm: Arm, setup: &OnlineSetup, seed: u64) -> Outcome {
    let mut stage = Stage::new(StageOptions {
        seed: seeds::derive(seed, &[51]),
        conditions: setup.conditions(),
        faults: Vec::new(),
    });
    for (id, first_ms) in [(A, 0.0), (B, 3.0)] {
        let settings = setup.settings(arm, id);
        let station = setup.field.station(id, 1, settings);
        let station = station.expect("eight bodies with numbers that are finite");
        let player = RoundPlayer::new(setup.field, seed, id);
        stage.add(
            station,
            Box::new(player),
            SimTime::from_millis(first_ms),
            settings.frame,
        );
    }
    let longest_frame = setup.frame_ms[0].max(setup.frame_ms[1]);
    let mut eyes = Eyes {
        monitor: Monitor::following([M1]),
        locks: LockChecker::new(
            SimTime::from_millis(setup.lock_ms),
            SimTime::from_millis(longest_frame),
        ),
        bytes: Bytes::default(),
    };
    stage.run(SimTime::from_secs(setup.secs), &mut eyes, &mut |_| false);
    outcome(arm, setup, &stage, &eyes)
}

fn outcome(arm: Arm, setup: &OnlineSetup, stage: &Stage, eyes: &Eyes) -> Outcome {
    let monitor = &eyes.monitor;
    let stations: Vec<&Station> = stage.stations().collect();
    let (interval, alone) = monitor.intervals(A, B);
    let commands = stations[0].commands();
    let pairs = (2..=BODIES).filter_map(|other| PairId::new(M1, BodyId(other)));
    let counted = |station: &Station, pair| station.counters(pair).unwrap_or_default().c;
    let inconsistent =
        pairs.filter(|pair| counted(stations[0], *pair) != counted(stations[1], *pair));
    Outcome {
        arm,
        secs: setup.secs,
        deviation: logged_deviation(monitor.samples(A, M1), monitor.samples(B, M1)),
        interval,
        alone,
        hits: [A, B].map(|station| monitor.hits(station).len() as u64),
        inconsistent: inconsistent.count(),
        sent: Bytes::rate(&eyes.bytes.sent, setup.secs),
        received: Bytes::rate(&eyes.bytes.received, setup.secs),
        commands: [commands.given, commands.discarded],
        penetration: monitor.penetration,
        overlaps: monitor.overlaps,
        jumps: monitor.jumps,
        angle: monitor.angles(A, B),
        gap: monitor.gaps(B),
        locks: eyes.locks.locks,
        overlong: eyes.locks.overlong.len() as u64,
        longest_lock_ms: eyes.locks.longest.as_millis(),
        longest_held_ms: eyes.locks.longest_held.as_millis(),
    }
}

/// What is in the log: the first frame at or after each 20 ms.
fn logged(samples: &[Sample]) -> Vec<Sample> {
    let mut next = SimTime::ZERO;
    let mut kept = Vec::new();
    for sample in samples {
        if sample.at >= next {
            kept.push(*sample);
            next = SimTime((sample.at.0 / LOG.0 + 1) * LOG.0);
        }
    }
    kept
}

/// ML-51: both stations log every 20 ms; afterwards the master is interpolated to the times of the replica's log.
pub(super) fn logged_deviation(master: &[Sample], replica: &[Sample]) -> Measure {
    let truth = logged(master);
    let position = |at: SimTime| -> Option<DVec3> {
        let after = truth.partition_point(|sample| sample.at < at);
        let next = truth.get(after)?;
        if next.at == at {
            return Some(next.position);
        }
        let before = truth.get(after.checked_sub(1)?)?;
        let share = at.since(before.at).as_secs() / next.at.since(before.at).as_secs();
        Some(before.position.lerp(next.position, share))
    };
    let shown = logged(replica);
    let apart = shown.iter();
    let apart = apart.filter_map(|one| Some(position(one.at)?.distance(one.position)));
    apart.collect()
}
