//! What a client may ask for.

use crate::bytes::{Read, Reader, Why, Writer};
use crate::from_client::{read_rect, write_rect};
use crate::from_gateway::EmulatedNetwork;
use crate::shapes;
use domain::{BodyId, Layout, Material, Rect, Shape};
use glam::{DVec3, Quat, Vec3};

/// The most boxes in one definition of regions.
const MOST_BOXES: usize = 1024;
/// The most shapes of one injection.
const MOST_SHAPES: usize = 64;
/// Region layouts by their number on the wire.
const LAYOUTS: [Layout; 6] = [
    Layout::Single,
    Layout::Columns,
    Layout::Grid,
    Layout::Tree,
    Layout::ThesisThree,
    Layout::ThesisSeven,
];

/// Something to be done or told.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Create a body; the answer has its id.
    Spawn(Box<Spawn>),
    /// Push a body.
    Impulse {
        /// Which.
        body: BodyId,
        /// N·s.
        impulse: Vec3,
        /// Where, in the world; `None`: at its centre of mass.
        at: Option<DVec3>,
    },
    /// Give a body another velocity.
    Velocity {
        /// Which.
        body: BodyId,
        /// m/s.
        velocity: Vec3,
    },
    /// Remove a body.
    Remove {
        /// Which.
        body: BodyId,
    },
    /// The same scene from its beginning.
    Reset,
    /// Another scene; everyone stays connected.
    SwitchScene(SceneChoice),
    /// The same scene from its beginning, cut into other regions.
    DefineRegions(RegionPlan),
    /// Bodies that appear in a volume for a while.
    Inject(Box<Injection>),
    /// What does a ray hit first?
    Ray {
        /// From where.
        origin: DVec3,
        /// Whither; its length does not matter.
        direction: Vec3,
        /// How far at most, metres.
        reach: f32,
    },
    /// Which bodies touch this shape?
    Overlap {
        /// The shape.
        shape: Shape,
        /// Where.
        position: DVec3,
        /// How turned.
        rotation: Quat,
    },
    /// Scenery that never moves, on all servers.
    PutUp(Box<StaticPiece>),
    /// Kill a region server, in a demonstration.
    KillServer {
        /// Its name.
        server: String,
    },
    /// Make the network between servers worse or better, in a demonstration.
    SetNetwork(EmulatedNetwork),
    /// End all injections.
    StopInjections,
}

/// A body to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    /// Its geometry.
    pub shape: Shape,
    /// What it is made of.
    pub material: Material,
    /// Where.
    pub position: DVec3,
    /// How turned.
    pub rotation: Quat,
    /// m/s.
    pub velocity: Vec3,
    /// rad/s.
    pub spin: Vec3,
    /// Sweep it, so that it does not pass through thin bodies?
    pub continuous: bool,
}

impl Spawn {
    /// At rest, of the default material.
    pub fn new(shape: Shape, position: DVec3) -> Self {
        Self {
            shape,
            material: Material::default(),
            position,
            rotation: Quat::IDENTITY,
            velocity: Vec3::ZERO,
            spin: Vec3::ZERO,
            continuous: false,
        }
    }
}

/// A scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneChoice {
    /// The name of a built-in one.
    BuiltIn(String),
    /// The text of a scene file. Files it names are looked for where the servers have theirs.
    Text(String),
}

/// How to cut the world into regions.
#[derive(Clone, Debug, PartialEq)]
pub enum RegionPlan {
    /// By rule.
    Layout {
        /// Which rule.
        layout: Layout,
        /// How many regions.
        count: u16,
    },
    /// Exactly like that: an axis-aligned partition of the world's extent.
    Boxes(Vec<Rect>),
}

