//! Motion-lock itself, sentence by sentence (thesis §4.2.3 and §4.3.1; the digest's §2.11, §2.12).

use crate::common::*;
use domain::{BodyId, SimTime};
use glam::DVec3;
use station::messages::{Datagram, Record, RecordKind};
use station::*;

const A: StationId = StationId(0);
const B: StationId = StationId(1);

fn published() -> Settings {
    Settings::published(Protocol::MotionLock)
}

fn locks(world: &World, station: u32) -> Vec<(SimTime, SimTime)> {
    world
        .events
        .iter()
        .filter(|(id, _)| id.0 == station)
        .filter_map(|(_, event)| match event {
            Event::Locked { at, until, .. } => Some((*at, *until)),
            _ => None,
        })
        .collect()
}

/// Every record a station sent, with the time of sending.
fn records(world: &World, from: StationId) -> Vec<(SimTime, StationId, Record)> {
    let steps = WireSettings::default().steps_per_unit;
    let mut found = Vec::new();
    for (at, sender, transmit) in world.sent.iter().filter(|(_, sender, _)| *sender == from) {
        let key = LinkKey::for_link(b"secret", *sender, transmit.to);
        let datagram =
            Datagram::open(&transmit.bytes, &key, *sender, transmit.to, steps).expect("ours");
        for message in datagram.messages {
            if let Message::Record(record) = message {
                found.push((*at, transmit.to, record));
            }
        }
    }
    found
}

// ML-18: a hit is committed when it is at most T_lock away, and not before.
#[test]
fn commits_only_within_the_window() {
    for lock_ms in [20, 60, 100, 160] {
        let mut settings = published();
        settings.lock.max = ms(lock_ms);
        let mut world = Scenario::Llc.world(settings, Net::PERFECT, 1);
        world.run_until(ms(2_000));
        let [(at, until)] = locks(&world, 0)[..] else {
            panic!("one lock: {:?}", locks(&world, 0));
        };
        let ahead = until.since(at);
        assert!(ahead <= ms(lock_ms), "{ahead} with T_lock {lock_ms} ms");
        assert!(
            ahead + FRAME > ms(lock_ms),
            "at the first frame of the window"
        );
    }
    let mut never = published();
    never.lock.max = SimTime::ZERO;
    let mut world = Scenario::Llc.world(never, Net::PERFECT, 1);
    world.run_until(ms(2_000));
    assert_eq!(locks(&world, 0), []);
    assert_eq!(
        world.hits(0)[0].cause,
        Cause::Contact,
        "without a window it is post-collision"
    );
}

// ML-19: locked bodies go exactly straight, commands are discarded and counted, updates do not move a locked replica.
#[test]
fn locked_motion_is_exactly_linear_and_commands_are_lost() {
    let mut world = Scenario::Clc.world(published(), Net::GOOD, 3);
    let mut seen = 0;
    let mut last: [Option<(DVec3, DVec3)>; 2] = [None; 2];
    while world.now < ms(1_600) {
        world.frame();
        for (place, station) in [(0, 0), (1, 1)] {
            // The circling body: master on A, replica on B.
            let view = world.stations[&StationId(station)]
                .view(BodyId(1))
                .expect("shown");
            if !view.locked {
                last[place] = None;
                continue;
            }
            if let Some((position, velocity)) = last[place] {
                let step = view.physics.position - position;
                assert!((step - velocity * 0.02).length() < 1e-9, "{step}");
                assert_eq!(view.physics.velocity, velocity);
                seen += 1;
            }
            last[place] = Some((view.physics.position, view.physics.velocity));
        }
    }
    assert!(seen >= 3, "{seen} locked frames");
    let counts = world.stations[&A].commands();
    assert!(counts.discarded > 0 && counts.buffered == 0);
    let held = world
        .events
        .iter()
        .filter(|(id, event)| *id == A && matches!(event, Event::CommandHeld { .. }));
    assert_eq!(held.count() as u64, counts.discarded, "ML-45");
}

