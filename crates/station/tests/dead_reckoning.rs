//! Dead reckoning between stations: what is sent, and what replicas do with it.

use crate::common::*;
use domain::{BodyId, SimTime};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use scenes::encounters;
use station::messages::Update;
use station::*;

const CIRCLE: Rail = Rail::flat(Path::Curve {
    curve: encounters::Curve::Circle {
        radius: 80.0,
        speed: 500.0,
    },
    at: DVec3::ZERO,
    side: 1.0,
});

fn line(velocity: DVec3) -> Rail {
    Rail::flat(Path::Line {
        at: DVec3::ZERO,
        velocity,
    })
}

/// One body of station 0 on a rail, shown by station 1.
fn shown(settings: Settings, net: Net, rail: Rail, seed: u64) -> World {
    let mut world = World::new(&[settings; 2], net, seed);
    world.railed(0, 1, rail);
    world
}

fn control() -> Settings {
    Settings::published(Protocol::Control)
}

/// Largest and mean deviation between 0.5 s and 3 s, and updates sent.
fn measure(mut world: World) -> (f64, f64, u64) {
    let (mut worst, mut sum, mut frames) = (0.0_f64, 0.0, 0);
    while world.now < ms(3_000) {
        world.frame();
        if world.now > ms(500) {
            let error = world.position(0, 1).distance(world.position(1, 1));
            worst = worst.max(error);
            sum += error;
            frames += 1;
        }
    }
    let sent = world.stations[&StationId(0)].traffic().sent[Class::Updates as usize];
    (worst, sum / f64::from(frames), sent.messages)
}

// ML-6: straight motion is shown exactly, under loss and jitter, by both predictors.
#[test]
fn straight_lines_have_no_error() {
    let line = line(DVec3::new(150.0, -80.0, 33.0));
    for predictor in [Predictor::Dis, Predictor::PositionHistory] {
        for net in [Net::GOOD, Net::MODERATE, Net::CONGESTED] {
            let mut settings = control();
            settings.reckoning.predictor = predictor;
            let (worst, ..) = measure(shown(settings, net, line, 11));
            assert!(worst < 0.01, "{predictor:?}: {worst}");
        }
    }
}

// ML-3: DIS sends position, velocity and acceleration, when the receivers would be off by more than the threshold.
// ML-4: position history sends positions only.
#[test]
fn what_updates_carry_and_when() {
    for predictor in [Predictor::Dis, Predictor::PositionHistory] {
        let mut settings = control();
        settings.reckoning.predictor = predictor;
        let mut world = shown(settings, Net::PERFECT, CIRCLE, 1).keeping_sent();
        world.run_until(ms(1_000));
        let mut updates = Vec::new();
        for (_, from, transmit) in &world.sent {
            let key = LinkKey::for_link(b"secret", *from, transmit.to);
            let datagram = station::messages::Datagram::open(
                &transmit.bytes,
                &key,
                *from,
                transmit.to,
                4096.0,
            );
            for message in datagram.expect("ours").messages {
                if let Message::Update(update) = message {
                    updates.push(update);
                }
            }
        }
        let full = |update: &Update| update.velocity.is_some() && update.acceleration.is_some();
        let bare = |update: &Update| update.velocity.is_none() && update.acceleration.is_none();
        assert!(full(&updates[0]), "the first carries everything");
        let rest = &updates[1..];
        match predictor {
            Predictor::Dis => assert!(rest.iter().all(full)),
            Predictor::PositionHistory => assert!(rest.iter().all(bare)),
        }
        assert!(rest.len() < 40, "not every frame: {}", rest.len());
        // Without loss or delay the receivers are never off by more than the threshold plus one frame's surprise.
        let mut world = shown(settings, Net::PERFECT, CIRCLE, 1);
        while world.now < ms(1_500) {
            world.frame();
            let believed = world.stations[&StationId(0)].view(BodyId(1)).expect("ours");
            let error = believed.net.position.distance(believed.physics.position);
            assert!(error <= settings.reckoning.threshold + 1e-9, "{error}");
        }
    }
}

#[test]
fn a_smaller_threshold_costs_updates_and_buys_accuracy() {
    let at = |threshold| {
        let mut settings = control();
        settings.reckoning.threshold = threshold;
        measure(shown(settings, Net::GOOD, CIRCLE, 2))
    };
    let (fine, coarse) = (at(0.5), at(8.0));
    assert!(
        fine.2 > coarse.2 && fine.1 < coarse.1,
        "{fine:?} {coarse:?}"
    );
}

