//! What a client knows of the world: a core without I/O.

use crate::pace::Pace;
use client_protocol::{
    Features, FormEntry, Part, Piece, Section, Sections, ToClient, Welcome, WorldMessage,
};
use domain::{BodyId, RegionId, Shape, SimTime, StaticId, TickLength};
use glam::{DVec3, Vec3};
use reckoning::motion::{Exchange, SharedClock};
use reckoning::stream::{Shown, StreamDecoder, StreamError, StreamSettings};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// What a gateway sends makes no sense.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SceneError {
    /// A packet of a stream.
    #[error("cell {cell}: {error}")]
    Stream {
        /// Which.
        cell: u16,
        /// What is wrong.
        error: StreamError,
    },
    /// Something that must come after something else.
    #[error("{0} came too early")]
    TooEarly(&'static str),
    /// A number that no gateway ever reaches.
    #[error("{0} is no number of a packet or frame")]
    Absurd(u64),
}

/// Packets and frames have smaller numbers, for the next 300,000 years.
const LARGEST_NUMBER: u64 = 1 << 48;

/// Something that a client may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// There is another world; nothing of the old one means anything.
    World {
        /// Its number.
        generation: u32,
    },
    /// The same world: it has started, or regions have other servers.
    Regions,
    /// A body has come into sight.
    Entered(BodyId),
    /// A body is out of sight.
    Left {
        /// Which.
        body: BodyId,
        /// It is gone for good.
        removed: bool,
    },
    /// A body has another owner.
    Owner {
        /// Which.
        body: BodyId,
        /// Who.
        owner: RegionId,
    },
    /// Two bodies have met.
    Contact {
        /// Where.
        place: Vec3,
        /// How fast, m/s.
        speed: f32,
    },
    /// The connection is lost and is being made again; what is known stays as it was.
    Lost,
    /// There is a connection again; everything is told anew.
    Reconnected,
    /// What we look at closely.
    Inspected(Box<Part>),
    /// An update has come.
    Updated {
        /// The newest frame.
        frame: u64,
    },
}

/// A body in sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBody {
    /// The number of its shape.
    pub form: u32,
    /// Who has it.
    pub owner: RegionId,
    /// The cells that tell of it, the last one first.
    cells: Vec<u16>,
}

/// What has come so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Updates.
    pub updates: u64,
    /// Bytes of updates.
    pub update_bytes: u64,
    /// Times that a cell had to be told anew in the same world: we were too slow, and get it more or less often from then on.
    pub restarts: u64,
}

struct Cell {
    decoder: StreamDecoder,
    members: BTreeSet<BodyId>,
}

/// The world as a client sees it.
pub struct Scene {
    poses: bool,
    welcome: Option<Welcome>,
    features: Option<Features>,
    world: Option<WorldMessage>,
    statics: BTreeMap<StaticId, Piece>,
    forms: BTreeMap<u32, Shape>,
    cells: BTreeMap<u16, Cell>,
    /// Cells of an earlier connection, until the new one tells its own.
    old_cells: BTreeSet<u16>,
    bodies: BTreeMap<BodyId, KnownBody>,
    /// Bodies of a cell that is told anew, until it is clear who is still in it.
    doubtful: BTreeSet<BodyId>,
    clock: SharedClock,
    pace: Pace,
    frame: u64,
    traffic: Traffic,
    events: Vec<Event>,
}

impl Scene {
    /// Before the first message. Without `poses` no stream is decoded.
    pub fn new(poses: bool) -> Self {
        Self {
            poses,
            welcome: None,
            features: None,
            world: None,
            statics: BTreeMap::new(),
            forms: BTreeMap::new(),
            cells: BTreeMap::new(),
            old_cells: BTreeSet::new(),
            bodies: BTreeMap::new(),
            doubtful: BTreeSet::new(),
            clock: SharedClock::default(),
            pace: Pace::default(),
            frame: 0,
            traffic: Traffic::default(),
            events: Vec::new(),
        }
    }

