//! What a command is answered.

use crate::bytes::{Read, Reader, Why, Writer};
use domain::{BodyId, StaticId, Tick};
use glam::{DVec3, Vec3};

/// The most bodies named in one answer.
const MOST_BODIES: usize = 65_536;

/// The answer to a command; each gets exactly one.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It is done.
    Done {
        /// After which tick; zero if that does not apply.
        tick: Tick,
        /// The body, the piece of scenery or the world (its generation) that it was about.
        about: u64,
    },
    /// There is no such body.
    NotFound,
    /// It cannot be done: why.
    Refused(String),
    /// You may not.
    Forbidden(String),
    /// The nearest thing on the ray, if any.
    Hit(Option<Hit>),
    /// The bodies that touch the shape, ascending.
    Touching(Vec<BodyId>),
    /// The servers did not answer in time. It may or may not have happened.
    NoAnswer,
}

/// What a ray has hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// What.
    pub struck: Struck,
    /// How far away, metres.
    pub distance: f32,
    /// Where.
    pub point: DVec3,
    /// The surface's normal there.
    pub normal: Vec3,
}

/// A body or scenery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Struck {
    /// A body.
    Body(BodyId),
    /// A piece of scenery.
    Static(StaticId),
}

impl Answer {
    pub(crate) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Done { tick, about } => {
                writer.u8(0x01);
                writer.u64(tick.0);
                writer.u64(*about);
            }
            Self::NotFound => writer.u8(0x02),
            Self::Refused(why) => {
                writer.u8(0x03);
                writer.text(why);
            }
            Self::Forbidden(why) => {
                writer.u8(0x04);
                writer.text(why);
            }
            Self::Hit(hit) => {
                writer.u8(0x05);
                writer.u8(hit.is_some().into());
                hit.iter().for_each(|hit| hit.write(writer));
            }
            Self::Touching(bodies) => {
                writer.u8(0x06);
                let bodies = &bodies[..bodies.len().min(MOST_BODIES)];
                writer.count(bodies.len());
                bodies.iter().for_each(|body| writer.u64(body.0));
            }
            Self::NoAnswer => writer.u8(0x07),
        }
    }

    pub(crate) fn read(reader: &mut Reader) -> Read<Self> {
        Ok(match reader.u8("answer")? {
            0x01 => Self::Done {
                tick: Tick(reader.u64("tick")?),
                about: reader.u64("about")?,
            },
            0x02 => Self::NotFound,
            0x03 => Self::Refused(reader.text("why")?),
            0x04 => Self::Forbidden(reader.text("why")?),
            0x05 => Self::Hit(match reader.flag("is there a hit")? {
                true => Some(Hit::read(reader)?),
                false => None,
            }),
            0x06 => {
                let count = reader.count(8, MOST_BODIES, "bodies")?;
                let bodies = (0..count).map(|_| Ok(BodyId(reader.u64("body")?)));
                Self::Touching(bodies.collect::<Read<_>>()?)
            }
            0x07 => Self::NoAnswer,
            other => return Err(reader.error("answer", Why::UnknownKind(other))),
        })
    }
}

impl Hit {
    fn write(&self, writer: &mut Writer) {
        let (kind, id) = match self.struck {
            Struck::Body(body) => (0, body.0),
            Struck::Static(scenery) => (1, scenery.0.into()),
        };
        writer.u8(kind);
        writer.u64(id);
        writer.f32(self.distance);
        writer.dvec3(self.point);
        writer.vec3(self.normal);
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        let is_static = reader.flag("is it scenery")?;
        let id = reader.u64("id")?;
        let struck = if is_static {
            let small = u32::try_from(id);
            let id = small.map_err(|_| reader.error("id", Why::TooMany(id as usize)))?;
            Struck::Static(StaticId(id))
        } else {
            Struck::Body(BodyId(id))
        };
        Ok(Self {
            struck,
            distance: reader.f32("distance")?,
            point: reader.dvec3("point")?,
            normal: reader.vec3("normal")?,
        })
    }
}
