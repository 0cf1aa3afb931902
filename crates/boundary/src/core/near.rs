//! The bodies that are looked at in a tick: all in a strip along the border, all that has promised something, all that
//! something foreign is near, all that is new, and what is fast. Everything else that is awake costs one glance, and
//! everything else that sleeps nothing at all.

use super::Boundary;
use crate::coverage::Coverage;
use crate::keeping::Place;
use crate::projection::Tracks;
use crate::promise::PromiseLaw;
use crate::view::{AwakeBody, Bodies, BodyView, FastBody};
use domain::{BodyId, Bounds, Rect};
use glam::DVec3;
use std::collections::btree_set;
use std::iter::Peekable;
use std::slice;

/// A body that is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub(super) view: BodyView,
    /// Where among the tracks its own is, unless others have come or gone since.
    pub(super) track: usize,
    /// Where it was after the last step, if it was looked at then.
    pub(super) before: Option<Place>,
    /// Where it is after this one, for the next.
    pub(super) place: Place,
    /// Something foreign was near it after the last step.
    pub(super) was_concerned: bool,
    /// Something foreign is near it now, or may be there soon.
    pub(super) is_concerned: bool,
    /// It is so near to a border that it is always looked at.
    pub(super) is_in_strip: bool,
    /// It has promised something.
    pub(super) is_bound: bool,
    /// Others are told of it.
    pub(super) is_told_of: bool,
    /// It sleeps, has promised nothing, and nobody is told of it: while that is so, nothing about it changes.
    pub(super) is_dormant: bool,
}

/// What looking needs from one tick to the next, and memory that is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Watchlist {
    /// The bodies that are looked at in this tick, ascending.
    pub(super) near: Vec<Near>,
    /// Those of the tick before.
    pub(super) before: Vec<Near>,
    /// Bodies that are gone since.
    pub(super) gone: Vec<BodyId>,
    /// The slots in which dormant bodies are, and those of which it is known already that they are looked at.
    dormant: Slots,
    found: Slots,
    /// Fast bodies that matter, and everyone to be looked at, with slots where they are known.
    fast: Vec<BodyId>,
    wanted: Vec<(BodyId, u32)>,
}

/// A slot that is not known.
const NO_SLOT: u32 = u32::MAX;

impl Near {
    pub(super) fn id(&self) -> BodyId {
        self.view.id
    }
}

impl Watchlist {
    pub(super) fn find(&mut self, id: BodyId) -> Option<&mut Near> {
        let place = self.near.binary_search_by_key(&id, Near::id).ok()?;
        Some(&mut self.near[place])
    }

    fn note_dormant(&mut self) {
        self.dormant.clear();
        for near in self.near.iter().filter(|near| near.is_dormant) {
            self.dormant.insert(near.view.slot);
        }
    }
}

/// A set of slots.
#[derive(Clone, Debug, Default)]
struct Slots {
    bits: Vec<u64>,
}

impl Slots {
    fn clear(&mut self) {
        self.bits.fill(0);
    }

    fn insert(&mut self, slot: u32) {
        let word = slot as usize / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (slot % 64);
    }

    fn contains(&self, slot: u32) -> bool {
        let word = self.bits.get(slot as usize / 64);
        word.is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }
}

