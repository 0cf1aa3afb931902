//! What a server can be told, what it tells, and why it refuses.

use super::connection::ConnectionConfig;
use super::dr_object::Timing;
use super::fair::MakePolicy;
use super::link::LinkError;
use super::relay::NewsError;
use super::scope::{ClientId, Everything, Scope};
use crate::codec::{Event, Malformed, VectorAck};
use domain::SimTime;
use std::net::SocketAddr;
use thiserror::Error;

/// Settings of a server.
#[derive(Debug)]
pub struct ServerConfig {
    /// Of each client's connection.
    pub connection: ConnectionConfig,
    /// How vectors find their place in time (default: by their time stamp); the same at all clients.
    pub timing: Timing,
    /// What each client sees (default: everything).
    pub scope: Box<dyn Scope>,
    /// How often the scope is asked (default 0.2 s). Less often is cheaper; what comes near appears later.
    pub scope_every: SimTime,
    /// Who gets which vector (default `None`: everyone in scope gets every one).
    pub policy: Option<MakePolicy>,
    /// Seed of the policies' chance.
    pub seed: u64,
    /// Most clients at a time (default 256).
    pub max_clients: usize,
    /// Most objects one client may own (default 64).
    pub max_owned: usize,
    /// How far a client's clock may be ahead of ours (default 0.5 s). What claims to be later is refused.
    pub clock_slack: SimTime,
    /// Difficulty of the connection puzzle in quiet times (default 8 bits, some 256 hashes).
    pub puzzle_bits: u8,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            connection: ConnectionConfig::default(),
            timing: Timing::default(),
            scope: Box::new(Everything),
            scope_every: SimTime(200_000_000),
            policy: None,
            seed: 0,
            max_clients: 256,
            max_owned: 64,
            clock_slack: SimTime(500_000_000),
            puzzle_bits: 8,
        }
    }
}

/// Something the application may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// A client is connected.
    Joined {
        /// Its number.
        client: ClientId,
        /// Where it is.
        from: SocketAddr,
    },
    /// A client has left or fallen silent; its objects are gone.
    Left(ClientId),
    /// A client calls a method.
    Called {
        /// Who.
        client: ClientId,
        /// What; see [`Methods`](super::Methods).
        event: Event,
    },
    /// A client reports when vectors arrived.
    Acked {
        /// Who.
        client: ClientId,
        /// What arrived when.
        report: VectorAck,
    },
    /// A client's news about an object was refused; the rest of its packet was used.
    Refused {
        /// Whose.
        client: ClientId,
        /// Why.
        error: NewsError,
    },
}

/// Why a datagram was refused; nothing has changed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DatagramError {
    /// It does not read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It comes from an address without a connection, or with another's token.
    #[error("no connection with {0}")]
    Stranger(SocketAddr),
    /// Its packet was refused.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// It says what only the other side says.
    #[error("not for this side")]
    Misplaced,
}
