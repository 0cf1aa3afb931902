//! What a gateway sends.

use crate::answers::Answer;
use crate::bytes::{Malformed, Read, Reader, Why, Writer};
use crate::commands::{read_material, write_material};
use crate::from_client::{read_rect, write_rect};
use crate::inspection::Part;
use crate::sections::{Sections, check_sections};
use crate::shapes;
use domain::{Material, Rect, RegionId, Shape, SimTime, StaticId, TickLength};
use glam::{DVec3, Quat};

/// The most entries of one list.
const MOST: usize = 1 << 20;

/// The answer to a [`Hello`](crate::Hello): you are in, and this is how the stream works.
///
/// ```text
/// gateway ──Welcome──► client
/// 81 · version u16 · session u64 · role u8 · clock u64
///    · tick f64 · frame ticks u8 · delay frames u8 · tolerance f32 m, f32 rad
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welcome {
    /// The protocol's version.
    pub version: u16,
    /// The connection's number, for logs.
    pub session: u64,
    /// 0 may look, 1 may play, 2 may do everything.
    pub role: u8,
    /// The cluster's time when this was sent, nanoseconds of Unix time.
    pub clock: SimTime,
    /// The length of a physics step.
    pub tick: TickLength,
    /// Physics steps from one update to the next; the unit of the stream's time is this many ticks.
    pub frame_ticks: u8,
    /// How many frames behind the newest update clients should show the world.
    pub delay_frames: u8,
    /// How far from the truth a body is shown at most, metres.
    pub tolerance_m: f32,
    /// And how far turned, radians.
    pub tolerance_rad: f32,
}

/// The world that is simulated now. Another one than before: forget all cells, bodies, forms and scenery.
///
/// ```text
/// 82 · generation u32 · start u64 · name text · gravity 3 × f64 · fastest f64 · extent
///    · cells x u16, z u16 · n u32 × (rectangle, server text)
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WorldMessage {
    /// One more whenever the world starts anew.
    pub generation: u32,
    /// When tick 0 was or will be, nanoseconds of Unix time; 0: not known yet, this message will come again.
    pub start: SimTime,
    /// The scene's name.
    pub name: String,
    /// m/s².
    pub gravity: DVec3,
    /// The fastest this world is made for, m/s; who spawns a faster body is refused. 0: nothing is known of a limit.
    pub fastest: f64,
    /// The part of the ground plane that is divided.
    pub extent: Rect,
    /// The extent is cut into so many cells along x and z; cell number = row · x + column. Outer cells reach to infinity.
    pub cells: [u16; 2],
    /// All regions in the order of their numbers.
    pub regions: Vec<RegionMark>,
}

/// A region for people to look at.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionMark {
    /// Its part of the extent.
    pub rect: Rect,
    /// Who simulates it; empty: nobody just now.
    pub server: String,
}

/// A piece of scenery.
///
/// ```text
/// id u32 · position 3 × f64 · rotation 4 × f32 · density, friction, restitution f32 · shape
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Its name.
    pub id: StaticId,
    /// Where.
    pub position: DVec3,
    /// How turned.
    pub rotation: Quat,
    /// What it is made of.
    pub material: Material,
    /// Its geometry.
    pub shape: Shape,
}

/// A shape that bodies have, under a number. It replaces an earlier one of this number, which nothing has any more.
///
/// ```text
/// number u32 · shape
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FormEntry {
    /// Its number.
    pub number: u32,
    /// The geometry.
    pub shape: Shape,
}

/// Why the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Goodbye {
    /// Another version of the protocol.
    Version,
    /// A wrong token, or none where one is needed.
    Token,
    /// A message that is none, or not in its place.
    Malformed,
    /// Too many messages.
    Flooding,
    /// It does not read what it is sent.
    TooSlow,
    /// It has not said hello, or nothing for a long time.
    Silent,
    /// The gateway ends.
    Stopping,
}

const REASONS: [Goodbye; 7] = [
    Goodbye::Version,
    Goodbye::Token,
    Goodbye::Malformed,
    Goodbye::Flooding,
    Goodbye::TooSlow,
    Goodbye::Silent,
    Goodbye::Stopping,
];

/// Any message of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum ToClient {
    /// The answer to a hello.
    Welcome(Welcome),
    /// The world.
    World(WorldMessage),
    /// Scenery, besides what is known already.
    ///
    /// ```text
    /// 83 · n u32 × piece
    /// ```
    Statics(Vec<Piece>),
    /// Shapes of bodies.
    ///
    /// ```text
    /// 84 · n u32 × form
    /// ```
    Forms(Vec<FormEntry>),
    /// What has happened since the last update.
    ///
    /// ```text
    /// 85 · frame u64 · sections
    /// ```
    Update {
        /// The newest frame it tells of.
        frame: u64,
        /// What happened in the cells that the client watches.
        sections: Sections,
    },
    /// The answer to a ping.
    ///
    /// ```text
    /// 86 · sent u64 · received u64 · replied u64
    /// ```
    Pong {
        /// As it was in the ping.
        sent: SimTime,
        /// When the ping came, the cluster's time.
        received: SimTime,
        /// When this was sent, the cluster's time.
        replied: SimTime,
    },
    /// The answer to a command.
    ///
    /// ```text
    /// 87 · id u32 · answer
    /// ```
    Answer {
        /// The command's number.
        id: u32,
        /// The answer.
        answer: Answer,
    },
    /// The last message.
    ///
    /// ```text
    /// 88 · reason u8 · text
    /// ```
    Goodbye {
        /// Why.
        reason: Goodbye,
        /// In words.
        text: String,
    },
    /// What the client looks at besides bodies.
    ///
    /// ```text
    /// 89 · frame u64 · parts
    /// ```
    Inspection {
        /// The newest frame when it was sent.
        frame: u64,
        /// One for each layer and region.
        parts: Vec<Part>,
    },
    /// What this gateway offers.
    Features(Features),
}

