//! [`Boundary`]: the state of one region's boundaries and the order of what happens in a tick.

use crate::audience::Introductions;
use crate::aura_collision::{Call, strongest_call};
use crate::boundary_traversal::{destination, island};
use crate::buffers::Buffers;
use crate::cluster::ClusterFinder;
use crate::config::{AuraSize, BoundaryConfig, Policy};
use crate::geometry::AuraGeometry;
use crate::handover::{Arrival, HandoverLedger};
use crate::lifecycle::{LifeState, Transition, change};
use crate::naive;
use crate::nursery::{Ghost, Nursery, view_of};
use crate::projection::{
    Regions, Track, object_boundary_create, object_boundary_exit, object_boundary_update, state_at,
    touched_boundaries,
};
use crate::remote_auras::{AuraIndex, RemoteAura, RemoteAuras};
use crate::surroundings::surroundings;
use crate::tolerance_watch::{ExceededTolerances, ToleranceWatch};
use crate::view::{Bodies, BodyView};
use domain::{
    Body, BodyId, Bounds, Cluster, Epoch, Rect, RegionId, RegionMap, RegionMapError, SimTime, Tick,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::{
    AuraDelete, AuraUpsert, ClusterKey, Envelope, HandoverCause, HandoverNumber, Member, Message,
    NewOwner, Offer, Unborn,
};

/// How often the island test runs with size `safe`. It frees bodies from a host they have left; nothing depends on its haste.
const ISLAND_TEST_TICKS: u64 = 4;

/// A cluster that leaves: the region takes the bodies out of its world and gives them to [`Boundary::offer`].
#[derive(Clone, Debug, PartialEq)]
pub struct Departure {
    /// The new owner.
    pub to: RegionId,
    /// Why.
    pub cause: HandoverCause,
    /// Which bodies, ascending, and their ownership under the new owner.
    pub members: Vec<(BodyId, Member)>,
    /// Announced spawns that go along.
    pub unborn: Vec<Unborn>,
    /// Regions that have been told of every member who its new owner is.
    pub told: Vec<RegionId>,
}

/// Something a driver may want to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BoundaryEvent {
    /// A step in a body's life.
    Transition(Transition),
}

/// One region's boundaries under the policies `aura` and `naive`.
///
/// Feed it with [`handle_envelope`](Self::handle_envelope), [`handle_frame`](Self::handle_frame), [`after_step`](Self::after_step); command it with
/// [`adopt`](Self::adopt), [`announce`](Self::announce), [`offer`](Self::offer), [`arrived`](Self::arrived); drain it with
/// [`flush`](Self::flush), [`take_arrivals`](Self::take_arrivals), [`poll_event`](Self::poll_event).
#[derive(Clone, Debug)]
pub struct Boundary {
    me: RegionId,
    map: RegionMap,
    // Ascending.
    neighbours: Vec<(RegionId, Rect)>,
    config: BoundaryConfig,
    geometry: AuraGeometry,
    tracks: FxHashMap<BodyId, Track>,
    projecting: BTreeSet<BodyId>,
    // Created since the last step: not yet classified.
    fresh: Vec<BodyId>,
    remote: RemoteAuras,
    nursery: Nursery,
    introductions: Introductions,
    // Every region is every other's neighbour: nobody needs an introduction.
    all_neighbours: bool,
    ledger: HandoverLedger,
    arrivals: VecDeque<Arrival>,
    buffers: Buffers,
    watch: ToleranceWatch,
    // Regions whose answer we await after a restart, and what arrived meanwhile.
    awaiting: BTreeSet<RegionId>,
    deferred: Vec<Arrival>,
    // Restarted regions that must be told every aura at the next update.
    forgetful: BTreeSet<RegionId>,
    events: VecDeque<BoundaryEvent>,
    tracing: bool,
}

/// What of a boundary must outlive a crash. Remote auras are told again by their owners.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BoundarySnapshot {
    /// When it was taken.
    pub tick: Tick,
    tracks: BTreeMap<BodyId, Track>,
    nursery: Nursery,
    ledger: HandoverLedger,
    arrivals: Vec<Arrival>,
}