// ML-5: the predictor can be changed while running; the replica goes on without a break.
#[test]
fn the_predictor_can_be_changed_while_running() {
    let mut world = shown(control(), Net::PERFECT, CIRCLE, 1);
    world.run_until(ms(1_000));
    for predictor in [Predictor::Dis, Predictor::PositionHistory, Predictor::Dis] {
        world.station(0).set_predictor(predictor);
        world.station(1).set_predictor(predictor);
        for _ in 0..20 {
            world.frame();
            let error = world.position(0, 1).distance(world.position(1, 1));
            assert!(error < 15.0, "{predictor:?}: {error}");
        }
    }
}

// ML-7: with snap a replica jumps to its new forecast; smooth modes get there without a jump, later.
#[test]
fn convergence_smooths_jumps() {
    let jump = |convergence| {
        let mut settings = control();
        settings.reckoning.convergence = convergence;
        settings.reckoning.threshold = 6.0;
        let mut world = shown(settings, Net::MODERATE, CIRCLE, 3);
        let (mut before, mut worst) = (None::<DVec3>, 0.0_f64);
        while world.now < ms(3_000) {
            world.frame();
            let position = world.position(1, 1);
            if let (Some(before), true) = (before, world.now > ms(500)) {
                worst = worst.max((position.distance(before) - 10.0).abs());
            }
            before = Some(position);
        }
        worst
    };
    let (min, max) = (ms(60), ms(200));
    let snap = jump(Convergence::Snap);
    assert!(jump(Convergence::Linear { min, max }) < 0.8 * snap);
    assert!(jump(Convergence::Cubic { min, max }) < 0.8 * snap);
}

// ML-9: updates may come in any order, twice or late; a replica's samples only get newer and its time never runs back.
#[test]
fn reordered_and_repeated_updates_do_no_harm() {
    let mut rng = Pcg64::seed_from_u64(4);
    for _ in 0..200 {
        let mut world = World::new(&[control(); 2], Net::PERFECT, 1);
        world.body(0, 1, Ball::new(10.0), State::at(DVec3::ZERO));
        world.dead.push(StationId(0));
        world.frame();
        let update = |t: u64| {
            Message::Update(Update {
                body: BodyId(1),
                time: ms(t),
                segment: 0,
                position: DVec3::X * t as f64,
                velocity: None,
                acceleration: None,
            })
        };
        let mut newest = 0;
        for frame in 1..30_u64 {
            for _ in 0..rng.random_range(0..4) {
                let t = (frame * 20).saturating_sub(rng.random_range(0..300)).max(1);
                newest = newest.max(t);
                let now = world.now;
                world
                    .station(1)
                    .handle_message(now, StationId(0), update(t));
                if rng.random() {
                    world
                        .station(1)
                        .handle_message(now, StationId(0), update(t));
                }
            }
            world.frame();
            let x = world.position(1, 1).x;
            // All samples lie on x = t: with two of them or more the forecast is right, whatever the order.
            let behind = (frame * 20) as f64 - x;
            assert!(behind > -1e-6, "ahead of its time: {behind}");
        }
        // A driver whose clock stumbles does not turn time back either.
        let late = world.now;
        world.station(1).handle_frame(ms(5));
        assert!(world.station(1).shared_now() >= Some(late.since(FRAME)));
        let _ = newest;
    }
}

// ML-10: each further reason to send does what it is for.
#[test]
fn pre_reckoning_tells_of_starts_stops_and_turns_at_once() {
    let delay = |pre| {
        let mut settings = control();
        settings.reckoning.sender.pre_reckoning_deg = pre;
        settings.reckoning.threshold = 10.0;
        let mut world = World::new(&[settings; 2], Net::PERFECT, 1);
        world.body(0, 1, Ball::new(10.0), State::at(DVec3::ZERO));
        world.run_until(ms(300));
        let before = world.stations[&StationId(0)].traffic().datagrams_sent;
        let start = world.now;
        world
            .station(0)
            .command(BodyId(1), Command::Velocity(DVec3::X * 40.0))
            .expect("ours");
        while world.stations[&StationId(0)].traffic().datagrams_sent == before {
            world.frame();
        }
        world.now.since(start)
    };
    assert_eq!(delay(Some(20.0)), FRAME, "in the very frame");
    assert!(
        delay(None) > ms(180),
        "only when it is 10 off, or silent too long"
    );
}

#[test]
fn the_distance_policy_is_finer_where_somebody_is_near() {
    let updates = |near: bool| {
        let mut settings = control();
        settings.reckoning.threshold = 4.0;
        settings.reckoning.sender.distance = Some(DistanceThreshold {
            far: 400.0,
            near_share: 0.1,
        });
        let mut world = shown(settings, Net::PERFECT, CIRCLE, 1);
        let x = if near { 120.0 } else { 5_000.0 };
        world.body(1, 2, Ball::new(10.0), State::at(DVec3::X * x));
        measure(world)
    };
    let (near, far) = (updates(true), updates(false));
    assert!(near.2 > far.2, "{near:?} {far:?}");
    assert!(near.1 < far.1);
}

