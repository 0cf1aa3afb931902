//! The user of a simulated run: spawns bodies and pushes them at the times the scene says, and does not give up while
//! a server is down.

use domain::{Body, BodyId, RegionId, RegionMap, SimTime, Tick};
use scenes::{Action, Scene};
use std::collections::{BTreeMap, VecDeque};

/// Something to do.
#[derive(Clone, Debug)]
pub enum Wish {
    /// Create a body.
    Spawn(Box<Body>),
    /// Act on a body, wherever it is.
    Act(BodyId, Action),
}

/// What is still to be done, and what may have to be done again.
pub struct User {
    wishes: VecDeque<(SimTime, Wish)>,
    // Spawns given to a server, by body: until its snapshot holds them, a crash may undo them.
    issued: BTreeMap<BodyId, (RegionId, Tick, Body)>,
}

impl User {
    /// Everything the scene asks for, in order of time.
    pub fn of(scene: &Scene, seed: u64) -> Self {
        let spawns = scene.spawns(seed).into_iter().map(|spawn| {
            (
                SimTime::from_secs(spawn.at),
                Wish::Spawn(Box::new(spawn.body)),
            )
        });
        let acts = scene.commands.iter().map(|command| {
            (
                SimTime::from_secs(command.at),
                Wish::Act(command.body, command.action),
            )
        });
        let mut wishes: Vec<_> = spawns.chain(acts).collect();
        wishes.sort_by_key(|(at, _)| *at);
        Self {
            wishes: wishes.into(),
            issued: BTreeMap::new(),
        }
    }

    /// When the next wish is due.
    pub fn next(&self) -> Option<SimTime> {
        self.wishes.front().map(|(at, _)| *at)
    }

    /// The next wish, if it is due.
    pub fn take(&mut self, now: SimTime) -> Option<Wish> {
        self.wishes
            .pop_front_if(|(at, _)| *at <= now)
            .map(|(_, wish)| wish)
    }

    /// It could not be done now: try again at that time.
    pub fn postpone(&mut self, until: SimTime, wish: Wish) {
        let place = self.wishes.partition_point(|(at, _)| *at <= until);
        self.wishes.insert(place, (until, wish));
    }

    /// Where a body to be spawned belongs: the region that holds its centre, and only that one (AP-2, 2.15).
    pub fn responsible(map: &RegionMap, body: &Body) -> RegionId {
        map.region_at(body.motion.position.x, body.motion.position.z)
    }

    /// A spawn was given to a server that had completed this tick.
    pub fn issued(&mut self, region: RegionId, tick: Tick, body: Body) {
        self.issued.insert(body.id, (region, tick, body));
    }

    /// Spawns that a server restarted from this snapshot may have forgotten.
    pub fn forgotten(&self, region: RegionId, snapshot: Tick) -> Vec<Body> {
        self.issued
            .values()
            .filter(|(to, tick, _)| *to == region && *tick >= snapshot)
            .map(|(_, _, body)| body.clone())
            .collect()
    }
}
