//! The words every other crate shares: ids, ticks, time, shapes, bodies, clusters, region maps.
//!
//! Nothing here does I/O, reads a clock or draws a random number. World coordinates are `f64`;
//! velocities, sizes and orientations are `f32`, which is what the physics engine computes in.

mod bodies;
mod bounds;
mod capsules;
mod clusters;
mod ids;
mod region_map;
mod shapes;
mod time;

pub use bodies::{
    Body, BodyForm, Joint, JointKind, LOWEST_DENSITY, Material, Motion, Rest, Static,
};
pub use bounds::{Bounds, Rect};
pub use capsules::Capsule;
pub use clusters::{Cluster, ContactEnd, ContactMemory, PointMemory};
pub use ids::{BodyId, Epoch, JointId, RegionId, StaticId};
pub use region_map::{Layout, MAX_REGIONS, RegionMap, RegionMapError, SAME_LINE_M, UnknownLayout};
pub use shapes::{CompoundPart, SMALLEST_BODY_M, Shape, ShapeError};
pub use time::{SimTime, Tick, TickLength};
