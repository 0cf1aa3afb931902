//! What the control plane holds, key by key. Values are JSON, so that people can read them with any client of the store.
//!
//! | key | holds | written by |
//! |---|---|---|
//! | `auramesh/CLUSTER/leader` | [`Leader`], leased | the coordinator that wins it |
//! | `auramesh/CLUSTER/nodes/NODE` | [`NodeInfo`], leased | each process, of itself |
//! | `auramesh/CLUSTER/world` | [`WorldSpec`] | the leading coordinator |
//! | `auramesh/CLUSTER/assignment` | [`Assignment`] | the leading coordinator, only while it leads |
//! | `auramesh/CLUSTER/groups` | [`Grouping`], where consistency groups are on | the leading coordinator, only while it leads |
//! | `auramesh/CLUSTER/keeping` | [`Keeping`] | the leading coordinator, every few seconds if it has changed |

use crate::groups::GroupSettings;
use crate::names::{Generation, NodeId, Place, Term};
use crate::store::{Entry, Revision};
use boundary::{AuraSize, BoundaryConfig, HandoverMode};
use domain::{BodyId, Layout, Motion, RegionId, RegionMap, RegionMapError};
use scenes::Scene;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// The keys of one cluster.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: String,
}

impl Keys {
    /// Of the cluster of this name.
    pub fn new(cluster: &str) -> Self {
        Self {
            prefix: format!("auramesh/{cluster}/"),
        }
    }

    /// What all keys begin with.
    pub fn all(&self) -> &str {
        &self.prefix
    }

    /// Who is coordinator.
    pub fn leader(&self) -> String {
        format!("{}leader", self.prefix)
    }

    /// One process.
    pub fn node(&self, node: NodeId) -> String {
        format!("{}nodes/{node}", self.prefix)
    }

    /// What is simulated.
    pub fn world(&self) -> String {
        format!("{}world", self.prefix)
    }

    /// Who simulates it.
    pub fn assignment(&self) -> String {
        format!("{}assignment", self.prefix)
    }

    /// Who is near whom.
    pub fn groups(&self) -> String {
        format!("{}groups", self.prefix)
    }

    /// How promises are kept.
    pub fn keeping(&self) -> String {
        format!("{}keeping", self.prefix)
    }
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Assigns regions, notices death.
    Coordinator,
    /// Simulates regions.
    Server,
    /// Serves clients.
    Gateway,
    /// Watches and says nothing.
    Observer,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its name.
    pub node: NodeId,
    /// What it does.
    pub role: Role,
    /// What people call it.
    pub name: String,
    /// Where its datagrams go (carrier `udp`).
    pub address: SocketAddr,
    /// Where people find it, for a gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// It wants to go: give its regions to others.
    #[serde(default)]
    pub leaving: bool,
}

/// The coordinator that leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// Which.
    pub node: NodeId,
}

/// What is simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldSpec {
    /// Which world.
    pub generation: Generation,
    /// The scene file's text.
    pub scene: String,
    /// Where files named in the scene are, on every server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<PathBuf>,
    /// Bodies of the scene that begin elsewhere than it says: where they were in the world that this one continues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placed: Vec<(BodyId, Motion)>,
    /// What injectors draw from.
    pub seed: u64,
    /// The regions.
    pub map: RegionMap,
    /// Policy, sizes, tolerances, step.
    pub boundary: BoundaryConfig,
    /// A snapshot goes to the standby every so many ticks.
    pub snapshot_ticks: u64,
    /// The first assignment waits for so many servers.
    #[serde(default)]
    pub min_servers: usize,
    /// When tick 0 is, nanoseconds of Unix time; `None` until all regions are ready.
    #[serde(default)]
    pub start_unix_ns: Option<u64>,
    /// No tick after this one.
    #[serde(default)]
    pub last_tick: Option<u64>,
}

/// What of a world is not in its scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorldOptions {
    /// Another layout than the scene's.
    pub layout: Option<Layout>,
    /// Another number of regions.
    pub regions: Option<usize>,
    /// Another seed.
    pub seed: Option<u64>,
    /// It ends after so many seconds; `None`: never.
    pub seconds: Option<f64>,
    /// A snapshot every so many ticks (default 30: half a second).
    pub snapshot_ticks: Option<u64>,
    /// Another size of auras than the default.
    pub aura: Option<AuraSize>,
    /// Bodies in flight do something else than the default.
    pub handover: Option<HandoverMode>,
}

