//! Collision detection by cutting space in halves, with a budget of time.
//!
//! Think of a warehouse that is divided by walls, each room halved again where it gets crowded. Whoever stands in a doorway is
//! on the list of both rooms. Only people of one room are compared, and two who share several rooms are compared in one of them:
//! the one that holds a point which both of them touch.
//!
//! ```text
//!   bodies ── integrate ──► Tree: leaves and who is in them ── pair loop ──► NarrowPhase ──► contacts ──► response
//!                             │ split > 6, merge < 4                            ▲
//!                             └ remote vertices: someone else's rooms           └ Level: contacts and depth, from Budget
//! ```
//!
//! Source: K. Storey, *Scalable Collision Detection for Distributed Virtual Environments*, Newcastle upon Tyne 2007, sections 3.2,
//! 4.3.2.2 and 4.3.2.3. Ours, and said where it stands: the pair rule that is exact for bodies of unequal size
//! ([`PairRule::OverlapMin`]), outer rooms that reach to infinity, and everything about the response ([`response`]), which the
//! thesis leaves to "a dynamic simulation".
//!
//! [`Space`] puts it together for one node. It is a core: no clock, no chance, no I/O; the time spent is told to it.

pub mod bounds;
pub mod budget;
pub mod forms;
pub mod freezing;
pub mod limits;
pub mod mesh;
pub mod narrow;
pub mod pairs;
pub mod response;
pub mod space;
pub mod tree;
mod triangles;

pub use bounds::{Aabb, Cell};
pub use budget::{Budget, Effort};
pub use forms::{Form, Geometry};
pub use freezing::Freezing;
pub use limits::{Limits, LimitsError};
pub use mesh::MeshNarrow;
pub use narrow::{Contact, Level, NarrowPhase, ParryNarrow, Placed};
pub use pairs::PairRule;
pub use space::{Settings, Slot, Space, Stats};
pub use tree::{Plan, Tree};
