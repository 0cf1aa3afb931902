//! The bound of size `adaptive` where it can fail: fast bodies, light and heavy, shot into what lies on borders, and
//! promises made far too small on purpose. What is promised too small is broken all the time; only keeping it saves I3.

use crate::common::run;
use scenes::{Generated, ShotAt};
use simulator::frames::FrameModel;
use simulator::{Outcome, SimOptions};

const TARGETS: [ShotAt; 4] = [ShotAt::Layer, ShotAt::Heap, ShotAt::Figures, ShotAt::Corner];
const SEEDS: std::ops::RangeInclusive<u64> = 1..=8;
/// 2h + 2 ticks, with the three ticks per hop of the default tolerances.
const HORIZON_TICKS: u64 = 8;

fn shoot(target: ShotAt, seed: u64, promise_share: f64, keep_promises: bool) -> Outcome {
    let options = SimOptions {
        seed: Some(seed),
        promise_share,
        keep_promises,
        // Frames as long as the tolerance, and steps that are not aligned: news takes as long as it may.
        frames: Some(FrameModel::Fixed(0.015)),
        aligned_steps: false,
        ..SimOptions::default()
    };
    run(&Generated::Shots(target).scene(), &options)
}

/// I3: whatever is hit however hard, nothing of two servers overlaps, and nobody is held for longer than it takes until everybody knows.
#[test]
fn shots_into_what_lies_on_borders_break_nothing() {
    for (target, seed) in TARGETS
        .iter()
        .flat_map(|it| SEEDS.map(move |seed| (*it, seed)))
    {
        let outcome = shoot(target, seed, 1.0, true);
        let first = outcome.first_violation.as_ref().map(ToString::to_string);
        assert!(
            outcome.is_clean(),
            "{target:?}, seed {seed}: {:?} {first:?}",
            outcome.errors
        );
        let kept = outcome.kept;
        assert!(kept.held > 100, "{target:?}, seed {seed}: {kept:?}");
        assert!(
            kept.longest_ticks <= HORIZON_TICKS,
            "{target:?}, seed {seed}: {kept:?}"
        );
    }
}

/// Bodies that promise nothing for their motion overlap those of other servers, in each of the scenes: these can see a broken promise.
#[test]
fn promises_that_are_too_small_and_not_kept_are_seen() {
    for target in TARGETS {
        let overlaps =
            SEEDS.map(|seed| shoot(target, seed, 0.0, false).errors.cross_owner_overlaps);
        let overlaps: Vec<u64> = overlaps.collect();
        assert!(
            overlaps.iter().all(|seen| *seen > 0),
            "{target:?}: {overlaps:?}"
        );
    }
}

/// I3: the same promises, kept. (What is held all the time is pushed into its own server's bodies; that such a pair
/// is found late after it has come over together is not what this is about.)
#[test]
fn promises_that_are_too_small_and_kept_save_everything() {
    for (target, seed) in TARGETS
        .iter()
        .flat_map(|it| SEEDS.map(move |seed| (*it, seed)))
    {
        let errors = shoot(target, seed, 0.0, true).errors;
        assert_eq!(
            errors.total(),
            errors.late_collisions,
            "{target:?}, seed {seed}: {errors:?}"
        );
    }
}
