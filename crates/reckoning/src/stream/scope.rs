//! What one client is known to have: which body in which slot, and which of its curves.
//!
//! A slot is a small number that stands for a body's long id while the client holds it. It is used again only when the
//! client has acknowledged that the body left.

use super::curves::{Flight, Turn};
use domain::BodyId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// So many curves of a body may be under way before the next one is told from scratch: the client keeps no more.
const MOST_UNDER_WAY: usize = 48;

/// The curves of one kind that a client was told for a body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Track<C> {
    /// The newest one it has for certain, and its packet.
    acked: Option<(u64, C)>,
    /// Told since, oldest first.
    told: Vec<(u64, C)>,
    /// The newest one was lost.
    lost: bool,
    /// Whether it has the curve of this packet will never be known; until a later one is acknowledged nothing may be
    /// told relative to what it has.
    unsure_since: Option<u64>,
}

impl<C> Default for Track<C> {
    fn default() -> Self {
        Self {
            acked: None,
            told: Vec::new(),
            lost: false,
            unsure_since: None,
        }
    }
}

impl<C: Copy + PartialEq> Track<C> {
    /// Does the client lack this curve?
    pub(crate) fn needs(&self, curve: &C) -> bool {
        let newest = self.told.last().or(self.acked.as_ref());
        self.lost || newest.is_none_or(|(_, has)| has != curve)
    }

    /// What the client has for certain; `None`: tell it from scratch.
    pub(crate) fn base(&self) -> Option<&C> {
        let sure = self.unsure_since.is_none() && self.told.len() < MOST_UNDER_WAY;
        self.acked.as_ref().filter(|_| sure).map(|(_, curve)| curve)
    }

    /// It is told this curve in this packet.
    pub(crate) fn tell(&mut self, packet: u64, curve: &C) {
        self.lost = false;
        if self.told.len() >= MOST_UNDER_WAY {
            // These were told from scratch or will be followed by one that is.
            self.unsure_since = Some(packet);
            self.told.remove(0);
        }
        self.told.push((packet, *curve));
    }

    fn arrived(&mut self, packet: u64) {
        let Some(at) = self.told.iter().position(|(p, _)| *p == packet) else {
            return;
        };
        self.acked = Some(self.told[at]);
        self.told.drain(..=at);
        self.lost &= !self.told.is_empty();
        if self.unsure_since.is_some_and(|since| packet > since) {
            self.unsure_since = None;
        }
    }

    fn lose(&mut self, packet: u64) -> bool {
        let newest = self.told.last().is_some_and(|(p, _)| *p == packet);
        self.lost |= newest;
        newest
    }

    fn forget(&mut self, packet: u64) -> bool {
        let Some(at) = self.told.iter().position(|(p, _)| *p == packet) else {
            return false;
        };
        self.told.drain(..=at);
        self.lost |= self.told.is_empty();
        // What was told after it was relative to something it still has; what is told from now on must not be.
        self.unsure_since = Some(packet);
        self.lost
    }
}

/// A body as one client has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClientBody {
    pub(crate) id: BodyId,
    pub(crate) flight: Track<Flight>,
    pub(crate) turn: Track<Turn>,
    /// It has acknowledged that the body entered.
    known: bool,
    leaving: Option<Leaving>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Leaving {
    /// The packets that told it.
    told: Vec<u64>,
    lost: bool,
    /// The body shall enter again as soon as it has left.
    returns: bool,
}

impl ClientBody {
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    /// Must the client be told in this packet that it left?
    pub(crate) fn tell_leaving(&mut self, packet: u64) -> bool {
        let Some(leaving) = &mut self.leaving else {
            return false;
        };
        let tell = leaving.told.is_empty() || leaving.lost;
        if tell {
            leaving.lost = false;
            leaving.told.push(packet);
        }
        tell
    }

