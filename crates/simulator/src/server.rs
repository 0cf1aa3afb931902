//! One simulated region server: the region, its channels, its frames, and the snapshot at its standby.

use crate::frames::FrameModel;
use crate::network::{Channel, ChannelConfig, ChannelFull};
use crate::options::SendOrder;
use crate::stopwatch::Stopwatch;
use crate::timeline::Timeline;
use domain::{BodyId, RegionId, SimTime, Tick};
use rand_pcg::Pcg64Mcg;
use region::{Region, RegionConfig, RegionError, RegionEvent, RegionSnapshot};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use wire::{AuraDelete, Envelope, Message};

/// A server, up or down.
pub struct Server {
    pub config: RegionConfig,
    /// `None` while it is down.
    pub region: Option<Region>,
    pub channels: BTreeMap<RegionId, Channel>,
    pub inbox: VecDeque<(SimTime, Envelope)>,
    pub next_frame: SimTime,
    /// Added to the time at which its ticks are due.
    pub step_phase: SimTime,
    pub incarnation: u32,
    /// What its standby has.
    standby: Option<Vec<u8>>,
    /// What is on its way there; one at a time.
    sent: Option<SentSnapshot>,
    pub timeline: Timeline,
    /// What it has read since anyone asked.
    pub heard: Vec<Heard>,
    /// A channel that takes no more: the run cannot go on.
    pub stuck: Option<(RegionId, ChannelFull)>,
    frames: FrameModel,
    send_order: SendOrder,
    channel_config: ChannelConfig,
    rng: Pcg64Mcg,
}

/// A snapshot on its way to the standby. It may get there, and its owner die before it hears of it.
struct SentSnapshot {
    tick: Tick,
    bytes: Option<Vec<u8>>,
    stored_at: SimTime,
    known_at: SimTime,
}

/// How long a snapshot takes to the standby, and the word that it is there back.
const SNAPSHOT_TRAVEL: SimTime = SimTime(10_000_000);

/// A message that was read.
pub struct Heard {
    pub tick: Tick,
    pub from: RegionId,
    /// In short.
    pub what: String,
    pub bodies: Vec<BodyId>,
}

/// What a message says and about whom; `None` for an aura that moves.
fn in_short(message: &Message) -> Option<(String, Vec<BodyId>)> {
    let everyone = |what: String| Some((what, Vec::new()));
    match message {
        Message::AuraUpsert(_) | Message::SnapshotCovers { .. } => None,
        Message::AuraDelete(delete) => {
            let AuraDelete { body, epoch, .. } = delete;
            let to = delete
                .moved_to
                .map(|new| format!(", moved to {}", new.region));
            let what = format!(
                "the aura of {body} ({epoch}) is gone{}",
                to.unwrap_or_default()
            );
            Some((what, vec![*body]))
        }
        Message::Offer(offer) => {
            let born = offer.cluster.bodies.iter().map(|body| body.id);
            let unborn = offer.unborn.iter().map(|unborn| unborn.body.id);
            let what = format!("offer {} of tick {}", offer.handover.0, offer.tick);
            Some((what, born.chain(unborn).collect()))
        }
        Message::Accept { handover } => everyone(format!("offer {} is accepted", handover.0)),
        Message::Release { handover } => everyone(format!("offer {} is released", handover.0)),
        Message::Introduce { visitors } => {
            let regions: Vec<RegionId> = visitors.iter().map(|it| it.region).collect();
            everyone(format!("meet {regions:?}"))
        }
        Message::Restarted { snapshot, .. } => everyone(format!("restarted from tick {snapshot}")),
        Message::Recovery { known } => {
            let bodies = known.iter().map(|it| it.body).collect();
            Some(("bodies that have a newer owner".to_owned(), bodies))
        }
    }
}

/// One tick, and the CPU time that it and the engine's step in it took.
fn run_tick(region: &mut Region) -> (Duration, Duration) {
    let tick = region.tick().next();
    let mut watch = Stopwatch::start();
    if !region.begin_tick(tick) {
        return (watch.lap(), Duration::ZERO);
    }
    let begun = watch.lap();
    region.step_physics(tick);
    let step = watch.lap();
    region.end_tick();
    (begun + step + watch.lap(), step)
}

