//! What the server is told, says and counts.

use super::client::PacketSeq;
use crate::fairness::exported::PathError;
use crate::fairness::policies::ReceiverId;
use crate::vector::DrVector;
use domain::{BodyId, SimTime};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// How a [`FairServer`](super::FairServer) spends its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSettings {
    /// To all clients together, bytes per second (default 10 MB/s).
    pub bytes_per_sec: f64,
    /// The largest packet, in bytes (default 1200).
    pub packet_bytes: usize,
    /// Of which this much is not vectors (default 12).
    pub packet_overhead_bytes: usize,
    /// After this many seconds an error counts half (default 10).
    pub half_life_secs: f64,
    /// Power of the error in the fairness weight (default 1; 0 is relevance only).
    pub exponent: f64,
    /// An unacknowledged packet counts as lost after twice the round trip, but no later than this (default 2 s).
    pub lost_after: SimTime,
    /// How many vectors of an entity are remembered (default 16; more than are generated in a pair's longest wait and its delay).
    pub history: usize,
    /// The longest delay a client is granted (default none); see [`LedgerSettings`](crate::fairness::LedgerSettings).
    pub admitted_delay: Option<SimTime>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            bytes_per_sec: 10e6,
            packet_bytes: 1200,
            packet_overhead_bytes: 12,
            half_life_secs: 10.0,
            exponent: 1.0,
            lost_after: SimTime::from_secs(2.0),
            history: 16,
            admitted_delay: None,
        }
    }
}

/// Why the server refused something. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ServerError {
    /// The vector does not continue its entity's path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A vector must fit into a packet.
    #[error("a vector of {0} bytes does not fit into a packet")]
    TooLarge(usize),
    /// No such client; it may have left.
    #[error("no client {}", .0.0)]
    UnknownClient(ReceiverId),
    /// It is there already.
    #[error("client {} is there already", .0.0)]
    AlreadyJoined(ReceiverId),
    /// No such entity; it may have been removed.
    #[error("no entity {0}")]
    UnknownEntity(BodyId),
    /// Relevances, budgets and errors are finite and above zero.
    #[error("{0} is not a finite number above zero")]
    NotPositive(f64),
    /// The acknowledgement names a packet that was never sent.
    #[error("packet {} was never sent", .0.0)]
    NeverSent(PacketSeq),
    /// More packets than one acknowledgement may have.
    #[error("{0} packets in one acknowledgement")]
    TooMany(usize),
}

/// A packet to send.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerPacket {
    /// To whom.
    pub to: ReceiverId,
    /// To be acknowledged under this number.
    pub seq: PacketSeq,
    /// What is in it.
    pub vectors: Vec<Arc<DrVector>>,
}

/// What the server did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Vectors generated.
    pub triggers: u64,
    /// Pairs taken from a timetable: the work done. At most two per vector sent, and one per pair that entered or left a scope or whose
    /// packet was lost. (Not counted: the one per client and tick that is put back because the bytes are used up.)
    pub taken: u64,
    /// Pairs set aside because there was nothing new for them.
    pub parked: u64,
    /// Vectors sent.
    pub sent: u64,
    /// In so many packets.
    pub packets: u64,
    /// With so many bytes.
    pub bytes: u64,
    /// Packets taken to be lost.
    pub lost_packets: u64,
}

/// What moves with an entity to another region server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntityHandover {
    /// Its newest vector; sequence numbers continue from it.
    pub vector: DrVector,
    /// What that costs in a packet.
    pub bytes: usize,
    /// The decaying error of each client that has it in scope.
    pub errors: Vec<(ReceiverId, f64)>,
}
