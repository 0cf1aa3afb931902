//! One world as a gateway follows it: feeds in, frames out.
//!
//! ```text
//!  region 0: tick 10 ──┐
//!  region 1: tick 10 ──┼──► frame 5: everyone at tick 10; whoever is late is where he would be by then
//!  region 2: late ─ ─ ─┘
//! ```
//! A frame waits for a region that is late, but not longer than until the next frame is due.

use super::cells::Cells;
use super::errands::Errands;
use super::replicas::{News, Replica, Replicas};
use super::sights::{FRAMES_PER_ROUND, Heard, Known, Sights};
use super::viewpoint::FanOut;
use crate::coordinator::COUNTDOWN;
use crate::geometry;
use crate::messages::Feed;
use crate::names::{Generation, NodeId, Term};
use crate::schema::{ClusterView, WorldSpec};
use axum::body::Bytes;
use client_protocol::{FormEntry, Piece, RegionMark, ToClient, WorldMessage};
use domain::{BodyId, Motion, RegionId, SimTime, Static, StaticId, Tick, TickLength};
use glam::{DVec3, Quat};
use reckoning::stream::{Exporter, Sample, StreamSettings};
use scenes::{Scene, SceneErrors};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many frames behind the newest one clients show the world: with one, curves are chosen when what they describe has happened.
const DELAY_FRAMES: u64 = 1;
/// A body whose region is late goes on for so many ticks, then stands still.
const LONGEST_GUESS_TICKS: f64 = 6.0;
/// A region that was silent for so long is not waited for.
const LONGEST_SILENCE: SimTime = SimTime(500_000_000);
/// A region that was silent for so long, while its owner is the one we asked, has given us up, or never heard us.
const GIVEN_UP: SimTime = SimTime(1_000_000_000);
/// Each time it is asked in vain we wait twice as long, so many times: to tell everything is a lot of work, and it may be slow because of that.
const MOST_DOUBLINGS: u32 = 4;
/// Scenery and forms of more bytes than this are told in several messages: a sixteenth of what clients take in one, so that a slow one has it within its patience.
const MOST_MESSAGE_BYTES: usize = client_protocol::MAX_GATEWAY_MESSAGE / 16;
/// Over a WebSocket packets may be as long as they like.
const PACKET_BYTES: usize = 60_000;

/// A world.
pub struct LiveWorld {
    /// What it is.
    pub spec: Arc<WorldSpec>,
    /// Its bodies.
    pub replicas: Replicas,
    /// What clients get of them.
    pub cells: Cells,
    /// What is shown to those who look closely.
    pub sights: Sights,
    /// What clients want of it.
    pub errands: Errands,
    /// Whose feeds we get.
    pub terms: BTreeMap<RegionId, Term>,
    statics: Vec<Static>,
    name: String,
    gravity: DVec3,
    exporter: Exporter,
    feed_ticks: u64,
    heard: Heard,
    /// When each region was last asked to tell us everything, and how often in vain.
    asked: BTreeMap<RegionId, (SimTime, u32)>,
    /// When the world starts, or has, as far as we know.
    starts: Option<SimTime>,
    frame: Option<u64>,
    /// Since when a newer frame is known.
    awaited: Option<(u64, SimTime)>,
    contacts: Vec<(DVec3, f32)>,
    /// Scenery that clients have not been told of.
    put_up: Vec<Piece>,
}

/// What a frame was like.
pub struct Frame {
    /// Its number.
    pub number: u64,
    /// What has changed in it.
    pub news: News,
}

