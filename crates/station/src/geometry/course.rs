//! How a body moves if nothing changes: straight on, with constant acceleration, or in a turn at constant speed.

use crate::body::State;
use crate::settings::ForesightPath;
use domain::SimTime;
use glam::{DQuat, DVec3};

/// Turns slower than this, in radians per second, are straight lines.
const STRAIGHT_BELOW: f64 = 1e-9;
/// An acceleration is a turn if no more than this share of it points along the path.
const SIDEWAYS: f64 = 0.2;

/// A state and how it goes on from there, in both directions of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    from: SimTime,
    state: State,
    kind: Kind,
    /// From this many seconds after `from` on, straight.
    straight_after: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Straight,
    Parabola,
    /// About this unit axis, at this rate.
    Turn(DVec3, f64),
}

impl Course {
    /// Straight on.
    pub fn straight(from: SimTime, position: DVec3, velocity: DVec3) -> Self {
        Self::new(from, State::moving(position, velocity), Kind::Straight)
    }

    /// With constant acceleration.
    pub fn parabola(from: SimTime, state: State) -> Self {
        Self::new(from, state, Kind::Parabola)
    }

    /// A turn about `axis` at its length in radians per second; motion along the axis goes on (a helix).
    pub fn turn(from: SimTime, position: DVec3, velocity: DVec3, axis: DVec3) -> Self {
        let rate = axis.length();
        if rate < STRAIGHT_BELOW {
            return Self::straight(from, position, velocity);
        }
        let kind = Kind::Turn(axis / rate, rate);
        Self::new(from, State::moving(position, velocity), kind)
    }

    /// What a body in this state will do, of the chosen kind.
    pub fn of(path: ForesightPath, from: SimTime, state: State) -> Self {
        match path {
            ForesightPath::Straight => Self::straight(from, state.position, state.velocity),
            ForesightPath::Curved => Self::parabola(from, state),
            ForesightPath::Turn => Self::turn_or_parabola(from, state),
        }
    }

    /// A turn if the acceleration is mostly sideways.
    pub fn turn_or_parabola(from: SimTime, state: State) -> Self {
        let State {
            position,
            velocity,
            acceleration,
        } = state;
        let along = acceleration.dot(velocity).abs();
        let sideways = along <= SIDEWAYS * acceleration.length() * velocity.length();
        let axis = velocity.cross(acceleration) / velocity.length_squared();
        if sideways && axis.is_finite() {
            return Self::turn(from, position, velocity, axis);
        }
        Self::parabola(from, state)
    }

    fn new(from: SimTime, state: State, kind: Kind) -> Self {
        Self {
            from,
            state,
            kind,
            straight_after: f64::INFINITY,
        }
    }

    /// No curve runs on for longer than this.
    #[must_use]
    pub fn straight_after(self, horizon: SimTime) -> Self {
        Self {
            straight_after: horizon.as_secs(),
            ..self
        }
    }

    /// The time its state is of.
    pub fn from(&self) -> SimTime {
        self.from
    }

    /// The state at a time, earlier ones included.
    pub fn at(&self, time: SimTime) -> State {
        self.after(signed_secs(time, self.from))
    }

    /// The state so many seconds after its beginning.
    pub fn after(&self, secs: f64) -> State {
        if secs > self.straight_after {
            let State {
                position, velocity, ..
            } = self.curve_after(self.straight_after);
            let rest = secs - self.straight_after;
            return State::moving(position + velocity * rest, velocity);
        }
        self.curve_after(secs)
    }

    fn curve_after(&self, secs: f64) -> State {
        let State {
            position, velocity, ..
        } = self.state;
        match self.kind {
            Kind::Straight => State::moving(position + velocity * secs, velocity),
            Kind::Parabola => self.state.after(secs),
            Kind::Turn(axis, rate) => {
                let along = axis * velocity.dot(axis);
                let across = velocity - along;
                let sideways = axis.cross(across);
                let (sin, cos) = (libm::sin(rate * secs), libm::cos(rate * secs));
                let turned = across * cos + sideways * sin;
                State {
                    position: position
                        + along * secs
                        + (across * sin + sideways * (1.0 - cos)) / rate,
                    velocity: along + turned,
                    acceleration: axis.cross(turned) * rate,
                }
            }
        }
    }

    /// The same course with the velocity changed by this much from `time` on.
    #[must_use]
    pub fn with_kick(&self, time: SimTime, change: DVec3) -> Self {
        let State {
            position, velocity, ..
        } = self.at(time);
        Self::straight(time, position, velocity + change)
    }
}

/// `later − earlier` in seconds, below zero if it is the other way round.
pub(crate) fn signed_secs(later: SimTime, earlier: SimTime) -> f64 {
    later.since(earlier).as_secs() - earlier.since(later).as_secs()
}

/// A vector turned about a unit axis.
pub(crate) fn turned(vector: DVec3, axis: DVec3, angle: f64) -> DVec3 {
    let half = 0.5 * angle;
    let (sin, cos) = (libm::sin(half), libm::cos(half));
    DQuat::from_xyzw(axis.x * sin, axis.y * sin, axis.z * sin, cos) * vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_a_circle() {
        let course = Course::turn(
            SimTime::ZERO,
            DVec3::X * 80.0,
            DVec3::Y * 500.0,
            DVec3::Z * 6.25,
        );
        for step in 0..200 {
            let state = course.after(f64::from(step) * 0.01);
            assert!((state.position.length() - 80.0).abs() < 1e-9);
            assert!((state.velocity.length() - 500.0).abs() < 1e-9);
            assert!(state.position.dot(state.velocity).abs() < 1e-6);
            let inward = -state.position.normalize() * 3125.0;
            assert!((state.acceleration - inward).length() < 1e-6);
            // Recognised from its state alone.
            let again = Course::turn_or_parabola(SimTime::ZERO, state).after(0.3);
            let ahead = course.after(f64::from(step) * 0.01 + 0.3);
            assert!((again.position - ahead.position).length() < 1e-6);
        }
    }

    #[test]
    fn acceleration_along_the_path_is_no_turn_and_rest_is_rest() {
        let falling = State {
            position: DVec3::ZERO,
            velocity: DVec3::Y * -3.0,
            acceleration: DVec3::Y * -9.81,
        };
        let course = Course::turn_or_parabola(SimTime::ZERO, falling);
        assert_eq!(course.after(2.0), falling.after(2.0));
        let still = Course::turn_or_parabola(SimTime::ZERO, State::at(DVec3::ONE));
        assert_eq!(still.after(2.0).position, DVec3::ONE);
    }

    #[test]
    fn beyond_its_horizon_a_curve_goes_straight_on() {
        let state = State {
            acceleration: DVec3::X * 10.0,
            ..State::default()
        };
        let course = Course::parabola(SimTime::ZERO, state).straight_after(SimTime::from_secs(1.0));
        assert_eq!(course.after(1.0).position.x, 5.0);
        assert_eq!(course.after(3.0).position.x, 5.0 + 2.0 * 10.0);
    }
}
