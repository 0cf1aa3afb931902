//! Numbers as bits with chances: small ones are likely, and what is likely is learned.
//!
//! ```text
//! number    how many bits it has, in unary, each step with a chance of its own; then the bits below its leading one:
//!           the first two with chances, the others even
//!           0 → 0 · 1 → 10 · 2, 3 → 110x · 4 to 7 → 1110xx · …
//! signed    the number's size as above, then, if it is not zero, a 1 if it is negative
//! triple    three signed numbers; the unary part's chances depend on the largest of those before in the triple:
//!           a hard push is hard on all axes
//! ```
//!
//! All chances of a packet stand in one array, so that trained ones can be read from a table: each group of chances below
//! is a range of it.

use super::range::{BitCoder, Chance, EVEN};
use super::tables::TRAINED;
use serde::{Deserialize, Serialize};

/// Numbers have at most this many bits.
const MOST_BITS: usize = 32;
/// Unary steps with chances of their own; the later ones share the last.
const STEPS: usize = 15;
/// How large the numbers before were: first in the triple; 0; 1; 2–3; 4–7; 8–15; 16–63; more.
const SIZES: usize = 8;

/// Where the chances of something begin in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At(usize);

impl At {
    /// The n-th chance after this one.
    pub(crate) const fn plus(self, n: usize) -> Self {
        Self(self.0 + n)
    }
}

/// Chances of one number: unary steps, then two levels of leading bits for each length.
const NUMBER: usize = STEPS + STEPS * 3;
/// Chances of a triple: unary steps for each size of what came before, leading bits, a sign for each axis.
const TRIPLE: usize = STEPS * SIZES + STEPS * 3 + 3;

