//! Fairness decided in the server, for all clients and entities at once, under byte budgets (beyond the thesis; DR-51).
//!
//! ```text
//!   entities ── vector ──► shared history ──┐
//!                                           │   each client's timetable: the next pair is taken, and if there is
//!   client A  ◄── packet ── bytes ◄─────────┤   something new for it, it goes into the packet
//!   client B  ◄── packet ── bytes ◄─────────┘
//!       └── ack of a packet, with its reception time ──► the accounts of all pairs in it
//! ```
//!
//! Two questions are answered together. *What is this client to be told next?* Each pair has a priority, relevance × fairness; the fairness weight is
//! its decaying error in proportion to the mean of that entity's clients. A pair comes up again after a number of slots in inverse
//! proportion to its priority: the thesis's deterministic algorithm with its credits, counted in slots of a timetable
//! that is walked as fast as the client's bytes allow. *Who gets the server's bytes?* Clients share them in proportion to the
//! priorities that wait for them, each up to its own limit.
//!
//! # Cost
//!
//! Nothing is done for a pair unless it is taken from its timetable. Taken pairs are sent, or parked at their entity because there is
//! nothing new for them; a parked pair comes back only when its entity triggers, and then it is sent. So a tick costs
//! O(clients + triggers + vectors sent), amortised, however many pairs there are ([`ServerCounts::taken`] shows it). A trigger does not
//! touch the clients that are behind: they find the newest vector in the shared history when their turn comes.

mod account;
mod calendar;
mod client;
mod entity;
mod shares;

pub use client::PacketSeq;

use super::delay::DelayModel;
use super::exported::{Measure, PathError};
use super::policies::ReceiverId;
use crate::vector::DrVector;
use account::Account;
use client::{Client, Entry, Packet, Pair, State};
use domain::{BodyId, SimTime};
use entity::{Entity, PairRef, Parking};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use shares::{Demand, shares};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use thiserror::Error;

/// After how many slots a pair of average priority comes up again. One of 16 times that priority comes up at every slot.
const AVERAGE_GAP: f64 = 16.0;
/// The fairness weight lies between 1/8 and 8, so that one client in trouble does not take everything from all others.
const MAX_WEIGHT: f64 = 8.0;
/// Most packets reported in one acknowledgement.
const MAX_ACKS: usize = 64;

/// How a [`FairServer`] spends its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSettings {
    /// To all clients together, bytes per second (default 10 MB/s).
    pub bytes_per_sec: f64,
    /// The largest packet, in bytes (default 1200).
    pub packet_bytes: usize,
    /// Of which this much is not vectors (default 12).
    pub packet_overhead_bytes: usize,
    /// After this many seconds an error counts half (default 10).
    pub half_life_secs: f64,
    /// Power of the error in the fairness weight (default 1; 0 is relevance only).
    pub exponent: f64,
    /// An unacknowledged packet counts as lost after twice the round trip, but no later than this (default 2 s).
    pub lost_after: SimTime,
    /// How many vectors of an entity are remembered (default 32).
    pub history: usize,
    /// The longest delay a client is granted (default none); see [`LedgerSettings`](super::LedgerSettings).
    pub admitted_delay: Option<SimTime>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            bytes_per_sec: 10e6,
            packet_bytes: 1200,
            packet_overhead_bytes: 12,
            half_life_secs: 10.0,
            exponent: 1.0,
            lost_after: SimTime::from_secs(2.0),
            history: 32,
            admitted_delay: None,
        }
    }
}

/// Why the server refused something. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ServerError {
    /// The vector does not continue its entity's path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A vector must fit into a packet.
    #[error("a vector of {0} bytes does not fit into a packet")]
    TooLarge(usize),
    /// No such client; it may have left.
    #[error("no client {}", .0.0)]
    UnknownClient(ReceiverId),
    /// It is there already.
    #[error("client {} is there already", .0.0)]
    AlreadyJoined(ReceiverId),
    /// No such entity; it may have been removed.
    #[error("no entity {0}")]
    UnknownEntity(BodyId),
    /// Relevances, budgets and errors are finite and above zero.
    #[error("{0} is not a finite number above zero")]
    NotPositive(f64),
    /// The acknowledgement names a packet that was never sent.
    #[error("packet {} was never sent", .0.0)]
    NeverSent(PacketSeq),
    /// More packets than one acknowledgement may have.
    #[error("{0} packets in one acknowledgement")]
    TooMany(usize),
}

