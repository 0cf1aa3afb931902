//! Whatever arrives between members of a group: an error or a sensible parcel, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::replicate::{Word, decode, encode, open_settled, seal};

fuzz_target!(|bytes: &[u8]| {
    let _ = decode(bytes);
    let _ = open_settled(bytes);
    // Behind the checksum, where random bytes hardly get by themselves.
    let mut sealed = b"AR\x01\0\0\0\0".to_vec();
    sealed.extend_from_slice(bytes);
    seal(&mut sealed);
    if let Ok(parcel) = decode(&sealed) {
        for word in &parcel.words {
            if let Word::Settled(inner) = word {
                let _ = open_settled(inner);
            }
        }
        let again = encode(&parcel).expect("what was decoded is sensible");
        assert_eq!(decode(&again).as_ref(), Ok(&parcel));
    }
});