/// How a server behaves in time.
pub struct ServerPace {
    pub frames: FrameModel,
    pub send_order: SendOrder,
    pub first_frame: SimTime,
    pub step_phase: SimTime,
    pub channel: ChannelConfig,
    pub rng: Pcg64Mcg,
}

impl Server {
    pub fn new(config: RegionConfig, region: Region, pace: ServerPace) -> Self {
        Self {
            config,
            region: Some(region),
            channels: BTreeMap::new(),
            inbox: VecDeque::new(),
            next_frame: pace.first_frame,
            step_phase: pace.step_phase,
            incarnation: 1,
            standby: None,
            sent: None,
            timeline: Timeline::default(),
            heard: Vec::new(),
            stuck: None,
            frames: pace.frames,
            send_order: pace.send_order,
            channel_config: pace.channel,
            rng: pace.rng,
        }
    }

    pub fn id(&self) -> RegionId {
        self.config.id
    }

    /// Opens the channels to all neighbours, so that the first aura does not wait for a greeting.
    pub fn greet_neighbours(&mut self) {
        for peer in self.config.map.neighbours(self.id()).to_vec() {
            self.channel(peer);
        }
    }

    /// The channel to a peer, opened when first needed.
    pub fn channel(&mut self, peer: RegionId) -> &mut Channel {
        let (me, config, incarnation) = (self.id(), self.channel_config, self.incarnation);
        self.channels
            .entry(peer)
            .or_insert_with(|| Channel::new(me, peer, incarnation, config))
    }

    /// Bytes of all datagrams to others since the last start.
    pub fn bytes_sent(&self) -> u64 {
        let channels = self.channels.values();
        channels.map(|channel| channel.stats().bytes).sum()
    }

    /// A datagram has come in; what it completes waits in the inbox for the next frame.
    pub fn handle_datagram(&mut self, now: SimTime, from: RegionId, bytes: &[u8]) {
        let channel = self.channel(from);
        channel
            .handle_datagram(now, bytes)
            .expect("the simulated network does not damage datagrams");
        let mut payloads = Vec::new();
        // A restarted peer introduces itself by a message of its own; the event needs no answer here.
        while channel.poll_event().is_some() {}
        while let Some(payload) = channel.poll_delivered() {
            payloads.push(payload);
        }
        if payloads.is_empty() {
            return;
        }
        let mut watch = Stopwatch::start();
        for payload in payloads {
            let envelope = wire::decode(&payload).expect("encoded by a region");
            self.inbox.push_back((now, envelope));
        }
        self.timeline.between_ticks += watch.lap();
    }

    /// One frame: receive, step what is due, send. `last_tick` ends the physics. Calls back after every tick.
    pub fn run_frame(
        &mut self,
        now: SimTime,
        last_tick: u64,
        mut after_tick: impl FnMut(&mut Region),
    ) {
        self.next_frame = now + self.frames.next(&mut self.rng);
        let Some(mut region) = self.region.take() else {
            return;
        };
        region.handle_frame(now);
        if self.send_order == SendOrder::NextFrame {
            self.send(now, &mut region);
        }
        self.receive(&mut region);
        let mut spent = std::mem::take(&mut self.timeline.between_ticks);
        while region.tick().0 < last_tick && region.next_wakeup() + self.step_phase <= now {
            let (whole, step) = run_tick(&mut region);
            self.timeline.close_tick(spent + whole, step);
            spent = Duration::ZERO;
            after_tick(&mut region);
        }
        self.timeline.between_ticks += spent;
        if self.send_order == SendOrder::AfterPhysics {
            self.send(now, &mut region);
        }
        self.region = Some(region);
    }

    /// The network update alone, for when physics has ended and everything still under way shall arrive.
    pub fn run_network(&mut self, now: SimTime) {
        if let Some(mut region) = self.region.take() {
            self.receive(&mut region);
            region.settle();
            self.send(now, &mut region);
            self.region = Some(region);
        }
    }

