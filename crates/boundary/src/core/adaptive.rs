//! A tick of size `adaptive`: who is told of, who is called, who leaves, and what everybody promises next.
//!
//! A body whose promise meets a foreign one is *in question*: either it leaves for the other's owner, with its cluster,
//! or it stays and the other comes. Who leaves is
//! decided by rank, and both sides compare the same ranks. But nothing depends on that for safety: should both stay for
//! a while, or both leave, or news be under way, each of
//! the two is kept out of where the other may be ([`keeping_word`](super::keeping_word)).

use super::departing::Leave;
use super::going_home::Levels;
use super::near::{Near, Watchlist};
use super::{Boundary, Departure};
use crate::aura_index::AuraIndex;
use crate::boundary_traversal::destination;
use crate::joined::{Found, Joined};
use crate::keeping::Place;
use crate::lifecycle::LifeState;
use crate::load::LEAVING;
use crate::nursery::Ghost;
use crate::projection::{
    Track, object_boundary_create, object_boundary_exit, state_at, touched_boundaries, track_at,
    track_mut,
};
use crate::promise::PromiseLaw;
use crate::view::{Bodies, BodyView, FastBody};
use domain::{BodyId, Capsule, Rect, RegionId, Tick};
use smallvec::SmallVec;
use wire::{Bond, ClusterKey, HandoverCause};

/// An island goes home only if nothing is this near beyond what links: it would be called back when something wakes.
const ISLAND_SLACK_M: f64 = 0.25;

/// A body that foreign ones may rely on, or whose promises may meet theirs.
pub(super) struct Watched {
    pub(super) view: BodyView,
    /// What it promises next, if nothing foreign is in the way.
    pub(super) next: Bond,
    /// What foreign is in the way.
    touched: SmallVec<[Touched; 2]>,
    /// Where among the tracks its own is, unless others have come or gone since.
    pub(super) track: usize,
    /// Others are told of it.
    pub(super) is_told_of: bool,
}

/// How far clusters are searched.
struct Search<'a> {
    /// About so many bodies of the cluster of this one are enough.
    limit: &'a dyn Fn(BodyId) -> usize,
    /// One that is not fit ends the search.
    fit: &'a dyn Fn(&BodyView) -> bool,
    /// Every distance is larger by this.
    slack_m: f64,
}

/// A foreign aura in the way.
#[derive(Clone, Copy)]
struct Touched {
    aura: BodyId,
    owner: RegionId,
    key: ClusterKey,
    depth_m: f64,
    /// The two are about to meet: one of them must move.
    is_due: bool,
}

impl Watched {
    fn of(index: &AuraIndex, law: &PromiseLaw, view: BodyView, next: Bond, tick: Tick) -> Self {
        Self {
            touched: touched_by(index, law, &view, &next, tick),
            view,
            next,
            track: usize::MAX,
            is_told_of: false,
        }
    }

    /// What it is about to meet.
    fn due(&self) -> impl Iterator<Item = &Touched> {
        self.touched.iter().filter(|call| call.is_due)
    }

    pub(super) fn is_due(&self) -> bool {
        self.due().next().is_some()
    }
}

impl Touched {
    /// The lowest rank calls; nobody will call that one away. Of equals the deepest.
    fn is_stronger_than(&self, other: &Self) -> bool {
        let order = |call: &Self| (call.key, call.owner);
        match order(self).cmp(&order(other)) {
            std::cmp::Ordering::Equal => self.depth_m > other.depth_m,
            order => order.is_lt(),
        }
    }
}

impl Boundary {
    pub(super) fn is_adaptive(&self) -> bool {
        self.law.is_some()
    }

    pub(super) fn after_adaptive_step(
        &mut self,
        tick: Tick,
        law: &PromiseLaw,
        bodies: &impl Bodies,
    ) -> Vec<Departure> {
        for id in &self.held_now {
            // Put back and turned back: only the world knows its shadow now.
            if let Some(near) = self.list.find(*id) {
                near.view = bodies.view(*id).unwrap_or(near.view);
            }
        }
        if self.load.is_due(tick) {
            self.load.count(bodies.awake());
        }
        self.watch.silence(self.index.fallen_silent());
        let mut watched = self.watched(tick, law, bodies);
        let index = std::mem::take(&mut self.index);
        let ghosts = self.watched_ghosts(tick, law, &index);
        self.index = index;
        let departures = self.part(tick, law, &mut watched, &ghosts, bodies);
        self.tell_all(tick, law, &watched);
        self.tell_of_ghosts(law, &ghosts);
        self.forgetful.clear();
        self.introduce();
        self.repeat_offers(tick);
        departures
    }

