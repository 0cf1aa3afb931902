//! The bodies that are looked at in a tick: all in a strip along the border, all that has promised something, all that something
//! foreign is near, all that is new, and what is fast. Everything else costs one glance.

use super::Boundary;
use crate::keeping::Place;
use crate::promise::PromiseLaw;
use crate::view::{AwakeBody, Bodies, BodyView, FastBody};
use domain::{BodyId, Bounds, Rect};
use glam::DVec3;

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
    /// It has promised something.
    pub(super) is_bound: bool,
    /// Others are told of it.
    pub(super) is_told_of: bool,
}

impl Near {
    pub(super) fn id(&self) -> BodyId {
        self.view.id
    }
}

impl Boundary {
    /// Finds them, ascending; and fast bodies wherever they are, and what of all that is awake is near something foreign.
    pub(super) fn look(&mut self, law: &PromiseLaw, home: &Rect, bodies: &impl Bodies) {
        std::mem::swap(&mut self.near, &mut self.near_before);
        self.glance(law, home, bodies);
        let mut views = std::mem::take(&mut self.strip);
        views.clear();
        bodies.not_within(&home.grown(-law.strip_m()), &mut views);
        // Views are large: small keys are sorted.
        let mut strip = std::mem::take(&mut self.strip_order);
        strip.clear();
        strip.extend((0..).zip(&views).map(|(i, view)| (view.id, i)));
        strip.sort_unstable();
        strip.dedup_by_key(|(id, _)| *id);
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        wanted.extend(&self.bound);
        let concerned = self.near_before.iter().filter(|near| near.is_concerned);
        wanted.extend(concerned.map(Near::id));
        wanted.extend(&self.fast_near);
        wanted.append(&mut self.fresh);
        // Mostly in order already.
        wanted.sort();
        wanted.dedup();
        self.near.clear();
        let (mut strip_at, mut wanted_at) = (strip.iter().peekable(), wanted.iter().peekable());
        let mut known = Known::of(self);
        let mut near = Vec::new();
        std::mem::swap(&mut near, &mut known.spare);
        loop {
            let next = match (strip_at.peek(), wanted_at.peek()) {
                (Some((a, _)), Some(b)) => *a.min(*b),
                (Some((a, _)), None) => *a,
                (None, Some(b)) => **b,
                (None, None) => break,
            };
            wanted_at.next_if(|id| **id == next);
            let view = match strip_at.next_if(|(id, _)| *id == next) {
                Some((_, place)) => Some(views[*place as usize]),
                None => bodies.view(next),
            };
            if let Some(view) = view {
                near.push(known.near(view));
            }
        }
        self.near = near;
        for id in &self.fast_near {
            if let Some(near) = find(&mut self.near, *id) {
                near.is_concerned = true;
            }
        }
        (self.strip, self.strip_order, self.wanted) = (views, strip, wanted);
    }

    /// One look at everything that is awake.
    fn glance(&mut self, law: &PromiseLaw, home: &Rect, bodies: &impl Bodies) {
        let gravity = self.config.gravity;
        let widest = bodies.widest_radius();
        let around = law.strip_m() + widest;
        let (index, coverage) = (&self.index, &mut self.coverage);
        coverage.rebuild(index.boxes(), around);
        let foreign_depth = index.depth_in(home);
        let (fast, fast_near, awake_near) =
            (&mut self.fast, &mut self.fast_near, &mut self.awake_near);
        fast.clear();
        fast_near.clear();
        awake_near.clear();
        // How far inside its region a body is.
        let depth_of = |at: DVec3| {
            let across = (at.x - home.min[0]).min(home.max[0] - at.x);
            across.min(at.z - home.min[1]).min(home.max[1] - at.z)
        };
        bodies.for_each_awake(law.slow_speed(gravity), &mut |body: AwakeBody| {
            let AwakeBody { id, centre, surge } = body;
            let is_near_foreign = coverage.holds(centre);
            if is_near_foreign {
                awake_near.push(id);
            }
            let Some(surge) = surge else {
                return;
            };
            fast.push(FastBody { id, centre, surge });
            // What flies matters if it may leave home soon, or if it may come where something foreign is.
            let lead = law.lead_of(surge, gravity) + widest;
            let depth = depth_of(centre);
            let may_meet = || depth <= lead + foreign_depth && index.is_near(centre, lead);
            if is_near_foreign || depth <= lead || may_meet() {
                fast_near.push(id);
            }
        });
        awake_near.sort_unstable();
    }

