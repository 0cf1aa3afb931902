//! Clusters of size `adaptive`: two bodies of one owner belong together if they are about to meet ([`crate::meeting`]), or
//! if a joint ties them; transitively.
//!
//! The search goes outwards from the bodies it is asked about and asks the world around each: it costs what it finds.
//! Fast bodies reach far, so they are
//! asked for once and compared with everybody; there are few.

use crate::view::{Bodies, BodyView, FastBody};
use domain::{BodyId, Bounds};
use glam::DVec3;
use rustc_hash::FxHashMap;

/// A body whose half is larger is compared with all that is found; for the others the world is asked no farther than
/// this.
pub const NEAR_M: f64 = 0.5;

/// What was found.
pub struct Found {
    /// By ascending id.
    pub members: Vec<BodyView>,
    /// Nothing is missing.
    pub is_whole: bool,
}

/// Finds clusters. Each body is found once: one that has been taken is not found again.
pub struct Joined<'a, B> {
    bodies: &'a B,
    /// Two bodies that are farther apart than both their halves do not belong together.
    half_m: &'a dyn Fn(&BodyView) -> f64,
    /// Do two that are so near belong together? The distance counts as so much less.
    belong: &'a dyn Fn(&BodyView, &BodyView, f64) -> bool,
    /// Bodies that are not in the world yet.
    extra: &'a [BodyView],
    far: Far,
    // By which search.
    taken: FxHashMap<BodyId, u32>,
    searches: u32,
    // The search under way has met what another has left unfinished.
    is_cut: bool,
    hits: Vec<BodyId>,
}

/// So often all fast bodies are compared; who asks more often has them sorted first.
const SELDOM: usize = 16;

/// Fast bodies, and at most how far each reaches.
#[derive(Default)]
struct Far {
    bodies: Vec<(FastBody, f64)>,
    farthest_m: f64,
    /// Their places in the list, by ascending x; made when it pays.
    by_x: Vec<(f64, u32)>,
    asked: usize,
    hits: Vec<u32>,
}

impl Far {
    fn of(bodies: impl Iterator<Item = (FastBody, f64)>) -> Self {
        let bodies: Vec<_> = bodies.collect();
        Self {
            farthest_m: bodies.iter().map(|(_, reach)| *reach).fold(0.0, f64::max),
            bodies,
            ..Self::default()
        }
    }

    /// Adds every one that may reach a ball, in the order of the list.
    fn around(&mut self, centre: DVec3, radius: f64, out: &mut Vec<BodyId>) {
        let reaches = |(fast, reach): &(FastBody, f64)| {
            let farthest = radius + reach;
            centre.distance_squared(fast.centre) <= farthest * farthest
        };
        self.asked += 1;
        if self.asked <= SELDOM {
            let hits = self.bodies.iter().filter(|far| reaches(far));
            out.extend(hits.map(|(fast, _)| fast.id));
            return;
        }
        if self.by_x.len() < self.bodies.len() {
            let places = (0..).zip(&self.bodies);
            self.by_x = places.map(|(i, (fast, _))| (fast.centre.x, i)).collect();
            self.by_x.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        let (from, to) = (
            centre.x - radius - self.farthest_m,
            centre.x + radius + self.farthest_m,
        );
        let first = self.by_x.partition_point(|(x, _)| *x < from);
        let beside = self.by_x[first..].iter().take_while(|(x, _)| *x <= to);
        let hits = beside.filter(|(_, i)| reaches(&self.bodies[*i as usize]));
        self.hits.extend(hits.map(|(_, i)| *i));
        self.hits.sort_unstable();
        let hits = self.hits.drain(..);
        out.extend(hits.map(|i| self.bodies[i as usize].0.id));
    }
}

impl<'a, B: Bodies> Joined<'a, B> {
    /// Over all bodies of the world and `extra`. Every body of the world whose half is above [`NEAR_M`] is among the
    /// `fast`, with a length that its half does not exceed.
    pub fn new(
        bodies: &'a B,
        extra: &'a [BodyView],
        fast: impl Iterator<Item = (FastBody, f64)>,
        half_m: &'a dyn Fn(&BodyView) -> f64,
        belong: &'a dyn Fn(&BodyView, &BodyView, f64) -> bool,
    ) -> Self {
        let widest = bodies.widest_radius();
        let extra_far = extra
            .iter()
            .map(|view| (view.in_short(), half_m(view) + view.radius));
        Self {
            bodies,
            half_m,
            belong,
            extra,
            far: Far::of(
                fast.map(|(fast, half)| (fast, half + widest))
                    .chain(extra_far),
            ),
            taken: FxHashMap::default(),
            searches: 0,
            is_cut: false,
            hits: Vec::new(),
        }
    }

