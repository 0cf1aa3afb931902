//! The handover: offer, accept, release. Nothing is lost, nothing is doubled.
//!
//! A cluster that leaves exists only in its offer until the receiver has it. The offer is kept and repeated until it is accepted, and after
//! that until the receiver's snapshot holds it: should the receiver die, we offer it again. The receiver
//! tells an offer it has carried out by the epochs in it: a body whose epoch we have seen, or a later one, is not taken again.

use domain::{BodyId, Cluster, ContactEnd, Epoch, RegionId, Tick};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use wire::{HandoverNumber, Offer, Ownership};

/// An unanswered offer is repeated after so many ticks (2 s): the channel is reliable, so this is for a peer that lost its
/// memory without our noticing.
const REPEAT_TICKS: u64 = 120;
/// A region makes at most 2^28 offers to another in one life; with 2^32 lives the largest number stays within what the wire allows.
const NUMBERS_PER_LIFE_BITS: u32 = 28;

/// An offer that has come in and waits for its tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    /// The old owner.
    pub from: RegionId,
    /// What it hands over.
    pub offer: Offer,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Outgoing {
    last: u64,
    unanswered: BTreeMap<HandoverNumber, (Tick, Offer)>,
    // Accepted, but not yet in the receiver's snapshot.
    retained: BTreeMap<HandoverNumber, Offer>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Incoming {
    highest: HandoverNumber,
    // Offers whose accept has not been confirmed by a release.
    unreleased: BTreeSet<HandoverNumber>,
    // Something was exchanged since our last snapshot.
    active: bool,
}

/// All handovers of one region, in both directions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HandoverLedger {
    outgoing: BTreeMap<RegionId, Outgoing>,
    incoming: BTreeMap<RegionId, Incoming>,
    /// The newest ownership we know of each body that is or was here, or that we were told of.
    known: BTreeMap<BodyId, (Epoch, RegionId)>,
    me: RegionId,
    /// Keep accepted offers until a snapshot covers them?
    retain: bool,
    /// Offers of this life have numbers above this one.
    floor: u64,
}

impl HandoverLedger {
    /// `retain`: neighbours take snapshots, so accepted offers are kept until covered.
    pub fn new(me: RegionId, retain: bool) -> Self {
        Self {
            me,
            retain,
            ..Self::default()
        }
    }

    /// The region has been started again, for the so-manieth time. What it says from now on must not be mistaken for what it said after its snapshot, and has
    /// forgotten: a receiver may still speak of those offers.
    pub fn begin_life(&mut self, incarnation: u32) {
        self.floor = u64::from(incarnation) << NUMBERS_PER_LIFE_BITS;
    }

    /// Are accepted offers kept until a snapshot covers them?
    pub fn retains(&self) -> bool {
        self.retain
    }

    /// The number of the next offer to this region.
    pub fn number(&mut self, to: RegionId) -> HandoverNumber {
        let outgoing = self.outgoing.entry(to).or_default();
        outgoing.last = outgoing.last.max(self.floor) + 1;
        HandoverNumber(outgoing.last)
    }

    /// An offer goes out; it is ours to repeat until it is accepted.
    pub fn offered(&mut self, to: RegionId, now: Tick, offer: Offer) {
        for (id, epoch) in ownerships(&offer) {
            self.learn(id, epoch, to);
        }
        self.outgoing
            .entry(to)
            .or_default()
            .unanswered
            .insert(offer.handover, (now, offer));
    }

    /// The receiver has it. Says whether we were still waiting.
    pub fn accepted(&mut self, by: RegionId, number: HandoverNumber) -> bool {
        let Some(outgoing) = self.outgoing.get_mut(&by) else {
            return false;
        };
        let Some((_, offer)) = outgoing.unanswered.remove(&number) else {
            return false;
        };
        if self.retain {
            outgoing.retained.insert(number, offer);
        }
        true
    }

    /// Offers that have waited too long for an answer, to be sent again.
    pub fn overdue(&mut self, now: Tick) -> Vec<(RegionId, Offer)> {
        let mut again = Vec::new();
        for (to, outgoing) in &mut self.outgoing {
            for (sent, offer) in outgoing.unanswered.values_mut() {
                if now.since(*sent) >= REPEAT_TICKS {
                    *sent = now;
                    again.push((*to, offer.clone()));
                }
            }
        }
        again
    }

    /// Offers to this region that have no answer yet, oldest first.
    pub fn unanswered(&self, to: RegionId) -> impl Iterator<Item = &Offer> {
        let outgoing = self.outgoing.get(&to).into_iter();
        outgoing.flat_map(|outgoing| outgoing.unanswered.values().map(|(_, offer)| offer))
    }

