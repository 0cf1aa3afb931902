//! Who is told of, what they promise, and what is said of them (OBU of size `adaptive`).

use super::Boundary;
use super::adaptive::Watched;
use super::projecting::{remember, tell};
use crate::audience::Surroundings;
use crate::boundary_traversal::is_in;
use crate::load::LEAVING;
use crate::projection::{Bound, Track, track_mut};
use crate::promise::PromiseLaw;
use crate::view::BodyView;
use domain::{BodyId, Epoch, RegionId, Tick};
use wire::{AuraUpsert, Bond, ClusterKey};

/// Owners of foreign bodies hear of a body this much before the two are in question.
const KNOWN_AHEAD_M: f64 = 1.0;

impl Boundary {
    pub(super) fn begin_telling(
        &mut self,
        tick: Tick,
        law: &PromiseLaw,
        id: BodyId,
        track: &mut Track,
        was_told_of: bool,
    ) {
        if !was_told_of {
            self.projecting.insert(id);
            self.bound.insert(id);
        }
        begin_telling(tick, law, track, was_told_of);
    }

    pub(super) fn end_telling(
        &mut self,
        tick: Tick,
        law: &PromiseLaw,
        id: BodyId,
        track: &mut Track,
    ) {
        self.projecting.remove(&id);
        self.withdraw(id, track.epoch, &track.audience, tick, None);
        track.audience.clear();
        track.since = None;
        track.key = None;
        if let Some(bound) = &mut track.bound {
            bound.told = None;
            bound.may_leave = Tick(u64::MAX);
            end_standing(bound, tick + law.notice_ticks());
        }
    }

    /// A body that nobody is told of and nobody can meet: its promises run out.
    pub(super) fn retire(&mut self, tick: Tick, law: &PromiseLaw, id: BodyId) {
        let Some(track) = self.tracks.get_mut(&id) else {
            self.bound.remove(&id);
            return;
        };
        if let Some(bound) = &mut track.bound {
            end_standing(bound, tick + law.notice_ticks());
            bound.forget_over(tick);
        }
        if track
            .bound
            .as_ref()
            .is_none_or(|bound| bound.bonds.is_empty())
        {
            track.bound = None;
            self.bound.remove(&id);
        }
    }

    /// A body in question is told of for as long as it is, and a little longer.
    pub(super) fn go_on_telling(&mut self, tick: Tick, law: &PromiseLaw, watched: &mut Watched) {
        let id = watched.view.id;
        let Some((_, track)) = track_mut(&mut self.tracks, watched.track, id) else {
            return;
        };
        begin_telling(tick, law, track, watched.is_told_of);
        let bound = track.bound.get_or_insert_default();
        let end = tick + law.notice_ticks() + 2;
        bound.lingers_until = bound.lingers_until.max(end);
        if watched.is_due() {
            bound.decided_until = bound.decided_until.max(end);
            bound.leaves_at = None;
        }
        if !watched.is_told_of {
            self.projecting.insert(id);
            self.bound.insert(id);
            watched.is_told_of = true;
        }
    }

