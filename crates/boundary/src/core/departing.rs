//! Who leaves and where to: AC, then BT, over one cluster search.

use super::projecting::Projector;
use super::telling::upsert_of;
use super::{Boundary, Departure, ISLAND_TEST_TICKS};
use crate::aura_collision::{Call, strongest_call};
use crate::aura_index::AuraIndex;
use crate::boundary_traversal::{destination, island};
use crate::cluster::ClusterFinder;
use crate::config::{AuraSize, Policy};
use crate::lifecycle::LifeState;
use crate::naive;
use crate::nursery::Ghost;
use crate::projection::Track;
use crate::promise::PromiseLaw;
use crate::remote_auras::RemoteAura;
use crate::surroundings::surroundings;
use crate::view::{Bodies, BodyView};
use domain::{BodyId, Bounds, Epoch, Rect, RegionId, Tick};
use glam::DVec3;
use wire::{Bond, ClusterKey, HandoverCause, Member, NewOwner, Unborn};

/// Why, when and to whom a cluster leaves.
pub(super) struct Leave<'a> {
    tick: Tick,
    to: RegionId,
    cause: HandoverCause,
    /// The rank of the aura that calls it, if one does.
    calling: Option<ClusterKey>,
    projecting: &'a [Projector],
    /// The cluster's rank, where it has one as a whole (size `adaptive`).
    rank: Option<ClusterKey>,
}

impl Leave<'static> {
    /// A cluster of this rank leaves because an aura of a lower rank calls it.
    pub(super) fn called(
        tick: Tick,
        to: RegionId,
        cause: HandoverCause,
        calling: ClusterKey,
        rank: ClusterKey,
    ) -> Self {
        Self {
            calling: Some(calling),
            ..Self::ranked(tick, to, cause, rank)
        }
    }

    /// A cluster of this rank leaves of itself.
    pub(super) fn ranked(tick: Tick, to: RegionId, cause: HandoverCause, rank: ClusterKey) -> Self {
        Self {
            rank: Some(rank),
            ..Self::unasked(tick, to, cause, &[])
        }
    }
}

impl<'a> Leave<'a> {
    /// Nobody calls.
    fn unasked(
        tick: Tick,
        to: RegionId,
        cause: HandoverCause,
        projecting: &'a [Projector],
    ) -> Self {
        Self {
            tick,
            to,
            cause,
            calling: None,
            projecting,
            rank: None,
        }
    }

    /// The rank of a body, if it projects.
    fn key_of(&self, id: BodyId) -> Option<ClusterKey> {
        if self.rank.is_some() {
            return self.rank;
        }
        let by_id = |projector: &Projector| projector.view.id;
        let place = self.projecting.binary_search_by_key(&id, by_id).ok()?;
        Some(self.projecting[place].key)
    }

    /// What is told of a body of this rank.
    fn new_owner(&self, key: ClusterKey) -> NewOwner {
        NewOwner {
            region: self.to,
            key: self.calling.map_or(key, |calling| calling.min(key)),
        }
    }
}

impl Boundary {
    /// AC for whoever touches a remote aura, then BT for islands, over one and the same cluster search.
    pub(super) fn find_departures(
        &mut self,
        tick: Tick,
        projecting: &[Projector],
        bodies: &impl Bodies,
    ) -> Vec<Departure> {
        let assembly = |id: BodyId, out: &mut Vec<BodyId>| bodies.assembly(id, out);
        let (calls, fallen_silent) = self.calls(tick, projecting, bodies);
        self.watch.silence(fallen_silent);
        let traversed = self.traversed(tick, projecting);
        if calls.is_empty() && traversed.is_empty() {
            return Vec::new();
        }
        let ghosts: Vec<BodyView> = self.nursery.values().map(Ghost::view).collect();
        let starts = calls.iter().map(|(id, _)| id).chain(&traversed).copied();
        let near = surroundings(bodies, starts, &ghosts, self.geometry.link_m);
        let mut finder = ClusterFinder::new(near, self.geometry.link_m, &assembly);
        let mut departures = Vec::new();
        for (member, call) in calls {
            let cluster = finder.take(member);
            let cause = HandoverCause::AuraCollision {
                member,
                aura: call.aura,
            };
            let leave = Leave {
                tick,
                to: call.owner,
                cause,
                calling: Some(call.key),
                projecting,
                rank: None,
            };
            departures.extend(self.depart(&leave, &cluster));
        }
        for start in traversed {
            if let Some(members) = island(&mut finder, start, &self.home()) {
                let to = destination(&members, &self.map);
                let cause = HandoverCause::BoundaryTraversal;
                let leave = Leave::unasked(tick, to, cause, projecting);
                departures.extend(self.depart(&leave, &members));
            }
        }
        departures
    }

