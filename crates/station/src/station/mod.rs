//! One station, as a value. The phases of a frame are listed in [`Station::handle_frame`]; each has a file.

mod bodies;
mod foresee;
mod guard;
mod hindsight;
mod literal;
mod locks;
mod members;
mod motion;
mod peers;
mod play;
mod receive;
mod tell;
mod votes;

use crate::agreement::Pair;
use crate::body::{Arena, Ball, Command, Obedience, Refused, Role, State};
use crate::events::{CommandCounts, Counters, Event, LockView, Traffic, View};
use crate::ids::{PairId, StationId};
use crate::messages::{Class, Message};
use crate::settings::{ClockSource, Predictor, Protocol, Settings};
use bodies::{Body, Kind};
use domain::{BodyId, SimTime};
use literal::{LiteralBucket, LiteralPair};
use locks::Lock;
use peers::Peer;
use reckoning::replication::ClockSync;
use std::collections::{BTreeMap, VecDeque};

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmit {
    /// To whom.
    pub to: StationId,
    /// These bytes.
    pub bytes: Vec<u8>,
    /// The class of its only message; `None` if it holds several (bundled).
    pub class: Option<Class>,
}

/// One station: its masters, its replicas of others' masters, and what it agrees on with their owners.
///
/// *Feeds it*: [`Self::handle_datagram`] (any time), [`Self::command`] (any time), [`Self::handle_frame`] (once per frame; this is when
/// everything happens). *Drains it*: [`Self::poll_transmit`] and [`Self::poll_event`], after each frame until both are empty.
/// *Shows it*: [`Self::view`], [`Self::counters`], [`Self::locks`], [`Self::traffic`], [`Self::commands`].
#[derive(Clone, Debug)]
pub struct Station {
    id: StationId,
    incarnation: u32,
    settings: Settings,
    arena: Option<Arena>,
    bodies: BTreeMap<BodyId, Body>,
    pairs: BTreeMap<PairId, Pair>,
    literal: BTreeMap<PairId, LiteralPair>,
    literal_buckets: BTreeMap<BodyId, LiteralBucket>,
    locks: BTreeMap<PairId, Lock>,
    peers: BTreeMap<StationId, Peer>,
    clock: Option<ClockSync>,
    /// Local and shared time of the last frame.
    local: Option<SimTime>,
    shared: Option<SimTime>,
    /// Seconds between the last two frames.
    frame_secs: f64,
    /// Pairs that could touch soon, as of this frame; all others need no look.
    near: Vec<PairId>,
    /// Commits so far: the order of detection.
    commits: u64,
    /// Arrived, and waiting for the frame.
    inbox: VecDeque<(StationId, Message)>,
    outbox: BTreeMap<StationId, Vec<Message>>,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    traffic: Traffic,
    commands: CommandCounts,
}

impl Station {
    /// A station without bodies or peers. `incarnation` must be higher than at this station's earlier lives (a start time will do).
    pub fn new(id: StationId, incarnation: u32, settings: Settings) -> Self {
        let clock = match settings.clock {
            ClockSource::Given => None,
            ClockSource::AskedFrom(_) => Some(ClockSync::default()),
        };
        Self {
            id,
            incarnation,
            settings,
            arena: None,
            bodies: BTreeMap::new(),
            pairs: BTreeMap::new(),
            literal: BTreeMap::new(),
            literal_buckets: BTreeMap::new(),
            locks: BTreeMap::new(),
            peers: BTreeMap::new(),
            clock,
            local: None,
            shared: None,
            frame_secs: 0.0,
            near: Vec::new(),
            commits: 0,
            inbox: VecDeque::new(),
            outbox: BTreeMap::new(),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            traffic: Traffic::default(),
            commands: CommandCounts::default(),
        }
    }

    /// The walls (none at first).
    pub fn set_arena(&mut self, arena: Option<Arena>) {
        self.arena = arena;
    }

    /// Another predictor from now on (ML-5); replicas go on from the samples they have.
    pub fn set_predictor(&mut self, predictor: Predictor) {
        self.settings.reckoning.predictor = predictor;
    }

    /// A player, or the game in its place, wants something of a master. At most one command per frame is carried out, the last.
    pub fn command(&mut self, body: BodyId, command: Command) -> Result<Obedience, Refused> {
        let (input, now) = (self.settings.lock.input, self.shared.unwrap_or_default());
        let known = self.bodies.get_mut(&body).ok_or(Refused::Unknown)?;
        let locked = known.is_locked();
        let Kind::Master(master) = &mut known.kind else {
            return Err(Refused::NotAMaster);
        };
        if !command.is_finite() {
            return Err(Refused::BadNumber);
        }
        self.commands.given += 1;
        if !locked {
            master.command = Some(command);
            return Ok(Obedience::Accepted);
        }
        let buffered = master.hold_back(command, input);
        self.events.push_back(Event::CommandHeld {
            body,
            at: now,
            buffered,
        });
        if buffered {
            self.commands.buffered += 1;
            return Ok(Obedience::Buffered);
        }
        self.commands.discarded += 1;
        Ok(Obedience::Discarded)
    }

