//! Stations that agree on collisions over bad networks: motion-lock (Chen 2010; Chen and Verbrugge), without I/O.
//!
//! Two people far apart throw a ball at each other over a hedge, and each sees the other only in letters that arrive late. If each
//! trusts his own eyes, one feels a hit and the other does not. If instead whoever sees that they are *about* to collide
//! says at once "at half past we hit, and this is how we part", and from then on lets nothing change
//! his course, then the letter has a good chance of arriving before the half hour strikes.
//!
//! * [`Station`] is the core. Its verbs are those of all cores here: [`handle_datagram`](Station::handle_datagram),
//!   [`command`](Station::command), [`handle_frame`](Station::handle_frame), [`poll_transmit`](Station::poll_transmit),
//!   [`poll_event`](Station::poll_event), [`next_wakeup`](Station::next_wakeup).
//! * [`Settings`] choose the protocol and everything else; [`Settings::published`] and [`Settings::improved`] are starting points.
//! * [`messages`] are what stations say, and the bytes of it.
//!
//! Time is [`SimTime`](domain::SimTime) and always an argument; there is no randomness. `docs/protocols/motion-lock.md` tells the whole story.

mod agreement;
mod body;
mod events;
mod geometry;
mod ids;
pub mod messages;
mod reckon;
mod settings;
mod station;

pub use body::{Arena, Authority, Ball, Command, Obedience, Refused, Role, State};
pub use events::{
    Amount, Cause, CommandCounts, Counters, Disbelief, Event, Hit, LockView, Traffic, Unlock, View,
};
pub use geometry::{Course, time_to_contact};
pub use ids::{PairId, StationId};
pub use messages::{Class, LinkKey, Message};
pub use settings::{
    AgreementSettings, BounceRule, ClockSource, ClosedLoop, Conflict, Convergence, Curve,
    DistanceThreshold, ForesightPath, ForesightSettings, Gate, GuardSettings, HistoryReset,
    Identity, KalmanLead, LockSettings, LockWindow, LockedInput, Predictor, Protocol,
    ProximityRate, ReckoningSettings, SenderPolicies, Settings, WireSettings,
};
pub use station::{Station, Transmit};

/// A station holds at most so many bodies.
pub const MAX_BODIES: usize = 1024;
