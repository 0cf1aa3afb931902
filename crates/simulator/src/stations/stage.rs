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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stations::{Delay, LockChecker, Monitor};
    use domain::BodyId;
    use glam::DVec3;
    use station::{Ball, LinkKey, PairId, Protocol, Settings, State};

    const A: StationId = StationId(0);
    const B: StationId = StationId(1);
    const BODIES: [BodyId; 2] = [BodyId(1), BodyId(2)];

    /// Nobody steers: the bodies fly straight on.
    struct Idle;

    impl Player for Idle {
        fn play(&mut self, _now: SimTime, _next: SimTime, _station: &mut Station) {}
    }

    fn ms(millis: f64) -> SimTime {
        SimTime::from_millis(millis)
    }

    /// Two bodies head-on, one per station: they touch after a second.
    fn stage(protocol: Protocol, seed: u64, faults: Vec<StageFault>) -> Stage {
        let mut stage = Stage::new(StageOptions {
            seed,
            conditions: LinkConditions {
                delay: Delay::around(80.0, 0.3),
                loss: 0.2,
            },
            faults,
        });
        let start = |index: usize| {
            let side = if index == 0 { -1.0 } else { 1.0 };
            State::moving(
                DVec3::new(side * 260.0, 0.0, 0.0),
                DVec3::new(-side * 250.0, 0.0, 0.0),
            )
        };
        for (own, id, other) in [(0, A, B), (1, B, A)] {
            let mut station = Station::new(id, 1, Settings::published(protocol));
            station.add_peer(other, LinkKey::none());
            let ball = Ball::new(10.0);
            let added = station
                .add_master(BODIES[own], ball, start(own))
                .and_then(|()| station.add_replica(BODIES[1 - own], other, ball, start(1 - own)));
            added.expect("two bodies");
            stage.add(station, Box::new(Idle), SimTime::ZERO, ms(20.0));
        }
        stage
    }

    fn watch(mut stage: Stage) -> (Monitor, Stage) {
        let mut monitor = Monitor::following(BODIES);
        stage.run(ms(1600.0), &mut monitor, &mut |_| false);
        (monitor, stage)
    }

    /// ML-36: the same seed, the same log; another seed, another one.
    #[test]
    fn same_seed_same_bits() {
        let log = |seed| {
            let (monitor, stage) = watch(stage(Protocol::MotionLock, seed, Vec::new()));
            let hashes: Vec<u64> = stage.stations().map(Station::state_hash).collect();
            (monitor.log(), hashes)
        };
        assert_eq!(log(3), log(3));
        assert_ne!(log(3).1, log(4).1);
    }

    /// ML-39: net, physics and scene body. Before the hit a replica shows what its updates foretell; right after it the bounce computed
    /// here, while the updates still speak of the old course.
    #[test]
    fn the_scene_body_takes_net_and_after_a_hit_physics() {
        struct Look {
            before: Vec<f64>,
            after: Vec<(f64, f64)>,
        }
        impl Watcher for Look {
            fn frame(&mut self, now: SimTime, station: &Station) {
                let replica = if station.id() == A {
                    BODIES[1]
                } else {
                    BODIES[0]
                };
                let view = station.view(replica).expect("it is there");
                let from_net = view.scene.position.distance(view.net.position);
                let from_physics = view.scene.position.distance(view.physics.position);
                match now.as_millis() {
                    early if early < 880.0 => self.before.push(from_net),
                    late if (1020.0..1080.0).contains(&late) => {
                        self.after.push((from_net, from_physics));
                    }
                    _ => {}
                }
            }
        }
        let mut look = Look {
            before: Vec::new(),
            after: Vec::new(),
        };
        let mut stage = stage(Protocol::PostCollision, 1, Vec::new());
        stage.run(ms(1600.0), &mut look, &mut |_| false);
        assert!(look.before.len() > 80 && look.before.iter().all(|off| *off < 1e-9));
        assert!(!look.after.is_empty());
        for (from_net, from_physics) in look.after {
            assert!(from_net > 5.0, "{from_net}");
            assert!(from_physics < 1e-9, "{from_physics}");
        }
    }

    /// ML-60: the other station dies, or the link is cut, while a lock is held.
    #[test]
    fn faults_leave_no_lock_behind() {
        let pair = PairId::new(BODIES[0], BODIES[1]).expect("two bodies");
        let crash = StageFault::Crash {
            station: B,
            at: ms(930.0),
        };
        let cut = StageFault::Cut {
            a: A,
            b: B,
            from: ms(880.0),
            to: ms(5000.0),
        };
        for fault in [crash, cut] {
            let mut stage = stage(Protocol::MotionLock, 2, vec![fault]);
            let mut checker = LockChecker::new(ms(100.0), ms(20.0));
            stage.run(ms(1600.0), &mut checker, &mut |_| false);
            assert!(
                checker.locks > 0 && checker.overlong.is_empty(),
                "{checker:?}"
            );
            let survivor = stage.stations().next().expect("A");
            assert_eq!(survivor.locks().count(), 0);
            let counted = survivor.counters(pair).expect("a pair");
            assert_eq!((counted.c, counted.cp), (1, 1), "{fault:?}");
        }
    }
}