/// Bodies that appear in a volume for a while (thesis 4.8).
#[derive(Clone, Debug, PartialEq)]
pub struct Injection {
    /// The volume's lowest corner.
    pub min: DVec3,
    /// Its highest.
    pub max: DVec3,
    /// Bodies per second.
    pub rate: f32,
    /// For how long, seconds.
    pub secs: f32,
    /// The lowest velocity, m/s.
    pub velocity_min: Vec3,
    /// The highest.
    pub velocity_max: Vec3,
    /// What appears, each as often as the others.
    pub shapes: Vec<Shape>,
}

/// A piece of scenery.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticPiece {
    /// Its geometry.
    pub shape: Shape,
    /// Friction and restitution matter.
    pub material: Material,
    /// Where.
    pub position: DVec3,
    /// How turned.
    pub rotation: Quat,
}

impl Command {
    pub(crate) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Spawn(spawn) => {
                writer.u8(0x01);
                spawn.write(writer);
            }
            Self::Impulse { body, impulse, at } => {
                writer.u8(0x02);
                writer.u64(body.0);
                writer.vec3(*impulse);
                writer.u8(at.is_some().into());
                at.iter().for_each(|at| writer.dvec3(*at));
            }
            Self::Velocity { body, velocity } => {
                writer.u8(0x03);
                writer.u64(body.0);
                writer.vec3(*velocity);
            }
            Self::Remove { body } => {
                writer.u8(0x04);
                writer.u64(body.0);
            }
            Self::Reset => writer.u8(0x05),
            Self::SwitchScene(choice) => {
                writer.u8(0x06);
                choice.write(writer);
            }
            Self::DefineRegions(plan) => {
                writer.u8(0x07);
                plan.write(writer);
            }
            Self::Inject(injection) => {
                writer.u8(0x08);
                injection.write(writer);
            }
            Self::Ray {
                origin,
                direction,
                reach,
            } => {
                writer.u8(0x09);
                writer.dvec3(*origin);
                writer.vec3(*direction);
                writer.f32(*reach);
            }
            Self::Overlap {
                shape,
                position,
                rotation,
            } => {
                writer.u8(0x0a);
                writer.dvec3(*position);
                writer.rotation(*rotation);
                shapes::write(writer, shape);
            }
            Self::PutUp(piece) => {
                writer.u8(0x0b);
                writer.dvec3(piece.position);
                writer.rotation(piece.rotation);
                write_material(writer, &piece.material);
                shapes::write(writer, &piece.shape);
            }
            Self::KillServer { server } => {
                writer.u8(0x0c);
                writer.text(server);
            }
            Self::SetNetwork(network) => {
                writer.u8(0x0d);
                network.write(writer);
            }
            Self::StopInjections => writer.u8(0x0e),
        }
    }

    pub(crate) fn read(reader: &mut Reader) -> Read<Self> {
        Ok(match reader.u8("command")? {
            0x01 => Self::Spawn(Box::new(Spawn::read(reader)?)),
            0x02 => Self::Impulse {
                body: BodyId(reader.u64("body")?),
                impulse: reader.vec3("impulse")?,
                at: match reader.flag("is there a point")? {
                    true => Some(reader.dvec3("point")?),
                    false => None,
                },
            },
            0x03 => Self::Velocity {
                body: BodyId(reader.u64("body")?),
                velocity: reader.vec3("velocity")?,
            },
            0x04 => Self::Remove {
                body: BodyId(reader.u64("body")?),
            },
            0x05 => Self::Reset,
            0x06 => Self::SwitchScene(SceneChoice::read(reader)?),
            0x07 => Self::DefineRegions(RegionPlan::read(reader)?),
            0x08 => Self::Inject(Box::new(Injection::read(reader)?)),
            0x09 => Self::Ray {
                origin: reader.dvec3("origin")?,
                direction: reader.vec3("direction")?,
                reach: reader.f32("reach")?,
            },
            0x0a => Self::Overlap {
                position: reader.dvec3("position")?,
                rotation: reader.rotation("rotation")?,
                shape: shapes::read(reader)?,
            },
            0x0b => Self::PutUp(Box::new(StaticPiece {
                position: reader.dvec3("position")?,
                rotation: reader.rotation("rotation")?,
                material: read_material(reader)?,
                shape: shapes::read(reader)?,
            })),
            0x0c => Self::KillServer {
                server: reader.text("server")?,
            },
            0x0d => Self::SetNetwork(EmulatedNetwork::read(reader)?),
            0x0e => Self::StopInjections,
            other => return Err(reader.error("command", Why::UnknownKind(other))),
        })
    }
}

