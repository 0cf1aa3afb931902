//! From world coordinates to the engine's and back.
//!
//! `world = origin + local`, in `f64`, which adds nothing of its own for places the engine can tell apart;
//! `local = world − origin`, rounded to `f32` once. A body that goes out and comes back to the same origin
//! is where it was, bit by bit.

use glam::{DVec3, Quat, Vec3};
use rapier3d::math::Pose;

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

    pub(crate) fn local_pose(&self, position: DVec3, rotation: Quat) -> Pose {
        Pose::from_parts(self.local(position), rotation)
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
