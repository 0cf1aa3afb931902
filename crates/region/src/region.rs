//! The region server and the phases of its tick.

use crate::catch_up::CatchUp;
use crate::view::Seen;
use crate::{MovedBody, RegionConfig, RegionEvent, RegionSnapshot};
use boundary::lifecycle::LifeState;
use boundary::promise::PromiseLaw;
use boundary::{
    Arrival, AuraSize, Bodies, BodyView, Boundary, BoundaryConfig, BoundaryEvent, Departure,
    HandoverMode, Place, Policy,
};
use domain::{
    Body, BodyId, Cluster, Epoch, Joint, Motion, RegionId, RegionMapError, SimTime, Static, Tick,
};
use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use thiserror::Error;
use wire::{Envelope, Message};
use world::{World, WorldConfig, WorldError};

/// Why a region cannot be set up or does not take what it is given. The caller's input is at fault.
#[derive(Debug, Error)]
pub enum RegionError {
    /// The regions do not fit the auras.
    #[error(transparent)]
    Map(#[from] RegionMapError),
    /// The engine cannot build it.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// A body that others must know of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueAura {
    /// Which.
    pub body: BodyId,
    /// Its ownership.
    pub epoch: Epoch,
    /// Who must know, ascending; others may.
    pub audience: Vec<RegionId>,
}

/// One region server.
///
/// Fed by [`handle_frame`](Self::handle_frame), [`handle_message`](Self::handle_message), [`handle_tick`](Self::handle_tick); commanded by
/// [`spawn`](Self::spawn), [`apply_impulse`](Self::apply_impulse), …; drained by [`poll_transmit`](Self::poll_transmit) and
/// [`poll_event`](Self::poll_event). One frame of a driver:
///
/// ```text
/// region.handle_frame(now);
/// for each envelope that has arrived   region.handle_message(arrived_at, envelope)
/// while region.next_wakeup() <= now    region.handle_tick(now, tick)
/// region.handle_network_update(now)
/// while let Some(envelope) = region.poll_transmit()   send it
/// while let Some(event) = region.poll_event()         report it
/// ```
pub struct Region {
    config: RegionConfig,
    tick: Tick,
    world: World,
    boundary: Boundary,
    catch_up: CatchUp,
    transmits: VecDeque<Envelope>,
    events: VecDeque<RegionEvent>,
    snapshot: Option<RegionSnapshot>,
    recovering: bool,
    // Once recovered, step through all ticks that have passed?
    makes_up: bool,
    // Stepped in the last tick and gone since.
    departed: Vec<(BodyId, Motion)>,
    // Besides what the configuration has.
    scenery: Vec<Static>,
}

impl Region {
    /// An empty region at tick zero.
    pub fn new(config: RegionConfig) -> Result<Self, RegionError> {
        let world_config = WorldConfig {
            gravity: config.gravity,
            step: config.boundary.step,
            origin: config.map.origin(config.id),
        };
        let boundary_config = BoundaryConfig {
            gravity: config.gravity.length().into(),
            ..config.boundary
        };
        let boundary = Boundary::new(
            config.id,
            config.map.clone(),
            boundary_config,
            config.snapshot_ticks.is_some(),
        )?;
        Ok(Self {
            world: World::new(world_config, &config.statics)?,
            boundary,
            catch_up: CatchUp::new(world_config, config.statics.clone()),
            tick: Tick::ZERO,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            snapshot: None,
            recovering: false,
            makes_up: false,
            departed: Vec::new(),
            scenery: Vec::new(),
            config,
        })
    }

    /// A region started again from its snapshot. It asks all others what has happened since, and does not step
    /// until they have answered; ticks that pass meanwhile are not made up for. `incarnation` is higher at each restart of the region.
    pub fn restore(
        config: RegionConfig,
        snapshot: RegionSnapshot,
        incarnation: u32,
    ) -> Result<Self, RegionError> {
        let mut region = Self::new(config)?;
        region.tick = snapshot.tick;
        for scenery in &snapshot.scenery {
            region.put_up(scenery)?;
        }
        region.world.insert(&snapshot.bodies)?;
        region.boundary.restore(snapshot.boundary, incarnation);
        region.recovering = true;
        Ok(region)
    }

    /// A region that goes on elsewhere from the last state of a server that has stopped on purpose. Like
    /// [`Self::restore`], but nothing happened after this snapshot: every tick since is made up for, none is lost.
    pub fn resume(
        config: RegionConfig,
        snapshot: RegionSnapshot,
        incarnation: u32,
    ) -> Result<Self, RegionError> {
        let mut region = Self::restore(config, snapshot, incarnation)?;
        region.makes_up = true;
        Ok(region)
    }