/// Half a second: what a crash may take back.
const SNAPSHOT_TICKS: u64 = 30;

impl WorldSpec {
    /// The first world of a cluster, from a scene's text.
    pub fn new(
        text: &str,
        files: Option<PathBuf>,
        options: &WorldOptions,
    ) -> Result<Self, WorldSpecError> {
        let scene = Scene::parse(text, files.as_deref())?;
        region::staging::check(&scene)?;
        let map = region::staging::region_map(&scene, options.layout, options.regions)?;
        let defaults = BoundaryConfig::default();
        let boundary = BoundaryConfig {
            tolerances: region::staging::tolerances(&scene),
            step: scene.step,
            aura: options.aura.unwrap_or(defaults.aura),
            handover: options.handover.unwrap_or(defaults.handover),
            ..defaults
        };
        // Regions that are too small for the auras are better refused here than by every server.
        boundary::Boundary::new(RegionId(0), map.clone(), boundary, true)?;
        Ok(Self {
            generation: Generation(1),
            scene: text.to_owned(),
            files,
            placed: Vec::new(),
            seed: options.seed.unwrap_or(scene.seed),
            map,
            boundary,
            snapshot_ticks: options.snapshot_ticks.unwrap_or(SNAPSHOT_TICKS).max(1),
            min_servers: 1,
            start_unix_ns: None,
            last_tick: options.seconds.map(|secs| scene.step.ticks_in(secs)),
        })
    }

    /// Reads its scene; bodies are where this world begins. Who is placed but not in the scene, or nowhere, is left out.
    pub fn load_scene(&self) -> Result<Scene, scenes::SceneErrors> {
        let mut scene = Scene::parse(&self.scene, self.files.as_deref())?;
        let placed: BTreeMap<BodyId, Motion> = self.placed.iter().copied().collect();
        for body in &mut scene.bodies {
            let motion = placed.get(&body.id).filter(|motion| motion.is_finite());
            body.motion = motion.copied().unwrap_or(body.motion);
        }
        Ok(scene)
    }

    /// One of its regions.
    pub fn place(&self, region: RegionId) -> Place {
        Place {
            generation: self.generation,
            region,
        }
    }
}

/// Why a scene cannot be a world.
#[derive(Debug, Error)]
pub enum WorldSpecError {
    /// It cannot be read.
    #[error(transparent)]
    Scene(#[from] scenes::SceneErrors),
    /// It cannot be cut like that.
    #[error(transparent)]
    Map(#[from] RegionMapError),
    /// The engine cannot build what is in it.
    #[error(transparent)]
    Region(#[from] region::RegionError),
}

/// Who has which region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Of which world.
    pub generation: Generation,
    /// One per region, in the order of their ids.
    pub seats: Vec<Seat>,
}

/// Who has one region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// Who simulates it.
    pub owner: Option<NodeId>,
    /// How many owners it has had: only the latest is listened to.
    pub term: Term,
    /// Who keeps its snapshots and takes over.
    pub standby: Option<NodeId>,
    /// The owner shall stop, give its last state to the standby, and make way.
    #[serde(default)]
    pub moving: bool,
    /// The owner has it from the one before, who had stopped for that: no tick of any body is lost. Otherwise that one died, and some are.
    #[serde(default)]
    pub handed: bool,
    /// Nobody has a snapshot of it: its owner begins with it as it was at the start.
    #[serde(default)]
    pub lost: bool,
}

impl Assignment {
    /// Grows with every change of an owner: tells an old assignment from a newer one.
    pub fn age(&self) -> (Generation, u64) {
        let terms = self.seats.iter().map(|seat| u64::from(seat.term.0));
        (self.generation, terms.sum())
    }

    /// The seat of a region.
    pub fn seat(&self, region: RegionId) -> Option<&Seat> {
        self.seats.get(region.0 as usize)
    }

    /// All regions with their seats.
    pub fn regions(&self) -> impl Iterator<Item = (RegionId, &Seat)> {
        (0..).map(RegionId).zip(&self.seats)
    }
}

/// Who is near whom: the consistency groups of servers. Where there is none, nobody measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grouping {
    /// Whom servers tell how far they are from each other.
    pub coordinator: NodeId,
    /// When two are near.
    pub settings: GroupSettings,
    /// The groups; the first one shares the world. None until they have been measured: then everyone does.
    #[serde(default)]
    pub groups: Vec<Vec<NodeId>>,
}

