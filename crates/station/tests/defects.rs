//! The fifteen defects of the published pseudo-code (the digest's §2.14). Each test shows what the published rule does, and that ours
//! does not.

use crate::common::*;
use domain::{BodyId, SimTime};
use glam::DVec3;
use station::messages::{Record, RecordKind, Vote, VoteKind};
use station::*;

const A: StationId = StationId(0);
const B: StationId = StationId(1);
const BALL: Ball = Ball {
    radius: 10.0,
    mass: 1.0,
};

fn literal() -> Settings {
    Settings::published(Protocol::LiteralMotionLock)
}

fn literal_buckets() -> Settings {
    let mut settings = Settings::published(Protocol::LiteralBuckets);
    settings.reckoning.predictor = Predictor::Dis;
    settings
}

fn ours() -> Settings {
    Settings::published(Protocol::MotionLock)
}

fn our_buckets() -> Settings {
    let mut settings = Settings::published(Protocol::MotionLockBuckets);
    settings.reckoning.predictor = Predictor::Dis;
    settings
}

/// One station on its own: nothing arrives from the other but what the test says.
fn alone(settings: Settings) -> World {
    let mut world = World::new(&[settings; 2], Net::PERFECT, 1);
    world.dead.push(B);
    world
}

fn record(one: u64, other: u64, kind: RecordKind, index: u32, time: SimTime) -> Message {
    Message::Record(Record {
        pair: pair(one, other),
        kind,
        index,
        time,
        score: 0,
        velocities: None,
        earlier: Vec::new(),
    })
}

fn hear(world: &mut World, message: Message) {
    let now = world.now;
    world.station(0).handle_message(now, B, message);
}

// D1 (ML-22): Algorithm 3 counts a potential collision again in every frame of the window.
#[test]
fn d01_cp_rises_once_per_commit() {
    let highest = |settings| {
        let mut world = Scenario::Llc.world(settings, Net::PERFECT, 1);
        world.dead.push(B);
        world.run_until(ms(1_450));
        world.stations[&A].counters(pair(1, 2)).expect("a pair").cp
    };
    assert!(highest(literal()) >= 4, "published: once a frame");
    assert_eq!(highest(ours()), 1);
}

// D2: one pair's "else unlock" releases a master that another pair holds.
#[test]
fn d02_a_lock_belongs_to_its_pair() {
    let locked = |settings| {
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::at(DVec3::ZERO));
        world.body(
            1,
            2,
            BALL,
            State::moving(DVec3::X * -60.0, DVec3::X * 400.0),
        );
        // Far away, of no concern; but its turn comes after that of the first.
        world.body(1, 3, BALL, State::at(DVec3::X * 9_000.0));
        world.frame();
        world.frame();
        world.station(0).is_locked(BodyId(1))
    };
    assert!(
        !locked(literal()),
        "published: released by the pair with the far one"
    );
    assert!(locked(ours()));
}

// D3 (ML-22): a hit nobody foresaw leaves cp behind c; the next notice then bears a number the other has already, and is swallowed.
#[test]
fn d03_cp_never_falls_behind_c() {
    let counters = |settings| {
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::at(DVec3::Y * 300.0));
        world.body(1, 2, BALL, State::at(DVec3::ZERO));
        world.frame();
        // Suddenly there (a door, a jump): it touches without ever having been about to.
        let jump = State::moving(DVec3::X * -15.0, DVec3::X * 50.0);
        world
            .station(0)
            .command(BodyId(1), Command::Follow(jump))
            .expect("ours");
        world.frame();
        world.stations[&A].counters(pair(1, 2)).expect("a pair")
    };
    assert_eq!(counters(literal()), Counters { c: 1, cp: 0 }, "published");
    assert_eq!(counters(ours()), Counters { c: 1, cp: 1 });
}

