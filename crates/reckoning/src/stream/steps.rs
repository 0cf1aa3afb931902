//! Curves as differences to what a client expects, and their bits.
//!
//! ```text
//! flight  = from scratch? age course, as expected? position difference, grid velocity difference
//! turn    = from scratch? age (or: with the flight), component left out, as expected? rotation difference,
//!           still? grid spin difference
//! ```

use super::curves::{Course, Flight, Packed, Turn, ticks_between};
use super::range::BitCoder;
use super::symbols::*;
use glam::{DQuat, DVec3};

/// Velocities and spins are told in steps of so many times two of their units, the widest they are multiples of: the
/// server rounds them as far as the curve's life allows.
pub(crate) type Grids = [u32; 4];
/// Steps of 1, 8, 16 and 32 units: 0.7 to 23 cm/s at 60 ticks a second.
pub(crate) const VELOCITY_GRIDS: Grids = [0, 3, 4, 5];
/// Steps of 1, 16, 32 and 64 units: 0.4 to 27 degrees/s at 60 ticks a second.
pub(crate) const SPIN_GRIDS: Grids = [0, 4, 5, 6];
/// A flight as a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FlightStep {
    pub(crate) afresh: bool,
    pub(crate) age: u64,
    pub(crate) course: Course,
    pub(crate) position: [i32; 3],
    pub(crate) grid: u8,
    pub(crate) velocity: [i32; 3],
}

/// A turn as a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TurnStep {
    pub(crate) afresh: bool,
    pub(crate) age: u64,
    /// `None`: the component that is left out where the turn is expected.
    pub(crate) left_out: Option<u8>,
    pub(crate) rotation: [i32; 3],
    pub(crate) still: bool,
    pub(crate) grid: u8,
    pub(crate) spin: [i32; 3],
}

/// The coarsest grid on which all three numbers lie.
fn grid_of(grids: &Grids, values: [i32; 3]) -> u8 {
    let lies_on = |shift: &u32| values.iter().all(|v| v & ((1 << shift) - 1) == 0);
    grids.iter().rposition(lies_on).unwrap_or(0) as u8
}

/// To the nearest line of a grid, halves up, counted in lines.
fn to_lines(value: i32, shift: u32) -> i32 {
    value.saturating_add(1 << shift >> 1) >> shift
}

fn minus(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    [
        a[0].wrapping_sub(b[0]),
        a[1].wrapping_sub(b[1]),
        a[2].wrapping_sub(b[2]),
    ]
}

fn plus(a: [i32; 3], b: [i32; 3]) -> Option<[i32; 3]> {
    Some([
        a[0].checked_add(b[0])?,
        a[1].checked_add(b[1])?,
        a[2].checked_add(b[2])?,
    ])
}

/// A rate's grid, and its difference there.
fn rate_step(grids: &Grids, value: [i32; 3], expected: [i32; 3]) -> (u8, [i32; 3]) {
    let grid = grid_of(grids, value);
    let shift = grids[usize::from(grid)];
    let lines = |values: [i32; 3]| values.map(|v| to_lines(v, shift));
    (grid, minus(lines(value), lines(expected)))
}

fn rate(grids: &Grids, grid: u8, step: [i32; 3], expected: [i32; 3]) -> Option<[i32; 3]> {
    let shift = grids[usize::from(grid)];
    let lines = plus(step, expected.map(|v| to_lines(v, shift)))?;
    let most = i32::MAX >> shift;
    (lines.iter().all(|v| (-most..=most).contains(v))).then(|| lines.map(|v| v << shift))
}

/// Which grid: two bits.
fn code_grid<C: BitCoder>(symbols: &mut Symbols<C>, at: At, grid: u8) -> u8 {
    let high = symbols.bit(at, grid & 2 != 0);
    let low = symbols.bit(at.plus(1 + usize::from(high)), grid & 1 != 0);
    u8::from(high) << 1 | u8::from(low)
}

impl FlightStep {
    /// What to send to somebody who holds `base` (nothing, if `None`) in a packet of tick `now`.
    pub(crate) fn new(flight: &Flight, base: Option<&Flight>, now: u64, pull: DVec3) -> Self {
        let expected = base.map_or(Flight::default(), |base| base.expected(flight.start, pull));
        let (grid, velocity) = match flight.course {
            Course::Resting => (0, [0; 3]),
            _ => rate_step(&VELOCITY_GRIDS, flight.velocity, expected.velocity),
        };
        Self {
            afresh: base.is_none(),
            age: now.saturating_sub(flight.start),
            course: flight.course,
            position: minus(flight.position, expected.position),
            grid,
            velocity,
        }
    }

    /// The flight it stands for; `None` if that is beyond what a world may hold.
    pub(crate) fn apply(&self, base: Option<&Flight>, now: u64, pull: DVec3) -> Option<Flight> {
        let start = now.checked_sub(self.age)?;
        let expected = base.map_or(Flight::default(), |base| base.expected(start, pull));
        let flight = Flight {
            start,
            course: self.course,
            position: plus(self.position, expected.position)?,
            velocity: match self.course {
                Course::Resting => [0; 3],
                _ => rate(&VELOCITY_GRIDS, self.grid, self.velocity, expected.velocity)?,
            },
        };
        flight.is_sane().then_some(flight)
    }

    /// How much the velocity changes, in steps of the coarsest grid.
    fn push(&self) -> u64 {
        let largest = self
            .velocity
            .iter()
            .map(|v| u64::from(v.unsigned_abs()))
            .max();
        let shift = VELOCITY_GRIDS[3] - VELOCITY_GRIDS[usize::from(self.grid)];
        largest.unwrap_or(0) >> shift
    }

