//! Nothing enters the engine unchecked: bodies and clusters may come from a file or from a socket.

use crate::config::{WorldConfig, WorldError};
use crate::world::build_shape;
use domain::{
    Body, BodyForm, BodyId, Cluster, ContactEnd, ContactMemory, Joint, JointKind, LOWEST_DENSITY,
    Motion, Static,
};
use glam::{DVec3, Quat, Vec3};

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
    finite(is_place(scenery.position), "the position of a static")?;
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

/// Could a world create this body? Its numbers make sense, and the engine can build and weigh its shape.
pub fn check_body(body: &Body) -> Result<(), WorldError> {
    check_numbers(body)?;
    build_shape(body.id, &body.form).map(drop)
}

/// All of [`check_body`] that costs next to nothing: hulls are not built.
pub(crate) fn check_numbers(body: &Body) -> Result<(), WorldError> {
    let id = body.id;
    let require = |ok: bool, what| ok.then_some(()).ok_or(WorldError::BadBody { id, what });
    if let Some(what) = bad_number(&body.motion) {
        return Err(WorldError::BadBody { id, what });
    }
    let still = body.rest.still_secs;
    require(still.is_finite() && still >= 0.0, "its sleep timer")?;
    check_form(id, &body.form)
}

/// What of a motion makes no sense, if anything. NaN fails all comparisons.
pub(crate) fn bad_number(motion: &Motion) -> Option<&'static str> {
    let parts = [
        (is_place(motion.position), "its position"),
        (is_unit(motion.rotation), "its rotation"),
        (is_speed(motion.linear_velocity), "its velocity"),
        (is_speed(motion.angular_velocity), "its spin"),
    ];
    let bad = parts.into_iter().find(|(sound, _)| !sound);
    bad.map(|(_, what)| what)
}

/// Can there be no [`bad_number`] where all coordinates, all parts of speeds and spins, and all deviations of a squared length of a rotation from 1 are at most these?
pub(crate) fn is_sound_at_most(coordinate: f64, part_of_speed: f32, bent: f32) -> bool {
    // A vector is at most √3 times as long as its largest part; a square deviates by twice as much.
    coordinate <= MAX_COORDINATE && part_of_speed <= 0.5 * MAX_SPEED && bent <= UNIT_TOLERANCE
}

/// A push that could be a push, whatever it does to the body.
pub(crate) fn check_push(id: BodyId, impulse: Vec3, at: Option<DVec3>) -> Result<(), WorldError> {
    let require = |ok: bool, what| ok.then_some(()).ok_or(WorldError::BadPush { id, what });
    require(impulse.is_finite(), "its strength is not a number")?;
    require(at.is_none_or(is_place), "its place is nowhere")
}

fn check_form(id: BodyId, form: &BodyForm) -> Result<(), WorldError> {
    let require = |ok: bool, what| ok.then_some(()).ok_or(WorldError::BadBody { id, what });
    let density = form.material.density;
    let dense = f64::from(density) >= LOWEST_DENSITY && density <= MAX_DENSITY;
    require(dense, "its density")?;
    require(is_share(form.material.friction), "its friction")?;
    require(is_share(form.material.restitution), "its restitution")?;
    require(form.gravity_scale.is_finite(), "its gravity scale")?;
    require(is_share(form.linear_damping), "its linear damping")?;
    require(is_share(form.angular_damping), "its angular damping")?;
    let shape = &form.shape;
    shape
        .check_for_body()
        .and_then(|()| shape.check_size_of_body())
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
/// which may still refuse one: a cluster comes from another engine, which could build them.
pub fn check_cluster(cluster: &Cluster) -> Result<(), WorldError> {
    if !cluster.bodies.is_sorted_by(|p, q| p.id < q.id) {
        return Err(WorldError::Unsorted { what: "bodies" });
    }
    if !cluster.joints.is_sorted_by(|p, q| p.id < q.id) {
        return Err(WorldError::Unsorted { what: "joints" });
    }
    cluster.bodies.iter().try_for_each(check_numbers)?;
    let bodies = &cluster.bodies;
    let mut joints = cluster.joints.iter();
    joints.try_for_each(|joint| check_tie(bodies, joint))?;
    let mut contacts = cluster.contacts.iter();
    contacts.try_for_each(|memory| check_memory(bodies, memory))
}

/// Takes out of a cluster what no world could take: bodies with impossible numbers or shapes, and joints and remembered contacts that speak of them or make no sense
/// themselves. Says which bodies, and why. What is left passes [`check_cluster`] and can be built, if the ids were in order.
pub fn mend_cluster(cluster: &mut Cluster) -> Vec<(BodyId, WorldError)> {
    let mut out = Vec::new();
    cluster.bodies.retain(|body| match check_body(body) {
        Ok(()) => true,
        Err(why) => {
            out.push((body.id, why));
            false
        }
    });
    let bodies = &cluster.bodies;
    let joints = &mut cluster.joints;
    joints.retain(|joint| check_tie(bodies, joint).is_ok());
    let contacts = &mut cluster.contacts;
    contacts.retain(|memory| check_memory(bodies, memory).is_ok());
    out
}

fn check_tie(bodies: &[Body], joint: &Joint) -> Result<(), WorldError> {
    check_joint(joint)?;
    let ties_members = is_member(bodies, joint.a) && is_member(bodies, joint.b);
    ties_members.then_some(()).ok_or(WorldError::BadJoint {
        id: joint.id,
        what: "it ties a body that is not a member",
    })
}

fn check_memory(bodies: &[Body], memory: &ContactMemory) -> Result<(), WorldError> {
    let require = |ok: bool, what| ok.then_some(()).ok_or(WorldError::BadMemory { what });
    let known = |end| match end {
        ContactEnd::Body(id) => is_member(bodies, id),
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

fn is_member(bodies: &[Body], id: BodyId) -> bool {
    bodies.binary_search_by_key(&id, |body| body.id).is_ok()
}

fn is_place(position: DVec3) -> bool {
    position.abs().cmple(DVec3::splat(MAX_COORDINATE)).all()
}

/// Of a centre of mass or of a spin.
pub(crate) fn is_speed(velocity: Vec3) -> bool {
    velocity.length_squared() <= MAX_SPEED * MAX_SPEED
}

fn is_unit(rotation: Quat) -> bool {
    (rotation.length() - 1.0).abs() <= UNIT_TOLERANCE
}

/// Finite and not negative.
fn is_share(value: f32) -> bool {
    value.is_finite() && value >= 0.0
}
