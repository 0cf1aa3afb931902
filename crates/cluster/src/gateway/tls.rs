//! A gateway's certificate, and TLS on its TCP connections.

use super::counters::Counters;
use super::settings::TlsFiles;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// Why a certificate cannot be used.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file.
    #[error("{0}: {1}")]
    File(String, String),
    /// Both files together.
    #[error("the certificate and its key: {0}")]
    Pair(#[from] rustls::Error),
}

/// Reads certificate and key; connections agree on one of these protocols.
pub fn server_config(
    files: &TlsFiles,
    protocols: &[&[u8]],
) -> Result<ServerConfig, CertificateError> {
    let chain = CertificateDer::pem_file_iter(&files.certificate).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(|error| {
        CertificateError::File(files.certificate.display().to_string(), error.to_string())
    })?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| {
        CertificateError::File(files.key.display().to_string(), error.to_string())
    })?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

/// What TLS is made of at the door.
#[derive(Clone)]
pub struct Doorkeeper(TlsAcceptor);

impl Doorkeeper {
    /// Reads the certificate.
    pub fn new(files: &TlsFiles) -> Result<Self, CertificateError> {
        let config = server_config(files, &[b"http/1.1"])?;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Begins a handshake. Nothing happens until someone reads: whoever is slow keeps nobody else waiting.
    pub fn greet(&self, stream: TcpStream, counters: Arc<Counters>) -> Secured {
        Secured {
            state: State::Handshake(Box::new(self.0.accept(stream))),
            counters,
        }
    }
}

enum State {
    Handshake(Box<Accept<TcpStream>>),
    Open(Box<TlsStream<TcpStream>>),
    Failed,
}

/// A connection with TLS, from its first byte.
pub struct Secured {
    state: State,
    counters: Arc<Counters>,
}

impl Secured {
    fn poll_open(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Pin<&mut TlsStream<TcpStream>>>> {
        if let State::Handshake(accept) = &mut self.state {
            match ready!(Pin::new(accept).poll(context)) {
                Ok(stream) => self.state = State::Open(Box::new(stream)),
                Err(error) => {
                    self.counters.refused_tls.add_one();
                    self.state = State::Failed;
                    return Poll::Ready(Err(error));
                }
            }
        }
        match &mut self.state {
            State::Open(stream) => Poll::Ready(Ok(Pin::new(&mut **stream))),
            _ => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Open(stream) => Pin::new(&mut **stream).poll_shutdown(context),
            // There is nothing to say goodbye to.
            _ => Poll::Ready(Ok(())),
        }
    }
}
