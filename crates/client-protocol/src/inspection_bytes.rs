//! The bytes of inspections: what [`Part`]s are made of.

use crate::bytes::{Read, Reader, Why, Writer};
use crate::inspection::{
    AuraMark, BodyFlags, BodyMark, CAUSES, ClusterMark, Content, CrossingMark, Figures, FlightMark,
    Health, Layers, MigrationMark, PLACES, Part, STATES, TruthMark,
};
use domain::{BodyId, Epoch, Motion, RegionId, Tick};

/// The region of a part that speaks of no single one.
const NO_REGION: u16 = u16::MAX;
/// The most entries of one list.
const MOST: usize = 1 << 20;
impl Content {
    /// Its number.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Auras(_) => 0x01,
            Self::Clusters(_) => 0x02,
            Self::Bodies { .. } => 0x03,
            Self::Flight(_) => 0x04,
            Self::Migrations(_) => 0x05,
            Self::Crossings(_) => 0x06,
            Self::Health(_) => 0x07,
            Self::Figures(_) => 0x08,
            Self::Truth(_) => 0x09,
        }
    }

    /// The layer it belongs to.
    pub fn layer(&self) -> Layers {
        Layers(1 << (self.kind() - 1))
    }

    fn write(&self, out: &mut Writer) {
        match self {
            Self::Auras(auras) => write_list(out, auras, AuraMark::write),
            Self::Clusters(bodies) => write_list(out, bodies, ClusterMark::write),
            Self::Bodies { whole, bodies } => {
                out.u8((*whole).into());
                write_list(out, bodies, BodyMark::write);
            }
            Self::Flight(bodies) => write_list(out, bodies, FlightMark::write),
            Self::Migrations(bodies) => write_list(out, bodies, MigrationMark::write),
            Self::Crossings(contacts) => write_list(out, contacts, CrossingMark::write),
            Self::Health(health) => health.write(out),
            Self::Figures(figures) => figures.write(out),
            Self::Truth(bodies) => write_list(out, bodies, TruthMark::write),
        }
    }

    fn read(kind: u8, from: &mut Reader) -> Read<Self> {
        Ok(match kind {
            0x01 => Self::Auras(read_list(from, 45, "auras", AuraMark::read)?),
            0x02 => Self::Clusters(read_list(from, 25, "clusters", ClusterMark::read)?),
            0x03 => Self::Bodies {
                whole: from.flag("whole")?,
                bodies: read_list(from, 13, "bodies", BodyMark::read)?,
            },
            0x04 => Self::Flight(read_list(from, 46, "bodies in flight", FlightMark::read)?),
            0x05 => Self::Migrations(read_list(from, 47, "migrations", MigrationMark::read)?),
            0x06 => Self::Crossings(read_list(from, 56, "crossings", CrossingMark::read)?),
            0x07 => Self::Health(Box::new(Health::read(from)?)),
            0x08 => Self::Figures(Box::new(Figures::read(from)?)),
            0x09 => Self::Truth(read_list(from, 87, "truth", TruthMark::read)?),
            other => return Err(from.error("part", Why::UnknownKind(other))),
        })
    }
}

impl Part {
    /// As bytes, to be put behind [`begin_inspection`](crate::begin_inspection).
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        self.write(&mut writer);
        writer.bytes
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        let mut body = Writer::default();
        self.content.write(&mut body);
        out.u8(self.content.kind());
        out.u16(self.region.map_or(NO_REGION, short));
        out.u64(self.tick.0);
        out.count(body.bytes.len());
        out.bytes.extend(body.bytes);
    }

    pub(crate) fn read(from: &mut Reader) -> Read<Self> {
        let kind = from.u8("part")?;
        let region = from.u16("region")?;
        let tick = Tick(from.u64("tick")?);
        let length = from.u32("length")? as usize;
        let mut body = Reader::new(from.take(length, "part")?);
        let content = Content::read(kind, &mut body)?;
        body.end()?;
        Ok(Self {
            region: (region != NO_REGION).then_some(RegionId(region.into())),
            tick,
            content,
        })
    }
}

fn write_list<T>(out: &mut Writer, entries: &[T], write: impl Fn(&T, &mut Writer)) {
    let entries = &entries[..entries.len().min(MOST)];
    out.count(entries.len());
    entries.iter().for_each(|entry| write(entry, out));
}

