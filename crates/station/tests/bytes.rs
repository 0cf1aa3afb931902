//! Bytes from anywhere: what is sealed opens again, what is forged does not, anything else is an error; and how many bytes there are.

use crate::common::*;
use domain::{BodyId, SimTime};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use station::messages::*;
use station::*;

const A: StationId = StationId(0);
const B: StationId = StationId(1);
const STEPS: f64 = 4096.0;

fn key() -> LinkKey {
    LinkKey::for_link(b"secret", A, B)
}

fn vector(rng: &mut Pcg64) -> DVec3 {
    DVec3::new(
        rng.random_range(-9e3..9e3),
        rng.random_range(-9e3..9e3),
        0.0,
    )
}

fn on_grid(vector: DVec3) -> DVec3 {
    (vector * STEPS).round() / STEPS
}

fn any_message(rng: &mut Pcg64) -> Message {
    let time = SimTime(rng.random_range(0..40_000_000_u64) * 1_000);
    let low = rng.random_range(0..u64::from(u32::MAX));
    let pair = PairId::new(BodyId(low), BodyId(low + rng.random_range(1..1_000))).expect("two");
    match rng.random_range(0..6) {
        0 => Message::Update(Update {
            body: BodyId(rng.random()),
            time,
            segment: rng.random(),
            position: on_grid(vector(rng)),
            velocity: rng.random::<bool>().then(|| on_grid(vector(rng))),
            acceleration: rng.random::<bool>().then(|| on_grid(vector(rng))),
        }),
        1 => Message::Record(Record {
            pair,
            kind: if rng.random() {
                RecordKind::Notice
            } else {
                RecordKind::Done
            },
            index: rng.random(),
            time,
            score: rng.random(),
            velocities: rng
                .random::<bool>()
                .then(|| [on_grid(vector(rng)), on_grid(vector(rng))]),
            earlier: (0..rng.random_range(0..=MAX_EARLIER))
                .map(|i| SimTime(i as u64 * 77_000))
                .collect(),
        }),
        2 => Message::Vote(Vote {
            pair,
            kind: [
                VoteKind::Request,
                VoteKind::Yes,
                VoteKind::No,
                VoteKind::Ack,
            ][rng.random_range(0..4)],
        }),
        3 => Message::Ask(ClockAsk {
            asked: SimTime(rng.random_range(0..MAX_TIME.0)),
        }),
        4 => Message::Answer(ClockAnswer {
            asked: SimTime(rng.random_range(0..1 << 40)),
            received: SimTime(rng.random_range(0..1 << 40)),
            replied: SimTime(1 << 41),
        }),
        _ => Message::Report(Report {
            body: BodyId(rng.random_range(0..999)),
            deviation: (rng.random_range(0.0..99.0) * STEPS).round() / STEPS,
        }),
    }
}

fn any_datagram(rng: &mut Pcg64) -> Datagram {
    Datagram {
        header: Header {
            incarnation: rng.random(),
            sequence: rng.random_range(0..u64::MAX >> 1),
            sent: SimTime(rng.random_range(0..MAX_TIME.0 / 1_000) * 1_000),
        },
        messages: (0..rng.random_range(0..12))
            .map(|_| any_message(rng))
            .collect(),
    }
}

#[test]
fn what_is_sealed_opens_again() {
    let mut rng = Pcg64::seed_from_u64(1);
    for _ in 0..2_000 {
        let mut datagram = any_datagram(&mut rng);
        datagram.header.sent = SimTime(rng.random_range(0..60_000_000) * 1_000);
        let (bytes, written) = datagram.seal(&key(), A, B, STEPS);
        assert!(bytes.len() <= MAX_DATAGRAM_BYTES);
        datagram.messages.truncate(written);
        assert_eq!(Datagram::open(&bytes, &key(), A, B, STEPS), Ok(datagram));
    }
}

// A datagram that was changed in any bit, or is for somebody else, or under another key, is refused.
#[test]
fn forgeries_are_refused() {
    let mut rng = Pcg64::seed_from_u64(2);
    let datagram = any_datagram(&mut rng);
    let (bytes, _) = datagram.seal(&key(), A, B, STEPS);
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(
            Datagram::open(&changed, &key(), A, B, STEPS),
            Err(Refusal::Forged)
        );
    }
    for end in 0..bytes.len() {
        assert!(Datagram::open(&bytes[..end], &key(), A, B, STEPS).is_err());
    }
    assert_eq!(
        Datagram::open(&bytes, &key(), B, A, STEPS),
        Err(Refusal::Forged),
        "turned round"
    );
    assert_eq!(
        Datagram::open(&bytes, &LinkKey::none(), A, B, STEPS),
        Err(Refusal::Forged)
    );
    let long = vec![0; MAX_DATAGRAM_BYTES + 1];
    assert_eq!(
        Datagram::open(&long, &key(), A, B, STEPS),
        Err(Refusal::TooLong(1201))
    );
}

/// Arbitrary bytes behind a right digest, as a peer with a bug or a grudge would send them.
fn authentic(body: &[u8]) -> Vec<u8> {
    // The digest of an empty message list over the same link, recomputed for any body: sealing is the only way to get one.
    station::messages::seal_bytes(body, &key(), A, B)
}

