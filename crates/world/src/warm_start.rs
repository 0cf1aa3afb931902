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

use crate::merged::{self, MERGED};
use crate::seeds::{Seeds, Side};
use domain::{ContactEnd, ContactMemory, PointMemory};
use glam::Vec3;
use rapier3d::math::{Pose, Real, Vector};
use rapier3d::parry::query::details::{NormalConstraints, ShapeCastOptions};
use rapier3d::parry::query::{
    ClosestPoints, Contact, ContactManifoldsWorkspace, DefaultQueryDispatcher,
    NonlinearRigidMotion, PersistentQueryDispatcher, QueryDispatcher, ShapeCastHit, ShapeDistance,
    ShapeIntersection, TrackedContact, Unsupported,
};
use rapier3d::parry::shape::Shape;
use rapier3d::prelude::{ContactData, ContactManifold, ContactManifoldData, ContactPair};
use std::sync::Arc;

/// How far a point may have wandered and still be taken for the same, metres. The engine itself lets a
/// pair drift this far before it computes the contacts anew.
pub(crate) const SAME_POINT_M: f32 = 0.05;

/// The address by which a pair's shape is known.
pub(crate) fn address(shape: &dyn Shape) -> usize {
    std::ptr::from_ref(shape).cast::<()>() as usize
}

/// What the solver remembers of a touching pair.
pub(crate) fn memories(pair: &ContactPair, a: ContactEnd, b: ContactEnd) -> Vec<ContactMemory> {
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
                    place: place_of(manifold, point, Side::First),
                })
                .collect(),
        })
        .collect()
}

/// The default dispatcher, plus memory.
pub(crate) struct SeedingDispatcher {
    seeds: Arc<Seeds>,
}

impl SeedingDispatcher {
    pub(crate) fn new(seeds: Arc<Seeds>) -> Self {
        Self { seeds }
    }

    /// Fills in what is remembered of the pair, if anything.
    #[cold]
    fn seed(
        &self,
        shapes: (&dyn Shape, &dyn Shape),
        prediction: Real,
        manifolds: &mut Vec<ContactManifold>,
        workspace: &mut Option<ContactManifoldsWorkspace>,
    ) {
        let (memories, side) = self.seeds.take(address(shapes.0), address(shapes.1));
        if memories.is_empty() {
            return;
        }
        if manifolds.len() > 1 {
            let Some(whole) = merged::merge(manifolds, prediction) else {
                return;
            };
            *manifolds = vec![whole];
            *workspace = None;
        }
        if let [manifold] = manifolds.as_mut_slice() {
            fill(manifold, memories, side);
        }
    }
}

/// Gives each point its memory: first by the feature ids (they name features of a part, so the parts
/// must agree), then, for corners that the engine named differently this time, the nearest that is left.
fn fill(manifold: &mut ContactManifold, memories: Vec<ContactMemory>, side: Side) {
    let parts = (manifold.subshape1, manifold.subshape2);
    let mut left = Vec::new();
    for memory in memories {
        let named = parts.0 != MERGED && parts == (memory.part_a, memory.part_b);
        for point in memory.points {
            let twin = manifold.points.iter_mut().find(|twin| {
                named
                    && twin.data.impulse == 0.0
                    && (twin.fid1.0, twin.fid2.0) == (point.feature_a, point.feature_b)
            });
            match twin {
                Some(twin) => twin.data = data(&point),
                None => left.push(point),
            }
        }
    }
    for i in 0..manifold.points.len() {
        let point = &manifold.points[i];
        if point.data.impulse == 0.0
            && let Some(nearest) = nearest(&left, place_of(manifold, point, side))
        {
            manifold.points[i].data = data(&left.swap_remove(nearest));
        }
    }
}

fn nearest(memories: &[PointMemory], place: Vec3) -> Option<usize> {
    let far = |memory: &PointMemory| memory.place.distance_squared(place);
    (0..memories.len())
        .filter(|i| far(&memories[*i]) < SAME_POINT_M * SAME_POINT_M)
        .min_by(|i, j| far(&memories[*i]).total_cmp(&far(&memories[*j])))
}

/// A contact point in the frame of one side's collider.
pub(crate) fn place_of(
    manifold: &ContactManifold,
    point: &TrackedContact<ContactData>,
    side: Side,
) -> Vec3 {
    let (part, place) = match side {
        Side::First => (manifold.subshape_pos1(), point.local_p1),
        Side::Second => (manifold.subshape_pos2(), point.local_p2),
    };
    part.map_or(place, |part| *part * place)
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
        if merged::is_merged(manifolds) {
            return merged::update(pos12, (g1, g2), prediction, manifolds, workspace);
        }
        DefaultQueryDispatcher
            .contact_manifolds(pos12, g1, g2, prediction, manifolds, workspace)?;
        if self.seeds.any() {
            self.seed((g1, g2), prediction, manifolds, workspace);
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
