//! Stations, their players and the links between them, moment after moment.

use super::link::{Connection, Exit, LinkConditions};
use super::main_loop::{LoopState, MainLoop};
use domain::SimTime;
use station::{Event, Station, StationId, Transmit};
use std::collections::{BTreeMap, VecDeque};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Who wants something of a station's masters.
pub trait Player {
    /// After the frame at `now`: what is wanted for the frame at `next`.
    fn play(&mut self, now: SimTime, next: SimTime, station: &mut Station);
    /// The station reports something.
    fn hear(&mut self, _event: &Event) {}
}

/// Who looks on.
pub trait Watcher {
    /// A station's frame is over.
    fn frame(&mut self, _now: SimTime, _station: &Station) {}
    /// A station reports something.
    fn event(&mut self, _now: SimTime, _station: StationId, _event: &Event) {}
    /// A station gives a packet to the network.
    fn sent(&mut self, _now: SimTime, _from: StationId, _to: StationId, _bytes: usize) {}
    /// A packet has come to the end of a link.
    fn exit(&mut self, _from: StationId, _to: StationId, _exit: &Exit) {}
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StageFault {
    /// From this moment on a station does nothing any more.
    Crash {
        /// Which.
        station: StationId,
        /// When.
        at: SimTime,
    },
    /// Nothing comes through between two stations for a while, either way.
    Cut {
        /// One end.
        a: StationId,
        /// The other.
        b: StationId,
        /// From this moment ...
        from: SimTime,
        /// ... to this one.
        to: SimTime,
    },
}

/// How links behave and what goes wrong.
#[derive(Clone, Debug)]
pub struct StageOptions {
    /// Of all dice.
    pub seed: u64,
    /// Of every link, each direction with dice of its own.
    pub conditions: LinkConditions,
    /// What goes wrong.
    pub faults: Vec<StageFault>,
}

struct Place {
    station: Station,
    player: Box<dyn Player>,
    cycle: MainLoop,
    outgoing: VecDeque<Transmit>,
    crashed: bool,
}

/// Stations, players and links.
pub struct Stage {
    options: StageOptions,
    now: SimTime,
    places: Vec<Place>,
    links: BTreeMap<(StationId, StationId), Connection>,
}

/// What can happen next; of several at one moment the first in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Exit(StationId, StationId),
    Cycle(usize),
}

impl Stage {
    /// An empty stage.
    pub fn new(options: StageOptions) -> Self {
        Self {
            options,
            now: SimTime::ZERO,
            places: Vec::new(),
            links: BTreeMap::new(),
        }
    }

    /// Puts a station on it, with its player, its frame length and the moment of its first frame.
    pub fn add(
        &mut self,
        station: Station,
        player: Box<dyn Player>,
        first: SimTime,
        frame: SimTime,
    ) {
        self.places.push(Place {
            station,
            player,
            cycle: MainLoop::new(first, frame),
            outgoing: VecDeque::new(),
            crashed: false,
        });
    }

    /// The moment up to which everything has happened.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// The stations, in the order in which they came.
    pub fn stations(&self) -> impl Iterator<Item = &Station> {
        self.places.iter().map(|place| &place.station)
    }

    /// Lets everything happen up to and including `end`, or until `done` says so after a frame.
    pub fn run(
        &mut self,
        end: SimTime,
        watcher: &mut dyn Watcher,
        done: &mut dyn FnMut(SimTime) -> bool,
    ) {
        while let Some((at, happening)) = self.next() {
            if at > end {
                break;
            }
            self.now = at;
            self.apply_faults();
            match happening {
                Happening::Exit(from, to) => self.exit(from, to, watcher),
                Happening::Cycle(index) => {
                    self.cycle(index, watcher);
                    if done(at) {
                        return;
                    }
                }
            }
        }
        self.now = self.now.max(end);
    }

    fn next(&self) -> Option<(SimTime, Happening)> {
        let exits = self.links.iter().filter_map(|(&(from, to), link)| {
            link.next_exit().map(|at| (at, Happening::Exit(from, to)))
        });
        let alive = self.places.iter().enumerate();
        let cycles = alive
            .filter(|(_, place)| !place.crashed)
            .map(|(index, place)| (place.cycle.next(), Happening::Cycle(index)));
        exits.chain(cycles).min()
    }

    fn apply_faults(&mut self) {
        for fault in self.options.faults.clone() {
            match fault {
                StageFault::Crash { station, at } if self.now >= at => {
                    let dead = self.places.iter_mut();
                    for place in dead.filter(|place| place.station.id() == station) {
                        place.crashed = true;
                    }
                }
                StageFault::Crash { .. } => {}
                StageFault::Cut { a, b, from, to } => {
                    let cut = self.now >= from && self.now < to;
                    for way in [(a, b), (b, a)] {
                        if let Some(link) = self.links.get_mut(&way) {
                            link.set_cut(cut);
                        }
                    }
                }
            }
        }
    }

    fn exit(&mut self, from: StationId, to: StationId, watcher: &mut dyn Watcher) {
        let link = self.links.get_mut(&(from, to));
        let Some(exit) = link.and_then(|link| link.exit(self.now)) else {
            return;
        };
        watcher.exit(from, to, &exit);
        let receiver = self.places.iter_mut().find(|one| one.station.id() == to);
        if let Some(place) = receiver.filter(|_| !exit.lost) {
            place.cycle.receive(from, exit.bytes);
        }
    }

    /// One whole cycle of a station: everything in it happens at the same moment.
    fn cycle(&mut self, index: usize, watcher: &mut dyn Watcher) {
        let now = self.now;
        let place = &mut self.places[index];
        if place.crashed {
            return;
        }
        let id = place.station.id();
        loop {
            match place.cycle.advance(!place.outgoing.is_empty()) {
                LoopState::Update => place.update(now, watcher),
                LoopState::SendOne => {
                    let packet = place.outgoing.pop_front();
                    let packet = packet.expect("the cycle was told that there is one");
                    watcher.sent(now, id, packet.to, packet.bytes.len());
                    let (seed, conditions) = (self.options.seed, self.options.conditions);
                    let link = self.links.entry((id, packet.to)).or_insert_with(|| {
                        Connection::new(way_seed(seed, id, packet.to), conditions)
                    });
                    // Bundled messages share a fate and so a class of their own.
                    let class = packet.class.map_or(u8::MAX, |class| class as u8);
                    link.enter(now, class, packet.bytes);
                }
                LoopState::Sleep => return,
                LoopState::Start | LoopState::Sending => {}
            }
        }
    }
}

impl Place {
    fn update(&mut self, now: SimTime, watcher: &mut dyn Watcher) {
        for (from, bytes) in self.cycle.take_buffer() {
            // What a station refuses it counts itself.
            let _ = self.station.handle_datagram(now, from, &bytes);
        }
        self.station.handle_frame(now);
        while let Some(event) = self.station.poll_event() {
            self.player.hear(&event);
            watcher.event(now, self.station.id(), &event);
        }
        watcher.frame(now, &self.station);
        let next = self.cycle.next_frame();
        self.player.play(now, next, &mut self.station);
        while let Some(packet) = self.station.poll_transmit() {
            self.outgoing.push_back(packet);
        }
    }
}

/// The dice of one way.
fn way_seed(seed: u64, from: StationId, to: StationId) -> u64 {
    let name = [from.0.to_le_bytes(), to.0.to_le_bytes()].concat();
    xxh3_64_with_seed(&name, seed)
}
