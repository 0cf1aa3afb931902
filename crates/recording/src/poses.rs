//! A track out of poses, for whoever knows where bodies are but has no gateway: experiments, other simulations.
//!
//! ```text
//!  poses of a frame ─► curves (Exporter) ─► one cell (StreamEncoder) ─► messages ─► Writer
//! ```

use crate::writer::{TrackId, WriteError, Writer};
use client_protocol::{
    BodyEntry, Departure, FormEntry, Piece, RegionMark, Section, SectionWriter, ToClient, Welcome,
    WorldMessage, begin_update,
};
use domain::{BodyId, Motion, Rect, RegionId, Shape, SimTime, TickLength};
use glam::DVec3;
use reckoning::stream::{Exporter, Sample, StreamEncoder, StreamSettings};
use std::collections::BTreeMap;
use std::io::Write;

/// The world that a track shows.
#[derive(Clone, Debug)]
pub struct PoseSettings {
    /// What people call it.
    pub name: String,
    /// The time from one frame to the next.
    pub frame: TickLength,
    /// m/s²; what bodies do between two poses is guessed with it.
    pub gravity: DVec3,
    /// The part of the ground plane to look at.
    pub extent: Rect,
    /// Who owns bodies: a name and a place on the ground for each owner number.
    pub owners: Vec<RegionMark>,
    /// What stands there.
    pub scenery: Vec<Piece>,
    /// How far from its pose a body may be shown, in the unit of length.
    pub tolerance_m: f32,
    /// Everything is told anew every so many frames.
    pub key_frames: u64,
    /// The header's start.
    pub start: u64,
}

/// Where a body is in a frame.
#[derive(Clone, Debug)]
pub struct Pose {
    /// Which.
    pub body: BodyId,
    /// Whose.
    pub owner: RegionId,
    /// Where, and how it moves.
    pub motion: Motion,
    /// Its shape; that of its first frame counts.
    pub shape: Shape,
}

struct Known {
    form: u32,
    owner: RegionId,
}

/// A track that is fed with poses, frame by frame.
pub struct PoseTrack {
    track: TrackId,
    settings: PoseSettings,
    stream: StreamSettings,
    exporter: Exporter,
    encoder: StreamEncoder,
    known: BTreeMap<BodyId, Known>,
    forms: Vec<Shape>,
    frame: Option<u64>,
    told: Option<u64>,
}

/// How many frames behind the newest one the world is shown: curves are chosen when what they describe has happened.
const DELAY_FRAMES: u64 = 1;
const PACKET_BYTES: usize = 60_000;
const CELL: u16 = 0;

impl PoseTrack {
    /// Begins a track.
    pub fn new<W: Write>(
        writer: &mut Writer<W>,
        name: &str,
        settings: PoseSettings,
    ) -> Result<Self, WriteError> {
        let stream = StreamSettings {
            tick: settings.frame,
            gravity: settings.gravity,
            update_ticks: 1,
            delay_ticks: DELAY_FRAMES,
            tolerance_m: settings.tolerance_m.into(),
            max_packet_bytes: PACKET_BYTES,
            ..StreamSettings::default()
        };
        Ok(Self {
            track: writer.track(name)?,
            settings,
            stream,
            exporter: Exporter::new(stream),
            encoder: StreamEncoder::new(stream),
            known: BTreeMap::new(),
            forms: Vec::new(),
            frame: None,
            told: None,
        })
    }

    /// Its number, for notes.
    pub fn id(&self) -> TrackId {
        self.track
    }

