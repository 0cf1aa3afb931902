//! What can be wrong with a region map, in words that name the place.

use super::{Layout, MAX_REGIONS};
use crate::{Rect, RegionId};
use thiserror::Error;

/// Why something is not a region map, or not one that auras of a size can work on.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RegionMapError {
    /// A map has at least one region and at most [`MAX_REGIONS`].
    #[error("{count} regions asked for; 1 to {MAX_REGIONS} are possible")]
    BadCount {
        /// How many.
        count: usize,
    },
    /// This layout exists for one number of servers only.
    #[error("layout {layout} is for {needs} server(s), not {servers}")]
    WrongCount {
        /// Which layout.
        layout: Layout,
        /// Its number.
        needs: usize,
        /// What was asked for.
        servers: usize,
    },
    /// Layout `boxes` says nothing without boxes.
    #[error("layout boxes needs a list of boxes")]
    BoxesNeeded,
    /// The world must have a size.
    #[error("the world's extent must be finite and not empty: {}", corners(.extent))]
    BadExtent {
        /// What was given.
        extent: Rect,
    },
    /// A box without area, or with a side that is no number.
    #[error("box {index} must be finite and not empty: {}", corners(.rect))]
    BadBox {
        /// Its place in the list, from 0.
        index: usize,
        /// What was given.
        rect: Rect,
    },
    /// A box sticks out of the world.
    #[error("box {index} ({}) reaches out of the world's extent ({})", corners(.rect), corners(.extent))]
    OutsideExtent {
        /// Its place in the list, from 0.
        index: usize,
        /// The box.
        rect: Rect,
        /// The world.
        extent: Rect,
    },
    /// Two boxes claim the same ground.
    #[error("boxes {a} and {b} overlap, for example in {}", corners(.at))]
    Overlap {
        /// The one.
        a: usize,
        /// The other.
        b: usize,
        /// A part both claim.
        at: Rect,
    },
    /// Ground that no box claims.
    #[error("no box covers {}{}", corners(.at), beside(.next_to))]
    Gap {
        /// A part that is left over.
        at: Rect,
        /// Boxes that touch it.
        next_to: Vec<usize>,
    },
    /// Auras of regions on both sides of this one could meet across it.
    #[error(
        "region {region} is {width_m:.1} m wide in {axis}, but auras of {:.1} m need at least {needs_m:.1} m: \
         fewer servers, another layout, or smaller tolerances", .needs_m / 2.0
    )]
    TooNarrow {
        /// Which region.
        region: RegionId,
        /// `x` or `z`.
        axis: char,
        /// How wide it is inside the extent.
        width_m: f64,
        /// How wide it must be.
        needs_m: f64,
    },
    /// Two regions that do not talk to each other are so near that their auras could meet.
    #[error(
        "regions {a} and {b} are no neighbours and only {gap_m:.1} m apart, but auras of {:.1} m need at least \
         {needs_m:.1} m: fewer servers, another layout, or smaller tolerances", .needs_m / 2.0
    )]
    TooClose {
        /// The one.
        a: RegionId,
        /// The other.
        b: RegionId,
        /// The distance between them.
        gap_m: f64,
        /// What it must be.
        needs_m: f64,
    },
}

fn corners(rect: &Rect) -> String {
    let Rect { min, max } = rect;
    format!("x {} to {}, z {} to {}", min[0], max[0], min[1], max[1])
}

fn beside(boxes: &[usize]) -> String {
    match boxes {
        [] => String::new(),
        [one] => format!(" (beside box {one})"),
        [rest @ .., last] => {
            let rest: Vec<String> = rest.iter().map(usize::to_string).collect();
            format!(" (beside boxes {} and {last})", rest.join(", "))
        }
    }
}
