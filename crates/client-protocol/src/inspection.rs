//! What a client may look at besides bodies: auras, clusters, migrations, how the servers are. Nothing of it is gathered unless someone asks.
//!
//! ```text
//! part   kind u8 · region u16 · tick u64 · length u32 · that many bytes
//! ```
//! A part's bytes are written once and sent to everyone who looks at that layer.

use domain::{BodyId, Epoch, Motion, RegionId, Tick};
use glam::DVec3;

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

pub(crate) const PLACES: [NearBorder; 3] = [
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

pub(crate) const CAUSES: [Cause; 3] = [Cause::Aura, Cause::Traversal, Cause::Centre];

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

pub(crate) const STATES: [HealthState; 6] = [
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