    /// Who else is near something foreign: those that are looked at anyway are marked; the others are looked at from now on,
    /// and returned.
    pub(super) fn concern(&mut self, law: &PromiseLaw, bodies: &impl Bodies) -> Vec<BodyView> {
        let mut others = Vec::new();
        if self.index.is_empty() {
            return others;
        }
        for near in &mut self.near {
            near.is_concerned |= self.coverage.holds(near.view.centre);
        }
        let mut ids = std::mem::take(&mut self.awake_near);
        // What was put back is not quite where it was seen.
        ids.extend(&self.held_now);
        if bodies.sleeps_any() {
            // Whatever sleeps in the strip is looked at anyway.
            let strip = law.strip_m();
            let inner = self.home().grown(-strip);
            let boxes = self.index.boxes().iter().map(|b| b.grown(strip));
            let boxes: Vec<Bounds> = boxes.filter(|b| inner.touches(&b.ground())).collect();
            bodies.touching(&boxes, &mut ids);
        }
        ids.sort_unstable();
        ids.dedup();
        let mut near = self.near.iter().map(Near::id).peekable();
        for id in ids.drain(..) {
            while near.next_if(|other| *other < id).is_some() {}
            if near.peek() != Some(&id) {
                others.extend(bodies.view(id));
            }
        }
        self.awake_near = ids;
        others
    }

    /// From the next step on these are looked at, too.
    pub(super) fn look_at(&mut self, others: &[BodyView]) {
        if others.is_empty() {
            return;
        }
        self.near.extend(others.iter().map(|view| Near {
            track: usize::MAX,
            before: None,
            place: Place::of(view),
            was_concerned: false,
            is_concerned: true,
            is_bound: false,
            is_told_of: false,
            view: *view,
        }));
        self.near.sort_unstable_by_key(Near::id);
    }
}

/// What is known of bodies already, asked of them in ascending order.
struct Known<'a> {
    before: std::iter::Peekable<std::slice::Iter<'a, Near>>,
    bound: std::iter::Peekable<std::collections::btree_set::Iter<'a, BodyId>>,
    told_of: std::iter::Peekable<std::collections::btree_set::Iter<'a, BodyId>>,
    tracks: &'a crate::projection::Tracks,
    spare: Vec<Near>,
}

impl<'a> Known<'a> {
    fn of(boundary: &'a mut Boundary) -> Self {
        Self {
            spare: std::mem::take(&mut boundary.near),
            before: boundary.near_before.iter().peekable(),
            bound: boundary.bound.iter().peekable(),
            told_of: boundary.projecting.iter().peekable(),
            tracks: &boundary.tracks,
        }
    }

    fn near(&mut self, view: BodyView) -> Near {
        let id = view.id;
        while self.before.next_if(|near| near.id() < id).is_some() {}
        while self.bound.next_if(|other| **other < id).is_some() {}
        while self.told_of.next_if(|other| **other < id).is_some() {}
        let before = self.before.next_if(|near| near.id() == id);
        let track = before.map(|near| near.track);
        let is_there = |track: &usize| {
            self.tracks
                .get_index(*track)
                .is_some_and(|(it, _)| *it == id)
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
            is_bound: self.bound.next_if(|other| **other == id).is_some(),
            is_told_of: self.told_of.next_if(|other| **other == id).is_some(),
            view,
        }
    }
}

/// Both lists are in the order of ids.
pub(super) fn find(near: &mut [Near], id: BodyId) -> Option<&mut Near> {
    let place = near.binary_search_by_key(&id, Near::id).ok()?;
    Some(&mut near[place])
}
