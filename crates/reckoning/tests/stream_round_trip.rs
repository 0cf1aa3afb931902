//! The state stream over a link without faults: the client has exactly what the server exports, and what it shows is
//! within the tolerances at every tick.

use crate::stream_common::{Balls, FAR_AWAY, Session, at_once};
use reckoning::stream::StreamSettings;

fn settings(delay_ticks: u64) -> StreamSettings {
    StreamSettings {
        delay_ticks,
        ..StreamSettings::default()
    }
}

#[test]
fn the_client_has_exactly_what_the_server_exports() {
    let mut session = Session::new(Balls::new(40, 1), settings(6));
    for _ in 0..1200 {
        session.step(at_once, |now| vec![now]);
        assert!(session.is_exact(), "tick {}", session.tick);
    }
    assert!(session.packets > 500, "{}", session.packets);
    assert_eq!(session.rejected, 0);
}

#[test]
fn what_is_shown_is_within_the_tolerances_at_every_tick() {
    // With a delay of one update or more the server has seen what it promises.
    for delay_ticks in [1, 2, 6, 9] {
        let mut session = Session::new(Balls::new(40, 2), settings(delay_ticks));
        for _ in 0..900 {
            session.step(at_once, |now| vec![now]);
            assert_eq!(
                session.wrong(0),
                [],
                "delay {delay_ticks}, tick {}",
                session.tick
            );
        }
    }
}

#[test]
fn without_delay_only_what_just_happened_is_wrong() {
    let mut session = Session::new(Balls::new(40, 3), settings(0));
    let (mut wrong, mut shown) = (0, 0);
    for tick in 0..900_u64 {
        session.step(at_once, |now| vec![now]);
        if tick % 2 == 0 {
            assert_eq!(session.wrong(0), [], "right after an update, tick {tick}");
        }
        wrong += session.wrong(0).len();
        shown += session.balls.bodies.len();
    }
    assert!(wrong > 0, "a kick between two updates cannot be known");
    assert!(wrong * 20 < shown, "{wrong} of {shown}");
}

#[test]
fn a_longer_look_ahead_costs_fewer_bytes() {
    let bytes = |delay_ticks| {
        let mut session = Session::new(Balls::new(60, 4), settings(delay_ticks));
        for _ in 0..600 {
            session.step(at_once, |now| vec![now]);
        }
        session.bytes
    };
    let (none, short, long) = (bytes(0), bytes(2), bytes(6));
    assert!(long < short && short < none, "{long} {short} {none}");
}

#[test]
fn the_same_far_from_zero_and_after_days() {
    let mut balls = Balls::new(10, 5);
    let mut session = Session::new(Balls::new(0, 5), settings(6));
    // Truth moves around zero and is shown to the exporter elsewhere.
    session.exporter = reckoning::stream::Exporter::new(settings(6));
    let start = 60 * 60 * 60 * 24 * 9;
    for tick in start..start + 300 {
        let mut samples = balls.samples();
        for sample in &mut samples {
            sample.motion.position += FAR_AWAY;
        }
        if session.exporter.observe(tick, samples.iter().copied()) {
            session.encoder.follow(&session.exporter);
            for packet in session.encoder.update(tick, &[&session.exporter]) {
                session.decoder.receive(&packet).unwrap();
                let ack = session.decoder.acknowledge();
                session.encoder.acknowledge(tick, &ack).unwrap();
            }
            assert!(session.is_exact());
        }
        balls.step();
    }
    assert_eq!(session.decoder.bodies().len(), 10);
}

#[test]
fn sleeping_bodies_cost_nothing() {
    let mut session = Session::new(Balls::new(40, 6), settings(6));
    for _ in 0..120 {
        session.step(at_once, |now| vec![now]);
    }
    session.balls.fall_asleep();
    for _ in 0..30 {
        session.step(at_once, |now| vec![now]);
    }
    let before = session.packets;
    for _ in 0..6000 {
        session.step(at_once, |now| vec![now]);
        assert_eq!(session.wrong(0), []);
    }
    assert_eq!(session.packets, before, "not a packet in 100 s");
}

#[test]
fn packets_keep_to_the_most_bytes() {
    let settings = StreamSettings {
        max_packet_bytes: 400,
        ..settings(6)
    };
    let mut session = Session::new(Balls::new(300, 7), settings);
    for _ in 0..60 {
        session.step(at_once, |now| vec![now]); // asserts the size of each
    }
    assert!(session.is_exact());
    assert!(
        session.packets > 40,
        "30 updates took {} packets",
        session.packets
    );
}
