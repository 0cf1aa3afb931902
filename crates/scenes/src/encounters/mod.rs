//! Two bodies that meet or just miss each other in the plane: the offline scenarios of the motion-lock thesis (Chen 2010, 5.3.1), and
//! others on curves that it does not have. The station's tests and the experiments play them.
//!
//! ```text
//!            CLC                     CLP                     CCP
//!         ,───.                   ,───.                   ,───.       ,───.
//!       (       )▲              (       )▲   ▲          (       )▲   ▲(       )
//!         `───'  │                `───'  │   │            `───'  │   │  `───'
//!                M1, M2 meet             M1  M2: three radii     M1  M2
//! ```

mod curves;

pub use curves::{Curve, Motion};

use glam::DVec3;

/// A planned motion in the plane z = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Path {
    /// Straight on.
    Line {
        /// Where it is at the time of the meeting.
        at: DVec3,
        /// Per second.
        velocity: DVec3,
    },
    /// Along a curve.
    Curve {
        /// Which one.
        curve: Curve,
        /// Where it is at the time of the meeting, moving up.
        at: DVec3,
        /// It bends to the left (1) or to the right (-1).
        side: f64,
    },
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
            Self::Curve { curve, at, side } => {
                let mirror = DVec3::new(side, 1.0, 1.0);
                let motion = curve.at(secs);
                Motion {
                    position: at + mirror * motion.position,
                    velocity: mirror * motion.velocity,
                    acceleration: mirror * motion.acceleration,
                }
            }
        }
    }
}

/// How large and how fast: what the thesis leaves open but for the radius of the bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Of both bodies.
    pub radius: f64,
    /// Of the circles, and half the width of the weaves.
    pub circle_radius: f64,
    /// Along the circles, and up the weaves.
    pub circle_speed: f64,
    /// Along the lines.
    pub line_speed: f64,
    /// Where a curve is involved, a second body on a line comes towards the first instead of moving along with it.
    pub head_on: bool,
    /// Takes the place of the circle in CLC, CLP, CCC and CCP.
    pub instead: Option<Curve>,
}

impl Default for Field {
    /// Fitted to the published counts of the control protocol, in pixels (the radius is the thesis's).
    fn default() -> Self {
        Self {
            radius: 10.0,
            circle_radius: 80.0,
            circle_speed: 500.0,
            line_speed: 250.0,
            head_on: false,
            instead: None,
        }
    }
}

/// A pair of planned motions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
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

    /// Are they planned to meet if nobody interferes?
    pub fn meets(self) -> bool {
        matches!(
            self,
            Self::Llc | Self::Clc | Self::Ccc | Self::Wlc | Self::Wwc
        )
    }

    /// The motions of M1 and M2.
    pub fn paths(self, field: &Field) -> [Path; 2] {
        let miss = if self.meets() {
            DVec3::ZERO
        } else {
            // Three radii from centre to centre: a gap of one radius.
            DVec3::new(3.0 * field.radius, 0.0, 0.0)
        };
        let up = DVec3::new(0.0, field.line_speed, 0.0);
        // M2's direction in the scenarios with a curve: along with M1 (co-moving) or against it.
        let along = if field.head_on { -up } else { up };
        let round = field.instead.unwrap_or(Curve::Circle {
            radius: field.circle_radius,
            speed: field.circle_speed,
        });
        let weave = Curve::Weave {
            sway: field.circle_radius,
            speed: field.circle_speed,
        };
        let bend = |curve: Curve, at: DVec3, side: f64| Path::Curve { curve, at, side };
        let line = |at: DVec3, velocity: DVec3| Path::Line { at, velocity };
        let here = DVec3::ZERO;
        match self {
            Self::Llc | Self::Llp => [line(here, up), line(miss, -up)],
            Self::Clc | Self::Clp => [bend(round, here, 1.0), line(miss, along)],
            Self::Ccc | Self::Ccp => [bend(round, here, 1.0), bend(round, miss, -1.0)],
            Self::Wlc | Self::Wlp => [bend(weave, here, 1.0), line(miss, along)],
            Self::Wwc | Self::Wwp => [bend(weave, here, 1.0), bend(weave, miss, -1.0)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance of the two centres so long after the meeting, if nobody interferes.
    fn distance(scenario: Scenario, field: &Field, secs: f64) -> f64 {
        let [first, second] = scenario.paths(field).map(|path| path.at(secs).position);
        first.distance(second)
    }

    /// ML-46: collide at one point, or miss by three radii, centre to centre.
    #[test]
    fn scenarios_meet_or_miss_by_three_radii() {
        let field = Field::default();
        for scenario in Scenario::PUBLISHED.into_iter().chain(Scenario::WEAVES) {
            let wanted = if scenario.meets() { 0.0 } else { 30.0 };
            let apart = distance(scenario, &field, 0.0);
            assert!((apart - wanted).abs() < 1e-9, "{scenario:?}: {apart}");
            if !scenario.meets() {
                let times = (-150..150).map(|step| 0.01 * f64::from(step));
                let nearest = times.map(|secs| distance(scenario, &field, secs));
                let nearest = nearest.fold(f64::INFINITY, f64::min);
                assert!(nearest > 29.9, "{scenario:?}: {nearest}");
            }
        }
    }

    #[test]
    fn another_curve_takes_the_place_of_the_circle() {
        let curve = Curve::Eight {
            wide: 70.0,
            long: 40.0,
            rate: 5.0,
        };
        let field = Field {
            instead: Some(curve),
            ..Field::default()
        };
        let [first, second] = Scenario::Ccp.paths(&field);
        assert_eq!(first.at(0.3).position, curve.at(0.3).position);
        let (left, right) = (first.at(0.3).position, second.at(0.3).position);
        assert!((left.x + right.x - 30.0).abs() < 1e-9 && left.y == right.y);
    }
}
