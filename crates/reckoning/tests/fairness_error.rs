//! The export error: slices and sums of slices (DR-13 to DR-16).

use crate::fairness_common::{linear, sampled_error, secs};
use domain::SimTime;
use glam::DVec3;
use proptest::prelude::*;
use reckoning::fairness::{
    Curves, ExportedPath, Measure, PathError, Reception, export_error, linear_error, slice_error,
};
use reckoning::{DrVector, Kind, Seq};

/// Adaptive Simpson, an independent way to the same integral. The kink at the closest approach is made an end of the pieces.
fn quadrature(position: DVec3, velocity: DVec3, secs: f64) -> f64 {
    let distance = |t: f64| (position + velocity * t).length();
    let closest = -position.dot(velocity) / velocity.length_squared();
    let cut = if closest.is_finite() {
        closest.clamp(0.0, secs)
    } else {
        0.0
    };
    let rough = secs * (distance(0.0) + distance(secs)) / 2.0;
    simpson(&distance, 0.0, cut, rough * 1e-12, 48)
        + simpson(&distance, cut, secs, rough * 1e-12, 48)
}

fn simpson(f: &impl Fn(f64) -> f64, a: f64, b: f64, tolerance: f64, depth: u32) -> f64 {
    let rule = |a: f64, b: f64| (b - a) / 6.0 * (f(a) + 4.0 * f(0.5 * (a + b)) + f(b));
    let middle = 0.5 * (a + b);
    let (whole, halves) = (rule(a, b), rule(a, middle) + rule(middle, b));
    if depth == 0 || (halves - whole).abs() <= 15.0 * tolerance {
        return halves + (halves - whole) / 15.0;
    }
    simpson(f, a, middle, tolerance / 2.0, depth - 1)
        + simpson(f, middle, b, tolerance / 2.0, depth - 1)
}

fn assert_agrees(position: DVec3, velocity: DVec3, secs: f64) {
    let (ours, theirs) = (
        linear_error(position, velocity, secs),
        quadrature(position, velocity, secs),
    );
    assert!(
        (ours - theirs).abs() <= 1e-9 * theirs,
        "p {position} v {velocity} for {secs}: {ours} or {theirs}"
    );
}

fn vector3(size: f64) -> impl Strategy<Value = DVec3> {
    [-1.0..1.0_f64, -1.0..1.0_f64, -1.0..1.0_f64].prop_map(move |v| DVec3::from(v) * size)
}

fn magnitude() -> impl Strategy<Value = f64> {
    (-9.0..3.0_f64).prop_map(|exponent| 10_f64.powf(exponent))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    // DR-13: any distance, relative speed and length, over twelve orders of magnitude.
    #[test]
    fn dr_13_agrees_with_quadrature(
        p in vector3(1.0), v in vector3(1.0), far in magnitude(), fast in magnitude(), secs in 1e-3..2.0_f64,
    ) {
        assert_agrees(p * far, v * fast, secs);
    }

    // DR-13: c = 0, the new vector starts on the old path.
    #[test]
    fn dr_13_agrees_when_the_paths_start_together(v in vector3(30.0), secs in 1e-3..2.0_f64) {
        prop_assume!(v.length() > 1e-6);
        assert_agrees(DVec3::ZERO, v, secs);
    }

    // DR-13: collinear, closing or parting, through zero or not; and a hair beside the line.
    #[test]
    fn dr_13_agrees_on_and_near_a_line(
        v in vector3(30.0), ratio in -3.0..3.0_f64, off in vector3(1.0), beside in -15.0..-1.0_f64, secs in 1e-3..2.0_f64,
    ) {
        prop_assume!(v.length() > 1e-3);
        assert_agrees(v * ratio, v, secs);
        assert_agrees(v * ratio + off * 10_f64.powf(beside), v, secs);
    }

    // DR-13: a → 0, the paths run parallel; the border between both branches lies in here.
    #[test]
    fn dr_13_agrees_when_nearly_parallel(p in vector3(50.0), v in vector3(1.0), exponent in -12.0..0.0_f64) {
        prop_assume!(p.length() > 1e-3);
        assert_agrees(p, v * 10_f64.powf(exponent), 1.0);
        assert_agrees(p, DVec3::ZERO, 1.0);
    }
}