// ML-19, G5: a command that waited is carried out when the lock ends.
#[test]
fn a_buffered_command_is_carried_out_after_the_lock() {
    for (input, expected) in [
        (LockedInput::Discard, None),
        (LockedInput::Buffer, Some(DVec3::Z * 7.0)),
    ] {
        let mut settings = published();
        settings.lock.input = input;
        let mut world = World::new(&[settings, settings], Net::PERFECT, 1);
        world.body(
            0,
            1,
            Ball::new(10.0),
            State::moving(DVec3::ZERO, DVec3::X * 200.0),
        );
        world.body(1, 2, Ball::new(10.0), State::at(DVec3::X * 100.0));
        let mut told = None;
        while world.now < ms(800) {
            world.frame();
            if told.is_none() && world.station(0).is_locked(BodyId(1)) {
                told = Some(
                    world
                        .station(0)
                        .command(BodyId(1), Command::Velocity(DVec3::Z * 7.0)),
                );
            }
        }
        let obedience = match input {
            LockedInput::Discard => Obedience::Discarded,
            LockedInput::Buffer => Obedience::Buffered,
        };
        assert_eq!(told, Some(Ok(obedience)));
        let velocity = world.stations[&A]
            .view(BodyId(1))
            .expect("shown")
            .physics
            .velocity;
        assert_eq!(velocity == DVec3::Z * 7.0, expected.is_some(), "{velocity}");
        let counts = world.stations[&A].commands();
        assert_eq!(
            (counts.given, counts.discarded + counts.buffered),
            (1, 1),
            "ML-45"
        );
    }
}

// ML-20: the notice carries index, time and both velocities, and leaves in the frame of the commit.
// ML-12: `c` rises only when it happens.
#[test]
fn the_notice_leaves_at_the_commit() {
    let mut world = Scenario::Llc
        .world(published(), Net::GOOD, 1)
        .keeping_sent();
    world.run_until(ms(1_440));
    let (at, until) = locks(&world, 0)[0];
    assert_eq!(
        world.stations[&A].counters(pair(1, 2)),
        Some(Counters { c: 0, cp: 1 })
    );
    assert!(world.hits(0).is_empty(), "game logic hears nothing yet");
    let sent = records(&world, A);
    let (left, to, record) = &sent[0];
    assert_eq!((*left, *to), (at, B));
    assert_eq!(
        (record.kind, record.index, record.time),
        (RecordKind::Notice, 1, until)
    );
    let [one, two] = record.velocities.expect("both vectors");
    assert_eq!(
        (one, two),
        (DVec3::Y * -250.0, DVec3::Y * 250.0),
        "head-on, equal masses"
    );
    assert_eq!(sent.len(), 1, "published: never repeated");
    world.run_until(ms(1_600));
    assert_eq!(
        world.stations[&A].counters(pair(1, 2)),
        Some(Counters { c: 1, cp: 1 })
    );
    assert_eq!(world.hits(0).len(), 1);
}

fn notice(index: u32, time: SimTime) -> Record {
    Record {
        pair: pair(1, 2),
        kind: RecordKind::Notice,
        index,
        time,
        score: 255,
        velocities: Some([DVec3::new(-30.0, 40.0, 0.0), DVec3::new(9.0, 0.0, 3.0)]),
        earlier: Vec::new(),
    }
}

/// B alone: its master 2 at rest, A's body 1 beside it, not on a hitting course.
fn informed(settings: Settings) -> World {
    let mut world = World::new(&[settings, settings], Net::PERFECT, 1);
    world.body(
        0,
        1,
        Ball::new(10.0),
        State::moving(DVec3::new(-60.0, 21.0, 0.0), DVec3::X * 50.0),
    );
    world.body(
        1,
        2,
        Ball::new(10.0),
        State::moving(DVec3::ZERO, DVec3::Z * 20.0),
    );
    world.dead.push(A);
    world.frame();
    world
}

// ML-21: never before its time. ML-25: the missed side parts exactly as told, from where it is: no angle, no warp.
#[test]
fn a_notice_is_played_at_its_time_with_its_trajectories() {
    let mut world = informed(published());
    let time = ms(217);
    let now = world.now;
    world
        .station(1)
        .handle_message(now, A, Message::Record(notice(1, time)));
    let mut before = world.position(1, 2);
    loop {
        world.frame();
        let after = world.position(1, 2);
        assert!(
            after.distance(before) <= 20.0 * 0.02 + 1e-9,
            "no warp: {before} to {after}"
        );
        before = after;
        if !world.hits(1).is_empty() {
            break;
        }
        assert!(world.now <= ms(260), "never played");
    }
    let hit = world.hits(1)[0];
    assert!(hit.at >= time, "played at {} before {time}", hit.at);
    assert!(hit.at.since(time) < FRAME);
    assert_eq!(
        (hit.cause, hit.author, hit.scheduled),
        (Cause::Notice, A, time)
    );
    let told = notice(1, time).velocities.expect("given");
    assert_eq!(hit.velocities, told);
    let shown = [1, 2].map(|body| {
        world.stations[&B]
            .view(BodyId(body))
            .expect("shown")
            .physics
            .velocity
    });
    assert_eq!(shown, told, "Δθ_col = 0");
}

