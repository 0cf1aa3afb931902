//! The sending half of a tick: dividing the bytes, filling packets, entering what was sent in the timetables again.

use super::FairServer;
use super::calendar;
use super::client::{Client, Entry, Packet, State};
use super::entity::{PairRef, Parking};
use super::shares::{Demand, shares};
use super::types::ServerPacket;
use crate::fairness::delay::DelayModel;
use domain::SimTime;
use std::sync::Arc;

/// After how many slots a pair of average priority comes up again. One of 16 times that priority comes up at every slot.
const AVERAGE_GAP: f64 = 16.0;
/// The fairness weight lies between 1/8 and 8, so that one client in trouble does not take everything from all others.
const MAX_WEIGHT: f64 = 8.0;

impl FairServer {
    /// Divides the bytes of this tick.
    pub(super) fn grant(&mut self, secs: f64) {
        let packet = self.settings.packet_bytes as f64;
        let demand = |client: &Option<Client>| {
            let Some(client) = client else {
                return Demand {
                    weight: 0.0,
                    cap: 0.0,
                };
            };
            let income = client.bytes_per_sec * secs;
            let room = packet.max(2.0 * income) - client.tokens;
            Demand {
                weight: client.waiting_priority(),
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
    pub(super) fn fill(&mut self, now: SimTime, index: usize) -> Option<ServerPacket> {
        let mut spent = self.settings.packet_overhead_bytes;
        let mut entries = Vec::new();
        while let Some((entry, bytes)) = self.next_with_news(index) {
            let client = self.clients[index].as_mut()?;
            let fits = spent + bytes <= self.settings.packet_bytes;
            if !fits || (spent + bytes) as f64 > client.tokens {
                client.calendar.put_back((entry.pair, entry.serial));
                self.counts.taken -= 1;
                break;
            }
            spent += bytes;
            self.serve(now, index, &entry);
            entries.push(entry);
        }
        if entries.is_empty() {
            return None;
        }
        self.close(now, index, entries, spent)
    }

    /// Takes pairs from a client's timetable until there is something new for one. Those without news are set aside, those whose entity is gone are
    /// dropped.
    fn next_with_news(&mut self, index: usize) -> Option<(Entry, usize)> {
        loop {
            let client = self.clients[index].as_mut()?;
            let (pair_index, serial) = client.calendar.take()?;
            self.counts.taken += 1;
            let Some(pair) = client.pair_mut(pair_index, serial) else {
                continue;
            };
            let (entity_index, entity_serial) = (pair.entity, pair.entity_serial);
            let newest_sent = pair.account.newest_sent();
            let entity = self.entities[entity_index as usize].as_ref();
            let Some(entity) = entity.filter(|entity| entity.serial == entity_serial) else {
                client.remove_pair(pair_index);
                continue;
            };
            match entity.history.newest() {
                Some(newest) if newest.seq > newest_sent => {
                    let entry = Entry {
                        pair: pair_index,
                        serial,
                        vector: Arc::clone(newest),
                    };
                    return Some((entry, entity.bytes));
                }
                _ => self.park(index, pair_index, serial, entity_index),
            };
        }
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
            vectors: entries
                .iter()
                .map(|entry| Arc::clone(&entry.vector))
                .collect(),
        };
        client.in_flight.push_back(Packet {
            seq: packet.seq,
            sent: now,
            entries,
        });
        Some(packet)
    }

    /// Notes a sending, reads the pair's error, and enters it in the timetable again.
    fn serve(&mut self, now: SimTime, index: usize, entry: &Entry) -> Option<()> {
        let pair_index = entry.pair;
        let client = self.clients[index].as_mut()?;
        let delay = client.delays.delay(DelayModel::Average);
        let pair = client.pairs[pair_index as usize].as_mut()?;
        let entity = self.entities[pair.entity as usize].as_mut()?;
        let error = pair.account.aee(now, delay, &entity.history, &self.measure);
        pair.account.handle_sent(now, Arc::clone(&entry.vector));
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
}

/// How much more than an average client this one needs a vector.
fn fairness_weight(error: f64, mean: f64, exponent: f64) -> f64 {
    if error <= 0.0 || mean <= 0.0 {
        return 1.0;
    }
    let weight = (error / mean).powf(exponent);
    weight.clamp(1.0 / MAX_WEIGHT, MAX_WEIGHT)
}
