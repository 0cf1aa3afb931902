use crate::checkers::testing::History;

/// Two balls of radius 0.5 in two regions, this far apart, for some ticks.
fn apart(distance: f64) -> History {
    let mut history = History::new(2);
    history.born(0, 0, 1, 0.0).born(0, 1, 2, distance);
    for tick in 1..5 {
        history.step(tick, 0, &[1]).step(tick, 1, &[2]);
    }
    history
}

#[test]
fn touching_and_hardly_overlapping_bodies_are_silent() {
    assert!(apart(1.0).finish().is_clean());
    assert!(apart(0.9995).finish().is_clean());
}

// F1
#[test]
fn an_overlap_of_two_owners_is_one_error_however_long_it_lasts() {
    let report = apart(0.9).finish();
    assert_eq!(report.errors.cross_owner_overlaps, 1);
    let violation = report.first_violation.unwrap();
    let text = violation.to_string();
    assert_eq!(violation.tick.0, 1);
    assert!(text.contains("overlapped by 100.0 mm"), "{text}");
    assert!(
        text.contains("b1 (stepped by r0) at (0.000, 0.000, 0.000)"),
        "{text}"
    );
    assert!(text.contains("b2: owned by r1, e0"), "{text}");
    assert!(text.contains("b2 born in r1"), "{text}");
}

#[test]
fn bodies_of_one_region_may_touch_as_they_like() {
    let mut history = History::new(2);
    history.born(0, 0, 1, 0.0).born(0, 0, 2, 0.2);
    for tick in 1..5 {
        history.step(tick, 0, &[1, 2]).step(tick, 1, &[]);
    }
    assert!(history.finish().is_clean());
}

/// Body 1 leaves r0 after tick 1, is caught up by r1 through 2 and 3, and meets body 2 of r1 there.
fn caught_up_into(distance: f64) -> History {
    let mut history = History::new(2);
    history.born(0, 0, 1, 0.0).born(0, 1, 2, distance);
    history.step(1, 0, &[1]).step(1, 1, &[2]);
    history.depart(1, 0, 1, 1, &[(1, 1)]);
    for tick in 2..4 {
        history.step(tick, 0, &[]).step(tick, 1, &[2]);
    }
    history.catch_up(2, 1, &[1]).catch_up(3, 1, &[1]);
    history.arrive(3, 1, 0, 1, &[(1, 1)]);
    for tick in 4..6 {
        history.step(tick, 0, &[]).step(tick, 1, &[1, 2]);
    }
    history
}

#[test]
fn a_body_caught_up_alone_was_not_stepped_with_its_new_owners_bodies() {
    assert!(caught_up_into(1.2).finish().is_clean());
    let report = caught_up_into(0.8).finish();
    assert_eq!(report.errors.cross_owner_overlaps, 1);
}

#[test]
fn a_picture_waits_for_what_is_in_flight() {
    let mut history = History::new(2);
    history.born(0, 0, 1, 0.0).born(0, 1, 2, 5.0);
    history.step(1, 0, &[1]).step(1, 1, &[2]);
    history.depart(1, 0, 1, 1, &[(1, 1)]);
    for tick in 2..8 {
        history.step(tick, 0, &[]).step(tick, 1, &[2]);
    }
    // At tick 2, long past for both regions, it was where body 2 was.
    history.place(1, 5.2).catch_up(2, 1, &[1]);
    history.place(1, 9.0);
    (3..8).for_each(|tick| {
        history.catch_up(tick, 1, &[1]);
    });
    history.arrive(7, 1, 0, 1, &[(1, 1)]);
    history.step(8, 0, &[]).step(8, 1, &[1, 2]);
    let report = history.finish();
    assert_eq!(report.errors.cross_owner_overlaps, 1);
    assert_eq!(report.untested_updates, 0);
    assert_eq!(report.first_violation.unwrap().tick.0, 2);
}

#[test]
fn a_handover_that_never_ends_does_not_stop_the_tests() {
    let mut history = History::new(2);
    history
        .born(0, 0, 1, 0.0)
        .born(0, 0, 3, 50.0)
        .born(0, 1, 2, 50.0);
    history.depart(0, 0, 1, 1, &[(1, 1)]);
    for tick in 1..300 {
        history.step(tick, 0, &[3]).step(tick, 1, &[2]);
    }
    assert_eq!(history.errors().cross_owner_overlaps, 1);
}

#[test]
fn overlaps_in_a_partition_are_counted_apart_until_it_is_over() {
    let mut history = History::new(2);
    history.disturb(1, 2, &[1]);
    history.born(0, 0, 1, 0.0).born(0, 1, 2, 0.5);
    for tick in 1..4 {
        history.step(tick, 0, &[1]).step(tick, 1, &[2]);
    }
    assert_eq!(
        history.errors().cross_owner_overlaps,
        0,
        "tick 3 is not tested yet"
    );
    let report = history.finish();
    assert_eq!(report.excused.cross_owner_overlaps, 1);
    assert_eq!(report.errors.cross_owner_overlaps, 1);
    assert_eq!(report.first_violation.unwrap().tick.0, 3);
}

#[test]
fn nobody_waits_for_a_crashed_region() {
    let mut history = History::new(3);
    history.born(0, 0, 1, 0.0).born(0, 1, 2, 0.5);
    history.crash(0, 2);
    history.step(1, 0, &[1]).step(1, 1, &[2]).step(2, 0, &[1]);
    assert_eq!(history.errors().cross_owner_overlaps, 1);
}
