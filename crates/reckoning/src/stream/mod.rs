//! The state stream: what a server shows its clients, in as few bytes as will do.
//!
//! ```text
//!                    all bodies, each tick             records of curves, 30 times a second
//!   physics ─────────────► Exporter ─────► StreamEncoder ═════════════► StreamDecoder ─────► screen
//!                          one per server  one per client ◄═══════════  one in the client
//!                                                        acknowledgements
//! ```
//!
//! Poses are not sent. A body's path is cut into *curves* ([`Flight`] for its place, [`Turn`] for its orientation), each
//! of which holds, within the tolerance, for as long as possible; only the start of a new curve is sent, as a small
//! difference to where the old one led, and with bits that cost what they are worth. This is dead reckoning (digest
//! §2.1, §2.2), with two things added:
//!
//! * **The server knows the future.** Clients show the world a little late (100 ms by default). So a curve is chosen when what
//!   it must describe has already happened, and an error above the tolerance never gets shown instead of being corrected
//!   afterwards. With no delay at all it is plain dead reckoning: correct at each update, wrong for a tick after a collision.
//! * **A new curve begins where the old one is.** What changed is the velocity; the place need not be told. The tolerance is
//!   spent on choosing, among all velocities that stay within it, one that lasts long and is cheap to tell.
//!
//! Every packet can be understood by a client that has lost any others: it is relative to what the client acknowledged.
//! The bytes are described in `docs/protocols/state-stream.md`, together with what they cost.
//!
//! ```
//! use domain::{BodyId, Motion};
//! use reckoning::stream::{Exporter, Sample, StreamDecoder, StreamEncoder, StreamSettings};
//!
//! let settings = StreamSettings::default();
//! let (mut exporter, mut to_client) = (Exporter::new(settings), StreamEncoder::new(settings));
//! let mut client = StreamDecoder::new(settings);
//! let ball = Sample { id: BodyId(7), motion: Motion::at(glam::DVec3::X), asleep: false };
//! for tick in 0..20 {
//!     if exporter.observe(tick, [ball]) {                               // the server, each tick
//!         to_client.follow(&exporter);                                  // each update: what is in scope
//!         for packet in to_client.update(tick, &[&exporter]) {
//!             client.receive(&packet).unwrap();                         // the client
//!             to_client.acknowledge(tick, &client.acknowledge()).unwrap();
//!         }
//!     }
//! }
//! let shown = client.shown(BodyId(7), 20.0 - settings.delay_ticks as f64).unwrap();
//! assert!(shown.position.distance(glam::DVec3::X) < settings.tolerance_m);
//! ```

mod curves;
mod decoder;
mod encoder;
mod exporter;
mod fit;
mod held;
mod packets;
mod range;
mod records;
mod scope;
mod settings;
mod source;
mod stats;
mod steps;
mod symbols;
mod tables;

pub use curves::{
    Course, Flight, MAX_PER_TICK, MAX_POSITION_M, POSITION_STEPS, Packed, ROTATION_STEPS,
    SPIN_STEPS, Turn, VELOCITY_STEPS,
};
pub use decoder::{MAX_CLIENT_BODIES, Shown, StreamDecoder};
pub use encoder::StreamEncoder;
pub use exporter::{ExportedBody, Exporter, Sample};
pub use packets::{ACK_BYTES, MAX_PACKET_BYTES, StreamError, seal_packet};
pub use settings::StreamSettings;
pub use source::{Feed, Source};
pub use stats::StreamStats;
