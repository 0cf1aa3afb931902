//! One Rapier world: the bodies of one region, stepped, handed out and taken in as whole clusters.
//!
//! This is the only crate that names Rapier. The engine computes in `f32` around the region's own
//! origin; everything said to and by [`World`] is in world coordinates (`f64`).
//!
//! ```text
//!   spawn, insert(cluster) ──► World ──► extract(ids) ─► Cluster ──► insert() on another server
//!   apply_impulse, remove        │
//!                              step()
//!                                │
//!      contacts_begun, body, bodies, touching, border and scene queries, state_hash
//! ```
//!
//! A cluster carries what the engine remembers (contact impulses, sleep timers), so that a stack which
//! is handed over again and again stands as if it had never been moved.

mod bare;
mod borders;
mod check;
mod config;
mod contacts;
mod disorder;
mod frame;
mod handover;
mod hash;
mod joints;
mod merged;
mod overlap;
mod parallel;
mod queries;
mod roster;
mod seeds;
mod shapes;
mod sleep;
mod survey;
mod views;
mod warm_start;
mod world;

pub use bare::Bare;
pub use check::{check_body, check_cluster, mend_cluster};
pub use config::{WorldConfig, WorldError};
pub use contacts::ContactBegun;
pub use overlap::{PreparedShape, ShapeCache, penetration};
pub use parallel::STEPS_IN_PARALLEL;
pub use queries::{RayHit, ShapeHit};
pub use survey::AwakeBody;
pub use views::BodyView;
pub use world::World;
