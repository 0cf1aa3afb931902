//! Ways to get about in the plane. Each passes its origin at time zero, upwards and bending to the left.

use glam::DVec3;

/// Position, velocity, acceleration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// Where it is.
    pub position: DVec3,
    /// Its derivative.
    pub velocity: DVec3,
    /// And that one's.
    pub acceleration: DVec3,
}

/// A motion that is not straight. Lengths in the unit of the world, angles in radians, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    /// Round and round: the thesis's.
    Circle {
        /// Of the circle.
        radius: f64,
        /// Along it, always the same.
        speed: f64,
    },
    /// Upwards, and sideways as a cosine: its curvature changes all the time. At time zero as curved as the circle with a radius of
    /// `sway`, half a period later as much to the other side.
    Weave {
        /// Half the width.
        sway: f64,
        /// Upwards.
        speed: f64,
    },
    /// An ellipse, fast where it is flat.
    Ellipse {
        /// Half its width.
        wide: f64,
        /// Half its height.
        long: f64,
        /// How fast its phase goes round.
        rate: f64,
    },
    /// A figure of eight on its side: it turns left and right in turn.
    Eight {
        /// Half its width.
        wide: f64,
        /// Half its height.
        long: f64,
        /// How fast its phase goes round.
        rate: f64,
    },
    /// To and fro on an arc, like a pendulum: it slows down, stops and comes back.
    Swing {
        /// How deep the arc is.
        deep: f64,
        /// How far it swings.
        far: f64,
        /// How fast its phase goes round.
        rate: f64,
    },
    /// A circle driven with gas and brake.
    Throttle {
        /// Of the circle.
        radius: f64,
        /// On average.
        speed: f64,
        /// The speed goes up and down by this part of it ...
        part: f64,
        /// ... so many times a second.
        hertz: f64,
    },
    /// Arcs of random curvature, left and right, of constant speed: a player who changes their mind every now and then, suddenly.
    Wander {
        /// Of the arcs.
        seed: u64,
        /// Along them.
        speed: f64,
        /// The sharpest turn, radians per second.
        turn: f64,
        /// How long an arc lasts.
        every_secs: f64,
    },
}

impl Curve {
    /// Where it is at a time; before zero, too.
    pub fn at(&self, secs: f64) -> Motion {
        match *self {
            Self::Circle { radius, speed } => {
                let rate = speed / radius;
                let (sin, cos) = (rate * secs).sin_cos();
                let out = DVec3::new(cos, sin, 0.0);
                Motion {
                    position: DVec3::new(-radius, 0.0, 0.0) + radius * out,
                    velocity: speed * DVec3::new(-sin, cos, 0.0),
                    acceleration: -speed * rate * out,
                }
            }
            Self::Weave { sway, speed } => {
                let rate = speed / sway;
                let (sin, cos) = (rate * secs).sin_cos();
                Motion {
                    position: DVec3::new(-sway * (1.0 - cos), speed * secs, 0.0),
                    velocity: DVec3::new(-speed * sin, speed, 0.0),
                    acceleration: DVec3::new(-speed * rate * cos, 0.0, 0.0),
                }
            }
            Self::Ellipse { wide, long, rate } => waves(secs, (wide, rate), (long, rate)),
            Self::Eight { wide, long, rate } => waves(secs, (wide, rate), (long, 2.0 * rate)),
            Self::Swing { deep, far, rate } => waves(secs, (0.5 * deep, 2.0 * rate), (far, rate)),
            Self::Throttle {
                radius,
                speed,
                part,
                hertz,
            } => throttle(secs, radius, speed, (part, std::f64::consts::TAU * hertz)),
            Self::Wander {
                seed,
                speed,
                turn,
                every_secs,
            } => wander(secs, seed, speed, turn, every_secs),
        }
    }
}

/// Sideways as a cosine, upwards as a sine: half width and rate of each.
fn waves(secs: f64, (wide, across): (f64, f64), (long, up): (f64, f64)) -> Motion {
    let ((sin, cos), (sin_up, cos_up)) = ((across * secs).sin_cos(), (up * secs).sin_cos());
    Motion {
        position: DVec3::new(-wide * (1.0 - cos), long * sin_up, 0.0),
        velocity: DVec3::new(-wide * across * sin, long * up * cos_up, 0.0),
        acceleration: DVec3::new(-wide * across * across * cos, -long * up * up * sin_up, 0.0),
    }
}

