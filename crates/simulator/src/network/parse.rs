//! Network conditions as a user writes them: `--net home_wifi`, `--net latency_ms=2,loss=0.02`,
//! `--net home_wifi,loss=0.2`.

use super::conditions::{MAX_DELAY_MS, NetworkConditions, PRESETS};
use std::str::FromStr;
use thiserror::Error;

/// Why a text is not network conditions.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ConditionsError {
    /// A key that does not exist.
    #[error("unknown network setting `{key}`; did you mean `{nearest}`? (known: {})", KEYS.join(", "))]
    UnknownKey {
        /// What was written.
        key: String,
        /// The known key that looks most like it.
        nearest: &'static str,
    },
    /// A preset that does not exist.
    #[error("unknown network `{name}`; did you mean `{nearest}`? (known: {}; or key=value, …)", PRESETS.join(", "))]
    UnknownPreset {
        /// What was written.
        name: String,
        /// The known preset that looks most like it.
        nearest: &'static str,
    },
    /// A preset after other settings, which it would undo.
    #[error("`{0}` must come first: it would undo the settings before it")]
    LatePreset(String),
    /// Not a number.
    #[error("{key} must be a number, not `{value}`")]
    NotANumber {
        /// Of which setting.
        key: &'static str,
        /// What was written.
        value: String,
    },
    /// A number that makes no sense there.
    #[error("{key} must be between {min} and {max}, not {value}")]
    OutOfRange {
        /// Which setting.
        key: &'static str,
        /// What was written.
        value: f64,
        /// At least.
        min: f64,
        /// At most.
        max: f64,
    },
}

const KEYS: [&str; 7] = [
    "latency_ms",
    "jitter_ms",
    "loss",
    "dup",
    "reorder",
    "reorder_ms",
    "bandwidth_bytes_per_sec",
];

impl NetworkConditions {
    /// Reads a preset's name, `key=value` pairs separated by commas, or a preset and pairs that change it.
    pub fn parse(text: &str) -> Result<Self, ConditionsError> {
        let mut conditions = Self::perfect();
        for (index, part) in text.split(',').map(str::trim).enumerate() {
            match part.split_once('=') {
                Some((key, value)) => conditions.set(key.trim(), value.trim())?,
                None if index == 0 => conditions = preset(part)?,
                None => {
                    preset(part)?;
                    return Err(ConditionsError::LatePreset(part.to_owned()));
                }
            }
        }
        Ok(conditions)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ConditionsError> {
        let Some(&known) = KEYS.iter().find(|known| **known == key) else {
            return Err(ConditionsError::UnknownKey {
                key: key.to_owned(),
                nearest: nearest(key, &KEYS),
            });
        };
        let between = |min, max| number(known, value, min, max);
        match known {
            "latency_ms" => self.latency_ms = between(0.0, MAX_DELAY_MS)?,
            "jitter_ms" => self.jitter_ms = between(0.0, MAX_DELAY_MS)?,
            "loss" => self.loss = between(0.0, 1.0)?,
            "dup" => self.duplicate = between(0.0, 1.0)?,
            "reorder" => self.reorder = between(0.0, 1.0)?,
            "reorder_ms" => self.reorder_ms = between(0.0, MAX_DELAY_MS)?,
            _ => self.bandwidth_bytes_per_sec = Some(between(1.0, 1e12)?),
        }
        Ok(())
    }
}

impl FromStr for NetworkConditions {
    type Err = ConditionsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

fn preset(name: &str) -> Result<NetworkConditions, ConditionsError> {
    NetworkConditions::preset(name).ok_or_else(|| {
        // A bare key is more likely a forgotten value than a misspelt preset.
        if let Some(key) = KEYS.into_iter().find(|key| *key == name) {
            let value = String::new();
            return ConditionsError::NotANumber { key, value };
        }
        ConditionsError::UnknownPreset {
            name: name.to_owned(),
            nearest: nearest(name, &PRESETS),
        }
    })
}

fn number(key: &'static str, text: &str, min: f64, max: f64) -> Result<f64, ConditionsError> {
    let value: f64 = text.parse().map_err(|_| ConditionsError::NotANumber {
        key,
        value: text.to_owned(),
    })?;
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(ConditionsError::OutOfRange {
            key,
            value,
            min,
            max,
        })
    }
}

fn nearest(name: &str, known: &[&'static str]) -> &'static str {
    let likeness = |known: &&&'static str| strsim::jaro_winkler(name, known);
    known
        .iter()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .expect("there are known names")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_presets_and_both_are_read() {
        let parsed = NetworkConditions::parse("latency_ms=2,jitter_ms=1,loss=0.02,dup=0.01");
        let expected = NetworkConditions {
            latency_ms: 2.0,
            jitter_ms: 1.0,
            loss: 0.02,
            duplicate: 0.01,
            ..NetworkConditions::default()
        };
        assert_eq!(parsed, Ok(expected));
        for name in PRESETS {
            assert_eq!(
                NetworkConditions::parse(name).ok(),
                NetworkConditions::preset(name)
            );
        }
        let wifi = NetworkConditions {
            loss: 0.2,
            ..NetworkConditions::home_wifi()
        };
        assert_eq!("home_wifi, loss = 0.2".parse(), Ok(wifi));
    }

    #[test]
    fn a_mistake_is_named_with_what_was_meant() {
        let message = |text: &str| NetworkConditions::parse(text).expect_err(text).to_string();
        assert!(message("latncy_ms=2").contains("did you mean `latency_ms`"));
        assert!(message("duplicate=0.1").contains("did you mean `dup`"));
        assert!(message("data-center").contains("did you mean `data_centre`"));
        assert!(message("wifi").contains("known: perfect, data_centre, home_wifi, lossy_mobile"));
        assert_eq!(message("loss=2"), "loss must be between 0 and 1, not 2");
        assert_eq!(message("loss=NaN"), "loss must be between 0 and 1, not NaN");
        assert_eq!(message("loss=much"), "loss must be a number, not `much`");
        assert_eq!(message("loss"), "loss must be a number, not ``");
        assert!(message("loss=0.1,perfect").contains("must come first"));
        assert!(message("").contains("unknown network"));
    }
}