    // ── commands ───────────────────────────────────────────────────────────────────────────────────────────────

    /// Gives the region a body of the scene's start; returns its epoch.
    pub fn place(&mut self, body: &Body) -> Result<Epoch, RegionError> {
        self.world.spawn(body)?;
        Ok(self.boundary.adopt(self.tick, body))
    }

    /// Ties two bodies of the region.
    pub fn tie(&mut self, joint: &Joint) -> Result<(), RegionError> {
        Ok(self.world.add_joint(joint)?)
    }

    /// Creates a body; near a border it is announced first and born a little later. A body that was here before is not
    /// created again: the command may be repeated safely.
    pub fn spawn(&mut self, body: &Body) -> Result<(), RegionError> {
        if self.boundary.knows(body.id) {
            return Ok(());
        }
        world::check_body(body)?;
        if self.boundary.announce(self.tick, body) {
            self.bear(body)?;
        }
        Ok(())
    }

    /// Creates a body that nobody waits for to hear of: if it cannot be, that is reported, and it never was.
    pub fn spawn_or_report(&mut self, body: &Body) {
        if let Err(why) = self.spawn(body) {
            self.report_not_born(body.id, &why);
        }
    }

    fn report_not_born(&mut self, body: BodyId, why: &RegionError) {
        self.events.push_back(RegionEvent::NotBorn {
            tick: self.tick,
            body,
            why: why.to_string(),
        });
    }

    /// Puts up scenery (AP-42). Every region must be told; what is there already is not put up again.
    pub fn put_up(&mut self, scenery: &Static) -> Result<(), RegionError> {
        if self.scenery.iter().any(|other| other.id == scenery.id) {
            return Ok(());
        }
        self.world.put_up(scenery)?;
        self.catch_up.put_up(scenery)?;
        self.scenery.push(scenery.clone());
        Ok(())
    }

    fn bear(&mut self, body: &Body) -> Result<(), RegionError> {
        let epoch = self.place(body)?;
        self.events.push_back(RegionEvent::Born {
            tick: self.tick,
            body: body.clone(),
            epoch,
        });
        Ok(())
    }

    /// Removes a body; says whether it was here.
    pub fn remove(&mut self, body: BodyId) -> bool {
        self.boundary.removed(self.tick, body);
        self.world.remove(body).is_some()
    }

    /// Pushes a body, N·s, at its centre of mass or at a point. Refused if it is not here, or if its numbers would make no sense after it.
    pub fn apply_impulse(
        &mut self,
        body: BodyId,
        impulse: Vec3,
        at: Option<DVec3>,
    ) -> Result<(), RegionError> {
        Ok(self.world.apply_impulse(body, impulse, at)?)
    }

    /// Gives a body another velocity of its centre of mass, m/s. Refused if it is not here, or too fast for any world.
    pub fn set_velocity(&mut self, body: BodyId, velocity: Vec3) -> Result<(), RegionError> {
        Ok(self.world.set_velocity(body, velocity)?)
    }

    /// Report every step of every body's life from now on.
    pub fn trace(&mut self) {
        self.boundary.trace();
    }

    // ── input ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// A frame of the server begins.
    pub fn handle_frame(&mut self, now: SimTime) {
        self.boundary.handle_frame(now);
    }

    /// Something another region said. `arrived_at` is when it came off the network. An offer that the engine could not carry out is
    /// refused whole; the sender keeps it.
    pub fn handle_message(&mut self, arrived_at: SimTime, mut envelope: Envelope) {
        let from = envelope.from;
        envelope.messages.retain(|message| {
            let Message::Offer(offer) = message else {
                return true;
            };
            let unborn = offer
                .unborn
                .iter()
                .try_for_each(|unborn| world::check_body(&unborn.body));
            let Err(why) = world::check_cluster(&offer.cluster).and(unborn) else {
                return true;
            };
            self.events.push_back(RegionEvent::Refused {
                from,
                handover: offer.handover,
                why: why.to_string(),
            });
            false
        });
        self.boundary
            .handle_envelope(arrived_at, self.tick, envelope);
    }

    /// Time moved: one physics step, to `tick`. The phases in order; whoever wants to know what each of them costs calls
    /// the three itself.
    pub fn handle_tick(&mut self, _now: SimTime, tick: Tick) {
        if self.begin_tick(tick) {
            self.step_physics(tick);
            self.end_tick();
        }
    }

