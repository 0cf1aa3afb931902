//! How far space is cut.

use thiserror::Error;

/// When a leaf is cut and when two are put together again (thesis 3.2.2, 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// No side of a leaf gets shorter than this, metres (default 1). It should be at least the largest moving body's extent: then
    /// a body is in at most 8 leaves.
    pub min_size: f32,
    /// No leaf is deeper than this below the root (default 24, at most 60).
    pub max_depth: u32,
    /// There are never more leaves than this (default 65,536).
    pub max_leaves: usize,
    /// A leaf with more bodies than this is cut (default 6, the thesis's example). More: fewer leaves, more comparisons in each.
    pub split_above: usize,
    /// Two sibling leaves with fewer bodies together than this become one (default 4, the thesis's example). Must not be above
    /// `split_above`, or a leaf would be cut and mended for ever.
    pub merge_below: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            min_size: 1.0,
            max_depth: 24,
            max_leaves: 65_536,
            split_above: 6,
            merge_below: 4,
        }
    }
}

/// Limits that make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum LimitsError {
    /// Hysteresis upside down.
    #[error("merge_below ({merge_below}) must be below split_above ({split_above})")]
    NoHysteresis {
        /// As given.
        split_above: usize,
        /// As given.
        merge_below: usize,
    },
    /// A length that is none.
    #[error("min_size must be a number above 0, not {0}")]
    BadSize(f32),
    /// Deeper than a traversal can go.
    #[error("max_depth must be at most {MOST_DEPTH}, not {0}")]
    TooDeep(u32),
    /// There is always one leaf.
    #[error("max_leaves must be at least 1")]
    NoLeaves,
}

/// A traversal keeps at most this many vertices in mind.
pub const MOST_DEPTH: u32 = 60;

impl Limits {
    /// Do they make sense?
    pub fn check(&self) -> Result<(), LimitsError> {
        // (Nothing is merged below 0.)
        if self.merge_below >= self.split_above.max(1) {
            return Err(LimitsError::NoHysteresis {
                split_above: self.split_above,
                merge_below: self.merge_below,
            });
        }
        if !(self.min_size > 0.0 && self.min_size.is_finite()) {
            return Err(LimitsError::BadSize(self.min_size));
        }
        if self.max_depth > MOST_DEPTH {
            return Err(LimitsError::TooDeep(self.max_depth));
        }
        if self.max_leaves == 0 {
            return Err(LimitsError::NoLeaves);
        }
        Ok(())
    }
}
