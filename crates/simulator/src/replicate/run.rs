//! The run: whatever is due next happens next.

use super::node::{Happened, Node, Wish};
use super::options::Cuts;
use super::setup;
use super::watch::Watch;
use crate::network::Network;
use crate::options::SimOptions;
use crate::outcome::{CpuPerTick, Outcome};
use crate::simulation::SimError;
use boundary::replicate::{Correction, Member, MemberCounts, SubSpaces};
use domain::{Bounds, RegionId, RegionMap, SimTime, Tick, TickLength};
use scenes::Scene;
use std::sync::Arc;

/// Nothing has come for so long: the network is broken for good.
const LONGEST_WAIT_SECS: f64 = 120.0;

/// A group and its run.
pub struct GroupRun {
    now: SimTime,
    step: TickLength,
    last_tick: u64,
    nodes: Vec<Node>,
    network: Network,
    wishes: Vec<(u64, Wish)>,
    watch: Option<Watch>,
    outcome: Outcome,
    world: Bounds,
    cuts: Cuts,
    allocation: u32,
    first_spaces: Arc<SubSpaces>,
}

impl GroupRun {
    /// Sets up a scene: members, bodies, network, watch.
    pub fn new(scene: &Scene, options: &SimOptions) -> Result<Self, SimError> {
        setup::check(scene, options)?;
        let members = options.servers.unwrap_or(scene.regions.servers) as u32;
        let seed = options.seed.unwrap_or(scene.seed);
        let world = setup::world(scene);
        let cuts = options.replicate.cuts;
        let spaces = setup::divide(world, members, cuts, || {
            scene
                .bodies
                .iter()
                .map(|body| body.motion.position)
                .collect()
        });
        let nodes = setup::nodes(scene, options, &spaces, seed)?;
        let mut outcome = Outcome::of(scene, options, &RegionMap::single(), seed);
        outcome.servers = members as usize;
        let seconds = options.seconds.unwrap_or(scene.seconds);
        let mut watch = options
            .checkers
            .then(|| Watch::new(nodes.len(), options.replicate.mode, scene.step));
        if let Some(watch) = &mut watch {
            watch.start = scene.bodies.len() as u64;
        }
        let mut network = Network::new(seed ^ 0x6e65_7477, options.network);
        for (from, to, conditions) in &options.links {
            network.set_link(*from, *to, Some(*conditions));
        }
        Ok(Self {
            now: SimTime::ZERO,
            step: scene.step,
            last_tick: scene.step.ticks_in(seconds),
            nodes,
            network,
            wishes: wishes(scene, seed),
            watch,
            outcome,
            world,
            cuts,
            allocation: 0,
            first_spaces: spaces,
        })
    }

    /// Runs to the end; `progress` hears the share that is done.
    pub fn run(mut self, mut progress: impl FnMut(f64)) -> Outcome {
        let mut reported = 0;
        let mut quiet_since = self.now;
        loop {
            let worked = self.work_now();
            let slowest = self.slowest();
            if slowest > reported {
                reported = slowest;
                quiet_since = self.now;
                progress(slowest as f64 / self.last_tick.max(1) as f64);
            }
            if slowest >= self.last_tick {
                break;
            }
            if self.now.since(quiet_since) > SimTime::from_secs(LONGEST_WAIT_SECS) {
                let why = "members have waited for each other for two minutes";
                self.outcome.aborted = Some(why.into());
                break;
            }
            match self.next_event() {
                Some(next) => self.now = next.max(self.now + SimTime(u64::from(!worked))),
                None => {
                    let why = "every member waits for another, and nothing is under way";
                    self.outcome.aborted = Some(why.into());
                    break;
                }
            }
        }
        self.finish()
    }

    /// Runs until every member has completed this tick, for those who look at members in between.
    pub fn run_until(&mut self, tick: u64) {
        while self.slowest() < tick.min(self.last_tick) {
            let worked = self.work_now();
            match self.next_event() {
                Some(next) => self.now = next.max(self.now + SimTime(u64::from(!worked))),
                None => break,
            }
        }
    }

    /// From now on everything that happens to members is recorded for [`replay`](Self::replay). Call it before the first tick.
    pub fn record(&mut self) {
        for node in &mut self.nodes {
            node.log = Some(Vec::new());
        }
    }

