//! Keeping promises: a body that a step has thrown out of what it promised is put back, along that step, to the edge.
//! It keeps its velocity, so it
//! goes on as soon as the news has arrived.

use crate::view::BodyView;
use domain::{BodyId, Rect};
use glam::{DVec3, Quat, Vec3};
use serde::{Deserialize, Serialize};

/// A share is found to within a part in so many powers of two.
const HALVINGS: u32 = 16;

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
    /// Body ticks in which a body was held.
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
    pub fn towards(&self, other: &Self, share: f64) -> Self {
        Self {
            centre: self.centre.lerp(other.centre, share),
            rotation: self.rotation.slerp(other.rotation, share as f32),
            spine: self.spine.lerp(other.spine, share as f32),
        }
    }

    /// Had it moved back by a step at this velocity.
    pub fn before(view: &BodyView, step_secs: f64) -> Self {
        Self {
            centre: view.centre - view.velocity * step_secs,
            ..Self::of(view)
        }
    }
}

/// The largest share of the way from `before` to `now` at whose end `excess` is not above zero: 1 if all of it, 0 if it
/// has begun above zero and
/// does not end lower.
pub fn share_kept(before: &Place, now: &Place, excess: impl Fn(&Place) -> f64) -> f64 {
    let end = excess(now);
    if end <= 0.0 {
        return 1.0;
    }
    let start = excess(before);
    if start > 0.0 {
        return if end <= start { 1.0 } else { 0.0 };
    }
    let (mut kept, mut beyond) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (kept + beyond);
        match excess(&before.towards(now, middle)) <= 0.0 {
            true => kept = middle,
            false => beyond = middle,
        }
    }
    kept
}

/// As [`share_kept`], but what begins above zero does not move at all.
pub fn share_kept_out(before: &Place, now: &Place, excess: impl Fn(&Place) -> f64) -> f64 {
    if excess(now) > 0.0 && excess(before) > 0.0 {
        return 0.0;
    }
    share_kept(before, now, excess)
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
        let outside = |radius: f64| move |place: &Place| place.centre.length() - radius;
        assert_eq!(share_kept(&at(0.0), &at(1.0), outside(2.0)), 1.0);
        let share = share_kept(&at(0.0), &at(4.0), outside(1.0));
        assert!(share <= 0.25 && share > 0.2499, "{share}");
        assert_eq!(
            share_kept(&at(1.5), &at(2.0), outside(1.0)),
            0.0,
            "outside, and going away"
        );
        assert_eq!(
            share_kept(&at(3.0), &at(2.0), outside(1.0)),
            1.0,
            "outside, and coming back"
        );
    }

    #[test]
    fn a_way_into_a_ball_ends_at_its_edge() {
        let inside = |radius: f64| move |place: &Place| radius - place.centre.length();
        assert_eq!(share_kept_out(&at(5.0), &at(3.0), inside(2.0)), 1.0);
        let share = share_kept_out(&at(5.0), &at(1.0), inside(3.0));
        assert!(share <= 0.5 && share > 0.4999, "{share}");
        assert_eq!(
            share_kept_out(&at(1.0), &at(1.5), inside(3.0)),
            0.0,
            "it is inside"
        );
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
