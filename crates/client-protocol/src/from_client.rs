//! What a client sends.

use crate::bytes::{Malformed, Read, Reader, Why, Writer};
use crate::commands::Command;
use crate::inspection::Layers;
use domain::{BodyId, Rect, SimTime};

/// The most bodies that one client may pick.
pub const MOST_PICKED: usize = 16;

/// The part of the world a client wants to see.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Area {
    /// Nothing: it only commands and asks.
    Nothing,
    /// All of it.
    #[default]
    Everything,
    /// A rectangle on the ground plane.
    Rect(Rect),
}

/// The first message of a client.
///
/// ```text
/// client ──Hello──► gateway
/// 01 · version u16 · token text · area · rate u8
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hello {
    /// The version of the protocol it speaks.
    pub version: u16,
    /// Its secret; empty where none is needed.
    pub token: String,
    /// What it wants to see.
    pub area: Area,
    /// Messages with updates per second it wants; 0: as many as there are. Nothing is left out: fewer messages tell more each.
    pub rate: u8,
}

/// Any message of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ToGateway {
    /// The first one.
    Hello(Hello),
    /// I want to see another part of the world.
    ///
    /// ```text
    /// 02 · area
    /// ```
    Watch(Area),
    /// What time is it?
    ///
    /// ```text
    /// 03 · sent u64
    /// ```
    Ping {
        /// The client's own clock, nanoseconds; it comes back as it is.
        sent: SimTime,
    },
    /// Do or tell something.
    ///
    /// ```text
    /// 04 · id u32 · command
    /// ```
    Command {
        /// The client's number of it: higher than all before. It comes back with the answer.
        id: u32,
        /// What.
        command: Command,
    },
    /// I want to look at these layers, and at these bodies closely. What was asked before counts no more.
    ///
    /// ```text
    /// 05 · layers u16 · n u32 × body u64
    /// ```
    Inspect(Inspect),
    /// Tell me everything anew.
    ///
    /// ```text
    /// 06
    /// ```
    Anew,
}

/// What a client looks at besides bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspect {
    /// Which layers.
    pub layers: Layers,
    /// Bodies whose truth it wants.
    pub picked: Vec<BodyId>,
}

impl ToGateway {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let writer = match self {
            Self::Hello(hello) => {
                let mut writer = Writer::of_kind(0x01);
                writer.u16(hello.version);
                writer.text(&hello.token);
                hello.area.write(&mut writer);
                writer.u8(hello.rate);
                writer
            }
            Self::Watch(area) => {
                let mut writer = Writer::of_kind(0x02);
                area.write(&mut writer);
                writer
            }
            Self::Ping { sent } => {
                let mut writer = Writer::of_kind(0x03);
                writer.u64(sent.0);
                writer
            }
            Self::Command { id, command } => {
                let mut writer = Writer::of_kind(0x04);
                writer.u32(*id);
                command.write(&mut writer);
                writer
            }
            Self::Inspect(inspect) => {
                let mut writer = Writer::of_kind(0x05);
                inspect.write(&mut writer);
                writer
            }
            Self::Anew => Writer::of_kind(0x06),
        };
        writer.bytes
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let message = match reader.u8("kind")? {
            0x01 => Self::Hello(Hello::read(&mut reader)?),
            0x02 => Self::Watch(Area::read(&mut reader)?),
            0x03 => Self::Ping {
                sent: SimTime(reader.u64("time")?),
            },
            0x04 => Self::Command {
                id: reader.u32("command's id")?,
                command: Command::read(&mut reader)?,
            },
            0x05 => Self::Inspect(Inspect::read(&mut reader)?),
            0x06 => Self::Anew,
            other => return Err(reader.error("kind", Why::UnknownKind(other))),
        };
        reader.end()?;
        Ok(message)
    }
}

impl Hello {
    /// Another version may say more after its version: that is read first, so that it can be told so.
    fn read(reader: &mut Reader) -> Read<Self> {
        let version = reader.u16("version")?;
        if version != crate::VERSION {
            reader.take(reader.remaining(), "the rest")?;
            return Ok(Self {
                version,
                ..Self::default()
            });
        }
        Ok(Self {
            version,
            token: reader.text("token")?,
            area: Area::read(reader)?,
            rate: reader.u8("rate")?,
        })
    }
}

impl Inspect {
    fn write(&self, writer: &mut Writer) {
        writer.u16(self.layers.0);
        let picked = &self.picked[..self.picked.len().min(MOST_PICKED)];
        writer.count(picked.len());
        picked.iter().for_each(|body| writer.u64(body.0));
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        let layers = Layers(reader.u16("layers")?);
        if !Layers::ALL.contains(layers) {
            let why = Why::Senseless(format!("there are no layers 0x{:04x}", layers.0));
            return Err(reader.error("layers", why));
        }
        let count = reader.count(8, MOST_PICKED, "picked bodies")?;
        let picked = (0..count).map(|_| Ok(BodyId(reader.u64("body")?)));
        let picked = picked.collect::<Read<_>>()?;
        Ok(Self { layers, picked })
    }
}

/// `0` nothing · `1` everything · `2` min x, min z, max x, max z, 4 × f64.
impl Area {
    pub(crate) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Nothing => writer.u8(0),
            Self::Everything => writer.u8(1),
            Self::Rect(rect) => {
                writer.u8(2);
                let sides = rect.min.into_iter().chain(rect.max);
                sides.for_each(|side| writer.f64(side));
            }
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        match reader.u8("area")? {
            0 => Ok(Self::Nothing),
            1 => Ok(Self::Everything),
            2 => {
                let rect = read_rect(reader)?;
                Ok(Self::Rect(rect))
            }
            other => Err(reader.error("area", Why::UnknownKind(other))),
        }
    }
}

/// Four numbers that are a rectangle.
pub(crate) fn read_rect(reader: &mut Reader) -> Read<Rect> {
    let min = [reader.f64("min x")?, reader.f64("min z")?];
    let max = [reader.f64("max x")?, reader.f64("max z")?];
    if min[0] > max[0] || min[1] > max[1] {
        let why = Why::Senseless("max is below min".to_owned());
        return Err(reader.error("rectangle", why));
    }
    Ok(Rect { min, max })
}

pub(crate) fn write_rect(writer: &mut Writer, rect: &Rect) {
    let sides = rect.min.into_iter().chain(rect.max);
    sides.for_each(|side| writer.f64(side));
}
