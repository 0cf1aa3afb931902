//! The bodies that are looked at in a tick: all in a strip along the border, all that has promised something, all that something
//! foreign is near, all that is new, and what is fast. Everything else that is awake costs one glance, and what sleeps
//! nothing at all.

use super::Boundary;
use crate::keeping::Place;
use crate::projection::Tracks;
use crate::promise::PromiseLaw;
use crate::view::{AwakeBody, Bodies, BodyView, FastBody};
use domain::{BodyId, Rect};
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
            while let Some(sleeper) = known.dormant_before(*id) {
                if list.gone.binary_search(&sleeper.id()).is_err() {
                    near.push(sleeper);
                }
            }
            if let Some(view) = bodies.view_in(*slot, *id) {
                near.push(known.near(view));
            }
        }
        while let Some(sleeper) = known.dormant_before(BodyId(u64::MAX)) {
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
        let farthest_lead = lead_of(f64::INFINITY) + widest;
        let deepest = foreign_depth + farthest_lead.max(strip + widest + coverage.coarseness_m());
        // Most are deep inside. What has just woken has not come far.
        let inner = home.grown(-(deepest + law.farthest_m(2)));
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
        if self.index.is_empty() {
            return others;
        }
        for near in &mut self.list.near {
            near.is_concerned |= self.coverage.holds(near.view.centre);
        }
        // Whatever is awake is looked at already; what sleeps is found when something comes where nothing was.
        let mut ids = Vec::new();
        if bodies.sleeps_any() {
            bodies.touching(&self.coverage.new_squares(), &mut ids);
        }
        // Tied to what was put back, and so put back, too.
        ids.extend(&self.held_now);
        ids.sort_unstable();
        ids.dedup();
        let mut near = self.list.near.iter().map(Near::id).peekable();
        for id in ids {
            while near.next_if(|other| *other < id).is_some() {}
            if near.peek() != Some(&id) {
                others.extend(bodies.view(id));
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
    /// The next one that has slept and sleeps on, before this body.
    fn dormant_before(&mut self, id: BodyId) -> Option<Near> {
        while let Some(near) = self.before.next_if(|near| near.id() < id) {
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
