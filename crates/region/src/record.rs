//! What happened in one tick of one region, copied out for whoever watches from above.

use crate::{Region, RegionEvent};
use domain::{BodyId, Motion, Tick};
use serde::{Deserialize, Serialize};

/// One tick of one region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickRecord {
    /// Which.
    pub tick: Tick,
    /// Digest of the region's state after it.
    pub hash: u64,
    /// How many bodies project.
    pub projecting: u64,
    /// What entered before the step.
    pub before_step: Vec<RegionEvent>,
    /// Everything that was stepped; `None` if the region did not step (it waits for answers after a restart).
    pub bodies: Option<Vec<(BodyId, Motion)>>,
    /// What came of it.
    pub after_step: Vec<RegionEvent>,
}

impl TickRecord {
    /// Drains the region's events. Call after every tick.
    pub fn of(region: &mut Region) -> Self {
        let mut before_step = Vec::new();
        let mut after_step = Vec::new();
        while let Some(event) = region.poll_event() {
            let before = matches!(
                event,
                RegionEvent::Born { .. }
                    | RegionEvent::CaughtUp { .. }
                    | RegionEvent::Arrived { .. }
                    | RegionEvent::Recovered { .. }
                    | RegionEvent::Broken { .. }
                    | RegionEvent::NotBorn { .. }
            );
            if before {
                before_step.push(event);
            } else {
                after_step.push(event);
            }
        }
        let stepped = !region.is_recovering();
        Self {
            tick: region.tick(),
            hash: region.world().state_hash(),
            projecting: region.boundary().projecting().count() as u64,
            bodies: stepped.then(|| region.stepped_bodies()),
            before_step,
            after_step,
        }
    }
}
