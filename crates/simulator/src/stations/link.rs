//! One way between two stations: a pool of packets, each with a delay of its own, and a filter at the exit.
//!
//! ```text
//!   enter ──► [ pool: every packet waits its own delay ] ──► lost? ──► out, or reported as lost
//! ```
//!
//! Delays are independent, so packets overtake each other (Chen 2010, 5.1.2). Every class of packets has dice of its own, and each packet
//! throws them once for its delay and once for its loss. So two protocols run under the same seed see the same fate for their n-th
//! position update, however many collision messages they send beside it: runs can be compared in pairs.

use domain::SimTime;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// How long packets take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// Evenly between the two, milliseconds: the published simulator's.
    Uniform {
        /// The shortest.
        least_ms: f64,
        /// The longest.
        most_ms: f64,
    },
    /// A bell curve, cut off at zero, milliseconds.
    Normal {
        /// Its middle.
        mean_ms: f64,
        /// Its standard deviation.
        sd_ms: f64,
    },
    /// A Poisson distribution of whole milliseconds.
    Poisson {
        /// Its mean and variance.
        mean_ms: f64,
    },
}

impl Delay {
    /// Evenly around a mean, give or take this part of it.
    pub fn around(mean_ms: f64, part: f64) -> Self {
        Self::Uniform {
            least_ms: mean_ms * (1.0 - part),
            most_ms: mean_ms * (1.0 + part),
        }
    }

    /// On average.
    pub fn mean_ms(&self) -> f64 {
        match *self {
            Self::Uniform { least_ms, most_ms } => 0.5 * (least_ms + most_ms),
            Self::Normal { mean_ms, .. } | Self::Poisson { mean_ms } => mean_ms,
        }
    }

    /// Throws as many dice as it needs.
    pub fn draw(&self, rng: &mut Pcg64Mcg) -> SimTime {
        let ms = match *self {
            Self::Uniform { least_ms, most_ms } => {
                least_ms + (most_ms - least_ms) * rng.random::<f64>()
            }
            Self::Normal { mean_ms, sd_ms } => mean_ms + sd_ms * standard_normal(rng),
            Self::Poisson { mean_ms } => poisson(rng, mean_ms),
        };
        SimTime::from_millis(ms)
    }
}

/// Box and Muller.
fn standard_normal(rng: &mut Pcg64Mcg) -> f64 {
    let [radius, turn] = rng.random::<[f64; 2]>();
    (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
}

/// Knuth's product of dice, in steps of at most 200 so that the product stays a number.
fn poisson(rng: &mut Pcg64Mcg, mean: f64) -> f64 {
    let (mut left, mut sum) = (mean, 0.0);
    while left > 0.0 {
        let step = left.min(200.0);
        left -= step;
        let limit = (-step).exp();
        let mut product = rng.random::<f64>();
        while product > limit {
            product *= rng.random::<f64>();
            sum += 1.0;
        }
    }
    sum
}

/// What one way does to packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConditions {
    /// How long they take.
    pub delay: Delay,
    /// The share that is lost at the exit, 0 to 1, each packet for itself.
    pub loss: f64,
}

impl LinkConditions {
    /// Everything arrives at once.
    pub fn perfect() -> Self {
        Self {
            delay: Delay::around(0.0, 0.0),
            loss: 0.0,
        }
    }
}

/// A packet at the exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// When it was sent.
    pub sent_at: SimTime,
    /// When it left the pool.
    pub at: SimTime,
    /// Did the filter, or a cut, keep it?
    pub lost: bool,
    /// What it says.
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
struct Travelling {
    at: SimTime,
    number: u64,
    sent_at: SimTime,
    lost: bool,
    bytes: Vec<u8>,
}

impl PartialEq for Travelling {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Travelling {}

impl PartialOrd for Travelling {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Travelling {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// One way between two stations.
#[derive(Debug)]
pub struct Connection {
    seed: u64,
    conditions: LinkConditions,
    dice: BTreeMap<u8, Pcg64Mcg>,
    pool: BinaryHeap<Reverse<Travelling>>,
    entered: u64,
    cut: bool,
}

impl Connection {
    /// An empty one. The same seed and the same packets give the same exits.
    pub fn new(seed: u64, conditions: LinkConditions) -> Self {
        Self {
            seed,
            conditions,
            dice: BTreeMap::new(),
            pool: BinaryHeap::new(),
            entered: 0,
            cut: false,
        }
    }

    /// While it is cut nothing comes out; what is under way is lost at its exit.
    pub fn set_cut(&mut self, cut: bool) {
        self.cut = cut;
    }

    /// Takes a packet of this class.
    pub fn enter(&mut self, now: SimTime, class: u8, bytes: Vec<u8>) {
        let seed = self.seed;
        let dice = self
            .dice
            .entry(class)
            .or_insert_with(|| Pcg64Mcg::seed_from_u64(xxh3_64_with_seed(&[class], seed)));
        let lost = dice.random::<f64>() < self.conditions.loss;
        let at = now + self.conditions.delay.draw(dice);
        self.entered += 1;
        self.pool.push(Reverse(Travelling {
            at,
            number: self.entered,
            sent_at: now,
            lost,
            bytes,
        }));
    }

