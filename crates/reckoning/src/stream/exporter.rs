//! The server's side that all its clients share: one exported path per body.
//!
//! Like a court stenographer who writes down what is said in as few strokes as will do, a little after it was said, and
//! hands the same notes to everyone. Each tick it is told where bodies are; at each update it checks for each body
//! whether the curves that clients follow still hold, and replaces the ones that do not. What is then sent to whom is the
//! business of each client's [`StreamEncoder`](super::StreamEncoder).

use super::curves::{Flight, Turn};
use super::fit::{self, Known};
use super::settings::StreamSettings;
use domain::{BodyId, Motion};
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Kept back from the tolerances: what whoever measures may round differently (single precision, say).
const ROUNDING_M: f64 = 1e-5;
const ROUNDING_RAD: f64 = 1e-4;

/// What the server knows of a body at a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Which body.
    pub id: BodyId,
    /// Where it is and how it moves.
    pub motion: Motion,
    /// Not stepped until something touches it.
    pub asleep: bool,
}

/// A sample in the units of curves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Truth {
    pub(crate) position: DVec3,
    /// Metres per tick.
    pub(crate) velocity: DVec3,
    pub(crate) rotation: DQuat,
    /// Radians per tick.
    pub(crate) spin: DVec3,
    pub(crate) asleep: bool,
}

/// One body's recent past and the curves that stand for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExportedBody {
    /// One per tick, the newest last.
    truths: Vec<Truth>,
    /// The tick of the newest.
    newest: u64,
    flight: Option<Flight>,
    turn: Option<Turn>,
}

impl ExportedBody {
    /// The curves that clients are meant to follow now; `None` before the first update.
    pub fn curves(&self) -> Option<(&Flight, &Turn)> {
        self.flight.as_ref().zip(self.turn.as_ref())
    }
}

/// The exported paths of all bodies of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exporter {
    settings: StreamSettings,
    bodies: BTreeMap<BodyId, ExportedBody>,
    now: u64,
    /// Since the update before the last one: what got new curves, what came, what went.
    changed: Vec<BodyId>,
    arrived: Vec<BodyId>,
    gone: Vec<BodyId>,
    /// Taken over since the last tick: arrivals of the next one.
    adopted: Vec<BodyId>,
    /// The last tick ended with an update.
    updated: bool,
}

impl Exporter {
    /// Without bodies.
    pub fn new(settings: StreamSettings) -> Self {
        Self {
            settings: settings.put_right(),
            bodies: BTreeMap::new(),
            now: 0,
            changed: Vec::new(),
            arrived: Vec::new(),
            gone: Vec::new(),
            adopted: Vec::new(),
            updated: false,
        }
    }

    /// The bodies whose curves changed at the last update.
    pub fn changed(&self) -> &[BodyId] {
        &self.changed
    }

    /// The bodies that came since the update before the last one.
    pub fn arrived(&self) -> &[BodyId] {
        &self.arrived
    }

    /// The bodies that went since the update before the last one.
    pub fn gone(&self) -> &[BodyId] {
        &self.gone
    }

    /// The settings that all ends of the stream share.
    pub fn settings(&self) -> &StreamSettings {
        &self.settings
    }

    /// The last tick it was told of.
    pub fn tick(&self) -> u64 {
        self.now
    }

    /// All bodies, in order of id.
    pub fn bodies(&self) -> impl Iterator<Item = (BodyId, &ExportedBody)> {
        self.bodies.iter().map(|(id, body)| (*id, body))
    }

    /// One body.
    pub fn body(&self, id: BodyId) -> Option<&ExportedBody> {
        self.bodies.get(&id)
    }

