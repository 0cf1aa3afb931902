//! A reliable, ordered channel over datagrams that may be lost, doubled and shuffled.
//!
//! A registered letter service: every letter is numbered, the other side says which numbers it has, and what is missing is
//! sent again. Two things differ from TCP. Resending is hasty: an aura that is late by 200 ms is worthless, a few
//! bytes sent twice cost nothing. And a peer that restarts is not an error but an event: it comes with a higher
//! *incarnation*, what was under way to the old one is forgotten, and the layer above says again what still matters.
//!
//! ```text
//! incarnation 3 ── hello (I am 3, you are ?) ──►
//!               ◄── ack   (I am 7, you are 3) ──
//!               ── pieces (I am 3, you are 7) ──►      anything for or from an older incarnation is dropped
//! ```
//!
//! A piece is only ever sent to, and accepted by, the incarnation it is meant for. So nothing that was meant for a
//! server before its crash reaches it afterwards.

use datagrams::{Builder, Parts, Way};
use domain::{RegionId, SimTime};
use receiving::Receiving;
pub use round_trips::ResendPolicy;
use round_trips::RoundTrips;
use sending::Sending;
use std::collections::VecDeque;
use thiserror::Error;

mod datagrams;
mod receiving;
mod round_trips;
mod sending;
#[cfg(test)]
mod tests;

/// The largest datagram: it passes every network without being cut up.
pub const MAX_DATAGRAM_BYTES: usize = 1200;
/// The largest payload: an envelope of the largest size.
pub const MAX_PAYLOAD_BYTES: usize = wire::MAX_ENVELOPE_BYTES;
/// The most that may wait to be sent; then [`Channel::send`] refuses.
const MAX_WAITING_BYTES: usize = 4 * MAX_PAYLOAD_BYTES;

/// The name of one end: a region, or whatever else talks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u64);

impl From<RegionId> for EndpointId {
    fn from(region: RegionId) -> Self {
        Self(u64::from(region.0))
    }
}

/// How a channel treats loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelConfig {
    /// When to send again (default [`ResendPolicy::Short`]).
    pub resend: ResendPolicy,
    /// Every datagram with payload also repeats up to this many of the latest small payloads that are not yet
    /// acknowledged (default 0). More: a lost datagram is made good by the next one; costs bytes while acks are under way.
    pub redundancy: u8,
    /// Every datagram with payload is sent this many times at once (default 1). Two: a loss of 2 % becomes one of
    /// 0.04 %, for twice the bytes.
    pub copies: u8,
}

impl Default for ChannelConfig {
    fn default() -> Self {
        Self {
            resend: ResendPolicy::Short,
            redundancy: 0,
            copies: 1,
        }
    }
}

/// Something the layer above must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelEvent {
    /// The peer has come back with this incarnation and remembers nothing of us. All payloads that were waiting or
    /// under way to its predecessor are gone.
    PeerRestarted {
        /// Its new incarnation.
        incarnation: u32,
    },
}

/// Why a datagram was not, or not wholly, used. Whoever sent it has damaged bytes, another version, or bad intentions; the
/// channel goes on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChannelError {
    /// Damaged, or not from a channel at all.
    #[error("these bytes are not a channel's datagram")]
    NotADatagram,
    /// Its checksum is right but the rest is not.
    #[error("malformed datagram: {0}")]
    Malformed(#[from] wire::bytes::Malformed),
    /// It acknowledges what was never sent.
    #[error("an acknowledgement of something that was never sent")]
    ImpossibleAck,
    /// It is too far ahead of what we have acknowledged.
    #[error("a piece far ahead of what was acknowledged")]
    OutsideWindow,
    /// Its pieces add up to more than [`MAX_PAYLOAD_BYTES`].
    #[error("a payload larger than {MAX_PAYLOAD_BYTES} bytes")]
    PayloadTooLong,
    /// Data for a receiver it does not know.
    #[error("payload without knowing the receiver")]
    Unaddressed,
}

/// A payload was refused: it is too large, or the peer has not answered for long and too much is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a payload of {payload} bytes does not fit a channel in which {waiting} bytes wait")]
pub struct ChannelFull {
    /// The size of the payload.
    pub payload: usize,
    /// The bytes that were waiting already.
    pub waiting: usize,
}

