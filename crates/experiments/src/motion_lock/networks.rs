//! The three networks of the offline experiment.

use serde::Serialize;
use simulator::stations::{Delay, LinkConditions};

/// A network condition of the thesis (5.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Net {
    /// 50 ms, 10 % lost.
    Good,
    /// 100 ms, 20 % lost; "normal" in the tables.
    Moderate,
    /// 150 ms, 40 % lost.
    Congested,
}

/// The form of the delays; the thesis's range is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Evenly, give or take this part of the mean.
    Even(f64),
    /// A bell curve with this part of the mean as standard deviation.
    Bell(f64),
    /// Poisson in whole milliseconds.
    Poisson,
}

impl Net {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Good, Self::Moderate, Self::Congested];

    /// As in claims.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Moderate => "moderate",
            Self::Congested => "congested",
        }
    }

    /// One way, on average.
    pub fn latency_ms(self) -> f64 {
        match self {
            Self::Good => 50.0,
            Self::Moderate => 100.0,
            Self::Congested => 150.0,
        }
    }

    /// Share of packets lost.
    pub fn loss(self) -> f64 {
        match self {
            Self::Good => 0.1,
            Self::Moderate => 0.2,
            Self::Congested => 0.4,
        }
    }

    /// For the stage.
    pub fn conditions(self, shape: Shape) -> LinkConditions {
        let mean_ms = self.latency_ms();
        let delay = match shape {
            Shape::Even(part) => Delay::around(mean_ms, part),
            Shape::Bell(part) => Delay::Normal {
                mean_ms,
                sd_ms: part * mean_ms,
            },
            Shape::Poisson => Delay::Poisson { mean_ms },
        };
        LinkConditions {
            delay,
            loss: self.loss(),
        }
    }
}
