//! Bytes from anywhere, stations that lie, stations that die.

mod common;
use common::*;
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

/// A (honest) and B with their bodies 40 apart at rest; what B says is up to the test.
fn beside_a_cheat() -> World {
    let mut settings = Settings::improved();
    settings.guard.max_speed = 600.0;
    let mut world = World::new(&[settings; 3], Net::PERFECT, 1);
    world.body(
        0,
        1,
        Ball::new(10.0),
        State::moving(DVec3::ZERO, DVec3::Y * 5.0),
    );
    world.body(1, 2, Ball::new(10.0), State::at(DVec3::X * 400.0));
    world.body(2, 3, Ball::new(10.0), State::at(DVec3::X * -300.0));
    world.dead.push(B);
    for _ in 0..5 {
        world.frame();
    }
    world
}

fn lie(world: &mut World, message: Message) -> Option<Disbelief> {
    let now = world.now;
    let before = world.events.len();
    world.station(0).handle_message(now, B, message);
    world.frame();
    world.events[before..]
        .iter()
        .find_map(|(id, event)| match event {
            Event::Disbelieved { peer, why, .. } if *id == A && *peer == B => Some(*why),
            _ => None,
        })
}

fn claim(time: SimTime, index: u32, kind: RecordKind) -> Record {
    Record {
        pair: pair(1, 2),
        kind,
        index,
        time,
        score: 255,
        velocities: Some([DVec3::X * 90.0, DVec3::X * -9.0]),
        earlier: Vec::new(),
    }
}

// ML-59: a cheating station cannot invent hits from afar, from the future, with energy from nowhere, without end, for pairs that are not its
// own, or move others' bodies. Nothing changes, all is counted.
#[test]
fn a_cheat_is_not_believed() {
    let mut world = beside_a_cheat();
    let now = world.now;
    let cases = [
        (
            Message::Record(claim(now, 1, RecordKind::Done)),
            Disbelief::OutOfReach,
        ),
        (
            Message::Record(claim(now + ms(900), 1, RecordKind::Notice)),
            Disbelief::TooFarAhead,
        ),
        (
            Message::Record(claim(now + ms(200), 1, RecordKind::Done)),
            Disbelief::TooFarAhead,
        ),
        (
            Message::Record(claim(ms(1), 5_000_000, RecordKind::Done)),
            Disbelief::TooMany,
        ),
        (
            Message::Record(Record {
                pair: pair(1, 3),
                ..claim(now, 1, RecordKind::Done)
            }),
            Disbelief::NotOurs,
        ),
    ];
    for (message, why) in cases {
        assert_eq!(lie(&mut world, message.clone()), Some(why), "{message:?}");
    }
    let fast = Record {
        velocities: Some([DVec3::X * 590.0, DVec3::X * -590.0]),
        ..claim(world.now, 1, RecordKind::Done)
    };
    assert_eq!(
        lie(&mut world, Message::Record(fast.clone())),
        Some(Disbelief::Implausible)
    );
    let faster = Record {
        velocities: Some([DVec3::X * 6e5; 2]),
        ..fast
    };
    assert_eq!(
        lie(&mut world, Message::Record(faster)),
        Some(Disbelief::Implausible)
    );
    let update = |body, position, time| {
        Message::Update(Update {
            body: BodyId(body),
            time,
            segment: 0,
            position,
            velocity: None,
            acceleration: None,
        })
    };
    let now = world.now;
    assert_eq!(
        lie(&mut world, update(3, DVec3::X * 5.0, now)),
        Some(Disbelief::NotYours)
    );
    assert_eq!(
        lie(&mut world, update(1, DVec3::X * 5.0, now)),
        Some(Disbelief::NotYours)
    );
    let teleport = update(2, DVec3::X * 5e4, world.now);
    assert_eq!(
        lie(&mut world, teleport),
        Some(Disbelief::Implausible),
        "faster than 600"
    );
    // Nothing happened.
    assert_eq!(world.count(0, pair(1, 2)), 0);
    assert!(world.hits(0).is_empty());
    let view = world.stations[&A].view(BodyId(1)).expect("ours").physics;
    assert_eq!(view.velocity, DVec3::Y * 5.0);
    let counted: u64 = world.stations[&A].traffic().disbelieved.iter().sum();
    assert_eq!(counted, 10);
}

