//! Holding bodies to what they have promised (see [`crate::keeping`]): after the step, before anybody looks.

use super::Boundary;
use super::near::Near;
use crate::handover::Arrival;
use crate::keeping::{Hold, Kept, Place, share_kept, share_with_room, share_within_home};
use crate::nursery::live_view_of;
use crate::projection::{Track, track_at};
use crate::promise::{PromiseLaw, ROUNDING_M, way_m};
use crate::remote_auras::RemoteAura;
use crate::view::{Bodies, BodyView};
use domain::{Body, BodyId, Bounds, Rect, Tick};
use rustc_hash::FxHashMap;
use wire::{Bond, Member, Offer};

/// Less of a way than this is not missed.
const NOTICEABLE_M: f64 = 1e-3;

impl Boundary {
    /// Which bodies the step to `tick` has thrown out of what they have promised, and where they must be put. To be
    /// called after the step and before
    /// [`after_step`](Self::after_step). Every change of a velocity, whatever caused it, passes here: hits, pushes,
    /// births, arrivals.
    pub fn keep_promises(&mut self, tick: Tick, bodies: &impl Bodies) -> Vec<Hold> {
        let Some(law) = self.law.filter(|_| self.map.len() > 1) else {
            return Vec::new();
        };
        let home = self.home();
        self.remote.expire(tick);
        self.index
            .rebuild(&self.remote, &self.geometry, tick, &Rect::EVERYWHERE);
        self.look(&law, &home, bodies);
        let mut shares: Vec<(BodyId, f64)> = Vec::new();
        let mut free: Vec<(BodyId, f64)> = Vec::new();
        for near in &self.list.near {
            let view = &near.view;
            let is_in_question = near.is_bound || self.is_new_or_concerned(near);
            // Most of what is near a border has promised nothing and stays at home.
            if !is_in_question && home.contains(&view.ground) {
                continue;
            }
            if is_in_question {
                let outside = self.share_kept_out(tick, &law, near);
                if outside < 1.0 {
                    self.kept.kept_out += 1;
                    shares.push((view.id, outside));
                }
            }
            let share = self.share_kept(tick, &law, &home, near);
            if share < 1.0 {
                free.push((view.id, share));
            }
        }
        for (id, share) in free {
            let Ok(place) = self.list.near.binary_search_by_key(&id, Near::id) else {
                continue;
            };
            let view = &self.list.near[place].view;
            if self.may_leap(tick, &law, view) {
                self.kept.spared += 1;
                if let Some(bound) = self.tracks.get_mut(&id).and_then(|t| t.bound.as_mut()) {
                    bound.bonds.clear();
                }
                continue;
            }
            shares.push((id, share));
        }
        self.kept.watched += self.bound.len() as u64;
        let holds = self.holds(shares, bodies);
        self.entered.clear();
        self.held_now.clear();
        if !self.config.keep_promises {
            return Vec::new();
        }
        for hold in &holds {
            self.held_now.push(hold.body);
            if let Some(near) = self.list.find(hold.body) {
                move_to(&mut near.view, hold);
                near.place = Place::of(&near.view);
            }
        }
        holds
    }

    /// How often promises had to be enforced so far.
    pub fn kept(&self) -> Kept {
        self.kept
    }

    fn place_before(&self, id: BodyId) -> Option<Place> {
        let before = &self.list.before;
        let place = before.binary_search_by_key(&id, Near::id);
        let before = place.ok().map(|place| before[place].place);
        before.or_else(|| self.entered.get(&id).copied())
    }

    /// Something foreign was near it after the last step, or it has come since.
    fn is_new_or_concerned(&self, near: &Near) -> bool {
        near.was_concerned || self.entered.contains_key(&near.id())
    }

    /// How much of its last way a body may go.
    fn share_kept(&self, tick: Tick, law: &PromiseLaw, home: &Rect, near: &Near) -> f64 {
        let view = &near.view;
        // What sleeps has not moved.
        let Some(track) = self.track_of(near).filter(|_| !view.asleep) else {
            return 1.0;
        };
        let is_homebound = track
            .bound
            .as_ref()
            .is_none_or(|bound| tick < bound.may_leave);
        let leaves = is_homebound && !home.contains(&view.ground);
        if !leaves && track.bound.is_none() {
            return 1.0;
        }
        let Some(before) = self.before(near) else {
            return 1.0;
        };
        let mut share = bonds_share(law, tick, bonds_of(track), &before, &near.place);
        if leaves {
            share = share.min(share_within_home(
                before.centre,
                view.centre,
                &view.ground,
                home,
            ));
        }
        share
    }

