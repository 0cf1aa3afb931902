//! A group of members under the policy `replicate`: the same scenes, the same network, virtual time, one thread.
//!
//! ```text
//!   scene ─► GroupRun: one Node per member ── parcels ──► Network (lossy) or Channel (reliable)
//!               │ after every tick
//!               ▼
//!            Watch: who tested what (I9), who answers for whom (I1, I2), how far copies are apart
//! ```
//!
//! Several groups that simulate one world each, with the relay between them: [`Relayed`].

mod node;
mod options;
mod pairs_tested_once;
mod relayed;
mod run;
mod setup;
mod watch;

pub use options::{Cuts, ReplicateOptions};
pub use pairs_tested_once::{PairCounts, PairsTestedOnce};
pub use relayed::{Apart, RelayOptions, Relayed};
pub use run::GroupRun;
pub use watch::{Consistency, ReplicateReport};
