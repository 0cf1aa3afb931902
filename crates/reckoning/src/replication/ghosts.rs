//! Ghosts: copies of objects on another machine, kept up to date with the newest state only.
//!
//! ```text
//! object at the server          ghost at a client
//! ┌───────────────────┐         ┌───────────────────┐      dirty bits per (client, object): what the client
//! │ bit 0   vector    │ ──────▶ │ bit 0   vector    │      does not have yet. Bit 0 is the dead-reckoning vector (DR-47),
//! │ bits 1–31 state   │         │ bits 1–31 state   │      the other 31 are the application's
//! └───────────────────┘         └───────────────────┘
//! ```
//!
//! A bit is cleared when its state goes into a packet. If that packet is lost, the bit is set again, unless a later packet has carried
//! the same bit: old state is never sent again, the state at the time of sending is. So a client is behind by one
//! round trip at most, whatever is lost, and nothing queues up (most-recent-state delivery, digest §3.3 and §7 C6).
//!
//! Who goes first when not all fits: importance × time waited, so that the important comes often and the unimportant comes.
//!
//! Work per packet grows with the number of dirty objects, not with the number of objects.

use super::connection::PacketId;
use crate::codec::{GhostUpdate, Introduction, Message, PacketWriter, StateBits};
use domain::{BodyId, SimTime};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// So many objects may be too large for what is left of a packet before it counts as full.
const MAX_MISFITS: usize = 8;

/// Hardly a packet takes more updates; what is beyond follows in the next, so only so many need to be put in order.
const MAX_PER_PACKET: usize = 256;

/// What the other side knows of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Perhaps nothing: each update says what it is.
    Announcing,
    /// That it exists.
    Known,
    /// It should forget it.
    Leaving,
}

#[derive(Clone, Debug)]
struct Ghost {
    class: u16,
    phase: Phase,
    /// Another at each return into scope: what an earlier life's packets did says nothing about this one.
    life: u32,
    importance: f64,
    dirty: StateBits,
    dirty_since: SimTime,
    /// Which bits are under way in which packet, oldest first.
    under_way: Vec<(PacketId, StateBits)>,
}

impl Ghost {
    fn urgency(&self, now: SimTime) -> f64 {
        // A millisecond at least, so that importance decides among those that became dirty just now.
        self.importance * (now.since(self.dirty_since).as_secs() + 1e-3)
    }

    fn mark(&mut self, bits: StateBits, now: SimTime) {
        if self.dirty.is_empty() {
            self.dirty_since = now;
        }
        self.dirty = self.dirty.with(bits);
    }
}

/// What one packet carried of one object.
#[derive(Clone, Copy, Debug)]
struct Carried {
    entity: BodyId,
    life: u32,
    cargo: Cargo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cargo {
    Update { announced: bool },
    Kill,
}

/// One end's ghosts at the other end of one connection.
#[derive(Clone, Debug, Default)]
pub struct GhostSender {
    ghosts: BTreeMap<BodyId, Ghost>,
    /// How many lives were begun, of all objects: each has its own number.
    lives: u32,
    /// Those with something to send.
    pending: BTreeSet<BodyId>,
    flights: VecDeque<(PacketId, SimTime, Vec<Carried>)>,
}

impl GhostSender {
    /// Without ghosts.
    pub fn new() -> Self {
        Self::default()
    }

    /// An object comes into the other side's scope; `bits` is all state it has.
    pub fn enter(
        &mut self,
        now: SimTime,
        entity: BodyId,
        class: u16,
        bits: StateBits,
        importance: f64,
    ) {
        let ghost = self.ghosts.entry(entity).or_insert(Ghost {
            class,
            phase: Phase::Leaving,
            life: 0,
            importance,
            dirty: StateBits::NONE,
            dirty_since: now,
            under_way: Vec::new(),
        });
        ghost.importance = importance;
        if ghost.phase == Phase::Leaving {
            ghost.phase = Phase::Announcing;
            ghost.class = class;
            self.lives = self.lives.wrapping_add(1);
            ghost.life = self.lives;
            ghost.under_way.clear();
            ghost.dirty = bits;
            ghost.dirty_since = now;
            self.pending.insert(entity);
        }
    }

