//! Many runs of one kind, and what they add up to.

use super::arms::Arm;
use super::encounter::{Encounter, Record, truth};
use super::networks::Net;
use super::setup::Setup;
use crate::reckoning::parallel;
use scenes::encounters::Scenario;
use simulator::stations::Measure;
use std::collections::BTreeMap;

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub arm: Arm,
    pub net: Net,
    pub scenario: Scenario,
}

/// All runs of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub key: Key,
    /// What the virtual perfect station counts in each run.
    pub truth: u32,
    pub runs: Vec<Record>,
}

impl Cell {
    /// Hits counted by A and by B, over all runs: an entry of Tables 5.1 to 5.3.
    pub fn counts(&self) -> (u32, u32) {
        let sum = |index: usize| self.runs.iter().map(|run| run.counts[index]).sum();
        (sum(0), sum(1))
    }

    /// Runs at whose end A and B count alike.
    pub fn consistent(&self) -> usize {
        let same = self
            .runs
            .iter()
            .filter(|run| run.counts[0] == run.counts[1]);
        same.count()
    }

    /// Runs whose hits are all known to both a second later.
    pub fn settled(&self) -> usize {
        self.runs.iter().filter(|run| run.settles).count()
    }

    /// Runs in which both count what the virtual perfect station counts.
    pub fn correct(&self) -> usize {
        let right = [self.truth, self.truth];
        self.runs.iter().filter(|run| run.counts == right).count()
    }

    /// Runs in which a station counted a hit that did not happen.
    pub fn false_hits(&self) -> usize {
        let wrong = |run: &&Record| run.counts.iter().any(|count| *count > self.truth);
        self.runs.iter().filter(wrong).count()
    }

    /// Runs in which a station missed a hit that happened.
    pub fn missed_hits(&self) -> usize {
        let wrong = |run: &&Record| run.counts.iter().any(|count| *count < self.truth);
        self.runs.iter().filter(wrong).count()
    }

    /// Δt_col of all hits both stations know of, ms.
    pub fn interval(&self) -> Measure {
        let all = self.runs.iter().flat_map(|run| run.intervals.iter());
        all.copied().collect()
    }

    /// Hits only one station ever learned of.
    pub fn alone(&self) -> u64 {
        self.runs.iter().map(|run| run.alone).sum()
    }

    /// Post-collision deviation per run: 500 ms (0) or 400 ms (1).
    pub fn deviation(&self, window: usize) -> Measure {
        self.runs.iter().map(|run| run.deviation[window]).collect()
    }

    /// The same, of runs with a hit.
    pub fn deviation_of_hits(&self, window: usize) -> Measure {
        let hits = self.runs.iter().filter(|run| run.hit());
        hits.map(|run| run.deviation[window]).collect()
    }

    /// Of every run.
    pub fn over(&self, of: impl Fn(&Record) -> f64) -> Measure {
        self.runs.iter().map(of).collect()
    }

    /// Of every run with a hit.
    pub fn over_hits(&self, of: impl Fn(&Record) -> f64) -> Measure {
        let hits = self.runs.iter().filter(|run| run.hit());
        hits.map(of).collect()
    }
}

/// Cells by what was varied.
pub(crate) struct Grid {
    cells: BTreeMap<Key, Cell>,
}

impl Grid {
    /// Runs everything on all cores; the same numbers on any number of them.
    pub fn run(
        keys: &[Key],
        setup: &Setup,
        runs: u32,
        seed: u64,
        progress: &mut dyn FnMut(f64),
    ) -> Self {
        let work = |key: &Key| Cell {
            key: *key,
            truth: truth(key.scenario, setup),
            runs: (0..runs)
                .map(|run| Encounter::new(seed, key.scenario, key.net, key.arm, *setup, run).run())
                .collect(),
        };
        let cells = parallel::map(keys, work, progress);
        Self {
            cells: cells.into_iter().map(|cell| (cell.key, cell)).collect(),
        }
    }

    /// All combinations.
    pub fn keys(arms: &[Arm], nets: &[Net], scenarios: &[Scenario]) -> Vec<Key> {
        let mut keys = Vec::new();
        for &net in nets {
            for &scenario in scenarios {
                keys.extend(arms.iter().map(|&arm| Key { arm, net, scenario }));
            }
        }
        keys
    }

    /// One of them.
    pub fn cell(&self, arm: Arm, net: Net, scenario: Scenario) -> Option<&Cell> {
        self.cells.get(&Key { arm, net, scenario })
    }

    /// All cells of an arm in these scenarios, in order.
    pub fn of<'a>(
        &'a self,
        arm: Arm,
        scenarios: &'a [Scenario],
    ) -> impl Iterator<Item = &'a Cell> + 'a {
        let cells = self.cells.values().filter(move |cell| cell.key.arm == arm);
        cells.filter(|cell| scenarios.contains(&cell.key.scenario))
    }

    /// Locks of all runs, and those that lasted longer than T_lock and a frame.
    pub fn locks(&self) -> [u64; 2] {
        let runs = self.all().flat_map(|cell| &cell.runs);
        runs.fold([0, 0], |sum, run| {
            [sum[0] + run.locks, sum[1] + run.overlong]
        })
    }

    /// All.
    pub fn all(&self) -> impl Iterator<Item = &Cell> {
        self.cells.values()
    }
}
