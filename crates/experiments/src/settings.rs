//! What the thesis varied, over which grids (5.2.2 to 5.2.5).

use crate::head_on::Conditions;
use crate::variants::boundary_tolerances;
use boundary::geometry::ThesisAura;
use domain::TickLength;
use scenes::Tolerances;
use serde::Serialize;

/// The one thing an experiment varies; the other two factors stay at their tolerances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Speed of each sphere, m/s (E8).
    Speed,
    /// One-way latency, ms (E9).
    Latency,
    /// Frame time, ms (E10).
    FrameTime,
    /// Share of datagrams lost, % (E12).
    Loss,
}

impl Factor {
    /// As in the thesis's tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Speed => "Speed",
            Self::Latency => "Latency",
            Self::FrameTime => "Frame time",
            Self::Loss => "Loss",
        }
    }

    /// Of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Speed => "m/s",
            Self::Latency | Self::FrameTime => "ms",
            Self::Loss => "%",
        }
    }
}

/// One tolerance of one factor with its grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// What is varied.
    pub factor: Factor,
    /// What the auras are made for.
    pub tolerance: f64,
    first: f64,
    step: f64,
    last: f64,
}

/// E8: 1 to twice the tolerance in steps of 1 m/s.
pub const SPEEDS: [Setting; 3] = [
    Setting {
        factor: Factor::Speed,
        tolerance: 16.0,
        first: 1.0,
        step: 1.0,
        last: 32.0,
    },
    Setting {
        factor: Factor::Speed,
        tolerance: 32.0,
        first: 1.0,
        step: 1.0,
        last: 64.0,
    },
    Setting {
        factor: Factor::Speed,
        tolerance: 48.0,
        first: 1.0,
        step: 1.0,
        last: 96.0,
    },
];

/// E9: 0 to twice the tolerance in steps of 0.05, 0.25 and 1 ms.
pub const LATENCIES: [Setting; 3] = [
    Setting {
        factor: Factor::Latency,
        tolerance: 2.0,
        first: 0.0,
        step: 0.05,
        last: 4.0,
    },
    Setting {
        factor: Factor::Latency,
        tolerance: 8.0,
        first: 0.0,
        step: 0.25,
        last: 16.0,
    },
    Setting {
        factor: Factor::Latency,
        tolerance: 16.0,
        first: 0.0,
        step: 1.0,
        last: 32.0,
    },
];

/// E10: 0 to twice the tolerance in steps of 1, 1 and 2 ms. The thesis names the third tolerance 33.33 ms in its text and 32 ms in its figures;
/// its threshold fits 32, so both are run.
pub const FRAME_TIMES: [Setting; 4] = [
    Setting {
        factor: Factor::FrameTime,
        tolerance: 8.33,
        first: 0.0,
        step: 1.0,
        last: 16.66,
    },
    Setting {
        factor: Factor::FrameTime,
        tolerance: 15.0,
        first: 0.0,
        step: 1.0,
        last: 30.0,
    },
    Setting {
        factor: Factor::FrameTime,
        tolerance: 32.0,
        first: 0.0,
        step: 2.0,
        last: 64.0,
    },
    Setting {
        factor: Factor::FrameTime,
        tolerance: 33.33,
        first: 0.0,
        step: 2.0,
        last: 66.66,
    },
];

/// E12: 0 to 20 % in steps of 1 %, everything else at tolerance.
pub const LOSS: Setting = Setting {
    factor: Factor::Loss,
    tolerance: 0.0,
    first: 0.0,
    step: 1.0,
    last: 20.0,
};

/// E7: the control run's speeds; its tolerance plays no role on one server. (A-10: the thesis counts 3150 collisions, its grid gives 3200.)
pub const CONTROL: Setting = Setting {
    factor: Factor::Speed,
    tolerance: 64.0,
    first: 1.0,
    step: 1.0,
    last: 64.0,
};

impl Setting {
    /// A single point: the factor exactly at its tolerance.
    pub fn at(factor: Factor, tolerance: f64) -> Self {
        Self {
            factor,
            tolerance,
            first: tolerance,
            step: 1.0,
            last: tolerance,
        }
    }

    /// All grid points, ascending.
    pub fn grid(&self) -> Vec<f64> {
        let count = ((self.last - self.first) / self.step + 1e-9).floor() as u32;
        (0..=count)
            .map(|i| self.first + f64::from(i) * self.step)
            .collect()
    }

