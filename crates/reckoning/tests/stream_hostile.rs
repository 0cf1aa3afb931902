//! Bytes of unknown origin: refused with a reason, and nothing has changed.

use crate::stream_common::{Balls, Session, at_once};
use proptest::prelude::*;
use reckoning::stream::{StreamDecoder, StreamError, StreamSettings, seal_packet};

fn session() -> Session {
    let mut session = Session::new(Balls::new(12, 31), StreamSettings::default());
    for _ in 0..41 {
        session.step(at_once, |now| vec![now]);
    }
    session
}

/// The packets of the next update, not yet received.
fn next_packets(session: &mut Session) -> Vec<Vec<u8>> {
    let tick = session.tick + session.tick % 2;
    for at in session.tick..=tick {
        session.exporter.observe(at, session.balls.samples());
        session.balls.step();
        session.balls.step();
    }
    session.encoder.update(tick, &[&session.exporter])
}

fn refused(decoder: &mut StreamDecoder, bytes: &[u8]) -> StreamError {
    let before = decoder.clone();
    let error = decoder.receive(bytes).expect_err("must be refused");
    assert!(*decoder == before, "{error}: and yet something changed");
    error
}

#[test]
fn truncated_and_damaged_packets_are_refused() {
    let mut session = session();
    let packet = next_packets(&mut session).remove(0);
    for len in 0..packet.len() {
        refused(&mut session.decoder, &packet[..len]);
    }
    for at in 0..packet.len() {
        let mut damaged = packet.clone();
        damaged[at] ^= 0x10;
        refused(&mut session.decoder, &damaged);
    }
    refused(&mut session.decoder, &vec![0x51; 70_000]);
    session.decoder.receive(&packet).expect("it was a good one");
    assert!(matches!(
        refused(&mut session.decoder, &packet),
        StreamError::Duplicate(_)
    ));
}

#[test]
fn packets_of_other_clients_are_refused_or_harmless() {
    let mut session = session();
    let packet = next_packets(&mut session).remove(0);
    let mut newcomer = StreamDecoder::new(session.settings);
    assert!(matches!(
        refused(&mut newcomer, &packet),
        StreamError::UnknownAck(_)
    ));
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_refused() {
    let mut session = session();
    let mut other = self::session();
    for _ in 0..200 {
        other.step(at_once, |now| vec![now]);
    }
    let ack = other.decoder.acknowledge();
    let error = session.encoder.acknowledge(session.tick, &ack);
    assert!(matches!(error, Err(StreamError::NeverSent(_))), "{error:?}");
    for len in 0..ack.len() {
        assert!(session.encoder.acknowledge(0, &ack[..len]).is_err());
    }
    for _ in 0..60 {
        session.step(at_once, |now| vec![now]);
        assert!(session.is_exact());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes_change_nothing_or_make_sense(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut decoder = session().decoder;
        refused_or_sane(&mut decoder, &bytes);
        // The same with a right frame, so that it is the records that are random.
        if bytes.len() >= 11 {
            bytes[0] = 0x51 + bytes[0] % 2;
            bytes[1..9].copy_from_slice(&[0, 30, 0, 0, 0, 60, 0, 18]);
            seal_packet(&mut bytes);
            refused_or_sane(&mut decoder, &bytes);
        }
    }

    #[test]
    fn random_acknowledgements_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
        let mut session = session();
        let _ = session.encoder.acknowledge(50, &bytes);
    }
}

fn refused_or_sane(decoder: &mut StreamDecoder, bytes: &[u8]) {
    let before = decoder.clone();
    match decoder.receive(bytes) {
        Err(_) => assert!(*decoder == before),
        Ok(()) => {
            for (_, shown) in decoder.all_shown(70.0) {
                assert!(shown.position.is_finite() && shown.rotation.is_finite());
            }
        }
    }
}
