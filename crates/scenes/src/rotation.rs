//! Rotations of scene files: degrees about x, then about the turned y, then about the twice turned z
//! (intrinsic XYZ), computed so that every platform gets the same bits.

use glam::{DQuat, Quat};

/// The unit quaternion of `[x, y, z]` degrees. Sines come from `libm`, not from the platform's C
/// library, whose last bits differ between systems.
pub(crate) fn from_degrees(degrees: [f64; 3]) -> Quat {
    let [x, y, z] = degrees.map(|d| libm::sincos(d.to_radians() * 0.5));
    let about_x = DQuat::from_xyzw(x.0, 0.0, 0.0, x.1);
    let about_y = DQuat::from_xyzw(0.0, y.0, 0.0, y.1);
    let about_z = DQuat::from_xyzw(0.0, 0.0, z.0, z.1);
    (about_x * about_y * about_z).normalize().as_quat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{EulerRot, Vec3};

    #[test]
    fn order_is_intrinsic_xyz() {
        let q = from_degrees([90.0, 90.0, 0.0]);
        // The inner turn (about the body's y) takes x to -z, the outer one (about x) takes that to y.
        assert!((q * Vec3::X - Vec3::Y).length() < 1e-6);
        let glam = Quat::from_euler(EulerRot::XYZ, 0.3, -1.1, 2.0);
        let degrees = [0.3_f64, -1.1, 2.0].map(f64::to_degrees);
        assert!(from_degrees(degrees).angle_between(glam) < 1e-3);
        assert_eq!(from_degrees([0.0; 3]), Quat::IDENTITY);
    }
}
