//! Spawns near a border: announced, told of, born (see [`crate::nursery`]).

use super::Boundary;
use super::projecting::{boundaries_near, remember, tell};
use crate::aura_index::AuraIndex;
use crate::config::Policy;
use crate::lifecycle::LifeState;
use crate::nursery::{Ghost, live_view_of, view_of};
use crate::projection::{Regions, Track, object_boundary_update};
use crate::promise::PromiseLaw;
use crate::remote_auras::RemoteAura;
use crate::view::BodyView;
use domain::{Body, BodyId, Epoch, Rect, Tick};

impl Boundary {
    /// A body is to be born here. Says whether at once; if not, it is announced and comes out of [`Self::take_births`].
    pub fn announce(&mut self, tick: Tick, body: &Body) -> bool {
        if self.config.policy != Policy::Aura || self.map.len() == 1 {
            return true;
        }
        if !self.is_near_others(tick, body) {
            return true;
        }
        let ghost = Ghost {
            body: body.clone(),
            since: tick,
            first: tick,
            epoch: Epoch(0),
            audience: Regions::new(),
            rank: None,
        };
        self.ledger.learn(body.id, ghost.epoch, self.me);
        self.nursery.insert(body.id, ghost);
        false
    }

    /// Must others hear of this body before it is born?
    fn is_near_others(&self, tick: Tick, body: &Body) -> bool {
        if let Some(law) = &self.law {
            let view = live_view_of(body, self.config.gravity);
            return !self.home().contains(&law.lead(&view, false))
                || self.is_in_the_way(tick, law, &view);
        }
        let view = view_of(body);
        let mut near = boundaries_near(&view, &self.neighbours, &self.geometry);
        near.next().is_some() || !self.home().contains(&view.ground) || self.is_touched(&view, tick)
    }

    /// Does what this body would promise meet what foreign ones have?
    fn is_in_the_way(&self, tick: Tick, law: &PromiseLaw, view: &BodyView) -> bool {
        let next = law.promise(tick, view);
        let reach = PromiseLaw::relied_m(&next, tick);
        let meets = |(body, aura): (BodyId, &RemoteAura)| {
            let gap = view.capsule().gap_m(&aura.capsule());
            body != view.id && gap <= reach + aura.reach_at(&self.geometry, tick)
        };
        self.remote.iter().any(meets) || self.is_awaited_near(view)
    }

    /// Can no foreign body be where this one would be born? However long it has waited, it is not born onto one.
    fn is_room_for(&self, tick: Tick, law: &PromiseLaw, view: &BodyView) -> bool {
        let is_clear = |(body, aura): (BodyId, &RemoteAura)| {
            let kept = law.kept_of(aura.reach, aura.growth, tick.since(aura.tick));
            body == view.id || view.capsule().gap_m(&aura.capsule()) > kept
        };
        self.remote.iter().all(is_clear) && !self.is_awaited_near(view)
    }

    /// Announced spawns whose time has come; the region creates them and calls [`Self::adopt`].
    pub fn take_births(&mut self, tick: Tick) -> Vec<Body> {
        if self.nursery.is_empty() {
            return Vec::new();
        }
        if let Some(law) = &self.law {
            let wait = self.geometry.announce_ticks;
            let due = self.nursery.values().filter(|ghost| {
                let view = ghost.live_view(self.config.gravity);
                ghost.is_announced(tick, wait)
                    && (!self.is_in_the_way(tick, law, &view)
                        || ghost.is_tired(tick, wait) && self.is_room_for(tick, law, &view))
            });
            return due.map(|ghost| ghost.body.clone()).collect();
        }
        let index = AuraIndex::build(&self.remote, &self.geometry, tick, &Rect::EVERYWHERE);
        self.nursery
            .values()
            .filter(|ghost| {
                let view = ghost.view();
                let mut called = self.is_awaited_near(&view);
                index.for_each_touched(&view, |_, _, _| called = true);
                ghost.is_due(tick, self.geometry.announce_ticks, called)
            })
            .map(|ghost| ghost.body.clone())
            .collect()
    }

    pub(super) fn update_ghost_auras(&mut self, tick: Tick) {
        let mut audience = Vec::new();
        for ghost in self.nursery.values_mut() {
            let view = ghost.view();
            self.introductions
                .audience(self.me, &self.map, &view, &self.geometry, &mut audience);
            let mut track = Track::new(ghost.epoch, LifeState::Injected, Some(ghost.first));
            track.key = Some(ghost.key());
            let (upsert, to_all) =
                object_boundary_update(view.id, &track, &view, tick, &self.geometry);
            tell(
                &mut self.buffers,
                &self.forgetful,
                &upsert,
                &audience,
                &ghost.audience,
                to_all,
            );
            remember(&mut ghost.audience, &audience);
        }
    }

    /// Is something foreign so near that it must hear of a birth here first?
    fn is_touched(&self, view: &BodyView, tick: Tick) -> bool {
        let touches = |aura: &RemoteAura| aura.depth(view, &self.geometry, tick).is_some();
        self.remote.iter().any(|(_, aura)| touches(aura)) || self.is_awaited_near(view)
    }

    /// Has something been handed over to us that will enter near this body at its tick? Its aura is gone already, and it is not in
    /// the world yet.
    fn is_awaited_near(&self, view: &BodyView) -> bool {
        let waiting = self.arrivals.iter().map(|arrival| &arrival.offer.cluster);
        waiting
            .flat_map(|cluster| &cluster.bodies)
            .map(view_of)
            .any(|body| view.gap_m(&body) <= self.geometry.link_m)
    }
}
