//! A network that misbehaves on command, and a channel that copes with it.
//!
//! ```text
//! Region ── payload ──► Channel ── datagrams ──► Network ── some of them, late, twice ──► Channel ──► Region
//!                          ▲                                                                 │
//!                          └────────────── acks, just as badly treated ◄─────────────────────┘
//! ```
//!
//! [`Network`] is a seeded core: every datagram gets a verdict when it is sent. [`Channel`] has no I/O either; a
//! live server puts the same one on a socket.

mod conditions;
mod links;
mod parse;

pub use channel::{
    Channel, ChannelConfig, ChannelError, ChannelEvent, ChannelFull, ChannelStats,
    MAX_DATAGRAM_BYTES, MAX_PAYLOAD_BYTES, ResendPolicy,
};
pub use conditions::{MAX_QUEUE, NetworkConditions, PRESETS};
pub use links::{Datagram, LinkStats, Network};
pub use parse::ConditionsError;
