//! Keeping promises: a body that a step has thrown out of what it promised is put back, along that step, to the edge.
//! It keeps its velocity, so it
//! goes on as soon as the news has arrived.

use crate::view::BodyView;
use domain::{BodyId, Rect};
use glam::{DVec3, Quat, Vec3};
use serde::{Deserialize, Serialize};

/// What is left of a way when it is near enough to its end, metres.
const NEAR_ENOUGH_M: f64 = 1e-4;
/// A way along an edge comes nearer to it by ever smaller parts: after so many it ends there.
const MOST_PARTS: u32 = 48;

/// Where a body must be put.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// Which.
    pub body: BodyId,
    /// Its origin.
    pub position: DVec3,
    /// How it is to be turned.
    pub rotation: Quat,
}

/// How often promises had to be enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Body ticks in which a promise was outstanding.
    pub watched: u64,
    /// Body ticks in which a body was held, and a millimetre or more of its way taken back: less is the engine's own
    /// inaccuracy.
    pub held: u64,
    /// The longest time one body was held without a pause, ticks.
    pub longest_ticks: u64,
    /// The longest way that was taken back in one tick, metres.
    pub longest_m: f64,
    /// Promises that were broken because nobody could rely on them.
    pub spared: u64,
    /// Of the held ones, those that would have come where a foreign body may be.
    pub kept_out: u64,
}

impl Kept {
    /// Adds what another region counted.
    pub fn add(&mut self, other: &Self) {
        self.watched += other.watched;
        self.held += other.held;
        self.longest_ticks = self.longest_ticks.max(other.longest_ticks);
        self.longest_m = self.longest_m.max(other.longest_m);
        self.spared += other.spared;
        self.kept_out += other.kept_out;
    }
}

/// Where a body is, and how it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Its origin.
    pub centre: DVec3,
    /// How it is turned.
    pub rotation: Quat,
    /// Half of the line through it.
    pub spine: Vec3,
}

impl Place {
    /// A body's place.
    pub fn of(view: &BodyView) -> Self {
        Self {
            centre: view.centre,
            rotation: view.rotation,
            spine: view.spine,
        }
    }

    /// A share of the way to another place, turning included.
    #[must_use]
    pub fn towards(&self, other: &Self, share: f64) -> Self {
        let rotation = self.rotation.slerp(other.rotation, share as f32);
        Self {
            centre: self.centre.lerp(other.centre, share),
            rotation,
            spine: rotation * (self.rotation.inverse() * self.spine),
        }
    }

    /// No point of the line through it goes farther than this on its way to another place.
    fn way_m(&self, other: &Self) -> f64 {
        let centre_m = self.centre.distance(other.centre);
        if self.spine == Vec3::ZERO {
            return centre_m;
        }
        let turn = self.rotation.angle_between(other.rotation) * self.spine.length();
        centre_m + f64::from(turn)
    }

    /// Had it moved back by a step at this velocity.
    pub fn before(view: &BodyView, step_secs: f64) -> Self {
        Self {
            centre: view.centre - view.velocity * step_secs,
            ..Self::of(view)
        }
    }
}

/// The share of the way from `before` to `now` before which `room` does not fall to zero; 1 if it never does. A smaller
/// share is as good, so of several the least is right for all. No room at the start: 0.
///
/// `room` must not change by more than the body moves: so the body may safely go on by as much as there is room, and
/// then is asked again (conservative advancement; Mirtich 1996).
pub fn share_with_room(before: &Place, now: &Place, room: impl Fn(&Place) -> f64) -> f64 {
    let mut left = room(before);
    if left <= 0.0 {
        return 0.0;
    }
    let way = before.way_m(now);
    let mut share = 0.0;
    for _ in 0..MOST_PARTS {
        if left >= (1.0 - share) * way {
            return 1.0;
        }
        if left <= NEAR_ENOUGH_M {
            break;
        }
        share += left / way;
        left = room(&before.towards(now, share));
    }
    // Rounding may have taken the last part a hair too far.
    match left > 0.0 {
        true => share,
        false => (share - NEAR_ENOUGH_M / way).max(0.0),
    }
}

/// As [`share_with_room`], for what a body has promised itself: should it be outside, it may come back.
pub fn share_kept(before: &Place, now: &Place, room: impl Fn(&Place) -> f64) -> f64 {
    // Between two places in a ball all are in it.
    let end = room(now);
    match end >= 0.0 || end >= room(before) {
        true => 1.0,
        false => share_with_room(before, now, room),
    }
}

