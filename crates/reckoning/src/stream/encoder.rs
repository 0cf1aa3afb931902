//! The server's side of one client: what it has, what it lacks, and the packets that tell it.
//!
//! ```text
//!   Exporter ──curves──► StreamEncoder ══packets══► StreamDecoder ──► what is shown
//!   (one for all)         (one per client) ◄══acks══
//! ```
//!
//! A curve is told as a difference to the newest curve of that body which the client has *acknowledged*; each packet
//! names the acknowledgement it counts from. So every packet that arrives can be understood, whatever else was lost. A
//! packet found lost is not repeated: its bodies are told anew as they are by then.

use super::curves::{Flight, Turn};
use super::packets::{ACK_WINDOW, Ack, HEADER_BYTES, Header, StreamError};
use super::range::RangeWriter;
use super::records::{Cursor, MAX_RECORDS, Record, What};
use super::scope::{ClientBody, Slots};
use super::settings::StreamSettings;
use super::source::Source;
use super::stats::StreamStats;
use super::steps::{FlightStep, TurnStep};
use super::symbols::{CHANCES, Distance, MORE, Part, Symbols};
use domain::BodyId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// The most packets whose fate is not known yet; older ones count as lost.
const MOST_UNDER_WAY: usize = 256;
/// Room kept free at a packet's end: no record is longer.
const RECORD_BYTES: usize = 160;
/// From so many updates per round trip on, most differences are to curves older than the last.
const FAR_UPDATES: f64 = 1.5;
/// How long to wait for an acknowledgement before anything is known about the round trip, ticks.
const FIRST_PATIENCE: u64 = 30;

/// The stream to one client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StreamEncoder {
    settings: StreamSettings,
    slots: Slots,
    /// Slots that may need something although their body's curves did not change now.
    pending: BTreeSet<u32>,
    next_packet: u64,
    newest_ack: u64,
    under_way: VecDeque<Sent>,
    /// Smoothed, in ticks.
    round_trip: Option<f64>,
    /// The last update; after a gap every body is looked at.
    updated: Option<u64>,
    stats: StreamStats,
    #[serde(skip)]
    counts: Option<Box<[[u64; 2]]>>,
}

/// A packet whose fate is not known.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sent {
    number: u64,
    tick: u64,
    slots: Vec<u32>,
    lost: bool,
}

impl StreamEncoder {
    /// For a client that has just joined; it must use the same settings.
    pub fn new(settings: StreamSettings) -> Self {
        Self {
            settings: settings.put_right(),
            slots: Slots::default(),
            pending: BTreeSet::new(),
            next_packet: 1,
            newest_ack: 0,
            under_way: VecDeque::new(),
            round_trip: None,
            updated: None,
            stats: StreamStats::default(),
            counts: None,
        }
    }

    /// What was sent so far.
    pub fn stats(&self) -> &StreamStats {
        &self.stats
    }

    /// Puts a body into the client's scope, now or as soon as it is exported.
    pub fn enter(&mut self, id: BodyId) {
        if let Some(slot) = self.slots.enter(id) {
            self.pending.insert(slot);
        }
    }

    /// Takes a body out of the client's scope.
    pub fn leave(&mut self, id: BodyId) {
        if let Some(slot) = self.slots.leave(id) {
            self.pending.insert(slot);
        }
    }

    /// Puts everything that a source has into the scope and takes everything that left it out: for worlds that a
    /// client sees whole. Call it after each update of the source.
    pub fn follow<S: Source + ?Sized>(&mut self, source: &S) {
        self.follow_all(&[source]);
    }

    /// The same for a world on several servers. A body that left one of them and is on another stays in the scope.
    pub fn follow_all<S: Source + ?Sized>(&mut self, sources: &[&S]) {
        let is_there = |id| sources.iter().any(|source| source.curves(id).is_some());
        for id in sources.iter().flat_map(|source| source.gone()) {
            if !is_there(*id) {
                self.leave(*id);
            } else if let Some(slot) = self.slots.of(*id) {
                // Its curves come from elsewhere now.
                self.pending.insert(slot);
            }
        }
        let arrived = sources.iter().flat_map(|source| source.arrived());
        for id in arrived.filter(|id| is_there(**id)) {
            self.enter(*id);
        }
    }

