//! Who must hear of an aura: all neighbours, and whoever else has bodies at the place.
//!
//! The thesis sends every aura to all neighbours, corners included, and assumes that regions are so large that bodies of
//! servers that are no neighbours never come near each other. A long pile breaks that: its owner may be two regions away.
//! Our cure needs no third hop. Each region knows the auras that reach into its space; it is the natural meeting point.
//! If two of its visitors are no neighbours, it introduces them, and each then tells the other directly of its bodies
//! *there*. The introduction takes two hops and the fetch two more; a body counts as visiting 4h + 2 steps before it
//! arrives, so the introduction is over before the bodies meet. Without strays nobody but neighbours exchanges a word.
//!
//! With size `adaptive` not even all neighbours hear of a body, only those who are near it: see [`Acquaintance::Near`].

use crate::aura_index::AuraIndex;
use crate::geometry::AuraGeometry;
use crate::remote_auras::RemoteAuras;
use crate::view::BodyView;
use domain::{Rect, RegionId, RegionMap};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use wire::{MAX_COORDINATE_M, Visitor};

/// Who hears of each other's bodies without being introduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquaintance {
    /// All neighbours do.
    Neighbours,
    /// Whoever is near a body hears of it (size `adaptive`). Two bodies that can meet at a place near to the region of either's owner are
    /// known there; only strays need a host.
    Near,
}

/// What lies around a region's bodies.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The region.
    pub me: RegionId,
    /// All regions.
    pub map: &'a RegionMap,
    /// The lengths in force.
    pub geometry: &'a AuraGeometry,
    /// Foreign bodies.
    pub foreign: &'a AuraIndex,
}

/// Who is visiting where, as far as this region knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Introductions {
    /// Regions with bodies in or near mine.
    visitors: BTreeSet<RegionId>,
    /// What I have told each visitor.
    told: BTreeMap<RegionId, Vec<Visitor>>,
    /// What I was told: at this place there are these.
    heard: BTreeMap<RegionId, Vec<Visitor>>,
}

impl Introductions {
    /// Another region has told me who else is visiting it.
    pub fn hear(&mut self, place: RegionId, visitors: Vec<Visitor>) {
        self.heard.insert(place, visitors);
    }

    /// A region has restarted: it does not remember what I told it.
    pub fn forget(&mut self, region: RegionId) {
        self.told.remove(&region);
        self.heard.remove(&region);
    }

    /// Looks who is visiting me now; returns what must be said to whom. Those far apart have nothing to say to each other,
    /// nor have those who are acquainted.
    pub fn host(
        &mut self,
        me: RegionId,
        map: &RegionMap,
        remote: &RemoteAuras,
        geometry: &AuraGeometry,
        acquaintance: Acquaintance,
    ) -> Vec<(RegionId, Vec<Visitor>)> {
        // What is on its way to me is no visitor.
        let visits: Vec<Visit> = visits(me, map, remote, geometry, acquaintance).collect();
        let stays = stays(&visits);
        if stays.len() < 2 && self.told.is_empty() {
            // Nobody to introduce to each other.
            self.remember_visitors(&stays);
            return Vec::new();
        }
        let acquainted = |a, b| match acquaintance {
            Acquaintance::Neighbours => map.are_neighbours(a, b),
            Acquaintance::Near => false,
        };
        self.remember_visitors(&stays);
        let cell_m = cell_m(remote, geometry);
        let may_meet = |(a, near_a): &(RegionId, Rect), (b, near_b): &(RegionId, Rect)| {
            !acquainted(*a, *b) && near_a.grown(2.0 * cell_m).touches(near_b)
        };
        let others = |i: usize| stays[i + 1..].iter();
        let mut pairs = (0..stays.len()).flat_map(|i| others(i).map(move |other| (i, other)));
        let strangers_meet = pairs.any(|(i, other)| may_meet(&stays[i], other));
        if !strangers_meet && self.told.is_empty() {
            return Vec::new();
        }
        let places = places(&visits, cell_m);
        let everyone: BTreeSet<RegionId> = self
            .visitors
            .iter()
            .chain(self.told.keys())
            .copied()
            .collect();
        let mut news = Vec::new();
        for visitor in everyone {
            let before = self.told.get(&visitor).map_or(&[][..], Vec::as_slice);
            let others: Vec<Visitor> = stays
                .iter()
                .filter(|(other, _)| *other != visitor && !acquainted(visitor, *other))
                .filter(|(other, _)| are_near(&places, visitor, *other))
                .map(|(other, stay)| {
                    let told = before.iter().find(|told| told.region == *other);
                    let place = place_of(stay, cell_m, told.map(|told| &told.place));
                    let region = *other;
                    Visitor { region, place }
                })
                .collect();
            if before != others {
                news.push((visitor, others.clone()));
                self.told.insert(visitor, others);
            }
        }
        self.told.retain(|_, others| !others.is_empty());
        news
    }

