//! A gateway's core whose only client is a recording: fed with regions instead of datagrams, under whatever time its driver has.
//!
//! ```text
//!  region after each tick ─► feed, insight ─► world ─► frames ─► cells, sights ─► the messages of one who sees everything
//! ```
//! What a live client would be told of this run is what comes out, byte by byte: the world, the cells and the viewpoint are those of the live
//! gateway. Nothing here depends on anything but what it is fed with.

use super::live_world::LiveWorld;
use super::sights::FRAMES_PER_ROUND;
use super::viewpoint::Viewpoint;
use crate::messages::RegionState;
use crate::names::{NodeId, Term};
use crate::schema::{ClusterView, NodeInfo, Role, Seat, WorldSpec};
use crate::server::{FEEDS_PER_INSIGHT, FeedBuilder, InsightBuilder};
use axum::body::Bytes;
use client_protocol::{Area, Features, Figures, Inspect, Layers, ToClient, VERSION, Welcome};
use domain::{BodyId, RegionId, SimTime, Tick};
use region::{Region, RegionEvent};
use scenes::SceneErrors;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// How a recording is made.
#[derive(Clone, Debug)]
pub struct RecorderSettings {
    /// Regions tell of bodies every so many ticks (default 2: 30 times a second).
    pub feed_ticks: u64,
    /// The world is cut into so many cells along each side (default 5).
    pub cells: u16,
    /// Everything is told anew every so many frames (default 60: two seconds).
    pub key_frames: u64,
    /// What is looked at besides bodies (default everything).
    pub layers: Layers,
    /// Bodies whose truth is recorded.
    pub picked: Vec<BodyId>,
}

impl Default for RecorderSettings {
    fn default() -> Self {
        Self {
            feed_ticks: 2,
            cells: 5,
            key_frames: 60,
            layers: Layers::ALL,
            picked: Vec::new(),
        }
    }
}

/// What one frame told.
#[derive(Clone, Debug)]
pub struct RecordedFrame {
    /// Its number.
    pub frame: u64,
    /// When it is, since the world's start.
    pub time: SimTime,
    /// Everything was told anew.
    pub is_key: bool,
    /// The messages.
    pub messages: Vec<Bytes>,
}

/// What is known of one region.
#[derive(Default)]
struct Ear {
    feed: FeedBuilder,
    insight: InsightBuilder,
    figures: Figures,
    greeted: bool,
    recovering: bool,
}

/// The core.
pub struct Recorder {
    settings: RecorderSettings,
    world: LiveWorld,
    view: ClusterView,
    viewpoint: Viewpoint,
    ears: BTreeMap<RegionId, Ear>,
    last_key: Option<u64>,
    frames: Vec<RecordedFrame>,
}

impl Recorder {
    /// Of a world that has started, with a server for each region.
    pub fn new(spec: WorldSpec, settings: RecorderSettings) -> Result<Self, SceneErrors> {
        let spec = Arc::new(spec);
        let mut world = LiveWorld::new(Arc::clone(&spec), settings.feed_ticks, settings.cells, 0)?;
        world.sights.want(settings.layers);
        let mut viewpoint = Viewpoint::new(Area::Everything, 1);
        viewpoint.inspect(Inspect {
            layers: settings.layers,
            picked: settings.picked.clone(),
        });
        let mut ears = BTreeMap::new();
        for region in spec.map.regions() {
            let mut ear = Ear::default();
            ear.insight.want(settings.layers);
            ear.figures.term = 1;
            ears.insert(region, ear);
            world.handle_term(SimTime::ZERO, region, Term(1));
        }
        Ok(Self {
            view: view_of(&spec),
            settings,
            world,
            viewpoint,
            ears,
            last_key: None,
            frames: Vec::new(),
        })
    }

