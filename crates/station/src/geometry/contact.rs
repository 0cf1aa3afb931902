//! When two balls touch: exactly for straight lines, by stepping and halving for curves.

use super::Course;
use domain::SimTime;
use glam::DVec3;

/// A curved path is looked at this often ...
const STEPS: u32 = 24;
/// ... and a contact between two looks is narrowed down by so many halvings (to a millionth of a step).
const HALVINGS: u32 = 20;

/// Seconds until two balls moving straight on touch (ML-11): 0 if they overlap and approach, infinite if they separate or pass.
///
/// `offset` and `velocity` are those of one relative to the other, `reach` the sum of the radii.
pub fn time_to_contact(offset: DVec3, velocity: DVec3, reach: f64) -> f64 {
    let a = velocity.length_squared();
    let b = offset.dot(velocity);
    let k = offset.length_squared() - reach * reach;
    if b >= 0.0 {
        return f64::INFINITY;
    }
    if k <= 0.0 {
        return 0.0;
    }
    let discriminant = b * b - a * k;
    if discriminant < 0.0 {
        return f64::INFINITY;
    }
    // The usual (−b − √disc)/a loses digits when the two nearly cancel; this is the same number.
    k / (-b + discriminant.sqrt())
}

/// Seconds from `now` until two bodies on these courses touch, if that is within `horizon` seconds.
pub(crate) fn first_contact(
    [one, other]: [&Course; 2],
    now: SimTime,
    reach: f64,
    horizon: f64,
    curved: bool,
) -> Option<f64> {
    let (here, there) = (one.at(now), other.at(now));
    let offset = here.position - there.position;
    if !curved {
        let secs = time_to_contact(offset, here.velocity - there.velocity, reach);
        return (secs <= horizon).then_some(secs);
    }
    let touching = offset.length_squared() <= reach * reach;
    let approaching = offset.dot(here.velocity - there.velocity) < 0.0;
    if touching {
        return approaching.then_some(0.0);
    }
    let gap = |secs: f64| distance([one, other], now, secs) - reach;
    let step = horizon / f64::from(STEPS);
    let mut before = gap(0.0);
    for index in 1..=STEPS {
        let (early, late) = (f64::from(index - 1) * step, f64::from(index) * step);
        let after = gap(late);
        if after <= 0.0 {
            return Some(halve(&gap, early, late));
        }
        // Between two looks they may graze: follow the distance down.
        if before.min(after) < reach * 0.25 {
            let (nearest, least) = descend(&gap, early, late);
            if least <= 0.0 {
                return Some(halve(&gap, early, nearest));
            }
        }
        before = after;
    }
    None
}

/// The least of distance plus `margin` (as a function of the seconds from now) on the way from `early` to `late` seconds ahead, if
/// nothing stops the two.
pub(crate) fn closest(
    courses: [&Course; 2],
    now: SimTime,
    (early, late): (f64, f64),
    margin: impl Fn(f64) -> f64,
) -> f64 {
    let step = (late - early) / f64::from(STEPS);
    (0..=STEPS)
        .map(|index| early + f64::from(index) * step)
        .map(|secs| distance(courses, now, secs) + margin(secs))
        .fold(f64::INFINITY, f64::min)
}

fn distance([one, other]: [&Course; 2], now: SimTime, secs: f64) -> f64 {
    let place = |course: &Course| {
        course
            .after(super::course::signed_secs(now, course.from()) + secs)
            .position
    };
    place(one).distance(place(other))
}

/// Where a falling function crosses zero.
fn halve(gap: &impl Fn(f64) -> f64, mut early: f64, mut late: f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (early + late);
        if gap(middle) > 0.0 {
            early = middle;
        } else {
            late = middle;
        }
    }
    late
}

/// The lowest point of a function with one valley.
fn descend(function: &impl Fn(f64) -> f64, mut early: f64, mut late: f64) -> (f64, f64) {
    for _ in 0..HALVINGS {
        let third = (late - early) / 3.0;
        if function(early + third) < function(late - third) {
            late -= third;
        } else {
            early += third;
        }
    }
    let middle = 0.5 * (early + late);
    (middle, function(middle))
}