    fn remember_visitors(&mut self, stays: &Stays) {
        let visitors = || stays.iter().map(|(visitor, _)| *visitor);
        if !self.visitors.iter().copied().eq(visitors()) {
            self.visitors = visitors().collect();
        }
    }

    /// Size `adaptive`: everyone so near that the body, or one that it may meet, could soon be there, ascending, without me;
    /// `audience` is cleared first. The owners of foreign bodies whose auras are within `reach_m` of it hear of it wherever
    /// they are.
    pub fn audience_near(
        &self,
        around: &Surroundings<'_>,
        body: &BodyView,
        reach_m: f64,
        audience: &mut Vec<RegionId>,
    ) {
        let Surroundings {
            me,
            map,
            geometry,
            foreign,
        } = *around;
        audience.clear();
        self.add_places_near(me, map, body, geometry, audience);
        let near = body.radius + reach_m;
        let (x, z) = (body.centre.x, body.centre.z);
        // Most owners hear of it anyway, or have nothing here.
        let may_be_missing = |(owner, place): &(RegionId, Rect)| {
            place.distance_squared(x, z) <= near * near && *owner != me && !audience.contains(owner)
        };
        if foreign.owners().iter().any(may_be_missing) {
            foreign.for_each_within(body.centre, near, &mut |id, aura, _| {
                if id != body.id && audience.last() != Some(&aura.owner) {
                    audience.push(aura.owner);
                }
            });
        }
        audience.sort_unstable();
        audience.dedup();
        audience.retain(|region| *region != me);
    }

    /// Everyone who must hear of this body's aura, ascending, without me; `audience` is cleared first.
    pub fn audience(
        &self,
        me: RegionId,
        map: &RegionMap,
        body: &BodyView,
        geometry: &AuraGeometry,
        audience: &mut Vec<RegionId>,
    ) {
        audience.clear();
        audience.extend_from_slice(map.neighbours(me));
        if map.rect(me).distance(body.centre.x, body.centre.z) <= body.radius + geometry.visit_m {
            audience.extend(&self.visitors);
        }
        self.add_places_near(me, map, body, geometry, audience);
        audience.sort_unstable();
        audience.dedup();
        audience.retain(|region| *region != me);
    }

    /// Other regions around the body, and whom they have introduced to me.
    fn add_places_near(
        &self,
        me: RegionId,
        map: &RegionMap,
        body: &BodyView,
        geometry: &AuraGeometry,
        audience: &mut Vec<RegionId>,
    ) {
        let near = body.radius + geometry.visit_m;
        let (x, z) = (body.centre.x, body.centre.z);
        // Regions are wider than that: only those around the body's own place, and around ours, can be so near.
        let at = match map.rect(me).holds(x, z) {
            true => me,
            false => map.region_at(x, z),
        };
        let around_me = map.neighbours(me).iter();
        let around_it = std::iter::once(&at).chain(map.neighbours(at));
        for place in around_me.chain(around_it.filter(|_| at != me)).copied() {
            if place == me {
                continue;
            }
            let rect = map.rect(place);
            // The rough test first: most places are far away.
            let is_beyond = |i: usize, v: f64| rect.min[i] - v > near || v - rect.max[i] > near;
            if is_beyond(0, x) || is_beyond(1, z) || rect.distance(x, z) > near {
                continue;
            }
            audience.push(place);
            let met = self.heard.get(&place).into_iter().flatten();
            let met = met.filter(|visitor| visitor.place.holds(x, z));
            audience.extend(met.map(|visitor| visitor.region));
        }
    }
}