// Decoder: any authentic bytes are a datagram that encodes to itself, or an error; and a station fed with them does not panic, and stays
// within its bounds.
#[test]
fn any_bytes_are_a_datagram_or_an_error() {
    let mut rng = Pcg64::seed_from_u64(3);
    let mut opened = 0;
    let mut world = Scenario::Clc.world(Settings::improved(), Net::GOOD, 1);
    world.run_until(ms(1_300));
    let mut victim = world.stations[&B].clone();
    let mut now = world.now;
    for round in 0..60_000_u64 {
        let mut body: Vec<u8> = match round % 3 {
            0 => (0..rng.random_range(0..80)).map(|_| rng.random()).collect(),
            _ => {
                let (bytes, _) = any_datagram(&mut rng).seal(&key(), A, B, STEPS);
                bytes[..bytes.len() - DIGEST_BYTES].to_vec()
            }
        };
        if round % 3 == 2 && !body.is_empty() {
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..body.len());
                body[at] ^= 1 << rng.random_range(0..8);
            }
        }
        if round % 5 == 0
            && let Some(first) = body.first_mut()
        {
            *first = VERSION;
        }
        let bytes = authentic(&body);
        if let Ok(datagram) = Datagram::open(&bytes, &key(), A, B, STEPS) {
            opened += 1;
            let (again, _) = datagram.seal(&key(), A, B, STEPS);
            assert_eq!(Datagram::open(&again, &key(), A, B, STEPS), Ok(datagram));
        }
        let _ = victim.handle_datagram(now, A, &bytes);
        if round % 50 == 0 {
            now += FRAME;
            victim.handle_frame(now);
            while victim.poll_transmit().is_some() {}
            while victim.poll_event().is_some() {}
            let view = victim.view(BodyId(2)).expect("its own");
            assert!(view.physics.is_finite());
        }
    }
    assert!(opened > 10_000, "{opened}");
    let refused: u64 = victim.traffic().refused.iter().sum();
    assert!(refused > 10_000, "bad packets are counted: {refused}");
}

// Golden bytes: a change of any of them is a new version.
#[test]
fn golden_bytes() {
    let datagram = Datagram {
        header: Header {
            incarnation: 3,
            sequence: 41,
            sent: ms(1_440),
        },
        messages: vec![
            Message::Update(Update {
                body: BodyId(1),
                time: ms(1_440),
                segment: 2,
                position: DVec3::new(-12.5, 100.25, 0.0),
                velocity: None,
                acceleration: None,
            }),
            Message::Record(Record {
                pair: pair(1, 2),
                kind: RecordKind::Notice,
                index: 1,
                time: ms(1_500),
                score: 240,
                velocities: Some([DVec3::new(-250.0, 3.5, 0.0), DVec3::new(250.0, 0.0, 0.0)]),
                earlier: vec![],
            }),
        ],
    };
    let (bytes, _) = datagram.seal(&LinkKey::new(b"golden"), A, B, STEPS);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, GOLDEN, "{} bytes", bytes.len());
}

const GOLDEN: &str =
    "0142235500f915012010fd3f5200880490201044c0d4f0abff9f7f0060a002007a0000007b6f836036332e1a";

// ML-44: every byte that leaves is counted in exactly one class.
#[test]
fn bytes_are_counted_by_class() {
    for bundle in [false, true] {
        let mut settings = Settings::improved();
        settings.wire.bundle = bundle;
        let mut world = Scenario::Clc
            .world(settings, Net::PERFECT, 1)
            .keeping_sent();
        world.run_until(ms(2_500));
        for id in [A, B] {
            let traffic = world.stations[&id].traffic();
            let counted: u64 = traffic.sent.iter().map(|amount| amount.bytes).sum();
            let sent: Vec<_> = world
                .sent
                .iter()
                .filter(|(_, from, _)| *from == id)
                .collect();
            let left: usize = sent
                .iter()
                .map(|(_, _, transmit)| transmit.bytes.len())
                .sum();
            assert_eq!(counted, left as u64);
            assert_eq!(traffic.datagrams_sent, sent.len() as u64);
            let of = |class: Class| traffic.sent[class as usize];
            assert!(
                of(Class::Updates).messages > 10
                    && of(Class::Notices).messages > 0
                    && of(Class::Counts).messages > 0
            );
            let other = world.stations[&StationId(1 - id.0)].traffic();
            for class in Class::ALL {
                // What was sent in the last frame is still under way.
                assert!(other.received[class as usize].bytes <= of(class).bytes);
                assert!(of(class).bytes - other.received[class as usize].bytes < 300);
            }
            assert!(bundle || sent.iter().all(|(_, _, transmit)| transmit.class.is_some()));
        }
    }
}

// The sizes that docs/protocols/motion-lock.md promises, framing apart.
#[test]
fn messages_are_as_small_as_promised() {
    let size = |message: Message| {
        let datagram = |messages| Datagram {
            header: Header {
                incarnation: 1,
                sequence: 1_000,
                sent: ms(60_000),
            },
            messages,
        };
        let length = |messages| datagram(messages).seal(&key(), A, B, STEPS).0.len();
        (length(vec![message]) - length(vec![]), length(vec![]))
    };
    let update = |velocity, z| Update {
        body: BodyId(2),
        time: ms(60_000),
        segment: 3,
        position: DVec3::new(-310.7, 222.2, z),
        velocity,
        acceleration: None,
    };
    let record = |velocities| Record {
        pair: pair(1, 2),
        kind: RecordKind::Notice,
        index: 12,
        time: ms(60_090),
        score: 240,
        velocities,
        earlier: Vec::new(),
    };
    let fast = DVec3::new(412.0, -250.5, 0.0);
    let sizes = [
        size(Message::Update(update(None, 0.0))).0,
        size(Message::Update(update(None, 97.3))).0,
        size(Message::Update(update(Some(fast), 0.0))).0,
        size(Message::Record(record(None))).0,
        size(Message::Record(record(Some([fast, -fast])))).0,
        size(Message::Record(record(Some([fast + DVec3::Z * 99.9; 2])))).0,
    ];
    assert_eq!(sizes, [11, 14, 19, 8, 23, 27]);
    assert_eq!(size(Message::Update(update(None, 0.0))).1, 16, "framing");
}
