//! What a client may look at besides bodies: auras, clusters, migrations, how the servers are. Nothing of it is gathered unless someone asks.
//!
//! ```text
//! part   kind u8 · region u16 · tick u64 · length u32 · that many bytes
//! ```
//! A part's bytes are written once and sent to everyone who looks at that layer.

use crate::bytes::{Read, Reader, Why, Writer};
use domain::{BodyId, Epoch, Motion, RegionId, Tick};
use glam::DVec3;

/// The most entries of one list.
const MOST: usize = 1 << 20;
/// The region of a part that speaks of no single one.
const NO_REGION: u16 = u16::MAX;

/// A set of layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layers(pub u16);

impl Layers {
    /// None.
    pub const NONE: Self = Self(0);
    /// Who projects to whom, and how far.
    pub const AURAS: Self = Self(0x0001);
    /// Which bodies near a border would migrate together.
    pub const CLUSTERS: Self = Self(0x0002);
    /// Each body's ownership, and whether it sleeps.
    pub const BODIES: Self = Self(0x0004);
    /// Bodies on their way to another region.
    pub const FLIGHT: Self = Self(0x0008);
    /// Bodies that have gone to another region.
    pub const MIGRATIONS: Self = Self(0x0010);
    /// Contacts between bodies that had different owners just before.
    pub const CROSSINGS: Self = Self(0x0020);
    /// How regions are, and who has them.
    pub const HEALTH: Self = Self(0x0040);
    /// What regions do and what it costs.
    pub const FIGURES: Self = Self(0x0080);
    /// Picked bodies exactly as they are simulated.
    pub const TRUTH: Self = Self(0x0100);
    /// All there are.
    pub const ALL: Self = Self(0x01ff);

    /// Are all of these among them?
    pub fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Are there none?
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// These and those.
    pub fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Those of them that are among the others too.
    pub fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }
}

/// One part of an inspection.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Whom it speaks of; `None`: no single region.
    pub region: Option<RegionId>,
    /// That region's tick.
    pub tick: Tick,
    /// What it says.
    pub content: Content,
}

/// What a part says.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// `01`: the auras of the region's own bodies; all of them.
    Auras(Vec<AuraMark>),
    /// `02`: the clusters of the region's bodies that are near a border; all of them.
    Clusters(Vec<ClusterMark>),
    /// `03`: bodies' ownership and sleep.
    Bodies {
        /// All there are; otherwise those that have changed.
        whole: bool,
        /// Which.
        bodies: Vec<BodyMark>,
    },
    /// `04`: the region's bodies that nobody has accepted yet; all of them.
    Flight(Vec<FlightMark>),
    /// `05`: bodies that have left the region since the last part.
    Migrations(Vec<MigrationMark>),
    /// `06`: contacts across borders that have begun since the last part.
    Crossings(Vec<CrossingMark>),
    /// `07`: how the region is.
    Health(Box<Health>),
    /// `08`: what the region does.
    Figures(Box<Figures>),
    /// `09`: picked bodies as they are simulated.
    Truth(Vec<TruthMark>),
}

/// ```text
/// body u64 · centre 3 × f64 · radius f32 · reach f32 · growth f32 · n u8 × region u16
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AuraMark {
    /// Whose.
    pub body: BodyId,
    /// The middle of the sphere.
    pub centre: DVec3,
    /// The body's own bounding radius.
    pub radius: f32,
    /// How far it reaches beyond that.
    pub reach: f32,
    /// How much it grows per tick at those who hear nothing of it.
    pub growth: f32,
    /// Who knows of it.
    pub audience: Vec<RegionId>,
}

/// ```text
/// body u64 · cluster u64 · since u64 · state u8
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterMark {
    /// Which.
    pub body: BodyId,
    /// The body that its cluster is named after.
    pub cluster: BodyId,
    /// Since when that one projects: of two clusters that want each other the older stays.
    pub since: Tick,
    /// Where it is in its owner's region.
    pub state: NearBorder,
}

/// Where a body near a border is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearBorder {
    /// Inside, not in a trigger boundary any more or not yet.
    Inside,
    /// In a trigger boundary.
    AtBoundary,
    /// Wholly outside its owner's region.
    Outside,
}

const PLACES: [NearBorder; 3] = [
    NearBorder::Inside,
    NearBorder::AtBoundary,
    NearBorder::Outside,
];

/// ```text
/// body u64 · epoch u32 · flags u8
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyMark {
    /// Which.
    pub body: BodyId,
    /// Its ownership.
    pub epoch: Epoch,
    /// How it is.
    pub flags: BodyFlags,
}

/// How a body is: 1 asleep, 2 between two owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyFlags {
    /// Not stepped until something touches it.
    pub asleep: bool,
    /// It has left its owner, and nobody has said yet to have it.
    pub homeless: bool,
}

