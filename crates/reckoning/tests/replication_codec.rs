//! The wire format: what is written is read (DR-5); what is malformed, truncated or absurd is refused with a reason.

use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::codec::{
    BitReader, BitWriter, ClockReply, ClockRequest, Datagram, Event, GhostUpdate, Guarantee,
    Introduction, Limits, Message, PacketAcks, PacketHeader, RefusalReason, Token, Unsendable,
    VectorAck, Why, check_vector, read_vector, rounded, write_vector,
};
use reckoning::fairness::{Ack, PolicyTag};
use reckoning::{DrVector, Kind, Seq};

fn any_kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::AtRest),
        Just(Kind::Linear),
        Just(Kind::Circular),
        Just(Kind::Ballistic)
    ]
}

fn any_vec3(max: f64) -> impl Strategy<Value = DVec3> {
    let axis = move || prop_oneof![Just(0.0), -1.0..1.0_f64, -max..max];
    (axis(), axis(), axis()).prop_map(|(x, y, z)| DVec3::new(x, y, z))
}

fn any_rotation() -> impl Strategy<Value = DQuat> {
    let component = || prop_oneof![Just(0.0), Just(0.5), Just(1.0), -1.0..1.0_f64];
    (component(), component(), component(), component()).prop_map(|(x, y, z, w)| {
        let all = DQuat::from_xyzw(x, y, z, w);
        if all.length() < 1e-3 {
            DQuat::IDENTITY
        } else {
            all.normalize()
        }
    })
}

prop_compose! {
    fn any_vector()(
        entity in prop_oneof![0..100_u64, any::<u64>()],
        seq in 1..=(1_u32 << 31),
        time in 0..1_u64 << 62,
        kind in any_kind(),
        status in prop_oneof![Just(0), any::<u16>()],
        position in any_vec3(1e12),
        velocity in any_vec3(1e6),
        acceleration in any_vec3(1e6),
        rotation in any_rotation(),
        spin in any_vec3(1e4),
    ) -> DrVector {
        let (entity, seq, time) = (BodyId(entity), Seq(seq), SimTime(time));
        DrVector { entity, seq, time, kind, status, position, velocity, acceleration, rotation, spin }
    }
}

fn vector() -> DrVector {
    DrVector {
        entity: BodyId(7),
        seq: Seq(300),
        time: SimTime::from_secs(100.0),
        kind: Kind::Linear,
        status: 2,
        position: DVec3::new(101.25, 0.5, -33.75),
        velocity: DVec3::new(3.0, -1.5, 0.25),
        acceleration: DVec3::ZERO,
        rotation: DQuat::IDENTITY,
        spin: DVec3::ZERO,
    }
}

fn packet(messages: Vec<Message>) -> Datagram {
    Datagram::Packet {
        header: PacketHeader {
            token: Token(0xdead_beef),
            number: 65_000,
            answer: true,
            acks: Some(PacketAcks {
                newest: 12,
                depth: 127,
                mask: (1 << 126) | 5,
                held: SimTime::from_millis(12.0),
            }),
            time: Some(SimTime::from_secs(100.5)),
        },
        messages,
    }
}

fn ghost(entity: u64, vector: Option<DrVector>) -> Message {
    Message::Ghost(GhostUpdate {
        entity: BodyId(entity),
        introduction: Some(Introduction { class: 9, life: 3 }),
        vector: vector.map(|vector| (PolicyTag(1), vector)),
        timed: true,
        state: vec![(1, vec![1, 2, 3]), (31, Vec::new())],
    })
}

fn ack() -> VectorAck {
    let at = |secs| SimTime::from_secs(secs);
    VectorAck {
        entity: BodyId(7),
        policy: PolicyTag(3),
        ack: Ack {
            pairs: vec![(Seq(8), at(99.0)), (Seq(6), at(99.5)), (Seq(12), at(99.5))],
        },
    }
}