    /// The first part of a tick: what has been announced or handed over enters. Says whether the region steps in this tick; if
    /// not, the tick is over.
    pub fn begin_tick(&mut self, tick: Tick) -> bool {
        let ready = self.is_ready(tick);
        if ready {
            self.admit();
        }
        ready
    }

    /// The last part of a tick: who projects, who leaves, what has touched, and a snapshot now and then.
    pub fn end_tick(&mut self) {
        self.survey();
        self.keep_promises();
        self.send_departing();
        self.report_contacts();
        self.take_snapshot_if_due();
    }

    /// Phase 0: after a restart, wait for the others' answers, then drop what has a newer owner.
    fn is_ready(&mut self, tick: Tick) -> bool {
        if !self.recovering {
            return true;
        }
        let before = Tick(tick.0 - 1);
        if self.boundary.is_recovering() {
            if !self.makes_up {
                // The clock does not wait for us: ticks pass unstepped.
                self.tick = tick;
            }
            return false;
        }
        self.recovering = false;
        self.tick = before;
        for body in self.boundary.take_outdated(before) {
            self.world.remove(body);
        }
        let seen = Seen(&self.world, self.boundary.config().gravity);
        self.boundary.resume(before, &seen);
        let bodies = self.world.ids().filter_map(|body| {
            let epoch = self.boundary.track(body)?.epoch;
            Some(MovedBody { body, epoch })
        });
        let bodies = bodies.collect();
        self.events.push_back(RegionEvent::Recovered {
            tick: before,
            bodies,
        });
        true
    }

    /// Phase 1: announced spawns are born; handed-over clusters are caught up and enter.
    fn admit(&mut self) {
        for body in self.boundary.take_births(self.tick) {
            // It was checked when it was announced; but that may have been elsewhere, and it may come from a snapshot.
            if let Err(why) = self.bear(&body) {
                self.boundary.unannounce(self.tick, body.id);
                self.report_not_born(body.id, &why);
            }
        }
        self.admit_arrivals();
    }

    fn admit_arrivals(&mut self) {
        let frozen = self.config.boundary.handover == HandoverMode::Freeze;
        // The thesis's servers share no tick numbers: a body enters whenever it comes.
        let any_tick = frozen && self.config.boundary.aura == AuraSize::Thesis;
        for arrival in self.boundary.take_arrivals(self.tick, any_tick) {
            self.admit_cluster(arrival, frozen);
        }
    }

    fn admit_cluster(&mut self, mut arrival: Arrival, frozen: bool) {
        self.boundary.complete_bonds(&mut arrival);
        let cluster = std::mem::take(&mut arrival.offer.cluster);
        let from = if frozen {
            self.tick
        } else {
            arrival.offer.tick
        };
        let events = &mut self.events;
        let (boundary, offer) = (&self.boundary, &arrival.offer);
        let gravity = boundary.config().gravity;
        let here = Seen(&self.world, gravity);
        let keep = |tick, before: &Place, now: &BodyView| {
            boundary.share_kept_in_flight(tick, offer, before, now, &here)
        };
        let report = |tick, batch, bodies| {
            events.push_back(RegionEvent::CaughtUp {
                tick,
                batch,
                bodies,
            });
        };
        let cluster = self
            .catch_up
            .bring(cluster, from, self.tick, gravity, keep, report);
        let broken = self.insert(&cluster);
        arrival.offer.cluster = cluster;
        self.boundary.arrived(self.tick, &arrival);
        let offer = &arrival.offer;
        let members = offer
            .cluster
            .bodies
            .iter()
            .zip(&offer.members)
            .map(|(body, member)| MovedBody {
                body: body.id,
                epoch: member.epoch,
            })
            .collect();
        self.events.push_back(RegionEvent::Arrived {
            tick: self.tick,
            from: arrival.from,
            handover: offer.handover,
            members,
        });
        for (body, why) in broken {
            self.take_out(self.tick, body, why.to_string());
        }
    }

    /// Puts a cluster into the world. What the engine cannot take stays out: says which, and why. (It was checked when it came in, but its hulls were not built, and it has
    /// been stepped since.)
    fn insert(&mut self, cluster: &Cluster) -> Vec<(BodyId, WorldError)> {
        if self.world.insert(cluster).is_ok() {
            return Vec::new();
        }
        let mut sound = cluster.clone();
        let broken = world::mend_cluster(&mut sound);
        self.world
            .insert(&sound)
            .expect("each of it can be built, and none of it is here");
        broken
    }