// ML-59, the other half: with the guard off the same lie works. (So the test above tests the guard.)
#[test]
fn without_a_guard_the_cheat_succeeds() {
    let mut settings = Settings::improved();
    settings.guard.enabled = false;
    let mut world = World::new(&[settings; 2], Net::PERFECT, 1);
    world.body(
        0,
        1,
        Ball::new(10.0),
        State::moving(DVec3::ZERO, DVec3::Y * 5.0),
    );
    world.body(1, 2, Ball::new(10.0), State::at(DVec3::X * 400.0));
    world.dead.push(B);
    world.frame();
    let now = world.now;
    world
        .station(0)
        .handle_message(now, B, Message::Record(claim(now, 1, RecordKind::Done)));
    world.frame();
    assert_eq!(world.count(0, pair(1, 2)), 1);
}

// With the guard off numbers may be absurd, but nothing overflows.
#[test]
fn absurd_counts_do_not_overflow() {
    for protocol in [
        Protocol::PostCollision,
        Protocol::MotionLock,
        Protocol::LiteralMotionLock,
        Protocol::LiteralBuckets,
    ] {
        let settings = Settings::published(protocol);
        let mut world = World::new(&[settings; 2], Net::PERFECT, 1);
        world.body(
            0,
            1,
            Ball::new(10.0),
            State::moving(DVec3::ZERO, DVec3::X * 100.0),
        );
        world.body(1, 2, Ball::new(10.0), State::at(DVec3::X * 60.0));
        world.dead.push(B);
        world.frame();
        for kind in [RecordKind::Notice, RecordKind::Done] {
            let now = world.now;
            world
                .station(0)
                .handle_message(now, B, Message::Record(claim(now, u32::MAX, kind)));
        }
        world.run_until(ms(1_500));
        let Counters { c, cp } = world.stations[&A].counters(pair(1, 2)).expect("a pair");
        assert!(cp >= c && c > 0);
    }
}

// ML-59: and honest stations are believed, on every network.
#[test]
fn honest_stations_are_believed() {
    let scenarios = [
        Scenario::Llc,
        Scenario::Clc,
        Scenario::Ccc,
        Scenario::Ccp,
        Scenario::Wwc,
    ];
    for protocol in [
        Protocol::MotionLock,
        Protocol::MotionLockBuckets,
        Protocol::PostCollision,
    ] {
        for seed in 0..30 {
            let net = [Net::GOOD, Net::MODERATE, Net::CONGESTED][seed as usize % 3];
            let mut settings = Settings::improved();
            settings.protocol = protocol;
            settings.foresight.gate = None;
            let mut world = scenarios[seed as usize % 5].world(settings, net, seed);
            world.run_until(ms(3_000));
            let doubts: Vec<_> = world
                .events
                .iter()
                .filter(|(_, event)| matches!(event, Event::Disbelieved { .. }))
                .collect();
            assert!(doubts.is_empty(), "{protocol:?} seed {seed}: {doubts:?}");
        }
    }
}

#[test]
fn a_flood_is_dammed() {
    let mut world = beside_a_cheat();
    let mut refused = 0;
    for sequence in 1..5_000 {
        let datagram = Datagram {
            header: Header {
                incarnation: 9,
                sequence,
                sent: world.now,
            },
            messages: vec![],
        };
        let (bytes, _) = datagram.seal(&key(), B, A, STEPS);
        let now = world.now;
        let result = world.station(0).handle_datagram(now, B, &bytes);
        refused += u32::from(result == Err(Refusal::TooMany));
    }
    assert_eq!(refused, 4_999 - 2_000);
}

// A replayed datagram is refused, and an old life's ghost.
#[test]
fn replays_are_refused() {
    let mut world = Scenario::Llc
        .world(Settings::improved(), Net::PERFECT, 1)
        .keeping_sent();
    world.run_until(ms(1_600));
    let (_, _, transmit) = world
        .sent
        .iter()
        .rfind(|(_, from, _)| *from == A)
        .expect("A spoke")
        .clone();
    let now = world.now;
    let _ = world.station(1).handle_datagram(now, A, &transmit.bytes);
    let again = world.station(1).handle_datagram(now, A, &transmit.bytes);
    assert_eq!(again, Err(Refusal::Replayed));
    assert_eq!(
        world
            .station(1)
            .handle_datagram(now, StationId(7), &transmit.bytes),
        Err(Refusal::UnknownPeer)
    );
}

