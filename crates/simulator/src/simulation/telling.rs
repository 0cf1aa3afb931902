//! Facts for the checkers.

use super::Simulation;
use crate::facts::{AuraHeld, Fact, Projecting};
use crate::server::Heard;
use crate::user::Wish;
use domain::{BodyId, ContactEnd, Epoch, RegionId, Tick};
use region::staging::Staging;
use region::{MovedBody, RegionEvent, TickRecord};
use scenes::Scene;
use std::collections::BTreeSet;

/// What an event is to those who watch from above. Recoveries and refusals need to know more.
pub(crate) fn fact_of(region: RegionId, event: &RegionEvent, mut tell: impl FnMut(&Fact<'_>)) {
    match event {
        RegionEvent::Born { tick, body, epoch } => tell(&Fact::Born {
            tick: *tick,
            region,
            body: body.id,
            epoch: *epoch,
            form: &body.form,
            motion: &body.motion,
        }),
        RegionEvent::Departed {
            tick,
            to,
            handover,
            cause,
            members,
        } => tell(&Fact::Departed {
            tick: *tick,
            from: region,
            to: *to,
            handover: handover.0,
            members: &pairs(members),
            cause: *cause,
        }),
        RegionEvent::CaughtUp {
            tick,
            batch,
            bodies,
        } => tell(&Fact::CaughtUp {
            tick: *tick,
            region,
            batch: *batch,
            bodies,
        }),
        RegionEvent::Arrived {
            tick,
            from,
            handover,
            members,
        } => tell(&Fact::Arrived {
            tick: *tick,
            region,
            from: *from,
            handover: handover.0,
            members: &pairs(members),
        }),
        RegionEvent::Contact { tick, contact } => {
            if let ContactEnd::Body(other) = contact.b {
                tell(&Fact::Contact {
                    tick: *tick,
                    region,
                    a: contact.a,
                    b: other,
                    depth_m: f64::from(contact.depth_m),
                    relative_speed: f64::from(contact.relative_speed),
                    restored: contact.restored,
                });
            }
        }
        RegionEvent::Broken { tick, body, .. } => tell(&Fact::Removed {
            tick: *tick,
            region,
            body: *body,
        }),
        RegionEvent::Recovered { .. }
        | RegionEvent::Refused { .. }
        | RegionEvent::NotBorn { .. }
        | RegionEvent::Life(_) => {}
    }
}

/// What should never happen in a world that nobody harms, in words.
pub(crate) fn complaint(region: RegionId, event: &RegionEvent) -> Option<String> {
    match event {
        RegionEvent::Refused {
            from,
            handover,
            why,
        } => {
            let number = handover.0;
            Some(format!("{region} refused offer {number} of {from}: {why}"))
        }
        RegionEvent::Broken {
            tick, body, why, ..
        } => Some(format!(
            "{region} could not compute {body} after {tick}: {why}"
        )),
        RegionEvent::NotBorn { body, why, .. } => {
            Some(format!("{region} could not create {body}: {why}"))
        }
        _ => None,
    }
}

/// The bodies of the start come into being at their first owners.
pub(crate) fn tell_births(scene: &Scene, staging: &Staging, mut tell: impl FnMut(&Fact<'_>)) {
    for body in &scene.bodies {
        tell(&Fact::Born {
            tick: Tick::ZERO,
            region: staging.owners[&body.id],
            body: body.id,
            epoch: Epoch(0),
            form: &body.form,
            motion: &body.motion,
        });
    }
}

fn pairs(members: &[MovedBody]) -> Vec<(BodyId, Epoch)> {
    members
        .iter()
        .map(|moved| (moved.body, moved.epoch))
        .collect()
}

impl Simulation {
    pub(super) fn tell(&mut self, fact: &Fact<'_>) {
        self.counters.count(fact);
        if let Some(watcher) = &mut self.watcher {
            self.stopped |= watcher(self.now, fact).is_break();
        }
        if let Some(checkers) = &mut self.checkers {
            checkers.observe(self.now, fact);
        }
    }

    pub(super) fn tell_tick(&mut self, region: RegionId, record: TickRecord) {
        self.history.update(&region.0.to_le_bytes());
        self.history.update(&record.hash.to_le_bytes());
        self.counters.boundary_bodies += record.projecting;
        for event in record.before_step {
            self.tell_event(region, event);
        }
        if let Some(bodies) = &record.bodies {
            self.tell(&Fact::Stepped {
                tick: record.tick,
                region,
                bodies,
            });
        }
        for event in record.after_step {
            self.tell_event(region, event);
        }
    }

    /// What the server has read at the beginning of its frame.
    pub(super) fn tell_heard(&mut self, region: RegionId) {
        let heard = std::mem::take(&mut self.servers[region.0 as usize].heard);
        for Heard {
            tick,
            from,
            what,
            bodies,
        } in &heard
        {
            self.tell(&Fact::Heard {
                tick: *tick,
                region,
                from: *from,
                what,
                bodies,
            });
        }
    }

    pub(super) fn tell_events(&mut self, region: RegionId) {
        while let Some(event) = self.servers[region.0 as usize].poll_event() {
            if self.onlooker.is_some() {
                self.unseen.entry(region).or_default().push(event.clone());
            }
            self.tell_event(region, event);
        }
    }

    pub(super) fn tell_event(&mut self, region: RegionId, event: RegionEvent) {
        match event {
            RegionEvent::Recovered { tick, bodies } => {
                self.tell_recovery(region, tick, &pairs(&bodies));
            }
            event => {
                fact_of(region, &event, |fact| self.tell(fact));
                if let Some(complaint) = complaint(region, &event) {
                    self.abort(complaint);
                }
            }
        }
    }

    /// The region is back with what its snapshot had and nobody else has since; the user repeats what it may have forgotten.
    pub(super) fn tell_recovery(&mut self, id: RegionId, tick: Tick, bodies: &[(BodyId, Epoch)]) {
        let snapshot = self.snapshot_of.get(&id).copied().unwrap_or_default();
        self.tell(&Fact::Restored {
            tick,
            region: id,
            snapshot,
            bodies,
        });
        for body in self.user.forgotten(id, snapshot) {
            self.user.postpone(self.now, Wish::Spawn(Box::new(body)));
        }
    }

    pub(super) fn tell_quiescence(&mut self) {
        let mut auras = Vec::new();
        let mut projecting = Vec::new();
        let under_way = self.bodies_under_way();
        for region in self
            .servers
            .iter()
            .filter_map(|server| server.region.as_ref())
        {
            for (body, aura) in region.boundary().remote_auras() {
                if aura.provisional_until.is_none() && !under_way.contains(&body) {
                    auras.push(AuraHeld {
                        holder: region.id(),
                        owner: aura.owner,
                        body,
                        epoch: aura.epoch,
                    });
                }
            }
            let owner = region.id();
            let due = region.due_to_project().into_iter();
            projecting.extend(due.map(|due| Projecting {
                owner,
                body: due.body,
                epoch: due.epoch,
                audience: due.audience,
            }));
        }
        self.tell(&Fact::Quiescent {
            tick: self.last_tick,
            auras: &auras,
            projecting: &projecting,
        });
    }

    /// Bodies that left one region and have not entered another when time stopped, and those not yet born.
    pub(super) fn bodies_under_way(&self) -> BTreeSet<BodyId> {
        let mut under_way = BTreeSet::new();
        for region in self
            .servers
            .iter()
            .filter_map(|server| server.region.as_ref())
        {
            let boundary = region.boundary();
            let offers = boundary.in_flight().map(|(_, offer)| offer);
            for offer in offers.chain(boundary.waiting().map(|arrival| &arrival.offer)) {
                under_way.extend(offer.cluster.bodies.iter().map(|body| body.id));
                under_way.extend(offer.unborn.iter().map(|unborn| unborn.body.id));
            }
            under_way.extend(boundary.announced());
        }
        under_way
    }
}