/// A packet to send.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerPacket {
    /// To whom.
    pub to: ReceiverId,
    /// To be acknowledged under this number.
    pub seq: PacketSeq,
    /// What is in it.
    pub vectors: Vec<Arc<DrVector>>,
}

/// What the server did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Vectors generated.
    pub triggers: u64,
    /// Pairs taken from a timetable: the work done. Never more than twice the vectors sent, plus one per pair that ever entered a
    /// scope or left it, and one per lost vector.
    pub taken: u64,
    /// Pairs set aside because there was nothing new for them.
    pub parked: u64,
    /// Vectors sent.
    pub sent: u64,
    /// In so many packets.
    pub packets: u64,
    /// With so many bytes.
    pub bytes: u64,
    /// Packets taken to be lost.
    pub lost_packets: u64,
}

/// What moves with an entity to another region server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntityHandover {
    /// Its newest vector; sequence numbers continue from it.
    pub vector: DrVector,
    /// What that costs in a packet.
    pub bytes: usize,
    /// The decaying error of each client that has it in scope.
    pub errors: Vec<(ReceiverId, f64)>,
}

/// Feeds: [`Self::handle_vector`], [`Self::handle_ack`], [`Self::handle_tick`]. Drains: [`Self::poll_transmit`]. Commands:
/// [`Self::join`], [`Self::leave`], [`Self::set_scope`], [`Self::leave_scope`], [`Self::remove_entity`].
#[derive(Debug)]
pub struct FairServer {
    settings: ServerSettings,
    measure: Measure,
    entities: Vec<Option<Entity>>,
    free_entities: Vec<u32>,
    entity_index: FxHashMap<BodyId, u32>,
    clients: Vec<Option<Client>>,
    free_clients: Vec<u32>,
    client_index: BTreeMap<ReceiverId, u32>,
    serials: u64,
    last_tick: Option<SimTime>,
    outbox: VecDeque<ServerPacket>,
    counts: ServerCounts,
}

impl FairServer {
    /// Empty.
    pub fn new(settings: ServerSettings) -> Self {
        Self {
            settings,
            measure: Measure {
                half_life_secs: Some(settings.half_life_secs.max(1e-3)),
                ..Measure::default()
            },
            entities: Vec::new(),
            free_entities: Vec::new(),
            entity_index: FxHashMap::default(),
            clients: Vec::new(),
            free_clients: Vec::new(),
            client_index: BTreeMap::new(),
            serials: 0,
            last_tick: None,
            outbox: VecDeque::new(),
            counts: ServerCounts::default(),
        }
    }

    /// A client joins, with a limit of its own.
    pub fn join(&mut self, id: ReceiverId, bytes_per_sec: f64) -> Result<(), ServerError> {
        check_positive(bytes_per_sec)?;
        if self.client_index.contains_key(&id) {
            return Err(ServerError::AlreadyJoined(id));
        }
        let client = Some(Client::new(id, bytes_per_sec));
        let index = place(&mut self.clients, &mut self.free_clients, client);
        self.client_index.insert(id, index);
        Ok(())
    }

    /// A client leaves.
    pub fn leave(&mut self, id: ReceiverId) -> Result<(), ServerError> {
        let index = self.client_index.remove(&id).ok_or(ServerError::UnknownClient(id))?;
        self.free_clients.push(index);
        let Some(mut client) = self.clients[index as usize].take() else {
            return Ok(());
        };
        for pair in client.pairs.iter_mut().filter_map(Option::take) {
            self.forget(&pair);
        }
        Ok(())
    }

