//! [`Boundary`]: the state of one region's boundaries and the order of what happens in a tick.

mod adaptive;
mod departing;
mod going_home;
mod keeping_word;
mod near;
mod projecting;
mod recovery;
mod spawning;
mod telling;

use near::Watchlist;
pub use recovery::BoundarySnapshot;
use recovery::{Recovery, UnkeptSnapshot};

use crate::audience::{Acquaintance, Introductions};
use crate::aura_index::AuraIndex;
use crate::buffers::Buffers;
use crate::config::{AuraSize, BoundaryConfig, Policy};
use crate::coverage::Coverage;
use crate::geometry::AuraGeometry;
use crate::handover::{Arrival, HandoverLedger};
use crate::keeping::{Kept, Place};
use crate::lifecycle::{LifeState, Transition, change};
use crate::load::Load;
use crate::nursery::{Ghost, Nursery, live_view_of};
use crate::projection::{Regions, Track, Tracks};
use crate::promise::PromiseLaw;
use crate::remote_auras::{RemoteAura, RemoteAuras};
use crate::tolerance_watch::{ExceededTolerances, ToleranceWatch};
use crate::view::Bodies;
use domain::{
    Body, BodyId, Cluster, Epoch, Rect, RegionId, RegionMap, RegionMapError, SimTime, Tick,
};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};
use wire::{
    AuraDelete, AuraUpsert, Bond, Envelope, HandoverCause, HandoverNumber, Member, Message,
    NewOwner, Offer, Unborn,
};

/// How often the island test runs with size `safe`. It frees bodies from a host they have left; nothing depends on its haste.
const ISLAND_TEST_TICKS: u64 = 4;

