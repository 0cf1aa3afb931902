//! Facts for the checkers.

use super::Simulation;
use crate::facts::{AuraHeld, Fact, Projecting};
use crate::server::Heard;
use crate::user::Wish;
use boundary::Policy;
use boundary::lifecycle::LifeState;
use domain::{BodyId, ContactEnd, Epoch, RegionId, Tick};
use region::{MovedBody, Region, RegionEvent, TickRecord};
use std::collections::BTreeSet;

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
            self.tell_event(region, event);
        }
    }

    pub(super) fn tell_event(&mut self, region: RegionId, event: RegionEvent) {
        match event {
            RegionEvent::Born { tick, body, epoch } => self.tell(&Fact::Born {
                tick,
                region,
                body: body.id,
                epoch,
                form: &body.form,
                motion: &body.motion,
            }),
            RegionEvent::Departed {
                tick,
                to,
                handover,
                cause,
                members,
            } => {
                let members = pairs(&members);
                self.tell(&Fact::Departed {
                    tick,
                    from: region,
                    to,
                    handover: handover.0,
                    members: &members,
                    cause,
                });
            }
            RegionEvent::CaughtUp {
                tick,
                batch,
                bodies,
            } => self.tell(&Fact::CaughtUp {
                tick,
                region,
                batch,
                bodies: &bodies,
            }),
            RegionEvent::Arrived {
                tick,
                from,
                handover,
                members,
            } => {
                let members = pairs(&members);
                self.tell(&Fact::Arrived {
                    tick,
                    region,
                    from,
                    handover: handover.0,
                    members: &members,
                });
            }
            RegionEvent::Contact { tick, contact } => self.tell_contact(region, tick, &contact),
            RegionEvent::Recovered { tick, bodies } => {
                self.tell_recovery(region, tick, &pairs(&bodies));
            }
            RegionEvent::Refused {
                from,
                handover,
                why,
            } => {
                let number = handover.0;
                self.abort(format!("{region} refused offer {number} of {from}: {why}"));
            }
            RegionEvent::Life(_) => {}
        }
    }

    pub(super) fn tell_contact(
        &mut self,
        region: RegionId,
        tick: Tick,
        contact: &world::ContactBegun,
    ) {
        if let ContactEnd::Body(other) = contact.b {
            self.tell(&Fact::Contact {
                tick,
                region,
                a: contact.a,
                b: other,
                depth_m: f64::from(contact.depth_m),
                relative_speed: f64::from(contact.relative_speed),
                restored: contact.restored,
            });
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
            projecting.extend(self.due_to_project(region));
        }
        self.tell(&Fact::Quiescent {
            tick: self.last_tick,
            auras: &auras,
            projecting: &projecting,
        });
    }

    /// Who must be known to whom, from where the bodies are and not from what the region thinks it has told: whatever reaches into a trigger
    /// boundary or beyond, to all neighbours.
    fn due_to_project(&self, region: &Region) -> Vec<Projecting> {
        let boundary = region.boundary();
        if boundary.config().policy != Policy::Aura || self.map.len() == 1 {
            return Vec::new();
        }
        let (owner, home) = (region.id(), self.map.rect(region.id()));
        let inner = home.grown(-boundary.geometry().trigger_depth_m);
        let near = |(_, body): &(BodyId, world::BodyView)| !inner.contains(&body.bounds.ground());
        // What entered after the last step has not been looked at yet.
        let looked_at = |body: BodyId| {
            let track = boundary.track(body);
            track.filter(|track| track.state != LifeState::Injected)
        };
        let near = region.world().bodies().filter(near);
        near.filter_map(|(body, _)| {
            Some(Projecting {
                owner,
                body,
                epoch: looked_at(body)?.epoch,
                audience: self.map.neighbours(owner).to_vec(),
            })
        })
        .collect()
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