impl Boundary {
    /// Finds those to be looked at.
    pub(super) fn look(&mut self, law: &PromiseLaw, home: &Rect, bodies: &impl Bodies) {
        self.list.note_dormant();
        std::mem::swap(&mut self.list.near, &mut self.list.before);
        self.list.wanted.clear();
        self.glance(law, home, bodies);
        let list = &mut self.list;
        list.wanted
            .extend(self.fresh.drain(..).map(|id| (id, NO_SLOT)));
        // Whatever has promised something, and what has just fallen asleep. Most of that was found already.
        let mut before = list.before.iter().peekable();
        for id in &self.bound {
            while before.next_if(|near| near.id() < *id).is_some() {}
            let slot = before.next_if(|near| near.id() == *id);
            let slot = slot.map_or(NO_SLOT, |near| near.view.slot);
            if !list.found.contains(slot) {
                list.wanted.push((*id, slot));
            }
        }
        let stays = |near: &&Near| (near.is_concerned || near.is_in_strip) && !near.is_dormant;
        let is_found = |near: &&Near| list.found.contains(near.view.slot);
        let stays = list
            .before
            .iter()
            .filter(|near| !is_found(near) && stays(near));
        list.wanted
            .extend(stays.map(|near| (near.id(), near.view.slot)));
        list.wanted.sort_unstable();
        list.wanted.dedup_by_key(|(id, _)| *id);
        list.gone.sort_unstable();
        let mut near = std::mem::take(&mut list.near);
        near.clear();
        let mut known = Known {
            before: list.before.iter().peekable(),
            bound: self.bound.iter().peekable(),
            told_of: self.projecting.iter().peekable(),
            tracks: &self.tracks,
            inner: home.grown(-law.strip_m()),
        };
        for (id, slot) in &list.wanted {
            // Those that sleep stay as they are.
            while let Some(sleeper) = known.dormant_before(Some(*id)) {
                if list.gone.binary_search(&sleeper.id()).is_err() {
                    near.push(sleeper);
                }
            }
            if let Some(view) = bodies.view_in(*slot, *id) {
                near.push(known.near(view));
            }
        }
        while let Some(sleeper) = known.dormant_before(None) {
            if list.gone.binary_search(&sleeper.id()).is_err() {
                near.push(sleeper);
            }
        }
        list.gone.clear();
        list.near = near;
        for id in std::mem::take(&mut list.fast) {
            if let Some(near) = list.find(id) {
                near.is_concerned = true;
            }
        }
    }

    /// One look at everything that is awake.
    fn glance(&mut self, law: &PromiseLaw, home: &Rect, bodies: &impl Bodies) {
        let gravity = self.config.gravity;
        let widest = bodies.widest_radius();
        let strip = law.strip_m();
        let (index, coverage, list) = (&self.index, &mut self.coverage, &mut self.list);
        coverage.rebuild(index.boxes(), strip + widest);
        let foreign_depth = index.depth_in(home);
        // How far inside its region a body is.
        let depth_of = |at: DVec3| {
            let across = (at.x - home.min[0]).min(home.max[0] - at.x);
            across.min(at.z - home.min[1]).min(home.max[1] - at.z)
        };
        list.fast.clear();
        list.found.clear();
        let lead_of = law.leads(gravity);
        let farthest_m = lead_of(f64::INFINITY).max(strip) + widest;
        let inner = without_interest(home, coverage, foreign_depth, farthest_m, law.farthest_m(2));
        bodies.for_each_awake(&inner, law.slow_speed(gravity), &mut |body: AwakeBody| {
            let depth = depth_of(body.centre);
            let is_near_foreign = coverage.holds(body.centre);
            // What flies matters if it may leave home soon, or if it may come where something foreign is.
            let is_fast_near = body.surge.is_some_and(|surge| {
                let lead = lead_of(surge) + widest;
                let may_meet = || depth <= lead + foreign_depth && index.is_near(body.centre, lead);
                is_near_foreign || depth <= lead || may_meet()
            });
            if is_fast_near {
                list.fast.push(body.id);
            }
            if is_fast_near
                || is_near_foreign
                || depth <= strip + body.radius
                || list.dormant.contains(body.slot)
            {
                list.wanted.push((body.id, body.slot));
                list.found.insert(body.slot);
            }
        });
    }

