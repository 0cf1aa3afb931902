//! Who was stepped at which tick.

use cluster::names::{Generation, Term};
use domain::{BodyId, RegionId};
use region::RegionEvent;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// By tick, who was stepped or caught up, in the newest world that was seen.
#[derive(Default)]
pub struct RollCall {
    pub generation: Generation,
    pub ticks: BTreeMap<u64, Vec<BodyId>>,
    /// Which regions have reported which tick. (A watcher that has not yet found a region's new owner misses some.)
    pub reports: BTreeMap<u64, BTreeSet<RegionId>>,
    /// The newest tick that each region has stepped.
    pub newest: BTreeMap<RegionId, u64>,
    /// When each region was first seen stepping under each owner.
    pub first_step: BTreeMap<(RegionId, Term), Instant>,
    /// And with which tick it began.
    pub first_tick: BTreeMap<(RegionId, Term), u64>,
}

impl RollCall {
    /// A region has reported a tick.
    pub fn hear(&mut self, seen: cluster::observer::Seen) {
        let generation = seen.place.generation;
        if generation < self.generation {
            return;
        }
        if generation > self.generation {
            *self = Self {
                generation,
                ..Self::default()
            };
        }
        for event in &seen.record.before_step {
            if let RegionEvent::CaughtUp { tick, bodies, .. } = event {
                let ids = bodies.iter().map(|(id, _)| *id);
                self.ticks.entry(tick.0).or_default().extend(ids);
            }
        }
        let Some(bodies) = &seen.record.bodies else {
            return;
        };
        let region = seen.place.region;
        self.first_step
            .entry((region, seen.term))
            .or_insert_with(Instant::now);
        let tick = seen.record.tick.0;
        self.first_tick.entry((region, seen.term)).or_insert(tick);
        self.newest.insert(region, tick);
        self.reports.entry(tick).or_default().insert(region);
        let ids = bodies.iter().map(|(id, _)| *id);
        self.ticks.entry(tick).or_default().extend(ids);
    }
}