    fn before(&self, near: &Near) -> Option<Place> {
        near.before
            .or_else(|| self.entered.get(&near.id()).copied())
    }

    /// What is remembered of a body that is looked at.
    pub(super) fn track_of(&self, near: &Near) -> Option<&Track> {
        track_at(&self.tracks, near.track, near.id())
    }

    /// How much of its last way a body may go before it comes where a foreign one may be. The argument in one sentence:
    /// of two bodies that touch for the
    /// first time, one has moved, and that one was not kept out.
    fn share_kept_out(&self, tick: Tick, law: &PromiseLaw, near: &Near) -> f64 {
        let view = &near.view;
        if view.asleep || self.index.is_empty() {
            return 1.0;
        }
        let Some(before) = self.before(near) else {
            return 1.0;
        };
        // All along its way, not only at its end.
        let half_way = 0.5 * before.centre.distance(view.centre);
        if 2.0 * half_way <= law.strip_m() && !self.coverage.holds(view.centre) {
            return 1.0;
        }
        let mut share = 1.0_f64;
        let middle = before.centre.midpoint(view.centre);
        self.index
            .for_each_within(middle, view.radius + half_way, &mut |body, aura, _| {
                if body != view.id {
                    share = share.min(share_clear_of(law, tick, view, &before, aura));
                }
            });
        share
    }

    /// Could nobody have relied on it? The leap must end at home, and so far from all foreign bodies that they could
    /// not be met even if they leapt as well.
    fn may_leap(&self, tick: Tick, law: &PromiseLaw, view: &BodyView) -> bool {
        let leap = law.leap_m(view);
        let notice = law.notice_ticks() as f64;
        self.home().contains(&view.ground.grown(leap))
            && self.remote.iter().all(|(body, aura)| {
                let theirs = aura.reach_at(&self.geometry, tick) + aura.growth * notice;
                body == view.id || view.capsule().gap_m(&aura.capsule()) > leap + leap.max(theirs)
            })
    }

    /// Bodies that are tied go the same share of their ways: half a figure held would be torn.
    fn holds(&mut self, shares: Vec<(BodyId, f64)>, bodies: &impl Bodies) -> Vec<Hold> {
        let mut all: FxHashMap<BodyId, f64> = FxHashMap::default();
        let mut tied = Vec::new();
        for (body, share) in shares {
            tied.push(body);
            bodies.assembly(body, &mut tied);
            for member in tied.drain(..) {
                let least = all.entry(member).or_insert(share);
                *least = least.min(share);
            }
        }
        let mut ids: Vec<BodyId> = all.keys().copied().collect();
        ids.sort_unstable();
        let mut holding = FxHashMap::default();
        let mut holds = Vec::new();
        for body in ids {
            let Some(view) = bodies.view(body) else {
                continue;
            };
            let step = self.config.step.as_secs();
            let before = self.place_before(body);
            let before = before.unwrap_or_else(|| Place::before(&view, step));
            let Place {
                centre: position,
                rotation,
                ..
            } = before.towards(&Place::of(&view), all[&body]);
            let way = view.centre.distance(position);
            if way >= NOTICEABLE_M {
                self.kept.held += 1;
                self.kept.longest_m = self.kept.longest_m.max(way);
                let held = self.holding.get(&body).map_or(1, |held| held + 1);
                self.kept.longest_ticks = self.kept.longest_ticks.max(held);
                holding.insert(body, held);
            }
            holds.push(Hold {
                body,
                position,
                rotation,
            });
        }
        self.holding = holding;
        holds
    }

    /// Writes down what the members of an offer have promised by moving as they do, where nothing is said of it. Call
    /// before the cluster is caught up.
    pub fn complete_bonds(&self, arrival: &mut Arrival) {
        let Some(law) = self.law else {
            return;
        };
        let Offer {
            cluster,
            bonds,
            tick,
            ..
        } = &mut arrival.offer;
        let gravity = self.config.gravity;
        let missing = cluster.bodies.iter().filter(|body| {
            let place = bonds.binary_search_by_key(&body.id, |(id, _)| *id);
            place.is_err()
        });
        let missing: Vec<(BodyId, Bond)> = missing
            .map(|body| (body.id, law.promise(*tick, &live_view_of(body, gravity))))
            .collect();
        bonds.extend(missing);
        // Stable: each body's oldest first.
        bonds.sort_by_key(|(body, _)| *body);
    }

