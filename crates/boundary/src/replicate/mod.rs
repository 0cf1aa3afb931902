//! Policy `replicate`: a body on a border is simulated by everyone whose sub-space it reaches, and each *pair* is tested by one.
//!
//! Think of two painters at a fence with a gate: both may paint the gate, but each picket has one painter, and what one has
//! painted he tells the other. Aura Projection fetches a body before it is touched; here everyone keeps a copy and the
//! results are exchanged.
//!
//! ```text
//!        member 1           │           member 2
//!                         ┌─┼─┐
//!      A ── pair: 1 tests │B│B│ pair: 2 tests ── C          B is simulated by both, each pair by one
//!                         └─┼─┘
//!            1 ── Replicate B (version 8, author 1) ──► 2      results, not events
//! ```
//!
//! Source: K. Storey, *Scalable Collision Detection for Distributed Virtual Environments*, 2007, sections 3.3.3, 3.3.8.1 and 4.3.2.6.
//! The thesis overwrites states as they come; ours carry a version, so that an old one never replaces a new one, and an explicit
//! *home*, who answers for the body: a transfer hands it on, reliably, with an epoch.
//!
//! - [`sub_spaces`]: who has which part of the world, cut at the middle as published or at the median of the load
//! - [`Member`]: one member as a core: bodies, detection, response, what to say to whom
//! - [`leader`]: compares what members report and decides above θ_intra
//! - [`relay`]: compares what groups report and decides above θ_inter
//!
//! Why pairs are tested exactly once in synchronised mode is argued in `docs/protocols/replicate.md`.

mod barrier;
mod flush;
mod intake;
pub mod leader;
pub mod member;
mod merge;
pub mod relay;
pub mod sub_spaces;
mod tracks;

pub use leader::{Arbiter, Deviation};
pub use member::{
    ConflictRule, Member, MemberConfig, MemberCounts, MemberEvent, MemberMode, Transmit,
};
pub use relay::{Correction, Relay, RelayConfig, RelayCounts};
pub use sub_spaces::SubSpaces;