    // ── what has come ──────────────────────────────────────────────────────────────────────────────────────────

    /// A message of so many bytes has come, at this time of our own clock.
    pub fn handle_message(
        &mut self,
        local: SimTime,
        bytes: usize,
        message: &ToClient,
    ) -> Result<(), SceneError> {
        self.traffic.messages += 1;
        self.traffic.bytes += bytes as u64;
        match message {
            ToClient::Welcome(welcome) => self.handle_welcome(welcome),
            ToClient::World(world) => self.handle_world(world),
            ToClient::Statics(pieces) => {
                let pieces = pieces.iter().map(|piece| (piece.id, piece.clone()));
                self.statics.extend(pieces);
            }
            ToClient::Forms(forms) => self.handle_forms(forms),
            ToClient::Update { frame, sections } => {
                self.traffic.updates += 1;
                self.traffic.update_bytes += bytes as u64;
                self.handle_update(local, *frame, sections)?;
            }
            ToClient::Pong {
                sent,
                received,
                replied,
            } => {
                let exchange = Exchange {
                    sent: *sent,
                    received: *received,
                    replied: *replied,
                    returned: local,
                };
                // A gateway whose clock makes no sense is not followed; poses stay as they are.
                let _ = self.clock.handle_exchange(local, &exchange);
            }
            ToClient::Features(features) => self.features = Some(features.clone()),
            ToClient::Inspection { parts, .. } => {
                let parts = parts.iter().cloned();
                self.events
                    .extend(parts.map(|part| Event::Inspected(Box::new(part))));
            }
            ToClient::Answer { .. } | ToClient::Goodbye { .. } => {}
        }
        Ok(())
    }

    fn handle_welcome(&mut self, welcome: &Welcome) {
        if self.welcome.replace(*welcome).is_some() {
            // Bodies stay in sight until the new connection has told which there are.
            self.old_cells = self.cells.keys().copied().collect();
            self.events.push(Event::Reconnected);
        }
    }

    /// The new connection's first cells are there: what it has not told is no longer told by anyone.
    fn end_old_cells(&mut self) {
        for cell in std::mem::take(&mut self.old_cells) {
            self.end(cell);
        }
    }

    fn handle_world(&mut self, world: &WorldMessage) {
        let known = self.world.as_ref().map(|world| world.generation);
        if known != Some(world.generation) {
            self.statics.clear();
            self.forms.clear();
            self.cells.clear();
            self.old_cells.clear();
            self.bodies.clear();
            self.pace.reset();
            self.frame = 0;
            let generation = world.generation;
            self.events.push(Event::World { generation });
        } else {
            self.events.push(Event::Regions);
        }
        self.world = Some(world.clone());
    }

    fn handle_forms(&mut self, forms: &[FormEntry]) {
        let forms = forms.iter().map(|form| (form.number, form.shape.clone()));
        self.forms.extend(forms);
    }

    fn handle_update(
        &mut self,
        local: SimTime,
        frame: u64,
        sections: &Sections,
    ) -> Result<(), SceneError> {
        let mut began = false;
        for (cell, section) in sections.iter() {
            let begins = matches!(section, Section::Begin { .. });
            began |= begins;
            if begins {
                self.old_cells.remove(&cell);
            }
            self.handle_section(cell, section)?;
        }
        self.settle_doubts();
        if began {
            self.end_old_cells();
        }
        self.frame = frame;
        if let Some(present) = self.present(local) {
            self.pace.observe(present, frame);
        }
        self.events.push(Event::Updated { frame });
        Ok(())
    }