impl Boundary {
    /// The boundaries of region `me`. Refuses a map whose regions are too small for the auras. `snapshots`: servers take
    /// snapshots, so handovers are remembered until covered.
    pub fn new(
        me: RegionId,
        map: RegionMap,
        config: BoundaryConfig,
        snapshots: bool,
    ) -> Result<Self, RegionMapError> {
        let geometry = AuraGeometry::of(&config);
        if config.policy == Policy::Aura {
            map.check_size(geometry.smallest_region_m())?;
        }
        let all_neighbours = map
            .regions()
            .all(|region| map.neighbours(region).len() + 1 == map.len());
        let neighbours = map.neighbours(me).iter();
        let neighbours = neighbours.map(|other| (*other, map.rect(*other))).collect();
        Ok(Self {
            me,
            neighbours,
            map,
            config,
            geometry,
            tracks: FxHashMap::default(),
            projecting: BTreeSet::new(),
            fresh: Vec::new(),
            remote: RemoteAuras::default(),
            nursery: Nursery::new(),
            introductions: Introductions::default(),
            all_neighbours,
            ledger: HandoverLedger::new(snapshots),
            arrivals: VecDeque::new(),
            buffers: Buffers::default(),
            watch: ToleranceWatch::default(),
            awaiting: BTreeSet::new(),
            deferred: Vec::new(),
            forgetful: BTreeSet::new(),
            events: VecDeque::new(),
            tracing: false,
        })
    }

    /// Report every step of every body's life from now on.
    pub fn trace(&mut self) {
        self.tracing = true;
    }

    // ── commands ───────────────────────────────────────────────────────────────────────────────────────────────

    /// A body of the scene's start, or a newborn, is ours; under this epoch.
    pub fn adopt(&mut self, tick: Tick, body: BodyId) -> Epoch {
        let mut track = Track::new(Epoch(0), LifeState::Injected, None);
        if let Some(ghost) = self.nursery.remove(&body) {
            track.since = Some(ghost.first);
            track.epoch = ghost.epoch;
            track.audience = ghost.audience;
        }
        let epoch = track.epoch;
        self.report(tick, body, None, LifeState::Injected);
        self.ledger.learn(body, epoch);
        self.tracks.insert(body, track);
        self.fresh.push(body);
        epoch
    }

    /// A body is to be born here. Says whether at once; if not, it is announced and comes out of [`Self::take_births`].
    pub fn announce(&mut self, tick: Tick, body: &Body) -> bool {
        if self.config.policy != Policy::Aura || self.map.len() == 1 {
            return true;
        }
        let view = view_of(body);
        let near = boundaries_near(&view, &self.neighbours, &self.geometry)
            .next()
            .is_some()
            || !self.home().contains(&view.ground);
        if !near && !self.is_touched(&view, tick) {
            return true;
        }
        let ghost = Ghost {
            body: body.clone(),
            since: tick,
            first: tick,
            epoch: Epoch(0),
            audience: Regions::new(),
        };
        self.ledger.learn(body.id, ghost.epoch);
        self.nursery.insert(body.id, ghost);
        false
    }

    /// Announced spawns whose time has come; the region creates them and calls [`Self::adopt`].
    pub fn take_births(&mut self, tick: Tick) -> Vec<Body> {
        if self.nursery.is_empty() {
            return Vec::new();
        }
        let index = AuraIndex::build(&self.remote, &self.geometry, tick, &Rect::EVERYWHERE);
        self.nursery
            .values()
            .filter(|ghost| {
                let mut called = false;
                index.for_each_touched(&ghost.view(), |_, _, _| called = true);
                ghost.is_due(tick, self.geometry.announce_ticks, called)
            })
            .map(|ghost| ghost.body.clone())
            .collect()
    }

    /// A body was removed from the world by a user.
    pub fn removed(&mut self, tick: Tick, body: BodyId) {
        self.nursery.remove(&body);
        if let Some(track) = self.tracks.remove(&body) {
            self.projecting.remove(&body);
            self.report(tick, body, Some(track.state), LifeState::Destroyed);
            self.withdraw(body, track.epoch, &track.audience, tick, None);
        }
    }

    /// A cluster has been taken out of the world after this tick: send it. Returns the offer's number.
    pub fn offer(&mut self, tick: Tick, departure: Departure, cluster: Cluster) -> HandoverNumber {
        let offer = Offer {
            handover: self.ledger.number(departure.to),
            tick,
            cause: departure.cause,
            members: departure
                .members
                .into_iter()
                .map(|(_, member)| member)
                .collect(),
            cluster,
            unborn: departure.unborn,
            told: departure.told,
        };
        let handover = offer.handover;
        self.ledger.offered(departure.to, tick, offer.clone());
        self.buffers.migrate(departure.to, offer);
        handover
    }

