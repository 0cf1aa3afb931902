//! The same bytes for Rust and for the browser: `viewer/client/vectors/*.json` hold messages and packets with what they mean. This test makes them
//! anew and compares; `npm test` in `viewer/` reads them with the TypeScript client. Whoever changes one side breaks both.
//!
//! `AURAMESH_BLESS=1 cargo test --release -p auramesh-client --test web_vectors` writes them.

mod web_vectors {
    pub mod inspection;
    pub mod messages;
    pub mod stream;
}

use serde_json::Value;
use std::path::PathBuf;

fn compare(name: &str, made: &[Value]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../viewer/client/vectors")
        .join(name);
    let lines: Vec<String> = made.iter().map(Value::to_string).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    if std::env::var_os("AURAMESH_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("writable");
        std::fs::write(&path, &text).expect("writable");
    }
    let kept = std::fs::read_to_string(&path).expect("the vectors are in the repository");
    for (kept, made) in kept.lines().zip(text.lines()) {
        assert_eq!(kept, made, "{name}: set AURAMESH_BLESS=1 if this was meant");
    }
    assert_eq!(kept.len(), text.len(), "{name}");
}

#[test]
fn the_messages_of_the_vectors_are_those_of_the_protocol() {
    compare("messages.json", &web_vectors::messages::all());
}

#[test]
fn the_stream_of_the_vectors_is_what_the_encoder_makes() {
    compare("stream.json", &web_vectors::stream::all());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
