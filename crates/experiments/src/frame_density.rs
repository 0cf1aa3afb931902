//! Fig. 5.20: frame times scatter around their target, so that about half of all frames exceed it.

use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::ExperimentResult;
use crate::seeds;
use crate::settings::FRAME_TIMES;
use crate::variants::FRAME_DEVIATION;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use simulator::frames::FrameModel;

const SAMPLES: usize = 20_000;
const BIN_MS: f64 = 0.1;

/// Shares of frames per millisecond, by the middle of each bin.
fn density(target_ms: f64, seed: u64) -> Vec<(f64, f64)> {
    let model = FrameModel::Normal {
        mean: target_ms * 1e-3,
        deviation: FRAME_DEVIATION * target_ms * 1e-3,
    };
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let frames: Vec<f64> = (0..SAMPLES)
        .map(|_| model.next(&mut rng).as_millis())
        .collect();
    let first = ((0.9 * target_ms) / BIN_MS).floor() as i64;
    let last = ((1.1 * target_ms) / BIN_MS).ceil() as i64;
    (first..=last)
        .map(|bin| {
            let from = bin as f64 * BIN_MS;
            let inside = frames
                .iter()
                .filter(|frame| (from..from + BIN_MS).contains(*frame))
                .count();
            (from + BIN_MS / 2.0, inside as f64 / SAMPLES as f64 / BIN_MS)
        })
        .collect()
}

/// Adds the figure.
pub(crate) fn add(result: &mut ExperimentResult) {
    let colours = [THIRD, OURS, THESIS];
    let lines = FRAME_TIMES[..3]
        .iter()
        .zip(colours)
        .map(|(setting, colour)| Line {
            name: format!("target {}", setting.label()),
            colour,
            points: density(
                setting.tolerance,
                seeds::derive(result.seed, &[setting.tolerance.to_bits()]),
            ),
            style: LineStyle::Plain,
        });
    let chart = Chart {
        title: "Frame times of the thesis variant".into(),
        x_label: "frame time, ms".into(),
        y_label: "density, per ms".into(),
        marks: FRAME_TIMES[..3]
            .iter()
            .map(|setting| (setting.tolerance, String::new()))
            .collect(),
        limit: None,
        y_least_top: 1.0,
        lines: lines.collect(),
    };
    result.add_figure(
        "frame-density.svg",
        "Density of frame times around their targets, as in Fig. 5.20 (spread of 2 % ours: the figure's numbers are lost).",
        chart.svg(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AP-59, Fig. 5.20: symmetric around the target, everything accounted for, wider for longer frames.
    #[test]
    fn half_of_all_frames_exceed_the_target() {
        for target in [8.33, 15.0, 32.0] {
            let density = density(target, 1);
            let share = |above: bool| -> f64 {
                let bins = density.iter().filter(|(ms, _)| (*ms > target) == above);
                bins.map(|(_, per_ms)| per_ms * BIN_MS).sum()
            };
            assert!((share(true) + share(false) - 1.0).abs() < 0.01);
            assert!(
                (share(true) - 0.5).abs() < 0.15,
                "{target}: {}",
                share(true)
            );
        }
        let peak = |target| {
            density(target, 1)
                .iter()
                .map(|(_, d)| *d)
                .fold(0.0, f64::max)
        };
        assert!(peak(8.33) > 2.0 * peak(32.0));
    }
}
