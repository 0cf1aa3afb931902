//! I9: a pair that could contact is tested exactly once per tick in a group.
//!
//! The checker knows where every body is (the copy of whoever answers for it) and compares all boxes; members report what they tested.

use detection::Aabb;
use domain::BodyId;
use serde::Serialize;
use std::collections::BTreeMap;

/// How members tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PairCounts {
    /// Pairs of overlapping boxes, by tick.
    pub could_touch: u64,
    /// Of these: tested by nobody.
    pub missed: u64,
    /// Of these: tested more than once; counted once per extra test.
    pub doubled: u64,
    /// Tested although the boxes are apart: someone had a wrong copy.
    pub in_vain: u64,
}

/// Compares tests with the truth, tick by tick.
#[derive(Clone, Debug, Default)]
pub struct PairsTestedOnce {
    counts: PairCounts,
    first: Option<String>,
}

impl PairsTestedOnce {
    /// All boxes of a tick, and every test any member made in it.
    pub fn judge(
        &mut self,
        tick: u64,
        boxes: &BTreeMap<BodyId, Aabb>,
        tested: &[(BodyId, BodyId)],
    ) {
        let mut times: BTreeMap<(BodyId, BodyId), u64> = BTreeMap::new();
        for pair in tested {
            *times.entry(*pair).or_default() += 1;
        }
        for pair in overlapping(boxes) {
            self.counts.could_touch += 1;
            match times.remove(&pair) {
                None => {
                    self.counts.missed += 1;
                    self.note(tick, pair, "tested by nobody");
                }
                Some(1) => {}
                Some(more) => {
                    self.counts.doubled += more - 1;
                    self.note(tick, pair, "tested more than once");
                }
            }
        }
        for (pair, count) in times {
            self.counts.in_vain += count;
            self.note(tick, pair, "tested although apart");
        }
    }

    fn note(&mut self, tick: u64, (a, b): (BodyId, BodyId), what: &str) {
        self.first
            .get_or_insert_with(|| format!("tick {tick}: {a} and {b} were {what}"));
    }

    /// So far.
    pub fn counts(&self) -> PairCounts {
        self.counts
    }

    /// The first deviation in words.
    pub fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }
}

/// All overlapping pairs, by a sweep along x.
fn overlapping(boxes: &BTreeMap<BodyId, Aabb>) -> Vec<(BodyId, BodyId)> {
    let mut sorted: Vec<(BodyId, Aabb)> = boxes.iter().map(|(id, aabb)| (*id, *aabb)).collect();
    sorted.sort_by(|a, b| a.1.min.x.total_cmp(&b.1.min.x));
    let mut pairs = Vec::new();
    for (index, (a, first)) in sorted.iter().enumerate() {
        for (b, second) in &sorted[index + 1..] {
            if second.min.x > first.max.x {
                break;
            }
            if first.touches(second) {
                pairs.push(((*a).min(*b), (*a).max(*b)));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    fn row(count: u64) -> BTreeMap<BodyId, Aabb> {
        let at = |i: u64| Aabb::around(Vec3::X * 0.9 * i as f32, Vec3::splat(0.5));
        (0..count).map(|i| (BodyId(i), at(i))).collect()
    }

    /// The checker itself can fail: missed, doubled and vain tests are told apart.
    #[test]
    fn i9_deviations_are_noticed() {
        let mut checker = PairsTestedOnce::default();
        let pair = |a, b| (BodyId(a), BodyId(b));
        checker.judge(1, &row(3), &[pair(0, 1), pair(1, 2)]);
        assert_eq!(checker.counts().could_touch, 2);
        assert!(checker.first().is_none());
        checker.judge(2, &row(3), &[pair(0, 1), pair(0, 1), pair(0, 2)]);
        let counts = checker.counts();
        assert_eq!((counts.missed, counts.doubled, counts.in_vain), (1, 1, 1));
        assert_eq!(
            checker.first(),
            Some("tick 2: b0 and b1 were tested more than once")
        );
    }
}
