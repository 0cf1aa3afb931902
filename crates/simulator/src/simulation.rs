//! The whole world in one thread under virtual time.
//!
//! One loop: whatever is due next happens next. A datagram arrives, a channel wants to send again, a server's frame
//! begins, a user wants something, something breaks. Everything random comes from the seed, so a run is its command line.

use crate::checkers::{Checkers, CheckersConfig};
use crate::facts::{AuraHeld, Fact, Projecting};
use crate::faults::Fault;
use crate::frames::FrameModel;
use crate::network::{ChannelConfig, Network};
use crate::options::SimOptions;
use crate::outcome::{Counters, Outcome};
use crate::server::{Server, ServerPace};
use crate::user::{User, Wish};
use boundary::{BodyView, BoundaryConfig, HandoverMode, Tolerances, initial};
use domain::{
    Body, BodyId, ContactEnd, Epoch, Joint, Layout, Motion, RegionId, RegionMap, RegionMapError,
    SimTime, Tick,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use region::{MovedBody, Region, RegionConfig, RegionError, RegionEvent};
use scenes::{Action, Scene};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

/// A crashed or cut-off server needs this long after it is back until tolerances hold again, seconds.
const AFTERMATH_SECS: f64 = 3.0;
/// A run lasts at least this much longer than its last fault, seconds.
const RECOVERY_SECS: f64 = 1.0;
/// Snapshots are taken this often if a server is to crash.
const DEFAULT_SNAPSHOT_TICKS: u64 = 30;
/// Everything under way arrives within this time after the last tick, or the network is broken for good.
const LONGEST_DRAIN_SECS: f64 = 60.0;

/// Why a run cannot start. The scene or the options are at fault.
#[derive(Debug, Error)]
pub enum SimError {
    /// The regions cannot be cut like that.
    #[error(transparent)]
    Map(#[from] RegionMapError),
    /// A region cannot be set up.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A fault names a server that does not exist.
    #[error("fault '{fault}' names server {region}, but there are only {servers} (0 to {last})", last = servers - 1, region = region.0)]
    NoSuchServer {
        /// The fault.
        fault: Fault,
        /// The server.
        region: RegionId,
        /// How many there are.
        servers: usize,
    },
}

/// A run.
pub struct Simulation {
    now: SimTime,
    last_tick: Tick,
    map: RegionMap,
    servers: Vec<Server>,
    network: Network,
    user: User,
    faults: Vec<(SimTime, Upheaval)>,
    checkers: Option<Checkers>,
    counters: Counters,
    outcome: Outcome,
    history: Xxh3,
    snapshot_of: BTreeMap<RegionId, Tick>,
    watcher: Option<Watcher>,
    stopped: bool,
}

/// Hears every fact as it happens; a break ends the run there.
pub type Watcher = Box<dyn FnMut(SimTime, &Fact<'_>) -> ControlFlow<()>>;

#[derive(Clone, Copy, Debug)]
enum Upheaval {
    Crash(RegionId, f64),
    Restart(RegionId),
    Cut(RegionId, RegionId, f64),
    Heal(RegionId, RegionId),
}

impl Simulation {
    /// Sets up a scene: regions, owners, network, checkers.
    pub fn new(scene: &Scene, options: &SimOptions) -> Result<Self, SimError> {
        let map = region_map(scene, options)?;
        let seed = options.seed.unwrap_or(scene.seed);
        let seconds = duration(scene, options);
        check_faults(&options.faults, map.len())?;
        let boundary = boundary_config(scene, options);
        let servers = servers(scene, options, &map, boundary, seed)?;
        let assemblies = assemblies(&scene.bodies, &scene.joints);
        let config = CheckersConfig {
            regions: map.len(),
            step: scene.step,
            frozen_in_flight: options.handover == HandoverMode::Freeze,
            assemblies: assemblies
                .values()
                .filter(|group| group.len() > 1)
                .cloned()
                .collect(),
        };
        let mut simulation = Self {
            now: SimTime::ZERO,
            last_tick: Tick(scene.step.ticks_in(seconds)),
            network: Network::new(seed ^ 0x6e65_7477, options.network),
            user: User::of(scene, seed),
            faults: upheavals(&options.faults),
            checkers: options.checkers.then(|| Checkers::new(&config)),
            counters: Counters::default(),
            outcome: Outcome::of(scene, options, &map, seed),
            history: Xxh3::new(),
            snapshot_of: BTreeMap::new(),
            watcher: None,
            stopped: false,
            servers,
            map,
        };
        for (from, to, conditions) in &options.links {
            simulation.network.set_link(*from, *to, Some(*conditions));
        }
        simulation.settle_in(scene, &boundary, &assemblies)?;
        Ok(simulation)
    }

    /// Every body of the start goes to its first owner.
    fn settle_in(
        &mut self,
        scene: &Scene,
        boundary: &BoundaryConfig,
        assemblies: &BTreeMap<BodyId, Vec<BodyId>>,
    ) -> Result<(), SimError> {
        let views = scene.bodies.iter().map(start_view).collect();
        let assembly = |id: BodyId, out: &mut Vec<BodyId>| {
            out.extend(
                assemblies
                    .values()
                    .filter(|group| group.binary_search(&id).is_ok())
                    .flatten(),
            );
        };
        let owners = initial::owners(views, &self.map, boundary, &assembly);
        for body in &scene.bodies {
            let region = owners[&body.id];
            self.region(region).expect("all are up").place(body)?;
            self.tell(&Fact::Born {
                tick: Tick::ZERO,
                region,
                body: body.id,
                epoch: Epoch(0),
                form: &body.form,
                motion: &body.motion,
            });
        }
        for joint in &scene.joints {
            let region = owners[&joint.a];
            self.region(region).expect("all are up").tie(joint)?;
        }
        self.store_snapshots(true);
        Ok(())
    }

    /// Lets a watcher hear every fact from now on. A run that it ends early is not drained: what is under way stays so.
    pub fn watch(&mut self, watcher: Watcher) {
        self.watcher = Some(watcher);
    }

    /// Runs to the end; `progress` hears the share that is done.
    pub fn run(mut self, mut progress: impl FnMut(f64)) -> Outcome {
        let mut reported = Tick::ZERO;
        while let Some(next) = self.next_event() {
            self.now = next;
            self.handle_due();
            if self.stopped {
                return self.finish();
            }
            let slowest = self.slowest_tick();
            if slowest > reported {
                reported = slowest;
                progress(slowest.0 as f64 / self.last_tick.0.max(1) as f64);
            }
            if slowest >= self.last_tick {
                break;
            }
        }
        self.drain();
        self.finish()
    }

    // ── the loop ───────────────────────────────────────────────────────────────────────────────────────────────

    fn next_event(&self) -> Option<SimTime> {
        let frames = self
            .servers
            .iter()
            .filter(|s| s.region.is_some())
            .map(|s| s.next_frame);
        frames
            .chain(self.next_network_event())
            .chain(self.user.next().map(|at| at.max(self.now)))
            .chain(self.faults.first().map(|(at, _)| *at))
            .min()
            .map(|at| at.max(self.now))
    }

    fn next_network_event(&self) -> Option<SimTime> {
        let wakeups = self
            .servers
            .iter()
            .flat_map(|server| server.channels.values())
            .filter_map(|channel| channel.next_wakeup());
        wakeups.chain(self.network.next_arrival()).min()
    }

    fn handle_due(&mut self) {
        self.handle_upheavals();
        self.handle_network();
        self.handle_wishes();
        for index in 0..self.servers.len() {
            if self.servers[index].next_frame <= self.now && self.servers[index].region.is_some() {
                self.run_frame(index);
            }
        }
    }

    fn run_frame(&mut self, index: usize) {
        let (now, last_tick) = (self.now, self.last_tick.0);
        let id = self.servers[index].id();
        let mut records = Vec::new();
        self.servers[index].run_frame(now, last_tick, |region| {
            records.push(TickRecord::of(region))
        });
        for record in records {
            self.tell_tick(id, record);
        }
        self.store_snapshots(false);
        self.pump(index);
    }

    /// Hands what the server's channels want to send to the network.
    fn pump(&mut self, index: usize) {
        let from = self.servers[index].id();
        let now = self.now;
        for (to, channel) in &mut self.servers[index].channels {
            while let Some(datagram) = channel.poll_transmit(now) {
                self.network.send(now, from, *to, datagram);
            }
        }
    }

    fn handle_network(&mut self) {
        while let Some(datagram) = self.network.pop_arrival(self.now) {
            let index = datagram.to.0 as usize;
            if self.servers[index].region.is_none() {
                continue;
            }
            self.servers[index].handle_datagram(self.now, datagram.from, &datagram.bytes);
            self.pump(index);
        }
        for index in 0..self.servers.len() {
            let due = self.servers[index]
                .channels
                .values()
                .any(|channel| channel.next_wakeup().is_some_and(|at| at <= self.now));
            if due {
                self.pump(index);
            }
        }
    }

    // ── the user ───────────────────────────────────────────────────────────────────────────────────────────────

    fn handle_wishes(&mut self) {
        while let Some(wish) = self.user.take(self.now) {
            let done = match &wish {
                Wish::Spawn(body) => self.spawn(body),
                Wish::Act(body, action) => self.act(*body, *action),
            };
            if !done {
                let later = self.now + SimTime::from_millis(10.0);
                if self.map.len() > 1 || matches!(wish, Wish::Spawn(_)) {
                    self.user.postpone(later, wish);
                }
            }
        }
    }

    fn spawn(&mut self, body: &Body) -> bool {
        let id = User::responsible(&self.map, body);
        let Some(region) = self.region(id).filter(|region| !region.is_recovering()) else {
            return false;
        };
        region.spawn(body).expect("the scene was checked");
        let tick = region.tick();
        self.user.issued(id, tick, body.clone());
        self.tell_events(id);
        true
    }

    fn act(&mut self, body: BodyId, action: Action) -> bool {
        self.servers
            .iter_mut()
            .filter_map(|server| server.region.as_mut())
            .any(|region| match action {
                Action::Impulse(impulse) => region.apply_impulse(body, impulse, None),
                Action::Velocity(velocity) => region.set_velocity(body, velocity),
            })
    }

    // ── upheavals ──────────────────────────────────────────────────────────────────────────────────────────────

    fn handle_upheavals(&mut self) {
        while self.faults.first().is_some_and(|(at, _)| *at <= self.now) {
            let (_, upheaval) = self.faults.remove(0);
            match upheaval {
                Upheaval::Crash(region, down) => self.crash(region, down),
                Upheaval::Restart(region) => self.restart(region),
                Upheaval::Cut(a, b, down) => {
                    self.network.cut(a, b);
                    self.disturb(&[a, b], down);
                }
                Upheaval::Heal(a, b) => self.network.heal(a, b),
            }
        }
    }

    fn crash(&mut self, id: RegionId, down: f64) {
        let Some(tick) = self.region(id).map(|region| region.tick()) else {
            return;
        };
        self.servers[id.0 as usize].crash();
        let everyone: Vec<RegionId> = self.map.regions().collect();
        self.disturb(&everyone, down);
        self.tell(&Fact::Crashed { tick, region: id });
    }

    fn restart(&mut self, id: RegionId) {
        let now = self.now;
        self.servers[id.0 as usize]
            .restart(now)
            .expect("the snapshot is our own");
    }

    fn disturb(&mut self, regions: &[RegionId], down: f64) {
        let step = self.outcome.step;
        let until = self.now.as_secs() + down + AFTERMATH_SECS;
        self.tell(&Fact::Disturbed {
            from: Tick(step.ticks_in(self.now.as_secs()).saturating_sub(2)),
            until: Tick(step.ticks_in(until)),
            regions,
        });
    }

    fn store_snapshots(&mut self, at_start: bool) {
        for server in &mut self.servers {
            let Some(region) = server.region.as_mut() else {
                continue;
            };
            let wanted = server.config.snapshot_ticks.is_some();
            let snapshot = if at_start && wanted {
                Some(region.make_snapshot())
            } else {
                region.take_snapshot()
            };
            if let Some(snapshot) = snapshot {
                self.snapshot_of.insert(server.config.id, snapshot.tick);
                server.standby = Some(snapshot.to_bytes());
            }
        }
    }

    // ── telling the checkers ───────────────────────────────────────────────────────────────────────────────────

    fn tell(&mut self, fact: &Fact<'_>) {
        self.counters.count(fact);
        if let Some(watcher) = &mut self.watcher {
            self.stopped |= watcher(self.now, fact).is_break();
        }
        if let Some(checkers) = &mut self.checkers {
            checkers.observe(self.now, fact);
        }
    }

    fn tell_tick(&mut self, region: RegionId, record: TickRecord) {
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

    fn tell_events(&mut self, region: RegionId) {
        while let Some(event) = self.servers[region.0 as usize].poll_event() {
            self.tell_event(region, event);
        }
    }

    fn tell_event(&mut self, region: RegionId, event: RegionEvent) {
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
                panic!("{region} refused offer {} of {from}: {why}", handover.0);
            }
            RegionEvent::Life(_) => {}
        }
    }

    fn tell_contact(&mut self, region: RegionId, tick: Tick, contact: &world::ContactBegun) {
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
    fn tell_recovery(&mut self, id: RegionId, tick: Tick, bodies: &[(BodyId, Epoch)]) {
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

    // ── the end ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Physics has ended; everything still under way arrives, so that what is left over is left over for good.
    fn drain(&mut self) {
        let give_up = self.now + SimTime::from_secs(LONGEST_DRAIN_SECS);
        loop {
            self.handle_network();
            for index in 0..self.servers.len() {
                let now = self.now;
                self.servers[index].run_network(now);
                self.tell_events(RegionId(index as u32));
                self.pump(index);
            }
            match self.next_network_event() {
                Some(next) if next < give_up => self.now = next.max(self.now + SimTime(1)),
                _ => break,
            }
        }
    }

    fn finish(mut self) -> Outcome {
        self.tell_quiescence();
        let report = self.checkers.take().map(Checkers::finish);
        let mut outcome = self.outcome;
        outcome.fill(
            &self.counters,
            report,
            &self.servers,
            &self.network,
            &self.map,
        );
        outcome.ticks = self.last_tick.0;
        outcome.history_hash = format!("{:016x}", self.history.digest());
        outcome
    }

    fn tell_quiescence(&mut self) {
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
            for (body, track) in region.boundary().projecting() {
                projecting.push(Projecting {
                    owner: region.id(),
                    body,
                    epoch: track.epoch,
                    audience: track.audience.to_vec(),
                });
            }
        }
        self.tell(&Fact::Quiescent {
            tick: self.last_tick,
            auras: &auras,
            projecting: &projecting,
        });
    }

    /// Bodies that left one region and have not entered another when time stopped, and those not yet born.
    fn bodies_under_way(&self) -> BTreeSet<BodyId> {
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

    fn region(&mut self, id: RegionId) -> Option<&mut Region> {
        self.servers[id.0 as usize].region.as_mut()
    }

    fn slowest_tick(&self) -> Tick {
        self.servers
            .iter()
            .map(|server| server.region.as_ref().map_or(Tick::ZERO, Region::tick))
            .min()
            .unwrap_or_default()
    }
}

/// What happened in one tick of one region, copied out.
struct TickRecord {
    tick: Tick,
    hash: u64,
    projecting: u64,
    before_step: Vec<RegionEvent>,
    /// `None` if the region did not step (it waits for answers after a restart).
    bodies: Option<Vec<(BodyId, Motion)>>,
    after_step: Vec<RegionEvent>,
}

impl TickRecord {
    fn of(region: &mut Region) -> Self {
        let mut before_step = Vec::new();
        let mut after_step = Vec::new();
        while let Some(event) = region.poll_event() {
            let before = matches!(
                event,
                RegionEvent::Born { .. }
                    | RegionEvent::CaughtUp { .. }
                    | RegionEvent::Arrived { .. }
                    | RegionEvent::Recovered { .. }
            );
            if before {
                before_step.push(event);
            } else {
                after_step.push(event);
            }
        }
        let stepped = !region.is_recovering();
        Self {
            tick: region.tick(),
            hash: region.world().state_hash(),
            projecting: region.boundary().projecting().count() as u64,
            bodies: stepped.then(|| region.stepped_bodies()),
            before_step,
            after_step,
        }
    }
}

fn pairs(members: &[MovedBody]) -> Vec<(BodyId, Epoch)> {
    members
        .iter()
        .map(|moved| (moved.body, moved.epoch))
        .collect()
}

fn start_view(body: &Body) -> BodyView {
    BodyView {
        asleep: false,
        ..boundary::nursery::view_of(body)
    }
}

fn region_map(scene: &Scene, options: &SimOptions) -> Result<RegionMap, RegionMapError> {
    let mut layout = options.layout.unwrap_or(scene.regions.layout);
    let servers = options.servers.unwrap_or(scene.regions.servers);
    if options.layout.is_none() && options.servers.is_some_and(|n| n != scene.regions.servers) {
        layout = match layout {
            Layout::Columns | Layout::Tree => layout,
            _ => Layout::Grid,
        };
    }
    match layout {
        Layout::Boxes => RegionMap::boxes(&scene.regions.boxes, scene.world),
        layout => RegionMap::build(layout, servers, scene.world),
    }
}

fn boundary_config(scene: &Scene, options: &SimOptions) -> BoundaryConfig {
    BoundaryConfig {
        policy: options.policy,
        aura: options.aura,
        handover: options.handover,
        tie_break: options.tie_break,
        tolerances: Tolerances {
            speed: scene.tolerances.speed,
            latency_secs: scene.tolerances.latency_ms * 1e-3,
            frame_secs: scene.tolerances.frame_ms * 1e-3,
        },
        step: scene.step,
    }
}

/// A run goes on until everyone has come back from the last fault: only then can it be judged.
fn duration(scene: &Scene, options: &SimOptions) -> f64 {
    let recovered = options
        .faults
        .iter()
        .map(|fault| fault.window().1 + RECOVERY_SECS);
    recovered.fold(options.seconds.unwrap_or(scene.seconds), f64::max)
}

fn check_faults(faults: &[Fault], servers: usize) -> Result<(), SimError> {
    for fault in faults {
        if let Some(region) = fault
            .regions()
            .into_iter()
            .find(|r| r.0 as usize >= servers)
        {
            return Err(SimError::NoSuchServer {
                fault: *fault,
                region,
                servers,
            });
        }
    }
    Ok(())
}

fn servers(
    scene: &Scene,
    options: &SimOptions,
    map: &RegionMap,
    boundary: BoundaryConfig,
    seed: u64,
) -> Result<Vec<Server>, SimError> {
    let crashes = options
        .faults
        .iter()
        .any(|fault| matches!(fault, Fault::Crash { .. }));
    let snapshot_ticks = options
        .snapshot_ticks
        .or(crashes.then_some(DEFAULT_SNAPSHOT_TICKS));
    let statics: std::sync::Arc<[_]> = scene.statics.clone().into();
    let frames = options
        .frames
        .unwrap_or(FrameModel::Fixed(boundary.tolerances.frame_secs / 3.0));
    map.regions()
        .map(|id| {
            let config = RegionConfig {
                id,
                map: map.clone(),
                boundary,
                gravity: scene.gravity,
                statics: statics.clone(),
                snapshot_ticks,
            };
            let frames = options.frames_of.get(&id).copied().unwrap_or(frames);
            let mut rng = Pcg64Mcg::seed_from_u64(seed ^ (u64::from(id.0) << 32 | 0x7365));
            let step_phase = if options.aligned_steps {
                0.0
            } else {
                rng.random_range(0.0..scene.step.as_secs())
            };
            let pace = ServerPace {
                frames,
                send_order: options.send_order,
                first_frame: SimTime::from_secs(rng.random_range(0.0..frames.mean_secs())),
                step_phase: SimTime::from_secs(step_phase),
                channel: ChannelConfig {
                    resend: options.resend,
                    ..ChannelConfig::default()
                },
                rng,
            };
            let mut server = Server::new(config.clone(), Region::new(config)?, pace);
            server.greet_neighbours();
            Ok(server)
        })
        .collect()
}

fn upheavals(faults: &[Fault]) -> Vec<(SimTime, Upheaval)> {
    let mut upheavals: Vec<_> = faults
        .iter()
        .flat_map(|fault| {
            let (begin, end) = fault.window();
            let (begin, end) = (SimTime::from_secs(begin), SimTime::from_secs(end));
            match *fault {
                Fault::Crash { region, down, .. } => [
                    (begin, Upheaval::Crash(region, down)),
                    (end, Upheaval::Restart(region)),
                ],
                Fault::Cut { a, b, down, .. } => [
                    (begin, Upheaval::Cut(a, b, down)),
                    (end, Upheaval::Heal(a, b)),
                ],
            }
        })
        .collect();
    upheavals.sort_by_key(|(at, _)| *at);
    upheavals
}

/// For each assembly's first body, all its bodies, ascending.
fn assemblies(bodies: &[Body], joints: &[Joint]) -> BTreeMap<BodyId, Vec<BodyId>> {
    let mut root: BTreeMap<BodyId, BodyId> = bodies.iter().map(|body| (body.id, body.id)).collect();
    fn find(root: &BTreeMap<BodyId, BodyId>, mut id: BodyId) -> BodyId {
        while root[&id] != id {
            id = root[&id];
        }
        id
    }
    for joint in joints {
        let (a, b) = (find(&root, joint.a), find(&root, joint.b));
        root.insert(a.max(b), a.min(b));
    }
    let mut groups: BTreeMap<BodyId, Vec<BodyId>> = BTreeMap::new();
    for body in bodies {
        groups
            .entry(find(&root, body.id))
            .or_default()
            .push(body.id);
    }
    groups.retain(|_, group| group.len() > 1);
    groups
}
