//! One region on a thread of its own: the tick loop of the live cluster.
//!
//! ```text
//!  wait until a datagram comes, a tick is due, or a frame has passed
//!   ├─ datagrams ─► post office ─► envelopes of neighbours, questions, subscriptions
//!   ├─ a tick, if one is due and the neighbours are not behind: spawns · first part · pushes · physics · last part · feeds, records
//!   ├─ a snapshot for the standby, if one is due
//!   └─ what the region has to say ─► post office ─► carrier
//! ```
//! The region itself does not know whether it lives here or in the simulator.

mod listening;
mod query_budget;
mod safekeeping;
mod telling;

use super::feed::FeedBuilder;
use super::gauges::SharedGauges;
use super::insight::InsightBuilder;
use super::pace::{Pace, PaceSettings};
use super::standby::Standby;
use super::timetable::Timetable;
use crate::carrier::{Carrier, Datagram, Switchboard};
use crate::clock::ClusterClock;
use crate::messages::{FromRegion, Subscription};
use crate::names::{NodeId, Place, Term};
use crate::post_office::{Mail, PostOffice};
use crate::schema::{ClusterView, WorldSpec};
use channel::EndpointId;
use client_protocol::Layers;
use cpu_time::ThreadTime;
use domain::{RegionId, SimTime, Tick};
use query_budget::QueryBudget;
use region::{Region, RegionEvent, TickRecord};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How a server runs its regions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostSettings {
    /// Gateways are told every so many ticks (default 2: 30 times a second).
    pub feed_ticks: u64,
    /// A thread that was away for so long asks whether it has been replaced before it does anything (default 0.3 s, less than what the coordinator
    /// takes for death).
    pub away: Duration,
    /// Snapshots travel in pieces of so many bytes (default 4 MiB: a quarter of what a payload may be, so that what is said in between does not wait long).
    pub piece_bytes: usize,
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            feed_ticks: 2,
            away: Duration::from_millis(300),
            piece_bytes: 4 << 20,
        }
    }
}

/// What a region's thread is told.
pub enum Input {
    /// Something has arrived.
    Datagram(Datagram),
    /// The control plane has changed.
    View(Arc<ClusterView>),
    /// As asked: this is how the control plane is now. `None`: it does not answer.
    Confirmed(Option<Arc<ClusterView>>),
    /// It is over; the region has another owner, or the server ends.
    Stop,
}

/// What everything on a server shares.
#[derive(Clone)]
pub struct Shared {
    /// The process.
    pub node: NodeId,
    /// The common time.
    pub clock: Arc<ClusterClock>,
    /// The network.
    pub carrier: Arc<dyn Carrier>,
    /// Who gets what comes from it.
    pub switchboard: Switchboard,
    /// Snapshots that this server keeps.
    pub standby: Arc<Standby>,
    /// How regions are run.
    pub settings: HostSettings,
    /// Asks for [`Input::Confirmed`].
    pub doubt: tokio::sync::mpsc::UnboundedSender<Place>,
}

/// A running region, seen from outside its thread.
pub struct HostHandle {
    /// In which term.
    pub term: Term,
    /// How it is doing.
    pub gauges: Arc<SharedGauges>,
    inputs: Sender<Input>,
    thread: JoinHandle<()>,
}

impl HostHandle {
    /// Tells the thread something.
    pub fn tell(&self, input: Input) {
        // A thread that has ended has nothing to hear.
        let _ = self.inputs.send(input);
    }

    /// Has the thread ended by itself? Only a bug makes it.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the thread and waits for it.
    pub fn stop(self) {
        self.tell(Input::Stop);
        if self.thread.join().is_err() {
            tracing::error!("a region's thread had panicked");
        }
    }
}

/// Those who look closely are told with every third feed.
pub const FEEDS_PER_INSIGHT: u64 = 3;
/// Longest time between two frames, as a share of the frame tolerance.
const FRAMES_PER_TOLERANCE: u32 = 3;
/// So many ticks a region may be ahead of someone who judges every tick.
const LONGEST_LEAD: u64 = 240;
/// So many bytes of records may be on their way to it: a quarter of what its channel takes.
const LONGEST_BACKLOG: usize = 16 << 20;
/// A judge that says nothing for so long is not waited for.
const LONGEST_PATIENCE: SimTime = SimTime(10_000_000_000);
/// In doubt for so long, it goes on: nobody listens to it anyway if it was replaced.
const LONGEST_DOUBT: SimTime = SimTime(1_500_000_000);