    /// An arrival has been put into the world.
    pub fn arrived(&mut self, tick: Tick, arrival: &Arrival) {
        let offer = &arrival.offer;
        for (body, member) in offer.cluster.bodies.iter().zip(&offer.members) {
            // The old owner's aura of it, and any older news, is void.
            self.remote
                .forget_body(body.id, Epoch(member.epoch.0 - 1), tick.max(offer.tick));
            let mut track = Track::new(member.epoch, LifeState::Received, member.projecting_since);
            // The old owner remembers it and its rank, and so do those it told. Without this, two bodies that once swapped would
            // each arrive as a stranger without rank, yield, and swap again; and a body between two auras would go to one
            // owner and at once on to the other (AP-16).
            track.audience.push(arrival.from);
            track.audience.extend_from_slice(&offer.told);
            track.audience.retain(|region| *region != self.me);
            track.audience.sort_unstable();
            track.audience.dedup();
            self.report(tick, body.id, None, LifeState::Received);
            self.change_state(&mut track, body.id, LifeState::Injected, tick);
            self.tracks.insert(body.id, track);
            self.fresh.push(body.id);
        }
        for unborn in &offer.unborn {
            let ghost = Ghost {
                body: unborn.body.clone(),
                since: tick,
                first: unborn.since,
                epoch: unborn.epoch,
                audience: Regions::new(),
            };
            self.nursery.insert(unborn.body.id, ghost);
        }
    }

    // ── input ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// A frame of the server begins.
    pub fn handle_frame(&mut self, now: SimTime) {
        self.watch.frame(now, &self.config.tolerances);
    }

    /// Something another region said has arrived. `tick` is our latest completed tick.
    pub fn handle_envelope(&mut self, arrived_at: SimTime, tick: Tick, envelope: Envelope) {
        let Envelope {
            from,
            sent_at,
            messages,
            ..
        } = envelope;
        self.watch
            .envelope(arrived_at, sent_at, &self.config.tolerances);
        for message in messages {
            self.handle(tick, from, message);
        }
    }

    fn handle(&mut self, tick: Tick, from: RegionId, message: Message) {
        match message {
            Message::AuraUpsert(upsert) => self.hear_of(from, &upsert),
            Message::AuraDelete(mut delete) => {
                // The thesis's deletes do not say where the body went.
                delete.moved_to = delete
                    .moved_to
                    .filter(|_| self.config.aura == AuraSize::Safe);
                self.remote.delete(&delete, self.me, self.patience_ticks());
            }
            Message::Offer(offer) => self.receive(Arrival {
                from,
                offer: *offer,
            }),
            Message::Accept { handover } => {
                if self.ledger.accepted(from, handover) {
                    self.buffers.say(from, Message::Release { handover });
                }
            }
            Message::Release { handover } => self.ledger.released(from, handover),
            Message::Introduce { visitors } => self.introductions.hear(from, visitors),
            Message::SnapshotCovers { tick, upto } => self.ledger.covered(from, tick, upto),
            Message::Restarted { snapshot } => self.peer_restarted(tick, from, snapshot),
            Message::Recovery { taken } => self.peer_answered(from, &taken),
        }
    }

    /// The higher epoch is right: news of a body we own is old news, unless we have restarted and do not know yet that it
    /// has gone.
    fn hear_of(&mut self, from: RegionId, upsert: &AuraUpsert) {
        // Almost always it is the next word of a conversation.
        if self.remote.update(from, upsert) {
            return;
        }
        let track = self.tracks.get(&upsert.body).map(|track| track.epoch);
        let ghost = self.nursery.get(&upsert.body).map(|ghost| ghost.epoch);
        if track.max(ghost).is_none_or(|ours| ours < upsert.epoch) {
            self.remote.upsert(from, upsert);
        }
    }

    fn receive(&mut self, arrival: Arrival) {
        if !self.awaiting.is_empty() {
            self.deferred.push(arrival);
            return;
        }
        let Arrival { from, offer } = arrival;
        let handover = offer.handover;
        if let Some(offer) = self.ledger.receive(from, offer) {
            self.arrivals.push_back(Arrival { from, offer });
        }
        self.buffers.say(from, Message::Accept { handover });
    }

    // ── a tick ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// The world has been stepped to `tick`: who leaves, who projects. The order is the thesis's: what is called
    /// away does not project any more.
    pub fn after_step(&mut self, tick: Tick, bodies: &impl Bodies) -> Vec<Departure> {
        if self.map.len() == 1 {
            self.fresh.clear();
            return Vec::new();
        }
        if self.config.policy == Policy::Naive {
            return self.naive_crossings(tick, bodies);
        }
        self.remote.expire(tick);
        let projecting = self.classify(tick, bodies);
        self.rank(tick, &projecting, bodies);
        let departures = self.find_departures(tick, &projecting, bodies);
        self.update_auras(tick, &projecting);
        self.introduce();
        self.repeat_offers(tick);
        departures
    }