/// What a gateway offers; it comes after the welcome, and again when the emulated network changes.
///
/// ```text
/// 8a · flags u8 · latency f32 ms · jitter f32 ms · loss f32 · n u32 × (name text, about text)
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// It is a demonstration: servers may be killed, the network made worse.
    pub demo: bool,
    /// The network that is emulated between servers; all zero: none.
    pub network: EmulatedNetwork,
    /// Built-in scenes: name, and what there is to see.
    pub scenes: Vec<(String, String)>,
}

/// A bad network between servers, made on purpose.
///
/// ```text
/// latency f32 ms · jitter f32 ms · loss f32
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EmulatedNetwork {
    /// Added to each datagram's way, milliseconds.
    pub latency_ms: f32,
    /// And up to so much more, milliseconds.
    pub jitter_ms: f32,
    /// The share that is lost, from 0 to 1.
    pub loss: f32,
}

impl EmulatedNetwork {
    pub(crate) fn write(&self, writer: &mut Writer) {
        for number in [self.latency_ms, self.jitter_ms, self.loss] {
            writer.f32(number);
        }
    }

    pub(crate) fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            latency_ms: reader.f32("latency")?,
            jitter_ms: reader.f32("jitter")?,
            loss: reader.f32("loss")?,
        })
    }
}

/// An inspection's first bytes; parts, encoded one by one, follow.
pub fn begin_inspection(frame: u64) -> Vec<u8> {
    let mut writer = Writer::of_kind(0x89);
    writer.u64(frame);
    writer.bytes
}

/// An update's first bytes; what [`SectionWriter`](crate::SectionWriter) wrote follows.
pub fn begin_update(frame: u64) -> Vec<u8> {
    let mut writer = Writer::of_kind(0x85);
    writer.u64(frame);
    writer.bytes
}

impl ToClient {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer;
        match self {
            Self::Welcome(welcome) => {
                writer = Writer::of_kind(0x81);
                welcome.write(&mut writer);
            }
            Self::World(world) => {
                writer = Writer::of_kind(0x82);
                world.write(&mut writer);
            }
            Self::Statics(pieces) => {
                writer = Writer::of_kind(0x83);
                writer.count(pieces.len());
                pieces.iter().for_each(|piece| piece.write(&mut writer));
            }
            Self::Forms(forms) => {
                writer = Writer::of_kind(0x84);
                writer.count(forms.len());
                for form in forms {
                    writer.u32(form.number);
                    shapes::write(&mut writer, &form.shape);
                }
            }
            Self::Update { frame, sections } => {
                let bytes = begin_update(*frame);
                writer = Writer { bytes };
                writer.bytes.extend(sections.bytes());
            }
            Self::Pong {
                sent,
                received,
                replied,
            } => {
                writer = Writer::of_kind(0x86);
                for time in [sent, received, replied] {
                    writer.u64(time.0);
                }
            }
            Self::Answer { id, answer } => {
                writer = Writer::of_kind(0x87);
                writer.u32(*id);
                answer.write(&mut writer);
            }
            Self::Goodbye { reason, text } => {
                writer = Writer::of_kind(0x88);
                let number = REASONS.iter().position(|other| other == reason);
                writer.u8(number.expect("all reasons are listed") as u8 + 1);
                writer.text(text);
            }
            Self::Inspection { frame, parts } => {
                let bytes = begin_inspection(*frame);
                writer = Writer { bytes };
                parts.iter().for_each(|part| part.write(&mut writer));
            }
            Self::Features(features) => {
                writer = Writer::of_kind(0x8a);
                features.write(&mut writer);
            }
        }
        writer.bytes
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let message = match reader.u8("kind")? {
            0x81 => Self::Welcome(Welcome::read(&mut reader)?),
            0x82 => Self::World(WorldMessage::read(&mut reader)?),
            0x83 => {
                let count = reader.count(54, MOST, "scenery")?;
                let pieces = (0..count).map(|_| Piece::read(&mut reader));
                Self::Statics(pieces.collect::<Read<_>>()?)
            }
            0x84 => {
                let count = reader.count(5, MOST, "forms")?;
                let forms = (0..count).map(|_| {
                    Ok(FormEntry {
                        number: reader.u32("form's number")?,
                        shape: shapes::read(&mut reader)?,
                    })
                });
                Self::Forms(forms.collect::<Read<_>>()?)
            }
            0x85 => Self::Update {
                frame: reader.u64("frame")?,
                sections: check_sections(&mut reader)?,
            },
            0x86 => Self::Pong {
                sent: SimTime(reader.u64("sent")?),
                received: SimTime(reader.u64("received")?),
                replied: SimTime(reader.u64("replied")?),
            },
            0x87 => Self::Answer {
                id: reader.u32("command's id")?,
                answer: Answer::read(&mut reader)?,
            },
            0x88 => {
                let number = reader.u8("reason")?;
                let reason = usize::from(number)
                    .checked_sub(1)
                    .and_then(|at| REASONS.get(at));
                let Some(reason) = reason.copied() else {
                    return Err(reader.error("reason", Why::UnknownKind(number)));
                };
                let text = reader.text("text")?;
                Self::Goodbye { reason, text }
            }
            0x89 => {
                let frame = reader.u64("frame")?;
                let mut parts = Vec::new();
                while reader.remaining() > 0 {
                    parts.push(Part::read(&mut reader)?);
                }
                Self::Inspection { frame, parts }
            }
            0x8a => Self::Features(Features::read(&mut reader)?),
            other => return Err(reader.error("kind", Why::UnknownKind(other))),
        };
        reader.end()?;
        Ok(message)
    }
}

