//! Clusters, bit for bit: a handed-over body must move on exactly as it would have at home (AP-20).
//!
//! Floats are their IEEE bits. Only what is repeated is saved: ids are differences, and a body whose form has
//! the same bytes as the one before says so in one byte (a wall of bricks, or pebbles that share a hull).

use crate::bytes::{Malformed, Reader, Why, put_f32, put_f64, put_varint, put_zigzag};
use contacts::{
    CONTACT_MIN_BYTES, JOINT_MIN_BYTES, read_contact, read_joint, write_contact, write_joint,
};
use domain::{Body, BodyForm, BodyId, Cluster, Material, Motion, Rest};
use glam::DVec3;
use shapes::{put_quat, put_vec3, read_quat, read_shape, read_vec3, write_shape};
use std::ops::Range;

mod contacts;
mod shapes;

/// The fewest bytes of one element, so that a count can be checked before memory is taken for it.
pub(crate) const BODY_MIN_BYTES: usize = 1 + 1 + MOTION_BYTES + 5;
const MOTION_BYTES: usize = 24 + 16 + 12 + 12;

pub(crate) fn write_cluster(out: &mut Vec<u8>, cluster: &Cluster) {
    put_varint(out, cluster.bodies.len() as u64);
    let mut writer = BodyWriter::default();
    for body in &cluster.bodies {
        writer.write(out, body);
    }
    put_varint(out, cluster.joints.len() as u64);
    for joint in &cluster.joints {
        write_joint(out, joint);
    }
    put_varint(out, cluster.contacts.len() as u64);
    for contact in &cluster.contacts {
        write_contact(out, contact);
    }
}

pub(crate) fn read_cluster(reader: &mut Reader<'_>) -> Result<Cluster, Malformed> {
    let mut bodies = BodyReader::default();
    Ok(Cluster {
        bodies: read_list(reader, "bodies", BODY_MIN_BYTES, |r| bodies.read(r))?,
        joints: read_list(reader, "joints", JOINT_MIN_BYTES, read_joint)?,
        contacts: read_list(reader, "contacts", CONTACT_MIN_BYTES, read_contact)?,
    })
}

/// Reads a counted list; memory is taken only for what the bytes can hold.
pub(crate) fn read_list<'a, T>(
    reader: &mut Reader<'a>,
    what: &'static str,
    min_bytes: usize,
    mut read: impl FnMut(&mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = reader.count(what, min_bytes)?;
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.push(read(reader)?);
    }
    Ok(items)
}

/// Writes bodies one after the other; remembers where the last form stands.
#[derive(Default)]
pub(crate) struct BodyWriter {
    id: u64,
    form: Option<Range<usize>>,
}

impl BodyWriter {
    pub(crate) fn write(&mut self, out: &mut Vec<u8>, body: &Body) {
        let Body {
            id,
            form,
            motion,
            rest: Rest { asleep, still_secs },
        } = body;
        put_zigzag(out, id.0.wrapping_sub(self.id) as i64);
        self.id = id.0;
        self.write_form(out, form);
        write_motion(out, motion);
        out.push((*asleep).into());
        put_f32(out, *still_secs);
    }

    /// Compares bytes, not numbers: 0.0 and −0.0 are equal but not the same.
    fn write_form(&mut self, out: &mut Vec<u8>, form: &BodyForm) {
        let repeated = out.len();
        out.push(0);
        let start = out.len();
        write_form(out, form);
        let written = start..out.len();
        match &self.form {
            Some(last) if out[last.clone()] == out[written.clone()] => {
                out.truncate(start);
                out[repeated] = 1;
            }
            _ => self.form = Some(written),
        }
    }
}

/// Reads what [`BodyWriter`] wrote.
#[derive(Default)]
pub(crate) struct BodyReader {
    id: u64,
    form: Option<BodyForm>,
}

impl BodyReader {
    pub(crate) fn read(&mut self, reader: &mut Reader<'_>) -> Result<Body, Malformed> {
        self.id = self.id.wrapping_add(reader.zigzag("body id")? as u64);
        Ok(Body {
            id: BodyId(self.id),
            form: self.read_form(reader)?,
            motion: read_motion(reader)?,
            rest: Rest {
                asleep: reader.bool("asleep")?,
                still_secs: reader.f32("still_secs")?,
            },
        })
    }

    fn read_form(&mut self, reader: &mut Reader<'_>) -> Result<BodyForm, Malformed> {
        let misplaced = reader.error("repeated form", Why::Misplaced);
        if reader.bool("repeated form")? {
            return self.form.clone().ok_or(misplaced);
        }
        let form = read_form(reader)?;
        self.form = Some(form.clone());
        Ok(form)
    }
}

// The writers take their structs apart, so that a new field cannot be forgotten.

fn write_form(out: &mut Vec<u8>, form: &BodyForm) {
    let BodyForm {
        shape,
        material,
        continuous,
        gravity_scale,
        linear_damping,
        angular_damping,
    } = form;
    let Material {
        density,
        friction,
        restitution,
    } = material;
    write_shape(out, shape);
    for value in [density, friction, restitution] {
        put_f32(out, *value);
    }
    out.push((*continuous).into());
    for value in [gravity_scale, linear_damping, angular_damping] {
        put_f32(out, *value);
    }
}

fn read_form(reader: &mut Reader<'_>) -> Result<BodyForm, Malformed> {
    Ok(BodyForm {
        shape: read_shape(reader, true)?,
        material: Material {
            density: reader.f32("density")?,
            friction: reader.f32("friction")?,
            restitution: reader.f32("restitution")?,
        },
        continuous: reader.bool("continuous")?,
        gravity_scale: reader.f32("gravity_scale")?,
        linear_damping: reader.f32("linear_damping")?,
        angular_damping: reader.f32("angular_damping")?,
    })
}

fn write_motion(out: &mut Vec<u8>, motion: &Motion) {
    let Motion {
        position,
        rotation,
        linear_velocity,
        angular_velocity,
    } = *motion;
    for value in position.to_array() {
        put_f64(out, value);
    }
    put_quat(out, rotation);
    put_vec3(out, linear_velocity);
    put_vec3(out, angular_velocity);
}

fn read_motion(reader: &mut Reader<'_>) -> Result<Motion, Malformed> {
    let mut coordinate = || reader.f64("position");
    Ok(Motion {
        position: DVec3::new(coordinate()?, coordinate()?, coordinate()?),
        rotation: read_quat(reader, "rotation")?,
        linear_velocity: read_vec3(reader, "linear velocity")?,
        angular_velocity: read_vec3(reader, "angular velocity")?,
    })
}