/// What a channel has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// Datagrams sent, copies included.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pieces sent again because no answer came.
    pub resent: u64,
    /// Pieces repeated unasked (see [`ChannelConfig::redundancy`]).
    pub repeated: u64,
    /// Pieces that arrived when we had them already.
    pub duplicates: u64,
    /// Datagrams from or for an older incarnation, dropped.
    pub stale: u64,
}

/// One end of a channel to one peer. It does no I/O: the driver carries the datagrams and tells the time.
///
/// - feed it: [`send`](Self::send), [`handle_datagram`](Self::handle_datagram)
/// - drain it after each of those: [`poll_event`](Self::poll_event), then [`poll_delivered`](Self::poll_delivered)
///   (so that a restart is known before the new incarnation's first payload), then
///   [`poll_transmit`](Self::poll_transmit), each until `None`
/// - call `poll_transmit` again at [`next_wakeup`](Self::next_wakeup)
#[derive(Debug)]
pub struct Channel {
    way: Way,
    incarnation: u64,
    config: ChannelConfig,
    /// The peer's incarnation plus one, once known.
    peer: Option<u64>,
    /// Has the peer shown that it knows us?
    known_to_peer: bool,
    hello_due: SimTime,
    hellos: u32,
    sending: Sending,
    receiving: Receiving,
    round_trips: RoundTrips,
    events: VecDeque<ChannelEvent>,
    copy: Option<(Vec<u8>, u8)>,
    now: SimTime,
    stats: ChannelStats,
}

impl Channel {
    /// The end of `me` of the channel to `peer`. A server that restarts must come with a higher incarnation than ever before.
    pub fn new(
        me: impl Into<EndpointId>,
        peer: impl Into<EndpointId>,
        incarnation: u32,
        config: ChannelConfig,
    ) -> Self {
        let (from, to) = (me.into(), peer.into());
        Self {
            way: Way { from, to },
            incarnation: u64::from(incarnation) + 1,
            config,
            peer: None,
            known_to_peer: false,
            hello_due: SimTime::ZERO,
            hellos: 0,
            sending: Sending::new(),
            receiving: Receiving::new(),
            round_trips: RoundTrips::default(),
            events: VecDeque::new(),
            copy: None,
            now: SimTime::ZERO,
            stats: ChannelStats::default(),
        }
    }

    /// Takes a payload; it will arrive once, after all before it, unless the peer restarts.
    pub fn send(&mut self, now: SimTime, payload: Vec<u8>) -> Result<(), ChannelFull> {
        self.now = now;
        self.sending.push(payload)
    }

    /// Takes a datagram that has arrived. On an error nothing, or only a sound part of it, has been used.
    pub fn handle_datagram(&mut self, now: SimTime, bytes: &[u8]) -> Result<(), ChannelError> {
        self.now = now;
        let parts = datagrams::parse(self.way.back(), bytes)?;
        if !parts.pieces.is_empty() && parts.to == 0 {
            return Err(ChannelError::Unaddressed);
        }
        if self.is_stale(&parts) {
            self.stats.stale += 1;
            return Ok(());
        }
        self.meet(parts.from);
        self.handle_parts(now, parts)
    }

    /// From an incarnation that is over, or for another one than ours.
    fn is_stale(&self, parts: &Parts<'_>) -> bool {
        let over = self.peer.is_some_and(|peer| parts.from < peer);
        let for_another = parts.to != 0 && parts.to != self.incarnation;
        over || for_another || parts.from == 0
    }

    /// The peer is this incarnation or a later one: earlier ones are not heard from now on, even before it has spoken.
    pub fn expect_peer(&mut self, incarnation: u32) {
        let expected = u64::from(incarnation) + 1;
        if self.peer.is_none_or(|peer| peer < expected) {
            self.meet(expected);
        }
    }

    fn meet(&mut self, from: u64) {
        if self.peer == Some(from) {
            return;
        }
        if self.peer.is_some() {
            self.sending.forget_payloads();
            self.receiving.forget_pieces();
            self.known_to_peer = false;
            self.hello_due = self.now;
            self.hellos = 0;
            let incarnation = u32::try_from(from - 1).unwrap_or(u32::MAX);
            self.events
                .push_back(ChannelEvent::PeerRestarted { incarnation });
        }
        self.peer = Some(from);
    }

