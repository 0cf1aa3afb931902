//! Replication: from one owner's true state to what everybody sees, over a network that loses, repeats and reorders.
//!
//! ```text
//! DrObject          thresholds set once; triggers, sending and dead reckoning are automatic        DR-46
//! Client, Server    owner → server → clients in scope; the shared clock                            DR-47
//! ghosts, scope     dirty bits per (client, object), most recent state only, importance × waiting
//! events, RPC       three guarantees                                                               DR-48
//! Connection        packets with delivery notices, round trip, byte budget
//! Gatekeeper        cookie against forged addresses, puzzle against floods                         DR-49
//! codec             bits on the wire                                                               DR-5
//! ```
//!
//! This is the library layer of the thesis (chapter 4, there on top of Open TNL) without its faults. Nothing here opens a
//! socket or reads a clock: bytes come in, bytes go out, the time is told. `examples/dr_demo.rs` drives it over UDP.
//!
//! # In ten lines
//!
//! ```
//! use domain::{BodyId, SimTime};
//! use reckoning::motion::{Thresholds, TrueState};
//! use reckoning::replication::{Client, ClientConfig, DrObject, Server, ServerConfig};
//! use glam::DVec3;
//!
//! let mut server = Server::new(ServerConfig::default(), [7; 32]);          // the secret: draw it at random
//! let mut alice = Client::new(ClientConfig::default(), 1);                  // the nonce: draw it at random
//! let mut bob = Client::new(ClientConfig::default(), 2);
//! alice.own(SimTime::ZERO, DrObject::owned(BodyId(7), Thresholds::default())).unwrap();
//!
//! let velocity = DVec3::new(3.0, 0.0, 0.0);
//! for ms in 0..2000_u32 {
//!     let now = SimTime::from_millis(ms.into());
//!     let state = TrueState { position: velocity * now.as_secs(), velocity, ..TrueState::default() };
//!     alice.observe(now, BodyId(7), &state).unwrap();                       // every loop; the rest is automatic
//! #   drive(now, &mut server, [&mut alice, &mut bob]);
//! }
//! let seen = bob.place(SimTime::from_secs(2.0), BodyId(7)).expect("alice's object is in bob's view");
//! assert!((seen.position.x - 6.0).abs() < 0.01);
//! #
//! # fn drive(now: SimTime, server: &mut Server, mut clients: [&mut Client; 2]) {
//! #     let address = |i: usize| std::net::SocketAddr::from(([127, 0, 0, 1], i as u16));
//! #     for (i, client) in clients.iter_mut().enumerate() {
//! #         client.handle_tick(now);
//! #         while let Some(bytes) = client.poll_transmit(now) { server.handle_datagram(now, address(i), &bytes).unwrap(); }
//! #     }
//! #     server.handle_tick(now);
//! #     while let Some((to, bytes)) = server.poll_transmit(now) {
//! #         clients[usize::from(to.port())].handle_datagram(now, &bytes).unwrap();
//! #     }
//! # }
//! ```
//!
//! What is left out above is the driver, the same for test, simulator and socket: hand arriving datagrams to
//! `handle_datagram`, call `handle_tick`, send what `poll_transmit` gives, look at `poll_event`.

mod client;
mod client_settings;
mod clock_sync;
mod connection;
mod dr_object;
mod events;
mod fair;
mod ghost_receiver;
mod ghost_view;
mod ghosts;
mod handshake;
mod hearing;
mod link;
mod puzzle;
mod rate;
mod relay;
mod reports;
mod round_trip;
mod rpc;
mod scope;
mod seats;
mod server;
mod server_settings;

pub use client::Client;
pub use client_settings::{ClientConfig, ClientDatagramError, ClientEvent};
pub use clock_sync::ClockSync;
pub use connection::{Connection, ConnectionConfig, Notice, PacketId, Unprocessed};
pub use dr_object::{DrObject, ObjectError, Timing};
pub use events::{EventChannel, EventError, OutsideWindow};
pub use fair::MakePolicy;
pub use ghost_receiver::{GhostReceiver, News};
pub use ghosts::GhostSender;
pub use handshake::{Connector, Gatekeeper, Progress, Verdict};
pub use link::{Link, LinkError};
pub use puzzle::{MAX_DIFFICULTY, Search, is_solution};
pub use rate::{RateConfig, RateControl};
pub use relay::NewsError;
pub use reports::Reports;
pub use round_trip::RoundTrip;
pub use rpc::{CallError, Methods, Rpc, arguments, call, read_call};
pub use scope::{ClientId, Everything, Scope, Viewer, Within};
pub use server::Server;
pub use server_settings::{DatagramError, ServerConfig, ServerEvent};
