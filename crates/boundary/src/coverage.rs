//! Where on the ground something foreign may be, as a grid of bits: of thousands of bodies most are nowhere near, and one bit
//! tells.

use domain::Rect;
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
    /// Marks the shadows of balls, each larger by `margin_m`.
    pub fn rebuild(&mut self, balls: impl Iterator<Item = (DVec3, f64)> + Clone, margin_m: f64) {
        let shadow = |(centre, radius): (DVec3, f64)| {
            let reach = radius + margin_m;
            Rect {
                min: [centre.x - reach, centre.z - reach],
                max: [centre.x + reach, centre.z + reach],
            }
        };
        self.bits.clear();
        self.size = [0; 2];
        let all = balls.clone().map(shadow).reduce(|all, one| all.union(&one));
        let Some(all) = all else {
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
        for shadow in balls.map(shadow) {
            let [x0, z0] = self.cell(shadow.min);
            let [x1, z1] = self.cell(shadow.max);
            for z in z0..=z1 {
                for place in z * self.size[0] + x0..=z * self.size[0] + x1 {
                    self.bits[place / 64] |= 1 << (place % 64);
                }
            }
        }
    }

    /// Of a point in the rectangle.
    fn cell(&self, at: [f64; 2]) -> [usize; 2] {
        [0, 1].map(|i| {
            let cell = ((at[i] - self.min[i]) * self.cells_per_m[i]) as usize;
            cell.min(self.size[i] - 1)
        })
    }

    /// May a marked ball be above or below this point? Never no where one is.
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

    #[test]
    fn nothing_covers_nothing() {
        let mut coverage = Coverage::default();
        assert!(!coverage.holds(DVec3::ZERO));
        coverage.rebuild(std::iter::once((DVec3::ZERO, 1.0)), 0.5);
        assert!(coverage.holds(DVec3::ZERO));
        coverage.rebuild(std::iter::empty(), 0.5);
        assert!(!coverage.holds(DVec3::ZERO));
        assert!(!coverage.holds(DVec3::NAN));
    }

    /// One bit tells most bodies that they are nowhere near, also where the grid is coarse.
    #[test]
    fn far_away_is_not_covered() {
        let mut coverage = Coverage::default();
        let balls = [
            (DVec3::ZERO, 1.0),
            (DVec3::new(9_000.0, 0.0, 50_000.0), 1.0),
        ];
        coverage.rebuild(balls.into_iter(), 0.5);
        assert!(!coverage.holds(DVec3::new(4_000.0, 0.0, 20_000.0)));
        assert!(!coverage.holds(DVec3::new(-1.6, 0.0, 0.0)));
    }

    proptest! {
        /// Wherever a ball is, larger by the margin, its bit is set.
        #[test]
        fn no_ball_is_overlooked(
            balls in proptest::collection::vec((-300.0..300.0_f64, -300.0..300.0_f64, 0.0..20.0_f64), 1..40),
            margin in 0.0..3.0_f64,
            towards in (-1.0..=1.0_f64, -1.0..=1.0_f64),
        ) {
            let balls: Vec<_> = balls.iter().map(|(x, z, r)| (DVec3::new(*x, 0.0, *z), *r)).collect();
            let mut coverage = Coverage::default();
            coverage.rebuild(balls.iter().copied(), margin);
            for (centre, radius) in &balls {
                let point = *centre + (radius + margin) * DVec3::new(towards.0, 7.0, towards.1);
                prop_assert!(coverage.holds(point), "{point} of {centre} {radius}");
            }
        }
    }
}
