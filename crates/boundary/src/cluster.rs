//! One cluster relation, used everywhere: two bodies of one owner belong together if their bounding spheres are
//! nearer than the link distance, or if a joint ties them; transitively.
//!
//! If the search that sends a cluster away were narrower than what calls bodies over, or differed between aura
//! collision and boundary traversal, clusters would go back and forth for ever.

use crate::view::{Bodies, BodyView};
use domain::BodyId;
use rustc_hash::FxHashMap;

type Cell = [i64; 3];

/// Finds clusters among the bodies given. Each body is found once: a body that has been taken is not found again.
///
/// Built only at ticks in which something may leave; building costs one pass over the region's bodies.
pub struct ClusterFinder<'a> {
    link_m: f64,
    cell_m: f64,
    items: Vec<Item>,
    index: FxHashMap<BodyId, u32>,
    cells: FxHashMap<Cell, Vec<u32>>,
    assembly: &'a dyn Fn(BodyId, &mut Vec<BodyId>),
}

struct Item {
    view: BodyView,
    taken: bool,
}

impl<'a> ClusterFinder<'a> {
    /// Over these bodies; `assembly` adds the bodies tied to one by joints.
    pub fn new(
        views: Vec<BodyView>,
        link_m: f64,
        assembly: &'a dyn Fn(BodyId, &mut Vec<BodyId>),
    ) -> Self {
        let widest = views.iter().map(|view| view.radius).fold(0.0, f64::max);
        let cell_m = (link_m + 2.0 * widest).max(1e-3);
        let mut finder = Self {
            link_m,
            cell_m,
            items: Vec::with_capacity(views.len()),
            index: FxHashMap::default(),
            cells: FxHashMap::default(),
            assembly,
        };
        for view in views {
            let number = finder.items.len() as u32;
            finder.index.insert(view.id, number);
            let cell = finder.cell_of(&view);
            finder.cells.entry(cell).or_default().push(number);
            finder.items.push(Item { view, taken: false });
        }
        finder
    }

    /// Over all bodies of a region.
    pub fn over(
        bodies: &impl Bodies,
        extra: impl Iterator<Item = BodyView>,
        link_m: f64,
        assembly: &'a dyn Fn(BodyId, &mut Vec<BodyId>),
    ) -> Self {
        let mut views = Vec::new();
        bodies.for_each(&mut |view| views.push(view));
        views.extend(extra);
        Self::new(views, link_m, assembly)
    }

    /// The whole cluster of a body, by ascending id; empty if the body is unknown or already taken. AP-12: each
    /// body once, safe on cycles.
    pub fn take(&mut self, start: BodyId) -> Vec<BodyView> {
        let mut queue = Vec::new();
        let mut found = Vec::new();
        let mut tied = Vec::new();
        self.reach(start, &mut queue);
        while let Some(number) = queue.pop() {
            let view = self.items[number as usize].view;
            found.push(view);
            self.reach_around(&view, &mut queue);
            tied.clear();
            (self.assembly)(view.id, &mut tied);
            for other in &tied {
                self.reach(*other, &mut queue);
            }
        }
        found.sort_unstable_by_key(|view| view.id);
        found
    }

    fn reach(&mut self, id: BodyId, queue: &mut Vec<u32>) {
        let Some(&number) = self.index.get(&id) else {
            return;
        };
        let item = &mut self.items[number as usize];
        if !item.taken {
            item.taken = true;
            queue.push(number);
        }
    }

    fn reach_around(&mut self, view: &BodyView, queue: &mut Vec<u32>) {
        let [x, y, z] = self.cell_of(view);
        for cell in (x - 1..=x + 1)
            .flat_map(|x| (y - 1..=y + 1).flat_map(move |y| (z - 1..=z + 1).map(move |z| [x, y, z])))
        {
            let Some(numbers) = self.cells.get_mut(&cell) else {
                continue;
            };
            // Taken bodies leave the cell, so that a dense pile is not compared with itself again and again.
            let items = &mut self.items;
            let link_m = self.link_m;
            numbers.retain(|number| {
                let item = &mut items[*number as usize];
                if item.taken {
                    return false;
                }
                let reach = view.radius + item.view.radius + link_m;
                if view.centre.distance_squared(item.view.centre) > reach * reach {
                    return true;
                }
                item.taken = true;
                queue.push(*number);
                false
            });
        }
    }

    fn cell_of(&self, view: &BodyView) -> Cell {
        view.centre
            .to_array()
            .map(|v| (v / self.cell_m).floor() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ball;

    fn nobody(_: BodyId, _: &mut Vec<BodyId>) {}

    fn ids(views: &[BodyView]) -> Vec<u64> {
        views.iter().map(|view| view.id.0).collect()
    }

    /// AP-12: a ring of bodies, each linked to two others, is found once and whole.
    #[test]
    fn a_ring_is_one_cluster() {
        let ring: Vec<_> = (0..12)
            .map(|i| {
                let angle = f64::from(i) * std::f64::consts::TAU / 12.0;
                ball(i as u64, 4.0 * angle.cos(), 4.0 * angle.sin(), 0.5)
            })
            .collect();
        let mut finder = ClusterFinder::new(ring, 1.5, &nobody);
        assert_eq!(ids(&finder.take(BodyId(5))), (0..12).collect::<Vec<_>>());
        assert!(finder.take(BodyId(6)).is_empty(), "already taken");
    }

    #[test]
    fn bodies_beyond_the_link_are_other_clusters() {
        let line = vec![ball(1, 0.0, 0.0, 0.5), ball(2, 2.9, 0.0, 0.5), ball(3, 6.0, 0.0, 0.5)];
        let mut finder = ClusterFinder::new(line, 2.0, &nobody);
        assert_eq!(ids(&finder.take(BodyId(2))), [1, 2]);
        assert_eq!(ids(&finder.take(BodyId(3))), [3]);
    }

    /// I5: joints tie bodies however far apart they are.
    #[test]
    fn jointed_bodies_are_one_cluster() {
        let far = vec![ball(1, 0.0, 0.0, 0.5), ball(2, 50.0, 0.0, 0.5)];
        let both = |_: BodyId, out: &mut Vec<BodyId>| out.extend([BodyId(1), BodyId(2)]);
        let mut finder = ClusterFinder::new(far, 2.0, &both);
        assert_eq!(ids(&finder.take(BodyId(2))), [1, 2]);
    }
}