fn read_list<T>(
    from: &mut Reader,
    least: usize,
    what: &'static str,
    read: impl Fn(&mut Reader) -> Read<T>,
) -> Read<Vec<T>> {
    let count = from.count(least, MOST, what)?;
    (0..count).map(|_| read(from)).collect()
}

/// One of few.
fn read_one<T: Copy>(from: &mut Reader, all: &[T], what: &'static str) -> Read<T> {
    let number = from.u8(what)?;
    let known = all.get(usize::from(number)).copied();
    known.ok_or_else(|| from.error(what, Why::UnknownKind(number)))
}

fn number_of<T: PartialEq>(all: &[T], one: &T) -> u8 {
    let at = all.iter().position(|other| other == one);
    at.expect("all are listed") as u8
}

fn region(from: &mut Reader) -> Read<RegionId> {
    Ok(RegionId(from.u16("region")?.into()))
}

/// Maps have at most 1024 regions.
fn short(region: RegionId) -> u16 {
    u16::try_from(region.0).unwrap_or(NO_REGION - 1)
}

impl AuraMark {
    fn write(&self, out: &mut Writer) {
        out.u64(self.body.0);
        out.dvec3(self.centre);
        for number in [self.radius, self.reach, self.growth] {
            out.f32(number);
        }
        let audience = &self.audience[..self.audience.len().min(255)];
        out.u8(audience.len() as u8);
        audience.iter().for_each(|region| out.u16(short(*region)));
    }

    fn read(from: &mut Reader) -> Read<Self> {
        Ok(Self {
            body: BodyId(from.u64("body")?),
            centre: from.dvec3("centre")?,
            radius: from.f32("radius")?,
            reach: from.f32("reach")?,
            growth: from.f32("growth")?,
            audience: {
                let count = from.u8("audience")?;
                (0..count).map(|_| region(from)).collect::<Read<_>>()?
            },
        })
    }
}

impl ClusterMark {
    fn write(&self, out: &mut Writer) {
        out.u64(self.body.0);
        out.u64(self.cluster.0);
        out.u64(self.since.0);
        out.u8(number_of(&PLACES, &self.state));
    }

    fn read(from: &mut Reader) -> Read<Self> {
        Ok(Self {
            body: BodyId(from.u64("body")?),
            cluster: BodyId(from.u64("cluster")?),
            since: Tick(from.u64("since")?),
            state: read_one(from, &PLACES, "state")?,
        })
    }
}

impl BodyFlags {
    fn write(self, out: &mut Writer) {
        out.u8(u8::from(self.asleep) | u8::from(self.homeless) << 1);
    }

    fn read(from: &mut Reader) -> Read<Self> {
        let flags = from.u8("flags")?;
        if flags > 3 {
            return Err(from.error("flags", Why::UnknownKind(flags)));
        }
        Ok(Self {
            asleep: flags & 1 != 0,
            homeless: flags & 2 != 0,
        })
    }
}

impl BodyMark {
    fn write(&self, out: &mut Writer) {
        out.u64(self.body.0);
        out.u32(self.epoch.0);
        self.flags.write(out);
    }

    fn read(from: &mut Reader) -> Read<Self> {
        Ok(Self {
            body: BodyId(from.u64("body")?),
            epoch: Epoch(from.u32("epoch")?),
            flags: BodyFlags::read(from)?,
        })
    }
}

impl FlightMark {
    fn write(&self, out: &mut Writer) {
        out.u64(self.body.0);
        out.u16(short(self.to));
        out.u32(self.epoch.0);
        out.u64(self.left.0);
        out.dvec3(self.place);
    }

    fn read(from: &mut Reader) -> Read<Self> {
        Ok(Self {
            body: BodyId(from.u64("body")?),
            to: region(from)?,
            epoch: Epoch(from.u32("epoch")?),
            left: Tick(from.u64("left")?),
            place: from.dvec3("place")?,
        })
    }
}

impl MigrationMark {
    fn write(&self, out: &mut Writer) {
        out.u64(self.body.0);
        out.u32(self.epoch.0);
        out.u16(short(self.to));
        out.u64(self.tick.0);
        out.u8(number_of(&CAUSES, &self.cause));
        out.dvec3(self.place);
    }

