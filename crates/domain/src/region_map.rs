//! The region map: who owns which part of the ground plane, and who is whose neighbour.
//!
//! ```text
//!        extent                          regions
//!   ┌──────┬──────┐               ▲      ▲
//!   │  r0  │  r1  │            ◄──  r0   │   r1  ──►      outer sides reach to infinity,
//!   ├──────┴──────┤     →      ───────┴──────────────     so that every point has
//!   │     r2      │            ◄──      r2      ──►       exactly one region
//!   └─────────────┘                     ▼
//! ```
//!
//! Boundaries are vertical planes, so a region is a rectangle on x–z. It is half-open: its low sides belong
//! to it, its high sides to the region behind them, and no point is claimed twice. Regions that touch are
//! neighbours, at a corner too: two bodies on either side of a corner may meet (thesis 3.9).
//!
//! Sides that are meant to be one line may differ in the last bits (thirds of an extent, numbers from a file).
//! They are made equal once, when the map is built; after that every comparison is exact.

mod error;
mod layout;
mod partition;

pub use error::RegionMapError;
pub use layout::{Layout, UnknownLayout};

use crate::{Rect, RegionId};
use glam::DVec3;
use partition::Lookup;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most regions a map may have; maps come from files and sockets.
pub const MAX_REGIONS: usize = 1024;
/// Sides closer than this are one line, metres. Far below any aura, far above rounding.
pub const SAME_LINE_M: f64 = 1e-3;
/// The extent of a map that was given none. Only origins and size checks depend on it.
const NOMINAL_EXTENT: Rect = Rect {
    min: [-100.0; 2],
    max: [100.0; 2],
};

/// A versioned table of regions that covers the whole plane without overlap. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Parts", try_from = "Parts")]
pub struct RegionMap {
    version: u64,
    plan: Arc<Plan>,
}

/// What does not change with the version.
#[derive(Debug, PartialEq)]
struct Plan {
    extent: Rect,
    /// The finite part of each region.
    boxes: Vec<Rect>,
    /// The same with outer sides at infinity.
    regions: Vec<Rect>,
    neighbours: Vec<Vec<RegionId>>,
    lookup: Lookup,
}

/// A map on paper: what is stored and sent. It becomes a [`RegionMap`] only if it is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Parts {
    version: u64,
    extent: Rect,
    boxes: Vec<Rect>,
}

impl RegionMap {
    /// One region: the reference run, and the map before any other is known.
    pub fn single() -> Self {
        Self::boxes(&[NOMINAL_EXTENT], NOMINAL_EXTENT).expect("one box covers its own extent")
    }

    /// The extent cut into `servers` regions. Row by row from low z to high z, in a row from low x to high x.
    pub fn build(layout: Layout, servers: usize, extent: Rect) -> Result<Self, RegionMapError> {
        partition::check_extent(&extent)?;
        Self::boxes(&layout.cut(servers, extent)?, extent)
    }

    /// A T junction (thesis Fig. 4.3a): one full-width region, two halves.
    pub fn thesis_three(extent: Rect) -> Result<Self, RegionMapError> {
        Self::build(Layout::ThesisThree, 3, extent)
    }

    /// Seven staggered regions with 3-way corners only (thesis Fig. 4.4).
    pub fn thesis_seven(extent: Rect) -> Result<Self, RegionMapError> {
        Self::build(Layout::ThesisSeven, 7, extent)
    }

    /// Any axis-aligned partition of the extent; region i is box i. Sides on the extent's edge reach to
    /// infinity in the map.
    pub fn boxes(boxes: &[Rect], extent: Rect) -> Result<Self, RegionMapError> {
        let (boxes, lookup) = partition::check(boxes, extent)?;
        let regions: Vec<Rect> = boxes.iter().map(|b| unbounded(b, &extent)).collect();
        let plan = Plan {
            extent,
            neighbours: touching(&regions),
            boxes,
            regions,
            lookup,
        };
        Ok(Self {
            version: 0,
            plan: Arc::new(plan),
        })
    }

    /// The same map under another version number.
    #[must_use]
    pub fn with_version(mut self, version: u64) -> Self {
        self.version = version;
        self
    }

    /// The higher version is right.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The region of a point. Total: a point beyond the extent belongs to the outer region on that side.
    pub fn region_at(&self, x: f64, z: f64) -> RegionId {
        self.plan.lookup.region_at(x, z)
    }

    /// A region's rectangle, half-open, with infinite outer sides.
    ///
    /// # Panics
    /// If the map has no such region; see [`Self::has`].
    pub fn rect(&self, id: RegionId) -> Rect {
        self.plan.regions[id.0 as usize]
    }

    /// The part of a region inside the extent; finite.
    ///
    /// # Panics
    /// If the map has no such region; see [`Self::has`].
    pub fn finite_rect(&self, id: RegionId) -> Rect {
        self.plan.boxes[id.0 as usize]
    }

