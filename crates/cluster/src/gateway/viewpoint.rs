//! What one who watches is to get: a core without I/O, the same for a client, for a recording and for a test.
//!
//! ```text
//!  frame ─► FanOut (what all share) ─► Viewpoint 1: cells 0 and 1, every frame ─► messages
//!                                   └► Viewpoint 2: everything, every third   ─► messages
//! ```

use super::cells::Cells;
use super::replicas::Replicas;
use super::sights::{self, Sights};
use super::strain::{Interval, Strain};
use axum::body::Bytes;
use client_protocol::{Area, Inspect, Layers, begin_inspection, begin_update};
use domain::{Rect, SimTime, Tick};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// An update without news is sent every so many frames: the client sees that time goes on.
const QUIET_FRAMES: u64 = 10;

/// What all who watch a frame share.
pub struct FanOut<'a> {
    /// Its number.
    pub frame: u64,
    /// Is it a new one? Otherwise nothing happens but that those who have just come get what there is, and those who look closely are told how things are.
    pub is_new: bool,
    /// Is it time for those who look closely?
    pub is_round: bool,
    /// The tick of the frame.
    pub tick: Tick,
    /// What happens in each cell.
    pub cells: &'a mut Cells,
    /// All bodies.
    pub replicas: &'a Replicas,
    /// What regions show.
    pub sights: &'a mut Sights,
    /// World, scenery and forms, for those who know nothing.
    pub everything: Vec<Bytes>,
    /// New forms and scenery.
    pub novelties: Vec<Bytes>,
    /// To someone who has just come, cells are told until so many bytes are full; the others follow in the next frames.
    pub join_bytes: usize,
    pub(super) shared: FxHashMap<Vec<(u16, Interval)>, Bytes>,
    pub(super) inspections: FxHashMap<Layers, Option<Bytes>>,
}

/// One who watches.
pub struct Viewpoint {
    area: Area,
    /// A message every so many frames.
    every: u64,
    /// The cells it gets, and how often.
    has: BTreeMap<u16, Interval>,
    /// How much less than it wants.
    strain: Strain,
    /// What it gets with the next message.
    held: Vec<u8>,
    held_frames: u64,
    /// It must be told everything.
    blank: bool,
    inspect: Inspect,
    /// It has been told of all bodies' ownership.
    knows_bodies: bool,
}

impl Viewpoint {
    /// Someone who has just come and knows nothing.
    pub fn new(area: Area, every: u64) -> Self {
        Self {
            area,
            every: every.max(1),
            has: BTreeMap::new(),
            strain: Strain::default(),
            held: Vec::new(),
            held_frames: 0,
            blank: true,
            inspect: Inspect::default(),
            knows_bodies: false,
        }
    }

    /// The same with so many messages per second, of so many frames; 0: with every frame.
    pub fn at_rate(area: Area, rate: u8, frames_per_sec: f64) -> Self {
        let every = match rate {
            0 => 1,
            rate => (frames_per_sec / f64::from(rate)).round().max(1.0) as u64,
        };
        Self::new(area, every)
    }

    /// Must it be told everything?
    pub fn is_blank(&self) -> bool {
        self.blank
    }

    /// It wants to see something else.
    pub fn watch(&mut self, area: Area) {
        self.area = area;
    }

    /// Is there more for it than it takes? What is far from the middle of its area then comes less often.
    pub fn observe_strain(&mut self, now: SimTime, is_pressed: bool) {
        self.strain.observe(now, is_pressed);
    }

    /// How much less than it wants it gets.
    pub fn strain(&self) -> &Strain {
        &self.strain
    }

    /// Does it get any cell yet?
    pub fn has_cells(&self) -> bool {
        !self.has.is_empty()
    }

    /// It wants to look closely.
    pub fn inspect(&mut self, inspect: Inspect) {
        self.knows_bodies &= inspect.layers.contains(Layers::BODIES);
        self.inspect = inspect;
    }

    /// What it looks at closely.
    pub fn layers(&self) -> Layers {
        self.inspect.layers
    }

    /// What it knew is worth nothing.
    pub fn forget_all(&mut self) {
        self.blank = true;
        self.has.clear();
        self.held.clear();
        self.knows_bodies = false;
    }

    /// An inspection did not reach it.
    pub fn missed_inspection(&mut self) {
        self.knows_bodies = false;
    }

    /// What does not belong to a frame.
    pub fn greet(&mut self, fan_out: &FanOut) -> Vec<Bytes> {
        if std::mem::take(&mut self.blank) {
            fan_out.everything.clone()
        } else {
            fan_out.novelties.clone()
        }
    }

