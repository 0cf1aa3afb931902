//! From world coordinates to the engine's and back.
//!
//! `world = origin + local`, in `f64`, which adds nothing of its own for places the engine can tell apart;
//! `local = world − origin`, rounded to `f32` once. A body that goes out and comes back to the same origin
//! is where it was, bit by bit.

use domain::Rect;
use glam::{DVec3, Quat, Vec3};
use rapier3d::math::Pose;

/// More than single precision takes from a place anywhere in a region, metres.
pub(crate) const ROUNDING_M: f64 = 0.01;

/// The engine's place in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) origin: DVec3,
}

impl Frame {
    pub(crate) fn local(&self, world: DVec3) -> Vec3 {
        (world - self.origin).as_vec3()
    }

    pub(crate) fn world(&self, local: Vec3) -> DVec3 {
        self.origin + local.as_dvec3()
    }

    /// The sides of a rectangle of the ground plane, a little inside of where they are.
    pub(crate) fn local_edges(&self, rect: &Rect) -> LocalEdges {
        let [x, z] = [0, 1].map(|i| {
            let origin = self.origin.to_array()[2 * i];
            [
                rect.min[i] - origin + ROUNDING_M,
                rect.max[i] - origin - ROUNDING_M,
            ]
            .map(|edge| edge as f32)
        });
        LocalEdges { x, z }
    }

    pub(crate) fn local_pose(&self, position: DVec3, rotation: Quat) -> Pose {
        Pose::from_parts(self.local(position), rotation)
    }
}

/// A rectangle of the ground plane in the engine's coordinates.
pub(crate) struct LocalEdges {
    x: [f32; 2],
    z: [f32; 2],
}

impl LocalEdges {
    /// Is all of that inside?
    #[inline]
    pub(crate) fn hold(&self, min_x: f32, max_x: f32, min_z: f32, max_z: f32) -> bool {
        min_x >= self.x[0] && max_x <= self.x[1] && min_z >= self.z[0] && max_z <= self.z[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_and_back_is_exact() {
        let frame = Frame {
            origin: DVec3::new(1234.5678, -0.1, 1e6),
        };
        for local in [0.1f32, -17.3, 1e-3, 511.77, 1e-12, f32::MIN_POSITIVE] {
            let world = frame.world(Vec3::splat(local));
            let back = frame.local(world);
            // What the world can tell apart comes back as it was; what it cannot, never drifts.
            assert_eq!(frame.world(back), world);
            if local.abs() > 1e-2 {
                assert_eq!(back, Vec3::splat(local));
            }
        }
    }
}