    /// Regions that share a border or a corner with this one, in ascending order, without itself.
    ///
    /// # Panics
    /// If the map has no such region; see [`Self::has`].
    pub fn neighbours(&self, id: RegionId) -> &[RegionId] {
        &self.plan.neighbours[id.0 as usize]
    }

    /// Do two different regions touch? `false` for ids the map does not have.
    pub fn are_neighbours(&self, a: RegionId, b: RegionId) -> bool {
        let neighbours = self.plan.neighbours.get(a.0 as usize);
        neighbours.is_some_and(|list| list.binary_search(&b).is_ok())
    }

    /// Does the map have this region? Ask before using an id from outside.
    pub fn has(&self, id: RegionId) -> bool {
        (id.0 as usize) < self.len()
    }

    /// All regions in ascending order.
    pub fn regions(&self) -> impl ExactSizeIterator<Item = RegionId> + use<> {
        (0..self.len() as u32).map(RegionId)
    }

    /// How many regions there are: at least one.
    #[expect(clippy::len_without_is_empty, reason = "a map is never empty")]
    pub fn len(&self) -> usize {
        self.plan.regions.len()
    }

    /// The part of the plane that was divided.
    pub fn extent(&self) -> Rect {
        self.plan.extent
    }

    /// The origin of a region's own frame: the middle of its finite part in whole metres, on the ground. The
    /// engine computes in `f32` around it, so that a region far out is as precise as one in the middle.
    ///
    /// # Panics
    /// If the map has no such region; see [`Self::has`].
    pub fn origin(&self, id: RegionId) -> DVec3 {
        let Rect { min, max } = self.finite_rect(id);
        let middle = |i: usize| (min[i] * 0.5 + max[i] * 0.5).round();
        DVec3::new(middle(0), 0.0, middle(1))
    }

    /// Are the regions large enough that bodies of two regions that are no neighbours never meet (the
    /// assumption of thesis 3.9)? An outer region counts as wide as its part inside the extent; a direction in
    /// which nobody is on either side does not count.
    pub fn check_size(&self, min_width_m: f64) -> Result<(), RegionMapError> {
        for region in self.regions() {
            self.check_widths(region, min_width_m)?;
        }
        for a in self.regions() {
            for b in self.regions().skip(a.0 as usize + 1) {
                self.check_gap(a, b, min_width_m)?;
            }
        }
        Ok(())
    }

    fn check_widths(&self, region: RegionId, needs_m: f64) -> Result<(), RegionMapError> {
        let (whole, finite) = (self.rect(region), self.finite_rect(region).size());
        for (i, axis) in ['x', 'z'].into_iter().enumerate() {
            let somebody_beside = whole.min[i].is_finite() || whole.max[i].is_finite();
            if somebody_beside && finite[i] < needs_m {
                return Err(RegionMapError::TooNarrow {
                    region,
                    axis,
                    width_m: finite[i],
                    needs_m,
                });
            }
        }
        Ok(())
    }

    fn check_gap(&self, a: RegionId, b: RegionId, needs_m: f64) -> Result<(), RegionMapError> {
        let gap_m = gap(&self.rect(a), &self.rect(b));
        if self.are_neighbours(a, b) || gap_m >= needs_m {
            return Ok(());
        }
        Err(RegionMapError::TooClose {
            a,
            b,
            gap_m,
            needs_m,
        })
    }
}

impl From<RegionMap> for Parts {
    fn from(map: RegionMap) -> Self {
        Self {
            version: map.version,
            extent: map.plan.extent,
            boxes: map.plan.boxes.clone(),
        }
    }
}

impl TryFrom<Parts> for RegionMap {
    type Error = RegionMapError;
    fn try_from(parts: Parts) -> Result<Self, RegionMapError> {
        Ok(Self::boxes(&parts.boxes, parts.extent)?.with_version(parts.version))
    }
}

/// Sides on the extent's edge move to infinity. They are bit-equal to it: the partition saw to that.
fn unbounded(rect: &Rect, extent: &Rect) -> Rect {
    let low = |i: usize| match rect.min[i] == extent.min[i] {
        true => f64::NEG_INFINITY,
        false => rect.min[i],
    };
    let high = |i: usize| match rect.max[i] == extent.max[i] {
        true => f64::INFINITY,
        false => rect.max[i],
    };
    Rect {
        min: [low(0), low(1)],
        max: [high(0), high(1)],
    }
}

fn touching(regions: &[Rect]) -> Vec<Vec<RegionId>> {
    let ids = |of: usize| {
        let others = regions.iter().enumerate();
        let near = others.filter(move |(i, rect)| *i != of && regions[of].touches(rect));
        near.map(|(i, _)| RegionId(i as u32)).collect()
    };
    (0..regions.len()).map(ids).collect()
}

/// The distance between two closed rectangles.
fn gap(a: &Rect, b: &Rect) -> f64 {
    let along = |i: usize| (a.min[i] - b.max[i]).max(b.min[i] - a.max[i]).max(0.0);
    along(0).hypot(along(1))
}

#[cfg(test)]
mod tests;