/// Any curve, any moment.
fn bending(seq: u32) -> impl Strategy<Value = DrVector> {
    (
        vector3(3.0),
        vector3(25.0),
        vector3(10.0),
        -0.8..0.8_f64,
        0..4_u8,
        0.0..1.0_f64,
    )
        .prop_map(
            move |(position, velocity, acceleration, turn, kind, time)| {
                let kind = [Kind::AtRest, Kind::Linear, Kind::Circular, Kind::Ballistic]
                    [usize::from(kind)];
                DrVector {
                    kind,
                    acceleration,
                    spin: DVec3::Y * turn,
                    ..linear(seq, secs(time), position, velocity)
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // DR-15: far better than the 1 % asked for.
    #[test]
    fn dr_15_subdivided_curves_agree_with_sampling(a in bending(1), b in bending(2), length in 0.01..1.5_f64) {
        let (from, to) = (secs(1.0), secs(1.0 + length));
        let ours = slice_error(&a, &b, from, to, Curves::Subdivided);
        let mut path = ExportedPath::default();
        path.push(DrVector { time: SimTime::ZERO, ..DrVector { seq: Seq(1), ..rebased(&a) } }).unwrap();
        let shown = Reception { at: SimTime::ZERO, vector: b };
        let sampled = sampled_error(&path, &[shown], from, to, 20_000);
        prop_assert!((ours - sampled).abs() <= 1e-4 * sampled, "{ours} {sampled} {a:?} {b:?}");
    }
}

/// The same curve, told from time zero.
fn rebased(vector: &DrVector) -> DrVector {
    let at = reckoning::motion::extrapolate(vector, SimTime::ZERO);
    DrVector {
        time: SimTime::ZERO,
        position: at.position,
        velocity: at.velocity,
        ..*vector
    }
}

// DR-15: the digest's figures: the chord is half as much again too large, subdivision is not.
#[test]
fn dr_15_the_literal_chord_and_the_subdivided_arc() {
    let straight = linear(1, SimTime::ZERO, DVec3::ZERO, DVec3::X * 25.0);
    let turning = DrVector {
        kind: Kind::Circular,
        spin: DVec3::Y * std::f64::consts::FRAC_PI_4,
        seq: Seq(2),
        ..straight
    };
    let error = |curves| slice_error(&turning, &straight, SimTime::ZERO, secs(0.8), curves);
    assert!((error(Curves::Chord) - 2.486).abs() < 1e-3);
    assert!((error(Curves::Subdivided) / 1.665 - 1.0).abs() < 1e-3);
    assert_eq!(
        slice_error(&turning, &straight, secs(1.0), secs(1.0), Curves::Chord),
        0.0
    );
}

// DR-15: a reversing tank turns about the other centre: its speed is signed.
#[test]
fn dr_15_reversing_turns_the_other_way() {
    let turn = |velocity: f64| DrVector {
        kind: Kind::Circular,
        spin: DVec3::Y * 0.7,
        ..linear(2, SimTime::ZERO, DVec3::ZERO, DVec3::X * velocity)
    };
    let beside = linear(1, SimTime::ZERO, DVec3::new(0.0, 0.0, -10.0), DVec3::ZERO);
    let forwards = slice_error(
        &turn(10.0),
        &beside,
        SimTime::ZERO,
        secs(1.0),
        Curves::Subdivided,
    );
    let backwards = slice_error(
        &turn(-10.0),
        &beside,
        SimTime::ZERO,
        secs(1.0),
        Curves::Subdivided,
    );
    assert!((forwards - backwards).abs() > 1.0, "{forwards} {backwards}");
}

// DR-16
#[test]
fn dr_16_the_same_vector_contributes_exactly_zero_and_nothing_counts_before_the_first_reception() {
    let mut path = ExportedPath::default();
    for seq in 1..=4 {
        let time = f64::from(seq);
        path.push(linear(
            seq,
            secs(time),
            DVec3::Y * time,
            DVec3::X * 3.0 * time,
        ))
        .unwrap();
    }
    let all: Vec<_> = path.iter().copied().collect();
    for vector in &all {
        assert_eq!(
            slice_error(vector, vector, secs(1.1), secs(9.7), Curves::default()),
            0.0
        );
    }
    let received = |late: f64| -> Vec<_> {
        all.iter()
            .map(|&vector| Reception {
                at: vector.time + secs(late),
                vector,
            })
            .collect()
    };
    let error = |received: &[Reception], to| {
        export_error(
            &path,
            received,
            SimTime::ZERO,
            secs(to),
            &Measure::default(),
        )
    };
    assert_eq!(error(&received(0.0), 9.0), 0.0, "no delay, no error");
    assert_eq!(
        error(&received(0.5), 1.9),
        0.0,
        "first slice: both on vector 1"
    );
    assert!(error(&received(0.5), 2.4) > 0.0);
    let late_start = &received(0.5)[3..];
    assert_eq!(
        error(late_start, 4.5),
        0.0,
        "nothing received, nothing counts"
    );
}

proptest! {
    // DR-14: many in flight, lost, out of order; Eq. 3.1 equals sampling of both paths.
    #[test]
    fn dr_14_slices_add_up_to_what_sampling_finds(
        steps in prop::collection::vec((10..400_u64, vector3(2.0), vector3(25.0), 0..1500_u64, prop::bool::weighted(0.8)), 2..12),
    ) {
        let mut path = ExportedPath::default();
        let mut received = Vec::new();
        let mut now = 0;
        for (seq, (gap, position, velocity, delay, arrives)) in (1..).zip(steps) {
            now += gap;
            let vector = linear(seq, secs(now as f64 * 1e-3), position, velocity);
            path.push(vector).unwrap();
            if arrives {
                received.push(Reception { at: secs((now + delay) as f64 * 1e-3), vector });
            }
        }
        received.sort_by_key(|reception| reception.at);
        let to = secs(now as f64 * 1e-3 + 1.0);
        let ours = export_error(&path, &received, SimTime::ZERO, to, &Measure::default());
        let sampled = sampled_error(&path, &received, SimTime::ZERO, to, 2000);
        prop_assert!((ours - sampled).abs() <= 1e-6 * sampled, "{ours} {sampled}");
    }
}

// DR-21: what is no longer followed is forgotten, the vector in effect is not.
#[test]
fn dr_21_the_path_is_pruned_and_refuses_what_does_not_continue_it() {
    let mut path = ExportedPath::default();
    for seq in 1..=10 {
        path.push(linear(seq, secs(f64::from(seq)), DVec3::ZERO, DVec3::X))
            .unwrap();
    }
    path.prune(secs(5.5));
    assert_eq!(path.len(), 6);
    assert_eq!(path.in_effect(secs(5.5)).unwrap().seq, Seq(5));
    assert!(path.get(Seq(4)).is_none());
    let stale = linear(10, secs(11.0), DVec3::ZERO, DVec3::X);
    assert!(matches!(
        path.push(stale),
        Err(PathError::OutOfOrder { .. })
    ));
    let earlier = linear(11, secs(9.0), DVec3::ZERO, DVec3::X);
    assert!(matches!(
        path.push(earlier),
        Err(PathError::OutOfOrder { .. })
    ));
    let nan = linear(11, secs(11.0), DVec3::NAN, DVec3::X);
    assert_eq!(path.push(nan), Err(PathError::NotFinite(Seq(11))));
    assert_eq!(path.len(), 6);
}
