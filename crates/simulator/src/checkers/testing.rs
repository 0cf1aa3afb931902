//! Short words to tell a history with: balls of radius 0.5 on the x axis, bodies and regions by number.

use super::{Checkers, CheckersConfig, ErrorCounts, Report};
use crate::facts::{AuraHeld, Fact, Projecting};
use domain::{BodyForm, BodyId, Epoch, Motion, RegionId, Shape, SimTime, Tick, TickLength};
use glam::DVec3;
use std::collections::BTreeMap;
use wire::HandoverCause;

pub(super) struct History {
    checkers: Checkers,
    places: BTreeMap<u64, f64>,
}

pub(super) fn b(body: u64) -> BodyId {
    BodyId(body)
}

pub(super) fn held(holder: u32, owner: u32, body: u64, epoch: u32) -> AuraHeld {
    AuraHeld {
        holder: RegionId(holder),
        owner: RegionId(owner),
        body: BodyId(body),
        epoch: Epoch(epoch),
    }
}

pub(super) fn projecting(owner: u32, body: u64, epoch: u32, audience: &[u32]) -> Projecting {
    Projecting {
        owner: RegionId(owner),
        body: BodyId(body),
        epoch: Epoch(epoch),
        audience: audience.iter().copied().map(RegionId).collect(),
    }
}

fn members(list: &[(u64, u32)]) -> Vec<(BodyId, Epoch)> {
    list.iter()
        .map(|(body, epoch)| (BodyId(*body), Epoch(*epoch)))
        .collect()
}

impl History {
    pub fn new(regions: usize) -> Self {
        Self::with(CheckersConfig {
            regions,
            ..CheckersConfig::default()
        })
    }

    pub fn frozen(regions: usize) -> Self {
        Self::with(CheckersConfig {
            regions,
            frozen_in_flight: true,
            ..CheckersConfig::default()
        })
    }

    pub fn with_assemblies(regions: usize, assemblies: &[&[u64]]) -> Self {
        let assembly = |ids: &&[u64]| ids.iter().copied().map(BodyId).collect();
        Self::with(CheckersConfig {
            regions,
            assemblies: assemblies.iter().map(assembly).collect(),
            ..CheckersConfig::default()
        })
    }

    fn with(config: CheckersConfig) -> Self {
        Self {
            checkers: Checkers::new(&config),
            places: BTreeMap::new(),
        }
    }

    fn tell(&mut self, fact: &Fact<'_>) -> &mut Self {
        let now: SimTime = TickLength::default().due(fact.tick());
        self.checkers.observe(now, fact);
        self
    }

    fn motion(&self, body: u64) -> Motion {
        let x = self.places.get(&body).copied().unwrap_or_default();
        Motion::at(DVec3::new(x, 0.0, 0.0))
    }

    fn motions(&self, bodies: &[u64]) -> Vec<(BodyId, Motion)> {
        let pose = |body: &u64| (BodyId(*body), self.motion(*body));
        bodies.iter().map(pose).collect()
    }

    pub fn place(&mut self, body: u64, x: f64) -> &mut Self {
        self.places.insert(body, x);
        self
    }

    pub fn born(&mut self, tick: u64, region: u32, body: u64, x: f64) -> &mut Self {
        self.place(body, x);
        let motion = self.motion(body);
        self.tell(&Fact::Born {
            tick: Tick(tick),
            region: RegionId(region),
            body: BodyId(body),
            epoch: Epoch(0),
            form: &BodyForm::of(Shape::Sphere { radius: 0.5 }),
            motion: &motion,
        })
    }

    pub fn removed(&mut self, tick: u64, region: u32, body: u64) -> &mut Self {
        self.tell(&Fact::Removed {
            tick: Tick(tick),
            region: RegionId(region),
            body: BodyId(body),
        })
    }

    pub fn step(&mut self, tick: u64, region: u32, bodies: &[u64]) -> &mut Self {
        let bodies = self.motions(bodies);
        self.tell(&Fact::Stepped {
            tick: Tick(tick),
            region: RegionId(region),
            bodies: &bodies,
        })
    }

    pub fn catch_up(&mut self, tick: u64, region: u32, bodies: &[u64]) -> &mut Self {
        let bodies = self.motions(bodies);
        self.tell(&Fact::CaughtUp {
            tick: Tick(tick),
            region: RegionId(region),
            batch: 1,
            bodies: &bodies,
        })
    }

    pub fn depart(
        &mut self,
        tick: u64,
        from: u32,
        to: u32,
        handover: u64,
        list: &[(u64, u32)],
    ) -> &mut Self {
        self.tell(&Fact::Departed {
            tick: Tick(tick),
            from: RegionId(from),
            to: RegionId(to),
            handover,
            members: &members(list),
            cause: HandoverCause::BoundaryTraversal,
        })
    }

    pub fn depart_for_aura(
        &mut self,
        tick: u64,
        from: u32,
        to: u32,
        member: (u64, u32),
        aura: u64,
    ) -> &mut Self {
        self.tell(&Fact::Departed {
            tick: Tick(tick),
            from: RegionId(from),
            to: RegionId(to),
            handover: 1,
            members: &members(&[member]),
            cause: HandoverCause::AuraCollision {
                member: BodyId(member.0),
                aura: BodyId(aura),
            },
        })
    }

    pub fn arrive(
        &mut self,
        tick: u64,
        region: u32,
        from: u32,
        handover: u64,
        list: &[(u64, u32)],
    ) -> &mut Self {
        self.tell(&Fact::Arrived {
            tick: Tick(tick),
            region: RegionId(region),
            from: RegionId(from),
            handover,
            members: &members(list),
        })
    }

    pub fn contact(
        &mut self,
        tick: u64,
        region: u32,
        (a, b): (u64, u64),
        depth_m: f64,
        relative_speed: f64,
        restored: bool,
    ) -> &mut Self {
        self.tell(&Fact::Contact {
            tick: Tick(tick),
            region: RegionId(region),
            a: BodyId(a),
            b: BodyId(b),
            depth_m,
            relative_speed,
            restored,
        })
    }

    pub fn crash(&mut self, tick: u64, region: u32) -> &mut Self {
        self.tell(&Fact::Crashed {
            tick: Tick(tick),
            region: RegionId(region),
        })
    }

    pub fn restore(
        &mut self,
        tick: u64,
        region: u32,
        snapshot: u64,
        list: &[(u64, u32)],
    ) -> &mut Self {
        self.tell(&Fact::Restored {
            tick: Tick(tick),
            region: RegionId(region),
            snapshot: Tick(snapshot),
            bodies: &members(list),
        })
    }

    pub fn disturb(&mut self, from: u64, until: u64, regions: &[u32]) -> &mut Self {
        let regions: Vec<RegionId> = regions.iter().copied().map(RegionId).collect();
        self.tell(&Fact::Disturbed {
            from: Tick(from),
            until: Tick(until),
            regions: &regions,
        })
    }

    pub fn quiescent(
        &mut self,
        tick: u64,
        auras: &[AuraHeld],
        projecting: &[Projecting],
    ) -> &mut Self {
        self.tell(&Fact::Quiescent {
            tick: Tick(tick),
            auras,
            projecting,
        })
    }

    pub fn errors(&self) -> ErrorCounts {
        self.checkers.errors()
    }

    pub fn finish(self) -> Report {
        self.checkers.finish()
    }
}