// ML-60, G10: a station dies in a lock. The survivor's lock ends at its time, its count is sane, its replica takes part in nothing once it has been
// silent too long, and comes back with its owner.
#[test]
fn a_station_that_dies_in_a_lock_leaves_none_behind() {
    for settings in [
        Settings::improved(),
        Settings::published(Protocol::MotionLock),
        Settings::published(Protocol::MotionLockBuckets),
        Settings::published(Protocol::PreCollision),
    ] {
        let mut world = Scenario::Llc.world(settings, Net::of(30, 0.0), 1);
        while !world.station(0).is_locked(BodyId(1)) {
            world.frame();
        }
        let locked_at = world.now.since(FRAME);
        world.dead.push(B);
        world.run_until(locked_at + settings.lock.max + FRAME);
        assert_eq!(
            world.stations[&A].locks().count(),
            0,
            "{:?}",
            settings.protocol
        );
        assert!(!world.station(0).is_locked(BodyId(1)) && !world.station(0).is_locked(BodyId(2)));
        let Counters { c, cp } = world.stations[&A].counters(pair(1, 2)).expect("a pair");
        let expected = u32::from(settings.protocol != Protocol::PreCollision);
        assert_eq!((c, cp), (expected, expected));
        world.run_until(world.now + settings.quarantine + ms(100));
        let silent = world
            .events
            .iter()
            .any(|(_, event)| matches!(event, Event::Silent { peer: B, .. }));
        assert!(silent);
        // Straight at the ghost: nothing happens.
        let ghost = world.position(0, 2);
        let run = Command::Follow(State::moving(ghost - DVec3::Y * 60.0, DVec3::Y * 300.0));
        world.station(0).command(BodyId(1), run).expect("ours");
        world.run_until(world.now + ms(600));
        assert_eq!(world.count(0, pair(1, 2)), expected);
        // Back from the dead.
        world.dead.clear();
        world.run_until(world.now + ms(300));
        assert!(
            world
                .events
                .iter()
                .any(|(_, event)| matches!(event, Event::Back { peer: B, .. }))
        );
    }
}

// A peer that restarts knows nothing; its counts are made good by the other's heartbeats, and its datagrams are accepted.
#[test]
fn a_restarted_station_catches_up() {
    let mut world = Scenario::Llc.world(Settings::improved(), Net::of(30, 0.0), 1);
    world.run_until(ms(3_000));
    assert_eq!(world.count(0, pair(1, 2)), 1);
    let mut fresh = Station::new(B, 2, Settings::improved());
    fresh.add_peer(A, LinkKey::for_link(b"secret", A, B));
    let place = |world: &World, body| State::at(world.position(0, body));
    fresh
        .add_master(BodyId(2), Ball::new(10.0), place(&world, 2))
        .expect("new");
    fresh
        .add_replica(BodyId(1), A, Ball::new(10.0), place(&world, 1))
        .expect("new");
    world.stations.insert(B, fresh);
    world.rails.clear();
    world.run_until(ms(5_000));
    assert_eq!(
        [0, 1].map(|station| world.count(station, pair(1, 2))),
        [1, 1]
    );
    let last = world.hits(1).last().copied().expect("told");
    assert_eq!(last.cause, Cause::CountOnly);
}

#[test]
fn removing_a_peer_or_a_body_ends_its_locks() {
    let mut world = Scenario::Llc.world(Settings::improved(), Net::of(30, 0.0), 1);
    while !world.station(0).is_locked(BodyId(1)) {
        world.frame();
    }
    world.station(0).remove_peer(B);
    assert!(!world.station(0).is_locked(BodyId(1)));
    assert_eq!(world.station(0).bodies().count(), 1);
    assert_eq!(
        world.station(0).remove_body(BodyId(2)),
        Err(Refused::Unknown)
    );
    assert_eq!(world.station(0).remove_body(BodyId(1)), Ok(()));
    world.rails.clear();
    world.run_until(ms(2_000));
}

#[test]
fn a_users_mistakes_are_named() {
    let mut station = Station::new(A, 1, Settings::improved());
    let ball = Ball::new(1.0);
    let origin = State::at(DVec3::ZERO);
    assert_eq!(
        station.add_replica(BodyId(1), B, ball, origin),
        Err(Refused::UnknownPeer)
    );
    assert_eq!(
        station.add_master(BodyId(1), Ball::new(-1.0), origin),
        Err(Refused::BadNumber)
    );
    assert_eq!(
        station.add_master(BodyId(1), ball, State::at(DVec3::NAN)),
        Err(Refused::BadNumber)
    );
    assert_eq!(station.add_master(BodyId(1), ball, origin), Ok(()));
    assert_eq!(
        station.add_master(BodyId(1), ball, origin),
        Err(Refused::Exists)
    );
    assert_eq!(
        station.command(BodyId(9), Command::Velocity(DVec3::X)),
        Err(Refused::Unknown)
    );
    assert_eq!(
        station.command(BodyId(1), Command::Velocity(DVec3::NAN)),
        Err(Refused::BadNumber)
    );
    station.add_global(BodyId(2), ball, origin).expect("new");
    assert_eq!(
        station.command(BodyId(2), Command::Velocity(DVec3::X)),
        Err(Refused::NotAMaster)
    );
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
