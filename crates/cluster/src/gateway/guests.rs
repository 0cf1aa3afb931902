//! The clients of a gateway, as the hub sees them: what each is to get, and whether it keeps up.

use super::cells::Cells;
use super::counters::Counters;
use super::replicas::Replicas;
use super::roles::Guest;
use super::settings::ClientLimits;
use axum::body::Bytes;
use client_protocol::{Answer, Area, Goodbye, ToClient, begin_update};
use domain::{Rect, SimTime};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// To someone who has just come, cells are told until so many bytes are full; the others follow in the next frames.
const JOIN_BYTES: usize = 512 * 1024;
/// An update without news is sent every so many frames: the client sees that time goes on.
const QUIET_FRAMES: u64 = 10;

/// What goes to a client.
#[derive(Debug)]
pub enum Out {
    /// A message.
    Message(Bytes),
    /// The last one.
    Goodbye(Goodbye, String),
}

/// The way to a client's writer.
#[derive(Clone, Debug)]
pub struct Outbox {
    queue: mpsc::Sender<Out>,
    /// Commands that are not answered yet.
    outstanding: Arc<AtomicU32>,
    counters: Arc<Counters>,
}

impl Outbox {
    /// With room for updates, and for as many answers as may be outstanding.
    pub fn new(limits: &ClientLimits, counters: Arc<Counters>) -> (Self, mpsc::Receiver<Out>) {
        let room = limits.backlog.max(1) + limits.outstanding as usize;
        let (queue, receiver) = mpsc::channel(room);
        let outbox = Self {
            queue,
            outstanding: Arc::default(),
            counters,
        };
        (outbox, receiver)
    }

    /// How many messages wait.
    pub fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Puts a message into the queue; says whether there was room.
    pub fn push(&self, message: Bytes) -> bool {
        let bytes = message.len() as u64;
        match self.queue.try_send(Out::Message(message)) {
            Ok(()) => {
                self.counters.bytes_to_clients.add(bytes);
                self.counters.messages_to_clients.add_one();
                true
            }
            // A client that has gone needs nothing.
            Err(TrySendError::Closed(_)) => true,
            Err(TrySendError::Full(_)) => false,
        }
    }

    /// The last message.
    pub fn say_goodbye(&self, reason: Goodbye, text: &str) {
        // If there is no room the connection ends without a word.
        let _ = self.queue.try_send(Out::Goodbye(reason, text.to_owned()));
    }

    /// May it give one more command?
    pub fn begin_command(&self, most: u32) -> bool {
        let begin = |count: u32| (count < most).then_some(count + 1);
        self.outstanding
            .fetch_update(Relaxed, Relaxed, begin)
            .is_ok()
    }

    /// Answers a command.
    pub fn answer(&self, id: u32, answer: Answer) {
        self.outstanding.fetch_sub(1, Relaxed);
        self.push(ToClient::Answer { id, answer }.encode().into());
    }
}

/// One client.
pub struct Client {
    /// Who.
    pub guest: Guest,
    /// The way to it.
    pub outbox: Outbox,
    area: Area,
    /// A message every so many frames.
    every: u64,
    has: BTreeSet<u16>,
    /// What it gets with the next message.
    held: Vec<u8>,
    held_frames: u64,
    behind_since: Option<SimTime>,
    /// It must be told everything.
    blank: bool,
}

/// What all clients of a frame share.
pub struct FanOut<'a> {
    pub frame: u64,
    /// Is it a new one? Otherwise nothing happens but that clients who have just come get what there is.
    pub is_new: bool,
    pub cells: &'a mut Cells,
    pub replicas: &'a Replicas,
    /// World, scenery and forms, for those who know nothing.
    pub everything: Vec<Bytes>,
    /// New forms and scenery.
    pub novelties: Vec<Bytes>,
    pub limits: &'a ClientLimits,
    pub counters: &'a Counters,
    shared: FxHashMap<Vec<u16>, Bytes>,
}

impl<'a> FanOut<'a> {
    /// Of a frame.
    pub fn new(
        frame: u64,
        is_new: bool,
        (cells, replicas): (&'a mut Cells, &'a Replicas),
        limits: &'a ClientLimits,
        counters: &'a Counters,
    ) -> Self {
        Self {
            frame,
            is_new,
            cells,
            replicas,
            everything: Vec::new(),
            novelties: Vec::new(),
            limits,
            counters,
            shared: FxHashMap::default(),
        }
    }
}

