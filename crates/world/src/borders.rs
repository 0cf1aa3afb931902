//! Who is near a border? Asked of the engine's bounding-volume tree, so that the price is in the
//! answers and not in the bodies.
//!
//! A leaf's box is a little larger than the body's (the engine fattens it to update it less often) and
//! never smaller, so the tree finds everyone; each answer is then checked against the true box. Bodies
//! inserted since the last step are not in the tree yet and are checked one by one; boxes of removed
//! bodies are still in it and are skipped.

use crate::frame::ROUNDING_M;
use crate::views::BodyView;
use crate::world::{Entry, World};
use domain::{BodyId, Bounds, Rect};
use glam::DVec3;
use rapier3d::parry::bounding_volume::{Aabb, BoundingVolume};
use smallvec::SmallVec;

impl World {
    /// Calls `f` for every body whose shadow on the ground (its true box) is not wholly inside `inner`,
    /// in no particular order but always the same.
    pub fn for_each_not_within(&self, inner: &Rect, mut f: impl FnMut(BodyId, BodyView)) {
        let edges = self.frame.local_edges(inner);
        let may_be_outside =
            |node: &Aabb| !edges.hold(node.mins.x, node.maxs.x, node.mins.z, node.maxs.z);
        let outside = |bounds: &Bounds| !inner.contains(&bounds.ground());
        self.search(&may_be_outside, &outside, &mut |id, entry, bounds| {
            f(id, self.view_within(entry, bounds));
        });
    }

    /// Calls `f` once for every body whose true box touches at least one of the boxes, in no particular
    /// order but always the same.
    pub fn for_each_touching(&self, boxes: &[Bounds], mut f: impl FnMut(BodyId, Bounds)) {
        if boxes.is_empty() {
            return;
        }
        let local = |bounds: &Bounds| {
            let bounds = bounds.grown(ROUNDING_M);
            let local = |corner: DVec3| (corner - self.frame.origin).as_vec3();
            Aabb::new(local(bounds.min), local(bounds.max))
        };
        let locals: SmallVec<[Aabb; 8]> = boxes.iter().map(local).collect();
        let may_touch = |node: &Aabb| locals.iter().any(|other| other.intersects(node));
        let touches = |bounds: &Bounds| boxes.iter().any(|other| other.touches(bounds));
        self.search(&may_touch, &touches, &mut |id, _, bounds| f(id, bounds));
    }

    /// Finds every body whose box passes. `may_pass` must hold for a box of the tree, in the engine's own coordinates, if any
    /// box in it passes: that test is made most often.
    fn search(
        &self,
        may_pass: &impl Fn(&Aabb) -> bool,
        passes: &impl Fn(&Bounds) -> bool,
        f: &mut impl FnMut(BodyId, &Entry, Bounds),
    ) {
        let tree = self.physics.query_pipeline().bvh;
        for leaf in tree.leaves(|node| may_pass(&node.aabb())) {
            let Some((collider, _)) = self.physics.colliders.get_unknown_gen(leaf) else {
                continue;
            };
            // Scenery has no body.
            let body = collider.parent().and_then(|it| self.bodies.of_handle(it));
            if let Some((id, entry)) = body
                && !self.fresh.contains(id)
            {
                self.report(*id, entry, passes, f);
            }
        }
        if self.fresh.is_empty() {
            return;
        }
        let mut fresh: Vec<BodyId> = self.fresh.iter().copied().collect();
        fresh.sort_unstable();
        for id in fresh {
            if let Some(entry) = self.bodies.get(&id) {
                self.report(id, entry, passes, f);
            }
        }
    }

    fn report(
        &self,
        id: BodyId,
        entry: &Entry,
        passes: &impl Fn(&Bounds) -> bool,
        f: &mut impl FnMut(BodyId, &Entry, Bounds),
    ) {
        let bounds = self.bounds_of(entry);
        if passes(&bounds) {
            f(id, entry, bounds);
        }
    }
}
