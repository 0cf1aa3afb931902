//! Every published experiment, re-run and compared.
//!
//! ```text
//!   list() ─► run(id) ─► Campaign: cells × runs ─► Encounter (simulator) ─► Record ─► Tally
//!                                                                             │
//!      results/<id>/  ◄── write_to ◄── ExperimentResult: rows, claims, tables, figures ◄┘
//! ```
//!
//! [`mod@bench`] does the same with what nobody has published: the numbers of `docs/benchmarks.md`.
//!
//! [`run`] answers with an [`ExperimentResult`]: rows with the published values beside ours and claims that hold or do not. A claim that does
//! not hold is a result, too: it says so with its numbers.

mod aura_size;
pub mod bench;
mod campaign;
mod catalogue;
mod control;
mod factor;
mod factor_claims;
mod factor_figures;
mod frame_density;
mod head_on;
mod loss;
mod motion_lock;
mod naive;
mod never_wrong;
mod observation;
mod output;
mod plot;
pub mod published;
mod reckoning;
mod result;
mod rows;
mod scale;
mod seeds;
pub mod settings;
mod st_latency;
mod storey;
mod table;
mod tally;
mod variants;

pub use campaign::{Cell, Outcome, Part, run as run_cells};
pub use catalogue::{list, nearest, run};
pub use head_on::{Conditions, Encounter, Geometry, Record, Verdict};
pub use result::{
    Artefact, Claim, ExperimentError, ExperimentInfo, ExperimentResult, PUBLISHED_RUNS, RunOptions,
};
pub use table::Table;
pub use tally::{Moments, Offence, Tally};
pub use variants::{FRAME_DEVIATION, Variant};
