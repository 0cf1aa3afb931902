//! How far a body may go until others have heard otherwise: the lengths of size `adaptive`.
//!
//! A body near a border gives its word: *until you hear otherwise I stay inside this ball*. The ball is small for what
//! rests and large for what
//! flies. Two bodies of different owners whose balls are apart cannot touch, whatever happens on either server, because
//! the word is **kept**: a body that a
//! hit would throw out of its ball is held at the ball's edge until the news has arrived ([`crate::keeping`]). So the
//! argument why no contact
//! across owners is late does not rest on how bodies hit each other (docs/decisions/0017).
//!
//! With `h` the ticks per hop and `i = min(V, surge) · T_P` the way of one tick (the *surge* is the speed of the body's
//! fastest point):
//!
//! | | moving | at rest, awake | asleep |
//! |---|---|---|---|
//! | reach, at once | `i (h + 1) + m + ½ g ((2h + 2) T_P)²` | `m` | `m` |
//! | growth per tick of age | `i` | 0 | 0 |
//! | told again | every second tick, or when it is faster | when it has drifted | never |
//!
//! A reader at tick `b` relies on `reach + growth · (b − tick)` up to its tick `b + h + 1`: by then whatever it sends
//! away is with its new owner. So at tick
//! `t` the owner keeps the body within `reach + growth · (t − h − 1 − tick)`: the room at rest, and a stride per tick.
//! A promise that is replaced is kept for `2h` more
//! ticks: one hop until the new one is read, one until what follows from it is known.

use crate::config::BoundaryConfig;
use crate::geometry::safe_hop_ticks;
use crate::joined::NEAR_M;
use crate::meeting::{Course, Outlook};
use crate::remote_auras::RemoteAura;
use crate::view::BodyView;
use domain::{Rect, Tick};
use glam::{DVec3, Vec3};
use wire::Bond;

/// `m`: the room of a body that sleeps, metres. Less: neighbours are in each other's way later, and a sleeper that is
/// hit is held more often.
pub const MARGIN_M: f64 = 0.05;
/// How often a moving body is told of, at least, ticks.
pub const RENEWED_TICKS: u64 = 2;
/// A body that has become faster by more than this is told of at once.
const SAME_GROWTH: f32 = 1.1;
/// Two are called together so many ticks before it is too late for a handover.
const CALLED_AHEAD_TICKS: u64 = 3;
/// Bodies that have parted are at least so far apart, metres.
const PARTED_M: f64 = 0.3;
/// A body that is told of is told of until it is farther away by this factor, and by this length, metres.
const STAY_TOLD: f64 = 1.5;
const STAY_TOLD_M: f64 = 0.1;
/// What the engine's single precision may add to a place, metres.
pub const ROUNDING_M: f64 = 5e-4;

/// The lengths that one configuration leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PromiseLaw {
    hop_ticks: u64,
    step_secs: f64,
    top_speed: f64,
    /// Shrinks every promise: for tests that must show what a promise that is too small does.
    shrink: f64,
}

impl PromiseLaw {
    /// The law of a configuration.
    pub fn of(config: &BoundaryConfig) -> Self {
        Self {
            hop_ticks: safe_hop_ticks(config),
            step_secs: config.step.as_secs(),
            top_speed: config.tolerances.speed,
            shrink: config.promise_share,
        }
    }

    /// For how many ticks a promise that has been replaced is kept.
    pub fn notice_ticks(&self) -> u64 {
        2 * self.hop_ticks
    }

    /// By then what was said has been heard everywhere.
    pub fn heard_ticks(&self) -> u64 {
        self.hop_ticks + 2
    }

    /// The farthest a body can go in so many ticks.
    pub fn farthest_m(&self, ticks: u64) -> f64 {
        self.top_speed * self.step_secs * ticks as f64
    }

    /// `i`: the way of one tick.
    fn stride_m(&self, view: &BodyView) -> f64 {
        view.surge.min(self.top_speed) * self.step_secs * self.shrink
    }

