//! Stations in one thread, a network that misbehaves by seed, and bodies that follow paths: what all tests here share.

use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
pub use scenes::encounters::{Field, Path, Scenario};
use station::{
    Ball, Command, Event, Hit, LinkKey, PairId, Settings, State, Station, StationId, Transmit,
};
use std::collections::BTreeMap;

pub const FRAME: SimTime = SimTime(20_000_000);

pub const fn ms(millis: u64) -> SimTime {
    SimTime(millis * 1_000_000)
}

pub fn pair(one: u64, other: u64) -> PairId {
    PairId::new(BodyId(one), BodyId(other)).expect("two bodies")
}

/// One direction of a link, or all of them.
#[derive(Clone, Copy, Debug)]
pub struct Net {
    pub latency: SimTime,
    /// Share of the latency by which a packet may be early or late.
    pub jitter: f64,
    pub loss: f64,
    pub duplicate: f64,
}

impl Net {
    pub const PERFECT: Self = Self::of(0, 0.0);
    pub const GOOD: Self = Self::of(50, 0.1);
    pub const MODERATE: Self = Self::of(100, 0.2);
    pub const CONGESTED: Self = Self::of(150, 0.4);

    pub const fn of(latency_ms: u64, loss: f64) -> Self {
        Self {
            latency: SimTime(latency_ms * 1_000_000),
            jitter: 0.1,
            loss,
            duplicate: 0.0,
        }
    }
}

/// A body that is driven along a path until it is hit. The path lies in a plane, which may be turned in space.
#[derive(Clone, Copy, Debug)]
pub struct Rail {
    pub path: Path,
    pub turn: DQuat,
}

impl Rail {
    pub const fn flat(path: Path) -> Self {
        Self {
            path,
            turn: DQuat::IDENTITY,
        }
    }

    pub fn at(&self, secs_to_meeting: f64) -> State {
        let motion = self.path.at(-secs_to_meeting);
        State {
            position: self.turn * motion.position,
            velocity: self.turn * motion.velocity,
            acceleration: self.turn * motion.acceleration,
        }
    }
}

/// Several stations and everything between them.
pub struct World {
    pub stations: BTreeMap<StationId, Station>,
    pub net: Net,
    /// Overrides by direction.
    pub links: BTreeMap<(StationId, StationId), Net>,
    pub now: SimTime,
    pub rails: BTreeMap<BodyId, (StationId, Rail)>,
    pub meeting: SimTime,
    pub events: Vec<(StationId, Event)>,
    pub sent: Vec<(SimTime, StationId, Transmit)>,
    air: BTreeMap<(SimTime, u64), (StationId, StationId, Vec<u8>)>,
    seq: u64,
    rng: Pcg64,
    hit: BTreeMap<BodyId, bool>,
    /// Stations that no longer run.
    pub dead: Vec<StationId>,
    keep_sent: bool,
    /// Stations with clocks of their own.
    pub clocks: BTreeMap<StationId, reckoning::motion::InjectedClock>,
}

impl World {
    pub fn new(settings: &[Settings], net: Net, seed: u64) -> Self {
        let ids: Vec<StationId> = (0..settings.len() as u32).map(StationId).collect();
        let mut stations = BTreeMap::new();
        for (id, settings) in ids.iter().zip(settings) {
            let mut station = Station::new(*id, 1, *settings);
            for peer in ids.iter().filter(|peer| *peer != id) {
                station.add_peer(*peer, LinkKey::for_link(b"secret", *id, *peer));
            }
            stations.insert(*id, station);
        }
        Self {
            stations,
            net,
            links: BTreeMap::new(),
            now: SimTime::ZERO,
            rails: BTreeMap::new(),
            meeting: ms(1_500),
            events: Vec::new(),
            sent: Vec::new(),
            air: BTreeMap::new(),
            seq: 0,
            rng: Pcg64::seed_from_u64(seed),
            hit: BTreeMap::new(),
            dead: Vec::new(),
            keep_sent: false,
            clocks: BTreeMap::new(),
        }
    }

    pub fn keeping_sent(mut self) -> Self {
        self.keep_sent = true;
        self
    }

    pub fn station(&mut self, id: u32) -> &mut Station {
        self.stations.get_mut(&StationId(id)).expect("a station")
    }

    /// A body of one station, shown by all others.
    pub fn body(&mut self, owner: u32, id: u64, ball: Ball, state: State) {
        for (station, core) in &mut self.stations {
            let added = match station.0 == owner {
                true => core.add_master(BodyId(id), ball, state),
                false => core.add_replica(BodyId(id), StationId(owner), ball, state),
            };
            added.expect("a new body");
        }
    }

    /// A body on a rail.
    pub fn railed(&mut self, owner: u32, id: u64, rail: Rail) {
        self.body(owner, id, Ball::new(10.0), rail.at(self.meeting.as_secs()));
        self.rails.insert(BodyId(id), (StationId(owner), rail));
    }

