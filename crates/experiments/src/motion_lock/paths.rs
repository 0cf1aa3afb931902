//! How the two masters of an offline scenario move while nothing holds them.

use super::setup::Setup;
use glam::DVec3;

/// A planned motion in the plane z = 0, pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Path {
    /// Straight on.
    Line {
        /// Where it is at the time of the meeting.
        at: DVec3,
        /// Pixels per second.
        velocity: DVec3,
    },
    /// Round and round.
    Circle {
        /// Its middle.
        centre: DVec3,
        /// Pixels.
        radius: f64,
        /// Pixels per second.
        speed: f64,
        /// At the time of the meeting it is at this side of the middle, moving up: 1 right (anticlockwise), -1 left (clockwise).
        side: f64,
    },
    /// A line whose curvature changes all the time: up, and sideways as a cosine. At the meeting as curved as the circle of the
    /// same `sway` and `speed`, half a period later as much to the other side.
    Weave {
        /// Where it is at the time of the meeting.
        at: DVec3,
        /// Half the width of the sway, pixels.
        sway: f64,
        /// Upwards, pixels per second.
        speed: f64,
        /// The sway lies to the left of `at` (1) or to its right (-1).
        side: f64,
    },
}

/// Position, velocity, acceleration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Motion {
    pub position: DVec3,
    pub velocity: DVec3,
    pub acceleration: DVec3,
}

impl Path {
    /// Where it is `secs` after the meeting (before it, if negative).
    pub fn at(&self, secs: f64) -> Motion {
        match *self {
            Self::Line { at, velocity } => Motion {
                position: at + velocity * secs,
                velocity,
                acceleration: DVec3::ZERO,
            },
            Self::Circle {
                centre,
                radius,
                speed,
                side,
            } => {
                let rate = speed / radius;
                let (sin, cos) = (rate * secs).sin_cos();
                let out = DVec3::new(side * cos, sin, 0.0);
                Motion {
                    position: centre + radius * out,
                    velocity: speed * DVec3::new(-side * sin, cos, 0.0),
                    acceleration: -speed * rate * out,
                }
            }
            Self::Weave {
                at,
                sway,
                speed,
                side,
            } => {
                let rate = speed / sway;
                let (sin, cos) = (rate * secs).sin_cos();
                Motion {
                    position: at + DVec3::new(-side * sway * (1.0 - cos), speed * secs, 0.0),
                    velocity: DVec3::new(-side * speed * sin, speed, 0.0),
                    acceleration: DVec3::new(-side * speed * rate * cos, 0.0, 0.0),
                }
            }
        }
    }
}

/// A pair of planned motions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scenario {
    /// Both straight, head-on.
    Llc,
    /// Both straight, past each other.
    Llp,
    /// Circle and line meet.
    Clc,
    /// Circle and line pass.
    Clp,
    /// Two circles meet.
    Ccc,
    /// Two circles pass.
    Ccp,
    /// Weave and line meet; ours.
    Wlc,
    /// Weave and line pass; ours.
    Wlp,
    /// Two weaves meet; ours.
    Wwc,
    /// Two weaves pass; ours.
    Wwp,
}

impl Scenario {
    /// The thesis's six.
    pub const PUBLISHED: [Self; 6] = [
        Self::Llc,
        Self::Llp,
        Self::Clc,
        Self::Clp,
        Self::Ccc,
        Self::Ccp,
    ];
    /// Of those: the ones with a circle.
    pub const CURVED: [Self; 4] = [Self::Clc, Self::Clp, Self::Ccc, Self::Ccp];
    /// Ours: the same with a curve that no predictor knows.
    pub const WEAVES: [Self; 4] = [Self::Wlc, Self::Wlp, Self::Wwc, Self::Wwp];

