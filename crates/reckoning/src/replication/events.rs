//! Events: something happened, or should happen, on the other side. Three promises (DR-48):
//!
//! | class | arrives | order | for |
//! |---|---|---|---|
//! | [`Guarantee::Ordered`] | exactly once | as sent | chat, joining a team, opening a door |
//! | [`Guarantee::Guaranteed`] | exactly once | any | a score, a picked-up item: no waiting for others |
//! | [`Guarantee::Unguaranteed`] | at most once | any | a sound, a spark: too late is useless |
//!
//! State is not an event: where something *is* belongs to the ghosts, who send the newest only (digest §7, C6).
//!
//! The connection says which packet arrived and which was lost; a guaranteed event in a lost packet waits again for the next one.
//! At most [`WINDOW`] events of a class are under way, so the receiver's memory is bounded, too.

use super::connection::PacketId;
use crate::codec::{Event, Guarantee, MAX_EVENT_BYTES, Message, PacketWriter};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thiserror::Error;

/// Most events of one guaranteed class that are sent and not yet confirmed.
pub const WINDOW: u32 = 256;
/// Most events of a guaranteed class that wait, and of unguaranteed ones.
const MAX_BACKLOG: usize = 4096;
const MAX_UNGUARANTEED: usize = 256;

/// Why an event was not accepted for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EventError {
    /// The other side does not keep up.
    #[error("{MAX_BACKLOG} events are waiting already")]
    Backlog,
    /// Larger than a packet takes.
    #[error("arguments of {0} bytes, at most {MAX_EVENT_BYTES} fit")]
    TooLarge(usize),
}

/// An event whose number a correct sender cannot have used yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("event {number} is too far ahead of {expected}")]
pub struct OutsideWindow {
    /// What came.
    pub number: u32,
    /// The first one still missing.
    pub expected: u32,
}

/// The guaranteed events of one class on their way out.
#[derive(Clone, Debug, Default)]
struct Outbox {
    next: u32,
    /// By number; the flag says whether it is under way.
    waiting: BTreeMap<u32, (Event, bool)>,
}

impl Outbox {
    fn push(&mut self, mut event: Event) {
        event.number = self.next;
        self.waiting.insert(self.next, (event, false));
        self.next += 1;
    }

    fn fill(&mut self, packet: &mut PacketWriter, carried: &mut Vec<(Guarantee, u32)>) {
        let Some(oldest) = self.waiting.keys().next().copied() else {
            return;
        };
        let window = oldest..oldest.saturating_add(WINDOW);
        for (number, (event, under_way)) in self.waiting.range_mut(window) {
            if *under_way {
                continue;
            }
            let message = Message::Event(event.clone());
            if packet.push(&message) != Ok(true) {
                break;
            }
            *under_way = true;
            carried.push((event.guarantee, *number));
        }
    }

    fn settle(&mut self, number: u32, delivered: bool) {
        if delivered {
            self.waiting.remove(&number);
        } else if let Some((_, under_way)) = self.waiting.get_mut(&number) {
            *under_way = false;
        }
    }

    fn wants_to_send(&self) -> bool {
        let window = self.waiting.iter().take(WINDOW as usize);
        window.into_iter().any(|(_, (_, under_way))| !under_way)
    }
}

/// The events of one connection, both directions.
#[derive(Clone, Debug, Default)]
pub struct EventChannel {
    ordered: Outbox,
    guaranteed: Outbox,
    unguaranteed: VecDeque<Event>,
    flights: VecDeque<(PacketId, Vec<(Guarantee, u32)>)>,
    /// The next ordered event, and those that came too early.
    expected: u32,
    early: BTreeMap<u32, Event>,
    /// All guaranteed events before this one have come, and these beyond it.
    floor: u32,
    beyond_floor: BTreeSet<u32>,
    arrived: VecDeque<Event>,
}

