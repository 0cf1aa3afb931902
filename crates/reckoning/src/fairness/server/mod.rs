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
mod feedback;
mod fill;
mod handover;
mod shares;
mod types;

pub use client::PacketSeq;
pub use types::{EntityHandover, ServerCounts, ServerError, ServerPacket, ServerSettings};

use super::delay::DelayModel;
use super::exported::Measure;
use super::policies::ReceiverId;
use crate::vector::DrVector;
use account::Account;
use client::{Client, Pair, State};
use domain::{BodyId, SimTime};
use entity::{Entity, Parking};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

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
        let index = self
            .client_index
            .remove(&id)
            .ok_or(ServerError::UnknownClient(id))?;
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
        let entity_index = *self
            .entity_index
            .get(&entity)
            .ok_or(ServerError::UnknownEntity(entity))?;
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
        let index = self
            .entity_index
            .remove(&id)
            .ok_or(ServerError::UnknownEntity(id))?;
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

    fn client_at(&self, id: ReceiverId) -> Result<usize, ServerError> {
        let index = self.client_index.get(&id);
        index
            .map(|&index| index as usize)
            .ok_or(ServerError::UnknownClient(id))
    }

    /// Takes a pair that is gone out of its entity's sums.
    fn forget(&mut self, pair: &Pair) {
        let entity = self.entities.get_mut(pair.entity as usize);
        if let Some(Some(entity)) = entity
            && entity.serial == pair.entity_serial
        {
            entity.pairs -= 1;
            entity.error_sum = if entity.pairs == 0 {
                0.0
            } else {
                entity.error_sum - pair.error
            };
        }
    }
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