    /// An object leaves the other side's scope, or exists no more.
    pub fn leave(&mut self, entity: BodyId) {
        if let Some(ghost) = self.ghosts.get_mut(&entity) {
            ghost.phase = Phase::Leaving;
            ghost.dirty = StateBits::NONE;
            self.pending.insert(entity);
        }
    }

    /// Is this object in scope?
    pub fn has(&self, entity: BodyId) -> bool {
        let ghost = self.ghosts.get(&entity);
        ghost.is_some_and(|ghost| ghost.phase != Phase::Leaving)
    }

    /// All objects in scope, in order.
    pub fn in_scope(&self) -> impl Iterator<Item = BodyId> {
        let here = |(_, ghost): &(&BodyId, &Ghost)| ghost.phase != Phase::Leaving;
        self.ghosts.iter().filter(here).map(|(entity, _)| *entity)
    }

    /// Some state of an object has changed.
    pub fn mark(&mut self, now: SimTime, entity: BodyId, bits: StateBits) {
        let Some(ghost) = self.ghosts.get_mut(&entity) else {
            return;
        };
        if ghost.phase != Phase::Leaving && !bits.is_empty() {
            ghost.mark(bits, now);
            self.pending.insert(entity);
        }
    }

    /// The bits still to be sent.
    pub fn dirty(&self, entity: BodyId) -> StateBits {
        let ghost = self.ghosts.get(&entity);
        ghost.map_or(StateBits::NONE, |ghost| ghost.dirty)
    }