    pub(crate) fn code<C: BitCoder>(&self, symbols: &mut Symbols<C>, enters: bool) -> Self {
        let afresh = enters || symbols.bit(AFRESH, self.afresh);
        let age = symbols.number(AGE, self.age);
        let resting = symbols.bit(COURSE, self.course == Course::Resting);
        let course = if resting {
            Course::Resting
        } else if symbols.bit(COURSE.plus(1), self.course == Course::Falling) {
            Course::Falling
        } else {
            Course::Straight
        };
        let position = if afresh {
            symbols.triple(SCRATCH, self.position)
        } else if symbols.bit(AS_EXPECTED, self.position == [0; 3]) {
            [0; 3]
        } else {
            symbols.triple(POSITION, self.position)
        };
        symbols.charge(if enters { Part::Scope } else { Part::Positions });
        let grid = if resting {
            0
        } else {
            code_grid(symbols, GRID, self.grid)
        };
        let velocity = match (resting, afresh) {
            (true, _) => [0; 3],
            (false, true) => symbols.triple(SCRATCH.triple(1), self.velocity),
            (false, false) => symbols.triple(VELOCITY.triple(grid.into()), self.velocity),
        };
        symbols.charge(if enters {
            Part::Scope
        } else {
            Part::Velocities
        });
        Self {
            afresh,
            age,
            course,
            position,
            grid,
            velocity,
        }
    }
}

impl TurnStep {
    /// See [`FlightStep::new`].
    pub(crate) fn new(turn: &Turn, base: Option<&Turn>, now: u64) -> Self {
        let (expected, whole) = expected_turn(base, turn.start);
        let natural = expected.rotation.left_out;
        let left_out = turn.rotation.left_out;
        let expected_rotation = Packed::without(whole, left_out);
        let still = turn.spin == [0; 3];
        let (grid, spin) = if still {
            (0, [0; 3])
        } else {
            rate_step(&SPIN_GRIDS, turn.spin, expected.spin)
        };
        Self {
            afresh: base.is_none(),
            age: now.saturating_sub(turn.start),
            left_out: (left_out != natural).then_some(left_out),
            rotation: minus(turn.rotation.others, expected_rotation.others),
            still,
            grid,
            spin,
        }
    }

    /// See [`FlightStep::apply`].
    pub(crate) fn apply(&self, base: Option<&Turn>, now: u64) -> Option<Turn> {
        let start = now.checked_sub(self.age)?;
        let (expected, whole) = expected_turn(base, start);
        let left_out = self.left_out.unwrap_or(expected.rotation.left_out);
        let expected_rotation = Packed::without(whole, left_out);
        let turn = Turn {
            start,
            rotation: Packed {
                left_out,
                others: plus(self.rotation, expected_rotation.others)?,
            },
            spin: if self.still {
                [0; 3]
            } else {
                rate(&SPIN_GRIDS, self.grid, self.spin, expected.spin)?
            },
        };
        turn.is_sane().then_some(turn)
    }

    pub(crate) fn code<C: BitCoder>(
        &self,
        symbols: &mut Symbols<C>,
        enters: bool,
        flight: Option<&FlightStep>,
    ) -> Self {
        let afresh = enters || symbols.bit(AFRESH.plus(1), self.afresh);
        let together = flight.filter(|flight| symbols.bit(TOGETHER, self.age == flight.age));
        let age = match together {
            Some(flight) => flight.age,
            None => symbols.number(AGE.number(1), self.age),
        };
        let left_out = if symbols.bit(LEFT_OUT, self.left_out.is_none()) {
            None
        } else {
            let which = self.left_out.unwrap_or(0);
            let high = symbols.bit(LEFT_OUT.plus(1), which & 2 != 0);
            let low = symbols.bit(LEFT_OUT.plus(2 + usize::from(high)), which & 1 != 0);
            Some(u8::from(high) << 1 | u8::from(low))
        };
        let rotation = if afresh {
            symbols.triple(SCRATCH.triple(2), self.rotation)
        } else if symbols.bit(AS_EXPECTED.plus(1), self.rotation == [0; 3]) {
            [0; 3]
        } else {
            symbols.triple(ROTATION, self.rotation)
        };
        symbols.charge(if enters { Part::Scope } else { Part::Rotations });
        let still = symbols.bit(STILL, self.still);
        let grid = if still {
            0
        } else {
            code_grid(symbols, GRID.plus(3), self.grid)
        };
        let spin = match (still, afresh) {
            (true, _) => [0; 3],
            (false, true) => symbols.triple(SCRATCH.triple(3), self.spin),
            (false, false) => {
                // What changes the velocity by much changes the spin by much.
                let push = together.map(FlightStep::push);
                let at = SPIN.triple(usize::from(grid) + 4 * usize::from(push.is_some()));
                symbols.triple_after(at, self.spin, push)
            }
        };
        symbols.charge(if enters { Part::Scope } else { Part::Spins });
        Self {
            afresh,
            age,
            left_out,
            rotation,
            still,
            grid,
            spin,
        }
    }
}

/// What is expected, and its rotation before packing.
fn expected_turn(base: Option<&Turn>, start: u64) -> (Turn, DQuat) {
    match base {
        None => (Turn::default(), Packed::default().unpack()),
        Some(base) => {
            let expected = base.expected(start);
            let ticks = ticks_between(base.start, start);
            (expected, base.rotation(ticks))
        }
    }
}
