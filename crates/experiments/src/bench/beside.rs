//! Bare Rapier with the bodies of a run: by itself, or beside the run, where it steps once after each of its ticks.
//!
//! By itself it has the machine's caches, as on a server that does nothing else; that is what several servers are
//! compared with. Beside a run of one region the two take turns tick by tick and share the caches: slower for both, but
//! nothing that slows the machine down for a moment can be mistaken for a difference, and after the last tick one can
//! see whether both have done the same work.

use cpu_time::ThreadTime;
use domain::{Layout, RegionId, RegionMap, SimTime, Tick, TickLength};
use scenes::{Scene, Spawn};
use simulator::Look;
use std::iter::Peekable;
use std::vec::IntoIter;
use world::{Bare, WorldConfig};

/// The bare engine, following a run.
pub(super) struct Beside {
    engine: Bare,
    to_come: Peekable<IntoIter<Spawn>>,
    last: Tick,
    /// CPU time of each step, milliseconds.
    pub(super) steps_ms: Vec<f32>,
    /// Did the bodies lie where those of the run's only region lay, bit by bit, after the last tick? `None`: the run
    /// has several regions.
    pub(super) is_same: Option<bool>,
    last_of_run: Tick,
}

impl Beside {
    /// With what the scene has at the start. It must be a crowd: without joints and commands, and sound.
    pub(super) fn new(scene: &Scene, seed: u64, seconds: f64) -> Self {
        assert!(scene.joints.is_empty() && scene.commands.is_empty());
        let alone =
            RegionMap::build(Layout::Single, 1, scene.world).expect("one region always fits");
        let config = WorldConfig {
            gravity: scene.gravity,
            step: scene.step,
            origin: alone.origin(RegionId(0)),
        };
        let mut engine = Bare::new(&config, &scene.statics).expect("a crowd's walls are sound");
        for body in &scene.bodies {
            engine.spawn(body).expect("a crowd's bodies are sound");
        }
        Self {
            engine,
            to_come: scene.spawns(seed).into_iter().peekable(),
            last: Tick::ZERO,
            steps_ms: Vec::new(),
            is_same: None,
            last_of_run: Tick(scene.step.ticks_in(seconds)),
        }
    }

    /// A region has completed a tick: the first to do so takes the engine along.
    pub(super) fn follow(&mut self, look: &Look<'_>, regions: usize) {
        let tick = look.region.tick();
        if tick <= self.last {
            return;
        }
        self.last = tick;
        self.step(look.now);
        if regions == 1 && tick == self.last_of_run {
            let ours = look.region.world().motions();
            self.is_same = Some(ours.eq(self.engine.motions()));
        }
    }

    /// Without a run: the engine has the machine to itself.
    pub(super) fn alone(mut self, step: TickLength) -> Self {
        for tick in 1..=self.last_of_run.0 {
            self.step(step.due(Tick(tick)));
        }
        self
    }

    fn step(&mut self, now: SimTime) {
        self.admit(now);
        let start = ThreadTime::now();
        self.engine.step();
        self.steps_ms.push(start.elapsed().as_secs_f32() * 1e3);
    }

    /// What has appeared by now in the run appears here as well. Its time is not counted.
    fn admit(&mut self, now: SimTime) {
        while let Some(spawn) = self
            .to_come
            .next_if(|spawn| SimTime::from_secs(spawn.at) <= now)
        {
            self.engine
                .spawn(&spawn.body)
                .expect("a crowd's bodies are sound");
        }
    }
}
