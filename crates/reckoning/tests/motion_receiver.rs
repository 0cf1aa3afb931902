//! What receivers make of a stream of vectors: clocks (DR-8 to DR-12), stale vectors (DR-6), absurd ones.

use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reckoning::motion::{
    ClockMode, Driver, OneWayDelay, Receiver, Rejected, Thresholds, Trigger, TrueState, extrapolate,
};
use reckoning::{DrVector, Kind, Seq};

const ENTITY: BodyId = BodyId(4);

/// The digest's worked example: at 10.000 s in (100, 50), going at 25 units/s along x.
const EXAMPLE: DrVector = DrVector {
    entity: ENTITY,
    seq: Seq(1),
    time: SimTime(10_000_000_000),
    kind: Kind::Linear,
    status: 0,
    position: DVec3::new(100.0, 0.0, 50.0),
    velocity: DVec3::new(25.0, 0.0, 0.0),
    acceleration: DVec3::ZERO,
    rotation: DQuat::IDENTITY,
    spin: DVec3::ZERO,
};

fn secs(secs: f64) -> SimTime {
    SimTime::from_secs(secs)
}

fn holding(mode: ClockMode, now: SimTime, vector: &DrVector) -> Receiver {
    let mut receiver = Receiver::new(ENTITY, mode);
    receiver.receive(now, vector).expect("a fair vector");
    receiver
}

fn position(receiver: &Receiver, at: SimTime) -> DVec3 {
    receiver.place(at).expect("holds a vector").position
}

// DR-8, DR-9: the worked example of §2.3.
#[test]
fn the_worked_example() {
    let received = secs(10.3);
    let global = holding(ClockMode::Global, received, &EXAMPLE);
    assert!(position(&global, received).distance(DVec3::new(107.5, 0.0, 50.0)) < 1e-9);
    let local = holding(ClockMode::Local, received, &EXAMPLE);
    assert!(position(&local, received).distance(DVec3::new(100.0, 0.0, 50.0)) < 1e-9);
    for later in [10.3, 11.0, 25.0] {
        let truth = extrapolate(&EXAMPLE, secs(later)).position;
        assert!(
            position(&global, secs(later)).distance(truth) < 1e-6,
            "DR-8"
        );
        let trails = position(&local, secs(later)).distance(truth);
        assert!(
            (trails - 7.5).abs() < 1e-6,
            "DR-9: s·dt, for ever: {trails}"
        );
    }
}

/// One run of a driver over one link of fixed delay: triggers at the owner, and both placed paths from the same
/// vectors. Calls back every 20 ms with the real position, the exported one, and the receivers, once they hold
/// something.
fn drive(
    driver: &Driver,
    delay: SimTime,
    mut each: impl FnMut(SimTime, DVec3, &DrVector, &[Receiver; 2]),
) {
    let mut trigger = Trigger::new(ENTITY, Thresholds::bzflag());
    let mut receivers =
        [ClockMode::Global, ClockMode::Local].map(|mode| Receiver::new(ENTITY, mode));
    let mut in_flight = std::collections::VecDeque::new();
    for now in (0..3_000).map(|n| SimTime(n * 20_000_000)) {
        let state = driver.state_at(now);
        if let Some(vector) = trigger.observe(now, &state) {
            in_flight.push_back((now + delay, vector));
        }
        while let Some((arrival, vector)) = in_flight.pop_front_if(|(arrival, _)| *arrival <= now) {
            for receiver in &mut receivers {
                receiver
                    .receive(arrival, &vector)
                    .expect("in order, so never stale");
            }
        }
        if receivers[0].vector().is_some() {
            each(
                now,
                state.position,
                trigger.last().expect("exported"),
                &receivers,
            );
        }
    }
}

fn drivers() -> Vec<(&'static str, Driver)> {
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    vec![
        ("linear", Driver::straight()),
        ("circular", Driver::circle()),
        ("smooth", Driver::smooth(&mut rng, secs(60.0))),
        ("random", Driver::stop_and_go(&mut rng, secs(60.0))),
    ]
}

// DR-8, DR-10: whenever the receiver has the newest vector, its path is the exported one, at any delay; and both
// placed paths come from one stream in one run.
#[test]
fn after_export_error_is_zero_on_the_global_clock() {
    for (name, driver) in drivers() {
        for delay_ms in [100.0, 300.0, 800.0] {
            let (mut up_to_date, mut apart) = (0, 0);
            drive(
                &driver,
                SimTime::from_millis(delay_ms),
                |now, _, exported, [global, local]| {
                    assert_eq!(global.seq(), local.seq(), "DR-10: the same stream");
                    if global.seq() != exported.seq {
                        return;
                    }
                    up_to_date += 1;
                    let truth = extrapolate(exported, now).position;
                    assert!(
                        position(global, now).distance(truth) <= 1e-6,
                        "{name} {delay_ms}"
                    );
                    apart += u32::from(position(local, now).distance(truth) > 1.0);
                },
            );
            let slow_enough = delay_ms < 800.0 && name != "smooth";
            assert!(
                up_to_date > 500 || !slow_enough,
                "{name} {delay_ms}: {up_to_date}"
            );
            assert!(
                apart > 0 || up_to_date == 0,
                "the local clock shows what the global one saves"
            );
        }
    }
}