#[test]
fn the_time_space_policy_sends_small_errors_that_last() {
    let mean = |time_space| {
        let mut settings = control();
        settings.reckoning.threshold = 8.0;
        settings.reckoning.keepalive = ms(5_000);
        settings.reckoning.sender.time_space = time_space;
        // A drift of 2 units per second: never 8 off within the run, but off for long.
        let mut world = World::new(&[settings; 2], Net::PERFECT, 1);
        world.body(
            0,
            1,
            Ball::new(10.0),
            State::moving(DVec3::ZERO, DVec3::X * 50.0),
        );
        world.run_until(ms(100));
        for _ in 0..3 {
            world
                .station(0)
                .command(BodyId(1), Command::Velocity(DVec3::new(50.0, 2.0, 0.0)))
                .expect("ours");
            world.frame();
        }
        measure(world).1
    };
    let (with, without) = (mean(Some(0.5)), mean(None));
    assert!(with < 0.5 * without, "{with} {without}");
}

#[test]
fn the_closed_loop_brings_the_receivers_error_to_its_goal() {
    let run = |goal| {
        let mut settings = control();
        settings.reckoning.threshold = 4.0;
        settings.reckoning.sender.closed_loop = Some(ClosedLoop {
            goal,
            every: ms(100),
            min_share: 0.05,
            max_share: 10.0,
        });
        let mut world = shown(settings, Net::GOOD, CIRCLE, 5);
        world.run_until(ms(2_000));
        let reports =
            world.stations[&StationId(1)].traffic().sent[Class::Reports as usize].messages;
        assert!(reports > 5, "{reports}");
        measure(world)
    };
    let (strict, lax) = (run(0.5), run(20.0));
    assert!(strict.2 > lax.2, "{strict:?} {lax:?}");
    assert!(strict.1 < lax.1);
}

#[test]
fn the_proximity_policy_sends_often_where_a_hit_is_possible() {
    let updates = |x: f64| {
        let mut settings = control();
        settings.reckoning.sender.proximity_rate = Some(ProximityRate {
            within: ms(300),
            every: FRAME,
        });
        let line = line(DVec3::X * 100.0);
        let mut world = shown(settings, Net::PERFECT, line, 1);
        world.body(
            1,
            2,
            Ball::new(10.0),
            State::moving(DVec3::new(-100.0, x, 0.0), DVec3::X * 100.0),
        );
        measure(world).2
    };
    assert!(updates(60.0) > 100);
    assert!(updates(2_000.0) < 20);
}

/// A body led along a path by a hand that trembles by so much each frame, over a link of 100 ms: how far its replica is on average from the path.
fn led(rail: Rail, tremble: f64, kalman_lead: Option<KalmanLead>) -> f64 {
    let mut settings = control();
    settings.reckoning.threshold = 2.0;
    settings.reckoning.sender.kalman_lead = kalman_lead;
    let mut net = Net::of(100, 0.0);
    net.jitter = 0.0;
    let mut world = World::new(&[settings; 2], net, 1);
    world.body(0, 1, Ball::new(10.0), rail.at(0.0));
    // The owner measures the delay from what comes back.
    world.body(1, 2, Ball::new(10.0), State::at(DVec3::X * 3_000.0));
    let mut rng = Pcg64::seed_from_u64(8);
    let mut shake = || tremble * (2.0 * rng.random::<f64>() - 1.0);
    let mut sum = 0.0;
    while world.now < ms(4_000) {
        let clean = rail.at(-world.now.as_secs());
        let place = clean.position + DVec3::new(shake(), shake(), 0.0);
        let follow = Command::Follow(State::moving(place, clean.velocity));
        world.station(0).command(BodyId(1), follow).expect("ours");
        world.frame();
        sum += world.position(1, 1).distance(clean.position);
    }
    sum / 200.0
}

const LEAD: KalmanLead = KalmanLead {
    jerk: 20.0,
    noise: 0.6,
    max_lead: ms(300),
};

// A trembling hand: positions off by up to 0.8 each frame. Two of them make a bad velocity; the filter makes a good one.
#[test]
fn the_kalman_lead_steadies_a_trembling_hand() {
    let way = line(DVec3::X * 100.0);
    let (with, without) = (led(way, 0.8, Some(LEAD)), led(way, 0.8, None));
    println!("trembling on a line: {with:.2} with the filter, {without:.2} without");
    assert!(with < 0.7 * without, "{with} against {without}");
}