    /// Tells all bodies of the server at a tick; one that is missing is gone. A sample that is not finite is passed over:
    /// its body stays on its curve. Returns true if this tick ends with an update.
    pub fn observe(&mut self, tick: u64, samples: impl IntoIterator<Item = Sample>) -> bool {
        self.now = tick;
        if std::mem::take(&mut self.updated) {
            self.changed.clear();
            self.arrived.clear();
            self.gone.clear();
        }
        self.arrived.append(&mut self.adopted);
        for sample in samples {
            self.take(tick, &sample);
        }
        let (bodies, gone) = (&mut self.bodies, &mut self.gone);
        bodies.retain(|id, body| {
            let here = body.newest == tick;
            if !here {
                gone.push(*id);
            }
            here
        });
        self.updated = tick.is_multiple_of(self.settings.update_ticks);
        if self.updated {
            for (id, body) in &mut self.bodies {
                if body.update(&self.settings) {
                    self.changed.push(*id);
                }
            }
        }
        self.updated
    }

    fn take(&mut self, tick: u64, sample: &Sample) {
        let truth = self.truth_of(sample);
        if let Some(body) = self.bodies.get_mut(&sample.id) {
            if let Some(truth) = truth.or_else(|| body.truths.last().copied()) {
                body.remember(tick, truth, &self.settings);
            }
        } else if let Some(truth) = truth {
            let mut body = ExportedBody::new(tick);
            body.remember(tick, truth, &self.settings);
            self.bodies.insert(sample.id, body);
            self.arrived.push(sample.id);
        }
    }

    /// Takes a body over from another server with its exported path, so that clients see no jump. Call it before
    /// [`Self::observe`] of the first tick at which it is here.
    pub fn adopt(&mut self, id: BodyId, body: ExportedBody) {
        self.bodies.insert(id, body);
        self.adopted.push(id);
    }

    /// Gives a body away with its exported path, for the exporter of its new server to [`adopt`](Self::adopt). Call it
    /// after the last [`Self::observe`] in which it was here. It does not count as [`gone`](Self::gone): streams that do not see its new
    /// server keep it on its curve until they are told to [`leave`](super::StreamEncoder::leave), best when the new server has it.
    pub fn release(&mut self, id: BodyId) -> Option<ExportedBody> {
        self.bodies.remove(&id)
    }

    fn truth_of(&self, sample: &Sample) -> Option<Truth> {
        let secs = self.settings.tick.as_secs();
        let motion = &sample.motion;
        let far = super::curves::MAX_POSITION_M;
        let fast = 0.5 * super::curves::MAX_PER_TICK / secs;
        let fine = motion.is_finite()
            && motion.position.abs().max_element() < far
            && f64::from(motion.linear_velocity.length()) < fast
            && motion.rotation.length_squared() > 0.5;
        fine.then(|| Truth {
            position: motion.position,
            velocity: motion.linear_velocity.as_dvec3() * secs,
            rotation: motion.rotation.as_dquat().normalize(),
            spin: motion.angular_velocity.as_dvec3() * secs,
            asleep: sample.asleep,
        })
    }
}

impl ExportedBody {
    fn new(tick: u64) -> Self {
        Self {
            truths: Vec::new(),
            newest: tick,
            flight: None,
            turn: None,
        }
    }

    fn remember(&mut self, tick: u64, truth: Truth, settings: &StreamSettings) {
        if tick != self.newest + 1 {
            self.truths.clear(); // A gap: the past says nothing about the present.
        }
        self.newest = tick;
        self.truths.push(truth);
        let most = (settings.delay_ticks + settings.update_ticks + 3) as usize;
        if self.truths.len() > most {
            self.truths.remove(0);
        }
    }

    /// Replaces the curves that fail; returns whether one did.
    fn update(&mut self, settings: &StreamSettings) -> bool {
        // What clients show from now until the next update comes.
        let earliest = self.newest.saturating_sub(settings.delay_ticks);
        let known = Known {
            truths: &self.truths,
            now: self.newest,
            earliest,
            until: earliest + settings.update_ticks - 1,
            pull: settings.pull(),
            tolerance_m: settings.tolerance_m - ROUNDING_M,
            tolerance_rad: settings.tolerance_rad - ROUNDING_RAD,
        };
        let flight = Some(fit::next_flight(&known, self.flight));
        let turn = Some(fit::next_turn(&known, self.turn));
        let changed = flight != self.flight || turn != self.turn;
        (self.flight, self.turn) = (flight, turn);
        changed
    }
}