/// One of each kind.
fn all_datagrams() -> Vec<Datagram> {
    let (nonce, epoch, cookie, token) = (u64::MAX - 5, 77, [9; 16], Token(5));
    let event = |guarantee, number| {
        Message::Event(Event {
            guarantee,
            number,
            method: 500,
            arguments: vec![1; 300],
        })
    };
    let asked = SimTime(123_456_789);
    vec![
        Datagram::Discover { nonce },
        Datagram::Found { nonce, clients: 4 },
        Datagram::ConnectRequest { nonce },
        Datagram::Challenge {
            nonce,
            epoch,
            cookie,
            difficulty: 12,
        },
        Datagram::ConnectResponse {
            nonce,
            epoch,
            cookie,
            difficulty: 12,
            solution: 99,
        },
        Datagram::Accepted {
            nonce,
            token,
            client: 8,
        },
        Datagram::Refused {
            nonce,
            reason: RefusalReason::Full,
        },
        Datagram::ClockRequest {
            token,
            request: ClockRequest { asked },
        },
        Datagram::ClockReply {
            token,
            reply: ClockReply {
                asked,
                received: SimTime(5),
                replied: SimTime(6),
            },
        },
        Datagram::Disconnect { token },
        packet(Vec::new()),
        packet(vec![
            ghost(7, Some(vector())),
            ghost(8, None),
            Message::Kill(BodyId(u64::MAX)),
            Message::Ack(ack()),
            event(Guarantee::Ordered, u32::MAX),
            event(Guarantee::Unguaranteed, 0),
            Message::Vector {
                policy: PolicyTag(2),
                vector: vector(),
            },
        ]),
    ]
}

proptest! {
    // DR-5: entity, number, time and kind exactly; the rest to the grid of the wire; a second journey changes nothing.
    #[test]
    fn dr_5_a_vector_comes_back(vector in any_vector(), base in 0..1_u64 << 62) {
        let base = SimTime(base / 1000 * 1000);
        let mut out = BitWriter::new();
        write_vector(&mut out, &vector, base, true).unwrap();
        let bytes = out.into_bytes();
        let mut reader = BitReader::new(&bytes);
        let read = read_vector(&mut reader, base, &Limits::ANY_TIME).unwrap();
        prop_assert!(reader.finish("vector").is_ok());
        prop_assert_eq!(read, rounded(&vector));
        prop_assert_eq!(rounded(&read), read);
        prop_assert_eq!((read.entity, read.seq, read.kind, read.status), (vector.entity, vector.seq, vector.kind, vector.status));
        prop_assert!(vector.time.0 - read.time.0 < 1000);
        // Far out an f64 itself is coarser than the grid.
        let coarse = 1e-15 * vector.position.abs().max_element();
        prop_assert!((read.position - vector.position).abs().max_element() <= 0.5 / 1024.0 + coarse);
        let turned = (read.rotation.dot(vector.rotation).abs().min(1.0)).acos() * 2.0;
        prop_assert!(turned < 0.02_f64.to_radians(), "{} rad", turned);
        if vector.kind != Kind::AtRest {
            prop_assert!((read.velocity - vector.velocity).abs().max_element() <= 0.5 / 1024.0 + 1e-9);
            prop_assert!((read.spin - vector.spin).abs().max_element() <= 0.5 / 1024.0 + 1e-9);
        }
    }

    // DR-5: the same in a packet, with its time relative to the packet's.
    #[test]
    fn dr_5_a_packet_comes_back(vectors in prop::collection::vec(any_vector(), 0..8)) {
        let ghost = |vector: &DrVector| ghost(vector.entity.0, Some(rounded(vector)));
        let sent = packet(vectors.iter().map(ghost).collect());
        let bytes = sent.encode().unwrap();
        prop_assert_eq!(Datagram::decode(&bytes, &Limits::ANY_TIME), Ok(sent));
    }

    // Random bytes are refused or mean something that can be written again.
    #[test]
    fn any_bytes_are_a_datagram_or_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..16_u8) {
        if let Some(first) = bytes.first_mut() {
            *first = kind << 4 | 1;
        }
        if let Ok(datagram) = Datagram::decode(&bytes, &Limits::ANY_TIME) {
            let again = datagram.encode().expect("what was read can be written");
            prop_assert_eq!(Datagram::decode(&again, &Limits::ANY_TIME), Ok(datagram));
        }
    }
}

#[test]
fn every_kind_of_datagram_comes_back() {
    for datagram in all_datagrams() {
        let bytes = datagram.encode().unwrap();
        assert_eq!(Datagram::decode(&bytes, &Limits::ANY_TIME), Ok(datagram));
    }
}

#[test]
fn every_truncated_or_lengthened_datagram_is_refused() {
    for datagram in all_datagrams() {
        let mut bytes = datagram.encode().unwrap();
        for length in 0..bytes.len() {
            let cut = Datagram::decode(&bytes[..length], &Limits::ANY_TIME);
            assert!(
                cut.is_err(),
                "{length} of {} bytes of {datagram:?}",
                bytes.len()
            );
        }
        bytes.push(1);
        assert!(Datagram::decode(&bytes, &Limits::ANY_TIME).is_err());
    }
}