    /// The bodies in the client's scope.
    pub fn scope(&self) -> impl Iterator<Item = BodyId> {
        self.slots.scope()
    }

    /// The packets of this update, each within the most bytes a packet may have; none if the client has all it needs. Call it
    /// once for each update of the sources; a body that is in none of them for a while (it changes servers) stays on its
    /// curve.
    pub fn update<S: Source + ?Sized>(&mut self, tick: u64, sources: &[&S]) -> Vec<Vec<u8>> {
        self.give_up_waiting(tick);
        let mut due = std::mem::take(&mut self.pending);
        let in_step = self
            .updated
            .is_some_and(|last| last + self.settings.update_ticks == tick);
        if in_step {
            let changed = sources.iter().flat_map(|source| source.changed());
            due.extend(changed.filter_map(|id| self.slots.of(*id)));
        } else {
            due.extend(self.slots.all());
        }
        self.updated = Some(tick);
        let mut packets = Vec::new();
        let mut due = due.into_iter().peekable();
        while due.peek().is_some() {
            packets.extend(self.packet(tick, sources, &mut due));
        }
        packets
    }

    /// One packet with as many records as fit; `None` if nothing needed to be told.
    fn packet<S: Source + ?Sized>(
        &mut self,
        tick: u64,
        sources: &[&S],
        due: &mut impl Iterator<Item = u32>,
    ) -> Option<Vec<u8>> {
        let number = self.next_packet;
        let header = Header {
            number,
            tick,
            relative_to: self.newest_ack,
            distance: self.distance(),
        };
        let mut symbols = Symbols::new(RangeWriter::after(header.write()), header.distance);
        if let Some(counts) = self.counts.take() {
            symbols.count(counts);
        }
        let mut cursor = Cursor::default();
        let mut slots = Vec::new();
        while symbols.coder().len() + RECORD_BYTES <= self.settings.max_packet_bytes
            && slots.len() < MAX_RECORDS
        {
            let Some(slot) = due.next() else {
                break;
            };
            if let Some(record) = self.record(slot, number, tick, sources) {
                symbols.bit(MORE, true);
                cursor.code(&mut symbols, &record);
                slots.push(slot);
            }
        }
        symbols.bit(MORE, false);
        symbols.charge(Part::Ids);
        self.counts = symbols.take_counts();
        if slots.is_empty() {
            return None;
        }
        let (spent, records) = (symbols.spent(), slots.len());
        let mut bytes = symbols.into_coder().finish(HEADER_BYTES);
        Header::seal(&mut bytes);
        self.stats.add(bytes.len(), HEADER_BYTES, records, spent);
        self.next_packet += 1;
        self.remember(Sent {
            number,
            tick,
            slots,
            lost: false,
        });
        Some(bytes)
    }

    fn distance(&self) -> Distance {
        let updates = self.round_trip.unwrap_or(0.0) / self.settings.update_ticks as f64;
        if updates > FAR_UPDATES {
            Distance::Far
        } else {
            Distance::Near
        }
    }

    fn record<S: Source + ?Sized>(
        &mut self,
        slot: u32,
        packet: u64,
        tick: u64,
        sources: &[&S],
    ) -> Option<Record> {
        let pull = self.settings.pull();
        let body = self.slots.get_mut(slot)?;
        if body.is_leaving() {
            return body.tell_leaving(packet).then_some(Record {
                slot,
                what: What::Leaves,
            });
        }
        let Some((flight, turn)) = newest_curves(sources, body.id) else {
            // Not there yet, or on its way from one server to another: look again at the next update.
            self.pending.insert(slot);
            return None;
        };
        let what = if body.is_known() {
            moves(body, packet, tick, (flight, turn), pull)?
        } else if body.flight.needs(flight) || body.turn.needs(turn) {
            body.flight.tell(packet, flight);
            body.turn.tell(packet, turn);
            What::Enters {
                body: body.id.0,
                flight: FlightStep::new(flight, None, tick, pull),
                turn: TurnStep::new(turn, None, tick),
            }
        } else {
            return None;
        };
        Some(Record { slot, what })
    }

