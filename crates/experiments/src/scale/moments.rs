//! Several runs over time, as the thesis plots them.

use super::measure::{Measured, Window, mean};

/// A few seconds of several runs: the mean over runs of the most of any server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) until_secs: f64,
    pub(super) longest_ms: f64,
    pub(super) migrations: f64,
    pub(super) auras: f64,
    pub(super) bytes: f64,
    pub(super) bodies: f64,
}

/// Window by window.
pub(super) fn moments(runs: &[Measured]) -> Vec<Moment> {
    let shortest = runs.iter().map(|run| run.windows.len()).min().unwrap_or(0);
    let moment = |index: usize| {
        let of = |value: &dyn Fn(&Window) -> f64| {
            mean(runs.iter().map(|run| value(&run.windows[index])))
        };
        Moment {
            until_secs: runs[0].windows[index].until_secs,
            longest_ms: of(&|window| window.longest_ms),
            migrations: of(&|window| window.migrations as f64),
            auras: of(&|window| window.auras as f64),
            bytes: of(&|window| window.bytes as f64),
            bodies: of(&|window| window.bodies as f64),
        }
    };
    (0..shortest).map(moment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_mean_over_runs() {
        let run = |longest_ms: &[f64]| Measured {
            windows: longest_ms
                .iter()
                .map(|ms| Window {
                    longest_ms: *ms,
                    ..Window::default()
                })
                .collect(),
            ..Measured::default()
        };
        let moments = moments(&[run(&[1.0, 2.0]), run(&[3.0, 6.0, 9.0])]);
        let means: Vec<f64> = moments.iter().map(|moment| moment.longest_ms).collect();
        assert_eq!(means, [2.0, 4.0], "as long as the shortest run");
    }

    #[test]
    fn nothing_has_no_moments() {
        assert!(moments(&[]).is_empty());
    }
}
