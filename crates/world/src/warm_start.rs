//! The solver's memory of contacts, handed over.
//!
//! A solver that starts from zero needs several steps to find the forces inside a stack; meanwhile the
//! stack sags. The engine therefore starts each step from the last one's impulses, which it keeps in its
//! contact points, and gives nobody write access to them. The one place where foreign code may touch a
//! contact point is the query dispatcher, which computes the manifolds of a pair. Ours lets the default
//! dispatcher compute and then, for pairs that have just been handed over, fills in the remembered
//! impulses, point by point by the engine's feature ids.
//!
//! A dispatcher only sees two shapes, so a pair is known by their addresses; every collider has a shape
//! of its own. The engine may order a pair differently here than there: then sides and signs are swapped.
//! While nothing is pending, the price is one relaxed atomic load per computed manifold.

use domain::{ContactEnd, ContactMemory, PointMemory};
use rapier3d::math::{Pose, Real, Vector};
use rapier3d::parry::query::details::{NormalConstraints, ShapeCastOptions};
use rapier3d::parry::query::{
    ClosestPoints, Contact, ContactManifoldsWorkspace, DefaultQueryDispatcher, NonlinearRigidMotion,
    PersistentQueryDispatcher, QueryDispatcher, ShapeCastHit, ShapeDistance, ShapeIntersection,
    Unsupported,
};
use rapier3d::parry::shape::Shape;
use rapier3d::prelude::{ContactData, ContactManifold, ContactManifoldData, ContactPair};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

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
        self.pending.load(Ordering::Relaxed) && self.lock().pairs.contains(&sorted(a, b))
    }

    /// Forgets what found no use in the step.
    pub(crate) fn clear(&self) {
        if self.pending.swap(false, Ordering::Relaxed) {
            *self.lock() = Inner::default();
        }
    }

    /// Takes the memories of a pair, each turned so that its first side is the pair's first.
    fn take(&self, one: usize, two: usize) -> Vec<ContactMemory> {
        let mut inner = self.lock();
        if let Some(found) = inner.by_shapes.remove(&(one, two)) {
            return found;
        }
        let found = inner.by_shapes.remove(&(two, one)).unwrap_or_default();
        found.into_iter().map(swapped).collect()
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

/// The address by which a pair's shape is known.
pub(crate) fn address(shape: &dyn Shape) -> usize {
    std::ptr::from_ref(shape).cast::<()>() as usize
}

/// What the solver remembers of a touching pair.
pub(crate) fn memories(pair: &ContactPair, a: ContactEnd, b: ContactEnd) -> Vec<ContactMemory> {
    let merged = pair.rigid().is_some_and(|r| !r.solver_clusters.is_empty());
    pair.solver_manifolds()
        .iter()
        .map(|manifold| ContactMemory {
            a,
            b,
            part_a: manifold.subshape1,
            part_b: manifold.subshape2,
            points: manifold
                .points
                .iter()
                .filter(|point| point.data.impulse != 0.0 || point.data.warmstart_impulse != 0.0)
                .map(|point| PointMemory {
                    feature_a: point.fid1.0,
                    feature_b: point.fid2.0,
                    normal_impulse: point.data.warmstart_impulse,
                    friction_impulse: point.data.warmstart_tangent_world,
                    twist_impulse: point.data.warmstart_twist_impulse,
                    place: merged.then_some(point.local_p1),
                })
                .collect(),
        })
        .collect()
}

/// The default dispatcher, plus memory.
pub(crate) struct SeedingDispatcher {
    seeds: std::sync::Arc<Seeds>,
}

impl SeedingDispatcher {
    pub(crate) fn new(seeds: std::sync::Arc<Seeds>) -> Self {
        Self { seeds }
    }

    #[cold]
    fn seed(&self, one: &dyn Shape, two: &dyn Shape, manifolds: &mut [ContactManifold]) {
        for memory in self.seeds.take(address(one), address(two)) {
            let manifold = manifolds
                .iter_mut()
                .find(|m| m.subshape1 == memory.part_a && m.subshape2 == memory.part_b);
            if let Some(manifold) = manifold {
                fill(manifold, &memory.points);
            }
        }
    }
}

fn fill(manifold: &mut ContactManifold, memories: &[PointMemory]) {
    for point in &mut manifold.points {
        let memory = memories
            .iter()
            .find(|memory| memory.feature_a == point.fid1.0 && memory.feature_b == point.fid2.0);
        if let Some(memory) = memory {
            point.data = data(memory);
        }
    }
}

fn data(memory: &PointMemory) -> ContactData {
    ContactData {
        // Zero would say "new contact" and let it bounce once more.
        impulse: memory.normal_impulse.max(f32::MIN_POSITIVE),
        warmstart_impulse: memory.normal_impulse,
        warmstart_tangent_world: memory.friction_impulse,
        warmstart_twist_impulse: memory.twist_impulse,
        ..ContactData::default()
    }
}

impl PersistentQueryDispatcher<ContactManifoldData, ContactData> for SeedingDispatcher {
    fn contact_manifolds(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
        manifolds: &mut Vec<ContactManifold>,
        workspace: &mut Option<ContactManifoldsWorkspace>,
    ) -> Result<(), Unsupported> {
        DefaultQueryDispatcher.contact_manifolds(pos12, g1, g2, prediction, manifolds, workspace)?;
        if self.seeds.pending.load(Ordering::Relaxed) {
            self.seed(g1, g2, manifolds);
        }
        Ok(())
    }

    fn contact_manifold_convex_convex(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        normal_constraints1: Option<&dyn NormalConstraints>,
        normal_constraints2: Option<&dyn NormalConstraints>,
        prediction: Real,
        manifold: &mut ContactManifold,
    ) -> Result<(), Unsupported> {
        DefaultQueryDispatcher.contact_manifold_convex_convex(
            pos12,
            g1,
            g2,
            normal_constraints1,
            normal_constraints2,
            prediction,
            manifold,
        )
    }
}

impl QueryDispatcher for SeedingDispatcher {
    fn intersection_test(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
    ) -> Result<ShapeIntersection, Unsupported> {
        DefaultQueryDispatcher.intersection_test(pos12, g1, g2)
    }

    fn distance(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
    ) -> Result<ShapeDistance, Unsupported> {
        DefaultQueryDispatcher.distance(pos12, g1, g2)
    }

    fn contact(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
    ) -> Result<Option<Contact>, Unsupported> {
        DefaultQueryDispatcher.contact(pos12, g1, g2, prediction)
    }

    fn closest_points(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        max_dist: Real,
    ) -> Result<ClosestPoints, Unsupported> {
        DefaultQueryDispatcher.closest_points(pos12, g1, g2, max_dist)
    }

    fn cast_shapes(
        &self,
        pos12: &Pose,
        local_vel12: Vector,
        g1: &dyn Shape,
        g2: &dyn Shape,
        options: ShapeCastOptions,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        DefaultQueryDispatcher.cast_shapes(pos12, local_vel12, g1, g2, options)
    }

    fn cast_shapes_nonlinear(
        &self,
        motion1: &NonlinearRigidMotion,
        g1: &dyn Shape,
        motion2: &NonlinearRigidMotion,
        g2: &dyn Shape,
        start_time: Real,
        end_time: Real,
        stop_at_penetration: bool,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        DefaultQueryDispatcher.cast_shapes_nonlinear(
            motion1,
            g1,
            motion2,
            g2,
            start_time,
            end_time,
            stop_at_penetration,
        )
    }
}
