//! What a client can be told, what it tells, and why it refuses.

use super::connection::ConnectionConfig;
use super::dr_object::Timing;
use super::link::LinkError;
use super::scope::ClientId;
use crate::codec::{Event, Malformed, RefusalReason, StateBits};
use crate::motion::{Model, Rejected};
use domain::{BodyId, SimTime};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Of the connection.
    pub connection: ConnectionConfig,
    /// How vectors find their place in time (default: by their time stamp); the same as at the server.
    pub timing: Timing,
    /// How ghosts are extrapolated, by class; others by the curves of [`Kind`](crate::Kind).
    pub models: BTreeMap<u16, Arc<dyn Model>>,
    /// Most ghosts (default 65,536); a server that sends more is not believed.
    pub max_ghosts: usize,
    /// Beyond the clock's own error bound, how far ahead of it a time may lie (default 50 ms).
    pub clock_slack: SimTime,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            connection: ConnectionConfig::default(),
            timing: Timing::default(),
            models: BTreeMap::new(),
            max_ghosts: 65_536,
            clock_slack: SimTime(50_000_000),
        }
    }
}

/// Something the application may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// We are in.
    Connected(ClientId),
    /// We are not, and will not be.
    Refused(RefusalReason),
    /// The server asks for an absurd amount of work.
    TooHard(u8),
    /// The server has fallen silent or said goodbye.
    Disconnected,
    /// An object came into view.
    Appeared {
        /// Which.
        entity: BodyId,
        /// What kind of thing it is.
        class: u16,
    },
    /// Application state (bits 1 to 31) of an object changed.
    Changed {
        /// Which object.
        entity: BodyId,
        /// Which bits.
        bits: StateBits,
    },
    /// An object is gone from view.
    Vanished(BodyId),
    /// The server calls a method.
    Called(Event),
    /// A vector was not believable; the object goes on as before.
    Rejected(Rejected),
}

/// Why a datagram was refused; nothing has changed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ClientDatagramError {
    /// It does not read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Its packet was refused.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Not ours, not now, or not for this side.
    #[error("not expected")]
    Unexpected,
}
