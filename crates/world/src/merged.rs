//! Pairs that touch through several parts: a box across the edge between two triangles, a table on its
//! four legs.
//!
//! The engine computes one manifold per part, merges those of one plane behind the dispatcher's back and
//! keeps the impulses in the merged manifold, where no memory can be put from outside. So for a pair that
//! comes in by handover we merge here, with the engine's own rule, and hand it one manifold only: with
//! one manifold it merges nothing and the impulses stay in ours. Such a pair remains merged by us until
//! it is handed on, parts, or touches along several planes at once (then it starts without memory).

use crate::seeds::Side;
use crate::warm_start::{SAME_POINT_M, place_of};
use glam::Vec3;
use rapier3d::math::{Pose, Real};
use rapier3d::parry::query::{
    ContactManifoldsWorkspace, DefaultQueryDispatcher, PersistentQueryDispatcher, TrackedContact,
    Unsupported,
};
use rapier3d::parry::shape::Shape;
use rapier3d::prelude::{ContactData, ContactManifold};

/// The part number by which a manifold of ours is known.
pub(crate) const MERGED: u32 = u32::MAX;
/// Parts whose normals agree this well (about five degrees) touch along one plane.
const ONE_PLANE_COS: f32 = 0.996;
/// Points nearer to each other than this share of the prediction distance are one.
const ONE_POINT_SHARE: f32 = 0.25;
/// The engine numbers a manifold's points in a byte.
const MAX_POINTS: usize = 255;

/// Is this pair merged by us?
pub(crate) fn is_merged(manifolds: &[ContactManifold]) -> bool {
    matches!(manifolds, [only] if only.subshape1 == MERGED)
}

/// Merges manifolds of one plane into one; `None` if there are several planes.
pub(crate) fn merge(manifolds: &[ContactManifold], prediction: Real) -> Option<ContactManifold> {
    let same = (prediction * ONE_POINT_SHARE).powi(2);
    let mut whole = ContactManifold::new();
    whole.subshape1 = MERGED;
    whole.subshape2 = MERGED;
    for part in manifolds.iter().filter(|part| !part.points.is_empty()) {
        let (one, two) = normals(part);
        if whole.points.is_empty() {
            (whole.local_n1, whole.local_n2) = (one, two);
        } else if whole.local_n1.dot(one) < ONE_PLANE_COS {
            return None;
        }
        for point in &part.points {
            add(&mut whole.points, in_collider(part, point), same);
        }
    }
    Some(whole)
}

fn normals(part: &ContactManifold) -> (Vec3, Vec3) {
    let turn = |pose: Option<&Pose>, normal| pose.map_or(normal, |pose| pose.rotation * normal);
    (
        turn(part.subshape_pos1(), part.local_n1),
        turn(part.subshape_pos2(), part.local_n2),
    )
}

fn in_collider(
    part: &ContactManifold,
    point: &TrackedContact<ContactData>,
) -> TrackedContact<ContactData> {
    TrackedContact {
        local_p1: place_of(part, point, Side::First),
        local_p2: place_of(part, point, Side::Second),
        data: ContactData::default(),
        ..*point
    }
}

/// Adds a point; of two at one place the deeper stays.
fn add(
    points: &mut Vec<TrackedContact<ContactData>>,
    point: TrackedContact<ContactData>,
    same: f32,
) {
    let twin = points
        .iter()
        .position(|other| other.local_p1.distance_squared(point.local_p1) < same);
    match twin {
        Some(twin) if point.dist < points[twin].dist => points[twin] = point,
        None if points.len() < MAX_POINTS => points.push(point),
        Some(_) | None => {}
    }
}

/// Computes the contacts of a pair merged by us anew, keeping its impulses.
pub(crate) fn update(
    pos12: &Pose,
    shapes: (&dyn Shape, &dyn Shape),
    prediction: Real,
    manifolds: &mut Vec<ContactManifold>,
    workspace: &mut Option<ContactManifoldsWorkspace>,
) -> Result<(), Unsupported> {
    let mut parts = Vec::new();
    let mut parts_workspace = None;
    DefaultQueryDispatcher.contact_manifolds(
        pos12,
        shapes.0,
        shapes.1,
        prediction,
        &mut parts,
        &mut parts_workspace,
    )?;
    let Some(mut whole) = merge(&parts, prediction) else {
        // Several planes now: back to the engine's own ways. It sees the new workspace and rebuilds
        // what it kept about the old manifold.
        *manifolds = parts;
        *workspace = parts_workspace;
        return Ok(());
    };
    let ours = &mut manifolds[0];
    keep_impulses(&ours.points, &mut whole.points);
    // In place: the engine's bookkeeping about this manifold is in its data.
    ours.points = whole.points;
    ours.local_n1 = whole.local_n1;
    ours.local_n2 = whole.local_n2;
    Ok(())
}

fn keep_impulses(old: &[TrackedContact<ContactData>], new: &mut [TrackedContact<ContactData>]) {
    for old in old.iter().filter(|old| old.data.impulse != 0.0) {
        let far =
            |point: &TrackedContact<ContactData>| point.local_p1.distance_squared(old.local_p1);
        let nearest = new
            .iter_mut()
            .filter(|point| point.data.impulse == 0.0 && far(point) < SAME_POINT_M.powi(2))
            .min_by(|p, q| far(p).total_cmp(&far(q)));
        if let Some(nearest) = nearest {
            nearest.data = old.data;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rapier3d::parry::shape::PackedFeatureId;

    fn part(normal: Vec3, points: &[(Vec3, f32)]) -> ContactManifold {
        let mut part = ContactManifold::new();
        part.local_n1 = normal;
        part.local_n2 = -normal;
        part.points = points
            .iter()
            .map(|(place, dist)| {
                let feature = PackedFeatureId::UNKNOWN;
                TrackedContact::new(*place, *place, feature, feature, *dist)
            })
            .collect();
        part
    }

    #[test]
    fn parts_of_one_plane_become_one() {
        let parts = [
            part(Vec3::Y, &[(Vec3::ZERO, -0.01), (Vec3::X, 0.0)]),
            part(Vec3::Z, &[]),
            part(Vec3::Y, &[(Vec3::X * 1.001, -0.02), (Vec3::Z, 0.0)]),
        ];
        let whole = merge(&parts, 0.02).expect("one plane");
        assert!(is_merged(std::slice::from_ref(&whole)));
        let depths: Vec<f32> = whole.points.iter().map(|point| point.dist).collect();
        assert_eq!(depths, [-0.01, -0.02, 0.0], "twins become the deeper one");
    }

    #[test]
    fn several_planes_stay_apart() {
        let parts = [
            part(Vec3::Y, &[(Vec3::ZERO, 0.0)]),
            part(Vec3::X, &[(Vec3::X, 0.0)]),
        ];
        assert!(merge(&parts, 0.02).is_none());
    }
}
