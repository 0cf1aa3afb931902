//! OBC, OBU and OBE: an aura begins, is updated, and ends (thesis Algorithms 3, 4 and 5).
//!
//! A body may touch several trigger boundaries at once (a corner). A counter, here the list of boundaries, says when the
//! first is entered and the last is left. Leaving *outwards*, into the foreign region, ends nothing: the body goes
//! on projecting as long as it is wholly outside.

use crate::geometry::AuraGeometry;
use crate::lifecycle::LifeState;
use crate::view::BodyView;
use domain::{BodyId, Epoch, Rect, RegionId, Tick};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use wire::{AuraUpsert, Bond, ClusterKey};

/// A few regions. Kept within the track itself: every projecting body's is read at every tick, and memory that lies elsewhere
/// costs more than all the arithmetic.
pub type Regions = SmallVec<[RegionId; 4]>;

/// What a region remembers of all bodies it owns, in no particular order. A body's place in it is a good guess of
/// where it is in the next tick.
pub type Tracks = IndexMap<BodyId, Track, FxBuildHasher>;

/// A body's track, looked for first where it was before.
pub(crate) fn track_at(tracks: &Tracks, place: usize, id: BodyId) -> Option<&Track> {
    match tracks.get_index(place) {
        Some((it, track)) if *it == id => Some(track),
        _ => tracks.get(&id),
    }
}

/// As [`track_at`], with the place where it is.
pub(crate) fn track_mut(
    tracks: &mut Tracks,
    place: usize,
    id: BodyId,
) -> Option<(usize, &mut Track)> {
    let is_there = tracks.get_index(place).is_some_and(|(it, _)| *it == id);
    let place = match is_there {
        true => place,
        false => tracks.get_index_of(&id)?,
    };
    let (_, track) = tracks.get_index_mut(place)?;
    Some((place, track))
}

/// What a region remembers of each body it owns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// Its ownership.
    pub epoch: Epoch,
    /// Where it is in its life here.
    pub state: LifeState,
    /// The boundaries it is in, ascending: the thesis's counter is their number.
    pub boundaries: Regions,
    /// Since when it projects, here or before it came.
    pub since: Option<Tick>,
    /// Who knows its aura, ascending.
    pub audience: Regions,
    /// The audience was told that it sleeps.
    pub told_asleep: bool,
    /// Its cluster's rank, as the audience was told.
    pub key: Option<ClusterKey>,
    /// It was above the speed tolerance when last looked at.
    pub too_fast: bool,
    /// What it has promised, if anybody may rely on it (size `adaptive`). Most bodies are far from every border and
    /// have none.
    pub bound: Option<Box<Bound>>,
}

/// One stands, and two or three have been replaced a moment ago. Kept within what they belong to, for the same reason
/// as [`Regions`].
pub type Bonds = SmallVec<[Bond; 4]>;

/// What a body of size `adaptive` has promised, and to whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// What it is held to, oldest first. The last one stands, unless it has an end; those before it have been replaced.
    pub bonds: Bonds,
    /// From this tick on it may leave its home; before, neighbours may not have heard of it.
    pub may_leave: Tick,
    /// It goes on projecting up to this tick, wherever it is.
    pub lingers_until: Tick,
    /// Up to this tick somebody may wait for it to move or to stay: its rank does not rise.
    pub decided_until: Tick,
    /// A guest that nothing is in the way of goes home at this tick. It has said so by its rank, so that nobody is called
    /// to where it leaves.
    pub leaves_at: Option<Tick>,
    /// What its audience was told last.
    pub told: Option<(Bond, ClusterKey)>,
}

impl Default for Bound {
    /// Nobody knows of it: it stays at home.
    fn default() -> Self {
        Self {
            bonds: Bonds::new(),
            may_leave: Tick(u64::MAX),
            lingers_until: Tick::ZERO,
            decided_until: Tick::ZERO,
            leaves_at: None,
            told: None,
        }
    }
}

impl Bound {
    /// What stands: others may rely on it until they hear otherwise.
    pub fn standing(&self) -> Option<&Bond> {
        self.bonds.last().filter(|bond| bond.until.is_none())
    }

    /// Gives another promise; the one that stood is kept for `notice_ticks` more. Promises whose time is over go.
    pub fn promise(&mut self, tick: Tick, notice_ticks: u64, next: Bond) {
        self.forget_over(tick);
        if let Some(standing) = self.bonds.last_mut() {
            if *standing == next {
                return;
            }
            standing.until.get_or_insert(tick + notice_ticks);
        }
        self.bonds.push(next);
    }

    /// Nobody may rely any more on what ended before this tick.
    pub fn forget_over(&mut self, tick: Tick) {
        self.bonds
            .retain(|bond| bond.until.is_none_or(|until| until >= tick));
    }
}

impl Track {
    /// A body that has just been created here.
    pub fn new(epoch: Epoch, state: LifeState, since: Option<Tick>) -> Self {
        Self {
            epoch,
            state,
            boundaries: Regions::new(),
            since,
            audience: Regions::new(),
            told_asleep: false,
            key: None,
            too_fast: false,
            bound: None,
        }
    }

    /// Is the region among those who were told of its aura?
    pub fn is_known_to(&self, region: RegionId) -> bool {
        self.audience.binary_search(&region).is_ok()
    }
}

/// **OBC**: the body has entered the trigger boundary towards `boundary`. The first one creates the host aura.
pub fn object_boundary_create(track: &mut Track, boundary: RegionId, tick: Tick) {
    if let Err(place) = track.boundaries.binary_search(&boundary) {
        track.boundaries.insert(place, boundary);
        track.since.get_or_insert(tick);
    }
}

