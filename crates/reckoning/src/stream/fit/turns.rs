//! Choosing a turn.

use super::known::Known;
use super::{AHEAD, Best, ELSEWHERE_BITS, LEAST_RATE_BITS, RESTART_EARLIER, bits, rounded};
use crate::stream::curves::{
    MAX_PER_TICK, Packed, SPIN_STEPS, Turn, spin_of, spin_steps, step_of, ticks_between, times,
};
use crate::stream::steps::SPIN_GRIDS;
use glam::{DQuat, DVec3};

/// The turn to follow from now on, as with flights.
pub(crate) fn next_turn(known: &Known, old: Option<Turn>) -> Turn {
    match &old {
        None => best_turn(known, None, known.oldest()),
        Some(old) if known.is_settled() && old.spin != [0; 3] => {
            best_turn(known, Some(old), known.earliest)
        }
        Some(old) => match turn_fails(known, old) {
            None => *old,
            Some(fails) => best_turn(known, Some(old), fails),
        },
    }
}

fn turn_fails(known: &Known, turn: &Turn) -> Option<u64> {
    let closest = (0.5 * known.tolerance_rad).cos();
    let first = turn.start.max(known.earliest).max(known.oldest());
    let truths = known.rotations(first, known.until.max(first));
    let mut ticks = (first..=known.until).zip(truths);
    ticks
        .find(|(tick, truth)| {
            let placed = turn.rotation(ticks_between(turn.start, *tick));
            placed.dot(*truth).abs() < closest
        })
        .map(|(tick, _)| tick)
}

fn best_turn(known: &Known, old: Option<&Turn>, fails: u64) -> Turn {
    let mut best = Best::new(known);
    let old_start = old.map_or(0, |old| old.start);
    for start in known.starts(old_start, fails) {
        let truths = known.rotations(start, known.now + AHEAD);
        let expected = old.map(|old| old.expected(start));
        if let Some(place) = expected {
            offer_turns(known, &truths, place, place, &mut best);
        }
        if start + RESTART_EARLIER < fails && old.is_some() {
            continue;
        }
        let there = Turn {
            start,
            rotation: Packed::nearest_to(truths[0]),
            spin: [0; 3],
        };
        offer_turns(
            known,
            &truths,
            expected.unwrap_or_default(),
            there,
            &mut best,
        );
    }
    best.curve.unwrap_or_else(|| Turn {
        start: known.now,
        rotation: Packed::nearest_to(known.present().rotation),
        spin: spin_steps(spin_of(known.present().spin)),
    })
}

/// Turns from a rotation, and what they cost if `expected` is expected.
fn offer_turns(known: &Known, truths: &[DQuat], expected: Turn, from: Turn, best: &mut Best<Turn>) {
    let rotation = rotation_bits(from.rotation, expected.rotation);
    let life = |turn: &Turn| {
        let last = turn_holds(known, turn, truths)?;
        Some(known.expected_life(last))
    };
    let still = Turn {
        spin: [0; 3],
        ..from
    };
    best.offer(still, rotation, life);
    if known.is_settled() || best.is_beyond(rotation + LEAST_RATE_BITS) {
        return;
    }
    let mut spin = first_spin(truths);
    for end in known.ends(from.start) {
        spin = better_spin(spin, &from, truths, end);
        let exact = spin_steps(spin);
        for shift in SPIN_GRIDS {
            for spin in rounded(exact, expected.spin, shift) {
                let step = std::array::from_fn(|i| (spin[i] - expected.spin[i]) >> shift);
                best.offer(Turn { spin, ..from }, rotation + bits(step), life);
            }
        }
    }
}

/// About what it costs to tell a rotation where another is expected.
fn rotation_bits(rotation: Packed, expected: Packed) -> f64 {
    if rotation == expected {
        return 0.0;
    }
    let expected = Packed::without(expected.unpack(), rotation.left_out);
    let step = std::array::from_fn(|i| rotation.others[i] - expected.others[i]);
    ELSEWHERE_BITS + bits(step)
}

/// The turn of the first tick, as a first guess: over several ticks a fast body turns more than half a circle, and nobody
/// could say which way.
fn first_spin(truths: &[DQuat]) -> DVec3 {
    truths.get(1).map_or(DVec3::ZERO, |next| {
        let first = times(*next, truths[0].conjugate());
        let scale = 2.0 / first.w.abs().max(0.01) * first.w.signum();
        DVec3::new(first.x, first.y, first.z) * scale
    })
}

/// A better spin than this one over the ticks after the start, up to `end`: least squares of what is left.
fn better_spin(spin: DVec3, from: &Turn, truths: &[DQuat], end: u64) -> DVec3 {
    let step = step_of(spin);
    let (mut sum, mut weight) = (DVec3::ZERO, 0.0);
    let mut placed = from.rotation.unpack();
    for (tick, truth) in (from.start + 1..=end).zip(&truths[1..]) {
        placed = times(step, placed);
        let ticks = ticks_between(from.start, tick);
        sum += scaled_axis(times(*truth, placed.conjugate())) * ticks;
        weight += ticks * ticks;
    }
    let limit = DVec3::splat(MAX_PER_TICK - 1.0);
    let better = if weight > 0.0 {
        spin + sum / weight
    } else {
        spin
    };
    better.clamp(-limit, limit)
}

/// Axis times angle, about, for small angles; the sign of the quaternion does not matter.
fn scaled_axis(rotation: DQuat) -> DVec3 {
    let sign = if rotation.w < 0.0 { -2.0 } else { 2.0 };
    DVec3::new(rotation.x, rotation.y, rotation.z) * sign
}

fn turn_holds(known: &Known, turn: &Turn, truths: &[DQuat]) -> Option<u64> {
    let closest = (0.5 * known.tolerance_rad).cos();
    let step = step_of(DVec3::from_array(
        turn.spin.map(|v| f64::from(v) / SPIN_STEPS),
    ));
    let mut placed = turn.rotation.unpack();
    for (tick, truth) in (turn.start..).zip(truths) {
        if tick > turn.start {
            placed = times(step, placed);
        }
        if tick >= known.earliest && placed.dot(*truth).abs() < closest {
            return (tick > known.until).then(|| tick - 1);
        }
    }
    Some(known.now + AHEAD)
}
