//! Placeholder of a module in work.

mod connection;
mod events;
mod handshake;
mod puzzle;
mod rate;
mod round_trip;
mod rpc;

pub use connection::{Connection, ConnectionConfig, Notice, PacketId, Unprocessed};
pub use events::{EventChannel, EventError, OutsideWindow};
pub use handshake::{Connector, Gatekeeper, Progress, Verdict};
pub use puzzle::{MAX_DIFFICULTY, Search, is_solution};
pub use rate::{RateConfig, RateControl};
pub use round_trip::RoundTrip;
pub use rpc::{CallError, Methods, Rpc, arguments, call, read_call};