    /// Time has come this far: one frame. While the shared time is not known yet, nothing but asking for it happens.
    pub fn handle_frame(&mut self, now: SimTime) {
        let Some(shared) = self.tell_time(now) else {
            self.ask_for_time(now);
            self.flush(now);
            return;
        };
        self.take_messages(shared);
        self.move_masters(shared);
        self.bounce_locally(shared);
        self.film(shared);
        self.move_replicas(shared);
        self.watch_gaps(shared);
        self.find_near();
        match self.settings.protocol {
            Protocol::LiteralMotionLock => self.literal_motion_lock(shared),
            Protocol::LiteralBuckets => self.literal_buckets(shared),
            _ => {
                self.foresee(shared);
                self.play_due(shared);
                self.end_overdue_locks(shared);
            }
        }
        self.beat(shared);
        self.send_updates(shared);
        self.report_deviations(shared);
        self.watch_peers(shared);
        self.ask_for_time(now);
        self.flush(shared);
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When the next frame is due, on the driver's clock.
    pub fn next_wakeup(&self) -> SimTime {
        self.local
            .map_or(SimTime::ZERO, |local| local + self.settings.frame)
    }

    /// Who this is.
    pub fn id(&self) -> StationId {
        self.id
    }

    /// What was chosen.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All bodies, in the order of their ids.
    pub fn bodies(&self) -> impl Iterator<Item = (BodyId, Role)> + '_ {
        self.bodies.iter().map(|(id, body)| (*id, body.role()))
    }

    /// A body's shape and weight.
    pub fn ball(&self, body: BodyId) -> Option<Ball> {
        self.bodies.get(&body).map(|body| body.ball)
    }

    /// A body's three bodies: net, physics, scene (ML-39), as of the last frame.
    pub fn view(&self, body: BodyId) -> Option<View> {
        let now = self.shared.unwrap_or_default();
        let body = self.bodies.get(&body)?;
        let physics = body.state();
        let settings = &self.settings.reckoning;
        let (net, uncertainty) = match &body.kind {
            Kind::Master(master) => (
                master.sender.believed(now, settings).unwrap_or(physics),
                0.0,
            ),
            Kind::Replica(replica) => (replica.net(now), replica.uncertainty(now, 0.0, settings)),
            Kind::Global(state) => (*state, 0.0),
        };
        Some(View {
            net,
            physics,
            scene: physics,
            locked: body.is_locked(),
            uncertainty,
        })
    }

    /// A pair's counters; `None` if this station keeps none for it.
    pub fn counters(&self, pair: PairId) -> Option<Counters> {
        let literal = self.literal.get(&pair).map(LiteralPair::counters);
        literal.or_else(|| self.pairs.get(&pair).map(|pair| pair.ledger.counters()))
    }

    /// All pairs with counters, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (PairId, Counters)> + '_ {
        self.pairs
            .keys()
            .filter_map(|pair| Some((*pair, self.counters(*pair)?)))
    }

    /// The locks held now, by pair.
    pub fn locks(&self) -> impl Iterator<Item = LockView> + '_ {
        self.locks.iter().map(|(pair, lock)| LockView {
            pair: *pair,
            since: lock.since,
            until: lock.until,
        })
    }

    /// Whether a body's motion is fixed now.
    pub fn is_locked(&self, body: BodyId) -> bool {
        self.bodies.get(&body).is_some_and(Body::is_locked)
    }

    /// Bytes and messages.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Commands.
    pub fn commands(&self) -> CommandCounts {
        self.commands
    }

    /// The shared time at the last frame; `None` while the clock is not known yet.
    pub fn shared_now(&self) -> Option<SimTime> {
        self.shared
    }

    /// How wrong the shared time may be at worst (ML-43); zero if it is given, `None` while nothing is known.
    pub fn clock_error(&self) -> Option<SimTime> {
        match &self.clock {
            None => Some(SimTime::ZERO),
            Some(clock) => clock.clock().error_bound(self.local?),
        }
    }

    /// The measured one-way delay from a peer, and its mean deviation; `None` before its first datagram.
    pub fn delay_from(&self, peer: StationId) -> Option<(SimTime, SimTime)> {
        self.peers.get(&peer)?.delay()
    }

    /// A digest of where everything is and what was counted: the same run has the same digests, frame by frame.
    pub fn state_hash(&self) -> u64 {
        let mut hasher = blake3::Hasher::new();
        for (id, body) in &self.bodies {
            hasher.update(&id.0.to_le_bytes());
            let State {
                position,
                velocity,
                acceleration,
            } = body.state();
            for value in [position, velocity, acceleration]
                .map(|v| v.to_array())
                .as_flattened()
            {
                hasher.update(&value.to_bits().to_le_bytes());
            }
            hasher.update(&[body.is_locked().into()]);
        }
        for (pair, counters) in self.pairs() {
            for number in [
                pair.low().0,
                pair.high().0,
                counters.c.into(),
                counters.cp.into(),
            ] {
                hasher.update(&number.to_le_bytes());
            }
        }
        let hash = hasher.finalize();
        u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("32 is more than 8"))
    }
}