    fn fall_m(&self, view: &BodyView, ticks: u64) -> f64 {
        let secs = ticks as f64 * self.step_secs;
        0.5 * view.pull * secs * secs * self.shrink
    }

    /// The room of a body beside its way. What rests is held up by something; should that go, it is held for the first
    /// few centimetres of its fall.
    fn room_m(&self, view: &BodyView) -> f64 {
        match self.rests(view) {
            true => MARGIN_M,
            false => MARGIN_M + self.fall_m(view, 2 * self.hop_ticks + 2),
        }
    }

    /// Its way within the time for which a promise is kept is a small part of its room.
    fn rests(&self, view: &BodyView) -> bool {
        view.asleep || self.stride_m(view) * (2 * self.hop_ticks + 2) as f64 <= MARGIN_M / 4.0
    }

    /// What a body would promise now.
    pub fn promise(&self, tick: Tick, view: &BodyView) -> Bond {
        let (reach, growth) = if self.rests(view) {
            (self.room_m(view), 0.0)
        } else {
            let stride = self.stride_m(view);
            let ahead = (self.hop_ticks + 1) as f64;
            (stride * ahead + self.room_m(view), stride)
        };
        Bond {
            tick,
            centre: view.centre,
            spine: view.spine,
            reach: at_least(reach),
            growth: at_least(growth),
            until: None,
        }
    }

    /// A body that is held was hit harder than it had expected. What is hit is often hit again, or tied to what is: were its
    /// next promise as narrow, it would be held for longer than one promise lasts. It promises no more than not to be
    /// faster than anything may be.
    #[must_use]
    pub fn expecting_anything(&self, view: &BodyView) -> BodyView {
        BodyView {
            surge: self.top_speed,
            asleep: false,
            ..*view
        }
    }

    /// What a body promises now: what it has promised, while that will do; so what rests says nothing.
    pub fn renewed(&self, tick: Tick, standing: Option<&Bond>, view: &BodyView) -> Bond {
        let next = self.promise(tick, view);
        match standing {
            Some(standing) if self.will_do(standing, &next, view) => *standing,
            _ => next,
        }
    }

    /// From where the body is now, and as it moves, it cannot fall out of what it has promised.
    fn will_do(&self, standing: &Bond, next: &Bond, view: &BodyView) -> bool {
        if standing.growth > 0.0 && next.growth > 0.0 {
            return self.will_do_for_a_tick(standing, next);
        }
        if standing.growth > 0.0 || next.growth > 0.0 || standing.reach > next.reach {
            return false;
        }
        let drift = way_m(standing, view.centre, view.spine);
        let way = self.stride_m(view) * (2 * self.hop_ticks + 2) as f64;
        let room = if view.asleep {
            MARGIN_M / 2.0
        } else {
            MARGIN_M
        };
        drift + way <= room
    }

    /// Of a body that goes on as before there is no need to speak in every tick: the ball grows with it. It is told of every
    /// [`RENEWED_TICKS`], so that the ball does not become much larger than needed, and silence is noticed.
    fn will_do_for_a_tick(&self, standing: &Bond, next: &Bond) -> bool {
        let now = next.tick;
        let stride = f64::from(next.growth);
        let way = way_m(standing, next.centre, next.spine) + stride + ROUNDING_M;
        now.since(standing.tick) < RENEWED_TICKS
            && next.growth <= standing.growth * SAME_GROWTH
            && way <= self.kept_m(standing, now.next())
    }

    /// What a reader relies on at this tick.
    pub fn relied_m(bond: &Bond, now: Tick) -> f64 {
        f64::from(bond.reach) + f64::from(bond.growth) * now.since(bond.tick) as f64
    }

    /// Within what the owner keeps the body at this tick.
    pub fn kept_m(&self, bond: &Bond, now: Tick) -> f64 {
        self.kept_of(bond.reach.into(), bond.growth.into(), now.since(bond.tick))
    }

    /// Within what the owner of a body keeps it at this age of a promise.
    pub fn kept_of(&self, reach_m: f64, growth_m: f64, age: u64) -> f64 {
        reach_m + growth_m * (age as f64 - (self.hop_ticks + 1) as f64)
    }

