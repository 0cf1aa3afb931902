//! Clients over WebTransport (HTTP/3): one stream for everything that must come, datagrams for updates where they fit.
//!
//! How messages are numbered and what is lost is said again: `client_protocol`'s frames, `docs/protocols/client.md`.

use super::bucket::Bucket;
use super::counters::Counters;
use super::link::{Incoming, Outgoing};
use super::listener::{Peer, Seats};
use super::session::{self, Lobby};
use super::settings::TlsFiles;
use super::tls::{CertificateError, server_config};
use axum::body::Bytes;
use axum::extract::ws::Message;
use client_protocol::{
    Frames, MAX_CLIENT_MESSAGE, WEBTRANSPORT_PATH, decode_missing, frame, numbered,
};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex as Lock, MutexGuard};
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use wtransport::config::QuicTransportConfig;
use wtransport::endpoint::endpoint_side::Server;
use wtransport::endpoint::{IncomingSession, SessionRequest};
use wtransport::tls::WEBTRANSPORT_ALPN;
use wtransport::{Connection, Endpoint, RecvStream, SendStream, ServerConfig, VarInt};

/// So many messages that went as datagrams are kept, in case they are missed: eight seconds of updates.
const KEPT: usize = 256;
/// A client that says nothing at all for so long is gone.
const IDLE: Duration = Duration::from_secs(20);
/// What a client may have under way to us.
const RECEIVE_WINDOW: u32 = 4 * MAX_CLIENT_MESSAGE as u32;
/// What waits for a client that does not read, besides its queue.
const SEND_WINDOW: u64 = 1 << 20;
/// Datagrams that wait to be sent; older ones are dropped, and asked for again if they are missed.
const DATAGRAM_BUFFER: usize = 256 * 1024;
/// Streams that a client may have open: HTTP/3 needs a few of its own.
const STREAMS: u32 = 8;

/// Why a session ends whose client sends too many datagrams: the number of that goodbye.
const FLOODING: VarInt = VarInt::from_u32(4);

/// Where WebTransport sessions arrive.
pub struct Hall {
    endpoint: Endpoint<Server>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum HallError {
    /// The certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The network.
    #[error("cannot listen for WebTransport: {0}")]
    Listen(#[from] io::Error),
}

impl Hall {
    /// Listens at the UDP port of this address.
    pub fn open(files: &TlsFiles, address: SocketAddr) -> Result<Self, HallError> {
        let tls = server_config(files, &[WEBTRANSPORT_ALPN])?;
        let mut transport = QuicTransportConfig::default();
        transport
            .max_concurrent_bidi_streams(STREAMS.into())
            .max_concurrent_uni_streams(STREAMS.into())
            .stream_receive_window(RECEIVE_WINDOW.into())
            .receive_window(RECEIVE_WINDOW.into())
            .send_window(SEND_WINDOW)
            .datagram_receive_buffer_size(Some(DATAGRAM_BUFFER))
            .datagram_send_buffer_size(DATAGRAM_BUFFER);
        let config = ServerConfig::builder()
            .with_bind_address(address)
            .with_custom_tls_and_transport(tls, transport)
            .max_idle_timeout(Some(IDLE))
            .expect("20 s is an idle timeout")
            .build();
        let endpoint = Endpoint::server(config)?;
        Ok(Self { endpoint })
    }

    /// Lets clients in until `stop` becomes true.
    pub async fn serve(self, lobby: Arc<Lobby>, seats: Seats, mut stop: watch::Receiver<bool>) {
        loop {
            let incoming = tokio::select! {
                incoming = self.endpoint.accept() => incoming,
                () = crate::node::stopped(&mut stop) => break,
            };
            let address = incoming.remote_address();
            // When it is crowded, whoever comes must first show that it is where it says it is.
            if seats.are_crowded() && !incoming.remote_address_validated() {
                incoming.retry();
                continue;
            }
            let Some(seat) = seats.take(address) else {
                incoming.refuse();
                continue;
            };
            let lobby = Arc::clone(&lobby);
            tokio::spawn(async move {
                if let Err(error) = welcome(lobby, incoming, address).await {
                    tracing::debug!(%address, error, "a WebTransport client has gone");
                }
                drop(seat);
            });
        }
        // Sessions say goodbye by themselves.
        self.endpoint.wait_idle().await;
    }
}

async fn welcome(
    lobby: Arc<Lobby>,
    incoming: IncomingSession,
    address: SocketAddr,
) -> Result<(), String> {
    let limit = lobby.settings.limits.hello;
    let opening = async {
        let request = incoming.await.map_err(|error| {
            lobby.counters.refused_tls.add_one();
            error.to_string()
        })?;
        if !is_welcome(&lobby, &request) {
            request.forbidden().await;
            return Err("not from here".to_owned());
        }
        let connection = request.accept().await.map_err(|error| error.to_string())?;
        let streams = connection.accept_bi().await;
        let streams = streams.map_err(|error| error.to_string())?;
        Ok((connection, streams))
    };
    let opened = tokio::time::timeout(limit, opening).await;
    let (connection, (sender, receiver)) = opened.map_err(|_| "too slow to begin".to_owned())??;
    let writing = Writing::new(connection.clone(), sender, Arc::clone(&lobby.counters));
    let repeating = tokio::spawn(repeat(
        connection.clone(),
        Arc::clone(&writing.kept),
        Arc::clone(&writing.stream),
        Arc::clone(&lobby),
    ));
    let reading = Incoming::WebTransport(Reading::new(receiver, repeating));
    session::serve(
        lobby,
        Peer::at(address),
        Outgoing::WebTransport(writing),
        reading,
    )
    .await;
    connection.close(VarInt::from_u32(0), b"");
    Ok(())
}

/// The same rules as for WebSockets: the right path, and no page from elsewhere.
fn is_welcome(lobby: &Lobby, request: &SessionRequest) -> bool {
    if request.path() != WEBTRANSPORT_PATH {
        return false;
    }
    let fine = lobby.may_enter(request.authority(), request.origin());
    if !fine {
        lobby.counters.refused_origins.add_one();
    }
    fine
}

/// What a client says.
pub struct Reading {
    stream: RecvStream,
    frames: Frames,
    buffer: Box<[u8]>,
    /// It ends with the reading.
    repeating: JoinHandle<()>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.repeating.abort();
    }
}

impl Reading {
    fn new(stream: RecvStream, repeating: JoinHandle<()>) -> Self {
        Self {
            stream,
            frames: Frames::new(MAX_CLIENT_MESSAGE),
            buffer: vec![0; 16 * 1024].into(),
            repeating,
        }
    }

