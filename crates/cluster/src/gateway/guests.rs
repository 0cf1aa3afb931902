//! The clients of a gateway, as the hub sees them: what each is to get, and whether it keeps up.

use super::counters::Counters;
use super::roles::Guest;
use super::settings::ClientLimits;
use super::viewpoint::{FanOut, Viewpoint};
use axum::body::Bytes;
use client_protocol::{Answer, Area, Goodbye, ToClient};
use domain::SimTime;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Everything is told anew at most so often.
const ANEW: SimTime = SimTime(1_000_000_000);

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
    /// What it is to get.
    pub view: Viewpoint,
    behind_since: Option<SimTime>,
    /// It wants to be told everything anew; it was last.
    wants_anew: bool,
    told_anew: Option<SimTime>,
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
            view: Viewpoint::new(area, every),
            behind_since: None,
            wants_anew: false,
            told_anew: None,
        }
    }

    /// It wants to be told everything anew.
    pub fn ask_anew(&mut self) {
        self.wants_anew = true;
    }

    /// Does it want to be told everything anew, and is it time?
    pub fn begin_anew(&mut self, now: SimTime) -> bool {
        let due = self.told_anew.is_none_or(|told| now.since(told) >= ANEW);
        let begins = self.wants_anew && due;
        if begins {
            self.wants_anew = false;
            self.told_anew = Some(now);
            self.view.forget_all();
        }
        begins
    }

    /// Gives it what it is to get. Says whether it may stay.
    pub fn serve(
        &mut self,
        now: SimTime,
        fan_out: &mut FanOut,
        limits: &ClientLimits,
        counters: &Counters,
    ) -> bool {
        if let Some(since) = self.behind_since {
            if self.outbox.waiting() > limits.backlog / 4 {
                return now.since(since).as_secs() < limits.patience.as_secs_f64();
            }
            self.behind_since = None;
        }
        let greetings = self.view.greet(fan_out);
        if !greetings
            .into_iter()
            .all(|message| self.outbox.push(message))
        {
            self.fall_behind(now, counters);
            return true;
        }
        let message = self.view.next_message(fan_out);
        if message.is_some_and(|message| !self.has_room(limits) || !self.outbox.push(message)) {
            self.fall_behind(now, counters);
            return true;
        }
        // Who is behind may miss a look at the auras, but not the bodies.
        let inspection = self.view.next_inspection(fan_out);
        if inspection.is_some_and(|message| !self.has_room(limits) || !self.outbox.push(message)) {
            self.view.missed_inspection();
        }
        true
    }

    fn has_room(&self, limits: &ClientLimits) -> bool {
        self.outbox.waiting() < limits.backlog
    }

    /// It does not read fast enough: rather than let messages pile up it gets none for a while, and then everything anew.
    fn fall_behind(&mut self, now: SimTime, counters: &Counters) {
        counters.skipped.add_one();
        self.behind_since = Some(now);
        self.view.forget_all();
    }
}