    /// The engine cannot compute this body: off the books with it, before anybody else sees it. One bad number in what we say or keep would have all the rest of it
    /// refused.
    fn take_out(&mut self, sound_until: Tick, body: BodyId, why: String) {
        let track = self.boundary.track(body);
        let epoch = track.map_or(Epoch(0), |track| track.epoch);
        self.remove(body);
        self.events.push_back(RegionEvent::Broken {
            tick: sound_until,
            body,
            epoch,
            why,
        });
    }

    /// Lets in what has arrived without stepping: for the end of a run, when time stands still and nothing is born.
    pub fn settle(&mut self) {
        if !self.recovering {
            self.admit_arrivals();
        }
    }

    /// Phase 2, the middle part of a tick: physics and nothing else.
    pub fn step_physics(&mut self, tick: Tick) {
        self.world.step();
        self.tick = tick;
    }

    /// Phase 2a: what comes out of the step with impossible numbers is taken out.
    fn survey(&mut self) {
        self.departed.clear();
        let sound_until = Tick(self.tick.0 - 1);
        let lists_awake = self.boundary.law().is_some() && self.config.map.len() > 1;
        for (body, what) in self.world.survey(lists_awake) {
            self.take_out(sound_until, body, format!("{what} is not acceptable"));
        }
    }

    /// Phase 2b: what the step has thrown farther than was promised is put back.
    fn keep_promises(&mut self) {
        let seen = Seen(&self.world, self.boundary.config().gravity);
        for hold in self.boundary.keep_promises(self.tick, &seen) {
            self.world.put_back(hold.body, hold.position, hold.rotation);
        }
    }

    /// Phase 3: the boundary decides who projects and who leaves; leaving clusters go into offers.
    fn send_departing(&mut self) {
        let seen = Seen(&self.world, self.boundary.config().gravity);
        for departure in self.boundary.after_step(self.tick, &seen) {
            self.send(departure);
        }
        while let Some(BoundaryEvent::Transition(transition)) = self.boundary.poll_event() {
            self.events.push_back(RegionEvent::Life(transition));
        }
    }

    fn send(&mut self, departure: Departure) {
        let ids: Vec<BodyId> = departure.members.iter().map(|(body, _)| *body).collect();
        let members = departure
            .members
            .iter()
            .map(|(body, member)| MovedBody {
                body: *body,
                epoch: member.epoch,
            })
            .collect();
        let (to, cause) = (departure.to, departure.cause);
        let cluster = self.world.extract(&ids);
        self.departed
            .extend(cluster.bodies.iter().map(|body| (body.id, body.motion)));
        let handover = self.boundary.offer(self.tick, departure, cluster);
        self.events.push_back(RegionEvent::Departed {
            tick: self.tick,
            to,
            handover,
            cause,
            members,
        });
    }

    /// Phase 4: what has begun to touch.
    fn report_contacts(&mut self) {
        let tick = self.tick;
        let contacts = self.world.contacts_begun();
        self.events
            .extend(contacts.iter().map(|contact| RegionEvent::Contact {
                tick,
                contact: *contact,
            }));
    }

    /// Phase 5: a snapshot now and then.
    fn take_snapshot_if_due(&mut self) {
        let due = self
            .config
            .snapshot_ticks
            .is_some_and(|every| self.tick.0.is_multiple_of(every));
        if due {
            self.snapshot = Some(self.make_snapshot());
        }
    }

    /// The region's complete state now.
    pub fn make_snapshot(&mut self) -> RegionSnapshot {
        let ids: Vec<BodyId> = self.world.ids().collect();
        RegionSnapshot {
            tick: self.tick,
            bodies: self.world.copy(&ids),
            boundary: self.boundary.snapshot(self.tick),
            scenery: self.scenery.clone(),
        }
    }

    /// Does someone wait for a snapshot of this region to be kept? Then one should be made now: a region that has restarted waits for our answer, and
    /// that is given only when it cannot be lost.
    pub fn wants_snapshot(&self) -> bool {
        !self.recovering && self.boundary.wants_snapshot()
    }

    /// The snapshot of this tick is kept where it outlives this server: neighbours may forget what it covers.
    pub fn snapshot_kept(&mut self, tick: Tick) {
        self.boundary.snapshot_kept(tick);
    }

