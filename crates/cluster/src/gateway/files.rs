//! The viewer's files over HTTP.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::path::{Component, Path, PathBuf};

/// A page for a gateway that has none.
const PLACEHOLDER: &str = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Auramesh</title>\n<p>This is an Auramesh gateway. \
It has no viewer's files; clients connect to <code>/ws</code>.\n";
/// Nothing that large is a viewer's file.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Answers a request for a file.
pub async fn serve(root: Option<&Path>, path: &str) -> Response {
    let Some(root) = root else {
        return match path {
            "/" => page("text/html; charset=utf-8", PLACEHOLDER.into()),
            _ => StatusCode::NOT_FOUND.into_response(),
        };
    };
    let Some(file) = resolve(root, path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match read(&file).await {
        Some(bytes) => page(content_type(&file), bytes.into()),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A file below the root, whatever the path says.
fn resolve(root: &Path, path: &str) -> Option<PathBuf> {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let relative = Path::new(path);
    let plain = |part: Component| match part {
        Component::Normal(name) => name.to_str().is_some_and(|name| !name.starts_with('.')),
        _ => false,
    };
    relative
        .components()
        .all(plain)
        .then(|| root.join(relative))
}

async fn read(file: &Path) -> Option<Vec<u8>> {
    let about = tokio::fs::metadata(file).await.ok()?;
    if !about.is_file() || about.len() > MOST_BYTES {
        return None;
    }
    tokio::fs::read(file).await.ok()
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt" | "md" | "toml") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn page(content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_directory() {
        let root = Path::new("/srv/viewer");
        assert_eq!(resolve(root, "/"), Some(root.join("index.html")));
        assert_eq!(resolve(root, "/a/b.js"), Some(root.join("a/b.js")));
        for bad in [
            "/../etc/passwd",
            "/a/../../x",
            "/.git/config",
            "/a/.env",
            "/./x/..",
        ] {
            assert_eq!(resolve(root, bad), None, "{bad}");
        }
        assert_eq!(
            resolve(root, "//etc/passwd"),
            Some(root.join("etc/passwd")),
            "below the root"
        );
    }
}
