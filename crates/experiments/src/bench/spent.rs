//! What a run costs once its crowd is complete.

use super::beside::Beside;
use crate::scale::measure::{mean, median};
use simulator::{Outcome, Timeline};

/// Of a run's length. Until then bodies appear, and boxes that nobody touches fall asleep; that is not counted.
const SETTLED_AFTER: f64 = 0.25;

/// What is kept of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent {
    pub(super) servers: usize,
    /// Mean CPU time per tick of the slowest server, milliseconds.
    pub(super) slowest_ms: f64,
    /// Of all servers together.
    pub(super) all_ms: f64,
    /// Of that, what the engine's own step takes.
    pub(super) step_ms: f64,
    /// Mean CPU time per step of the bare engine, if it was beside.
    pub(super) bare_ms: Option<f64>,
    /// Did one region do what the bare engine did? See [`Beside::is_same`].
    pub(super) same_as_bare: Option<bool>,
    pub(super) bodies: f64,
    /// Bodies that project, mean over the whole run.
    pub(super) near_borders: f64,
    pub(super) migrations_per_sec: f64,
    pub(super) bytes_per_sec: f64,
    /// The largest cluster of which it had to be decided whether it migrates.
    pub(super) largest_cluster: u64,
    /// How often tolerances were exceeded, all three together.
    pub(super) exceeded: u64,
    /// What the checkers found, if they watched.
    pub(super) errors: Option<u64>,
}

impl Spent {
    pub(super) fn of(outcome: &Outcome, watched: bool) -> Self {
        let lines = &outcome.timelines;
        let from = settled(outcome.ticks as usize);
        let per_server = || lines.iter().map(|line| tail_mean(&line.ticks_ms, from));
        let seconds = (outcome.ticks as usize - from) as f64 * outcome.step.as_secs();
        let departed = lines.iter().map(|line| tail(&line.departed, from));
        let departed: u64 = departed.flatten().map(|count| u64::from(*count)).sum();
        let exceeded = &outcome.tolerance_exceeded;
        Self {
            servers: outcome.servers,
            slowest_ms: per_server().fold(0.0, f64::max),
            all_ms: per_server().sum(),
            step_ms: lines
                .iter()
                .map(|line| tail_mean(&line.steps_ms, from))
                .sum(),
            bare_ms: None,
            same_as_bare: None,
            bodies: lines.iter().map(last_bodies).sum(),
            near_borders: outcome.boundary_bodies,
            migrations_per_sec: departed as f64 / seconds,
            bytes_per_sec: lines.iter().map(|line| sent(line, from)).sum::<f64>() / seconds,
            largest_cluster: outcome.largest_cluster,
            exceeded: exceeded.speed + exceeded.latency + exceeded.frame,
            errors: watched.then(|| outcome.errors.total() + u64::from(outcome.aborted.is_some())),
        }
    }

    /// The bare engine was there, too.
    pub(super) fn beside(&mut self, engine: &Beside) {
        self.bare_ms = Some(settled_ms(engine));
        self.same_as_bare = engine.is_same;
    }

    /// The slowest server's tick, as a multiple of the bare engine's step beside it.
    pub(super) fn of_bare(&self) -> f64 {
        self.bare_ms.map_or(f64::NAN, |bare| self.slowest_ms / bare)
    }

    /// Everything but the engine's step, as a share of the step.
    pub(super) fn overhead(&self) -> f64 {
        (self.all_ms - self.step_ms) / self.step_ms
    }

    /// What the checkers found.
    ///
    /// # Panics
    /// If they did not watch.
    pub(super) fn errors(&self) -> u64 {
        self.errors.expect("only a watched run has a verdict")
    }

    /// Microseconds per body and tick, all servers together.
    pub(super) fn us_per_body(&self) -> f64 {
        1e3 * self.all_ms / self.bodies
    }

    /// Of that, the engine's own step.
    pub(super) fn step_us_per_body(&self) -> f64 {
        1e3 * self.step_ms / self.bodies
    }

    /// How much more than the mean the slowest server works.
    pub(super) fn imbalance(&self) -> f64 {
        self.slowest_ms * self.servers as f64 / self.all_ms
    }

    /// Changes of owner per body and minute.
    pub(super) fn restlessness(&self) -> f64 {
        60.0 * self.migrations_per_sec / self.bodies
    }
}