    fn receive(&mut self, region: &mut Region) {
        if self.inbox.is_empty() {
            return;
        }
        for (_, envelope) in &self.inbox {
            self.heard
                .extend(envelope.messages.iter().filter_map(|message| {
                    let (what, bodies) = in_short(message)?;
                    let tick = region.tick();
                    let from = envelope.from;
                    Some(Heard {
                        tick,
                        from,
                        what,
                        bodies,
                    })
                }));
        }
        let mut watch = Stopwatch::start();
        while let Some((arrived_at, envelope)) = self.inbox.pop_front() {
            region.handle_message(arrived_at, envelope);
        }
        self.timeline.between_ticks += watch.lap();
    }

    fn send(&mut self, now: SimTime, region: &mut Region) {
        // Frames are more often than ticks, and reading the clock takes longer than finding nothing to say.
        if !region.has_news() {
            return;
        }
        let mut watch = Stopwatch::start();
        region.handle_network_update(now);
        let mut encoded = Vec::new();
        while let Some(envelope) = region.poll_transmit() {
            let auras = envelope.messages.iter();
            let auras = auras.filter(|message| matches!(message, Message::AuraUpsert(_)));
            self.timeline.auras_since += auras.count() as u32;
            let bytes = wire::encode(&envelope).expect("a region says only what makes sense");
            encoded.push((envelope.to, bytes));
        }
        self.timeline.between_ticks += watch.lap();
        for (to, bytes) in encoded {
            // A peer cut off for so long cannot be helped by sending ever more.
            if let Err(full) = self.channel(to).send(now, bytes) {
                self.stuck.get_or_insert((to, full));
            }
        }
    }

    /// The server dies: everything in memory is gone.
    pub fn crash(&mut self) {
        self.region = None;
        self.channels.clear();
        self.inbox.clear();
        self.sent = None;
    }

    /// The standby has the region as it begins.
    pub fn store_beginning(&mut self) {
        if let Some(region) = self.region.as_mut() {
            let snapshot = region.make_snapshot();
            self.standby = Some(snapshot.to_bytes());
            region.snapshot_kept(snapshot.tick);
        }
    }

    /// Snapshots go to the standby, and word of them comes back. Returns the tick of the one that the standby has from now on, if it is another one.
    pub fn care_for_snapshots(&mut self, now: SimTime) -> Option<Tick> {
        let region = self.region.as_mut()?;
        let mut stored = None;
        if let Some(sent) = self.sent.as_mut().filter(|sent| sent.stored_at <= now) {
            if let Some(bytes) = sent.bytes.take() {
                self.standby = Some(bytes);
                stored = Some(sent.tick);
            }
            if sent.known_at <= now {
                region.snapshot_kept(sent.tick);
                self.sent = None;
            }
        }
        let due = region.take_snapshot();
        if self.sent.is_none() {
            let wanted = region.wants_snapshot().then(|| region.make_snapshot());
            self.sent = wanted.or(due).map(|snapshot| SentSnapshot {
                tick: snapshot.tick,
                bytes: Some(snapshot.to_bytes()),
                stored_at: now + SNAPSHOT_TRAVEL,
                known_at: now + SNAPSHOT_TRAVEL + SNAPSHOT_TRAVEL,
            });
        }
        stored
    }

    /// The server is started again from what its standby has.
    pub fn restart(&mut self, now: SimTime) -> Result<(), RegionError> {
        self.incarnation += 1;
        self.next_frame = now;
        let snapshot = self
            .standby
            .as_deref()
            .map(|bytes| RegionSnapshot::from_bytes(bytes).expect("written by ourselves"));
        let region = match snapshot {
            Some(snapshot) => Region::restore(self.config.clone(), snapshot, self.incarnation)?,
            None => Region::new(self.config.clone())?,
        };
        self.region = Some(region);
        Ok(())
    }

    /// Drains the region's events.
    pub fn poll_event(&mut self) -> Option<RegionEvent> {
        self.region.as_mut()?.poll_event()
    }
}
