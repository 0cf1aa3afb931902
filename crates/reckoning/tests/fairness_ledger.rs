//! Ledgers: what the sender knows of its receivers' errors, whatever the network does to vectors and acknowledgements
//! (DR-17 to DR-21), whatever a client claims, and wherever the entity moves.

use crate::fairness_common::{
    Drive, far_middle_near, linear, rehearsal, rehearsal_with, sampled_error, secs, sent,
    true_errors,
};
use domain::SimTime;
use glam::DVec3;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reckoning::Seq;
use reckoning::fairness::policies::{Base, Budget, Deterministic, Policy, Weights};
use reckoning::fairness::{
    Ack, AckError, Curves, DelayModel, ExportedPath, Ledger, LedgerSettings, Link, Measure,
    PolicyTag, ReceiverId, Reception, Rehearsal, Sender, SenderError, export_error, slice_error,
};

const TAG: PolicyTag = PolicyTag(0);

fn bad(delay_ms: f64) -> Link {
    Link {
        loss: 0.2,
        duplication: 0.1,
        ..Link::fixed(delay_ms).with_spread(180.0)
    }
}

/// Compares every ledger's CEE with brute-force sampling of both paths up to its exact time.
fn assert_ledgers_are_exact(rehearsal: &Rehearsal, tolerance: f64) {
    for one in rehearsal.sender().recipients(TAG) {
        let Some(exact) = one.ledger.exact_until() else {
            continue;
        };
        let followed = rehearsal.followed(TAG, one.id);
        let truth = sampled_error(rehearsal.history(), followed, SimTime::ZERO, exact, 300);
        let cee = one.ledger.cee();
        assert!(
            (cee - truth).abs() <= tolerance * truth.max(1e-3),
            "receiver {:?} until {exact}: {cee}, truth {truth}",
            one.id
        );
    }
}

/// A zigzag of straight vectors, every 50 to 250 ms.
fn zigzag(
    rehearsal: &mut Rehearsal,
    seed: u64,
    count: u32,
    mut each: impl FnMut(&Rehearsal),
) -> SimTime {
    use rand::RngExt;
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut now = SimTime::ZERO;
    let mut place = DVec3::ZERO;
    for seq in 1..=count {
        let mut draw = || {
            DVec3::new(
                rng.random_range(-1.0..1.0),
                rng.random_range(-1.0..1.0),
                rng.random_range(-1.0..1.0),
            )
        };
        let vector = linear(seq, now, place + draw() * 0.1, draw() * 25.0);
        rehearsal.trigger(now, vector, &mut rng).unwrap();
        each(rehearsal);
        let gap = rng.random_range(0.05..0.25);
        place = vector.position + vector.velocity * gap;
        now += secs(gap);
    }
    now
}

// DR-18: exact at every moment of the run, with fixed delays ...
#[test]
fn dr_18_cee_is_the_true_error_under_fixed_delay() {
    let mut rehearsal = rehearsal(vec![Box::new(Base)], &far_middle_near(), 1);
    zigzag(&mut rehearsal, 1, 60, |rehearsal| {
        assert_ledgers_are_exact(rehearsal, 1e-6)
    });
}