    /// Which bodies have entered or left a trigger boundary (OBC, OBE), and their states. Returns those that project, ascending.
    fn classify(&mut self, tick: Tick, bodies: &impl Bodies) -> Vec<BodyView> {
        let home = self.home();
        let mut projecting = self.near(&home, bodies);
        projecting.retain(|view| {
            let Some(track) = self.tracks.get_mut(&view.id) else {
                return false;
            };
            self.watch
                .speed(view.speed, &mut track.too_fast, &self.config.tolerances);
            let mut state = state_at(&view.ground, &home, &track.boundaries);
            let is_where_it_was = state == track.state
                && boundaries_near(view, &self.neighbours, &self.geometry)
                    .eq(track.boundaries.iter().copied());
            if !is_where_it_was {
                state = self.place(tick, view);
            }
            state.projects()
        });
        projecting
    }

    /// Everything in a trigger boundary or beyond, everything that has projected until now, and everything new; ascending.
    fn near(&mut self, home: &Rect, bodies: &impl Bodies) -> Vec<BodyView> {
        let mut near = Vec::with_capacity(2 * self.projecting.len() + self.fresh.len());
        bodies.not_within(&home.grown(-self.geometry.trigger_depth_m), &mut near);
        near.sort_unstable_by_key(|view| view.id);
        near.dedup_by_key(|view| view.id);
        let found = near.len();
        for id in self.fresh.drain(..).chain(self.projecting.iter().copied()) {
            if near[..found]
                .binary_search_by_key(&id, |view| view.id)
                .is_err()
            {
                near.extend(bodies.view(id));
            }
        }
        if near.len() > found {
            near.sort_unstable_by_key(|view| view.id);
            near.dedup_by_key(|view| view.id);
        }
        near
    }

    /// Writes into a body's track where it is now, and returns the state that belongs to the place.
    fn place(&mut self, tick: Tick, view: &BodyView) -> LifeState {
        let mut track = self
            .tracks
            .remove(&view.id)
            .expect("only bodies with a track are placed");
        let touched: Vec<_> = boundaries_near(view, &self.neighbours, &self.geometry).collect();
        let left: Vec<_> = track
            .boundaries
            .iter()
            .copied()
            .filter(|boundary| !touched.contains(boundary))
            .collect();
        for boundary in left {
            object_boundary_exit(&mut track, boundary);
        }
        for boundary in &touched {
            object_boundary_create(&mut track, *boundary, tick);
        }
        let state = state_at(&view.ground, &self.home(), &track.boundaries);
        self.change_state(&mut track, view.id, state, tick);
        if state.projects() {
            track.since.get_or_insert(tick);
            self.projecting.insert(view.id);
        } else {
            self.projecting.remove(&view.id);
            self.withdraw(view.id, track.epoch, &track.audience, tick, None);
            track = Track {
                too_fast: track.too_fast,
                ..Track::new(track.epoch, state, None)
            };
        }
        self.tracks.insert(view.id, track);
        state
    }

    /// AC for whoever touches a remote aura, then BT for islands, over one and the same cluster search.
    fn find_departures(
        &mut self,
        tick: Tick,
        projecting: &[BodyView],
        bodies: &impl Bodies,
    ) -> Vec<Departure> {
        let assembly = |id: BodyId, out: &mut Vec<BodyId>| bodies.assembly(id, out);
        let calls = self.calls(tick, projecting, bodies);
        let traversed = self.traversed(tick);
        if calls.is_empty() && traversed.is_empty() {
            return Vec::new();
        }
        let ghosts: Vec<BodyView> = self.nursery.values().map(Ghost::view).collect();
        let starts = calls.iter().map(|(id, _)| id).chain(&traversed).copied();
        let near = surroundings(bodies, starts, &ghosts, self.geometry.link_m);
        let mut finder = ClusterFinder::new(near, self.geometry.link_m, &assembly);
        let mut departures = Vec::new();
        for (member, call) in calls {
            let cluster = finder.take(member);
            let cause = HandoverCause::AuraCollision {
                member,
                aura: call.aura,
            };
            departures.extend(self.depart(tick, call.owner, cause, &cluster, Some(call.key)));
        }
        for start in traversed {
            if let Some(members) = island(&mut finder, start, &self.home()) {
                let to = destination(&members, &self.map);
                departures.extend(self.depart(
                    tick,
                    to,
                    HandoverCause::BoundaryTraversal,
                    &members,
                    None,
                ));
            }
        }
        departures
    }

