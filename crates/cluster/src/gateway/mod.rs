//! The gateway: what clients connect to. It knows all regions, shows each client the part of the world it asks for, and carries its wishes to
//! whichever server they concern (the thesis: overseer and client in one).
//!
//! ```text
//!  regions ═ feeds ═► replicas ─► frames ─► cells ─► clients (WebSocket, docs/protocols/client.md)
//!          ◄ questions ═ errands ◄─ orders ◄─────────┘
//! ```
//! Several gateways may run side by side; none knows of the others, and none is needed for the physics.

mod bucket;
mod cell_stream;
mod cells;
mod checks;
mod counters;
mod demo;
mod errands;
mod files;
mod forms;
mod guests;
mod hub;
mod injections;
mod link;
mod listener;
mod live_world;
mod orders;
#[cfg(test)]
mod priority_tests;
mod recorder;
mod replay;
mod replicas;
mod roles;
mod session;
mod settings;
mod sights;
mod strain;
#[cfg(feature = "tls")]
mod tls;
mod viewpoint;
#[cfg(feature = "tls")]
mod webtransport;
mod world_change;

pub use counters::{Count, Counters, Kind};
pub use demo::DemoControls;
pub use recorder::{RecordedFrame, Recorder, RecorderSettings};
pub use replay::{ReplayError, ReplayServer};
pub use replicas::{LONGEST_JOURNEY, News, Replica, Replicas};
pub use roles::{ClientRole, Guest, Tokens, TokensError};
pub use settings::{ClientLimits, GatewaySettings, TlsFiles};
pub use world_change::{WorldChange, WorldChangeError, change_world};

use crate::Boxed;
use crate::carrier::Datagram;
use crate::clock::ClusterClock;
use crate::correspondent::Correspondent;
use crate::messages::{self, Heartbeat, Pulse};
use crate::names::Generation;
use crate::node::{Node, stopped};
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use client_protocol::{MAX_CLIENT_MESSAGE, SUBPROTOCOL};
use futures_util::StreamExt;
use hub::Hub;
use link::{Incoming, Outgoing};
use listener::{Door, Doorkeeper, Peer, Seats};
use session::Lobby;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc, watch};

/// What clients ask waits for the hub; more must wait with them.
const REQUESTS: usize = 1024;
/// Bytes that the operating system keeps for a client that does not read: a second of a busy world.
const SEND_BUFFER: u32 = 256 * 1024;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// How often the coordinator is asked for the time.
const BEAT: Duration = Duration::from_millis(250);

/// Why a gateway does not start.
#[derive(Debug, Error)]
pub enum GatewayError {
    /// It cannot listen.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// Nobody could be told from anybody.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The certificate cannot be used, or the program cannot use any.
    #[error("{0}")]
    Tls(String),
}

/// A gateway that listens; it answers once it runs.
pub struct Gateway {
    settings: Arc<GatewaySettings>,
    tokens: Tokens,
    listener: TcpListener,
    address: SocketAddr,
    counters: Arc<Counters>,
    keeper: Option<Doorkeeper>,
    #[cfg(feature = "tls")]
    hall: Option<webtransport::Hall>,
    demo: Option<Arc<dyn DemoControls>>,
}

impl Gateway {
    /// Listens, if that is safe.
    pub async fn bind(settings: GatewaySettings) -> Result<Self, GatewayError> {
        let bind = settings.bind;
        let tokens = Tokens::load(settings.tokens.as_deref(), bind)?;
        let failed = |error| GatewayError::Listen(bind, error);
        let listener = listen(bind).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let keeper = doorkeeper(&settings)?;
        #[cfg(feature = "tls")]
        let hall = match settings.tls.as_ref().filter(|_| settings.webtransport) {
            Some(files) => Some(
                webtransport::Hall::open(files, address)
                    .map_err(|error| GatewayError::Tls(error.to_string()))?,
            ),
            None => None,
        };
        if !tokens.are_needed() {
            tracing::warn!(%address, "no tokens: everyone on this machine may do everything");
        }
        Ok(Self {
            settings: Arc::new(settings),
            tokens,
            listener,
            address,
            counters: Arc::default(),
            keeper,
            #[cfg(feature = "tls")]
            hall,
            demo: None,
        })
    }

