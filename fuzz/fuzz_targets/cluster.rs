//! Any bytes are a message between processes of a cluster, or an error; a message can be encoded and means the same again.

#![no_main]

use channel::{Channel, ChannelConfig, EndpointId};
use client_protocol::{Frames, InOrder, decode_missing, split_number};
use cluster::messages::{FromRegion, Heartbeat, Pulse, ToRegion, decode, encode};
use cluster::names::NodeId;
use cluster::schema::{ClusterView, Keys};
use cluster::store::{Entry, Revision};
use domain::SimTime;
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn read<T: DeserializeOwned + Serialize>(bytes: &[u8]) {
    if let Ok(message) = decode::<T>(bytes) {
        let again = encode(&message);
        let same: T = decode(&again).expect("what was read can be written");
        assert_eq!(encode(&same), again);
    }
}

fuzz_target!(|bytes: &[u8]| {
    read::<FromRegion>(bytes);
    read::<ToRegion>(bytes);
    read::<Heartbeat>(bytes);
    read::<Pulse>(bytes);

    // The control plane's values.
    let keys = Keys::new("x");
    let names = [keys.leader(), keys.world(), keys.assignment(), keys.node(NodeId(1))];
    let entries = names.into_iter().map(|key| {
        let value = bytes.to_vec();
        let revision = Revision(1);
        (key.clone(), Entry { key, value, revision })
    });
    ClusterView::read(&keys, &entries.collect());

    // A channel's datagrams, as they come.
    let (me, peer) = (EndpointId(1), EndpointId(2));
    let mut channel = Channel::new(me, peer, 1, ChannelConfig::default());
    let _ = channel.handle_datagram(SimTime(1), bytes);
    while channel.poll_delivered().is_some() {}
    while channel.poll_transmit(SimTime(2)).is_some() {}

    // WebTransport's frames, cut anywhere.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let mut frames = Frames::new(1 << 16);
    let mut order = InOrder::default();
    for part in [first, second] {
        frames.push(part);
        while let Ok(Some(frame)) = frames.next_message() {
            if let Some((number, message)) = split_number(&frame) {
                let _ = order.push(number, message.to_vec());
            }
        }
    }
    while order.pop().is_some() {}
    assert!(order.missing().len() <= client_protocol::MAX_MISSING);
    let _ = decode_missing(bytes);
});
