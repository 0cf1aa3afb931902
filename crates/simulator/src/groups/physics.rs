//! Just enough physics to give the groups something to hold: balls that fly straight, bounce off the walls and off avatars, wanderers
//! that decide, and avatars that walk in circles.

use super::{GroupRun, avatar_state};
use ::groups::{AiParameters, Member, ObjectClass, ObjectInfo, ObjectKey, ObjectState};
use domain::{Bounds, SimTime};
use glam::{DVec3, Vec3};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// How many decisions per second a wanderer's ticks count.
const TICKS_PER_SEC: f64 = 20.0;

/// The objects of a run: every fifth one decides for itself.
pub(super) fn cast(rng: &mut Pcg64Mcg, run: &GroupRun) -> Vec<(ObjectInfo, ObjectState)> {
    let size = run.world.max - run.world.min;
    let object = |rng: &mut Pcg64Mcg, i: usize| {
        let key = ObjectKey::persistent(i as u64);
        let unit: [f64; 3] = rng.random();
        let position = run.world.min + size * (DVec3::from_array(unit) * 0.9 + 0.05);
        let way: [f32; 3] = rng.random();
        let ai = AiParameters {
            seed: rng.random(),
            speed: 4.0,
            every_ticks: 40,
        };
        let class = if i % 5 == 4 {
            ObjectClass::Ai(ai)
        } else {
            ObjectClass::Physical
        };
        let velocity = (Vec3::from_array(way) * 2.0 - 1.0) * 8.0;
        let info = ObjectInfo {
            key,
            class,
            kind: 1,
            extent_m: 0.5,
        };
        (
            info,
            ObjectState {
                velocity,
                ..ObjectState::at_rest(key, position)
            },
        )
    };
    (0..run.objects).map(|i| object(rng, i)).collect()
}

/// Where the user of machine `i` is: on a circle around the middle of the world.
pub(super) fn walk(run: &GroupRun, i: usize, now: SimTime) -> ObjectState {
    let middle = run.world.min * 0.5 + run.world.max * 0.5;
    let radius = (run.world.max.x - run.world.min.x) * (0.1 + 0.05 * (i % 7) as f64);
    let turn = 0.3 + 0.02 * i as f64;
    let angle = now.as_secs() * turn + i as f64;
    let position = middle + DVec3::new(angle.cos(), 0.0, angle.sin()) * radius;
    let velocity = DVec3::new(-angle.sin(), 0.0, angle.cos()) * radius * turn;
    avatar_state(position, velocity.as_vec3())
}

/// One step of everything a member simulates.
pub(super) fn step(member: &mut Member, now: SimTime, world: Bounds, secs: f64) {
    let avatars = member.avatars(now);
    let work: Vec<(ObjectState, ObjectInfo)> = member.simulated().map(|(s, i)| (*s, *i)).collect();
    for (mut state, info) in work {
        let mut changed = false;
        if let ObjectClass::Ai(ai) = info.class {
            let wanted = ai.wander((now.as_secs() * TICKS_PER_SEC) as u64);
            changed |= wanted != state.velocity;
            state.velocity = wanted;
        }
        // From where it was told to be to where it is now, however long ago that was.
        let elapsed = now.since(state.stamp).as_secs().min(10.0 * secs);
        state.position += state.velocity.as_dvec3() * elapsed;
        state.stamp = now;
        changed |= bounce(&mut state, &world);
        for (avatar, _) in &avatars {
            changed |= knock(&mut state, avatar);
        }
        member.put(state, changed);
    }
    member.finish_step(now);
}

fn bounce(state: &mut ObjectState, world: &Bounds) -> bool {
    let mut changed = false;
    for axis in 0..3 {
        let (low, high) = (world.min[axis], world.max[axis]);
        let out = (state.position[axis] < low && state.velocity[axis] < 0.0)
            || (state.position[axis] > high && state.velocity[axis] > 0.0);
        if out {
            state.velocity[axis] = -state.velocity[axis];
            state.position[axis] = state.position[axis].clamp(low, high);
            changed = true;
        }
    }
    changed
}

/// A ball that meets an avatar flies away from it.
fn knock(state: &mut ObjectState, avatar: &ObjectState) -> bool {
    let away = state.position - avatar.position;
    let (near, closing) = (
        away.length() < 1.0,
        away.dot(state.velocity.as_dvec3()) < 0.0,
    );
    if near && closing && away.length() > 1e-6 {
        let normal = away.normalize().as_vec3();
        state.velocity -= normal * (2.0 * state.velocity.dot(normal));
    }
    near && closing
}
