//! The receiving half: pieces in any order, twice or late, become payloads in order, once.

use crate::datagrams::{Ack, MAX_ACK_RANGES, Piece};
use crate::sending::WINDOW;
use crate::{ChannelError, MAX_PAYLOAD_BYTES};
use domain::SimTime;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Receiving {
    /// The piece that is wanted next.
    next: u64,
    /// Pieces from `next` on that came early; never more than the sender's window.
    early: VecDeque<Option<Early>>,
    /// The beginning of a payload whose end is still to come.
    partial: Vec<u8>,
    delivered: VecDeque<Vec<u8>>,
    /// The largest datagram number seen, and when.
    largest: u64,
    largest_at: SimTime,
    pub(crate) ack_wanted: bool,
    pub(crate) duplicates: u64,
}

#[derive(Debug)]
struct Early {
    ends_payload: bool,
    bytes: Box<[u8]>,
}

impl Receiving {
    pub(crate) fn new() -> Self {
        Self {
            next: 1,
            early: VecDeque::new(),
            partial: Vec::new(),
            delivered: VecDeque::new(),
            largest: 0,
            largest_at: SimTime::ZERO,
            ack_wanted: false,
            duplicates: 0,
        }
    }

    /// The peer starts again from its first piece. Payloads that were complete stay.
    pub(crate) fn forget_pieces(&mut self) {
        *self = Self {
            delivered: std::mem::take(&mut self.delivered),
            duplicates: self.duplicates,
            ..Self::new()
        };
    }

    pub(crate) fn poll_delivered(&mut self) -> Option<Vec<u8>> {
        self.delivered.pop_front()
    }

    pub(crate) fn handle_number(&mut self, now: SimTime, number: u64) {
        self.ack_wanted = true;
        if number > self.largest {
            self.largest = number;
            self.largest_at = now;
        }
    }

    pub(crate) fn handle_piece(&mut self, piece: Piece<'_>) -> Result<(), ChannelError> {
        let ahead = piece.sequence.wrapping_sub(self.next);
        if piece.sequence < self.next {
            self.duplicates += 1;
            return Ok(());
        }
        if ahead >= WINDOW as u64 {
            // The sender never runs that far ahead of what we have acknowledged.
            return Err(ChannelError::OutsideWindow);
        }
        if ahead > 0 {
            self.keep(ahead as usize, piece);
            return Ok(());
        }
        self.take(piece.ends_payload, piece.bytes)?;
        self.early.pop_front();
        self.take_early()
    }

    fn keep(&mut self, ahead: usize, piece: Piece<'_>) {
        if self.early.len() <= ahead {
            self.early.resize_with(ahead + 1, || None);
        }
        let place = &mut self.early[ahead];
        if place.is_some() {
            self.duplicates += 1;
            return;
        }
        *place = Some(Early {
            ends_payload: piece.ends_payload,
            bytes: piece.bytes.into(),
        });
    }

    fn take_early(&mut self) -> Result<(), ChannelError> {
        while let Some(Some(early)) = self.early.front_mut().map(Option::take) {
            self.take(early.ends_payload, &early.bytes)?;
            self.early.pop_front();
        }
        Ok(())
    }

    fn take(&mut self, ends_payload: bool, bytes: &[u8]) -> Result<(), ChannelError> {
        if self.partial.len() + bytes.len() > MAX_PAYLOAD_BYTES {
            return Err(ChannelError::PayloadTooLong);
        }
        self.next += 1;
        self.partial.extend_from_slice(bytes);
        if ends_payload {
            self.delivered.push_back(std::mem::take(&mut self.partial));
        }
        Ok(())
    }

    /// What has arrived, as an ack.
    pub(crate) fn ack(&self, now: SimTime) -> Ack {
        Ack {
            largest: self.largest,
            delay_us: now.since(self.largest_at).0 / 1000,
            next: self.next,
            ranges: self.early_ranges(),
        }
    }

    fn early_ranges(&self) -> Vec<std::ops::Range<u64>> {
        let mut ranges: Vec<std::ops::Range<u64>> = Vec::new();
        let had = (self.next..)
            .zip(&self.early)
            .filter(|(_, early)| early.is_some());
        for (sequence, _) in had {
            let full = ranges.len() == MAX_ACK_RANGES;
            match ranges.last_mut() {
                Some(range) if range.end == sequence => range.end += 1,
                _ if full => break,
                _ => ranges.push(sequence..sequence + 1),
            }
        }
        ranges
    }

    /// The bytes held for payloads that are not complete.
    pub(crate) fn held_bytes(&self) -> usize {
        let early = self.early.iter().flatten();
        self.partial.len() + early.map(|early| early.bytes.len()).sum::<usize>()
    }
}