    /// An entity enters a client's scope, or its relevance changes. A newcomer's account starts at the mean of the entity's clients, unless
    /// another server handed one over.
    pub fn set_scope(
        &mut self,
        now: SimTime,
        client: ReceiverId,
        entity: BodyId,
        relevance: f64,
    ) -> Result<(), ServerError> {
        check_positive(relevance)?;
        let entity_index = *self.entity_index.get(&entity).ok_or(ServerError::UnknownEntity(entity))?;
        let index = self.client_at(client)?;
        let (Some(client), Some(entity)) = (
            self.clients[index].as_mut(),
            self.entities[entity_index as usize].as_mut(),
        ) else {
            return Err(ServerError::UnknownEntity(entity));
        };
        if let Some(&known) = client.by_entity.get(&entity.id)
            && let Some(Some(pair)) = client.pairs.get_mut(known as usize)
        {
            if pair.entity_serial == entity.serial {
                let priority = pair.priority / pair.relevance * relevance;
                pair.relevance = relevance;
                client.set_priority(known, priority);
                return Ok(());
            }
            client.remove_pair(known);
        }
        let handed_over = entity.handed_over.remove(&client.id);
        let error = handed_over.unwrap_or(entity.mean_error());
        entity.pairs += 1;
        entity.error_sum += error;
        self.serials += 1;
        client.add_pair(Pair {
            entity: entity_index,
            entity_id: entity.id,
            entity_serial: entity.serial,
            serial: self.serials,
            relevance,
            priority: relevance,
            error,
            account: Account::new(now, error),
            credit: 0.0,
            state: State::Queued,
            parkings: 0,
        });
        Ok(())
    }

    /// An entity leaves a client's scope.
    pub fn leave_scope(&mut self, client: ReceiverId, entity: BodyId) -> Result<(), ServerError> {
        let index = self.client_at(client)?;
        let pair = self.clients[index].as_mut().and_then(|client| {
            let known = *client.by_entity.get(&entity)?;
            client.remove_pair(known)
        });
        let pair = pair.ok_or(ServerError::UnknownEntity(entity))?;
        self.forget(&pair);
        Ok(())
    }

    /// An entity is gone. Its pairs are dropped as they come up.
    pub fn remove_entity(&mut self, id: BodyId) -> Result<(), ServerError> {
        let index = self.entity_index.remove(&id).ok_or(ServerError::UnknownEntity(id))?;
        self.free_entities.push(index);
        if let Some(entity) = self.entities[index as usize].take() {
            self.wake_all(entity.parked);
        }
        Ok(())
    }

    /// A vector was generated; it takes `bytes` in a packet. The first one makes its entity known.
    pub fn handle_vector(&mut self, vector: DrVector, bytes: usize) -> Result<(), ServerError> {
        if bytes + self.settings.packet_overhead_bytes > self.settings.packet_bytes {
            return Err(ServerError::TooLarge(bytes));
        }
        let depth = self.settings.history;
        let index = match self.entity_index.get(&vector.entity) {
            Some(&index) => index,
            None => {
                self.serials += 1;
                let mut entity = Entity::new(vector.entity, self.serials);
                entity.push(vector, bytes, depth)?;
                let index = place(&mut self.entities, &mut self.free_entities, Some(entity));
                self.entity_index.insert(vector.entity, index);
                self.counts.triggers += 1;
                return Ok(());
            }
        };
        if let Some(entity) = self.entities[index as usize].as_mut() {
            entity.push(vector, bytes, depth)?;
            self.counts.triggers += 1;
            let waiting = std::mem::take(&mut entity.parked);
            self.wake_all(waiting);
        }
        Ok(())
    }

    fn wake_all(&mut self, waiting: Vec<Parking>) {
        for Parking { pair, number } in waiting {
            let client = self.clients[pair.client as usize].as_mut();
            let Some(client) = client else { continue };
            let still = client
                .pair_mut(pair.pair, pair.serial)
                .is_some_and(|pair| pair.state == State::Parked(number));
            if still {
                client.wake(pair.pair, pair.serial);
            }
        }
    }

