//! The whole world in one thread under virtual time.
//!
//! One loop: whatever is due next happens next. A datagram arrives, a channel wants to send again, a server's frame
//! begins, a user wants something, something breaks. Everything random comes from the seed, so a run is its command line.

mod setup;
mod telling;
mod upheavals;
mod wishes;

pub(crate) use telling::{complaint, fact_of, tell_births};

use crate::checkers::{Checkers, CheckersConfig};
use crate::facts::Fact;
use crate::faults::Fault;
use crate::network::Network;
use crate::options::SimOptions;
use crate::outcome::{Counters, Outcome};
use crate::replicate::GroupRun;
use crate::server::Server;
use crate::user::User;
use boundary::{HandoverMode, Policy};
use domain::{RegionId, RegionMap, RegionMapError, SimTime, Tick};
use region::staging::{Staging, region_map};
use region::{Region, RegionError, RegionEvent, TickRecord};
use scenes::Scene;
use setup::{boundary_config, check_faults, duration, servers};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use thiserror::Error;
use upheavals::{Upheaval, upheavals};
use xxhash_rust::xxh3::Xxh3;

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
    /// A shape of the scene cannot be built.
    #[error(transparent)]
    Shape(#[from] domain::ShapeError),
    /// The policy cannot do what the scene or the options ask for.
    #[error("policy {policy} has no {what}")]
    Unsupported {
        /// Which policy.
        policy: &'static str,
        /// What it lacks, and why.
        what: &'static str,
    },
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
    onlooker: Option<Onlooker>,
    // What happened between two ticks, for the onlooker.
    unseen: BTreeMap<RegionId, Vec<RegionEvent>>,
    stopped: bool,
}

/// Runs a scene to its end under the policy that the options name; `progress` hears the share that is done.
pub fn simulate(
    scene: &Scene,
    options: &SimOptions,
    progress: impl FnMut(f64),
) -> Result<Outcome, SimError> {
    Ok(match options.policy {
        Policy::Replicate => GroupRun::new(scene, options)?.run(progress),
        Policy::Aura | Policy::Naive => Simulation::new(scene, options)?.run(progress),
    })
}

/// Hears every fact as it happens; a break ends the run there.
pub type Watcher = Box<dyn FnMut(SimTime, &Fact<'_>) -> ControlFlow<()>>;

/// A region after a tick, as a live server would see it.
pub struct Look<'a> {
    /// The time.
    pub now: SimTime,
    /// The region.
    pub region: &'a Region,
    /// What users have brought about since the tick before.
    pub between: &'a [RegionEvent],
    /// What has happened in the tick.
    pub record: &'a TickRecord,
    /// Datagram bytes it had sent to others before.
    pub bytes_sent: u64,
}

/// Looks at every region after each of its ticks. It sees everything and changes nothing.
pub type Onlooker = Box<dyn FnMut(&Look<'_>)>;

impl Simulation {
    /// Sets up a scene: regions, owners, network, checkers.
    pub fn new(scene: &Scene, options: &SimOptions) -> Result<Self, SimError> {
        if options.policy == Policy::Replicate {
            return Err(SimError::Unsupported {
                policy: "replicate",
                what: "regions: it has members; see `GroupRun`",
            });
        }
        let map = region_map(scene, options.layout, options.servers)?;
        let seed = options.seed.unwrap_or(scene.seed);
        let seconds = duration(scene, options);
        check_faults(&options.faults, map.len())?;
        let boundary = boundary_config(scene, options);
        let staging = Staging::new(scene, map.clone(), boundary);
        let servers = servers(scene, options, &staging, seed)?;
        let config = CheckersConfig {
            regions: map.len(),
            step: scene.step,
            frozen_in_flight: options.handover == HandoverMode::Freeze,
            assemblies: staging.assemblies.values().cloned().collect(),
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
            onlooker: None,
            unseen: BTreeMap::new(),
            stopped: false,
            servers,
            map,
        };
        for (from, to, conditions) in &options.links {
            simulation.network.set_link(*from, *to, Some(*conditions));
        }
        simulation.settle_in(scene, &staging)?;
        Ok(simulation)
    }

    /// Every body of the start goes to its first owner.
    fn settle_in(&mut self, scene: &Scene, staging: &Staging) -> Result<(), SimError> {
        for server in &mut self.servers {
            let region = server.region.as_mut().expect("all are up");
            staging.furnish(scene, region)?;
        }
        tell_births(scene, staging, |fact| self.tell(fact));
        for server in &mut self.servers {
            if server.config.snapshot_ticks.is_some() {
                server.store_beginning();
            }
        }
        Ok(())
    }

    /// Lets a watcher hear every fact from now on. A run that it ends early is not drained: what is under way stays so.
    pub fn watch(&mut self, watcher: Watcher) {
        self.watcher = Some(watcher);
    }

    /// Lets an onlooker see every region after each tick from now on.
    pub fn look(&mut self, onlooker: Onlooker) {
        self.onlooker = Some(onlooker);
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
        let bytes_sent = self.servers[index].bytes_sent();
        let onlooker = &mut self.onlooker;
        let mut between = self.unseen.remove(&id).unwrap_or_default();
        self.servers[index].run_frame(now, last_tick, |region| {
            let record = TickRecord::of(region);
            if let Some(look) = onlooker {
                look(&Look {
                    now,
                    region,
                    between: &std::mem::take(&mut between),
                    record: &record,
                    bytes_sent,
                });
            }
            records.push(record);
        });
        if !between.is_empty() {
            self.unseen.insert(id, between);
        }
        self.tell_heard(id);
        for record in records {
            let bodies = record.bodies.as_ref().map_or(0, Vec::len);
            let timeline = &mut self.servers[index].timeline;
            timeline.note(bytes_sent, bodies, departed(&record));
            self.tell_tick(id, record);
        }
        if let Some((to, full)) = self.servers[index].stuck.take() {
            self.abort(format!(
                "the link from {id} to {to} has carried too little for too long: {full}"
            ));
        }
        self.store_snapshots();
        self.pump(index);
    }

    /// Nothing sensible can come any more.
    fn abort(&mut self, why: String) {
        self.outcome.aborted.get_or_insert(why);
        self.stopped = true;
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

    fn store_snapshots(&mut self) {
        for server in &mut self.servers {
            if let Some(tick) = server.care_for_snapshots(self.now) {
                self.snapshot_of.insert(server.config.id, tick);
            }
        }
    }

    /// Physics has ended; everything still under way arrives, so that what is left over is left over for good.
    fn drain(&mut self) {
        let give_up = self.now + SimTime::from_secs(LONGEST_DRAIN_SECS);
        loop {
            self.handle_network();
            for index in 0..self.servers.len() {
                let now = self.now;
                self.servers[index].run_network(now);
                self.tell_heard(RegionId(index as u32));
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
        if !self.stopped {
            self.tell_quiescence();
        }
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

/// How many bodies were given away after a tick.
fn departed(record: &TickRecord) -> usize {
    let members = record.after_step.iter().map(|event| match event {
        RegionEvent::Departed { members, .. } => members.len(),
        _ => 0,
    });
    members.sum()
}