    /// How far a body could get until a promise that breaks all it gave before is known to everybody, and what follows
    /// is done.
    pub fn leap_m(&self, view: &BodyView) -> f64 {
        let stride = view.surge.min(self.top_speed) * self.step_secs;
        let secs = (3 * self.hop_ticks + 2) as f64 * self.step_secs;
        stride * (3 * self.hop_ticks + 2) as f64 + MARGIN_M + 0.5 * view.pull * secs * secs
    }

    /// No body of this surge, where gravity has this strength, has a larger half.
    pub fn half_of(&self, surge: f64, gravity: f64) -> f64 {
        self.way_and_room_m(surge, gravity, 2 * self.hop_ticks + 2)
    }

    /// No body of this surge, where gravity has this strength, has a larger lead.
    pub fn lead_of(&self, surge: f64, gravity: f64) -> f64 {
        self.leads(gravity)(surge)
    }

    /// As [`lead_of`](Self::lead_of), for many bodies.
    pub fn leads(&self, gravity: f64) -> impl Fn(f64) -> f64 + use<> {
        let ticks = 3 * self.hop_ticks + 2;
        let still = self.way_and_room_m(0.0, gravity, ticks);
        let (secs, top_speed) = (self.step_secs * ticks as f64, self.top_speed);
        move |surge| surge.min(top_speed) * secs + still
    }

    fn way_and_room_m(&self, surge: f64, gravity: f64, ticks: u64) -> f64 {
        let fall = (2 * self.hop_ticks + 2) as f64 * self.step_secs;
        let way = surge.min(self.top_speed) * self.step_secs * ticks as f64;
        way + MARGIN_M + 0.5 * gravity * fall * fall
    }

    /// Two of one owner that are about to meet are not farther apart than both their halves.
    pub fn half_m(&self, view: &BodyView) -> f64 {
        match self.rests(view) {
            true => self.room_m(view),
            false => self.stride_m(view) * (2 * self.hop_ticks + 2) as f64 + self.room_m(view),
        }
    }

    /// A body of ours on its way.
    pub fn course(&self, view: &BodyView) -> Course {
        let way = view.velocity * self.step_secs;
        let turn_m = (view.surge * self.step_secs - way.length()).max(0.0);
        let (way, turn_m) = match self.rests(view) {
            true => (DVec3::ZERO, 0.0),
            false => (way, turn_m),
        };
        Course {
            body: view.capsule(),
            way,
            turn_m,
            room_m: self.room_m(view),
        }
    }

    /// A foreign body on its way, as far as can be told from news of it; `None` if they are too old.
    pub fn course_of(&self, aura: &RemoteAura, now: Tick) -> Option<Course> {
        let age = now.since(aura.tick);
        if aura.growth > 0.0 && age > 2 * self.hop_ticks + 2 {
            return None;
        }
        let mut body = aura.capsule();
        let room_m = self.kept_of(aura.reach, aura.growth, 0);
        let Some(way) = aura.way else {
            // The first news of it: the next will tell where it goes, and until then it has not come far.
            return Some(Course {
                body,
                way: DVec3::ZERO,
                turn_m: 0.0,
                room_m: room_m + aura.growth * (self.hop_ticks + 1) as f64,
            });
        };
        body.centre += way * age as f64;
        Some(Course {
            body,
            way,
            turn_m: (aura.growth - way.length()).max(0.0),
            room_m,
        })
    }

    /// Two of different owners that meet so soon must come together: one hop until one has left, and some ticks more,
    /// because ways change.
    pub fn soon(&self) -> Outlook {
        Outlook {
            ticks: (self.hop_ticks + CALLED_AHEAD_TICKS) as f64,
            lag: (self.hop_ticks + 1) as f64,
            slack_m: 0.0,
        }
    }

    /// Two of one owner that meet so soon stay together: the one left behind would be called at once.
    pub fn soon_together(&self, slack_m: f64) -> Outlook {
        Outlook {
            ticks: (2 * self.hop_ticks + 2) as f64,
            lag: (self.hop_ticks + 1) as f64,
            slack_m,
        }
    }

