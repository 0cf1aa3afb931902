//! Sum, average, standard deviation, least and most of a quantity: what the published monitor keeps of everything (Chen 2010, 5.1.3).

use serde_json::{Value, json};

/// One quantity, sample after sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    count: u64,
    sum: f64,
    // Welford's running mean and sum of squared differences: no cancellation after a million samples.
    mean: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Default for Measure {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0.0,
            mean: 0.0,
            squares: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
        }
    }
}

impl Measure {
    /// Takes a sample.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        let difference = value - self.mean;
        self.mean += difference / self.count as f64;
        self.squares += difference * (value - self.mean);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// How many samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Of all.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// The average; 0 of nothing.
    pub fn avg(&self) -> f64 {
        self.mean
    }

    /// The population's standard deviation.
    pub fn std(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }

    /// The least; 0 of nothing.
    pub fn min(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.least }
    }

    /// The most; 0 of nothing.
    pub fn max(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.most }
    }

    /// For files.
    pub fn json(&self) -> Value {
        json!({
            "count": self.count,
            "sum": tidy(self.sum),
            "avg": tidy(self.avg()),
            "std": tidy(self.std()),
            "min": tidy(self.min()),
            "max": tidy(self.max()),
        })
    }
}

impl FromIterator<f64> for Measure {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut measure = Self::default();
        values.into_iter().for_each(|value| measure.add(value));
        measure
    }
}

/// To a millionth, so that files are equal on all machines.
fn tidy(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ML-40: sum, average, standard deviation, minimum and maximum.
    #[test]
    fn the_five_numbers() {
        let measure: Measure = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
            .into_iter()
            .collect();
        assert_eq!(
            (measure.count(), measure.sum(), measure.avg()),
            (8, 40.0, 5.0)
        );
        assert_eq!(
            (measure.std(), measure.min(), measure.max()),
            (2.0, 2.0, 9.0)
        );
        assert_eq!(Measure::default().max(), 0.0);
    }
}