    /// All fast bodies, wherever they are.
    pub(super) fn fast(&self, law: &PromiseLaw, bodies: &impl Bodies) -> Vec<FastBody> {
        let mut fast = Vec::new();
        bodies.for_each_awake(
            &Rect::NOWHERE,
            law.slow_speed(self.config.gravity),
            &mut |body: AwakeBody| {
                let AwakeBody {
                    id, centre, surge, ..
                } = body;
                if let Some(surge) = surge {
                    fast.push(FastBody { id, centre, surge });
                }
            },
        );
        if !self.held_now.is_empty() {
            for fast in &mut fast {
                // What was put back is not where it was seen.
                if self.held_now.binary_search(&fast.id).is_ok() {
                    fast.centre = bodies.view(fast.id).map_or(fast.centre, |view| view.centre);
                }
            }
        }
        fast
    }

    /// Marks everyone that something foreign is near; returns those that are not looked at yet.
    pub(super) fn concern(&mut self, bodies: &impl Bodies) -> Vec<BodyView> {
        let mut others = Vec::new();
        if self.index.is_empty() && self.held_now.is_empty() {
            return others;
        }
        for near in &mut self.list.near {
            near.is_concerned |= self.coverage.holds(near.view.centre);
        }
        // Whatever is awake is looked at already; what sleeps is found when something comes where nothing was.
        let mut ids = Vec::new();
        if bodies.sleeps_any() {
            // By their boxes, which need not hold their centres.
            let widest = bodies.widest_radius();
            let squares = self.coverage.new_squares().into_iter();
            let squares: Vec<Bounds> = squares.map(|square| square.grown(widest)).collect();
            bodies.touching(&squares, &mut ids);
        }
        // Tied to what was put back, and so put back, too.
        ids.extend(&self.held_now);
        ids.sort_unstable();
        ids.dedup();
        let mut near = self.list.near.iter().map(Near::id).peekable();
        for id in ids {
            while near.next_if(|other| *other < id).is_some() {}
            if near.peek() != Some(&id) {
                let matters = |view: &BodyView| {
                    self.coverage.holds(view.centre) || self.held_now.binary_search(&id).is_ok()
                };
                others.extend(bodies.view(id).filter(matters));
            }
        }
        others
    }

    /// From the next step on these are looked at, too.
    pub(super) fn look_at(&mut self, others: &[BodyView]) {
        if others.is_empty() {
            return;
        }
        let near = &mut self.list.near;
        near.extend(others.iter().map(|view| Near {
            track: usize::MAX,
            before: None,
            place: Place::of(view),
            was_concerned: false,
            is_concerned: true,
            is_in_strip: false,
            is_bound: false,
            is_told_of: false,
            is_dormant: false,
            view: *view,
        }));
        near.sort_unstable_by_key(Near::id);
    }
}

/// What is awake in this rectangle need not be looked at: it is farther than `farthest_m` from every border and from
/// everything foreign, and no marked square reaches into it. (A sleeper is found only when its square is marked anew,
/// so whatever is awake in a marked square must be looked at before it falls asleep.) What has just woken has not gone
/// farther than `slack_m`.
fn without_interest(
    home: &Rect,
    coverage: &Coverage,
    foreign_depth: f64,
    farthest_m: f64,
    slack_m: f64,
) -> Rect {
    let depth = foreign_depth + farthest_m + coverage.coarseness_m() + slack_m;
    home.grown(-depth).intersection(coverage.rect())
}

/// What is known of bodies already, asked of them in ascending order.
struct Known<'a> {
    before: Peekable<slice::Iter<'a, Near>>,
    bound: Peekable<btree_set::Iter<'a, BodyId>>,
    told_of: Peekable<btree_set::Iter<'a, BodyId>>,
    tracks: &'a Tracks,
    /// Without the strip.
    inner: Rect,
}

