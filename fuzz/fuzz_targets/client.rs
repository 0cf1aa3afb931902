//! Any bytes are a message between client and gateway, or an error; a message can be encoded and means the same again. And whatever a gateway
//! sends, a client does not panic.

#![no_main]

use client_protocol::{ToClient, ToGateway};
use domain::SimTime;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    if let Ok(message) = ToGateway::decode(body) {
        let again = message.encode();
        let same = ToGateway::decode(&again).expect("what was read can be written");
        assert_eq!(same.encode(), again);
    }
    if let Ok(message) = ToClient::decode(body) {
        let again = message.encode();
        let same = ToClient::decode(&again).expect("what was read can be written");
        assert_eq!(same.encode(), again);
    }
    // Several messages, each with its length in front, to a client that believes them.
    let mut scene = client::Scene::new(true);
    let mut rest = body;
    while let Some((length, after)) = rest.split_first() {
        let (message, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        if let Ok(message) = ToClient::decode(message) {
            let _ = scene.handle_message(SimTime(1_000_000_000), 0, &message);
        }
    }
    let _ = scene.poses(scene.shown_frame(SimTime(2_000_000_000))).count();
});
