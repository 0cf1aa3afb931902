//! Layouts: the ways to cut an extent into a number of boxes.

use super::{MAX_REGIONS, RegionMapError};
use crate::Rect;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// How the world is cut. Its name in files and on the command line is that of [`fmt::Display`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One region.
    Single,
    /// Slices along x: at most two neighbours each.
    Columns,
    /// Rows and columns as square as possible; where the number does not divide well, rows of unequal count
    /// (7 is 2-3-2) as high as their count demands, so that all regions have the same area.
    Grid,
    /// Divided in two across the longer side, again and again; each side gets its share of the area.
    Tree,
    /// The boxes given.
    Boxes,
    /// The thesis's three regions: a T junction, one full-width region and two halves.
    #[serde(rename = "thesis-3")]
    ThesisThree,
    /// The thesis's seven regions with 3-way corners only: rows of 2, 3 and 2.
    #[serde(rename = "thesis-7")]
    ThesisSeven,
}

/// A word that is no layout.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown layout \"{0}\"; known are {names}", names = Layout::names())]
pub struct UnknownLayout(pub String);

impl Layout {
    /// Every layout, in the order in which they are listed to people.
    pub const ALL: [Self; 7] = [
        Self::Single,
        Self::Columns,
        Self::Grid,
        Self::Tree,
        Self::Boxes,
        Self::ThesisThree,
        Self::ThesisSeven,
    ];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Columns => "columns",
            Self::Grid => "grid",
            Self::Tree => "tree",
            Self::Boxes => "boxes",
            Self::ThesisThree => "thesis-3",
            Self::ThesisSeven => "thesis-7",
        }
    }

    /// The number of servers it is made for, if it is made for one number only.
    pub fn fixed_servers(self) -> Option<usize> {
        match self {
            Self::Single => Some(1),
            Self::ThesisThree => Some(3),
            Self::ThesisSeven => Some(7),
            Self::Columns | Self::Grid | Self::Tree | Self::Boxes => None,
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Boxes that cover the extent.
    pub(super) fn cut(self, servers: usize, extent: Rect) -> Result<Vec<Rect>, RegionMapError> {
        if servers == 0 || servers > MAX_REGIONS {
            return Err(RegionMapError::BadCount { count: servers });
        }
        if let Some(needs) = self.fixed_servers().filter(|needs| *needs != servers) {
            return Err(RegionMapError::WrongCount {
                layout: self,
                needs,
                servers,
            });
        }
        match self {
            Self::Single => Ok(vec![extent]),
            Self::Columns => Ok(rows(&extent, &[(servers, 1.0)])),
            Self::Grid => Ok(grid(&extent, servers)),
            Self::Tree => Ok(tree(&extent, servers)),
            Self::ThesisThree => Ok(rows(&extent, &[(1, 1.0), (2, 1.0)])),
            Self::ThesisSeven => Ok(rows(&extent, &[(2, 1.0), (3, 1.0), (2, 1.0)])),
            Self::Boxes => Err(RegionMapError::BoxesNeeded),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Layout {
    type Err = UnknownLayout;
    fn from_str(word: &str) -> Result<Self, UnknownLayout> {
        let known = Self::ALL.into_iter().find(|layout| layout.name() == word);
        known.ok_or_else(|| UnknownLayout(word.to_string()))
    }
}

/// Rows along z, each cut into a number of equal boxes along x: `(count, share of the height)`.
fn rows(extent: &Rect, rows: &[(usize, f64)]) -> Vec<Rect> {
    let total: f64 = rows.iter().map(|(_, share)| share).sum();
    let mut boxes = Vec::new();
    let mut below = 0.0;
    for (count, share) in rows {
        let z = |part: f64| at(extent, 1, part / total);
        let (min_z, max_z) = (z(below), z(below + share));
        for i in 0..*count {
            let x = |i: usize| at(extent, 0, i as f64 / *count as f64);
            boxes.push(Rect {
                min: [x(i), min_z],
                max: [x(i + 1), max_z],
            });
        }
        below += share;
    }
    boxes
}

/// A place in the extent, 0 its low side and exactly 1 its high side.
fn at(extent: &Rect, axis: usize, share: f64) -> f64 {
    let (low, high) = (extent.min[axis], extent.max[axis]);
    if share >= 1.0 {
        high
    } else {
        low + (high - low) * share
    }
}

fn grid(extent: &Rect, servers: usize) -> Vec<Rect> {
    let short = (1..=servers.isqrt())
        .rev()
        .find(|n| servers.is_multiple_of(*n))
        .expect("1 divides every number");
    let long = servers / short;
    // A strip is no grid: 5 is better as 2-3 than as 1x5, 14 as 3-4-4-3 than as 2x7.
    if long > 3 * short {
        return rows(extent, &uneven_rows(servers));
    }
    let [width, depth] = extent.size();
    let (row_count, columns) = if width >= depth {
        (short, long)
    } else {
        (long, short)
    };
    rows(extent, &vec![(columns, 1.0); row_count])
}

/// About as many rows as columns, the fuller rows in the middle, heights by count.
fn uneven_rows(servers: usize) -> Vec<(usize, f64)> {
    let count = (servers as f64).sqrt().round() as usize;
    let (base, extra) = (servers / count, servers % count);
    let first = (count - extra) / 2;
    let fuller = first..first + extra;
    let in_row = |row| base + usize::from(fuller.contains(&row));
    (0..count)
        .map(|row| (in_row(row), in_row(row) as f64))
        .collect()
}

fn tree(rect: &Rect, servers: usize) -> Vec<Rect> {
    if servers == 1 {
        return vec![*rect];
    }
    let [width, depth] = rect.size();
    let axis = usize::from(depth > width);
    let low_share = servers / 2;
    let cut = at(rect, axis, low_share as f64 / servers as f64);
    let (mut low, mut high) = (*rect, *rect);
    low.max[axis] = cut;
    high.min[axis] = cut;
    let mut boxes = tree(&low, low_share);
    boxes.extend(tree(&high, servers - low_share));
    boxes
}