    /// Everyone who is told of, and everyone in whose way something foreign is. Ascending.
    fn watched(&mut self, tick: Tick, law: &PromiseLaw, bodies: &impl Bodies) -> Vec<Watched> {
        let home = self.home();
        let others = self.concern(bodies);
        let (mut near, index) = (
            std::mem::take(&mut self.list.near),
            std::mem::take(&mut self.index),
        );
        let mut watched = Vec::with_capacity(self.projecting.len() + 8);
        for near in &mut near {
            let view = &near.view;
            if !near.is_dormant && self.place_adaptive(tick, law, &home, near, &index) {
                let track = self.track_of(near).expect("it was placed");
                let standing = track.bound.as_ref().and_then(|bound| bound.standing());
                let next = law.renewed(tick, standing, &self.as_expected(law, view));
                watched.push(Watched {
                    track: near.track,
                    is_told_of: true,
                    ..Watched::of(&index, law, *view, next, tick)
                });
                continue;
            }
            if near.is_bound {
                self.retire(tick, law, view.id);
            }
            if near.is_concerned {
                watched.extend(self.candidate(tick, law, view, near.track, &index));
            }
            let matters = near.is_concerned || near.is_in_strip;
            near.is_bound = near.is_bound && self.bound.contains(&view.id);
            near.is_dormant = view.asleep && matters && !near.is_bound;
        }
        let told_of = watched.len();
        for view in &others {
            watched.extend(self.candidate(tick, law, view, usize::MAX, &index));
        }
        if watched.len() > told_of {
            watched.sort_unstable_by_key(|w| w.view.id);
        }
        (self.list.near, self.index) = (near, index);
        self.look_at(&others);
        watched
    }

    /// A body that nobody need be told of, but that is so near to foreign ones that they may be in each other's way.
    fn candidate(
        &self,
        tick: Tick,
        law: &PromiseLaw,
        view: &BodyView,
        track: usize,
        index: &AuraIndex,
    ) -> Option<Watched> {
        let next = law.promise(tick, view);
        let touched = touched_by(index, law, view, &next, tick);
        let is_ours = || track_at(&self.tracks, track, view.id).is_some();
        (!touched.is_empty() && is_ours()).then(|| Watched {
            view: *view,
            next,
            touched,
            track,
            is_told_of: false,
        })
    }

    fn watched_ghosts(&self, tick: Tick, law: &PromiseLaw, index: &AuraIndex) -> Vec<Watched> {
        let gravity = self.config.gravity;
        let watched = self.nursery.values().map(|ghost| {
            let view = ghost.live_view(gravity);
            let mut ghost = Watched::of(index, law, view, law.promise(tick, &view), tick);
            // It does not move yet, and must be born in peace.
            ghost.touched.iter_mut().for_each(|call| call.is_due = true);
            ghost
        });
        watched.collect()
    }

    /// Writes into a body's track where it is (OBC, OBE); says whether others are told of it.
    fn place_adaptive(
        &mut self,
        tick: Tick,
        law: &PromiseLaw,
        home: &Rect,
        near: &Near,
        index: &AuraIndex,
    ) -> bool {
        let view = &near.view;
        let Some((place, track)) = track_mut(&mut self.tracks, near.track, view.id) else {
            return false;
        };
        self.watch
            .speed(view.speed(), &mut track.too_fast, &self.config.tolerances);
        let was_told_of = near.is_told_of;
        let lead = law.lead(view, was_told_of);
        let is_inside = home.contains(&lead);
        if is_inside && track.state == LifeState::HostRegion && !was_told_of {
            return false;
        }
        let touched = touched_boundaries(&lead, 0.0, self.neighbours.iter().copied());
        let touched: SmallVec<[RegionId; 4]> = touched.collect();
        let state = state_at(&view.ground, home, &touched);
        if state != LifeState::BoundaryTraversed
            && let Some(bound) = &mut track.bound
        {
            // It has come back by itself.
            bound.leaves_at = None;
        }
        let lingers = track
            .bound
            .as_ref()
            .is_some_and(|bound| bound.lingers_until >= tick);
        let is_known = was_told_of || !track.audience.is_empty();
        // "It is over" and "it begins" in one tick would look like old news to those who hear both.
        let is_in_question =
            || is_known && !touched_by(index, law, view, &law.promise(tick, view), tick).is_empty();
        let is_told_of = state.projects() || lingers || is_in_question();
        if state == track.state && touched == track.boundaries && is_told_of == was_told_of {
            return is_told_of;
        }
        // Taken out for the time being.
        let mut track = std::mem::replace(track, Track::new(track.epoch, state, None));
        for left in track.boundaries.clone() {
            if !touched.contains(&left) {
                object_boundary_exit(&mut track, left);
            }
        }
        for boundary in &touched {
            object_boundary_create(&mut track, *boundary, tick);
        }
        self.change_state(&mut track, view.id, state, tick);
        match is_told_of {
            true => self.begin_telling(tick, law, view.id, &mut track, was_told_of),
            false => self.end_telling(tick, law, view.id, &mut track),
        }
        self.tracks[place] = track;
        is_told_of
    }

