//! Numbers in messages.

use std::fmt;

/// A number as a person would write it: `0.5`, `1000000`, but `1e300` and not three hundred digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Short(pub f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.0.to_string();
        match plain.len() {
            0..=20 => f.write_str(&plain),
            _ => write!(f, "{:e}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_written_with_an_exponent() {
        let shown = [0.5, -90000.0, 1e7, 1e300, -1e-300, f64::MAX, f64::NAN];
        let shown = shown.map(|number| Short(number).to_string());
        assert_eq!(
            shown,
            [
                "0.5",
                "-90000",
                "10000000",
                "1e300",
                "-1e-300",
                "1.7976931348623157e308",
                "NaN"
            ]
        );
    }
}
