//! Convergence: how what is drawn gets from the old path to the new one when a vector arrives.
//!
//! ```text
//!   old path      ─────────────●· · · · · ·         Snap    jumps at once: no lag, but everybody sees the jump
//!                              |`.                  Linear  walks over at constant rate: no jump, two kinks
//!   Hermite                    |  `-._              Hermite leaves in the old direction and arrives in the new one:
//!   new path      · · · · · · ·●──────`======       no jump and no kink, at the price of lagging a little
//! ```
//!
//! All three add to the new path an offset that fades away: at the switch it is the difference between what was drawn
//! and the new path, at the end of the blend time it is zero. The path itself is drawn at the right time throughout,
//! so smoothing delays nothing once the offset is gone. The thesis snaps (digest §5, no. 17).

use super::models::{Placed, signed_secs};
use domain::SimTime;
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// How the offset fades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Convergence {
    /// At once.
    Snap,
    /// In proportion to time: position is continuous, velocity jumps at both ends.
    Linear,
    /// Along a cubic Hermite curve: position and velocity are continuous.
    #[default]
    Hermite,
}

/// Turns the places of a [`Receiver`](super::Receiver) into what is drawn.
///
/// ```
/// # use reckoning::motion::{Convergence, Placed, Smoother};
/// # use domain::SimTime;
/// # use glam::{DQuat, DVec3};
/// # let at = |x| Placed { position: DVec3::new(x, 0.0, 0.0), rotation: DQuat::IDENTITY, velocity: DVec3::ZERO };
/// # let (old_path, new_path) = (at(0.0), at(1.0));
/// let mut smoother = Smoother::new(Convergence::Hermite, SimTime::from_millis(100.0));
/// let now = SimTime::from_secs(1.0);
/// // Around the receiver taking a vector: where its path was at `now`, and where it is.
/// smoother.handle_switch(now, &old_path, &new_path);
/// // Every frame:
/// assert_eq!(smoother.show(now, &new_path).position.x, 0.0, "still where it was");
/// assert_eq!(smoother.show(SimTime::from_millis(1_100.0), &new_path).position.x, 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Smoother {
    style: Convergence,
    blend: SimTime,
    snap_beyond_m: f64,
    offset: Option<Offset>,
}

/// What was drawn less what the new path says, at the switch.
#[derive(Clone, Copy, Debug)]
struct Offset {
    since: SimTime,
    position: DVec3,
    velocity: DVec3,
    /// As axis times angle.
    turn: DVec3,
}

impl Smoother {
    /// Fades over `blend`. A longer one moves more gently and lags longer; about the time between two vectors is a
    /// good start. Zero snaps.
    pub fn new(style: Convergence, blend: SimTime) -> Self {
        Self {
            style,
            blend,
            snap_beyond_m: f64::INFINITY,
            offset: None,
        }
    }

    /// Jumps of more than this are not faded but shown as they are: a teleport should not fly across the world
    /// (default: never).
    #[must_use]
    pub fn snap_beyond(mut self, metres: f64) -> Self {
        self.snap_beyond_m = metres;
        self
    }

    /// The path changes at `now`, from `old` to `new` (both evaluated at `now`).
    pub fn handle_switch(&mut self, now: SimTime, old: &Placed, new: &Placed) {
        let shown = self.show(now, old);
        let offset = Offset {
            since: now,
            position: shown.position - new.position,
            velocity: shown.velocity - new.velocity,
            turn: shortest_turn(new.rotation, shown.rotation),
        };
        let fades = self.style != Convergence::Snap && self.blend > SimTime::ZERO;
        let small = offset.position.length() <= self.snap_beyond_m;
        self.offset = (fades && small).then_some(offset);
    }

    /// What to draw at `now`, given where the receiver's path is. Its velocity is that of what is drawn.
    pub fn show(&self, now: SimTime, path: &Placed) -> Placed {
        let Some(offset) = &self.offset else {
            return *path;
        };
        let blend = self.blend.as_secs();
        let part = signed_secs(offset.since, now) / blend;
        if part >= 1.0 {
            return *path;
        }
        let part = part.max(0.0);
        let (position, velocity) = match self.style {
            Convergence::Snap => return *path,
            Convergence::Linear => (
                offset.position * (1.0 - part),
                offset.position * (-1.0 / blend),
            ),
            Convergence::Hermite => hermite(offset, part, blend),
        };
        let turn_left = match self.style {
            Convergence::Linear => 1.0 - part,
            _ => h00(part),
        };
        Placed {
            position: path.position + position,
            velocity: path.velocity + velocity,
            rotation: DQuat::from_scaled_axis(offset.turn * turn_left) * path.rotation,
        }
    }
}

/// 1 at 0, 0 at 1, level at both.
fn h00(s: f64) -> f64 {
    (1.0 + 2.0 * s) * (1.0 - s) * (1.0 - s)
}