// DR-9: on a straight line the local clock trails by speed × delay.
#[test]
fn the_local_clock_trails_by_speed_times_delay() {
    for delay_ms in [100.0, 300.0, 800.0] {
        drive(
            &Driver::straight(),
            SimTime::from_millis(delay_ms),
            |now, real, _, [_, local]| {
                let trails = position(local, now).distance(real);
                assert!((trails - 25.0 * delay_ms * 1e-3).abs() < 1e-6, "{trails}");
            },
        );
    }
}

// DR-11: the one case where the local clock is nearer to the truth.
#[test]
fn a_stop_overshoots_more_on_the_global_clock() {
    let going = TrueState {
        velocity: EXAMPLE.velocity,
        ..TrueState::default()
    };
    let stopped = TrueState {
        position: DVec3::new(25.0, 0.0, 0.0),
        ..TrueState::default()
    };
    let mut trigger = Trigger::new(ENTITY, Thresholds::default());
    let go = trigger.observe(SimTime::ZERO, &going).expect("first");
    let stop = trigger
        .observe(secs(1.1), &stopped)
        .expect("it stopped at 1 s");
    let delay = secs(0.3);
    let mut global = holding(ClockMode::Global, go.time + delay, &go);
    let mut local = holding(ClockMode::Local, go.time + delay, &go);
    let just_before = secs(1.399);
    let errors = [&global, &local]
        .map(|receiver| position(receiver, just_before).distance(stopped.position));
    println!(
        "stop after 1 s at 25 m/s, 0.3 s delay: overshoot global {:.2} m, local {:.2} m",
        errors[0], errors[1]
    );
    assert!((errors[0] - 25.0 * 0.399).abs() < 1e-6);
    assert!((errors[1] - 25.0 * 0.099).abs() < 1e-6);
    for receiver in [&mut global, &mut local] {
        receiver.receive(stop.time + delay, &stop).expect("newer");
        assert_eq!(position(receiver, secs(1.5)), stopped.position);
    }
}

// DR-11, E1: over a whole drive the global clock is far better, with some instants of the opposite.
#[test]
fn on_average_the_global_clock_wins_though_not_at_every_instant() {
    for (name, driver) in drivers() {
        for delay_ms in [100.0, 300.0, 800.0] {
            let (mut sums, mut frames, mut worse) = ([0.0, 0.0], 0.0, 0.0);
            drive(
                &driver,
                SimTime::from_millis(delay_ms),
                |now, real, _, receivers| {
                    let errors = receivers
                        .each_ref()
                        .map(|receiver| position(receiver, now).distance(real));
                    sums = [sums[0] + errors[0], sums[1] + errors[1]];
                    frames += 1.0;
                    worse += f64::from(u8::from(errors[0] > errors[1]));
                },
            );
            let [global, local] = sums.map(|sum| sum / frames);
            println!(
                "{name:8} {delay_ms:3} ms: mean error local {local:6.2} m, global {global:5.2} m; global worse {:4.1} % of the time",
                100.0 * worse / frames
            );
            assert!(global < local, "{name} {delay_ms}");
            assert!(
                name != "random" || worse > 0.0,
                "a stop must be among the random moves"
            );
        }
    }
}

// DR-12: owner → server → client, no time stamps: each hop projects by its own guess of the delay.
#[test]
fn one_way_delay_works_hop_by_hop_and_errs_by_the_wrong_guess() {
    let error = |out: [f64; 2], back: [f64; 2]| {
        let [to_server, to_client] = [0, 1].map(|hop| {
            let mut delay = OneWayDelay::default();
            delay.handle_round_trip(SimTime::from_millis(out[hop] + back[hop]));
            ClockMode::OneWay {
                delay: delay.delay(),
            }
        });
        let at_server = EXAMPLE.time + SimTime::from_millis(out[0]);
        // The server's clock is its own: the stamp means nothing to it.
        let unstamped = DrVector {
            time: SimTime(77),
            ..EXAMPLE
        };
        let server = holding(to_server, at_server, &unstamped);
        let packed = at_server + SimTime::from_millis(40.0);
        let relayed = server.relay(packed).expect("holds a vector");
        assert_eq!((relayed.seq, relayed.kind), (EXAMPLE.seq, EXAMPLE.kind));
        let at_client = packed + SimTime::from_millis(out[1]);
        let client = holding(to_client, at_client, &relayed);
        let later = at_client + secs(0.5);
        position(&client, later).distance(extrapolate(&EXAMPLE, later).position)
    };
    assert!(
        error([100.0, 300.0], [100.0, 300.0]) < 1e-6,
        "symmetric: exact"
    );
    let skewed = error([100.0, 300.0], [20.0, 60.0]);
    assert!(
        (skewed - 25.0 * (0.040 + 0.120)).abs() < 1e-6,
        "both hops' errors add up: {skewed}"
    );
}