    /// AC, then BT: clusters that something foreign is in the way of leave or stay by rank; islands go home.
    fn part(
        &mut self,
        tick: Tick,
        law: &PromiseLaw,
        watched: &mut Vec<Watched>,
        ghosts: &[Watched],
        bodies: &impl Bodies,
    ) -> Vec<Departure> {
        let mut starts: Vec<BodyId> = Vec::new();
        for w in watched.iter_mut().filter(|w| !w.touched.is_empty()) {
            match self.is_settled(tick, w) {
                true => self.go_on_telling(tick, law, w),
                false => starts.push(w.view.id),
            }
        }
        let unborn = ghosts.iter().filter(|w| !w.touched.is_empty());
        starts.extend(unborn.map(|w| w.view.id));
        let strays = self.strays(tick, watched);
        if starts.is_empty() && strays.is_empty() {
            return Vec::new();
        }
        let ghost_views: Vec<BodyView> = ghosts.iter().map(|ghost| ghost.view).collect();
        // Who is in my way tells how large its cluster is: I need not count mine much further.
        // Where bodies keep each other out for longer than a question takes, nobody is spared the whole count.
        let is_stuck = self
            .holding
            .values()
            .any(|held| *held > law.notice_ticks() + 2);
        let limit = |start: BodyId| {
            if is_stuck {
                return usize::MAX;
            }
            let calls = find(watched, ghosts, start).into_iter();
            calls
                .flat_map(Watched::due)
                .map(|call| self.load.enough_to_stay(call.key.class))
                .max()
                .unwrap_or(usize::MAX)
        };
        let search = Search {
            limit: &limit,
            fit: &|_| true,
            slack_m: 0.0,
        };
        let clusters = self.clusters(law, &starts, &ghost_views, bodies, &search);
        // An island goes home whole or not at all: one that stays is enough to know.
        let home = self.home();
        let search = Search {
            limit: &|_| usize::MAX,
            fit: &|view| !home.touches(&view.ground) && self.has_stayed(tick, view.id),
            slack_m: ISLAND_SLACK_M,
        };
        let islands = self.clusters(law, &strays, &ghost_views, bodies, &search);
        // What comes here because of another of ours is not followed to where it leaves.
        let coming = self.coming(tick, watched);
        let mut departures = Vec::new();
        for Found {
            members: cluster,
            is_whole,
        } in clusters
        {
            self.largest_cluster = self.largest_cluster.max(cluster.len() as u64);
            let mine = self.rank_of(tick, &cluster);
            let is_held = |view: &BodyView| self.holding.contains_key(&view.id);
            let coming = match cluster.iter().any(is_held) {
                true => &[],
                false => &coming[..],
            };
            match strongest(watched, ghosts, &cluster, coming)
                .filter(|(_, call)| is_whole && self.yields(mine, call))
            {
                Some((member, call)) => {
                    let cause = HandoverCause::AuraCollision {
                        member,
                        aura: call.aura,
                    };
                    let leave = Leave::called(tick, call.owner, cause, call.key, mine);
                    departures.extend(self.depart(&leave, &cluster));
                }
                None => self.stay(tick, law, mine, &cluster, watched),
            }
        }
        let levels = match islands.is_empty() {
            true => Levels::new(),
            false => self.levels(),
        };
        for island in islands {
            departures.extend(self.go_home(tick, law, &island, &levels));
        }
        if !departures.is_empty() {
            watched.retain(|w| self.tracks.contains_key(&w.view.id));
        }
        departures
    }