// D4: one stored time for two kinds of message; a straggler overwrites what is newer.
#[test]
fn d04_a_straggler_changes_nothing() {
    let played = |settings| {
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::at(DVec3::ZERO));
        world.body(
            1,
            2,
            BALL,
            State::moving(DVec3::new(-60.0, 30.0, 0.0), DVec3::X * 50.0),
        );
        world.run_until(ms(1_000));
        // A notice for 60 ms from now; then a late heartbeat of long ago.
        let now = world.now;
        hear(
            &mut world,
            record(1, 2, RecordKind::Notice, 1, now + ms(60)),
        );
        hear(&mut world, record(1, 2, RecordKind::Done, 0, ms(100)));
        world.frame();
        world.hits(0).first().map(|hit| hit.at.since(now))
    };
    assert_eq!(
        played(literal()),
        Some(SimTime::ZERO),
        "published: its time is overwritten, it is played at once"
    );
    assert_eq!(played(ours()), None, "ours: not before its time");
}

// D5: both have foretold the hit, only one sees contact: equal cp, so nothing triggers the other.
#[test]
fn d05_a_commit_is_binding() {
    let counts = |settings| {
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::moving(DVec3::ZERO, DVec3::X * 400.0));
        world.body(
            1,
            2,
            BALL,
            State::moving(DVec3::new(56.0, 19.0, 0.0), DVec3::ZERO),
        );
        world.frame();
        // A grazing hit is foretold 120 ms ahead; between two frames it would be over: contact is never seen.
        world.run_until(ms(400));
        let Counters { c, cp } = world.stations[&A].counters(pair(1, 2)).expect("a pair");
        (c, cp)
    };
    let (c, cp) = counts(literal());
    assert!(
        cp > 0 && c == 0,
        "published: promised {cp} times, never kept"
    );
    assert_eq!(counts(ours()), (1, 1));
}

// D6 (ML-27): the other's count arrives just before our own contact: the same hit counted twice.
#[test]
fn d06_one_hit_is_not_counted_twice() {
    let count = |refractory| {
        let mut settings = Settings::published(Protocol::PostCollision);
        settings.agreement.refractory = refractory;
        settings.agreement.rearm_gap = f64::NEG_INFINITY;
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::moving(DVec3::ZERO, DVec3::X * 100.0));
        world.body(
            1,
            2,
            BALL,
            State::moving(DVec3::X * 26.0, DVec3::X * -100.0),
        );
        world.frame();
        // "We hit", says B, and keeps coming (its updates of before the bounce are still under way).
        let now = world.now;
        hear(&mut world, record(1, 2, RecordKind::Done, 1, now));
        let message = |world: &mut World, t: u64| {
            let update = station::messages::Update {
                body: BodyId(2),
                time: ms(t),
                segment: 0,
                position: DVec3::X * (26.0 - 0.1 * t as f64),
                velocity: Some(DVec3::X * -100.0),
                acceleration: Some(DVec3::ZERO),
            };
            hear(world, Message::Update(update));
        };
        for t in [20, 40, 60, 80] {
            message(&mut world, t);
            world
                .station(0)
                .command(BodyId(1), Command::Velocity(DVec3::X * 100.0))
                .expect("ours");
            world.frame();
        }
        world.count(0, pair(1, 2))
    };
    assert!(
        count(SimTime::ZERO) >= 2,
        "without refractory time and re-arming: twice"
    );
    assert_eq!(count(ms(250)), 1);
}

// D7: two different hits, one seen on each side, merge into one. (The property over random histories is in `pair_tests.rs`.)
#[test]
fn d07_two_hits_seen_by_one_each_are_two() {
    let count = |identity| {
        let mut settings = Settings::published(Protocol::PostCollision);
        settings.agreement.identity = identity;
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::moving(DVec3::ZERO, DVec3::X * 200.0));
        world.body(1, 2, BALL, State::at(DVec3::X * 60.0));
        world.run_until(ms(1_500));
        assert_eq!(world.count(0, pair(1, 2)), 1, "ours, at 0.2 s");
        // The other has seen one, too, but another one.
        let seen = world.now.since(ms(100));
        hear(&mut world, record(1, 2, RecordKind::Done, 1, seen));
        world.frame();
        world.count(0, pair(1, 2))
    };
    assert_eq!(count(Identity::Index), 1, "published: lost");
    assert_eq!(count(Identity::Time), 2);
}