    /// What has happened, if it is to be told now.
    pub fn next_message(&mut self, fan_out: &mut FanOut) -> Option<Bytes> {
        let wanted = self.wanted(fan_out.cells);
        let gets = |(cell, interval): &(u16, Interval)| self.has.get(cell) == Some(interval);
        let is_settled = wanted.len() == self.has.len() && wanted.iter().all(gets);
        if is_settled && self.every == 1 {
            return self.shared_message(fan_out);
        }
        self.gather(&wanted, fan_out);
        self.held_frames += u64::from(fan_out.is_new);
        let due = match self.held.is_empty() {
            true => self.held_frames >= QUIET_FRAMES.max(self.every),
            false => self.held_frames >= self.every || !is_settled,
        };
        due.then(|| {
            self.held_frames = 0;
            let mut message = begin_update(fan_out.frame);
            message.append(&mut self.held);
            message.into()
        })
    }

    /// What it looks at closely, if it is to be told now.
    pub fn next_inspection(&mut self, fan_out: &mut FanOut) -> Option<Bytes> {
        let Inspect { layers, picked } = &self.inspect;
        if layers.is_empty() || !fan_out.is_new && !fan_out.is_round {
            return None;
        }
        let wants_truth = layers.contains(Layers::TRUTH) && !picked.is_empty();
        let anew = !self.knows_bodies && layers.contains(Layers::BODIES);
        let told = fan_out.is_round.then(|| {
            if anew {
                let message = fan_out.sights.message(fan_out.frame, *layers, true);
                self.knows_bodies = true;
                return message.map(Bytes::from);
            }
            let shared = fan_out.inspections.entry(*layers).or_insert_with(|| {
                let message = fan_out.sights.message(fan_out.frame, *layers, false);
                message.map(Bytes::from)
            });
            shared.clone()
        });
        let told = told.flatten();
        if !wants_truth {
            return told;
        }
        let mut message =
            told.map_or_else(|| begin_inspection(fan_out.frame), |told| told.to_vec());
        message.extend(sights::truth(picked, fan_out.replicas, fan_out.tick));
        Some(message.into())
    }

    /// Everyone who watches the same cells gets the same bytes.
    fn shared_message(&mut self, fan_out: &mut FanOut) -> Option<Bytes> {
        if !fan_out.is_new {
            return None;
        }
        let key: Vec<_> = self.has.iter().map(|(cell, it)| (*cell, *it)).collect();
        let (cells, frame) = (&mut *fan_out.cells, fan_out.frame);
        let message = fan_out.shared.entry(key).or_insert_with_key(|key| {
            let mut message = begin_update(frame);
            key.iter()
                .for_each(|(cell, interval)| message.extend(cells.sections(*cell, *interval)));
            message.into()
        });
        let empty = message.len() == begin_update(frame).len();
        let quiet = empty && !frame.is_multiple_of(QUIET_FRAMES);
        (!quiet).then(|| message.clone())
    }

    fn gather(&mut self, wanted: &[(u16, Interval)], fan_out: &mut FanOut) {
        let mut changes = Vec::new();
        for (cell, interval) in wanted {
            match self.has.get(cell).copied() {
                Some(now) if now == *interval => self.hold(fan_out, *cell, now),
                now => changes.push((*cell, *interval, now)),
            }
        }
        // The nearest first. New ones before old ones end: a body that is in an old and in a new cell stays in sight.
        let mut joined = 0;
        for (cell, interval, now) in changes {
            let join = match joined > fan_out.join_bytes {
                true => None,
                false => fan_out
                    .cells
                    .join(fan_out.frame, cell, interval, fan_out.replicas),
            };
            match (join, now) {
                (Some(bytes), _) => {
                    joined += bytes.len();
                    self.held.extend(&bytes[..]);
                    self.has.insert(cell, interval);
                }
                // Until then as before.
                (None, Some(now)) => self.hold(fan_out, cell, now),
                (None, None) => {}
            }
        }
        let is_wanted = |cell: &u16| wanted.iter().any(|(other, _)| other == cell);
        let held = &mut self.held;
        self.has.retain(|cell, _| {
            let stays = is_wanted(cell);
            if !stays {
                held.extend(Cells::end(*cell).bytes());
            }
            stays
        });
    }

    fn hold(&mut self, fan_out: &mut FanOut, cell: u16, interval: Interval) {
        let sections = fan_out.cells.sections(cell, interval);
        if fan_out.is_new {
            self.held.extend(sections);
        }
    }

    /// The cells it is to get and how often, the most wanted first.
    fn wanted(&self, cells: &Cells) -> Vec<(u16, Interval)> {
        let touched = match &self.area {
            Area::Nothing => Vec::new(),
            Area::Everything => cells.touched(&Rect::EVERYWHERE),
            Area::Rect(rect) => cells.touched(rect),
        };
        let count = touched.len();
        let with_interval = |(place, cell)| Some((cell, self.strain.interval(place, count)?));
        let places = touched.into_iter().enumerate();
        places.filter_map(with_interval).collect()
    }
}
