//! How a gateway is set up, and what a client may at most do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a gateway is set up.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Where clients connect; port 0: any that is free.
    pub bind: SocketAddr,
    /// The viewer's files; `None`: those inside the program.
    pub files: Option<PathBuf>,
    /// Who may do what: a line `token role [name]` each. `None`: everyone may do everything, and only this machine is listened to.
    pub tokens: Option<PathBuf>,
    /// May players push and remove what others have spawned, and the scene's own bodies (default no)?
    pub open_play: bool,
    /// Pages on these hosts may connect, besides those that the gateway itself serves: `https://example.org`.
    pub origins: Vec<String>,
    /// A certificate: clients connect with TLS. `None`: without.
    pub tls: Option<TlsFiles>,
    /// Where there is a certificate, WebTransport is offered too, at the same port number over UDP (default yes).
    pub webtransport: bool,
    /// The ticks between two feeds of a region, as the servers have it (default 2).
    pub feed_ticks: u64,
    /// The world is cut into so many cells along each side (default 5). More: areas of interest fit better; fewer: less overhead.
    pub cells: u16,
    /// What a client may at most do.
    pub limits: ClientLimits,
}

impl GatewaySettings {
    /// The defaults, listening here.
    pub fn new(bind: SocketAddr) -> Self {
        Self {
            bind,
            files: None,
            tokens: None,
            open_play: false,
            origins: Vec::new(),
            tls: None,
            webtransport: true,
            feed_ticks: 2,
            cells: 5,
            limits: ClientLimits::default(),
        }
    }
}

/// A certificate, both files PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those of whoever signed it, up to but without the root.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// What a client may at most do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientLimits {
    /// Connections of all kinds (default 1024).
    pub connections: usize,
    /// Connections from one address (default 256: many bots live on one machine, and many people behind one address).
    pub connections_per_address: usize,
    /// Messages per second (default 60), in the long run; twice as many at once.
    pub messages_per_sec: f64,
    /// Bytes per second (default 512 KiB), in the long run; twice as many at once.
    pub bytes_per_sec: f64,
    /// Commands that are not answered yet (default 32).
    pub outstanding: u32,
    /// Messages that wait for a client to read them (default 32: one second). A client that is further behind misses updates and begins anew.
    pub backlog: usize,
    /// A client that stays so far behind for so long is sent away (default 5 s).
    pub patience: Duration,
    /// A connection that has not said hello after so long is closed (default 5 s).
    pub hello: Duration,
    /// A client that says nothing for so long is sent away (default 60 s).
    pub silence: Duration,
    /// Bodies that one player may have in the world (default 500).
    pub bodies_per_player: usize,
    /// Points and triangles of all bodies that one player may have in the world (default 65,536: at most 3 MiB on their way to anyone).
    pub elements_per_player: usize,
    /// Rays and overlaps of a client per second (default 30), in the long run; twice as many at once.
    pub queries_per_sec: f64,
    /// Of all clients of the gateway together (default 200); regions answer them in the time they have left between ticks.
    pub queries_per_sec_in_all: f64,
    /// Bytes of updates to a client per second (default 4 MiB), in the long run. One for whom there is more gets what is far from the middle of its area less often.
    pub update_bytes_per_sec: f64,
    /// The largest radius of a body that is spawned (default 5 m): larger ones would reach over whole regions.
    pub body_radius_m: f32,
    /// Points or triangles of a body or piece of scenery that is spawned (default 2048).
    pub shape_elements: usize,
    /// Bodies per second of all injections of a client together (default 200).
    pub injected_per_sec: f32,
    /// How long an injection lasts at most (default 10 minutes).
    pub injection_secs: f32,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            connections_per_address: 256,
            messages_per_sec: 60.0,
            bytes_per_sec: 512.0 * 1024.0,
            outstanding: 32,
            backlog: 32,
            patience: Duration::from_secs(5),
            hello: Duration::from_secs(5),
            silence: Duration::from_secs(60),
            bodies_per_player: 500,
            elements_per_player: 65_536,
            queries_per_sec: 30.0,
            queries_per_sec_in_all: 200.0,
            update_bytes_per_sec: 4.0 * 1024.0 * 1024.0,
            body_radius_m: 5.0,
            shape_elements: 2048,
            injected_per_sec: 200.0,
            injection_secs: 600.0,
        }
    }
}