impl Features {
    fn write(&self, writer: &mut Writer) {
        writer.u8(self.demo.into());
        self.network.write(writer);
        writer.count(self.scenes.len());
        for (name, about) in &self.scenes {
            writer.text(name);
            writer.text(about);
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            demo: reader.flag("demo")?,
            network: EmulatedNetwork::read(reader)?,
            scenes: {
                let count = reader.count(4, MOST, "scenes")?;
                let scenes = (0..count).map(|_| Ok((reader.text("name")?, reader.text("about")?)));
                scenes.collect::<Read<_>>()?
            },
        })
    }
}

impl Welcome {
    fn write(&self, writer: &mut Writer) {
        writer.u16(self.version);
        writer.u64(self.session);
        writer.u8(self.role);
        writer.u64(self.clock.0);
        writer.f64(self.tick.as_secs());
        writer.u8(self.frame_ticks);
        writer.u8(self.delay_frames);
        writer.f32(self.tolerance_m);
        writer.f32(self.tolerance_rad);
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            version: reader.u16("version")?,
            session: reader.u64("session")?,
            role: reader.u8("role")?,
            clock: SimTime(reader.u64("clock")?),
            tick: {
                let secs = reader.f64("tick")?;
                let why = || Why::Senseless("not a length of time".to_owned());
                TickLength::from_secs(secs).ok_or_else(|| reader.error("tick", why()))?
            },
            frame_ticks: reader.u8("frame ticks")?,
            delay_frames: reader.u8("delay frames")?,
            tolerance_m: reader.f32("tolerance")?,
            tolerance_rad: reader.f32("tolerance")?,
        })
    }
}

impl WorldMessage {
    /// The cell of a place.
    pub fn cell_at(&self, x: f64, z: f64) -> u16 {
        let along = |i: usize, v: f64| {
            let (min, max) = (self.extent.min[i], self.extent.max[i]);
            let count = f64::from(self.cells[i].max(1));
            ((v - min) / (max - min) * count).clamp(0.0, count - 1.0) as u16
        };
        along(1, z) * self.cells[0].max(1) + along(0, x)
    }

    /// Who simulates a region.
    pub fn server_of(&self, region: RegionId) -> Option<&str> {
        Some(&self.regions.get(region.0 as usize)?.server)
    }

    fn write(&self, writer: &mut Writer) {
        writer.u32(self.generation);
        writer.u64(self.start.0);
        writer.text(&self.name);
        writer.dvec3(self.gravity);
        writer.f64(self.fastest);
        write_rect(writer, &self.extent);
        for count in self.cells {
            writer.u16(count);
        }
        writer.count(self.regions.len());
        for region in &self.regions {
            write_rect(writer, &region.rect);
            writer.text(&region.server);
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            generation: reader.u32("generation")?,
            start: SimTime(reader.u64("start")?),
            name: reader.text("name")?,
            gravity: reader.dvec3("gravity")?,
            fastest: reader.f64("fastest")?,
            extent: read_rect(reader)?,
            cells: [reader.u16("cells")?, reader.u16("cells")?],
            regions: {
                let count = reader.count(34, MOST, "regions")?;
                let regions = (0..count).map(|_| {
                    Ok(RegionMark {
                        rect: read_rect(reader)?,
                        server: reader.text("server")?,
                    })
                });
                regions.collect::<Read<_>>()?
            },
        })
    }
}

impl Piece {
    fn write(&self, writer: &mut Writer) {
        writer.u32(self.id.0);
        writer.dvec3(self.position);
        writer.rotation(self.rotation);
        write_material(writer, &self.material);
        shapes::write(writer, &self.shape);
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            id: StaticId(reader.u32("id")?),
            position: reader.dvec3("position")?,
            rotation: reader.rotation("rotation")?,
            material: read_material(reader)?,
            shape: shapes::read(reader)?,
        })
    }
}
