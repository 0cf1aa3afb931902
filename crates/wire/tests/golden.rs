//! The bytes of version 1 are a promise to servers that are still running it. If this fails, the format has
//! changed: either undo the change, or raise `wire::VERSION` and write a new file beside the old one.

mod common;

use wire::{Message, decode, encode};

fn hex(bytes: &[u8]) -> String {
    let row = |row: &[u8]| {
        row.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    bytes.chunks(32).map(row).collect::<Vec<_>>().join("\n") + "\n"
}

fn unhex(text: &str) -> Vec<u8> {
    text.split_whitespace()
        .map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal"))
        .collect()
}

#[test]
fn version_1_has_these_bytes() {
    let golden = include_str!("golden/version-1.hex");
    let bytes = encode(&common::sample()).expect("the sample is valid");
    assert_eq!(
        hex(&bytes),
        golden,
        "the bytes of version {} have changed",
        wire::VERSION
    );
}

#[test]
fn version_1_is_still_understood() {
    let got = decode(&unhex(include_str!("golden/version-1.hex"))).expect("an old envelope");
    let mut expected = common::sample();
    for message in &mut expected.messages {
        if let Message::AuraUpsert(upsert) = message {
            *upsert = upsert.rounded_outwards();
        }
    }
    assert_eq!(got, expected);
}
