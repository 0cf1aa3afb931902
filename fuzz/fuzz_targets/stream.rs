//! Any bytes are a packet of the state stream or an error, and an error changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use reckoning::stream::{StreamDecoder, StreamEncoder, StreamSettings, seal_packet};

fuzz_target!(|bytes: &[u8]| {
    let settings = StreamSettings::default();
    let mut client = StreamDecoder::new(settings);
    let mut server = StreamEncoder::new(settings);
    let _ = server.acknowledge(0, bytes);
    // Several packets, so that later ones find what earlier ones left; each as it comes and in a right frame.
    for (number, records) in bytes.split(|byte| *byte == 0xa5).enumerate() {
        let _ = client.receive(records);
        let kind = 0x51 + records.first().map_or(0, |byte| byte % 2);
        let number = (number as u16 + 1).to_be_bytes();
        let mut packet = vec![kind, number[0], number[1], 0, 0, 0, 60, 0, 0, 0, 0];
        packet[8] = number[1].wrapping_sub(1);
        packet.extend_from_slice(records);
        seal_packet(&mut packet);
        let before = client.clone();
        if client.receive(&packet).is_err() {
            assert!(client == before);
        }
        let _ = client.acknowledge();
        for (_, shown) in client.all_shown(70.5) {
            assert!(shown.position.is_finite() && shown.rotation.is_finite());
        }
    }
});