impl Spawn {
    fn write(&self, writer: &mut Writer) {
        writer.dvec3(self.position);
        writer.rotation(self.rotation);
        writer.vec3(self.velocity);
        writer.vec3(self.spin);
        write_material(writer, &self.material);
        writer.u8(self.continuous.into());
        shapes::write(writer, &self.shape);
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            position: reader.dvec3("position")?,
            rotation: reader.rotation("rotation")?,
            velocity: reader.vec3("velocity")?,
            spin: reader.vec3("spin")?,
            material: read_material(reader)?,
            continuous: reader.flag("is it swept")?,
            shape: shapes::read(reader)?,
        })
    }
}

pub(crate) fn write_material(writer: &mut Writer, material: &Material) {
    writer.f32(material.density);
    writer.f32(material.friction);
    writer.f32(material.restitution);
}

pub(crate) fn read_material(reader: &mut Reader) -> Read<Material> {
    Ok(Material {
        density: reader.f32("density")?,
        friction: reader.f32("friction")?,
        restitution: reader.f32("restitution")?,
    })
}

impl SceneChoice {
    fn write(&self, writer: &mut Writer) {
        let (kind, text) = match self {
            Self::BuiltIn(name) => (0, name),
            Self::Text(text) => (1, text),
        };
        writer.u8(kind);
        writer.long_text(text);
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        let is_text = reader.flag("is it a text")?;
        let text = reader.long_text("scene")?;
        Ok(if is_text {
            Self::Text(text)
        } else {
            Self::BuiltIn(text)
        })
    }
}

impl RegionPlan {
    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Layout { layout, count } => {
                let number = LAYOUTS.iter().position(|other| other == layout);
                writer.u8(0);
                // `Boxes` without boxes is no plan; nobody understands it.
                writer.u8(number.map_or(u8::MAX, |number| number as u8));
                writer.u16(*count);
            }
            Self::Boxes(boxes) => {
                writer.u8(1);
                writer.count(boxes.len());
                boxes.iter().for_each(|rect| write_rect(writer, rect));
            }
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        if reader.flag("are they boxes")? {
            let count = reader.count(32, MOST_BOXES, "boxes")?;
            let boxes: Read<Vec<Rect>> = (0..count).map(|_| read_rect(reader)).collect();
            return Ok(Self::Boxes(boxes?));
        }
        let number = reader.u8("layout")?;
        let Some(layout) = LAYOUTS.get(usize::from(number)) else {
            return Err(reader.error("layout", Why::UnknownKind(number)));
        };
        Ok(Self::Layout {
            layout: *layout,
            count: reader.u16("regions")?,
        })
    }
}

impl Injection {
    fn write(&self, writer: &mut Writer) {
        writer.dvec3(self.min);
        writer.dvec3(self.max);
        writer.f32(self.rate);
        writer.f32(self.secs);
        writer.vec3(self.velocity_min);
        writer.vec3(self.velocity_max);
        writer.count(self.shapes.len());
        self.shapes
            .iter()
            .for_each(|shape| shapes::write(writer, shape));
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            min: reader.dvec3("min")?,
            max: reader.dvec3("max")?,
            rate: reader.f32("rate")?,
            secs: reader.f32("seconds")?,
            velocity_min: reader.vec3("velocity")?,
            velocity_max: reader.vec3("velocity")?,
            shapes: {
                let count = reader.count(1, MOST_SHAPES, "shapes")?;
                let shapes: Read<Vec<Shape>> = (0..count).map(|_| shapes::read(reader)).collect();
                shapes?
            },
        })
    }
}