impl Known<'_> {
    /// The next one that has slept and sleeps on, before this body, or of all that are left.
    fn dormant_before(&mut self, id: Option<BodyId>) -> Option<Near> {
        let is_before = |near: &&Near| id.is_none_or(|id| near.id() < id);
        while let Some(near) = self.before.next_if(is_before) {
            if near.is_dormant {
                return Some(Near {
                    before: Some(near.place),
                    was_concerned: near.is_concerned,
                    is_concerned: false,
                    ..*near
                });
            }
        }
        None
    }

    fn near(&mut self, view: BodyView) -> Near {
        let id = view.id;
        while self.bound.next_if(|other| **other < id).is_some() {}
        while self.told_of.next_if(|other| **other < id).is_some() {}
        let before = self.before.next_if(|near| near.id() == id);
        let track = before.map(|near| near.track);
        let is_there = |track: &usize| {
            let at = self.tracks.get_index(*track);
            at.is_some_and(|(other, _)| *other == id)
        };
        let track = track.filter(is_there);
        Near {
            track: track
                .or_else(|| self.tracks.get_index_of(&id))
                .unwrap_or(usize::MAX),
            before: before.map(|near| near.place),
            place: Place::of(&view),
            was_concerned: before.is_some_and(|near| near.is_concerned),
            is_concerned: false,
            is_in_strip: !self.inner.contains(&view.ground),
            is_bound: self.bound.next_if(|other| **other == id).is_some(),
            is_told_of: self.told_of.next_if(|other| **other == id).is_some(),
            is_dormant: false,
            view,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aura_index::AuraIndex;
    use crate::config::BoundaryConfig;
    use crate::geometry::AuraGeometry;
    use crate::remote_auras::RemoteAuras;
    use domain::{Epoch, RegionId, Tick};
    use proptest::prelude::*;
    use wire::{AuraUpsert, ClusterKey};

    fn aura(body: u64, x: f64, z: f64, reach: f32) -> AuraUpsert {
        AuraUpsert {
            body: BodyId(body),
            epoch: Epoch(1),
            tick: Tick(1),
            centre: DVec3::new(x, 0.0, z),
            radius: 0.5,
            spine: glam::Vec3::ZERO,
            reach,
            growth: 0.0,
            key: ClusterKey {
                class: 0,
                since: Tick(0),
                body: BodyId(body),
            },
        }
    }

    proptest! {
        /// Nothing that is awake in a marked square, or beyond the grid, is left out: at a corner auras that are
        /// gathered in one box reach farther inside than each of them.
        #[test]
        fn whatever_is_marked_is_looked_at(
            auras in proptest::collection::vec((-6.0..6.0_f64, -6.0..30.0_f64, 0.1..4.0_f32), 1..40),
            speed in 1.0..40.0_f64,
            side in 60.0..9_000.0_f64,
            place in (0.0..1.0_f64, 0.0..1.0_f64),
        ) {
            let mut config = BoundaryConfig::default();
            config.tolerances.speed = speed;
            let (law, geometry) = (PromiseLaw::of(&config), AuraGeometry::of(&config));
            // The lower corner of a region without an end on the two other sides.
            let home = Rect { min: [0.0; 2], max: [f64::INFINITY; 2] };
            let extent = Rect { min: [0.0; 2], max: [side; 2] };
            let mut remote = RemoteAuras::default();
            for (body, (x, z, reach)) in (0..).zip(&auras) {
                remote.upsert(RegionId(1), &aura(body, *x, *z, *reach));
            }
            let index = AuraIndex::build(&remote, &geometry, Tick(1), &Rect::EVERYWHERE);
            let mut coverage = Coverage::over(&extent.grown(16.0));
            let widest = 0.7;
            coverage.rebuild(index.boxes(), law.strip_m() + widest);
            let farthest = law.lead_of(f64::INFINITY, 9.81).max(law.strip_m()) + widest;
            let depth = index.depth_in(&home);
            let inner = without_interest(&home, &coverage, depth, farthest, law.farthest_m(2));
            let far = 1.5 * side;
            for (x, z) in [(place.0 * 40.0, place.1 * 40.0), (place.0 * far, place.1 * far)] {
                let is_marked = coverage.holds(DVec3::new(x, 0.0, z));
                prop_assert!(!(is_marked && inner.holds(x, z)), "({x}, {z}) of {inner:?}");
            }
        }
    }
}
