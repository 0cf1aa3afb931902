//! A quantity over the seeds: its mean and how sure one can be of it.

use serde_json::{Value, json};

/// The 97.5 % quantile of Student's t by degrees of freedom, from 1.
#[rustfmt::skip]
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// One value per seed, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Summary {
    /// Of the seeds.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean; `None` with fewer than two seeds.
    pub ci95: Option<f64>,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Summary {
    /// Of these values, one per seed.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let freedom = values.len().saturating_sub(1);
        let ci95 = (freedom > 0)
            .then(|| student(freedom) * (squares / freedom as f64).sqrt() / count.sqrt());
        Self {
            mean,
            ci95,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// As in tables: "421 ± 12".
    pub fn text(&self) -> String {
        let digits = digits(self.mean);
        match self.ci95 {
            Some(ci95) => format!("{:.digits$} ± {ci95:.digits$}", self.mean),
            None => format!("{:.digits$}", self.mean),
        }
    }

    /// With its range: "1.05 (1.02–1.06)".
    pub fn range(&self) -> String {
        format!("{:.2} ({:.2}–{:.2})", self.mean, self.least, self.most)
    }

    /// For files.
    pub fn json(&self) -> Value {
        json!({"mean": round(self.mean), "ci95": self.ci95.map(round)})
    }
}

fn student(freedom: usize) -> f64 {
    let beyond = || 1.96 + 2.4 / freedom as f64;
    STUDENT.get(freedom - 1).copied().unwrap_or_else(beyond)
}

fn digits(value: f64) -> usize {
    match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        small if small >= 0.1 || small == 0.0 => 2,
        _ => 4,
    }
}

/// To five significant digits, so that files stay small and equal on all machines.
pub(super) fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(4 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        let summary = Summary::of([1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(summary.mean, 3.0);
        let ci95 = summary.ci95.expect("five values");
        assert!((ci95 - 2.776 * 2.5_f64.sqrt() / 5.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!((summary.least, summary.most), (1.0, 5.0));
        assert_eq!(Summary::of([1.0]).ci95, None);
        assert_eq!(summary.text(), "3.00 ± 1.96");
    }

    #[test]
    fn beyond_the_table_the_quantile_goes_on() {
        assert!((student(40) - 2.021).abs() < 2e-3 && student(31) < student(30));
    }

    #[test]
    fn five_digits() {
        assert_eq!(round(123_456.7), 123_460.0);
        assert_eq!(round(0.001_234_567), 0.001_234_6);
        assert_eq!(round(0.0), 0.0);
    }
}
