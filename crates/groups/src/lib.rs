//! Consistency groups: which machines share a world, who simulates which part of it, and who speaks for them.
//!
//! ```text
//!   delays ──► mutual threshold ──► cliques ──► groups ──► a tree of sub-spaces per group
//!     ▲                                           │
//!     └────── pings ◄──── votes in, votes out ◄───┘
//! ```
//!
//! After K. Storey, *Scalable Collision Detection for Distributed Virtual Environments*, PhD thesis, Newcastle 2007. Machines
//! that hear each other quickly form a group; each group simulates the whole world once, its members a part each; what
//! users do in one group reaches the others through the coordinator. Nothing here does I/O, reads a clock or draws a
//! random number.

mod allocation;
mod division;
mod ids;

pub use allocation::{Allocation, allocate};
pub use division::{Axes, Division, DivisionError, SubSpace};
pub use ids::{GroupEpoch, GroupId, NodeId, VertexId};
