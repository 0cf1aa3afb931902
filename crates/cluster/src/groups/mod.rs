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
use crate::schema::ClusterView;
use ::groups::{Address, MachineId};

/// Where the cores find a process.
fn address(node: NodeId) -> Address {
    Address(node.0)
}

/// Every process counts as a machine of its own: what is measured between two of them on one machine is what their regions feel.
fn machine(node: NodeId) -> MachineId {
    MachineId(node.0)
}

/// What people call a process.
fn name(view: &ClusterView, node: NodeId) -> String {
    let info = view.nodes.get(&node);
    info.map_or_else(|| node.to_string(), |info| info.name.clone())
}

/// Groups by the names of their members.
pub fn in_words(view: &ClusterView, groups: &[Vec<NodeId>]) -> String {
    let words = groups.iter().map(|group| {
        let names: Vec<String> = group.iter().map(|node| name(view, *node)).collect();
        names.join(", ")
    });
    words.collect::<Vec<_>>().join("; ")
}