    fn handle_section(&mut self, number: u16, section: Section) -> Result<(), SceneError> {
        match section {
            Section::Begin {
                number: packet,
                frame,
            } => return self.begin(number, packet, frame),
            Section::End => self.end(number),
            Section::Join(bytes) | Section::Packet(bytes) => {
                if self.poses {
                    let is_join = matches!(section, Section::Join(_));
                    return self.decode(number, bytes, is_join);
                }
            }
            Section::Entered(entries) => {
                for entry in entries {
                    self.enter(number, entry.body, entry.form, entry.owner);
                }
            }
            Section::Left(bodies) => {
                for left in bodies {
                    if let Some(cell) = self.cells.get_mut(&number) {
                        cell.members.remove(&left.body);
                    }
                    self.leave(number, left.body, left.removed);
                }
            }
            Section::Owners(bodies) => {
                for (id, owner) in bodies {
                    if let Some(body) = self.bodies.get_mut(&id) {
                        body.owner = owner;
                        self.events.push(Event::Owner { body: id, owner });
                    }
                }
            }
            Section::Contacts(contacts) => {
                let events = contacts
                    .into_iter()
                    .map(|(place, speed)| Event::Contact { place, speed });
                self.events.extend(events);
            }
        }
        Ok(())
    }

    fn begin(&mut self, number: u16, packet: u64, frame: u64) -> Result<(), SceneError> {
        let settings = self.stream().ok_or(SceneError::TooEarly("a cell"))?;
        if packet.max(frame) > LARGEST_NUMBER {
            return Err(SceneError::Absurd(packet.max(frame)));
        }
        let decoder = StreamDecoder::joining(settings, packet, frame);
        let members = BTreeSet::new();
        let known = self.cells.insert(number, Cell { decoder, members });
        if let Some(known) = known {
            // The same cell again: who is still in it will be told in a moment, by the same message. Until then they stay.
            self.traffic.restarts += 1;
            for id in known.members {
                if let Some(body) = self.bodies.get_mut(&id) {
                    body.cells.retain(|cell| *cell != number);
                    self.doubtful.insert(id);
                }
            }
        }
        Ok(())
    }

    /// Who is in no cell any more has gone.
    fn settle_doubts(&mut self) {
        for body in std::mem::take(&mut self.doubtful) {
            let nowhere = |known: &KnownBody| known.cells.is_empty();
            if self.bodies.get(&body).is_some_and(nowhere) {
                self.bodies.remove(&body);
                let removed = false;
                self.events.push(Event::Left { body, removed });
            }
        }
    }

    fn end(&mut self, number: u16) {
        let Some(cell) = self.cells.remove(&number) else {
            return;
        };
        for body in cell.members {
            self.leave(number, body, false);
        }
    }

    fn decode(&mut self, number: u16, bytes: &[u8], is_join: bool) -> Result<(), SceneError> {
        let cell = self.cells.get_mut(&number);
        let decoder = &mut cell.ok_or(SceneError::TooEarly("a packet"))?.decoder;
        let decoded = match is_join {
            true => decoder.receive_join(bytes),
            false => decoder.receive(bytes),
        };
        decoded.map_err(|error| SceneError::Stream {
            cell: number,
            error,
        })?;
        if !is_join {
            // Nobody waits for it; but packets are counted from acknowledgements.
            decoder.acknowledge();
        }
        Ok(())
    }

    fn enter(&mut self, number: u16, id: BodyId, form: u32, owner: RegionId) {
        if let Some(cell) = self.cells.get_mut(&number) {
            cell.members.insert(id);
        }
        let body = self.bodies.entry(id).or_insert_with(|| {
            self.events.push(Event::Entered(id));
            KnownBody {
                form,
                owner,
                cells: Vec::new(),
            }
        });
        body.cells.retain(|cell| *cell != number);
        body.cells.insert(0, number);
        body.form = form;
        body.owner = owner;
    }

    fn leave(&mut self, number: u16, id: BodyId, removed: bool) {
        let Some(body) = self.bodies.get_mut(&id) else {
            return;
        };
        body.cells.retain(|cell| *cell != number);
        if body.cells.is_empty() {
            self.bodies.remove(&id);
            self.events.push(Event::Left { body: id, removed });
        }
    }

    // ── what is known ──────────────────────────────────────────────────────────────────────────────────────────

