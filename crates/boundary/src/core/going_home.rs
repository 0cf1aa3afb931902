//! Guests: bodies that were called over, and when they go home again (BT of size `adaptive`).

use super::adaptive::Watched;
use super::departing::Leave;
use super::{Boundary, Departure, ISLAND_TEST_TICKS};
use crate::boundary_traversal::destination;
use crate::joined::Found;
use crate::load::level_in;
use crate::meeting::Outlook;
use crate::promise::PromiseLaw;
use crate::view::BodyView;
use domain::{BodyId, RegionId, Tick};
use smallvec::SmallVec;
use wire::HandoverCause;

/// A body that was called over goes home only when nothing has been in its way for this long: what has just passed it
/// by is often on its way back, and it would be called over again.
const GUEST_TICKS: u64 = 60;

/// A guest that is farther from its owner's region than this goes home, however busy the region there is.
const GUEST_DEPTH_M: f64 = 8.0;

/// Owners, when they were last heard, and how busy they were.
pub(super) type Levels = SmallVec<[(RegionId, Tick, u16); 8]>;

impl Boundary {
    /// Bodies wholly outside that nothing foreign has been in the way of for a while.
    pub(super) fn strays(&self, tick: Tick, watched: &[Watched]) -> Vec<BodyId> {
        if !tick.0.is_multiple_of(ISLAND_TEST_TICKS) {
            return Vec::new();
        }
        let home = self.home();
        let outside = |w: &&Watched| {
            !w.is_due() && !home.touches(&w.view.ground) && self.has_stayed(tick, w.view.id)
        };
        watched.iter().filter(outside).map(|w| w.view.id).collect()
    }

    /// BT: an island goes to the region it is in.
    pub(super) fn go_home(
        &mut self,
        tick: Tick,
        law: &PromiseLaw,
        found: &Found,
        levels: &Levels,
    ) -> Option<Departure> {
        let island = &found.members[..];
        if !found.is_whole {
            self.stay_on(island);
            return None;
        }
        let home = self.home();
        let to = destination(island, &self.map);
        let is_free = |view: &BodyView| {
            !home.touches(&view.ground)
                && self.has_stayed(tick, view.id)
                && !self.meets_before_long(tick, law, view, to)
        };
        if !island.iter().all(is_free) {
            self.stay_on(island);
            return None;
        }
        // Who has said goodbye leaves, even if it is busier there now: words go to and fro otherwise.
        let is_leaving = |view: &BodyView| self.leaves_at(view.id).is_some();
        if !island.iter().all(is_leaving) && self.is_better_off_here(island, to, levels) {
            self.stay_on(island);
            return None;
        }
        if !self.have_said_goodbye(tick, law, island) {
            return None;
        }
        let rank = self.rank_of(tick, island);
        let leave = Leave::ranked(tick, to, HandoverCause::BoundaryTraversal, rank);
        self.depart(&leave, island)
    }

    /// Something has come because of this body of ours: that one does not go away before the two have met or parted.
    pub(super) fn expect_guest(&mut self, tick: Tick, host: BodyId) {
        let Some(law) = self.law else {
            return;
        };
        let bound = self.tracks.get_mut(&host).and_then(|t| t.bound.as_mut());
        if let Some(bound) = bound {
            bound.decided_until = bound.decided_until.max(tick + law.notice_ticks() + 2);
            bound.leaves_at = None;
        }
    }

    /// They do not leave yet, after all.
    fn stay_on(&mut self, island: &[BodyView]) {
        for view in island {
            if let Some(bound) = self.tracks.get_mut(&view.id).and_then(|t| t.bound.as_mut()) {
                bound.leaves_at = None;
            }
        }
    }

    /// Nothing foreign has been in its way for a while.
    pub(super) fn has_stayed(&self, tick: Tick, id: BodyId) -> bool {
        match self.tracks.get(&id) {
            Some(track) => {
                let bound = track.bound.as_ref();
                bound.is_none_or(|bound| bound.decided_until + GUEST_TICKS < tick)
            }
            None => self.nursery.contains_key(&id),
        }
    }

    fn leaves_at(&self, id: BodyId) -> Option<Tick> {
        let bound = self.tracks.get(&id).and_then(|track| track.bound.as_ref());
        bound.and_then(|bound| bound.leaves_at)
    }

    /// Have all been heard to leave? Those that have not said so do it now.
    fn have_said_goodbye(&mut self, tick: Tick, law: &PromiseLaw, island: &[BodyView]) -> bool {
        let mut all = true;
        for view in island {
            if let Some(bound) = self.tracks.get_mut(&view.id).and_then(|t| t.bound.as_mut()) {
                let leaves_at = bound.leaves_at.get_or_insert(tick + law.heard_ticks());
                all &= *leaves_at <= tick;
            }
        }
        all
    }

    /// Would it meet something foreign that does not rest beside it where it goes to?
    fn meets_before_long(
        &self,
        tick: Tick,
        law: &PromiseLaw,
        view: &BodyView,
        to: RegionId,
    ) -> bool {
        let (own, outlook) = (law.course(view), law.before_long());
        let beside = Outlook {
            slack_m: 0.0,
            ..outlook
        };
        let stride = own.way.length() + own.turn_m;
        let reach = stride * (outlook.ticks + outlook.lag) + own.room_m + outlook.slack_m;
        let mut meets = false;
        self.index
            .for_each_within(view.centre, view.radius + reach, &mut |id, aura, _| {
                let course = law.course_of(aura, tick);
                let outlook = if aura.owner == to { &beside } else { &outlook };
                meets |= id != view.id && course.is_none_or(|other| own.meets(&other, outlook));
            });
        meets
    }

    /// A guest stays near the border while the region that it is in has more to do than we have.
    fn is_better_off_here(&self, island: &[BodyView], there: RegionId, levels: &Levels) -> bool {
        let near = self.home().grown(GUEST_DEPTH_M);
        let is_near = |view: &BodyView| near.holds(view.centre.x, view.centre.z);
        let there = levels.iter().find(|(owner, ..)| *owner == there);
        let is_busier = there.is_some_and(|(_, _, level)| *level > self.load.level());
        is_busier && island.iter().all(is_near)
    }

    /// How busy others are, as far as their newest words tell. (What rests has nothing new to say.)
    pub(super) fn levels(&self) -> Levels {
        let mut levels = Levels::new();
        for (_, aura) in self.remote.iter().filter(|(_, aura)| aura.growth > 0.0) {
            let Some(level) = level_in(aura.key.class) else {
                continue;
            };
            let news = (aura.tick, level);
            match levels.iter_mut().find(|(owner, ..)| *owner == aura.owner) {
                Some((_, tick, level)) => (*tick, *level) = (*tick, *level).max(news),
                None => levels.push((aura.owner, news.0, news.1)),
            }
        }
        levels
    }
}
