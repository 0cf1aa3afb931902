//! What the checkers found: counts under the names of the command line's JSON, and the first violation in words.

use super::ledger::{Holder, Ledger, RollCall};
use super::recent::Recent;
use domain::{BodyId, RegionId, SimTime, Tick};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kinds of errors, one per promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// I2: a body is nowhere.
    Lost,
    /// I1: a body is in two places, or came from nowhere.
    Duplicated,
    /// I3: bodies of different owners overlap.
    CrossOwnerOverlap,
    /// F2: two bodies were deep in each other when their contact was first found.
    LateCollision,
    /// I8: a tick in which a body was not stepped.
    MissedUpdate,
    /// I8: a tick in which a body was stepped twice.
    DoubledUpdate,
    /// I6: an aura without its body, or a body without its aura.
    OrphanAura,
    /// I5: a cluster or an assembly was torn apart.
    SplitCluster,
    /// I4: an epoch did not rise by one, or an old one took effect.
    EpochError,
    /// I9: two bodies that could touch, and no member tested them.
    MissedPair,
    /// I9: two bodies that two members tested, or that were tested although they were apart.
    DoubledPair,
}

impl ErrorKind {
    /// The invariant of the design it breaks.
    pub fn invariant(self) -> &'static str {
        match self {
            Self::Duplicated => {
                "I1: every body has exactly one owner or is in exactly one handover"
            }
            Self::Lost => "I2: bodies are conserved",
            Self::CrossOwnerOverlap => "I3: bodies of different owners never overlap",
            Self::EpochError => "I4: a body's epoch rises by one at each change of owner",
            Self::SplitCluster => "I5: a cluster moves whole; joints never span two owners",
            Self::OrphanAura => "I6: after quiescence auras and projecting bodies match",
            Self::MissedUpdate | Self::DoubledUpdate => {
                "I8: every body is stepped exactly once per tick"
            }
            Self::MissedPair | Self::DoubledPair => {
                "I9: a pair that could contact is tested exactly once per tick in a group"
            }
            Self::LateCollision => "F2: a collision is found within one step of relative motion",
        }
    }
}

/// How often each kind of error occurred. The names are those of the command line's JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCounts {
    /// Bodies that are nowhere.
    pub lost: u64,
    /// Bodies in two places, or from nowhere.
    pub duplicated: u64,
    /// Pairs of bodies of different owners that began to overlap.
    pub cross_owner_overlaps: u64,
    /// Contacts found deeper than one step of relative motion.
    pub late_collisions: u64,
    /// Body ticks without a step.
    pub missed_updates: u64,
    /// Body ticks with two steps.
    pub doubled_updates: u64,
    /// Auras without a body, bodies without an aura.
    pub orphan_auras: u64,
    /// Clusters or assemblies torn apart.
    pub split_clusters: u64,
    /// Epochs that did not rise by one.
    pub epoch_errors: u64,
    /// Policy `replicate`: pairs that could touch and were tested by nobody.
    #[serde(default)]
    pub missed_pairs: u64,
    /// Policy `replicate`: pairs that were tested twice, or although they were apart.
    #[serde(default)]
    pub doubled_pairs: u64,
}

impl std::ops::AddAssign for ErrorCounts {
    fn add_assign(&mut self, other: Self) {
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.cross_owner_overlaps += other.cross_owner_overlaps;
        self.late_collisions += other.late_collisions;
        self.missed_updates += other.missed_updates;
        self.doubled_updates += other.doubled_updates;
        self.orphan_auras += other.orphan_auras;
        self.split_clusters += other.split_clusters;
        self.epoch_errors += other.epoch_errors;
        self.missed_pairs += other.missed_pairs;
        self.doubled_pairs += other.doubled_pairs;
    }
}

impl ErrorCounts {
    pub(crate) fn add(&mut self, kind: ErrorKind, count: u64) {
        *match kind {
            ErrorKind::Lost => &mut self.lost,
            ErrorKind::Duplicated => &mut self.duplicated,
            ErrorKind::CrossOwnerOverlap => &mut self.cross_owner_overlaps,
            ErrorKind::LateCollision => &mut self.late_collisions,
            ErrorKind::MissedUpdate => &mut self.missed_updates,
            ErrorKind::DoubledUpdate => &mut self.doubled_updates,
            ErrorKind::OrphanAura => &mut self.orphan_auras,
            ErrorKind::SplitCluster => &mut self.split_clusters,
            ErrorKind::EpochError => &mut self.epoch_errors,
            ErrorKind::MissedPair => &mut self.missed_pairs,
            ErrorKind::DoubledPair => &mut self.doubled_pairs,
        } += count;
    }

