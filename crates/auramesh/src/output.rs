//! Writing to stdout when nobody may be listening any more (`auramesh sim ... | head -1`).

use serde::Serialize;
use std::io::{ErrorKind, Write, stdout};

/// Prints a text to stdout. A reader that has gone away has seen enough.
pub fn print(text: &str) {
    let mut out = stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        eprintln!("auramesh: cannot write to stdout: {error}");
    }
}

/// Prints one JSON value on one line.
pub fn print_json(value: &impl Serialize) {
    let text = serde_json::to_string(value).expect("all keys are words and all values are plain");
    print(&format!("{text}\n"));
}
