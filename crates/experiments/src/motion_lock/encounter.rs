//! One offline run: two stations, one scenario, one network, one protocol, one seed.

use super::arms::Arm;
use super::networks::Net;
use super::player::{PathPlayer, state};
use super::setup::Setup;
use crate::seeds;
use domain::{BodyId, SimTime};
use scenes::encounters::Scenario;
use simulator::stations::{
    Exit, LockChecker, Measure, Monitor, PerfectStation, Stage, StageFault, StageOptions, Watcher,
};
use station::{Ball, Event, LinkKey, PairId, Protocol, Settings, Station, StationId};
use std::collections::BTreeSet;

pub(crate) const A: StationId = StationId(0);
pub(crate) const B: StationId = StationId(1);
pub(crate) const M1: BodyId = BodyId(1);
pub(crate) const M2: BodyId = BodyId(2);

/// A run goes on for so long after its first hit ...
pub(crate) const AFTER_HIT: SimTime = SimTime(500_000_000);
/// ... or ends here.
pub(crate) const LONGEST: SimTime = SimTime(3_000_000_000);
/// Messages under way at the end have this long to arrive.
const SETTLING: SimTime = SimTime(1_000_000_000);
/// The paper's other window.
const SHORT_WINDOW: SimTime = SimTime(400_000_000);

/// What is run.
#[derive(Clone, Debug)]
pub(crate) struct Encounter {
    pub scenario: Scenario,
    pub net: Net,
    pub arm: Arm,
    pub setup: Setup,
    pub seed: u64,
    pub faults: Vec<StageFault>,
}

/// What it showed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    /// Hits counted by A and by B.
    pub counts: [u32; 2],
    /// Δt_col of every hit both know of, ms.
    pub intervals: Vec<f64>,
    /// Hits that only one knows of.
    pub alone: u64,
    /// Deviations of both replicas, summed from the first hit on (without one: from the planned meeting on) for 500 and for 400 ms.
    pub deviation: [f64; 2],
    /// Distance of the surfaces when a hit was played, the largest amount.
    pub gap: f64,
    /// Deepest shown overlap.
    pub penetration: f64,
    /// Shown jumps of more than a radius, after the first hit or the meeting.
    pub jumps: u64,
    /// The largest of them.
    pub jump_most: f64,
    /// Largest difference of direction after the same hit, degrees.
    pub angle: f64,
    /// Locks, and those that lasted too long.
    pub locks: u64,
    pub overlong: u64,
    pub longest_lock_ms: f64,
    /// Commands and those lost to locks.
    pub commands: [u64; 2],
    /// Two-phase agreements that failed.
    pub aborted: u64,
    /// Bytes given to the network.
    pub bytes: u64,
    /// The network as it was.
    pub latency_ms: f64,
    pub lost: f64,
    /// How long it was, and when its first hit came.
    pub secs: f64,
    pub first_hit_secs: Option<f64>,
    /// Every hit that either station had registered at the end is known to both a second later.
    pub settles: bool,
}

impl Record {
    pub fn hit(&self) -> bool {
        self.counts != [0, 0]
    }
}

/// The monitor, the checker of locks, and whoever else wants to look on.
struct All<'a>(&'a mut Monitor, &'a mut LockChecker, &'a mut dyn Watcher);

impl Watcher for All<'_> {
    fn frame(&mut self, now: SimTime, station: &Station) {
        self.0.frame(now, station);
        self.1.frame(now, station);
        self.2.frame(now, station);
    }
    fn event(&mut self, now: SimTime, station: StationId, event: &Event) {
        self.0.event(now, station, event);
        self.1.event(now, station, event);
        self.2.event(now, station, event);
    }
    fn sent(&mut self, now: SimTime, from: StationId, to: StationId, bytes: usize) {
        self.0.sent(now, from, to, bytes);
    }
    fn exit(&mut self, from: StationId, to: StationId, exit: &Exit) {
        self.0.exit(from, to, exit);
    }
}