    /// It serves a demonstration: admins may do these things to it, too.
    pub fn for_demo(mut self, controls: Arc<dyn DemoControls>) -> Self {
        self.demo = Some(controls);
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where people find it.
    pub fn url(&self) -> String {
        let scheme = match self.keeper {
            Some(_) => "https",
            None => "http",
        };
        format!("{scheme}://{}/", self.address)
    }

    /// What it counts, from now on.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Serves until `stop` becomes true. The node's role is [`Gateway`](crate::schema::Role::Gateway).
    pub fn run(self, node: Node, stop: watch::Receiver<bool>) -> Boxed<'static, ()> {
        Box::pin(async move {
            let membership = Arc::new(node.membership);
            let me = node.id.endpoint();
            let (clock, carrier) = (Arc::clone(&node.clock), Arc::clone(&node.carrier));
            let correspondent = Correspondent::new(me, clock, carrier, &node.switchboard);
            let follower = Arc::clone(&node.clock);
            let hear = move |datagram: Datagram| hear_pulse(&follower, &datagram);
            node.switchboard
                .connect(node.id.pulse_endpoint(), Arc::new(hear));
            let (requests, receiver) = mpsc::channel(REQUESTS);
            let hub = Hub::new(
                Arc::clone(&self.settings),
                Arc::clone(&self.counters),
                Arc::clone(&node.clock),
                Arc::clone(&membership),
                correspondent,
                node.id,
                self.demo,
            );
            let beat = async {
                let view = membership.view();
                loop {
                    let leader = view.borrow().leader.as_ref().map(|leader| leader.node);
                    if let Some(leader) = leader {
                        let heartbeat = Heartbeat {
                            node: node.id,
                            sent: node.clock.local(),
                            answered: node.clock.answered(),
                            generation: Generation::default(),
                            regions: Vec::new(),
                            keeps: Vec::new(),
                            clock_bound: node.clock.bound(),
                        };
                        let bytes = messages::encode(&heartbeat);
                        node.carrier.send(
                            node.id.pulse_endpoint(),
                            leader.pulse_endpoint(),
                            &bytes,
                        );
                    }
                    tokio::time::sleep(BEAT).await;
                }
            };
            let lobby = Arc::new(Lobby {
                settings: Arc::clone(&self.settings),
                tokens: self.tokens,
                counters: Arc::clone(&self.counters),
                clock: Arc::clone(&node.clock),
                requests,
                sessions: AtomicU64::new(0),
            });
            let seats = Seats::new(self.settings.limits, self.counters);
            #[cfg(feature = "tls")]
            if let Some(hall) = self.hall {
                let (lobby, stop) = (Arc::clone(&lobby), stop.clone());
                tokio::spawn(hall.serve(lobby, seats.clone(), stop));
            }
            let door = Door::new(self.listener, seats, self.keeper);
            let router = Router::new()
                .route("/ws", any(enter))
                .route("/healthz", get(health))
                .fallback(get(file))
                .with_state(lobby);
            let service = router.into_make_service_with_connect_info::<Peer>();
            let mut stop_serving = stop.clone();
            let server = axum::serve(door, service)
                .with_graceful_shutdown(async move { stopped(&mut stop_serving).await });
            let hub = start_hub(hub, receiver, stop.clone());
            let mut stop = stop;
            tokio::select! {
                served = server => if let Err(error) = served {
                    tracing::error!(%error, "the gateway cannot serve");
                },
                () = beat => {}
                // Connections that do not end by themselves are not waited for much longer.
                () = async { stopped(&mut stop).await; tokio::time::sleep(Duration::from_secs(2)).await } => {}
            }
            // It ends with the flag, or with whoever could set it.
            let _ =
                tokio::task::spawn_blocking(move || hub.map(std::thread::JoinHandle::join)).await;
            if let Ok(membership) = Arc::try_unwrap(membership) {
                membership.leave().await;
            }
        })
    }
}