    /// Bodies and announced spawns that a remote aura calls over, ascending.
    fn calls(
        &self,
        tick: Tick,
        projecting: &[BodyView],
        bodies: &impl Bodies,
    ) -> Vec<(BodyId, Call)> {
        if self.remote.is_empty() {
            return Vec::new();
        }
        let space = self.space(projecting, bodies.widest_radius());
        let index = AuraIndex::build(&self.remote, &self.geometry, tick, &space);
        let mut touching = Vec::new();
        bodies.touching(index.boxes(), &mut touching);
        touching.sort_unstable();
        touching.dedup();
        let tie_break = self.config.tie_break;
        let of_body = touching.into_iter().filter_map(|id| {
            let view = match projecting.binary_search_by_key(&id, |view| view.id) {
                Ok(place) => projecting[place],
                Err(_) => bodies.view(id)?,
            };
            let track = self.tracks.get(&id)?;
            let key_towards = |owner| track.key.filter(|_| track.is_known_to(owner));
            Some((id, strongest_call(&view, &index, tie_break, key_towards)?))
        });
        let of_ghost = self.nursery.values().filter_map(|ghost| {
            let key_towards = |owner| {
                let known = ghost.audience.binary_search(&owner).is_ok();
                known.then(|| ghost.key())
            };
            let call = strongest_call(&ghost.view(), &index, tie_break, key_towards)?;
            Some((ghost.body.id, call))
        });
        of_body.chain(of_ghost).collect()
    }

    /// A rectangle that holds the bounding spheres of all that is ours: the shadow of what does not project is inside our region.
    fn space(&self, projecting: &[BodyView], widest_m: f64) -> Rect {
        let shadows = projecting.iter().map(|view| view.ground);
        let space = shadows.fold(self.home(), |space, shadow| space.union(&shadow));
        // A sphere reaches at most its diameter beyond the shadow in it.
        let space = space.grown(2.0 * widest_m);
        self.nursery
            .values()
            .map(Ghost::view)
            .fold(space, |space, ghost| {
                space.union(&Bounds::of_sphere(ghost.centre, ghost.radius).ground())
            })
    }

    fn traversed(&self, tick: Tick) -> Vec<BodyId> {
        if self.geometry.growth_m > 0.0 && !tick.0.is_multiple_of(ISLAND_TEST_TICKS) {
            return Vec::new();
        }
        self.projecting
            .iter()
            .copied()
            .filter(|id| {
                self.tracks
                    .get(id)
                    .is_some_and(|track| track.state == LifeState::BoundaryTraversed)
            })
            .collect()
    }

    /// The members leave: tracks end, auras point to the new owner.
    fn depart(
        &mut self,
        tick: Tick,
        to: RegionId,
        cause: HandoverCause,
        cluster: &[BodyView],
        calling: Option<ClusterKey>,
    ) -> Option<Departure> {
        if to == self.me {
            return None;
        }
        let mut members = Vec::new();
        let mut unborn = Vec::new();
        let mut told: Option<Vec<RegionId>> = None;
        for view in cluster {
            if let Some(track) = self.tracks.remove(&view.id) {
                match &mut told {
                    None => told = Some(track.audience.to_vec()),
                    Some(told) => told.retain(|region| track.is_known_to(*region)),
                }
                members.push((view.id, self.let_go(tick, to, view, track, calling)));
            } else if let Some(ghost) = self.nursery.remove(&view.id) {
                let key = calling.map_or(ghost.key(), |calling| calling.min(ghost.key()));
                let new = NewOwner { region: to, key };
                self.withdraw(view.id, ghost.epoch, &ghost.audience, tick, Some(new));
                unborn.push(Unborn {
                    body: ghost.body,
                    since: ghost.first,
                    epoch: ghost.epoch.next(),
                });
            }
        }
        (!members.is_empty() || !unborn.is_empty()).then_some(Departure {
            to,
            cause,
            members,
            unborn,
            // Without a call the new owner's cluster has no rank of ours, and what we told may be too high.
            told: told
                .filter(|_| calling.is_some() && self.config.aura == AuraSize::Safe)
                .unwrap_or_default(),
        })
    }

    fn let_go(
        &mut self,
        tick: Tick,
        to: RegionId,
        view: &BodyView,
        mut track: Track,
        calling: Option<ClusterKey>,
    ) -> Member {
        self.projecting.remove(&view.id);
        self.change_state(&mut track, view.id, LifeState::Sent, tick);
        self.change_state(&mut track, view.id, LifeState::Destroyed, tick);
        let own_key = ClusterKey {
            since: track.since.unwrap_or(tick),
            body: view.id,
        };
        let key = track.key.unwrap_or(own_key);
        let new = NewOwner {
            region: to,
            key: calling.map_or(key, |calling| calling.min(key)),
        };
        self.withdraw(view.id, track.epoch, &track.audience, tick, Some(new));
        let member = Member {
            epoch: track.epoch.next(),
            projecting_since: track.since,
        };
        if self.config.policy == Policy::Aura && self.config.aura == AuraSize::Safe {
            self.remember_in_flight(tick, new, view, member.epoch);
        }
        member
    }