struct Nobody;

impl Watcher for Nobody {}

impl Encounter {
    /// The same seed for all protocols: they are compared in pairs.
    pub fn new(
        master: u64,
        scenario: Scenario,
        net: Net,
        arm: Arm,
        setup: Setup,
        run: u32,
    ) -> Self {
        let name = [7, scenario as u64, net as u64, u64::from(run)];
        Self {
            scenario,
            net,
            arm,
            setup,
            seed: seeds::derive(master, &name),
            faults: Vec::new(),
        }
    }

    /// Runs it.
    pub fn run(&self) -> Record {
        let (monitor, locks, mut stage) = self.watch(&self.arm.settings(&self.setup));
        let mut record = self.record(&monitor, &locks, &stage);
        record.settles = settles(&monitor, &mut stage);
        record
    }

    /// Runs it with these settings and gives back everything that was seen.
    pub fn watch(&self, settings: &Settings) -> (Monitor, LockChecker, Stage) {
        self.watch_with(settings, &mut Nobody)
    }

    /// The same with someone else looking on.
    pub fn watch_with(
        &self,
        settings: &Settings,
        other: &mut dyn Watcher,
    ) -> (Monitor, LockChecker, Stage) {
        let setup = &self.setup;
        let mut stage = Stage::new(StageOptions {
            seed: self.seed,
            conditions: self.net.conditions(setup.shape),
            faults: self.faults.clone(),
        });
        let frame = SimTime::from_millis(setup.frame_ms);
        let paths = self.scenario.paths(&setup.field());
        let start = [M1, M2].map(|body| {
            let path = paths[usize::from(body == M2)];
            (body, path, state(path.at(-setup.meeting_secs)))
        });
        for (id, own, phase) in [(A, 0, 0.0), (B, 1, setup.phase_ms)] {
            let mut station = Station::new(id, 1, *settings);
            station.add_peer(if id == A { B } else { A }, key());
            let ball = Ball::new(setup.radius);
            let (body, path, first) = start[own];
            let (other, _, there) = start[1 - own];
            let peer = if id == A { B } else { A };
            let added = station
                .add_master(body, ball, first)
                .and_then(|()| station.add_replica(other, peer, ball, there));
            added.expect("two bodies with numbers that are finite");
            let player = PathPlayer::new([(body, path)], setup.meeting_secs);
            stage.add(
                station,
                Box::new(player),
                SimTime::from_millis(phase),
                frame,
            );
        }
        let mut monitor = Monitor::following([M1, M2]);
        let mut locks = LockChecker::new(settings.lock.max, frame);
        // In steps of a frame: a run ends half a second after its first hit.
        let mut end = LONGEST;
        let mut at = SimTime::ZERO;
        while at < end {
            at = (at + frame).min(end);
            let mut all = All(&mut monitor, &mut locks, other);
            stage.run(at, &mut all, &mut |_| false);
            if let Some(hit) = first_hit(&monitor) {
                end = hit + AFTER_HIT;
            }
        }
        (monitor, locks, stage)
    }

