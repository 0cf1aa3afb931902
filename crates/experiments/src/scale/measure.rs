//! One run, in the numbers that the thesis plots.

use boundary::AuraSize;
use simulator::{Outcome, Timeline};

/// What is kept of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) servers: usize,
    pub(crate) size: Option<AuraSize>,
    pub(crate) seed: u64,
    /// Mean CPU time per tick of the slowest server, milliseconds.
    pub(crate) slowest_ms: f64,
    /// Mean CPU time per tick over all servers.
    pub(crate) mean_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Everything but the engine's step, as a share of the step.
    pub(crate) overhead: f64,
    pub(crate) migrations: u64,
    pub(crate) thrashed: u64,
    /// What the checkers found; `None` if they did not watch.
    pub(crate) errors: Option<u64>,
    pub(crate) bytes: u64,
    /// The largest cluster of which it had to be decided whether it migrates.
    pub(crate) largest_cluster: u64,
    pub(crate) bodies_at_end: u64,
    /// Bodies times minutes that they were there.
    pub(crate) body_minutes: f64,
    pub(crate) windows: Vec<Window>,
}

/// A few seconds of a run; the most of any server, as the thesis plots it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Window {
    /// When it ends.
    pub(crate) until_secs: f64,
    /// The longest tick.
    pub(crate) longest_ms: f64,
    /// Bodies given away since the start of the run.
    pub(crate) migrations: u64,
    /// Aura updates sent.
    pub(crate) auras: u64,
    /// Bytes sent.
    pub(crate) bytes: u64,
    /// Bodies in the whole world at its end.
    pub(crate) bodies: u64,
}

impl Measured {
    pub(crate) fn of(outcome: &Outcome, watched: bool, window_secs: f64) -> Self {
        let cpu = &outcome.cpu_ms_per_tick;
        let step = outcome.step.as_secs();
        let body_ticks: u64 = outcome.timelines.iter().map(|line| sum(&line.bodies)).sum();
        Self {
            servers: outcome.servers,
            size: Some(outcome.aura),
            seed: outcome.seed,
            slowest_ms: cpu.per_server.iter().copied().fold(0.0, f64::max),
            mean_ms: cpu.mean_server,
            p50_ms: cpu.max_server_p50,
            p99_ms: cpu.max_server_p99,
            overhead: cpu.overhead.unwrap_or(0.0),
            migrations: outcome.migrations,
            thrashed: outcome.thrashed_pairs,
            errors: watched.then(|| outcome.errors.total() + u64::from(outcome.aborted.is_some())),
            bytes: outcome.bytes.between_servers,
            largest_cluster: outcome.largest_cluster,
            bodies_at_end: outcome.timelines.iter().map(last_bodies).sum(),
            body_minutes: body_ticks as f64 * step / 60.0,
            windows: windows(
                &outcome.timelines,
                (window_secs / step).round() as usize,
                step,
            ),
        }
    }

    /// Changes of owner per body and minute.
    pub(crate) fn restlessness(&self) -> f64 {
        match self.body_minutes > 0.0 {
            true => self.migrations as f64 / self.body_minutes,
            false => 0.0,
        }
    }
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|count| u64::from(*count)).sum()
}

fn last_bodies(line: &Timeline) -> u64 {
    u64::from(line.bodies.last().copied().unwrap_or(0))
}

/// Whole windows only: half a window would count half as much.
fn windows(lines: &[Timeline], ticks: usize, step_secs: f64) -> Vec<Window> {
    let most_ticks = lines
        .iter()
        .map(|line| line.ticks_ms.len())
        .max()
        .unwrap_or(0);
    let whole = most_ticks / ticks.max(1);
    (0..whole)
        .map(|index| window(lines, index * ticks, (index + 1) * ticks, step_secs))
        .collect()
}

fn window(lines: &[Timeline], from: usize, to: usize, step_secs: f64) -> Window {
    let mut window = Window {
        until_secs: to as f64 * step_secs,
        ..Window::default()
    };
    for line in lines {
        // A server that was down has fewer ticks.
        let end = to.min(line.ticks_ms.len());
        let here = from.min(end)..end;
        let longest = line.ticks_ms[here.clone()]
            .iter()
            .copied()
            .fold(0.0, f32::max);
        let sent = |tick: usize| line.bytes_sent.get(tick).copied().unwrap_or(0);
        window.longest_ms = window.longest_ms.max(f64::from(longest));
        window.migrations = window.migrations.max(sum(&line.departed[..end]));
        window.auras = window.auras.max(sum(&line.auras_sent[here]));
        let bytes = sent(end.saturating_sub(1)).saturating_sub(sent(from));
        window.bytes = window.bytes.max(bytes);
        window.bodies += u64::from(end.checked_sub(1).map_or(0, |last| line.bodies[last]));
    }
    window
}

/// The one in the middle, or between the two there; NaN of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[odd / 2],
        even => 0.5 * (values[even / 2 - 1] + values[even / 2]),
    }
}

/// Mean; NaN of nothing.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut total, mut count) = (0.0, 0.0);
    for value in values {
        total += value;
        count += 1.0;
    }
    total / count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ms: &[f32], departed: &[u32]) -> Timeline {
        let mut line = Timeline::default();
        line.ticks_ms = ms.to_vec();
        line.steps_ms = ms.to_vec();
        line.auras_sent = vec![2; ms.len()];
        line.bytes_sent = (0..ms.len() as u64).map(|tick| 10 * tick).collect();
        line.bodies = vec![3; ms.len()];
        line.departed = departed.to_vec();
        line
    }

    /// E1: the longest tick of any server; E3: the most given away by one, since the start; E4: the most sent by one.
    #[test]
    fn windows_have_the_most_of_any_server() {
        let lines = [
            line(&[1.0, 4.0, 2.0, 1.0], &[1, 0, 1, 0]),
            line(&[3.0, 1.0, 1.0, 5.0, 9.0], &[0, 0, 0, 5, 0]),
        ];
        let windows = windows(&lines, 2, 0.5);
        assert_eq!(windows.len(), 2, "the fifth tick is no whole window");
        assert_eq!(
            windows.iter().map(|w| w.longest_ms).collect::<Vec<_>>(),
            [4.0, 5.0]
        );
        assert_eq!(
            windows.iter().map(|w| w.migrations).collect::<Vec<_>>(),
            [1, 5]
        );
        assert_eq!(
            (windows[1].auras, windows[1].bodies, windows[1].until_secs),
            (4, 6, 2.0)
        );
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
        assert_eq!(mean([1.0, 2.0, 6.0]), 3.0);
    }
}
