//! Correctness, watched from above: one checker per promise, each in its own file.
//!
//! ```text
//!   simulator ── facts ──► Checkers ─► ledger: who holds what (entered after the checkers have looked)
//!                             ├─► single_owner            I1
//!                             ├─► no_body_lost            I2
//!                             ├─► no_cross_owner_overlap  I3   (also shows what F1 is about)
//!                             ├─► epochs                  I4
//!                             ├─► whole_clusters          I5   (joints, and all that left arrives)
//!                             ├─► no_contact_cut          I5   (what touches leaves together)
//!                             ├─► no_orphan_aura          I6
//!                             ├─► stepped_once            I8
//!                             ├─► late_collisions         F2, F3
//!                             └─► thrash                  F9: counted, no error
//! ```
//!
//! (I7, the same bits again, needs two runs: the soak makes some of its runs twice and compares their digests of all ticks, and
//! `tests/determinism.rs` does so for built-in scenes.)
//!
//! Checkers do not ask regions what they believe. What goes wrong inside a known disturbance and is explained by it is
//! counted apart; a lost or doubled body is never explained.

mod epochs;
mod findings;
mod late_collisions;
mod ledger;
mod no_body_lost;
mod no_contact_cut;
mod no_cross_owner_overlap;
mod no_orphan_aura;
mod recent;
mod single_owner;
mod stepped_once;
#[cfg(test)]
mod testing;
mod thrash;
mod whole_clusters;

pub use findings::{ErrorCounts, ErrorKind, Violation};

use crate::facts::Fact;
use domain::{BodyId, SimTime, TickLength};
use findings::{Findings, View};
use ledger::{Holder, Ledger, RollCall};
use recent::Recent;
use serde::{Deserialize, Serialize};

/// What the checkers must know before the run.
#[derive(Clone, Debug, Default)]
pub struct CheckersConfig {
    /// How many regions the map has.
    pub regions: usize,
    /// The physics step.
    pub step: TickLength,
    /// Handover mode `freeze`: a body in flight stands still, and its missed updates are no errors.
    pub frozen_in_flight: bool,
    /// Bodies tied by joints, each assembly once.
    pub assemblies: Vec<Vec<BodyId>>,
}

/// All checkers behind one value: tell it every fact in order, then ask for the report.
pub struct Checkers {
    ledger: Ledger,
    roll: RollCall,
    recent: Recent,
    findings: Findings,
    now: SimTime,
    tally: Tally,
    single_owner: single_owner::SingleOwner,
    no_body_lost: no_body_lost::NoBodyLost,
    no_cross_owner_overlap: no_cross_owner_overlap::NoCrossOwnerOverlap,
    epochs: epochs::Epochs,
    whole_clusters: whole_clusters::WholeClusters,
    no_contact_cut: no_contact_cut::NoContactCut,
    no_orphan_aura: no_orphan_aura::NoOrphanAura,
    stepped_once: stepped_once::SteppedOnce,
    late_collisions: late_collisions::LateCollisions,
    thrash: thrash::Thrash,
}

/// How many bodies there were; the names are those of the command line's JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Bodies of the scene.
    pub start: u64,
    /// Born later.
    pub spawned: u64,
    /// Removed by command.
    pub removed: u64,
    /// Owned by a region at the end.
    pub end: u64,
    /// In a handover at the end.
    pub in_flight: u64,
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Broken promises.
    pub errors: ErrorCounts,
    /// The same kinds, explained by a known disturbance.
    pub excused: ErrorCounts,
    /// Pairs that migrated because of each other more than once before they met or parted.
    pub thrashed_pairs: u64,
    /// Body ticks spent standing still in flight (handover mode `freeze` only).
    pub frozen_updates: u64,
    /// Body ticks that came too late to be tested for overlaps: a handover took very long, or a region went
    /// back in time.
    pub untested_updates: u64,
    /// How many bodies there were.
    pub bodies: Tally,
    /// The first broken promise.
    pub first_violation: Option<Violation>,
}

impl Report {
    /// Were all promises kept?
    pub fn is_clean(&self) -> bool {
        self.errors.total() == 0
    }
}

/// A part of [`Checkers`] that watches one promise.
trait Checker {
    /// Looks at a fact; `view` shows everything as it was before it.
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings);

    /// The run is over.
    fn finish(&mut self, _view: &View<'_>, _findings: &mut Findings) {}
}

impl Checkers {
    /// Ready for the first fact.
    pub fn new(config: &CheckersConfig) -> Self {
        Self {
            ledger: Ledger::new(config.regions),
            roll: RollCall::default(),
            recent: Recent::default(),
            findings: Findings::default(),
            now: SimTime::ZERO,
            tally: Tally::default(),
            single_owner: single_owner::SingleOwner::default(),
            no_body_lost: no_body_lost::NoBodyLost::default(),
            no_cross_owner_overlap: no_cross_owner_overlap::NoCrossOwnerOverlap::new(
                config.regions,
            ),
            epochs: epochs::Epochs,
            whole_clusters: whole_clusters::WholeClusters::new(&config.assemblies),
            no_contact_cut: no_contact_cut::NoContactCut::default(),
            no_orphan_aura: no_orphan_aura::NoOrphanAura,
            stepped_once: stepped_once::SteppedOnce::new(config.frozen_in_flight),
            late_collisions: late_collisions::LateCollisions::new(config.step),
            thrash: thrash::Thrash::default(),
        }
    }