struct Host {
    shared: Shared,
    place: Place,
    term: Term,
    world: Arc<WorldSpec>,
    region: Region,
    timetable: Timetable,
    post: PostOffice,
    mail: Vec<Mail>,
    pace: Pace,
    /// The last attempt at a tick ended before it began: others have to answer first.
    waits_for_answers: bool,
    /// Has the world's time begun?
    begun: bool,
    /// The last tick that each neighbour was told of, and when.
    told: BTreeMap<RegionId, (Tick, SimTime)>,
    subscribers: BTreeMap<EndpointId, Subscription>,
    /// Who judges every tick: how far they are, and when they said so.
    judges: BTreeMap<EndpointId, (Tick, SimTime)>,
    /// Processes that were registered when we last looked.
    met: BTreeSet<NodeId>,
    feed: FeedBuilder,
    /// Who looks closely, and at what.
    inspectors: BTreeMap<EndpointId, Layers>,
    queries: QueryBudget,
    insight: InsightBuilder,
    /// The longest tick since the last insight.
    longest_tick: Duration,
    standby: Option<NodeId>,
    /// A snapshot is on its way there, since when.
    unkept: Option<(Tick, SimTime)>,
    /// Of it, what has not been sent yet.
    unsent: VecDeque<FromRegion>,
    kept: Tick,
    /// The standby has none of us yet.
    snapshot_wanted: bool,
    moving: bool,
    given_away: bool,
    gauges: Arc<SharedGauges>,
    cpu: Duration,
}

/// What a region's thread begins with.
pub struct Beginning {
    /// In which term.
    pub term: Term,
    /// The region, furnished or restored from a snapshot.
    pub region: Region,
    /// What its users will want.
    pub timetable: Timetable,
    /// Who was told what happens by its last owner.
    pub subscribers: Vec<(NodeId, Subscription)>,
    /// How many bodies of its snapshot could not be restored.
    pub left_out: u64,
}

/// Starts a region's thread.
pub fn start(
    shared: Shared,
    world: Arc<WorldSpec>,
    beginning: Beginning,
    view: Arc<ClusterView>,
) -> std::io::Result<HostHandle> {
    let Beginning {
        term,
        region,
        timetable,
        subscribers,
        left_out,
    } = beginning;
    let place = world.place(region.id());
    let (inputs, receiver) = mpsc::channel();
    let gauges = Arc::new(SharedGauges::default());
    gauges.lock().broken = left_out;
    let mailbox = inputs.clone();
    let deliver = move |datagram| drop(mailbox.send(Input::Datagram(datagram)));
    shared
        .switchboard
        .connect(place.endpoint(), Arc::new(deliver));
    let post = PostOffice::new(place.endpoint(), term.0, Arc::clone(&shared.carrier));
    let neighbours = region.config().map.neighbours(place.region).to_vec();
    let boundary = &region.config().boundary;
    let pace = PaceSettings {
        hop_ticks: region.boundary().geometry().hop_ticks,
        latency: SimTime::from_secs(boundary.tolerances.latency_secs),
        step: boundary.step,
    };
    let now = shared.clock.local();
    let mut host = Host {
        pace: Pace::new(pace, &neighbours, region.tick(), now),
        told: BTreeMap::new(),
        waits_for_answers: false,
        begun: false,
        kept: region.tick(),
        shared,
        place,
        term,
        world,
        region,
        timetable,
        post,
        mail: Vec::new(),
        subscribers: BTreeMap::new(),
        judges: BTreeMap::new(),
        met: BTreeSet::new(),
        feed: FeedBuilder::default(),
        inspectors: BTreeMap::new(),
        queries: QueryBudget::default(),
        insight: InsightBuilder::default(),
        longest_tick: Duration::ZERO,
        standby: None,
        unkept: None,
        unsent: VecDeque::new(),
        snapshot_wanted: true,
        moving: false,
        given_away: false,
        gauges: Arc::clone(&gauges),
        cpu: Duration::ZERO,
    };
    for peer in neighbours {
        host.post.greet(host.end_of(peer));
    }
    host.handle_view(&view);
    host.report();
    for (node, wanted) in subscribers {
        // Who has gone meanwhile would be talked to in vain.
        if view.nodes.contains_key(&node) {
            host.subscribe(node.endpoint(), wanted);
        }
    }
    let thread = std::thread::Builder::new()
        .name(format!("region {}", place.region.0))
        .spawn(move || {
            let run = std::panic::AssertUnwindSafe(|| host.run(&receiver));
            if std::panic::catch_unwind(run).is_err() {
                // A region without a thread would be nobody's, and its server would seem to live.
                tracing::error!(%place, "a region's thread has panicked; this process ends, so that others take over");
                std::process::abort();
            }
        })?;
    Ok(HostHandle {
        term,
        gauges,
        inputs,
        thread,
    })
}