// D8: informed, but free to steer away, and then bounced in mid-air.
#[test]
fn d08_a_notice_can_lock() {
    let gap = |on_notice| {
        let mut settings = ours();
        settings.lock.on_notice = on_notice;
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::moving(DVec3::ZERO, DVec3::X * 300.0));
        world.body(
            1,
            2,
            BALL,
            State::moving(DVec3::new(50.0, 21.0, 0.0), DVec3::ZERO),
        );
        world.frame();
        let time = world.now + ms(90);
        hear(&mut world, record(1, 2, RecordKind::Notice, 1, time));
        world.frame();
        while world.hits(0).is_empty() {
            let away = Command::Velocity(DVec3::new(0.0, -600.0, 0.0));
            world.station(0).command(BodyId(1), away).expect("ours");
            world.frame();
        }
        let lasted = world.events.iter().find_map(|(_, event)| match event {
            Event::Unlocked { since, at, .. } => Some(at.since(*since)),
            _ => None,
        });
        assert!(
            lasted.is_none_or(|time| time <= ms(120)),
            "never beyond T_lock"
        );
        world.hits(0)[0].gap
    };
    assert!(gap(false) > 20.0, "published: {}", gap(false));
    assert!(gap(true) < 10.0, "{}", gap(true));
}

/// A bucket of two: 11 first, 12 joins late and is quick. What station 0 counts for each.
fn bucket_of_two(settings: Settings) -> [u32; 2] {
    let mut world = World::new(&[settings; 2], Net::PERFECT, 1);
    world.body(0, 1, BALL, State::at(DVec3::ZERO));
    world.body(
        1,
        11,
        BALL,
        State::moving(DVec3::X * 120.0, DVec3::X * -400.0),
    );
    world.body(1, 12, BALL, State::at(DVec3::Y * 60.0));
    while world.now < ms(290) {
        if world.now == ms(180) {
            let dash = Command::Velocity(DVec3::Y * -900.0);
            world.station(1).command(BodyId(12), dash).expect("ours");
        }
        world.frame();
        world.dead.retain(|_| false);
        if world.now >= ms(220) {
            // Only what station 0 does by itself.
            world.net.loss = 1.0;
        }
    }
    [11, 12].map(|other| world.count(0, pair(1, other)))
}

// D9: Algorithm 4 resets the bucket's time after the first member: the second is stranded.
#[test]
fn d09_all_members_are_resolved() {
    assert_eq!(
        bucket_of_two(literal_buckets()),
        [1, 0],
        "published: stranded"
    );
    assert_eq!(bucket_of_two(our_buckets()), [1, 1]);
}

// D10: when the other's count resolves one member, Algorithm 4 frees the master that others still hold.
#[test]
fn d10_an_overtaken_member_leaves_alone() {
    let held = |settings| {
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::at(DVec3::ZERO));
        world.body(
            1,
            11,
            BALL,
            State::moving(DVec3::X * 55.0, DVec3::X * -400.0),
        );
        world.body(
            1,
            12,
            BALL,
            State::moving(DVec3::X * -55.0, DVec3::X * 400.0),
        );
        world.frame();
        assert!(world.station(0).is_locked(BodyId(1)));
        // In Algorithm 4 cp has been raised; a peer's count above c triggers the second branch.
        let now = world.now;
        hear(&mut world, record(1, 12, RecordKind::Done, 1, now));
        world.frame();
        (
            world.station(0).is_locked(BodyId(1)),
            world.station(0).is_locked(BodyId(11)),
        )
    };
    let (master, _) = held(literal_buckets());
    assert!(!master, "published: free although 11 is still to come");
    assert_eq!(held(our_buckets()), (true, true));
}