    /// A packet was lost. Is there something to tell again?
    pub(crate) fn lose(&mut self, packet: u64) -> bool {
        if let Some(leaving) = &mut self.leaving {
            leaving.lost |= leaving.told.last() == Some(&packet);
            return leaving.lost;
        }
        self.flight.lose(packet) | self.turn.lose(packet)
    }

    /// The fate of a packet will never be known. Is there something to tell again?
    pub(crate) fn forget(&mut self, packet: u64) -> bool {
        if self.leaving.is_some() {
            return self.lose(packet);
        }
        self.flight.forget(packet) | self.turn.forget(packet)
    }
}

/// All slots of a client.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Slots {
    bodies: Vec<Option<ClientBody>>,
    by_body: BTreeMap<BodyId, u32>,
    free: BTreeSet<u32>,
}

impl Slots {
    /// The slot in which a body is to appear, if that is news.
    pub(crate) fn enter(&mut self, id: BodyId) -> Option<u32> {
        if let Some(slot) = self.by_body.get(&id) {
            let body = self.bodies[*slot as usize].as_mut();
            if let Some(leaving) = body.and_then(|body| body.leaving.as_mut()) {
                leaving.returns = true;
            }
            return None;
        }
        let slot = self.free.pop_first().unwrap_or_else(|| {
            self.bodies.push(None);
            self.bodies.len() as u32 - 1
        });
        self.bodies[slot as usize] = Some(ClientBody {
            id,
            flight: Track::default(),
            turn: Track::default(),
            known: false,
            leaving: None,
        });
        self.by_body.insert(id, slot);
        Some(slot)
    }

    /// The slot whose body is to leave, if the client has to be told.
    pub(crate) fn leave(&mut self, id: BodyId) -> Option<u32> {
        let slot = *self.by_body.get(&id)?;
        let body = self.bodies[slot as usize].as_mut()?;
        if let Some(leaving) = &mut body.leaving {
            leaving.returns = false;
            return None;
        }
        if !body.known && body.flight.told.is_empty() {
            self.release(slot);
            return None;
        }
        body.leaving = Some(Leaving::default());
        Some(slot)
    }

    fn release(&mut self, slot: u32) {
        if let Some(body) = self.bodies[slot as usize].take() {
            self.by_body.remove(&body.id);
            self.free.insert(slot);
        }
    }

    /// A packet that spoke of this slot has arrived. Returns the slot in which the body returns, if it left to do so.
    pub(crate) fn arrived(&mut self, slot: u32, packet: u64) -> Option<u32> {
        let body = self.get_mut(slot)?;
        if let Some(leaving) = &body.leaving
            && leaving.told.contains(&packet)
        {
            let (id, returns) = (body.id, leaving.returns);
            self.release(slot);
            return if returns { self.enter(id) } else { None };
        }
        body.known |= body.flight.told.iter().any(|(p, _)| *p == packet);
        body.flight.arrived(packet);
        body.turn.arrived(packet);
        None
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut ClientBody> {
        self.bodies.get_mut(slot as usize)?.as_mut()
    }

    pub(crate) fn of(&self, id: BodyId) -> Option<u32> {
        self.by_body.get(&id).copied()
    }

    /// The bodies that the client has for certain, by slot, with the curves it has.
    pub(crate) fn known(&self) -> impl Iterator<Item = (u32, BodyId, &Flight, &Turn)> {
        let slots = (0..).zip(&self.bodies);
        slots.filter_map(|(slot, body)| {
            let body = body.as_ref().filter(|body| !body.is_leaving())?;
            Some((slot, body.id, body.flight.base()?, body.turn.base()?))
        })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = u32> {
        self.by_body.values().copied()
    }

    pub(crate) fn scope(&self) -> impl Iterator<Item = BodyId> {
        let stays = |slot: &u32| {
            let body = self.bodies[*slot as usize].as_ref();
            body.is_some_and(|body| body.leaving.as_ref().is_none_or(|l| l.returns))
        };
        (self.by_body.iter())
            .filter(move |(_, slot)| stays(slot))
            .map(|(id, _)| *id)
    }
}
