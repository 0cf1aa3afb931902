//! What a region shows of itself to those who look closely: auras, clusters, handovers, figures.
//!
//! ```text
//!  events of each tick ─► observe ─┐
//!  the region, ten times a second ─┴► take ─► parts, as bytes that go to every client that asked
//! ```
//! Nothing here costs anything while nobody asks: the driver does not call it. While someone does, it walks over the bodies that project (not
//! over the world, save to count who is awake), and every list has a bound.

use crate::messages::{Insight, RegionState};
use boundary::lifecycle::LifeState;
use client_protocol::{
    AuraMark, Cause, ClusterMark, Content, CrossingMark, Figures, FlightMark, Layers,
    MigrationMark, NearBorder, Part,
};
use domain::{BodyId, ContactEnd, RegionId, Tick};
use region::{Region, RegionEvent};
use rustc_hash::FxHashMap;
use wire::HandoverCause;
use world::ContactBegun;

/// The layers that regions know of; gateways make the others themselves.
pub const REGION_LAYERS: Layers = Layers(
    Layers::AURAS.0
        | Layers::CLUSTERS.0
        | Layers::FLIGHT.0
        | Layers::MIGRATIONS.0
        | Layers::CROSSINGS.0
        | Layers::HEALTH.0
        | Layers::FIGURES.0,
);
/// A body comes from the region that had it less than so many ticks ago.
const COMES_FROM_TICKS: u64 = 300;
/// The most entries of a list that tells how things are.
const MOST_STATES: usize = 4096;
/// The most events of a kind from one insight to the next.
const MOST_EVENTS: usize = 512;
/// The most bodies whose origin is remembered.
const MOST_ORIGINS: usize = 65_536;

/// Gathers what happens between two insights.
#[derive(Default)]
pub struct InsightBuilder {
    wanted: Layers,
    migrations: Vec<MigrationMark>,
    crossings: Vec<CrossingMark>,
    origins: FxHashMap<BodyId, (RegionId, Tick)>,
}

impl InsightBuilder {
    /// From now on these layers are wanted.
    pub fn want(&mut self, layers: Layers) {
        let layers = layers.and(REGION_LAYERS);
        if layers.is_empty() {
            *self = Self::default();
        }
        self.wanted = layers;
    }

    /// Does anyone look?
    pub fn is_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Something happened in the region; call after each tick while someone looks.
    pub fn observe(&mut self, region: &Region, events: &[RegionEvent]) {
        for event in events {
            match event {
                RegionEvent::Departed {
                    tick,
                    to,
                    cause,
                    members,
                    ..
                } if self.wanted.contains(Layers::MIGRATIONS) => {
                    let places = region.departed_bodies();
                    let marks = members.iter().filter_map(|member| {
                        let (_, motion) = places.iter().find(|(id, _)| *id == member.body)?;
                        Some(MigrationMark {
                            body: member.body,
                            epoch: member.epoch,
                            to: *to,
                            tick: *tick,
                            cause: cause_of(cause),
                            place: motion.position,
                        })
                    });
                    let room = MOST_EVENTS.saturating_sub(self.migrations.len());
                    self.migrations.extend(marks.take(room));
                }
                RegionEvent::Arrived {
                    tick,
                    from,
                    members,
                    ..
                } if self.wanted.contains(Layers::CROSSINGS) => {
                    let room = MOST_ORIGINS.saturating_sub(self.origins.len());
                    let origins = members.iter().map(|m| (m.body, (*from, *tick)));
                    self.origins.extend(origins.take(room));
                }
                RegionEvent::Contact { tick, contact } => self.meet(region, *tick, contact),
                _ => {}
            }
        }
    }

    fn meet(&mut self, region: &Region, tick: Tick, contact: &ContactBegun) {
        let ContactEnd::Body(other) = contact.b else {
            return;
        };
        if !self.wanted.contains(Layers::CROSSINGS)
            || contact.restored
            || self.crossings.len() >= MOST_EVENTS
        {
            return;
        }
        let bodies = [contact.a, other];
        let from = bodies.map(|body| self.origin(region, tick, body));
        if from[0] == from[1] {
            return;
        }
        let [Some(a), Some(b)] = bodies.map(|body| region.world().body(body)) else {
            return;
        };
        // Where their bounding spheres would touch.
        let share = f64::from(a.radius) / f64::from(a.radius + b.radius).max(1e-9);
        self.crossings.push(CrossingMark {
            bodies,
            from,
            tick,
            speed: contact.relative_speed,
            place: a.motion.position.lerp(b.motion.position, share),
        });
    }