    /// The network update (BNU): what has gathered goes out, one envelope per region spoken to.
    pub fn handle_network_update(&mut self, now: SimTime) {
        for (to, messages) in self.boundary.flush() {
            self.transmits.push_back(Envelope {
                from: self.config.id,
                to,
                tick: self.tick,
                sent_at: now,
                messages,
            });
        }
    }

    /// Would a network update have anything to send?
    pub fn has_news(&self) -> bool {
        self.boundary.has_news() || !self.transmits.is_empty()
    }

    // ── output ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// The next envelope to send.
    pub fn poll_transmit(&mut self) -> Option<Envelope> {
        self.transmits.pop_front()
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<RegionEvent> {
        self.events.pop_front()
    }

    /// When the next tick is due.
    pub fn next_wakeup(&self) -> SimTime {
        self.config.boundary.step.due(self.tick.next())
    }

    /// The snapshot taken last, if one was taken since the last call.
    pub fn take_snapshot(&mut self) -> Option<RegionSnapshot> {
        self.snapshot.take()
    }

    // ── looking at it ──────────────────────────────────────────────────────────────────────────────────────────

    /// Which region.
    pub fn id(&self) -> RegionId {
        self.config.id
    }

    /// What it was given at its start.
    pub fn config(&self) -> &RegionConfig {
        &self.config
    }

    /// The last completed tick.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The physics.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Scenery that was put up since the start.
    pub fn scenery(&self) -> &[Static] {
        &self.scenery
    }

    /// The boundaries.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// All bodies that the last tick stepped, ascending: those still here and those that left right after.
    pub fn stepped_bodies(&self) -> Vec<(BodyId, Motion)> {
        let mut bodies: Vec<_> = self.world.motions().collect();
        bodies.extend(&self.departed);
        bodies.sort_unstable_by_key(|(id, _)| *id);
        bodies
    }

    /// Bodies that left right after the last tick, as they were then.
    pub fn departed_bodies(&self) -> &[(BodyId, Motion)] {
        &self.departed
    }

    /// Bodies that others must know of, and which others, from where they are and not from what the boundary thinks it has told: whatever reaches into a
    /// trigger boundary or beyond. (What entered after the last step has not been looked at yet.)
    pub fn due_to_project(&self) -> Vec<DueAura> {
        let map = &self.config.map;
        if self.config.boundary.policy != Policy::Aura || map.len() == 1 {
            return Vec::new();
        }
        if let Some(law) = self.boundary.law() {
            return self.due_by_promise(law);
        }
        let home = map.rect(self.config.id);
        let inner = home.grown(-self.boundary.geometry().trigger_depth_m);
        let near = self
            .world
            .bodies()
            .filter(|(_, body)| !inner.contains(&body.bounds.ground()));
        near.filter_map(|(body, _)| {
            let track = self.boundary.track(body)?;
            (track.state != LifeState::Injected).then(|| DueAura {
                body,
                epoch: track.epoch,
                audience: map.neighbours(self.config.id).to_vec(),
            })
        })
        .collect()
    }

    /// With size `adaptive`: whatever could cross a border within two hops, known to those whose border it is; and whatever
    /// is told of because it was a moment ago, or because something foreign is near, whoever knows of it.
    fn due_by_promise(&self, law: &PromiseLaw) -> Vec<DueAura> {
        let map = &self.config.map;
        let home = map.rect(self.config.id);
        let seen = Seen(&self.world, self.boundary.config().gravity);
        let told = self.boundary.projecting();
        let told = told.map(|(body, track)| {
            let (epoch, audience) = (track.epoch, Vec::new());
            (
                body,
                DueAura {
                    body,
                    epoch,
                    audience,
                },
            )
        });
        let mut due: BTreeMap<BodyId, DueAura> = told.collect();
        let mut near = Vec::new();
        seen.not_within(
            &home.grown(-self.boundary.geometry().trigger_depth_m),
            &mut near,
        );
        for view in near {
            let Some(track) = self.boundary.track(view.id) else {
                continue;
            };
            let lead = law.lead(&view, false);
            if !home.contains(&lead) && track.state != LifeState::Injected {
                let neighbours = map.neighbours(self.config.id).iter().copied();
                let is_near = |other: &RegionId| map.rect(*other).touches(&lead);
                let (body, epoch) = (view.id, track.epoch);
                let audience = neighbours.filter(is_near).collect();
                due.insert(
                    body,
                    DueAura {
                        body,
                        epoch,
                        audience,
                    },
                );
            }
        }
        due.into_values().collect()
    }

    /// Is it waiting for answers after a restart?
    pub fn is_recovering(&self) -> bool {
        self.recovering
    }
}
