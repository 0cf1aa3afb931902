//! The thesis's fits: a straight line through logarithms, and a curve that bends towards an asymptote.

/// `y = a + b x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) a: f64,
    pub(super) b: f64,
}

impl Line {
    /// Least squares; needs two different x.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let (mx, my) = points
            .iter()
            .fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
        let sxx: f64 = points.iter().map(|p| (p.0 - mx).powi(2)).sum();
        let sxy: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
        (sxx > 0.0).then(|| Self {
            a: my - sxy / sxx * mx,
            b: sxy / sxx,
        })
    }

    pub(super) fn at(&self, x: f64) -> f64 {
        self.a + self.b * x
    }
}

/// `log10 y = a + b x`: how the thesis describes frame time over objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exponential(pub(super) Line);

impl Exponential {
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let logs = points
            .iter()
            .filter(|p| p.1 > 0.0)
            .map(|p| (p.0, p.1.log10()));
        Line::through(&logs.collect::<Vec<_>>()).map(Self)
    }

    pub(super) fn at(&self, x: f64) -> f64 {
        10_f64.powf(self.0.at(x))
    }
}

/// `y = asymptote + (start - asymptote) exp(-rate x)`, R's `SSasymp` with `rate = exp(lrc)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Asymptotic {
    pub(super) asymptote: f64,
    pub(super) start: f64,
    pub(super) rate: f64,
}

/// The slowest bend that is looked for: over a hundred servers it would hardly show.
const LEAST_RATE: f64 = 1e-3;
const MOST_RATE: f64 = 10.0;
const TRIED: usize = 400;

impl Asymptotic {
    /// Least squares. Given the rate the rest is a straight line through `exp(-rate x)`, so only the rate is searched
    /// for: first coarsely, then between the neighbours of the best. `None` if the points do not bend (their
    /// asymptote is beyond anything measured) or are fewer than four.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 4 {
            return None;
        }
        let step = (MOST_RATE / LEAST_RATE).powf(1.0 / TRIED as f64);
        let rate = |index: usize| LEAST_RATE * step.powi(index as i32);
        let miss =
            |rate: f64| Self::with_rate(points, rate).map_or(f64::INFINITY, |(_, miss)| miss);
        let best = (0..=TRIED).min_by(|a, b| miss(rate(*a)).total_cmp(&miss(rate(*b))))?;
        if best == 0 {
            return None;
        }
        let (mut low, mut high) = (rate(best - 1), rate(best + 1));
        for _ in 0..60 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if miss(a) < miss(b) {
                high = b;
            } else {
                low = a;
            }
        }
        Self::with_rate(points, 0.5 * (low + high)).map(|(fit, _)| fit)
    }

    /// The best curve of this rate, and the sum of its squared errors.
    fn with_rate(points: &[(f64, f64)], rate: f64) -> Option<(Self, f64)> {
        let bent: Vec<(f64, f64)> = points.iter().map(|p| ((-rate * p.0).exp(), p.1)).collect();
        let line = Line::through(&bent)?;
        let miss = bent.iter().map(|p| (line.at(p.0) - p.1).powi(2)).sum();
        let fit = Self {
            asymptote: line.a,
            start: line.a + line.b,
            rate,
        };
        Some((fit, miss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn a_line_is_found_again() {
        let points = [0.0, 1.0, 5.0].map(|x| (x, 3.0 - 0.5 * x));
        let line = Line::through(&points).expect("two x at least");
        assert!(near(line.a, 3.0) && near(line.b, -0.5));
        assert_eq!(Line::through(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Line::through(&[]), None);
    }

    /// The thesis's illustration (5.1.4): 4000 objects about 12 ms, 8000 objects 80 ms.
    #[test]
    fn frame_time_grows_exponentially() {
        let fit = Exponential::through(&[(4000.0, 12.0), (8000.0, 80.0)]).expect("two points");
        assert!(near(fit.at(4000.0), 12.0) && near(fit.at(8000.0), 80.0));
        assert!(near(fit.at(6000.0), (12.0_f64 * 80.0).sqrt()));
    }

    #[test]
    fn an_asymptote_is_found_again() {
        let points: Vec<(f64, f64)> = (1..=10)
            .map(f64::from)
            .map(|x| (x, 4.26 - 5.0 * (-0.35 * x).exp()))
            .collect();
        let fit = Asymptotic::through(&points).expect("it bends");
        assert!(
            near(fit.asymptote, 4.26) && near(fit.start, -0.74) && near(fit.rate, 0.35),
            "{fit:?}"
        );
    }

    #[test]
    fn what_does_not_bend_has_no_asymptote() {
        let straight: Vec<(f64, f64)> = (1..=10).map(f64::from).map(|x| (x, x)).collect();
        assert_eq!(Asymptotic::through(&straight), None);
        let upwards: Vec<(f64, f64)> = (1..=10).map(f64::from).map(|x| (x, x * x)).collect();
        assert_eq!(Asymptotic::through(&upwards), None);
        assert_eq!(Asymptotic::through(&straight[..3]), None);
    }
}