    /// Time moved on by one tick: packets are filled, as far as the bytes reach.
    pub fn handle_tick(&mut self, now: SimTime) {
        let secs = self.last_tick.map_or(0.0, |last| now.since(last).as_secs());
        self.last_tick = Some(now);
        self.grant(secs);
        for index in 0..self.clients.len() {
            self.give_up_lost(now, index);
            while let Some(packet) = self.fill(now, index) {
                self.outbox.push_back(packet);
            }
        }
    }

    /// Divides the bytes of this tick.
    fn grant(&mut self, secs: f64) {
        let packet = self.settings.packet_bytes as f64;
        let demand = |client: &Option<Client>| {
            let Some(client) = client else {
                return Demand { weight: 0.0, cap: 0.0 };
            };
            let income = client.bytes_per_sec * secs;
            let room = packet.max(2.0 * income) - client.tokens;
            Demand {
                weight: if client.calendar.len() > 0 { client.active_sum.max(0.0) } else { 0.0 },
                cap: income.min(room).max(0.0),
            }
        };
        let demands: Vec<_> = self.clients.iter().map(demand).collect();
        let shares = shares(self.settings.bytes_per_sec * secs, &demands);
        for (client, share) in self.clients.iter_mut().zip(shares) {
            if let Some(client) = client {
                client.tokens += share;
            }
        }
    }

    /// One packet for a client; `None` if there is nothing to say or nothing to pay it with.
    fn fill(&mut self, now: SimTime, index: usize) -> Option<ServerPacket> {
        let mut room = self.settings.packet_bytes - self.settings.packet_overhead_bytes;
        let mut spent = self.settings.packet_overhead_bytes;
        let mut entries = Vec::new();
        loop {
            let client = self.clients[index].as_mut()?;
            let Some((pair_index, serial)) = client.calendar.take() else {
                break;
            };
            self.counts.taken += 1;
            let Some(pair) = client.pair_mut(pair_index, serial) else {
                continue;
            };
            let (entity_index, entity_serial) = (pair.entity, pair.entity_serial);
            let newest_sent = pair.account.newest_sent();
            let entity = self.entities[entity_index as usize].as_mut();
            let Some(entity) = entity.filter(|entity| entity.serial == entity_serial) else {
                client.remove_pair(pair_index);
                continue;
            };
            let Some(newest) = entity.history.newest().cloned() else {
                continue;
            };
            if newest.seq <= newest_sent {
                self.park(index, pair_index, serial, entity_index);
                continue;
            }
            if entity.bytes > room || (spent + entity.bytes) as f64 > client.tokens {
                client.calendar.put_back((pair_index, serial));
                self.counts.taken -= 1;
                break;
            }
            room -= entity.bytes;
            spent += entity.bytes;
            self.serve(now, index, pair_index, &newest);
            entries.push(Entry {
                pair: pair_index,
                serial,
                vector: newest,
            });
        }
        (!entries.is_empty()).then(|| self.close(now, index, entries, spent))?
    }

    fn close(
        &mut self,
        now: SimTime,
        index: usize,
        entries: Vec<Entry>,
        spent: usize,
    ) -> Option<ServerPacket> {
        let client = self.clients[index].as_mut()?;
        client.tokens -= spent as f64;
        client.newest_packet.0 += 1;
        self.counts.sent += entries.len() as u64;
        self.counts.packets += 1;
        self.counts.bytes += spent as u64;
        let packet = ServerPacket {
            to: client.id,
            seq: client.newest_packet,
            vectors: entries.iter().map(|entry| Arc::clone(&entry.vector)).collect(),
        };
        client.in_flight.push_back(Packet {
            seq: packet.seq,
            sent: now,
            entries,
        });
        Some(packet)
    }

