//! What an experiment is asked and what it answers.

use crate::table::Table;
use reckoning::fairness::SenderError;
use serde::Serialize;
use simulator::SimError;
use thiserror::Error;

/// An experiment that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExperimentInfo {
    /// Its name on the command line.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// What it does, in a sentence.
    pub what: &'static str,
}

/// How to run an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Runs per grid point; `None`: as published (50), or a few if `quick`.
    pub runs: Option<u32>,
    /// A few grid points only: finishes in seconds. Claims that need the full grid are left out.
    pub quick: bool,
    /// Of everything random.
    pub seed: u64,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            runs: None,
            quick: false,
            seed: 7,
        }
    }
}

impl RunOptions {
    /// Runs per grid point, given how many a quick run needs.
    pub(crate) fn runs_or(&self, quick_runs: u32) -> u32 {
        let usual = if self.quick {
            quick_runs
        } else {
            PUBLISHED_RUNS
        };
        self.runs.unwrap_or(usual)
    }
}

/// The thesis repeats every grid point this often.
pub const PUBLISHED_RUNS: u32 = 50;

/// Why an experiment cannot be run. The caller's input is at fault.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// There is none of that name.
    #[error("there is no {what} '{id}'; did you mean '{nearest}'?")]
    Unknown {
        /// An experiment, or a section of the benchmark.
        what: &'static str,
        /// What was asked for.
        id: String,
        /// The most similar name.
        nearest: &'static str,
    },
    /// Nothing to count.
    #[error("an experiment needs at least one run per grid point")]
    NoRuns,
    /// A run could not be set up.
    #[error(transparent)]
    Run(#[from] SimError),
    /// The dead-reckoning core refused what a run gave it.
    #[error(transparent)]
    Reckoning(#[from] SenderError),
    /// This machine gives no sockets.
    #[error("cannot use UDP sockets on this machine: {0}")]
    Sockets(std::io::Error),
}

/// One relation that an experiment must show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The checklist item.
    pub id: &'static str,
    /// What is claimed.
    pub text: String,
    /// Is it so?
    pub holds: bool,
    /// The numbers it rests on.
    pub measured: String,
}

impl Claim {
    pub(crate) fn new(
        id: &'static str,
        text: impl Into<String>,
        holds: bool,
        measured: impl Into<String>,
    ) -> Self {
        Self {
            id,
            text: text.into(),
            holds,
            measured: measured.into(),
        }
    }
}

/// A file of a result folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Artefact {
    /// Its name without folder.
    pub name: String,
    /// What is in it.
    pub text: String,
    /// What it shows, if it is a figure.
    pub caption: Option<String>,
}

/// What an experiment has shown. Serialises as the command line's JSON.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentResult {
    /// Its name.
    pub experiment: &'static str,
    /// The seed.
    pub seed: u64,
    /// The rows of its tables; published values beside ours.
    pub rows: Vec<serde_json::Value>,
    /// What was claimed and whether it is so.
    pub claims: Vec<Claim>,
    /// For people.
    #[serde(skip)]
    pub title: &'static str,
    /// The same rows as tables.
    #[serde(skip)]
    pub tables: Vec<Table>,
    /// What a reader must know beside the numbers.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Raw data and figures.
    #[serde(skip)]
    pub files: Vec<Artefact>,
}

impl ExperimentResult {
    pub(crate) fn new(info: &ExperimentInfo, seed: u64) -> Self {
        Self {
            experiment: info.id,
            seed,
            rows: Vec::new(),
            claims: Vec::new(),
            title: info.title,
            tables: Vec::new(),
            notes: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Do all claims hold?
    pub fn holds(&self) -> bool {
        self.claims.iter().all(|claim| claim.holds)
    }

    pub(crate) fn add_data(&mut self, name: &str, text: String) {
        self.files.push(Artefact {
            name: name.into(),
            text,
            caption: None,
        });
    }

    pub(crate) fn add_figure(&mut self, name: &str, caption: impl Into<String>, svg: String) {
        self.files.push(Artefact {
            name: name.into(),
            text: svg,
            caption: Some(caption.into()),
        });
    }
}
