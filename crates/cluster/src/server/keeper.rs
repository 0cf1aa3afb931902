//! The server's own end: it keeps other regions' snapshots, and its heart beats.

use super::pieces::Pieces;
use super::standby::{KeptSnapshot, Standby};
use crate::carrier::{Carrier, Datagram, Switchboard};
use crate::clock::ClusterClock;
use crate::messages::{self, FromRegion, Heartbeat, Pulse, RegionPulse, ToRegion};
use crate::names::{Generation, NodeId, Place, Term};
use crate::post_office::{Mail, PostOffice};
use crate::schema::{ClusterView, Seat};
use domain::SimTime;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How often the heart beats.
const BEAT: SimTime = SimTime(50_000_000);

/// What the keeper's thread is told.
pub enum KeeperInput {
    /// Something for the server has arrived.
    Datagram(Datagram),
    /// The control plane has changed.
    View(Arc<ClusterView>),
    /// The control plane had forgotten this process for a while.
    Lapsed,
    /// The server ends.
    Stop,
}

/// What a heartbeat tells of the server's regions.
pub type Pulses = Arc<dyn Fn() -> (Generation, Vec<RegionPulse>) + Send + Sync>;

/// Starts the keeper's thread; returns what it listens to.
pub fn start(
    node: NodeId,
    clock: Arc<ClusterClock>,
    carrier: Arc<dyn Carrier>,
    switchboard: &Switchboard,
    standby: Arc<Standby>,
    pulses: Pulses,
) -> std::io::Result<Sender<KeeperInput>> {
    let (inputs, receiver) = mpsc::channel();
    let mailbox = inputs.clone();
    let deliver = move |datagram| drop(mailbox.send(KeeperInput::Datagram(datagram)));
    switchboard.connect(node.endpoint(), Arc::new(deliver));
    let answered = Arc::clone(&clock);
    let hear_pulse = move |datagram: Datagram| match messages::decode::<Pulse>(&datagram.bytes) {
        Ok(pulse) => answered.handle_pulse(&pulse),
        Err(error) => tracing::warn!(%error, "a pulse was refused"),
    };
    switchboard.connect(node.pulse_endpoint(), Arc::new(hear_pulse));
    let post = PostOffice::new(node.endpoint(), 0, Arc::clone(&carrier));
    let mut keeper = Keeper {
        node,
        clock,
        carrier,
        standby,
        pulses,
        post,
        leader: None,
        generation: Generation::default(),
        wanted: BTreeSet::new(),
        pieces: Pieces::default(),
        mail: Vec::new(),
    };
    std::thread::Builder::new()
        .name("keeper".to_owned())
        .spawn(move || keeper.run(&receiver))?;
    Ok(inputs)
}

struct Keeper {
    node: NodeId,
    clock: Arc<ClusterClock>,
    carrier: Arc<dyn Carrier>,
    standby: Arc<Standby>,
    pulses: Pulses,
    post: PostOffice,
    leader: Option<NodeId>,
    generation: Generation,
    /// The seats that are ours, as owner or standby.
    wanted: BTreeSet<Place>,
    pieces: Pieces,
    mail: Vec<Mail>,
}

