//! The baselines: control, super-node, post-collision, pre-collision; and several masters, three stations, globals.

use crate::common::*;
use domain::{BodyId, SimTime};
use glam::DVec3;
use station::messages::{Vote, VoteKind};
use station::*;

const A: StationId = StationId(0);
const B: StationId = StationId(1);
const SUPER: Protocol = Protocol::SuperNode { authority: A };

fn class(world: &World, station: u32, class: Class) -> u64 {
    world.stations[&StationId(station)].traffic().sent[class as usize].messages
}

// ML-13: control believes its eyes, says nothing, and stays one-sided.
#[test]
fn control_sends_no_records_and_stays_one_sided() {
    let mut one_sided = 0;
    for seed in 0..20 {
        let mut world =
            Scenario::Clp.world(Settings::published(Protocol::Control), Net::MODERATE, seed);
        world.run_until(ms(3_000));
        let counts = [0, 1].map(|station| world.count(station, pair(1, 2)));
        one_sided += u32::from(counts == [0, 1]);
        for station in [0, 1] {
            assert_eq!(
                class(&world, station, Class::Counts) + class(&world, station, Class::Notices),
                0
            );
        }
    }
    assert!(
        one_sided > 10,
        "B's replica of the circling body is wrong: {one_sided} of 20"
    );
}

// ML-14: the others ignore what they see and bounce when the authority says so, about one delay late, with its trajectories.
#[test]
fn the_super_node_decides_alone() {
    for scenario in [Scenario::Llc, Scenario::Clc] {
        let mut world = scenario.world(Settings::published(SUPER), Net::of(100, 0.0), 1);
        world.run_until(ms(2_200));
        let [a, b] = [0, 1].map(|station| world.hits(station)[0]);
        assert_eq!((a.cause, b.cause), (Cause::Contact, Cause::Count));
        let late = b.at.since(a.at);
        assert!(late >= ms(90) && late <= ms(140), "{late}");
        assert_eq!((b.author, b.velocities), (A, a.velocities));
        assert_eq!(class(&world, 1, Class::Counts), 0, "B never speaks of hits");
    }
    // CLP: A's only replica goes straight, so A is right although B sees a hit.
    let mut world = Scenario::Clp.world(Settings::published(SUPER), Net::MODERATE, 1);
    world.run_until(ms(3_000));
    assert_eq!(
        [0, 1].map(|station| world.count(station, pair(1, 2))),
        [0, 0]
    );
}

// ML-14: also for bodies that are both replicas to it.
#[test]
fn the_super_node_settles_hits_between_others() {
    let mut world = World::new(&[Settings::published(SUPER); 3], Net::of(30, 0.0), 1);
    world.body(
        1,
        1,
        Ball::new(10.0),
        State::moving(DVec3::X * -100.0, DVec3::X * 200.0),
    );
    world.body(
        2,
        2,
        Ball::new(10.0),
        State::moving(DVec3::X * 100.0, DVec3::X * -200.0),
    );
    world.run_until(ms(1_200));
    let counts = [0, 1, 2].map(|station| world.count(station, pair(1, 2)));
    assert_eq!(counts, [1, 1, 1]);
    assert!(
        world.position(1, 1).x < -20.0 && world.position(2, 2).x > 20.0,
        "both turned round"
    );
}

// ML-15: sent on the hit, the larger count adopted, delayed resolution, heartbeat.
#[test]
fn post_collision_tells_and_adopts() {
    let (mut world, seen) = (0..20)
        .find_map(|seed| {
            let settings = Settings::published(Protocol::PostCollision);
            let mut world = Scenario::Clp.world(settings, Net::MODERATE, seed);
            while world.now < ms(3_000) {
                world.frame();
                if let Some(hit) = world.hits(1).first().copied() {
                    return Some((world, hit));
                }
            }
            None
        })
        .expect("B sees a hit that is none");
    assert_eq!(seen.cause, Cause::Contact);
    assert_eq!(class(&world, 1, Class::Counts), 1, "told in the same frame");
    world.run_until(seen.at + ms(500));
    let told = world.hits(0)[0];
    assert_eq!(told.cause, Cause::Count, "and adopted");
    assert!(told.at.since(seen.at) >= ms(90), "a delay later");
    assert!(
        class(&world, 1, Class::Counts) >= 8,
        "heartbeats every 50 ms"
    );
    assert_eq!(
        class(&world, 0, Class::Notices) + class(&world, 1, Class::Notices),
        0
    );
}

