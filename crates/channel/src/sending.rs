//! The sending half: payloads are cut into numbered pieces; each is sent again until it is acknowledged.
//!
//! ```text
//! waiting            in flight (at most WINDOW)                      acknowledged
//! payload, payload ─► piece 9 │ piece 8 ✓ │ piece 7 due 0.0123 s ──► gone
//! ```

use crate::datagrams::{Ack, Builder, Piece};
use crate::round_trips::{ResendPolicy, RoundTrips, seems_gone};
use crate::{ChannelConfig, ChannelError, ChannelFull, MAX_PAYLOAD_BYTES, MAX_WAITING_BYTES};
use domain::SimTime;
use std::collections::VecDeque;
use std::sync::Arc;

/// Pieces under way at once: 1.1 MB, which at 4 ms there and back is 280 MB/s.
pub(crate) const WINDOW: usize = 1024;
/// The bytes of a piece; with all headers it fits a datagram.
const PIECE_BYTES: usize = 1100;
/// Three later ones answered: this one is lost, not late (as in TCP and QUIC).
const GAP: u64 = 3;
/// A payload worth repeating unasked.
const REPEATED_BYTES: usize = 400;
/// Sending times that are remembered to measure the round trip.
const REMEMBERED: usize = 4096;

#[derive(Debug)]
pub(crate) struct Sending {
    waiting: VecDeque<Cut>,
    waiting_bytes: usize,
    flight: VecDeque<Flying>,
    /// The sequence number of the front of `flight`.
    first: u64,
    /// No piece is due before this.
    quiet_until: SimTime,
    /// The last datagram's number; it never starts again, so that no ack is mistaken.
    number: u64,
    sent_at: VecDeque<SimTime>,
    largest_acked: u64,
    pub(crate) resent: u64,
    pub(crate) repeated: u64,
}

/// A piece of a payload that all its pieces share.
#[derive(Clone, Debug)]
struct Cut {
    payload: Arc<Vec<u8>>,
    start: usize,
    end: usize,
}

impl Cut {
    fn piece(&self, sequence: u64) -> Piece<'_> {
        Piece {
            sequence,
            ends_payload: self.end == self.payload.len(),
            bytes: &self.payload[self.start..self.end],
        }
    }

    fn len(&self) -> usize {
        self.end - self.start
    }

    fn is_small_payload(&self) -> bool {
        self.payload.len() <= REPEATED_BYTES
    }
}

#[derive(Debug)]
struct Flying {
    cut: Cut,
    acked: bool,
    /// The datagram it was last sent in.
    number: u64,
    due: SimTime,
    tries: u32,
}

