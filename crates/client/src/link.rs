//! A connection to a gateway, whatever carries it.

use crate::connection::ClientError;
use crate::options::Options;
use client_protocol::{MAX_GATEWAY_MESSAGE, SUBPROTOCOL};
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::http::Uri;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// Messages in both directions.
pub enum Link {
    WebSocket(Box<Socket>),
    #[cfg(feature = "tls")]
    WebTransport(crate::webtransport::Session),
}

impl Link {
    /// Connects: `ws://` and `wss://` are WebSockets, `https://` is WebTransport.
    pub async fn open(url: &str, options: &Options) -> Result<Self, ClientError> {
        let bad = || ClientError::BadUrl(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| bad())?;
        let connecting = async {
            match uri.scheme_str() {
                Some("ws") => web_socket(uri, None).await,
                #[cfg(feature = "tls")]
                Some("wss") => {
                    let config = crate::tls::config(options, &[])?;
                    web_socket(uri, Some(config)).await
                }
                #[cfg(feature = "tls")]
                Some("https") => {
                    let session = crate::webtransport::Session::open(url, options).await;
                    session.map(Self::WebTransport)
                }
                #[cfg(not(feature = "tls"))]
                Some("wss" | "https") => Err(ClientError::NoTls),
                _ => Err(bad()),
            }
        };
        tokio::time::timeout(options.patience, connecting)
            .await
            .map_err(|_| ClientError::NoAnswer)?
    }

    /// Sends a message.
    pub async fn send(&mut self, bytes: Vec<u8>) -> Result<(), ClientError> {
        match self {
            Self::WebSocket(socket) => {
                let sent = socket.send(Message::Binary(bytes.into())).await;
                Ok(sent.map_err(Box::new)?)
            }
            #[cfg(feature = "tls")]
            Self::WebTransport(session) => session.send(&bytes).await,
        }
    }

    /// The next message; `None`: the connection has ended. May be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, ClientError>> {
        match self {
            Self::WebSocket(socket) => loop {
                return match socket.next().await? {
                    Ok(Message::Binary(bytes)) => Some(Ok(bytes.into())),
                    Ok(_) => continue,
                    Err(error) => Some(Err(Box::new(error).into())),
                };
            },
            #[cfg(feature = "tls")]
            Self::WebTransport(session) => session.next().await,
        }
    }

    /// Ends it politely.
    pub async fn close(&mut self) {
        match self {
            Self::WebSocket(socket) => drop((**socket).close(None).await),
            #[cfg(feature = "tls")]
            Self::WebTransport(session) => session.close(),
        }
    }
}

/// How TLS is spoken; without the feature nobody can.
#[cfg(feature = "tls")]
type Tls = tokio_rustls::rustls::ClientConfig;
#[cfg(not(feature = "tls"))]
type Tls = std::convert::Infallible;

async fn web_socket(uri: Uri, tls: Option<Tls>) -> Result<Link, ClientError> {
    let request = ClientRequestBuilder::new(uri).with_sub_protocol(SUBPROTOCOL);
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_GATEWAY_MESSAGE))
        .max_frame_size(Some(MAX_GATEWAY_MESSAGE));
    #[cfg(feature = "tls")]
    let connected = {
        use tokio_tungstenite::Connector;
        let connector = tls.map_or(Connector::Plain, |tls| Connector::Rustls(tls.into()));
        tokio_tungstenite::connect_async_tls_with_config(
            request,
            Some(config),
            true,
            Some(connector),
        )
    };
    #[cfg(not(feature = "tls"))]
    let connected = {
        debug_assert!(tls.is_none(), "there is no such value");
        tokio_tungstenite::connect_async_with_config(request, Some(config), true)
    };
    let (socket, _) = connected.await.map_err(Box::new)?;
    Ok(Link::WebSocket(Box::new(socket)))
}
