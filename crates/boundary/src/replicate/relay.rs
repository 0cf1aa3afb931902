//! The relay between groups: each simulates the whole world, and what they make of a body may differ. Above θ_inter all are told the same (thesis
//! 3.3.8.1, ST-38).
//!
//! ```text
//!   leader of group 0 ── states that have changed ──►┐         a body of which nothing is said flies on as it was: the relay flies it, too
//!   leader of group 1 ── states that have changed ──►│ Relay
//!   every group ◄──── from tick X on it is like this ┘         only if they differ by more than θ_inter of its radius
//! ```
//!
//! The relay waits a little after a report, so that the others' reports of the same time are there. A correction names the tick from which on it
//! holds; reports of ticks before that are of a world that is no more, and say nothing new.
//!
//! A body that a user drives is as the user's own group has it: that one hears of the user first, and is not corrected (thesis 4.3.1.6).

use super::leader::Deviation;
use detection::Form;
use detection::response::fly;
use domain::{Body, BodyId, Motion, ShapeError, Tick};
use glam::{DVec3, Quat, Vec3};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::replicate::open_settled;

/// A state is flown forward by at most so many ticks: ten seconds. Nobody has spoken of it for so long; it stays where that took it.
const MOST_FLOWN: u64 = 600;

/// How the relay behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelayConfig {
    /// Differences up to so many of a body's radii are left alone (default 0.5).
    pub theta_inter: f32,
    /// How long the others' reports are waited for, ticks (default 6: as often as leaders report).
    pub patience_ticks: u64,
    /// A correction holds from so many ticks after it was made: at least its way to the members (default 6).
    pub lead_ticks: u64,
    /// Gravity and step of the world.
    pub gravity: Vec3,
    /// Seconds of a tick.
    pub step_secs: f32,
}

impl RelayConfig {
    /// The usual one.
    pub fn new(gravity: Vec3, step_secs: f32) -> Self {
        Self {
            theta_inter: 0.5,
            patience_ticks: 6,
            lead_ticks: 6,
            gravity,
            step_secs,
        }
    }
}

/// What all groups are told of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// Which.
    pub body: BodyId,
    /// Before the members compute this tick ...
    pub before: Tick,
    /// ... it is like this.
    pub motion: Motion,
    /// The group that needs not hear it: the user's own.
    pub except: Option<u32>,
}

/// What a relay has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounts {
    /// States that were taken in.
    pub states: u64,
    /// Corrections made.
    pub corrections: u64,
    /// Reports that could not be read.
    pub unreadable: u64,
    /// Reports of groups that do not exist.
    pub foreign: u64,
    /// States of bodies nobody has spoken of.
    pub unknown: u64,
    /// States older than what is known.
    pub stale: u64,
}

/// One body as each group has it.
struct Compared {
    form: Form,
    /// The group of the user who drives it.
    driven_in: Option<u32>,
    views: Vec<View>,
}

/// As one group has it.
#[derive(Clone, Copy)]
struct View {
    /// At the end of this tick.
    tick: u64,
    motion: Motion,
    /// It rests, and does not fly.
    frozen: bool,
}

impl View {
    fn flying(tick: u64, motion: Motion) -> Self {
        let frozen = false;
        Self {
            tick,
            motion,
            frozen,
        }
    }
}

/// The relay.
pub struct Relay {
    config: RelayConfig,
    /// How many members each group has: a larger group's word has more weight.
    weights: Vec<f32>,
    bodies: BTreeMap<BodyId, Compared>,
    /// Bodies to be looked at, by the tick from which on.
    due: BTreeSet<(u64, BodyId)>,
    waiting: VecDeque<Correction>,
    counts: RelayCounts,
}

impl Relay {
    /// Between groups of these sizes.
    pub fn new(config: RelayConfig, members: &[u32]) -> Self {
        Self {
            config,
            weights: members.iter().map(|members| *members as f32).collect(),
            bodies: BTreeMap::new(),
            due: BTreeSet::new(),
            waiting: VecDeque::new(),
            counts: RelayCounts::default(),
        }
    }

    /// Every group has this body, and begins with it at this tick as it is now. `driven_in` is the group of the user who drives it, if there is one.
    pub fn learn(
        &mut self,
        tick: Tick,
        body: &Body,
        driven_in: Option<u32>,
    ) -> Result<(), ShapeError> {
        body.form.shape.check_for_body()?;
        let compared = Compared {
            form: Form::new(&body.form)?,
            driven_in: driven_in.filter(|group| (*group as usize) < self.weights.len()),
            views: vec![View::flying(tick.0, body.motion); self.weights.len()],
        };
        self.bodies.insert(body.id, compared);
        Ok(())
    }

