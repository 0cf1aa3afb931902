//! The bodies of a world, found by id, walked over in the order of ids, and found by the engine's own slot.
//!
//! Searches of the engine's tree end at a slot, and thousands of them a second must not each descend an ordered map.

use crate::world::Entry;
use domain::BodyId;
use rapier3d::prelude::RigidBodyHandle;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Index;

/// A place in the engine's own list of bodies. Used again when its body is gone.
pub(crate) type Slot = u32;

/// See the module.
#[derive(Default)]
pub(crate) struct Roster {
    by_slot: Vec<Option<(BodyId, Entry)>>,
    slots: FxHashMap<BodyId, Slot>,
    // The same, for walks in the order of ids.
    order: BTreeMap<BodyId, Slot>,
}

impl Roster {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(crate) fn contains_key(&self, id: &BodyId) -> bool {
        self.slots.contains_key(id)
    }

    pub(crate) fn get(&self, id: &BodyId) -> Option<&Entry> {
        self.get_key_value(id).map(|(_, entry)| entry)
    }

    pub(crate) fn get_key_value(&self, id: &BodyId) -> Option<(&BodyId, &Entry)> {
        self.at(*self.slots.get(id)?)
    }

    pub(crate) fn get_mut(&mut self, id: &BodyId) -> Option<&mut Entry> {
        let slot = *self.slots.get(id)?;
        let (_, entry) = self.by_slot[slot as usize].as_mut()?;
        Some(entry)
    }

    /// The body in this slot.
    pub(crate) fn at(&self, slot: Slot) -> Option<(&BodyId, &Entry)> {
        let (id, entry) = self.by_slot.get(slot as usize)?.as_ref()?;
        Some((id, entry))
    }

    /// The body that the engine calls so.
    pub(crate) fn of_handle(&self, handle: RigidBodyHandle) -> Option<(&BodyId, &Entry)> {
        self.at(slot_of(handle))
            .filter(|(_, entry)| entry.handle == handle)
    }

    pub(crate) fn insert(&mut self, id: BodyId, entry: Entry) {
        let slot = slot_of(entry.handle);
        if self.by_slot.len() <= slot as usize {
            self.by_slot.resize_with(slot as usize + 1, || None);
        }
        self.by_slot[slot as usize] = Some((id, entry));
        self.slots.insert(id, slot);
        self.order.insert(id, slot);
    }

    pub(crate) fn remove(&mut self, id: &BodyId) -> Option<Entry> {
        let slot = self.slots.remove(id)?;
        self.order.remove(id);
        let (_, entry) = self.by_slot[slot as usize].take()?;
        Some(entry)
    }

    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &BodyId> {
        self.order.keys()
    }

    /// The slots, in the order of ids.
    pub(crate) fn slots(&self) -> impl ExactSizeIterator<Item = (BodyId, Slot)> {
        self.order.iter().map(|(id, slot)| (*id, *slot))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&BodyId, &Entry)> {
        let at = |slot: &Slot| self.at(*slot).expect("every id has a slot");
        self.order.values().map(at)
    }

    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.iter().map(|(_, entry)| entry)
    }
}

impl Index<&BodyId> for Roster {
    type Output = Entry;

    fn index(&self, id: &BodyId) -> &Entry {
        self.get(id).expect("a body that is here")
    }
}

pub(crate) fn slot_of(handle: RigidBodyHandle) -> Slot {
    handle.into_raw_parts().0
}
