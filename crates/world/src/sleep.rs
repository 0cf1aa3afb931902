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
    let mut scratch = PhysicsWorld::new();
    scratch.gravity = Vec3::ZERO;
    let handles: Vec<RigidBodyHandle> = bodies
        .iter()
        .zip(poses)
        .map(|(body, pose)| {
            scratch.insert_body(RigidBodyBuilder::dynamic().pose(one_step_ago(body, *pose, dt)))
        })
        .collect();
    scratch.step();
    bodies
        .iter()
        .zip(handles)
        .map(|(body, handle)| {
            let mut activation = *scratch.bodies[handle].activation();
            let still = if body.rest.asleep {
                activation.time_until_sleep
            } else {
                body.rest.still_secs
            };
            activation.sleeping = false;
            activation.time_since_can_sleep = still.min(longest_still);
            activation
        })
        .collect()
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
