//! Is this list of boxes a partition of the extent? And the table that finds a point's box.
//!
//! All sides together cut the extent into cells. A partition claims every cell exactly once, and the list
//! of who claims which cell is at the same time the lookup table: two binary searches and one read.

use super::{MAX_REGIONS, RegionMapError, SAME_LINE_M};
use crate::{Rect, RegionId};

/// Finds the region of a point.
#[derive(Debug, PartialEq)]
pub(super) struct Lookup {
    /// Where cells meet along x and along z, ascending, without the extent's own sides.
    cuts: [Vec<f64>; 2],
    /// The region of each cell, row by row.
    cells: Vec<RegionId>,
}

impl Lookup {
    pub(super) fn region_at(&self, x: f64, z: f64) -> RegionId {
        let place = |i: usize, v: f64| self.cuts[i].partition_point(|cut| *cut <= v);
        let columns = self.cuts[0].len() + 1;
        self.cells[place(1, z) * columns + place(0, x)]
    }
}

/// The boxes with sides that are meant to be one line made equal, and the lookup table.
pub(super) fn check(boxes: &[Rect], extent: Rect) -> Result<(Vec<Rect>, Lookup), RegionMapError> {
    if boxes.is_empty() || boxes.len() > MAX_REGIONS {
        return Err(RegionMapError::BadCount { count: boxes.len() });
    }
    check_extent(&extent)?;
    for (index, rect) in boxes.iter().enumerate() {
        check_box(index, rect, &extent)?;
    }
    let lines = [lines(boxes, &extent, 0), lines(boxes, &extent, 1)];
    let boxes: Vec<Rect> = boxes.iter().map(|b| aligned(b, &lines)).collect();
    let claims = claims(&boxes, &lines)?;
    let inner = |i: usize| lines[i][1..lines[i].len() - 1].to_vec();
    let cells = claims.into_iter().map(|i| RegionId(i as u32)).collect();
    let lookup = Lookup {
        cuts: [inner(0), inner(1)],
        cells,
    };
    Ok((boxes, lookup))
}

pub(super) fn check_extent(extent: &Rect) -> Result<(), RegionMapError> {
    if is_solid(extent) {
        Ok(())
    } else {
        Err(RegionMapError::BadExtent { extent: *extent })
    }
}

fn check_box(index: usize, rect: &Rect, extent: &Rect) -> Result<(), RegionMapError> {
    let rect = *rect;
    if !is_solid(&rect) {
        return Err(RegionMapError::BadBox { index, rect });
    }
    if !extent.grown(SAME_LINE_M).contains(&rect) {
        return Err(RegionMapError::OutsideExtent {
            index,
            rect,
            extent: *extent,
        });
    }
    Ok(())
}

/// Finite, and wide enough that its two sides are two lines.
fn is_solid(rect: &Rect) -> bool {
    let Rect { min, max } = rect;
    let finite = min.iter().chain(max).all(|v| v.is_finite());
    finite
        && rect
            .size()
            .iter()
            .all(|side| side.is_finite() && *side > 2.0 * SAME_LINE_M)
}

/// All lines along one axis, ascending, from the extent's low side to its high side.
fn lines(boxes: &[Rect], extent: &Rect, axis: usize) -> Vec<f64> {
    let (low, high) = (extent.min[axis], extent.max[axis]);
    let mut sides: Vec<f64> = boxes
        .iter()
        .flat_map(|b| [b.min[axis], b.max[axis]])
        .filter(|v| *v - low > SAME_LINE_M && high - *v > SAME_LINE_M)
        .collect();
    sides.sort_by(f64::total_cmp);
    let mut lines = vec![low];
    for side in sides {
        let last = *lines.last().expect("the extent's low side is there");
        if side - last > SAME_LINE_M {
            lines.push(side);
        }
    }
    lines.push(high);
    lines
}

fn aligned(rect: &Rect, lines: &[Vec<f64>; 2]) -> Rect {
    let nearest = |axis: usize, v: f64| lines[axis][line(&lines[axis], v)];
    Rect {
        min: [nearest(0, rect.min[0]), nearest(1, rect.min[1])],
        max: [nearest(0, rect.max[0]), nearest(1, rect.max[1])],
    }
}

/// The index of the line nearest to a value.
fn line(lines: &[f64], v: f64) -> usize {
    let above = lines.partition_point(|l| *l < v).min(lines.len() - 1);
    let below = above.saturating_sub(1);
    if v - lines[below] < lines[above] - v {
        below
    } else {
        above
    }
}

/// Which box claims each cell. Ends at the first cell that is claimed twice, so the work is bounded by the
/// number of cells however the boxes lie.
fn claims(boxes: &[Rect], lines: &[Vec<f64>; 2]) -> Result<Vec<usize>, RegionMapError> {
    const NOBODY: usize = usize::MAX;
    let columns = lines[0].len() - 1;
    let mut claims = vec![NOBODY; columns * (lines[1].len() - 1)];
    for (index, rect) in boxes.iter().enumerate() {
        for row in line(&lines[1], rect.min[1])..line(&lines[1], rect.max[1]) {
            for column in line(&lines[0], rect.min[0])..line(&lines[0], rect.max[0]) {
                let claim = &mut claims[row * columns + column];
                if *claim != NOBODY {
                    return Err(RegionMapError::Overlap {
                        a: *claim,
                        b: index,
                        at: cell(lines, row, column),
                    });
                }
                *claim = index;
            }
        }
    }
    match claims.iter().position(|claim| *claim == NOBODY) {
        Some(free) => Err(gap(boxes, cell(lines, free / columns, free % columns))),
        None => Ok(claims),
    }
}

fn cell(lines: &[Vec<f64>; 2], row: usize, column: usize) -> Rect {
    Rect {
        min: [lines[0][column], lines[1][row]],
        max: [lines[0][column + 1], lines[1][row + 1]],
    }
}

fn gap(boxes: &[Rect], at: Rect) -> RegionMapError {
    let touching = boxes.iter().enumerate().filter(|(_, b)| b.touches(&at));
    RegionMapError::Gap {
        at,
        next_to: touching.map(|(i, _)| i).collect(),
    }
}