    /// What does not meet anything foreign so soon may go home: by the time everybody knows, nobody will have called
    /// something to where it was.
    pub fn before_long(&self) -> Outlook {
        Outlook {
            ticks: (3 * self.hop_ticks + CALLED_AHEAD_TICKS) as f64,
            slack_m: PARTED_M,
            ..self.soon()
        }
    }

    /// Everything this near to a border or to something foreign is looked at in every tick: nothing slow can be in
    /// anybody's way from farther, and nothing
    /// at all can come from farther in one step.
    pub fn strip_m(&self) -> f64 {
        (self.farthest_m(1) + 2.0 * MARGIN_M).max(NEAR_M + 0.1)
    }

    /// Faster bodies than this are looked at wherever they are, m/s; no slower one has a half above [`NEAR_M`] or a
    /// lead above [`Self::strip_m`].
    pub fn slow_speed(&self, gravity: f64) -> f64 {
        let secs = |ticks: u64| ticks as f64 * self.step_secs;
        let fall = secs(2 * self.hop_ticks + 2);
        let room = MARGIN_M + 0.5 * gravity * fall * fall;
        let by_half = (NEAR_M - room) / secs(2 * self.hop_ticks + 2);
        let by_lead = (self.strip_m() - room) / secs(3 * self.hop_ticks + 2);
        by_half.min(by_lead).max(0.0)
    }

    /// Where a body may soon be, on the ground plane: if that is foreign ground, the body is told of there, and two hops
    /// later it may cross. It looks farther in the direction in which it goes than aside. `widely`: those who were told of
    /// a body hear of it until it is farther away.
    pub fn lead(&self, view: &BodyView, widely: bool) -> Rect {
        let (aside, ahead) = match self.rests(view) {
            true => (self.room_m(view), 0.0),
            false => {
                let ticks = (self.hop_ticks + 1) as f64;
                let aside = self.stride_m(view) * ticks + self.room_m(view);
                let secs =
                    (3 * self.hop_ticks + 2) as f64 * self.step_secs - ticks * self.step_secs;
                (aside, secs * self.shrink)
            }
        };
        let aside = match widely {
            true => aside * STAY_TOLD + STAY_TOLD_M,
            false => aside,
        };
        let ahead = ahead * (self.top_speed / view.speed().max(self.top_speed));
        let way = [view.velocity.x * ahead, view.velocity.z * ahead];
        let mut lead = view.ground.grown(aside);
        for (i, way) in way.into_iter().enumerate() {
            lead.min[i] += way.min(0.0);
            lead.max[i] += way.max(0.0);
        }
        lead
    }
}

/// How far from what a promise says a body is: no point of its line is farther from where it was.
pub fn way_m(bond: &Bond, centre: DVec3, spine: Vec3) -> f64 {
    let centre_m = centre.distance(bond.centre);
    if spine == bond.spine {
        return centre_m;
    }
    // A line has no front.
    let turn = (spine - bond.spine)
        .length()
        .min((spine + bond.spine).length());
    centre_m + f64::from(turn)
}

