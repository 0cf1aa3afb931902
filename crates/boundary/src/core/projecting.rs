//! Who projects, with which rank, and what is told of it (OBC, OBE, OBU).

use super::Boundary;
use crate::buffers::Buffers;
use crate::cluster::ClusterFinder;
use crate::geometry::AuraGeometry;
use crate::lifecycle::LifeState;
use crate::projection::{
    Regions, Track, object_boundary_create, object_boundary_exit, object_boundary_update, state_at,
    touched_boundaries,
};
use crate::view::{Bodies, BodyView};
use domain::{BodyId, Rect, RegionId, Tick};
use std::collections::BTreeSet;
use wire::{AuraDelete, AuraUpsert, ClusterKey};

/// A body that projects in this tick.
pub(super) struct Projector {
    pub(super) view: BodyView,
    /// Its rank in the tie-break: that of its cluster.
    pub(super) key: ClusterKey,
}

impl Boundary {
    /// Which bodies have entered or left a trigger boundary (OBC, OBE), and their states. Returns those that project, ascending.
    pub(super) fn classify(&mut self, tick: Tick, bodies: &impl Bodies) -> Vec<Projector> {
        let home = self.home();
        let near = self.near(&home, bodies);
        let mut projecting = Vec::with_capacity(near.len());
        for view in near {
            let Some(track) = self.tracks.get_mut(&view.id) else {
                continue;
            };
            self.watch
                .speed(view.speed(), &mut track.too_fast, &self.config.tolerances);
            let mut state = state_at(&view.ground, &home, &track.boundaries);
            let mut since = track.since;
            let is_where_it_was = state == track.state
                && boundaries_near(&view, &self.neighbours, &self.geometry)
                    .eq(track.boundaries.iter().copied());
            if !is_where_it_was {
                (state, since) = self.place(tick, &view);
            }
            if state.projects() {
                let since = since.unwrap_or(tick);
                let body = view.id;
                let key = ClusterKey {
                    class: 0,
                    since,
                    body,
                };
                projecting.push(Projector { view, key });
            }
        }
        projecting
    }

    /// Everything in a trigger boundary or beyond, everything that has projected until now, and everything new; ascending.
    fn near(&mut self, home: &Rect, bodies: &impl Bodies) -> Vec<BodyView> {
        let mut near = Vec::with_capacity(2 * self.projecting.len() + self.fresh.len());
        bodies.not_within(&home.grown(-self.geometry.trigger_depth_m), &mut near);
        near.sort_unstable_by_key(|view| view.id);
        near.dedup_by_key(|view| view.id);
        let found = near.len();
        for id in self.fresh.drain(..).chain(self.projecting.iter().copied()) {
            if near[..found]
                .binary_search_by_key(&id, |view| view.id)
                .is_err()
            {
                near.extend(bodies.view(id));
            }
        }
        if near.len() > found {
            near.sort_unstable_by_key(|view| view.id);
            near.dedup_by_key(|view| view.id);
        }
        near
    }

    /// Writes into a body's track where it is now; returns the state that belongs to the place, and since when it projects.
    fn place(&mut self, tick: Tick, view: &BodyView) -> (LifeState, Option<Tick>) {
        let mut track = self
            .tracks
            .swap_remove(&view.id)
            .expect("only bodies with a track are placed");
        let touched: Vec<_> = boundaries_near(view, &self.neighbours, &self.geometry).collect();
        let left: Vec<_> = track
            .boundaries
            .iter()
            .copied()
            .filter(|boundary| !touched.contains(boundary))
            .collect();
        for boundary in left {
            object_boundary_exit(&mut track, boundary);
        }
        for boundary in &touched {
            object_boundary_create(&mut track, *boundary, tick);
        }
        let state = state_at(&view.ground, &self.home(), &track.boundaries);
        self.change_state(&mut track, view.id, state, tick);
        if state.projects() {
            track.since.get_or_insert(tick);
            self.projecting.insert(view.id);
        } else {
            self.projecting.remove(&view.id);
            self.withdraw(view.id, track.epoch, &track.audience, tick, None);
            track = Track {
                too_fast: track.too_fast,
                ..Track::new(track.epoch, state, None)
            };
        }
        let since = track.since;
        self.tracks.insert(view.id, track);
        (state, since)
    }

    /// OBU for everyone who still projects; announced spawns speak every tick.
    pub(super) fn update_auras(&mut self, tick: Tick, projecting: &[Projector]) {
        let mut audience = self.map.neighbours(self.me).to_vec();
        for Projector { view, key } in projecting {
            // Those who have left have no track any more.
            let Some(track) = self.tracks.get_mut(&view.id) else {
                continue;
            };
            track.key = Some(*key);
            if !self.all_neighbours {
                self.introductions.audience(
                    self.me,
                    &self.map,
                    view,
                    &self.geometry,
                    &mut audience,
                );
            }
            let (upsert, to_all) =
                object_boundary_update(view.id, track, view, tick, &self.geometry);
            tell(
                &mut self.buffers,
                &self.forgetful,
                &upsert,
                &audience,
                &track.audience,
                to_all,
            );
            remember(&mut track.audience, &audience);
            track.told_asleep = view.asleep;
        }
        self.update_ghost_auras(tick);
        self.forgetful.clear();
    }

    /// Each projecting body's rank in the tie-break becomes the lowest of its cluster. The search is over projecting bodies
    /// only, so that it costs what the boundary costs.
    pub(super) fn rank(&self, projecting: &mut [Projector], bodies: &impl Bodies) {
        let assembly = |id: BodyId, out: &mut Vec<BodyId>| bodies.assembly(id, out);
        let views = projecting.iter().map(|projector| projector.view).collect();
        ClusterFinder::new(views, self.geometry.link_m, &assembly).take_all(|cluster| {
            let keys = cluster
                .iter()
                .map(|number| projecting[*number as usize].key);
            let Some(lowest) = keys.min() else { return };
            for number in cluster {
                projecting[*number as usize].key = lowest;
            }
        });
    }
}

/// The boundaries whose trigger volume the body touches, ascending.
pub(super) fn boundaries_near(
    view: &BodyView,
    neighbours: &[(RegionId, Rect)],
    geometry: &AuraGeometry,
) -> impl Iterator<Item = RegionId> {
    touched_boundaries(
        &view.ground,
        geometry.trigger_depth_m,
        neighbours.iter().copied(),
    )
}

pub(super) fn remember(known: &mut Regions, audience: &[RegionId]) {
    if known[..] != *audience {
        *known = Regions::from_slice(audience);
    }
}

/// Tells the audience of an aura, and those who were in it `before` and are not any more that it is gone.
pub(super) fn tell(
    buffers: &mut Buffers,
    forgetful: &BTreeSet<RegionId>,
    upsert: &AuraUpsert,
    audience: &[RegionId],
    before: &[RegionId],
    to_all: bool,
) {
    for region in audience {
        let knows = || before.binary_search(region).is_ok() && !forgetful.contains(region);
        if to_all || !knows() {
            buffers.upsert(*region, *upsert);
        }
    }
    if audience == before {
        return;
    }
    for region in before
        .iter()
        .filter(|region| audience.binary_search(region).is_err())
    {
        let delete = AuraDelete {
            body: upsert.body,
            epoch: upsert.epoch,
            tick: upsert.tick,
            moved_to: None,
        };
        buffers.delete(*region, delete);
    }
}