macro_rules! layout {
    ($($(#[$doc:meta])* $name:ident: $len:expr;)*) => {
        layout!(@ 0; $($(#[$doc])* $name: $len;)*);
    };
    (@ $from:expr; $(#[$doc:meta])* $name:ident: $len:expr; $($rest:tt)*) => {
        $(#[$doc])*
        pub(crate) const $name: At = At($from);
        layout!(@ $from + $len; $($rest)*);
    };
    (@ $from:expr;) => {
        /// How many chances there are.
        pub(crate) const CHANCES: usize = $from;
    };
}

layout! {
    /// Is there another record?
    MORE: 1;
    /// Slots skipped since the last record.
    GAP: NUMBER;
    /// Does a body enter or leave?
    SCOPE: 1;
    /// … does it leave?
    LEAVES: 1;
    /// Ids skipped since the last body that entered.
    BODY: NUMBER;
    /// Is there a new flight? … and a new turn as well?
    PARTS: 2;
    /// Is it told from scratch? Flight, turn.
    AFRESH: 2;
    /// Age of a flight, of a turn that comes alone.
    AGE: 2 * NUMBER;
    /// Does the turn begin with the flight?
    TOGETHER: 1;
    /// Resting? Falling?
    COURSE: 2;
    /// Is the flight exactly where it was expected? The turn?
    AS_EXPECTED: 2;
    /// Is the expected component left out? Otherwise which (two bits)?
    LEFT_OUT: 4;
    /// No spin?
    STILL: 1;
    /// The grid of a velocity, of a spin.
    GRID: 6;
    /// Differences: position, velocity on each grid, rotation, spin on each grid (alone, and after a velocity).
    POSITION: TRIPLE;
    VELOCITY: 4 * TRIPLE;
    ROTATION: TRIPLE;
    SPIN: 8 * TRIPLE;
    /// Numbers told from scratch: position, velocity, rotation, spin.
    SCRATCH: 4 * TRIPLE;
}

impl At {
    /// The n-th of several triples.
    pub(crate) const fn triple(self, n: usize) -> Self {
        self.plus(n * TRIPLE)
    }

    /// The n-th of several numbers.
    pub(crate) const fn number(self, n: usize) -> Self {
        self.plus(n * NUMBER)
    }
}

/// How old what a packet is relative to usually is; chances are trained for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Distance {
    /// The client has nearly always acknowledged everything before the next update.
    Near,
    /// Several updates are under way: what clients have is old, and differences from it are large.
    Far,
}

/// What bits are spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Ids,
    Scope,
    Positions,
    Velocities,
    Rotations,
    Spins,
}

/// How many parts there are.
pub(crate) const PARTS_COUNT: usize = 6;

/// A coder with all chances.
#[derive(Clone, Debug)]
pub(crate) struct Symbols<C> {
    coder: C,
    chances: Box<[Chance]>,
    /// How often each chance saw a 0 and a 1, when chances are to be trained.
    seen: Option<Box<[[u64; 2]]>>,
    /// What was spent on each part, in 1/256 bit, and up to where it is charged.
    spent: [u64; PARTS_COUNT],
    charged: u64,
}

impl<C: BitCoder> Symbols<C> {
    /// With the chances trained for this distance.
    pub(crate) fn new(coder: C, distance: Distance) -> Self {
        let trained = |at: usize| {
            TRAINED[distance as usize]
                .get(at)
                .map_or(EVEN, |c| Chance::from(*c) << 8 | 128)
        };
        Self {
            coder,
            chances: (0..CHANCES).map(trained).collect(),
            seen: None,
            spent: [0; PARTS_COUNT],
            charged: 0,
        }
    }

    /// What was written since the last charge was for this part.
    pub(crate) fn charge(&mut self, part: Part) {
        let cost = self.coder.cost();
        self.spent[part as usize] += cost - self.charged;
        self.charged = cost;
    }

    /// What was charged for each part, in 1/256 bit.
    pub(crate) fn spent(&self) -> [u64; PARTS_COUNT] {
        self.spent
    }

    /// Counts from now on.
    pub(crate) fn count(&mut self, seen: Box<[[u64; 2]]>) {
        self.seen = Some(seen);
    }

    /// What was counted.
    pub(crate) fn take_counts(&mut self) -> Option<Box<[[u64; 2]]>> {
        self.seen.take()
    }

    pub(crate) fn coder(&self) -> &C {
        &self.coder
    }

    pub(crate) fn into_coder(self) -> C {
        self.coder
    }

    pub(crate) fn bit(&mut self, at: At, bit: bool) -> bool {
        let bit = self.coder.bit(&mut self.chances[at.0], bit);
        if let Some(seen) = &mut self.seen {
            seen[at.0][usize::from(bit)] += 1;
        }
        bit
    }

    fn even(&mut self, bit: bool) -> bool {
        self.coder.bit(&mut EVEN.clone(), bit)
    }

    pub(crate) fn number(&mut self, at: At, value: u64) -> u64 {
        self.sized(at, at.plus(STEPS), value, 64)
    }

    /// `unary` and `leading` are where the chances of the two parts begin.
    fn sized(&mut self, unary: At, leading: At, value: u64, most: usize) -> u64 {
        let length = (64 - value.leading_zeros()) as usize;
        let mut bits = 0;
        while bits < most && self.bit(unary.plus(bits.min(STEPS - 1)), bits < length) {
            bits += 1;
        }
        if bits < 2 {
            return bits as u64;
        }
        let leading = leading.plus(3 * bits.min(STEPS - 1));
        let mut read = 1;
        for (done, below) in (0..bits - 1).rev().enumerate() {
            let bit = value >> below & 1 == 1;
            let bit = match done {
                0 => self.bit(leading, bit),
                1 => self.bit(leading.plus(1 + (read & 1) as usize), bit),
                _ => self.even(bit),
            };
            read = read << 1 | u64::from(bit);
        }
        read
    }

    pub(crate) fn triple(&mut self, at: At, values: [i32; 3]) -> [i32; 3] {
        self.triple_after(at, values, None)
    }

    /// A triple whose first number is likely to be about as large as `largest`.
    pub(crate) fn triple_after(
        &mut self,
        at: At,
        values: [i32; 3],
        mut largest: Option<u64>,
    ) -> [i32; 3] {
        let leading = at.plus(STEPS * SIZES);
        let signs = leading.plus(STEPS * 3);
        let mut read = [0; 3];
        for axis in 0..3 {
            let size = match largest {
                None => 0,
                Some(0) => 1,
                Some(1) => 2,
                Some(2..=3) => 3,
                Some(4..=7) => 4,
                Some(8..=15) => 5,
                Some(16..=63) => 6,
                Some(_) => 7,
            };
            let value = u64::from(values[axis].unsigned_abs());
            let value = self.sized(at.plus(STEPS * size), leading, value, MOST_BITS - 1);
            largest = Some(if axis == 0 {
                value
            } else {
                largest.unwrap_or(0).max(value)
            });
            let negative = value > 0 && self.bit(signs.plus(axis), values[axis] < 0);
            read[axis] = if negative {
                -(value as i32)
            } else {
                value as i32
            };
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::super::range::{RangeReader, RangeWriter};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_comes_back(
            numbers in prop::collection::vec((any::<u64>(), 0_u32..64), 0..50),
            triples in prop::collection::vec((any::<[i32; 3]>(), 1_u32..32), 0..50),
        ) {
            let numbers: Vec<u64> = numbers.iter().map(|(n, shift)| n >> shift).collect();
            let triples: Vec<_> = triples.iter().map(|(t, shift)| t.map(|v| v >> shift)).collect();
            let mut writer = Symbols::new(RangeWriter::after(Vec::new()), Distance::Near);
            numbers.iter().for_each(|n| { writer.number(GAP, *n); });
            triples.iter().for_each(|t| { writer.triple(SPIN, *t); });
            let bytes = writer.into_coder().finish(0);
            let mut reader = Symbols::new(RangeReader::new(&bytes), Distance::Near);
            for number in numbers {
                prop_assert_eq!(reader.number(GAP, 0), number);
            }
            for triple in triples {
                prop_assert_eq!(reader.triple(SPIN, [0; 3]), triple);
            }
        }
    }
}