/// So far outside of its region it is told apart where foreign bodies are.
const GUEST_ROOM_M: f64 = 16.0;

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
    /// What the members have promised (size `adaptive`).
    pub bonds: Vec<(BodyId, Bond)>,
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
    /// Size `adaptive` only.
    law: Option<PromiseLaw>,
    tracks: Tracks,
    projecting: BTreeSet<BodyId>,
    // Bodies that have promised something.
    bound: BTreeSet<BodyId>,
    // The bodies that are looked at; and where those that have entered since the last step were.
    list: Watchlist,
    entered: FxHashMap<BodyId, Place>,
    // The ones that were put back in this tick, ascending.
    held_now: Vec<BodyId>,
    // Where something foreign is.
    coverage: Coverage,
    // The foreign auras of this tick.
    index: AuraIndex,
    // For how many ticks bodies have been held without a pause.
    holding: FxHashMap<BodyId, u64>,
    kept: Kept,
    largest_cluster: u64,
    load: Load,
    // Created since the last step: not yet classified.
    fresh: Vec<BodyId>,
    remote: RemoteAuras,
    nursery: Nursery,
    introductions: Introductions,
    // Every region is every other's neighbour: nobody needs an introduction.
    all_neighbours: bool,
    ledger: HandoverLedger,
    // Snapshots that may still be lost with us.
    unkept: VecDeque<UnkeptSnapshot>,
    arrivals: VecDeque<Arrival>,
    buffers: Buffers,
    watch: ToleranceWatch,
    // Our own restart, and those of others.
    recovery: Recovery,
    // Restarted regions that must be told every aura at the next update.
    forgetful: BTreeSet<RegionId>,
    events: VecDeque<BoundaryEvent>,
    tracing: bool,
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
        let is_adaptive = config.policy == Policy::Aura && config.aura == AuraSize::Adaptive;
        let coverage = Coverage::over(&map.finite_rect(me).grown(GUEST_ROOM_M));
        Ok(Self {
            me,
            law: is_adaptive.then(|| PromiseLaw::of(&config)),
            neighbours,
            map,
            config,
            geometry,
            tracks: Tracks::default(),
            projecting: BTreeSet::new(),
            bound: BTreeSet::new(),
            list: Watchlist::default(),
            entered: FxHashMap::default(),
            held_now: Vec::new(),
            coverage,
            index: AuraIndex::default(),
            holding: FxHashMap::default(),
            kept: Kept::default(),
            largest_cluster: 0,
            load: Load::default(),
            fresh: Vec::new(),
            remote: RemoteAuras::default(),
            nursery: Nursery::new(),
            introductions: Introductions::default(),
            all_neighbours,
            ledger: HandoverLedger::new(me, snapshots),
            unkept: VecDeque::new(),
            arrivals: VecDeque::new(),
            buffers: Buffers::default(),
            watch: ToleranceWatch::default(),
            recovery: Recovery::default(),
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
    pub fn adopt(&mut self, tick: Tick, body: &Body) -> Epoch {
        let mut track = Track::new(Epoch(0), LifeState::Injected, None);
        let ghost = self.nursery.remove(&body.id);
        let view = live_view_of(body, self.config.gravity);
        self.bind_newborn(tick, &mut track, &view, ghost.as_ref());
        if let Some(ghost) = ghost {
            track.since = Some(ghost.first);
            track.epoch = ghost.epoch;
            track.audience = ghost.audience;
        }
        let body = body.id;
        let epoch = track.epoch;
        self.report(tick, body, None, LifeState::Injected);
        self.ledger.learn(body, epoch, self.me);
        self.tracks.insert(body, track);
        self.fresh.push(body);
        epoch
    }

    /// An announced spawn will not be born: whoever has heard of it hears that it is over.
    pub fn unannounce(&mut self, tick: Tick, body: BodyId) {
        if let Some(ghost) = self.nursery.remove(&body) {
            self.withdraw(body, ghost.epoch, &ghost.audience, tick, None);
        }
    }

    /// A body was removed from the world: by a user, or because the engine could not compute it.
    pub fn removed(&mut self, tick: Tick, body: BodyId) {
        self.unannounce(tick, body);
        if let Some(track) = self.tracks.swap_remove(&body) {
            self.projecting.remove(&body);
            self.bound.remove(&body);
            self.strike_off(body);
            self.report(tick, body, Some(track.state), LifeState::Destroyed);
            self.withdraw(body, track.epoch, &track.audience, tick, None);
        }
    }

    /// The body is not ours any more: it need not be looked at.
    fn strike_off(&mut self, body: BodyId) {
        // Nobody looks where there are no neighbours, or auras of one size.
        if self.is_adaptive() && self.map.len() > 1 {
            self.list.gone.push(body);
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
            bonds: departure.bonds,
        };
        let handover = offer.handover;
        self.ledger.offered(departure.to, tick, offer.clone());
        self.buffers.migrate(departure.to, offer);
        handover
    }

    /// An arrival has been put into the world.
    pub fn arrived(&mut self, tick: Tick, arrival: &Arrival) {
        let offer = &arrival.offer;
        if let HandoverCause::AuraCollision { aura, .. } = offer.cause {
            self.expect_guest(tick, aura);
        }
        for (body, member) in offer.cluster.bodies.iter().zip(&offer.members) {
            // The old owner's aura of it, and any older news, is void.
            self.remote
                .forget_body(body.id, Epoch(member.epoch.0 - 1), tick.max(offer.tick));
            let mut track = Track::new(member.epoch, LifeState::Received, member.projecting_since);
            // The old owner remembers it and its rank, and so do those it told. Without this, two bodies that once swapped would
            // each arrive as a stranger without rank, yield, and swap again; and a body between two auras would go to one
            // owner and at once on to the other (AP-16).
            track.audience.push(arrival.from);
            let is_neighbour = |region: &RegionId| self.map.are_neighbours(self.me, *region);
            let told = offer.told.iter().copied().filter(is_neighbour);
            track.audience.extend(told);
            track.audience.sort_unstable();
            track.audience.dedup();
            if let Some(law) = self.law {
                self.bind_arrival(tick, &law, &mut track, body, member, &offer.bonds);
            }
            self.report(tick, body.id, None, LifeState::Received);
            self.change_state(&mut track, body.id, LifeState::Injected, tick);
            self.tracks.insert(body.id, track);
            self.fresh.push(body.id);
        }
        for unborn in &offer.unborn {
            let told = Epoch(unborn.epoch.0.saturating_sub(1));
            self.remote
                .forget_body(unborn.body.id, told, tick.max(offer.tick));
            let ghost = Ghost {
                body: unborn.body.clone(),
                since: tick,
                first: unborn.since,
                epoch: unborn.epoch,
                audience: Regions::new(),
                rank: None,
            };
            self.nursery.insert(unborn.body.id, ghost);
        }
    }

    // ── input ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// A frame of the server begins.
    pub fn handle_frame(&mut self, now: SimTime) {
        self.watch.frame(now, &self.config.tolerances);
        self.ask_again(now);
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
                    .filter(|_| self.config.aura != AuraSize::Thesis);
                let (patience, keep_own) = (self.patience_ticks(), self.is_adaptive());
                self.remote.delete(&delete, self.me, patience, keep_own);
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
            Message::SnapshotCovers { upto, .. } => self.ledger.covered(from, upto),
            Message::Restarted { incarnation, .. } => self.peer_restarted(tick, from, incarnation),
            Message::Recovery { known } => self.peer_answered(tick, from, &known),
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
        if self.is_recovering() {
            self.recovery.defer(arrival);
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
        if let Some(law) = self.law {
            return self.after_adaptive_step(tick, &law, bodies);
        }
        self.remote.expire(tick);
        let mut projecting = self.classify(tick, bodies);
        self.rank(&mut projecting, bodies);
        let departures = self.find_departures(tick, &projecting, bodies);
        self.update_auras(tick, &projecting);
        self.introduce();
        self.repeat_offers(tick);
        departures
    }

    fn introduce(&mut self) {
        // With size `adaptive` even neighbours tell each other only what is near.
        let is_adaptive = self.is_adaptive();
        if self.all_neighbours && !is_adaptive {
            return;
        }
        let acquaintance = match is_adaptive {
            true => Acquaintance::Near,
            false => Acquaintance::Neighbours,
        };
        let (map, remote) = (&self.map, &self.remote);
        let news = self
            .introductions
            .host(self.me, map, remote, &self.geometry, acquaintance);
        for (visitor, visitors) in news {
            self.buffers.say(visitor, Message::Introduce { visitors });
        }
    }

    fn repeat_offers(&mut self, tick: Tick) {
        for (to, offer) in self.ledger.overdue(tick) {
            self.buffers.migrate(to, offer);
        }
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

    /// Is there anything to be said?
    pub fn has_news(&self) -> bool {
        !self.buffers.is_empty()
    }

    /// The network update (BNU): everything to be said, by region.
    pub fn flush(&mut self) -> Vec<(RegionId, Vec<Message>)> {
        self.buffers.flush()
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<BoundaryEvent> {
        self.events.pop_front()
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

    /// How many auras of others are known here.
    pub fn remote_aura_count(&self) -> usize {
        self.remote.len()
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

    /// The largest cluster of which it had to be decided whether it leaves (size `adaptive`).
    pub fn largest_cluster(&self) -> u64 {
        self.largest_cluster
    }

    /// The lengths of each body (size `adaptive`).
    pub fn law(&self) -> Option<&PromiseLaw> {
        self.law.as_ref()
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
