//! How two bodies part.

use crate::body::Ball;
use crate::settings::BounceRule;
use glam::DVec3;

/// One of the two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bouncer {
    pub ball: Ball,
    pub position: DVec3,
    pub velocity: DVec3,
}

/// Their velocities afterwards. `always`: also if they are separating already, as somebody who learns of a hit late and computes anew
/// from where the bodies are by then (thesis, figure 4.7).
pub(crate) fn bounce(rule: BounceRule, [one, other]: [Bouncer; 2], always: bool) -> [DVec3; 2] {
    let closing = one.velocity - other.velocity;
    let between = other.position - one.position;
    // Two bodies in the very same place part along their relative motion.
    let normal = between
        .try_normalize()
        .or(closing.try_normalize())
        .unwrap_or(DVec3::X);
    let speed = closing.dot(normal);
    if speed <= 0.0 && !always {
        return [one.velocity, other.velocity];
    }
    match rule {
        BounceRule::Mirror => {
            [one, other].map(|body| body.velocity - normal * (2.0 * body.velocity.dot(normal)))
        }
        BounceRule::Impulse { restitution } => {
            let [light, heavy] = [one, other].map(|body| 1.0 / body.ball.mass);
            let total = light + heavy;
            if total <= 0.0 {
                return [one.velocity, other.velocity];
            }
            let impulse = normal * ((1.0 + restitution) * speed / total);
            [
                one.velocity - impulse * light,
                other.velocity + impulse * heavy,
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(mass: f64, x: f64, velocity: DVec3) -> Bouncer {
        Bouncer {
            ball: Ball { radius: 1.0, mass },
            position: DVec3::X * x,
            velocity,
        }
    }

    const ELASTIC: BounceRule = BounceRule::Impulse { restitution: 1.0 };

    #[test]
    fn equal_masses_swap_what_points_along_the_line_of_centres() {
        let one = ball(1.0, 0.0, DVec3::new(3.0, 1.0, 0.5));
        let other = ball(1.0, 2.0, DVec3::new(-2.0, 4.0, 0.0));
        let [after, before] = bounce(ELASTIC, [one, other], false);
        assert_eq!(after, DVec3::new(-2.0, 1.0, 0.5));
        assert_eq!(before, DVec3::new(3.0, 4.0, 0.0));
    }

    #[test]
    fn momentum_and_energy_are_kept_and_walls_do_not_move() {
        let one = ball(2.0, 0.0, DVec3::new(5.0, 1.0, 0.0));
        let other = ball(7.0, 2.0, DVec3::new(1.0, -1.0, 2.0));
        let [a, b] = bounce(ELASTIC, [one, other], false);
        let momentum = a * 2.0 + b * 7.0 - one.velocity * 2.0 - other.velocity * 7.0;
        assert!(momentum.length() < 1e-12);
        let energy = |v: DVec3, m: f64| 0.5 * m * v.length_squared();
        let change = energy(a, 2.0) + energy(b, 7.0)
            - energy(one.velocity, 2.0)
            - energy(other.velocity, 7.0);
        assert!(change.abs() < 1e-9);
        let wall = ball(f64::INFINITY, 2.0, DVec3::ZERO);
        let [back, still] = bounce(ELASTIC, [one, wall], false);
        assert_eq!((back, still), (DVec3::new(-5.0, 1.0, 0.0), DVec3::ZERO));
    }

    // The thesis's words, §4.3: each reverses along the normal. The same as the impulse only if symmetric.
    #[test]
    fn mirror_and_impulse_agree_when_symmetric() {
        let head_on = [
            ball(1.0, 0.0, DVec3::X * 4.0),
            ball(1.0, 2.0, DVec3::X * -4.0),
        ];
        let mirrored = bounce(BounceRule::Mirror, head_on, false);
        assert_eq!(mirrored, bounce(ELASTIC, head_on, false));
        let chase = [ball(1.0, 0.0, DVec3::X * 4.0), ball(1.0, 2.0, DVec3::X)];
        assert_ne!(
            bounce(BounceRule::Mirror, chase, false),
            bounce(ELASTIC, chase, false)
        );
    }

    #[test]
    fn who_separates_already_is_left_alone_unless_told_otherwise() {
        let parting = [
            ball(1.0, 0.0, DVec3::X * -4.0),
            ball(1.0, 2.0, DVec3::X * 4.0),
        ];
        let [a, b] = bounce(ELASTIC, parting, false);
        assert_eq!([a, b], [DVec3::X * -4.0, DVec3::X * 4.0]);
        let [a, _] = bounce(ELASTIC, parting, true);
        assert_eq!(a, DVec3::X * 4.0, "the wrong normal of figure 4.7");
    }
}