    /// The whole cluster of a body, by ascending id, or about `limit` bodies of it if there are more, or those up to
    /// the first that is not `fit`; empty if the body is unknown or already taken. Every distance is larger by
    /// `slack_m`.
    pub fn take(
        &mut self,
        start: BodyId,
        slack_m: f64,
        limit: usize,
        fit: impl Fn(&BodyView) -> bool,
    ) -> Found {
        let mut found: Vec<(BodyView, f64)> = Vec::new();
        self.searches += 1;
        self.is_cut = false;
        self.reach(start, &mut found);
        let mut next = 0;
        let mut tied = Vec::new();
        while let Some((view, half)) = found.get(next).copied() {
            if found.len() >= limit || !fit(&view) {
                break;
            }
            next += 1;
            self.reach_around(&view, half, slack_m, &mut found);
            self.bodies.assembly(view.id, &mut tied);
            for other in tied.drain(..) {
                self.reach(other, &mut found);
            }
        }
        let is_whole = next == found.len() && !self.is_cut;
        found.sort_unstable_by_key(|(view, _)| view.id);
        Found {
            members: found.into_iter().map(|(view, _)| view).collect(),
            is_whole,
        }
    }

    /// Marks a body as found by this search, or notes that it was found by another: a search that is not cut finds all
    /// that is linked to what it has.
    fn mark(&mut self, id: BodyId) {
        let search = *self.taken.entry(id).or_insert(self.searches);
        self.is_cut |= search != self.searches;
    }

    fn reach(&mut self, id: BodyId, found: &mut Vec<(BodyView, f64)>) {
        if self.taken.contains_key(&id) {
            self.mark(id);
            return;
        }
        if let Some(view) = self.view(id) {
            self.mark(id);
            found.push((view, (self.half_m)(&view)));
        }
    }

    fn reach_around(
        &mut self,
        view: &BodyView,
        half: f64,
        slack_m: f64,
        found: &mut Vec<(BodyView, f64)>,
    ) {
        let mut hits = std::mem::take(&mut self.hits);
        self.far
            .around(view.centre, view.radius + half + slack_m, &mut hits);
        for id in hits.drain(..) {
            self.reach_if_within(id, view, half, slack_m, found);
        }
        let around = Bounds::of_sphere(view.centre, view.radius + half + slack_m + NEAR_M);
        self.bodies.touching(&[around], &mut hits);
        // In the order of ids, so that the same search finds the same.
        hits.sort_unstable();
        hits.dedup();
        for id in hits.drain(..) {
            self.reach_if_within(id, view, half, slack_m, found);
        }
        self.hits = hits;
    }

    fn reach_if_within(
        &mut self,
        id: BodyId,
        view: &BodyView,
        half: f64,
        slack_m: f64,
        found: &mut Vec<(BodyView, f64)>,
    ) {
        if self.taken.get(&id) == Some(&self.searches) {
            return;
        }
        let Some(other) = self.view(id) else {
            return;
        };
        let other_half = (self.half_m)(&other);
        let is_near = view.is_within(&other, half + other_half + slack_m);
        if is_near && (self.belong)(view, &other, slack_m) {
            if !self.taken.contains_key(&id) {
                found.push((other, other_half));
            }
            self.mark(id);
        }
    }