impl LiveWorld {
    /// Before anything is known of its bodies.
    pub fn new(
        spec: Arc<WorldSpec>,
        feed_ticks: u64,
        cells: u16,
        first_question: u64,
    ) -> Result<Self, SceneErrors> {
        let scene: Scene = spec.load_scene()?;
        let feed_ticks = feed_ticks.max(1);
        let stream = stream_settings(&spec, scene.gravity.as_dvec3(), feed_ticks);
        Ok(Self {
            replicas: Replicas::default(),
            cells: Cells::new(stream, spec.map.extent(), cells),
            sights: Sights::default(),
            errands: Errands::starting_at(first_question),
            terms: BTreeMap::new(),
            statics: scene.statics,
            name: scene.name,
            gravity: scene.gravity.as_dvec3(),
            exporter: Exporter::new(stream),
            feed_ticks,
            heard: BTreeMap::new(),
            asked: BTreeMap::new(),
            starts: None,
            frame: None,
            awaited: None,
            contacts: Vec::new(),
            put_up: Vec::new(),
            spec,
        })
    }

    /// Which world.
    pub fn generation(&self) -> Generation {
        self.spec.generation
    }

    /// How the stream works, for clients.
    pub fn stream(&self) -> &StreamSettings {
        self.exporter.settings()
    }

    /// The world's physics step.
    pub fn step(&self) -> TickLength {
        self.spec.boundary.step
    }

    /// How long a frame is.
    pub fn frame_length(&self) -> SimTime {
        SimTime::from_millis(self.step().as_secs() * 1000.0 * self.feed_ticks as f64)
    }

    /// A region was asked to tell us everything; again, if its owner has not answered.
    pub fn asked(&mut self, now: SimTime, region: RegionId, again: bool) {
        let asked = self.asked.entry(region).or_default();
        *asked = (now, if again { asked.1 + 1 } else { 0 });
    }

    /// Has a region that should tell us everything fallen silent?
    pub fn has_given_us_up(&self, now: SimTime, region: RegionId, view: &ClusterView) -> bool {
        let heard = self.heard.get(&region);
        if self.frame.is_none() || heard.is_some_and(|(tick, _)| self.is_last(*tick)) {
            return false;
        }
        // Nothing happens before the start, nor while everybody waits.
        let begun = self.begun(now);
        if begun.is_none() || self.sights.waits(region, &self.heard, view, now) {
            return false;
        }
        let (asked, in_vain) = self.asked.get(&region).copied().unzip();
        let last = asked.max(heard.map(|(_, at)| *at)).max(begun);
        let patience = GIVEN_UP.0 << in_vain.unwrap_or(0).min(MOST_DOUBLINGS);
        last.is_some_and(|last| now.since(last).0 >= patience)
    }

    /// Does a region that has told of this tick have nothing more to tell?
    fn is_last(&self, tick: Tick) -> bool {
        let last = self.spec.last_tick;
        last.is_some_and(|last| tick.0 + self.feed_ticks > last)
    }

    /// Has every region told of its last tick?
    fn is_over(&self) -> bool {
        let done = |region| {
            let heard = self.heard.get(region);
            heard.is_some_and(|(tick, _)| self.is_last(*tick))
        };
        self.terms.keys().all(done)
    }

    /// The control plane says something new of the world.
    pub fn handle_spec(&mut self, now: SimTime, spec: Arc<WorldSpec>) {
        if spec.start_unix_ns.is_some() && self.starts.is_none() {
            self.starts = Some(now + COUNTDOWN);
        }
        self.spec = spec;
    }

    /// Since when it runs, as far as we know.
    fn begun(&self, now: SimTime) -> Option<SimTime> {
        self.starts.filter(|starts| *starts <= now)
    }

    /// A region says what has changed there.
    pub fn handle_feed(&mut self, now: SimTime, region: RegionId, feed: &Feed) {
        self.replicas.handle_feed(now, region, feed);
        self.errands.handle_kept(region, feed.kept);
        self.heard.insert(region, (feed.tick, now));
        if let Some((_, in_vain)) = self.asked.get_mut(&region) {
            *in_vain = 0;
        }
        if feed.tick > Tick::default() {
            self.starts = Some(self.starts.map_or(now, |starts| starts.min(now)));
        }
        self.contacts.extend(&feed.contacts);
        for scenery in &feed.scenery {
            if !self.statics.iter().any(|other| other.id == scenery.id) {
                self.statics.push(scenery.clone());
                self.put_up.push(piece(scenery));
            }
        }
        let newest = feed.tick.0 / self.feed_ticks;
        if self.frame.is_none_or(|known| newest > known) {
            // Whoever waits for a slow region has waited since the first news, not since the last.
            let (frame, since) = self.awaited.unwrap_or((newest, now));
            self.awaited = Some((frame.max(newest), since));
        }
    }