    /// What an arrival has promised goes on; it is told of from its first tick here.
    pub(super) fn bind_arrival(
        &mut self,
        tick: Tick,
        law: &PromiseLaw,
        track: &mut Track,
        body: &Body,
        member: &Member,
        bonds: &[(BodyId, Bond)],
    ) {
        let first = bonds.partition_point(|(id, _)| *id < body.id);
        let bonds = bonds[first..].iter().take_while(|(id, _)| *id == body.id);
        let bound = track.bound.get_or_insert_default();
        bound.bonds = bonds.map(|(_, bond)| *bond).collect();
        bound.may_leave = tick;
        bound.lingers_until = tick + law.notice_ticks() + 2;
        bound.decided_until = bound.lingers_until;
        track.key = member.rank;
        self.bound.insert(body.id);
        let view = live_view_of(body, self.config.gravity);
        self.entered.insert(body.id, Place::of(&view));
    }

    /// Holds a cluster that is caught up: how much of its way to this tick a member of the offer may go, from `before`
    /// to where `now` shows it. It stays within what it has
    /// promised, and out of where others are or may be.
    pub fn share_kept_in_flight(
        &self,
        tick: Tick,
        offer: &Offer,
        before: &Place,
        now: &BodyView,
        bodies: &impl Bodies,
    ) -> f64 {
        let Some(law) = self.law.filter(|_| self.config.keep_promises) else {
            return 1.0;
        };
        let is_member = |id: BodyId| {
            let place = offer.bonds.binary_search_by_key(&id, |(id, _)| *id);
            place.is_ok()
        };
        let first = offer.bonds.partition_point(|(id, _)| *id < now.id);
        let bonds = offer.bonds[first..].iter();
        let bonds = bonds
            .take_while(|(id, _)| *id == now.id)
            .map(|(_, bond)| bond);
        let place = Place::of(now);
        let mut share = bonds_share(&law, tick, bonds, before, &place);
        for (_, aura) in self.remote.iter().filter(|(id, _)| !is_member(*id)) {
            share = share.min(share_clear_of(&law, tick, now, before, aura));
        }
        let mut near = Vec::new();
        bodies.touching(&[Bounds::of_sphere(now.centre, now.radius)], &mut near);
        for other in near.into_iter().filter_map(|id| bodies.view(id)) {
            let room = |place: &Place| now.at(place).gap_m(&other);
            share = share.min(share_kept(before, &place, room));
        }
        share
    }
}

/// How much of its way a body may go before it comes where a foreign one may be at this tick.
fn share_clear_of(
    law: &PromiseLaw,
    tick: Tick,
    view: &BodyView,
    before: &Place,
    aura: &RemoteAura,
) -> f64 {
    let kept = law.kept_of(aura.reach, aura.growth, tick.since(aura.tick));
    let foreign = aura.capsule();
    let room = |place: &Place| view.at(place).capsule().gap_m(&foreign) - kept;
    share_with_room(before, &Place::of(view), room)
}

fn bonds_of(track: &Track) -> impl Iterator<Item = &Bond> {
    track.bound.iter().flat_map(|bound| &bound.bonds)
}

fn bonds_share<'a>(
    law: &PromiseLaw,
    tick: Tick,
    bonds: impl Iterator<Item = &'a Bond>,
    before: &Place,
    now: &Place,
) -> f64 {
    let kept = bonds.filter(|bond| bond.until.is_none_or(|until| until >= tick));
    let shares = kept.map(|bond| {
        let kept = law.kept_m(bond, tick) + ROUNDING_M;
        share_kept(before, now, |place| {
            kept - way_m(bond, place.centre, place.spine)
        })
    });
    shares.fold(1.0, f64::min)
}

/// Its shadow stays where it was: what is put back is looked at again before anybody asks for that.
fn move_to(view: &mut BodyView, hold: &Hold) {
    let turn = hold.rotation * view.rotation.inverse();
    view.centre = hold.position;
    view.spine = turn * view.spine;
    view.rotation = hold.rotation;
}