    /// Notes a sending, reads the pair's error, and enters it in the timetable again.
    fn serve(&mut self, now: SimTime, index: usize, pair_index: u32, newest: &Arc<DrVector>) -> Option<()> {
        let client = self.clients[index].as_mut()?;
        let delay = client.delays.delay(DelayModel::Average);
        let pair = client.pairs[pair_index as usize].as_mut()?;
        let entity = self.entities[pair.entity as usize].as_mut()?;
        let error = pair.account.aee(now, delay, &entity.history, &self.measure);
        pair.account.handle_sent(now, Arc::clone(newest));
        entity.error_sum += error - pair.error;
        pair.error = error;
        let weight = if pair.account.is_known() {
            fairness_weight(error, entity.mean_error(), self.settings.exponent)
        } else {
            1.0
        };
        let priority = pair.relevance * weight;
        client.set_priority(pair_index, priority);
        let mean = client.mean_priority();
        let pair = client.pairs[pair_index as usize].as_mut()?;
        let gap = (AVERAGE_GAP * mean / priority - pair.credit).min(calendar::SLOTS as f64 - 1.0);
        let slots = (gap - 1e-9).ceil().max(1.0);
        pair.credit = (slots - gap).clamp(0.0, 1.0 - f64::EPSILON);
        let serial = pair.serial;
        client.calendar.insert(slots as usize, (pair_index, serial));
        Some(())
    }

    fn park(&mut self, index: usize, pair: u32, serial: u64, entity: u32) -> Option<()> {
        self.counts.parked += 1;
        let number = self.clients[index].as_mut()?.park(pair)?;
        let pair = PairRef {
            client: index as u32,
            pair,
            serial,
        };
        let entity = self.entities[entity as usize].as_mut()?;
        entity.parked.push(Parking { pair, number });
        if entity.parked.len() > 2 * entity.pairs + 16 {
            // Pairs that left, or were woken by a loss, stay in the list until now. At least half of it goes.
            let clients = &mut self.clients;
            entity.parked.retain(|Parking { pair, number }| {
                let client = clients[pair.client as usize].as_mut();
                client
                    .and_then(|client| client.pair_mut(pair.pair, pair.serial))
                    .is_some_and(|pair| pair.state == State::Parked(*number))
            });
        }
        Some(())
    }

    /// A client reports packets and when they arrived. A packet reported again changes nothing.
    pub fn handle_ack(
        &mut self,
        now: SimTime,
        from: ReceiverId,
        acks: &[(PacketSeq, SimTime)],
    ) -> Result<(), ServerError> {
        let index = self.client_at(from)?;
        let client = self.clients[index].as_ref();
        let newest = client.map_or(PacketSeq(0), |client| client.newest_packet);
        if acks.len() > MAX_ACKS {
            return Err(ServerError::TooMany(acks.len()));
        }
        if let Some(&(seq, _)) = acks.iter().find(|(seq, _)| *seq > newest) {
            return Err(ServerError::NeverSent(seq));
        }
        for &(seq, reported) in acks {
            self.acknowledge(now, index, seq, reported);
        }
        Ok(())
    }

    fn acknowledge(&mut self, now: SimTime, index: usize, seq: PacketSeq, reported: SimTime) -> Option<()> {
        let client = self.clients[index].as_mut()?;
        let found = client.in_flight.binary_search_by_key(&seq, |packet| packet.seq);
        let packet = client.in_flight.get_mut(found.ok()?)?;
        let entries = std::mem::take(&mut packet.entries);
        if entries.is_empty() {
            return None;
        }
        let sent = packet.sent;
        let granted = self.settings.admitted_delay.map_or(now, |delay| sent + delay);
        let at = reported.min(granted).min(now).max(sent);
        client.delays.record(at.since(sent));
        client.round_trips.record(now.since(sent));
        for entry in entries {
            let Some(pair) = client.pair_mut(entry.pair, entry.serial) else {
                continue;
            };
            if let Some(Some(entity)) = self.entities.get(pair.entity as usize)
                && entity.serial == pair.entity_serial
            {
                pair.account.handle_ack(at, &entry.vector, &entity.history, &self.measure);
            }
        }
        Some(())
    }

