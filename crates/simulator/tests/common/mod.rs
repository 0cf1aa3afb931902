//! Running scenes and keeping what happened in them.

use domain::{BodyId, RegionId, SimTime, Tick};
use scenes::Scene;
use simulator::facts::Fact;
use simulator::network::NetworkConditions;
use simulator::{Outcome, SimOptions, Simulation};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use wire::HandoverCause;

pub fn scene(name: &str) -> Scene {
    Scene::load(name).unwrap_or_else(|error| panic!("{error}"))
}

/// A scene written in a test.
pub fn parse(text: &str) -> Scene {
    Scene::parse(text, None).unwrap_or_else(|error| panic!("{error}"))
}

pub fn network(text: &str) -> NetworkConditions {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn run(scene: &Scene, options: &SimOptions) -> Outcome {
    let simulation =
        Simulation::new(scene, options).unwrap_or_else(|error| panic!("{}: {error}", scene.name));
    simulation.run(|_| {})
}

/// Runs it and asserts that no checker has found anything.
pub fn run_clean(scene: &Scene, options: &SimOptions) -> Outcome {
    let outcome = run(scene, options);
    assert_clean(&outcome, &format!("{options:?}"));
    outcome
}

pub fn assert_clean(outcome: &Outcome, what: &str) {
    let first = outcome.first_violation.as_ref().map(ToString::to_string);
    assert!(
        outcome.is_clean(),
        "{} on {} servers: {:?}\n{}\n{what}",
        outcome.scene,
        outcome.servers,
        outcome.errors,
        first.unwrap_or_default(),
    );
}

/// A change of owner.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    pub tick: Tick,
    pub from: RegionId,
    pub to: RegionId,
    pub bodies: Vec<BodyId>,
    pub cause: HandoverCause,
}

/// What happened in a run, as far as these tests ask.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub moves: Vec<Move>,
    /// Tick, server and pair of every first contact between two bodies.
    pub contacts: Vec<(Tick, RegionId, BodyId, BodyId)>,
    pub owners: BTreeMap<BodyId, RegionId>,
    /// Everyone who ever owned a body.
    pub ever: BTreeMap<BodyId, Vec<RegionId>>,
    /// The ticks each server stepped, in order.
    pub stepped: BTreeMap<RegionId, Vec<Tick>>,
    pub restored: Vec<(Tick, RegionId)>,
}

impl History {
    fn own(&mut self, body: BodyId, region: RegionId) {
        self.owners.insert(body, region);
        self.ever.entry(body).or_default().push(region);
    }

    fn hear(&mut self, fact: &Fact<'_>) {
        match *fact {
            Fact::Born { region, body, .. } => self.own(body, region),
            Fact::Arrived {
                region, members, ..
            } => {
                members.iter().for_each(|(body, _)| self.own(*body, region));
            }
            Fact::Departed {
                tick,
                from,
                to,
                members,
                cause,
                ..
            } => self.moves.push(Move {
                tick,
                from,
                to,
                bodies: members.iter().map(|(body, _)| *body).collect(),
                cause,
            }),
            Fact::Contact {
                tick,
                region,
                a,
                b,
                restored: false,
                ..
            } => self.contacts.push((tick, region, a, b)),
            Fact::Stepped {
                tick,
                region,
                bodies,
            } => {
                self.stepped.entry(region).or_default().push(tick);
                for (body, _) in bodies {
                    // The births of the start are told before anyone can listen.
                    if !self.owners.contains_key(body) {
                        self.own(*body, region);
                    }
                }
            }
            Fact::Restored { tick, region, .. } => self.restored.push((tick, region)),
            _ => {}
        }
    }

    /// How often a body changed its owner.
    pub fn moves_of(&self, body: BodyId) -> usize {
        self.moves
            .iter()
            .filter(|change| change.bodies.contains(&body))
            .count()
    }
}

/// Runs it and keeps its history.
pub fn run_watched(scene: &Scene, options: &SimOptions) -> (Outcome, History) {
    let history = Rc::new(RefCell::new(History::default()));
    let outcome = watch(scene, options, {
        let history = history.clone();
        move |_, fact| history.borrow_mut().hear(fact)
    });
    let history = history.take();
    (outcome, history)
}

/// Runs it; `hear` hears every fact from the first frame on.
pub fn watch(
    scene: &Scene,
    options: &SimOptions,
    mut hear: impl FnMut(SimTime, &Fact<'_>) + 'static,
) -> Outcome {
    let mut simulation = Simulation::new(scene, options).unwrap_or_else(|error| panic!("{error}"));
    simulation.watch(Box::new(move |now, fact| {
        hear(now, fact);
        ControlFlow::Continue(())
    }));
    simulation.run(|_| {})
}
