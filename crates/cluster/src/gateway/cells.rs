//! The world as clients get it: cut into cells, each a state stream of its own that all who watch it share.
//!
//! ```text
//!  replicas ─► Exporter (curves) ─► cell 0: StreamEncoder ─► bytes ─┬─► client 1, who watches 0 and 1
//!                                   cell 1: StreamEncoder ─► bytes ─┴┬► client 2, who watches 1
//!                                   …                                └ …
//! ```
//! Encoding a stream for each of 200 clients would take ten cores; encoding each cell once takes a few percent of one
//! (`docs/decisions/0010-client-stream.md`). WebSockets lose nothing and keep the order, so that all who watch a cell know the same.
//!
//! A body that crosses from one cell to the next is in both for a moment: whoever watches both never loses sight of it.

use super::replicas::{News, Replica, Replicas};
use client_protocol::{BodyEntry, Departure, Section, SectionWriter};
use domain::{BodyId, Rect};
use glam::DVec3;
use reckoning::stream::{Exporter, Flight, Source, StreamEncoder, StreamSettings, Turn};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A body changes cells only when it is so far beyond the border: one that rests on it does not flicker.
const HYSTERESIS_M: f64 = 0.5;

/// All cells of a world.
pub struct Cells {
    settings: StreamSettings,
    extent: Rect,
    counts: [u16; 2],
    cells: Vec<Cell>,
    homes: FxHashMap<BodyId, Home>,
    /// Bodies that are in two cells.
    moving: BTreeSet<BodyId>,
}

#[derive(Clone, Copy)]
struct Home {
    cell: u16,
    /// Left behind, but shown there until this frame.
    before: Option<(u16, u64)>,
}

struct Cell {
    number: u16,
    encoder: StreamEncoder,
    members: BTreeSet<BodyId>,
    entered: Vec<BodyEntry>,
    left: Vec<Departure>,
    changed: Vec<BodyId>,
    owners: Vec<BodyId>,
    contacts: Vec<(glam::Vec3, f32)>,
    /// This frame's sections.
    bytes: Vec<u8>,
    join: Option<Arc<[u8]>>,
}

impl Cells {
    /// Without bodies.
    pub fn new(settings: StreamSettings, extent: Rect, per_side: u16) -> Self {
        let per_side = per_side.clamp(1, 64);
        let cells = 0..per_side * per_side;
        Self {
            settings,
            extent,
            counts: [per_side; 2],
            cells: cells.map(|number| Cell::new(number, settings)).collect(),
            homes: FxHashMap::default(),
            moving: BTreeSet::new(),
        }
    }

    /// How many along x and z.
    pub fn counts(&self) -> [u16; 2] {
        self.counts
    }

    fn column(&self, axis: usize, value: f64) -> u16 {
        let (min, max) = (self.extent.min[axis], self.extent.max[axis]);
        let count = f64::from(self.counts[axis]);
        ((value - min) / (max - min) * count).clamp(0.0, count - 1.0) as u16
    }

    fn cell_at(&self, position: DVec3) -> u16 {
        self.column(1, position.z) * self.counts[0] + self.column(0, position.x)
    }

    /// The cells that a rectangle touches, the one nearest to its middle first.
    pub fn touched(&self, rect: &Rect) -> Vec<u16> {
        let low = [0, 1].map(|axis| self.column(axis, rect.min[axis]));
        let high = [0, 1].map(|axis| self.column(axis, rect.max[axis]));
        let middle = [0, 1].map(|axis| f64::midpoint(low[axis].into(), high[axis].into()));
        let mut cells = Vec::new();
        for z in low[1]..=high[1] {
            for x in low[0]..=high[0] {
                let off = (f64::from(x) - middle[0]).hypot(f64::from(z) - middle[1]);
                cells.push((off, z * self.counts[0] + x));
            }
        }
        cells.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        cells.into_iter().map(|(_, cell)| cell).collect()
    }

    /// The cell in which a body is now; the old one, unless it is well beyond its border.
    fn cell_of(&self, now: u16, position: DVec3) -> u16 {
        let still = [DVec3::X, DVec3::NEG_X, DVec3::Z, DVec3::NEG_Z];
        let near = |shift: &DVec3| self.cell_at(position + *shift * HYSTERESIS_M) == now;
        let next = self.cell_at(position);
        if next == now || still.iter().any(near) {
            now
        } else {
            next
        }
    }

    /// A new frame: the exporter has observed it, the news are what has changed since the last one.
    pub fn update(
        &mut self,
        frame: u64,
        exporter: &Exporter,
        replicas: &Replicas,
        news: &News,
        contacts: &[(DVec3, f32)],
    ) {
        for body in &news.gone {
            self.take_out(*body);
        }
        for body in &news.owners {
            if let Some(home) = self.homes.get(body) {
                self.cells[usize::from(home.cell)].owners.push(*body);
            }
        }
        self.settle(frame, replicas);
        for body in exporter.changed() {
            let Some(home) = self.homes.get(body) else {
                continue;
            };
            self.cells[usize::from(home.cell)].changed.push(*body);
            if let Some((before, _)) = home.before {
                self.cells[usize::from(before)].changed.push(*body);
            }
        }
        for (place, speed) in contacts {
            let cell = usize::from(self.cell_at(*place));
            self.cells[cell].contacts.push((place.as_vec3(), *speed));
        }
        for cell in &mut self.cells {
            cell.write(frame, exporter, replicas);
        }
    }

