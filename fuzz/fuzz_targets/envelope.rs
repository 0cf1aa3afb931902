//! Any bytes are an envelope or an error; an envelope can be encoded and means the same again.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    // As they come, and with the header and checksum that let them pass to the decoder proper.
    let _ = wire::decode(body);
    let mut sealed = b"AM\x01\0\0\0\0".to_vec();
    sealed.extend_from_slice(body);
    wire::seal(&mut sealed);
    if let Ok(envelope) = wire::decode(&sealed) {
        let again = wire::encode(&envelope).expect("what was decoded is valid");
        assert_eq!(wire::decode(&again), Ok(envelope));
    }
});