    /// We know where the body is and whom to ask for it before its new owner has said a word: what stays behind must not run into it.
    fn remember_in_flight(&mut self, tick: Tick, new: NewOwner, view: &BodyView, epoch: Epoch) {
        let aura = RemoteAura {
            owner: new.region,
            epoch,
            tick,
            centre: view.centre,
            radius: view.radius,
            reach: self.geometry.reach_m,
            growth: self.geometry.growth_m,
            key: new.key,
            provisional_until: Some(tick + self.patience_ticks()),
        };
        self.remote.put(view.id, aura);
    }

    /// OBU for everyone who still projects; announced spawns speak every tick.
    fn update_auras(&mut self, tick: Tick, projecting: &[BodyView]) {
        let mut audience = self.map.neighbours(self.me).to_vec();
        for view in projecting {
            // Those who have left have no track any more.
            let Some(track) = self.tracks.get_mut(&view.id) else {
                continue;
            };
            if !self.all_neighbours {
                self.introductions.audience(
                    self.me,
                    &self.map,
                    view,
                    &self.geometry,
                    &mut audience,
                );
            }
            let (upsert, to_all) =
                object_boundary_update(view.id, track, view, tick, &self.geometry);
            tell(
                &mut self.buffers,
                &self.forgetful,
                &upsert,
                &audience,
                &track.audience,
                to_all,
            );
            remember(&mut track.audience, &audience);
            track.told_asleep = view.asleep;
        }
        self.update_ghost_auras(tick);
        self.forgetful.clear();
    }

    fn update_ghost_auras(&mut self, tick: Tick) {
        let mut audience = Vec::new();
        for ghost in self.nursery.values_mut() {
            let view = ghost.view();
            self.introductions
                .audience(self.me, &self.map, &view, &self.geometry, &mut audience);
            let mut track = Track::new(ghost.epoch, LifeState::Injected, Some(ghost.first));
            track.key = Some(ghost.key());
            let (upsert, to_all) =
                object_boundary_update(view.id, &track, &view, tick, &self.geometry);
            tell(
                &mut self.buffers,
                &self.forgetful,
                &upsert,
                &audience,
                &ghost.audience,
                to_all,
            );
            remember(&mut ghost.audience, &audience);
        }
    }

    /// Each projecting body's rank in the tie-break: the lowest of its cluster. The search is over projecting bodies
    /// only, so that it costs what the boundary costs.
    fn rank(&mut self, tick: Tick, projecting: &[BodyView], bodies: &impl Bodies) {
        let assembly = |id: BodyId, out: &mut Vec<BodyId>| bodies.assembly(id, out);
        let own_keys: Vec<ClusterKey> = projecting
            .iter()
            .map(|view| ClusterKey {
                since: self
                    .tracks
                    .get(&view.id)
                    .and_then(|track| track.since)
                    .unwrap_or(tick),
                body: view.id,
            })
            .collect();
        let mut finder = ClusterFinder::new(projecting.to_vec(), self.geometry.link_m, &assembly);
        finder.take_all(|cluster| {
            let rank = cluster
                .iter()
                .map(|number| own_keys[*number as usize])
                .min();
            for number in cluster {
                if let Some(track) = self.tracks.get_mut(&projecting[*number as usize].id) {
                    track.key = rank;
                }
            }
        });
    }

    fn introduce(&mut self) {
        if self.all_neighbours {
            return;
        }
        for (visitor, visitors) in
            self.introductions
                .host(self.me, &self.map, &self.remote, &self.geometry)
        {
            self.buffers.say(visitor, Message::Introduce { visitors });
        }
    }

    fn repeat_offers(&mut self, tick: Tick) {
        for (to, offer) in self.ledger.overdue(tick) {
            self.buffers.migrate(to, offer);
        }
    }

    fn naive_crossings(&mut self, tick: Tick, bodies: &impl Bodies) -> Vec<Departure> {
        self.fresh.clear();
        let crossings = naive::crossings(bodies, &self.home(), &self.map);
        let departures = crossings
            .into_iter()
            .filter_map(|(to, members)| {
                self.depart(tick, to, HandoverCause::CentreCrossed, &members, None)
            })
            .collect();
        self.repeat_offers(tick);
        departures
    }

    // ── output ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// Arrivals that may enter the world before its step to `tick + 1`: those whose tick is not in our future. With `any_tick`
    /// ticks do not matter.
    pub fn take_arrivals(&mut self, tick: Tick, any_tick: bool) -> Vec<Arrival> {
        let (due, later) = std::mem::take(&mut self.arrivals)
            .into_iter()
            .partition(|arrival| any_tick || arrival.offer.tick <= tick);
        self.arrivals = later;
        Vec::from(due)
    }

