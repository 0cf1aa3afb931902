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
//! Packets are processed in the order of their numbers, with gaps: one that comes after a later one is dropped like a
//! lost one. So "lost" is final at the first ack beyond it, no timers are involved, and what is above never sees old news
//! after new. (Open TNL's `NetConnection`, digest §3.3.)
//!
//! The one exception to certainty: if over [`MAX_ACK_WINDOW`] packets in a row got no answer, the oldest fall out
//! of the report and count as lost although they may have arrived. What is above must bear receiving something twice.

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
    /// The other side never will.
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
    /// It came again, or after a later one.
    #[error("packet {0} is a duplicate or was overtaken")]
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
/// With the window full, a sign of life only this often.
const PROBE_EVERY: SimTime = SimTime(250_000_000);

#[derive(Clone, Copy, Debug)]
struct Sent {
    id: PacketId,
    at: SimTime,
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
    sent_at: Option<SimTime>,
    heard: u64,
    heard_mask: u128,
    heard_at: SimTime,
    /// Up to here the other side knows what we heard.
    told: u64,
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
            sent_at: None,
            heard: 0,
            heard_mask: 0,
            heard_at: now,
            told: 0,
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
            acks: self.acks(now),
            time: time.map(|time| SimTime(time.0 / 1000 * 1000)),
        };
        Some((self.next, PacketWriter::new(&header, room)))
    }

    /// Completes a packet; the driver sends the bytes.
    pub fn finish(&mut self, now: SimTime, packet: PacketWriter) -> Vec<u8> {
        let bytes = packet.finish();
        self.in_flight.push_back(Sent {
            id: self.next,
            at: now,
            reports: self.heard,
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
        let number = self.whole_number(header.number);
        if number <= self.heard {
            return Err(Unprocessed::Stale(number));
        }
        match header.acks {
            Some(acks) if self.acked(&acks).is_none() => Err(Unprocessed::AcksUnsent),
            _ => Ok(()),
        }
    }

    /// A packet arrived. Only if this succeeds may its contents be used. `empty`: it carries nothing, so it
    /// needs no answer of its own.
    pub fn process(
        &mut self,
        now: SimTime,
        header: &PacketHeader,
        empty: bool,
    ) -> Result<(), Unprocessed> {
        self.check(header)?;
        let number = self.whole_number(header.number);
        let ahead = number - self.heard;
        let shifted = |by: u64| self.heard_mask.checked_shl(by as u32).unwrap_or(0);
        self.heard_mask = match ahead {
            1..=127 if self.heard > 0 => shifted(ahead) | 1 << (ahead - 1),
            128 if self.heard > 0 => 1 << 127,
            _ => 0,
        };
        self.heard = number;
        self.heard_at = now;
        self.owes_ack |= !empty;
        if let Some(acks) = &header.acks {
            self.take_acks(now, acks);
        }
        Ok(())
    }

    /// What became of packets sent earlier, in the order of their numbers.
    pub fn poll_event(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Must something be sent although there is nothing to say: an ack that is owed, or a sign of life?
    pub fn must_speak(&self, now: SimTime) -> bool {
        let silent = |at| now.since(at) >= self.config.keep_alive;
        self.owes_ack || self.sent_at.is_none_or(silent)
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

    /// When a sign of life is due.
    pub fn keep_alive_at(&self) -> SimTime {
        self.sent_at
            .map_or(SimTime::ZERO, |at| at + self.config.keep_alive)
    }

    /// Has the other side been silent for too long?
    pub fn is_timed_out(&self, now: SimTime) -> bool {
        now.since(self.heard_at) > self.config.timeout
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

    fn acks(&self, now: SimTime) -> Option<PacketAcks> {
        if self.heard == 0 {
            return None;
        }
        let untold = (self.heard - self.told).saturating_sub(1);
        let depth = untold.min(MAX_ACK_WINDOW.into()) as u32;
        Some(PacketAcks {
            newest: self.heard as u16,
            depth,
            mask: self.heard_mask & ((1 << depth) - 1),
            held: now.since(self.heard_at),
        })
    }

    /// The number with these lowest bits that is nearest to the one expected next.
    fn whole_number(&self, low: u16) -> u64 {
        let expected = self.heard + 1;
        let ahead = low.wrapping_sub(expected as u16) as i16;
        expected.saturating_add_signed(ahead.into())
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
        while let Some(sent) = self.in_flight.front().copied() {
            if sent.id > newest {
                break;
            }
            self.in_flight.pop_front();
            let delivered = is_delivered(newest.0 - sent.id.0, acks);
            if sent.id == newest {
                self.round_trip
                    .handle_sample(now.since(sent.at).since(acks.held));
            }
            if delivered {
                self.told = self.told.max(sent.reports);
            }
            self.rate.learn(now, !delivered);
            self.notices.push_back(match delivered {
                true => Notice::Delivered(sent.id),
                false => Notice::Lost(sent.id),
            });
        }
    }
}

/// Was the packet this far before the newest processed?
fn is_delivered(behind: u64, acks: &PacketAcks) -> bool {
    match behind {
        0 => true,
        _ if behind > acks.depth.into() => false,
        _ => acks.mask >> (behind - 1) & 1 == 1,
    }
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
