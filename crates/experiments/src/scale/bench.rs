//! Runs, one after another, and what pairs of them say.

use super::measure::{Measured, mean, median};
use crate::result::ExperimentError;
use boundary::AuraSize;
use scenes::Scene;
use simulator::{Outcome, SimOptions, simulate};

/// What to run.
#[derive(Clone, Copy)]
pub(crate) struct Job<'s> {
    pub(crate) scene: &'s Scene,
    pub(crate) servers: usize,
    pub(crate) size: AuraSize,
    pub(crate) seed: u64,
    pub(crate) seconds: f64,
    /// Do checkers watch? They take time, but none that is counted.
    pub(crate) watched: bool,
}

/// Does one job after another and tells how far it is.
pub(crate) struct Bench<'p> {
    progress: &'p mut dyn FnMut(f64),
    done: usize,
    total: usize,
    window_secs: f64,
}

impl<'p> Bench<'p> {
    pub(crate) fn new(total: usize, window_secs: f64, progress: &'p mut dyn FnMut(f64)) -> Self {
        Self {
            progress,
            done: 0,
            total,
            window_secs,
        }
    }

    /// A run with everything about it.
    pub(crate) fn outcome(&mut self, job: &Job) -> Result<Outcome, ExperimentError> {
        let options = SimOptions {
            servers: Some(job.servers),
            // One server is one region whatever the layout; a T junction cannot be cut into one.
            layout: (job.servers == 1).then_some(domain::Layout::Single),
            seed: Some(job.seed),
            seconds: Some(job.seconds),
            aura: job.size,
            checkers: job.watched,
            ..SimOptions::default()
        };
        let (done, total) = (self.done as f64, self.total.max(1) as f64);
        let progress = &mut *self.progress;
        let outcome = simulate(job.scene, &options, |share| {
            progress((done + share) / total)
        })?;
        self.done += 1;
        Ok(outcome)
    }

    /// A run in the numbers that are plotted.
    pub(crate) fn run(&mut self, job: &Job) -> Result<Measured, ExperimentError> {
        Ok(Measured::of(
            &self.outcome(job)?,
            job.watched,
            self.window_secs,
        ))
    }
}

/// The same scene and seed on one server and on several, round after round.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) servers: usize,
    pub(crate) size: AuraSize,
    /// One server, the same round.
    pub(crate) ones: Vec<Measured>,
    pub(crate) many: Vec<Measured>,
}

impl Cell {
    /// How much less the slowest server works than one would, for each pair of runs.
    pub(crate) fn factors(&self) -> Vec<f64> {
        let pairs = self.ones.iter().zip(&self.many);
        pairs
            .map(|(one, many)| one.slowest_ms / many.slowest_ms)
            .collect()
    }

    pub(crate) fn factor(&self) -> f64 {
        median(self.factors())
    }

    /// "7.31 (6.90 to 7.52, 6 pairs)".
    pub(crate) fn factor_text(&self) -> String {
        let factors = self.factors();
        let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
        let most = factors.iter().copied().fold(0.0, f64::max);
        format!(
            "{:.2} ({least:.2} to {most:.2}, {} pairs)",
            self.factor(),
            factors.len()
        )
    }

    pub(crate) fn median(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        median(self.many.iter().map(of))
    }

    pub(crate) fn mean(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        mean(self.many.iter().map(of))
    }

    /// What the checkers found in all runs that they watched.
    pub(crate) fn errors(&self) -> u64 {
        self.ones
            .iter()
            .chain(&self.many)
            .filter_map(|run| run.errors)
            .sum()
    }

    /// Thrashed pairs and migrations, of the runs that checkers watched: only they see thrashing.
    pub(crate) fn thrashed(&self) -> (u64, u64) {
        let watched = self.many.iter().filter(|run| run.errors.is_some());
        watched.fold((0, 0), |(thrashed, all), run| {
            (thrashed + run.thrashed, all + run.migrations)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(slowest_ms: f64, errors: Option<u64>) -> Measured {
        Measured {
            slowest_ms,
            errors,
            migrations: 100,
            thrashed: 1,
            ..Measured::default()
        }
    }

    #[test]
    fn a_factor_is_the_median_of_pairs() {
        let cell = Cell {
            servers: 2,
            size: AuraSize::Safe,
            ones: vec![run(8.0, Some(0)), run(9.0, None), run(4.0, None)],
            many: vec![run(4.0, Some(2)), run(3.0, None), run(4.0, None)],
        };
        assert_eq!(cell.factors(), [2.0, 3.0, 1.0]);
        assert_eq!(cell.factor_text(), "2.00 (1.00 to 3.00, 3 pairs)");
        assert_eq!((cell.errors(), cell.thrashed()), (2, (1, 100)));
    }
}
