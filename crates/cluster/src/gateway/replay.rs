//! Shows a recording: the viewer's page and the file, over HTTP, on this machine only. The page decodes the file itself.

use super::files;
use super::is_this_machine;
use crate::Boxed;
use crate::node::stopped;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// So much of the file is in memory at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// Why a recording is not shown.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// It cannot listen.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The file has no name that could be part of an address.
    #[error("'{0}' is no file's name")]
    Name(PathBuf),
}

/// Shows one recording.
pub struct ReplayServer {
    listener: TcpListener,
    address: SocketAddr,
    shown: Arc<Shown>,
}

struct Shown {
    file: PathBuf,
    path: String,
    viewer: Option<PathBuf>,
}

impl ReplayServer {
    /// Listens. `viewer`: the viewer's files, if not those that are built in.
    pub async fn bind(
        bind: SocketAddr,
        file: PathBuf,
        viewer: Option<PathBuf>,
    ) -> Result<Self, ReplayError> {
        let failed = |error| ReplayError::Listen(bind, error);
        let listener = TcpListener::bind(bind).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| ReplayError::Name(file.clone()))?;
        let path = format!("/recordings/{}", encode(name));
        let shown = Arc::new(Shown { file, path, viewer });
        Ok(Self {
            listener,
            address,
            shown,
        })
    }

    /// Where people see it.
    pub fn url(&self) -> String {
        format!("http://{}/?recording={}", self.address, self.shown.path)
    }

    /// Serves until `stop` becomes true.
    pub fn run(self, mut stop: watch::Receiver<bool>) -> Boxed<'static, io::Result<()>> {
        Box::pin(async move {
            let router = Router::new()
                .fallback(get(serve))
                .with_state(Arc::clone(&self.shown));
            let mut end = stop.clone();
            let serving = axum::serve(self.listener, router)
                .with_graceful_shutdown(async move { stopped(&mut end).await });
            tokio::select! {
                served = serving.into_future() => served,
                // A browser that keeps its connection is not waited for.
                () = async { stopped(&mut stop).await; tokio::time::sleep(std::time::Duration::from_millis(500)).await } => Ok(()),
            }
        })
    }
}

async fn serve(State(shown): State<Arc<Shown>>, headers: HeaderMap, uri: Uri) -> Response {
    let host = headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    // A name that someone else made point to us is not "here".
    if !is_this_machine(host) {
        return (StatusCode::FORBIDDEN, "only from this machine\n").into_response();
    }
    if uri.path() == shown.path {
        return match send_file(&shown).await {
            Ok(response) => response,
            Err(error) => {
                tracing::warn!(%error, "the recording cannot be read");
                StatusCode::NOT_FOUND.into_response()
            }
        };
    }
    files::serve(shown.viewer.as_deref(), uri.path()).await
}

async fn send_file(shown: &Shown) -> io::Result<Response> {
    let file = tokio::fs::File::open(&shown.file).await?;
    let length = file.metadata().await?.len();
    // No more than it is long now: it may still be written.
    let pieces = stream::try_unfold(file.take(length), async |mut file| {
        let mut piece = vec![0; PIECE_BYTES];
        let count = file.read(&mut piece).await?;
        piece.truncate(count);
        Ok::<_, io::Error>((count > 0).then_some((piece, file)))
    });
    let mut response = Body::from_stream(pieces).into_response();
    let headers = response.headers_mut();
    let octets = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, octets);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    let fresh = HeaderValue::from_static("no-store");
    headers.insert(header::CACHE_CONTROL, fresh);
    Ok(response)
}

/// A name as part of an address: what is not plain is written in hexadecimal.
fn encode(name: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let bytes = name.bytes();
    bytes
        .map(|byte| match plain(&byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_addresses() {
        assert_eq!(encode("a-b_c.aurarec"), "a-b_c.aurarec");
        assert_eq!(encode("ä b?#"), "%C3%A4%20b%3F%23");
    }
}
