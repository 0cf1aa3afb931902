//! Who and what takes part: peers, bodies, and the pairs that follow from them (ML-1, ML-29).

use super::Station;
use super::bodies::{Body, Kind, Master};
use super::peers::Peer;
use crate::agreement::Pair;
use crate::body::{Authority, Ball, Refused, Role, State};
use crate::events::Unlock;
use crate::ids::{PairId, StationId};
use crate::messages::LinkKey;
use crate::reckon::Replica;
use crate::settings::Protocol;
use domain::BodyId;

impl Station {
    /// Introduces another station, with the secret that the two share.
    pub fn add_peer(&mut self, peer: StationId, key: LinkKey) {
        if peer != self.id {
            self.peers.insert(peer, Peer::new(key));
        }
    }

    /// A station is gone for good: its replicas vanish, their locks end.
    pub fn remove_peer(&mut self, peer: StationId) {
        let of_peer = |body: &Body| body.role() == Role::Replica { owner: peer };
        let gone: Vec<BodyId> = self
            .bodies
            .iter()
            .filter(|(_, body)| of_peer(body))
            .map(|(id, _)| *id)
            .collect();
        for body in gone {
            self.forget_body(body);
        }
        self.peers.remove(&peer);
        self.outbox.remove(&peer);
    }

    /// A body of ours.
    pub fn add_master(&mut self, body: BodyId, ball: Ball, state: State) -> Result<(), Refused> {
        let master = Master {
            state,
            ..Master::default()
        };
        self.add(body, ball, state, Kind::Master(Box::new(master)))
    }

    /// Another station's body. The state is where it starts, until its owner says otherwise.
    pub fn add_replica(
        &mut self,
        body: BodyId,
        owner: StationId,
        ball: Ball,
        state: State,
    ) -> Result<(), Refused> {
        if !self.peers.contains_key(&owner) {
            return Err(Refused::UnknownPeer);
        }
        let since = self.shared.unwrap_or_default();
        let mut replica = Replica::new(owner, since, state);
        if self.shared.is_some() {
            replica.start_at(since, &self.settings.reckoning);
        }
        self.add(body, ball, state, Kind::Replica(Box::new(replica)))
    }

    /// A body of the game itself, the same on every station; immovable if its mass is infinite.
    pub fn add_global(&mut self, body: BodyId, ball: Ball, state: State) -> Result<(), Refused> {
        self.add(body, ball, state, Kind::Global(state))
    }

    fn add(&mut self, id: BodyId, ball: Ball, state: State, kind: Kind) -> Result<(), Refused> {
        if self.bodies.contains_key(&id) {
            return Err(Refused::Exists);
        }
        if self.bodies.len() >= crate::MAX_BODIES {
            return Err(Refused::TooMany);
        }
        if !ball.is_valid() || !state.is_finite() {
            return Err(Refused::BadNumber);
        }
        self.bodies.insert(id, Body::new(ball, kind));
        let others: Vec<BodyId> = self
            .bodies
            .keys()
            .copied()
            .filter(|other| *other != id)
            .collect();
        for other in others {
            self.add_pair(id, other);
        }
        Ok(())
    }

    /// A pair gets a record if this station and somebody else have to agree on it.
    fn add_pair(&mut self, one: BodyId, other: BodyId) {
        let Some(id) = PairId::new(one, other) else {
            return;
        };
        let peers = self.participants(id);
        if !peers.is_empty() {
            let since = self.shared.unwrap_or_default();
            let pair = Pair::new(id, peers, since, &self.settings.agreement);
            self.pairs.insert(id, pair);
        }
    }

    /// Who else has a say in a pair's hits (ML-1, ML-29).
    fn participants(&self, pair: PairId) -> Vec<StationId> {
        let roles = pair
            .bodies()
            .map(|body| self.bodies.get(&body).map(Body::role));
        let [Some(one), Some(other)] = roles else {
            return Vec::new();
        };
        if let Protocol::SuperNode { authority } = self.settings.protocol {
            return self.super_node_participants(authority, [one, other]);
        }
        match Authority::over(one, other) {
            Authority::Shared { peer } => vec![peer],
            Authority::Local | Authority::Elsewhere => Vec::new(),
        }
    }

    /// The authority tells every owner; the others hear from the authority alone.
    fn super_node_participants(&self, authority: StationId, roles: [Role; 2]) -> Vec<StationId> {
        if roles.contains(&Role::Global) {
            return Vec::new();
        }
        if self.id != authority {
            return match roles.contains(&Role::Master) && self.peers.contains_key(&authority) {
                true => vec![authority],
                false => Vec::new(),
            };
        }
        let mut owners: Vec<StationId> = roles
            .iter()
            .filter_map(|role| match role {
                Role::Replica { owner } => Some(*owner),
                _ => None,
            })
            .collect();
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    /// Forgets a body, its pairs and locks.
    pub fn remove_body(&mut self, body: BodyId) -> Result<(), Refused> {
        match self.bodies.contains_key(&body) {
            true => {
                self.forget_body(body);
                Ok(())
            }
            false => Err(Refused::Unknown),
        }
    }

    fn forget_body(&mut self, body: BodyId) {
        let now = self.shared.unwrap_or_default();
        let locked: Vec<PairId> = self
            .locks
            .keys()
            .copied()
            .filter(|pair| pair.has(body))
            .collect();
        for pair in locked {
            self.unlock(now, pair, Unlock::Aborted);
        }
        self.bodies.remove(&body);
        self.pairs.retain(|pair, _| !pair.has(body));
        self.literal.retain(|pair, _| !pair.has(body));
    }
}
