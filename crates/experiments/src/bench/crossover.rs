//! From how many bodies on do several servers pay?
//!
//! ```text
//!  tick / bare Rapier's
//!      │ ×
//!    1 ┼───×───────────── the bar: bare Rapier itself, or a part of it
//!      │      ×  ×        crossover: from here on below, whatever is measured beyond
//!      └──250─500─1000──► bodies
//! ```

/// Where a line of ratios falls below a bar for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossover {
    /// Already at the fewest bodies that were measured.
    AtMost(usize),
    /// Above or equal at the one number, below at the other; between them about here, by a straight line over the
    /// logarithm of the number of bodies.
    Between {
        /// The most bodies at which the bar was not yet reached.
        above: usize,
        /// The fewest from which on it always was.
        below: usize,
        /// Where the line is at the bar.
        about: f64,
    },
    /// Not even at the most bodies that were measured.
    Beyond(usize),
}

impl Crossover {
    /// Of the ratios of the slowest server's tick to bare Rapier's, by ascending numbers of bodies; `None` of nothing.
    pub(super) fn of(ratios: &[(usize, f64)], bar: f64) -> Option<Self> {
        let last_above = ratios.iter().rposition(|(_, ratio)| *ratio >= bar);
        let Some(index) = last_above else {
            return ratios.first().map(|(bodies, _)| Self::AtMost(*bodies));
        };
        let (above, high) = ratios[index];
        let Some((below, low)) = ratios.get(index + 1).copied() else {
            return Some(Self::Beyond(above));
        };
        let share = (high - bar) / (high - low);
        let about = above as f64 * (below as f64 / above as f64).powf(share);
        Some(Self::Between {
            above,
            below,
            about,
        })
    }

    /// The fewest bodies that were measured from which on the servers are faster.
    pub(super) fn bodies(self) -> Option<usize> {
        match self {
            Self::AtMost(bodies) | Self::Between { below: bodies, .. } => Some(bodies),
            Self::Beyond(_) => None,
        }
    }

    /// For people.
    pub(super) fn text(self) -> String {
        match self {
            Self::AtMost(bodies) => format!("{bodies} bodies or fewer"),
            Self::Between {
                above,
                below,
                about,
            } => {
                // Two digits: a line between two measurements knows no more.
                let unit = 10_f64.powf(about.log10().floor() - 1.0);
                let about = (about / unit).round() * unit;
                format!("{below} bodies (not at {above}; in between at about {about:.0})")
            }
            Self::Beyond(most) => format!("more than {most} bodies"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crossover_lies_between_two_measurements() {
        let ratios = [(250, 1.5), (500, 1.2), (1000, 0.8), (2000, 0.6)];
        let found = Crossover::of(&ratios, 1.0).expect("measured");
        let Crossover::Between {
            above: 500,
            below: 1000,
            about,
        } = found
        else {
            panic!("{found:?}");
        };
        assert!((about - 500.0 * 2_f64.sqrt()).abs() < 1e-6, "{about}");
        assert_eq!(found.bodies(), Some(1000));
        assert_eq!(
            found.text(),
            "1000 bodies (not at 500; in between at about 710)"
        );
        let half = Crossover::of(&ratios, 0.7);
        assert_eq!(half.and_then(Crossover::bodies), Some(2000));
    }

    /// A single lucky measurement is no crossover: it must stay below.
    #[test]
    fn below_once_is_not_below_for_good() {
        let found = Crossover::of(&[(250, 0.9), (500, 1.0), (1000, 0.9)], 1.0);
        assert_eq!(found.and_then(Crossover::bodies), Some(1000));
        assert_eq!(
            Crossover::of(&[(250, 0.9), (500, 1.1)], 1.0),
            Some(Crossover::Beyond(500))
        );
    }

    #[test]
    fn what_was_not_measured_is_not_claimed() {
        assert_eq!(
            Crossover::of(&[(250, 0.9), (500, 0.8)], 1.0),
            Some(Crossover::AtMost(250))
        );
        assert_eq!(Crossover::of(&[], 1.0), None);
        assert_eq!(Crossover::Beyond(16_000).bodies(), None);
    }
}
