//! How far two places, or two orientations, are apart.

use super::models::Placed;
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// What counts as the distance between the real place and the believed one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DistanceRule {
    /// The straight line between the two.
    #[default]
    Euclidean,
    /// The largest difference on any of the three axes, as in BZFlag.
    AnyAxis,
    /// The distance from the believed course, as in the thesis's library. It misses a change of speed along
    /// the course, however large; for comparison only (digest §7, C3).
    FromCourse,
}

impl DistanceRule {
    /// Metres between the real position and the believed place.
    pub fn measure(self, real: DVec3, believed: &Placed) -> f64 {
        let apart = real - believed.position;
        match self {
            Self::Euclidean => apart.length(),
            Self::AnyAxis => apart.abs().max_element(),
            Self::FromCourse => match believed.velocity.try_normalize() {
                Some(course) => apart.cross(course).length(),
                None => apart.length(),
            },
        }
    }
}

/// The smallest angle that turns one orientation into the other, 0 to π. Precise for tiny angles too, where the
/// arc cosine of the scalar product would lose half of the digits.
pub fn angle_between(a: DQuat, b: DQuat) -> f64 {
    let between = a.conjugate() * b;
    2.0 * between.xyz().length().atan2(between.w.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(velocity: DVec3) -> Placed {
        Placed {
            position: DVec3::ZERO,
            rotation: DQuat::IDENTITY,
            velocity,
        }
    }

    #[test]
    fn the_three_rules_differ_as_described() {
        let real = DVec3::new(3.0, 0.0, 4.0);
        let believed = placed(DVec3::new(2.0, 0.0, 0.0));
        assert_eq!(DistanceRule::Euclidean.measure(real, &believed), 5.0);
        assert_eq!(DistanceRule::AnyAxis.measure(real, &believed), 4.0);
        assert_eq!(DistanceRule::FromCourse.measure(real, &believed), 4.0);
        let standing = placed(DVec3::ZERO);
        assert_eq!(DistanceRule::FromCourse.measure(real, &standing), 5.0);
    }

    #[test]
    fn angles_are_precise_when_tiny_and_take_the_short_way() {
        let tiny = DQuat::from_rotation_z(1e-9);
        assert!((angle_between(DQuat::IDENTITY, tiny) - 1e-9).abs() < 1e-18);
        let long_way = DQuat::from_rotation_y(1.5 * std::f64::consts::PI);
        let angle = angle_between(DQuat::IDENTITY, long_way);
        assert!((angle - 0.5 * std::f64::consts::PI).abs() < 1e-12);
        assert!(
            angle_between(tiny, -tiny) < 1e-12,
            "q and -q are one orientation"
        );
    }
}