    fn remember(&mut self, sent: Sent) {
        self.under_way.push_back(sent);
        if self.under_way.len() > MOST_UNDER_WAY
            && let Some(oldest) = self.under_way.pop_front()
        {
            self.forget(&oldest);
        }
    }

    /// Whether this packet arrived will never be known: its bodies must be told from scratch.
    fn forget(&mut self, sent: &Sent) {
        for slot in &sent.slots {
            if let Some(body) = self.slots.get_mut(*slot)
                && body.forget(sent.number)
            {
                self.pending.insert(*slot);
            }
        }
    }

    fn lose(&mut self, sent: &Sent) {
        for slot in &sent.slots {
            if let Some(body) = self.slots.get_mut(*slot)
                && body.lose(sent.number)
            {
                self.pending.insert(*slot);
            }
        }
    }

    // ── acknowledgements ───────────────────────────────────────────────────────────────────────────────────────

    /// Takes an acknowledgement that arrived at this tick. An old or repeated one is fine and changes nothing.
    pub fn acknowledge(&mut self, tick: u64, bytes: &[u8]) -> Result<(), StreamError> {
        let near = Ack {
            number: self.newest_ack,
            newest: self.next_packet - 1,
            before: 0,
        };
        let ack = Ack::read(bytes, &near)?;
        if ack.newest >= self.next_packet {
            return Err(StreamError::NeverSent(ack.newest));
        }
        if ack.number <= self.newest_ack {
            return Ok(());
        }
        self.newest_ack = ack.number;
        let mut waiting = VecDeque::new();
        for mut sent in std::mem::take(&mut self.under_way) {
            let Some(back) = ack.newest.checked_sub(sent.number) else {
                waiting.push_back(sent);
                continue;
            };
            if back == 0 || (back <= ACK_WINDOW && ack.before >> (back - 1) & 1 == 1) {
                self.arrived(&sent, tick);
            } else if back > ACK_WINDOW {
                self.forget(&sent);
            } else {
                if !sent.lost {
                    self.lose(&sent);
                    self.stats.lost_packets += 1;
                    sent.lost = true;
                }
                waiting.push_back(sent);
            }
        }
        self.under_way = waiting;
        Ok(())
    }

    fn arrived(&mut self, sent: &Sent, tick: u64) {
        let took = tick.saturating_sub(sent.tick) as f64;
        let smoothed = self.round_trip.map_or(took, |old| old * 0.9 + took * 0.1);
        self.round_trip = Some(smoothed);
        for slot in &sent.slots {
            if let Some(again) = self.slots.arrived(*slot, sent.number) {
                self.pending.insert(again);
            }
        }
    }

    /// When nothing newer is sent, no acknowledgement tells of a loss: time does.
    fn give_up_waiting(&mut self, tick: u64) {
        let patience = self.round_trip.map_or(FIRST_PATIENCE, |ticks| {
            (2.0 * ticks) as u64 + 4 * self.settings.update_ticks
        });
        let late: Vec<usize> = (self.under_way.iter().enumerate())
            .filter(|(_, sent)| !sent.lost && sent.tick + patience < tick)
            .map(|(index, _)| index)
            .collect();
        for index in late {
            let mut sent = self.under_way[index].clone();
            self.lose(&sent);
            self.stats.lost_packets += 1;
            sent.lost = true;
            self.under_way[index] = sent;
        }
    }

    // ── one stream for many clients over a transport that loses nothing ────────────────────────────────────────────