    fn record(&self, monitor: &Monitor, locks: &LockChecker, stage: &Stage) -> Record {
        let setup = &self.setup;
        let meeting = SimTime::from_secs(setup.meeting_secs);
        let from = first_hit(monitor).unwrap_or(meeting);
        let deviation = |window: SimTime| {
            let ways = [(M1, A, B), (M2, B, A)];
            let sums = ways
                .map(|(body, owner, at)| monitor.deviation(body, owner, at, from, from + window));
            sums.iter().map(Measure::sum).sum::<f64>()
        };
        let (intervals, alone) = intervals(monitor);
        let gaps = [monitor.gaps(A), monitor.gaps(B)];
        let gap = gaps.iter().map(|one| one.max().abs().max(one.min().abs()));
        let commands = stage.stations().map(Station::commands);
        let commands = commands.fold([0, 0], |sum, one| {
            [sum[0] + one.given, sum[1] + one.discarded]
        });
        let counts = [A, B].map(|station| monitor.hits(station).len() as u32);
        Record {
            counts,
            intervals,
            alone,
            deviation: [deviation(AFTER_HIT), deviation(SHORT_WINDOW)],
            gap: gap.fold(0.0, f64::max),
            penetration: monitor.penetration,
            jumps: monitor.jumps.count(),
            jump_most: monitor.jumps.max(),
            angle: monitor.angles(A, B).max(),
            locks: locks.locks,
            overlong: locks.overlong.len() as u64,
            longest_lock_ms: locks.longest.as_millis(),
            commands,
            aborted: monitor.aborted,
            bytes: monitor.sent.values().sum(),
            latency_ms: monitor.latency_ms.avg(),
            lost: monitor.packets.1 as f64 / monitor.packets.0.max(1) as f64,
            secs: stage.now().as_secs(),
            first_hit_secs: first_hit(monitor).map(SimTime::as_secs),
            settles: false,
        }
    }
}

/// What is known in the second after a run.
#[derive(Default)]
struct Afterwards([BTreeSet<(PairId, u32)>; 2]);

impl Watcher for Afterwards {
    fn event(&mut self, _now: SimTime, station: StationId, event: &Event) {
        if let Event::Hit(hit) = event {
            self.0[usize::from(station == B)].insert((hit.pair, hit.index));
        }
    }
}

/// Messages that were under way at the end may still arrive.
fn settles(monitor: &Monitor, stage: &mut Stage) -> bool {
    let known = |station| -> BTreeSet<(PairId, u32)> {
        let hits = monitor.hits(station).iter();
        hits.map(|hit| (hit.pair, hit.index)).collect()
    };
    let at_end = [known(A), known(B)];
    if at_end[0] == at_end[1] {
        return true;
    }
    let mut later = Afterwards::default();
    stage.run(stage.now() + SETTLING, &mut later, &mut |_| false);
    let all = at_end[0].union(&at_end[1]);
    let everywhere = |hit: &(PairId, u32)| {
        (0..2).all(|side| at_end[side].contains(hit) || later.0[side].contains(hit))
    };
    all.into_iter().all(everywhere)
}

fn first_hit(monitor: &Monitor) -> Option<SimTime> {
    let hits = [A, B].map(|station| monitor.first_hit(station));
    hits.into_iter().flatten().min()
}

fn intervals(monitor: &Monitor) -> (Vec<f64>, u64) {
    let (_, alone) = monitor.intervals(A, B);
    let there = monitor.hits(B);
    let apart = monitor.hits(A).iter().filter_map(|hit| {
        let same = there
            .iter()
            .find(|one| (one.pair, one.index) == (hit.pair, hit.index))?;
        Some(hit.at.as_millis() - same.at.as_millis())
    });
    (apart.map(f64::abs).collect(), alone)
}

/// Both ends know it; what it guards against is tested with the core.
pub(crate) fn key() -> LinkKey {
    LinkKey::new(b"the offline stage")
}

/// What the virtual perfect station counts in a scenario (ML-41).
pub(crate) fn truth(scenario: Scenario, setup: &Setup) -> u32 {
    let settings = Settings::published(Protocol::Control);
    let frame = SimTime::from_millis(setup.frame_ms);
    let mut station = Station::new(StationId(9), 1, settings);
    let plans = [M1, M2].map(|body| {
        (
            body,
            scenario.paths(&setup.field())[usize::from(body == M2)],
        )
    });
    for (body, path) in plans {
        let first = state(path.at(-setup.meeting_secs));
        let added = station.add_master(body, Ball::new(setup.radius), first);
        added.expect("two bodies with numbers that are finite");
    }
    let player = PathPlayer::new(plans, setup.meeting_secs);
    PerfectStation::watch(station, Box::new(player), SimTime::ZERO, frame, LONGEST).count()
}
