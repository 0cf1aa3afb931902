//! Many runs on all cores, with the same result on any number of them.

use crate::head_on::{Encounter, Geometry};
use crate::result::ExperimentError;
use crate::seeds;
use crate::settings::{Factor, Setting};
use crate::tally::Tally;
use crate::variants::Variant;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// What a cell is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A point of the thesis's grid.
    Grid,
    /// A point far beyond it, to find where errors begin.
    Beyond,
    /// All three factors exactly at their tolerances, at every number of steps per hop.
    EveryHop,
}

impl Part {
    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Beyond => "beyond",
            Self::EveryHop => "every-n",
        }
    }
}

/// All runs of one grid point under one set of rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// What it is for.
    pub part: Part,
    /// Factor and tolerance.
    pub setting: Setting,
    /// Of the factor.
    pub value: f64,
    /// By which rules.
    pub variant: Variant,
    /// Size and place of the spheres.
    pub geometry: Geometry,
    /// Each sphere is slower by a random part of this, m/s.
    pub speed_spread: f64,
    /// How often.
    pub runs: u32,
}

/// A cell and what it showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was asked.
    pub cell: Cell,
    /// What came out.
    pub tally: Tally,
}

impl Cell {
    /// Is the factor within its tolerance?
    pub fn is_below(&self) -> bool {
        self.setting.is_below(self.value)
    }

    /// Its `run`-th run. The seed does not depend on the variant: all rules are given the same encounters.
    pub fn encounter(&self, master: u64, run: u32) -> Encounter {
        let mut conditions = self.setting.conditions(self.value);
        conditions.speed_spread = self.speed_spread;
        let name = [
            factor_number(self.setting.factor),
            self.setting.tolerance.to_bits(),
            self.geometry.radius_m.to_bits(),
            self.value.to_bits(),
            u64::from(run),
        ];
        Encounter {
            geometry: self.geometry,
            tolerances: self.setting.tolerances(),
            conditions,
            variant: self.variant,
            seed: seeds::derive(master, &name),
        }
    }

    fn run(&self, master: u64) -> Result<Tally, ExperimentError> {
        let mut tally = Tally::default();
        for run in 0..self.runs {
            let encounter = self.encounter(master, run);
            let record = encounter.run()?;
            tally.add(encounter.seed, &record, self.variant == Variant::Naive);
        }
        Ok(tally)
    }
}

fn factor_number(factor: Factor) -> u64 {
    match factor {
        Factor::Speed => 1,
        Factor::Latency => 2,
        Factor::FrameTime => 3,
        Factor::Loss => 4,
    }
}

/// Runs all cells; `progress` hears the share of runs done. Results come in the order of the cells.
pub fn run(
    cells: Vec<Cell>,
    master: u64,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Outcome>, ExperimentError> {
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    run_on(threads, cells, master, progress)
}

fn run_on(
    threads: usize,
    cells: Vec<Cell>,
    master: u64,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Outcome>, ExperimentError> {
    let total: u64 = cells.iter().map(|cell| u64::from(cell.runs)).sum();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let mut tallies: Vec<Option<Tally>> = vec![None; cells.len()];
    let mut failure = None;
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, stop, cells) = (sender.clone(), &next, &stop, &cells);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(index) else {
                        return;
                    };
                    // The receiver outlives the scope.
                    let _ = sender.send((index, cell.run(master)));
                }
            });
        }
        drop(sender);
        let mut done = 0;
        for (index, tally) in receiver {
            match tally {
                Ok(tally) => tallies[index] = Some(tally),
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    failure.get_or_insert(error);
                }
            }
            done += u64::from(cells[index].runs);
            progress(done as f64 / total.max(1) as f64);
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let outcomes = cells.into_iter().zip(tallies).map(|(cell, tally)| Outcome {
        cell,
        tally: tally.expect("every cell was run or the campaign has failed"),
    });
    Ok(outcomes.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SPEEDS;

    fn cells() -> Vec<Cell> {
        [8.0, 24.0, 32.0]
            .map(|value| Cell {
                part: Part::Grid,
                setting: SPEEDS[0],
                value,
                variant: Variant::Thesis,
                geometry: Geometry::SMALL,
                speed_spread: 1.0,
                runs: 6,
            })
            .to_vec()
    }

    #[test]
    fn threads_do_not_change_the_result() {
        let mut shares = Vec::new();
        let one = run_on(1, cells(), 7, &mut |_| {}).expect("sound");
        let three = run_on(3, cells(), 7, &mut |share| shares.push(share)).expect("sound");
        assert_eq!(one, three);
        assert_ne!(one, run_on(2, cells(), 8, &mut |_| {}).expect("sound"));
        assert_eq!((shares.len(), shares[2]), (3, 1.0));
    }

    /// All rules are given the same encounters.
    #[test]
    fn the_seed_does_not_depend_on_the_variant() {
        let thesis = cells()[0];
        let ours = Cell {
            variant: Variant::Ours,
            ..thesis
        };
        assert_eq!(thesis.encounter(7, 3).seed, ours.encounter(7, 3).seed);
        assert_ne!(thesis.encounter(7, 3).seed, thesis.encounter(7, 4).seed);
    }
}
