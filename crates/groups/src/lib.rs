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
mod client;
pub mod cliques;
mod codec;
mod codec_parts;
mod config;
mod coordinator;
mod division;
mod environment;
mod ids;
mod member;
mod messages;
mod outbox;
pub mod pings;
mod rejections;
pub mod room;
mod state;
mod sync_gate;
pub mod votes;

pub use allocation::{Allocation, allocate};
pub use client::Client;
pub use codec::{MAX_MESSAGE_BYTES, MAX_OBJECTS, VERSION, decode, encode};
pub use config::{
    ConfigError, GroupConfig, LostAvatars, Mode, PingConfig, Stabilisers, Thresholds,
};
pub use coordinator::{Coordinator, CoordinatorEvent, MAX_AVATARS, MAX_PARTIES};
pub use division::{Axes, Division, DivisionError, SubSpace};
pub use environment::{
    AiParameters, ClientInfo, Environment, NodeInfo, ObjectClass, ObjectInfo, Population,
};
pub use ids::{
    Address, ClientId, GroupEpoch, GroupId, MachineId, NodeId, ObjectKey, VertexId, VoteId,
};
pub use member::{Member, MemberEvent};
pub use messages::{Delivery, MAX_AGREEMENT_BYTES, Message, Stream, TransportChoice};
pub use outbox::{Batch, MAX_STATES, Transmit};
pub use rejections::Rejections;
pub use state::{MAX_COORDINATE_M, MAX_EXTRAPOLATION, MAX_SPEED, ObjectState, Version, arbitrate};
pub use sync_gate::SyncGate;
pub use votes::{Ballot, VoteKind};
