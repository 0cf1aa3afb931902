//! The narrow phase: do two bodies touch, where, how deep? Pluggable (thesis 4.3.2.3); [`ParryNarrow`] by default,
//! [`MeshNarrow`](crate::MeshNarrow) as the thesis describes it.

use crate::forms::Geometry;
use glam::{Quat, Vec3};
use parry3d::math::Pose;
use parry3d::query::{ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher};

/// How hard the narrow phase tries. Less effort finds fewer points, or takes bounding volumes for what is in them: false
/// alarms are possible, a missed contact never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// So many points per pair at most, the deepest first; `None`: all.
    pub max_contacts: Option<u32>,
    /// Volumes at this depth of a shape's tree stand for what is below them; `None`: down to the shape itself. Parry's shapes
    /// have one volume, the box around them, at depth 0, and the shape itself below.
    pub max_depth: Option<u32>,
}

impl Level {
    /// Everything.
    pub const FULL: Self = Self {
        max_contacts: None,
        max_depth: None,
    };
    /// The least that still misses nothing.
    pub const LEAST: Self = Self {
        max_contacts: Some(1),
        max_depth: Some(0),
    };
}

/// A body as the narrow phase sees it.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// Its shape.
    pub geometry: &'a Geometry,
    /// Its origin, from the first body's.
    pub offset: Vec3,
    /// Its attitude in the world.
    pub rotation: Quat,
}

/// A place where two bodies touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// From the first body's origin, in the world's axes.
    pub point: Vec3,
    /// Unit vector from the first body towards the second, in the world's axes.
    pub normal: Vec3,
    /// How deep they are in each other, metres, at least zero.
    pub depth: f32,
    /// Found between bounding volumes: perhaps no contact at all.
    pub approximate: bool,
}

/// Finds contacts.
pub trait NarrowPhase {
    /// Adds the contacts of two bodies whose boxes overlap; the first is at the origin.
    fn contacts(&mut self, a: &Placed<'_>, b: &Placed<'_>, level: Level, out: &mut Vec<Contact>);
}

/// Parry's contact manifolds.
#[derive(Default)]
pub struct ParryNarrow {
    /// Of two convex shapes; kept for its memory only.
    manifold: ContactManifold<(), ()>,
    found: Vec<Contact>,
}

/// Contacts count up to this distance, metres. None: what does not touch is left alone.
const PREDICTION_M: f32 = 0.0;

impl NarrowPhase for ParryNarrow {
    fn contacts(&mut self, a: &Placed<'_>, b: &Placed<'_>, level: Level, out: &mut Vec<Contact>) {
        if level.max_depth == Some(0) {
            out.push(between_boxes(a, b));
            return;
        }
        self.found.clear();
        let from_world = a.rotation.conjugate();
        let relative = Pose::from_parts(from_world * b.offset, from_world * b.rotation);
        let (first, second) = (&*a.geometry.shape, &*b.geometry.shape);
        if first.is_convex() && second.is_convex() {
            self.manifold.clear();
            let asked = DefaultQueryDispatcher.contact_manifold_convex_convex(
                &relative,
                first,
                second,
                None,
                None,
                PREDICTION_M,
                &mut self.manifold,
            );
            if asked.is_ok() {
                note(&self.manifold, a.rotation, &mut self.found);
                keep_deepest(&mut self.found, level.max_contacts);
                out.append(&mut self.found);
                return;
            }
        }
        let (mut manifolds, mut workspace) = (Vec::<ContactManifold<(), ()>>::new(), None);
        // An unsupported pair of shapes has no contacts: two half-spaces, say.
        let _ = DefaultQueryDispatcher.contact_manifolds(
            &relative,
            first,
            second,
            PREDICTION_M,
            &mut manifolds,
            &mut workspace,
        );
        for manifold in &manifolds {
            note(manifold, a.rotation, &mut self.found);
        }
        keep_deepest(&mut self.found, level.max_contacts);
        out.append(&mut self.found);
    }
}

fn note(manifold: &ContactManifold<(), ()>, to_world: Quat, out: &mut Vec<Contact>) {
    // Points and normal of a composite shape are in its part's frame.
    let part = manifold.subshape_pos1();
    let place = |point: Vec3| part.map_or(point, |pose| pose.transform_point(point));
    let turn = |vector: Vec3| part.map_or(vector, |pose| pose.transform_vector(vector));
    let normal = to_world * turn(manifold.local_n1);
    for point in manifold.points.iter().filter(|point| point.dist <= 0.0) {
        out.push(Contact {
            point: to_world * place(point.local_p1),
            normal,
            depth: -point.dist,
            approximate: false,
        });
    }
}

/// Of equally deep ones the first found.
pub(crate) fn keep_deepest(contacts: &mut Vec<Contact>, most: Option<u32>) {
    let Some(most) = most.map(|most| most.max(1) as usize) else {
        return;
    };
    if contacts.len() > most {
        contacts.sort_by(|a, b| b.depth.total_cmp(&a.depth));
        contacts.truncate(most);
    }
}

/// The contact of the two boxes around the bodies, along the axis on which they share least.
pub(crate) fn between_boxes(a: &Placed<'_>, b: &Placed<'_>) -> Contact {
    let first = a.geometry.aabb(Vec3::ZERO, a.rotation);
    let second = b.geometry.aabb(b.offset, b.rotation);
    approximate(first.min, first.max, second.min, second.max)
}

pub(crate) fn approximate(a_min: Vec3, a_max: Vec3, b_min: Vec3, b_max: Vec3) -> Contact {
    let (low, high) = (a_min.max(b_min), a_max.min(b_max));
    let shared = (high - low).max(Vec3::ZERO);
    let mut axis = 0;
    for other in 1..3 {
        if shared[other] < shared[axis] {
            axis = other;
        }
    }
    let towards = (b_min + b_max - a_min - a_max)[axis];
    let mut normal = Vec3::ZERO;
    normal[axis] = if towards < 0.0 { -1.0 } else { 1.0 };
    Contact {
        point: (low + high) * 0.5,
        normal,
        depth: shared[axis],
        approximate: true,
    }
}
