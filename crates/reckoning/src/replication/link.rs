//! One end of one connection with everything that travels on it: events, ghosts, reports of receptions.

use super::connection::{Connection, ConnectionConfig, Notice, Unprocessed};
use super::events::{EventChannel, OutsideWindow};
use super::ghost_receiver::{GhostReceiver, News};
use super::ghosts::GhostSender;
use super::reports::Reports;
use crate::codec::{GhostUpdate, Message, PacketHeader, StateBits, Token};
use domain::{BodyId, SimTime};
use thiserror::Error;

/// Why a packet was refused; nothing of it was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    /// By the connection.
    #[error(transparent)]
    Unprocessed(#[from] Unprocessed),
    /// Because of an event in it.
    #[error(transparent)]
    Event(#[from] OutsideWindow),
}

/// One end.
#[derive(Clone, Debug)]
pub struct Link {
    /// Which packets arrived, and how fast.
    pub connection: Connection,
    /// Calls in both directions.
    pub events: EventChannel,
    /// Our objects over there.
    pub ghosts: GhostSender,
    /// Their objects here: which news of them is new.
    receiver: GhostReceiver,
    /// Which of their vectors came when.
    pub reports: Reports,
}

impl Link {
    /// A fresh link that takes in at most so many of the other side's objects.
    pub fn new(config: ConnectionConfig, token: Token, max_objects: usize, now: SimTime) -> Self {
        Self {
            connection: Connection::new(config, token, now),
            events: EventChannel::new(),
            ghosts: GhostSender::new(),
            receiver: GhostReceiver::new(max_objects),
            reports: Reports::new(),
        }
    }

    /// A packet arrived. Its events are taken in; what is news about objects is handed back.
    pub fn handle_packet(
        &mut self,
        now: SimTime,
        header: &PacketHeader,
        messages: Vec<Message>,
    ) -> Result<Vec<News>, LinkError> {
        self.connection.check(header)?;
        for message in &messages {
            if let Message::Event(event) = message {
                self.events.check(event)?;
            }
        }
        let id = self.connection.process(now, header, messages.is_empty())?;
        self.settle();
        let mut news = Vec::new();
        for message in messages {
            match message {
                // Checked above; taking in one event never narrows the window for the next.
                Message::Event(event) => self.events.receive(event)?,
                Message::Ghost(update) => news.extend(self.receiver.update(id, update)),
                Message::Kill(entity) => news.extend(self.receiver.kill(id, entity)),
                Message::Ack(report) => news.push(News::Report(report)),
                // For streams without ghosts; here nobody has an object for it.
                Message::Vector { .. } => {}
            }
        }
        Ok(news)
    }

    /// The next packet, if there is something to say and the budget allows it.
    pub fn poll_transmit(
        &mut self,
        now: SimTime,
        time: Option<SimTime>,
        state: &mut dyn FnMut(BodyId, StateBits) -> Option<GhostUpdate>,
    ) -> Option<Vec<u8>> {
        if !self.wants_to_send() && !self.connection.must_speak(now) {
            return None;
        }
        let (id, mut packet) = self.connection.begin(now, time)?;
        self.events.fill(id, &mut packet);
        self.reports.fill(id, &mut packet);
        self.ghosts.fill(now, id, &mut packet, state);
        if packet.messages() == 0 && !self.connection.must_speak(now) {
            return None;
        }
        Some(self.connection.finish(now, packet))
    }

    /// When [`Self::poll_transmit`] may have something.
    pub fn next_wakeup(&self, now: SimTime) -> SimTime {
        if self.wants_to_send() || self.connection.must_speak(now) {
            return self.connection.ready_at();
        }
        self.connection
            .must_speak_at()
            .max(self.connection.ready_at())
    }

    fn wants_to_send(&self) -> bool {
        self.events.wants_to_send() || self.reports.wants_to_send() || self.ghosts.wants_to_send()
    }

    fn settle(&mut self) {
        while let Some(notice) = self.connection.poll_event() {
            let (id, delivered) = match notice {
                Notice::Delivered(id) => (id, true),
                Notice::Lost(id) => (id, false),
            };
            self.events.settle(id, delivered);
            self.ghosts.settle(id, delivered);
            self.reports.settle(id, delivered);
        }
    }
}
