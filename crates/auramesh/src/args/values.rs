//! How single values are read.

use scenes::Short;
use simulator::network::{ConditionsError, NetworkConditions};

/// Like the network's own reader, but a number of 300 digits is not repeated digit by digit.
pub(super) fn network(text: &str) -> Result<NetworkConditions, String> {
    text.parse().map_err(|error| match error {
        ConditionsError::OutOfRange {
            key,
            value,
            min,
            max,
        } => format!(
            "{key} must be between {} and {}, not {}",
            Short(min),
            Short(max),
            Short(value)
        ),
        other => other.to_string(),
    })
}

/// Checked here, passed on as it was typed.
pub(super) fn network_text(text: &str) -> Result<String, String> {
    network(text).map(|_| text.to_owned())
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    positive(text, scenes::MAX_SECONDS)
}

pub(super) fn frame_ms(text: &str) -> Result<f64, String> {
    positive(text, 1000.0)
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let allowed = number.filter(|number| (0.0..=1.0).contains(number));
    allowed.ok_or_else(|| "must be a number from 0 to 1".to_owned())
}

pub(super) fn delay_ms(text: &str) -> Result<f64, String> {
    positive(text, 1000.0)
}

pub(super) fn positive(text: &str, most: f64) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let allowed = number.filter(|number| *number > 0.0 && *number <= most);
    allowed.ok_or_else(|| format!("must be a number above 0 and at most {most}"))
}
