//! The clients of a gateway, as the hub sees them: what each is to get, and whether it keeps up.

use super::bucket::Bucket;
use super::counters::Counters;
use super::roles::Guest;
use super::settings::ClientLimits;
use super::viewpoint::{FanOut, Viewpoint};
use axum::body::Bytes;
use client_protocol::{Answer, Goodbye, ToClient};
use domain::SimTime;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};

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
    /// The connection must end, and there is no room to say why.
    end: Arc<Notify>,
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
            end: Arc::default(),
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
        let goodbye = Out::Goodbye(reason, text.to_owned());
        if let Err(TrySendError::Full(_)) = self.queue.try_send(goodbye) {
            // Who has not read all that would not read this either: the connection ends without a word.
            self.end.notify_one();
        }
    }

    /// Returns when the connection must end without a goodbye.
    pub async fn must_end(&self) {
        self.end.notified().await;
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
    /// Rays and overlaps it may still ask.
    pub queries: Bucket,
    behind_since: Option<SimTime>,
    /// World, scenery and forms for which its queue had no room yet, and since when.
    greetings: VecDeque<Bytes>,
    greeting_since: SimTime,
    /// Bytes of updates it may still get.
    budget: Bucket,
    /// It wants to be told everything anew; it was last.
    wants_anew: bool,
    told_anew: Option<SimTime>,
}

impl Client {
    /// Someone who has just come and knows nothing.
    pub fn new(
        now: SimTime,
        guest: Guest,
        outbox: Outbox,
        view: Viewpoint,
        limits: &ClientLimits,
    ) -> Self {
        Self {
            guest,
            outbox,
            view,
            queries: Bucket::new(limits.queries_per_sec, now),
            behind_since: None,
            greetings: VecDeque::new(),
            greeting_since: now,
            budget: Bucket::new(limits.update_bytes_per_sec, now),
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
            self.forget_all();
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
        self.greetings.extend(greetings);
        if !self.push_greetings(now, limits) {
            if !self.view.has_cells() {
                // It gets no updates before it has these: they can wait.
                return now.since(self.greeting_since).as_secs() < limits.patience.as_secs_f64();
            }
            self.fall_behind(now, counters);
            return true;
        }
        let waits = self.outbox.waiting() > (limits.backlog / 8).max(1);
        let is_pressed = waits || self.budget.is_overdrawn(now);
        self.view.observe_strain(now, is_pressed);
        if let Some(message) = self.view.next_message(fan_out) {
            self.budget.spend(now, message.len() as f64);
            if !self.has_room(limits) || !self.outbox.push(message) {
                self.fall_behind(now, counters);
                return true;
            }
        }
        // Who is behind may miss a look at the auras, but not the bodies.
        let inspection = self.view.next_inspection(fan_out);
        if inspection.is_some_and(|message| !self.has_room(limits) || !self.outbox.push(message)) {
            self.view.missed_inspection();
        }
        true
    }

    /// Says whether all of them are in the queue. As long as some go, it reads.
    fn push_greetings(&mut self, now: SimTime, limits: &ClientLimits) -> bool {
        while let Some(message) = self.greetings.front() {
            if !self.has_room(limits) || !self.outbox.push(message.clone()) {
                return false;
            }
            self.greetings.pop_front();
            self.greeting_since = now;
        }
        self.greeting_since = now;
        true
    }

    fn has_room(&self, limits: &ClientLimits) -> bool {
        self.outbox.waiting() < limits.backlog
    }

    /// It does not read fast enough: rather than let messages pile up it gets none for a while, and then everything anew.
    fn fall_behind(&mut self, now: SimTime, counters: &Counters) {
        counters.skipped.add_one();
        self.behind_since = Some(now);
        self.forget_all();
    }

    /// What it knew is worth nothing.
    pub fn forget_all(&mut self) {
        self.greetings.clear();
        self.view.forget_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Who reads so slowly that not even a goodbye fits is not left alone with an open connection.
    #[tokio::test]
    async fn without_room_for_a_goodbye_the_connection_ends_without_one() {
        let limits = ClientLimits::default();
        let (outbox, mut queue) = Outbox::new(&limits, Arc::default());
        outbox.say_goodbye(Goodbye::Silent, "there is room");
        let early = tokio::time::timeout(Duration::from_millis(10), outbox.must_end()).await;
        assert!(early.is_err(), "it can be said");
        assert!(matches!(queue.recv().await, Some(Out::Goodbye(..))));
        while outbox.push(Bytes::from_static(b"update")) {}
        outbox.say_goodbye(Goodbye::TooSlow, "there is none");
        let end = tokio::time::timeout(Duration::from_secs(5), outbox.must_end()).await;
        assert!(end.is_ok(), "it ends");
    }
}
