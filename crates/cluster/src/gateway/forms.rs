//! The shapes that bodies have, each once, under a small number that clients know.

use client_protocol::{FormEntry, ToClient};
use domain::Shape;
use rustc_hash::FxHashMap;

/// All shapes in use.
#[derive(Debug, Default)]
pub struct Forms {
    entries: Vec<Option<Entry>>,
    by_bytes: FxHashMap<Vec<u8>, u32>,
    free: Vec<u32>,
    fresh: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    shape: Shape,
    bytes: Vec<u8>,
    users: usize,
}

impl Forms {
    /// One more body has this shape; returns its number.
    pub fn take(&mut self, shape: &Shape) -> u32 {
        // The shape's bytes as clients get them, under a number that does not matter.
        let form = FormEntry {
            number: 0,
            shape: shape.clone(),
        };
        let bytes = ToClient::Forms(vec![form]).encode();
        if let Some(number) = self.by_bytes.get(&bytes).copied() {
            if let Some(entry) = &mut self.entries[number as usize] {
                entry.users += 1;
            }
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() as u32 - 1
        });
        self.by_bytes.insert(bytes.clone(), number);
        self.entries[number as usize] = Some(Entry {
            shape: shape.clone(),
            bytes,
            users: 1,
        });
        self.fresh.push(number);
        number
    }

    /// One body less has it. Nobody left: the number is used again.
    pub fn release(&mut self, number: u32) {
        let Some(entry) = &mut self.entries[number as usize] else {
            return;
        };
        entry.users -= 1;
        if entry.users == 0
            && let Some(entry) = self.entries[number as usize].take()
        {
            self.by_bytes.remove(&entry.bytes);
            self.free.push(number);
        }
    }

    /// The shape of this number.
    pub fn shape(&self, number: u32) -> Option<&Shape> {
        Some(&self.entries.get(number as usize)?.as_ref()?.shape)
    }

    /// Those that are new since the last call.
    pub fn take_fresh(&mut self) -> Vec<FormEntry> {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.sort_unstable();
        fresh.dedup();
        fresh
            .into_iter()
            .filter_map(|number| self.entry(number))
            .collect()
    }

    /// All of them.
    pub fn all(&self) -> Vec<FormEntry> {
        let numbers = 0..self.entries.len() as u32;
        numbers.filter_map(|number| self.entry(number)).collect()
    }

    fn entry(&self, number: u32) -> Option<FormEntry> {
        let shape = self.shape(number)?.clone();
        Some(FormEntry { number, shape })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shapes_share_a_number_and_unused_numbers_come_back() {
        let mut forms = Forms::default();
        let ball = |radius| Shape::Sphere { radius };
        let first = forms.take(&ball(1.0));
        assert_eq!(forms.take(&ball(1.0)), first);
        let other = forms.take(&ball(2.0));
        assert_ne!(first, other);
        assert_eq!(forms.take_fresh().len(), 2);
        assert!(forms.take_fresh().is_empty());
        forms.release(first);
        assert!(forms.shape(first).is_some(), "one body still has it");
        forms.release(first);
        assert!(forms.shape(first).is_none());
        assert_eq!(forms.take(&ball(3.0)), first);
        assert_eq!(forms.all().len(), 2);
    }
}
