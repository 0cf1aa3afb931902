//! Fairness: how wrong each receiver's picture is, and who should be sent the next vector.
//!
//! ```text
//!   real path      what the entity does
//!   exported path  what its vectors say                 ┐ the distance between these two, added up over
//!   placed path    what a receiver makes of those it has ┘ time, is the export error
//! ```
//!
//! A receiver far away gets every vector late, so its error is larger: that is unfair, since it reacts to what it sees. With
//! acknowledgements the sender keeps each receiver's error in a [`Ledger`] and lets a [`Policy`](policies::Policy) spend a
//! budget of vectors so that the errors become equal.
//!
//! * [`slice_error`], [`export_error`]: the error itself (thesis §3.2).
//! * [`Ledger`], [`Ack`], [`DelayEstimator`]: what the sender knows of it (§3.3).
//! * [`policies`]: who is sent what and when (§3.3, §3.4).
//! * [`Sender`]: all of it for one entity. [`FairServer`]: for many entities and many clients at once, with byte budgets.
//! * [`Rehearsal`], [`Network`]: an emulated network to measure policies on.

mod acks;
mod delay;
mod emulation;
mod exported;
mod ledger;
pub mod policies;
mod rehearsal;
mod sender;
mod server;
mod slice;
mod statistics;

pub use acks::{ACK_PAIRS, Ack, Receptions};
pub use delay::{DelayEstimator, DelayModel};
pub use emulation::{Direction, Link, Network, Spread};
pub use exported::{ExportedPath, Measure, PathError, Reception, export_error};
pub use ledger::{AckError, Damaged, Estimate, Ledger, LedgerCounts, LedgerSettings};
pub use policies::{ReceiverId, Recipient};
pub use rehearsal::{Forge, Rehearsal};
pub use sender::{Handover, Outgoing, PolicyTag, Sender, SenderError};
pub use server::{
    EntityHandover, FairServer, PacketSeq, ServerCounts, ServerError, ServerPacket, ServerSettings,
};
pub use slice::{Curves, linear_error, slice_error};
pub use statistics::{LaneSample, ReceiverSample, mean, population_sd};
