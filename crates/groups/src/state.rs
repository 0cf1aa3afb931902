//! What is told about an object, how it goes on in between, and who is right when two differ.

use crate::{GroupEpoch, NodeId, ObjectKey};
use domain::SimTime;
use glam::{DVec3, Quat, Vec3};

/// The farthest from the origin an object may be, metres.
pub const MAX_COORDINATE_M: f64 = 1e7;
/// The fastest an object may move (m/s) or turn (rad/s).
pub const MAX_SPEED: f32 = 1e4;
/// The longest anything is extrapolated: older states stand still at where they would be by then.
pub const MAX_EXTRAPOLATION: SimTime = SimTime(2_000_000_000);

/// Which state of an object is newer. A later epoch wins; within an epoch the higher count, which only the object's holder
/// raises; the author breaks what no protocol of ours produces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The allocation under which it was simulated.
    pub epoch: GroupEpoch,
    /// One more with every state its holder tells.
    pub count: u64,
    /// Who told it.
    pub author: NodeId,
}

/// What is needed to show and to go on simulating an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectState {
    /// Whose state it is.
    pub key: ObjectKey,
    /// The time it speaks of.
    pub stamp: SimTime,
    /// How new it is. Avatars are ordered by `stamp` instead: only their client makes them.
    pub version: Version,
    /// Metres in the world.
    pub position: DVec3,
    /// A unit quaternion.
    pub rotation: Quat,
    /// m/s.
    pub velocity: Vec3,
    /// rad/s.
    pub spin: Vec3,
}

impl ObjectState {
    /// An object at rest.
    pub fn at_rest(key: ObjectKey, position: DVec3) -> Self {
        Self {
            key,
            stamp: SimTime::ZERO,
            version: Version::default(),
            position,
            rotation: Quat::IDENTITY,
            velocity: Vec3::ZERO,
            spin: Vec3::ZERO,
        }
    }

    /// Could this be the state of something? Whatever comes from outside is asked.
    pub fn is_sane(&self) -> bool {
        let near =
            self.position.is_finite() && self.position.abs().max_element() <= MAX_COORDINATE_M;
        let slow = |v: Vec3| v.is_finite() && v.abs().max_element() <= MAX_SPEED;
        let unit = (self.rotation.length_squared() - 1.0).abs() < 1e-2;
        near && unit && slow(self.velocity) && slow(self.spin)
    }

    /// Dead reckoning: where it is at another time if nothing happens to it (thesis §2.2.4; ST-45, ST-46). Backwards and beyond
    /// [`MAX_EXTRAPOLATION`] it stands still.
    #[must_use]
    pub fn reckoned(&self, at: SimTime) -> Self {
        let secs = at.since(self.stamp).min(MAX_EXTRAPOLATION).as_secs();
        let turn = Quat::from_scaled_axis(self.spin * secs as f32);
        Self {
            stamp: at.max(self.stamp),
            position: self.position + self.velocity.as_dvec3() * secs,
            rotation: (turn * self.rotation).normalize(),
            ..*self
        }
    }

    /// How far apart two copies are at the later of their times, metres.
    pub fn deviation(&self, other: &Self) -> f64 {
        let at = self.stamp.max(other.stamp);
        self.reckoned(at)
            .position
            .distance(other.reckoned(at).position)
    }
}

/// Says what is true when several tell different states of one object (thesis §3.3.8.1; ST-38): nothing needs to be said
/// (`None`) while no two differ by more than `threshold_m`; otherwise it is their weighted average at the latest of their times.
/// Leaders ask with θ_intra, the coordinator with the larger θ_inter. Weights that are not above zero count as nothing.
pub fn arbitrate(reports: &[(ObjectState, f64)], threshold_m: f64) -> Option<ObjectState> {
    let reports: Vec<_> = reports.iter().filter(|(_, weight)| *weight > 0.0).collect();
    let at = reports.iter().map(|(state, _)| state.stamp).max()?;
    let copies: Vec<(ObjectState, f64)> =
        reports.iter().map(|(s, w)| (s.reckoned(at), *w)).collect();
    let apart = copies.iter().enumerate().any(|(i, (a, _))| {
        let others = copies[i + 1..].iter();
        others
            .into_iter()
            .any(|(b, _)| a.position.distance(b.position) > threshold_m)
    });
    apart.then(|| average(&copies))
}