impl EventChannel {
    /// Without any events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts an event on its way.
    pub fn send(
        &mut self,
        guarantee: Guarantee,
        method: u16,
        arguments: Vec<u8>,
    ) -> Result<(), EventError> {
        if arguments.len() > MAX_EVENT_BYTES {
            return Err(EventError::TooLarge(arguments.len()));
        }
        let event = Event {
            guarantee,
            number: 0,
            method,
            arguments,
        };
        match self.outbox(guarantee) {
            Some(outbox) if outbox.waiting.len() >= MAX_BACKLOG => return Err(EventError::Backlog),
            Some(outbox) => outbox.push(event),
            None => {
                // The oldest is the one whose moment has passed.
                if self.unguaranteed.len() >= MAX_UNGUARANTEED {
                    self.unguaranteed.pop_front();
                }
                self.unguaranteed.push_back(event);
            }
        }
        Ok(())
    }

    /// Is there anything to put into a packet?
    pub fn wants_to_send(&self) -> bool {
        !self.unguaranteed.is_empty()
            || self.ordered.wants_to_send()
            || self.guaranteed.wants_to_send()
    }

    /// Puts as many events into a packet as fit.
    pub fn fill(&mut self, id: PacketId, packet: &mut PacketWriter) {
        let mut carried = Vec::new();
        self.ordered.fill(packet, &mut carried);
        self.guaranteed.fill(packet, &mut carried);
        while let Some(event) = self.unguaranteed.front() {
            if packet.push(&Message::Event(event.clone())) != Ok(true) {
                break;
            }
            self.unguaranteed.pop_front();
        }
        if !carried.is_empty() {
            self.flights.push_back((id, carried));
        }
    }

    /// Learns what became of a packet.
    pub fn settle(&mut self, id: PacketId, delivered: bool) {
        let Ok(index) = self.flights.binary_search_by_key(&id, |(id, _)| *id) else {
            return;
        };
        let (_, carried) = self.flights.remove(index).unwrap_or_default();
        for (guarantee, number) in carried {
            if let Some(outbox) = self.outbox(guarantee) {
                outbox.settle(number, delivered);
            }
        }
    }

    /// Could a correct sender have sent this event by now?
    pub fn check(&self, event: &Event) -> Result<(), OutsideWindow> {
        let expected = match event.guarantee {
            Guarantee::Ordered => self.expected,
            Guarantee::Guaranteed => self.floor,
            Guarantee::Unguaranteed => return Ok(()),
        };
        if u64::from(event.number) >= u64::from(expected) + u64::from(WINDOW) {
            return Err(OutsideWindow {
                number: event.number,
                expected,
            });
        }
        Ok(())
    }

    /// An event arrived, for the first time or again. On an error nothing has changed.
    pub fn receive(&mut self, event: Event) -> Result<(), OutsideWindow> {
        self.check(&event)?;
        match event.guarantee {
            Guarantee::Ordered => self.receive_ordered(event),
            Guarantee::Guaranteed => self.receive_guaranteed(event),
            Guarantee::Unguaranteed => self.arrived.push_back(event),
        }
        Ok(())
    }

    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.arrived.pop_front()
    }

    fn receive_ordered(&mut self, event: Event) {
        if event.number >= self.expected {
            self.early.insert(event.number, event);
        }
        while let Some(event) = self.early.remove(&self.expected) {
            self.expected += 1;
            self.arrived.push_back(event);
        }
    }

    fn receive_guaranteed(&mut self, event: Event) {
        if event.number < self.floor || !self.beyond_floor.insert(event.number) {
            return;
        }
        while self.beyond_floor.remove(&self.floor) {
            self.floor += 1;
        }
        self.arrived.push_back(event);
    }

    fn outbox(&mut self, guarantee: Guarantee) -> Option<&mut Outbox> {
        match guarantee {
            Guarantee::Ordered => Some(&mut self.ordered),
            Guarantee::Guaranteed => Some(&mut self.guaranteed),
            Guarantee::Unguaranteed => None,
        }
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
