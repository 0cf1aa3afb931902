//! Choosing a curve: which one keeps within the tolerance for longest, and costs least?
//!
//! ```text
//!            tube of ±tolerance around the true path
//!     ........................................          o  true positions, known up to the present
//!   ──o─────o──── old curve leaves the tube here ✗      …  where the body would go on its own
//!      ╲ ..............................
//!       ╲o──o──o──o──o … … … …          the new curve: begins *on* the old one, so that no position need be sent,
//!        ↑ start    ↑ present           and takes the velocity that stays in the tube longest
//! ```
//!
//! What clients show lags behind by a fixed delay, so the server knows a few ticks of the future of what it sends. It
//! tries several starts before the old curve fails, for each start a least-squares velocity over several spans, and
//! keeps the one with the fewest bits per tick it is expected to last.

use super::curves::{
    Course, Flight, Packed, SPIN_STEPS, Turn, spin_of, spin_steps, step_of, ticks_between, times,
};
use super::exporter::Truth;
use super::records::{SPIN_GRIDS, VELOCITY_GRIDS};
use glam::{DQuat, DVec3};

/// How far ahead of the present a curve is judged, ticks.
const AHEAD: u64 = 16;
/// How far ahead of the present velocities are fitted, ticks.
const FIT_AHEAD: [u64; 2] = [3, 8];
/// The chance that something happens to a body in a tick, as far as judging curves goes.
const HAZARD: f64 = 0.25;
/// A curve may begin this many ticks before what clients show: earlier than needed, but nearer to where the old one was
/// still right.
const START_EARLIER: u64 = 1;
/// A curve that does not begin on the old one begins at most this many ticks before that fails.
const RESTART_EARLIER: u64 = 2;
/// What a record costs besides its numbers, bits.
const OVERHEAD_BITS: f64 = 7.0;
/// What it costs besides these to say that a curve begins elsewhere than expected, bits.
const ELSEWHERE_BITS: f64 = 9.0;
/// A velocity or spin costs at least this, bits.
const LEAST_RATE_BITS: f64 = 3.0;

/// What is known of a body when a curve is chosen.
pub(crate) struct Known<'a> {
    /// Its states, one per tick, the last of them the present; never empty.
    pub(crate) truths: &'a [Truth],
    /// The tick of the last one.
    pub(crate) now: u64,
    /// The first and the last tick that clients show before the next update: there curves must hold.
    pub(crate) earliest: u64,
    pub(crate) until: u64,
    /// Gravity, metres per tick².
    pub(crate) pull: DVec3,
    /// Metres.
    pub(crate) tolerance_m: f64,
    /// Radians.
    pub(crate) tolerance_rad: f64,
}

impl Known<'_> {
    /// The true state at a tick; `None` if it is not known (any more).
    pub(crate) fn truth(&self, tick: u64) -> Option<&Truth> {
        let back = self.now.checked_sub(tick)? as usize;
        self.truths.get(self.truths.len().checked_sub(back + 1)?)
    }

    fn present(&self) -> &Truth {
        self.truths.last().expect("never empty")
    }

    fn before(&self) -> Option<&Truth> {
        self.truths.len().checked_sub(2).map(|i| &self.truths[i])
    }

    /// Metres per tick, now. From positions if possible: the velocity is that of the centre of mass, which need not be
    /// the body's origin.
    fn velocity(&self) -> DVec3 {
        let present = self.present();
        if present.asleep {
            return DVec3::ZERO;
        }
        match self.before() {
            Some(before) if !before.asleep => present.position - before.position,
            _ => present.velocity,
        }
    }

    /// Did the last step change the velocity by gravity alone?
    fn is_falling(&self) -> bool {
        let present = self.present();
        self.before().is_some_and(|before| {
            let change = present.velocity - before.velocity;
            change.distance(self.pull) < 0.25 * self.pull.length()
        })
    }

    /// All positions from the oldest known tick to as far ahead as curves are judged.
    fn path(&self) -> Path {
        let oldest = self.oldest();
        Path {
            oldest,
            positions: (oldest..=self.now + AHEAD)
                .map(|t| self.position(t))
                .collect(),
        }
    }

    /// Where the body is or, after the present, would be if nothing happened to it.
    fn position(&self, tick: u64) -> DVec3 {
        if let Some(truth) = self.truth(tick) {
            return truth.position;
        }
        let ticks = ticks_between(self.now, tick);
        let fallen = if self.is_falling() {
            self.pull * (0.5 * ticks * (ticks + 1.0))
        } else {
            DVec3::ZERO
        };
        self.present().position + self.velocity() * ticks + fallen
    }

    fn rotations(&self, from: u64, to: u64) -> Vec<DQuat> {
        let present = self.present();
        let step = if present.asleep {
            DQuat::IDENTITY
        } else {
            step_of(spin_of(present.spin))
        };
        let mut rotations = Vec::with_capacity((to - from + 1) as usize);
        for tick in from..=to {
            let rotation = match (self.truth(tick), rotations.last()) {
                (Some(truth), _) => truth.rotation,
                (None, Some(last)) => times(step, *last),
                (None, None) => present.rotation,
            };
            rotations.push(rotation);
        }
        rotations
    }

    fn oldest(&self) -> u64 {
        self.now + 1 - self.truths.len() as u64
    }

    fn is_asleep(&self) -> bool {
        self.present().asleep
    }

    /// Ticks at which a curve may begin: not after the old one fails.
    fn starts(&self, old_start: u64, fails: u64) -> impl Iterator<Item = u64> + use<> {
        let last = fails.min(self.now);
        let first = (self.earliest.saturating_sub(START_EARLIER))
            .max(old_start)
            .max(self.oldest())
            .min(last);
        first..=last
    }

    /// The last ticks of the spans that velocities are fitted to.
    fn ends(&self, start: u64) -> impl Iterator<Item = u64> + use<> {
        let first = self.until.max(start + 1);
        let known = first..=self.now;
        let beyond = FIT_AHEAD.map(|ahead| (self.now + ahead).max(first));
        known.chain(beyond)
    }

    /// How many ticks a curve is expected to last from the next update on, if it holds up to `last` (included).
    fn expected_life(&self, last: u64) -> f64 {
        let certain = last.min(self.now) as f64 + 1.0 - self.until.min(self.now) as f64;
        let ahead = last.saturating_sub(self.now) as i32;
        (certain + (1.0 - (1.0 - HAZARD).powi(ahead)) / HAZARD).max(0.1)
    }
}

