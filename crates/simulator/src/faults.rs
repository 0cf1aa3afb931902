//! What goes wrong on command: servers that die and come back, links that are cut.
//!
//! Written as on the command line: `crash=1@3.5+0.8` (server 1 dies at 3.5 s and is back 0.8 s later),
//! `cut=0-2@4+1` (no word between servers 0 and 2 for one second from 4 s on).

use domain::RegionId;
use std::str::FromStr;
use thiserror::Error;

/// One thing that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A server dies with all it has in memory and is started again from its last snapshot.
    Crash {
        /// Which.
        region: RegionId,
        /// When, seconds.
        at: f64,
        /// For how long it is gone, seconds.
        down: f64,
    },
    /// Two servers cannot reach each other.
    Cut {
        /// One.
        a: RegionId,
        /// The other.
        b: RegionId,
        /// From when, seconds.
        at: f64,
        /// For how long, seconds.
        down: f64,
    },
}

impl Fault {
    /// When it begins and ends, seconds.
    pub fn window(&self) -> (f64, f64) {
        match *self {
            Self::Crash { at, down, .. } | Self::Cut { at, down, .. } => (at, at + down),
        }
    }

    /// The servers it names.
    pub fn regions(&self) -> Vec<RegionId> {
        match *self {
            Self::Crash { region, .. } => vec![region],
            Self::Cut { a, b, .. } => vec![a, b],
        }
    }
}

/// Why a fault cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "'{text}' is no fault: write crash=SERVER@SECONDS+SECONDS or cut=SERVER-SERVER@SECONDS+SECONDS, e.g. crash=1@3.5+0.8"
)]
pub struct FaultError {
    text: String,
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        read(text).ok_or_else(|| FaultError { text: text.into() })
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Crash { region, at, down } => write!(f, "crash={}@{at}+{down}", region.0),
            Self::Cut { a, b, at, down } => write!(f, "cut={}-{}@{at}+{down}", a.0, b.0),
        }
    }
}

fn read(text: &str) -> Option<Fault> {
    let (kind, rest) = text.split_once('=')?;
    let (whom, when) = rest.split_once('@')?;
    let (at, down) = when.split_once('+')?;
    let secs = |text: &str| {
        text.parse::<f64>()
            .ok()
            .filter(|s| s.is_finite() && *s >= 0.0)
    };
    let region = |text: &str| text.parse().ok().map(RegionId);
    let (at, down) = (secs(at)?, secs(down)?);
    match kind {
        "crash" => Some(Fault::Crash {
            region: region(whom)?,
            at,
            down,
        }),
        "cut" => {
            let (a, b) = whom.split_once('-')?;
            let (a, b) = (region(a)?, region(b)?);
            (a != b).then_some(Fault::Cut { a, b, at, down })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_written_as_they_are_read() {
        for text in ["crash=1@3.5+0.8", "cut=0-2@4+1"] {
            assert_eq!(text.parse::<Fault>().expect("valid").to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_form() {
        for text in [
            "",
            "crash",
            "crash=1",
            "crash=x@1+1",
            "cut=1@1+1",
            "cut=1-1@1+1",
            "boom=1@1+1",
            "crash=1@-1+1",
        ] {
            let error = text.parse::<Fault>().expect_err(text);
            assert!(error.to_string().contains("crash=SERVER"));
        }
    }
}