    fn read(from: &mut Reader) -> Read<Self> {
        Ok(Self {
            body: BodyId(from.u64("body")?),
            epoch: Epoch(from.u32("epoch")?),
            to: region(from)?,
            tick: Tick(from.u64("tick")?),
            cause: read_one(from, &CAUSES, "cause")?,
            place: from.dvec3("place")?,
        })
    }
}

impl CrossingMark {
    fn write(&self, out: &mut Writer) {
        self.bodies.iter().for_each(|body| out.u64(body.0));
        self.from.iter().for_each(|region| out.u16(short(*region)));
        out.u64(self.tick.0);
        out.f32(self.speed);
        out.dvec3(self.place);
    }

    fn read(from: &mut Reader) -> Read<Self> {
        Ok(Self {
            bodies: [BodyId(from.u64("body")?), BodyId(from.u64("body")?)],
            from: [region(from)?, region(from)?],
            tick: Tick(from.u64("tick")?),
            speed: from.f32("speed")?,
            place: from.dvec3("place")?,
        })
    }
}

impl Health {
    fn write(&self, out: &mut Writer) {
        out.u8(number_of(&STATES, &self.state));
        out.u32(self.term);
        out.text(&self.server);
        out.text(&self.standby);
        out.u32(self.silent_ms);
        out.u32(self.in_term_ms);
        self.exceeded.iter().for_each(|count| out.u64(*count));
    }

    fn read(from: &mut Reader) -> Read<Self> {
        Ok(Self {
            state: read_one(from, &STATES, "state")?,
            term: from.u32("term")?,
            server: from.text("server")?,
            standby: from.text("standby")?,
            silent_ms: from.u32("silent")?,
            in_term_ms: from.u32("in term")?,
            exceeded: [from.u64("speed")?, from.u64("latency")?, from.u64("frame")?],
        })
    }
}

impl Figures {
    fn write(&self, out: &mut Writer) {
        out.u32(self.term);
        for number in [
            self.ticks,
            self.late_ticks,
            self.cpu_ns,
            self.longest_ns,
            self.budget_ns,
        ] {
            out.u64(number);
        }
        for number in [
            self.bodies,
            self.awake,
            self.projecting,
            self.auras,
            self.in_flight,
        ] {
            out.u32(number);
        }
        for number in [
            self.arrived,
            self.departed,
            self.bytes_to_regions,
            self.bytes_to_others,
        ] {
            out.u64(number);
        }
    }

    fn read(from: &mut Reader) -> Read<Self> {
        Ok(Self {
            term: from.u32("term")?,
            ticks: from.u64("ticks")?,
            late_ticks: from.u64("late ticks")?,
            cpu_ns: from.u64("CPU time")?,
            longest_ns: from.u64("longest tick")?,
            budget_ns: from.u64("budget")?,
            bodies: from.u32("bodies")?,
            awake: from.u32("awake")?,
            projecting: from.u32("projecting")?,
            auras: from.u32("auras")?,
            in_flight: from.u32("in flight")?,
            arrived: from.u64("arrived")?,
            departed: from.u64("departed")?,
            bytes_to_regions: from.u64("bytes")?,
            bytes_to_others: from.u64("bytes")?,
        })
    }
}

impl TruthMark {
    fn write(&self, out: &mut Writer) {
        out.u64(self.body.0);
        out.u16(short(self.owner));
        out.u32(self.epoch.0);
        out.u64(self.tick.0);
        out.dvec3(self.motion.position);
        out.rotation(self.motion.rotation);
        out.vec3(self.motion.linear_velocity);
        out.vec3(self.motion.angular_velocity);
        self.flags.write(out);
    }

    fn read(from: &mut Reader) -> Read<Self> {
        Ok(Self {
            body: BodyId(from.u64("body")?),
            owner: region(from)?,
            epoch: Epoch(from.u32("epoch")?),
            tick: Tick(from.u64("tick")?),
            motion: Motion {
                position: from.dvec3("position")?,
                rotation: from.rotation("rotation")?,
                linear_velocity: from.vec3("velocity")?,
                angular_velocity: from.vec3("spin")?,
            },
            flags: BodyFlags::read(from)?,
        })
    }
}
