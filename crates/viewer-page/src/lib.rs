//! The browser viewer, inside the program: no files to install, no path to configure.
//!
//! `build.rs` builds `viewer/` when Node.js is there. When it is not, there is one page that says so.

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// One of the viewer's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// What is in it.
    pub bytes: &'static [u8],
    /// What it is, for the header of that name.
    pub content_type: &'static str,
    /// Its name changes with its content: browsers may keep it for ever.
    pub unchanging: bool,
}

/// The file that a browser asks for; `/` is the page itself.
pub fn file(path: &str) -> Option<File> {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let at = FILES.binary_search_by_key(&path, |(name, _)| name).ok()?;
    let (name, bytes) = FILES[at];
    Some(File {
        bytes,
        content_type: content_type(name),
        unchanging: BUILT && name.starts_with("assets/"),
    })
}

/// Is it the viewer, rather than a page that says why there is none?
pub fn is_built() -> bool {
    BUILT
}

/// What a file is, by its name's ending.
pub fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_whatever_was_there_to_build_it() {
        let page = file("/").expect("always");
        assert_eq!(file("/index.html"), Some(page));
        assert!(page.content_type.starts_with("text/html") && !page.unchanging);
        let text = std::str::from_utf8(page.bytes).expect("UTF-8");
        assert!(text.contains("<title>Auramesh</title>"), "{text}");
        assert_eq!(text.contains("has no viewer"), !is_built());
        assert_eq!(file("/nothing.js"), None);
        assert_eq!(file("/../Cargo.toml"), None);
    }

    /// A page whose parts are missing would be white.
    #[test]
    fn everything_that_the_page_names_is_there() {
        let page = file("/").expect("always");
        let text = std::str::from_utf8(page.bytes).expect("UTF-8");
        let named: Vec<&str> = text
            .split('"')
            .filter_map(|part| part.strip_prefix("./"))
            .collect();
        assert_eq!(named.is_empty(), !is_built(), "{text}");
        for name in named {
            let part = file(name).unwrap_or_else(|| panic!("{name} is missing"));
            assert!(part.unchanging && !part.bytes.is_empty(), "{name}");
        }
    }
}
