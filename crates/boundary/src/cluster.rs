//! One cluster relation, used everywhere: two bodies of one owner belong together if their bounding spheres are
//! nearer than the link distance, or if a joint ties them; transitively.
//!
//! If the search that sends a cluster away were narrower than what calls bodies over, or differed between aura
//! collision and boundary traversal, clusters would go back and forth for ever.

use crate::view::BodyView;
use domain::BodyId;

/// Finds clusters among the bodies given. Each body is found once: a body that has been taken is not found again.
///
/// Bodies lie in square cells of the ground plane, in one array sorted by cell: three short runs of it hold everything
/// that can be linked to a body. Hash maps of cells took most of the boundary's time.
pub struct ClusterFinder<'a> {
    cell_m: f64,
    // Ascending by id; a body's number is its place here.
    views: Vec<BodyView>,
    // Each body's half of the link distance, beyond its bounding sphere.
    halves: Vec<f64>,
    taken: Vec<bool>,
    // Ascending by place.
    cells: Vec<Cell>,
    // The numbers of the bodies, cell by cell.
    residents: Vec<u32>,
    assembly: &'a dyn Fn(BodyId, &mut Vec<BodyId>),
    tied: Vec<BodyId>,
}

/// Those of its bodies that are not known to be taken are `residents[start..start + len]`.
struct Cell {
    at: (i64, i64),
    start: u32,
    len: u32,
}

impl<'a> ClusterFinder<'a> {
    /// Over these bodies; `assembly` adds the bodies tied to one by joints.
    pub fn new(
        views: Vec<BodyView>,
        link_m: f64,
        assembly: &'a dyn Fn(BodyId, &mut Vec<BodyId>),
    ) -> Self {
        Self::with_halves(views, |_| link_m / 2.0, assembly)
    }

    /// As [`Self::new`], but each body has its own half of the distance.
    pub fn with_halves(
        mut views: Vec<BodyView>,
        half_m: impl Fn(&BodyView) -> f64,
        assembly: &'a dyn Fn(BodyId, &mut Vec<BodyId>),
    ) -> Self {
        views.sort_unstable_by_key(|view| view.id);
        let halves: Vec<f64> = views.iter().map(half_m).collect();
        let widest = views.iter().map(|view| view.radius).fold(0.0, f64::max);
        let link_m = 2.0 * halves.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let cell_m = (link_m + 2.0 * widest).max(1e-3);
        let mut places: Vec<_> = (0..)
            .zip(&views)
            .map(|(i, view)| (cell_of(view, cell_m), i))
            .collect();
        places.sort_unstable();
        let cells = places
            .chunk_by(|a, b| a.0 == b.0)
            .scan(0, |start, residents| {
                let len = residents.len() as u32;
                let cell = Cell {
                    at: residents[0].0,
                    start: *start,
                    len,
                };
                *start += len;
                Some(cell)
            });
        Self {
            cell_m,
            halves,
            cells: cells.collect(),
            residents: places.iter().map(|(_, number)| *number).collect(),
            taken: vec![false; views.len()],
            views,
            assembly,
            tied: Vec::new(),
        }
    }

    /// The whole cluster of a body, by ascending id; empty if the body is unknown or already taken. AP-12: each
    /// body once, safe on cycles.
    pub fn take(&mut self, start: BodyId) -> Vec<BodyView> {
        let mut found = Vec::new();
        self.reach(start, &mut found);
        self.close(&mut found);
        found.sort_unstable();
        found
            .iter()
            .map(|number| self.views[*number as usize])
            .collect()
    }

    /// Takes every cluster that is left. A body is named by its number: its place in the order of ids.
    pub fn take_all(&mut self, mut visit: impl FnMut(&[u32])) {
        let mut found = Vec::new();
        for number in 0..self.views.len() as u32 {
            found.clear();
            self.reach_number(number, &mut found);
            self.close(&mut found);
            if !found.is_empty() {
                visit(&found);
            }
        }
    }

    /// Adds everything linked to those found, directly or not.
    fn close(&mut self, found: &mut Vec<u32>) {
        let mut next = 0;
        while let Some(&number) = found.get(next) {
            next += 1;
            let view = self.views[number as usize];
            self.reach_around(&view, self.halves[number as usize], found);
            let mut tied = std::mem::take(&mut self.tied);
            (self.assembly)(view.id, &mut tied);
            for other in tied.drain(..) {
                self.reach(other, found);
            }
            self.tied = tied;
        }
    }

    fn reach(&mut self, id: BodyId, found: &mut Vec<u32>) {
        if let Ok(number) = self.views.binary_search_by_key(&id, |view| view.id) {
            self.reach_number(number as u32, found);
        }
    }

    fn reach_number(&mut self, number: u32, found: &mut Vec<u32>) {
        if !std::mem::replace(&mut self.taken[number as usize], true) {
            found.push(number);
        }
    }

    fn reach_around(&mut self, view: &BodyView, half_m: f64, found: &mut Vec<u32>) {
        let (x, z) = cell_of(view, self.cell_m);
        for x in x - 1..=x + 1 {
            let first = self.cells.partition_point(|cell| cell.at < (x, z - 1));
            let row = self.cells[first..]
                .iter_mut()
                .take_while(|cell| cell.at <= (x, z + 1));
            for cell in row {
                let mut at = cell.start;
                while at < cell.start + cell.len {
                    let number = self.residents[at as usize];
                    let other = &self.views[number as usize];
                    let reach = view.radius + other.radius + half_m + self.halves[number as usize];
                    let taken = &mut self.taken[number as usize];
                    if !*taken {
                        if reach < 0.0 || view.centre.distance_squared(other.centre) > reach * reach
                        {
                            at += 1;
                            continue;
                        }
                        *taken = true;
                        found.push(number);
                    }
                    // Taken bodies leave the cell, so that a dense pile is not compared with itself again and again.
                    cell.len -= 1;
                    self.residents
                        .swap(at as usize, (cell.start + cell.len) as usize);
                }
            }
        }
    }
}

fn cell_of(view: &BodyView, cell_m: f64) -> (i64, i64) {
    let cell = |v: f64| (v / cell_m).floor() as i64;
    (cell(view.centre.x), cell(view.centre.z))
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
        let line = vec![
            ball(1, 0.0, 0.0, 0.5),
            ball(2, 2.9, 0.0, 0.5),
            ball(3, 6.0, 0.0, 0.5),
        ];
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

    /// Taking all gives the same clusters as taking each.
    #[test]
    fn all_clusters_are_those_of_each_body() {
        let dots: Vec<_> = (0..60_u32)
            .map(|i| {
                ball(
                    100 - u64::from(i),
                    f64::from(i * i % 47),
                    f64::from(i * 7 % 53),
                    0.4,
                )
            })
            .collect();
        let mut each = ClusterFinder::new(dots.clone(), 3.0, &nobody);
        let mut one_by_one: Vec<_> = (41..=100).map(|id| ids(&each.take(BodyId(id)))).collect();
        one_by_one.retain(|cluster| !cluster.is_empty());
        let mut at_once = Vec::new();
        ClusterFinder::new(dots, 3.0, &nobody).take_all(|cluster| {
            let mut cluster: Vec<u64> = cluster
                .iter()
                .map(|number| u64::from(*number) + 41)
                .collect();
            cluster.sort_unstable();
            at_once.push(cluster);
        });
        assert!(one_by_one.len() > 5 && one_by_one.iter().any(|cluster| cluster.len() > 3));
        assert_eq!(at_once, one_by_one);
    }
}