    /// A region has completed a tick, with these events; `bytes_sent`: to others, since its start.
    pub fn handle_tick(
        &mut self,
        now: SimTime,
        region: &Region,
        events: &[&[RegionEvent]],
        bytes_sent: u64,
    ) {
        let Some(ear) = self.ears.get_mut(&region.id()) else {
            return;
        };
        let tick = region.tick();
        if region.is_recovering() && !ear.recovering {
            // Its server has died and another one has begun.
            let term = Term(ear.figures.term + 1);
            ear.figures = Figures {
                term: term.0,
                ..Figures::default()
            };
            ear.recovering = true;
            if let Some(seat) = self.view.assignment.seats.get_mut(region.id().0 as usize) {
                seat.term = term;
            }
            self.world.handle_term(now, region.id(), term);
        }
        ear.recovering = region.is_recovering();
        for event in events.iter().copied().flatten() {
            ear.feed.observe(event);
            match event {
                RegionEvent::Arrived { members, .. } => {
                    ear.figures.arrived += members.len() as u64;
                }
                RegionEvent::Departed { members, .. } => {
                    ear.figures.departed += members.len() as u64;
                }
                _ => {}
            }
        }
        ear.figures.ticks += u64::from(!region.is_recovering());
        ear.figures.bytes_to_regions = bytes_sent;
        for part in events {
            ear.insight.observe(region, part);
        }
        if tick.0.is_multiple_of(self.settings.feed_ticks) {
            let feed = match std::mem::replace(&mut ear.greeted, true) {
                true => ear.feed.take(region, Tick::ZERO),
                false => FeedBuilder::whole(region, Tick::ZERO),
            };
            let every = self.settings.feed_ticks * FEEDS_PER_INSIGHT;
            if !self.settings.layers.is_empty() && tick.0.is_multiple_of(every) {
                let state = match region.is_recovering() {
                    true => RegionState::Recovering,
                    false => RegionState::Running,
                };
                let insight = ear.insight.take(region, Some(state), ear.figures);
                self.world.sights.handle_insight(region.id(), insight);
            }
            self.world.handle_feed(now, region.id(), &feed);
        }
        self.advance(now);
    }

    /// Time has passed.
    pub fn handle_time(&mut self, now: SimTime) {
        self.world.replicas.handle_time(now);
        self.advance(now);
    }

    fn advance(&mut self, now: SimTime) {
        let Some((number, _late)) = self.world.due(now) else {
            return;
        };
        self.world.replicas.handle_time(now);
        let frame = self.world.export(number);
        self.world.encode(&frame);
        let due = self
            .last_key
            .is_none_or(|last| number - last >= self.settings.key_frames.max(1));
        // Everything includes what is seen by those who look closely.
        let is_key = due && number.is_multiple_of(FRAMES_PER_ROUND);
        let mut messages: Vec<Bytes> = Vec::new();
        if is_key {
            self.last_key = Some(number);
            self.viewpoint.forget_all();
            messages.push(ToClient::Welcome(self.welcome()).encode().into());
            let features = ToClient::Features(Features::default());
            messages.push(features.encode().into());
        }
        let world = is_key.then(|| Bytes::from(self.world.message(&self.view).encode()));
        let fan_out = self
            .world
            .fan_out(now, true, &self.view, world.as_ref(), usize::MAX);
        let Some(mut fan_out) = fan_out else {
            return;
        };
        if self.last_key.is_none() {
            return;
        }
        messages.extend(self.viewpoint.greet(&fan_out));
        messages.extend(self.viewpoint.next_message(&mut fan_out));
        messages.extend(self.viewpoint.next_inspection(&mut fan_out));
        let secs = number as f64 * self.settings.feed_ticks as f64 * self.world.step().as_secs();
        self.frames.push(RecordedFrame {
            frame: number,
            time: SimTime((secs * 1e9).round() as u64),
            is_key,
            messages,
        });
    }

    fn welcome(&self) -> Welcome {
        let stream = self.world.stream();
        Welcome {
            version: VERSION,
            session: 0,
            role: 0,
            clock: SimTime(self.world.spec.start_unix_ns.unwrap_or(0)),
            tick: self.world.step(),
            frame_ticks: self.settings.feed_ticks.clamp(1, 255) as u8,
            delay_frames: stream.delay_ticks as u8,
            tolerance_m: stream.tolerance_m as f32,
            tolerance_rad: stream.tolerance_rad as f32,
        }
    }

    /// Frames that are finished.
    pub fn take_frames(&mut self) -> Vec<RecordedFrame> {
        std::mem::take(&mut self.frames)
    }

    /// How many bodies there are.
    pub fn bodies(&self) -> usize {
        self.world.replicas.iter().len()
    }
}

/// A cluster in which each region has a server of its own.
fn view_of(spec: &Arc<WorldSpec>) -> ClusterView {
    let mut view = ClusterView {
        world: Some(Arc::clone(spec)),
        ..ClusterView::default()
    };
    view.assignment.generation = spec.generation;
    for region in spec.map.regions() {
        let node = NodeId(u64::from(region.0) + 1);
        let info = NodeInfo {
            node,
            role: Role::Server,
            name: format!("server-{}", region.0),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            url: None,
            leaving: false,
        };
        view.nodes.insert(node, info);
        view.assignment.seats.push(Seat {
            owner: Some(node),
            term: Term(1),
            ..Seat::default()
        });
    }
    view
}
