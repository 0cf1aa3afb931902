//! The notify protocol: packets may be lost, but their sender learns of each whether it arrived.
//!
//! Like registered post without resending: the layers above are told "packet 17 arrived" or "packet 18 is lost" and
//! decide themselves what that means. An event is sent again; an old position is not, there is a newer one by then.
//!
//! ```text
//! A ── packet 17 ─────────▶ B      every packet carries: the newest packet processed, and a bit for each before it
//! A ── packet 18 ──── ✗     B
//! A ── packet 19 ─────────▶ B
//! A ◀─ acks: 19, ✗18, 17 ── B      A: 17 delivered, 18 lost, 19 delivered
//! ```
//!
//! A packet may arrive after later ones and is processed all the same, up to [`MAX_ACK_WINDOW`] packets late; each is processed once. What
//! is above must cope with old news after new. A packet counts as lost when three later ones are known to have arrived and its own
//! acknowledgement is overdue, judged by the round trips so far (or one later, and it is hopelessly overdue). After the last packet
//! for a while, which no later one follows, an empty one asks. A lost packet may still arrive after that: "lost" means "perhaps not processed", "delivered" is certain. (Open TNL's `NetConnection`,
//! digest §3.3, which drops what comes late; where every packet has its own delay that would be most of them.)

use super::hearing::{Hearing, says_heard};
use super::rate::{RateConfig, RateControl};
use super::round_trip::RoundTrip;
use crate::codec::{MAX_ACK_WINDOW, MAX_DATAGRAM, PacketAcks, PacketHeader, PacketWriter, Token};
use domain::SimTime;
use std::collections::VecDeque;
use thiserror::Error;

/// The number of a packet in one direction of one connection, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u64);

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The other side has processed it.
    Delivered(PacketId),
    /// The other side has probably not, and need not any more.
    Lost(PacketId),
}

/// Settings of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionConfig {
    /// Most bytes of a packet (default 1200, fits every common path; at most [`MAX_DATAGRAM`]).
    pub max_packet_bytes: usize,
    /// Least time between two packets (default 1/60 s). More: fewer headers, later news.
    pub min_spacing: SimTime,
    /// A sign of life at least this often (default 0.5 s).
    pub keep_alive: SimTime,
    /// Silence after which the other side counts as gone (default 10 s).
    pub timeout: SimTime,
    /// Bytes per second.
    pub rate: RateConfig,
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            max_packet_bytes: 1200,
            min_spacing: SimTime(16_666_667),
            keep_alive: SimTime(500_000_000),
            timeout: SimTime(10_000_000_000),
            rate: RateConfig::default(),
        }
    }
}

/// Why a packet was not processed; the connection is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unprocessed {
    /// It came again, or far too late.
    #[error("packet {0} is a duplicate or far too late")]
    Stale(u64),
    /// It belongs to another connection.
    #[error("wrong token")]
    WrongToken,
    /// It acknowledges what was never sent.
    #[error("acknowledges a packet that was never sent")]
    AcksUnsent,
}

/// Packets smaller than this are not worth their header: wait for more budget.
const MIN_PACKET_BYTES: usize = 200;
/// So many later packets must have arrived before a missing one counts as lost.
const LATER_BEFORE_LOST: u64 = 3;
/// How long a round trip is taken to be before the first was seen.
const FIRST_PATIENCE: SimTime = SimTime(300_000_000);
/// With the window full, a sign of life only this often.
const PROBE_EVERY: SimTime = SimTime(250_000_000);

#[derive(Clone, Copy, Debug)]
struct Sent {
    id: PacketId,
    at: SimTime,
    /// There is something in it.
    carries: bool,
    /// The newest packet of the other side that this one reported.
    reports: u64,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    config: ConnectionConfig,
    token: Token,
    rate: RateControl,
    round_trip: RoundTrip,
    next: PacketId,
    in_flight: VecDeque<Sent>,
    /// The newest of ours known to have arrived.
    arrived: u64,
    sent_at: Option<SimTime>,
    hearing: Hearing,
    owes_ack: bool,
    notices: VecDeque<Notice>,
}

impl Connection {
    /// A fresh connection; both sides have the token from the handshake.
    pub fn new(config: ConnectionConfig, token: Token, now: SimTime) -> Self {
        Self {
            rate: RateControl::new(config.rate, now),
            config,
            token,
            round_trip: RoundTrip::default(),
            next: PacketId(1),
            in_flight: VecDeque::new(),
            arrived: 0,
            sent_at: None,
            hearing: Hearing::new(now),
            owes_ack: false,
            notices: VecDeque::new(),
        }
    }

    /// Starts a packet with `time` as its global time; `None` while the rate control says wait. Give it back to
    /// [`Self::finish`] or drop it: nothing has happened yet.
    pub fn begin(&self, now: SimTime, time: Option<SimTime>) -> Option<(PacketId, PacketWriter)> {
        if now < self.ready_at() {
            return None;
        }
        let room = self.rate.available(now).min(self.max_bytes());
        let header = PacketHeader {
            token: self.token,
            number: self.next.0 as u16,
            answer: self.is_overdue(now),
            acks: self.hearing.acks(now),
            time: time.map(|time| SimTime(time.0 / 1000 * 1000)),
        };
        Some((self.next, PacketWriter::new(&header, room)))
    }

    /// Completes a packet; the driver sends the bytes.
    pub fn finish(&mut self, now: SimTime, packet: PacketWriter) -> Vec<u8> {
        let carries = packet.messages() > 0;
        let bytes = packet.finish();
        self.in_flight.push_back(Sent {
            id: self.next,
            at: now,
            carries,
            reports: self.hearing.newest(),
        });
        self.next = PacketId(self.next.0 + 1);
        self.rate.spend(now, bytes.len());
        self.sent_at = Some(now);
        self.owes_ack = false;
        bytes
    }