    /// A few of them: the ends, the tolerance and what lies half-way.
    pub fn short_grid(&self) -> Vec<f64> {
        if self.factor == Factor::Loss {
            return vec![0.0, 1.0, 5.0, 15.0, 20.0];
        }
        let grid = self.grid();
        let below = grid.iter().filter(|value| self.is_below(**value)).count();
        let last = grid.len() - 1;
        let mut wanted = vec![
            0,
            below / 2,
            below.saturating_sub(1),
            (below + last).div_ceil(2).min(last),
            last,
        ];
        wanted.sort_unstable();
        wanted.dedup();
        wanted.into_iter().map(|index| grid[index]).collect()
    }

    /// Is this value within the tolerance?
    pub fn is_below(&self, value: f64) -> bool {
        value <= self.tolerance + 1e-9
    }

    /// The three tolerances: the varied one as set, the others 32 m/s, 2 ms, 15 ms.
    pub fn tolerances(&self) -> Tolerances {
        let mut tolerances = Tolerances::default();
        match self.factor {
            Factor::Speed => tolerances.speed = self.tolerance,
            Factor::Latency => tolerances.latency_ms = self.tolerance,
            Factor::FrameTime => tolerances.frame_ms = self.tolerance,
            Factor::Loss => {}
        }
        tolerances
    }

    /// The conditions at a grid point: everything at its tolerance but the factor.
    pub fn conditions(&self, value: f64) -> Conditions {
        let mut conditions = Conditions::at(&self.tolerances());
        match self.factor {
            Factor::Speed => conditions.speed = value,
            Factor::Latency => conditions.latency_ms = value,
            Factor::FrameTime => conditions.frame_ms = value,
            Factor::Loss => conditions.loss = value / 100.0,
        }
        conditions
    }

    /// Steps per hop, the thesis's `n`.
    pub fn hop_steps(&self) -> u64 {
        thesis_aura(&self.tolerances()).hop_steps
    }

    /// As in tables: "16 m/s".
    pub fn label(&self) -> String {
        format!("{} {}", self.tolerance, self.factor.unit())
    }
}

pub(crate) fn thesis_aura(tolerances: &Tolerances) -> ThesisAura {
    ThesisAura::of(&boundary_tolerances(tolerances), TickLength::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(setting: &Setting) -> (usize, usize) {
        let grid = setting.grid();
        let below = grid
            .iter()
            .filter(|value| setting.is_below(**value))
            .count();
        (below, grid.len() - below)
    }

    /// AP-54: 50 runs on these grids give the thesis's sample counts where those match its own description.
    #[test]
    fn grids_have_the_published_number_of_points() {
        assert_eq!(SPEEDS.map(|s| counts(&s)), [(16, 16), (32, 32), (48, 48)]);
        assert_eq!(
            LATENCIES.map(|s| counts(&s)),
            [(41, 40), (33, 32), (17, 16)]
        );
        assert_eq!(
            FRAME_TIMES.map(|s| counts(&s)),
            [(9, 8), (16, 15), (17, 16), (17, 17)]
        );
        assert_eq!(LOSS.grid().len(), 21);
    }

    /// AP-54: one factor varies, the other two are at their tolerances.
    #[test]
    fn only_one_factor_varies() {
        let conditions = LATENCIES[2].conditions(24.0);
        assert_eq!(
            (conditions.speed, conditions.latency_ms, conditions.frame_ms),
            (32.0, 24.0, 15.0)
        );
        assert_eq!(LATENCIES[2].tolerances().latency_ms, 16.0);
        assert_eq!(LOSS.conditions(15.0).loss, 0.15);
    }

    #[test]
    fn short_grids_keep_the_ends_and_the_tolerance() {
        assert_eq!(SPEEDS[0].short_grid(), [1.0, 9.0, 16.0, 25.0, 32.0]);
        assert_eq!(CONTROL.short_grid().last(), Some(&64.0));
        for setting in SPEEDS
            .iter()
            .chain(&LATENCIES)
            .chain(&FRAME_TIMES)
            .chain([&LOSS])
        {
            let grid = setting.grid();
            assert!(
                setting
                    .short_grid()
                    .iter()
                    .all(|value| grid.contains(value))
            );
        }
    }
}