/// How much of the way keeps the body's shadow, which is `ground` at its end, inside `home`. What is outside already
/// may come back.
pub fn share_within_home(before: DVec3, now: DVec3, ground: &Rect, home: &Rect) -> f64 {
    let way = [now.x - before.x, now.z - before.z];
    let sides = (0..2).flat_map(|i| {
        let upper = (ground.max[i] - home.max[i], way[i]);
        let lower = (home.min[i] - ground.min[i], -way[i]);
        [upper, lower]
    });
    let share = |(beyond, outwards): (f64, f64)| match beyond > 0.0 && outwards > 0.0 {
        true => (1.0 - beyond / outwards).max(0.0),
        false => 1.0,
    };
    sides.map(share).fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64) -> Place {
        Place {
            centre: DVec3::new(x, 0.0, 0.0),
            rotation: Quat::IDENTITY,
            spine: Vec3::ZERO,
        }
    }

    #[test]
    fn a_way_out_of_a_ball_ends_at_its_edge() {
        let within = |radius: f64| move |place: &Place| radius - place.centre.length();
        assert_eq!(share_kept(&at(0.0), &at(1.0), within(2.0)), 1.0);
        let share = share_kept(&at(0.0), &at(4.0), within(1.0));
        assert!(share <= 0.25 && share > 0.2499, "{share}");
        assert_eq!(
            share_kept(&at(1.5), &at(2.0), within(1.0)),
            0.0,
            "outside, and going away"
        );
        assert_eq!(
            share_kept(&at(3.0), &at(2.0), within(1.0)),
            1.0,
            "outside, and coming back"
        );
    }

    #[test]
    fn a_way_into_a_ball_ends_at_its_edge() {
        let clear_of = |radius: f64| move |place: &Place| place.centre.length() - radius;
        assert_eq!(share_with_room(&at(5.0), &at(3.0), clear_of(2.0)), 1.0);
        let share = share_with_room(&at(5.0), &at(1.0), clear_of(3.0));
        assert!(share <= 0.5 && share > 0.4999, "{share}");
        for end in [1.5, 9.0] {
            let share = share_with_room(&at(1.0), &at(end), clear_of(3.0));
            assert_eq!(share, 0.0, "it is inside");
        }
    }

    /// The foreign body may be anywhere in its ball: who flies through it in one step may fly through the body.
    #[test]
    fn no_way_leads_through_a_ball() {
        let beside = |x: f64, z: f64| Place {
            centre: DVec3::new(x, 0.0, z),
            ..at(0.0)
        };
        let clear = |place: &Place| place.centre.length() - 1.0;
        let share = share_with_room(&at(-5.0), &at(5.0), clear);
        assert!(share <= 0.4 && share > 0.3999, "{share}");
        let chord = share_with_room(&beside(-5.0, 0.8), &beside(5.0, 0.8), clear);
        assert!(chord <= 0.44 && chord > 0.43, "{chord}");
        let past = share_with_room(&beside(-5.0, 1.05), &beside(5.0, 1.05), clear);
        assert_eq!(past, 1.0);
    }

    /// What is long sweeps with its ends when it turns, not along the chord.
    #[test]
    fn turning_goes_round() {
        let bar = |angle: f32| Place {
            centre: DVec3::ZERO,
            rotation: Quat::from_rotation_y(angle),
            spine: Quat::from_rotation_y(angle) * Vec3::X,
        };
        let half = bar(0.0).towards(&bar(2.0), 0.5);
        assert!((half.spine.length() - 1.0).abs() < 1e-6);
        assert!(half.spine.distance(bar(1.0).spine) < 1e-6);
        assert!((bar(0.0).way_m(&bar(2.0)) - 2.0).abs() < 1e-5);
    }

    #[test]
    fn a_shadow_stays_at_home() {
        let home = Rect {
            min: [0.0, f64::NEG_INFINITY],
            max: [10.0, f64::INFINITY],
        };
        let shadow = |x: f64| Rect {
            min: [x - 0.5, -0.5],
            max: [x + 0.5, 0.5],
        };
        let share = |from: f64, to: f64| {
            let (from, to) = (DVec3::new(from, 0.0, 0.0), DVec3::new(to, 0.0, 0.0));
            share_within_home(from, to, &shadow(to.x), &home)
        };
        assert_eq!(share(5.0, 6.0), 1.0);
        assert_eq!(share(9.0, 10.0), 0.5);
        assert_eq!(share(1.0, 0.0), 0.5);
        assert_eq!(share(10.0, 9.8), 1.0, "coming back");
    }
}