/// The smallest `f32` that is not less.
fn at_least(value: f64) -> f32 {
    let rounded = value as f32;
    match f64::from(rounded) < value {
        true => rounded.next_up(),
        false => rounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ball;

    fn law() -> PromiseLaw {
        PromiseLaw::of(&BoundaryConfig::default())
    }

    fn moving(speed: f64) -> BodyView {
        BodyView {
            surge: speed,
            pull: 9.81,
            ..ball(1, 0.0, 0.0, 0.5)
        }
    }

    /// Its own free motion never breaks a promise, at any speed and any age for which it is kept.
    #[test]
    fn free_motion_stays_inside() {
        let law = law();
        for speed in [0.1, 0.5, 5.0, 32.0] {
            let bond = law.promise(Tick(100), &moving(speed));
            for age in 0..=law.notice_ticks() + RENEWED_TICKS {
                let secs = age as f64 / 60.0;
                let way = speed * secs + 0.5 * 9.81 * secs * secs;
                let kept = law.kept_m(&bond, Tick(100 + age));
                assert!(way <= kept, "{speed} m/s after {age} ticks: {way} > {kept}");
            }
        }
    }

    /// A body is told of where it goes, less where it comes from, and never farther than it is looked for.
    #[test]
    fn the_lead_is_in_front() {
        let law = law();
        let mut view = moving(10.0);
        view.velocity = DVec3::new(10.0, 0.0, 0.0);
        let lead = law.lead(&view, false);
        let front = lead.max[0] - view.ground.max[0];
        let back = view.ground.min[0] - lead.min[0];
        let most = law.lead_of(view.surge, view.pull);
        assert!(
            front > 2.0 * back && front <= most + 1e-9,
            "{front} {back} {most}"
        );
        assert!(
            (lead.max[1] - view.ground.max[1] - back).abs() < 1e-9,
            "aside as behind"
        );
        let widely = law.lead(&view, true);
        assert!(widely.contains(&lead));
        let too_fast = BodyView {
            surge: 90.0,
            velocity: DVec3::new(0.0, 0.0, -90.0),
            ..view
        };
        let front = view.ground.min[1] - law.lead(&too_fast, false).min[1];
        assert!(front <= law.lead_of(90.0, view.pull) + 1e-9);
        view.asleep = true;
        assert_eq!(law.lead(&view, false), view.ground.grown(MARGIN_M));
    }

    /// What is about to meet is not farther apart than both its halves: the search for clusters finds it.
    #[test]
    fn what_is_about_to_meet_is_within_both_halves() {
        let law = law();
        let speeds = [0.0, 0.05, 1.0, 7.0, 30.0];
        let mut met = 0;
        for (a, b) in speeds.iter().flat_map(|a| speeds.map(|b| (*a, b))) {
            for towards in [1.0, -1.0] {
                let at = |x: f64, speed: f64| BodyView {
                    centre: DVec3::new(x, 0.0, 0.0),
                    velocity: DVec3::new(speed, 0.0, 0.0),
                    ..moving(speed.abs())
                };
                let left = at(0.0, a);
                for step in 0..200 {
                    let right = at(1.0 + 0.05 * f64::from(step), -towards * b);
                    let course = law.course(&left);
                    let meets = course.meets(&law.course(&right), &law.soon_together(0.0));
                    let halves = law.half_m(&left) + law.half_m(&right);
                    met += u32::from(meets);
                    assert!(
                        !meets || left.gap_m(&right) <= halves + 1e-9,
                        "{a} {b} {step}"
                    );
                }
            }
        }
        assert!(met > 100);
    }

    /// What a reader relies on at tick b is what the owner keeps up to tick b + h + 1.
    #[test]
    fn readers_rely_on_what_is_kept() {
        let law = law();
        let bond = law.promise(Tick(50), &moving(7.0));
        for age in 0..=law.hop_ticks {
            let relied = PromiseLaw::relied_m(&bond, Tick(50 + age));
            let kept = law.kept_m(&bond, Tick(50 + age + law.hop_ticks + 1));
            assert!((relied - kept).abs() < 1e-9);
        }
    }

    /// AP-7: what rests has said all; what drifts or wakes says so.
    #[test]
    fn what_rests_says_nothing() {
        let law = law();
        let mut view = moving(0.01);
        let standing = law.promise(Tick(1), &view);
        assert_eq!(law.renewed(Tick(2), Some(&standing), &view), standing);
        view.centre.x += 0.06;
        assert_eq!(law.renewed(Tick(3), Some(&standing), &view).tick, Tick(3));
        view.asleep = true;
        let asleep = law.renewed(Tick(4), Some(&standing), &view);
        assert_eq!((asleep.tick, asleep.growth), (Tick(4), 0.0));
        assert_eq!(law.renewed(Tick(9), Some(&asleep), &view), asleep);
        view.asleep = false;
        view.surge = 9.0;
        assert!(law.renewed(Tick(10), Some(&asleep), &view).growth > 0.0);
    }
}
