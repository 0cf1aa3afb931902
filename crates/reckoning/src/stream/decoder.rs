//! The client's side: packets in, acknowledgements out, and where every body is to be shown.

use super::curves::{Flight, Turn, ticks_between};
use super::held::{Held, Track};
use super::packets::{ACK_BYTES, ACK_WINDOW, Ack, Header, StreamError};
use super::range::RangeReader;
use super::records::{Cursor, MAX_AGE, MAX_RECORDS, Record, What};
use super::settings::StreamSettings;
use super::steps::{FlightStep, TurnStep};
use super::symbols::{Distance, MORE, Symbols};
use domain::BodyId;
use glam::{DQuat, DVec3};
use std::collections::{BTreeMap, BTreeSet};

/// The most bodies a client holds; a packet that speaks of more is refused.
pub const MAX_CLIENT_BODIES: u32 = 1 << 16;
/// A packet may be this far ahead of the newest one.
const MOST_AHEAD: u64 = 1 << 14;
/// What a reader is told about a record before it knows it: anything.
const RECORD: Record = Record {
    slot: 0,
    what: What::Leaves,
};

/// Where a body is to be shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// Metres, world coordinates.
    pub position: DVec3,
    /// A unit quaternion.
    pub rotation: DQuat,
}

/// A body that the client knows.
#[derive(Clone, Debug, PartialEq)]
struct Body {
    id: BodyId,
    entered_in: u64,
    flight: Track<Flight>,
    turn: Track<Turn>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Slot {
    body: Option<Body>,
    /// The packet in which a body last left it.
    left_in: u64,
}

/// What a record comes to, once it is understood.
enum Change {
    Nothing,
    Leaves,
    Enters(BodyId, Flight, Turn),
    Moves(Option<Flight>, Option<Turn>),
}

/// What a packet is news of.
pub(crate) enum News {
    /// A body that was not there before. It also [`Changed`](Self::Changed).
    Arrived(BodyId),
    /// New curves.
    Changed(BodyId),
    Gone(BodyId),
}

/// The stream as one client receives it.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamDecoder {
    settings: StreamSettings,
    slots: BTreeMap<u32, Slot>,
    by_body: BTreeMap<BodyId, u32>,
    /// The newest packet, and which of the 64 before it came.
    newest: u64,
    before: u64,
    newest_tick: u64,
    /// The number of the next acknowledgement.
    next_ack: u64,
}

impl StreamDecoder {
    /// With the server's settings, before the first packet.
    pub fn new(settings: StreamSettings) -> Self {
        Self {
            settings: settings.put_right(),
            slots: BTreeMap::new(),
            by_body: BTreeMap::new(),
            newest: 0,
            before: 0,
            newest_tick: 0,
            next_ack: 1,
        }
    }

    /// Joins a stream that many clients share after this packet of it (see [`StreamEncoder::join`](super::StreamEncoder::join)).
    pub fn joining(settings: StreamSettings, number: u64, tick: u64) -> Self {
        Self {
            newest: number,
            before: u64::MAX,
            newest_tick: tick,
            next_ack: number.saturating_add(1),
            ..Self::new(settings)
        }
    }

    /// Takes one of the packets with which a shared stream is joined. On an error nothing has changed.
    pub fn receive_join(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        let near = Header {
            number: self.newest,
            tick: self.newest_tick,
            relative_to: 0,
            distance: Distance::Near,
        };
        let (header, rest) = Header::read(bytes, &near)?;
        if header.number != self.newest || header.relative_to != 0 {
            return Err(StreamError::TooFarAhead(header.number));
        }
        let records = read_records(rest, header.distance)?;
        let changes = self.understand(&header, &records)?;
        for (record, change) in records.iter().zip(changes) {
            // It counts as told in the packet after which we join, and as acknowledged.
            if let Change::Enters(id, flight, turn) = change {
                let mut body = Body {
                    id,
                    entered_in: header.number,
                    flight: Track::new(),
                    turn: Track::new(),
                };
                let held = (header.number, header.number);
                body.take(held, Some(flight), Some(turn), header.number);
                self.slots.entry(record.slot).or_default().body = Some(body);
                self.by_body.insert(id, record.slot);
            }
        }
        Ok(())
    }

    /// The tick of the newest update that has arrived.
    pub fn tick(&self) -> u64 {
        self.newest_tick
    }