    /// Is it time for a frame? And if so, was any region not waited for?
    pub fn due(&self, now: SimTime) -> Option<(u64, bool)> {
        let (frame, since) = self.awaited?;
        let there = |(tick, heard): &(Tick, SimTime)| {
            tick.0 / self.feed_ticks >= frame || now.since(*heard) > LONGEST_SILENCE
        };
        let complete = self.heard.len() >= self.terms.len() && self.heard.values().all(there);
        let patience = self.step().as_secs() * self.feed_ticks as f64;
        let late = now.since(since).as_secs() > patience;
        (complete || late).then_some((frame, !complete))
    }

    /// Makes a frame: curves for all bodies.
    pub fn export(&mut self, number: u64) -> Frame {
        self.awaited = None;
        self.frame = Some(number);
        let tick = number * self.feed_ticks;
        let step = self.step().as_secs();
        let samples = self
            .replicas
            .iter()
            .map(|(id, replica)| sample(id, replica, tick, step));
        self.exporter.observe(number, samples);
        let news = self.replicas.take_news();
        Frame { number, news }
    }

    /// Encodes a frame's cells.
    pub fn encode(&mut self, frame: &Frame) {
        let contacts = std::mem::take(&mut self.contacts);
        self.cells.update(
            frame.number,
            &self.exporter,
            &self.replicas,
            &frame.news,
            &contacts,
        );
    }

    /// Who has a region, and in which term.
    pub fn handle_term(&mut self, now: SimTime, region: RegionId, term: Term) {
        if self.terms.insert(region, term) != Some(term) {
            self.sights.handle_new_owner(now, region);
        }
    }

    /// What all who watch the last frame share; `world`: what is told of the world itself. `None`: there is no frame yet.
    pub fn fan_out(
        &mut self,
        now: SimTime,
        is_new: bool,
        view: &ClusterView,
        world: Option<&Bytes>,
        join_bytes: usize,
    ) -> Option<FanOut<'_>> {
        let frame = self.frame?;
        let tick = Tick(frame * self.feed_ticks);
        let mut everything: Vec<Bytes> = Vec::new();
        let mut novelties: Vec<Bytes> = Vec::new();
        if let Some(world) = world {
            everything.push(world.clone());
            let forms = self.replicas.forms().all();
            let pieces = self.statics.iter().map(piece).collect();
            let messages = scenery_messages(pieces).chain(form_messages(forms));
            everything.extend(messages.map(|message| Bytes::from(message.encode())));
        }
        if is_new {
            let fresh = self.replicas.forms_mut().take_fresh();
            let put_up = std::mem::take(&mut self.put_up);
            let fresh = (!fresh.is_empty()).then(|| form_messages(fresh));
            let put_up = (!put_up.is_empty()).then(|| scenery_messages(put_up));
            let forms = fresh.into_iter().flatten();
            let news = forms.chain(put_up.into_iter().flatten());
            novelties.extend(news.map(|message| Bytes::from(message.encode())));
        }
        let wanted = !self.sights.wanted().is_empty();
        // Without new frames a round whenever someone asks: the world waits, and people want to know for whom. The last frame is told in any case.
        let over = self.is_over();
        let is_due = match is_new {
            true => over || frame.is_multiple_of(FRAMES_PER_ROUND),
            false => !over,
        };
        let is_round = wanted && is_due;
        if is_round {
            let known = Known {
                now,
                replicas: &self.replicas,
                view,
                heard: &self.heard,
                regions: self.spec.map.len() as u32,
                begun: self.begun(now),
            };
            self.sights.begin_round(&known, tick);
        }
        Some(FanOut {
            frame,
            is_new,
            is_round,
            tick,
            cells: &mut self.cells,
            replicas: &self.replicas,
            sights: &mut self.sights,
            everything,
            novelties,
            join_bytes,
            shared: Default::default(),
            inspections: Default::default(),
        })
    }

    /// What clients are told of the world itself.
    pub fn message(&self, view: &ClusterView) -> ToClient {
        let map = &self.spec.map;
        let name_of = |node: NodeId| view.nodes.get(&node).map(|info| info.name.clone());
        let seat = |region| {
            let ours = view.assignment.generation == self.spec.generation;
            view.assignment.seat(region).filter(|_| ours)
        };
        let regions = map.regions().map(|region| RegionMark {
            rect: map.finite_rect(region),
            server: seat(region)
                .and_then(|seat| name_of(seat.owner?))
                .unwrap_or_default(),
        });
        ToClient::World(WorldMessage {
            generation: self.spec.generation.0,
            start: SimTime(self.spec.start_unix_ns.unwrap_or(0)),
            name: self.name.clone(),
            gravity: self.gravity,
            fastest: self.spec.boundary.tolerances.speed,
            extent: map.extent(),
            cells: self.cells.counts(),
            regions: regions.collect(),
        })
    }

    /// How many pieces of scenery there are.
    pub fn pieces(&self) -> usize {
        self.statics.len()
    }

    /// How much geometry they have.
    pub fn scenery_elements(&self) -> usize {
        let shapes = self.statics.iter().map(|scenery| &scenery.shape);
        shapes.map(geometry::elements).sum()
    }

    /// Is there one with this id?
    pub fn has_piece(&self, id: StaticId) -> bool {
        self.statics.iter().any(|scenery| scenery.id == id)
    }
}

