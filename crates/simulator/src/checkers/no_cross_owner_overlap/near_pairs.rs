//! Which balls of different groups are near each other? Nearly always: none, and that must cost little.
//!
//! Space is cut into cells of about two bodies' width. A first pass writes each ball's group into its cells; a cell
//! with two groups is *mixed*. Only balls in mixed cells go into lists and are compared.

use glam::DVec3;
use rustc_hash::FxHashMap;

/// A body's bounding sphere and whom it was stepped with.
#[derive(Clone, Copy)]
pub(super) struct Ball {
    pub centre: DVec3,
    pub radius: f64,
    pub group: u32,
}

/// Keeps its tables between calls: they are filled sixty times per second.
#[derive(Default)]
pub(super) struct NearPairs {
    balls: Vec<Ball>,
    cells: FxHashMap<Cell, u32>,
    candidates: Vec<(Cell, u32)>,
    large: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

type Cell = [i32; 3];

const MIXED: u32 = u32::MAX;
/// A ball over more cells than this along one axis is compared with all others instead.
const LARGE_CELLS: f64 = 4.0;

impl NearPairs {
    /// All pairs of touching balls of different groups, as places in the list, each once, in ascending order.
    pub fn find(&mut self, balls: impl Iterator<Item = Ball>) -> &[(u32, u32)] {
        self.balls.clear();
        self.balls.extend(balls);
        self.pairs.clear();
        let mean = self.balls.iter().map(|b| b.radius).sum::<f64>() / self.balls.len() as f64;
        // At least a decimetre, and never NaN: the divisor of every coordinate.
        let cell_m = (mean * 4.0).max(0.1);
        self.mark(cell_m);
        self.list(cell_m);
        self.compare_cells();
        self.compare_large();
        self.pairs.sort_unstable();
        self.pairs.dedup();
        &self.pairs
    }

    fn mark(&mut self, cell_m: f64) {
        self.cells.clear();
        self.large.clear();
        for (i, ball) in self.balls.iter().enumerate() {
            if ball.radius * 2.0 > LARGE_CELLS * cell_m {
                self.large.push(i as u32);
                continue;
            }
            for cell in cells(ball, cell_m) {
                let group = self.cells.entry(cell).or_insert(ball.group);
                if *group != ball.group {
                    *group = MIXED;
                }
            }
        }
    }

    fn list(&mut self, cell_m: f64) {
        self.candidates.clear();
        if !self.cells.values().any(|group| *group == MIXED) {
            return;
        }
        for (i, ball) in self.balls.iter().enumerate() {
            if ball.radius * 2.0 > LARGE_CELLS * cell_m {
                continue;
            }
            let mixed = |cell: &Cell| self.cells.get(cell) == Some(&MIXED);
            let found = cells(ball, cell_m).filter(mixed);
            self.candidates.extend(found.map(|cell| (cell, i as u32)));
        }
        self.candidates.sort_unstable();
    }

    fn compare_cells(&mut self) {
        for run in self.candidates.chunk_by(|a, b| a.0 == b.0) {
            for (at, (_, i)) in run.iter().enumerate() {
                for (_, j) in &run[at + 1..] {
                    if touch(&self.balls, *i, *j) {
                        self.pairs.push((*i, *j));
                    }
                }
            }
        }
    }

    fn compare_large(&mut self) {
        for i in &self.large {
            for j in 0..self.balls.len() as u32 {
                if touch(&self.balls, *i, j) {
                    self.pairs.push((*i.min(&j), *i.max(&j)));
                }
            }
        }
    }
}

fn touch(balls: &[Ball], i: u32, j: u32) -> bool {
    let (a, b) = (&balls[i as usize], &balls[j as usize]);
    let reach = a.radius + b.radius;
    a.group != b.group && a.centre.distance_squared(b.centre) <= reach * reach
}

/// The cells a ball's bounding box lies in.
fn cells(ball: &Ball, cell_m: f64) -> impl Iterator<Item = Cell> + use<> {
    let low = ((ball.centre - ball.radius) / cell_m).floor().as_ivec3();
    let high = ((ball.centre + ball.radius) / cell_m).floor().as_ivec3();
    (low.x..=high.x).flat_map(move |x| {
        (low.y..=high.y).flat_map(move |y| (low.z..=high.z).map(move |z| [x, y, z]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand::SeedableRng;

    #[test]
    fn finds_what_comparing_all_with_all_finds() {
        let mut rng = rand_pcg::Pcg64::seed_from_u64(7);
        let mut near = NearPairs::default();
        let mut found = 0;
        for round in 0..50 {
            let balls: Vec<Ball> = (0..200)
                .map(|i| Ball {
                    centre: DVec3::from_array(std::array::from_fn(|_| {
                        rng.random_range(-15.0..15.0)
                    })),
                    // Now and then a giant, so that the other path is tested too.
                    radius: if i == round {
                        9.0
                    } else {
                        rng.random_range(0.1..1.0)
                    },
                    group: rng.random_range(0..3),
                })
                .collect();
            let mut all = Vec::new();
            for i in 0..balls.len() as u32 {
                all.extend((i + 1..balls.len() as u32).map(|j| (i, j)));
            }
            all.retain(|(i, j)| touch(&balls, *i, *j));
            found += all.len();
            assert_eq!(near.find(balls.into_iter()), all);
        }
        assert!(found > 500, "the test must have something to find: {found}");
    }

    #[test]
    fn nothing_and_nonsense_are_fine() {
        let mut near = NearPairs::default();
        assert!(near.find(std::iter::empty()).is_empty());
        let nonsense = [f64::NAN, f64::INFINITY, 1e300].map(|v| Ball {
            centre: DVec3::splat(v),
            radius: 0.0,
            group: v as u32,
        });
        assert!(near.find(nonsense.into_iter()).is_empty());
    }
}