/// Positions by tick.
struct Path {
    oldest: u64,
    positions: Vec<DVec3>,
}

impl Path {
    fn at(&self, tick: u64) -> DVec3 {
        self.positions[(tick - self.oldest) as usize]
    }
}

/// The better of curves: fewest bits per tick.
struct Best<C> {
    curve: Option<C>,
    price: f64,
    /// The longest life any curve is given.
    longest: f64,
}

impl<C> Best<C> {
    fn new(known: &Known) -> Self {
        Self {
            curve: None,
            price: f64::INFINITY,
            longest: known.expected_life(known.now + AHEAD),
        }
    }

    /// Could a curve of this cost not be better even if it lasted longest?
    fn is_beyond(&self, bits: f64) -> bool {
        OVERHEAD_BITS + bits >= self.price * self.longest
    }

    /// Takes the curve if it is better. How long it lasts is only asked if it could be: that is the expensive part.
    fn offer(&mut self, curve: C, bits: f64, life: impl FnOnce(&C) -> Option<f64>) {
        if self.is_beyond(bits) {
            return;
        }
        if let Some(life) = life(&curve) {
            let price = (OVERHEAD_BITS + bits) / life;
            if price < self.price {
                (self.curve, self.price) = (Some(curve), price);
            }
        }
    }
}

/// About what three numbers cost: one bit for a zero, otherwise their length and a bit and a half.
fn bits(values: [i32; 3]) -> f64 {
    let halves = |v: &i32| match v {
        0 => 2,
        v => 2 * (32 - v.unsigned_abs().leading_zeros()) + 3,
    };
    f64::from(values.iter().map(halves).sum::<u32>()) * 0.5
}

/// A rate rounded to a grid: to the nearest lines; towards what is expected, which is cheaper to tell; and to just that
/// on axes that change little.
fn rounded(value: [i32; 3], expected: [i32; 3], shift: u32) -> [[i32; 3]; 3] {
    let step = 1 << shift;
    let on_line = |v: i32| (v + (step >> 1)) >> shift << shift;
    let nearest = value.map(on_line);
    let (mut nearer, mut kept) = (nearest, nearest);
    for axis in 0..3 {
        let below = value[axis] >> shift << shift;
        let above = if below == value[axis] {
            below
        } else {
            below + step
        };
        nearer[axis] = on_line(expected[axis]).clamp(below, above);
        if (value[axis] - expected[axis]).abs() < 2 * step {
            kept[axis] = on_line(expected[axis]);
        }
    }
    [nearest, nearer, kept]
}

// ── flights ────────────────────────────────────────────────────────────────────────────────────────────────────────

/// The flight to follow from now on: the old one while it holds (none yet: the body is new).
pub(crate) fn next_flight(known: &Known, old: Option<Flight>) -> Flight {
    match &old {
        None => best_flight(known, None, known.oldest()),
        Some(old) if known.is_asleep() && old.velocity != [0; 3] => {
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
    if best.is_beyond(position + LEAST_RATE_BITS) {
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

// ── turns ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// The turn to follow from now on, as with flights.
pub(crate) fn next_turn(known: &Known, old: Option<Turn>) -> Turn {
    match &old {
        None => best_turn(known, None, known.oldest()),
        Some(old) if known.is_asleep() && old.spin != [0; 3] => {
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
    if best.is_beyond(rotation + LEAST_RATE_BITS) {
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
    let limit = DVec3::splat(super::curves::MAX_PER_TICK - 1.0);
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
