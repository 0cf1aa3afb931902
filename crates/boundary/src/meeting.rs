//! Are two bodies about to meet? (Size `adaptive`.)
//!
//! Promises say where a body *may* be, whatever happens to it; two whose promises meet are told of to each other. Most of
//! them pass each other all the same. Who moves is therefore asked only of pairs that, going straight on, would soon keep
//! each other out:
//!
//! ```text
//!         b, `lag` ticks ago            b now
//!      ╭────────•────────╮ ─ ─ ─ ─ ─ ─ ─ ─•→          a ball is as old as the news of it
//!      ╰─────────────────╯
//!              ↑ within so many ticks
//!              a
//! ```
//!
//! Safety does not rest on this: should two turn towards each other in the last moment, they are held until one has moved
//! ([`crate::keeping`]). A wrong guess costs a hold or a migration, never a contact across owners.

use domain::Capsule;
use glam::DVec3;

/// Bodies nearer than this belong together, however they move, metres.
const TOUCHING_M: f64 = 0.1;

/// A body on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// Where it is now, as far as is known.
    pub body: Capsule,
    /// Its way in one tick, metres.
    pub way: DVec3,
    /// How far its ends may turn aside in one tick, metres.
    pub turn_m: f64,
    /// The room that it keeps around it.
    pub room_m: f64,
}

/// How far ahead it is looked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// So many ticks.
    pub ticks: f64,
    /// How old news of the other one is, ticks.
    pub lag: f64,
    /// Everything counts as so much nearer, metres.
    pub slack_m: f64,
}

impl Course {
    /// Would the two keep each other out within that time, if nothing changed their ways?
    pub fn meets(&self, other: &Self, outlook: &Outlook) -> bool {
        self.comes_into_room_of(other, outlook) || other.comes_into_room_of(self, outlook) || {
            self.body.gap_m(&other.body) <= TOUCHING_M + outlook.slack_m
        }
    }

    /// Does this one, going on, come into the ball in which the other has promised to stay?
    fn comes_into_room_of(&self, other: &Self, outlook: &Outlook) -> bool {
        let Outlook {
            ticks,
            lag,
            slack_m,
        } = *outlook;
        let stride = other.way.length() + other.turn_m;
        let near = other.room_m + stride * lag + slack_m;
        let start = self.body.centre - (other.body.centre - other.way * lag);
        let closing = self.way - other.way;
        let speed_squared = closing.length_squared();
        let nearest = match speed_squared > 0.0 {
            true => (-start.dot(closing) / speed_squared).clamp(0.0, ticks),
            false => 0.0,
        };
        let radii = self.body.bounding_radius() + other.body.bounding_radius();
        let farthest = radii + near;
        if (start + closing * nearest).length_squared() > farthest * farthest {
            return false;
        }
        let turn_m = self.turn_m + other.turn_m;
        // Long bodies pass each other where balls would not. They are nearest when their centres are, or nearly.
        let gap_at = |time: f64| {
            let there = Capsule {
                centre: other.body.centre + start + closing * time,
                ..self.body
            };
            there.gap_m(&other.body) - turn_m * time
        };
        let is_ball = |body: &Capsule| body.spine == DVec3::ZERO;
        (is_ball(&self.body) && is_ball(&other.body))
            || [nearest, 0.0, 0.5 * nearest, 0.5 * (nearest + ticks), ticks]
                .into_iter()
                .any(|time| gap_at(time) <= near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Outlook = Outlook {
        ticks: 8.0,
        lag: 0.0,
        slack_m: 0.0,
    };

    fn ball(x: f64, z: f64, way: [f64; 2]) -> Course {
        Course {
            body: Capsule {
                centre: DVec3::new(x, 0.0, z),
                spine: DVec3::ZERO,
                girth: 0.5,
            },
            way: DVec3::new(way[0], 0.0, way[1]),
            turn_m: 0.0,
            room_m: 0.05,
        }
    }

    fn meet(a: &Course, b: &Course, outlook: &Outlook) -> bool {
        let meets = a.meets(b, outlook);
        assert_eq!(meets, b.meets(a, outlook), "both see the same");
        meets
    }

    #[test]
    fn two_that_come_towards_each_other_meet_in_time() {
        let (a, b) = (ball(0.0, 0.0, [0.1, 0.0]), ball(2.5, 0.0, [-0.1, 0.0]));
        assert!(meet(&a, &b, &SOON));
        let b = ball(2.8, 0.0, [-0.1, 0.0]);
        assert!(!meet(&a, &b, &SOON), "not so soon");
    }

    #[test]
    fn two_that_part_or_pass_do_not_meet() {
        let a = ball(0.0, 0.0, [0.1, 0.0]);
        assert!(
            !meet(&a, &ball(1.2, 0.0, [0.2, 0.0]), &SOON),
            "ahead and faster"
        );
        assert!(
            !meet(&a, &ball(0.0, 1.2, [0.1, 0.0]), &SOON),
            "side by side"
        );
        assert!(
            meet(&a, &ball(1.09, 0.0, [0.9, 0.0]), &SOON),
            "as good as touching"
        );
    }

    /// What is relied on is old: a place that the other has just left is still its own.
    #[test]
    fn the_tail_of_a_fast_one_is_its_own() {
        let fast = ball(3.0, 0.0, [0.5, 0.0]);
        let behind = ball(0.0, 0.0, [0.0, 0.0]);
        assert!(!meet(&fast, &behind, &SOON));
        let late = Outlook { lag: 4.0, ..SOON };
        assert!(meet(&fast, &behind, &late));
    }

    /// Long bodies that lie beside each other are as near as their sides, not as their bounding spheres.
    #[test]
    fn long_ones_lie_side_by_side() {
        let long = |x: f64| Course {
            body: Capsule {
                spine: DVec3::Z * 2.0,
                ..ball(x, 0.0, [0.0, 0.0]).body
            },
            ..ball(x, 0.0, [0.0, 0.0])
        };
        assert!(!meet(&long(0.0), &long(1.5), &SOON));
        let turning = Course {
            turn_m: 0.1,
            ..long(1.5)
        };
        assert!(meet(&long(0.0), &turning, &SOON));
    }
}