fn average(copies: &[(ObjectState, f64)]) -> ObjectState {
    let total: f64 = copies.iter().map(|(_, weight)| weight).sum();
    let newest = copies
        .iter()
        .map(|(state, _)| state)
        .max_by_key(|state| state.version);
    let newest = *newest.expect("there are copies to average");
    let mut mean = ObjectState {
        position: DVec3::ZERO,
        velocity: Vec3::ZERO,
        spin: Vec3::ZERO,
        ..newest
    };
    let mut turn = glam::Vec4::ZERO;
    for (state, weight) in copies {
        let share = weight / total;
        mean.position += state.position * share;
        mean.velocity += state.velocity * share as f32;
        mean.spin += state.spin * share as f32;
        // q and −q are the same orientation; add them on the same side.
        let side = if state.rotation.dot(newest.rotation) < 0.0 {
            -1.0
        } else {
            1.0
        };
        turn += glam::Vec4::from(state.rotation) * (share as f32 * side);
    }
    mean.rotation = match turn.length_squared() > 1e-6 {
        true => Quat::from_vec4(turn.normalize()),
        false => newest.rotation,
    };
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, secs: f64, speed: f32) -> ObjectState {
        ObjectState {
            stamp: SimTime::from_secs(secs),
            velocity: Vec3::new(speed, 0.0, 0.0),
            ..ObjectState::at_rest(ObjectKey::persistent(1), DVec3::new(x, 0.0, 0.0))
        }
    }

    #[test]
    fn st_46_reckoning_goes_on_and_stops_in_time() {
        let state = at(1.0, 1.0, 2.0);
        assert_eq!(state.reckoned(SimTime::from_secs(1.5)).position.x, 2.0);
        assert_eq!(
            state.reckoned(SimTime::from_secs(0.5)),
            state.reckoned(SimTime::from_secs(1.0))
        );
        assert_eq!(state.reckoned(SimTime::from_secs(100.0)).position.x, 5.0);
    }

    /// ST-38: below the threshold nothing is said; above it the weighted average, at one time.
    #[test]
    fn st_38_two_states_are_averaged_above_the_threshold_only() {
        let (a, b) = (at(0.0, 1.0, 1.0), at(1.0, 1.5, 1.0));
        assert_eq!(a.deviation(&b), 0.5, "one of them is half a second older");
        assert_eq!(arbitrate(&[(a, 1.0), (b, 1.0)], 0.5), None);
        let truth = arbitrate(&[(a, 3.0), (b, 1.0)], 0.4).expect("they differ");
        assert_eq!((truth.position.x, truth.stamp), (0.625, b.stamp));
        assert_eq!(
            arbitrate(&[(a, 1.0)], 0.0),
            None,
            "one opinion is the truth"
        );
        assert_eq!(arbitrate(&[], 0.0), None);
        assert_eq!(
            arbitrate(&[(a, 1.0), (b, 0.0)], 0.1),
            None,
            "no weight, no voice"
        );
    }

    #[test]
    fn st_38_orientations_are_averaged_on_one_side() {
        let turned = |angle: f32, sign: f32| ObjectState {
            rotation: Quat::from_rotation_y(angle) * sign,
            ..at(f64::from(angle), 0.0, 0.0)
        };
        let truth = arbitrate(&[(turned(0.2, 1.0), 1.0), (turned(0.4, -1.0), 1.0)], 0.0)
            .expect("they differ");
        assert!(truth.rotation.angle_between(Quat::from_rotation_y(0.3)) < 1e-3);
    }

    #[test]
    fn nonsense_is_recognised() {
        assert!(at(1.0, 0.0, 1.0).is_sane());
        for bad in [
            at(f64::NAN, 0.0, 0.0),
            at(1e9, 0.0, 0.0),
            at(0.0, 0.0, f32::INFINITY),
            at(0.0, 0.0, 1e5),
        ] {
            assert!(!bad.is_sane(), "{bad:?}");
        }
        let loose = ObjectState {
            rotation: Quat::from_xyzw(1.0, 1.0, 0.0, 0.0),
            ..at(0.0, 0.0, 0.0)
        };
        assert!(!loose.is_sane());
    }
}
