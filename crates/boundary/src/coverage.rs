//! Where on the ground something foreign may be, as a grid of bits: of thousands of bodies most are nowhere near, and one bit
//! tells.

use domain::Bounds;
use glam::DVec3;

/// Squares of about this width, metres.
const CELL_M: f64 = 2.0;
/// At most so many of them in a row and in all; where that is not enough they are wider.
const MOST_IN_A_ROW: f64 = 1_024.0;

/// A grid over a rectangle; a bit of it is set where something is.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    min: [f64; 2],
    cells_per_m: [f64; 2],
    /// Columns and rows.
    size: [usize; 2],
    bits: Vec<u64>,
}

impl Coverage {
    /// Marks the shadows of boxes, each larger by `margin_m`.
    pub fn rebuild(&mut self, boxes: &[Bounds], margin_m: f64) {
        let shadow = |bounds: &Bounds| bounds.ground().grown(margin_m);
        self.bits.clear();
        self.size = [0; 2];
        let shadows = boxes.iter().map(shadow);
        let Some(all) = shadows.clone().reduce(|all, one| all.union(&one)) else {
            return;
        };
        self.min = all.min;
        for i in 0..2 {
            let width = (all.max[i] - all.min[i]).max(CELL_M);
            let cells = (width / CELL_M).ceil().min(MOST_IN_A_ROW);
            self.size[i] = cells as usize;
            self.cells_per_m[i] = cells / width;
        }
        self.bits
            .resize((self.size[0] * self.size[1]).div_ceil(64), 0);
        for shadow in shadows {
            let [x0, z0] = self.cell(shadow.min);
            let [x1, z1] = self.cell(shadow.max);
            for z in z0..=z1 {
                let row = z * self.size[0];
                self.mark(row + x0, row + x1);
            }
        }
    }

    /// Sets the bits from the first to the last.
    fn mark(&mut self, first: usize, last: usize) {
        for word in first / 64..=last / 64 {
            let from = first.saturating_sub(64 * word);
            let up_to = (last - 64 * word).min(63);
            self.bits[word] |= (u64::MAX << from) & (u64::MAX >> (63 - up_to));
        }
    }

    /// Of a point in the rectangle.
    fn cell(&self, at: [f64; 2]) -> [usize; 2] {
        [0, 1].map(|i| {
            let cell = ((at[i] - self.min[i]) * self.cells_per_m[i]) as usize;
            cell.min(self.size[i] - 1)
        })
    }

    /// May a marked box be above or below this point? Never no where one is.
    #[inline]
    pub fn holds(&self, point: DVec3) -> bool {
        let x = (point.x - self.min[0]) * self.cells_per_m[0];
        let z = (point.z - self.min[1]) * self.cells_per_m[1];
        // What is not a number is nowhere.
        let is_inside = x >= 0.0 && z >= 0.0 && {
            let [columns, rows] = self.size;
            // The last row and column hold their outer edge.
            x <= columns as f64 && z <= rows as f64 && columns > 0
        };
        if !is_inside {
            return false;
        }
        let (x, z) = (
            (x as usize).min(self.size[0] - 1),
            (z as usize).min(self.size[1] - 1),
        );
        let place = z * self.size[0] + x;
        self.bits[place / 64] >> (place % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ball(x: f64, z: f64, radius: f64) -> Bounds {
        Bounds::of_sphere(DVec3::new(x, 0.0, z), radius)
    }

    #[test]
    fn nothing_covers_nothing() {
        let mut coverage = Coverage::default();
        assert!(!coverage.holds(DVec3::ZERO));
        coverage.rebuild(&[ball(0.0, 0.0, 1.0)], 0.5);
        assert!(coverage.holds(DVec3::ZERO));
        coverage.rebuild(&[], 0.5);
        assert!(!coverage.holds(DVec3::ZERO));
        assert!(!coverage.holds(DVec3::NAN));
    }

    /// One bit tells most bodies that they are nowhere near, also where the grid is coarse.
    #[test]
    fn far_away_is_not_covered() {
        let mut coverage = Coverage::default();
        coverage.rebuild(&[ball(0.0, 0.0, 1.0), ball(9_000.0, 50_000.0, 1.0)], 0.5);
        assert!(!coverage.holds(DVec3::new(4_000.0, 0.0, 20_000.0)));
        assert!(!coverage.holds(DVec3::new(-1.6, 0.0, 0.0)));
    }

    #[test]
    fn a_row_of_bits_is_marked_whole() {
        let mut coverage = Coverage::default();
        coverage.bits = vec![0; 4];
        coverage.mark(60, 130);
        let marked = |place: usize| coverage.bits[place / 64] >> (place % 64) & 1 == 1;
        assert!((60..=130).all(marked) && !marked(59) && !marked(131));
    }

    proptest! {
        /// Wherever a box is, larger by the margin, its bit is set.
        #[test]
        fn no_box_is_overlooked(
            places in proptest::collection::vec((-300.0..300.0_f64, -300.0..300.0_f64, 0.0..20.0_f64), 1..40),
            margin in 0.0..3.0_f64,
            towards in (-1.0..=1.0_f64, -1.0..=1.0_f64),
        ) {
            let boxes: Vec<_> = places.iter().map(|(x, z, r)| ball(*x, *z, *r)).collect();
            let mut coverage = Coverage::default();
            coverage.rebuild(&boxes, margin);
            for (x, z, radius) in places {
                let reach = radius + margin;
                let point = DVec3::new(x + reach * towards.0, 7.0, z + reach * towards.1);
                prop_assert!(coverage.holds(point), "{point}");
            }
        }
    }
}