/// Bit errors that the checksum of UDP missed: refused or readable, never a panic.
#[test]
fn flipped_bits_never_panic() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for datagram in all_datagrams() {
        let bytes = datagram.encode().unwrap();
        for _ in 0..2000 {
            let mut hurt = bytes.clone();
            for _ in 0..rng.random_range(1..6) {
                let bit = rng.random_range(0..hurt.len() * 8);
                hurt[bit / 8] ^= 1 << (bit % 8);
            }
            if let Ok(read) = Datagram::decode(&hurt, &Limits::ANY_TIME) {
                let again = read.encode().expect("what was read can be written");
                assert_eq!(Datagram::decode(&again, &Limits::ANY_TIME), Ok(read));
            }
        }
    }
}

#[test]
fn what_cannot_be_is_not_sent() {
    let bad = |change: fn(&mut DrVector)| {
        let mut vector = vector();
        change(&mut vector);
        let mut out = BitWriter::new();
        let refused = write_vector(&mut out, &vector, SimTime::ZERO, true);
        assert_eq!(out.len_bits(), 0, "nothing is written");
        let refused = refused.expect_err("absurd");
        let checked = check_vector(&vector).expect_err("absurd");
        assert_eq!(checked.to_string(), refused.to_string());
        refused
    };
    assert!(matches!(
        bad(|v| v.position.x = f64::NAN),
        Unsendable::OutOfRange {
            what: "position",
            ..
        }
    ));
    assert!(matches!(
        bad(|v| v.velocity.y = f64::INFINITY),
        Unsendable::OutOfRange {
            what: "velocity",
            ..
        }
    ));
    assert!(matches!(
        bad(|v| v.acceleration.z = -1e7),
        Unsendable::OutOfRange { .. }
    ));
    assert!(matches!(
        bad(|v| v.spin.z = f64::NEG_INFINITY),
        Unsendable::OutOfRange { .. }
    ));
    assert!(matches!(
        bad(|v| v.rotation = DQuat::from_xyzw(0.0, 0.0, 0.0, 2.0)),
        Unsendable::NotUnit(_)
    ));
    assert!(matches!(
        bad(|v| v.rotation.w = f64::NAN),
        Unsendable::NotUnit(_)
    ));
    assert!(matches!(bad(|v| v.seq = Seq(0)), Unsendable::BadSeq(0)));
    assert!(matches!(
        bad(|v| v.time = SimTime(u64::MAX)),
        Unsendable::TooLate(_)
    ));
}

/// Why a hand-made vector is refused.
fn why(write: impl Fn(&mut BitWriter)) -> Why {
    let mut out = BitWriter::new();
    write(&mut out);
    out.bits(0, 64);
    let bytes = out.into_bytes();
    read_vector(
        &mut BitReader::new(&bytes),
        SimTime::ZERO,
        &Limits::ANY_TIME,
    )
    .expect_err("absurd")
    .why
}

#[test]
fn absurd_vectors_are_refused_with_a_reason() {
    let head = |out: &mut BitWriter, seq: u64| {
        out.elastic(7);
        out.elastic(seq);
        out.bits(0, 2);
        out.flag(false);
        out.flag(false);
    };
    assert_eq!(why(|out| head(out, 0)), Why::TooSmall(0));
    assert_eq!(why(|out| head(out, 1 << 32)), Why::TooLarge(1 << 32));
    let far = 1_i64 << 51;
    let out_of_range = why(|out| {
        head(out, 1);
        out.signed(far);
    });
    assert_eq!(out_of_range, Why::TooLarge(far as u64));
    let not_unit = why(|out| {
        head(out, 1);
        out.bits(0, 18);
        out.bits(0, 2);
        [(); 3].iter().for_each(|()| out.bits(16_000, 14));
    });
    assert_eq!(not_unit, Why::NotUnit);
    let before_the_start = why(|out| {
        out.elastic(7);
        out.elastic(1);
        out.bits(0, 2);
        out.flag(true);
        out.signed(5);
    });
    assert_eq!(before_the_start, Why::TooSmall(5));
}

