//! One cell as it is told with every frame, or with every second or fourth: a state stream that all who get it so share.

use super::replicas::{Replica, Replicas};
use super::strain::Interval;
use client_protocol::{BodyEntry, Departure, Section, SectionWriter};
use domain::BodyId;
use reckoning::stream::{Exporter, Flight, Source, StreamEncoder, StreamSettings, Turn};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The stream and what it has not told yet.
pub struct CellStream {
    cell: u16,
    interval: Interval,
    encoder: StreamEncoder,
    entered: Vec<BodyEntry>,
    left: Vec<Departure>,
    changed: BTreeSet<BodyId>,
    owners: Vec<BodyId>,
    contacts: Vec<(glam::Vec3, f32)>,
    /// It is told again with this frame or the first after it.
    due: u64,
    /// The last frame with which it was told.
    written: Option<u64>,
    /// That frame's sections; none for frames between.
    bytes: Vec<u8>,
    join: Option<Arc<[u8]>>,
    /// Does anyone get it?
    pub is_watched: bool,
}

impl CellStream {
    /// Without bodies; first told with the next frame.
    pub fn new(cell: u16, interval: Interval, settings: StreamSettings) -> Self {
        Self {
            cell,
            interval,
            encoder: StreamEncoder::new(settings),
            entered: Vec::new(),
            left: Vec::new(),
            changed: BTreeSet::new(),
            owners: Vec::new(),
            contacts: Vec::new(),
            due: 0,
            written: None,
            bytes: Vec::new(),
            join: None,
            is_watched: true,
        }
    }

    pub fn enter(&mut self, id: BodyId, replica: &Replica) {
        self.encoder.enter(id);
        self.left.retain(|left| left.body != id);
        self.entered.push(entry(id, replica));
    }

    pub fn leave(&mut self, id: BodyId, removed: bool) {
        self.encoder.leave(id);
        self.entered.retain(|entered| entered.body != id);
        self.left.push(Departure { body: id, removed });
    }

    pub fn change(&mut self, id: BodyId) {
        self.changed.insert(id);
    }

    pub fn change_owner(&mut self, id: BodyId) {
        self.owners.push(id);
    }

    /// Contacts are told at once or not at all: later nobody wants to hear the bang.
    pub fn add_contact(&mut self, place: glam::Vec3, speed: f32) {
        if self.interval == Interval::Every {
            self.contacts.push((place, speed));
        }
    }

    /// A new frame.
    pub fn write(&mut self, frame: u64, exporter: &Exporter, replicas: &Replicas) {
        self.bytes.clear();
        self.join = None;
        if frame < self.due {
            return;
        }
        // Cells take turns, so that frames have about the same size.
        let turn = match self.written {
            None => u64::from(self.cell) % self.interval.frames() + 1,
            Some(_) => self.interval.frames(),
        };
        self.due = frame + turn;
        self.written = Some(frame);
        let changed = std::mem::take(&mut self.changed).into_iter().collect();
        let source = CellSource { exporter, changed };
        let packets = self.encoder.update(frame, &[&source]);
        self.encoder.acknowledge_all(frame);
        let mut writer = SectionWriter::new(self.cell);
        writer.push(&Section::Entered(std::mem::take(&mut self.entered)));
        for packet in &packets {
            writer.push(&Section::Packet(packet));
        }
        writer.push(&Section::Left(std::mem::take(&mut self.left)));
        let owners = std::mem::take(&mut self.owners).into_iter();
        let owners = owners.filter_map(|id| Some((id, replicas.get(id)?.owner)));
        writer.push(&Section::Owners(owners.collect()));
        writer.push(&Section::Contacts(std::mem::take(&mut self.contacts)));
        self.bytes.extend(writer.bytes());
    }

    /// What everyone who gets it so gets with this frame.
    pub fn sections(&self) -> &[u8] {
        &self.bytes
    }

    /// What someone gets who gets it from this frame on. `None`: it was not told with this frame, so that nobody can join now.
    pub fn join(
        &mut self,
        frame: u64,
        members: &BTreeSet<BodyId>,
        replicas: &Replicas,
    ) -> Option<Arc<[u8]>> {
        if self.written != Some(frame) {
            return None;
        }
        if let Some(join) = &self.join {
            return Some(Arc::clone(join));
        }
        let (number, packets) = self.encoder.join(frame);
        let mut writer = SectionWriter::new(self.cell);
        writer.push(&Section::Begin { number, frame });
        let entries = members.iter();
        let entries = entries.filter_map(|id| Some(entry(*id, replicas.get(*id)?)));
        writer.push(&Section::Entered(entries.collect()));
        for packet in &packets {
            writer.push(&Section::Join(packet));
        }
        let bytes: Arc<[u8]> = writer.bytes().into();
        self.join = Some(Arc::clone(&bytes));
        Some(bytes)
    }
}

fn entry(body: BodyId, replica: &Replica) -> BodyEntry {
    BodyEntry {
        body,
        form: replica.form,
        owner: replica.owner,
    }
}

/// The exporter's curves, with the news of one cell only: looking through all news for each cell would cost more than encoding.
struct CellSource<'a> {
    exporter: &'a Exporter,
    changed: Vec<BodyId>,
}

impl Source for CellSource<'_> {
    fn curves(&self, id: BodyId) -> Option<(&Flight, &Turn)> {
        self.exporter.body(id)?.curves()
    }

    fn changed(&self) -> &[BodyId] {
        &self.changed
    }

    fn arrived(&self) -> &[BodyId] {
        &[]
    }

    fn gone(&self) -> &[BodyId] {
        &[]
    }
}
