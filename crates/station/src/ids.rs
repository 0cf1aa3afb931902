//! Who and which: stations, and pairs of bodies.

use domain::BodyId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A station: one place that owns some bodies (its masters) and shows others (replicas). The driver hands them out; the order
/// of ids settles ties, so every station must know every other by the same number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct StationId(pub u32);

impl fmt::Display for StationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// Two bodies that may hit each other, lower id first: the same pair has the same name everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PairId {
    low: BodyId,
    high: BodyId,
}

impl PairId {
    /// The pair of two different bodies, in either order; `None` for one and the same.
    pub fn new(one: BodyId, other: BodyId) -> Option<Self> {
        (one != other).then(|| Self {
            low: one.min(other),
            high: one.max(other),
        })
    }

    /// The body with the lower id.
    pub fn low(self) -> BodyId {
        self.low
    }

    /// The body with the higher id.
    pub fn high(self) -> BodyId {
        self.high
    }

    /// Both, lower id first.
    pub fn bodies(self) -> [BodyId; 2] {
        [self.low, self.high]
    }

    /// Whether this body is one of the two.
    pub fn has(self, body: BodyId) -> bool {
        self.low == body || self.high == body
    }

    /// The other one of the two.
    pub fn other(self, body: BodyId) -> BodyId {
        if body == self.low {
            self.high
        } else {
            self.low
        }
    }
}

impl fmt::Display for PairId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_one_name() {
        let [a, b] = [BodyId(7), BodyId(3)];
        assert_eq!(PairId::new(a, b), PairId::new(b, a));
        assert_eq!(PairId::new(a, a), None);
        let pair = PairId::new(a, b).expect("two bodies");
        assert_eq!((pair.other(a), pair.other(b)), (b, a));
        assert_eq!(pair.to_string(), "b3×b7");
    }
}
