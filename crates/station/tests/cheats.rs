//! Stations that lie: what they say is not believed, is counted, and changes nothing.

use crate::common::*;
use domain::{BodyId, SimTime};
use glam::DVec3;
use station::messages::*;
use station::*;

const A: StationId = StationId(0);
const B: StationId = StationId(1);
const STEPS: f64 = 4096.0;

fn key() -> LinkKey {
    LinkKey::for_link(b"secret", A, B)
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