    /// Everything the restarted region may not have, oldest first.
    pub fn offer_again(&mut self, to: RegionId, now: Tick) -> Vec<Offer> {
        let Some(outgoing) = self.outgoing.get_mut(&to) else {
            return Vec::new();
        };
        for (number, offer) in std::mem::take(&mut outgoing.retained) {
            outgoing.unanswered.insert(number, (now, offer));
        }
        outgoing
            .unanswered
            .values()
            .map(|(_, offer)| offer.clone())
            .collect()
    }

    /// An offer has come in: what of it is news, if anything. Stale members (someone newer owns them) are left out.
    pub fn receive(&mut self, from: RegionId, offer: Offer) -> Option<Offer> {
        let incoming = self.incoming.entry(from).or_default();
        incoming.highest = incoming.highest.max(offer.handover);
        incoming.unreleased.insert(offer.handover);
        incoming.active = true;
        let fresh: BTreeSet<BodyId> = offer
            .cluster
            .bodies
            .iter()
            .zip(&offer.members)
            .filter(|(body, member)| {
                let known = self.known.get(&body.id);
                known.is_none_or(|(known, _)| *known < member.epoch)
            })
            .map(|(body, _)| body.id)
            .collect();
        let mut offer = keep_members(offer, &fresh);
        offer.unborn.retain(|unborn| {
            let known = self.known.get(&unborn.body.id);
            known.is_none_or(|(known, _)| *known < unborn.epoch)
        });
        for (id, epoch) in ownerships(&offer) {
            self.known.insert(id, (epoch, self.me));
        }
        (!offer.cluster.bodies.is_empty() || !offer.unborn.is_empty()).then_some(offer)
    }

    /// What of an offer that we have taken is still ours to carry out: not what has a newer owner.
    pub fn without_outdated(&self, offer: Offer) -> Option<Offer> {
        let is_current =
            |id: BodyId, epoch: Epoch| self.known(id).is_none_or(|known| known <= epoch);
        let current = ownerships(&offer).filter(|(id, epoch)| is_current(*id, *epoch));
        let current: BTreeSet<BodyId> = current.map(|(id, _)| id).collect();
        let born = offer.cluster.bodies.iter().map(|body| body.id);
        let keep = born.filter(|id| current.contains(id)).collect();
        let mut offer = keep_members(offer, &keep);
        offer
            .unborn
            .retain(|unborn| current.contains(&unborn.body.id));
        (!offer.cluster.bodies.is_empty() || !offer.unborn.is_empty()).then_some(offer)
    }

    /// The sender knows that we have it.
    pub fn released(&mut self, from: RegionId, number: HandoverNumber) {
        if let Some(incoming) = self.incoming.get_mut(&from) {
            incoming.unreleased.remove(&number);
        }
    }

    /// A body is this region's under this epoch, or someone's under a later one.
    pub fn learn(&mut self, body: BodyId, epoch: Epoch, owner: RegionId) {
        let known = self.known.entry(body).or_insert((epoch, owner));
        if known.0 < epoch {
            *known = (epoch, owner);
        }
    }

    /// Someone who does not take it back tells us whose a body is. What is said to be ours is so when we have it: it comes with an offer.
    pub fn hear(&mut self, from: RegionId, said: &Ownership) {
        match said.owner == self.me {
            false => self.learn(said.body, said.epoch, said.owner),
            true if said.epoch > Epoch(0) => {
                self.learn(said.body, Epoch(said.epoch.0 - 1), from);
            }
            true => {}
        }
    }

    /// The newest epoch known of a body.
    pub fn known(&self, body: BodyId) -> Option<Epoch> {
        self.known.get(&body).map(|(epoch, _)| *epoch)
    }

    /// Every body that has changed owners as far as we know, and the latest change, ascending. Not only what came from the one who
    /// asks: what it handed over may have gone on to us by way of a region that has forgotten it too.
    pub fn known_moves(&self) -> Vec<Ownership> {
        let known = self.known.iter();
        let moved = known.filter(|(_, (epoch, _))| *epoch > Epoch(0));
        moved
            .map(|(body, (epoch, owner))| Ownership {
                body: *body,
                epoch: *epoch,
                owner: *owner,
            })
            .collect()
    }

    /// The receiver's snapshot holds our offers up to this number.
    pub fn covered(&mut self, by: RegionId, upto: HandoverNumber) {
        if let Some(outgoing) = self.outgoing.get_mut(&by) {
            outgoing.retained.retain(|number, _| *number > upto);
        }
    }

    /// This region may remember offers of which it was told long ago that they are covered: it is told again with our next snapshot.
    pub fn tell_again(&mut self, region: RegionId) {
        if let Some(incoming) = self.incoming.get_mut(&region) {
            incoming.active = true;
        }
    }

