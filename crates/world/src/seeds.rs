//! Remembered contacts that wait for their pair to be computed for the first time here.

use domain::{BodyId, ContactEnd, ContactMemory, PointMemory};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Which side of the pair remembered places are relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    First,
    Second,
}

/// Impulses that wait for the first computation of their pair.
#[derive(Default)]
pub(crate) struct Seeds {
    pending: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    by_shapes: FxHashMap<(usize, usize), Vec<ContactMemory>>,
    pairs: FxHashSet<(ContactEnd, ContactEnd)>,
}

impl Seeds {
    /// Does anything wait? One relaxed load: the flag only changes between steps.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.pending.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Remembers a contact for the pair of shapes (in the memory's order).
    pub(crate) fn add(&self, shapes: (usize, usize), memory: ContactMemory) {
        let mut inner = self.lock();
        inner.pairs.insert(sorted(memory.a, memory.b));
        inner.by_shapes.entry(shapes).or_default().push(memory);
        self.pending.store(true, Ordering::Relaxed);
    }

    /// Is there a pending memory of this pair?
    pub(crate) fn remembers(&self, a: ContactEnd, b: ContactEnd) -> bool {
        self.any() && self.lock().pairs.contains(&sorted(a, b))
    }

    /// What waits for pairs of these bodies, and of these bodies with scenery.
    pub(crate) fn among(&self, members: &FxHashSet<BodyId>) -> Vec<ContactMemory> {
        if !self.any() {
            return Vec::new();
        }
        let waits = |end| match end {
            ContactEnd::Body(id) => members.contains(&id),
            ContactEnd::Static(_) => true,
        };
        let inner = self.lock();
        let all = inner.by_shapes.values().flatten();
        all.filter(|memory| waits(memory.a) && waits(memory.b))
            .cloned()
            .collect()
    }

    /// Forgets what waits for pairs with these bodies: they leave, and another shape may get their
    /// shapes' addresses.
    pub(crate) fn forget(&self, bodies: &[BodyId]) {
        if !self.any() {
            return;
        }
        let gone: FxHashSet<ContactEnd> = bodies.iter().map(|id| ContactEnd::Body(*id)).collect();
        let leaves = |a, b| gone.contains(&a) || gone.contains(&b);
        let mut inner = self.lock();
        inner.pairs.retain(|(a, b)| !leaves(*a, *b));
        inner
            .by_shapes
            .retain(|_, memories| !memories.iter().any(|memory| leaves(memory.a, memory.b)));
    }

    /// Forgets what found no use in the step.
    pub(crate) fn clear(&self) {
        if self.pending.swap(false, Ordering::Relaxed) {
            *self.lock() = Inner::default();
        }
    }

    /// Takes the memories of a pair, each turned so that its first side is the pair's first, and the
    /// side its places are relative to.
    pub(crate) fn take(&self, one: usize, two: usize) -> (Vec<ContactMemory>, Side) {
        let mut inner = self.lock();
        if let Some(found) = inner.by_shapes.remove(&(one, two)) {
            return (found, Side::First);
        }
        let found = inner.by_shapes.remove(&(two, one)).unwrap_or_default();
        (found.into_iter().map(swapped).collect(), Side::Second)
    }
}

fn sorted(a: ContactEnd, b: ContactEnd) -> (ContactEnd, ContactEnd) {
    (a.min(b), a.max(b))
}

fn swapped(memory: ContactMemory) -> ContactMemory {
    let turn = |point: PointMemory| PointMemory {
        feature_a: point.feature_b,
        feature_b: point.feature_a,
        // Friction acts on the first side; the normal and twist impulses are along the normal, which
        // turns around with the sides.
        friction_impulse: -point.friction_impulse,
        ..point
    };
    ContactMemory {
        a: memory.b,
        b: memory.a,
        part_a: memory.part_b,
        part_b: memory.part_a,
        points: memory.points.into_iter().map(turn).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    fn memory() -> ContactMemory {
        ContactMemory {
            a: ContactEnd::Body(BodyId(1)),
            b: ContactEnd::Body(BodyId(2)),
            part_a: 3,
            part_b: 4,
            points: vec![PointMemory {
                feature_a: 5,
                feature_b: 6,
                normal_impulse: 7.0,
                friction_impulse: Vec3::X,
                twist_impulse: 8.0,
                place: Vec3::Y,
            }],
        }
    }

    #[test]
    fn a_pair_may_come_in_either_order() {
        let seeds = Seeds::default();
        seeds.add((10, 20), memory());
        let (found, side) = seeds.take(20, 10);
        assert_eq!(side, Side::Second);
        let turned = &found[0];
        assert_eq!((turned.a, turned.part_a), (ContactEnd::Body(BodyId(2)), 4));
        let point = turned.points[0];
        assert_eq!((point.feature_a, point.feature_b), (6, 5));
        assert_eq!((point.normal_impulse, point.twist_impulse), (7.0, 8.0));
        assert_eq!(point.friction_impulse, -Vec3::X);
        assert_eq!(swapped(turned.clone()), memory(), "twice is not at all");
        assert!(seeds.take(10, 20).0.is_empty(), "used once");
    }

    #[test]
    fn what_is_not_used_is_forgotten() {
        let seeds = Seeds::default();
        assert!(!seeds.any());
        seeds.add((10, 20), memory());
        let ends = [1, 2].map(|id| ContactEnd::Body(BodyId(id)));
        assert!(seeds.remembers(ends[1], ends[0]));
        seeds.forget(&[BodyId(2)]);
        assert!(!seeds.remembers(ends[0], ends[1]));
        seeds.add((10, 20), memory());
        seeds.clear();
        assert!(!seeds.any() && seeds.take(10, 20).0.is_empty());
    }
}
