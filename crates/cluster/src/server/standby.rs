//! Snapshots of other servers' regions, kept in memory in case their servers die.

use crate::messages::Subscription;
use crate::names::{NodeId, Place, Term};
use domain::Tick;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The latest snapshot of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// Of which owner it is.
    pub term: Term,
    /// The state after this tick.
    pub tick: Tick,
    /// Its owner has stopped on purpose; nothing happened after it.
    pub last: bool,
    /// All of the scene's spawns due before this tick are done.
    pub spawned_before: Tick,
    /// Who was told what happens.
    pub subscribers: Vec<(NodeId, Subscription)>,
    /// A region's snapshot.
    pub bytes: Vec<u8>,
}

#[derive(Default)]
struct Shelf {
    snapshots: BTreeMap<Place, KeptSnapshot>,
    /// Owners of earlier terms are no longer listened to.
    floors: BTreeMap<Place, Term>,
    /// Since when a snapshot is not wanted any more.
    unwanted: BTreeMap<Place, Instant>,
}

/// Snapshots that are not wanted any more are kept for so long: whoever should have a newer one may die before it has, and that is known when its lease has run out.
const AFTERLIFE: Duration = Duration::from_secs(2 * crate::membership::LEASE.as_secs());

/// All snapshots that this server keeps for others.
#[derive(Default)]
pub struct Standby {
    shelf: Mutex<Shelf>,
}

impl Standby {
    /// Keeps a snapshot; says whether it may be called safe. A fenced owner's may not: the region has begun anew without it.
    pub fn keep(&self, place: Place, snapshot: KeptSnapshot) -> bool {
        let mut shelf = self.lock();
        if shelf
            .floors
            .get(&place)
            .is_some_and(|floor| snapshot.term < *floor)
        {
            return false;
        }
        let newer = |kept: &KeptSnapshot| (kept.term, kept.tick) > (snapshot.term, snapshot.tick);
        if !shelf.snapshots.get(&place).is_some_and(newer) {
            shelf.snapshots.insert(place, snapshot);
        }
        true
    }

    /// We take the region over in this term: gives the latest snapshot, and takes no more of earlier owners, from this very moment on.
    pub fn take_over(&self, place: Place, term: Term) -> Option<KeptSnapshot> {
        let mut shelf = self.lock();
        shelf.floors.insert(place, term);
        shelf.snapshots.remove(&place)
    }

    /// It could not be begun with: it stays here, whatever its term, for another attempt or another owner.
    pub fn put_back(&self, place: Place, snapshot: KeptSnapshot) {
        self.lock().snapshots.entry(place).or_insert(snapshot);
    }

    /// What is kept: of which region, of an owner of which term, after which tick.
    pub fn kept(&self) -> Vec<(Place, Term, Tick)> {
        let shelf = self.lock();
        let snapshots = shelf.snapshots.iter();
        snapshots
            .map(|(place, snapshot)| (*place, snapshot.term, snapshot.tick))
            .collect()
    }

    /// Forgets what has not been wanted for some time.
    pub fn retain(&self, wanted: impl Fn(Place) -> bool) {
        let mut shelf = self.lock();
        let Shelf {
            snapshots,
            unwanted,
            ..
        } = &mut *shelf;
        snapshots.retain(|place, _| {
            if wanted(*place) {
                unwanted.remove(place);
                return true;
            }
            unwanted
                .entry(*place)
                .or_insert_with(Instant::now)
                .elapsed()
                < AFTERLIFE
        });
        unwanted.retain(|place, _| snapshots.contains_key(place));
        let generation = shelf.floors.keys().map(|place| place.generation).max();
        shelf
            .floors
            .retain(|place, _| Some(place.generation) == generation);
    }

    /// How many bytes are kept.
    pub fn bytes(&self) -> usize {
        let shelf = self.lock();
        shelf
            .snapshots
            .values()
            .map(|snapshot| snapshot.bytes.len())
            .sum()
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Generation;
    use domain::RegionId;

    const PLACE: Place = Place {
        generation: Generation(1),
        region: RegionId(2),
    };

    fn snapshot(term: u32, tick: u64) -> KeptSnapshot {
        KeptSnapshot {
            term: Term(term),
            tick: Tick(tick),
            last: false,
            spawned_before: Tick(tick),
            subscribers: Vec::new(),
            bytes: vec![1],
        }
    }

    /// What a fenced owner sends after we have taken over is not called safe: its neighbours would forget what only they still have.
    #[test]
    fn a_fenced_owner_is_not_listened_to() {
        let standby = Standby::default();
        assert!(standby.keep(PLACE, snapshot(1, 100)));
        assert!(
            standby.keep(PLACE, snapshot(1, 90)),
            "an old one comes late: a newer one is safe"
        );
        assert_eq!(standby.take_over(PLACE, Term(2)), Some(snapshot(1, 100)));
        assert!(!standby.keep(PLACE, snapshot(1, 130)));
        assert_eq!(standby.take_over(PLACE, Term(2)), None);
        assert!(
            standby.keep(PLACE, snapshot(2, 20)),
            "the region may come back to us later"
        );
    }

    /// An heir that cannot begin with a snapshot has not used it up.
    #[test]
    fn a_snapshot_that_was_put_back_is_kept_until_there_is_a_newer_one() {
        let standby = Standby::default();
        standby.keep(PLACE, snapshot(1, 100));
        let kept = standby.take_over(PLACE, Term(2)).expect("kept");
        standby.put_back(PLACE, kept);
        assert_eq!(standby.kept(), [(PLACE, Term(1), Tick(100))]);
        assert!(!standby.keep(PLACE, snapshot(1, 130)), "still fenced");
        assert_eq!(standby.take_over(PLACE, Term(2)), Some(snapshot(1, 100)));
        standby.put_back(PLACE, snapshot(1, 100));
        assert!(standby.keep(PLACE, snapshot(3, 20)));
        standby.put_back(PLACE, snapshot(1, 100));
        assert_eq!(standby.kept(), [(PLACE, Term(3), Tick(20))]);
    }
}
