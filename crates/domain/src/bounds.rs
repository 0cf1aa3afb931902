//! Boxes: `Bounds` in space, `Rect` on the ground plane (x, z) where regions are cut.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// An axis-aligned box in world coordinates, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The lowest corner.
    pub min: DVec3,
    /// The highest corner.
    pub max: DVec3,
}

impl Bounds {
    /// The box around a sphere.
    pub fn of_sphere(centre: DVec3, radius: f64) -> Self {
        Self {
            min: centre - DVec3::splat(radius),
            max: centre + DVec3::splat(radius),
        }
    }

    /// The smallest box that holds both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// Moved outwards by `margin` on every side.
    #[must_use]
    pub fn grown(&self, margin: f64) -> Self {
        Self {
            min: self.min - DVec3::splat(margin),
            max: self.max + DVec3::splat(margin),
        }
    }

    /// Do the two boxes share a point?
    pub fn touches(&self, other: &Self) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }

    /// Its shadow on the ground plane.
    pub fn ground(&self) -> Rect {
        Rect {
            min: [self.min.x, self.min.z],
            max: [self.max.x, self.max.z],
        }
    }
}

/// A rectangle on the ground plane: `[x, z]`. As a region it is half-open (`min` belongs to it, `max`
/// does not), so that every point has exactly one region. Sides may be infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rect {
    /// Lowest x and z.
    pub min: [f64; 2],
    /// Highest x and z.
    pub max: [f64; 2],
}

impl Rect {
    /// The whole plane.
    pub const EVERYWHERE: Self = Self {
        min: [f64::NEG_INFINITY; 2],
        max: [f64::INFINITY; 2],
    };

    /// Holds nothing.
    pub const NOWHERE: Self = Self {
        min: [f64::INFINITY; 2],
        max: [f64::NEG_INFINITY; 2],
    };

    /// Does the half-open rectangle hold the point?
    pub fn holds(&self, x: f64, z: f64) -> bool {
        self.min[0] <= x && x < self.max[0] && self.min[1] <= z && z < self.max[1]
    }

    /// Do the closed rectangles share a point (a common edge or corner counts)?
    pub fn touches(&self, other: &Self) -> bool {
        (0..2).all(|i| self.min[i] <= other.max[i] && other.min[i] <= self.max[i])
    }

    /// Does this rectangle wholly contain the other, edges included?
    pub fn contains(&self, other: &Self) -> bool {
        (0..2).all(|i| self.min[i] <= other.min[i] && other.max[i] <= self.max[i])
    }

    /// Moved outwards by `margin` on every side (inwards if negative; may then be empty).
    #[must_use]
    pub fn grown(&self, margin: f64) -> Self {
        Self {
            min: self.min.map(|v| v - margin),
            max: self.max.map(|v| v + margin),
        }
    }

    /// The smallest rectangle that holds both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            min: std::array::from_fn(|i| self.min[i].min(other.min[i])),
            max: std::array::from_fn(|i| self.max[i].max(other.max[i])),
        }
    }

    /// What both hold; holds nothing if they do not touch.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self {
            min: std::array::from_fn(|i| self.min[i].max(other.min[i])),
            max: std::array::from_fn(|i| self.max[i].min(other.max[i])),
        }
    }

    /// Width (x) and depth (z).
    pub fn size(&self) -> [f64; 2] {
        [self.max[0] - self.min[0], self.max[1] - self.min[1]]
    }

    /// Distance from a point to the closed rectangle, zero inside.
    pub fn distance(&self, x: f64, z: f64) -> f64 {
        self.distance_squared(x, z).sqrt()
    }

    /// The square of [`Self::distance`], for comparisons.
    pub fn distance_squared(&self, x: f64, z: f64) -> f64 {
        let dx = (self.min[0] - x).max(x - self.max[0]).max(0.0);
        let dz = (self.min[1] - z).max(z - self.max[1]).max(0.0);
        dx * dx + dz * dz
    }
}