    /// Would [`Self::process`] take this header?
    pub fn check(&self, header: &PacketHeader) -> Result<(), Unprocessed> {
        if header.token != self.token {
            return Err(Unprocessed::WrongToken);
        }
        let number = self.hearing.whole_number(header.number);
        if self.hearing.is_stale(number) {
            return Err(Unprocessed::Stale(number));
        }
        match header.acks {
            Some(acks) if self.acked(&acks).is_none() => Err(Unprocessed::AcksUnsent),
            _ => Ok(()),
        }
    }

    /// A packet arrived. Only if this succeeds may its contents be used; the number tells old news from new. `empty`: it
    /// carries nothing, so it needs no answer of its own.
    pub fn process(
        &mut self,
        now: SimTime,
        header: &PacketHeader,
        empty: bool,
    ) -> Result<PacketId, Unprocessed> {
        self.check(header)?;
        let number = self.hearing.whole_number(header.number);
        if let Some(still_true) = self.hearing.hear(now, number) {
            for sent in &mut self.in_flight {
                sent.reports = sent.reports.min(still_true);
            }
        }
        self.owes_ack |= !empty || header.answer;
        if let Some(acks) = &header.acks {
            self.take_acks(now, acks);
        }
        Ok(PacketId(number))
    }

    /// What became of packets sent earlier.
    pub fn poll_event(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Must something be sent although there is nothing to say: an ack that is owed, a sign of life, or a question what became of
    /// the last packets?
    pub fn must_speak(&self, now: SimTime) -> bool {
        let silent = |at| now.since(at) >= self.config.keep_alive;
        self.owes_ack || self.sent_at.is_none_or(silent) || self.is_overdue(now)
    }

    /// When the next packet may leave.
    pub fn ready_at(&self) -> SimTime {
        let spacing = match self.in_flight.len() < MAX_ACK_WINDOW as usize {
            true => self.config.min_spacing,
            false => self.config.min_spacing.max(PROBE_EVERY),
        };
        let spaced = self.sent_at.map_or(SimTime::ZERO, |at| at + spacing);
        spaced.max(self.rate.ready_at(self.max_bytes().min(MIN_PACKET_BYTES)))
    }

    /// When [`Self::must_speak`] becomes true, if nothing else happens.
    pub fn must_speak_at(&self) -> SimTime {
        let unknown = self.in_flight.iter().any(|sent| sent.carries);
        let silence = match unknown {
            true => self.patience().min(self.config.keep_alive),
            false => self.config.keep_alive,
        };
        self.sent_at.map_or(SimTime::ZERO, |at| at + silence)
    }

    /// Has the other side been silent for too long?
    pub fn is_timed_out(&self, now: SimTime) -> bool {
        now.since(self.hearing.at()) > self.config.timeout
    }

    /// The round trip and what follows from it.
    pub fn round_trip(&self) -> &RoundTrip {
        &self.round_trip
    }

    /// The byte budget.
    pub fn rate(&self) -> &RateControl {
        &self.rate
    }

    /// The connection's secret.
    pub fn token(&self) -> Token {
        self.token
    }

    fn max_bytes(&self) -> usize {
        self.config.max_packet_bytes.min(MAX_DATAGRAM)
    }

    /// The newest packet acknowledged; `None` if it was never sent.
    fn acked(&self, acks: &PacketAcks) -> Option<PacketId> {
        let newest_sent = self.next.0 - 1;
        let behind = (newest_sent as u16).wrapping_sub(acks.newest);
        let number = newest_sent.checked_sub(behind.into())?;
        (number > 0 && behind < 1 << 15).then_some(PacketId(number))
    }

    fn take_acks(&mut self, now: SimTime, acks: &PacketAcks) {
        let Some(newest) = self.acked(acks) else {
            return;
        };
        self.arrived = self.arrived.max(newest.0);
        let patience = self.patience();
        let mut settled = Vec::new();
        self.in_flight.retain(|sent| {
            let delivered = says_heard(acks, newest, sent.id);
            let behind = self.arrived.saturating_sub(sent.id.0);
            let age = now.since(sent.at);
            let overdue = behind >= LATER_BEFORE_LOST && age > patience;
            let hopeless = behind > 0 && age > patience + patience;
            let lost = overdue || hopeless || behind > MAX_ACK_WINDOW.into();
            if delivered || lost {
                settled.push((*sent, delivered));
            }
            !delivered && !lost
        });
        for (sent, delivered) in settled {
            if delivered && sent.id == newest {
                let round_trip = now.since(sent.at).since(acks.held);
                self.round_trip.handle_sample(round_trip);
            }
            self.settle(now, sent, delivered);
        }
    }

    fn settle(&mut self, now: SimTime, sent: Sent, delivered: bool) {
        if delivered {
            self.hearing.told(sent.reports);
        }
        self.rate.learn(now, !delivered);
        self.notices.push_back(match delivered {
            true => Notice::Delivered(sent.id),
            false => Notice::Lost(sent.id),
        });
    }

    /// Nothing was sent for a while, and what was sent last is not known to have arrived: no later packet will tell.
    fn is_overdue(&self, now: SimTime) -> bool {
        let silent = |at| now.since(at) >= self.patience();
        self.sent_at.is_some_and(silent) && self.in_flight.iter().any(|sent| sent.carries)
    }

    /// After this long without an acknowledgement, one that later packets have is overdue.
    fn patience(&self) -> SimTime {
        let usual = match self.round_trip.samples() {
            0 => FIRST_PATIENCE,
            _ => self.round_trip.smoothed(),
        };
        let spread = self.round_trip.deviation();
        usual + spread + spread + self.config.min_spacing
    }
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