// DR-14, DR-18: ... and with variable ones, loss, duplication and reordering of vectors and of acknowledgements.
#[test]
fn dr_18_totals_agree_with_sampling_under_loss_duplication_and_reordering() {
    for seed in 0..20 {
        let links = [bad(800.0), bad(500.0), bad(200.0)];
        let mut rehearsal = rehearsal(vec![Box::new(Base)], &links, seed);
        let end = zigzag(&mut rehearsal, seed, 150, |_| {});
        rehearsal.advance(end + secs(3.0)).unwrap();
        for one in rehearsal.sender().recipients(TAG) {
            let counts = one.ledger.counts();
            assert!(
                counts.acked > 100 && counts.acked < counts.sent,
                "{counts:?}"
            );
            assert_eq!((counts.late, counts.clamped), (0, 0));
        }
        assert_ledgers_are_exact(&rehearsal, 1e-6);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    // DR-18: acknowledgements of one pair each, in any order, repeated, mixed with sends: the total ends up the same, and equals
    // the sum over the true receptions.
    #[test]
    fn dr_18_the_order_of_acknowledgements_does_not_matter(
        steps in prop::collection::vec((10..150_u64, -20.0..20.0_f64, -20.0..20.0_f64, 0..900_u64, 0..1000_u32), 2..10),
    ) {
        let millis = |ms: u64| SimTime(ms * 1_000_000);
        let mut path = ExportedPath::default();
        let mut ledger = Ledger::new(SimTime::ZERO, 0.0, LedgerSettings::default());
        let mut receptions = Vec::new();
        let mut now = 0;
        for (seq, (gap, x, v, delay, order)) in (1..).zip(steps) {
            now += gap;
            let vector = linear(seq, millis(now), DVec3::X * x, DVec3::Z * v);
            path.push(vector).unwrap();
            ledger.handle_sent(millis(now), &vector);
            receptions.push((order, Reception { at: millis(now + delay), vector }));
        }
        let mut shuffled = receptions.clone();
        shuffled.sort_by_key(|(order, _)| *order);
        let arrival = millis(now + 1000);
        for (_, reception) in shuffled.iter().chain(&shuffled) {
            let ack = Ack { pairs: vec![(reception.vector.seq, reception.at)] };
            ledger.handle_ack(arrival, &ack, &path).unwrap();
        }
        receptions.sort_by_key(|(_, reception)| reception.at);
        let received: Vec<_> = receptions.into_iter().map(|(_, reception)| reception).collect();
        let exact = ledger.exact_until().unwrap();
        let truth = export_error(&path, &received, SimTime::ZERO, exact, &Measure::default());
        prop_assert!((ledger.cee() - truth).abs() <= 1e-9 * truth.max(1.0), "{} {truth}", ledger.cee());
    }
}

/// A body that turns by 90° at 1 s; vector 2 was sent then, and is not acknowledged; the delay was 0.3 s before.
fn turning() -> (ExportedPath, Ledger) {
    let mut path = ExportedPath::default();
    let mut ledger = Ledger::new(SimTime::ZERO, 0.0, LedgerSettings::default());
    let before = linear(1, SimTime::ZERO, DVec3::ZERO, DVec3::X * 25.0);
    path.push(before).unwrap();
    ledger.handle_sent(SimTime::ZERO, &before);
    let ack = Ack {
        pairs: vec![(Seq(1), secs(0.3))],
    };
    ledger.handle_ack(secs(0.6), &ack, &path).unwrap();
    let after = linear(2, secs(1.0), DVec3::X * 25.0, DVec3::Z * 25.0);
    path.push(after).unwrap();
    ledger.handle_sent(secs(1.0), &after);
    (path, ledger)
}

// DR-19: with zero delay the turn costs nothing; with the delay known it costs worked slice (i).
#[test]
fn dr_19_eee_with_and_without_delay_and_aee_is_their_sum() {
    let (path, ledger) = turning();
    let now = secs(1.5);
    let slice = 25.0 * 2.0_f64.sqrt() * 0.3 * 0.3 / 2.0;
    let zero = ledger.estimate(&path, now, DelayModel::Zero);
    assert_eq!((zero.cee, zero.eee), (0.0, 0.0));
    let known = ledger.estimate(&path, now, DelayModel::Average);
    assert!((known.eee - slice).abs() < 1e-9, "{known:?}");
    assert_eq!(known.aee(), known.cee + known.eee);
    let halfway = ledger.estimate(&path, secs(1.15), DelayModel::Average);
    assert!(
        (halfway.eee - slice / 4.0).abs() < 1e-9,
        "not arrived yet: {halfway:?}"
    );
}

// DR-19: the estimate becomes exact when the acknowledgement comes, and never counts twice.
#[test]
fn dr_19_what_was_estimated_becomes_known() {
    let (path, mut ledger) = turning();
    let ack = Ack {
        pairs: vec![(Seq(1), secs(0.3)), (Seq(2), secs(1.4))],
    };
    ledger.handle_ack(secs(1.8), &ack, &path).unwrap();
    let expected = 25.0 * 2.0_f64.sqrt() * 0.4 * 0.4 / 2.0;
    let estimate = ledger.estimate(&path, secs(2.0), DelayModel::Average);
    assert!(
        (estimate.cee - expected).abs() < 1e-9 && estimate.eee == 0.0,
        "{estimate:?}"
    );
}

// DR-29: IE by the text: since the generation of the vector in use, so the wait for it counts.
#[test]
fn dr_29_error_since_generation_includes_the_wait() {
    let (path, mut ledger) = turning();
    let ack = Ack {
        pairs: vec![(Seq(2), secs(1.4))],
    };
    ledger.handle_ack(secs(1.8), &ack, &path).unwrap();
    let wait = ledger.error_since_generation(&path, secs(2.0), DelayModel::Average);
    assert!((wait - 25.0 * 2.0_f64.sqrt() * 0.08).abs() < 1e-9, "{wait}");
    let eee = ledger.estimate(&path, secs(2.0), DelayModel::Average).eee;
    assert_eq!(eee, 0.0, "Appendix B's does not");
}

// DR-20: the estimator finds the link's delay under jitter.
#[test]
fn dr_20_the_delay_is_learnt_from_acknowledgements() {
    let links = [800.0, 500.0, 200.0].map(|delay| Link::fixed(delay).with_spread(100.0));
    let mut rehearsal = rehearsal(vec![Box::new(Base)], &links, 3);
    zigzag(&mut rehearsal, 3, 200, |_| {});
    for (one, link) in rehearsal.sender().recipients(TAG).iter().zip(links) {
        let millis = |model| one.ledger.delays().delay(model).as_millis();
        assert!((millis(DelayModel::Average) - link.delay_ms).abs() < 40.0);
        assert!(millis(DelayModel::Minimum) < link.delay_ms - 40.0);
        assert_eq!(millis(DelayModel::Oracle), link.delay_ms);
    }
}

// DR-21: an hour at 7 triggers a second, lossy links, and one receiver that never answers.
#[test]
fn dr_21_memory_is_bounded_over_an_hour() {
    let dead = Link {
        loss: 1.0,
        ..Link::fixed(100.0)
    };
    let links = [bad(800.0), bad(200.0), dead];
    let mut rehearsal = rehearsal(vec![Box::new(Base)], &links, 5);
    let (mut path, mut ledger) = (0, 0);
    let end = zigzag(&mut rehearsal, 5, 24_000, |rehearsal| {
        path = path.max(rehearsal.sender().exported().len());
        let memory = |tag| {
            rehearsal
                .sender()
                .recipients(tag)
                .iter()
                .map(|one| one.ledger.memory())
                .max()
        };
        ledger = ledger.max(memory(TAG).unwrap_or(0));
    });
    assert!(end > secs(3_500.0), "{end}");
    // The dead one is given up on after 10 s (about 70 triggers); the others need 2 s and their delay.
    assert!(path < 150 && ledger < 150, "path {path}, ledger {ledger}");
    let dead = &rehearsal.sender().recipients(TAG)[2].ledger;
    assert!(dead.counts().assumed > 20_000);
}

#[test]
fn impossible_acknowledgements_are_refused_and_change_nothing() {
    let (path, mut ledger) = turning();
    let before = ledger.clone();
    let never = Ack {
        pairs: vec![(Seq(2), secs(1.2)), (Seq(3), secs(1.2))],
    };
    assert_eq!(
        ledger.handle_ack(secs(1.8), &never, &path),
        Err(AckError::NeverSent(Seq(3)))
    );
    let long = Ack {
        pairs: vec![(Seq(1), secs(1.0)); 9],
    };
    assert_eq!(
        ledger.handle_ack(secs(1.8), &long, &path),
        Err(AckError::TooMany(9))
    );
    assert_eq!(ledger, before);
}

/// Reports every reception five seconds late.
fn five_seconds_late(ack: &mut Ack) {
    for (_, at) in &mut ack.pairs {
        *at += secs(5.0);
    }
}

/// How much more than a fair third of the vectors receiver 0 gets. All are at 200 ms.
fn advantage(forge: Option<fn(&mut Ack)>, delay_ms: f64, settings: LedgerSettings) -> f64 {
    let policy = || -> Box<dyn Policy> {
        Box::new(Deterministic::new(Weights::PA, Budget::PerTrigger(1.0)))
    };
    let links = [delay_ms, 200.0, 200.0].map(Link::fixed);
    let mut rehearsal = rehearsal_with(vec![policy()], &links, 1, settings);
    if let Some(forge) = forge {
        rehearsal.corrupt(ReceiverId(0), forge);
    }
    Drive::smooth(1, secs(120.0)).run(&mut rehearsal, secs(120.0), |_, _| {});
    let cheater = rehearsal.sender().recipients(TAG)[0].ledger.counts().sent;
    3.0 * cheater as f64 / sent(&rehearsal, 0) as f64
}

// Digest §2.5: a client that inflates its error gains no more than an honest one whose delay is the whole round trip, and
// nothing if its true delay is all that is granted; without the clamp it takes most of the budget.
#[test]
fn a_cheating_client_gains_little() {
    let clamped = LedgerSettings::default();
    let blind = LedgerSettings {
        clamp: false,
        ..clamped
    };
    let granted = LedgerSettings {
        admitted_delay: Some(secs(0.2)),
        ..clamped
    };
    let honest = advantage(None, 200.0, clamped);
    let believed = advantage(Some(five_seconds_late), 200.0, blind);
    let bounded = advantage(Some(five_seconds_late), 200.0, clamped);
    let round_trip = advantage(None, 400.0, clamped);
    let strict = advantage(Some(five_seconds_late), 200.0, granted);
    println!(
        "honest {honest:.2}, believed {believed:.2}, clamped {bounded:.2}, honest at the round trip {round_trip:.2}, admitted {strict:.2}"
    );
    assert!((honest - 1.0).abs() < 0.02);
    assert!(believed > 2.0, "the exploit is real: {believed}");
    assert!(bounded <= round_trip + 0.05, "{bounded} {round_trip}");
    assert!((strict - 1.0).abs() < 0.02, "{strict}");
}

// Decaying AEE: after a half-life an old error counts half, and after a while it speaks of the recent past only.
#[test]
fn a_decaying_error_forgets() {
    let measure = Measure {
        half_life_secs: Some(10.0),
        ..Measure::default()
    };
    let mut path = ExportedPath::default();
    let (a, b) = (
        linear(1, SimTime::ZERO, DVec3::ZERO, DVec3::ZERO),
        linear(2, secs(1.0), DVec3::X, DVec3::ZERO),
    );
    path.push(a).unwrap();
    path.push(b).unwrap();
    let received = [
        Reception {
            at: SimTime::ZERO,
            vector: a,
        },
        Reception {
            at: secs(2.0),
            vector: b,
        },
    ];
    let error = |to: f64| export_error(&path, &received, SimTime::ZERO, secs(to), &measure);
    let fresh = error(2.0);
    assert!(fresh < 1.0 && fresh > 0.9, "{fresh}");
    assert!((error(12.0) - fresh / 2.0).abs() < 1e-12);
    assert!((error(22.0) - fresh / 4.0).abs() < 1e-12);
    // One unit off for ever: the sum of all faded errors is half-life / ln 2, not infinite.
    let forever = export_error(&path, &received[..1], SimTime::ZERO, secs(500.0), &measure);
    assert!(
        (forever - 10.0 / std::f64::consts::LN_2).abs() < 1e-9,
        "{forever}"
    );
}

// The decayed ledger equals the decayed sum over the true receptions, through all recomputations.
#[test]
fn a_decaying_ledger_is_exact_too() {
    let measure = Measure {
        half_life_secs: Some(5.0),
        ..Measure::default()
    };
    let settings = LedgerSettings {
        measure,
        ..LedgerSettings::default()
    };
    let mut rehearsal =
        rehearsal_with(vec![Box::new(Base)], &[bad(500.0), bad(200.0)], 2, settings);
    let end = zigzag(&mut rehearsal, 2, 100, |_| {});
    rehearsal.advance(end + secs(3.0)).unwrap();
    for one in rehearsal.sender().recipients(TAG) {
        let exact = one.ledger.exact_until().unwrap();
        let truth = rehearsal.true_error(TAG, one.id, exact, &measure);
        assert!(
            (one.ledger.cee() / truth - 1.0).abs() < 1e-3,
            "{} {truth}",
            one.ledger.cee()
        );
    }
}

// Digest §8: a newcomer starts at the mean.
#[test]
fn a_late_joiner_starts_at_the_mean() {
    let mut rehearsal = rehearsal(vec![Box::new(Base)], &far_middle_near(), 1);
    let now = zigzag(&mut rehearsal, 1, 100, |_| {});
    let mean = rehearsal.sample(now)[0].mean_aee();
    rehearsal
        .join(now, ReceiverId(9), Link::fixed(100.0))
        .unwrap();
    let sample = &rehearsal.sample(now)[0];
    assert!(mean > 10.0);
    assert!((sample.receivers[3].error.aee() - mean).abs() < 1e-9);
    assert!((sample.mean_aee() - mean).abs() < 1e-9);
    let again = rehearsal.join(now, ReceiverId(9), Link::fixed(100.0));
    assert_eq!(again, Err(SenderError::AlreadyJoined(ReceiverId(9))));
}

// Digest §8: the accounts move with the entity; acknowledgements of what the old server sent count at the new one.
#[test]
fn a_handover_loses_nothing() {
    let mut path = ExportedPath::default();
    let mut old = Sender::new(LedgerSettings::default());
    let tag = old.add_policy(Box::new(Base));
    old.join(SimTime::ZERO, ReceiverId(1)).unwrap();
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let vectors: Vec<_> = (1..=4)
        .map(|seq| {
            linear(
                seq,
                secs(f64::from(seq)),
                DVec3::ZERO,
                DVec3::X * f64::from(seq),
            )
        })
        .collect();
    for vector in &vectors[..3] {
        path.push(*vector).unwrap();
        old.handle_trigger(vector.time, *vector, &mut rng).unwrap();
    }
    let first = Ack {
        pairs: vec![(Seq(1), secs(1.5))],
    };
    old.handle_ack(secs(2.0), tag, ReceiverId(1), &first)
        .unwrap();
    let handover = old.hand_over(tag).unwrap();
    let mut new =
        Sender::take_over(handover.clone(), Box::new(Base), LedgerSettings::default()).unwrap();
    new.handle_trigger(secs(4.0), vectors[3], &mut rng).unwrap();
    let rest = Ack {
        pairs: vec![
            (Seq(1), secs(1.5)),
            (Seq(2), secs(2.5)),
            (Seq(3), secs(3.5)),
        ],
    };
    new.handle_ack(secs(4.2), tag, ReceiverId(1), &rest)
        .unwrap();
    let slices = [(1, 0, 2.0, 2.5), (2, 1, 3.0, 3.5)];
    let expected: f64 = slices
        .iter()
        .map(|&(a, b, from, to)| {
            slice_error(
                &vectors[a],
                &vectors[b],
                secs(from),
                secs(to),
                Curves::default(),
            )
        })
        .sum();
    let ledger = &new.recipients(tag)[0].ledger;
    assert!(
        (ledger.cee() - expected).abs() < 1e-12,
        "{} {expected}",
        ledger.cee()
    );

    let mut damaged = handover;
    damaged.recipients.push(damaged.recipients[0].clone());
    let refused = Sender::take_over(damaged, Box::new(Base), LedgerSettings::default());
    assert_eq!(
        refused.unwrap_err(),
        SenderError::AlreadyJoined(ReceiverId(1))
    );
}

// The sender's belief follows the truth closely when it reckons with the delay (DR-19, the thesis's untested suggestion).
#[test]
fn dr_19_the_delay_estimate_beats_zero_delay() {
    let mut rehearsal = rehearsal(vec![Box::new(Base)], &far_middle_near(), 1);
    Drive::smooth(1, secs(60.0)).run(&mut rehearsal, secs(60.0), |_, _| {});
    let truth = true_errors(&rehearsal, 0, secs(60.0));
    let sender = rehearsal.sender();
    for (one, truth) in sender.recipients(TAG).iter().zip(truth) {
        let off = |model| {
            (one.ledger
                .estimate(sender.exported(), secs(60.0), model)
                .aee()
                - truth)
                .abs()
        };
        assert!(
            off(DelayModel::Average) <= 1e-3 * truth,
            "{}",
            off(DelayModel::Average)
        );
        assert!(off(DelayModel::Zero) > off(DelayModel::Average));
    }
}