    /// Packets that should have been acknowledged by now: what was in them is due again unless something newer is under way.
    fn give_up_lost(&mut self, now: SimTime, index: usize) -> Option<()> {
        let client = self.clients[index].as_mut()?;
        let round_trip = client.round_trips.delay(DelayModel::Average).as_secs();
        let patience = match round_trip {
            0.0 => self.settings.lost_after,
            secs => SimTime::from_secs(2.0 * secs + 0.1).min(self.settings.lost_after),
        };
        while let Some(packet) = client.in_flight.front() {
            let acked = packet.entries.is_empty();
            if !acked && now.since(packet.sent) <= patience {
                break;
            }
            let packet = client.in_flight.pop_front()?;
            self.counts.lost_packets += u64::from(!acked);
            for entry in packet.entries {
                if let Some(pair) = client.pair_mut(entry.pair, entry.serial) {
                    pair.account.handle_loss(entry.vector.seq);
                    client.wake(entry.pair, entry.serial);
                }
            }
        }
        Some(())
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self) -> Option<ServerPacket> {
        self.outbox.pop_front()
    }

    /// The decaying error of a pair, as it is estimated now.
    pub fn error(&self, now: SimTime, client: ReceiverId, entity: BodyId) -> Option<f64> {
        let client = self.clients[*self.client_index.get(&client)? as usize].as_ref()?;
        let pair = client.pairs[*client.by_entity.get(&entity)? as usize].as_ref()?;
        let entity = self.entities[pair.entity as usize].as_ref()?;
        if entity.serial != pair.entity_serial {
            return None;
        }
        let delay = client.delays.delay(DelayModel::Average);
        Some(pair.account.aee(now, delay, &entity.history, &self.measure))
    }

    /// What was done so far.
    pub fn counts(&self) -> ServerCounts {
        self.counts
    }

    /// What another region server needs to go on with an entity. O(clients).
    pub fn hand_over(&self, now: SimTime, id: BodyId) -> Option<EntityHandover> {
        let entity = self.entities[*self.entity_index.get(&id)? as usize].as_ref()?;
        let clients = self.client_index.keys();
        Some(EntityHandover {
            vector: **entity.history.newest()?,
            bytes: entity.bytes,
            errors: clients
                .filter_map(|&client| Some((client, self.error(now, client, id)?)))
                .collect(),
        })
    }

    /// Goes on with an entity of another region server. Its clients find their errors again when it enters their scope here.
    pub fn take_over(&mut self, handover: EntityHandover) -> Result<(), ServerError> {
        let EntityHandover { vector, bytes, errors } = handover;
        if let Some((_, error)) = errors.iter().find(|(_, error)| !(error.is_finite() && *error >= 0.0)) {
            return Err(ServerError::NotPositive(*error));
        }
        self.handle_vector(vector, bytes)?;
        let index = self.entity_index.get(&vector.entity);
        let entity = index.and_then(|&index| self.entities[index as usize].as_mut());
        if let Some(entity) = entity {
            entity.handed_over.extend(errors);
        }
        Ok(())
    }

    fn client_at(&self, id: ReceiverId) -> Result<usize, ServerError> {
        let index = self.client_index.get(&id);
        index.map(|&index| index as usize).ok_or(ServerError::UnknownClient(id))
    }

    /// Takes a pair that is gone out of its entity's sums.
    fn forget(&mut self, pair: &Pair) {
        let entity = self.entities.get_mut(pair.entity as usize);
        if let Some(Some(entity)) = entity
            && entity.serial == pair.entity_serial
        {
            entity.pairs -= 1;
            entity.error_sum = if entity.pairs == 0 { 0.0 } else { entity.error_sum - pair.error };
        }
    }
}

/// How much more than an average client this one needs a vector.
fn fairness_weight(error: f64, mean: f64, exponent: f64) -> f64 {
    if error <= 0.0 || mean <= 0.0 {
        return 1.0;
    }
    let weight = (error / mean).powf(exponent);
    weight.clamp(1.0 / MAX_WEIGHT, MAX_WEIGHT)
}

fn check_positive(value: f64) -> Result<(), ServerError> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(ServerError::NotPositive(value))
    }
}

/// Puts something into the first free place.
fn place<T>(places: &mut Vec<Option<T>>, free: &mut Vec<u32>, thing: Option<T>) -> u32 {
    match free.pop() {
        Some(index) => {
            places[index as usize] = thing;
            index
        }
        None => {
            places.push(thing);
            places.len() as u32 - 1
        }
    }
}
