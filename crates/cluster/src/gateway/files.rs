//! The viewer's files over HTTP.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::path::{Component, Path, PathBuf};

/// Nothing that large is a viewer's file.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What the program's own page may do: its own files and connections to gateways (another one may be named in its address), nothing inline but styles.
const OWN_PAGE_POLICY: &str = "default-src 'self'; connect-src 'self' ws: wss: https:; img-src 'self' data: blob:; \
     style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'";

/// Answers a request for a file: below the root, or without one from the program itself.
pub async fn serve(root: Option<&Path>, path: &str) -> Response {
    let Some(root) = root else {
        return embedded(path);
    };
    let Some(file) = resolve(root, path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match read(&file).await {
        Some(bytes) => {
            let name = file.file_name().and_then(|name| name.to_str());
            page(
                viewer_page::content_type(name.unwrap_or_default()),
                bytes.into(),
            )
        }
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

fn embedded(path: &str) -> Response {
    let Some(file) = viewer_page::file(path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut response = page(file.content_type, file.bytes.into());
    let policy = HeaderValue::from_static(OWN_PAGE_POLICY);
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, policy);
    if file.unchanging {
        let for_ever = HeaderValue::from_static("public, max-age=31536000, immutable");
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, for_ever);
    }
    response
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
    fn the_own_page_runs_no_script_but_its_own() {
        let response = embedded("/");
        let policy = &response.headers()[header::CONTENT_SECURITY_POLICY];
        let policy = policy.to_str().expect("text");
        assert!(policy.starts_with("default-src 'self';") && !policy.contains("script-src"));
    }

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