    /// One frame of all stations; packets arrive in between.
    pub fn frame(&mut self) {
        while let Some(entry) = self.air.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let ((at, _), (from, to, bytes)) = entry.remove_entry();
            if self.dead.contains(&to) {
                continue;
            }
            let local = self.local(to, at);
            let station = self.stations.get_mut(&to).expect("a station");
            let _ = station.handle_datagram(local, from, &bytes);
            self.drain(to, at);
        }
        let secs = self.meeting.as_secs() - self.now.as_secs();
        let rails: Vec<(BodyId, StationId, Rail)> = self
            .rails
            .iter()
            .filter(|(id, _)| !self.hit.contains_key(id))
            .map(|(id, (owner, rail))| (*id, *owner, *rail))
            .collect();
        for (id, owner, rail) in rails {
            let station = self.stations.get_mut(&owner).expect("a station");
            station
                .command(id, Command::Follow(rail.at(secs)))
                .expect("a master");
        }
        let ids: Vec<StationId> = self.stations.keys().copied().collect();
        for id in ids {
            if !self.dead.contains(&id) {
                self.frame_of(id);
            }
        }
        self.now += FRAME;
    }

    fn frame_of(&mut self, id: StationId) {
        let local = self.local(id, self.now);
        let station = self.stations.get_mut(&id).expect("a station");
        station.handle_frame(local);
        self.drain(id, self.now);
    }

    /// What this station's own clock shows.
    fn local(&self, id: StationId, now: SimTime) -> SimTime {
        self.clocks.get(&id).map_or(now, |clock| clock.read(now))
    }

    fn drain(&mut self, id: StationId, now: SimTime) {
        let station = self.stations.get_mut(&id).expect("a station");
        let mut out = Vec::new();
        while let Some(transmit) = station.poll_transmit() {
            out.push(transmit);
        }
        while let Some(event) = station.poll_event() {
            if let Event::Hit(hit) = event {
                for body in hit.pair.bodies() {
                    if self.rails.get(&body).is_some_and(|(owner, _)| *owner == id) {
                        self.hit.insert(body, true);
                    }
                }
            }
            self.events.push((id, event));
        }
        for transmit in out {
            if self.keep_sent {
                self.sent.push((now, id, transmit.clone()));
            }
            self.send(now, id, transmit);
        }
    }

    fn send(&mut self, now: SimTime, from: StationId, Transmit { to, bytes, .. }: Transmit) {
        let net = self.links.get(&(from, to)).copied().unwrap_or(self.net);
        let copies = 1 + u32::from(self.rng.random::<f64>() < net.duplicate);
        for _ in 0..copies {
            let lost = self.rng.random::<f64>() < net.loss;
            let spread = 1.0 + net.jitter * (2.0 * self.rng.random::<f64>() - 1.0);
            if lost {
                continue;
            }
            let delay = SimTime::from_secs(net.latency.as_secs() * spread);
            self.seq += 1;
            self.air
                .insert((now + delay, self.seq), (from, to, bytes.clone()));
        }
    }

    pub fn run_until(&mut self, time: SimTime) {
        while self.now <= time {
            self.frame();
        }
    }

    pub fn hits(&self, station: u32) -> Vec<Hit> {
        self.events
            .iter()
            .filter(|(id, _)| id.0 == station)
            .filter_map(|(_, event)| match event {
                Event::Hit(hit) => Some(*hit),
                _ => None,
            })
            .collect()
    }

    pub fn count(&self, station: u32, pair: PairId) -> u32 {
        self.stations[&StationId(station)]
            .counters(pair)
            .map_or(0, |counters| counters.c)
    }

    pub fn position(&self, station: u32, body: u64) -> DVec3 {
        let station = &self.stations[&StationId(station)];
        station.view(BodyId(body)).expect("a body").physics.position
    }
}

/// Scenarios of the thesis and ours, played by two stations.
pub trait Played {
    fn rails(self) -> [Rail; 2];
    fn world(self, settings: Settings, net: Net, seed: u64) -> World;
}

impl Played for Scenario {
    fn rails(self) -> [Rail; 2] {
        self.paths(&Field::default()).map(Rail::flat)
    }

    fn world(self, settings: Settings, net: Net, seed: u64) -> World {
        let mut world = World::new(&[settings, settings], net, seed);
        let [one, two] = self.rails();
        world.railed(0, 1, one);
        world.railed(1, 2, two);
        world
    }
}

/// What one run of a scenario gives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub counts: [u32; 2],
    pub delta_ms: Option<f64>,
    /// Sum over 25 samples after the first hit, of both replicas.
    pub deviation: f64,
}

/// Runs as the thesis does: until 500 ms after a hit (of whichever station is first), or 3 s.
pub fn run(scenario: Scenario, settings: Settings, net: Net, seed: u64) -> Outcome {
    let mut world = scenario.world(settings, net, seed);
    let mut outcome = Outcome::default();
    let mut ends: Option<SimTime> = None;
    while world.now <= ends.unwrap_or(ms(3_000)) {
        world.frame();
        let any = world
            .events
            .iter()
            .any(|(_, event)| matches!(event, Event::Hit(_)));
        if any {
            let _ = ends.get_or_insert(world.now + ms(480));
            for body in [1, 2] {
                outcome.deviation += world.position(0, body).distance(world.position(1, body));
            }
        }
    }
    outcome.counts = [0, 1].map(|station| world.count(station, pair(1, 2)));
    let first = [0, 1].map(|station| world.hits(station).first().map(|hit| hit.at));
    if let [Some(a), Some(b)] = first {
        outcome.delta_ms = Some((a.as_millis() - b.as_millis()).abs());
    }
    outcome
}
