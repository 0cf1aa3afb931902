//! What must hold in every run: the same seed gives the same bits, and no lock outlives T_lock by more than a frame, whatever breaks.

use super::arms::Arm;
use super::encounter::{A, B, Encounter};
use super::networks::Net;
use super::setup::Setup;
use crate::reckoning::parallel;
use domain::SimTime;
use scenes::encounters::Scenario;
use simulator::stations::{StageFault, Watcher};
use station::{Event, StationId};

/// The log of one run: every sample and every hit.
pub(super) fn log(encounter: &Encounter) -> String {
    let settings = encounter.arm.settings(&encounter.setup);
    let (monitor, _, stage) = encounter.watch(&settings);
    let hashes: Vec<String> = stage
        .stations()
        .map(|station| format!("state,{},{:016x}\n", station.id(), station.state_hash()))
        .collect();
    monitor.log() + &hashes.concat()
}

/// One run to look at: published motion-lock pulls two circles together that would have missed each other.
pub(super) fn example_log(seed: u64, setup: &Setup) -> String {
    log(&Encounter::new(
        seed,
        Scenario::Ccp,
        Net::Good,
        Arm::MotionLock,
        *setup,
        0,
    ))
}

/// Runs of every protocol on the worst network twice; how many differ.
pub(super) fn differing(seed: u64, setup: &Setup, runs: u32) -> (usize, usize) {
    let mut encounters = Vec::new();
    for arm in Arm::OFFLINE {
        for scenario in [Scenario::Clc, Scenario::Ccp, Scenario::Wwc] {
            let one = |run| Encounter::new(seed, scenario, Net::Congested, arm, *setup, run);
            encounters.extend((0..runs).map(one));
        }
    }
    let differs = |one: &Encounter| log(one) != log(one);
    let differ = parallel::map(&encounters, differs, &mut |_| {});
    let count = differ.iter().filter(|differs| **differs).count();
    (count, encounters.len())
}

/// What fault runs showed of locks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Held {
    /// Runs with a fault that fell into a lock.
    pub runs: u64,
    /// Locks in them.
    pub locks: u64,
    /// Longer than T_lock and a frame.
    pub overlong: u64,
    /// The longest, ms.
    pub longest_ms: f64,
    /// Locks that were still there when the run ended, although T_lock was over.
    pub left: u64,
}

/// Finds a lock in every run, then repeats the run with the other station crashed, or the link cut, in the middle of that lock.
pub(super) fn faults(seed: u64, setup: &Setup, runs: u32) -> Held {
    let mut encounters = Vec::new();
    for arm in Arm::OFFLINE.into_iter().filter(|arm| arm.locks()) {
        for net in Net::ALL {
            for scenario in [Scenario::Llc, Scenario::Clc, Scenario::Ccc, Scenario::Ccp] {
                let one = |run| Encounter::new(seed, scenario, net, arm, *setup, run);
                encounters.extend((0..runs).map(one));
            }
        }
    }
    let held = parallel::map(&encounters, with_faults, &mut |_| {});
    held.iter().fold(Held::default(), |sum, one| Held {
        runs: sum.runs + one.runs,
        locks: sum.locks + one.locks,
        overlong: sum.overlong + one.overlong,
        longest_ms: sum.longest_ms.max(one.longest_ms),
        left: sum.left + one.left,
    })
}

/// Where the first lock was taken, and when.
#[derive(Default)]
struct FirstLock(Option<(StationId, SimTime)>);

impl Watcher for FirstLock {
    fn event(&mut self, now: SimTime, station: StationId, event: &Event) {
        if let Event::Locked { .. } = event {
            self.0.get_or_insert((station, now));
        }
    }
}

fn with_faults(encounter: &Encounter) -> Held {
    let settings = encounter.arm.settings(&encounter.setup);
    let mut first = FirstLock::default();
    encounter.watch_with(&settings, &mut first);
    let Some((holder, at)) = first.0 else {
        return Held::default();
    };
    let other = if holder == A { B } else { A };
    // While the lock is held, one frame after it was taken.
    let middle = at + SimTime::from_millis(encounter.setup.frame_ms + 1.0);
    let faults = [
        vec![StageFault::Crash {
            station: other,
            at: middle,
        }],
        vec![StageFault::Cut {
            a: A,
            b: B,
            from: at,
            to: at + SimTime::from_secs(10.0),
        }],
        vec![StageFault::Cut {
            a: A,
            b: B,
            from: middle,
            to: middle + SimTime::from_millis(80.0),
        }],
    ];
    let mut held = Held::default();
    for faults in faults {
        let broken = Encounter {
            faults,
            ..encounter.clone()
        };
        let (_, locks, stage) = broken.watch(&settings);
        held.runs += 1;
        held.locks += locks.locks;
        held.overlong += locks.overlong.len() as u64;
        held.longest_ms = held.longest_ms.max(locks.longest.as_millis());
        let now = stage.now();
        let alive = stage.stations().filter(|station| station.id() != other);
        let stale = alive
            .flat_map(|station| station.locks())
            .filter(|lock| now.since(lock.since) > settings.lock.max + SimTime::from_millis(40.0));
        held.left += stale.count() as u64;
    }
    held
}
