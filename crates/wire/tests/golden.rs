//! The bytes of version 5 are a promise to servers that are still running it. If this fails, the format has
//! changed: either undo the change, or raise `wire::VERSION` and put a new file in the place of the old one.

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
fn version_5_has_these_bytes() {
    let golden = include_str!("golden/version-5.hex");
    let bytes = encode(&crate::common::sample()).expect("the sample is valid");
    assert_eq!(
        hex(&bytes),
        golden,
        "the bytes of version {} have changed",
        wire::VERSION
    );
}

#[test]
fn version_5_is_understood() {
    let got = decode(&unhex(include_str!("golden/version-5.hex"))).expect("our own envelope");
    let mut expected = crate::common::sample();
    for message in &mut expected.messages {
        if let Message::AuraUpsert(upsert) = message {
            *upsert = upsert.rounded_outwards();
        }
    }
    assert_eq!(got, expected);
}

/// The page lists the messages that exist, with their tags, and the sample has each of them: its bytes begin with its tag.
#[test]
fn every_message_is_documented_and_every_documented_message_exists() {
    let page = include_str!("../../../docs/protocols/region.md");
    let section = page
        .split("\n## ")
        .find(|part| part.starts_with("Messages"));
    let rows = section.expect("the page has it").lines();
    let documented: Vec<(u8, String)> = rows
        .filter_map(|row| {
            let mut cells = row.strip_prefix("| ")?.split(" | ");
            let tag = cells.next()?.trim().parse().ok()?;
            let name = cells.next()?.split('`').nth(1)?.to_owned();
            Some((tag, name))
        })
        .collect();
    let exist = wire::MESSAGE_TAGS.iter();
    let exist: Vec<(u8, String)> = exist
        .map(|(tag, name)| (*tag, (*name).to_owned()))
        .collect();
    assert_eq!(documented, exist);
    let sample = crate::common::sample();
    for message in &sample.messages {
        let debug = format!("{message:?}");
        let name = debug.split(['(', ' ']).next().unwrap_or_default();
        let (tag, _) = exist
            .iter()
            .find(|(_, known)| known == name)
            .unwrap_or_else(|| panic!("{name} has no tag"));
        let alone = wire::Envelope {
            messages: vec![message.clone()],
            ..sample.clone()
        };
        let none = wire::Envelope {
            messages: Vec::new(),
            ..sample.clone()
        };
        // The tag stands where an envelope without messages ends.
        let at = encode(&none).expect("valid").len();
        assert_eq!(encode(&alone).expect("valid")[at], *tag, "{name}");
    }
}
