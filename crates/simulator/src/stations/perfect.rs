//! The virtual perfect station: a place without a network, where every body is a master (Chen 2010, 3.3). What it counts is what
//! would have happened had nobody had to wait for anybody: the measure of count *correctness* (ML-41).

use super::stage::{Player, Stage, StageOptions, Watcher};
use super::{LinkConditions, Measure};
use domain::SimTime;
use station::{Event, PairId, Station, StationId};
use std::collections::BTreeMap;

/// Runs beside, and counts.
#[derive(Clone, Debug, Default)]
pub struct PerfectStation {
    /// Hits by pair.
    pub counts: BTreeMap<PairId, u32>,
    /// When they happened, milliseconds.
    pub times_ms: Measure,
}

impl PerfectStation {
    /// Lets one station, in which every body is a master, play until `end`.
    pub fn watch(
        station: Station,
        player: Box<dyn Player>,
        first: SimTime,
        frame: SimTime,
        end: SimTime,
    ) -> Self {
        let mut stage = Stage::new(StageOptions {
            seed: 0,
            conditions: LinkConditions::perfect(),
            faults: Vec::new(),
        });
        stage.add(station, player, first, frame);
        let mut seen = Self::default();
        stage.run(end, &mut seen, &mut |_| false);
        seen
    }

    /// All hits.
    pub fn count(&self) -> u32 {
        self.counts.values().sum()
    }
}

impl Watcher for PerfectStation {
    fn event(&mut self, now: SimTime, _station: StationId, event: &Event) {
        if let Event::LocalBounce { pair, .. } = event {
            *self.counts.entry(*pair).or_default() += 1;
            self.times_ms.add(now.as_millis());
        }
    }
}
