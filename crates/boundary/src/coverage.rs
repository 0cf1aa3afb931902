//! Where on the ground something foreign may be, as a grid of bits: of thousands of bodies most are nowhere near, and
//! one bit tells.

use domain::{Bounds, Rect};
use glam::DVec3;

/// Squares of about this width, metres.
const CELL_M: f64 = 2.0;
/// At most so many of them in a row; where that is not enough they are wider.
const MOST_IN_A_ROW: f64 = 1_024.0;

/// A grid over a rectangle; a bit of it is set where something is. What is outside is in the squares at the edge.
#[derive(Clone, Debug)]
pub struct Coverage {
    rect: Rect,
    cells_per_m: [f64; 2],
    /// Columns and rows.
    size: [usize; 2],
    now: Marks,
    before: Marks,
}

/// Bits, and which runs of them are set: setting and forgetting cost what is set, not what there is.
#[derive(Clone, Debug, Default)]
struct Marks {
    bits: Vec<u64>,
    runs: Vec<(usize, usize)>,
}

impl Coverage {
    /// Nothing anywhere.
    pub fn over(rect: &Rect) -> Self {
        let mut coverage = Self {
            rect: *rect,
            cells_per_m: [0.0; 2],
            size: [1; 2],
            now: Marks::default(),
            before: Marks::default(),
        };
        for i in 0..2 {
            let width = rect.max[i] - rect.min[i];
            if width.is_finite() && width > 0.0 {
                let cells = (width / CELL_M).ceil().min(MOST_IN_A_ROW);
                coverage.size[i] = cells as usize;
                coverage.cells_per_m[i] = cells / width;
            }
        }
        let words = (coverage.size[0] * coverage.size[1]).div_ceil(64);
        coverage.now.bits = vec![0; words];
        coverage.before.bits = vec![0; words];
        coverage
    }

    /// Marks the shadows of boxes, each larger by `margin_m`, and nothing else.
    pub fn rebuild(&mut self, boxes: &[Bounds], margin_m: f64) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
        for bounds in boxes {
            let shadow = bounds.ground().grown(margin_m);
            let [x0, z0] = self.cell(shadow.min);
            let [x1, z1] = self.cell(shadow.max);
            for z in z0..=z1 {
                let row = z * self.size[0];
                self.now.mark(row + x0, row + x1);
            }
        }
    }

    /// Everything outside is in the squares at the edge.
    pub fn rect(&self) -> &Rect {
        &self.rect
    }

    /// The squares in which something is now and was not before the last [`rebuild`](Self::rebuild), in rows, as boxes
    /// without top and bottom.
    pub fn new_squares(&self) -> Vec<Bounds> {
        let words = |(first, last): &(usize, usize)| first / 64..=last / 64;
        let mut words: Vec<usize> = self.now.runs.iter().flat_map(words).collect();
        words.sort_unstable();
        words.dedup();
        let mut rows: Vec<(usize, usize)> = Vec::new();
        for word in words {
            let mut new = self.now.bits[word] & !self.before.bits[word];
            while new != 0 {
                let place = 64 * word + new.trailing_zeros() as usize;
                new &= new - 1;
                let is_first_of_row = place.is_multiple_of(self.size[0]);
                match rows.last_mut() {
                    Some((_, last)) if *last + 1 == place && !is_first_of_row => *last = place,
                    _ => rows.push((place, place)),
                }
            }
        }
        let row = |(first, last): (usize, usize)| self.square(first).union(self.square(last));
        rows.into_iter().map(row).collect()
    }

    fn square(&self, place: usize) -> Bounds {
        let cell = [place % self.size[0], place / self.size[0]];
        let edge = |i: usize, cell: usize| self.rect.min[i] + cell as f64 / self.cells_per_m[i];
        let lower = |i: usize| match cell[i] {
            0 => f64::NEG_INFINITY,
            cell => edge(i, cell),
        };
        let upper = |i: usize| match cell[i] + 1 == self.size[i] {
            true => f64::INFINITY,
            false => edge(i, cell[i] + 1),
        };
        Bounds {
            min: DVec3::new(lower(0), f64::NEG_INFINITY, lower(1)),
            max: DVec3::new(upper(0), f64::INFINITY, upper(1)),
        }
    }

    /// So far beyond what is marked a point inside [`rect`](Self::rect) may count as marked.
    pub fn coarseness_m(&self) -> f64 {
        let width = |i: usize| 1.0 / self.cells_per_m[i];
        width(0).max(width(1))
    }

    #[inline]
    fn cell(&self, at: [f64; 2]) -> [usize; 2] {
        // What is not a number becomes zero.
        [0, 1].map(|i| {
            let cell = ((at[i] - self.rect.min[i]) * self.cells_per_m[i]) as i32;
            (cell.max(0) as usize).min(self.size[i] - 1)
        })
    }

    /// May a marked box be above or below this point? Never no where one is.
    #[inline]
    pub fn holds(&self, point: DVec3) -> bool {
        let [x, z] = self.cell([point.x, point.z]);
        self.now.holds(z * self.size[0] + x)
    }
}

