//! One look at everything that a step has moved: has it broken something? And what is awake, where, and how fast?
//!
//! The engine puts a body into quarantine whose place is not a number any more: it stands still where it was, touches
//! nothing, and is told of. Nobody who has such a body would know that it is not one. What the engine does not look at
//! are velocities, and places beyond what any other world would take; so we look, at those that it has moved.

use crate::check;
use crate::contacts::Tag;
use crate::roster::slot_of;
use crate::views::Mark;
use crate::world::World;
use domain::{BodyId, Rect};
use glam::{DVec3, Vec3};
use rapier3d::prelude::{Collider, ColliderHandle, RigidBody, RigidBodyHandle};

/// A body that is awake, in few numbers: all of them are walked over in every tick, and most do not matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AwakeBody {
    /// Which.
    pub id: BodyId,
    /// In the engine's coordinates.
    place: Vec3,
    /// No point of its line is faster, m/s.
    pub surge: f32,
    /// Of the sphere around its origin that holds its shape, metres.
    pub radius: f32,
    /// See [`BodyView::slot`](crate::BodyView).
    pub slot: u32,
}

impl AwakeBody {
    fn of(handle: RigidBodyHandle, rigid: &RigidBody) -> Self {
        let mark = Mark::unpack(rigid.user_data);
        Self {
            id: mark.id,
            radius: mark.radius_m,
            slot: slot_of(handle),
            place: rigid.translation(),
            surge: rigid.linvel().length() + rigid.angvel().length() * mark.spine_m,
        }
    }
}

impl World {
    /// To be called after each step. Returns the bodies that it has left with impossible numbers, ascending, and which
    /// numbers. Nobody else should see them: [`remove`](Self::remove) them. With `lists_awake` everything that is
    /// awake is written down for [`for_each_awake_outside`](Self::for_each_awake_outside).
    pub fn survey(&mut self, lists_awake: bool) -> Vec<(BodyId, &'static str)> {
        let mut awake = std::mem::take(&mut self.awake);
        awake.clear();
        let is_sound = match lists_awake {
            true => self.is_sound_at_a_glance(|at, rigid| awake.push(AwakeBody::of(at, rigid))),
            false => self.is_sound_at_a_glance(|_, _| ()),
        };
        self.awake = awake;
        match is_sound && self.physics.quarantine().is_empty() {
            true => Vec::new(),
            false => self.broken(),
        }
    }

    /// How many were awake when the last step was surveyed.
    pub fn surveyed_count(&self) -> usize {
        self.awake.len()
    }

    /// Calls `f` for everything that was awake when the last step was surveyed and is not well inside `inner`, with
    /// its place; in no particular order but always the same.
    pub fn for_each_awake_outside(&self, inner: &Rect, mut f: impl FnMut(&AwakeBody, DVec3)) {
        let edges = self.frame.local_edges(inner);
        for body in &self.awake {
            if !edges.hold(body.place.x, body.place.x, body.place.z, body.place.z) {
                f(body, self.frame.world(body.place));
            }
        }
    }

    #[cold]
    fn broken(&self) -> Vec<(BodyId, &'static str)> {
        let quarantine = self.physics.quarantine();
        let bodies = quarantine.bodies().iter();
        let lost = bodies
            .filter_map(|handle| self.id_of(self.physics.bodies.get(*handle)?))
            .chain(
                quarantine
                    .colliders()
                    .iter()
                    .filter_map(|it| self.id_at(*it)),
            )
            .map(|id| (id, "its motion, as computed,"));
        let moved = self.physics.active_bodies().filter_map(|(_, rigid)| {
            let what = check::bad_number(&self.motion_in(rigid))?;
            Some((self.id_of(rigid)?, what))
        });
        let mut broken: Vec<_> = lost.chain(moved).collect();
        broken.sort_unstable();
        broken.dedup_by_key(|(id, _)| *id);
        broken
    }

    /// Is it certain that nothing is wrong with any body that was moved? Asked in every step, of all that is awake:
    /// the loop is short, and so the processor fetches several bodies at once, which is where the time goes.
    fn is_sound_at_a_glance(&self, mut note: impl FnMut(RigidBodyHandle, &RigidBody)) -> bool {
        let (mut farthest, mut fastest) = (Vec3::ZERO, Vec3::ZERO);
        let (mut bent, mut not_a_number) = (0.0_f32, 0.0_f32);
        for (handle, rigid) in self.physics.active_bodies() {
            note(handle, rigid);
            let (place, turn) = (rigid.translation(), rigid.rotation());
            let (speed, spin) = (rigid.linvel(), rigid.angvel());
            farthest = farthest.max(place.abs());
            fastest = fastest.max(speed.abs().max(spin.abs()));
            bent = bent.max((turn.length_squared() - 1.0).abs());
            // The largest of all does not tell whether one was none; what is left of infinity, or of no number, times
            // zero does.
            let sum = place + speed + spin;
            not_a_number += (sum.x + sum.y + sum.z + turn.length_squared()) * 0.0;
        }
        let origin = self.frame.origin.abs().max_element();
        let reach = f64::from(farthest.max_element()) + origin;
        not_a_number == 0.0 && check::is_sound_at_most(reach, fastest.max_element(), bent)
    }

    /// The id is written on the body's collider.
    pub(crate) fn id_of(&self, rigid: &RigidBody) -> Option<BodyId> {
        self.id_at(*rigid.colliders().first()?)
    }

    fn id_at(&self, collider: ColliderHandle) -> Option<BodyId> {
        let collider: &Collider = self.physics.colliders.get(collider)?;
        match Tag::of(collider) {
            Tag::Body(id) => Some(id),
            Tag::Static(_) => None,
        }
    }
}
