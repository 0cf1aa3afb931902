//! Several groups, each with the whole world, and the relay between them (ST-38).
//!
//! ```text
//!   GroupRun 0: members, leader ── results, delay ──►┐
//!   GroupRun 1: members, leader ── results, delay ──►│ boundary::replicate::Relay
//!   every member of every group ◄── delay, correction┘ above θ_inter
//! ```

use super::GroupRun;
use crate::options::SimOptions;
use crate::outcome::Outcome;
use crate::simulation::SimError;
use boundary::replicate::{Correction, Relay, RelayConfig, RelayCounts};
use domain::{BodyId, Motion, Tick};
use scenes::Scene;
use std::collections::{BTreeMap, VecDeque};

/// The relay and its lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelayOptions {
    /// Groups may differ by so many of a body's radii; `None`: nobody compares.
    pub theta_inter: Option<f32>,
    /// From a leader to the relay, and back, seconds.
    pub delay_secs: f64,
}

/// How far two groups are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Apart {
    /// Bodies both have.
    pub bodies: u64,
    /// Mean distance, metres.
    pub mean_m: f64,
    /// The largest.
    pub max_m: f64,
    /// Bodies that are farther apart than the given distance.
    pub beyond: u64,
}

/// Groups and their relay, tick by tick.
pub struct Relayed {
    groups: Vec<GroupRun>,
    relay: Option<Relay>,
    delay_ticks: u64,
    tick: u64,
    /// By the tick of their arrival; all take equally long.
    reports: VecDeque<(u64, u32, Tick, Vec<u8>)>,
    corrections: VecDeque<(u64, Correction)>,
    bytes: u64,
}

/// A correction on its way: a body, a tick and a motion.
const CORRECTION_BYTES: u64 = 8 + 8 + 64;

impl Relayed {
    /// Groups of one world: a scene as each of them hears of it (users' actions may come later), and how each is run. What the bodies are
    /// at the start must be the same in all.
    pub fn new(groups: &[(Scene, SimOptions)], options: RelayOptions) -> Result<Self, SimError> {
        let mut runs = Vec::new();
        for (scene, sim) in groups {
            let mut sim = sim.clone();
            sim.replicate.report_settled = options.theta_inter.is_some();
            let mut run = GroupRun::new(scene, &sim)?;
            run.keep_reports();
            runs.push(run);
        }
        let step = groups
            .first()
            .map_or(1.0, |(scene, _)| scene.step.as_secs());
        let delay_ticks = (options.delay_secs / step).ceil() as u64;
        let relay = match (options.theta_inter, groups.first()) {
            (Some(theta_inter), Some((scene, _))) => {
                let config = RelayConfig {
                    theta_inter,
                    // A tick more than the way: a member may be a tick ahead of the others.
                    lead_ticks: delay_ticks + 3,
                    ..RelayConfig::new(scene.gravity, step as f32)
                };
                let sizes: Vec<u32> = runs.iter().map(GroupRun::size).collect();
                let mut relay = Relay::new(config, &sizes);
                for body in &scene.bodies {
                    let driven_in = heard_first(groups, body.id);
                    let learned = relay.learn(Tick(0), body, driven_in);
                    learned.map_err(SimError::Shape)?;
                }
                Some(relay)
            }
            _ => None,
        };
        Ok(Self {
            groups: runs,
            relay,
            delay_ticks,
            tick: 0,
            reports: VecDeque::new(),
            corrections: VecDeque::new(),
            bytes: 0,
        })
    }

    /// Runs until everyone has completed this tick.
    pub fn run_until(&mut self, tick: u64) {
        while self.tick < tick {
            self.tick += 1;
            self.run_tick();
        }
    }

    fn run_tick(&mut self) {
        let now = self.tick;
        while let Some((_, correction)) = self.corrections.pop_front_if(|(at, _)| *at <= now) {
            self.hand_out(correction);
        }
        for (index, group) in self.groups.iter_mut().enumerate() {
            group.run_until(now);
            for (tick, states) in group.take_reports() {
                self.bytes += states.len() as u64;
                let arrives = now + self.delay_ticks;
                self.reports
                    .push_back((arrives, index as u32, tick, states));
            }
        }
        let Some(relay) = &mut self.relay else {
            return;
        };
        while let Some((_, group, tick, states)) = self.reports.pop_front_if(|(at, ..)| *at <= now)
        {
            relay.handle_report(group, tick, &states);
        }
        relay.handle_tick(Tick(now));
        while let Some(correction) = relay.poll_correction() {
            self.bytes += CORRECTION_BYTES * self.groups.len() as u64;
            self.corrections
                .push_back((now + self.delay_ticks, correction));
        }
    }

    /// A group that is already beyond that tick hears what the correction has become.
    fn hand_out(&mut self, correction: Correction) {
        let Some(relay) = &self.relay else {
            return;
        };
        let groups = self.groups.iter_mut().enumerate();
        for (_, group) in groups.filter(|(index, _)| correction.except != Some(*index as u32)) {
            let before = group.may_still_hear();
            let correction = match before > correction.before {
                true => relay.postponed(correction, before),
                false => correction,
            };
            group.correct(&correction);
        }
    }

    /// How far the first two groups are apart now; `beyond` counts bodies farther apart than `metres`.
    pub fn apart(&self, metres: f64) -> Apart {
        let [a, b, ..] = &self.groups[..] else {
            return Apart::default();
        };
        let (a, b) = (homes(a), homes(b));
        let both = a.iter().filter_map(|(body, a)| Some((a, b.get(body)?)));
        let mut apart = Apart::default();
        for (a, b) in both {
            let distance = (a.position - b.position).length();
            apart.bodies += 1;
            apart.mean_m += distance;
            apart.max_m = apart.max_m.max(distance);
            apart.beyond += u64::from(distance > metres);
        }
        apart.mean_m /= apart.bodies.max(1) as f64;
        apart
    }

    /// The groups.
    pub fn groups(&self) -> &[GroupRun] {
        &self.groups
    }

    /// Ends the runs: what each group came to.
    pub fn finish(self) -> Vec<Outcome> {
        self.groups
            .into_iter()
            .map(|group| group.run(|_| {}))
            .collect()
    }

    /// What the relay has counted.
    pub fn counts(&self) -> RelayCounts {
        self.relay.as_ref().map(Relay::counts).unwrap_or_default()
    }

    /// Bytes to and from the relay so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The group that hears first what a user does with a body.
fn heard_first(groups: &[(Scene, SimOptions)], body: BodyId) -> Option<u32> {
    let first = |scene: &Scene| {
        let acts = scene.commands.iter().filter(|command| command.body == body);
        acts.map(|command| command.at).min_by(f64::total_cmp)
    };
    let heard = groups.iter().enumerate();
    let heard = heard.filter_map(|(index, (scene, _))| Some((first(scene)?, index as u32)));
    heard
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, index)| index)
}

/// Every body as who answers for it has it.
fn homes(group: &GroupRun) -> BTreeMap<BodyId, Motion> {
    let copies = group.members().flat_map(|member| member.copies());
    copies
        .filter(|copy| copy.at_home || copy.leaving)
        .map(|copy| (copy.body, *copy.motion))
        .collect()
}
