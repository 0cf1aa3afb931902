//! The auras other regions have projected here: spheres that trigger and never push.
//!
//! A message about an aura names the body's epoch and a tick; the later pair is right, whatever the order of arrival.
//! News from different servers overtake each other (the old owner's "gone" may come after the new owner's "here"), and
//! without that rule a live aura would be deleted or a dead one revived for ever.

use crate::geometry::AuraGeometry;
use crate::view::BodyView;
use domain::{BodyId, Capsule, Epoch, RegionId, Tick};
use glam::DVec3;
use indexmap::IndexMap;
use indexmap::map::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Serialize};
use wire::{AuraDelete, AuraUpsert, ClusterKey};

/// Tombstones older than this are dropped once there are many: no message is that late.
const TOMBSTONE_TICKS: u64 = 3_600;
const MANY_TOMBSTONES: usize = 4_096;

/// One remote aura.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteAura {
    /// Where a body that touches it is sent.
    pub owner: RegionId,
    /// The ownership it was projected under.
    pub epoch: Epoch,
    /// The tick it speaks of.
    pub tick: Tick,
    /// The body's origin at that tick.
    pub centre: DVec3,
    /// The body is within `radius` of the line from `centre − spine` to `centre + spine`.
    pub radius: f64,
    /// See `radius`.
    pub spine: DVec3,
    /// Reach beyond the bounding sphere at that tick.
    pub reach: f64,
    /// Growth of the reach per tick without news.
    pub growth: f64,
    /// Its way in one tick, as far as its places tell.
    pub way: Option<DVec3>,
    /// Rank in the tie-break.
    pub key: ClusterKey,
    /// The body is on its way to `owner`; if the new owner has not spoken by then, the aura is gone.
    pub provisional_until: Option<Tick>,
}

impl RemoteAura {
    /// An aura as its owner has described it.
    pub fn from_upsert(owner: RegionId, upsert: &AuraUpsert) -> Self {
        Self {
            owner,
            epoch: upsert.epoch,
            tick: upsert.tick,
            centre: upsert.centre,
            radius: f64::from(upsert.radius),
            spine: upsert.spine.as_dvec3(),
            reach: f64::from(upsert.reach),
            growth: f64::from(upsert.growth),
            way: (upsert.growth == 0.0).then_some(DVec3::ZERO),
            key: upsert.key,
            provisional_until: None,
        }
    }

    /// Where it goes is seen from where it was.
    fn follow(&mut self, before: &Self) {
        let ticks = self.tick.0.saturating_sub(before.tick.0);
        self.way = match ticks {
            _ if self.growth == 0.0 => Some(DVec3::ZERO),
            0 => before.way,
            _ => Some((self.centre - before.centre) / ticks as f64),
        };
    }

    pub(crate) fn full_radius(&self, geometry: &AuraGeometry, now: Tick) -> f64 {
        self.bounding_radius() + self.reach_at(geometry, now)
    }

    /// The radius of the body's bounding sphere.
    pub fn bounding_radius(&self) -> f64 {
        self.radius + self.spine.length()
    }

    /// The body as it was told.
    pub fn capsule(&self) -> Capsule {
        Capsule {
            centre: self.centre,
            spine: self.spine,
            girth: self.radius,
        }
    }

    /// How far beyond its bounding sphere the body may get, as far as is known at this tick.
    pub fn reach_at(&self, geometry: &AuraGeometry, now: Tick) -> f64 {
        let age = now.since(self.tick);
        match self.provisional_until {
            // On its way: nobody speaks for it meanwhile, and that is no silence.
            Some(_) if geometry.late_growth_m > 0.0 => {
                self.reach + self.growth * age.min(2 * geometry.max_age_ticks + 2) as f64
            }
            _ => geometry.reach_at(self.reach, self.growth, age),
        }
    }

    /// How deep the body's bounding sphere is in the aura at this tick, if it touches.
    pub fn depth(&self, body: &BodyView, geometry: &AuraGeometry, now: Tick) -> Option<f64> {
        let sum = self.full_radius(geometry, now) + body.radius;
        let distance = self.centre.distance(body.centre);
        (distance <= sum).then_some(sum - distance)
    }
}