    /// The next message. May be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Option<Result<Message, axum::Error>> {
        loop {
            match self.frames.next_message() {
                Ok(Some(message)) => return Some(Ok(Message::Binary(message.into()))),
                Ok(None) => {}
                // Worded as a WebSocket words it, and counted as such.
                Err(error) => {
                    let error = io::Error::other(format!("Space limit exceeded: {error}"));
                    return Some(Err(axum::Error::new(error)));
                }
            }
            match self.stream.read(&mut self.buffer).await {
                Ok(Some(length)) => self.frames.push(&self.buffer[..length]),
                Ok(None) => return None,
                Err(error) => return Some(Err(axum::Error::new(error))),
            }
        }
    }
}

/// Messages that went as datagrams and may be missed, with their numbers.
type Kept = Arc<Lock<VecDeque<(u32, Bytes)>>>;

fn lock(kept: &Kept) -> MutexGuard<'_, VecDeque<(u32, Bytes)>> {
    kept.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// What a client is told.
pub struct Writing {
    connection: Connection,
    stream: Arc<Mutex<SendStream>>,
    last: u32,
    kept: Kept,
    counters: Arc<Counters>,
}

/// The first byte of an update.
const UPDATE: u8 = 0x85;

impl Writing {
    fn new(connection: Connection, stream: SendStream, counters: Arc<Counters>) -> Self {
        Self {
            connection,
            stream: Arc::new(Mutex::new(stream)),
            last: 0,
            kept: Kept::default(),
            counters,
        }
    }

    /// Sends a message: an update in a datagram if it fits, everything else on the stream.
    pub async fn send(&mut self, message: Message) -> Result<(), axum::Error> {
        let Message::Binary(bytes) = message else {
            return Ok(());
        };
        self.last = self.last.checked_add(1).ok_or_else(|| {
            axum::Error::new(io::Error::other(
                "four thousand million messages are enough",
            ))
        })?;
        let whole = numbered(self.last, &bytes);
        let largest = self.connection.max_datagram_size().unwrap_or(0);
        if bytes.first() == Some(&UPDATE) && whole.len() <= largest {
            self.keep(&whole);
            // What cannot be sent is missed, like what is lost.
            if self.connection.send_datagram(&whole).is_ok() {
                self.counters.datagrams_to_clients.add_one();
            }
            return Ok(());
        }
        write(&self.stream, &whole).await
    }

    fn keep(&self, whole: &[u8]) {
        let mut kept = lock(&self.kept);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((self.last, Bytes::copy_from_slice(whole)));
    }

    /// Says that nothing follows, and waits until the client knows.
    pub async fn close(&mut self) -> Result<(), axum::Error> {
        let mut stream = self.stream.lock().await;
        stream.finish().await.map_err(axum::Error::new)
    }
}

async fn write(stream: &Mutex<SendStream>, whole: &[u8]) -> Result<(), axum::Error> {
    let mut stream = stream.lock().await;
    let written = stream.write_all(&frame(whole)).await;
    written.map_err(axum::Error::new)
}

/// Says again over the stream what a client has missed: each message once, then it is sure to come. Who says more often that it misses something than it may say anything must go.
async fn repeat(
    connection: Connection,
    kept: Kept,
    stream: Arc<Mutex<SendStream>>,
    lobby: Arc<Lobby>,
) {
    let (counters, clock) = (&lobby.counters, &lobby.clock);
    let mut rate = Bucket::new(lobby.settings.limits.messages_per_sec, clock.local());
    while let Ok(datagram) = connection.receive_datagram().await {
        counters.messages.add_one();
        counters.bytes_from_clients.add(datagram.len() as u64);
        if !rate.take(clock.local(), 1.0) {
            counters.refused_floods.add_one();
            return connection.close(FLOODING, b"too many datagrams");
        }
        let Some(missing) = decode_missing(&datagram) else {
            counters.refused_malformed.add_one();
            continue;
        };
        for number in missing {
            let found = {
                let mut kept = lock(&kept);
                let at = kept.iter().position(|(other, _)| *other == number);
                at.and_then(|at| kept.remove(at))
            };
            // What went over the stream is under way.
            let Some((_, whole)) = found else {
                continue;
            };
            counters.datagrams_repeated.add_one();
            if write(&stream, &whole).await.is_err() {
                return;
            }
        }
    }
}