    /// Everyone into their cell.
    fn settle(&mut self, frame: u64, replicas: &Replicas) {
        for (id, replica) in replicas.iter() {
            let position = replica.motion.position;
            match self.homes.get(&id).copied() {
                None => {
                    let cell = self.cell_at(position);
                    self.homes.insert(id, Home { cell, before: None });
                    self.cells[usize::from(cell)].enter(id, replica);
                }
                Some(_) if replica.asleep => {}
                Some(home) => {
                    let cell = self.cell_of(home.cell, position);
                    if cell != home.cell {
                        self.cross(frame, id, replica, home, cell);
                    }
                }
            }
        }
        let over = self.moving.iter().copied().filter(|id| {
            let before = self.homes.get(id).and_then(|home| home.before);
            before.is_none_or(|(_, until)| frame >= until)
        });
        for id in over.collect::<Vec<_>>() {
            self.moving.remove(&id);
            let home = self.homes.get_mut(&id);
            if let Some((before, _)) = home.and_then(|home| home.before.take()) {
                self.cells[usize::from(before)].leave(id, false);
            }
        }
    }

    fn cross(&mut self, frame: u64, id: BodyId, replica: &Replica, home: Home, cell: u16) {
        // Until what is shown has reached the present, and a little longer.
        let until = frame + self.settings.delay_ticks + 3;
        match home.before {
            // Back again: it had not left.
            Some((before, _)) if before == cell => {}
            Some((before, _)) => {
                self.cells[usize::from(before)].leave(id, false);
                self.cells[usize::from(cell)].enter(id, replica);
            }
            None => self.cells[usize::from(cell)].enter(id, replica),
        }
        let before = Some((home.cell, until));
        self.homes.insert(id, Home { cell, before });
        self.moving.insert(id);
    }

    fn take_out(&mut self, id: BodyId) {
        self.moving.remove(&id);
        let Some(home) = self.homes.remove(&id) else {
            return;
        };
        self.cells[usize::from(home.cell)].leave(id, true);
        if let Some((before, _)) = home.before {
            self.cells[usize::from(before)].leave(id, true);
        }
    }

    /// What everyone who watches a cell gets in this frame.
    pub fn sections(&self, cell: u16) -> &[u8] {
        self.cells
            .get(usize::from(cell))
            .map_or(&[], |cell| &cell.bytes)
    }

    /// What someone gets who watches it from this frame on.
    pub fn join(&mut self, frame: u64, cell: u16, replicas: &Replicas) -> Option<Arc<[u8]>> {
        let cell = self.cells.get_mut(usize::from(cell))?;
        Some(cell.join(frame, replicas))
    }

    /// What someone gets who no longer watches it.
    pub fn end(cell: u16) -> SectionWriter {
        let mut writer = SectionWriter::new(cell);
        writer.push(&Section::End);
        writer
    }
}

impl Cell {
    fn new(number: u16, settings: StreamSettings) -> Self {
        Self {
            number,
            encoder: StreamEncoder::new(settings),
            members: BTreeSet::new(),
            entered: Vec::new(),
            left: Vec::new(),
            changed: Vec::new(),
            owners: Vec::new(),
            contacts: Vec::new(),
            bytes: Vec::new(),
            join: None,
        }
    }

    fn enter(&mut self, id: BodyId, replica: &Replica) {
        self.members.insert(id);
        self.encoder.enter(id);
        self.left.retain(|left| left.body != id);
        self.entered.push(entry(id, replica));
    }

    fn leave(&mut self, id: BodyId, removed: bool) {
        if self.members.remove(&id) {
            self.encoder.leave(id);
            self.left.push(Departure { body: id, removed });
        }
    }

    fn write(&mut self, frame: u64, exporter: &Exporter, replicas: &Replicas) {
        let changed = std::mem::take(&mut self.changed);
        let source = CellSource { exporter, changed };
        let packets = self.encoder.update(frame, &[&source]);
        self.encoder.acknowledge_all(frame);
        let mut writer = SectionWriter::new(self.number);
        writer.push(&Section::Entered(std::mem::take(&mut self.entered)));
        for packet in &packets {
            writer.push(&Section::Packet(packet));
        }
        writer.push(&Section::Left(std::mem::take(&mut self.left)));
        let owners = std::mem::take(&mut self.owners).into_iter();
        let owners = owners.filter_map(|id| Some((id, replicas.get(id)?.owner)));
        writer.push(&Section::Owners(owners.collect()));
        writer.push(&Section::Contacts(std::mem::take(&mut self.contacts)));
        self.bytes.clear();
        self.bytes.extend(writer.bytes());
        self.join = None;
    }

    fn join(&mut self, frame: u64, replicas: &Replicas) -> Arc<[u8]> {
        if let Some(join) = &self.join {
            return Arc::clone(join);
        }
        let (number, packets) = self.encoder.join(frame);
        let mut writer = SectionWriter::new(self.number);
        writer.push(&Section::Begin { number, frame });
        let entries = self.members.iter();
        let entries = entries.filter_map(|id| Some(entry(*id, replicas.get(*id)?)));
        writer.push(&Section::Entered(entries.collect()));
        for packet in &packets {
            writer.push(&Section::Join(packet));
        }
        let bytes: Arc<[u8]> = writer.bytes().into();
        self.join = Some(Arc::clone(&bytes));
        bytes
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
