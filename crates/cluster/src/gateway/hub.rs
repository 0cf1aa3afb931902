//! The middle of a gateway: one task that hears all regions and serves all clients.
//!
//! ```text
//!  regions ── feeds, answers ──►┌─────┐── updates, answers ──► queues of the clients' writers (bounded)
//!          ◄── questions ───────│ hub │
//!  control plane ── view ──────►└─────┘◄── requests ────────── clients' readers (bounded)
//! ```

use super::bucket::Bucket;
use super::counters::Counters;
use super::demo::DemoControls;
use super::guests::{Client, Outbox};
use super::injections::Running;
use super::live_world::LiveWorld;
use super::roles::Guest;
use super::settings::GatewaySettings;
use super::viewpoint::Viewpoint;
use crate::clock::ClusterClock;
use crate::correspondent::Correspondent;
use crate::membership::Membership;
use crate::messages::{self, FromRegion, Subscription, ToRegion};
use crate::names::{NodeId, Place};
use crate::post_office::Mail;
use crate::schema::ClusterView;
use crate::server::REGION_LAYERS;
use axum::body::Bytes;
use client_protocol::{
    Answer, Area, Command, Features, Goodbye, Inspect, Layers, ToClient, VERSION, Welcome,
};
use cpu_time::ThreadTime;
use domain::{BodyId, RegionId, SimTime};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// How often the hub looks around if nothing happens.
const GLANCE: Duration = Duration::from_millis(10);
/// So long after the control plane knows us everyone else does too.
const INTRODUCTION: SimTime = SimTime(100_000_000);
/// At least so often those who have just come, and those who look closely, are looked after, even if the world stands still.
const STILL: SimTime = SimTime(100_000_000);

/// To someone who has just come, cells are told until so many bytes are full; the others follow in the next frames.
const JOIN_BYTES: usize = 512 * 1024;

/// What a client's reader tells the hub.
#[derive(Debug)]
pub enum Request {
    /// Someone has come.
    Join {
        session: u64,
        guest: Guest,
        outbox: Outbox,
        area: Area,
        rate: u8,
    },
    /// It wants to see something else.
    Watch { session: u64, area: Area },
    /// It wants to look closely.
    Inspect { session: u64, inspect: Inspect },
    /// It wants to be told everything anew.
    Anew { session: u64 },
    /// It wants something.
    Order {
        session: u64,
        id: u32,
        command: Box<Command>,
    },
    /// It has gone.
    Leave { session: u64 },
}

/// A body that a client has spawned.
#[derive(Clone, Copy, Debug)]
pub struct Spawned {
    /// Whose it is.
    pub player: usize,
    /// How much geometry it has.
    pub elements: usize,
}

/// Everything a gateway knows.
pub struct Hub {
    pub(super) settings: Arc<GatewaySettings>,
    pub(super) counters: Arc<Counters>,
    pub(super) clock: Arc<ClusterClock>,
    pub(super) membership: Arc<Membership>,
    correspondent: Correspondent,
    view: watch::Receiver<Arc<ClusterView>>,
    pub(super) world: Option<LiveWorld>,
    /// A world that cannot be shown.
    hopeless: Option<crate::names::Generation>,
    pub(super) clients: BTreeMap<u64, Client>,
    pub(super) injections: Vec<Running>,
    /// Who has spawned which body.
    pub(super) spawned: FxHashMap<BodyId, Spawned>,
    /// Rays and overlaps that all clients together may still ask.
    pub(super) queries: Bucket,
    next_question: u64,
    pub(super) node: NodeId,
    pub(super) next_body: u64,
    pub(super) next_piece: u32,
    told_world: Option<Bytes>,
    served: SimTime,
    /// Since when the control plane knows us.
    registered: Option<SimTime>,
    /// For what must wait for the control plane.
    pub(super) elsewhere: tokio::runtime::Handle,
    /// In a demonstration: what clients may do to it.
    pub(super) demo: Option<Arc<dyn DemoControls>>,
    /// What clients know of what there is to do.
    features: Bytes,
    /// What regions were last asked to show.
    asked: Layers,
}