    /// The network update (BNU): everything to be said, by region.
    pub fn flush(&mut self) -> Vec<(RegionId, Vec<Message>)> {
        self.buffers.flush()
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<BoundaryEvent> {
        self.events.pop_front()
    }

    // ── crash and recovery ─────────────────────────────────────────────────────────────────────────────────────

    /// What must outlive a crash. Tells those who wait for it that handovers are covered.
    pub fn snapshot(&mut self, tick: Tick) -> BoundarySnapshot {
        let snapshot = BoundarySnapshot {
            tick,
            tracks: self
                .tracks
                .iter()
                .map(|(id, track)| (*id, track.clone()))
                .collect(),
            nursery: self.nursery.clone(),
            ledger: self.ledger.clone(),
            arrivals: self.arrivals.iter().cloned().collect(),
        };
        for (peer, upto) in self.ledger.snapshot_taken() {
            self.buffers
                .say(peer, Message::SnapshotCovers { tick, upto });
        }
        snapshot
    }

    /// Starts again from a snapshot. Until all other regions have answered, nothing is certain: see [`Self::is_recovering`].
    pub fn restore(&mut self, snapshot: BoundarySnapshot) {
        let tick = snapshot.tick;
        for (id, track) in snapshot.tracks {
            let since = track.since;
            self.tracks
                .insert(id, Track::new(track.epoch, LifeState::Injected, since));
            self.fresh.push(id);
        }
        self.nursery = snapshot.nursery;
        for ghost in self.nursery.values_mut() {
            ghost.audience.clear();
        }
        self.ledger = snapshot.ledger;
        self.arrivals = snapshot.arrivals.into();
        self.awaiting = self
            .map
            .regions()
            .filter(|region| *region != self.me)
            .collect();
        for peer in &self.awaiting {
            self.buffers
                .say(*peer, Message::Restarted { snapshot: tick });
        }
    }

    /// Are answers of other regions still missing after a restart? Until then the region must not step.
    pub fn is_recovering(&self) -> bool {
        !self.awaiting.is_empty()
    }

    /// Bodies of the snapshot that have a newer owner: the region removes them from its world. Call once recovered, with the
    /// current tick.
    pub fn take_outdated(&mut self, tick: Tick) -> Vec<BodyId> {
        let mut outdated: Vec<BodyId> = self
            .tracks
            .iter()
            .filter(|(id, track)| {
                self.ledger
                    .known(**id)
                    .is_some_and(|known| known > track.epoch)
            })
            .map(|(id, _)| *id)
            .collect();
        outdated.sort_unstable();
        for id in &outdated {
            if let Some(track) = self.tracks.remove(id) {
                self.report(tick, *id, Some(track.state), LifeState::Destroyed);
            }
        }
        self.fresh.retain(|id| !outdated.contains(id));
        let ledger = &self.ledger;
        self.nursery
            .retain(|id, ghost| ledger.known(*id).is_none_or(|known| known <= ghost.epoch));
        self.arrivals.retain_mut(|arrival| {
            let Offer {
                cluster, members, ..
            } = &arrival.offer;
            cluster.bodies.iter().zip(members).all(|(body, member)| {
                ledger
                    .known(body.id)
                    .is_none_or(|known| known <= member.epoch)
            })
        });
        outdated
    }

    fn peer_restarted(&mut self, tick: Tick, peer: RegionId, snapshot: Tick) {
        self.remote.forget_owner(peer);
        self.introductions.forget(peer);
        // It has forgotten our auras, sleepers' too. (It stays in their audience: it may have heard of some between its
        // restart and this word, and must hear of their end.)
        self.forgetful.insert(peer);
        let taken = self.ledger.taken_since(peer, snapshot);
        self.buffers.say(peer, Message::Recovery { taken });
        for offer in self.ledger.offer_again(peer, tick) {
            self.buffers.migrate(peer, offer);
        }
    }

    fn peer_answered(&mut self, peer: RegionId, taken: &[(BodyId, Epoch)]) {
        for (body, epoch) in taken {
            self.ledger.learn(*body, *epoch);
        }
        if !self.awaiting.remove(&peer) {
            return;
        }
        // What the snapshot says is on its way may have arrived long ago, or never.
        for offer in self.ledger.unanswered(peer) {
            self.buffers.migrate(peer, offer.clone());
        }
        if self.awaiting.is_empty() {
            for arrival in std::mem::take(&mut self.deferred) {
                self.receive(arrival);
            }
        }
    }

    // ── looking at it ──────────────────────────────────────────────────────────────────────────────────────────

    /// The lengths and times in force.
    pub fn geometry(&self) -> &AuraGeometry {
        &self.geometry
    }

    /// The configuration in force.
    pub fn config(&self) -> &BoundaryConfig {
        &self.config
    }

    /// Auras of others known here, in body order.
    pub fn remote_auras(&self) -> impl Iterator<Item = (BodyId, &RemoteAura)> {
        let mut auras: Vec<_> = self.remote.iter().collect();
        auras.sort_unstable_by_key(|(body, _)| *body);
        auras.into_iter()
    }

    /// Bodies of ours that project, ascending, with epoch and audience.
    pub fn projecting(&self) -> impl Iterator<Item = (BodyId, &Track)> {
        self.projecting
            .iter()
            .filter_map(|id| Some((*id, self.tracks.get(id)?)))
    }

    /// What is remembered of a body of ours.
    pub fn track(&self, body: BodyId) -> Option<&Track> {
        self.tracks.get(&body)
    }

    /// How many spawns are announced and not yet born.
    pub fn unborn(&self) -> usize {
        self.nursery.len()
    }

    /// Which spawns are announced and not yet born, ascending.
    pub fn announced(&self) -> impl Iterator<Item = BodyId> {
        self.nursery.keys().copied()
    }

    /// Has this body ever been here, as far as we know? A spawn of it would be a second one.
    pub fn knows(&self, body: BodyId) -> bool {
        self.ledger.known(body).is_some()
    }

    /// Offers of ours that have not been accepted.
    pub fn in_flight(&self) -> impl Iterator<Item = (RegionId, &Offer)> {
        self.ledger.in_flight()
    }

    /// Accepted arrivals that wait for their tick.
    pub fn waiting(&self) -> impl Iterator<Item = &Arrival> {
        self.arrivals.iter()
    }

    /// Tolerances exceeded so far.
    pub fn exceeded(&self) -> ExceededTolerances {
        self.watch.exceeded()
    }

    fn home(&self) -> Rect {
        self.map.rect(self.me)
    }

    /// How long an aura waits for its body's new owner to speak: the flight, the first word, and a spare tick.
    fn patience_ticks(&self) -> u64 {
        2 * self.geometry.hop_ticks + 2
    }

    fn is_touched(&self, view: &BodyView, tick: Tick) -> bool {
        self.remote
            .iter()
            .any(|(_, aura)| aura.depth(view, &self.geometry, tick).is_some())
    }

    fn withdraw(
        &mut self,
        body: BodyId,
        epoch: Epoch,
        audience: &[RegionId],
        tick: Tick,
        moved_to: Option<NewOwner>,
    ) {
        for region in audience {
            let delete = AuraDelete {
                body,
                epoch,
                tick,
                moved_to,
            };
            self.buffers.delete(*region, delete);
        }
    }

    fn change_state(&mut self, track: &mut Track, body: BodyId, next: LifeState, tick: Tick) {
        if let Some(transition) = change(&mut track.state, next, tick, body)
            && self.tracing
        {
            self.events.push_back(BoundaryEvent::Transition(transition));
        }
    }

    fn report(&mut self, tick: Tick, body: BodyId, from: Option<LifeState>, to: LifeState) {
        if self.tracing {
            let transition = Transition {
                tick,
                body,
                from,
                to,
            };
            self.events.push_back(BoundaryEvent::Transition(transition));
        }
    }
}

/// The boundaries whose trigger volume the body touches, ascending.
fn boundaries_near(
    view: &BodyView,
    neighbours: &[(RegionId, Rect)],
    geometry: &AuraGeometry,
) -> impl Iterator<Item = RegionId> {
    touched_boundaries(
        &view.ground,
        geometry.trigger_depth_m,
        neighbours.iter().copied(),
    )
}

fn remember(known: &mut Regions, audience: &[RegionId]) {
    if known[..] != *audience {
        *known = Regions::from_slice(audience);
    }
}

/// Tells the audience of an aura, and those who were in it `before` and are not any more that it is gone.
fn tell(
    buffers: &mut Buffers,
    forgetful: &BTreeSet<RegionId>,
    upsert: &AuraUpsert,
    audience: &[RegionId],
    before: &[RegionId],
    to_all: bool,
) {
    for region in audience {
        let knows = || before.binary_search(region).is_ok() && !forgetful.contains(region);
        if to_all || !knows() {
            buffers.upsert(*region, *upsert);
        }
    }
    if audience == before {
        return;
    }
    for region in before
        .iter()
        .filter(|region| audience.binary_search(region).is_err())
    {
        let delete = AuraDelete {
            body: upsert.body,
            epoch: upsert.epoch,
            tick: upsert.tick,
            moved_to: None,
        };
        buffers.delete(*region, delete);
    }
}