/// The cubic that starts with the offset and its velocity and ends with neither; and its derivative by time.
fn hermite(offset: &Offset, s: f64, blend: f64) -> (DVec3, DVec3) {
    let rest = 1.0 - s;
    let position = offset.position * h00(s) + offset.velocity * (blend * s * rest * rest);
    let slope =
        offset.position * (-6.0 * s * rest / blend) + offset.velocity * (rest * (1.0 - 3.0 * s));
    (position, slope)
}

/// The turn that takes `from` to `to` the short way, as axis times angle.
fn shortest_turn(from: DQuat, to: DQuat) -> DVec3 {
    let turn = to * from.conjugate();
    let turn = if turn.w < 0.0 { -turn } else { turn };
    turn.to_scaled_axis()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLEND_SECS: f64 = 0.25;

    fn at(secs: f64) -> SimTime {
        SimTime::from_secs(secs)
    }

    fn along(start: DVec3, velocity: DVec3, secs: f64) -> Placed {
        Placed {
            position: start + velocity * secs,
            velocity,
            rotation: DQuat::from_rotation_y(0.3 * secs),
        }
    }

    fn old(secs: f64) -> Placed {
        along(DVec3::ZERO, DVec3::new(5.0, 0.0, 0.0), secs)
    }

    fn new(secs: f64) -> Placed {
        let mut placed = along(DVec3::new(-1.0, 0.5, 2.0), DVec3::new(1.0, 1.0, 4.0), secs);
        placed.rotation = DQuat::from_rotation_z(1.0) * placed.rotation;
        placed
    }

    /// Switches from the old to the new path at 1 s.
    fn switched(style: Convergence) -> Smoother {
        let mut smoother = Smoother::new(style, at(BLEND_SECS));
        smoother.handle_switch(at(1.0), &old(1.0), &new(1.0));
        smoother
    }

    #[test]
    fn snap_has_no_lag_and_jumps() {
        let smoother = switched(Convergence::Snap);
        assert_eq!(smoother.show(at(1.0), &new(1.0)), new(1.0));
        assert!(new(1.0).position.distance(old(1.0).position) > 1.0);
    }

    #[test]
    fn linear_starts_where_it_was_and_walks_straight() {
        let smoother = switched(Convergence::Linear);
        let start = smoother.show(at(1.0), &new(1.0));
        assert!(start.position.distance(old(1.0).position) < 1e-12);
        assert!(start.velocity.distance(old(1.0).velocity) > 1.0, "a kink");
        let half_way = smoother.show(at(1.125), &new(1.125)).position - new(1.125).position;
        assert!(half_way.distance((old(1.0).position - new(1.0).position) * 0.5) < 1e-9);
    }

    #[test]
    fn hermite_is_continuous_in_position_and_velocity() {
        let smoother = switched(Convergence::Hermite);
        let start = smoother.show(at(1.0), &new(1.0));
        assert!(start.position.distance(old(1.0).position) < 1e-12);
        assert!(start.velocity.distance(old(1.0).velocity) < 1e-12);
        let end = 1.0 + BLEND_SECS - 1e-9;
        let shown = smoother.show(at(end), &new(end));
        assert!(shown.position.distance(new(end).position) < 1e-9);
        assert!(shown.velocity.distance(new(end).velocity) < 1e-6);
        assert!(shown.rotation.angle_between(new(end).rotation) < 1e-6);
    }

    #[test]
    fn the_velocity_shown_is_that_of_the_positions_shown() {
        for style in [Convergence::Linear, Convergence::Hermite] {
            let smoother = switched(style);
            for secs in [1.01, 1.07, 1.19, 1.24] {
                let show = |secs: f64| smoother.show(at(secs), &new(secs));
                let measured = (show(secs + 1e-5).position - show(secs - 1e-5).position) / 2e-5;
                assert!(
                    measured.distance(show(secs).velocity) < 1e-4,
                    "{style:?} at {secs}"
                );
            }
        }
    }

    #[test]
    fn a_switch_in_the_middle_of_a_blend_goes_on_from_what_is_shown() {
        let mut smoother = switched(Convergence::Hermite);
        let before = smoother.show(at(1.1), &new(1.1));
        smoother.handle_switch(at(1.1), &new(1.1), &old(1.1));
        let after = smoother.show(at(1.1), &old(1.1));
        assert!(after.position.distance(before.position) < 1e-12);
        assert!(after.velocity.distance(before.velocity) < 1e-12);
        assert!(after.rotation.angle_between(before.rotation) < 1e-7);
    }

    #[test]
    fn a_teleport_is_not_faded() {
        let mut smoother = Smoother::new(Convergence::Hermite, at(BLEND_SECS)).snap_beyond(1.0);
        smoother.handle_switch(at(1.0), &old(1.0), &new(1.0));
        assert_eq!(smoother.show(at(1.0), &new(1.0)), new(1.0));
    }
}
