//! An emulated network for experiments and tests: per link a delay, its variance, loss and duplication, the same for the same seed.
//!
//! The fate of a vector on its way to a receiver depends on the seed, the receiver and the vector's number only. So all
//! policies that send it share one draw: the same weather for everybody.

use super::policies::ReceiverId;
use crate::vector::Seq;
use domain::SimTime;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// How delays spread about their mean (digest §7, X1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spread {
    /// Evenly in mean ± spread.
    #[default]
    Uniform,
    /// Normal with the spread as standard deviation, none below zero.
    TruncatedNormal,
}

/// One link, both directions alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Mean one-way delay in ms.
    pub delay_ms: f64,
    /// The spread about it in ms.
    pub spread_ms: f64,
    /// How it spreads.
    pub spread: Spread,
    /// Probability of losing a message.
    pub loss: f64,
    /// Probability of delivering one twice.
    pub duplication: f64,
}

impl Link {
    /// A constant delay, nothing lost.
    pub fn fixed(delay_ms: f64) -> Self {
        Self {
            delay_ms,
            ..Self::default()
        }
    }

    /// With a uniform spread.
    #[must_use]
    pub fn with_spread(self, spread_ms: f64) -> Self {
        Self { spread_ms, ..self }
    }

    fn draw(&self, rng: &mut Pcg64Mcg) -> SimTime {
        // Both are always drawn, so that the draws that follow do not depend on the kind of spread.
        let (a, b): (f64, f64) = (rng.random(), rng.random());
        let off = match self.spread {
            Spread::Uniform => 2.0 * a - 1.0,
            Spread::TruncatedNormal => {
                // Box and Muller; 1 − a is never 0.
                (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
            }
        };
        SimTime::from_millis((self.delay_ms + self.spread_ms * off).max(0.0))
    }
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// A vector to the receiver.
    Vector,
    /// An acknowledgement to the sender.
    Ack,
}

/// The links of one run.
#[derive(Clone, Debug)]
pub struct Network {
    seed: u64,
}

impl Network {
    /// With its own weather.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The delays after which a message arrives: none if it is lost, two if it is duplicated. `seq` is the vector's number, or
    /// that of the vector whose arrival is acknowledged (DR-37).
    pub fn fate(
        &self,
        link: &Link,
        receiver: ReceiverId,
        seq: Seq,
        direction: Direction,
    ) -> impl Iterator<Item = SimTime> + use<> {
        let key = u128::from(receiver.0) << 33
            | u128::from(seq.0) << 1
            | u128::from(direction == Direction::Ack);
        let mut rng = Pcg64Mcg::new(u128::from(mix(self.seed)) << 64 | u128::from(mix(key as u64)));
        let lost = rng.random::<f64>() < link.loss;
        let twice = rng.random::<f64>() < link.duplication;
        let delays = [link.draw(&mut rng), link.draw(&mut rng)];
        let arrivals = if lost { 0 } else { 1 + usize::from(twice) };
        delays.into_iter().take(arrivals)
    }
}

/// SplitMix64's finaliser: neighbouring keys get unrelated states.
fn mix(key: u64) -> u64 {
    let mut z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(link: Link, seed: u64) -> Vec<f64> {
        let network = Network::new(seed);
        let all = (1..20_000).map(Seq);
        all.flat_map(|seq| network.fate(&link, ReceiverId(3), seq, Direction::Vector))
            .map(SimTime::as_millis)
            .collect()
    }

    #[test]
    fn dr_37_the_same_seed_gives_the_same_fate_whoever_sends() {
        let link = Link {
            loss: 0.2,
            duplication: 0.1,
            ..Link::fixed(500.0).with_spread(180.0)
        };
        assert_eq!(delays(link, 7), delays(link, 7));
        assert_ne!(delays(link, 7), delays(link, 8));
    }

    #[test]
    fn dr_37_delay_variance_loss_and_duplication_are_as_asked() {
        let uniform = delays(Link::fixed(500.0).with_spread(180.0), 1);
        let (low, high) = (
            uniform.iter().copied().fold(f64::MAX, f64::min),
            uniform.iter().copied().fold(0.0, f64::max),
        );
        assert!((320.0..325.0).contains(&low) && (675.0..=680.0).contains(&high));
        let mean = uniform.iter().sum::<f64>() / uniform.len() as f64;
        assert!((mean - 500.0).abs() < 3.0, "{mean}");
        let normal = Link {
            spread: Spread::TruncatedNormal,
            ..Link::fixed(100.0).with_spread(50.0)
        };
        let normal = delays(normal, 1);
        let below = normal.iter().filter(|&&d| d < 50.0).count() as f64 / normal.len() as f64;
        assert!((below - 0.1587).abs() < 0.01, "{below}");
        assert!(normal.iter().all(|&d| d >= 0.0));
        let lossy = Link {
            loss: 0.25,
            duplication: 0.5,
            ..Link::fixed(10.0)
        };
        let arrivals = delays(lossy, 1).len() as f64 / 19_999.0;
        assert!((arrivals - 0.75 * 1.5).abs() < 0.02, "{arrivals}");
    }
}
