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
//!
//! For those who cannot take everything a cell has further streams, told with every second or fourth frame; they exist while someone gets them.

use super::cell_stream::CellStream;
use super::replicas::{News, Replica, Replicas};
use super::strain::Interval;
use client_protocol::{Section, SectionWriter};
use domain::{BodyId, Rect};
use glam::DVec3;
use reckoning::stream::{Exporter, StreamSettings};
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
    members: BTreeSet<BodyId>,
    /// One for each interval; all but the first only while someone gets them.
    streams: [Option<CellStream>; Interval::ALL.len()],
    /// Someone would like to get them so.
    wanted: [bool; Interval::ALL.len()],
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
        let middle = [0, 1].map(|axis| self.middle(axis, rect));
        let mut cells = Vec::new();
        for z in low[1]..=high[1] {
            for x in low[0]..=high[0] {
                let off = [x, z].map(|number| f64::from(number) + 0.5);
                let off = (off[0] - middle[0]).hypot(off[1] - middle[1]);
                cells.push((off, z * self.counts[0] + x));
            }
        }
        cells.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        cells.into_iter().map(|(_, cell)| cell).collect()
    }

    /// The middle of what a rectangle has of the world, in cells.
    fn middle(&self, axis: usize, rect: &Rect) -> f64 {
        let (min, max) = (self.extent.min[axis], self.extent.max[axis]);
        let inside = |value: f64| (value.clamp(min, max) - min) / (max - min);
        f64::midpoint(inside(rect.min[axis]), inside(rect.max[axis])) * f64::from(self.counts[axis])
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
                self.cells[usize::from(home.cell)].tell(|stream| stream.change_owner(*body));
            }
        }
        self.settle(frame, replicas);
        for body in exporter.changed() {
            let Some(home) = self.homes.get(body) else {
                continue;
            };
            self.cells[usize::from(home.cell)].tell(|stream| stream.change(*body));
            if let Some((before, _)) = home.before {
                self.cells[usize::from(before)].tell(|stream| stream.change(*body));
            }
        }
        for (place, speed) in contacts {
            let cell = usize::from(self.cell_at(*place));
            self.cells[cell].tell(|stream| stream.add_contact(place.as_vec3(), *speed));
        }
        for cell in &mut self.cells {
            cell.make_wanted(self.settings, replicas);
            cell.tell(|stream| stream.write(frame, exporter, replicas));
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

    /// What everyone who gets a cell at this interval gets with this frame.
    pub fn sections(&mut self, cell: u16, interval: Interval) -> &[u8] {
        let cell = self.cells.get_mut(usize::from(cell));
        let stream = cell.and_then(|cell| cell.streams[interval as usize].as_mut());
        stream.map_or(&[], |stream| {
            stream.is_watched = true;
            stream.sections()
        })
    }

    /// What someone gets who gets it so from this frame on. `None`: not now, but soon, with one of the next frames.
    pub fn join(
        &mut self,
        frame: u64,
        cell: u16,
        interval: Interval,
        replicas: &Replicas,
    ) -> Option<Arc<[u8]>> {
        let cell = self.cells.get_mut(usize::from(cell))?;
        cell.wanted[interval as usize] = true;
        let stream = cell.streams[interval as usize].as_mut()?;
        stream.is_watched = true;
        stream.join(frame, &cell.members, replicas)
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
        let every = CellStream::new(number, Interval::Every, settings);
        Self {
            number,
            members: BTreeSet::new(),
            streams: [Some(every), None, None],
            wanted: [false; Interval::ALL.len()],
        }
    }

    fn tell(&mut self, what: impl FnMut(&mut CellStream)) {
        self.streams.iter_mut().flatten().for_each(what);
    }

    fn enter(&mut self, id: BodyId, replica: &Replica) {
        self.members.insert(id);
        self.tell(|stream| stream.enter(id, replica));
    }

    fn leave(&mut self, id: BodyId, removed: bool) {
        if self.members.remove(&id) {
            self.tell(|stream| stream.leave(id, removed));
        }
    }

    /// Streams that someone would like to get begin, those that nobody gets any more end; the first one is always there.
    fn make_wanted(&mut self, settings: StreamSettings, replicas: &Replicas) {
        for interval in &Interval::ALL[1..] {
            let wanted = std::mem::take(&mut self.wanted[*interval as usize]);
            let stream = &mut self.streams[*interval as usize];
            let watched = stream
                .as_mut()
                .is_some_and(|stream| std::mem::take(&mut stream.is_watched));
            if !wanted && !watched {
                *stream = None;
            } else if stream.is_none() {
                let mut new = CellStream::new(self.number, *interval, settings);
                for id in &self.members {
                    if let Some(replica) = replicas.get(*id) {
                        new.enter(*id, replica);
                    }
                }
                *stream = Some(new);
            }
        }
    }
}
