//! Who is near a border? Asked of the engine's bounding-volume tree, so that the price is in the
//! answers and not in the bodies.
//!
//! A leaf's box is a little larger than the body's (the engine fattens it to update it less often) and
//! never smaller, so the tree finds everyone; each answer is then checked against the true box. Bodies
//! inserted since the last step are not in the tree yet and are checked one by one; boxes of removed
//! bodies are still in it and are skipped.

use crate::contacts::Tag;
use crate::frame::Frame;
use crate::views::BodyView;
use crate::world::{Entry, World};
use domain::{BodyId, Bounds, Rect};
use rapier3d::parry::bounding_volume::Aabb;

impl World {
    /// Calls `f` for every body whose shadow on the ground (its true box) is not wholly inside `inner`,
    /// in no particular order but always the same.
    pub fn for_each_not_within(&self, inner: &Rect, mut f: impl FnMut(BodyId, BodyView)) {
        let outside = |bounds: &Bounds| !inner.contains(&bounds.ground());
        self.search(&outside, &mut |id, entry, bounds| {
            f(id, self.view_within(entry, bounds));
        });
    }

    /// Calls `f` once for every body whose true box touches at least one of the boxes, in no particular
    /// order but always the same.
    pub fn for_each_touching(&self, boxes: &[Bounds], mut f: impl FnMut(BodyId, Bounds)) {
        if boxes.is_empty() {
            return;
        }
        let touches = |bounds: &Bounds| boxes.iter().any(|other| other.touches(bounds));
        self.search(&touches, &mut |id, _, bounds| f(id, bounds));
    }

    /// Finds every body whose box passes. `passes` must hold for a box if it holds for a part of it.
    fn search(&self, passes: &dyn Fn(&Bounds) -> bool, f: &mut dyn FnMut(BodyId, &Entry, Bounds)) {
        let tree = self.physics.query_pipeline().bvh;
        for leaf in tree.leaves(|node| passes(&bounds(&self.frame, &node.aabb()))) {
            let Some((collider, _)) = self.physics.colliders.get_unknown_gen(leaf) else {
                continue;
            };
            if let Tag::Body(id) = Tag::of(collider)
                && !self.fresh.contains(&id)
            {
                self.report(id, passes, f);
            }
        }
        let mut fresh: Vec<BodyId> = self.fresh.iter().copied().collect();
        fresh.sort_unstable();
        for id in fresh {
            self.report(id, passes, f);
        }
    }

    fn report(
        &self,
        id: BodyId,
        passes: &dyn Fn(&Bounds) -> bool,
        f: &mut dyn FnMut(BodyId, &Entry, Bounds),
    ) {
        if let Some(entry) = self.bodies.get(&id) {
            let bounds = self.bounds_of(entry);
            if passes(&bounds) {
                f(id, entry, bounds);
            }
        }
    }
}

fn bounds(frame: &Frame, aabb: &Aabb) -> Bounds {
    Bounds {
        min: frame.world(aabb.mins),
        max: frame.world(aabb.maxs),
    }
}