/// All remote auras of one region.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RemoteAuras {
    // Every neighbour's every aura is looked up here, and all of them are walked over, at every tick; nothing depends
    // on the order of a walk.
    auras: IndexMap<BodyId, RemoteAura, FxBuildHasher>,
    gone: FxHashMap<BodyId, (Epoch, Tick)>,
    // No provisional aura ends before this tick; `None` if there is none.
    first_end: Option<Tick>,
}

impl RemoteAuras {
    /// Creates or moves an aura. Old news changes nothing; says whether it was news.
    pub fn upsert(&mut self, owner: RegionId, upsert: &AuraUpsert) -> bool {
        self.put(upsert.body, RemoteAura::from_upsert(owner, upsert))
    }

    /// Moves an aura that this owner has told us of under the same epoch; says whether there is one. A body of ours has
    /// no aura here, and an aura that stands is newer than its grave, so nothing else need be asked.
    pub fn update(&mut self, owner: RegionId, upsert: &AuraUpsert) -> bool {
        let known = self.auras.get_mut(&upsert.body).filter(|known| {
            known.owner == owner && known.epoch == upsert.epoch && known.provisional_until.is_none()
        });
        let Some(known) = known else {
            return false;
        };
        if upsert.tick >= known.tick {
            let before = std::mem::replace(known, RemoteAura::from_upsert(owner, upsert));
            known.follow(&before);
        }
        true
    }

    /// As [`Self::upsert`], for an aura we know of ourselves (a body that has just left).
    pub fn put(&mut self, body: BodyId, aura: RemoteAura) -> bool {
        let stamp = (aura.epoch, aura.tick);
        if self.gone.get(&body).is_some_and(|grave| stamp <= *grave) {
            return false;
        }
        if let Some(end) = aura.provisional_until {
            self.note_end(end);
        }
        match self.auras.entry(body) {
            Entry::Occupied(known) if stamp < (known.get().epoch, known.get().tick) => {
                return false;
            }
            Entry::Occupied(mut known) => {
                let before = std::mem::replace(known.get_mut(), aura);
                if aura.way.is_none() {
                    known.get_mut().follow(&before);
                }
            }
            Entry::Vacant(place) => {
                place.insert(aura);
            }
        }
        true
    }

    /// Removes an aura, or points it to the body's new owner until that one speaks.
    /// A body on its way to `me` is known from its offer; with `keep_own` its aura stays until it is here.
    pub fn delete(
        &mut self,
        delete: &AuraDelete,
        me: RegionId,
        patience_ticks: u64,
        keep_own: bool,
    ) {
        let stamp = (delete.epoch, delete.tick);
        let Some(known) = self.auras.get_mut(&delete.body) else {
            self.bury(delete.body, stamp);
            return;
        };
        if (known.epoch, known.tick) > stamp {
            return;
        }
        match delete.moved_to {
            // A body that goes on at once from its new owner: that one need not have spoken for it at all.
            Some(new) if keep_own || (new.region != me && known.epoch == delete.epoch) => {
                known.owner = new.region;
                known.epoch = delete.epoch;
                known.key = new.key;
                let end = delete.tick + patience_ticks;
                known.provisional_until = Some(end);
                self.note_end(end);
            }
            _ => {
                self.auras.swap_remove(&delete.body);
            }
        }
        self.bury(delete.body, stamp);
    }

    fn note_end(&mut self, end: Tick) {
        self.first_end = Some(self.first_end.map_or(end, |first| first.min(end)));
    }

    fn bury(&mut self, body: BodyId, stamp: (Epoch, Tick)) {
        let grave = self.gone.entry(body).or_insert(stamp);
        *grave = (*grave).max(stamp);
    }

    /// The body is now ours under this epoch: its aura goes, and no older one comes back.
    pub fn forget_body(&mut self, body: BodyId, epoch: Epoch, now: Tick) {
        self.auras.swap_remove(&body);
        self.bury(body, (epoch, now));
    }

    /// A region has restarted: whatever it projected is no longer true.
    pub fn forget_owner(&mut self, owner: RegionId) {
        self.auras.retain(|_, aura| aura.owner != owner);
    }

    /// Drops auras whose new owner has stayed silent, and old tombstones.
    pub fn expire(&mut self, now: Tick) {
        if self.first_end.is_some_and(|first| first < now) {
            let silent = |end: Option<Tick>| end.is_some_and(|end| end < now);
            self.auras.retain(|_, aura| !silent(aura.provisional_until));
            let ends = self
                .auras
                .values()
                .filter_map(|aura| aura.provisional_until);
            self.first_end = ends.min();
        }
        if self.gone.len() > MANY_TOMBSTONES {
            self.gone
                .retain(|_, (_, tick)| now.since(*tick) < TOMBSTONE_TICKS);
        }
    }