// A negative result: where the hand is steady the filter has nothing to remove, and what it adds is lag. Turns make it worse.
#[test]
fn the_kalman_lead_does_harm_where_nothing_trembles() {
    let circle = Path::Curve {
        curve: encounters::Curve::Circle {
            radius: 200.0,
            speed: 100.0,
        },
        at: DVec3::ZERO,
        side: 1.0,
    };
    for (name, way) in [
        ("wide circle", Rail::flat(circle)),
        ("tight circle", CIRCLE),
    ] {
        let (with, without) = (led(way, 0.0, Some(LEAD)), led(way, 0.0, None));
        println!("steady on a {name}: {with:.2} with the filter, {without:.2} without");
        assert!(with > without, "{name}: {with} against {without}");
    }
}

// ML-8: after a hit a replica follows the bounce computed here, until its owner's updates have caught up; without any, only for a while.
#[test]
fn local_correction_bridges_the_delay_and_expires() {
    let mut settings = Settings::published(Protocol::MotionLock);
    settings.reckoning.reset = HistoryReset::BySegment;
    let mut world = Scenario::Llc.world(settings, Net::of(100, 0.0), 1);
    world.run_until(ms(1_480));
    let hit = world.hits(0)[0];
    // Two frames later no update can have arrived, yet the replica has turned round and is right.
    world.run_until(hit.at + ms(40));
    let view = world.stations[&StationId(0)]
        .view(BodyId(2))
        .expect("shown");
    assert!(view.physics.velocity.y > 0.0 && view.net.velocity.y < 0.0);
    assert!(world.position(0, 2).distance(world.position(1, 2)) < 0.01);
    world.run_until(hit.at + ms(300));
    assert!(
        world.position(0, 2).distance(world.position(1, 2)) < 0.01,
        "and goes on so"
    );
    // The network fails before the hit: after T_corr the replica is back on its last forecast.
    let mut world = Scenario::Llc.world(settings, Net::of(100, 0.0), 1);
    world.run_until(ms(1_420));
    world.net.loss = 1.0;
    world.run_until(ms(1_480));
    let hit = world.hits(0)[0];
    let velocity = |world: &World| {
        world.stations[&StationId(0)]
            .view(BodyId(2))
            .expect("shown")
            .physics
            .velocity
            .y
    };
    world.run_until(hit.at + ms(480));
    assert!(velocity(&world) > 0.0);
    world.run_until(hit.at + ms(560));
    assert!(velocity(&world) < 0.0, "expired");
}

// ML-8, §2.3: with the history kept across the corner, replicas are fitted through it; with a reset they are not.
#[test]
fn a_history_that_is_not_reset_cuts_the_corner() {
    let deviation = |reset| {
        let mut settings = Settings::published(Protocol::MotionLock);
        settings.reckoning.reset = reset;
        settings.reckoning.curve = Curve::SecondOrder;
        (0..10)
            .map(|seed| run(Scenario::Llc, settings, Net::GOOD, seed).deviation)
            .sum::<f64>()
            / 10.0
    };
    assert!(deviation(HistoryReset::BySegment) < 1.0);
    assert!(
        deviation(HistoryReset::None) > 100.0,
        "{}",
        deviation(HistoryReset::None)
    );
}

// ML-33: walls are the owner's business; replicas follow although their station never computes the bounce.
#[test]
fn walls_turn_masters_round_and_replicas_with_them() {
    let settings = Settings::improved();
    let mut world = World::new(&[settings; 2], Net::GOOD, 2);
    for station in world.stations.values_mut() {
        station.set_arena(Some(Arena {
            min: DVec3::splat(-50.0),
            max: DVec3::splat(50.0),
            restitution: 1.0,
        }));
    }
    world.body(
        0,
        1,
        Ball::new(10.0),
        State::moving(DVec3::ZERO, DVec3::new(90.0, 70.0, -50.0)),
    );
    let mut off = 0;
    while world.now < ms(6_000) {
        world.frame();
        assert!(world.position(0, 1).abs().max_element() <= 40.0 + 1e-9);
        off += u32::from(world.position(0, 1).distance(world.position(1, 1)) > 1.0);
    }
    // Wrong only between each of the ~13 bounces and the arrival of the news, about four frames.
    assert!(off < 110, "{off} of 300 frames");
    assert!(
        world
            .events
            .iter()
            .all(|(_, event)| !matches!(event, Event::Hit(_))),
        "no counter"
    );
    let _ = SimTime::ZERO;
}