    /// Everything told so far has arrived: for a transport that loses nothing and keeps the order, where one stream serves many clients and
    /// none of them acknowledges. The other ends call [`StreamDecoder::acknowledge`](super::StreamDecoder::acknowledge) after each packet,
    /// and throw away what it returns: packets and acknowledgements then have the same numbers everywhere.
    pub fn acknowledge_all(&mut self, tick: u64) {
        self.newest_ack = self.next_packet - 1;
        for sent in std::mem::take(&mut self.under_way) {
            self.arrived(&sent, tick);
        }
    }

    /// What brings a client that has nothing to where those are who got everything: the number of the packet after which it joins, and
    /// packets for [`StreamDecoder::receive_join`](super::StreamDecoder::receive_join). Only right after [`Self::acknowledge_all`].
    pub fn join(&self, tick: u64) -> (u64, Vec<Vec<u8>>) {
        let number = self.next_packet - 1;
        let mut known = self.slots.known().peekable();
        let mut packets = Vec::new();
        while known.peek().is_some() {
            packets.push(self.join_packet(number, tick, &mut known));
        }
        (number, packets)
    }

    fn join_packet<'a>(
        &self,
        number: u64,
        tick: u64,
        known: &mut impl Iterator<Item = (u32, BodyId, &'a Flight, &'a Turn)>,
    ) -> Vec<u8> {
        let header = Header {
            number,
            tick,
            relative_to: 0,
            distance: Distance::Near,
        };
        let pull = self.settings.pull();
        let mut symbols = Symbols::new(RangeWriter::after(header.write()), header.distance);
        let mut cursor = Cursor::default();
        let mut records = 0;
        while symbols.coder().len() + RECORD_BYTES <= self.settings.max_packet_bytes
            && records < MAX_RECORDS
        {
            let Some((slot, body, flight, turn)) = known.next() else {
                break;
            };
            let what = What::Enters {
                body: body.0,
                flight: FlightStep::new(flight, None, tick, pull),
                turn: TurnStep::new(turn, None, tick),
            };
            symbols.bit(MORE, true);
            cursor.code(&mut symbols, &Record { slot, what });
            records += 1;
        }
        symbols.bit(MORE, false);
        let mut bytes = symbols.into_coder().finish(HEADER_BYTES);
        Header::seal(&mut bytes);
        bytes
    }

    // ── training ───────────────────────────────────────────────────────────────────────────────────────────────

    /// Counts from now on how often each chance of the format sees a 0 and a 1: what the tables are made from.
    pub fn count_symbols(&mut self) {
        self.counts = Some(vec![[0; 2]; CHANCES].into());
    }

    /// What was counted.
    pub fn symbol_counts(&self) -> Option<&[[u64; 2]]> {
        self.counts.as_deref()
    }
}

/// A body's curves. While it changes servers both may have it: the one that has gone on from there is right.
fn newest_curves<'a, S: Source + ?Sized>(
    sources: &[&'a S],
    id: BodyId,
) -> Option<(&'a Flight, &'a Turn)> {
    let found = sources.iter().filter_map(|source| source.curves(id));
    found.max_by_key(|(flight, turn)| flight.start.max(turn.start))
}

/// What to tell of a body that the client knows.
fn moves(
    body: &mut ClientBody,
    packet: u64,
    tick: u64,
    (flight, turn): (&Flight, &Turn),
    pull: glam::DVec3,
) -> Option<What> {
    let new_flight = body.flight.needs(flight).then(|| {
        let step = FlightStep::new(flight, body.flight.base(), tick, pull);
        body.flight.tell(packet, flight);
        step
    });
    let new_turn = body.turn.needs(turn).then(|| {
        let step = TurnStep::new(turn, body.turn.base(), tick);
        body.turn.tell(packet, turn);
        step
    });
    (new_flight.is_some() || new_turn.is_some()).then_some(What::Moves {
        flight: new_flight,
        turn: new_turn,
    })
}