/// How bodies of a region were held to their promises (aura size `adaptive`) since it has its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promises {
    /// Body ticks in which a body was held.
    pub held: u64,
    /// The longest time one body was held without a pause, ticks.
    pub longest_ticks: u64,
    /// The largest cluster of which it had to be decided whether it migrates.
    pub largest_cluster: u64,
}

/// The same of all regions. Nobody acts on it: it is here so that whoever asks any process hears of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeping {
    /// Of which world.
    pub generation: Generation,
    /// One per region, in the order of their ids; `None`: its owner has not been heard yet.
    pub regions: Vec<Option<Promises>>,
}

impl Keeping {
    /// What is known of a region of this world.
    pub fn of(&self, place: Place) -> Option<Promises> {
        let known = self.regions.get(place.region.0 as usize);
        known
            .copied()
            .flatten()
            .filter(|_| place.generation == self.generation)
    }
}

/// Everything the control plane says, read. What cannot be read is left out, with a warning.
#[derive(Clone, Debug, Default)]
pub struct ClusterView {
    /// The coordinator that leads.
    pub leader: Option<Leader>,
    /// All processes.
    pub nodes: BTreeMap<NodeId, NodeInfo>,
    /// What is simulated.
    pub world: Option<Arc<WorldSpec>>,
    /// Who simulates it.
    pub assignment: Assignment,
    /// Who is near whom, where that is measured.
    pub groups: Option<Grouping>,
    /// How promises are kept, as it was some seconds ago.
    pub keeping: Keeping,
    pub(crate) revisions: BTreeMap<String, Revision>,
}

impl ClusterView {
    /// Reads the entries of a cluster.
    pub fn read(keys: &Keys, entries: &BTreeMap<String, Entry>) -> Self {
        let mut view = Self::default();
        for (key, entry) in entries {
            view.revisions.insert(key.clone(), entry.revision);
            if *key == keys.leader() {
                view.leader = parse(key, entry);
            } else if *key == keys.world() {
                view.world = parse(key, entry).map(Arc::new);
            } else if *key == keys.assignment() {
                view.assignment = parse(key, entry).unwrap_or_default();
            } else if *key == keys.groups() {
                view.groups = parse(key, entry);
            } else if *key == keys.keeping() {
                view.keeping = parse(key, entry).unwrap_or_default();
            } else if let Some(info) = parse::<NodeInfo>(key, entry) {
                view.nodes.insert(info.node, info);
            }
        }
        view
    }

    /// When a key was last changed; zero if it is not there.
    pub fn revision(&self, key: &str) -> Revision {
        self.revisions.get(key).copied().unwrap_or_default()
    }
}

fn parse<T: DeserializeOwned>(key: &str, entry: &Entry) -> Option<T> {
    serde_json::from_slice(&entry.value)
        .inspect_err(
            |error| tracing::warn!(key, %error, "an entry of the control plane makes no sense"),
        )
        .ok()
}

/// As the bytes of an entry.
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("our own types can be written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    /// A world that continues another begins with the bodies where they were; nonsense is left out.
    #[test]
    fn placed_bodies_begin_where_they_were() {
        let text = scenes::builtin::text("head-on").expect("built in");
        let spec = WorldSpec::new(text, None, &WorldOptions::default()).expect("fits");
        let plain = spec.load_scene().expect("valid");
        let there = Motion::at(DVec3::new(3.0, 4.0, 5.0));
        let nowhere = Motion::at(DVec3::new(f64::NAN, 0.0, 0.0));
        let (first, second) = (plain.bodies[0].id, plain.bodies[1].id);
        let placed = WorldSpec {
            placed: vec![(first, there), (second, nowhere), (BodyId(99), there)],
            ..spec
        };
        let again: WorldSpec = serde_json::from_slice(&to_bytes(&placed)).unwrap_or(placed);
        let scene = again.load_scene().expect("valid");
        assert_eq!(scene.bodies.len(), plain.bodies.len());
        assert_eq!(scene.bodies[0].motion, there);
        assert_eq!(scene.bodies[1].motion, plain.bodies[1].motion);
    }
}