    /// We have taken a snapshot: whom to tell, and up to which of their offers it holds.
    pub fn snapshot_taken(&mut self) -> Vec<(RegionId, HandoverNumber)> {
        let active = self.incoming.iter_mut().filter_map(|(from, incoming)| {
            std::mem::take(&mut incoming.active).then_some((*from, incoming.highest))
        });
        active.collect()
    }

    /// Offers not yet accepted: the bodies in them are in flight.
    pub fn in_flight(&self) -> impl Iterator<Item = (RegionId, &Offer)> {
        self.outgoing.iter().flat_map(|(to, outgoing)| {
            outgoing
                .unanswered
                .values()
                .map(move |(_, offer)| (*to, offer))
        })
    }
}

/// The bodies of an offer, born or not, with their epochs under the new owner.
fn ownerships(offer: &Offer) -> impl Iterator<Item = (BodyId, Epoch)> {
    let born = offer.cluster.bodies.iter().zip(&offer.members);
    let unborn = offer.unborn.iter();
    born.map(|(body, member)| (body.id, member.epoch))
        .chain(unborn.map(|unborn| (unborn.body.id, unborn.epoch)))
}

/// The offer with only these bodies; joints and contacts of the others go.
fn keep_members(mut offer: Offer, keep: &BTreeSet<BodyId>) -> Offer {
    if keep.len() == offer.cluster.bodies.len() {
        return offer;
    }
    let Cluster {
        bodies,
        joints,
        contacts,
    } = std::mem::take(&mut offer.cluster);
    let kept = |end: &ContactEnd| match end {
        ContactEnd::Body(id) => keep.contains(id),
        ContactEnd::Static(_) => true,
    };
    let (bodies, members) = bodies
        .into_iter()
        .zip(offer.members)
        .filter(|(body, _)| keep.contains(&body.id))
        .unzip();
    offer.members = members;
    offer.bonds.retain(|(body, _)| keep.contains(body));
    offer.cluster = Cluster {
        bodies,
        joints: joints
            .into_iter()
            .filter(|joint| keep.contains(&joint.a) && keep.contains(&joint.b))
            .collect(),
        contacts: contacts
            .into_iter()
            .filter(|contact| kept(&contact.a) && kept(&contact.b))
            .collect(),
    };
    offer
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Body, BodyForm, Motion, Shape};
    use glam::DVec3;
    use wire::{HandoverCause, Member};

    const HERE: RegionId = RegionId(0);
    const THERE: RegionId = RegionId(1);
    const ME: RegionId = RegionId(2);

    fn offer(number: u64, bodies: &[(u64, u32)]) -> Offer {
        let body = |id| {
            Body::new(
                BodyId(id),
                BodyForm::of(Shape::Sphere { radius: 0.5 }),
                Motion::at(DVec3::ZERO),
            )
        };
        Offer {
            handover: HandoverNumber(number),
            tick: Tick(10),
            cause: HandoverCause::BoundaryTraversal,
            members: bodies
                .iter()
                .map(|(_, epoch)| Member {
                    epoch: Epoch(*epoch),
                    projecting_since: None,
                    rank: None,
                })
                .collect(),
            cluster: Cluster {
                bodies: bodies.iter().map(|(id, _)| body(*id)).collect(),
                ..Cluster::default()
            },
            unborn: Vec::new(),
            told: Vec::new(),
            bonds: Vec::new(),
        }
    }

    /// I1, I4: the same offer twice is carried out once.
    #[test]
    fn a_repeated_offer_is_carried_out_once() {
        let mut ledger = HandoverLedger::new(ME, true);
        assert!(ledger.receive(HERE, offer(1, &[(7, 1)])).is_some());
        assert!(ledger.receive(HERE, offer(1, &[(7, 1)])).is_none());
    }

    /// I4: a message with an old epoch changes nothing.
    #[test]
    fn stale_members_are_left_out() {
        let mut ledger = HandoverLedger::new(ME, true);
        ledger.learn(BodyId(7), Epoch(5), THERE);
        let fresh = ledger
            .receive(HERE, offer(1, &[(7, 5), (8, 2)]))
            .expect("8 is news");
        assert_eq!(fresh.cluster.bodies.len(), 1);
        assert_eq!(fresh.cluster.bodies[0].id, BodyId(8));
        assert_eq!(fresh.members.len(), 1);
    }

    /// I2: a waiting arrival of which one member has a newer owner brings the others all the same, born or not.
    #[test]
    fn a_waiting_cluster_survives_the_loss_of_a_member() {
        let mut ledger = HandoverLedger::new(ME, true);
        let mut waiting = offer(1, &[(7, 1), (8, 1)]);
        waiting.unborn.push(wire::Unborn {
            body: waiting.cluster.bodies[0].clone(),
            since: Tick(9),
            epoch: Epoch(1),
        });
        waiting.unborn[0].body.id = BodyId(9);
        let waiting = ledger.receive(HERE, waiting).expect("news");
        ledger.learn(BodyId(7), Epoch(2), THERE);
        let left = ledger.without_outdated(waiting.clone()).expect("8 and 9");
        assert_eq!(left.cluster.bodies[0].id, BodyId(8));
        assert_eq!((left.members.len(), left.unborn.len()), (1, 1));
        ledger.learn(BodyId(8), Epoch(2), THERE);
        ledger.learn(BodyId(9), Epoch(2), THERE);
        assert_eq!(ledger.without_outdated(waiting), None);
    }

    /// Design §4: what was handed over is kept until the receiver's snapshot covers it.
    #[test]
    fn an_accepted_offer_is_kept_until_covered() {
        let mut ledger = HandoverLedger::new(ME, true);
        ledger.offered(THERE, Tick(10), offer(1, &[(7, 1)]));
        assert_eq!(ledger.in_flight().count(), 1);
        assert!(ledger.accepted(THERE, HandoverNumber(1)));
        assert!(!ledger.accepted(THERE, HandoverNumber(1)), "once");
        assert_eq!(ledger.in_flight().count(), 0);
        assert_eq!(ledger.offer_again(THERE, Tick(50)).len(), 1);
        assert!(ledger.accepted(THERE, HandoverNumber(1)));
        ledger.covered(THERE, HandoverNumber(1));
        assert!(ledger.offer_again(THERE, Tick(70)).is_empty());
    }

    #[test]
    fn an_unanswered_offer_is_repeated() {
        let mut ledger = HandoverLedger::new(ME, false);
        ledger.offered(THERE, Tick(10), offer(1, &[(7, 1)]));
        assert!(ledger.overdue(Tick(100)).is_empty());
        assert_eq!(ledger.overdue(Tick(130)).len(), 1);
        assert!(ledger.overdue(Tick(131)).is_empty());
    }

    /// Design §4: whoever restarts hears of every body that has moved, whomever it came from, with its latest epoch.
    #[test]
    fn a_restarted_region_hears_of_all_moves() {
        let mut ledger = HandoverLedger::new(ME, true);
        ledger.learn(BodyId(3), Epoch(0), ME);
        ledger.receive(HERE, offer(1, &[(7, 1)]));
        ledger.receive(THERE, offer(2, &[(5, 1)]));
        ledger.receive(HERE, offer(3, &[(7, 3)]));
        ledger.offered(THERE, Tick(10), offer(1, &[(5, 2)]));
        let ownership = |body, epoch, owner| Ownership {
            body: BodyId(body),
            epoch: Epoch(epoch),
            owner,
        };
        let each_once = [ownership(5, 2, THERE), ownership(7, 3, ME)];
        assert_eq!(ledger.known_moves(), each_once);
    }

    /// What others know to be on its way to us is not ours before we have it; what is someone else's is not taken from anybody.
    #[test]
    fn what_is_said_to_be_ours_is_still_taken() {
        let mut ledger = HandoverLedger::new(ME, true);
        let ours = Ownership {
            body: BodyId(7),
            epoch: Epoch(2),
            owner: ME,
        };
        ledger.hear(THERE, &ours);
        assert_eq!(ledger.known(BodyId(7)), Some(Epoch(1)));
        assert!(ledger.receive(HERE, offer(1, &[(7, 2)])).is_some());
        let theirs = Ownership {
            body: BodyId(8),
            owner: THERE,
            ..ours
        };
        ledger.hear(HERE, &theirs);
        assert!(ledger.receive(HERE, offer(2, &[(8, 2)])).is_none());
    }

    /// What the receiver says of an offer that we made after our snapshot, and have forgotten, does not concern the offers of our next life.
    #[test]
    fn another_life_has_other_numbers() {
        let mut ledger = HandoverLedger::new(ME, true);
        assert_eq!(ledger.number(THERE), HandoverNumber(1));
        let snapshot = ledger.clone();
        let forgotten = ledger.number(THERE);
        let mut ledger = snapshot;
        ledger.begin_life(2);
        let number = ledger.number(THERE);
        ledger.offered(THERE, Tick(10), offer(number.0, &[(7, 1)]));
        assert!(!ledger.accepted(THERE, forgotten));
        assert!(ledger.accepted(THERE, number));
        ledger.covered(THERE, forgotten);
        assert_eq!(ledger.offer_again(THERE, Tick(20)).len(), 1);
    }
}