impl Marks {
    #[inline]
    fn holds(&self, place: usize) -> bool {
        self.bits[place / 64] >> (place % 64) & 1 == 1
    }

    /// Sets the bits from the first to the last.
    fn mark(&mut self, first: usize, last: usize) {
        self.runs.push((first, last));
        for word in first / 64..=last / 64 {
            let from = first.saturating_sub(64 * word);
            let up_to = (last - 64 * word).min(63);
            self.bits[word] |= (u64::MAX << from) & (u64::MAX >> (63 - up_to));
        }
    }

    fn clear(&mut self) {
        for (first, last) in self.runs.drain(..) {
            self.bits[first / 64..=last / 64].fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hundred() -> Coverage {
        let rect = Rect {
            min: [-50.0; 2],
            max: [50.0; 2],
        };
        Coverage::over(&rect)
    }

    fn ball(x: f64, z: f64, radius: f64) -> Bounds {
        Bounds::of_sphere(DVec3::new(x, 0.0, z), radius)
    }

    fn at(x: f64, z: f64) -> DVec3 {
        DVec3::new(x, 3.0, z)
    }

    #[test]
    fn one_bit_tells_that_nothing_is_near() {
        let mut coverage = hundred();
        assert!(!coverage.holds(at(0.0, 0.0)));
        coverage.rebuild(&[ball(0.0, 0.0, 1.0)], 0.5);
        assert!(coverage.holds(at(0.0, 0.0)) && coverage.holds(at(-1.5, 1.5)));
        assert!(!coverage.holds(at(-4.0, 0.0)) && !coverage.holds(at(0.0, 4.0)));
        coverage.rebuild(&[], 0.5);
        assert!(!coverage.holds(at(0.0, 0.0)));
    }

    /// What comes is found once: in the squares that are new.
    #[test]
    fn new_squares_are_those_that_were_not_marked() {
        let mut coverage = hundred();
        let holds = |squares: &[Bounds], point: DVec3| {
            let is_there = |b: &Bounds| b.min.cmple(point).all() && point.cmple(b.max).all();
            squares.iter().any(is_there)
        };
        coverage.rebuild(&[ball(0.0, 0.0, 1.0)], 0.5);
        assert!(holds(&coverage.new_squares(), at(0.5, 0.5)));
        coverage.rebuild(&[ball(3.0, 0.0, 1.0)], 0.5);
        let squares = coverage.new_squares();
        assert!(holds(&squares, at(4.4, 0.5)) && !holds(&squares, at(0.5, 0.5)));
        coverage.rebuild(&[ball(3.0, 0.0, 1.0)], 0.5);
        assert_eq!(coverage.new_squares(), []);
    }

    #[test]
    fn a_run_of_bits_is_marked_whole() {
        let mut marks = Marks {
            bits: vec![0; 4],
            runs: Vec::new(),
        };
        marks.mark(60, 130);
        assert!((60..=130).all(|place| marks.holds(place)));
        assert!(!marks.holds(59) && !marks.holds(131));
        marks.clear();
        assert_eq!(marks.bits, [0; 4]);
    }

    proptest! {
        /// Wherever a box is, larger by the margin, its bit is set, also outside the grid; and a square that is new
        /// holds it.
        #[test]
        fn no_box_is_overlooked(
            places in proptest::collection::vec((-90.0..90.0_f64, -90.0..90.0_f64, 0.0..20.0_f64), 1..40),
            margin in 0.0..3.0_f64,
            towards in (-1.0..=1.0_f64, -1.0..=1.0_f64),
        ) {
            let boxes: Vec<_> = places.iter().map(|(x, z, r)| ball(*x, *z, *r)).collect();
            let mut coverage = hundred();
            coverage.rebuild(&boxes, margin);
            let squares = coverage.new_squares();
            for (x, z, radius) in places {
                let reach = radius + margin;
                let point = at(x + reach * towards.0, z + reach * towards.1);
                prop_assert!(coverage.holds(point), "{point}");
                let body = Bounds::of_sphere(point, 0.1);
                prop_assert!(squares.iter().any(|square| square.touches(&body)), "{point}");
            }
        }
    }
}