    /// Foreign bodies that are about to meet one of ours whose rank is lower, and was told: they will come. Ascending.
    fn coming(&self, tick: Tick, watched: &[Watched]) -> Vec<BodyId> {
        let mut coming = Vec::new();
        // What is held waits no longer.
        let is_free = |w: &&Watched| w.is_due() && !self.holding.contains_key(&w.view.id);
        for w in watched.iter().filter(is_free) {
            let track = track_at(&self.tracks, w.track, w.view.id);
            let bound = track.and_then(|track| track.bound.as_ref());
            let told = bound.filter(|bound| bound.decided_until >= tick);
            if let Some((_, rank)) = told.and_then(|bound| bound.told) {
                let yielding = w
                    .due()
                    .filter(|call| (rank, self.me) < (call.key, call.owner));
                coming.extend(yielding.map(|call| call.aura));
            }
        }
        coming.sort_unstable();
        coming
    }

    fn clusters(
        &self,
        law: &PromiseLaw,
        starts: &[BodyId],
        ghosts: &[BodyView],
        bodies: &impl Bodies,
        search: &Search<'_>,
    ) -> Vec<Found> {
        if starts.is_empty() {
            return Vec::new();
        }
        let half = |view: &BodyView| law.half_m(view);
        let belong = |a: &BodyView, b: &BodyView, slack_m: f64| {
            let (a, b) = (law.course(a), law.course(b));
            a.meets(&b, &law.soon_together(slack_m))
        };
        // In single and in double precision lengths are not quite the same.
        let farthest_half = |fast: &FastBody| law.half_of(fast.surge, self.config.gravity) + 0.01;
        let fast = self.fast(law, bodies);
        let far = fast.iter().map(|fast| (*fast, farthest_half(fast)));
        let mut joined = Joined::new(bodies, ghosts, far, &half, &belong);
        let clusters = starts
            .iter()
            .map(|start| joined.take(*start, search.slack_m, (search.limit)(*start), search.fit));
        clusters.filter(|found| !found.members.is_empty()).collect()
    }

    /// The rank of a cluster: the more there is to move, and the less there is to do here, the lower; then what is at
    /// home; then what has been told of for longest.
    pub(super) fn rank_of(&self, tick: Tick, cluster: &[BodyView]) -> ClusterKey {
        let is_away = destination(cluster, &self.map) != self.me;
        let class = self.load.class(cluster.len(), is_away);
        let ranks = cluster.iter().map(|view| {
            let track = self.tracks.get(&view.id);
            let ghost = self.nursery.get(&view.id);
            let since = track.and_then(|track| track.since);
            let since = since.or(ghost.map(|ghost| ghost.first)).unwrap_or(tick);
            let own = ClusterKey {
                class,
                since,
                body: view.id,
            };
            let bound = track.and_then(|track| track.bound.as_ref());
            let decided = bound.filter(|bound| bound.decided_until >= tick);
            let decided = decided.and_then(|_| track.and_then(|track| track.key));
            // What others have heard last is what they compare with: a rank is never above that.
            let heard = bound.and_then(|bound| bound.told).map(|(_, key)| key);
            let heard = heard.filter(|key| key.class != LEAVING);
            let ranks = [decided, heard, ghost.and_then(|ghost| ghost.rank)];
            ranks.into_iter().flatten().fold(own, ClusterKey::min)
        });
        ranks.min().expect("a cluster has members")
    }

    fn yields(&self, mine: ClusterKey, call: &Touched) -> bool {
        call.owner != self.me && (call.key, call.owner) < (mine, self.me)
    }

    /// The cluster stays: those in question are told of, with its rank, for as long as they are, and a little longer.
    fn stay(
        &mut self,
        tick: Tick,
        law: &PromiseLaw,
        rank: ClusterKey,
        cluster: &[BodyView],
        watched: &mut [Watched],
    ) {
        for view in cluster {
            if let Some(ghost) = self.nursery.get_mut(&view.id) {
                ghost.rank = Some(rank);
            }
            let place = watched.binary_search_by_key(&view.id, |w| w.view.id);
            let Some(in_question) = place.ok().map(|place| &mut watched[place]) else {
                continue;
            };
            if let Some((_, track)) = track_mut(&mut self.tracks, in_question.track, view.id) {
                track.key = Some(rank);
            }
            if !in_question.touched.is_empty() {
                self.go_on_telling(tick, law, in_question);
            }
        }
    }