impl Hub {
    /// Knows nobody yet. It may run on another runtime than it was made on.
    pub fn new(
        settings: Arc<GatewaySettings>,
        counters: Arc<Counters>,
        clock: Arc<ClusterClock>,
        membership: Arc<Membership>,
        correspondent: Correspondent,
        node: NodeId,
        demo: Option<Arc<dyn DemoControls>>,
    ) -> Self {
        let mut view = membership.view();
        view.mark_changed();
        let queries = Bucket::new(settings.limits.queries_per_sec_in_all, clock.local());
        // Another gateway may share those bits of our name that stand in a piece's id: it begins to count elsewhere.
        let next_piece = (node.0 >> 12) as u32;
        Self {
            settings,
            counters,
            clock,
            membership,
            correspondent,
            view,
            world: None,
            hopeless: None,
            clients: BTreeMap::new(),
            injections: Vec::new(),
            spawned: FxHashMap::default(),
            queries,
            next_question: 0,
            node,
            next_body: 0,
            next_piece,
            told_world: None,
            served: SimTime::ZERO,
            registered: None,
            elsewhere: tokio::runtime::Handle::current(),
            features: features(demo.as_deref()),
            demo,
            asked: Layers::NONE,
        }
    }

    /// Until it is told to stop.
    pub async fn run(
        mut self,
        mut requests: mpsc::Receiver<Request>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut glance = tokio::time::interval(GLANCE);
        glance.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                mail = self.correspondent.next() => self.handle_mail(mail),
                changed = self.view.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    self.handle_view();
                }
                Some(request) = requests.recv() => self.handle_request(request),
                _ = glance.tick() => self.handle_glance(),
                () = crate::node::stopped(&mut stop) => break,
            }
            self.advance();
        }
        for client in self.clients.values() {
            client
                .outbox
                .say_goodbye(Goodbye::Stopping, "the gateway ends");
        }
    }

    // ── the control plane ──────────────────────────────────────────────────────────────────────────────────────

    fn handle_view(&mut self) {
        let view = self.view.borrow_and_update().clone();
        let Some(spec) = &view.world else {
            return;
        };
        let known = self.world.as_ref().map(LiveWorld::generation);
        if known == Some(spec.generation) {
            if let Some(world) = &mut self.world {
                world.handle_spec(self.clock.local(), Arc::clone(spec));
            }
        } else if self.hopeless != Some(spec.generation) {
            self.begin_world(&view);
        }
        self.subscribe(&view);
        self.tell_world(&view);
    }

    fn begin_world(&mut self, view: &ClusterView) {
        let Some(spec) = &view.world else {
            return;
        };
        self.end_world();
        let (feed_ticks, cells) = (self.settings.feed_ticks, self.settings.cells);
        match LiveWorld::new(Arc::clone(spec), feed_ticks, cells, self.next_question) {
            Ok(mut world) => {
                world.handle_spec(self.clock.local(), Arc::clone(spec));
                world.sights.want(self.asked);
                self.world = Some(world);
            }
            Err(error) => {
                tracing::error!(%error, "the world's scene cannot be read");
                self.hopeless = Some(spec.generation);
            }
        }
    }

    /// Nothing of the old world means anything in the new one.
    fn end_world(&mut self) {
        let Some(old) = self.world.take() else {
            return;
        };
        self.next_question = old.errands.next_number();
        for region in old.terms.keys() {
            self.correspondent
                .forget(old.spec.place(*region).endpoint());
        }
        self.injections.clear();
        self.spawned.clear();
        let mut errands = old.errands;
        errands.give_up();
        self.reply(errands.take_replies());
        for client in self.clients.values_mut() {
            client.forget_all();
        }
    }

    /// Each region's owner is asked to tell us everything.
    fn subscribe(&mut self, view: &ClusterView) {
        let now = self.clock.local();
        if !self.is_registered(now, view) {
            return;
        }
        let Some(world) = &mut self.world else {
            return;
        };
        if view.assignment.generation != world.generation() {
            return;
        }
        for (region, seat) in view.assignment.regions() {
            let known = world.terms.get(&region).copied();
            let is_new = known != Some(seat.term);
            if seat.owner.is_none() || !is_new && !world.has_given_us_up(now, region, view) {
                continue;
            }
            let end = world.spec.place(region).endpoint();
            self.correspondent.expect(end, seat.term.0);
            world.asked(now, region, !is_new);
            if !is_new {
                tracing::warn!(%region, "silent; asking it again for everything");
                self.counters.feeds_renewed.add_one();
                self.correspondent.renew(end);
            }
            let wanted = Subscription {
                feed: true,
                records: false,
            };
            let message = messages::encode(&ToRegion::Subscribe(wanted));
            if let Err(error) = self.correspondent.send(end, message) {
                tracing::warn!(%region, %error, "cannot subscribe");
                continue;
            }
            world.handle_term(now, region, seat.term);
            let layers = self.asked.and(REGION_LAYERS);
            if !layers.is_empty() {
                let message = messages::encode(&ToRegion::Inspect { layers: layers.0 });
                if let Err(error) = self.correspondent.send(end, message) {
                    tracing::warn!(%region, %error, "cannot look closely");
                }
            }
            if known.is_some() && is_new {
                world.errands.handle_new_owner(now, region);
            }
        }
    }

    /// Regions forget whoever the control plane does not know: they must have heard of us before they hear from us.
    fn is_registered(&mut self, now: SimTime, view: &ClusterView) -> bool {
        if !view.nodes.contains_key(&self.node) {
            return false;
        }
        let since = *self.registered.get_or_insert(now);
        now.since(since) >= INTRODUCTION
    }

    fn tell_world(&mut self, view: &ClusterView) {
        let Some(world) = &self.world else {
            return;
        };
        let message: Bytes = world.message(view).encode().into();
        if self.told_world.as_ref() == Some(&message) {
            return;
        }
        // Those who know nothing yet get it with everything else.
        for client in self.clients.values_mut() {
            if !client.outbox.push(message.clone()) {
                client.forget_all();
            }
        }
        self.told_world = Some(message);
    }

    // ── regions ────────────────────────────────────────────────────────────────────────────────────────────────

    fn handle_mail(&mut self, mail: Mail) {
        let Mail::Payload { from, bytes } = mail else {
            return;
        };
        let start = ThreadTime::now();
        let now = self.clock.local();
        let Some((place, world)) = Place::of_endpoint(from).zip(self.world.as_mut()) else {
            return;
        };
        if place.generation != world.generation() {
            return;
        }
        match messages::decode(&bytes) {
            Ok(FromRegion::Feed(feed)) => {
                self.counters.feeds.add_one();
                world.handle_feed(now, place.region, &feed);
            }
            Ok(FromRegion::Insight(insight)) => {
                world.sights.handle_insight(place.region, *insight);
            }
            Ok(FromRegion::Answer { id, answer }) => world.errands.handle_answer(now, id, answer),
            Ok(_) => tracing::warn!(%place, "a message for someone else"),
            Err(error) => tracing::warn!(%place, %error, "a message was refused"),
        }
        self.count_cpu(start);
    }

    fn count_cpu(&self, start: ThreadTime) {
        self.counters
            .cpu_micros
            .add(start.elapsed().as_micros() as u64);
    }

    fn handle_glance(&mut self) {
        let now = self.clock.local();
        self.inject(now);
        if self.demo.is_some() {
            self.tell_features();
        }
        let view = self.view.borrow().clone();
        self.subscribe(&view);
        if let Some(world) = &mut self.world {
            world.replicas.handle_time(now);
            world.errands.handle_time(now, &world.replicas);
        }
        let bound = self.clock.bound().unwrap_or_default();
        self.counters.clock_bound_micros.set(bound.0 / 1000);
        let frame = self.world.as_ref().map(LiveWorld::frame_length);
        let still = STILL.max(SimTime(2 * frame.unwrap_or_default().0));
        if now.since(self.served) >= still {
            self.fan_out(now, false);
        }
    }

    /// After each event: what is due.
    fn advance(&mut self) {
        let now = self.clock.local();
        let due = self.world.as_ref().and_then(|world| world.due(now));
        if let Some((frame, late)) = due {
            self.counters.late_frames.add(late.into());
            self.run_frame(now, frame);
        }
        self.run_errands();
    }

    fn run_frame(&mut self, now: SimTime, number: u64) {
        let start = ThreadTime::now();
        let Some(world) = &mut self.world else {
            return;
        };
        let frame = world.export(number);
        let exported = start.elapsed();
        world.encode(&frame);
        let encoded = start.elapsed();
        for body in &frame.news.gone {
            self.spawned.remove(body);
        }
        self.counters.bodies.set(world.replicas.iter().len() as u64);
        self.counters.frames.add_one();
        self.fan_out(now, true);
        let sent = start.elapsed();
        let micros = |duration: Duration| duration.as_micros() as u64;
        self.counters.export_micros.add(micros(exported));
        self.counters
            .encode_micros
            .add(micros(encoded.saturating_sub(exported)));
        self.counters
            .send_micros
            .add(micros(sent.saturating_sub(encoded)));
        self.count_cpu(start);
    }

    fn run_errands(&mut self) {
        let Some(world) = &mut self.world else {
            return;
        };
        for (region, id, question) in world.errands.take_questions() {
            let end = world.spec.place(region).endpoint();
            let message = messages::encode(&ToRegion::Ask { id, question });
            if let Err(error) = self.correspondent.send(end, message) {
                tracing::warn!(%region, %error, "a question cannot be sent");
            }
        }
        let repeated = world.errands.repeated();
        let replies = world.errands.take_replies();
        if repeated > 0 {
            self.counters.repeated.set(repeated);
        }
        self.reply(replies);
    }

    fn reply(&mut self, replies: Vec<super::errands::Reply>) {
        for reply in replies {
            if let Some(body) = reply.unborn {
                self.spawned.remove(&body);
            }
            if reply.answer == Answer::NoAnswer {
                self.counters.unanswered.add_one();
            }
            let Some(asker) = reply.asker else {
                continue;
            };
            if let Some(client) = self.clients.get(&asker.session) {
                client.outbox.answer(asker.command, reply.answer);
            }
        }
    }

    // ── clients ────────────────────────────────────────────────────────────────────────────────────────────────

    fn handle_request(&mut self, request: Request) {
        match request {
            Request::Join {
                session,
                guest,
                outbox,
                area,
                rate,
            } => {
                let welcome = self.welcome(session, &guest);
                outbox.push(ToClient::Welcome(welcome).encode().into());
                outbox.push(self.features.clone());
                let frame = welcome.tick.as_secs() * f64::from(welcome.frame_ticks);
                let view = Viewpoint::at_rate(area, rate, 1.0 / frame);
                let (now, limits) = (self.clock.local(), &self.settings.limits);
                let client = Client::new(now, guest, outbox, view, limits);
                self.clients.insert(session, client);
            }
            Request::Watch { session, area } => {
                if let Some(client) = self.clients.get_mut(&session) {
                    client.view.watch(area);
                }
            }
            Request::Inspect { session, inspect } => {
                if let Some(client) = self.clients.get_mut(&session) {
                    client.view.inspect(inspect);
                    self.ask_to_show();
                }
            }
            Request::Anew { session } => {
                if let Some(client) = self.clients.get_mut(&session) {
                    client.ask_anew();
                }
            }
            Request::Order {
                session,
                id,
                command,
            } => self.order(session, id, *command),
            Request::Leave { session } => {
                self.clients.remove(&session);
                self.injections.retain(|running| running.session != session);
                self.ask_to_show();
            }
        }
        self.counters.sessions.set(self.clients.len() as u64);
    }

    fn welcome(&self, session: u64, guest: &Guest) -> Welcome {
        let stream = self.world.as_ref().map(|world| *world.stream());
        let stream = stream.unwrap_or_default();
        let step = self.world.as_ref().map(LiveWorld::step);
        let frame_ticks = self.settings.feed_ticks.clamp(1, 255) as u8;
        Welcome {
            version: VERSION,
            session,
            role: guest.role.number(),
            clock: self.common_time(),
            tick: step.unwrap_or_default(),
            frame_ticks,
            delay_frames: stream.delay_ticks as u8,
            tolerance_m: stream.tolerance_m as f32,
            tolerance_rad: stream.tolerance_rad as f32,
        }
    }

    fn common_time(&self) -> SimTime {
        let common = self.clock.common();
        common.unwrap_or_else(|| self.clock.machine())
    }

    fn fan_out(&mut self, now: SimTime, is_new: bool) {
        self.begin_anew(now);
        let Some(world) = &mut self.world else {
            return;
        };
        let anyone_blank = self.clients.values().any(|client| client.view.is_blank());
        let told = self.told_world.as_ref().filter(|_| anyone_blank);
        let view = self.view.borrow().clone();
        let Some(mut fan_out) = world.fan_out(now, is_new, &view, told, JOIN_BYTES) else {
            return;
        };
        self.served = now;
        let (limits, counters) = (&self.settings.limits, &self.counters);
        let before = self.clients.len();
        self.clients.retain(|_, client| {
            let stays = client.serve(now, &mut fan_out, limits, counters);
            if !stays {
                counters.too_slow.add_one();
                client
                    .outbox
                    .say_goodbye(Goodbye::TooSlow, "you do not read what you are sent");
            }
            stays
        });
        let strained = self.clients.values();
        let strained = strained.filter(|it| it.view.strain().level() > 0);
        self.counters.strained.set(strained.count() as u64);
        self.counters.sessions.set(self.clients.len() as u64);
        if self.clients.len() < before {
            self.ask_to_show();
        }
    }

    /// Those who want to be told everything anew.
    fn begin_anew(&mut self, now: SimTime) {
        let sessions: Vec<u64> = self.clients.keys().copied().collect();
        for session in sessions {
            let Some(client) = self.clients.get_mut(&session) else {
                continue;
            };
            if !client.begin_anew(now) {
                continue;
            }
            let (guest, outbox) = (client.guest.clone(), client.outbox.clone());
            let welcome = ToClient::Welcome(self.welcome(session, &guest));
            outbox.push(welcome.encode().into());
            outbox.push(self.features.clone());
        }
    }

    /// Regions show what at least one client looks at.
    fn ask_to_show(&mut self) {
        let layers = self.clients.values().map(|client| client.view.layers());
        let wanted = layers.fold(Layers::NONE, Layers::with);
        if wanted == self.asked {
            return;
        }
        let (before, now) = (self.asked.and(REGION_LAYERS), wanted.and(REGION_LAYERS));
        self.asked = wanted;
        let Some(world) = &mut self.world else {
            return;
        };
        world.sights.want(wanted);
        if before == now {
            return;
        }
        let message = messages::encode(&ToRegion::Inspect { layers: now.0 });
        for region in world.terms.keys() {
            let end = world.spec.place(*region).endpoint();
            if let Err(error) = self.correspondent.send(end, message.clone()) {
                tracing::warn!(%region, %error, "cannot look closely");
            }
        }
    }

    /// The emulated network may have changed: everyone is to know.
    fn tell_features(&mut self) {
        let features = features(self.demo.as_deref());
        if features == self.features {
            return;
        }
        self.features = features;
        for client in self.clients.values_mut() {
            if !client.outbox.push(self.features.clone()) {
                client.ask_anew();
            }
        }
    }

    /// The regions that have something near a ball or a path, as far as we know, and the one that holds the place (which has the scenery).
    pub(super) fn regions_near(
        &self,
        place: glam::DVec3,
        touches: impl Fn(glam::DVec3, f64) -> bool,
    ) -> std::collections::BTreeSet<RegionId> {
        let Some(world) = &self.world else {
            return Default::default();
        };
        let near = world
            .replicas
            .iter()
            .filter(|(_, replica)| touches(replica.motion.position, f64::from(replica.radius)));
        let mut regions: std::collections::BTreeSet<RegionId> =
            near.map(|(_, replica)| replica.owner).collect();
        regions.insert(world.spec.map.region_at(place.x, place.z));
        regions
    }
}

fn features(demo: Option<&dyn DemoControls>) -> Bytes {
    let scenes = scenes::builtin::names();
    let about = |name: &str| scenes::builtin::about(name).unwrap_or_default().to_owned();
    let features = Features {
        demo: demo.is_some(),
        network: demo.map(DemoControls::network).unwrap_or_default(),
        scenes: scenes.map(|name| (name.to_owned(), about(name))).collect(),
    };
    ToClient::Features(features).encode().into()
}
