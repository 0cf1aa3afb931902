//! Joints, and what the solver remembers of contacts.

use super::read_list;
use super::shapes::{put_vec3, read_vec3};
use crate::bytes::{Malformed, Reader, Why, put_f32, put_varint};
use domain::{BodyId, ContactEnd, ContactMemory, Joint, JointId, JointKind, PointMemory, StaticId};

pub(crate) const JOINT_MIN_BYTES: usize = 4 + 3 * 12;
pub(crate) const CONTACT_MIN_BYTES: usize = 7;
const POINT_MIN_BYTES: usize = 2 + 4 + 12 + 4 + 12;

pub(crate) fn write_joint(out: &mut Vec<u8>, joint: &Joint) {
    put_varint(out, joint.id.0);
    out.push(match joint.kind {
        JointKind::Fixed => 0,
        JointKind::Revolute => 1,
        JointKind::Spherical => 2,
        JointKind::Prismatic => 3,
    });
    put_varint(out, joint.a.0);
    put_varint(out, joint.b.0);
    put_vec3(out, joint.anchor_a);
    put_vec3(out, joint.anchor_b);
    put_vec3(out, joint.axis);
}

pub(crate) fn read_joint(reader: &mut Reader<'_>) -> Result<Joint, Malformed> {
    Ok(Joint {
        id: JointId(reader.varint("joint id")?),
        kind: read_joint_kind(reader)?,
        a: BodyId(reader.varint("joint end")?),
        b: BodyId(reader.varint("joint end")?),
        anchor_a: read_vec3(reader, "anchor")?,
        anchor_b: read_vec3(reader, "anchor")?,
        axis: read_vec3(reader, "axis")?,
    })
}

fn read_joint_kind(reader: &mut Reader<'_>) -> Result<JointKind, Malformed> {
    let unknown = reader.error("joint kind", Why::Misplaced);
    match reader.u8("joint kind")? {
        0 => Ok(JointKind::Fixed),
        1 => Ok(JointKind::Revolute),
        2 => Ok(JointKind::Spherical),
        3 => Ok(JointKind::Prismatic),
        tag => Err(Malformed {
            why: Why::UnknownTag(tag),
            ..unknown
        }),
    }
}

pub(crate) fn write_contact(out: &mut Vec<u8>, contact: &ContactMemory) {
    for end in [contact.a, contact.b] {
        match end {
            ContactEnd::Body(id) => {
                out.push(0);
                put_varint(out, id.0);
            }
            ContactEnd::Static(id) => {
                out.push(1);
                put_varint(out, id.0.into());
            }
        }
    }
    put_varint(out, contact.part_a.into());
    put_varint(out, contact.part_b.into());
    put_varint(out, contact.points.len() as u64);
    for point in &contact.points {
        write_point(out, point);
    }
}

fn write_point(out: &mut Vec<u8>, point: &PointMemory) {
    let PointMemory {
        feature_a,
        feature_b,
        normal_impulse,
        friction_impulse,
        twist_impulse,
        place,
    } = *point;
    put_varint(out, feature_a.into());
    put_varint(out, feature_b.into());
    put_f32(out, normal_impulse);
    put_vec3(out, friction_impulse);
    put_f32(out, twist_impulse);
    put_vec3(out, place);
}

pub(crate) fn read_contact(reader: &mut Reader<'_>) -> Result<ContactMemory, Malformed> {
    Ok(ContactMemory {
        a: read_contact_end(reader)?,
        b: read_contact_end(reader)?,
        part_a: reader.varint_u32("contact part")?,
        part_b: reader.varint_u32("contact part")?,
        points: read_list(reader, "contact points", POINT_MIN_BYTES, read_point)?,
    })
}

fn read_contact_end(reader: &mut Reader<'_>) -> Result<ContactEnd, Malformed> {
    if reader.bool("contact end")? {
        return Ok(ContactEnd::Static(StaticId(
            reader.varint_u32("contact static")?,
        )));
    }
    Ok(ContactEnd::Body(BodyId(reader.varint("contact body")?)))
}

fn read_point(reader: &mut Reader<'_>) -> Result<PointMemory, Malformed> {
    Ok(PointMemory {
        feature_a: reader.varint_u32("contact feature")?,
        feature_b: reader.varint_u32("contact feature")?,
        normal_impulse: reader.f32("normal impulse")?,
        friction_impulse: read_vec3(reader, "friction impulse")?,
        twist_impulse: reader.f32("twist impulse")?,
        place: read_vec3(reader, "contact place")?,
    })
}
