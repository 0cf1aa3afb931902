//! Choosing a flight.

use super::known::{Known, Path};
use super::{AHEAD, Best, ELSEWHERE_BITS, LEAST_RATE_BITS, RESTART_EARLIER, bits, rounded};
use crate::stream::curves::{Course, Flight, ticks_between};
use crate::stream::steps::VELOCITY_GRIDS;
use glam::DVec3;

/// The flight to follow from now on: the old one while it holds (none yet: the body is new).
pub(crate) fn next_flight(known: &Known, old: Option<Flight>) -> Flight {
    match &old {
        None => best_flight(known, None, known.oldest()),
        Some(old) if known.is_settled() && old.velocity != [0; 3] => {
            best_flight(known, Some(old), known.earliest)
        }
        Some(old) => match flight_fails(known, old) {
            None => *old,
            Some(fails) => best_flight(known, Some(old), fails),
        },
    }
}

fn best_flight(known: &Known, old: Option<&Flight>, fails: u64) -> Flight {
    let mut best = Best::new(known);
    let path = known.path();
    let old_start = old.map_or(0, |old| old.start);
    for start in known.starts(old_start, fails) {
        let expected = old.map(|old| old.expected(start, known.pull));
        if let Some(place) = expected {
            offer_flights(known, &path, place, place, &mut best);
        }
        if start + RESTART_EARLIER < fails && old.is_some() {
            continue;
        }
        let there = Flight::new(start, Course::Straight, path.at(start), DVec3::ZERO);
        offer_flights(known, &path, expected.unwrap_or_default(), there, &mut best);
    }
    best.curve.unwrap_or_else(|| last_resort(known))
}

/// Flights from a place, and what they cost if `expected` is expected.
fn offer_flights(
    known: &Known,
    path: &Path,
    expected: Flight,
    from: Flight,
    best: &mut Best<Flight>,
) {
    let position = match std::array::from_fn(|i| from.position[i] - expected.position[i]) {
        [0, 0, 0] => 0.0,
        position => ELSEWHERE_BITS + bits(position),
    };
    let life = |flight: &Flight| {
        let last = flight_holds(known, path, flight)?;
        Some(known.expected_life(last))
    };
    let resting = Flight {
        course: Course::Resting,
        velocity: [0; 3],
        ..from
    };
    best.offer(resting, position, life);
    if known.is_settled() || best.is_beyond(position + LEAST_RATE_BITS) {
        return;
    }
    for course in [Course::Straight, Course::Falling] {
        for end in known.ends(from.start) {
            let velocity = fitted_velocity(known, path, &from, course, end);
            let exact = Flight::new(from.start, course, DVec3::ZERO, velocity).velocity;
            for shift in VELOCITY_GRIDS {
                for velocity in rounded(exact, expected.velocity, shift) {
                    let step =
                        std::array::from_fn(|i| (velocity[i] - expected.velocity[i]) >> shift);
                    let flight = Flight {
                        course,
                        velocity,
                        ..from
                    };
                    best.offer(flight, position + bits(step), life);
                }
            }
        }
    }
}

/// Least squares over the ticks after the start, up to `end`; the place at the start is given.
fn fitted_velocity(known: &Known, path: &Path, from: &Flight, course: Course, end: u64) -> DVec3 {
    let place = Flight {
        course: Course::Resting,
        ..*from
    }
    .position(0.0, known.pull);
    let (mut sum, mut weight) = (DVec3::ZERO, 0.0);
    for tick in from.start + 1..=end {
        let ticks = ticks_between(from.start, tick);
        let fallen = match course {
            Course::Falling => known.pull * (0.5 * ticks * (ticks + 1.0)),
            _ => DVec3::ZERO,
        };
        sum += (path.at(tick) - fallen - place) * ticks;
        weight += ticks * ticks;
    }
    if weight > 0.0 {
        sum / weight
    } else {
        known.velocity()
    }
}

/// The first tick before the next update at which a flight is too far off.
fn flight_fails(known: &Known, flight: &Flight) -> Option<u64> {
    let first = flight.start.max(known.earliest).max(known.oldest());
    (first..=known.until).find(|tick| !flight_is_at(known, flight, *tick, known.position(*tick)))
}

fn flight_is_at(known: &Known, flight: &Flight, tick: u64, position: DVec3) -> bool {
    let place = flight.position(ticks_between(flight.start, tick), known.pull);
    place.distance_squared(position) <= known.tolerance_m * known.tolerance_m
}

/// The last tick up to which a flight holds; `None` if it fails before it must not.
fn flight_holds(known: &Known, path: &Path, flight: &Flight) -> Option<u64> {
    let first = flight.start.max(known.earliest).max(path.oldest);
    let last = known.now + AHEAD;
    match (first..=last).find(|tick| !flight_is_at(known, flight, *tick, path.at(*tick))) {
        Some(tick) => (tick > known.until).then(|| tick - 1),
        None => Some(last),
    }
}

/// Nothing holds for as long as it must: what is right now will have to do.
fn last_resort(known: &Known) -> Flight {
    Flight::new(
        known.now,
        Course::Straight,
        known.present().position,
        known.velocity(),
    )
}
