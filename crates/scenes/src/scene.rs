//! A scene, read and checked: nothing in it is out of range, unknown or ambiguous.

use domain::{Body, BodyForm, BodyId, Joint, Layout, Rect, Static, TickLength};
use glam::{DVec3, Vec3};
use std::collections::BTreeMap;

/// The most bodies at the start, and again the most that injectors may add.
pub const MAX_BODIES: usize = 4_000_000;
/// The longest scene: one day.
pub const MAX_SECONDS: f64 = 86_400.0;
/// The most regions.
pub const MAX_SERVERS: usize = domain::MAX_REGIONS;

/// A named world with regions, inputs and duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// For people.
    pub name: String,
    /// How long a run takes, in simulated seconds.
    pub seconds: f64,
    /// What injectors draw from unless the run is given another seed.
    pub seed: u64,
    /// m/s².
    pub gravity: Vec3,
    /// The length of a physics step.
    pub step: TickLength,
    /// The part of the ground plane that is cut into regions; outer regions reach to infinity.
    pub world: Rect,
    /// How it is cut, unless the run says otherwise.
    pub regions: Regions,
    /// Up to where no collision can be late.
    pub tolerances: Tolerances,
    /// Scenery, in file order; ids count from 0.
    pub statics: Vec<Static>,
    /// The bodies at the start, in file order, grids unrolled; ids count from 1.
    pub bodies: Vec<Body>,
    /// In file order; ids count from 1.
    pub joints: Vec<Joint>,
    /// What makes bodies appear during the run; see [`Scene::spawns`].
    pub injectors: Vec<Injector>,
    /// What users do, by time.
    pub commands: Vec<Command>,
    /// The bodies that have names.
    pub names: BTreeMap<String, BodyId>,
}

/// How the world is cut into regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Regions {
    /// The pattern.
    pub layout: Layout,
    /// How many regions, 1 to [`MAX_SERVERS`].
    pub servers: usize,
    /// For [`Layout::Boxes`]: one box per server, without overlap; otherwise empty.
    pub boxes: Vec<Rect>,
}

/// The three limits from which auras get their size. Exceeding one is reported, not forbidden.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    /// Highest speed of any body, m/s (default 32). More: larger auras, more traffic at boundaries.
    pub speed: f64,
    /// Highest one-way delay between servers, milliseconds (default 2).
    pub latency_ms: f64,
    /// Longest frame of a server, milliseconds (default 15).
    pub frame_ms: f64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Self {
            speed: 32.0,
            latency_ms: 2.0,
            frame_ms: 15.0,
        }
    }
}

/// A volume in which bodies appear over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Injector {
    /// Lowest corner of the volume.
    pub min: DVec3,
    /// Highest corner of the volume.
    pub max: DVec3,
    /// Bodies per second.
    pub rate: f64,
    /// When it starts, seconds.
    pub from: f64,
    /// When it ends, seconds.
    pub until: f64,
    /// Lowest start velocity, per axis.
    pub velocity_min: Vec3,
    /// Highest start velocity, per axis.
    pub velocity_max: Vec3,
    /// What may appear, each equally likely; at least one.
    pub forms: Vec<BodyForm>,
}

impl Injector {
    /// How many bodies appear in all: as many as there are whole periods.
    pub fn total(&self) -> usize {
        // The small excess keeps e.g. 0.1 · 30 s at 3 bodies although 0.1 has no exact binary form.
        (self.rate * (self.until - self.from) + 1e-9).floor() as usize
    }
}

/// Something a user does at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Command {
    /// Seconds since the start.
    pub at: f64,
    /// To which body.
    pub body: BodyId,
    /// What.
    pub action: Action,
}

/// What a command does to its body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// A push through the centre of mass, newton seconds.
    Impulse(Vec3),
    /// A new velocity of the centre of mass, m/s.
    Velocity(Vec3),
}
