//! From the name of a vertex to its part of the world.
//!
//! Every cut halves the longest side of what is left, at its middle; of equal sides x is cut first, then y, then z. Where
//! regions are cut on the ground only, y is never cut. Sub-spaces are half-open (the low side belongs to them, the high side to the
//! one behind it), and those at the world's edge reach to infinity, so that every point is in exactly one.

use crate::VertexId;
use domain::{Bounds, Rect};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Along which axes a world is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Axes {
    /// x, y and z, as the thesis does.
    Space,
    /// x and z only: sub-spaces are columns, as the regions of a region map are.
    #[default]
    Ground,
}

/// A world and how it is cut. With a [`VertexId`] it gives the same sub-space on every machine (ST-16): only halving and
/// adding is involved, which is the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Division {
    world: Bounds,
    axes: Axes,
}

/// A world that cannot be divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the world to divide must be finite and larger than nothing along every axis that is cut")]
pub struct DivisionError;

/// The part of the world below a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubSpace {
    /// Inside the world's bounds.
    pub finite: Bounds,
    /// The same with sides on the world's edge at infinity; half-open.
    pub reach: Bounds,
}

impl Division {
    /// A division of this world.
    pub fn new(world: Bounds, axes: Axes) -> Result<Self, DivisionError> {
        let cut = axes.cut();
        let good = |i: usize| {
            let (low, high) = (world.min[i], world.max[i]);
            // Far enough from the largest number that a middle is always a number.
            low.abs() < 1e300 && high.abs() < 1e300 && low < high
        };
        let fine = (0..3).all(|i| good(i) || !cut[i]);
        if fine {
            Ok(Self { world, axes })
        } else {
            Err(DivisionError)
        }
    }

    /// A division of the ground plane.
    pub fn of_ground(extent: Rect) -> Result<Self, DivisionError> {
        let world = Bounds {
            min: DVec3::new(extent.min[0], 0.0, extent.min[1]),
            max: DVec3::new(extent.max[0], 0.0, extent.max[1]),
        };
        Self::new(world, Axes::Ground)
    }

    /// What is divided.
    pub fn world(&self) -> Bounds {
        self.world
    }

    /// Along which axes.
    pub fn axes(&self) -> Axes {
        self.axes
    }

    /// The sub-space of a vertex. A vertex deeper than [`VertexId::MAX_DEPTH`] gives that of its ancestor there.
    pub fn sub_space(&self, vertex: VertexId) -> SubSpace {
        let mut walk = self.walk();
        for right in vertex.path().take(VertexId::MAX_DEPTH as usize) {
            walk.turn(right);
        }
        walk.at
    }

    /// The plane that cuts a vertex: its axis (0 x, 1 y, 2 z) and where.
    pub fn cut_of(&self, vertex: VertexId) -> (usize, f64) {
        let mut walk = self.walk();
        walk.at = self.sub_space(vertex);
        walk.cut()
    }

    /// Down from the root, one cut at a time.
    pub(crate) fn walk(&self) -> Walk {
        let finite = self.world;
        let reach = Bounds {
            min: DVec3::NEG_INFINITY,
            max: DVec3::INFINITY,
        };
        Walk {
            axes: self.axes,
            at: SubSpace { finite, reach },
        }
    }
}

impl Axes {
    fn cut(self) -> [bool; 3] {
        [true, self == Self::Space, true]
    }
}

/// A place in the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    axes: Axes,
    at: SubSpace,
}

impl Walk {
    fn cut(&self) -> (usize, f64) {
        let Bounds { min, max } = self.at.finite;
        let size = max - min;
        let cut = self.axes.cut();
        let mut longest = 0;
        for axis in 1..3 {
            if cut[axis] && size[axis] > size[longest] {
                longest = axis;
            }
        }
        (longest, min[longest] * 0.5 + max[longest] * 0.5)
    }

    fn turn(&mut self, right: bool) {
        let (axis, middle) = self.cut();
        let SubSpace { finite, reach } = &mut self.at;
        if right {
            (finite.min[axis], reach.min[axis]) = (middle, middle);
        } else {
            (finite.max[axis], reach.max[axis]) = (middle, middle);
        }
    }

    /// Goes to the half that holds the point; says whether that was the right one.
    pub(crate) fn turn_towards(&mut self, point: DVec3) -> bool {
        let (axis, middle) = self.cut();
        let right = point[axis] >= middle;
        self.turn(right);
        right
    }
}

impl SubSpace {
    /// Is the point in here?
    pub fn holds(&self, point: DVec3) -> bool {
        point.cmpge(self.reach.min).all() && point.cmplt(self.reach.max).all()
    }

    /// Does any of the box lie in here? Its lowest corner decides on a shared side, as for points.
    pub fn reached_by(&self, bounds: &Bounds) -> bool {
        bounds.max.cmpge(self.reach.min).all() && bounds.min.cmplt(self.reach.max).all()
    }

    /// Its share of the world, as a rectangle on the ground, with infinite outer sides.
    pub fn ground(&self) -> Rect {
        self.reach.ground()
    }

    /// The volume of the finite part.
    pub fn volume(&self) -> f64 {
        let size = self.finite.max - self.finite.min;
        size.x * size.y * size.z
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(side: f64) -> Division {
        let world = Bounds {
            min: DVec3::ZERO,
            max: DVec3::splat(side),
        };
        Division::new(world, Axes::Space).expect("a good world")
    }

    /// ST-16: longest side first; of equal ones x, then y, then z.
    #[test]
    fn st_16_the_longest_side_is_halved() {
        let division = cube(8.0);
        assert_eq!(division.cut_of(VertexId::ROOT), (0, 4.0));
        assert_eq!(division.cut_of(VertexId(1)), (1, 4.0));
        assert_eq!(division.cut_of(VertexId(4)), (2, 4.0));
        assert_eq!(division.cut_of(VertexId(10)), (0, 2.0));
        let right = division.sub_space(VertexId(2));
        assert_eq!(right.finite.min, DVec3::new(4.0, 0.0, 0.0));
        assert_eq!(right.reach.max, DVec3::INFINITY);
        assert_eq!(right.volume(), 256.0);
    }

    #[test]
    fn st_16_on_the_ground_y_is_never_cut() {
        let world = Bounds {
            min: DVec3::ZERO,
            max: DVec3::new(4.0, 100.0, 2.0),
        };
        let division = Division::new(world, Axes::Ground).expect("a good world");
        for vertex in 0..1000 {
            assert_ne!(division.cut_of(VertexId(vertex)).0, 1);
        }
    }

    #[test]
    fn worlds_that_cannot_be_divided_are_refused() {
        let boxed = |min: f64, max: f64| Bounds {
            min: DVec3::splat(min),
            max: DVec3::splat(max),
        };
        for (min, max) in [
            (0.0, 0.0),
            (1.0, 0.0),
            (0.0, f64::INFINITY),
            (f64::NAN, 1.0),
            (-1e305, 1e305),
        ] {
            assert_eq!(
                Division::new(boxed(min, max), Axes::Space),
                Err(DivisionError)
            );
        }
        let extent = Rect {
            min: [0.0; 2],
            max: [1.0; 2],
        };
        assert!(Division::of_ground(extent).is_ok());
    }

    /// Any number may come from outside as a vertex.
    #[test]
    fn no_vertex_is_too_deep_to_name_a_place() {
        let division = cube(1.0);
        for vertex in [u64::MAX, u64::MAX - 1, 1 << 63] {
            let space = division.sub_space(VertexId(vertex));
            assert!(space.finite.min.is_finite());
        }
    }
}
