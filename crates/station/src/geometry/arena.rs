//! The walls: static, the same everywhere, no business of the network (ML-33).

use crate::body::{Arena, Ball, State};
use glam::DVec3;

/// Puts a body that has gone through a wall back inside, mirrored; says whether it did.
pub(crate) fn rebound(arena: &Arena, ball: &Ball, state: &mut State) -> bool {
    let inset = DVec3::splat(ball.radius);
    let (min, max) = (arena.min + inset, arena.max - inset);
    let mut bounced = false;
    for axis in 0..3 {
        // An arena that is too narrow for the ball, or flat as a plane world's, does not bound this axis.
        if min[axis] >= max[axis] {
            continue;
        }
        let position = state.position[axis];
        let wall = position.clamp(min[axis], max[axis]);
        let outward = (position - wall) * state.velocity[axis] > 0.0;
        if position == wall || !outward {
            continue;
        }
        let inside = wall - (position - wall) * arena.restitution;
        state.position[axis] = inside.clamp(min[axis], max[axis]);
        state.velocity[axis] *= -arena.restitution;
        state.acceleration = DVec3::ZERO;
        bounced = true;
    }
    bounced
}

/// Whether a ball is wholly inside.
pub(crate) fn is_inside(arena: &Arena, ball: &Ball, position: DVec3) -> bool {
    let inset = DVec3::splat(ball.radius);
    let (min, max) = (arena.min + inset, arena.max - inset);
    (0..3).all(|axis| min[axis] >= max[axis] || (min[axis]..=max[axis]).contains(&position[axis]))
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-33
    #[test]
    fn walls_reflect_and_a_flat_axis_is_free() {
        let arena = Arena {
            min: DVec3::new(-10.0, -10.0, 0.0),
            max: DVec3::new(10.0, 10.0, 0.0),
            restitution: 1.0,
        };
        let ball = Ball::new(1.0);
        let mut state = State::moving(DVec3::new(9.5, 0.0, 0.0), DVec3::new(2.0, 3.0, 0.0));
        assert!(!is_inside(&arena, &ball, state.position));
        assert!(rebound(&arena, &ball, &mut state));
        assert_eq!(
            state,
            State::moving(DVec3::new(8.5, 0.0, 0.0), DVec3::new(-2.0, 3.0, 0.0))
        );
        assert!(!rebound(&arena, &ball, &mut state), "once");
        assert!(is_inside(&arena, &ball, state.position));
    }
}
