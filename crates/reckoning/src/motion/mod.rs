//! How things move, and how two ends come to agree on it.
//!
//! ```text
//!   owner                                              receiver
//!   true state ──► Trigger ──► DrVector ··network··► Receiver ──► Placed ──► Smoother ──► what is drawn
//!                     │                                 │
//!                     └────────── the same Model ───────┘        both on the time of one SharedClock
//! ```

mod clock;
mod convergence;
mod drivers;
mod measure;
mod models;
mod one_way;
mod receiver;
mod trigger;
mod true_state;
mod validate;
mod visual;

pub use clock::{
    BadExchange, ClockAssumptions, DISPUTES_TO_RESTART, Exchange, InjectedClock, SharedClock,
    SyncOutcome,
};
pub use convergence::{Convergence, Smoother};
pub use drivers::{Driver, TANK_SPEED, TANK_TURN_RATE};
pub use measure::{DistanceRule, angle_between};
pub(crate) use models::place_on_circle;
pub use models::{BuiltIn, Model, Placed, extrapolate, extrapolate_by, signed_secs};
pub use one_way::OneWayDelay;
pub use receiver::{ClockMode, Receiver};
pub use trigger::{Cause, Thresholds, Trigger};
pub use true_state::TrueState;
pub use validate::{Limits, Rejected, validate};
pub use visual::VisualError;
