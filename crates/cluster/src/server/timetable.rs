//! What a scene's users do, carried out by whichever region is responsible, without anyone to tell it so.
//!
//! A spawn is the business of the region that holds its place. A push is that of the region that steps the body from that tick to the next: there
//! is exactly one (I8). If that happens while the body is caught up after a handover, the receiver pushes it as it enters.

use domain::{Body, BodyId, RegionId, RegionMap, Tick, TickLength};
use region::{Region, RegionEvent};
use scenes::{Action, Scene};

/// What is to be done when, for one region.
pub struct Timetable {
    /// By tick: after this one it is done.
    spawns: Vec<(Tick, Body)>,
    acts: Vec<(Tick, BodyId, Action)>,
    next_spawn: usize,
    next_act: usize,
    spawned_before: Tick,
}

impl Timetable {
    /// Everything the scene asks of this region.
    pub fn new(scene: &Scene, seed: u64, map: &RegionMap, region: RegionId) -> Self {
        let after = |secs: f64| first_tick_at(scene.step, secs);
        let here =
            |body: &Body| map.region_at(body.motion.position.x, body.motion.position.z) == region;
        let spawns = scene
            .spawns(seed)
            .into_iter()
            .filter(|spawn| here(&spawn.body));
        let mut spawns: Vec<_> = spawns.map(|spawn| (after(spawn.at), spawn.body)).collect();
        spawns.sort_by_key(|(tick, body)| (*tick, body.id));
        let acts = scene.commands.iter();
        let mut acts: Vec<_> = acts
            .map(|act| (after(act.at), act.body, act.action))
            .collect();
        acts.sort_by_key(|(tick, body, _)| (*tick, *body));
        Self {
            spawns,
            acts,
            next_spawn: 0,
            next_act: 0,
            spawned_before: Tick::ZERO,
        }
    }

    /// The region begins at this tick, from a snapshot, with all spawns done that were due before the other. What was done later has to be done
    /// again. (A body that is already there is not created twice.)
    pub fn begin_at(&mut self, tick: Tick, spawned_before: Tick) {
        self.spawned_before = spawned_before;
        self.next_spawn = self.spawns.partition_point(|(at, _)| *at < spawned_before);
        self.next_act = self.acts.partition_point(|(at, _, _)| *at < tick);
    }

    /// All spawns due before this tick are done. Not always those up to the region's own: none is done while it recovers.
    pub fn spawned_before(&self) -> Tick {
        self.spawned_before
    }

    /// Spawns that are due. Call before a tick.
    pub fn spawn_due(&mut self, region: &mut Region) {
        let now = region.tick();
        self.spawned_before = now.next();
        while let Some((_, body)) = self
            .spawns
            .get(self.next_spawn)
            .filter(|(at, _)| *at <= now)
        {
            region.spawn_or_report(body);
            self.next_spawn += 1;
        }
    }

    /// Pushes that are due. Call within a tick, between its first part and the step.
    pub fn act_due(&mut self, region: &mut Region) {
        let now = region.tick();
        while let Some((at, body, action)) =
            self.acts.get(self.next_act).filter(|(at, ..)| *at <= now)
        {
            // What was due in ticks that passed unstepped after a crash is over.
            if *at == now {
                act(region, *body, *action);
            }
            self.next_act += 1;
        }
    }

    /// Pushes that bodies missed on their way here. Call with the events of a tick.
    pub fn make_up(&self, region: &mut Region, events: &[RegionEvent]) {
        let caught_up = events.iter().filter_map(|event| match event {
            RegionEvent::CaughtUp { tick, bodies, .. } => Some((*tick, bodies)),
            _ => None,
        });
        for (reached, bodies) in caught_up {
            // The step to this tick was made without us.
            let due = Tick(reached.0.saturating_sub(1));
            let first = self.acts.partition_point(|(at, ..)| *at < due);
            let due = self.acts[first..].iter().take_while(|(at, ..)| *at == due);
            for (_, body, action) in due {
                if bodies.binary_search_by_key(body, |(id, _)| *id).is_ok() {
                    act(region, *body, *action);
                }
            }
        }
    }
}

fn act(region: &mut Region, body: BodyId, action: Action) {
    if !region.world().contains(body) {
        return;
    }
    let done = match action {
        Action::Impulse(impulse) => region.apply_impulse(body, impulse, None),
        Action::Velocity(velocity) => region.set_velocity(body, velocity),
    };
    if let Err(why) = done {
        tracing::warn!(region = %region.id(), %why, "a command of the scene is not carried out");
    }
}

/// The first tick that is not before this time.
fn first_tick_at(step: TickLength, secs: f64) -> Tick {
    // A hair less: 0.1 s is tick 6 at 60 Hz, whatever the rounding.
    Tick((secs / step.as_secs() - 1e-6).ceil().max(0.0) as u64)
}