    /// All auras, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (BodyId, &RemoteAura)> {
        self.auras.iter().map(|(body, aura)| (*body, aura))
    }

    /// The aura at this place of a walk over all.
    pub(crate) fn at(&self, place: usize) -> (BodyId, &RemoteAura) {
        let (body, aura) = self.auras.get_index(place).expect("a place of a walk");
        (*body, aura)
    }

    /// One aura.
    pub fn get(&self, body: BodyId) -> Option<&RemoteAura> {
        self.auras.get(&body)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.auras.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.auras.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::NewOwner;

    fn upsert(body: u64, epoch: u32, tick: u64, x: f64) -> AuraUpsert {
        AuraUpsert {
            body: BodyId(body),
            epoch: Epoch(epoch),
            tick: Tick(tick),
            centre: DVec3::new(x, 0.0, 0.0),
            radius: 0.5,
            spine: glam::Vec3::ZERO,
            reach: 2.0,
            growth: 0.0,
            key: ClusterKey {
                class: 0,
                since: Tick(0),
                body: BodyId(body),
            },
        }
    }

    fn delete(body: u64, epoch: u32, tick: u64, moved_to: Option<u32>) -> AuraDelete {
        AuraDelete {
            body: BodyId(body),
            epoch: Epoch(epoch),
            tick: Tick(tick),
            moved_to: moved_to.map(|region| NewOwner {
                region: RegionId(region),
                key: ClusterKey {
                    class: 0,
                    since: Tick(0),
                    body: BodyId(3),
                },
            }),
        }
    }

    const ME: RegionId = RegionId(9);

    /// AP-8: the same message creates and moves.
    #[test]
    fn one_message_creates_and_moves() {
        let mut auras = RemoteAuras::default();
        assert!(auras.upsert(RegionId(1), &upsert(7, 1, 10, 0.0)));
        assert!(auras.upsert(RegionId(1), &upsert(7, 1, 11, 3.0)));
        assert_eq!(auras.len(), 1);
        assert_eq!(auras.get(BodyId(7)).expect("known").centre.x, 3.0);
    }

    /// AP-22: an update that arrives after the delete does not resurrect the aura.
    #[test]
    fn a_late_update_revives_nothing() {
        let mut auras = RemoteAuras::default();
        auras.upsert(RegionId(1), &upsert(7, 1, 10, 0.0));
        auras.delete(&delete(7, 1, 12, None), ME, 8, false);
        assert!(!auras.upsert(RegionId(1), &upsert(7, 1, 11, 0.0)));
        assert!(auras.is_empty());
        assert!(
            auras.upsert(RegionId(1), &upsert(7, 1, 13, 0.0)),
            "it projects again"
        );
    }

    /// Digest 2.12: the new owner's "here" overtakes the old owner's "gone".
    #[test]
    fn the_old_owners_delete_does_not_remove_the_new_owners_aura() {
        let mut auras = RemoteAuras::default();
        auras.upsert(RegionId(0), &upsert(7, 1, 10, 0.0));
        auras.upsert(RegionId(1), &upsert(7, 2, 14, 1.0));
        auras.delete(&delete(7, 1, 12, Some(1)), ME, 8, false);
        let aura = auras.get(BodyId(7)).expect("alive");
        assert_eq!((aura.owner, aura.epoch), (RegionId(1), Epoch(2)));
    }

    /// While a body is in flight its old aura points to the new owner, for a while.
    #[test]
    fn a_moved_aura_waits_for_its_new_owner() {
        let mut auras = RemoteAuras::default();
        auras.upsert(RegionId(0), &upsert(7, 1, 10, 0.0));
        auras.delete(&delete(7, 1, 12, Some(1)), ME, 8, false);
        let aura = auras.get(BodyId(7)).expect("provisional");
        assert_eq!((aura.owner, aura.key.body), (RegionId(1), BodyId(3)));
        auras.expire(Tick(20));
        assert_eq!(auras.len(), 1);
        auras.expire(Tick(21));
        assert!(auras.is_empty());
    }
}