impl Keeper {
    fn run(&mut self, inputs: &Receiver<KeeperInput>) {
        let mut next_beat = SimTime::ZERO;
        loop {
            let now = self.clock.local();
            let wakeup = self
                .post
                .next_wakeup()
                .map_or(next_beat, |at| at.min(next_beat));
            let first = match inputs.recv_timeout(Duration::from_nanos(wakeup.since(now).0)) {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let now = self.clock.local();
            for input in first.into_iter().chain(inputs.try_iter()) {
                match input {
                    KeeperInput::Datagram(datagram) => {
                        self.post.handle_datagram(now, &datagram, &mut self.mail)
                    }
                    KeeperInput::View(view) => self.handle_view(&view),
                    KeeperInput::Lapsed => self.begin_anew(),
                    KeeperInput::Stop => return,
                }
            }
            self.read_mail(now);
            if now >= next_beat {
                next_beat = now + BEAT;
                self.standby.retain(|place| self.wanted.contains(&place));
                self.pieces.retain(|place| self.wanted.contains(&place));
                self.beat(now);
            }
            self.post.flush(now);
        }
    }

    fn handle_view(&mut self, view: &ClusterView) {
        self.leader = view.leader.as_ref().map(|leader| leader.node);
        let generation = view.assignment.generation;
        for (region, seat) in view.assignment.regions() {
            let place = Place { generation, region };
            self.post.expect(place.endpoint(), seat.term.0);
        }
        self.generation = generation;
        // Of worlds that are over nobody says anything any more, nor do the dead.
        self.post.retain(|end| match Place::of_endpoint(end) {
            Some(place) => place.generation >= generation,
            None => NodeId::of_endpoint(end).is_some_and(|node| view.nodes.contains_key(&node)),
        });
        let node = self.node;
        // Ours too, as long as the region's thread has not begun with it.
        let ours = |seat: &Seat| seat.standby == Some(node) || seat.owner == Some(node);
        let seats = view.assignment.regions().filter(|(_, seat)| ours(seat));
        self.wanted = seats
            .map(|(region, _)| Place { generation, region })
            .collect();
    }

    /// Regions that took us for dead have forgotten how far they were with us: if one gives us its snapshots again, it begins with the first piece.
    fn begin_anew(&mut self) {
        for peer in self.post.peers().collect::<Vec<_>>() {
            self.post.renew(peer);
        }
    }

    fn read_mail(&mut self, now: SimTime) {
        for mail in std::mem::take(&mut self.mail) {
            let Mail::Payload { from, bytes } = mail else {
                continue;
            };
            let Some(place) = Place::of_endpoint(from) else {
                continue;
            };
            let term = Term(self.post.incarnation_of(from).unwrap_or(0));
            match messages::decode(&bytes) {
                Ok(FromRegion::SnapshotPiece { tick, bytes }) => {
                    if !self.pieces.add(place, term, tick, &bytes) {
                        tracing::warn!(%place, "a snapshot is too large");
                    }
                }
                Ok(FromRegion::Snapshot {
                    tick,
                    last,
                    spawned_before,
                    subscribers,
                    bytes_before,
                    bytes,
                }) => {
                    let complete = self.pieces.complete(place, term, tick, bytes_before, bytes);
                    let Some(bytes) = complete else {
                        tracing::warn!(%place, "a snapshot with holes; the next one will do");
                        continue;
                    };
                    let snapshot = KeptSnapshot {
                        term,
                        tick,
                        last,
                        spawned_before,
                        subscribers,
                        bytes,
                    };
                    if self.standby.keep(place, snapshot) {
                        let answer = messages::encode(&ToRegion::Kept { tick });
                        if let Err(error) = self.post.send(now, from, answer) {
                            tracing::warn!(%place, %error, "cannot acknowledge a snapshot");
                        }
                    }
                }
                Ok(_) => tracing::warn!(%place, "a message for someone else"),
                Err(error) => tracing::warn!(%place, %error, "a message was refused"),
            }
        }
    }

    fn beat(&self, now: SimTime) {
        let Some(leader) = self.leader else {
            return;
        };
        let (generation, regions) = (self.pulses)();
        // A server without regions of its own keeps snapshots of the world that there is.
        let generation = generation.max(self.generation);
        let kept = self.standby.kept().into_iter();
        let keeps = kept
            .filter(|(place, ..)| place.generation == generation)
            .map(|(place, term, tick)| (place.region, term, tick))
            .collect();
        let heartbeat = Heartbeat {
            node: self.node,
            sent: now,
            answered: self.clock.answered(),
            generation,
            regions,
            keeps,
            clock_bound: self.clock.bound(),
        };
        let bytes = messages::encode(&heartbeat);
        self.carrier
            .send(self.node.pulse_endpoint(), leader.pulse_endpoint(), &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::Traffic;
    use crate::schema::{Assignment, NodeInfo, Role};
    use channel::EndpointId;
    use domain::{RegionId, Tick};
    use rustc_hash::FxHashMap;
    use std::net::SocketAddr;
    use std::sync::Mutex;

    const ME: NodeId = NodeId(1);

    /// Keeps what is sent until someone takes it.
    #[derive(Default)]
    struct Tray(Mutex<Vec<Datagram>>);

    impl Tray {
        fn take(&self) -> Vec<Datagram> {
            std::mem::take(&mut *self.0.lock().expect("no test panics with it"))
        }
    }

    impl Carrier for Tray {
        fn send(&self, from: EndpointId, _: EndpointId, bytes: &[u8]) {
            let bytes = bytes.to_vec();
            self.0.lock().expect("sound").push(Datagram { from, bytes });
        }

        fn set_routes(&self, _: FxHashMap<EndpointId, SocketAddr>) {}

        fn traffic(&self) -> Traffic {
            Traffic::default()
        }
    }

    fn keeper() -> (Keeper, Arc<Tray>) {
        let tray = Arc::new(Tray::default());
        let carrier: Arc<dyn Carrier> = Arc::clone(&tray) as _;
        let keeper = Keeper {
            node: ME,
            clock: Arc::new(ClusterClock::new()),
            post: PostOffice::new(ME.endpoint(), 0, Arc::clone(&carrier)),
            carrier,
            standby: Arc::new(Standby::default()),
            pulses: Arc::new(|| (Generation(1), Vec::new())),
            leader: None,
            generation: Generation(1),
            wanted: BTreeSet::new(),
            pieces: Pieces::default(),
            mail: Vec::new(),
        };
        (keeper, tray)
    }

    /// A world of 16 regions whose snapshots we keep.
    fn view(generation: u32, nodes: &[NodeId]) -> ClusterView {
        let seat = Seat {
            owner: Some(NodeId(2)),
            term: Term(1),
            standby: Some(ME),
            ..Seat::default()
        };
        let info = |node: NodeId| NodeInfo {
            node,
            role: Role::Server,
            name: node.to_string(),
            address: "127.0.0.1:1".parse().expect("an address"),
            url: None,
            leaving: false,
        };
        ClusterView {
            assignment: Assignment {
                generation: Generation(generation),
                seats: vec![seat; 16],
            },
            nodes: nodes.iter().map(|node| (*node, info(*node))).collect(),
            ..ClusterView::default()
        }
    }

    /// A reset, another scene, other regions: what was said to the regions of old worlds, and to processes that have gone, is forgotten.
    #[test]
    fn worlds_that_are_over_and_the_dead_are_forgotten() {
        let (mut keeper, _) = keeper();
        for generation in 1..100 {
            let stranger = NodeId(1000 + u64::from(generation));
            keeper.handle_view(&view(generation, &[ME, NodeId(2), stranger]));
            for region in 0..16 {
                let place = Place {
                    generation: Generation(generation),
                    region: RegionId(region),
                };
                keeper.post.greet(place.endpoint());
            }
            keeper.post.greet(stranger.endpoint());
        }
        assert_eq!(keeper.post.remembered(), 16 + 1);
        keeper.handle_view(&view(100, &[ME]));
        assert_eq!(keeper.post.remembered(), 16);
        assert_eq!(keeper.post.peers().count(), 0, "nobody is talked to");
    }

    fn snapshot(tick: u64) -> Vec<u8> {
        messages::encode(&FromRegion::Snapshot {
            tick: Tick(tick),
            last: false,
            spawned_before: Tick(tick),
            subscribers: Vec::new(),
            bytes_before: 0,
            bytes: vec![7; 5000],
        })
    }

    /// The control plane forgot us for a while, and so did a region. When it gives us its snapshots again, it begins with the first piece of the first one; we must not take that for
    /// what we have had.
    #[test]
    fn a_region_that_took_us_for_dead_is_heard_again() {
        let (mut keeper, from_us) = keeper();
        keeper.handle_view(&view(1, &[ME, NodeId(2)]));
        let place = Place {
            generation: Generation(1),
            region: RegionId(3),
        };
        let to_us = Arc::new(Tray::default());
        let carrier: Arc<dyn Carrier> = Arc::clone(&to_us) as _;
        let mut region = PostOffice::new(place.endpoint(), 1, carrier);
        let mut now = SimTime::ZERO;
        let mut talk = |keeper: &mut Keeper, region: &mut PostOffice| {
            for _ in 0..200 {
                now += SimTime(5_000_000);
                region.flush(now);
                keeper.post.flush(now);
                for datagram in to_us.take() {
                    keeper
                        .post
                        .handle_datagram(now, &datagram, &mut keeper.mail);
                }
                keeper.read_mail(now);
                for datagram in from_us.take() {
                    region.handle_datagram(now, &datagram, &mut Vec::new());
                }
            }
            keeper.standby.kept()
        };
        for tick in [10, 20, 30] {
            region
                .send(SimTime::ZERO, ME.endpoint(), snapshot(tick))
                .expect("room");
        }
        assert_eq!(talk(&mut keeper, &mut region), [(place, Term(1), Tick(30))]);
        region.forget(ME.endpoint());
        keeper.begin_anew();
        region
            .send(SimTime::ZERO, ME.endpoint(), snapshot(40))
            .expect("room");
        assert_eq!(talk(&mut keeper, &mut region), [(place, Term(1), Tick(40))]);
    }
}
