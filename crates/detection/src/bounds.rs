//! Boxes: closed ones around bodies, half-open ones that space is cut into.

use glam::Vec3;

/// The box around a body, both ends included. Coordinates are metres from the space's origin, the same on every member of a
/// group, so that two members who know the same state compute the same box bit by bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// The lowest corner.
    pub min: Vec3,
    /// The highest corner.
    pub max: Vec3,
}

impl Aabb {
    /// From centre and half extents.
    #[inline]
    pub fn around(centre: Vec3, half: Vec3) -> Self {
        Self {
            min: centre - half,
            max: centre + half,
        }
    }

    /// Do the boxes share a point?
    #[inline]
    pub fn touches(&self, other: &Self) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }

    /// The smallest box that holds both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// Larger by `margin` on every side.
    #[must_use]
    #[inline]
    pub fn grown(self, margin: Vec3) -> Self {
        Self {
            min: self.min - margin,
            max: self.max + margin,
        }
    }

    /// Its middle.
    #[inline]
    pub fn centre(&self) -> Vec3 {
        (self.min + self.max) * 0.5
    }

    /// Full extents.
    #[inline]
    pub fn size(&self) -> Vec3 {
        self.max - self.min
    }
}

/// A half-open part of space: `min` belongs to it, `max` does not, so that every point is in exactly one of the parts that a
/// cut makes. Outer faces may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The lowest corner.
    pub min: Vec3,
    /// The first corner beyond.
    pub max: Vec3,
}

impl Cell {
    /// All of space.
    pub const EVERYWHERE: Self = Self {
        min: Vec3::NEG_INFINITY,
        max: Vec3::INFINITY,
    };

    /// Is the point in it?
    #[inline]
    pub fn holds(&self, point: Vec3) -> bool {
        self.min.cmple(point).all() && point.cmplt(self.max).all()
    }

    /// Is the whole box in it?
    #[inline]
    pub fn contains(&self, inner: &Aabb) -> bool {
        self.min.cmple(inner.min).all() && inner.max.cmplt(self.max).all()
    }

    /// Does the box reach into it?
    #[inline]
    pub fn reached_by(&self, other: &Aabb) -> bool {
        self.min.cmple(other.max).all() && other.min.cmplt(self.max).all()
    }

    /// The two parts on either side of a plane.
    pub fn halves(&self, axis: usize, at: f32) -> [Self; 2] {
        let (mut low, mut high) = (*self, *self);
        low.max[axis] = at;
        high.min[axis] = at;
        [low, high]
    }
}

/// The longest axis; of equal ones x before y before z.
pub fn longest_axis(size: Vec3) -> usize {
    let mut longest = 0;
    for axis in 1..3 {
        if size[axis] > size[longest] {
            longest = axis;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_puts_every_point_on_one_side() {
        let [low, high] = Cell::EVERYWHERE.halves(1, 2.0);
        for y in [-1e30, 1.999, 2.0, 2.001, 1e30] {
            let point = Vec3::new(0.0, y, 0.0);
            assert!(low.holds(point) != high.holds(point), "{y}");
        }
        assert!(high.holds(Vec3::new(0.0, 2.0, 0.0)));
    }

    #[test]
    fn a_box_that_touches_the_open_face_does_not_reach_in() {
        let [low, high] = Cell::EVERYWHERE.halves(0, 0.0);
        let right = Aabb::around(Vec3::X * 0.5, Vec3::splat(0.5));
        assert!(high.contains(&right) && !low.reached_by(&right));
        // Touching the closed face from the left does: the point x = 0 is in both.
        let left = Aabb::around(Vec3::X * -0.5, Vec3::splat(0.5));
        assert!(high.reached_by(&left) && low.reached_by(&left) && !low.contains(&left));
    }

    #[test]
    fn ties_go_to_x_then_y() {
        assert_eq!(longest_axis(Vec3::ONE), 0);
        assert_eq!(longest_axis(Vec3::new(1.0, 2.0, 2.0)), 1);
        assert_eq!(longest_axis(Vec3::new(1.0, 1.0, 2.0)), 2);
    }
}
