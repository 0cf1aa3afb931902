//! Fairness in the server: a policy decides which ghost gets which vector (DR-51, the thesis's future work).
//!
//! ```text
//! vector of entity e ──▶ Sender(e): exported path, a ledger per client ──▶ policy ──▶ allotted[(client, e)] = vector
//!                             ▲                                                           │ bit 0 becomes dirty
//!                             └────────── reception times, reported by the clients ◀──────┘
//! ```
//!
//! Without a policy every vector goes to everyone in scope. With one, a client's packet carries the vector that was last
//! allotted to it, not the newest; if that packet is lost, the same holds again.

use super::scope::ClientId;
use crate::DrVector;
use crate::codec::VectorAck;
use crate::fairness::policies::Policy;
use crate::fairness::{LedgerSettings, PolicyTag, ReceiverId, Sender};
use domain::{BodyId, SimTime};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// Makes the policy of one entity.
pub type MakePolicy = fn() -> Box<dyn Policy>;

/// The fair distribution of all entities' vectors.
#[derive(Debug)]
pub(super) struct FairDistribution {
    make: MakePolicy,
    senders: BTreeMap<BodyId, Sender>,
    allotted: BTreeMap<(ClientId, BodyId), DrVector>,
    rng: Pcg64Mcg,
}

impl FairDistribution {
    /// With the policies `make` makes; chance, if a policy wants any, comes from this seed.
    pub(super) fn new(make: MakePolicy, seed: u64) -> Self {
        Self {
            make,
            senders: BTreeMap::new(),
            allotted: BTreeMap::new(),
            rng: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// An entity comes into a client's scope. What is newest is given to it at once.
    pub(super) fn join(&mut self, now: SimTime, client: ClientId, entity: BodyId) {
        let make = self.make;
        let sender = self.senders.entry(entity).or_insert_with(|| {
            let mut sender = Sender::new(LedgerSettings::default());
            sender.add_policy(make());
            sender
        });
        if sender.join(now, ReceiverId(client.0)).is_ok()
            && let Some(newest) = sender.exported().newest()
        {
            self.allotted.insert((client, entity), *newest);
        }
    }

    /// An entity leaves a client's scope.
    pub(super) fn leave(&mut self, client: ClientId, entity: BodyId) {
        self.allotted.remove(&(client, entity));
        if let Some(sender) = self.senders.get_mut(&entity) {
            // Leaving twice is leaving.
            let _ = sender.leave(ReceiverId(client.0));
        }
    }

    /// An entity is gone.
    pub(super) fn remove(&mut self, entity: BodyId) {
        self.senders.remove(&entity);
        self.allotted.retain(|(_, other), _| *other != entity);
    }

    /// A new vector: who gets it now?
    pub(super) fn trigger(&mut self, now: SimTime, vector: &DrVector) -> Vec<ClientId> {
        let Some(sender) = self.senders.get_mut(&vector.entity) else {
            return Vec::new();
        };
        // An owner whose clock went back is refused here; its receivers keep what they have until it has caught up.
        let _ = sender.handle_trigger(now, *vector, &mut self.rng);
        self.drain(vector.entity)
    }

    /// Time moved: vectors that waited for now.
    pub(super) fn tick(&mut self, now: SimTime) -> Vec<(ClientId, BodyId)> {
        let due = |sender: &Sender| sender.next_wakeup().is_some_and(|at| at <= now);
        let senders = self.senders.iter_mut().filter(|(_, sender)| due(sender));
        let awake: Vec<BodyId> = senders
            .map(|(entity, sender)| {
                sender.handle_time(now);
                *entity
            })
            .collect();
        let mut sent = Vec::new();
        for entity in awake {
            let clients = self.drain(entity);
            sent.extend(clients.into_iter().map(|client| (client, entity)));
        }
        sent
    }

    /// A client reports receptions. Reports on what was given outside the policy (the first vector) are not in any ledger.
    pub(super) fn ack(&mut self, now: SimTime, client: ClientId, report: &VectorAck) {
        if let Some(sender) = self.senders.get_mut(&report.entity) {
            let _ = sender.handle_ack(now, report.policy, ReceiverId(client.0), &report.ack);
        }
    }

    /// What this client is to be sent of this entity.
    pub(super) fn allotted(&self, client: ClientId, entity: BodyId) -> Option<DrVector> {
        self.allotted.get(&(client, entity)).copied()
    }

    /// The sender of one entity, for its errors and counts.
    pub(super) fn sender(&self, entity: BodyId) -> Option<&Sender> {
        self.senders.get(&entity)
    }

    fn drain(&mut self, entity: BodyId) -> Vec<ClientId> {
        let mut clients = Vec::new();
        let Some(sender) = self.senders.get_mut(&entity) else {
            return clients;
        };
        while let Some(outgoing) = sender.poll_transmit() {
            debug_assert_eq!(outgoing.tag, PolicyTag(0), "one policy per entity");
            let client = ClientId(outgoing.to.0);
            let slot = self
                .allotted
                .entry((client, entity))
                .or_insert(outgoing.vector);
            if outgoing.vector.seq > slot.seq {
                *slot = outgoing.vector;
            }
            clients.push(client);
        }
        clients
    }
}