/// Mean CPU time per step of the bare engine, milliseconds, once its crowd is complete.
pub(super) fn settled_ms(engine: &Beside) -> f64 {
    tail_mean(&engine.steps_ms, settled(engine.steps_ms.len()))
}

/// The first tick that counts.
fn settled(ticks: usize) -> usize {
    (SETTLED_AFTER * ticks as f64) as usize
}

fn tail<T>(values: &[T], from: usize) -> &[T] {
    &values[from.min(values.len())..]
}

fn tail_mean(values: &[f32], from: usize) -> f64 {
    mean(tail(values, from).iter().map(|ms| f64::from(*ms)))
}

fn last_bodies(line: &Timeline) -> f64 {
    line.bodies.last().copied().map_or(0.0, f64::from)
}

fn sent(line: &Timeline, from: usize) -> f64 {
    let [first, last] = [tail(&line.bytes_sent, from).first(), line.bytes_sent.last()]
        .map(|bytes| bytes.copied().unwrap_or(0));
    last.saturating_sub(first) as f64
}

/// The middle of several runs.
pub(super) fn middle(runs: &[Spent], of: impl Fn(&Spent) -> f64) -> f64 {
    median(runs.iter().map(of))
}

/// The columns of [`csv_line`].
pub(super) const CSV_HEAD: &str = "servers,bodies,bare_ms,slowest_ms,all_ms,step_ms,near_borders,migrations_per_second,\
    bytes_per_second,largest_cluster,tolerances_exceeded";

/// Every run, as data for other figures.
pub(super) fn csv_line(run: &Spent) -> String {
    let bare_ms = run.bare_ms.map_or("-".into(), |ms| format!("{ms:.5}"));
    format!(
        "{},{},{bare_ms},{:.5},{:.5},{:.5},{:.1},{:.2},{:.0},{},{}",
        run.servers,
        run.bodies,
        run.slowest_ms,
        run.all_ms,
        run.step_ms,
        run.near_borders,
        run.migrations_per_sec,
        run.bytes_per_sec,
        run.largest_cluster,
        run.exceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenes::Scene;
    use simulator::SimOptions;

    fn line(tick_ms: f32, bodies: u32) -> Timeline {
        let mut line = Timeline::default();
        // The first of four ticks is before the crowd is complete.
        line.ticks_ms = vec![100.0, tick_ms, tick_ms, tick_ms];
        line.steps_ms = vec![100.0, 1.0, 1.0, 1.0];
        line.bytes_sent = vec![5_000, 6_000, 6_300, 6_600];
        line.bodies = vec![1, bodies, bodies, bodies];
        line.departed = vec![9, 1, 0, 2];
        line
    }

    fn outcome() -> Outcome {
        let scene = Scene::load("head-on").expect("built in");
        let map = domain::RegionMap::build(scene.regions.layout, 2, scene.world).expect("two");
        let mut outcome = Outcome::of(&scene, &SimOptions::default(), &map, 7);
        outcome.ticks = 4;
        outcome.timelines = vec![line(2.0, 30), line(3.0, 20)];
        outcome
    }

    #[test]
    fn only_the_complete_crowd_counts() {
        let spent = Spent::of(&outcome(), true);
        assert_eq!(
            (spent.slowest_ms, spent.all_ms, spent.step_ms),
            (3.0, 5.0, 2.0)
        );
        assert_eq!((spent.overhead(), spent.bodies), (1.5, 50.0));
        assert_eq!(
            (spent.us_per_body(), spent.step_us_per_body()),
            (100.0, 40.0)
        );
        assert!((spent.imbalance() - 1.2).abs() < 1e-12);
        assert!((spent.migrations_per_sec - 6.0 / 0.05).abs() < 1e-6);
        assert!((spent.bytes_per_sec - 1_200.0 / 0.05).abs() < 1e-6);
        assert_eq!(spent.errors(), 0);
    }

    #[test]
    fn a_run_that_was_not_watched_has_no_verdict() {
        let spent = Spent::of(&outcome(), false);
        assert_eq!(spent.errors, None);
        assert!(spent.of_bare().is_nan(), "nothing to compare with");
        let columns = |text: &str| text.split(',').count();
        assert_eq!(columns(&csv_line(&spent)), columns(CSV_HEAD));
    }
}