type Cell = (i64, i64);

/// Each visitor, ascending, and a rectangle that holds its auras.
type Stays = SmallVec<[(RegionId, Rect); 4]>;

fn stays(visits: &[Visit]) -> Stays {
    let mut stays = Stays::new();
    for (visitor, point) in visits {
        let place = Rect {
            min: *point,
            max: *point,
        };
        match stays.binary_search_by_key(visitor, |(visitor, _)| *visitor) {
            Ok(i) => stays[i].1 = stays[i].1.union(&place),
            Err(i) => stays.insert(i, (*visitor, place)),
        }
    }
    stays
}

/// Where a body must be told of to one that stays there: as far away as two can come together while an introduction
/// and a fetch take place, and a little farther, so that what was told before stands for a while.
fn place_of(stay: &Rect, cell_m: f64, told: Option<&Rect>) -> Rect {
    let near = stay.grown(cell_m);
    let wide = near.grown(3.0 * cell_m);
    if let Some(told) = told.filter(|told| told.contains(&near) && wide.contains(told)) {
        return *told;
    }
    let around = near.grown(cell_m);
    let within = |v: f64| v.clamp(-MAX_COORDINATE_M, MAX_COORDINATE_M);
    Rect {
        min: around.min.map(within),
        max: around.max.map(within),
    }
}

/// Whose body is here, and where.
type Visit = (RegionId, [f64; 2]);

fn visits<'a>(
    me: RegionId,
    map: &'a RegionMap,
    remote: &'a RemoteAuras,
    geometry: &'a AuraGeometry,
    acquaintance: Acquaintance,
) -> impl Iterator<Item = Visit> {
    let home = map.rect(me);
    remote.iter().filter_map(move |(_, aura)| {
        let (x, z) = (aura.centre.x, aura.centre.z);
        let is_stray = match acquaintance {
            Acquaintance::Neighbours => true,
            Acquaintance::Near => !map.rect(aura.owner).holds(x, z),
        };
        let near = aura.bounding_radius() + geometry.visit_m;
        let visits = is_stray && aura.owner != me && home.distance_squared(x, z) <= near * near;
        visits.then_some((aura.owner, [x, z]))
    })
}

fn cell_m(remote: &RemoteAuras, geometry: &AuraGeometry) -> f64 {
    let widest = remote
        .iter()
        .map(|(_, aura)| aura.bounding_radius())
        .fold(0.0, f64::max);
    2.0 * (geometry.visit_m + widest)
}