// ML-16: whatever is lost, the counters become equal in the end.
#[test]
fn post_collision_counters_become_equal_whatever_is_lost() {
    for seed in 0..60 {
        let mut net = Net::of(120, 0.85);
        net.jitter = 0.6;
        let mut world =
            Scenario::Ccp.world(Settings::published(Protocol::PostCollision), net, seed);
        world.run_until(ms(3_000));
        for _ in 0..1_000 {
            world.frame();
            // Apart for good: nothing new happens.
            if world.count(0, pair(1, 2)) == world.count(1, pair(1, 2)) {
                break;
            }
        }
        assert_eq!(
            world.count(0, pair(1, 2)),
            world.count(1, pair(1, 2)),
            "seed {seed}"
        );
    }
}

fn voters() -> Settings {
    let mut settings = Settings::published(Protocol::PreCollision);
    settings.lock.max = ms(250);
    settings
}

// ML-17: when three messages fit before the contact, both play at the very same time.
#[test]
fn pre_collision_agrees_when_there_is_time() {
    let mut world = Scenario::Llc.world(voters(), Net::of(30, 0.0), 1);
    world.run_until(ms(1_800));
    let [a, b] = [0, 1].map(|station| world.hits(station)[0]);
    assert_eq!(a.at, b.at, "Δt_col = 0");
    assert_eq!(
        [0, 1].map(|station| world.count(station, pair(1, 2))),
        [1, 1]
    );
}

// ML-17: when there is not, both abort and the bodies pass through each other.
#[test]
fn pre_collision_aborts_when_there_is_no_time() {
    let mut world = Scenario::Llc.world(voters(), Net::of(300, 0.0), 1);
    world.run_until(ms(2_200));
    assert_eq!(
        [0, 1].map(|station| world.count(station, pair(1, 2))),
        [0, 0]
    );
    let aborted = world
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Aborted { .. }))
        .count();
    assert_eq!(aborted, 2);
    assert!(world.position(0, 1).y > 50.0, "through");
    assert!(
        world
            .stations
            .values()
            .all(|station| station.locks().count() == 0)
    );
}

// ML-17, §2.10: the dilemma. Only the last message is late, and only one side plays.
#[test]
fn a_late_ack_leaves_the_two_sides_apart() {
    let mut world = Scenario::Llc.world(voters(), Net::of(0, 1.0), 1);
    let request = |kind| {
        Message::Vote(Vote {
            pair: pair(1, 2),
            kind,
        })
    };
    let mut answered = false;
    while world.now < ms(1_800) {
        let now = world.now;
        // Both foresee the hit and lock at 1220 ms. A's request reaches B, B's yes reaches A; A's ack does not arrive in time.
        if now == ms(1_360) {
            world
                .station(1)
                .handle_message(now, A, request(VoteKind::Request));
        }
        if now == ms(1_420) {
            world
                .station(0)
                .handle_message(now, B, request(VoteKind::Yes));
            answered = true;
        }
        if now == ms(1_560) {
            world
                .station(1)
                .handle_message(now, A, request(VoteKind::Ack));
        }
        world.frame();
    }
    assert!(answered);
    assert_eq!(
        [0, 1].map(|station| world.count(station, pair(1, 2))),
        [1, 0]
    );
}