fn throttle(secs: f64, radius: f64, speed: f64, (part, pace): (f64, f64)) -> Motion {
    let rate = speed / radius;
    let (sin, cos) = (pace * secs).sin_cos();
    // The angle and its derivatives; at time zero the gas is full.
    let angle = rate * (secs + part / pace * sin);
    let first = rate * (1.0 + part * cos);
    let second = -rate * part * pace * sin;
    let (up, out) = angle.sin_cos();
    let (out, along) = (DVec3::new(out, up, 0.0), DVec3::new(-up, out, 0.0));
    Motion {
        position: radius * (out - DVec3::X),
        velocity: radius * first * along,
        acceleration: radius * (second * along - first * first * out),
    }
}

/// Arc by arc from time zero outwards; time zero is in the middle of an arc to the left.
fn wander(secs: f64, seed: u64, speed: f64, turn: f64, every: f64) -> Motion {
    let direction = secs.signum();
    let mut left = secs.abs();
    let (mut place, mut heading) = (DVec3::ZERO, std::f64::consts::FRAC_PI_2);
    let mut arc = 0_i64;
    let mut length = 0.5 * every;
    loop {
        let rate = turn * if arc == 0 { 0.75 } else { chance(seed, arc) };
        let step = direction * left.min(length);
        let (next, after) = along_arc(place, heading, speed, rate, step);
        (place, heading) = (next, after);
        left -= length;
        if left <= 0.0 {
            let (up, right) = heading.sin_cos();
            let forward = DVec3::new(right, up, 0.0);
            return Motion {
                position: place,
                velocity: speed * forward,
                acceleration: speed * rate * DVec3::new(-up, right, 0.0),
            };
        }
        arc += direction as i64;
        length = every;
    }
}

fn along_arc(place: DVec3, heading: f64, speed: f64, rate: f64, secs: f64) -> (DVec3, f64) {
    let after = heading + rate * secs;
    let ((sin, cos), (up, right)) = (heading.sin_cos(), after.sin_cos());
    let way = if rate.abs() < 1e-9 {
        speed * secs * DVec3::new(cos, sin, 0.0)
    } else {
        speed / rate * DVec3::new(up - sin, cos - right, 0.0)
    };
    (place + way, after)
}

/// From -1 to 1, the same for the same arc (SplitMix64).
fn chance(seed: u64, arc: i64) -> f64 {
    let mut bits = seed
        .wrapping_add((arc as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Curve; 7] = [
        Curve::Circle {
            radius: 80.0,
            speed: 500.0,
        },
        Curve::Weave {
            sway: 80.0,
            speed: 500.0,
        },
        Curve::Ellipse {
            wide: 60.0,
            long: 110.0,
            rate: 5.0,
        },
        Curve::Eight {
            wide: 70.0,
            long: 40.0,
            rate: 5.0,
        },
        Curve::Swing {
            deep: 60.0,
            far: 120.0,
            rate: 4.0,
        },
        Curve::Throttle {
            radius: 100.0,
            speed: 450.0,
            part: 0.3,
            hertz: 1.3,
        },
        Curve::Wander {
            seed: 3,
            speed: 400.0,
            turn: 5.0,
            every_secs: 0.3,
        },
    ];

    #[test]
    fn they_pass_the_origin_upwards_and_bend_to_the_left() {
        for curve in ALL {
            let motion = curve.at(0.0);
            assert!(motion.position.length() < 1e-9, "{curve:?}");
            let across = motion.velocity.x.abs();
            assert!(motion.velocity.y > 0.0 && across < 1e-9, "{curve:?}");
            assert!(motion.acceleration.x < 0.0, "{curve:?}");
        }
    }

    #[test]
    fn velocity_and_acceleration_are_the_derivatives() {
        let step = 1e-5;
        for curve in ALL {
            for secs in [-1.31, -0.2, 0.04, 0.41, 1.1] {
                let [before, now, after] =
                    [secs - step, secs, secs + step].map(|secs| curve.at(secs));
                let velocity = (after.position - before.position) / (2.0 * step);
                let acceleration = (after.velocity - before.velocity) / (2.0 * step);
                assert!(velocity.distance(now.velocity) < 1e-3, "{curve:?}");
                assert!(acceleration.distance(now.acceleration) < 1e-2, "{curve:?}");
            }
        }
    }

    #[test]
    fn wanderers_differ_by_seed() {
        let wander = |seed| Curve::Wander {
            seed,
            speed: 400.0,
            turn: 5.0,
            every_secs: 0.3,
        };
        assert_eq!(wander(3).at(-1.2), wander(3).at(-1.2));
        assert!(
            wander(3)
                .at(-1.2)
                .position
                .distance(wander(4).at(-1.2).position)
                > 10.0
        );
    }
}