    /// Is there nothing to decide, or was it decided before that this one stays? Ranks only fall, so nobody need ask
    /// again.
    fn is_settled(&self, tick: Tick, watched: &Watched) -> bool {
        if !watched.is_due() {
            return true;
        }
        let track = track_at(&self.tracks, watched.track, watched.view.id);
        let was_decided = |track: &&Track| {
            let bound = track.bound.as_ref();
            bound.is_some_and(|bound| bound.decided_until >= tick)
        };
        let rank = track.filter(was_decided).and_then(|track| track.key);
        rank.is_some_and(|rank| watched.due().all(|call| !self.yields(rank, call)))
    }

    /// A body as it may be while its next promise lasts.
    pub(super) fn as_expected(&self, law: &PromiseLaw, view: &BodyView) -> BodyView {
        match self.holding.contains_key(&view.id) {
            true => law.expecting_anything(view),
            false => *view,
        }
    }

    /// We have started again: where everybody is now is where they were; and nobody else knows of them any more, so they stay at home
    /// until they do.
    pub fn resume(&mut self, tick: Tick, bodies: &impl Bodies) {
        let Some(law) = self.law else {
            return;
        };
        let mut near = Vec::new();
        bodies.not_within(&self.home().grown(-law.strip_m()), &mut near);
        near.extend(self.bound.iter().filter_map(|id| bodies.view(*id)));
        self.entered
            .extend(near.iter().map(|view| (view.id, Place::of(view))));
        self.list = Watchlist::default();
        for track in self.tracks.values_mut() {
            if let Some(bound) = &mut track.bound {
                bound.may_leave = tick + law.notice_ticks();
            }
        }
    }

    /// What a body that is new here has promised, as far as anybody knows.
    pub(super) fn bind_newborn(
        &mut self,
        tick: Tick,
        track: &mut Track,
        view: &BodyView,
        ghost: Option<&Ghost>,
    ) {
        let Some(law) = self.law else {
            return;
        };
        self.entered.insert(view.id, Place::of(view));
        // Those who were announced, and those who lie across a border at the start, are known there.
        if ghost.is_some() || !self.map.rect(self.me).contains(&view.ground) {
            let bound = track.bound.get_or_insert_default();
            bound.promise(tick, law.notice_ticks(), law.promise(tick, view));
            bound.may_leave = tick;
            self.bound.insert(view.id);
        }
    }
}

fn touched_by(
    index: &AuraIndex,
    law: &PromiseLaw,
    view: &BodyView,
    next: &Bond,
    tick: Tick,
) -> SmallVec<[Touched; 2]> {
    let mut touched = SmallVec::new();
    let reach = PromiseLaw::relied_m(next, tick);
    let line = Capsule {
        centre: next.centre,
        spine: next.spine.as_dvec3(),
        girth: view.girth,
    };
    let radius = line.bounding_radius() + reach;
    index.for_each_within(
        next.centre,
        radius,
        &mut |aura, remote, depth_of_spheres| {
            if aura == view.id {
                return;
            }
            let distance = remote.centre.distance(next.centre);
            let their_reach = depth_of_spheres + distance - radius - remote.bounding_radius();
            let depth_m = reach + their_reach - line.gap_m(&remote.capsule());
            if depth_m >= 0.0 {
                let course = law.course_of(remote, tick);
                let meets = |other| law.course(view).meets(&other, &law.soon());
                touched.push(Touched {
                    aura,
                    owner: remote.owner,
                    key: remote.key,
                    depth_m,
                    is_due: course.is_none_or(meets),
                });
            }
        },
    );
    touched
}

/// The strongest of all that is in a cluster's way, and in whose.
fn strongest(
    watched: &[Watched],
    ghosts: &[Watched],
    cluster: &[BodyView],
    coming: &[BodyId],
) -> Option<(BodyId, Touched)> {
    let members = cluster
        .iter()
        .filter_map(|view| find(watched, ghosts, view.id));
    let calls = members.flat_map(|w| w.due().map(|call| (w.view.id, *call)));
    let calls = calls.filter(|(_, call)| coming.binary_search(&call.aura).is_err());
    calls.reduce(|best, call| match call.1.is_stronger_than(&best.1) {
        true => call,
        false => best,
    })
}

/// Both lists are in the order of ids.
fn find<'a>(watched: &'a [Watched], ghosts: &'a [Watched], id: BodyId) -> Option<&'a Watched> {
    let in_list = |list: &'a [Watched]| {
        let place = list.binary_search_by_key(&id, |w| w.view.id);
        place.ok().map(|place| &list[place])
    };
    in_list(watched).or_else(|| in_list(ghosts))
}