// ML-24: what is younger than T_cut is played, what is older only counts.
#[test]
fn old_news_is_counted_but_not_played() {
    for (age, cause) in [
        (0, Cause::Count),
        (180, Cause::Count),
        (200, Cause::CountOnly),
        (900, Cause::CountOnly),
    ] {
        let mut world = informed(published());
        while world.now < ms(1_000) {
            world.frame();
        }
        let before = world.stations[&B]
            .view(BodyId(2))
            .expect("shown")
            .physics
            .velocity;
        let record = Record {
            kind: RecordKind::Done,
            ..notice(1, world.now.since(ms(age)))
        };
        let now = world.now;
        world
            .station(1)
            .handle_message(now, A, Message::Record(record));
        world.frame();
        let hit = world.hits(1)[0];
        assert_eq!(hit.cause, cause, "age {age} ms");
        let after = world.stations[&B]
            .view(BodyId(2))
            .expect("shown")
            .physics
            .velocity;
        assert_eq!(after == before, cause == Cause::CountOnly);
        assert_eq!(world.count(1, pair(1, 2)), 1);
    }
}

// ML-22: one commit, one `cp`; never behind `c`. ML-23: no lock outlives T_lock by more than a frame. In every run, on every network, with
// duplication, for every protocol that locks.
#[test]
fn counters_and_locks_stay_in_bounds_everywhere() {
    let mut buckets = Settings::improved();
    buckets.protocol = Protocol::MotionLockBuckets;
    let mut eager = published();
    eager.lock.on_notice = true;
    let arms = [
        published(),
        Settings::published(Protocol::MotionLockBuckets),
        Settings::published(Protocol::PreCollision),
        Settings::improved(),
        buckets,
        eager,
    ];
    let scenarios = [
        Scenario::Llc,
        Scenario::Clc,
        Scenario::Clp,
        Scenario::Ccc,
        Scenario::Ccp,
    ];
    let mut locked = 0;
    for (seed, settings) in (0..40_u64).flat_map(|seed| arms.map(|arm| (seed, arm))) {
        let mut net = [Net::GOOD, Net::MODERATE, Net::CONGESTED][seed as usize % 3];
        net.duplicate = 0.2;
        net.jitter = 0.5;
        let mut world = scenarios[seed as usize % 5].world(settings, net, seed);
        while world.now < ms(2_600) {
            world.frame();
            for station in world.stations.values() {
                let Counters { c, cp } = station.counters(pair(1, 2)).expect("a pair");
                assert!(cp == c || cp == c + 1, "c {c}, cp {cp}");
                let now = station.shared_now().expect("framed");
                for lock in station.locks() {
                    assert!(now.since(lock.since) <= settings.lock.max + FRAME);
                }
            }
        }
        for (_, event) in &world.events {
            if let Event::Unlocked { since, at, .. } = event {
                assert!(at.since(*since) <= settings.lock.max + FRAME, "{event:?}");
                locked += 1;
            }
        }
    }
    assert!(locked > 200, "{locked} locks");
}

