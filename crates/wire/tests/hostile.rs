//! Bytes from nowhere: an error, never a panic, never a wrong envelope.

use crate::common::{envelopes, sample, sample_offer, visitor};
use domain::{BodyId, Epoch, JointKind, Tick};
use glam::{DVec3, Quat, Vec3};
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use wire::bytes::{Malformed, Why};
use wire::{DecodeError, EncodeError, Envelope, Message, Offer, Problem, decode, encode, seal};

const HEADER: usize = 7;

#[test]
fn every_single_flipped_bit_is_noticed() {
    let good = encode(&sample()).expect("the sample is valid");
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&bytes).is_err(), "bit {bit}");
    }
}

#[test]
fn every_cut_is_noticed_even_behind_the_checksum() {
    let good = encode(&sample()).expect("the sample is valid");
    for length in 0..good.len() {
        let mut bytes = good[..length].to_vec();
        seal(&mut bytes);
        assert!(decode(&bytes).is_err(), "{length} bytes of {}", good.len());
    }
}

#[test]
fn trailing_bytes_are_an_error() {
    let mut bytes = encode(&sample()).expect("the sample is valid");
    bytes.push(0);
    seal(&mut bytes);
    let error = decode(&bytes).expect_err("one byte too many");
    assert!(
        matches!(
            error,
            DecodeError::Malformed(Malformed {
                why: Why::Trailing(1),
                ..
            })
        ),
        "{error}"
    );
}

/// Whatever decodes is a valid envelope: it can be encoded again and means the same.
fn decode_anything(bytes: &[u8]) -> bool {
    let Ok(envelope) = decode(bytes) else {
        return false;
    };
    let again = encode(&envelope).expect("what was decoded is valid");
    assert_eq!(decode(&again), Ok(envelope));
    true
}

#[test]
fn random_bytes_behind_a_good_header_never_panic() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut bytes = Vec::new();
    for _ in 0..200_000 {
        bytes.clear();
        bytes.extend_from_slice(b"AM\x01\0\0\0\0");
        let length = rng.random_range(0..120);
        // A sensible beginning, so that most cases get as far as a message.
        bytes.extend([1, 2, 60, 99, rng.random_range(1..4), rng.random_range(0..9)]);
        bytes.extend((0..length).map(|_| rng.next_u32() as u8 >> rng.random_range(0..7)));
        seal(&mut bytes);
        decode_anything(&bytes);
    }
}

#[test]
fn damaged_envelopes_behind_the_checksum_never_panic() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let good = encode(&sample()).expect("the sample is valid");
    let mut still_valid = 0;
    for _ in 0..200_000 {
        let mut bytes = good.clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(HEADER..bytes.len());
            match rng.random_range(0..4) {
                0 => bytes[at] = rng.next_u32() as u8,
                1 => bytes[at] = [0, 0x7f, 0x80, 0xff][rng.random_range(0..4)],
                _ => bytes[at] ^= 1 << rng.random_range(0..8),
            }
        }
        seal(&mut bytes);
        still_valid += usize::from(decode_anything(&bytes));
    }
    // Many flips only change a number: then the cases do reach the end of the decoder.
    assert!(still_valid > 10_000, "only {still_valid}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_envelope_survives_damage(envelope in envelopes(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = encode(&envelope).expect("the strategies make valid envelopes");
        let at = HEADER + at.index(bytes.len() - HEADER);
        bytes[at] = byte;
        seal(&mut bytes);
        decode_anything(&bytes);
    }
}

#[test]
fn nested_compounds_do_not_exhaust_the_stack() {
    // from, to, tick, sent_at, one message: an offer by traversal with one member …
    let mut bytes = b"AM\x01\0\0\0\0\x01\x02\x00\x00\x01\x02\x01\x00\x01\x01\x00\x00\x00".to_vec();
    bytes[2] = wire::VERSION;
    bytes.extend([1, 0, 0]); // … one body, id 0, a form of its own …
    for _ in 0..500_000 {
        bytes.extend([5, 1]); // … that is a compound of one part that is a compound …
        bytes.extend([0; 28]);
    }
    seal(&mut bytes);
    let error = decode(&bytes).expect_err("compounds do not nest");
    assert!(
        error.to_string().contains("shape: not allowed here"),
        "{error}"
    );
}

#[test]
fn other_versions_and_other_bytes_are_told_apart() {
    let good = encode(&sample()).expect("the sample is valid");
    let mut newer = good.clone();
    newer[2] = wire::VERSION + 1;
    let unknown = DecodeError::UnknownVersion(wire::VERSION + 1);
    assert_eq!(decode(&newer), Err(unknown));
    assert_eq!(decode(b"GET / HTTP/1.1"), Err(DecodeError::NotAnEnvelope));
    assert_eq!(decode(&[]), Err(DecodeError::NotAnEnvelope));
    let long = vec![0; wire::MAX_ENVELOPE_BYTES + 1];
    assert_eq!(decode(&long), Err(DecodeError::TooLong(long.len())));
}

