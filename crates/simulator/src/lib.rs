//! Many regions in one thread under virtual time, over a network that misbehaves on command, watched by checkers that
//! would see any error the thesis names.
//!
//! [`Simulation`] drives the very same [`region::Region`] that a live server drives. Time and randomness come from the
//! seed: any failure is a command line a colleague can type.

pub mod checkers;
pub mod facts;
pub mod faults;
pub mod frames;
pub mod groups;
mod judge;
pub mod network;
mod options;
mod outcome;
pub mod replicate;
mod server;
mod simulation;
pub mod soak;
pub mod stations;
mod stopwatch;
mod timeline;
mod user;

pub use judge::{Judge, Judgement};
pub use options::{SendOrder, SimOptions};
pub use outcome::{Bytes, CpuPerTick, Outcome, combined_hash};
pub use simulation::{Look, Onlooker, SimError, Simulation, Watcher, simulate};
pub use stopwatch::Stopwatch;
pub use timeline::Timeline;
