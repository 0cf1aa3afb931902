//! A rotation in 44 bits: three of four components.
//!
//! ```text
//! which component is left out u2 │ the other three, in order x y z w, 3 × (steps of 1/11000 + 8192) u14
//! ```
//!
//! The one left out is the largest and positive; it follows from the others since the length is 1.

use super::{BitReader, BitWriter, Malformed, Why};
use glam::DQuat;

const QUATERNION_BITS: u32 = 14;
/// The three smaller components of a unit quaternion are at most 1/√2; steps of 1/11000 reach ±0.7446.
const QUATERNION_STEPS: f64 = 11_000.0;
const QUATERNION_OFFSET: f64 = (1 << (QUATERNION_BITS - 1)) as f64;

/// A quaternion without one of its components.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    left_out: usize,
    steps: [f64; 3],
}

impl Packed {
    /// Usually the largest component is left out. A rotation that came from the wire is written exactly as it was read,
    /// even if rounding has made another component the largest.
    pub(super) fn of(rotation: DQuat) -> Self {
        let as_read = (0..4).map(|left_out| Self::without(rotation, left_out));
        let mut exact = as_read.filter(|packed| packed.rotation() == Some(rotation));
        exact.next().unwrap_or_else(|| {
            let sizes = rotation.to_array().map(f64::abs);
            let largest = (1..4).fold(0, |best, i| if sizes[i] > sizes[best] { i } else { best });
            Self::without(rotation.normalize(), largest)
        })
    }

    fn without(rotation: DQuat, left_out: usize) -> Self {
        let all = rotation.to_array();
        let sign = if all[left_out] < 0.0 { -1.0 } else { 1.0 };
        let mut kept = (0..4).filter(|i| *i != left_out).map(|i| all[i] * sign);
        let limit = QUATERNION_OFFSET - 1.0;
        let mut step = || (kept.next().unwrap_or(0.0) * QUATERNION_STEPS).round();
        let steps = [(); 3].map(|()| step().clamp(-limit, limit));
        Self { left_out, steps }
    }

    /// The rotation it stands for; `None` if the components are longer than one.
    pub(super) fn rotation(&self) -> Option<DQuat> {
        let kept = self.steps.map(|step| step / QUATERNION_STEPS + 0.0);
        let square: f64 = kept.iter().map(|v| v * v).sum();
        if square > 1.0 {
            return None;
        }
        let mut all = [0.0; 4];
        let others = (0..4).filter(|i| *i != self.left_out);
        others.zip(kept).for_each(|(i, value)| all[i] = value);
        all[self.left_out] = (1.0 - square).sqrt();
        Some(DQuat::from_array(all))
    }
}

/// Appends a unit quaternion.
pub(super) fn put_rotation(out: &mut BitWriter, rotation: DQuat) {
    let packed = Packed::of(rotation);
    out.bits(packed.left_out as u64, 2);
    for step in packed.steps {
        out.bits((step + QUATERNION_OFFSET) as u64, QUATERNION_BITS);
    }
}

/// Reads a unit quaternion.
pub(super) fn get_rotation(reader: &mut BitReader<'_>) -> Result<DQuat, Malformed> {
    let start = reader.clone();
    let left_out = reader.bits(2, "rotation")? as usize;
    let mut steps = [0.0; 3];
    for step in &mut steps {
        *step = reader.bits(QUATERNION_BITS, "rotation")? as f64 - QUATERNION_OFFSET;
    }
    // The lowest code has no positive counterpart; nobody writes it.
    let writable = steps.iter().all(|step| *step > -QUATERNION_OFFSET);
    let rotation = writable.then(|| Packed { left_out, steps }.rotation());
    rotation
        .flatten()
        .ok_or_else(|| start.error("rotation", Why::NotUnit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_and_signs_come_back_exactly_the_second_time() {
        let half = DQuat::from_xyzw(0.5, -0.5, 0.5, -0.5);
        let ties = [
            half,
            DQuat::from_xyzw(
                std::f64::consts::FRAC_1_SQRT_2,
                0.0,
                0.0,
                std::f64::consts::FRAC_1_SQRT_2,
            ),
            DQuat::from_xyzw(0.0, 0.0, 0.0, -1.0),
            DQuat::IDENTITY,
        ];
        for rotation in ties {
            let once = Packed::of(rotation).rotation().expect("a unit quaternion");
            let twice = Packed::of(once).rotation().expect("a unit quaternion");
            assert_eq!(once, twice);
            assert!(once.dot(rotation).abs() > 1.0 - 1e-8, "{once} {rotation}");
        }
    }
}