    /// Bodies and announced spawns that a remote aura calls over, ascending; and how many auras have fallen silent.
    fn calls(
        &self,
        tick: Tick,
        projecting: &[Projector],
        bodies: &impl Bodies,
    ) -> (Vec<(BodyId, Call)>, u64) {
        if self.remote.is_empty() {
            return (Vec::new(), 0);
        }
        let space = self.space(projecting, bodies.widest_radius());
        let index = AuraIndex::build(&self.remote, &self.geometry, tick, &space);
        let mut touching = Vec::new();
        bodies.touching(index.boxes(), &mut touching);
        touching.sort_unstable();
        touching.dedup();
        let tie_break = self.config.tie_break;
        let of_body = touching.into_iter().filter_map(|id| {
            let place = projecting.binary_search_by_key(&id, |projector| projector.view.id);
            let projector = place.ok().map(|place| &projecting[place]);
            let view = match projector {
                Some(projector) => projector.view,
                None => bodies.view(id)?,
            };
            let track = self.tracks.get(&id)?;
            let key_towards = |owner| {
                projector
                    .filter(|_| track.is_known_to(owner))
                    .map(|p| p.key)
            };
            Some((id, strongest_call(&view, &index, tie_break, key_towards)?))
        });
        let of_ghost = self.nursery.values().filter_map(|ghost| {
            let key_towards = |owner| {
                let known = ghost.audience.binary_search(&owner).is_ok();
                known.then(|| ghost.key())
            };
            let call = strongest_call(&ghost.view(), &index, tie_break, key_towards)?;
            Some((ghost.body.id, call))
        });
        (of_body.chain(of_ghost).collect(), index.fallen_silent())
    }

    /// A rectangle that holds the bounding spheres of all that is ours: the shadow of what does not project is inside our region.
    fn space(&self, projecting: &[Projector], widest_m: f64) -> Rect {
        let shadows = projecting.iter().map(|projector| projector.view.ground);
        let space = shadows.fold(self.home(), |space, shadow| space.union(&shadow));
        // A sphere reaches at most its diameter beyond the shadow in it.
        let space = space.grown(2.0 * widest_m);
        self.nursery
            .values()
            .map(Ghost::view)
            .fold(space, |space, ghost| {
                space.union(&Bounds::of_sphere(ghost.centre, ghost.radius).ground())
            })
    }

    fn traversed(&self, tick: Tick, projecting: &[Projector]) -> Vec<BodyId> {
        if self.geometry.growth_m > 0.0 && !tick.0.is_multiple_of(ISLAND_TEST_TICKS) {
            return Vec::new();
        }
        let home = self.home();
        let views = projecting.iter().map(|projector| &projector.view);
        let outside = views.filter(|view| !home.touches(&view.ground));
        outside.map(|view| view.id).collect()
    }

    /// The members leave: tracks end, auras point to the new owner.
    pub(super) fn depart(&mut self, leave: &Leave<'_>, cluster: &[BodyView]) -> Option<Departure> {
        let Leave {
            tick, to, calling, ..
        } = *leave;
        if to == self.me {
            return None;
        }
        let mut members = Vec::new();
        let mut unborn = Vec::new();
        let mut bonds = Vec::new();
        let mut told: Option<Vec<RegionId>> = None;
        for view in cluster {
            if let Some(mut track) = self.tracks.swap_remove(&view.id) {
                self.give_word_on_leaving(tick, view, &mut track);
                match &mut told {
                    None => told = Some(track.audience.to_vec()),
                    Some(told) => told.retain(|region| track.is_known_to(*region)),
                }
                let promised = track.bound.iter().flat_map(|bound| &bound.bonds);
                bonds.extend(promised.map(|bond| (view.id, *bond)));
                members.push((view.id, self.let_go(leave, view, track)));
            } else if let Some(ghost) = self.nursery.remove(&view.id) {
                let single = ClusterKey {
                    class: self.load.class(1, false),
                    ..ghost.key()
                };
                let own = match self.is_adaptive() {
                    true => ghost.rank.unwrap_or(single),
                    false => ghost.key(),
                };
                let new = leave.new_owner(own);
                self.withdraw(view.id, ghost.epoch, &ghost.audience, tick, Some(new));
                unborn.push(Unborn {
                    body: ghost.body,
                    since: ghost.first,
                    epoch: ghost.epoch.next(),
                });
            }
        }
        (!members.is_empty() || !unborn.is_empty()).then_some(Departure {
            to,
            cause: leave.cause,
            members,
            unborn,
            // Without a call the new owner's cluster has no rank of ours, and what we told may be too high.
            told: told
                .filter(|_| calling.is_some() && self.config.aura != AuraSize::Thesis)
                .unwrap_or_default(),
            bonds,
        })
    }

