//! Sleep across a handover.
//!
//! Like a sleeping child carried from the car to the bed: whoever takes it must know that it sleeps, or
//! it is put on its feet. The engine lets a contact island sleep once every body of it has been still for
//! half a second. It measures stillness against a body's pose one step ago, and that pose is private and
//! starts at the identity: a body that comes in looks as if it had just jumped there, and its timer is
//! set to zero.
//!
//! A body's `RigidBodyActivation` can be copied, though, and a step writes the private pose. So we step a
//! scratch world whose bodies stand where the newcomers were one step ago, and copy what the engine wrote.
//! From then on the newcomers' timers run as if they had been here all along. The engine decides about
//! sleep before it solves: an island that comes in asleep is asleep again in its first step, before
//! anything has moved it.

use domain::Body;
use glam::{Quat, Vec3};
use rapier3d::math::Pose;
use rapier3d::prelude::{
    IslandManager, PhysicsWorld, RigidBody, RigidBodyActivation, RigidBodyBuilder, RigidBodyHandle,
};

/// Speed of a body's farthest point above which the engine never takes it for still, m/s: twice what the
/// engine's threshold of 0.05 m/s (on half the speed) allows.
const SURELY_MOVING: f32 = 0.2;

/// Lets a body sleep or keeps it awake.
pub(crate) fn allow(body: &mut RigidBody, allowed: bool) {
    let thresholds = if allowed {
        RigidBodyActivation::active()
    } else {
        RigidBodyActivation::cannot_sleep()
    };
    if !allowed && body.is_sleeping() {
        body.wake_up(true);
    }
    let activation = body.activation_mut();
    activation.normalized_linear_threshold = thresholds.normalized_linear_threshold;
    activation.angular_threshold = thresholds.angular_threshold;
}

/// The activations with which bodies of a cluster go on sleeping, or getting sleepy, at these poses.
/// `longest_still` caps the timers (see [`World::insert`](crate::World::insert)).
pub(crate) fn activations(
    bodies: &[Body],
    poses: &[Pose],
    dt: f32,
    longest_still: f32,
) -> Vec<RigidBodyActivation> {
    let mut activations = vec![RigidBodyActivation::active(); bodies.len()];
    let sleepy: Vec<usize> = (0..bodies.len())
        .filter(|i| is_sleepy(&bodies[*i]))
        .collect();
    if sleepy.is_empty() {
        return activations;
    }
    let mut scratch = PhysicsWorld::new();
    scratch.gravity = Vec3::ZERO;
    let handles: Vec<RigidBodyHandle> = sleepy
        .iter()
        .map(|i| one_step_ago(&bodies[*i], poses[*i], dt))
        .map(|pose| scratch.insert_body(RigidBodyBuilder::dynamic().pose(pose)))
        .collect();
    scratch.step();
    for (i, handle) in sleepy.into_iter().zip(handles) {
        let rest = bodies[i].rest;
        let mut activation = *scratch.bodies[handle].activation();
        let still = if rest.asleep {
            activation.time_until_sleep
        } else {
            rest.still_secs
        };
        activation.sleeping = false;
        activation.time_since_can_sleep = still.min(longest_still);
        activations[i] = activation;
    }
    activations
}

/// May the body's timer run? A body at full speed, as most that change their owner are, has a timer of
/// zero that stays zero, and needs no scratch world.
fn is_sleepy(body: &Body) -> bool {
    let motion = &body.motion;
    let spin = motion.angular_velocity.length() * body.form.shape.bounding_radius();
    body.rest.asleep
        || body.rest.still_secs > 0.0
        || motion.linear_velocity.length() + spin < SURELY_MOVING
}

/// Where the body's velocities say it came from.
fn one_step_ago(body: &Body, pose: Pose, dt: f32) -> Pose {
    let motion = &body.motion;
    let turned = Quat::from_scaled_axis(motion.angular_velocity * -dt);
    Pose::from_parts(
        pose.translation - motion.linear_velocity * dt,
        (turned * pose.rotation).normalize(),
    )
}

/// An island manager past its first update. In that update the engine builds its islands anew and gives
/// them other numbers than those under which it has just observed who is sleepy; in a world of sleepers
/// that would wake or lull the wrong ones.
pub(crate) fn settled_islands() -> IslandManager {
    let mut scratch = PhysicsWorld::new();
    scratch.step();
    scratch.islands
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{BodyForm, BodyId, Motion, Rest, Shape};
    use glam::DVec3;

    fn body(rest: Rest, velocity: Vec3) -> (Body, Pose) {
        let form = BodyForm::of(Shape::Sphere { radius: 1.0 });
        let mut body = Body::new(BodyId(1), form, Motion::at(DVec3::new(9.0, 8.0, 7.0)));
        body.rest = rest;
        body.motion.linear_velocity = velocity;
        (body, Pose::from_translation(Vec3::new(9.0, 8.0, 7.0)))
    }

    fn timer(rest: Rest, velocity: Vec3) -> f32 {
        let (body, pose) = body(rest, velocity);
        activations(&[body], &[pose], 1.0 / 60.0, f32::MAX)[0].time_since_can_sleep
    }

    #[test]
    fn timers_are_carried_over() {
        let rest = |asleep, still_secs| Rest { asleep, still_secs };
        assert_eq!(timer(rest(false, 0.3), Vec3::ZERO), 0.3);
        assert_eq!(timer(rest(true, 0.5), Vec3::ZERO), 0.5);
        assert_eq!(timer(rest(false, 0.0), Vec3::X), 0.0);
    }

    #[test]
    fn the_engine_goes_on_counting() {
        // The whole point: one engine step later the timer has grown, as it would have at home.
        for (velocity, expected) in [(Vec3::ZERO, 0.3 + 1.0 / 60.0), (Vec3::X * 0.15, 0.0)] {
            let rest = Rest {
                asleep: false,
                still_secs: 0.3,
            };
            let (body, pose) = body(rest, velocity);
            let mut world = PhysicsWorld::new();
            world.gravity = Vec3::ZERO;
            let handle = world.insert_body(RigidBodyBuilder::dynamic().pose(pose));
            let activation = activations(&[body], &[pose], 1.0 / 60.0, f32::MAX)[0];
            *world.bodies[handle].activation_mut() = activation;
            world.step();
            let counted = world.bodies[handle].activation().time_since_can_sleep;
            assert!((counted - expected).abs() < 1e-6, "{velocity}: {counted}");
        }
    }
}