    /// Lets a member do alone, from the recorded parcels, what it did in the group; the milliseconds of CPU time of each of its ticks. So
    /// its memory is in the caches as on a machine of its own.
    pub fn replay(
        &self,
        scene: &Scene,
        options: &SimOptions,
        member: RegionId,
    ) -> Result<Vec<f32>, SimError> {
        let seed = options.seed.unwrap_or(scene.seed);
        let node = setup::node(scene, options, &self.first_spaces, seed, member.0)?;
        let log = self.nodes[member.0 as usize].log.as_deref();
        Ok(node.replay(log.unwrap_or_default(), &self.wishes))
    }

    /// One of the members.
    pub fn member(&self, id: RegionId) -> &Member {
        &self.nodes[id.0 as usize].member
    }

    /// All members.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.nodes.iter().map(|node| &node.member)
    }

    /// Milliseconds of CPU time of every tick of every member so far.
    pub fn ticks_ms(&self) -> Vec<&[f32]> {
        self.nodes.iter().map(|node| &*node.ticks_ms).collect()
    }

    /// Bytes between members so far, lost and repeated ones included.
    pub fn bytes(&self) -> u64 {
        self.network.stats().bytes
    }

    /// From now on the leader's results for the server are kept for [`take_reports`](Self::take_reports).
    pub(super) fn keep_reports(&mut self) {
        self.nodes[0].reports = Some(Vec::new());
    }

    /// What the leader has for the server: the tick, and states as they are at its end.
    pub(super) fn take_reports(&mut self) -> Vec<(Tick, Vec<u8>)> {
        let reports = self.nodes[0].reports.as_mut();
        reports.map(std::mem::take).unwrap_or_default()
    }

    /// The first tick before which every member can still be told something.
    pub(super) fn may_still_hear(&self) -> Tick {
        let ticks = self.nodes.iter().map(|node| node.member.tick().0);
        // A member that is about to compute its next tick may have heard all that is wished for by then.
        Tick(ticks.max().unwrap_or(0) + 2)
    }

    /// The relay between groups knows better where a body is: every member hears it before it computes the same tick.
    pub(super) fn correct(&mut self, correction: &Correction) {
        let tick = correction.before.0.max(self.may_still_hear().0);
        let after = self.wishes.partition_point(|(at, _)| *at <= tick);
        let wish = Wish::Correct(correction.body, correction.motion);
        self.wishes.insert(after, (tick, wish));
    }

    /// How many members there are.
    pub(super) fn size(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn slowest(&self) -> u64 {
        let ticks = self.nodes.iter().map(|node| node.member.tick().0);
        ticks.min().unwrap_or(0)
    }

    fn next_event(&self) -> Option<SimTime> {
        let due = self.nodes.iter().filter_map(|node| {
            let next = node.member.tick().next();
            let may = next.0 <= self.last_tick && node.member.is_ready();
            may.then(|| self.step.due(next) + node.phase)
        });
        let wakeups = self.nodes.iter().filter_map(Node::next_wakeup);
        due.chain(wakeups).chain(self.network.next_arrival()).min()
    }

    /// Delivers what has arrived and lets everyone who may do an iteration. True if anything happened.
    fn work_now(&mut self) -> bool {
        let mut worked = false;
        while let Some(datagram) = self.network.pop_arrival(self.now) {
            let node = &mut self.nodes[datagram.to.0 as usize];
            node.handle_datagram(self.now, datagram.from, &datagram.bytes);
            worked = true;
        }
        for index in 0..self.nodes.len() {
            worked |= self.run_node(index);
        }
        worked
    }

    fn run_node(&mut self, index: usize) -> bool {
        let (now, last_tick) = (self.now, self.last_tick);
        let due = {
            let node = &self.nodes[index];
            let next = node.member.tick().next();
            next.0 <= last_tick && self.step.due(next) + node.phase <= now
        };
        let mut stepped = false;
        let has_mail = !self.nodes[index].inbox.is_empty();
        if has_mail || due {
            let watched = self.watch.is_some();
            let node = &mut self.nodes[index];
            node.note(|node| Happened::Mail(node.inbox.clone()));
            node.work(Node::read);
            stepped = due && node.member.is_ready();
            // Everything others have to say of the last iteration has been heard: only now may a user act on it.
            let spawned = if stepped { self.hear_wishes(index) } else { 0 };
            let node = &mut self.nodes[index];
            node.work(|node| {
                if stepped && !watched {
                    node.step();
                }
                node.write();
            });
            if stepped && watched {
                // The watch looks on its own time, between taking in and stepping.
                node.work(|node| node.member.begin());
                if let Some(watch) = &mut self.watch {
                    watch.taken_in(node);
                }
                node.work(|node| {
                    node.step();
                    node.write();
                });
                if let Some(watch) = &mut self.watch {
                    watch.stepped(node);
                    watch.spawned += spawned;
                }
            }
            if stepped {
                node.end_tick();
                node.note(|_| Happened::Step);
            }
        }
        let node = &mut self.nodes[index];
        let from = node.member.id();
        let network = &mut self.network;
        node.post(now, |to, bytes| network.send(now, from, to, bytes));
        if stepped {
            self.balance();
        }
        stepped || has_mail
    }

    /// Before a tick: what the scene wants by then. The number of new bodies, counted by the first member only.
    fn hear_wishes(&mut self, index: usize) -> u64 {
        let node = &mut self.nodes[index];
        let tick = node.member.tick().next().0;
        let mut spawned = 0;
        while let Some((at, wish)) = self.wishes.get(node.wishes_heard) {
            if *at > tick {
                break;
            }
            node.note(|node| Happened::Wish(node.wishes_heard));
            node.wishes_heard += 1;
            node.hear(wish);
            spawned += u64::from(index == 0 && matches!(wish, Wish::Spawn(_)));
        }
        spawned
    }

    /// The server divides the world anew when everyone has completed the same tick.
    fn balance(&mut self) {
        let Cuts::Balanced { again_ticks } = self.cuts else {
            return;
        };
        let tick = self.slowest();
        let together = self.nodes.iter().all(|node| node.member.tick().0 == tick);
        if again_ticks == 0
            || !together
            || !tick.is_multiple_of(again_ticks)
            || self.nodes.len() == 1
        {
            return;
        }
        let homes = self.nodes.iter().flat_map(|node| {
            let copies = node.member.copies().filter(|copy| copy.at_home);
            copies.map(|copy| copy.motion.position)
        });
        let places = homes.collect();
        let members = self.nodes.len() as u32;
        let spaces = setup::divide(self.world, members, self.cuts, || places);
        self.allocation += 1;
        for node in &mut self.nodes {
            let (allocation, spaces) = (self.allocation, spaces.clone());
            node.note(|_| Happened::Divided(allocation, spaces.clone()));
            node.work(|node| node.member.divide(allocation, spaces));
        }
    }

    fn finish(mut self) -> Outcome {
        let counts: Vec<MemberCounts> =
            self.nodes.iter().map(|node| node.member.counts()).collect();
        let ticks: Vec<&[f32]> = self.nodes.iter().map(|node| &*node.ticks_ms).collect();
        self.outcome.cpu_ms_per_tick = CpuPerTick::of(&ticks);
        self.outcome.ticks = self.slowest();
        self.outcome.migrations = counts.iter().map(|counts| counts.transfers).sum();
        self.outcome.bytes.between_servers = self.network.stats().bytes;
        self.outcome.tolerance_exceeded.speed = counts.iter().map(|counts| counts.too_fast).sum();
        if let Some(watch) = self.watch.take() {
            let watched = watch.finish(self.now, &counts);
            self.outcome.state_hash = format!("{:016x}", watched.state_hash);
            self.outcome.history_hash = format!("{:016x}", watched.history_hash);
            self.outcome.bodies = watched.bodies;
            self.outcome.errors = watched.errors;
            self.outcome.first_violation = watched.first;
            self.outcome.collisions = watched.collisions;
            self.outcome.boundary_bodies = watched.straddling;
            let mut report = watched.report;
            report.bytes_to_server = self.nodes.iter().map(|node| node.for_server).sum();
            self.outcome.replicate = Some(report);
        }
        self.outcome
    }
}

fn wishes(scene: &Scene, seed: u64) -> Vec<(u64, Wish)> {
    // A wish of time t is heard before the first tick that is due at t or later.
    let tick = |at: f64| {
        let mut tick = scene.step.ticks_in(at);
        while scene.step.due(Tick(tick)) < SimTime::from_secs(at) {
            tick += 1;
        }
        tick.max(1)
    };
    let spawns = scene.spawns(seed).into_iter();
    let spawns = spawns.map(|spawn| (tick(spawn.at), Wish::Spawn(Box::new(spawn.body))));
    let acts = scene.commands.iter();
    let acts = acts.map(|command| (tick(command.at), Wish::Act(command.body, command.action)));
    let mut all: Vec<_> = spawns.chain(acts).collect();
    all.sort_by_key(|(tick, _)| *tick);
    all
}
