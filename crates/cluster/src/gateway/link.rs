//! A client's connection, whatever carries it: WebSocket messages in, WebSocket messages out.

use axum::extract::ws::{Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};

/// What a client says.
pub enum Incoming {
    /// Over a WebSocket.
    WebSocket(SplitStream<WebSocket>),
    /// Over WebTransport.
    #[cfg(feature = "tls")]
    WebTransport(super::webtransport::Reading),
}

impl Incoming {
    /// The next message; `None`: it has gone.
    pub async fn next(&mut self) -> Option<Result<Message, axum::Error>> {
        match self {
            Self::WebSocket(stream) => stream.next().await,
            #[cfg(feature = "tls")]
            Self::WebTransport(reading) => reading.next().await,
        }
    }
}

/// What a client is told.
pub enum Outgoing {
    /// Over a WebSocket.
    WebSocket(SplitSink<WebSocket, Message>),
    /// Over WebTransport.
    #[cfg(feature = "tls")]
    WebTransport(super::webtransport::Writing),
}

impl Outgoing {
    /// Sends a message; waits while the client does not read.
    pub async fn send(&mut self, message: Message) -> Result<(), axum::Error> {
        match self {
            Self::WebSocket(sink) => sink.send(message).await,
            #[cfg(feature = "tls")]
            Self::WebTransport(writing) => writing.send(message).await,
        }
    }

    /// Says that nothing follows.
    pub async fn close(&mut self) -> Result<(), axum::Error> {
        match self {
            Self::WebSocket(sink) => sink.close().await,
            #[cfg(feature = "tls")]
            Self::WebTransport(writing) => writing.close().await,
        }
    }
}
