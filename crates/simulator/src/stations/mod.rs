//! Stations on a stage: virtual time, links that misbehave on command, a monitor that sees everything.
//!
//! ```text
//!        player ──► ┌───────────┐  one packet   ┌────────────┐   arrives, or is lost   ┌───────────┐ ◄── player
//!   (what it wants) │ Station A │ ─ per event ─►│ Connection │────────────────────────►│ Station B │
//!                   │ MainLoop  │ ◄─────────────│ Connection │◄────────────────────────│ MainLoop  │
//!                   └─────┬─────┘               └─────┬──────┘                         └─────┬─────┘
//!                         └────────── frames, events ─┴─► Watcher (Monitor, LockChecker) ◄───┘
//! ```
//!
//! The published simulator (Chen 2010, 5.1) as a driver of the very same [`station::Station`] that plays over sockets. Nothing
//! happens between two moments at which something can happen, so a minute takes milliseconds. Same seed: same bits.

mod link;
mod locks;
mod main_loop;
mod measure;
mod monitor;
mod perfect;
mod stage;

pub use link::{Connection, Delay, Exit, LinkConditions};
pub use locks::LockChecker;
pub use main_loop::{LoopState, MainLoop};
pub use measure::Measure;
pub use monitor::{Monitor, Sample};
pub use perfect::PerfectStation;
pub use stage::{Player, Stage, StageFault, StageOptions, Watcher};
