//! What an update is made of: for each cell that a client watches, what has happened in it.
//!
//! ```text
//! section   kind u8 · cell u16 · length u32 · that many bytes
//! ```
//! The gateway writes a cell's sections once and sends the same bytes to everyone who watches the cell.

use crate::bytes::{Malformed, Read, Reader, Why, Writer};
use domain::{BodyId, RegionId};
use glam::Vec3;

/// The most entries of one list.
const MOST: usize = 1 << 20;

/// One section.
#[derive(Clone, Debug, PartialEq)]
pub enum Section<'a> {
    /// `01 · packet number u64 · frame u64`: the client gets this cell from now on. Forget what you knew of it; join its stream after this packet.
    Begin {
        /// The packet after which it joins.
        number: u64,
        /// The frame.
        frame: u64,
    },
    /// `02 · bytes`: a packet with which the stream is joined.
    Join(&'a [u8]),
    /// `03 · bytes`: the stream's next packet.
    Packet(&'a [u8]),
    /// `04`: the client no longer gets this cell. Its bodies are out of sight, unless another cell has them.
    End,
    /// `05 · n u32 × (body u64 · form u32 · owner u16)`: bodies that are new in the cell.
    Entered(Vec<BodyEntry>),
    /// `06 · n u32 × (body u64 · removed u8)`: bodies that have left the cell. One that has moved on is in its new cell already.
    Left(Vec<Departure>),
    /// `07 · n u32 × (body u64 · owner u16)`: bodies that have another owner.
    Owners(Vec<(BodyId, RegionId)>),
    /// `08 · n u32 × (place 3 × f32 · speed f32)`: contacts that began.
    Contacts(Vec<(Vec3, f32)>),
}

/// A body that is new in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyEntry {
    /// Which.
    pub body: BodyId,
    /// The number of its form.
    pub form: u32,
    /// Which region owns it.
    pub owner: RegionId,
}

/// A body that has left a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Which.
    pub body: BodyId,
    /// It is gone for good.
    pub removed: bool,
}

/// Sections as they came, each of them sound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sections {
    bytes: Vec<u8>,
}

impl Sections {
    /// The sections of one or several cells.
    pub fn new(parts: &[&SectionWriter]) -> Self {
        let parts = parts.iter().map(|part| part.bytes());
        Self {
            bytes: parts.collect::<Vec<_>>().concat(),
        }
    }

    /// As bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// One after another, with their cells.
    pub fn iter(&self) -> impl Iterator<Item = (u16, Section<'_>)> {
        let mut reader = Reader::new(&self.bytes);
        std::iter::from_fn(move || {
            (reader.remaining() > 0).then(|| read_section(&mut reader).expect("they were checked"))
        })
    }
}

/// Takes the rest of a message; every section in it must be sound.
pub(crate) fn check_sections(reader: &mut Reader) -> Result<Sections, Malformed> {
    let mut ahead = reader.clone();
    while ahead.remaining() > 0 {
        read_section(&mut ahead)?;
    }
    let bytes = reader.take(reader.remaining(), "sections")?.to_vec();
    Ok(Sections { bytes })
}

fn read_section<'a>(reader: &mut Reader<'a>) -> Read<(u16, Section<'a>)> {
    let kind = reader.u8("section")?;
    let cell = reader.u16("cell")?;
    let length = reader.u32("length")? as usize;
    let bytes = reader.take(length, "section")?;
    let mut reader = Reader::new(bytes);
    let section = match kind {
        0x01 => Section::Begin {
            number: reader.u64("packet number")?,
            frame: reader.u64("frame")?,
        },
        0x02 => return Ok((cell, Section::Join(bytes))),
        0x03 => return Ok((cell, Section::Packet(bytes))),
        0x04 => Section::End,
        0x05 => {
            let count = reader.count(14, MOST, "bodies")?;
            let bodies = (0..count).map(|_| {
                Ok(BodyEntry {
                    body: BodyId(reader.u64("body")?),
                    form: reader.u32("form")?,
                    owner: RegionId(reader.u16("owner")?.into()),
                })
            });
            Section::Entered(bodies.collect::<Read<_>>()?)
        }
        0x06 => {
            let count = reader.count(9, MOST, "bodies")?;
            let bodies = (0..count).map(|_| {
                Ok(Departure {
                    body: BodyId(reader.u64("body")?),
                    removed: reader.flag("removed")?,
                })
            });
            Section::Left(bodies.collect::<Read<_>>()?)
        }
        0x07 => {
            let count = reader.count(10, MOST, "bodies")?;
            let bodies = (0..count).map(|_| {
                let body = BodyId(reader.u64("body")?);
                Ok((body, RegionId(reader.u16("owner")?.into())))
            });
            Section::Owners(bodies.collect::<Read<_>>()?)
        }
        0x08 => {
            let count = reader.count(16, MOST, "contacts")?;
            let contacts = (0..count).map(|_| Ok((reader.vec3("place")?, reader.f32("speed")?)));
            Section::Contacts(contacts.collect::<Read<_>>()?)
        }
        other => return Err(reader.error("section", Why::UnknownKind(other))),
    };
    reader.end()?;
    Ok((cell, section))
}

/// Writes the sections of one cell.
#[derive(Clone, Debug)]
pub struct SectionWriter {
    cell: u16,
    writer: Writer,
}

impl SectionWriter {
    /// Nothing yet.
    pub fn new(cell: u16) -> Self {
        let writer = Writer::default();
        Self { cell, writer }
    }

    /// Everything written.
    pub fn bytes(&self) -> &[u8] {
        &self.writer.bytes
    }

    /// Appends a section. A list without entries is left out.
    pub fn push(&mut self, section: &Section) {
        let mut body = Writer::default();
        let kind = match section {
            Section::Begin { number, frame } => {
                body.u64(*number);
                body.u64(*frame);
                0x01
            }
            Section::Join(bytes) => {
                body.bytes.extend(*bytes);
                0x02
            }
            Section::Packet(bytes) => {
                body.bytes.extend(*bytes);
                0x03
            }
            Section::End => 0x04,
            Section::Entered(bodies) => {
                body.count(bodies.len());
                for entry in bodies {
                    body.u64(entry.body.0);
                    body.u32(entry.form);
                    body.u16(short(entry.owner));
                }
                0x05
            }
            Section::Left(bodies) => {
                body.count(bodies.len());
                for left in bodies {
                    body.u64(left.body.0);
                    body.u8(left.removed.into());
                }
                0x06
            }
            Section::Owners(bodies) => {
                body.count(bodies.len());
                for (id, owner) in bodies {
                    body.u64(id.0);
                    body.u16(short(*owner));
                }
                0x07
            }
            Section::Contacts(contacts) => {
                body.count(contacts.len());
                for (place, speed) in contacts {
                    body.vec3(*place);
                    body.f32(*speed);
                }
                0x08
            }
        };
        let is_list = kind >= 0x05;
        if is_list && body.bytes.len() == 4 {
            return;
        }
        self.writer.u8(kind);
        self.writer.u16(self.cell);
        self.writer.count(body.bytes.len());
        self.writer.bytes.extend(body.bytes);
    }
}

/// Maps have at most 1024 regions.
fn short(region: RegionId) -> u16 {
    u16::try_from(region.0).unwrap_or(u16::MAX)
}