    /// Takes a packet. On an error nothing has changed; a repeated one is normal on a network that duplicates.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.receive_and_tell(bytes, &mut |_| {})
    }

    /// The same, telling which bodies the packet is about.
    pub(crate) fn receive_and_tell(
        &mut self,
        bytes: &[u8],
        tell: &mut impl FnMut(News),
    ) -> Result<(), StreamError> {
        let near = Header {
            number: self.newest,
            tick: self.newest_tick,
            relative_to: self.next_ack - 1,
            distance: Distance::Near,
        };
        let (header, rest) = Header::read(bytes, &near)?;
        self.check_header(&header)?;
        let records = read_records(rest, header.distance)?;
        let changes = self.understand(&header, &records)?;
        for (record, change) in records.iter().zip(changes) {
            self.apply(&header, record.slot, change, tell);
        }
        self.mark_received(&header);
        Ok(())
    }

    fn check_header(&self, header: &Header) -> Result<(), StreamError> {
        if header.number > self.newest + MOST_AHEAD {
            return Err(StreamError::TooFarAhead(header.number));
        }
        let known = match self.newest.checked_sub(header.number) {
            Some(0) => true,
            Some(back) if back <= ACK_WINDOW => self.before >> (back - 1) & 1 == 1,
            Some(_) => true,
            None => false,
        };
        if known || header.number == 0 {
            return Err(StreamError::Duplicate(header.number));
        }
        if header.relative_to >= self.next_ack {
            return Err(StreamError::UnknownAck(header.relative_to));
        }
        Ok(())
    }

    fn mark_received(&mut self, header: &Header) {
        if let Some(ahead) = header.number.checked_sub(self.newest).filter(|a| *a > 0) {
            let old = u128::from(self.before) << 1 | u128::from(self.newest > 0);
            self.before = if ahead <= 64 {
                (old << (ahead - 1)) as u64
            } else {
                0
            };
            self.newest = header.number;
        } else {
            self.before |= 1 << (self.newest - header.number - 1);
        }
        self.newest_tick = self.newest_tick.max(header.tick);
    }

    /// What each record means, without believing any of it yet.
    fn understand(&self, header: &Header, records: &[Record]) -> Result<Vec<Change>, StreamError> {
        let mut entering = BTreeSet::new();
        let mut changes = Vec::with_capacity(records.len());
        for record in records {
            let change = self.understand_one(header, record)?;
            if let Change::Enters(id, ..) = change {
                let elsewhere = self
                    .by_body
                    .get(&id)
                    .is_some_and(|slot| *slot != record.slot);
                if elsewhere || !entering.insert(id) {
                    return Err(StreamError::SlotTaken(record.slot));
                }
            }
            changes.push(change);
        }
        Ok(changes)
    }

    fn understand_one(&self, header: &Header, record: &Record) -> Result<Change, StreamError> {
        let number = record.slot;
        let slot = self.slots.get(&number);
        let body = slot.and_then(|slot| slot.body.as_ref());
        // Overtaken on the way by what came after it in this slot.
        let overtaken = slot.is_some_and(|slot| slot.left_in > header.number)
            || body.is_some_and(|body| body.entered_in > header.number);
        match &record.what {
            What::Leaves if overtaken => Ok(Change::Nothing),
            // The slot may be empty: told twice because the first acknowledgement was lost, or the enter was lost or is late.
            What::Leaves => Ok(Change::Leaves),
            What::Enters {
                body: id,
                flight,
                turn,
            } => {
                if slot.is_some_and(|slot| slot.left_in > header.number) {
                    return Ok(Change::Nothing);
                }
                if body.is_some_and(|body| body.id.0 != *id) {
                    return Err(StreamError::SlotTaken(number));
                }
                let (flight, turn) = (
                    self.flight(header, number, flight, None)?,
                    self.turn(header, number, turn, None)?,
                );
                Ok(Change::Enters(BodyId(*id), flight, turn))
            }
            What::Moves { .. } if overtaken => Ok(Change::Nothing),
            What::Moves { flight, turn } => {
                let body = body.ok_or(StreamError::EmptySlot(number))?;
                let base = body.flight.base(header.relative_to);
                let flight = flight
                    .map(|step| self.flight(header, number, &step, base))
                    .transpose()?;
                let base = body.turn.base(header.relative_to);
                let turn = turn
                    .map(|step| self.turn(header, number, &step, base))
                    .transpose()?;
                Ok(Change::Moves(flight, turn))
            }
        }
    }

    fn flight(
        &self,
        header: &Header,
        slot: u32,
        step: &FlightStep,
        base: Option<&Flight>,
    ) -> Result<Flight, StreamError> {
        if step.age > MAX_AGE {
            return Err(StreamError::Absurd(slot));
        }
        let base = match (step.afresh, base) {
            (true, _) => None,
            (false, Some(base)) => Some(base),
            (false, None) => return Err(StreamError::NoBase(slot)),
        };
        step.apply(base, header.tick, self.settings.pull())
            .ok_or(StreamError::Absurd(slot))
    }

    fn turn(
        &self,
        header: &Header,
        slot: u32,
        step: &TurnStep,
        base: Option<&Turn>,
    ) -> Result<Turn, StreamError> {
        if step.age > MAX_AGE {
            return Err(StreamError::Absurd(slot));
        }
        let base = match (step.afresh, base) {
            (true, _) => None,
            (false, Some(base)) => Some(base),
            (false, None) => return Err(StreamError::NoBase(slot)),
        };
        step.apply(base, header.tick)
            .ok_or(StreamError::Absurd(slot))
    }

    fn apply(&mut self, header: &Header, number: u32, change: Change, tell: &mut impl FnMut(News)) {
        let held = (header.number, self.next_ack);
        match change {
            Change::Nothing => {}
            Change::Leaves => {
                let slot = self.slots.entry(number).or_default();
                slot.left_in = header.number;
                if let Some(body) = slot.body.take() {
                    self.by_body.remove(&body.id);
                    tell(News::Gone(body.id));
                }
            }
            Change::Enters(id, flight, turn) => {
                let slot = self.slots.entry(number).or_default();
                if slot.body.is_none() {
                    tell(News::Arrived(id));
                }
                let body = slot.body.get_or_insert_with(|| Body {
                    id,
                    entered_in: header.number,
                    flight: Track::new(),
                    turn: Track::new(),
                });
                body.entered_in = body.entered_in.min(header.number);
                self.by_body.insert(id, number);
                tell(News::Changed(id));
                body.take(held, Some(flight), Some(turn), header.relative_to);
            }
            Change::Moves(flight, turn) => {
                let slot = self.slots.get_mut(&number);
                if let Some(body) = slot.and_then(|slot| slot.body.as_mut()) {
                    tell(News::Changed(body.id));
                    body.take(held, flight, turn, header.relative_to);
                }
            }
        }
    }

    /// An acknowledgement of everything received so far. Send one after each packet, or at least after each frame in
    /// which packets came; a lost one is made good by the next.
    pub fn acknowledge(&mut self) -> [u8; ACK_BYTES] {
        let ack = Ack {
            number: self.next_ack,
            newest: self.newest,
            before: self.before,
        };
        self.next_ack += 1;
        ack.write()
    }

    /// Where a body is at a server tick (usually `delay_ticks` before the present); `None` if it does not exist then.
    /// Parts of ticks are fine.
    pub fn shown(&self, id: BodyId, tick: f64) -> Option<Shown> {
        let slot = self.slots.get(self.by_body.get(&id)?)?;
        slot.body.as_ref()?.shown(tick, self.settings.pull())
    }

    /// All bodies that exist at a server tick, in order of id.
    pub fn all_shown(&self, tick: f64) -> impl Iterator<Item = (BodyId, Shown)> {
        self.by_body
            .keys()
            .filter_map(move |id| Some((*id, self.shown(*id, tick)?)))
    }

    /// The newest curves of a body: what the server believes it to follow.
    pub fn curves(&self, id: BodyId) -> Option<(&Flight, &Turn)> {
        let body = self.slots.get(self.by_body.get(&id)?)?.body.as_ref()?;
        body.flight.newest().zip(body.turn.newest())
    }

    /// The bodies it knows, in order of id.
    pub fn bodies(&self) -> impl ExactSizeIterator<Item = BodyId> {
        self.by_body.keys().copied()
    }
}

