//! Catch-up: a cluster left its old owner after tick k and enters here at tick m. It is stepped alone through k + 1 … m,
//! with the static scenery, so that no body ever misses an update. The aura guarantees that nothing else is near meanwhile.

use crate::view::Seen;
use boundary::{Bodies, BodyView, Place};
use domain::{BodyId, Cluster, Motion, Static, Tick};
use std::collections::BTreeMap;
use world::{World, WorldConfig, WorldError};

/// A cluster that was away for longer (a partition, a crash) is not stepped through all of it: it would cost more than a frame has.
const LONGEST_CATCH_UP_TICKS: u64 = 120;

/// A world with nothing but scenery, kept for the next cluster.
pub struct CatchUp {
    config: WorldConfig,
    statics: std::sync::Arc<[Static]>,
    // Built when first needed: a region without arrivals does not pay for it.
    scratch: Option<World>,
    batches: u64,
}

impl CatchUp {
    pub fn new(config: WorldConfig, statics: std::sync::Arc<[Static]>) -> Self {
        Self {
            config,
            statics,
            scratch: None,
            batches: 0,
        }
    }

    /// More scenery.
    pub fn put_up(&mut self, scenery: &Static) -> Result<(), WorldError> {
        if let Some(scratch) = &mut self.scratch {
            scratch.put_up(scenery)?;
        }
        let more = std::iter::once(scenery);
        self.statics = self.statics.iter().chain(more).cloned().collect();
        Ok(())
    }

    /// The cluster as it is at tick `to`, having been left at tick `from`. `keep` says which share of its way to a tick
    /// a body may go. Reports every tick in between. What no engine can take stays as it is; the world into which
    /// it goes next will say why.
    pub fn bring(
        &mut self,
        cluster: Cluster,
        from: Tick,
        to: Tick,
        gravity: f64,
        keep: impl Fn(Tick, &Place, &BodyView) -> f64,
        mut report: impl FnMut(Tick, u64, Vec<(BodyId, Motion)>),
    ) -> Cluster {
        let missed = to.since(from);
        if missed == 0 || cluster.bodies.is_empty() {
            return cluster;
        }
        self.batches += 1;
        let first = to.0 - missed.min(LONGEST_CATCH_UP_TICKS) + 1;
        if cluster.bodies.iter().all(|body| body.rest.asleep) {
            for tick in first..=to.0 {
                let still = cluster.bodies.iter().map(|body| (body.id, body.motion));
                report(Tick(tick), self.batches, still.collect());
            }
            return cluster;
        }
        let batch = self.batches;
        let scratch = self.scratch();
        if scratch.insert(&cluster).is_err() {
            return cluster;
        }
        for tick in first..=to.0 {
            step_within(scratch, gravity, |before, now| {
                keep(Tick(tick), before, now)
            });
            report(Tick(tick), batch, scratch.motions().collect());
        }
        let ids: Vec<BodyId> = scratch.ids().collect();
        scratch.extract(&ids)
    }

    fn scratch(&mut self) -> &mut World {
        self.scratch.get_or_insert_with(|| {
            let world = World::new(self.config, &self.statics);
            world.expect("the region's own world was built of the same")
        })
    }
}

/// A step after which every body has gone only the share of its way that it may; bodies that are tied go the same
/// share.
fn step_within(world: &mut World, gravity: f64, keep: impl Fn(&Place, &BodyView) -> f64) {
    let seen = Seen(world, gravity);
    let views = world.ids().filter_map(|id| seen.view(id));
    let before: BTreeMap<BodyId, Place> = views.map(|view| (view.id, Place::of(&view))).collect();
    world.step();
    let seen = Seen(world, gravity);
    let mut shares: BTreeMap<BodyId, f64> = BTreeMap::new();
    for now in before.keys().filter_map(|id| seen.view(*id)) {
        let share = keep(&before[&now.id], &now);
        if share < 1.0 {
            for member in world.assembly(now.id) {
                let least = shares.entry(*member).or_insert(share);
                *least = least.min(share);
            }
        }
    }
    let places: Vec<(BodyId, Place)> = shares
        .iter()
        .filter_map(|(body, share)| {
            let now = Place::of(&seen.view(*body)?);
            Some((*body, before[body].towards(&now, *share)))
        })
        .collect();
    for (body, place) in places {
        world.put_back(body, place.centre, place.rotation);
    }
}