/// Scenery in messages that are each well below what clients take.
fn scenery_messages(pieces: Vec<Piece>) -> impl Iterator<Item = ToClient> {
    let parts = geometry::cut(pieces, MOST_MESSAGE_BYTES, |piece| &piece.shape);
    parts.into_iter().map(ToClient::Statics)
}

/// The same of forms.
fn form_messages(forms: Vec<FormEntry>) -> impl Iterator<Item = ToClient> {
    let parts = geometry::cut(forms, MOST_MESSAGE_BYTES, |form| &form.shape);
    parts.into_iter().map(ToClient::Forms)
}

/// The unit of the stream's time is a frame: that is how often we hear of bodies.
fn stream_settings(spec: &WorldSpec, gravity: DVec3, feed_ticks: u64) -> StreamSettings {
    let secs = spec.boundary.step.as_secs() * feed_ticks as f64;
    StreamSettings {
        tick: TickLength::from_secs(secs).expect("several times a length is one"),
        gravity,
        update_ticks: 1,
        delay_ticks: DELAY_FRAMES,
        max_packet_bytes: PACKET_BYTES,
        ..StreamSettings::default()
    }
}

fn piece(scenery: &Static) -> Piece {
    Piece {
        id: scenery.id,
        position: scenery.position,
        rotation: scenery.rotation,
        material: scenery.material,
        shape: scenery.shape.clone(),
    }
}

/// A body at a tick, as far as is known.
fn sample(id: BodyId, replica: &Replica, tick: u64, step: f64) -> Sample {
    let Replica { motion, asleep, .. } = *replica;
    let ticks = tick as f64 - replica.tick.0 as f64;
    if asleep || ticks == 0.0 {
        return Sample { id, motion, asleep };
    }
    let secs = ticks.clamp(-LONGEST_GUESS_TICKS, LONGEST_GUESS_TICKS) * step;
    let turn = Quat::from_scaled_axis(motion.angular_velocity * secs as f32);
    let motion = Motion {
        position: motion.position + motion.linear_velocity.as_dvec3() * secs,
        rotation: (turn * motion.rotation).normalize(),
        ..motion
    };
    Sample { id, motion, asleep }
}