    /// What has happened since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// What the gateway said first.
    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    /// What there is to do.
    pub fn features(&self) -> Option<&Features> {
        self.features.as_ref()
    }

    /// The world.
    pub fn world(&self) -> Option<&WorldMessage> {
        self.world.as_ref()
    }

    /// Its scenery.
    pub fn statics(&self) -> impl Iterator<Item = &Piece> {
        self.statics.values()
    }

    /// A body's shape.
    pub fn shape(&self, body: BodyId) -> Option<&Shape> {
        self.forms.get(&self.bodies.get(&body)?.form)
    }

    /// The bodies in sight, by id.
    pub fn bodies(&self) -> impl ExactSizeIterator<Item = (BodyId, &KnownBody)> {
        self.bodies.iter().map(|(id, body)| (*id, body))
    }

    /// One of them.
    pub fn body(&self, body: BodyId) -> Option<&KnownBody> {
        self.bodies.get(&body)
    }

    /// The newest frame that has come.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// What has come so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// How far our idea of the cluster's time may be off.
    pub fn clock_bound(&self, local: SimTime) -> Option<SimTime> {
        self.clock.error_bound(local)
    }

    /// The cluster's time at this time of our own clock, once it is known.
    pub fn cluster_time(&self, local: SimTime) -> Option<SimTime> {
        self.clock.now(local)
    }

    /// The cluster's present, in frames.
    pub fn present(&self, local: SimTime) -> Option<f64> {
        let start = self.world.as_ref()?.start;
        let now = self.clock.now(local)?;
        let frame = self.frame_length()?.as_secs();
        (start.0 > 0).then(|| (now.0 as f64 - start.0 as f64) * 1e-9 / frame)
    }

    /// The frame to show at this time of our own clock: all that is shown is known by then. Before the clock is known, the newest.
    pub fn shown_frame(&self, local: SimTime) -> f64 {
        let delay = self.welcome.as_ref();
        let delay = f64::from(delay.map_or(0, |welcome| welcome.delay_frames));
        let paced = self
            .present(local)
            .and_then(|present| self.pace.shown(present, delay));
        paced.unwrap_or(self.frame as f64 - delay)
    }

    /// Where a body is to be shown at a frame (see [`Self::shown_frame`]). One that is so new that nothing is known of it then waits where it
    /// will begin.
    pub fn pose(&self, body: BodyId, frame: f64) -> Option<Shown> {
        let cells = &self.bodies.get(&body)?.cells;
        let decoders = || cells.iter().filter_map(|cell| self.cells.get(cell));
        let begun = decoders().find_map(|cell| cell.decoder.shown(body, frame));
        begun.or_else(|| {
            let (flight, turn) = decoders().find_map(|cell| cell.decoder.curves(body))?;
            Some(Shown {
                position: flight.position(0.0, DVec3::ZERO),
                rotation: turn.rotation(0.0),
            })
        })
    }

    /// All of them.
    pub fn poses(&self, frame: f64) -> impl Iterator<Item = (BodyId, Shown)> {
        let ids = self.bodies.keys();
        ids.filter_map(move |id| Some((*id, self.pose(*id, frame)?)))
    }

    /// How long a frame takes, seconds; `None` before the gateway has said so.
    pub fn frame_secs(&self) -> Option<f64> {
        Some(self.frame_length()?.as_secs())
    }

    fn frame_length(&self) -> Option<TickLength> {
        let welcome = self.welcome.as_ref()?;
        TickLength::from_secs(welcome.tick.as_secs() * f64::from(welcome.frame_ticks))
    }

    fn stream(&self) -> Option<StreamSettings> {
        let welcome = self.welcome.as_ref()?;
        Some(StreamSettings {
            tick: self.frame_length()?,
            gravity: self.world.as_ref()?.gravity,
            update_ticks: 1,
            delay_ticks: welcome.delay_frames.into(),
            tolerance_m: welcome.tolerance_m.into(),
            tolerance_rad: welcome.tolerance_rad.into(),
            ..StreamSettings::default()
        })
    }
}
