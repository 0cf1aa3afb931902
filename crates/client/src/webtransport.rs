//! A gateway over WebTransport: updates come in datagrams where they fit.

use crate::connection::ClientError;
use crate::options::Options;
use client_protocol::{Frames, InOrder, MAX_GATEWAY_MESSAGE, encode_missing, frame, split_number};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use wtransport::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, VarInt};

/// What is missing is asked for after this: the stream may be a little slower than datagrams.
const PATIENCE: Duration = Duration::from_millis(10);
/// And again as long as it has not come.
const AGAIN: Duration = Duration::from_millis(60);
/// What does not come at all ends the session.
const LONGEST_GAP: Duration = Duration::from_secs(5);
/// Messages in order that wait for the driver.
const WAITING: usize = 64;
/// A peer that says nothing for so long is gone.
const IDLE: Duration = Duration::from_secs(10);
const KEEP_ALIVE: Duration = Duration::from_secs(3);

/// One session.
pub struct Session {
    connection: Connection,
    stream: SendStream,
    messages: mpsc::Receiver<Result<Vec<u8>, ClientError>>,
    /// It lives as long as its connection.
    _endpoint: Endpoint<wtransport::endpoint::endpoint_side::Client>,
}

fn lost(error: impl std::fmt::Display) -> ClientError {
    ClientError::Lost(error.to_string())
}

impl Session {
    /// Connects and opens the stream.
    pub async fn open(url: &str, options: &Options) -> Result<Self, ClientError> {
        let tls = crate::tls::config(options, &[wtransport::tls::WEBTRANSPORT_ALPN])?;
        let config = ClientConfig::builder()
            .with_bind_default()
            .with_custom_tls(tls)
            .keep_alive_interval(Some(KEEP_ALIVE))
            .max_idle_timeout(Some(IDLE))
            .map_err(lost)?
            .build();
        let endpoint = Endpoint::client(config).map_err(lost)?;
        let connection = endpoint.connect(url).await.map_err(lost)?;
        let (stream, receiver) = connection
            .open_bi()
            .await
            .map_err(lost)?
            .await
            .map_err(lost)?;
        let (sender, messages) = mpsc::channel(WAITING);
        tokio::spawn(receive(connection.clone(), receiver, sender));
        Ok(Self {
            connection,
            stream,
            messages,
            _endpoint: endpoint,
        })
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), ClientError> {
        self.stream.write_all(&frame(message)).await.map_err(lost)
    }

    /// The next message, in order.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, ClientError>> {
        self.messages.recv().await
    }

    /// Ends it.
    pub fn close(&self) {
        self.connection.close(VarInt::from_u32(0), b"");
    }
}

async fn receive(
    connection: Connection,
    stream: RecvStream,
    messages: mpsc::Sender<Result<Vec<u8>, ClientError>>,
) {
    let ended = put_in_order(&connection, stream, &messages).await;
    if let Err(error) = ended {
        let _ = messages.send(Err(error)).await;
    }
    connection.close(VarInt::from_u32(0), b"");
}

async fn put_in_order(
    connection: &Connection,
    mut stream: RecvStream,
    messages: &mpsc::Sender<Result<Vec<u8>, ClientError>>,
) -> Result<(), ClientError> {
    let mut frames = Frames::new(MAX_GATEWAY_MESSAGE + 4);
    let mut order = InOrder::default();
    let mut buffer = vec![0; 64 * 1024];
    // Since when something is missing, and when it is asked for.
    let mut gap: Option<(Instant, Instant)> = None;
    loop {
        let ask_at = gap.map_or_else(|| Instant::now() + LONGEST_GAP, |(_, ask)| ask);
        tokio::select! {
            read = stream.read(&mut buffer) => {
                let Some(length) = read.map_err(lost)? else {
                    return Ok(());
                };
                frames.push(&buffer[..length]);
                while let Some(framed) = frames.next_message().map_err(lost)? {
                    let (number, message) = split_number(&framed).ok_or_else(|| lost("a message without a number"))?;
                    order.push(number, message.to_vec()).map_err(lost)?;
                }
            }
            datagram = connection.receive_datagram() => {
                let datagram = datagram.map_err(lost)?;
                // Datagrams may be damaged on purpose; what they should have said is asked for.
                if let Some((number, message)) = split_number(&datagram) {
                    order.push(number, message.to_vec()).map_err(lost)?;
                }
            }
            () = tokio::time::sleep_until(ask_at), if gap.is_some() => {
                let missing = encode_missing(&order.missing());
                // If it cannot be asked now, it is asked again.
                let _ = connection.send_datagram(missing);
                gap = gap.map(|(since, _)| (since, Instant::now() + AGAIN));
            }
        }
        while let Some(message) = order.pop() {
            if messages.send(Ok(message)).await.is_err() {
                return Ok(());
            }
            // Whatever is missing now is another gap.
            gap = None;
        }
        gap = match order.missing().is_empty() {
            true => None,
            false => gap.or_else(|| {
                let now = Instant::now();
                Some((now, now + PATIENCE))
            }),
        };
        if gap.is_some_and(|(since, _)| since.elapsed() > LONGEST_GAP) {
            return Err(lost("messages that do not come"));
        }
    }
}