    /// What it has promised holds on its way, and whoever has just been thrown is bound by that no longer than if it stayed.
    fn give_word_on_leaving(&self, tick: Tick, view: &BodyView, track: &mut Track) {
        if let Some(law) = &self.law {
            let bound = track.bound.get_or_insert_default();
            let next = law.renewed(tick, bound.standing(), &self.as_expected(law, view));
            bound.promise(tick, law.notice_ticks(), next);
        }
    }

    /// Others hear of what it has just promised before they hear that it is gone: its new owner's first word comes a hop later.
    fn tell_on_leaving(&mut self, view: &BodyView, track: &Track) {
        let Some(bound) = &track.bound else {
            return;
        };
        if let Some(((told, key), bond)) = bound.told.zip(bound.standing().copied())
            && told != bond
        {
            let upsert = upsert_of(view, track.epoch, &bond, key);
            for region in &track.audience {
                self.buffers.upsert(*region, upsert);
            }
        }
    }

    fn let_go(&mut self, leave: &Leave<'_>, view: &BodyView, mut track: Track) -> Member {
        let tick = leave.tick;
        self.projecting.remove(&view.id);
        self.bound.remove(&view.id);
        self.strike_off(view.id);
        self.change_state(&mut track, view.id, LifeState::Sent, tick);
        self.change_state(&mut track, view.id, LifeState::Destroyed, tick);
        let own_key = ClusterKey {
            class: 0,
            since: track.since.unwrap_or(tick),
            body: view.id,
        };
        let new = leave.new_owner(leave.key_of(view.id).unwrap_or(own_key));
        self.tell_on_leaving(view, &track);
        self.withdraw(view.id, track.epoch, &track.audience, tick, Some(new));
        let member = Member {
            epoch: track.epoch.next(),
            projecting_since: track.since,
            rank: leave.rank.map(|_| new.key),
        };
        if self.config.policy == Policy::Aura && self.config.aura != AuraSize::Thesis {
            let standing = track.bound.as_ref().and_then(|bound| bound.standing());
            self.remember_in_flight(tick, new, view, member.epoch, standing);
        }
        member
    }

    /// We know where the body is and whom to ask for it before its new owner has said a word: what stays behind must not run into it.
    fn remember_in_flight(
        &mut self,
        tick: Tick,
        new: NewOwner,
        view: &BodyView,
        epoch: Epoch,
        standing: Option<&Bond>,
    ) {
        if let Some(bond) = standing.copied() {
            let mut aura =
                RemoteAura::from_upsert(new.region, &upsert_of(view, epoch, &bond, new.key));
            aura.tick = tick;
            aura.reach = PromiseLaw::relied_m(&bond, tick);
            aura.way = Some(view.velocity * self.config.step.as_secs());
            aura.provisional_until = Some(tick + self.patience_ticks());
            self.remote.put(view.id, aura);
            return;
        }
        let aura = RemoteAura {
            owner: new.region,
            epoch,
            tick,
            centre: view.centre,
            radius: view.radius,
            spine: DVec3::ZERO,
            reach: self.geometry.reach_m,
            growth: self.geometry.growth_m,
            way: None,
            key: new.key,
            provisional_until: Some(tick + self.patience_ticks()),
        };
        self.remote.put(view.id, aura);
    }

    pub(super) fn naive_crossings(&mut self, tick: Tick, bodies: &impl Bodies) -> Vec<Departure> {
        self.fresh.clear();
        let crossings = naive::crossings(bodies, &self.home(), &self.map);
        let departures = crossings
            .into_iter()
            .filter_map(|(to, members)| {
                self.depart(
                    &Leave::unasked(tick, to, HandoverCause::CentreCrossed, &[]),
                    &members,
                )
            })
            .collect();
        self.repeat_offers(tick);
        departures
    }
}
