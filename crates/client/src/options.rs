//! How a client connects.

use client_protocol::Area;
use domain::SimTime;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Every message as it came, with the time of the client's own clock.
pub type Tap = UnboundedSender<(SimTime, Vec<u8>)>;

/// How a client connects.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its secret; empty where none is needed.
    pub token: String,
    /// What it wants to see (default everything).
    pub area: Area,
    /// Messages with updates per second it wants; 0 (the default): as many as there are.
    pub rate: u8,
    /// Follow the bodies' paths (default yes)? Without, bodies come and go but have no poses: for load tests, where hundreds of
    /// clients share a machine.
    pub poses: bool,
    /// How long to wait for an answer (default 10 s).
    pub patience: Duration,
    /// When the connection is lost, or the gateway ends, connect again, for so long (default `None`: the connection has ended). Who was sent away
    /// for what they did stays away.
    pub reconnect: Option<Duration>,
    /// Gateways that may be tried if the first cannot be reached.
    pub alternatives: Vec<String>,
    /// The certificate, PEM, of someone whose signature on a gateway's certificate is good, besides the usual authorities.
    pub authority: Option<Vec<u8>>,
    /// Who gets every message as it comes, after the client itself has understood it (default nobody). For recordings.
    pub tap: Option<Tap>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            token: String::new(),
            area: Area::Everything,
            rate: 0,
            poses: true,
            patience: Duration::from_secs(10),
            reconnect: None,
            alternatives: Vec::new(),
            authority: None,
            tap: None,
        }
    }
}
