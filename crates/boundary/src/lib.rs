//! What neighbouring regions say to each other, so that no collision ever crosses the network.
//!
//! Picture a body near a border carrying a lantern. Its light, the *aura*, falls on the neighbours' ground;
//! whoever steps into it is called over, with everyone it holds by the hand, *before* the two can touch.
//!
//! ```text
//!        region 1                 │ border             region 2
//!                                 │
//!          A projects ──── aura ──┼──────►  B touches it
//!          A  B  now both here ◄──┼── offer ── B leaves with its cluster
//! ```
//!
//! Source: A. J. R. Brown, *Distributed Real-Time Physics for Scalable and Streamed Games and Simulations*,
//! 2020, chapters 3 and 4. Its six algorithms are the files
//! [`aura_collision`] (AC), [`boundary_traversal`] (BT), [`projection`] (OBC, OBU, OBE) and
//! [`buffers`] (BNU). What the thesis leaves open is ours and is said where it stands: sizes that are
//! sufficient ([`geometry`]), the tie-break against two-object thrash ([`tie_break`]), epochs and the handover
//! ([`handover`]), bodies that stray beyond the neighbours ([`audience`]), spawns near a border ([`nursery`]).
//!
//! [`Boundary`] is a core: no I/O, no clock, no randomness. The region drives it once per tick and hands it
//! what arrives.

pub mod audience;
pub mod aura_collision;
pub mod aura_index;
pub mod boundary_traversal;
pub mod buffers;
pub mod cluster;
pub mod config;
mod core;
#[cfg(test)]
mod core_tests;
pub mod cost;
mod coverage;
pub mod geometry;
pub mod handover;
pub mod initial;
pub mod joined;
pub mod keeping;
pub mod lifecycle;
pub mod load;
pub mod meeting;
mod naive;
pub mod nursery;
pub mod projection;
pub mod promise;
pub mod remote_auras;
pub mod replicate;
pub mod surroundings;
#[cfg(test)]
mod testing;
pub mod tie_break;
pub mod tolerance_watch;
pub mod view;

pub use crate::core::{Boundary, BoundaryEvent, BoundarySnapshot, Departure};
pub use config::{AuraSize, BoundaryConfig, HandoverMode, Policy, Tolerances};
pub use geometry::{AuraGeometry, ThesisAura};
pub use handover::Arrival;
pub use keeping::{Hold, Kept, Place};
pub use lifecycle::{LifeState, Transition};
pub use tolerance_watch::ExceededTolerances;
pub use view::{AwakeBody, Bodies, BodyView};
