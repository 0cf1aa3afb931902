//! A body's shape in few numbers: a line and a distance from it. Long bodies lie side by side far inside each other's
//! bounding spheres; of capsules the
//! gap is as easily computed as of spheres.

use crate::Shape;
use glam::{DVec3, Vec3};

/// All points within `girth` of the line from `centre − spine` to `centre + spine`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// Middle of the line.
    pub centre: DVec3,
    /// From the middle to one end; zero for a ball.
    pub spine: DVec3,
    /// Metres.
    pub girth: f64,
}

impl Capsule {
    /// The gap between two; negative if they overlap.
    pub fn gap_m(&self, other: &Self) -> f64 {
        distance_between_lines(self, other) - self.girth - other.girth
    }

    /// The radius of the sphere around its centre that holds it.
    pub fn bounding_radius(&self) -> f64 {
        self.spine.length() + self.girth
    }
}

/// The least distance between two segments (Ericson, *Real-Time Collision Detection*, 5.1.9), each given by middle and
/// half.
fn distance_between_lines(a: &Capsule, b: &Capsule) -> f64 {
    let between = a.centre - b.centre;
    let (aa, bb) = (a.spine.length_squared(), b.spine.length_squared());
    if aa == 0.0 && bb == 0.0 {
        return between.length();
    }
    let (ab, ar, br) = (
        a.spine.dot(b.spine),
        a.spine.dot(between),
        b.spine.dot(between),
    );
    // Places on the lines run from -1 to 1; a line of no length has one place.
    let along = |over: f64, under: f64| match under > 0.0 {
        true => (over / under).clamp(-1.0, 1.0),
        false => 0.0,
    };
    let mut s = along(ab * br - ar * bb, aa * bb - ab * ab);
    let t = along(ab * s + br, bb);
    s = along(ab * t - ar, aa);
    (between + a.spine * s - b.spine * t).length()
}

impl Shape {
    /// The line and the distance from it that hold the shape, in the body's own frame: spine and girth.
    pub fn spine(&self) -> (Vec3, f32) {
        match self {
            Self::Capsule { radius, height } => {
                (Vec3::Y * (height * 0.5 - radius).max(0.0), *radius)
            }
            Self::Cuboid { size } => spine_of_box(*size),
            other => (Vec3::ZERO, other.bounding_radius()),
        }
    }
}

fn spine_of_box(size: Vec3) -> (Vec3, f32) {
    let half = size * 0.5;
    let axis = [Vec3::X, Vec3::Y, Vec3::Z]
        .into_iter()
        .max_by(|a, b| half.dot(*a).total_cmp(&half.dot(*b)))
        .expect("three axes");
    let long = half.dot(axis);
    let across = (half - axis * long).length();
    // The line ends a little before the faces: as slim as that makes it, and not much longer than the box.
    let along = long - 0.5 * across;
    if long <= across {
        return (Vec3::ZERO, half.length());
    }
    (axis * along, across.hypot(long - along))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capsule(centre: [f64; 3], spine: [f64; 3], girth: f64) -> Capsule {
        Capsule {
            centre: DVec3::from_array(centre),
            spine: DVec3::from_array(spine),
            girth,
        }
    }

    #[test]
    fn gaps_of_balls_bars_and_crosses() {
        let ball = capsule([0.0; 3], [0.0; 3], 0.5);
        let bar = capsule([0.0, 2.0, 0.0], [3.0, 0.0, 0.0], 0.5);
        assert!((ball.gap_m(&bar) - 1.0).abs() < 1e-12);
        assert!((bar.gap_m(&ball) - 1.0).abs() < 1e-12);
        let beside = capsule([0.0, 3.2, 0.0], [3.0, 0.0, 0.0], 0.5);
        assert!((bar.gap_m(&beside) - 0.2).abs() < 1e-12, "parallel");
        let across = capsule([3.5, 2.0, 0.0], [0.0, 0.0, 2.0], 0.1);
        assert!((bar.gap_m(&across) + 0.1).abs() < 1e-12, "beyond the end");
        let behind = capsule([8.0, 2.0, 0.0], [1.0, 0.0, 0.0], 0.5);
        assert!((bar.gap_m(&behind) - 3.0).abs() < 1e-12, "in one line");
    }

    /// The least over a grid of places on both lines is never less than what is computed.
    #[test]
    fn no_two_points_are_nearer() {
        let dots: Vec<f64> = (0..=40).map(|i| f64::from(i) / 20.0 - 1.0).collect();
        let mut seed = 1_u64;
        let mut number = || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 40) as f64 / f64::from(1 << 23) - 1.0
        };
        for _ in 0..300 {
            let mut any = || [number() * 2.0, number(), number()];
            let (a, b) = (capsule(any(), any(), 0.0), capsule(any(), any(), 0.0));
            let points = dots.iter().flat_map(|s| dots.iter().map(move |t| (s, t)));
            let distances =
                points.map(|(s, t)| (a.centre + a.spine * *s - b.centre - b.spine * *t).length());
            let least = distances.fold(f64::INFINITY, f64::min);
            let gap = a.gap_m(&b);
            assert!(gap <= least + 1e-9 && gap >= least - 0.25, "{gap} {least}");
        }
    }

    #[test]
    fn a_box_is_inside() {
        for size in [
            [1.0, 1.0, 1.0],
            [0.3, 0.3, 1.0],
            [8.0, 0.2, 1.0],
            [0.1, 0.2, 0.3],
        ] {
            let half = Vec3::from_array(size) * 0.5;
            let (spine, girth) = Shape::Cuboid { size: 2.0 * half }.spine();
            let end = spine.length();
            let along = if end > 0.0 {
                half.dot(spine / end)
            } else {
                0.0
            };
            let beyond = (along - end).max(0.0);
            let across = (half.length_squared() - along * along).sqrt();
            assert!(across.hypot(beyond) <= girth + 1e-6, "{size:?}");
        }
    }
}
