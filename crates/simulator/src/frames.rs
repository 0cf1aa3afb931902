//! When a server's frames begin: each server has its own phase and its own frame times, as in the thesis (5.2).

use domain::SimTime;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// How long a frame takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameModel {
    /// Always this many seconds.
    Fixed(f64),
    /// Normally distributed around a mean, as the thesis's waits are (Fig. 5.20): about half the frames are longer than asked for.
    Normal {
        /// Mean, seconds.
        mean: f64,
        /// Standard deviation, seconds.
        deviation: f64,
    },
}

/// No frame is shorter than this, or virtual time would stand still.
const SHORTEST_FRAME_SECS: f64 = 2e-4;

impl FrameModel {
    /// The length of the next frame.
    pub fn next(&self, rng: &mut Pcg64Mcg) -> SimTime {
        let secs = match *self {
            Self::Fixed(secs) => secs,
            Self::Normal { mean, deviation } => mean + deviation * standard_normal(rng),
        };
        SimTime::from_secs(secs.max(SHORTEST_FRAME_SECS))
    }

    /// The typical length.
    pub fn mean_secs(&self) -> f64 {
        match *self {
            Self::Fixed(secs) => secs,
            Self::Normal { mean, .. } => mean,
        }
    }
}

/// By the Box–Muller transform.
fn standard_normal(rng: &mut Pcg64Mcg) -> f64 {
    let u: f64 = rng.random_range(f64::MIN_POSITIVE..1.0);
    let v: f64 = rng.random_range(0.0..1.0);
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// AP-34, Fig. 5.20: frame times scatter around the target; about half exceed it.
    #[test]
    fn normal_frames_scatter_around_their_mean() {
        let model = FrameModel::Normal {
            mean: 0.015,
            deviation: 0.0003,
        };
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let frames: Vec<f64> = (0..4000).map(|_| model.next(&mut rng).as_secs()).collect();
        let mean = frames.iter().sum::<f64>() / 4000.0;
        let above = frames.iter().filter(|f| **f > 0.015).count();
        assert!((mean - 0.015).abs() < 3e-5);
        assert!((1800..2200).contains(&above));
    }
}