/// **OBE**: the body has left the trigger boundary towards `boundary`. Says whether that was the last one.
pub fn object_boundary_exit(track: &mut Track, boundary: RegionId) -> bool {
    track.boundaries.retain(|other| *other != boundary);
    track.boundaries.is_empty()
}

/// **OBU**: what to tell of a projecting body after a step, and whether all must hear it or only who is new. A sleeping
/// body has nothing to say to those who know that it sleeps (AP-7).
pub fn object_boundary_update(
    body: BodyId,
    track: &Track,
    view: &BodyView,
    tick: Tick,
    geometry: &AuraGeometry,
) -> (AuraUpsert, bool) {
    let (reach, growth) = if view.asleep {
        (geometry.resting_reach_m(), 0.0)
    } else {
        (geometry.reach_m, geometry.growth_m)
    };
    let own_key = ClusterKey {
        class: 0,
        since: track.since.unwrap_or(tick),
        body,
    };
    let upsert = AuraUpsert {
        body,
        epoch: track.epoch,
        tick,
        centre: view.centre,
        radius: view.radius as f32,
        spine: glam::Vec3::ZERO,
        reach: reach as f32,
        growth: growth as f32,
        key: track.key.unwrap_or(own_key),
    };
    (upsert, !(view.asleep && track.told_asleep))
}

/// The boundaries whose trigger volume the body's true shape touches: those of neighbours not farther than
/// `depth_m` from its shadow (AP-5).
pub fn touched_boundaries(
    ground: &Rect,
    depth_m: f64,
    neighbours: impl Iterator<Item = (RegionId, Rect)>,
) -> impl Iterator<Item = RegionId> {
    let reach = ground.grown(depth_m);
    neighbours
        .filter(move |(_, rect)| rect.touches(&reach))
        .map(|(region, _)| region)
}

/// The state that belongs to a place: outside, at a boundary, or inside.
pub fn state_at(ground: &Rect, home: &Rect, boundaries: &[RegionId]) -> LifeState {
    if !home.touches(ground) {
        LifeState::BoundaryTraversed
    } else if boundaries.is_empty() {
        LifeState::HostRegion
    } else {
        LifeState::IntersectingBoundary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ball, safe};

    fn track() -> Track {
        Track::new(Epoch(3), LifeState::HostRegion, None)
    }

    /// AP-6, AP-18 (OBC, OBE): the first boundary creates the aura, the last one ends it.
    #[test]
    fn the_counter_handles_a_corner() {
        let mut track = track();
        object_boundary_create(&mut track, RegionId(2), Tick(5));
        object_boundary_create(&mut track, RegionId(1), Tick(6));
        object_boundary_create(&mut track, RegionId(1), Tick(7));
        assert_eq!(track.boundaries[..], [RegionId(1), RegionId(2)]);
        assert_eq!(track.since, Some(Tick(5)));
        assert!(!object_boundary_exit(&mut track, RegionId(2)));
        assert!(object_boundary_exit(&mut track, RegionId(1)));
    }

    /// AP-6, AP-7, AP-8 (OBU): id, place and radius; nothing new about a sleeper.
    #[test]
    fn a_sleeper_speaks_once() {
        let geometry = AuraGeometry::of(&safe());
        let mut track = track();
        let mut view = ball(7, 1.0, 0.0, 0.5);
        let (awake, to_all) = object_boundary_update(BodyId(7), &track, &view, Tick(9), &geometry);
        assert!(to_all);
        assert_eq!((awake.body, awake.epoch), (BodyId(7), Epoch(3)));
        assert_eq!((awake.centre.x, awake.radius), (1.0, 0.5));
        view.asleep = true;
        let (asleep, to_all) =
            object_boundary_update(BodyId(7), &track, &view, Tick(10), &geometry);
        assert!(to_all, "they must hear that it sleeps");
        assert_eq!(asleep.growth, 0.0);
        assert!(asleep.reach > awake.reach);
        track.told_asleep = true;
        assert!(!object_boundary_update(BodyId(7), &track, &view, Tick(11), &geometry).1);
    }

    /// AP-5: depth `x` on the inner side, and the true shape rather than its bounding sphere.
    #[test]
    fn entry_is_by_true_shape() {
        let neighbour = Rect {
            min: [10.0, f64::NEG_INFINITY],
            max: [f64::INFINITY, f64::INFINITY],
        };
        // A plank along the border: 0.2 m thick, 8 m long, bounding radius 4 m.
        let mut plank = ball(1, 6.0, 0.0, 4.0);
        plank.ground = Rect {
            min: [5.9, -4.0],
            max: [6.1, 4.0],
        };
        let touched = |depth| {
            touched_boundaries(&plank.ground, depth, [(RegionId(1), neighbour)].into_iter())
        };
        assert_eq!(touched(3.8).next(), None);
        assert!(touched(4.0).eq([RegionId(1)]));
    }

    #[test]
    fn states_follow_places() {
        let home = Rect {
            min: [f64::NEG_INFINITY; 2],
            max: [0.0, f64::INFINITY],
        };
        let state = |x: f64, boundaries: &[RegionId]| {
            state_at(&ball(1, x, 0.0, 0.5).ground, &home, boundaries)
        };
        assert_eq!(state(-9.0, &[]), LifeState::HostRegion);
        assert_eq!(state(-1.0, &[RegionId(1)]), LifeState::IntersectingBoundary);
        assert_eq!(state(0.4, &[RegionId(1)]), LifeState::IntersectingBoundary);
        assert_eq!(state(0.6, &[RegionId(1)]), LifeState::BoundaryTraversed);
    }
}
