//! Catch-up: a cluster left its old owner after tick k and enters here at tick m. It is stepped alone through k + 1 … m,
//! with the static scenery, so that no body ever misses an update. The aura guarantees that nothing else is near meanwhile.

use domain::{BodyId, Cluster, Motion, Static, Tick};
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

    /// The cluster as it is at tick `to`, having been left at tick `from`. Reports every tick in between. What no engine can take stays as it is; the world into which
    /// it goes next will say why.
    pub fn bring(
        &mut self,
        cluster: Cluster,
        from: Tick,
        to: Tick,
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
            scratch.step();
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