// ML-28: never worse than post-collision by more than a frame; paired, without loss, so that the network is the same.
#[test]
fn never_later_than_post_collision() {
    let scenarios = [
        Scenario::Llc,
        Scenario::Clc,
        Scenario::Ccc,
        Scenario::Clp,
        Scenario::Ccp,
    ];
    let mut compared = 0;
    for scenario in scenarios {
        for latency in [0, 30, 50, 80, 100, 130, 150, 200] {
            let mut net = Net::of(latency, 0.0);
            net.jitter = 0.0;
            let lock = run(scenario, published(), net, 1);
            let post = run(
                scenario,
                Settings::published(Protocol::PostCollision),
                net,
                1,
            );
            if let (Some(lock), Some(post)) = (lock.delta_ms, post.delta_ms) {
                assert!(
                    lock <= post + 20.0 + 1e-6,
                    "{scenario:?} {latency} ms: {lock} against {post}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared >= 25, "{compared}");
}

// ML-29: with four stations, records of a pair go between its two participants only; observers get updates.
#[test]
fn records_go_to_the_participants_only() {
    let settings = Settings::improved();
    let mut world = World::new(&[settings; 4], Net::GOOD, 5).keeping_sent();
    let [one, two] = Scenario::Clc.rails();
    world.railed(0, 1, one);
    world.railed(1, 2, two);
    world.body(
        2,
        3,
        Ball::new(10.0),
        State::at(DVec3::new(400.0, 400.0, 0.0)),
    );
    world.run_until(ms(2_200));
    assert_eq!(
        [0, 1].map(|station| world.count(station, pair(1, 2))),
        [1, 1]
    );
    let mut seen = 0;
    for from in [0, 1, 2, 3].map(StationId) {
        for (_, to, record) in records(&world, from) {
            assert_eq!(record.pair, pair(1, 2));
            assert!(
                [A, B].contains(&from) && [A, B].contains(&to),
                "{from} to {to}"
            );
            seen += 1;
        }
    }
    assert!(seen > 4);
    // Observers keep no counter for the pair (ML-1) and see the result through updates.
    for observer in [2, 3] {
        assert_eq!(
            world.stations[&StationId(observer)].counters(pair(1, 2)),
            None
        );
        assert!(world.hits(observer).is_empty());
        let off = world.position(observer, 2).distance(world.position(1, 2));
        assert!(off < 5.0, "{off}");
    }
}

// ML-31: without buckets, who runs into a locked body is ignored: it passes through. With buckets it does not (ML-30).
#[test]
fn a_third_body_passes_through_a_locked_one() {
    for (protocol, hits) in [(Protocol::MotionLock, 0), (Protocol::MotionLockBuckets, 1)] {
        let mut settings = Settings::published(protocol);
        settings.reckoning.predictor = Predictor::Dis;
        let mut world = World::new(&[settings; 2], Net::PERFECT, 1);
        world.body(0, 1, Ball::new(10.0), State::at(DVec3::ZERO));
        world.body(
            1,
            2,
            Ball::new(10.0),
            State::moving(DVec3::X * -120.0, DVec3::X * 400.0),
        );
        world.body(1, 3, Ball::new(10.0), State::at(DVec3::Y * 50.0));
        let mut nearest = f64::INFINITY;
        while world.now < ms(320) {
            if world.now == ms(180) {
                assert!(world.station(0).is_locked(BodyId(1)));
                let dash = Command::Velocity(DVec3::Y * -1500.0);
                world.station(1).command(BodyId(3), dash).expect("a master");
            }
            world.frame();
            nearest = nearest.min(world.position(0, 1).distance(world.position(0, 3)));
        }
        assert_eq!(world.count(0, pair(1, 2)), 1);
        assert_eq!(world.count(0, pair(1, 3)), hits, "{protocol:?}");
        assert!(nearest < 20.0, "it was inside: {nearest}");
    }
}

// ML-34: the same hit in space: nothing is special about the plane.
#[test]
fn two_and_three_dimensions_agree() {
    let turn = glam::DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 1.1);
    for settings in [published(), Settings::improved()] {
        let outcomes = [glam::DQuat::IDENTITY, turn].map(|turn| {
            let mut world = World::new(&[settings; 2], Net::GOOD, 4);
            for (owner, id, rail) in [(0, 1, 0), (1, 2, 1)] {
                let path = Scenario::Clc.rails()[rail].path;
                let rail = Rail { path, turn };
                world.railed(owner, id, rail);
            }
            world.run_until(ms(1_900));
            let hits = [0, 1].map(|station| world.hits(station));
            (
                hits.map(|hits| hits.iter().map(|hit| hit.at).collect::<Vec<_>>()),
                turn.inverse() * world.position(0, 1),
            )
        });
        assert_eq!(outcomes[0].0, outcomes[1].0);
        assert!(!outcomes[0].0[0].is_empty());
        assert!(outcomes[0].1.distance(outcomes[1].1) < 0.5, "grid apart");
    }
}

// Same settings, same seed: the same bits, frame by frame.
#[test]
fn same_seed_same_bits() {
    let hashes = |seed| {
        let mut world = Scenario::Ccc.world(Settings::improved(), Net::CONGESTED, seed);
        let mut hashes = Vec::new();
        while world.now < ms(2_200) {
            world.frame();
            hashes.extend(world.stations.values().map(Station::state_hash));
        }
        hashes
    };
    assert_eq!(hashes(7), hashes(7));
    assert_ne!(hashes(7), hashes(8));
}
