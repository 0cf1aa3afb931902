//! What breaks, and what that excuses.

use super::Simulation;
use crate::facts::Fact;
use crate::faults::Fault;
use domain::{RegionId, SimTime, Tick};

/// Once a crashed server is back, or a link heals, this long until tolerances hold again, seconds: answers of the others, offers that waited, and
/// what the server's step back in time has brought too close together.
const AFTERMATH_SECS: f64 = 1.0;

/// The beginning or the end of a fault.
#[derive(Clone, Copy, Debug)]
pub(super) enum Upheaval {
    Crash(RegionId, f64),
    Restart(RegionId),
    Cut(RegionId, RegionId, f64),
    Heal(RegionId, RegionId),
}

pub(super) fn upheavals(faults: &[Fault]) -> Vec<(SimTime, Upheaval)> {
    let mut upheavals: Vec<_> = faults
        .iter()
        .flat_map(|fault| {
            let (begin, end) = fault.window();
            let (begin, end) = (SimTime::from_secs(begin), SimTime::from_secs(end));
            match *fault {
                Fault::Crash { region, down, .. } => [
                    (begin, Upheaval::Crash(region, down)),
                    (end, Upheaval::Restart(region)),
                ],
                Fault::Cut { a, b, down, .. } => [
                    (begin, Upheaval::Cut(a, b, down)),
                    (end, Upheaval::Heal(a, b)),
                ],
            }
        })
        .collect();
    upheavals.sort_by_key(|(at, _)| *at);
    upheavals
}

impl Simulation {
    pub(super) fn handle_upheavals(&mut self) {
        while self.faults.first().is_some_and(|(at, _)| *at <= self.now) {
            let (_, upheaval) = self.faults.remove(0);
            match upheaval {
                Upheaval::Crash(region, down) => self.crash(region, down),
                Upheaval::Restart(region) => self.restart(region),
                Upheaval::Cut(a, b, down) => {
                    self.network.cut(a, b);
                    self.disturb(&[a, b], down);
                }
                Upheaval::Heal(a, b) => self.network.heal(a, b),
            }
        }
    }

    pub(super) fn crash(&mut self, id: RegionId, down: f64) {
        let Some(tick) = self.region(id).map(|region| region.tick()) else {
            return;
        };
        self.servers[id.0 as usize].crash();
        // Its neighbours' bodies meet in a region that introduces nobody, and meet what has stepped back in time.
        let mut around = self.map.neighbours(id).to_vec();
        around.push(id);
        self.disturb(&around, down);
        self.tell(&Fact::Crashed { tick, region: id });
    }

    pub(super) fn restart(&mut self, id: RegionId) {
        let now = self.now;
        if self.servers[id.0 as usize].region.is_some() {
            // It died again before it was back, and both its deaths end.
            return;
        }
        self.servers[id.0 as usize]
            .restart(now)
            .expect("the snapshot is our own");
    }

    pub(super) fn disturb(&mut self, regions: &[RegionId], down: f64) {
        let step = self.outcome.step;
        let until = self.now.as_secs() + down + AFTERMATH_SECS;
        self.tell(&Fact::Disturbed {
            from: Tick(step.ticks_in(self.now.as_secs()).saturating_sub(2)),
            until: Tick(step.ticks_in(until)),
            regions,
        });
    }
}
