//! Nothing enters the engine unchecked: bodies and clusters may come from a file or from a socket.

use crate::config::{WorldConfig, WorldError};
use domain::{
    Body, BodyForm, BodyId, Cluster, ContactEnd, ContactMemory, Joint, JointKind, Static,
};
use glam::Quat;

/// The farthest place of a body from the world's zero, metres.
const MAX_COORDINATE: f64 = 1e9;
/// The highest speed that makes sense, m/s and rad/s.
const MAX_SPEED: f32 = 1e5;
/// The heaviest stuff, kg/m³ (a hundred times osmium).
const MAX_DENSITY: f32 = 2e6;
/// How far from 1 the length of a rotation may be.
const UNIT_TOLERANCE: f32 = 1e-3;
/// The most points of one remembered manifold (the engine numbers them in a byte).
const MAX_MEMORY_POINTS: usize = 255;
/// The largest impulse that makes sense, N·s.
const MAX_IMPULSE: f32 = 1e15;

pub(crate) fn check_config(config: &WorldConfig) -> Result<(), WorldError> {
    let finite = |ok: bool, what| ok.then_some(()).ok_or(WorldError::NotFinite { what });
    finite(config.gravity.is_finite(), "gravity")?;
    finite(config.origin.is_finite(), "the origin")
}

pub(crate) fn check_static(scenery: &Static) -> Result<(), WorldError> {
    let finite = |ok: bool, what| ok.then_some(()).ok_or(WorldError::NotFinite { what });
    finite(scenery.position.is_finite(), "the position of a static")?;
    finite(is_unit(scenery.rotation), "the rotation of a static")?;
    finite(
        is_share(scenery.material.friction),
        "the friction of a static",
    )?;
    finite(
        is_share(scenery.material.restitution),
        "the restitution of a static",
    )?;
    let bad = |cause| WorldError::BadStatic {
        id: scenery.id,
        cause,
    };
    scenery.shape.check_for_static().map_err(bad)
}

pub(crate) fn check_body(body: &Body) -> Result<(), WorldError> {
    let id = body.id;
    let motion = &body.motion;
    let bad = |what| WorldError::BadBody { id, what };
    let require = |ok: bool, what| ok.then_some(()).ok_or(bad(what));
    require(motion.is_finite(), "a number of its motion")?;
    require(
        motion.position.abs().max_element() <= MAX_COORDINATE,
        "its position",
    )?;
    require(is_unit(motion.rotation), "its rotation")?;
    require(motion.linear_velocity.length() <= MAX_SPEED, "its velocity")?;
    require(motion.angular_velocity.length() <= MAX_SPEED, "its spin")?;
    let still = body.rest.still_secs;
    require(still.is_finite() && still >= 0.0, "its sleep timer")?;
    check_form(id, &body.form)
}

fn check_form(id: BodyId, form: &BodyForm) -> Result<(), WorldError> {
    let require = |ok: bool, what| ok.then_some(()).ok_or(WorldError::BadBody { id, what });
    let density = form.material.density;
    require(density > 0.0 && density <= MAX_DENSITY, "its density")?;
    require(is_share(form.material.friction), "its friction")?;
    require(is_share(form.material.restitution), "its restitution")?;
    require(form.gravity_scale.is_finite(), "its gravity scale")?;
    require(is_share(form.linear_damping), "its linear damping")?;
    require(is_share(form.angular_damping), "its angular damping")?;
    form.shape
        .check_for_body()
        .map_err(|cause| WorldError::BadShape { id, cause })
}

pub(crate) fn check_joint(joint: &Joint) -> Result<(), WorldError> {
    let require = |ok: bool, what| {
        ok.then_some(())
            .ok_or(WorldError::BadJoint { id: joint.id, what })
    };
    require(joint.a != joint.b, "it ties a body to itself")?;
    let finite = joint.anchor_a.is_finite() && joint.anchor_b.is_finite() && joint.axis.is_finite();
    require(finite, "its numbers must be finite")?;
    let needs_axis = matches!(joint.kind, JointKind::Revolute | JointKind::Prismatic);
    let unit = (joint.axis.length() - 1.0).abs() <= UNIT_TOLERANCE;
    require(!needs_axis || unit, "its axis must have length 1")
}

/// Is this a cluster a world can take? Ids rise, numbers are finite and sensible, shapes are
/// acceptable, joints and remembered contacts speak of members only. Hulls are only built at insertion,
/// which may still refuse one.
pub fn check_cluster(cluster: &Cluster) -> Result<(), WorldError> {
    if !cluster.bodies.is_sorted_by(|p, q| p.id < q.id) {
        return Err(WorldError::Unsorted { what: "bodies" });
    }
    if !cluster.joints.is_sorted_by(|p, q| p.id < q.id) {
        return Err(WorldError::Unsorted { what: "joints" });
    }
    cluster.bodies.iter().try_for_each(check_body)?;
    for joint in &cluster.joints {
        check_joint(joint)?;
        for end in [joint.a, joint.b] {
            if !is_member(cluster, end) {
                return Err(WorldError::BadJoint {
                    id: joint.id,
                    what: "it ties a body that is not a member",
                });
            }
        }
    }
    cluster
        .contacts
        .iter()
        .try_for_each(|memory| check_memory(cluster, memory))
}

fn check_memory(cluster: &Cluster, memory: &ContactMemory) -> Result<(), WorldError> {
    let require = |ok: bool, what| ok.then_some(()).ok_or(WorldError::BadMemory { what });
    let known = |end| match end {
        ContactEnd::Body(id) => is_member(cluster, id),
        ContactEnd::Static(_) => true,
    };
    require(memory.a != memory.b, "a side touches itself")?;
    require(known(memory.a) && known(memory.b), "a side is not a member")?;
    require(memory.points.len() <= MAX_MEMORY_POINTS, "too many points")?;
    let sane = |v: f32| v.is_finite() && v.abs() <= MAX_IMPULSE;
    let sane_points = memory.points.iter().all(|point| {
        sane(point.normal_impulse)
            && sane(point.twist_impulse)
            && point.friction_impulse.to_array().into_iter().all(sane)
            && point.place.is_finite()
    });
    require(sane_points, "a number is not finite")
}

fn is_member(cluster: &Cluster, id: BodyId) -> bool {
    cluster
        .bodies
        .binary_search_by_key(&id, |body| body.id)
        .is_ok()
}

fn is_unit(rotation: Quat) -> bool {
    (rotation.length() - 1.0).abs() <= UNIT_TOLERANCE
}

/// Finite and not negative.
fn is_share(value: f32) -> bool {
    value.is_finite() && value >= 0.0
}