impl Host {
    fn end_of(&self, region: RegionId) -> EndpointId {
        self.world.place(region).endpoint()
    }

    fn run(mut self, inputs: &Receiver<Input>) {
        let frame = Duration::from_secs_f64(self.world.boundary.tolerances.frame_secs)
            / FRAMES_PER_TOLERANCE;
        let mut last = self.shared.clock.local();
        let mut in_doubt_since: Option<SimTime> = None;
        loop {
            let first = match inputs.recv_timeout(self.until_next(frame)) {
                Ok(input) => Some(input),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return self.end(),
            };
            let now = self.shared.clock.local();
            if now.since(last).as_secs() > self.shared.settings.away.as_secs_f64() {
                tracing::warn!(place = %self.place, away_secs = now.since(last).as_secs(), "was away; asking whether still in charge");
                in_doubt_since = Some(now);
                let _ = self.shared.doubt.send(self.place);
            }
            last = now;
            let start = ThreadTime::now();
            for input in first.into_iter().chain(inputs.try_iter()) {
                match input {
                    Input::Datagram(datagram) => {
                        self.post.handle_datagram(now, &datagram, &mut self.mail)
                    }
                    Input::View(view) => self.handle_view(&view),
                    Input::Confirmed(view) => {
                        in_doubt_since = None;
                        if let Some(view) = view {
                            self.handle_view(&view);
                        }
                    }
                    Input::Stop => return self.end(),
                }
            }
            if in_doubt_since.is_some_and(|since| now.since(since) < LONGEST_DOUBT) {
                continue;
            }
            in_doubt_since = None;
            self.frame(start);
        }
    }

    fn end(self) {
        self.shared.switchboard.disconnect(self.place.endpoint());
    }

    /// Until a tick is due, a channel wants to send, or a frame has passed.
    fn until_next(&self, frame: Duration) -> Duration {
        let local = self.shared.clock.local();
        let channel = self.post.next_wakeup().map(|at| at.since(local));
        let tick = self
            .world_time()
            .map(|now| self.region.next_wakeup().since(now));
        let tick = tick.filter(|_| self.may_step() && !self.waits_for_answers);
        let next = [channel, tick].into_iter().flatten().min();
        let next = next.map(|wait| Duration::from_nanos(wait.0));
        next.unwrap_or(frame).min(frame)
    }

    /// Time since tick 0; `None` before the world has started or while the common time is not known.
    fn world_time(&self) -> Option<SimTime> {
        let start = SimTime(self.world.start_unix_ns?);
        let now = self.shared.clock.common()?;
        (now >= start).then(|| now.since(start))
    }

    fn may_step(&self) -> bool {
        !self.given_away && !self.is_over() && !self.is_too_far_ahead() && self.may_go_on()
    }

    /// Do the neighbours follow?
    fn may_go_on(&self) -> bool {
        let next = self.region.tick().next();
        self.pace.allows(next, self.shared.clock.local())
    }

    fn is_too_far_ahead(&self) -> bool {
        let now = self.shared.clock.local();
        self.judges.iter().any(|(end, (seen, at))| {
            let far = self.region.tick().0 >= seen.0 + LONGEST_LEAD;
            // A crowded region's records fill a channel long before that.
            let full = self.post.backlog(*end) > LONGEST_BACKLOG;
            (far || full) && now.since(*at) < LONGEST_PATIENCE
        })
    }

    /// Is this the end of time?
    fn is_over(&self) -> bool {
        let last = self.world.last_tick;
        last.is_some_and(|last| self.region.tick().0 >= last)
    }

    /// Time stands still; what is still under way comes in.
    fn settle(&mut self) {
        self.region.settle();
        let record = TickRecord::of(&mut self.region);
        let events = [&record.before_step[..], &record.after_step[..]].concat();
        if events.is_empty() {
            return;
        }
        self.observe(&events);
        let record = TickRecord {
            bodies: None,
            ..record
        };
        let message = FromRegion::Record {
            record: Box::new(record),
            cpu_ms: 0.0,
        };
        self.publish(&message, |wanted| wanted.records);
    }

    fn frame(&mut self, start: ThreadTime) {
        if let Some(now) = self.world_time() {
            if !self.begun {
                self.begun = true;
                self.pace.begin(self.shared.clock.local());
            }
            self.region.handle_frame(now);
        }
        self.read_mail();
        self.cpu += start.elapsed();
        self.run_due_tick();
        if self.is_over() {
            self.settle();
        }
        let start = ThreadTime::now();
        self.send_snapshot();
        self.say();
        let local = self.shared.clock.local();
        self.post.flush(local);
        self.cpu += start.elapsed();
        self.report();
    }

