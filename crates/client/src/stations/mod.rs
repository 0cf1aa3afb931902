//! Stations over UDP: two machines that play against each other directly, without a server between them.
//!
//! ```text
//!   your game loop ──► UdpStation::frame() ──► events: hits, locks        view(): what to draw
//!                          │      ▲
//!                    UDP   ▼      │
//!                      the other player's UdpStation
//! ```
//!
//! [`station::Station`] decides, [`UdpStation`] moves its datagrams and keeps its pace, [`duel`] is a built-in scene with a player
//! for each side. `auramesh duel` plays it.

pub mod duel;
mod udp;

pub use udp::{BadAir, UdpStation};
