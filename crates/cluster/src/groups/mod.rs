//! Consistency groups of real servers: delays are measured, and the coordinator gives the world to one group.
//!
//! ```text
//!   server: Member ◄──────── pings ────────► server: Member           single datagrams
//!      │  Join, Candidates, VoteCast ...          │                   channels
//!      └──────────► coordinator: Circle ◄─────────┘
//!                          │ groups
//!                          ▼
//!                       Planner: regions for the members of one group
//! ```
//!
//! The cores are those of the crate `groups`, as the simulator and `auramesh demo --groups` drive them. Of what they can do, the part that measures,
//! forms groups and votes is used here; their world has no objects, for bodies are the regions' business.

mod circle;
mod follower;
mod gauges;
mod post;
mod settings;

pub use circle::{Circle, Founder};
pub use follower::follow;
pub use gauges::Gauges;
pub use settings::GroupSettings;

use crate::names::NodeId;
use ::groups::{Address, MachineId};

/// Where the cores find a process.
fn address(node: NodeId) -> Address {
    Address(node.0)
}

/// Every process counts as a machine of its own: what is measured between two of them on one machine is what their regions feel.
fn machine(node: NodeId) -> MachineId {
    MachineId(node.0)
}
