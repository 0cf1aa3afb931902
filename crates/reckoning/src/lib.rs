//! Accurate and fair dead reckoning (Banavar 2005) at both ends, without I/O: what a client sees of the world is right,
//! and equally right for all of them.
//!
//! * [`codec`]: the bytes on the wire.
//! * [`motion`]: the shared clock, models of motion, triggers, the receiver's placed path and how it converges.
//! * [`fairness`]: the export error, ledgers per receiver, and the policies that decide who gets which vector when.
//! * [`replication`]: packets, connections, ghosts and [`DrObject`](replication::DrObject), the easy way to use it all.
//! * [`stream`]: the state stream from a region server to its clients, in as few bytes as will do.
//!
//! Time is [`SimTime`](domain::SimTime) on the global clock and always an argument; randomness comes from a generator the caller owns.

pub mod codec;
pub mod fairness;
pub mod motion;
pub mod replication;
pub mod stream;
mod vector;

pub use vector::{DrVector, Kind, Seq};