impl Body {
    fn take(
        &mut self,
        (packet, told_in): (u64, u64),
        flight: Option<Flight>,
        turn: Option<Turn>,
        relative_to: u64,
    ) {
        if let Some(curve) = flight {
            let held = Held {
                packet,
                told_in,
                curve,
            };
            self.flight.insert(held, relative_to);
        }
        if let Some(curve) = turn {
            let held = Held {
                packet,
                told_in,
                curve,
            };
            self.turn.insert(held, relative_to);
        }
    }

    fn shown(&self, tick: f64, pull: DVec3) -> Option<Shown> {
        let flight = self.flight.at(tick, |flight| flight.start)?;
        let turn = self.turn.at(tick, |turn| turn.start)?;
        Some(Shown {
            position: flight.position(tick - ticks_between(0, flight.start), pull),
            rotation: turn.rotation(tick - ticks_between(0, turn.start)),
        })
    }
}

/// All records of a packet; there is an end to it whatever the bytes say.
fn read_records(bytes: &[u8], distance: Distance) -> Result<Vec<Record>, StreamError> {
    let mut symbols = Symbols::new(RangeReader::new(bytes), distance);
    let mut cursor = Cursor::default();
    let mut records = Vec::new();
    while symbols.bit(MORE, false) {
        if records.len() == MAX_RECORDS {
            return Err(StreamError::TooManyRecords);
        }
        let record = cursor.code(&mut symbols, &RECORD);
        let record = record.filter(|record| record.slot < MAX_CLIENT_BODIES);
        records.push(record.ok_or(StreamError::TooManyBodies(records.len() as u64))?);
    }
    Ok(records)
}