    /// All kinds together.
    pub fn total(&self) -> u64 {
        let Self {
            lost,
            duplicated,
            cross_owner_overlaps,
            late_collisions,
            missed_updates,
            doubled_updates,
            orphan_auras,
            split_clusters,
            epoch_errors,
            missed_pairs,
            doubled_pairs,
        } = self;
        lost + duplicated
            + cross_owner_overlaps
            + late_collisions
            + missed_updates
            + doubled_updates
            + orphan_auras
            + split_clusters
            + epoch_errors
            + missed_pairs
            + doubled_pairs
    }
}

/// A broken promise with everything needed to look for the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// What kind.
    pub kind: ErrorKind,
    /// When it was noticed.
    pub at: SimTime,
    /// The tick it speaks of.
    pub tick: Tick,
    /// Whom it is about.
    pub bodies: Vec<BodyId>,
    /// One sentence.
    pub what: String,
    /// One line per body: where it was and who had it, before the fact that showed the error.
    pub witnesses: Vec<String>,
    /// The latest facts about these bodies, oldest first.
    pub recent: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tick {} at {}: {}", self.tick, self.at, self.what)?;
        writeln!(f, "  broken: {}", self.kind.invariant())?;
        for witness in &self.witnesses {
            writeln!(f, "  {witness}")?;
        }
        if !self.recent.is_empty() {
            writeln!(f, "  latest facts about them:")?;
        }
        self.recent
            .iter()
            .try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// What a checker sees besides the fact: everything as it was before the fact.
pub(super) struct View<'a> {
    pub now: SimTime,
    pub ledger: &'a Ledger,
    /// Of the fact at hand, if it is a step.
    pub roll: &'a RollCall,
    pub recent: &'a Recent,
}

/// One error, before it is counted.
pub(super) struct Finding<'a> {
    pub kind: ErrorKind,
    pub count: u64,
    pub tick: Tick,
    pub bodies: &'a [BodyId],
    /// A known disturbance explains it.
    pub excused: bool,
}

/// All errors so far.
#[derive(Default)]
pub(super) struct Findings {
    pub errors: ErrorCounts,
    pub excused: ErrorCounts,
    pub first: Option<Violation>,
}

impl Findings {
    /// Counts an error; the sentence is only asked for if this is the first one.
    pub fn add(&mut self, view: &View<'_>, finding: Finding<'_>, what: impl FnOnce() -> String) {
        if finding.excused {
            self.excused.add(finding.kind, finding.count);
            return;
        }
        self.errors.add(finding.kind, finding.count);
        if self.first.is_none() {
            self.first = Some(Violation {
                kind: finding.kind,
                at: view.now,
                tick: finding.tick,
                bodies: finding.bodies.to_vec(),
                what: what(),
                witnesses: finding.bodies.iter().map(|b| witness(view, *b)).collect(),
                recent: view.recent.about(finding.bodies),
            });
        }
    }
}

fn witness(view: &View<'_>, body: BodyId) -> String {
    let Some(entry) = view.ledger.get(body) else {
        return format!("{body}: never born");
    };
    let (place, speed) = (entry.motion.position, entry.motion.linear_velocity);
    format!(
        "{body}: {}, {}, at ({:.3}, {:.3}, {:.3}) moving ({:.2}, {:.2}, {:.2}) at tick {}",
        describe(entry.holder),
        entry.epoch,
        place.x,
        place.y,
        place.z,
        speed.x,
        speed.y,
        speed.z,
        entry.tick
    )
}

/// Where a body is, in words.
pub(super) fn describe(holder: Holder) -> String {
    match holder {
        Holder::Owned(region) => format!("owned by {region}"),
        Holder::InFlight { from, to, handover } => {
            format!("in flight from {from} to {to} (handover {handover})")
        }
        Holder::Adrift(region) => format!("adrift since the crash of {region}"),
        Holder::Gone(region, tick) => format!("removed by {region} at tick {tick}"),
    }
}

/// The regions a holder involves: a disturbance of any of them explains what happens to the body.
pub(super) fn regions_of(holder: Option<Holder>) -> Vec<RegionId> {
    match holder {
        Some(Holder::Owned(r) | Holder::Adrift(r) | Holder::Gone(r, _)) => vec![r],
        Some(Holder::InFlight { from, to, .. }) => vec![from, to],
        None => Vec::new(),
    }
}
