//! Several members changed one body in one iteration, each by the contacts it is responsible for. Impulses of different contacts add
//! up; so do the changes they make.

use super::member::MOST_PUSHED_M;
use domain::Motion;
use wire::replicate::BodyState;

/// What the body was, plus what each author has changed. Authors must come in the same order everywhere: sums of numbers like
/// these depend on it.
pub(super) fn sum(base: &Motion, changes: &[&BodyState], max_speed: f32) -> Motion {
    let mut motion = *base;
    let mut push = glam::DVec3::ZERO;
    for BodyState {
        motion: changed, ..
    } in changes
    {
        push += changed.position - base.position;
        motion.linear_velocity += changed.linear_velocity - base.linear_velocity;
        motion.angular_velocity += changed.angular_velocity - base.angular_velocity;
    }
    motion.position += push.clamp_length_max(f64::from(MOST_PUSHED_M));
    motion.linear_velocity = motion.linear_velocity.clamp_length_max(max_speed);
    motion
}
