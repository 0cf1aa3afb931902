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
//! Two of them, and a perfect network in between:
//!
//! ```
//! use domain::{BodyId, SimTime};
//! use glam::DVec3;
//! use station::{Ball, Event, LinkKey, Settings, State, Station, StationId};
//!
//! # fn main() -> Result<(), station::Refused> {
//! let ids = [StationId(0), StationId(1)];
//! let mut stations = ids.map(|id| Station::new(id, 1, Settings::improved()));
//! let starts = [
//!     (BodyId(1), State::moving(DVec3::X * -2.0, DVec3::X * 4.0)),
//!     (BodyId(2), State::moving(DVec3::X * 2.0, DVec3::X * -4.0)),
//! ];
//! for (index, station) in stations.iter_mut().enumerate() {
//!     station.add_peer(ids[1 - index], LinkKey::new(b"between us"));
//!     let [(mine, start), (theirs, other)] = [starts[index], starts[1 - index]];
//!     station.add_master(mine, Ball::new(0.5), start)?;
//!     station.add_replica(theirs, ids[1 - index], Ball::new(0.5), other)?;
//! }
//! let mut hits = 0;
//! for frame in 0..60 {
//!     let now = SimTime(frame * 16_666_667);
//!     for index in 0..2 {
//!         stations[index].handle_frame(now);
//!         while let Some(transmit) = stations[index].poll_transmit() {
//!             let other = &mut stations[1 - index];
//!             other.handle_datagram(now, ids[index], &transmit.bytes).expect("authentic");
//!         }
//!         while let Some(event) = stations[index].poll_event() {
//!             hits += u32::from(matches!(event, Event::Hit(_)));
//!         }
//!     }
//! }
//! assert_eq!(hits, 2, "one hit, registered once by each");
//! # Ok(())
//! # }
//! ```
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