    fn view(&self, id: BodyId) -> Option<BodyView> {
        let extra = || self.extra.iter().find(|view| view.id == id).copied();
        self.bodies.view(id).or_else(extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Balls, ball};

    fn ids(views: &[BodyView]) -> Vec<u64> {
        views.iter().map(|view| view.id.0).collect()
    }

    /// The relation is of the pair: a fast body takes with it what rests far away, two resting ones as far apart stay
    /// apart.
    #[test]
    fn what_may_happen_to_two_depends_on_both() {
        let half = |view: &BodyView| 0.1 + view.surge * 0.1;
        let mut fast = ball(1, 0.0, 0.0, 0.5);
        fast.surge = 20.0;
        let world = Balls::of([
            fast,
            ball(2, 3.0, 0.0, 0.5),
            ball(3, 5.0, 0.0, 0.5),
            ball(4, 6.1, 0.0, 0.5),
        ]);
        let all = |_: &BodyView, _: &BodyView, _| true;
        for start in [1, 2] {
            let mut joined = Joined::new(
                &world,
                &[],
                [(fast.in_short(), 3.0)].into_iter(),
                &half,
                &all,
            );
            assert_eq!(
                ids(&joined
                    .take(BodyId(start), 0.0, usize::MAX, |_| true)
                    .members),
                [1, 2],
                "from {start}"
            );
            assert_eq!(
                ids(&joined.take(BodyId(3), 0.0, usize::MAX, |_| true).members),
                [3, 4]
            );
            assert!(
                joined
                    .take(BodyId(4), 0.0, usize::MAX, |_| true)
                    .members
                    .is_empty(),
                "already taken"
            );
        }
    }

    /// I5: a search that is stopped by one that is not fit says that something is missing, and so does every other
    /// that meets what it has taken.
    #[test]
    fn a_search_that_is_stopped_is_not_whole() {
        let world = Balls::of((1..=6).map(|i| ball(i, 1.05 * i as f64, 0.0, 0.5)));
        let all = |_: &BodyView, _: &BodyView, _| true;
        let mut joined = Joined::new(&world, &[], std::iter::empty(), &|_| 0.1, &all);
        let fit = |view: &BodyView| view.id != BodyId(3);
        let found = joined.take(BodyId(1), 0.0, usize::MAX, fit);
        assert!(!found.is_whole && ids(&found.members) == [1, 2, 3]);
        let found = joined.take(BodyId(6), 0.0, usize::MAX, fit);
        assert!(!found.is_whole && ids(&found.members) == [4, 5, 6]);
    }

    /// Who asks often gets the same answers.
    #[test]
    fn sorted_or_not_the_same_reach() {
        let fast = |i: u64| FastBody {
            id: BodyId(1000 - i),
            centre: DVec3::new((i * 37 % 101) as f64, 0.0, (i * 53 % 97) as f64),
            surge: 9.0,
        };
        let mut far = Far::of((0..200).map(|i| (fast(i), 1.0 + (i % 7) as f64)));
        let ask = |far: &mut Far, at: usize| {
            let mut out = Vec::new();
            far.around(DVec3::new(at as f64 * 5.0, 0.0, 40.0), 3.0, &mut out);
            out
        };
        let first: Vec<_> = (0..SELDOM).map(|at| ask(&mut far, at)).collect();
        assert!(far.by_x.is_empty() && first.iter().any(|found| found.len() > 2));
        let again: Vec<_> = (0..SELDOM).map(|at| ask(&mut far, at)).collect();
        assert!(!far.by_x.is_empty());
        assert_eq!(first, again);
    }

    /// I5: joints tie bodies however far apart they are.
    #[test]
    fn jointed_bodies_are_one_cluster() {
        let mut world = Balls::of([ball(1, 0.0, 0.0, 0.5), ball(2, 50.0, 0.0, 0.5)]);
        world.assemblies.push(vec![BodyId(1), BodyId(2)]);
        let mut joined = Joined::new(&world, &[], std::iter::empty(), &|_| 0.1, &|_, _, _| true);
        assert_eq!(
            ids(&joined.take(BodyId(2), 0.0, usize::MAX, |_| true).members),
            [1, 2]
        );
    }
}