    /// As in the thesis.
    pub fn name(self) -> &'static str {
        match self {
            Self::Llc => "LLC",
            Self::Llp => "LLP",
            Self::Clc => "CLC",
            Self::Clp => "CLP",
            Self::Ccc => "CCC",
            Self::Ccp => "CCP",
            Self::Wlc => "WLC",
            Self::Wlp => "WLP",
            Self::Wwc => "WWC",
            Self::Wwp => "WWP",
        }
    }

    /// Do they meet if nobody interferes?
    pub fn meets(self) -> bool {
        matches!(
            self,
            Self::Llc | Self::Clc | Self::Ccc | Self::Wlc | Self::Wwc
        )
    }

    /// The motions of M1 and M2.
    pub fn paths(self, setup: &Setup) -> [Path; 2] {
        let miss = if self.meets() {
            DVec3::ZERO
        } else {
            // Three radii from centre to centre: a gap of one radius.
            DVec3::new(3.0 * setup.radius, 0.0, 0.0)
        };
        let up = DVec3::new(0.0, setup.line_speed, 0.0);
        // M2's direction in the scenarios with a curve: along with M1 (co-moving) or against it.
        let along = if setup.head_on { -up } else { up };
        let circle = |centre: DVec3, side: f64| Path::Circle {
            centre,
            radius: setup.circle_radius,
            speed: setup.circle_speed,
            side,
        };
        let weave = |at: DVec3, side: f64| Path::Weave {
            at,
            sway: setup.circle_radius,
            speed: setup.circle_speed,
            side,
        };
        let line = |at: DVec3, velocity: DVec3| Path::Line { at, velocity };
        let out = DVec3::new(setup.circle_radius, 0.0, 0.0);
        match self {
            Self::Llc | Self::Llp => [line(DVec3::ZERO, up), line(miss, -up)],
            Self::Clc | Self::Clp => [circle(-out, 1.0), line(miss, along)],
            Self::Ccc | Self::Ccp => [circle(-out, 1.0), circle(miss + out, -1.0)],
            Self::Wlc | Self::Wlp => [weave(DVec3::ZERO, 1.0), line(miss, along)],
            Self::Wwc | Self::Wwp => [weave(DVec3::ZERO, 1.0), weave(miss, -1.0)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SimTime;

    const ALL: [Scenario; 10] = [
        Scenario::Llc,
        Scenario::Llp,
        Scenario::Clc,
        Scenario::Clp,
        Scenario::Ccc,
        Scenario::Ccp,
        Scenario::Wlc,
        Scenario::Wlp,
        Scenario::Wwc,
        Scenario::Wwp,
    ];

    /// The distance of the two centres at a time of the run, if nobody interferes.
    fn distance(scenario: Scenario, setup: &Setup, at: SimTime) -> f64 {
        let secs = at.as_secs() - setup.meeting_secs;
        let [first, second] = scenario.paths(setup).map(|path| path.at(secs).position);
        first.distance(second)
    }

    /// ML-46: collide at one point, or miss by three radii, centre to centre.
    #[test]
    fn scenarios_meet_or_miss_by_three_radii() {
        let setup = Setup::default();
        for scenario in ALL {
            let meeting = SimTime::from_secs(setup.meeting_secs);
            let wanted = if scenario.meets() { 0.0 } else { 30.0 };
            let apart = distance(scenario, &setup, meeting);
            assert!((apart - wanted).abs() < 1e-9, "{scenario:?}: {apart}");
            if !scenario.meets() {
                let frames = (0..300).map(|frame| SimTime::from_millis(10.0 * f64::from(frame)));
                let nearest = frames.map(|at| distance(scenario, &setup, at));
                let nearest = nearest.fold(f64::INFINITY, f64::min);
                assert!(nearest > 29.9, "{scenario:?}: {nearest}");
            }
        }
    }

    /// Velocity and acceleration are the derivatives of the position.
    #[test]
    fn motions_are_consistent() {
        let setup = Setup::default();
        let step = 1e-5;
        for path in ALL.iter().flat_map(|scenario| scenario.paths(&setup)) {
            for secs in [-1.3, -0.2, 0.0, 0.4] {
                let [before, now, after] =
                    [secs - step, secs, secs + step].map(|secs| path.at(secs));
                let velocity = (after.position - before.position) / (2.0 * step);
                let acceleration = (after.velocity - before.velocity) / (2.0 * step);
                assert!(velocity.distance(now.velocity) < 1e-3, "{path:?}");
                assert!(acceleration.distance(now.acceleration) < 1e-2, "{path:?}");
            }
        }
    }
}
