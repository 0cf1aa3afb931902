//! Spatial-temporal buckets (thesis §4.4.1): hits close in time and place are played together (ML-30).

use crate::common::*;
use domain::{BodyId, SimTime};
use glam::DVec3;
use station::*;

fn settings() -> Settings {
    let mut settings = Settings::published(Protocol::MotionLockBuckets);
    // So that a replica's sudden start is known from one update.
    settings.reckoning.predictor = Predictor::Dis;
    settings
}

/// One master in the middle, several bodies of the other station on their way to it: (id, distance, direction in degrees, speed).
fn crowd(settings: Settings, net: Net, others: &[(u64, f64, f64, f64)]) -> World {
    let mut world = World::new(&[settings; 2], net, 1);
    world.body(0, 1, Ball::new(10.0), State::at(DVec3::ZERO));
    for (id, distance, degrees, speed) in others {
        let out = direction(*degrees);
        let state = State::moving(out * *distance, out * -*speed);
        world.body(1, *id, Ball::new(10.0), state);
    }
    world
}

fn direction(degrees: f64) -> DVec3 {
    let (sin, cos) = degrees.to_radians().sin_cos();
    DVec3::new(cos, sin, 0.0)
}

fn locked(world: &World, station: u32) -> Vec<(PairId, SimTime, SimTime)> {
    world
        .events
        .iter()
        .filter(|(id, _)| id.0 == station)
        .filter_map(|(_, event)| match event {
            Event::Locked {
                pair, at, until, ..
            } => Some((*pair, *at, *until)),
            _ => None,
        })
        .collect()
}

// ML-30: whoever would hit a locked master before its time joins; its hit is postponed to the bucket's time; all are resolved, in the
// order of detection, in one frame; then everybody is free.
#[test]
fn members_join_wait_and_part_together() {
    // 12 makes up its mind late, and is quick; 13 is too late for the bucket.
    let others = [
        (11, 120.0, 0.0, 400.0),
        (12, 60.0, 120.0, 0.0),
        (13, 150.0, 240.0, 400.0),
    ];
    let mut world = crowd(settings(), Net::PERFECT, &others);
    while world.now < ms(600) {
        if world.now == ms(180) {
            let dash = Command::Velocity(direction(120.0) * -900.0);
            world.station(1).command(BodyId(12), dash).expect("ours");
        }
        world.frame();
    }
    let locks = locked(&world, 0);
    let (first, _, bucket) = locks[0];
    assert_eq!(first, pair(1, 11));
    let joined = locks
        .iter()
        .find(|(id, ..)| *id == pair(1, 12))
        .expect("joined");
    assert_eq!(joined.2, bucket, "postponed to the bucket's time");
    let hits = world.hits(0);
    let together: Vec<PairId> = hits
        .iter()
        .filter(|hit| hit.scheduled == bucket)
        .map(|hit| hit.pair)
        .collect();
    assert_eq!(
        together,
        [pair(1, 11), pair(1, 12)],
        "all members, in the order of detection (D9)"
    );
    assert!(
        hits.iter()
            .filter(|hit| hit.scheduled == bucket)
            .all(|hit| hit.at == hits[0].at)
    );
    // The third was later than the bucket: ignored until it closed, then its own business.
    assert!(
        hits.iter()
            .all(|hit| hit.pair != pair(1, 13) || hit.at >= bucket)
    );
    assert_eq!(world.stations[&StationId(0)].locks().count(), 0);
    assert!(!world.station(0).is_locked(BodyId(1)));
}

// ML-30, D10: when the other station's hit comes first, that member leaves; the master stays locked for the rest.
#[test]
fn a_member_that_is_overtaken_leaves_alone() {
    let mut world = crowd(
        settings(),
        Net::of(0, 1.0),
        &[(11, 100.0, 0.0, 400.0), (12, 100.0, 180.0, 400.0)],
    );
    while !world.stations[&StationId(0)].is_locked(BodyId(1)) {
        world.frame();
    }
    assert_eq!(
        world.stations[&StationId(0)].locks().count(),
        2,
        "both join"
    );
    let now = world.now;
    let done = station::messages::Record {
        pair: pair(1, 11),
        kind: station::messages::RecordKind::Done,
        index: 1,
        time: now,
        score: 0,
        velocities: None,
        earlier: Vec::new(),
    };
    world
        .station(0)
        .handle_message(now, StationId(1), Message::Record(done));
    world.frame();
    let station = &world.stations[&StationId(0)];
    assert_eq!(
        station.counters(pair(1, 11)),
        Some(Counters { c: 1, cp: 1 })
    );
    assert!(!station.is_locked(BodyId(11)), "the overtaken one is free");
    assert!(
        station.is_locked(BodyId(1)) && station.is_locked(BodyId(12)),
        "the others are not"
    );
    world.run_until(now + ms(160));
    assert_eq!(world.count(0, pair(1, 12)), 1, "and play at their time");
    assert_eq!(world.stations[&StationId(0)].locks().count(), 0);
}

// D11: a replica that one of our masters holds is hit by another of our masters: one bucket, both are played.
#[test]
fn a_bucket_spans_several_masters() {
    let mut world = World::new(&[settings(); 2], Net::PERFECT, 1);
    let ball = Ball::new(10.0);
    // Station 0 has the two outer ones, station 1 the one in the middle. The second one is quicker, but later to decide.
    world.body(
        0,
        1,
        ball,
        State::moving(DVec3::X * -120.0, DVec3::X * 400.0),
    );
    world.body(0, 2, ball, State::at(DVec3::Y * 60.0));
    world.body(1, 3, ball, State::at(DVec3::ZERO));
    while world.now < ms(400) {
        if world.now == ms(180) {
            let dash = Command::Velocity(DVec3::Y * -900.0);
            world.station(0).command(BodyId(2), dash).expect("ours");
        }
        world.frame();
    }
    let hits = world.hits(0);
    let pairs: Vec<PairId> = hits.iter().map(|hit| hit.pair).collect();
    assert_eq!(pairs, [pair(1, 3), pair(2, 3)], "in the order of detection");
    assert_eq!(
        (hits[0].at, hits[0].scheduled),
        (hits[1].at, hits[1].scheduled)
    );
    let counts = |id| [0, 1].map(|station| world.count(station, id));
    assert_eq!((counts(pair(1, 3)), counts(pair(2, 3))), ([1, 1], [1, 1]));
}

// A crowd cannot make a bucket without end.
#[test]
fn a_bucket_has_a_limit() {
    let mut limited = settings();
    limited.lock.max_bucket = 1;
    let mut world = crowd(
        limited,
        Net::PERFECT,
        &[
            (11, 100.0, 0.0, 400.0),
            (12, 100.0, 120.0, 400.0),
            (13, 100.0, 240.0, 400.0),
        ],
    );
    world.run_until(ms(100));
    assert!(world.stations[&StationId(0)].locks().count() <= 2);
}