/// ```text
/// body u64 · to u16 · epoch u32 · left u64 · place 3 × f64
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlightMark {
    /// Which.
    pub body: BodyId,
    /// To whom.
    pub to: RegionId,
    /// Its ownership there.
    pub epoch: Epoch,
    /// The last tick here.
    pub left: Tick,
    /// Where it was then.
    pub place: DVec3,
}

/// ```text
/// body u64 · epoch u32 · to u16 · tick u64 · cause u8 · place 3 × f64
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MigrationMark {
    /// Which.
    pub body: BodyId,
    /// Its new ownership.
    pub epoch: Epoch,
    /// To whom.
    pub to: RegionId,
    /// After which tick.
    pub tick: Tick,
    /// Why.
    pub cause: Cause,
    /// Where.
    pub place: DVec3,
}

/// Why a body has migrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It, or a body of its cluster, touched an aura.
    Aura,
    /// Its cluster was wholly in another region.
    Traversal,
    /// Its centre crossed the border (policy `naive`).
    Centre,
}

const CAUSES: [Cause; 3] = [Cause::Aura, Cause::Traversal, Cause::Centre];

/// ```text
/// a u64 · b u64 · a's region u16 · b's region u16 · tick u64 · speed f32 · place 3 × f64
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossingMark {
    /// The two bodies.
    pub bodies: [BodyId; 2],
    /// Where each of them has come from; one may have been here all the time.
    pub from: [RegionId; 2],
    /// When.
    pub tick: Tick,
    /// How fast they met, m/s.
    pub speed: f32,
    /// Where.
    pub place: DVec3,
}

/// ```text
/// state u8 · term u32 · server text · standby text · silent u32 ms · in term u32 ms · exceeded 3 × u64
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// How it is.
    pub state: HealthState,
    /// How many owners it has had.
    pub term: u32,
    /// Who has it; empty: nobody.
    pub server: String,
    /// Who would take over; empty: nobody.
    pub standby: String,
    /// How long the gateway has not heard of it, milliseconds.
    pub silent_ms: u32,
    /// How long it has had this owner as far as the gateway knows, milliseconds.
    pub in_term_ms: u32,
    /// How often the tolerances were exceeded: speed, latency, frame.
    pub exceeded: [u64; 3],
}

/// How a region is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HealthState {
    /// Nobody has it.
    #[default]
    Vacant,
    /// It waits for the world's start.
    Ready,
    /// It steps.
    Running,
    /// It was restored and waits for its neighbours' answers.
    Recovering,
    /// Nothing was heard of it for a while.
    Silent,
    /// It goes to another server on purpose.
    Moving,
}

const STATES: [HealthState; 6] = [
    HealthState::Vacant,
    HealthState::Ready,
    HealthState::Running,
    HealthState::Recovering,
    HealthState::Silent,
    HealthState::Moving,
];

/// Counters begin at zero with each term.
///
/// ```text
/// term u32 · ticks, late ticks, CPU, longest, budget 5 × u64 · bodies, awake, projecting, auras, in flight 5 × u32
///  · arrived, departed, bytes to regions, bytes to others 4 × u64
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Under which owner.
    pub term: u32,
    /// Ticks stepped.
    pub ticks: u64,
    /// Of these more than a step late.
    pub late_ticks: u64,
    /// CPU time of all ticks with their messages, nanoseconds; 0: not measured.
    pub cpu_ns: u64,
    /// The longest tick since the last part, nanoseconds of CPU time.
    pub longest_ns: u64,
    /// The length of a tick, nanoseconds.
    pub budget_ns: u64,
    /// Bodies owned.
    pub bodies: u32,
    /// Of these awake.
    pub awake: u32,
    /// Of these projecting.
    pub projecting: u32,
    /// Others' auras known.
    pub auras: u32,
    /// Bodies handed over and not yet accepted.
    pub in_flight: u32,
    /// Bodies that came from other regions.
    pub arrived: u64,
    /// Bodies that went to other regions.
    pub departed: u64,
    /// Bytes sent to other regions.
    pub bytes_to_regions: u64,
    /// Bytes sent to gateways, standbys, observers.
    pub bytes_to_others: u64,
}

/// ```text
/// body u64 · owner u16 · epoch u32 · tick u64 · position 3 × f64 · rotation · velocity 3 × f32 · spin 3 × f32 · flags u8
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruthMark {
    /// Which.
    pub body: BodyId,
    /// Who has it.
    pub owner: RegionId,
    /// Its ownership.
    pub epoch: Epoch,
    /// When.
    pub tick: Tick,
    /// Where, and how it moves.
    pub motion: Motion,
    /// How it is.
    pub flags: BodyFlags,
}

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
