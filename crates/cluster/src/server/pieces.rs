//! Snapshots that are larger than a payload travel in pieces.

use crate::messages::FromRegion;
use crate::names::{Place, Term};
use domain::Tick;
use std::collections::{BTreeMap, VecDeque};

/// A snapshot that is larger is refused. Nobody has a region of a million bodies by intention.
const MOST_BYTES: usize = 1 << 30;

/// A snapshot as messages, each with at most so many of its bytes, in the order in which they must arrive; the last one says what it is.
pub fn cut(mut snapshot: FromRegion, most: usize) -> VecDeque<FromRegion> {
    let most = most.max(1);
    let mut messages = VecDeque::new();
    if let FromRegion::Snapshot {
        tick,
        bytes,
        bytes_before,
        ..
    } = &mut snapshot
    {
        let tick = *tick;
        // All but the last piece, which is never empty unless the snapshot is.
        let before = bytes.len().saturating_sub(1) / most * most;
        let last = bytes.split_off(before);
        let pieces = bytes.chunks(most).map(<[u8]>::to_vec);
        messages.extend(pieces.map(|bytes| FromRegion::SnapshotPiece { tick, bytes }));
        *bytes_before += before as u64;
        *bytes = last;
    }
    messages.push_back(snapshot);
    messages
}

/// Pieces that have come, until the snapshot is complete.
#[derive(Default)]
pub struct Pieces {
    waiting: BTreeMap<Place, Waiting>,
}

struct Waiting {
    term: Term,
    tick: Tick,
    bytes: Vec<u8>,
}

impl Pieces {
    /// Another piece. False: it is too much, and nothing of it is kept.
    #[must_use]
    pub fn add(&mut self, place: Place, term: Term, tick: Tick, bytes: &[u8]) -> bool {
        let waiting = self.waiting.entry(place).or_insert_with(|| Waiting {
            term,
            tick,
            bytes: Vec::new(),
        });
        if (waiting.term, waiting.tick) != (term, tick) {
            // Its sender has begun with another one.
            (waiting.term, waiting.tick) = (term, tick);
            waiting.bytes.clear();
        }
        let fits = waiting.bytes.len() + bytes.len() <= MOST_BYTES;
        if fits {
            waiting.bytes.extend_from_slice(bytes);
        } else {
            self.waiting.remove(&place);
        }
        fits
    }

    /// The last piece of a snapshot, after so many bytes: gives all of it, if all of it has come.
    pub fn complete(
        &mut self,
        place: Place,
        term: Term,
        tick: Tick,
        before: u64,
        last: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let waiting = self.waiting.remove(&place);
        if before == 0 {
            return Some(last);
        }
        let mut waiting = waiting.filter(|waiting| {
            (waiting.term, waiting.tick) == (term, tick) && waiting.bytes.len() as u64 == before
        })?;
        waiting.bytes.extend_from_slice(&last);
        Some(waiting.bytes)
    }

    /// Forgets what belongs to regions that are not ours to keep.
    pub fn retain(&mut self, wanted: impl Fn(Place) -> bool) {
        self.waiting.retain(|place, _| wanted(*place));
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

    fn snapshot(tick: Tick, bytes: Vec<u8>) -> FromRegion {
        FromRegion::Snapshot {
            tick,
            last: false,
            spawned_before: tick,
            subscribers: Vec::new(),
            bytes_before: 0,
            bytes,
        }
    }

    fn put_together(pieces: &mut Pieces, messages: VecDeque<FromRegion>) -> Vec<Vec<u8>> {
        let mut complete = Vec::new();
        for message in messages {
            match message {
                FromRegion::SnapshotPiece { tick, bytes } => {
                    assert!(pieces.add(PLACE, Term(1), tick, &bytes));
                }
                FromRegion::Snapshot {
                    tick,
                    bytes,
                    bytes_before,
                    ..
                } => {
                    let whole = pieces.complete(PLACE, Term(1), tick, bytes_before, bytes);
                    complete.push(whole.expect("nothing is missing"));
                }
                other => panic!("{other:?}"),
            }
        }
        complete
    }

    #[test]
    fn what_was_cut_is_put_together() {
        let mut pieces = Pieces::default();
        for (length, messages) in [(0, 1), (10, 1), (11, 2), (20, 2), (35, 4)] {
            let bytes: Vec<u8> = (0..length).collect();
            let cut = cut(snapshot(Tick(length.into()), bytes.clone()), 10);
            assert_eq!(cut.len(), messages, "{length} bytes");
            assert_eq!(put_together(&mut pieces, cut), [bytes]);
        }
        assert!(pieces.waiting.is_empty());
    }

    #[test]
    fn pieces_of_different_snapshots_do_not_mix() {
        let mut pieces = Pieces::default();
        let mut given_up = cut(snapshot(Tick(1), vec![1; 35]), 10);
        given_up.pop_back();
        assert!(put_together(&mut pieces, given_up).is_empty());
        let next = cut(snapshot(Tick(2), vec![2; 15]), 10);
        assert_eq!(put_together(&mut pieces, next), [vec![2; 15]]);
        // A new owner's snapshot, after an old one's first pieces.
        assert!(pieces.add(PLACE, Term(1), Tick(3), &[3; 10]));
        let new = pieces.complete(PLACE, Term(2), Tick(3), 0, vec![4]);
        assert_eq!(new, Some(vec![4]));
    }

    #[test]
    fn a_snapshot_with_a_hole_is_none() {
        let mut pieces = Pieces::default();
        assert!(pieces.add(PLACE, Term(1), Tick(3), &[3; 10]));
        let short = pieces.complete(PLACE, Term(1), Tick(3), 20, vec![4]);
        assert_eq!(short, None);
        assert!(pieces.add(PLACE, Term(1), Tick(4), &[3; 10]));
        pieces.retain(|_| false);
        assert_eq!(pieces.complete(PLACE, Term(1), Tick(4), 10, vec![4]), None);
    }
}
