//! Two triangles: do they touch, and which way would they part soonest?

use glam::Vec3;

/// Where and how deep two triangles meet: point, unit normal from the first to the second, depth. `None` if they are apart.
///
/// Separating axes: both normals, nine products of edges, and for triangles in one plane the edges' normals in that plane. Two
/// triangles that merely touch count as meeting.
pub(crate) fn meet(a: &[Vec3; 3], b: &[Vec3; 3]) -> Option<(Vec3, Vec3, f32)> {
    let edges = |t: &[Vec3; 3]| [t[1] - t[0], t[2] - t[1], t[0] - t[2]];
    let (ea, eb) = (edges(a), edges(b));
    let (na, nb) = (ea[0].cross(ea[1]), eb[0].cross(eb[1]));
    let mut best = (f32::INFINITY, Vec3::Y);
    let mut tried = 0;
    let mut try_axis = |axis: Vec3, best: &mut (f32, Vec3)| -> bool {
        let length = axis.length();
        if length < 1e-9 {
            return true;
        }
        tried += 1;
        let axis = axis / length;
        let ((a_low, a_high), (b_low, b_high)) = (span(a, axis), span(b, axis));
        // Numbers of this size are not exact; apart means apart by more than their last digits.
        let slack = 1e-6 * (a_high.abs() + b_high.abs() + a_low.abs() + b_low.abs());
        let (forth, back) = (a_high - b_low, b_high - a_low);
        if forth < -slack || back < -slack {
            return false;
        }
        if forth <= back && forth < best.0 {
            *best = (forth, axis);
        } else if back < forth && back < best.0 {
            *best = (back, -axis);
        }
        true
    };
    for axis in [na, nb] {
        if !try_axis(axis, &mut best) {
            return None;
        }
    }
    for x in ea {
        for y in eb {
            if !try_axis(x.cross(y), &mut best) {
                return None;
            }
        }
    }
    if na.cross(nb).length_squared() <= 1e-10 * na.length_squared() * nb.length_squared() {
        for edge in ea.into_iter().chain(eb) {
            if !try_axis(edge.cross(na), &mut best) {
                return None;
            }
        }
    }
    (tried > 0).then(|| (middle(a, b), best.1, best.0.max(0.0)))
}

fn span(triangle: &[Vec3; 3], axis: Vec3) -> (f32, f32) {
    let [x, y, z] = triangle.map(|corner| corner.dot(axis));
    (x.min(y).min(z), x.max(y).max(z))
}

/// The middle of where edges pierce the other triangle; of triangles in one plane the middle between them.
fn middle(a: &[Vec3; 3], b: &[Vec3; 3]) -> Vec3 {
    let (mut sum, mut count) = (Vec3::ZERO, 0.0);
    for (from, other) in [(a, b), (b, a)] {
        for i in 0..3 {
            if let Some(point) = pierce(from[i], from[(i + 1) % 3], other) {
                sum += point;
                count += 1.0;
            }
        }
    }
    if count > 0.0 {
        return sum / count;
    }
    (a[0] + a[1] + a[2] + b[0] + b[1] + b[2]) / 6.0
}

fn pierce(from: Vec3, to: Vec3, triangle: &[Vec3; 3]) -> Option<Vec3> {
    let along = to - from;
    let (e1, e2) = (triangle[1] - triangle[0], triangle[2] - triangle[0]);
    let p = along.cross(e2);
    let determinant = e1.dot(p);
    if determinant.abs() < 1e-12 {
        return None;
    }
    let t = from - triangle[0];
    let u = t.dot(p) / determinant;
    let q = t.cross(e1);
    let v = along.dot(q) / determinant;
    let s = e2.dot(q) / determinant;
    let inside = u >= 0.0 && v >= 0.0 && u + v <= 1.0 && (0.0..=1.0).contains(&s);
    inside.then(|| from + along * s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle(offset: Vec3) -> [Vec3; 3] {
        [Vec3::ZERO, Vec3::X, Vec3::Z].map(|corner| corner + offset)
    }

    #[test]
    fn crossing_apart_and_in_one_plane() {
        let flat = triangle(Vec3::ZERO);
        let upright = [
            Vec3::new(0.2, -0.5, 0.2),
            Vec3::new(0.2, 0.5, 0.2),
            Vec3::new(0.3, 0.5, 0.3),
        ];
        let (point, _, _) = meet(&flat, &upright).expect("it is pierced");
        assert!(point.y.abs() < 0.3 && point.x > 0.1);
        assert!(meet(&flat, &triangle(Vec3::Y * 0.01)).is_none());
        assert!(meet(&flat, &triangle(Vec3::X * 0.5)).is_some(), "in plane");
        assert!(
            meet(&flat, &triangle(Vec3::X * 1.1)).is_none(),
            "in plane, apart"
        );
    }
}