    fn fail(&mut self, why: &str) {
        tracing::warn!(place = %self.place, why, "a message was refused");
        self.gauges.lock().failures += 1;
    }

    /// One at most: who makes up for lost time still listens and speaks in between, because others wait for it.
    fn run_due_tick(&mut self) {
        let due = self.region.next_wakeup();
        let Some(now) = self.world_time().filter(|now| due <= *now) else {
            return;
        };
        if !self.may_step() {
            let held = !self.may_go_on() && self.pace.hold(self.region.tick().next());
            let mut gauges = self.gauges.lock();
            gauges.held_ticks += u64::from(held);
            gauges.overdue = 0;
            return;
        }
        let overdue = (now.since(due).as_secs() / self.world.boundary.step.as_secs()) as u64;
        let waited = self.pace.held() == Some(self.region.tick().next());
        let start = ThreadTime::now();
        let record = self.tick();
        let spent = std::mem::take(&mut self.cpu) + start.elapsed();
        self.longest_tick = self.longest_tick.max(spent);
        // Ticks that pass while it waits for answers are not stepped.
        if !self.region.is_recovering() {
            let mut gauges = self.gauges.lock();
            gauges.ticks += 1;
            gauges.late_ticks += u64::from(overdue > 0);
            gauges.overdue = if waited { 0 } else { overdue };
            gauges.cpu_secs += spent.as_secs_f64();
            gauges.longest_tick_secs = gauges.longest_tick_secs.max(spent.as_secs_f64());
        }
        if let Some(record) = record {
            let record = Box::new(record);
            let cpu_ms = spent.as_secs_f32() * 1e3;
            let message = FromRegion::Record { record, cpu_ms };
            self.publish(&message, |wanted| wanted.records);
        }
    }

    /// One tick. The phases are the region's own; users' wishes come in between.
    fn tick(&mut self) -> Option<TickRecord> {
        let tick = self.region.tick().next();
        if !self.region.is_recovering() {
            self.timetable.spawn_due(&mut self.region);
        }
        if self.region.begin_tick(tick) {
            self.timetable.act_due(&mut self.region);
            self.region.step_physics(tick);
            self.region.end_tick();
        }
        self.waits_for_answers = self.region.tick() < tick;
        let mut events: Vec<RegionEvent> = Vec::new();
        let record = if self.subscribers.values().any(|wanted| wanted.records) {
            let record = TickRecord::of(&mut self.region);
            events.extend_from_slice(&record.before_step);
            events.extend_from_slice(&record.after_step);
            Some(record)
        } else {
            events.extend(std::iter::from_fn(|| self.region.poll_event()));
            None
        };
        self.timetable.make_up(&mut self.region, &events);
        self.observe(&events);
        if self.waits_for_answers {
            return record.filter(|_| !events.is_empty());
        }
        if tick.0.is_multiple_of(self.shared.settings.feed_ticks)
            && self.subscribers.values().any(|wanted| wanted.feed)
        {
            let feed = self.feed.take(&self.region, self.kept);
            self.publish(&FromRegion::Feed(Box::new(feed)), |wanted| wanted.feed);
        }
        if self.insight.is_wanted() {
            self.insight.observe(&self.region, &events);
            let every = self.shared.settings.feed_ticks * FEEDS_PER_INSIGHT;
            if tick.0.is_multiple_of(every) {
                self.show();
            }
        }
        record
    }

    fn observe(&mut self, events: &[RegionEvent]) {
        let mut gauges = self.gauges.lock();
        for event in events {
            self.feed.observe(event);
            match event {
                RegionEvent::Arrived { members, .. } => gauges.arrived += members.len() as u64,
                RegionEvent::Departed { members, .. } => gauges.departed += members.len() as u64,
                RegionEvent::Refused { from, why, .. } => {
                    tracing::error!(place = %self.place, %from, why, "an offer cannot be carried out");
                    gauges.refused += 1;
                }
                RegionEvent::Broken {
                    tick, body, why, ..
                } => {
                    tracing::error!(place = %self.place, %tick, %body, why, "a body cannot be computed any more, and was taken out");
                    gauges.broken += 1;
                }
                RegionEvent::NotBorn { body, why, .. } => {
                    tracing::error!(place = %self.place, %body, why, "a body could not be created");
                    gauges.broken += 1;
                }
                RegionEvent::Recovered { tick, bodies } => {
                    tracing::info!(place = %self.place, %tick, bodies = bodies.len(), "recovered");
                }
                _ => {}
            }
        }
    }
}
