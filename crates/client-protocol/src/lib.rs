//! What clients and gateways say to each other, byte by byte.
//!
//! ```text
//!   client                                        gateway
//!     Hello ─────────────────────────────────────►          who I am, what I want to see
//!          ◄────────────── Welcome, World, Statics, Forms
//!          ◄───────────────────────────── Update (30 Hz)     cells: bodies that come and go, packets of the state stream
//!     Watch, Inspect, Ping, Command ─────────────►
//!          ◄───────────── Inspection, Pong, Answer
//! ```
//!
//! Every WebSocket message is one message here: a byte that tells its kind, then its fields. Numbers have fixed widths and are
//! little-endian, so that a `DataView` is all a browser needs. `docs/protocols/client.md` describes every byte; the tests compare the two.
//!
//! Nothing here does I/O. Whatever the bytes are, reading them ends in a message or in an error, allocates no more than they could hold,
//! and lets no number pass that is not finite.

mod answers;
mod bytes;
mod commands;
mod frames;
mod from_client;
mod from_gateway;
mod inspection;
mod inspection_bytes;
mod kinds;
mod sections;
mod shapes;

pub use answers::{Answer, Hit, Struck};
pub use bytes::{Malformed, Why};
pub use commands::{Command, Injection, RegionPlan, SceneChoice, Spawn, StaticPiece};
pub use frames::{
    FrameError, Frames, InOrder, MAX_MISSING, WEBTRANSPORT_PATH, decode_missing, encode_missing,
    frame, numbered, split_number,
};
pub use from_client::{Area, Hello, Inspect, MOST_PICKED, ToGateway};
pub use from_gateway::{
    EmulatedNetwork, Features, FormEntry, Goodbye, Piece, RegionMark, ToClient, Welcome,
    WorldMessage, begin_inspection, begin_update,
};
pub use inspection::{
    AuraMark, BodyFlags, BodyMark, Cause, ClusterMark, Content, CrossingMark, Figures, FlightMark,
    Health, HealthState, Layers, MigrationMark, NearBorder, Part, TruthMark,
};
pub use kinds::{
    ANSWER_KINDS, COMMAND_KINDS, FROM_CLIENT_KINDS, FROM_GATEWAY_KINDS, GOODBYE_REASONS,
    PART_KINDS, SECTION_KINDS,
};
pub use sections::{BodyEntry, Departure, Section, SectionWriter, Sections};

/// The version of the protocol. Both ends must have the same.
pub const VERSION: u16 = 2;
/// The name of the protocol in the WebSocket's opening handshake.
pub const SUBPROTOCOL: &str = "auramesh.v2";
/// The longest message a client may send.
pub const MAX_CLIENT_MESSAGE: usize = 256 * 1024;
/// The longest message a gateway sends: the scenery of a scene may have large meshes.
pub const MAX_GATEWAY_MESSAGE: usize = 64 * 1024 * 1024;