impl Sending {
    pub(crate) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            flight: VecDeque::new(),
            first: 1,
            quiet_until: SimTime::ZERO,
            number: 0,
            sent_at: VecDeque::new(),
            largest_acked: 0,
            resent: 0,
            repeated: 0,
        }
    }

    /// The peer has forgotten everything: so do we, but for the numbers of datagrams.
    pub(crate) fn forget_payloads(&mut self) {
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.flight.clear();
        self.first = 1;
    }

    pub(crate) fn push(&mut self, payload: Vec<u8>) -> Result<(), ChannelFull> {
        let bytes = payload.len();
        if bytes > MAX_PAYLOAD_BYTES || self.waiting_bytes + bytes > MAX_WAITING_BYTES {
            return Err(ChannelFull {
                payload: bytes,
                waiting: self.waiting_bytes,
            });
        }
        self.waiting_bytes += bytes;
        let payload = Arc::new(payload);
        let mut start = 0;
        loop {
            let end = bytes.min(start + PIECE_BYTES);
            let payload = Arc::clone(&payload);
            self.waiting.push_back(Cut {
                payload,
                start,
                end,
            });
            if end == bytes {
                return Ok(());
            }
            start = end;
        }
    }

    /// Payloads that are not yet acknowledged, in bytes.
    pub(crate) fn unacknowledged_bytes(&self) -> usize {
        let flying = self.flight.iter().filter(|one| !one.acked);
        self.waiting_bytes + flying.map(|one| one.cut.len()).sum::<usize>()
    }

    pub(crate) fn has_new(&self) -> bool {
        !self.waiting.is_empty() && self.flight.len() < WINDOW
    }

    /// When a piece may be due; perhaps a little early.
    pub(crate) fn next_due(&self) -> Option<SimTime> {
        (!self.flight.is_empty()).then_some(self.quiet_until)
    }

    /// The number the next datagram would have.
    pub(crate) fn next_number(&self) -> u64 {
        self.number + 1
    }

    /// The datagram with that number has been built.
    pub(crate) fn numbered(&mut self, now: SimTime) {
        self.number += 1;
        self.sent_at.push_back(now);
        if self.sent_at.len() > REMEMBERED {
            self.sent_at.pop_front();
        }
    }

    fn sent_at(&self, number: u64) -> Option<SimTime> {
        let from_end = usize::try_from(self.number.checked_sub(number)?).ok()?;
        let index = self.sent_at.len().checked_sub(1 + from_end)?;
        self.sent_at.get(index).copied()
    }

    /// Puts into a datagram what is due, then what is new, then what is worth repeating.
    pub(crate) fn fill(
        &mut self,
        now: SimTime,
        builder: &mut Builder,
        trips: &RoundTrips,
        config: &ChannelConfig,
    ) {
        if now >= self.quiet_until {
            self.fill_due(now, builder, trips, config.resend);
        }
        self.fill_new(now, builder, trips, config.resend);
        if builder.has_pieces() {
            self.fill_repeated(builder, config.redundancy);
        }
    }

    fn fill_due(
        &mut self,
        now: SimTime,
        builder: &mut Builder,
        trips: &RoundTrips,
        policy: ResendPolicy,
    ) {
        let number = self.next_number();
        let gone = policy == ResendPolicy::Short
            && self.flight.front().is_some_and(|one| seems_gone(one.tries));
        // The first piece is enough to find out whether the peer is back; its ack makes the others due.
        let range = if gone { 1 } else { self.flight.len() };
        let mut quiet_until = SimTime(u64::MAX);
        for (sequence, one) in (self.first..).zip(&mut self.flight).take(range) {
            if one.acked {
                continue;
            }
            if one.due <= now {
                if !builder.has_room(one.cut.len()) {
                    quiet_until = now;
                    break;
                }
                builder.put_piece(number, one.cut.piece(sequence));
                one.number = number;
                one.tries += 1;
                one.due = now + trips.resend_after(policy, one.tries);
                self.resent += 1;
            }
            quiet_until = quiet_until.min(one.due);
        }
        self.quiet_until = quiet_until;
    }

    fn fill_new(
        &mut self,
        now: SimTime,
        builder: &mut Builder,
        trips: &RoundTrips,
        policy: ResendPolicy,
    ) {
        let number = self.next_number();
        while self.flight.len() < WINDOW {
            let Some(cut) = self
                .waiting
                .front()
                .filter(|cut| builder.has_room(cut.len()))
            else {
                return;
            };
            builder.put_piece(number, cut.piece(self.first + self.flight.len() as u64));
            let due = now + trips.resend_after(policy, 1);
            let cut = self.waiting.pop_front().expect("it was there a line ago");
            self.waiting_bytes -= cut.len();
            self.quiet_until = if self.flight.is_empty() {
                due
            } else {
                self.quiet_until.min(due)
            };
            self.flight.push_back(Flying {
                cut,
                acked: false,
                number,
                due,
                tries: 1,
            });
        }
    }

    /// The latest small payloads that nobody has acknowledged yet ride along: if their own datagram is lost, they
    /// are there before anyone has noticed.
    fn fill_repeated(&mut self, builder: &mut Builder, redundancy: u8) {
        let number = self.next_number();
        let end = self.first + self.flight.len() as u64;
        let candidates = (self.first..end).rev().zip(self.flight.iter().rev());
        let unanswered = candidates
            .filter(|(_, one)| !one.acked && one.number != number && one.cut.is_small_payload());
        for (sequence, one) in unanswered.take(redundancy.into()) {
            if !builder.has_room(one.cut.len()) {
                return;
            }
            builder.put_piece(number, one.cut.piece(sequence));
            self.repeated += 1;
        }
    }

    /// Learns what has arrived, and from it what has not.
    pub(crate) fn handle_ack(
        &mut self,
        now: SimTime,
        ack: &Ack,
        trips: &mut RoundTrips,
        policy: ResendPolicy,
    ) -> Result<(), ChannelError> {
        let end = self.first + self.flight.len() as u64;
        let last = ack.ranges.last().map_or(ack.next, |range| range.end);
        if last > end || ack.largest > self.number {
            return Err(ChannelError::ImpossibleAck);
        }
        self.measure(now, ack, trips);
        for range in &ack.ranges {
            for sequence in range.start.max(self.first)..range.end {
                self.flight[(sequence - self.first) as usize].acked = true;
            }
        }
        while self.first < ack.next || self.flight.front().is_some_and(|one| one.acked) {
            self.flight.pop_front();
            self.first += 1;
        }
        if policy == ResendPolicy::Short {
            self.hurry_overtaken(now, ack.largest);
        }
        Ok(())
    }

    fn measure(&mut self, now: SimTime, ack: &Ack, trips: &mut RoundTrips) {
        if ack.largest <= self.largest_acked {
            return;
        }
        self.largest_acked = ack.largest;
        let delay = SimTime(ack.delay_us.saturating_mul(1000));
        if let Some(trip) = self
            .sent_at(ack.largest)
            .map(|sent| now.since(sent))
            .filter(|trip| *trip >= delay)
        {
            trips.add(trip - delay);
        }
    }

    /// Pieces whose datagram was overtaken by three that arrived are lost: they are due at once. And since the peer
    /// is evidently there, patience starts anew.
    fn hurry_overtaken(&mut self, now: SimTime, largest: u64) {
        for one in &mut self.flight {
            if !one.acked && one.number + GAP <= largest {
                one.due = now;
                one.tries = 0;
                self.quiet_until = now;
            }
        }
    }
}
