//! Every published experiment, re-run and compared.

mod head_on;
mod observation;
mod variants;
pub use head_on::{Conditions, Encounter, Geometry, Record, Verdict};
pub use variants::Variant;
