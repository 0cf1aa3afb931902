//! The state stream over bad links: loss, duplication and reordering of packets and of acknowledgements.

use crate::stream_common::{Balls, Session};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::stream::StreamSettings;

/// 100 ms each way.
const LINK: u64 = 6;
const UPDATE: u64 = 2;
/// A lost packet is found out by the acknowledgement of the next one, and made good by the update after that.
const ROUND_TRIP: u64 = 2 * LINK + 2 * UPDATE;

#[test]
fn a_lost_packet_is_made_good_within_a_round_trip() {
    let mut hurt = 0;
    for lost in 40..80 {
        let mut session = Session::new(Balls::new(30, 11), StreamSettings::default());
        let mut due = None;
        while due.is_none_or(|due| session.tick < due + 60) {
            session.step(
                |number, now| {
                    if number == lost {
                        due = Some(now + LINK);
                        return vec![];
                    }
                    vec![now + LINK]
                },
                |now| vec![now + LINK],
            );
            let shown = session.tick - 1;
            let Some(due) = due.filter(|due| shown >= *due) else {
                let joined = session.tick > 60;
                assert!(
                    !joined || session.wrong(LINK).is_empty(),
                    "nothing was lost yet"
                );
                continue;
            };
            let wrong = session.wrong(LINK);
            hurt += usize::from(!wrong.is_empty());
            assert!(
                wrong.is_empty() || shown < due + ROUND_TRIP,
                "packet {lost}, due at {due}: {wrong:?} still wrong at {shown}"
            );
        }
        assert_eq!(
            session.rejected, 0,
            "every packet that arrives is understood"
        );
    }
    assert!(hurt > 40, "the lost packets mattered: {hurt}");
}

#[test]
fn a_lost_acknowledgement_hurts_nobody() {
    let mut rng = Pcg64Mcg::seed_from_u64(12);
    let mut session = Session::new(Balls::new(30, 12), StreamSettings::default());
    for _ in 0..900 {
        session.step(
            |_, now| vec![now + LINK],
            |now| {
                if rng.random_bool(0.3) {
                    vec![]
                } else {
                    vec![now + LINK]
                }
            },
        );
        assert!(session.tick < 20 || session.wrong(LINK).is_empty());
    }
    assert_eq!(session.rejected, 0);
}

/// Under steady loss: how long after the last lost packet *that told of it* a body is still shown wrongly, at most.
fn longest_after_its_last_loss(seed: u64, ack_loss: f64) -> u64 {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut ack_rng = Pcg64Mcg::seed_from_u64(seed + 1);
    let mut session = Session::new(Balls::new(30, seed), StreamSettings::default());
    let mut last_loss = std::collections::BTreeMap::new();
    let mut longest = 0;
    for now in 0..1800_u64 {
        session.step(
            |_, at| {
                let lost = at > 60 && rng.random_bool(0.05);
                if lost { vec![] } else { vec![at + LINK] }
            },
            |at| {
                let lost = ack_rng.random_bool(ack_loss);
                if lost { vec![] } else { vec![at + LINK] }
            },
        );
        // What would the packets due now have told?
        for (_, packet) in session.lost.extract_if(.., |(sent, _)| *sent + LINK == now) {
            let mut better_off = session.decoder.clone();
            if better_off.receive(&packet).is_ok() {
                let told =
                    |id: &domain::BodyId| better_off.curves(*id) != session.decoder.curves(*id);
                last_loss.extend(better_off.bodies().filter(told).map(|id| (id, now)));
            }
        }
        if now > 60 {
            for id in session.wrong(LINK) {
                let lost = last_loss.get(&id).expect("wrong without a loss");
                longest = longest.max(now - lost);
            }
        }
    }
    longest
}

#[test]
fn under_steady_loss_no_body_is_wrong_for_longer_than_a_round_trip_after_its_last_loss() {
    let (mut packets_only, mut acks_too) = (0, 0);
    for seed in 100..110 {
        packets_only = packets_only.max(longest_after_its_last_loss(seed, 0.0));
        acks_too = acks_too.max(longest_after_its_last_loss(seed, 0.05));
    }
    assert!(packets_only < ROUND_TRIP, "{packets_only}");
    // Each lost acknowledgement puts off finding out by an update; three in a row are rare.
    assert!(acks_too < ROUND_TRIP + 3 * UPDATE, "{acks_too}");
}

/// Everything at once, both ways; afterwards the link is good and the client soon exact.
fn survives(seed: u64, loss: f64, dup: f64, jitter: u64) {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut session = Session::new(Balls::new(30, seed), StreamSettings::default());
    let mut fate = |now: u64| {
        let copies = match () {
            () if rng.random_bool(loss) => 0,
            () if rng.random_bool(dup) => 2,
            () => 1,
        };
        let arrivals = (0..copies).map(|_| now + 1 + rng.random_range(0..=jitter));
        arrivals.collect::<Vec<_>>()
    };
    let fate = std::cell::RefCell::new(&mut fate);
    for tick in 0..900 {
        session.step(
            |_, now| fate.borrow_mut()(now),
            |now| fate.borrow_mut()(now),
        );
        if tick % 100 == 50 {
            let last = *session.balls.bodies.keys().next_back().unwrap();
            session.balls.bodies.remove(&last);
        }
        if tick % 100 == 90 {
            session.balls.add(domain::BodyId(1000 + tick));
        }
    }
    session.balls.fall_asleep();
    for _ in 0..300 {
        session.step(|_, now| vec![now + 1], |now| vec![now + 1]);
    }
    assert!(session.is_exact(), "seed {seed}");
    assert_eq!(session.wrong(1), [], "seed {seed}");
}

#[test]
fn loss_duplication_and_reordering_both_ways_converge() {
    for seed in 0..20 {
        survives(seed, 0.05, 0.05, 3);
        survives(seed, 0.3, 0.1, 12);
    }
}

#[test]
fn minutes_without_a_single_acknowledgement_do_no_harm() {
    let mut session = Session::new(Balls::new(20, 13), StreamSettings::default());
    for _ in 0..200 {
        session.step(|_, now| vec![now + 1], |now| vec![now + 1]);
    }
    // The client hears everything; the server hears nothing and cannot know.
    for _ in 0..3600 {
        session.step(|_, now| vec![now + 1], |_| vec![]);
        assert_eq!(session.wrong(1), []);
    }
    // Then nothing arrives either, then all is well again.
    for _ in 0..600 {
        session.step(|_, _| vec![], |_| vec![]);
    }
    for _ in 0..200 {
        session.step(|_, now| vec![now + 1], |now| vec![now + 1]);
    }
    assert_eq!(session.wrong(1), []);
}
