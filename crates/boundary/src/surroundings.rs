//! The bodies among which the clusters of a few given ones must lie. A cluster can be anywhere in the region, but looking at every
//! body would make the boundary cost what the world costs.
//!
//! The ground plane is cut into cells so large that linked bodies lie in the same cell or in adjacent ones. From the cells
//! of the given bodies we go on to all adjacent cells for as long as a cell is not empty.

use crate::view::{Bodies, BodyView};
use domain::{BodyId, Bounds};
use glam::DVec3;
use rustc_hash::FxHashSet;

type Cell = (i64, i64);

/// Every body that can be in a cluster with one of `starts`, and some that are not; each once, in no particular order. `extra` are
/// bodies that are not in the world yet.
pub fn surroundings(
    bodies: &impl Bodies,
    starts: impl Iterator<Item = BodyId>,
    extra: &[BodyView],
    link_m: f64,
) -> Vec<BodyView> {
    let widest_m = extra
        .iter()
        .map(|view| view.radius)
        .fold(bodies.widest_radius(), f64::max);
    let mut search = Search {
        bodies,
        extra,
        widest_m,
        cell_m: (link_m + 2.0 * widest_m).max(1e-3),
        seen: FxHashSet::default(),
        next: Vec::new(),
        found: Vec::new(),
    };
    for start in starts {
        search.visit(start);
    }
    let mut hits = Vec::new();
    let mut tied = Vec::new();
    while let Some(cell) = search.next.pop() {
        search.load(cell, &mut hits, &mut tied);
    }
    search.found
}

struct Search<'a, B> {
    bodies: &'a B,
    extra: &'a [BodyView],
    widest_m: f64,
    cell_m: f64,
    seen: FxHashSet<Cell>,
    next: Vec<Cell>,
    found: Vec<BodyView>,
}

impl<B: Bodies> Search<'_, B> {
    /// The cell of this body is to be looked at.
    fn visit(&mut self, id: BodyId) {
        let view = self.bodies.view(id);
        let view = view.or_else(|| self.extra.iter().find(|view| view.id == id).copied());
        if let Some(view) = view {
            self.add(self.cell_of(&view));
        }
    }

    fn add(&mut self, cell: Cell) {
        if self.seen.insert(cell) {
            self.next.push(cell);
        }
    }

    fn load(&mut self, cell: Cell, hits: &mut Vec<BodyId>, tied: &mut Vec<BodyId>) {
        self.bodies.touching(&[self.reach_of(cell)], hits);
        // A body with several parts may be reported several times.
        hits.sort_unstable();
        hits.dedup();
        let first = self.found.len();
        let views = hits.drain(..).filter_map(|id| self.bodies.view(id));
        let views = views.chain(self.extra.iter().copied());
        let cell_m = self.cell_m;
        self.found
            .extend(views.filter(|view| cell_at(view, cell_m) == cell));
        if self.found.len() == first {
            return;
        }
        for x in cell.0 - 1..=cell.0 + 1 {
            for z in cell.1 - 1..=cell.1 + 1 {
                self.add((x, z));
            }
        }
        for resident in first..self.found.len() {
            self.bodies.assembly(self.found[resident].id, tied);
            for other in tied.drain(..) {
                self.visit(other);
            }
        }
    }

    /// A body whose centre is in the cell touches this box.
    fn reach_of(&self, (x, z): Cell) -> Bounds {
        let edge = |cell: i64| cell as f64 * self.cell_m;
        let slack = self.widest_m;
        Bounds {
            min: DVec3::new(edge(x) - slack, f64::NEG_INFINITY, edge(z) - slack),
            max: DVec3::new(edge(x + 1) + slack, f64::INFINITY, edge(z + 1) + slack),
        }
    }

    fn cell_of(&self, view: &BodyView) -> Cell {
        cell_at(view, self.cell_m)
    }
}

fn cell_at(view: &BodyView, cell_m: f64) -> Cell {
    let cell = |v: f64| (v / cell_m).floor() as i64;
    (cell(view.centre.x), cell(view.centre.z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ClusterFinder;
    use crate::testing::{Balls, ball};
    use proptest::prelude::*;

    fn nobody(_: BodyId, _: &mut Vec<BodyId>) {}

    proptest! {
        /// AP-12: the cluster found in the surroundings is the cluster found among all bodies.
        #[test]
        fn no_member_is_overlooked(
            places in proptest::collection::vec((-40.0..40.0_f64, -40.0..40.0_f64, 0.1..2.0_f64), 1..60),
            link_m in 0.0..6.0_f64,
            ghost in 0_usize..4,
        ) {
            let all: Vec<_> = places.iter().enumerate().map(|(i, (x, z, r))| ball(i as u64, *x, *z, *r)).collect();
            // Some of them are announced and not yet in the world.
            let (extra, owned): (Vec<_>, Vec<_>) = all.iter().partition(|view| view.id.0 as usize % 5 == ghost);
            let world = Balls::of(owned);
            for start in all.iter().map(|view| view.id) {
                let near = surroundings(&world, std::iter::once(start), &extra, link_m);
                let cluster = ClusterFinder::new(near, link_m, &nobody).take(start);
                prop_assert_eq!(cluster, ClusterFinder::new(all.clone(), link_m, &nobody).take(start));
            }
        }
    }

    /// I5: what a joint ties is found however far away it is, and what is around it too.
    #[test]
    fn jointed_bodies_are_found() {
        let mut world = Balls::of([
            ball(1, 0.0, 0.0, 0.5),
            ball(2, 90.0, 0.0, 0.5),
            ball(3, 92.0, 0.0, 0.5),
            ball(4, 50.0, 0.0, 0.5),
        ]);
        world.assemblies = vec![vec![BodyId(1), BodyId(2)]];
        let near = surroundings(&world, [BodyId(1)].into_iter(), &[], 1.5);
        let mut ids: Vec<_> = near.iter().map(|view| view.id.0).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3], "and b4 was not looked at");
    }
}