    fn handle_parts(&mut self, now: SimTime, parts: Parts<'_>) -> Result<(), ChannelError> {
        self.known_to_peer |= parts.to == self.incarnation;
        if let Some(ack) = parts.ack.filter(|_| parts.to == self.incarnation) {
            self.sending
                .handle_ack(now, &ack, &mut self.round_trips, self.config.resend)?;
        }
        if let Some(number) = parts.number {
            self.receiving.handle_number(now, number);
        }
        self.receiving.ack_wanted |= parts.hello;
        parts
            .pieces
            .into_iter()
            .try_for_each(|piece| self.receiving.handle_piece(piece))
    }

    /// The next payload, in the order in which the peer sent them.
    pub fn poll_delivered(&mut self) -> Option<Vec<u8>> {
        self.receiving.poll_delivered()
    }

    /// The next thing to know.
    pub fn poll_event(&mut self) -> Option<ChannelEvent> {
        self.events.pop_front()
    }

    /// The next datagram for the peer.
    pub fn poll_transmit(&mut self, now: SimTime) -> Option<Vec<u8>> {
        self.now = now;
        let bytes = self.next_copy().or_else(|| self.next_datagram(now))?;
        self.stats.datagrams += 1;
        self.stats.bytes += bytes.len() as u64;
        Some(bytes)
    }

    fn next_copy(&mut self) -> Option<Vec<u8>> {
        let (bytes, left) = self.copy.take()?;
        if left > 1 {
            self.copy = Some((bytes.clone(), left - 1));
        }
        Some(bytes)
    }

    fn next_datagram(&mut self, now: SimTime) -> Option<Vec<u8>> {
        if !self.has_something_to_say(now) {
            return None;
        }
        let mut builder = Builder::new(self.incarnation, self.peer.unwrap_or(0));
        if self.peer.is_some() && self.receiving.ack_wanted {
            builder.put_ack(&self.receiving.ack(now));
            self.receiving.ack_wanted = false;
        }
        if !self.known_to_peer && now >= self.hello_due {
            builder.put_hello(self.sending.next_number());
            self.hellos += 1;
            self.hello_due = now
                + self
                    .round_trips
                    .resend_after(self.config.resend, self.hellos);
        }
        if self.peer.is_some() {
            self.sending
                .fill(now, &mut builder, &self.round_trips, &self.config);
        }
        if builder.is_numbered() {
            self.sending.numbered(now);
        }
        let more = self.config.copies.saturating_sub(1);
        let copied = builder.has_pieces() && more > 0;
        let bytes = builder.finish(self.way)?;
        if copied {
            self.copy = Some((bytes.clone(), more));
        }
        Some(bytes)
    }

    fn has_something_to_say(&self, now: SimTime) -> bool {
        self.next_wakeup().is_some_and(|at| at <= now)
    }

    /// When [`Self::poll_transmit`] should be called again, if nothing happens before.
    pub fn next_wakeup(&self) -> Option<SimTime> {
        let hello = (!self.known_to_peer).then_some(self.hello_due);
        if self.peer.is_none() {
            return hello;
        }
        if self.copy.is_some() || self.receiving.ack_wanted || self.sending.has_new() {
            return Some(self.now);
        }
        [hello, self.sending.next_due()].into_iter().flatten().min()
    }

    /// How long an answer takes, as far as measured.
    pub fn rtt(&self) -> Option<SimTime> {
        self.round_trips.mean()
    }

    /// The peer's incarnation, once it has spoken.
    pub fn peer_incarnation(&self) -> Option<u32> {
        self.peer.and_then(|peer| u32::try_from(peer - 1).ok())
    }

    /// Payload bytes that wait, or are under way and not yet acknowledged.
    pub fn unacknowledged_bytes(&self) -> usize {
        self.sending.unacknowledged_bytes()
    }

    /// Bytes held for payloads that have not arrived wholly.
    pub fn held_bytes(&self) -> usize {
        self.receiving.held_bytes()
    }

    /// What it has done so far.
    pub fn stats(&self) -> ChannelStats {
        ChannelStats {
            resent: self.sending.resent,
            repeated: self.sending.repeated,
            duplicates: self.receiving.duplicates,
            ..self.stats
        }
    }
}
