//! Which leaf tests a pair.
//!
//! Two bodies may share several leaves, on several members. Each pair must be tested once, so each pair has a point, and the
//! leaf that holds it is responsible.

use crate::bounds::{Aabb, Cell};
use crate::tree::Tree;
use glam::Vec3;

/// How the point of a pair is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairRule {
    /// The middle between the two bodies' origins, as published (thesis 3.2.2.1). It may lie outside the smaller of two unequal
    /// bodies, in a leaf that one of them does not reach: such a pair is tested nowhere.
    Midpoint,
    /// The lowest corner of what the two boxes share (default). It lies in both boxes, so the leaf that holds it has both bodies
    /// on its list: every overlapping pair is tested, once.
    #[default]
    OverlapMin,
}

impl PairRule {
    /// Is the leaf of this cell responsible for the pair?
    #[inline]
    pub fn chooses(self, cell: &Cell, a: &Aabb, b: &Aabb, origins: impl Fn() -> [Vec3; 2]) -> bool {
        match self {
            Self::OverlapMin => cell.holds(a.min.max(b.min)),
            Self::Midpoint => {
                let [a, b] = origins();
                cell.holds((a + b) * 0.5)
            }
        }
    }
}

/// A pair that may touch. The second may be immoveable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// A body that moves.
    pub a: u32,
    /// Another, or something immoveable.
    pub b: u32,
}

/// How much the pair loop has compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Comparisons of two boxes.
    pub compared: u64,
    /// Overlapping pairs that another leaf is responsible for.
    pub elsewhere: u64,
}

/// All pairs of overlapping boxes that leaves of this tree are responsible for, in the tree's order. Of two immoveable things none.
pub fn candidates(
    tree: &Tree,
    rule: PairRule,
    boxes: &[Aabb],
    origins: &[Vec3],
    out: &mut Vec<Candidate>,
) -> PairCounts {
    let mut counts = PairCounts::default();
    for leaf in tree.leaves() {
        for (index, &a) in leaf.bodies.iter().enumerate() {
            let first = boxes[a as usize];
            let others = leaf.bodies[index + 1..].iter().chain(&leaf.statics);
            for (place, &b) in others.enumerate() {
                let second = &boxes[b as usize];
                counts.compared += 1;
                if !first.touches(second) {
                    continue;
                }
                // Scenery may be endless; its origin says nothing about where it is touched.
                let rule = if index + 1 + place < leaf.bodies.len() {
                    rule
                } else {
                    PairRule::OverlapMin
                };
                let middle = || [origins[a as usize], origins[b as usize]];
                if rule.chooses(&leaf.cell, &first, second, middle) {
                    out.push(Candidate { a, b });
                } else {
                    counts.elsewhere += 1;
                }
            }
        }
    }
    counts
}