    /// The next frame: all bodies there are. The first one is frame 0, at the recording's start.
    pub fn frame<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        poses: &[Pose],
    ) -> Result<(), WriteError> {
        let number = self.frame.map_or(0, |frame| frame + 1);
        self.frame = Some(number);
        let time = (number as f64 * self.settings.frame.as_secs() * 1e9).round() as u64;
        let samples = poses.iter().map(|pose| Sample {
            id: pose.body,
            motion: pose.motion,
            asleep: false,
        });
        self.exporter.observe(number, samples);
        let forms_before = self.forms.len();
        let (entered, left, owners) = self.compare(poses);
        let packets = self.encoder.update(number, &[&self.exporter]);
        self.encoder.acknowledge_all(number);
        let due = self
            .told
            .is_none_or(|told| number - told >= self.settings.key_frames.max(1));
        if due {
            self.told = Some(number);
            let messages = self.everything(number);
            return writer.key(self.track, time, &messages);
        }
        let mut messages = Vec::new();
        if self.forms.len() > forms_before {
            messages.push(self.forms_from(forms_before));
        }
        let mut section = SectionWriter::new(CELL);
        section.push(&Section::Entered(entered));
        for packet in &packets {
            section.push(&Section::Packet(packet));
        }
        section.push(&Section::Left(left));
        section.push(&Section::Owners(owners));
        let mut update = begin_update(number);
        update.extend(section.bytes());
        messages.push(update);
        writer.messages(self.track, time, &messages)
    }

    /// Who has come, gone, or has another owner.
    #[allow(clippy::type_complexity)]
    fn compare(
        &mut self,
        poses: &[Pose],
    ) -> (Vec<BodyEntry>, Vec<Departure>, Vec<(BodyId, RegionId)>) {
        let (mut entered, mut owners) = (Vec::new(), Vec::new());
        for pose in poses {
            let (body, owner) = (pose.body, pose.owner);
            match self.known.get_mut(&body) {
                None => {
                    let form = self.form(&pose.shape);
                    self.known.insert(body, Known { form, owner });
                    self.encoder.enter(body);
                    entered.push(BodyEntry { body, form, owner });
                }
                Some(known) if known.owner != owner => {
                    known.owner = owner;
                    owners.push((body, owner));
                }
                Some(_) => {}
            }
        }
        let here: std::collections::BTreeSet<BodyId> = poses.iter().map(|pose| pose.body).collect();
        let gone = self.known.keys().copied().filter(|id| !here.contains(id));
        let gone: Vec<BodyId> = gone.collect();
        let left = gone.into_iter().map(|body| {
            self.known.remove(&body);
            self.encoder.leave(body);
            Departure {
                body,
                removed: true,
            }
        });
        (entered, left.collect(), owners)
    }

    fn form(&mut self, shape: &Shape) -> u32 {
        let known = self.forms.iter().position(|other| other == shape);
        known.unwrap_or_else(|| {
            self.forms.push(shape.clone());
            self.forms.len() - 1
        }) as u32
    }

    fn forms_from(&self, first: usize) -> Vec<u8> {
        let forms = self.forms.iter().enumerate().skip(first);
        let forms = forms.map(|(number, shape)| FormEntry {
            number: number as u32,
            shape: shape.clone(),
        });
        ToClient::Forms(forms.collect()).encode()
    }

    fn everything(&self, number: u64) -> Vec<Vec<u8>> {
        let settings = &self.settings;
        let welcome = Welcome {
            version: client_protocol::VERSION,
            session: 0,
            role: 0,
            clock: SimTime(settings.start),
            tick: settings.frame,
            frame_ticks: 1,
            delay_frames: DELAY_FRAMES as u8,
            tolerance_m: settings.tolerance_m,
            tolerance_rad: self.stream.tolerance_rad as f32,
        };
        let world = WorldMessage {
            generation: 1,
            start: SimTime(settings.start),
            name: settings.name.clone(),
            gravity: settings.gravity,
            fastest: 0.0,
            extent: settings.extent,
            cells: [1, 1],
            regions: settings.owners.clone(),
        };
        let (packet, packets) = self.encoder.join(number);
        let mut section = SectionWriter::new(CELL);
        section.push(&Section::Begin {
            number: packet,
            frame: number,
        });
        let entries = self.known.iter().map(|(body, known)| BodyEntry {
            body: *body,
            form: known.form,
            owner: known.owner,
        });
        section.push(&Section::Entered(entries.collect()));
        for packet in &packets {
            section.push(&Section::Join(packet));
        }
        let mut update = begin_update(number);
        update.extend(section.bytes());
        vec![
            ToClient::Welcome(welcome).encode(),
            ToClient::World(world).encode(),
            ToClient::Statics(settings.scenery.clone()).encode(),
            self.forms_from(0),
            update,
        ]
    }
}
