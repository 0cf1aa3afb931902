//! A client's timetable: a ring of slots, each a queue of entries, walked as fast as the client's bytes allow.
//!
//! ```text
//!        cursor
//!          ▼
//!   ┌────┬────┬────┬────┬ … ┐      an entry that was served is entered again k slots ahead:
//!   │    │ ab │    │ c  │   │      small k = often, large k = seldom; with the budget gone the cursor stays where it is,
//!   └────┴────┴────┴────┴ … ┘      and everybody waits in proportion
//! ```
//!
//! Inserting and taking are O(1): a bit per slot tells which have entries, so empty ones cost nothing.

use std::collections::VecDeque;

/// Slots in the ring, and one more than the longest wait in slots.
pub(super) const SLOTS: usize = 256;

/// The ring.
#[derive(Clone, Debug)]
pub(super) struct Calendar<T> {
    slots: Vec<VecDeque<T>>,
    occupied: [u64; SLOTS / 64],
    cursor: usize,
    len: usize,
}

impl<T> Calendar<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| VecDeque::new()).collect(),
            occupied: [0; SLOTS / 64],
            cursor: 0,
            len: 0,
        }
    }

    /// Enters something `ahead` slots from the cursor, behind all that is there; 0 is due now.
    pub(super) fn insert(&mut self, ahead: usize, entry: T) {
        let slot = (self.cursor + ahead.min(SLOTS - 1)) % SLOTS;
        self.slots[slot].push_back(entry);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.len += 1;
    }

    /// Puts back what was taken just now.
    pub(super) fn put_back(&mut self, entry: T) {
        self.slots[self.cursor].push_front(entry);
        self.occupied[self.cursor / 64] |= 1 << (self.cursor % 64);
        self.len += 1;
    }

    /// Takes what is next, moving the cursor on if its slot is empty.
    pub(super) fn take(&mut self) -> Option<T> {
        self.cursor = self.next_occupied()?;
        let entry = self.slots[self.cursor].pop_front()?;
        if self.slots[self.cursor].is_empty() {
            self.occupied[self.cursor / 64] &= !(1 << (self.cursor % 64));
        }
        self.len -= 1;
        Some(entry)
    }

    fn next_occupied(&self) -> Option<usize> {
        let words = self.occupied.len();
        let first = self.cursor / 64;
        // The cursor's word is looked at twice: from the cursor on at first, as a whole at last.
        (0..=words).find_map(|step| {
            let word = (first + step) % words;
            let mask = if step == 0 {
                !0 << (self.cursor % 64)
            } else {
                !0
            };
            let bits = self.occupied[word] & mask;
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_in_the_order_of_slots_and_round_the_ring() {
        let mut calendar = Calendar::new();
        for (ahead, name) in [(200, 'd'), (3, 'b'), (3, 'c'), (0, 'a')] {
            calendar.insert(ahead, name);
        }
        let mut taken: Vec<_> = (0..4).filter_map(|_| calendar.take()).collect();
        assert_eq!(taken, ['a', 'b', 'c', 'd']);
        // The cursor is at 200 now; these go round the end.
        calendar.insert(255, 'f');
        calendar.insert(100, 'e');
        taken = std::iter::from_fn(|| calendar.take()).collect();
        assert_eq!(taken, ['e', 'f']);
        assert_eq!((calendar.take(), calendar.len()), (None, 0));
    }

    #[test]
    fn what_is_put_back_comes_first() {
        let mut calendar = Calendar::new();
        calendar.insert(5, 1);
        calendar.insert(5, 2);
        let first = calendar.take().unwrap();
        calendar.put_back(first);
        assert_eq!(calendar.take(), Some(1));
        assert_eq!(calendar.take(), Some(2));
    }
}