    /// When the next packet is at the exit.
    pub fn next_exit(&self) -> Option<SimTime> {
        self.pool.peek().map(|Reverse(first)| first.at)
    }

    /// The next packet that is at the exit by now.
    pub fn exit(&mut self, now: SimTime) -> Option<Exit> {
        if self.next_exit()? > now {
            return None;
        }
        let Reverse(first) = self.pool.pop()?;
        Some(Exit {
            sent_at: first.sent_at,
            at: first.at,
            lost: first.lost || self.cut,
            bytes: first.bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stations::measure::Measure;

    fn run(seed: u64, conditions: LinkConditions, packets: u32, class: u8) -> Vec<Exit> {
        let mut link = Connection::new(seed, conditions);
        for packet in 0..packets {
            let now = SimTime::from_millis(20.0 * f64::from(packet));
            link.enter(now, class, packet.to_le_bytes().to_vec());
        }
        std::iter::from_fn(|| link.exit(SimTime(u64::MAX))).collect()
    }

    fn delays(exits: &[Exit]) -> Measure {
        let delays = exits.iter().map(|exit| exit.at.since(exit.sent_at));
        delays.map(SimTime::as_millis).collect()
    }

    /// ML-37: delays are evenly spread over the range, and each packet is lost by itself with the given chance.
    #[test]
    fn uniform_delays_and_independent_loss() {
        let conditions = LinkConditions {
            delay: Delay::around(100.0, 0.1),
            loss: 0.2,
        };
        let exits = run(7, conditions, 20_000, 0);
        let seen = delays(&exits);
        assert!(seen.min() >= 90.0 && seen.max() <= 110.0, "{seen:?}");
        assert!((seen.avg() - 100.0).abs() < 0.2, "{seen:?}");
        // A uniform distribution 20 wide.
        assert!((seen.std() - 20.0 / 12f64.sqrt()).abs() < 0.1, "{seen:?}");
        let lost = exits.iter().filter(|exit| exit.lost).count() as f64;
        assert!((lost / 20_000.0 - 0.2).abs() < 0.01, "{lost}");
        let both = exits.windows(2).filter(|two| two[0].lost && two[1].lost);
        assert!((both.count() as f64 / 20_000.0 - 0.04).abs() < 0.006);
    }

    /// ML-37: the options the thesis tried.
    #[test]
    fn normal_and_poisson_delays_have_their_moments() {
        for (delay, sd) in [
            (
                Delay::Normal {
                    mean_ms: 100.0,
                    sd_ms: 8.0,
                },
                8.0,
            ),
            (Delay::Poisson { mean_ms: 250.0 }, 250f64.sqrt()),
        ] {
            let conditions = LinkConditions { delay, loss: 0.0 };
            let seen = delays(&run(3, conditions, 20_000, 0));
            assert!((seen.avg() - delay.mean_ms()).abs() < 0.5, "{seen:?}");
            assert!((seen.std() - sd).abs() < 0.5, "{seen:?}");
        }
    }

    /// ML-37: independent delays reorder packets when they are wide enough.
    #[test]
    fn packets_overtake_each_other() {
        let conditions = LinkConditions {
            delay: Delay::around(100.0, 0.5),
            loss: 0.0,
        };
        let sent: Vec<SimTime> = run(1, conditions, 200, 0)
            .iter()
            .map(|exit| exit.sent_at)
            .collect();
        assert!(!sent.is_sorted());
        assert!(run(1, conditions, 200, 0).is_sorted_by_key(|exit| exit.at));
    }

    /// The pairing of runs: packets of another class do not change a packet's fate.
    #[test]
    fn classes_have_dice_of_their_own() {
        let conditions = LinkConditions {
            delay: Delay::around(100.0, 0.5),
            loss: 0.4,
        };
        let alone = run(5, conditions, 50, 0);
        let mut link = Connection::new(5, conditions);
        for packet in 0..50_u32 {
            let now = SimTime::from_millis(20.0 * f64::from(packet));
            link.enter(now, 1, vec![0xff; 9]);
            link.enter(now, 0, packet.to_le_bytes().to_vec());
        }
        let together = std::iter::from_fn(|| link.exit(SimTime(u64::MAX)));
        let first_class: Vec<Exit> = together.filter(|exit| exit.bytes.len() == 4).collect();
        assert_eq!(first_class, alone);
        assert_ne!(run(5, conditions, 50, 1), alone);
    }

    #[test]
    fn a_cut_loses_what_comes_to_the_exit() {
        let mut link = Connection::new(1, LinkConditions::perfect());
        link.enter(SimTime::ZERO, 0, vec![1]);
        link.set_cut(true);
        assert!(link.exit(SimTime::ZERO).expect("at the exit").lost);
        link.set_cut(false);
        link.enter(SimTime::ZERO, 0, vec![1]);
        assert!(!link.exit(SimTime::ZERO).expect("at the exit").lost);
    }
}