/// Seconds since two balls in straight motion came to touch, if they did and have not been apart for longer than they touched.
pub(crate) fn touched_ago(offset: DVec3, velocity: DVec3, reach: f64) -> Option<f64> {
    let a = velocity.length_squared();
    let b = offset.dot(velocity);
    let k = offset.length_squared() - reach * reach;
    let discriminant = b * b - a * k;
    if a == 0.0 || discriminant < 0.0 {
        return None;
    }
    // Going back by τ, the distance is reach at τ = (b ± √disc) / a; the larger is the first touch.
    let first = (b + discriminant.sqrt()) / a;
    (first >= 0.0).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-11, ML-34: head-on, grazing, passing, overlapping, separating; in the plane and in space.
    #[test]
    fn linear_time_to_contact() {
        let axes = [
            (DVec3::X, DVec3::Y),
            (DVec3::Z, DVec3::X),
            (
                DVec3::new(1.0, 2.0, -2.0) / 3.0,
                DVec3::new(2.0, 1.0, 2.0) / 3.0,
            ),
        ];
        for (x, y) in axes {
            let head_on = time_to_contact(x * 100.0, x * -500.0, 20.0);
            assert!((head_on - 0.16).abs() < 1e-12);
            let aside = time_to_contact(x * 100.0 + y * 12.0, x * -500.0, 20.0);
            assert!((aside - 0.168).abs() < 1e-12, "{aside}");
            assert_eq!(
                time_to_contact(x * 100.0 + y * 20.01, x * -500.0, 20.0),
                f64::INFINITY
            );
            assert_eq!(
                time_to_contact(x * 100.0, x, 20.0),
                f64::INFINITY,
                "separating"
            );
            assert_eq!(time_to_contact(x * 15.0, x * -1.0, 20.0), 0.0, "overlap");
            assert_eq!(time_to_contact(x * 15.0, x, 20.0), f64::INFINITY, "parting");
            assert_eq!(
                time_to_contact(x * 15.0, DVec3::ZERO, 20.0),
                f64::INFINITY,
                "at rest"
            );
        }
    }

    #[test]
    fn curves_are_followed_to_the_touch_and_straight_lines_agree() {
        let now = SimTime::from_secs(2.0);
        let one = Course::straight(now, DVec3::ZERO, DVec3::X * 300.0);
        let other = Course::straight(now, DVec3::new(60.0, 5.0, 0.0), DVec3::X * -100.0);
        let [exact, stepped] =
            [false, true].map(|curved| first_contact([&one, &other], now, 20.0, 0.2, curved));
        assert!((exact.unwrap() - stepped.unwrap()).abs() < 1e-6);
        // A body on a circle whose tangent would hit, but which turns away in time: gap 10 at the nearest.
        let circling = Course::turn(
            now,
            DVec3::new(-80.0, -80.0, 0.0),
            DVec3::X * 500.0,
            DVec3::Z * 6.25,
        );
        let lane = Course::straight(now, DVec3::new(30.0, -62.83, 0.0), DVec3::Y * 250.0);
        let found = first_contact([&circling, &lane], now, 20.0, 0.25, true);
        assert_eq!(found, None);
        let near = closest([&circling, &lane], now, (0.0, 0.3), |_| 0.0);
        assert!(near > 28.0 && near < 31.0, "{near}");
        let doubtful = closest([&circling, &lane], now, (0.0, 0.3), |secs| secs * 100.0);
        assert!(doubtful > near + 10.0);
    }

    #[test]
    fn a_graze_between_two_looks_is_found() {
        let now = SimTime::ZERO;
        // Touches only for 0.6 ms of the 4 ms between two looks.
        let one = Course::straight(now, DVec3::new(-1.0e2, 19.999, 0.0), DVec3::X * 2000.0);
        let other = Course::straight(now, DVec3::ZERO, DVec3::ZERO);
        let found = first_contact([&one, &other], now, 20.0, 0.1, true).expect("a graze");
        assert!((found - 0.05).abs() < 1e-3, "{found}");
    }
}