impl Client {
    /// Someone who has just come and knows nothing.
    pub fn new(guest: Guest, outbox: Outbox, area: Area, rate: u8, frames_per_sec: f64) -> Self {
        let every = match rate {
            0 => 1,
            rate => (frames_per_sec / f64::from(rate)).round().max(1.0) as u64,
        };
        Self {
            guest,
            outbox,
            area,
            every,
            has: BTreeSet::new(),
            held: Vec::new(),
            held_frames: 0,
            behind_since: None,
            blank: true,
        }
    }

    /// Must it be told everything?
    pub fn is_blank(&self) -> bool {
        self.blank
    }

    /// It wants to see something else.
    pub fn watch(&mut self, area: Area) {
        self.area = area;
    }

    /// There is another world: what it knew is worth nothing.
    pub fn forget_all(&mut self) {
        self.blank = true;
        self.has.clear();
        self.held.clear();
    }

    /// Gives it what it is to get. Says whether it may stay.
    pub fn serve(&mut self, now: SimTime, fan_out: &mut FanOut) -> bool {
        if self.behind_since.is_some() && !self.has_caught_up(now, fan_out) {
            let since = self.behind_since.unwrap_or(now);
            return now.since(since).as_secs() < fan_out.limits.patience.as_secs_f64();
        }
        if !self.greet(fan_out) {
            self.fall_behind(now, fan_out.counters);
            return true;
        }
        let message = self.next_message(fan_out);
        let room = self.outbox.waiting() < fan_out.limits.backlog;
        if message.is_some_and(|message| !room || !self.outbox.push(message)) {
            self.fall_behind(now, fan_out.counters);
        }
        true
    }

    fn has_caught_up(&mut self, _now: SimTime, fan_out: &FanOut) -> bool {
        let caught_up = self.outbox.waiting() <= fan_out.limits.backlog / 4;
        if caught_up {
            self.behind_since = None;
        }
        caught_up
    }

    /// It does not read fast enough: rather than let messages pile up it gets none for a while, and then everything anew.
    fn fall_behind(&mut self, now: SimTime, counters: &Counters) {
        counters.skipped.add_one();
        self.behind_since = Some(now);
        self.forget_all();
    }

    /// What does not belong to a frame.
    fn greet(&mut self, fan_out: &FanOut) -> bool {
        if std::mem::take(&mut self.blank) {
            let all = fan_out.everything.iter();
            return all.cloned().all(|message| self.outbox.push(message));
        }
        let all = fan_out.novelties.iter();
        all.cloned().all(|message| self.outbox.push(message))
    }

    fn next_message(&mut self, fan_out: &mut FanOut) -> Option<Bytes> {
        let wanted = self.wanted(fan_out.cells);
        let is_settled =
            wanted.len() == self.has.len() && wanted.iter().all(|cell| self.has.contains(cell));
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

    /// Everyone who watches the same cells gets the same bytes.
    fn shared_message(&mut self, fan_out: &mut FanOut) -> Option<Bytes> {
        if !fan_out.is_new {
            return None;
        }
        let key: Vec<u16> = self.has.iter().copied().collect();
        let (cells, frame) = (&*fan_out.cells, fan_out.frame);
        let message = fan_out.shared.entry(key).or_insert_with_key(|key| {
            let mut message = begin_update(frame);
            key.iter()
                .for_each(|cell| message.extend(cells.sections(*cell)));
            message.into()
        });
        let empty = message.len() == begin_update(frame).len();
        let quiet = empty && !frame.is_multiple_of(QUIET_FRAMES);
        (!quiet).then(|| message.clone())
    }

    fn gather(&mut self, wanted: &[u16], fan_out: &mut FanOut) {
        let unwanted = self.has.iter().copied();
        let unwanted: Vec<u16> = unwanted.filter(|cell| !wanted.contains(cell)).collect();
        if fan_out.is_new {
            for cell in self.has.iter().filter(|cell| wanted.contains(cell)) {
                self.held.extend(fan_out.cells.sections(*cell));
            }
        }
        // New ones first: a body that is in an old and in a new cell stays in sight.
        for cell in wanted {
            if self.held.len() > JOIN_BYTES {
                break;
            }
            if self.has.contains(cell) {
                continue;
            }
            if let Some(bytes) = fan_out.cells.join(fan_out.frame, *cell, fan_out.replicas) {
                self.held.extend(&bytes[..]);
                self.has.insert(*cell);
            }
        }
        for cell in unwanted {
            self.held.extend(Cells::end(cell).bytes());
            self.has.remove(&cell);
        }
    }

    /// The cells it wants, the most wanted first.
    fn wanted(&self, cells: &Cells) -> Vec<u16> {
        match &self.area {
            Area::Nothing => Vec::new(),
            Area::Everything => cells.touched(&Rect::EVERYWHERE),
            Area::Rect(rect) => cells.touched(rect),
        }
    }
}