// D11 (ML-32): our second master hits a replica that our first one holds: not provided for.
#[test]
fn d11_a_bucket_spans_several_masters() {
    let counts = |settings| {
        let mut world = alone(settings);
        world.body(
            0,
            1,
            BALL,
            State::moving(DVec3::X * -120.0, DVec3::X * 400.0),
        );
        world.body(0, 2, BALL, State::at(DVec3::Y * 60.0));
        world.body(1, 3, BALL, State::at(DVec3::ZERO));
        while world.now < ms(265) {
            if world.now == ms(180) {
                let dash = Command::Velocity(DVec3::Y * -900.0);
                world.station(0).command(BodyId(2), dash).expect("ours");
            }
            world.frame();
        }
        [1, 2].map(|one| world.count(0, pair(one, 3)))
    };
    assert_eq!(counts(literal_buckets())[1], 0, "published: ignored");
    assert_eq!(counts(our_buckets()), [1, 1]);
}

// D12: Algorithm 4's window is a T that is defined nowhere; it must be T_lock.
#[test]
fn d12_the_buckets_window_is_t_lock() {
    let ahead = |settings| {
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::at(DVec3::ZERO));
        world.body(
            1,
            11,
            BALL,
            State::moving(DVec3::X * 420.0, DVec3::X * -400.0),
        );
        while !world.station(0).is_locked(BodyId(1)) {
            world.frame();
        }
        1.0 - world.now.since(FRAME).as_secs()
    };
    assert!(ahead(literal_buckets()) > 0.9, "published: a second ahead");
    assert!(ahead(our_buckets()) <= 0.1);
}

// D13 (G4): the heartbeat carries only c; a lost notice is never repeated.
#[test]
fn d13_a_lost_notice_is_repeated() {
    let informed_early = |repeat| {
        let mut settings = ours();
        settings.lock.repeat_notice = repeat;
        // B sees nothing by itself: the bodies pass each other as it knows them.
        let mut early = 0;
        for seed in 0..40 {
            let mut world = Scenario::Clc.world(settings, Net::of(30, 0.5), seed);
            world.run_until(ms(2_000));
            let [a, b] = [0, 1].map(|station| world.hits(station)[0].at);
            early += u32::from(a.since(b).max(b.since(a)) <= FRAME);
        }
        early
    };
    let (once, repeated) = (informed_early(false), informed_early(true));
    assert!(
        repeated > once,
        "{repeated} against {once} of 40 within a frame"
    );
}

// D14: Algorithm 2 prints the counter of an object, not of a pair.
#[test]
fn d14_counters_belong_to_pairs() {
    let counts = |protocol| {
        let mut settings = Settings::published(protocol);
        settings.lock.max = ms(250);
        let mut world = alone(settings);
        world.body(0, 1, BALL, State::at(DVec3::ZERO));
        world.body(
            1,
            2,
            BALL,
            State::moving(DVec3::X * -60.0, DVec3::X * 400.0),
        );
        world.body(1, 3, BALL, State::at(DVec3::X * 9_000.0));
        world.frame();
        let yes = Vote {
            pair: pair(1, 2),
            kind: VoteKind::Yes,
        };
        hear(&mut world, Message::Vote(yes));
        world.run_until(ms(300));
        [2, 3].map(|other| world.count(0, pair(1, other)))
    };
    assert_eq!(
        counts(Protocol::LiteralPreCollision),
        [1, 1],
        "published: the far one, too"
    );
    assert_eq!(counts(Protocol::PreCollision), [1, 0]);
}

// D15 (G1, ML-26, ML-57): both have foretold the hit with different trajectories; published: each keeps its own.
#[test]
fn d15_one_set_of_trajectories_counts() {
    let differ = |conflict| {
        let mut settings = ours();
        settings.agreement.conflict = conflict;
        let mut differ = 0;
        for seed in 0..20 {
            let mut world = Scenario::Ccc.world(settings, Net::GOOD, seed);
            world.run_until(ms(1_800));
            let settled = |station: u32| {
                let hit = world.hits(station)[0];
                let won = world.events.iter().find_map(|(id, event)| match event {
                    Event::Settled { author, .. } if id.0 == station => Some(*author),
                    _ => None,
                });
                won.unwrap_or(hit.author)
            };
            differ += u32::from(settled(0) != settled(1));
        }
        differ
    };
    assert!(differ(Conflict::LocalPriority) > 10);
    assert_eq!(differ(Conflict::LowerStation), 0);
    assert_eq!(differ(Conflict::Score), 0);
}