    /// A leader has said how some bodies are at the end of its tick. What makes no sense is counted and changes nothing.
    pub fn handle_report(&mut self, group: u32, tick: Tick, states: &[u8]) {
        if group as usize >= self.weights.len() {
            self.counts.foreign += 1;
            return;
        }
        let Ok(states) = open_settled(states) else {
            self.counts.unreadable += 1;
            return;
        };
        for state in states {
            let Some(compared) = self.bodies.get_mut(&state.body) else {
                self.counts.unknown += 1;
                continue;
            };
            let view = &mut compared.views[group as usize];
            if tick.0 < view.tick {
                self.counts.stale += 1;
                continue;
            }
            *view = View {
                frozen: state.frozen,
                ..View::flying(tick.0, state.motion)
            };
            self.counts.states += 1;
            self.due
                .insert((tick.0 + self.config.patience_ticks, state.body));
        }
    }

    /// Time moved: bodies whose news are old enough are compared.
    pub fn handle_tick(&mut self, now: Tick) {
        while let Some((_, body)) = self.due.first().copied().filter(|(at, _)| *at <= now.0) {
            self.due.pop_first();
            self.compare(now.0, body);
        }
    }

    fn compare(&mut self, now: u64, body: BodyId) {
        let config = self.config;
        let Some(compared) = self.bodies.get_mut(&body) else {
            return;
        };
        // A correction that is still under way settles it.
        let common = compared.views.iter().map(|view| view.tick).max();
        let Some(common) = common.filter(|common| *common <= now) else {
            return;
        };
        for view in &mut compared.views {
            if !view.frozen {
                let ticks = common.saturating_sub(view.tick);
                view.motion = flown(&config, &compared.form, view.motion, ticks);
            }
            view.tick = common;
        }
        let threshold = f64::from(config.theta_inter * compared.form.geometry.radius());
        let first = compared.views[0].motion;
        let apart = compared
            .views
            .iter()
            .any(|view| Deviation::of(&view.motion, &first).noticeable_m() > threshold);
        if !apart {
            return;
        }
        let motions = compared.views.iter().map(|view| &view.motion);
        let agreed = match compared.driven_in {
            Some(group) => compared.views[group as usize].motion,
            None => average(motions.zip(&self.weights)),
        };
        let before = now + config.lead_ticks.max(1);
        // Members compute tick `before` from how it is at the end of the tick before that.
        let motion = flown(&config, &compared.form, agreed, before - 1 - common);
        let except = compared.driven_in;
        for (group, view) in compared.views.iter_mut().enumerate() {
            // The user's own group goes on as it is, and is heard.
            if except != Some(group as u32) {
                *view = View::flying(before - 1, motion);
            }
        }
        self.counts.corrections += 1;
        self.waiting.push_back(Correction {
            body,
            before: Tick(before),
            motion,
            except,
        });
    }

    /// The next correction; it goes to every group.
    pub fn poll_correction(&mut self) -> Option<Correction> {
        self.waiting.pop_front()
    }

    /// A correction that arrives late: the same, from a later tick on.
    pub fn postponed(&self, correction: Correction, before: Tick) -> Correction {
        let ticks = before.0.saturating_sub(correction.before.0);
        let compared = self.bodies.get(&correction.body);
        let motion = compared.map_or(correction.motion, |compared| {
            flown(&self.config, &compared.form, correction.motion, ticks)
        });
        Correction {
            before: Tick(correction.before.0 + ticks),
            motion,
            ..correction
        }
    }

    /// What was counted.
    pub fn counts(&self) -> RelayCounts {
        self.counts
    }
}

fn flown(config: &RelayConfig, form: &Form, mut motion: Motion, ticks: u64) -> Motion {
    for _ in 0..ticks.min(MOST_FLOWN) {
        fly(&mut motion, form, config.gravity, config.step_secs);
    }
    motion
}

/// The mean of motions, by weight.
pub(super) fn average<'a>(motions: impl Iterator<Item = (&'a Motion, &'a f32)>) -> Motion {
    let mut total = 0.0;
    let mut first = None;
    let (mut position, mut velocity, mut spin) = (DVec3::ZERO, Vec3::ZERO, Vec3::ZERO);
    let mut rotation = [0.0_f32; 4];
    for (motion, weight) in motions {
        let weight = *weight;
        let first = *first.get_or_insert(motion.rotation);
        total += weight;
        position += motion.position * f64::from(weight);
        velocity += motion.linear_velocity * weight;
        spin += motion.angular_velocity * weight;
        // A rotation and its negative are the same; they must not cancel out.
        let sign = if motion.rotation.dot(first) < 0.0 {
            -weight
        } else {
            weight
        };
        for (sum, part) in rotation.iter_mut().zip(motion.rotation.to_array()) {
            *sum += part * sign;
        }
    }
    let rotation = Quat::from_array(rotation);
    Motion {
        position: position / f64::from(total),
        rotation: if rotation.length_squared() > 1e-6 {
            rotation.normalize()
        } else {
            first.unwrap_or(Quat::IDENTITY)
        },
        linear_velocity: velocity / total,
        angular_velocity: spin / total,
    }
}