#[test]
fn what_claims_to_come_from_the_future_is_refused() {
    let limits = |now_secs, slack_ms| Limits {
        now: SimTime::from_secs(now_secs),
        slack: SimTime::from_millis(slack_ms),
    };
    let mut out = BitWriter::new();
    write_vector(&mut out, &vector(), SimTime::ZERO, true).unwrap();
    let bytes = out.into_bytes();
    let read = |limits: &Limits| read_vector(&mut BitReader::new(&bytes), SimTime::ZERO, limits);
    assert!(read(&limits(99.9, 100.0)).is_ok());
    let early = read(&limits(99.9, 99.0)).expect_err("1 ms too early").why;
    let ahead = SimTime::from_millis(100.0);
    assert_eq!(early, Why::Future { ahead });
    // A packet's own time, and receptions that have not happened yet.
    let whole = packet(vec![Message::Ack(ack())]).encode().unwrap();
    assert!(Datagram::decode(&whole, &limits(100.5, 0.0)).is_ok());
    let early = Datagram::decode(&whole, &limits(99.0, 100.0)).expect_err("early");
    assert!(matches!(early.why, Why::Future { .. }));
}

#[test]
fn unknown_versions_kinds_and_tags_are_named() {
    let mut bytes = all_datagrams()[0].encode().unwrap();
    bytes[0] = bytes[0] & 0xf0 | 2;
    let refused = |bytes: &[u8]| {
        Datagram::decode(bytes, &Limits::ANY_TIME)
            .expect_err("refused")
            .why
    };
    assert_eq!(refused(&bytes), Why::UnknownVersion(2));
    bytes[0] = 15 << 4 | 1;
    assert_eq!(refused(&bytes), Why::UnknownKind(15));
    assert_eq!(refused(&vec![1; 1401]), Why::TooLong(1401));
    let mut empty = packet(Vec::new()).encode().unwrap();
    let last = empty.len() - 1;
    empty[last] |= 0xf0;
    assert!(Datagram::decode(&empty, &Limits::ANY_TIME).is_err());
}

#[test]
fn acks_out_of_order_or_twice_are_refused() {
    let mut twice = ack();
    twice.ack.pairs[2].0 = Seq(8);
    assert!(
        Message::Ack(twice)
            .write(&mut BitWriter::new(), SimTime::ZERO)
            .is_err()
    );
    let mut backwards = ack();
    backwards.ack.pairs[0].1 = SimTime::from_secs(99.9);
    assert!(
        Message::Ack(backwards)
            .write(&mut BitWriter::new(), SimTime::ZERO)
            .is_err()
    );
    let mut none = ack();
    none.ack.pairs.clear();
    assert!(
        Message::Ack(none)
            .write(&mut BitWriter::new(), SimTime::ZERO)
            .is_err()
    );
    let mut nine = ack();
    nine.ack.pairs = (1..10).map(|seq| (Seq(seq), SimTime(0))).collect();
    assert!(
        Message::Ack(nine)
            .write(&mut BitWriter::new(), SimTime::ZERO)
            .is_err()
    );
}

/// What a vector costs, so that nobody makes it dearer unawares.
#[test]
fn sizes() {
    let bits = |vector: &DrVector| {
        let mut out = BitWriter::new();
        write_vector(&mut out, vector, vector.time, true).unwrap();
        out.len_bits()
    };
    let resting = DrVector {
        kind: Kind::AtRest,
        ..vector()
    };
    assert_eq!(bits(&vector()), 204, "26 bytes, of which 6 the rotation");
    assert_eq!(bits(&resting), 153, "20 bytes");
}

const REFERENCE: &str = include_str!("../../../docs/protocols/dead-reckoning.md");

/// The very bytes, and those of the reference: for whoever writes another implementation from it.
#[test]
fn golden_bytes() {
    let hex = |datagram: Datagram| -> String {
        let bytes = datagram.encode().unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut text = hex.as_str();
        while !text.is_empty() {
            let (line, rest) = text.split_at(text.len().min(80));
            assert!(REFERENCE.contains(line), "not in the reference: {line}");
            text = rest;
        }
        hex
    };
    assert_eq!(
        hex(Datagram::Disconnect {
            token: Token(0x0102_0304)
        }),
        "b104030201"
    );
    assert_eq!(
        hex(packet(vec![ghost(7, Some(vector()))])),
        concat!(
            "81efbeaddee8fd3300fc0b0000000000000000000000000000800eb8bb8108f647c313000600c001",
            "0000c08084a51490d00b0048002a1700a2ff8601400010006c0090f99f02c04080c0000000"
        )
    );
}
