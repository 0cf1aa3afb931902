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
        let node = self.node;
        // Ours too, as long as the region's thread has not begun with it.
        let ours = |seat: &Seat| seat.standby == Some(node) || seat.owner == Some(node);
        let seats = view.assignment.regions().filter(|(_, seat)| ours(seat));
        self.wanted = seats
            .map(|(region, _)| Place { generation, region })
            .collect();
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
