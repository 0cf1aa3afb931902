//! The checkers over a live world: the same facts, told by servers that run for real.
//!
//! Servers report tick by tick, each in its own time; the judge puts their reports side by side and tells the facts of one tick after another. A region
//! that enters something at tick k got it from one that let it go at tick k or before, so this order is one in which it can have happened.

use crate::checkers::{Checkers, CheckersConfig, Report};
use crate::facts::{AuraHeld, Fact, Projecting};
use crate::outcome::Counters;
use crate::simulation::{complaint, fact_of, tell_births};
use boundary::HandoverMode;
use domain::{RegionId, Tick, TickLength};
use region::staging::Staging;
use region::{RegionEvent, TickRecord};
use scenes::Scene;
use std::collections::BTreeMap;

/// Watches a live world.
pub struct Judge {
    checkers: Checkers,
    counters: Counters,
    regions: usize,
    step: TickLength,
    /// Reports of ticks that not everyone has reported yet.
    waiting: BTreeMap<Tick, BTreeMap<RegionId, TickRecord>>,
    judged: Tick,
    /// What came in after the last tick, when time stood still.
    settling: Vec<(RegionId, TickRecord)>,
    hashes: Vec<u64>,
    refused: Option<String>,
}

/// What a judge has seen.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// What the checkers say.
    pub report: Report,
    /// Changes of owner, counted per body.
    pub migrations: u64,
    /// First contacts between two bodies.
    pub collisions: u64,
    /// Bodies that project, mean over ticks.
    pub boundary_bodies: f64,
    /// The last tick that all regions have reported.
    pub ticks: Tick,
    /// Digests of all regions at that tick.
    pub hashes: Vec<u64>,
    /// An offer, a spawn or a step that could not be carried out.
    pub refused: Option<String>,
}

impl Judge {
    /// Knows who owns what at the start.
    pub fn new(scene: &Scene, staging: &Staging) -> Self {
        let config = CheckersConfig {
            regions: staging.map.len(),
            step: scene.step,
            frozen_in_flight: staging.boundary.handover == HandoverMode::Freeze,
            assemblies: staging.assemblies.values().cloned().collect(),
        };
        let mut judge = Self {
            checkers: Checkers::new(&config),
            counters: Counters::default(),
            regions: staging.map.len(),
            step: scene.step,
            waiting: BTreeMap::new(),
            judged: Tick::ZERO,
            settling: Vec::new(),
            hashes: Vec::new(),
            refused: None,
        };
        tell_births(scene, staging, |fact| judge.tell(fact));
        judge
    }

    fn tell(&mut self, fact: &Fact<'_>) {
        self.counters.count(fact);
        self.checkers.observe(self.step.due(self.judged), fact);
    }

    /// A region has reported a tick.
    pub fn hear(&mut self, region: RegionId, record: TickRecord) {
        let reported = self.waiting.get(&record.tick);
        let reported = reported.is_some_and(|regions| regions.contains_key(&region));
        if reported || record.tick <= self.judged {
            self.settling.push((region, record));
            return;
        }
        self.waiting
            .entry(record.tick)
            .or_default()
            .insert(region, record);
        while let Some(next) = self.waiting.first_entry() {
            let complete = next.get().len() == self.regions && *next.key() == self.judged.next();
            if !complete {
                return;
            }
            let (tick, records) = next.remove_entry();
            self.judged = tick;
            self.judge(&records);
        }
    }

    fn judge(&mut self, records: &BTreeMap<RegionId, TickRecord>) {
        for (region, record) in records {
            self.tell_events(*region, &record.before_step);
        }
        for (region, record) in records {
            self.counters.boundary_bodies += record.projecting;
            if let Some(bodies) = &record.bodies {
                self.tell(&Fact::Stepped {
                    tick: record.tick,
                    region: *region,
                    bodies,
                });
            }
        }
        for (region, record) in records {
            self.tell_events(*region, &record.after_step);
        }
        self.hashes = records.values().map(|record| record.hash).collect();
    }

    fn tell_events(&mut self, region: RegionId, events: &[RegionEvent]) {
        for event in events {
            if let Some(complaint) = complaint(region, event) {
                self.refused.get_or_insert(complaint);
            }
            fact_of(region, event, |fact| self.tell(fact));
        }
    }

    /// The last tick that all regions have reported.
    pub fn judged(&self) -> Tick {
        self.judged
    }

    /// Everything has come to rest: which auras are held, and which bodies must be known to whom.
    pub fn hear_quiescence(&mut self, auras: &[AuraHeld], projecting: &[Projecting]) {
        for (region, record) in std::mem::take(&mut self.settling) {
            self.tell_events(region, &record.before_step);
            self.tell_events(region, &record.after_step);
        }
        let tick = self.judged;
        self.tell(&Fact::Quiescent {
            tick,
            auras,
            projecting,
        });
    }

    /// It is over.
    pub fn finish(self) -> Judgement {
        Judgement {
            migrations: self.counters.migrations,
            collisions: self.counters.collisions,
            boundary_bodies: self.counters.boundary_bodies as f64 / self.judged.0.max(1) as f64,
            ticks: self.judged,
            hashes: self.hashes,
            refused: self.refused,
            report: self.checkers.finish(),
        }
    }
}