    /// Something happened at `now`.
    pub fn observe(&mut self, now: SimTime, fact: &Fact<'_>) {
        self.now = now;
        if let Fact::Stepped { region, bodies, .. } = *fact {
            self.ledger.call_roll(region, bodies, &mut self.roll);
        }
        self.each_checker(|checker, view, findings| checker.observe(fact, view, findings));
        self.count(fact);
        self.ledger.enter(fact, &self.roll);
        self.recent.note(now, fact);
    }

    /// The first broken promise so far; a run may stop there.
    pub fn first_violation(&self) -> Option<&Violation> {
        self.findings.first.as_ref()
    }

    /// How often promises were broken so far.
    pub fn errors(&self) -> ErrorCounts {
        self.findings.errors
    }

    /// The run is over.
    pub fn finish(mut self) -> Report {
        self.each_checker(|checker, view, findings| checker.finish(view, findings));
        for (_, entry) in self.ledger.all() {
            match entry.holder {
                Holder::Owned(_) => self.tally.end += 1,
                Holder::InFlight { .. } => self.tally.in_flight += 1,
                Holder::Adrift(_) | Holder::Gone(..) => {}
            }
        }
        Report {
            errors: self.findings.errors,
            excused: self.findings.excused,
            thrashed_pairs: self.thrash.pairs(),
            frozen_updates: self.stepped_once.frozen(),
            untested_updates: self.no_cross_owner_overlap.untested(),
            bodies: self.tally,
            first_violation: self.findings.first,
        }
    }

    fn each_checker(&mut self, mut visit: impl FnMut(&mut dyn Checker, &View<'_>, &mut Findings)) {
        let view = View {
            now: self.now,
            ledger: &self.ledger,
            roll: &self.roll,
            recent: &self.recent,
        };
        let checkers: [&mut dyn Checker; 10] = [
            &mut self.single_owner,
            &mut self.no_body_lost,
            &mut self.epochs,
            &mut self.whole_clusters,
            &mut self.no_contact_cut,
            &mut self.stepped_once,
            &mut self.no_cross_owner_overlap,
            &mut self.late_collisions,
            &mut self.no_orphan_aura,
            &mut self.thrash,
        ];
        for checker in checkers {
            visit(checker, &view, &mut self.findings);
        }
    }

    fn count(&mut self, fact: &Fact<'_>) {
        match *fact {
            Fact::Born { tick, body, .. } if self.ledger.get(body).is_none() => {
                if tick.0 == 0 {
                    self.tally.start += 1;
                } else {
                    self.tally.spawned += 1;
                }
            }
            Fact::Removed { body, .. } if self.ledger.is_alive(body) => self.tally.removed += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{BodyForm, Motion, RegionId, Shape, Tick};
    use glam::{DVec3, Vec3};
    use std::time::Instant;

    /// Keys of the command line's JSON (design 6) are fixed.
    #[test]
    fn errors_have_their_names() {
        let json = serde_json::to_value(ErrorCounts::default()).unwrap();
        for key in [
            "lost",
            "duplicated",
            "cross_owner_overlaps",
            "late_collisions",
            "missed_updates",
            "orphan_auras",
            "split_clusters",
        ] {
            assert_eq!(json[key], 0, "{key}");
        }
        let json = serde_json::to_value(Tally::default()).unwrap();
        for key in ["start", "spawned", "removed", "end", "in_flight"] {
            assert_eq!(json[key], 0, "{key}");
        }
    }

    /// 5,000 boxes in four quadrants, 0.1 m between them, also across the borders.
    fn quadrants() -> Vec<Vec<(BodyId, Motion)>> {
        let mut regions = vec![Vec::new(); 4];
        for i in 0..5000_u32 {
            let [x, y, z] = [i % 25, i / 1250, i / 25 % 50].map(f64::from);
            let [x, z] = [(x - 12.5) * 1.1, (z - 24.5) * 1.1];
            let region = usize::from(x > 0.0) + 2 * usize::from(z > 0.0);
            let motion = Motion::at(DVec3::new(x, y * 1.1, z));
            regions[region].push((BodyId(u64::from(i)), motion));
        }
        regions
    }

    #[test]
    #[ignore = "a measurement: cargo test --release -p auramesh-simulator -- --ignored --nocapture costs"]
    fn costs_of_watching_five_thousand_bodies() {
        let regions = quadrants();
        let form = BodyForm::of(Shape::Cuboid { size: Vec3::ONE });
        let mut checkers = Checkers::new(&CheckersConfig {
            regions: 4,
            ..CheckersConfig::default()
        });
        for (region, bodies) in regions.iter().enumerate() {
            for (body, motion) in bodies {
                let fact = Fact::Born {
                    tick: Tick(0),
                    region: RegionId(region as u32),
                    body: *body,
                    epoch: domain::Epoch(0),
                    form: &form,
                    motion,
                };
                checkers.observe(SimTime::ZERO, &fact);
            }
        }
        let (start, ticks) = (Instant::now(), 300);
        for tick in 1..=ticks {
            for (region, bodies) in regions.iter().enumerate() {
                let (tick, region) = (Tick(tick), RegionId(region as u32));
                let fact = Fact::Stepped {
                    tick,
                    region,
                    bodies,
                };
                checkers.observe(SimTime::ZERO, &fact);
            }
        }
        let spent = start.elapsed().as_secs_f64() * 1e6 / ticks as f64;
        assert!(checkers.finish().is_clean());
        println!("{spent:.0} us per tick");
    }
}