    fn origin(&self, region: &Region, tick: Tick, body: BodyId) -> RegionId {
        let recent = |(_, arrived): &&(RegionId, Tick)| tick.since(*arrived) < COMES_FROM_TICKS;
        let known = self.origins.get(&body).filter(recent);
        known.map_or(region.id(), |(from, _)| *from)
    }

    /// What has happened since the last call, and how things are.
    pub fn take(
        &mut self,
        region: &Region,
        state: Option<RegionState>,
        figures: Figures,
    ) -> Insight {
        let tick = region.tick();
        self.origins
            .retain(|_, (_, arrived)| tick.since(*arrived) < COMES_FROM_TICKS);
        let exceeded = region.boundary().exceeded();
        let mut insight = Insight {
            tick,
            state,
            exceeded: [exceeded.speed, exceeded.latency, exceeded.frame],
            parts: Vec::new(),
        };
        let wanted = self.wanted;
        let mut tell = |layer: Layers, content: &mut dyn FnMut() -> Content| {
            if wanted.contains(layer) {
                let part = Part {
                    region: Some(region.id()),
                    tick,
                    content: content(),
                };
                insight.parts.push((layer.0, part.encode()));
            }
        };
        tell(Layers::AURAS, &mut || Content::Auras(auras(region)));
        tell(Layers::CLUSTERS, &mut || {
            Content::Clusters(clusters(region))
        });
        tell(Layers::FLIGHT, &mut || Content::Flight(flights(region)));
        let migrations = std::mem::take(&mut self.migrations);
        let crossings = std::mem::take(&mut self.crossings);
        if !migrations.is_empty() {
            tell(Layers::MIGRATIONS, &mut || {
                Content::Migrations(migrations.clone())
            });
        }
        if !crossings.is_empty() {
            tell(Layers::CROSSINGS, &mut || {
                Content::Crossings(crossings.clone())
            });
        }
        tell(Layers::FIGURES, &mut || {
            Content::Figures(Box::new(complete(region, figures)))
        });
        insight
    }
}

fn cause_of(cause: &HandoverCause) -> Cause {
    match cause {
        HandoverCause::AuraCollision { .. } => Cause::Aura,
        HandoverCause::BoundaryTraversal => Cause::Traversal,
        HandoverCause::CentreCrossed => Cause::Centre,
    }
}

fn auras(region: &Region) -> Vec<AuraMark> {
    let geometry = region.boundary().geometry();
    let projecting = region.boundary().projecting();
    let auras = projecting.filter_map(|(id, track)| {
        let body = region.world().body(id)?;
        let (reach, growth) = match body.asleep {
            true => (geometry.resting_reach_m(), 0.0),
            false => (geometry.reach_m, geometry.growth_m),
        };
        Some(AuraMark {
            body: id,
            centre: body.motion.position,
            radius: body.radius,
            reach: reach as f32,
            growth: growth as f32,
            audience: track.audience.to_vec(),
        })
    });
    auras.take(MOST_STATES).collect()
}

fn clusters(region: &Region) -> Vec<ClusterMark> {
    let projecting = region.boundary().projecting();
    let clusters = projecting.map(|(body, track)| ClusterMark {
        body,
        cluster: track.key.map_or(body, |key| key.body),
        since: track
            .key
            .map(|key| key.since)
            .or(track.since)
            .unwrap_or_default(),
        state: match track.state {
            LifeState::IntersectingBoundary => NearBorder::AtBoundary,
            LifeState::BoundaryTraversed => NearBorder::Outside,
            _ => NearBorder::Inside,
        },
    });
    clusters.take(MOST_STATES).collect()
}

fn flights(region: &Region) -> Vec<FlightMark> {
    let offers = region.boundary().in_flight();
    let flights = offers.flat_map(|(to, offer)| {
        let members = offer.cluster.bodies.iter().zip(&offer.members);
        members.map(move |(body, member)| FlightMark {
            body: body.id,
            to,
            epoch: member.epoch,
            left: offer.tick,
            place: body.motion.position,
        })
    });
    flights.take(MOST_STATES).collect()
}

/// What the driver does not count itself.
fn complete(region: &Region, figures: Figures) -> Figures {
    let boundary = region.boundary();
    let in_flight = boundary.in_flight();
    let in_flight = in_flight.map(|(_, offer)| offer.cluster.bodies.len());
    Figures {
        budget_ns: (region.config().boundary.step.as_secs() * 1e9).round() as u64,
        bodies: region.world().len() as u32,
        awake: region.world().awake_count() as u32,
        projecting: boundary.projecting().count() as u32,
        auras: boundary.remote_aura_count() as u32,
        in_flight: in_flight.sum::<usize>() as u32,
        ..figures
    }
}