    /// Is there anything to put into a packet?
    pub fn wants_to_send(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Puts what is most urgent into a packet. `state` gives the present state of an object behind these
    /// bits, as far as there is any.
    pub fn fill(
        &mut self,
        now: SimTime,
        id: PacketId,
        packet: &mut PacketWriter,
        state: &mut dyn FnMut(BodyId, StateBits) -> Option<GhostUpdate>,
    ) {
        let mut carried = Vec::new();
        let mut misfits = 0;
        for entity in self.most_urgent_first(now) {
            match self.try_put(now, id, packet, entity, state) {
                Some(put) => carried.push(put),
                None if misfits < MAX_MISFITS => misfits += 1,
                None => break,
            }
        }
        if !carried.is_empty() {
            self.flights.push_back((id, now, carried));
        }
    }

    /// Learns what became of a packet.
    pub fn settle(&mut self, id: PacketId, delivered: bool) {
        let Ok(index) = self.flights.binary_search_by_key(&id, |(id, ..)| *id) else {
            return;
        };
        let Some((id, sent_at, carried)) = self.flights.remove(index) else {
            return;
        };
        for carried in carried {
            self.settle_one(id, sent_at, carried, delivered);
        }
    }

    fn most_urgent_first(&self, now: SimTime) -> Vec<BodyId> {
        let urgency = |entity: &BodyId| match self.ghosts.get(entity) {
            // Saying that something is gone is cheap and frees memory over there.
            Some(ghost) if ghost.phase == Phase::Leaving => f64::INFINITY,
            Some(ghost) => ghost.urgency(now),
            None => 0.0,
        };
        let mut order: Vec<_> = self.pending.iter().map(|e| (urgency(e), *e)).collect();
        let first = |a: &(f64, BodyId), b: &(f64, BodyId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if order.len() > MAX_PER_PACKET {
            order.select_nth_unstable_by(MAX_PER_PACKET, first);
            order.truncate(MAX_PER_PACKET);
        }
        order.sort_unstable_by(first);
        order.into_iter().map(|(_, entity)| entity).collect()
    }

    /// Puts one object's news into the packet; `None` if nothing of it fits.
    fn try_put(
        &mut self,
        now: SimTime,
        id: PacketId,
        packet: &mut PacketWriter,
        entity: BodyId,
        state: &mut dyn FnMut(BodyId, StateBits) -> Option<GhostUpdate>,
    ) -> Option<Carried> {
        let ghost = self.ghosts.get_mut(&entity)?;
        let life = ghost.life;
        let carried = |cargo| Carried {
            entity,
            life,
            cargo,
        };
        if ghost.phase == Phase::Leaving {
            if packet.push(&Message::Kill(entity)) != Ok(true) {
                return None;
            }
            self.pending.remove(&entity);
            return Some(carried(Cargo::Kill));
        }
        let announced = ghost.phase == Phase::Announcing;
        let update = state(entity, ghost.dirty);
        // What has no state (yet) cannot be behind.
        let available = update.as_ref().map_or(StateBits::NONE, GhostUpdate::bits);
        ghost.dirty = available;
        let Some(mut update) = update.filter(|_| !available.is_empty()) else {
            self.pending.remove(&entity);
            return None;
        };
        update.introduction = announced.then_some(Introduction {
            class: ghost.class,
            life: ghost.life as u16,
        });
        let sent = put_what_fits(packet, update)?;
        let carried = carried(Cargo::Update { announced });
        ghost.under_way.push((id, sent));
        ghost.dirty = ghost.dirty.without(sent);
        ghost.dirty_since = now;
        if ghost.dirty.is_empty() {
            self.pending.remove(&entity);
        }
        Some(carried)
    }

    fn settle_one(&mut self, id: PacketId, sent_at: SimTime, carried: Carried, delivered: bool) {
        let Carried {
            entity,
            life,
            cargo,
        } = carried;
        let Some(ghost) = self.ghosts.get_mut(&entity) else {
            return;
        };
        if ghost.life != life {
            return;
        }
        match cargo {
            Cargo::Kill if ghost.phase != Phase::Leaving => {}
            Cargo::Kill if delivered => {
                self.ghosts.remove(&entity);
                self.pending.remove(&entity);
            }
            Cargo::Kill => {
                self.pending.insert(entity);
            }
            Cargo::Update { announced } => {
                let missing = ghost.take_from_under_way(id, delivered);
                if ghost.phase == Phase::Leaving {
                    return;
                }
                if delivered && announced {
                    ghost.phase = Phase::Known;
                }
                if !missing.is_empty() {
                    ghost.mark(missing, sent_at);
                    self.pending.insert(entity);
                }
            }
        }
    }
}

impl Ghost {
    /// A packet's fate is known. Says which bits are missing over there because of it: those that it lost and no later one
    /// carries. What arrived makes what earlier packets carried of the same bits old news.
    fn take_from_under_way(&mut self, id: PacketId, delivered: bool) -> StateBits {
        let Some(index) = self.under_way.iter().position(|(packet, _)| *packet == id) else {
            return StateBits::NONE;
        };
        let (_, bits) = self.under_way.remove(index);
        if delivered {
            for (_, earlier) in &mut self.under_way[..index] {
                *earlier = earlier.without(bits);
            }
            return StateBits::NONE;
        }
        let later = self.under_way[index..].iter();
        later.fold(bits, |missing, (_, later)| missing.without(*later))
    }
}

/// Appends an update, with less and less of the application's state until it fits; the vector goes first.
fn put_what_fits(packet: &mut PacketWriter, mut update: GhostUpdate) -> Option<StateBits> {
    loop {
        let bits = update.bits();
        match packet.push(&Message::Ghost(update.clone())) {
            Ok(true) => return Some(bits),
            Ok(false) if update.state.pop().is_some() && !update.bits().is_empty() => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
#[path = "ghosts_tests.rs"]
mod tests;