fn problem_of(change: impl FnOnce(&mut Offer)) -> (String, Problem) {
    let mut offer = sample_offer();
    change(&mut offer);
    let envelope = Envelope {
        messages: vec![Message::Offer(Box::new(offer))],
        ..sample()
    };
    match encode(&envelope) {
        Err(EncodeError::Invalid(invalid)) => (invalid.place, invalid.problem),
        other => panic!("an impossible offer was encoded: {other:?}"),
    }
}

#[test]
fn an_impossible_offer_is_refused_and_the_place_named() {
    let place = |change: fn(&mut Offer)| problem_of(change).0;
    let body = "messages[0].cluster.bodies[2]";
    assert_eq!(
        place(|o| o.cluster.bodies[2].motion.rotation = Quat::from_xyzw(0.0, 0.0, 0.0, 0.5)),
        format!("{body}.motion.rotation")
    );
    assert_eq!(
        place(|o| o.cluster.bodies[2].motion.position = DVec3::splat(f64::NAN)),
        format!("{body}.motion.position")
    );
    assert_eq!(
        place(|o| o.cluster.bodies[2].motion.linear_velocity.y = f32::INFINITY),
        format!("{body}.motion.linear_velocity")
    );
    assert_eq!(
        place(|o| o.cluster.bodies[2].form.shape = domain::Shape::Plane),
        format!("{body}.form.shape")
    );
    assert_eq!(
        place(|o| o.cluster.bodies[2].form.material.density = 0.0),
        format!("{body}.form.material.density")
    );
    assert_eq!(
        place(|o| o.cluster.contacts[0].points[0].place = Vec3::NAN),
        "messages[0].cluster.contacts[0].points[0].place"
    );
    assert_eq!(
        place(|o| o.members[1].epoch = Epoch(u32::MAX)),
        "messages[0].members[1].epoch"
    );
    assert_eq!(place(|o| o.tick = Tick(u64::MAX)), "messages[0].tick");
    assert_eq!(
        place(|o| o.cluster.joints[0].axis = Vec3::ZERO),
        "messages[0].cluster.joints[0].axis"
    );
}

#[test]
fn an_inconsistent_offer_is_refused() {
    assert!(matches!(
        problem_of(|o| o.cluster.bodies.swap(0, 1)).1,
        Problem::NotAscending
    ));
    assert!(matches!(
        problem_of(|o| o.cluster.bodies[1].id = o.cluster.bodies[0].id).1,
        Problem::NotAscending
    ));
    assert!(matches!(
        problem_of(|o| o.members.truncate(1)).1,
        Problem::WrongCount { .. }
    ));
    assert_eq!(
        problem_of(|o| o.cluster.joints[0].b = BodyId(999)).1,
        Problem::NotAMember(BodyId(999))
    );
    assert_eq!(
        problem_of(|o| o.cluster.joints[0].b = o.cluster.joints[0].a).1,
        Problem::SameEnds
    );
    assert_eq!(
        problem_of(|o| o.cluster.contacts[0].a = o.cluster.contacts[0].b).1,
        Problem::SameEnds
    );
    assert_eq!(problem_of(|o| o.handover.0 = 0).1, Problem::NoNumber);
    let empty = |o: &mut Offer| {
        *o = Offer {
            members: vec![],
            cluster: domain::Cluster::default(),
            unborn: vec![],
            told: vec![],
            bonds: vec![],
            ..o.clone()
        }
    };
    assert_eq!(problem_of(empty).1, Problem::Empty);
    // A ball joint has no axis: anything finite will do there.
    let mut offer = sample_offer();
    offer.cluster.joints[0].kind = JointKind::Spherical;
    offer.cluster.joints[0].axis = Vec3::ZERO;
    assert_eq!(offer.check(), Ok(()));
}

#[test]
fn visitors_and_messages_are_bounded() {
    let with = |messages| {
        encode(&Envelope {
            messages,
            ..sample()
        })
    };
    let visitors = vec![visitor(7, [0.0; 4]); wire::MAX_VISITORS + 1];
    assert!(with(vec![Message::Introduce { visitors }]).is_err());
    for nowhere in [
        [2.0, 0.0, 1.0, 0.0],
        [0.0, f64::NAN, 0.0, 0.0],
        [0.0, 0.0, 0.0, f64::INFINITY],
    ] {
        let visitors = vec![visitor(7, nowhere)];
        assert!(
            with(vec![Message::Introduce { visitors }]).is_err(),
            "{nowhere:?}"
        );
    }
    let many = vec![
        Message::Restarted {
            snapshot: Tick(1),
            incarnation: 2
        };
        wire::MAX_MESSAGES + 1
    ];
    assert!(with(many).is_err());
}