/// The cells in which each visitor has auras, ascending. Two bodies that can meet while an introduction and a fetch
/// take place are in the same cell or in adjacent ones.
fn places(visits: &[Visit], cell_m: f64) -> Vec<(RegionId, Cell)> {
    let cell_at = |point: &[f64; 2]| point.map(|v| (v / cell_m).floor() as i64).into();
    let places = visits.iter().map(|(visitor, at)| (*visitor, cell_at(at)));
    let mut places: Vec<(RegionId, Cell)> = places.collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Has one of the two something in a cell beside one of the other's?
fn are_near(places: &[(RegionId, Cell)], one: RegionId, other: RegionId) -> bool {
    let cells_of = |visitor: RegionId| {
        let first = places.partition_point(|(it, _)| *it < visitor);
        places[first..]
            .iter()
            .take_while(move |(it, _)| *it == visitor)
            .map(|(_, cell)| *cell)
    };
    let has = |cell: Cell| places.binary_search(&(other, cell)).is_ok();
    cells_of(one).any(|(x, z)| (x - 1..=x + 1).any(|x| (z - 1..=z + 1).any(|z| has((x, z)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ball, safe};
    use domain::{BodyId, Epoch, Layout, Tick};
    use glam::DVec3;
    use wire::{AuraUpsert, ClusterKey};

    /// Three columns of 100 m: 0 | 1 | 2; 0 and 2 are no neighbours.
    fn columns() -> RegionMap {
        let extent = Rect {
            min: [-150.0; 2],
            max: [150.0; 2],
        };
        RegionMap::build(Layout::Columns, 3, extent).expect("valid")
    }

    fn geometry() -> AuraGeometry {
        AuraGeometry::of(&safe())
    }

    fn remote(auras: &[(u32, u64, f64, f64)]) -> RemoteAuras {
        let mut remote = RemoteAuras::default();
        for (owner, body, x, z) in auras {
            let upsert = AuraUpsert {
                body: BodyId(*body),
                epoch: Epoch(1),
                tick: Tick(1),
                centre: DVec3::new(*x, 0.0, *z),
                radius: 0.5,
                spine: glam::Vec3::ZERO,
                reach: 4.0,
                growth: 0.5,
                key: ClusterKey {
                    class: 0,
                    since: Tick(0),
                    body: BodyId(*body),
                },
            };
            remote.upsert(RegionId(*owner), &upsert);
        }
        remote
    }

    /// 2.10: bodies of two servers that are no neighbours meet in the region between them.
    #[test]
    fn strangers_who_come_near_each_other_are_introduced() {
        let (map, geometry, me) = (columns(), geometry(), RegionId(1));
        let mut hall = Introductions::default();
        let near = remote(&[(0, 1, -3.0, 0.0), (2, 2, 3.0, 0.0)]);
        let news = hall.host(me, &map, &near, &geometry, Acquaintance::Neighbours);
        let met = |(region, visitors): &(RegionId, Vec<Visitor>)| {
            let others: Vec<u32> = visitors.iter().map(|visitor| visitor.region.0).collect();
            (region.0, others)
        };
        assert_eq!(
            news.iter().map(met).collect::<Vec<_>>(),
            [(0, vec![2]), (2, vec![0])]
        );
        let place = news[0].1[0].place;
        assert!(place.holds(3.0, 0.0) && place.holds(-3.0, 0.0));
        assert!(!place.holds(3.0, 90.0), "not along the whole border");
        assert!(
            hall.host(me, &map, &near, &geometry, Acquaintance::Neighbours)
                .is_empty(),
            "said once"
        );
        // They part: both are told that nobody is there any more.
        let news = hall.host(
            me,
            &map,
            &remote(&[(0, 1, -3.0, 0.0)]),
            &geometry,
            Acquaintance::Neighbours,
        );
        assert_eq!(news, [(RegionId(0), vec![]), (RegionId(2), vec![])]);
    }

    /// AP-31: strangers far apart, each at its own border, stay strangers.
    #[test]
    fn strangers_far_apart_stay_strangers() {
        let (map, geometry) = (columns(), geometry());
        let far = remote(&[(0, 1, -50.0, 0.0), (2, 2, 50.0, 0.0)]);
        assert!(
            Introductions::default()
                .host(RegionId(1), &map, &far, &geometry, Acquaintance::Neighbours)
                .is_empty()
        );
    }

    /// AP-9: everyone around hears of an aura; a stray also speaks to whoever it was introduced to.
    #[test]
    fn the_audience_is_the_neighbours_and_whom_one_met() {
        let (map, geometry, me) = (columns(), geometry(), RegionId(0));
        let mut known = Introductions::default();
        let at_home = ball(1, -55.0, 0.0, 0.5);
        let stray = ball(1, 0.0, 0.0, 0.5);
        let audience = |known: &Introductions, body| {
            let mut audience = Vec::new();
            known.audience(me, &map, body, &geometry, &mut audience);
            audience
        };
        assert_eq!(audience(&known, &at_home), [RegionId(1)]);
        let place = Rect {
            min: [-30.0; 2],
            max: [30.0; 2],
        };
        let region = RegionId(2);
        known.hear(RegionId(1), vec![Visitor { region, place }]);
        assert_eq!(audience(&known, &stray), [RegionId(1), RegionId(2)]);
        let elsewhere = ball(1, 0.0, 60.0, 0.5);
        assert_eq!(audience(&known, &elsewhere), [RegionId(1)]);
        let far_away = ball(1, -100.0, 0.0, 0.5);
        assert_eq!(audience(&known, &far_away), [RegionId(1)]);
    }
}