#[test]
fn a_no_unlocks() {
    let mut world = World::new(&[voters(); 2], Net::PERFECT, 1);
    world.body(
        0,
        1,
        Ball::new(10.0),
        State::moving(DVec3::X * -100.0, DVec3::X * 400.0),
    );
    world.body(1, 2, Ball::new(10.0), State::at(DVec3::ZERO));
    world.dead.push(B);
    world.frame();
    assert!(world.station(0).is_locked(BodyId(1)));
    let no = Message::Vote(Vote {
        pair: pair(1, 2),
        kind: VoteKind::No,
    });
    let now = world.now;
    world.station(0).handle_message(now, B, no);
    world.frame();
    let aborted = world.events.iter().any(|(_, event)| {
        matches!(
            event,
            Event::Unlocked {
                why: Unlock::Aborted,
                ..
            }
        )
    });
    assert!(aborted);
}

// ML-1: replicas hitting replicas or globals change no counter and no course here; globals and masters bounce locally.
#[test]
fn others_business_is_left_to_others() {
    let settings = Settings::published(Protocol::MotionLock);
    let mut station = Station::new(A, 1, settings);
    station.add_peer(B, LinkKey::none());
    station.add_peer(StationId(2), LinkKey::none());
    let ball = Ball::new(10.0);
    station
        .add_replica(
            BodyId(1),
            B,
            ball,
            State::moving(DVec3::X * -60.0, DVec3::X * 100.0),
        )
        .expect("new");
    station
        .add_replica(
            BodyId(2),
            StationId(2),
            ball,
            State::moving(DVec3::X * 60.0, DVec3::X * -100.0),
        )
        .expect("new");
    let rock = Ball {
        radius: 10.0,
        mass: f64::INFINITY,
    };
    station
        .add_global(BodyId(3), rock, State::at(DVec3::Y * 500.0))
        .expect("new");
    station
        .add_replica(
            BodyId(4),
            B,
            ball,
            State::moving(DVec3::new(-60.0, -500.0, 0.0), DVec3::X * 100.0),
        )
        .expect("new");
    station
        .add_global(BodyId(6), rock, State::at(DVec3::Y * -500.0))
        .expect("new");
    station
        .add_master(
            BodyId(5),
            ball,
            State::moving(DVec3::Y * 400.0, DVec3::Y * 200.0),
        )
        .expect("new");
    let mut events = Vec::new();
    for frame in 0..100_u64 {
        station.handle_frame(SimTime(frame * FRAME.0));
        events.extend(std::iter::from_fn(|| station.poll_event()));
    }
    let view = |body| station.view(BodyId(body)).expect("shown").physics;
    assert!(
        view(1).position.x > 100.0 && view(2).position.x < -100.0,
        "replicas pass replicas"
    );
    assert!(view(4).position.x > 100.0, "and globals");
    assert!(view(5).velocity.y < 0.0, "our master bounced off the rock");
    assert_eq!(view(3).position, DVec3::Y * 500.0, "which did not move");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::LocalBounce { .. }))
    );
    assert!(events.iter().all(|event| !matches!(event, Event::Hit(_))));
    assert_eq!(station.counters(pair(1, 2)), None);
}

// ML-32, D11: one station with several masters; masters among themselves bounce by ordinary physics.
#[test]
fn several_masters_on_one_station() {
    for settings in [
        Settings::improved(),
        Settings::published(Protocol::MotionLockBuckets),
    ] {
        let mut world = World::new(&[settings; 2], Net::GOOD, 9);
        world.body(0, 1, Ball::new(10.0), State::at(DVec3::ZERO));
        for index in 0..7_u64 {
            let angle = index as f64 * std::f64::consts::TAU / 7.0;
            let out = DVec3::new(angle.cos(), angle.sin(), 0.0);
            let state = State::moving(out * (150.0 + 9.0 * index as f64), out * -200.0);
            world.body(1, 10 + index, Ball::new(10.0), state);
        }
        world.run_until(ms(2_500));
        let mut total = 0;
        for index in 0..7 {
            let counts = [0, 1].map(|station| world.count(station, pair(1, 10 + index)));
            assert_eq!(counts[0], counts[1], "body {index}");
            total += counts[0];
        }
        assert!(total >= 3, "{total} hits");
        assert!(
            world
                .events
                .iter()
                .any(|(id, event)| *id == B && matches!(event, Event::LocalBounce { .. }))
        );
    }
}