/// The hub has a thread of its own: hundreds of clients' writers must not make it wait.
fn start_hub(
    hub: Hub,
    requests: mpsc::Receiver<hub::Request>,
    stop: watch::Receiver<bool>,
) -> io::Result<std::thread::JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let thread = std::thread::Builder::new().name("gateway".to_owned());
    let started = thread.spawn(move || runtime.block_on(hub.run(requests, stop)));
    started.inspect_err(|error| tracing::error!(%error, "the gateway's thread cannot start"))
}

/// The operating system keeps little for each client: what waits is to wait here, where it is counted.
fn listen(bind: SocketAddr) -> io::Result<TcpListener> {
    let socket = match bind {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    // Those who connect inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(bind)?;
    socket.listen(BACKLOG)
}

fn hear_pulse(clock: &ClusterClock, datagram: &Datagram) {
    match messages::decode::<Pulse>(&datagram.bytes) {
        Ok(pulse) => clock.handle_pulse(&pulse),
        Err(error) => tracing::warn!(%error, "a pulse was refused"),
    }
}

async fn enter(
    State(lobby): State<Arc<Lobby>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !may_enter(&headers, &lobby) {
        lobby.counters.refused_origins.add_one();
        return (
            StatusCode::FORBIDDEN,
            "pages from elsewhere may not connect\n",
        )
            .into_response();
    }
    let upgrade = upgrade
        .protocols([SUBPROTOCOL])
        .max_message_size(MAX_CLIENT_MESSAGE)
        .max_frame_size(MAX_CLIENT_MESSAGE);
    if upgrade.selected_protocol().is_none() {
        lobby.counters.refused_versions.add_one();
        let text = format!("this gateway speaks {SUBPROTOCOL}\n");
        return (StatusCode::BAD_REQUEST, text).into_response();
    }
    upgrade.on_upgrade(move |socket| {
        let (sender, receiver) = socket.split();
        let (sender, receiver) = (Outgoing::WebSocket(sender), Incoming::WebSocket(receiver));
        session::serve(lobby, peer, sender, receiver)
    })
}

fn may_enter(headers: &HeaderMap, lobby: &Lobby) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    if headers.get_all(header::HOST).iter().count() > 1 {
        return false;
    }
    let origin = headers.get(header::ORIGIN);
    lobby.may_enter(
        host,
        origin.map(|origin| origin.to_str().unwrap_or_default()),
    )
}

impl Lobby {
    /// Browsers say which page wants to connect. Only pages that we serve ourselves may, and those that are allowed.
    fn may_enter(&self, host: &str, origin: Option<&str>) -> bool {
        // Without tokens everyone here may do everything; a name that someone else made point to us is not "here".
        if !self.tokens.are_needed() && !is_this_machine(host) {
            return false;
        }
        let Some(origin) = origin else {
            return true;
        };
        let served_by_us = origin
            .split_once("://")
            .is_some_and(|(_, rest)| rest == host);
        served_by_us || self.settings.origins.iter().any(|known| known == origin)
    }
}

#[cfg(feature = "tls")]
fn doorkeeper(settings: &GatewaySettings) -> Result<Option<Doorkeeper>, GatewayError> {
    let keeper = settings.tls.as_ref().map(Doorkeeper::new).transpose();
    keeper.map_err(|error| GatewayError::Tls(error.to_string()))
}

#[cfg(not(feature = "tls"))]
fn doorkeeper(settings: &GatewaySettings) -> Result<Option<Doorkeeper>, GatewayError> {
    match settings.tls {
        None => Ok(None),
        Some(_) => Err(GatewayError::Tls(
            "this program was built without TLS: build it with --features distributed".to_owned(),
        )),
    }
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address = name.parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

async fn health(State(lobby): State<Arc<Lobby>>) -> Response {
    match lobby.requests.is_closed() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "the hub has ended\n").into_response(),
        false => "ok\n".into_response(),
    }
}

async fn file(State(lobby): State<Arc<Lobby>>, uri: Uri) -> Response {
    files::serve(lobby.settings.files.as_deref(), uri.path()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_this_machine() {
        for host in [
            "localhost",
            "localhost:80",
            "127.0.0.1:9",
            "[::1]:80",
            "[::1]",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:80",
            "127.0.0.1.evil.example",
            "10.0.0.1",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
