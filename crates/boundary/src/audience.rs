//! Who must hear of an aura: all neighbours, and whoever else has bodies at the place.
//!
//! The thesis sends every aura to all neighbours, corners included, and assumes that regions are so large that bodies of
//! servers that are no neighbours never come near each other. A long pile breaks that: its owner may be two regions away.
//! Our cure needs no third hop. Each region knows the auras that reach into its space; it is the natural meeting point.
//! If two of its visitors are no neighbours, it introduces them, and each then tells the other directly of its bodies
//! *there*. The introduction takes two hops and the fetch two more; a body counts as visiting 4h + 2 steps before it
//! arrives, so the introduction is over before the bodies meet. Without strays nobody but neighbours exchanges a word.

use crate::geometry::AuraGeometry;
use crate::remote_auras::RemoteAuras;
use crate::view::BodyView;
use domain::{RegionId, RegionMap};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Who is visiting where, as far as this region knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Introductions {
    /// Regions with bodies in or near mine.
    visitors: BTreeSet<RegionId>,
    /// What I have told each visitor.
    told: BTreeMap<RegionId, Vec<RegionId>>,
    /// What I was told: at this place there are these.
    heard: BTreeMap<RegionId, Vec<RegionId>>,
}

impl Introductions {
    /// Another region has told me who else is visiting it.
    pub fn hear(&mut self, place: RegionId, visitors: Vec<RegionId>) {
        self.heard.insert(place, visitors);
    }

    /// A region has restarted: it does not remember what I told it.
    pub fn forget(&mut self, region: RegionId) {
        self.told.remove(&region);
        self.heard.remove(&region);
    }

    /// Looks who is visiting me now; returns what must be said to whom. Visitors who are all neighbours of each
    /// other and of me already hear everything.
    pub fn host(
        &mut self,
        me: RegionId,
        map: &RegionMap,
        remote: &RemoteAuras,
        geometry: &AuraGeometry,
    ) -> Vec<(RegionId, Vec<RegionId>)> {
        let home = map.rect(me);
        self.visitors = remote
            .iter()
            .filter(|(_, aura)| {
                home.distance(aura.centre.x, aura.centre.z) <= aura.radius + geometry.visit_m
            })
            .map(|(_, aura)| aura.owner)
            .collect();
        let mut news = Vec::new();
        for visitor in &self.visitors {
            let others: Vec<_> = self
                .visitors
                .iter()
                .copied()
                .filter(|other| other != visitor && !map.are_neighbours(*visitor, *other))
                .collect();
            let told = self.told.get(visitor);
            if told.map_or(others.is_empty(), |told| *told == others) {
                continue;
            }
            self.told.insert(*visitor, others.clone());
            news.push((*visitor, others));
        }
        news
    }

    /// Everyone who must hear of this body's aura, ascending, without me.
    pub fn audience(
        &self,
        me: RegionId,
        map: &RegionMap,
        body: &BodyView,
        geometry: &AuraGeometry,
    ) -> Vec<RegionId> {
        let mut audience: Vec<RegionId> = map.neighbours(me).to_vec();
        let near = body.radius + geometry.visit_m;
        for place in map.regions() {
            if map.rect(place).distance(body.centre.x, body.centre.z) > near {
                continue;
            }
            if place == me {
                audience.extend(&self.visitors);
            } else {
                audience.push(place);
                audience.extend(self.heard.get(&place).into_iter().flatten());
            }
        }
        audience.sort_unstable();
        audience.dedup();
        audience.retain(|region| *region != me);
        audience
    }
}