// DR-12: in the first moments of a run the estimated delay may exceed the time passed.
#[test]
fn a_guess_longer_than_the_run_so_far_is_no_trouble() {
    let mode = ClockMode::OneWay { delay: secs(5.0) };
    let receiver = holding(mode, secs(0.1), &EXAMPLE);
    assert!(position(&receiver, secs(0.1)).distance(DVec3::new(225.0, 0.0, 50.0)) < 1e-9);
}

// DR-6
#[test]
fn vectors_that_are_not_newer_are_ignored() {
    let mut receiver = Receiver::new(ENTITY, ClockMode::Global);
    let numbered = |seq: u32, x: f64| DrVector {
        seq: Seq(seq),
        position: DVec3::X * x,
        ..EXAMPLE
    };
    let now = secs(10.1);
    assert_eq!(receiver.place(now), None);
    receiver.receive(now, &numbered(5, 5.0)).expect("first");
    for seq in [0, 1, 4, 5] {
        let stale = Rejected::Stale {
            seq: Seq(seq),
            held: Seq(5),
        };
        assert_eq!(receiver.receive(now, &numbered(seq, 99.0)), Err(stale));
        assert_eq!(receiver.vector().map(|vector| vector.position.x), Some(5.0));
    }
    receiver
        .receive(secs(10.2), &numbered(9, 9.0))
        .expect("a gap is no obstacle");
    assert_eq!(
        (receiver.seq(), receiver.received_at()),
        (Seq(9), Some(secs(10.2)))
    );
}

#[test]
fn absurd_vectors_are_rejected_with_a_reason_and_change_nothing() {
    let mut receiver = holding(ClockMode::Global, secs(10.1), &EXAMPLE);
    let base = DrVector {
        seq: Seq(2),
        ..EXAMPLE
    };
    let now = secs(10.2);
    let absurd: [(&str, DrVector); 12] = [
        (
            "position is not a finite number",
            DrVector {
                position: DVec3::new(f64::NAN, 0.0, 0.0),
                ..base
            },
        ),
        (
            "velocity is not a finite number",
            DrVector {
                velocity: DVec3::new(0.0, f64::INFINITY, 0.0),
                ..base
            },
        ),
        (
            "acceleration is not a finite number",
            DrVector {
                acceleration: DVec3::NAN,
                ..base
            },
        ),
        (
            "spin is not a finite number",
            DrVector {
                spin: DVec3::NEG_INFINITY,
                ..base
            },
        ),
        (
            "rotation is not a finite number",
            DrVector {
                rotation: DQuat::from_xyzw(0.0, 0.0, 0.0, f64::NAN),
                ..base
            },
        ),
        (
            "rotation has length 0",
            DrVector {
                rotation: DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0),
                ..base
            },
        ),
        (
            "position is 1e300",
            DrVector {
                position: DVec3::X * 1e300,
                ..base
            },
        ),
        (
            "velocity is 2e5",
            DrVector {
                velocity: DVec3::X * 2e5,
                ..base
            },
        ),
        (
            "spin is inf",
            DrVector {
                spin: DVec3::X * 1e200,
                ..base
            },
        ),
        (
            "too far ahead",
            DrVector {
                time: secs(10.8),
                ..base
            },
        ),
        (
            "too far ahead",
            DrVector {
                time: SimTime(u64::MAX),
                ..base
            },
        ),
        (
            "entity",
            DrVector {
                entity: BodyId(5),
                ..base
            },
        ),
    ];
    for (reason, vector) in absurd {
        let error = receiver.receive(now, &vector).expect_err(reason);
        assert!(error.to_string().contains(reason), "{error} / {reason}");
        assert_eq!(receiver.vector(), Some(&EXAMPLE));
        assert_eq!(receiver.received_at(), Some(secs(10.1)));
    }
    receiver
        .receive(now, &base)
        .expect("the same without the fault");
}

#[test]
fn what_moves_grows_too_old_and_what_rests_does_not() {
    let late = secs(100.0);
    let mut receiver = Receiver::new(ENTITY, ClockMode::Global);
    let old = Rejected::TooOld {
        time: EXAMPLE.time,
        now: late,
    };
    assert_eq!(receiver.receive(late, &EXAMPLE), Err(old));
    let resting = DrVector {
        kind: Kind::AtRest,
        velocity: DVec3::ZERO,
        ..EXAMPLE
    };
    receiver.receive(late, &resting).expect("rest does not age");
}

#[test]
fn a_quantised_rotation_is_made_a_rotation_again() {
    let rough = DrVector {
        rotation: DQuat::from_xyzw(0.0, 0.003, 0.0, 0.998),
        ..EXAMPLE
    };
    let receiver = holding(ClockMode::Global, secs(10.1), &rough);
    let placed = receiver.place(secs(10.1)).expect("holds a vector");
    assert!((placed.rotation.length() - 1.0).abs() < 1e-12);
}
