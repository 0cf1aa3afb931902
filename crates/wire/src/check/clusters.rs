//! Does a cluster make sense?

use super::{Invalid, MAX_COORDINATE_M, Problem, each, finite, range, unit};
use domain::{
    Body, BodyForm, BodyId, Cluster, ContactEnd, ContactMemory, Joint, JointKind, Material, Motion,
    Shape,
};
use std::sync::Arc;

pub(crate) fn cluster(cluster: &Cluster) -> Result<(), Invalid> {
    ascending("bodies", cluster.bodies.iter().map(|body| body.id))?;
    ascending("joints", cluster.joints.iter().map(|joint| joint.id))?;
    bodies(&cluster.bodies)?;
    let member = |id: BodyId| {
        cluster
            .bodies
            .binary_search_by_key(&id, |body| body.id)
            .is_ok()
    };
    each("joints", &cluster.joints, |one| joint(one, member))?;
    each("contacts", &cluster.contacts, |one| contact(one, member))
}

/// Are these ids sorted, each there once?
pub(crate) fn ascending<T: Ord>(place: &str, ids: impl Iterator<Item = T>) -> Result<(), Invalid> {
    if ids.is_sorted_by(|a, b| a < b) {
        Ok(())
    } else {
        Err(Problem::NotAscending.at(place))
    }
}

/// Ten thousand pebbles may share one hull: a geometry that was just found good is not walked again.
fn bodies(bodies: &[Body]) -> Result<(), Invalid> {
    let mut good: Option<&Shape> = None;
    for (index, one) in bodies.iter().enumerate() {
        let known = good.is_some_and(|shape| same_geometry(shape, &one.form.shape));
        body_with(one, known).map_err(|e| e.within_item("bodies", index))?;
        good = Some(&one.form.shape);
    }
    Ok(())
}

fn same_geometry(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Convex { points: p }, Shape::Convex { points: q }) => Arc::ptr_eq(p, q),
        (
            Shape::Mesh {
                vertices: v,
                triangles: t,
            },
            Shape::Mesh {
                vertices: w,
                triangles: u,
            },
        ) => Arc::ptr_eq(v, w) && Arc::ptr_eq(t, u),
        (Shape::Compound { parts: p }, Shape::Compound { parts: q }) => Arc::ptr_eq(p, q),
        _ => false,
    }
}

/// Is a body one that can be created?
pub(crate) fn body(body: &Body) -> Result<(), Invalid> {
    body_with(body, false)
}

fn body_with(body: &Body, geometry_is_good: bool) -> Result<(), Invalid> {
    if !geometry_is_good {
        shape(&body.form.shape)?;
    }
    form(&body.form).map_err(|e| e.within("form"))?;
    motion(&body.motion).map_err(|e| e.within("motion"))?;
    range(
        "rest.still_secs",
        body.rest.still_secs.into(),
        0.0,
        f64::from(f32::MAX),
    )
}

fn shape(shape: &Shape) -> Result<(), Invalid> {
    shape
        .check_for_body()
        .map_err(|e| Problem::Shape(e).at("form.shape"))?;
    let Shape::Compound { parts } = shape else {
        return Ok(());
    };
    each("form.shape.parts", parts, |part| {
        unit("rotation", part.rotation.length())
    })
}

fn form(form: &BodyForm) -> Result<(), Invalid> {
    let most = f64::from(f32::MAX);
    let Material {
        density,
        friction,
        restitution,
    } = form.material;
    range("material.density", density.into(), f64::MIN_POSITIVE, most)?;
    range("material.friction", friction.into(), 0.0, most)?;
    range("material.restitution", restitution.into(), 0.0, most)?;
    range("gravity_scale", form.gravity_scale.into(), -most, most)?;
    range("linear_damping", form.linear_damping.into(), 0.0, most)?;
    range("angular_damping", form.angular_damping.into(), 0.0, most)
}

fn motion(motion: &Motion) -> Result<(), Invalid> {
    for value in motion.position.to_array() {
        range("position", value, -MAX_COORDINATE_M, MAX_COORDINATE_M)?;
    }
    unit("rotation", motion.rotation.length())?;
    finite("linear_velocity", motion.linear_velocity)?;
    finite("angular_velocity", motion.angular_velocity)
}

fn joint(joint: &Joint, member: impl Fn(BodyId) -> bool) -> Result<(), Invalid> {
    if joint.a == joint.b {
        return Err(Problem::SameEnds.at("b"));
    }
    for (place, end) in [("a", joint.a), ("b", joint.b)] {
        if !member(end) {
            return Err(Problem::NotAMember(end).at(place));
        }
    }
    finite("anchor_a", joint.anchor_a)?;
    finite("anchor_b", joint.anchor_b)?;
    match joint.kind {
        JointKind::Revolute | JointKind::Prismatic => unit("axis", joint.axis.length()),
        JointKind::Fixed | JointKind::Spherical => finite("axis", joint.axis),
    }
}

fn contact(contact: &ContactMemory, member: impl Fn(BodyId) -> bool) -> Result<(), Invalid> {
    if contact.a == contact.b {
        return Err(Problem::SameEnds.at("b"));
    }
    let mut members = 0;
    for (place, end) in [("a", contact.a), ("b", contact.b)] {
        match end {
            ContactEnd::Body(id) if !member(id) => return Err(Problem::NotAMember(id).at(place)),
            ContactEnd::Body(_) => members += 1,
            ContactEnd::Static(_) => {}
        }
    }
    if members == 0 {
        return Err(Problem::NoMember.at("a"));
    }
    each("points", &contact.points, |point| {
        let most = f64::from(f32::MAX);
        range("normal_impulse", point.normal_impulse.into(), -most, most)?;
        finite("friction_impulse", point.friction_impulse)?;
        range("twist_impulse", point.twist_impulse.into(), -most, most)?;
        finite("place", point.place)
    })
}