    /// OBU: whose promise, rank or audience has changed is told of.
    pub(super) fn tell_all(&mut self, tick: Tick, law: &PromiseLaw, watched: &[Watched]) {
        let home = self.home();
        let mut audience = Vec::new();
        let around = Surroundings {
            me: self.me,
            map: &self.map,
            geometry: &self.geometry,
            foreign: &self.index,
        };
        for w in watched.iter().filter(|w| w.is_told_of) {
            let view = &w.view;
            let Some((_, track)) = track_mut(&mut self.tracks, w.track, view.id) else {
                continue;
            };
            let bound = track.bound.get_or_insert_default();
            // What it promises from now on.
            bound.promise(tick, law.notice_ticks(), w.next);
            let Some(mut bond) = bound.standing().copied() else {
                continue;
            };
            let reach = law.half_m(view) + KNOWN_AHEAD_M;
            self.introductions
                .audience_near(&around, view, reach, &mut audience);
            // Those who have heard that it is gone take only what is newer.
            let is_new = |region: &RegionId| track.audience.binary_search(region).is_err();
            if bond.growth > 0.0 && bond.tick < tick && audience.iter().any(is_new) {
                let expected = match self.holding.contains_key(&view.id) {
                    true => law.expecting_anything(view),
                    false => *view,
                };
                bond = law.promise(tick, &expected);
                bound.promise(tick, law.notice_ticks(), bond);
            }
            let own = ClusterKey {
                class: match bound.leaves_at {
                    Some(_) => LEAVING,
                    None => self.load.class(1, !is_in(view, &home)),
                },
                since: track.since.unwrap_or(tick),
                body: view.id,
            };
            if bound.decided_until < tick {
                track.key = None;
            }
            let key = track.key.unwrap_or_else(|| as_told(bound, &bond, own));
            let is_news = bound.told != Some((bond, key));
            bound.told = Some((bond, key));
            let mut upsert = upsert_of(view, track.epoch, &bond, key);
            // A ball that does not grow is as good now as when it was promised.
            if bond.growth == 0.0 {
                upsert.tick = tick;
            }
            tell(
                &mut self.buffers,
                &self.forgetful,
                &upsert,
                &audience,
                &track.audience,
                is_news,
            );
            remember(&mut track.audience, &audience);
        }
    }

    pub(super) fn tell_of_ghosts(&mut self, law: &PromiseLaw, watched: &[Watched]) {
        let mut audience = Vec::new();
        let around = Surroundings {
            me: self.me,
            map: &self.map,
            geometry: &self.geometry,
            foreign: &self.index,
        };
        for Watched { view, next, .. } in watched {
            let Some(ghost) = self.nursery.get_mut(&view.id) else {
                continue;
            };
            let reach = law.half_m(view) + KNOWN_AHEAD_M;
            self.introductions
                .audience_near(&around, view, reach, &mut audience);
            let own = ClusterKey {
                class: self.load.class(1, false),
                ..ghost.key()
            };
            let key = ghost.rank.unwrap_or(own);
            let upsert = upsert_of(view, ghost.epoch, next, key);
            tell(
                &mut self.buffers,
                &self.forgetful,
                &upsert,
                &audience,
                &ghost.audience,
                true,
            );
            remember(&mut ghost.audience, &audience);
        }
    }
}

/// Of what rests nothing new is said only because its owner has become busier or idler: a settled world says nothing.
fn as_told(bound: &Bound, bond: &Bond, own: ClusterKey) -> ClusterKey {
    let same_but_for_class = |told: &ClusterKey| (told.since, told.body) == (own.since, own.body);
    let goodbye = |key: &ClusterKey| key.class == LEAVING;
    let told = bound.told.map(|(_, key)| key);
    let told = told.filter(|told| same_but_for_class(told) && goodbye(told) == goodbye(&own));
    told.filter(|_| bond.growth == 0.0).unwrap_or(own)
}

fn begin_telling(tick: Tick, law: &PromiseLaw, track: &mut Track, was_told_of: bool) {
    track.since.get_or_insert(tick);
    let bound = track.bound.get_or_insert_default();
    if !was_told_of {
        // An arrival is known already.
        bound.may_leave = bound.may_leave.min(tick + law.notice_ticks());
    }
}

/// The ball stands until then and no longer.
fn end_standing(bound: &mut Bound, end: Tick) {
    if let Some(standing) = bound.bonds.last_mut() {
        standing.until.get_or_insert(end);
    }
}

/// What is told of a body that has promised this.
pub(super) fn upsert_of(view: &BodyView, epoch: Epoch, bond: &Bond, key: ClusterKey) -> AuraUpsert {
    AuraUpsert {
        body: view.id,
        epoch,
        tick: bond.tick,
        centre: bond.centre,
        radius: view.girth as f32,
        spine: bond.spine,
        reach: bond.reach,
        growth: bond.growth,
        key,
    }
}
