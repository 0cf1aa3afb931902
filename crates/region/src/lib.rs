//! One region server as a value: a physics world, its boundaries, and the phases of a tick in order.
//!
//! A core like the others: no socket, no clock, no thread. The test, the simulator and the live server drive the very same
//! [`Region`]; the reference run is a `Region` on a map of one.

mod catch_up;
mod config;
mod events;
mod record;
mod region;
mod snapshot;
pub mod staging;
mod view;

pub use config::RegionConfig;
pub use events::{MovedBody, RegionEvent};
pub use record::TickRecord;
pub use region::{DueAura, Region, RegionError};
pub use snapshot::RegionSnapshot;
