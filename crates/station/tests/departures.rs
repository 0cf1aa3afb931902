//! Stations that die, come back or are sent away, and users who ask for what cannot be.

use crate::common::*;
use domain::BodyId;
use glam::DVec3;
use station::*;

const A: StationId = StationId(0);
const B: StationId = StationId(1);

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
