//! The state stream: what a region server shows its clients, in as few bytes as will do.

mod curves;
mod decoder;
mod encoder;
mod exporter;
mod fit;
mod packets;
mod range;
mod records;
mod scope;
mod settings;
mod stats;
mod symbols;
mod tables;

pub use curves::{
    Course, Flight, MAX_PER_TICK, MAX_POSITION_M, POSITION_STEPS, Packed, ROTATION_STEPS,
    SPIN_STEPS, Turn, VELOCITY_STEPS,
};
pub use decoder::{MAX_CLIENT_BODIES, Shown, StreamDecoder};
pub use encoder::StreamEncoder;
pub use exporter::{ExportedBody, Exporter, Sample};
pub use packets::{ACK_BYTES, MAX_PACKET_BYTES, StreamError};
pub use settings::StreamSettings;
pub use stats::StreamStats;
