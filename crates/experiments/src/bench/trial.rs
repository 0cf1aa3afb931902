//! One run of a crowd, alone or with the bare engine beside it.

use super::beside::Beside;
use super::spent::{Spent, settled_ms};
use crate::result::ExperimentError;
use domain::Layout;
use scenes::{Crowd, Scene};
use simulator::network::NetworkConditions;
use simulator::{SimOptions, Simulation};
use std::cell::RefCell;
use std::rc::Rc;

/// A crowd, and the scene it is.
pub(super) struct Place {
    pub(super) crowd: Crowd,
    scene: Scene,
}

impl Place {
    pub(super) fn of(crowd: Crowd) -> Self {
        Self {
            crowd,
            scene: crowd.scene(),
        }
    }
}

/// Whose turn it is: who is built first gets the better memory, so turns change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Company {
    /// The crowd's servers only.
    Alone,
    /// The bare engine as well, built before the servers.
    BareFirst,
    /// The bare engine as well, built after them.
    BareLast,
}

/// What to run.
#[derive(Clone, Copy)]
pub(super) struct Trial<'p> {
    pub(super) place: &'p Place,
    pub(super) servers: usize,
    pub(super) network: NetworkConditions,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    /// Do checkers watch?
    pub(super) watched: bool,
    pub(super) company: Company,
}

impl Trial<'_> {
    /// The same with checkers. They push everything else out of the caches, so its times do not count.
    pub(super) fn watched(self) -> Self {
        Self {
            watched: true,
            ..self
        }
    }

    /// How long it will take, in an arbitrary unit.
    pub(super) fn work(&self) -> f64 {
        let worlds = match self.company {
            Company::Alone => 1.0,
            Company::BareFirst | Company::BareLast => 1.5,
        };
        let watching = if self.watched { 2.0 } else { 1.0 };
        worlds * watching * self.place.crowd.bodies as f64 * self.seconds
    }

    fn options(&self) -> SimOptions {
        SimOptions {
            servers: Some(self.servers),
            layout: (self.servers == 1).then_some(Layout::Single),
            seed: Some(self.seed),
            seconds: Some(self.seconds),
            network: self.network,
            checkers: self.watched,
            ..SimOptions::default()
        }
    }

    fn run(&self, progress: impl FnMut(f64)) -> Result<Spent, ExperimentError> {
        let scene = &self.place.scene;
        let beside = || Beside::new(scene, self.seed, self.seconds);
        let early = (self.company == Company::BareFirst).then(beside);
        let mut simulation = Simulation::new(scene, &self.options())?;
        let late = (self.company == Company::BareLast).then(beside);
        let engine = early.or(late).map(|engine| Rc::new(RefCell::new(engine)));
        if let Some(engine) = engine.clone() {
            let regions = self.servers;
            simulation.look(Box::new(move |look| {
                engine.borrow_mut().follow(look, regions);
            }));
        }
        let outcome = simulation.run(progress);
        let mut spent = Spent::of(&outcome, self.watched);
        if let Some(engine) = engine {
            spent.beside(&engine.borrow());
        }
        Ok(spent)
    }
}

/// Does one trial after another and tells how far it is.
pub(super) struct Runner<'p> {
    progress: &'p mut dyn FnMut(f64),
    done: f64,
    total: f64,
}

impl<'p> Runner<'p> {
    /// For trials of so much work in all.
    pub(super) fn new(total: f64, progress: &'p mut dyn FnMut(f64)) -> Self {
        Self {
            progress,
            done: 0.0,
            total: total.max(f64::MIN_POSITIVE),
        }
    }

    pub(super) fn run(&mut self, trial: &Trial) -> Result<Spent, ExperimentError> {
        let (done, total, work) = (self.done, self.total, trial.work());
        let progress = &mut *self.progress;
        let spent = trial.run(|share| progress((done + share * work) / total))?;
        self.done += work;
        Ok(spent)
    }

    /// The bare engine without anybody beside it: mean CPU time per step, milliseconds.
    pub(super) fn run_alone(&mut self, alone: &Alone) -> f64 {
        let Alone {
            place,
            seed,
            seconds,
        } = alone;
        let engine = Beside::new(&place.scene, *seed, *seconds).alone(place.scene.step);
        self.done += alone.work();
        (self.progress)(self.done / self.total);
        settled_ms(&engine)
    }
}

/// The bare engine by itself.
pub(super) struct Alone<'p> {
    pub(super) place: &'p Place,
    pub(super) seed: u64,
    pub(super) seconds: f64,
}

impl Alone<'_> {
    /// As of a [`Trial`].
    pub(super) fn work(&self) -> f64 {
        0.5 * self.place.crowd.bodies as f64 * self.seconds
    }
}
