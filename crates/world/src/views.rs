//! Looking at bodies. Every walk is in `BodyId` order.

use crate::contacts::ContactBegun;
use crate::roster::slot_of;
use crate::world::{Entry, World};
use domain::{BodyForm, BodyId, Bounds, Joint, Motion};
use glam::Vec3;
use rapier3d::prelude::RigidBody;

/// One body as it is now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyView {
    /// Where it is and how it moves.
    pub motion: Motion,
    /// Not stepped until something touches it.
    pub asleep: bool,
    /// Of the sphere around its origin that holds its shape, metres.
    pub radius: f32,
    /// The tight box of its true shape, in world coordinates.
    pub bounds: Bounds,
    /// How much of the world's gravity it feels.
    pub gravity_scale: f32,
    /// Half of the line through its shape, in its own frame (see [`domain::Capsule`]).
    pub spine: Vec3,
    /// How far from that line it reaches.
    pub girth: f32,
    /// Where the engine has it. The place is used again when the body is gone.
    pub slot: u32,
}

/// What is written on an engine's body, for walks over many of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) id: BodyId,
    /// The length of half the line through its shape.
    pub(crate) spine_m: f32,
    /// Of the sphere around its origin that holds its shape.
    pub(crate) radius_m: f32,
}

impl Mark {
    pub(crate) fn pack(self) -> u128 {
        let high = |length: f32, bits: u32| u128::from(length.to_bits()) << bits;
        u128::from(self.id.0) | high(self.spine_m, 64) | high(self.radius_m, 96)
    }

    pub(crate) fn unpack(data: u128) -> Self {
        let high = |bits: u32| f32::from_bits((data >> bits) as u32);
        Self {
            id: BodyId(data as u64),
            spine_m: high(64),
            radius_m: high(96),
        }
    }
}

impl World {
    /// How many bodies there are.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Are there no bodies?
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Is the body here?
    pub fn contains(&self, id: BodyId) -> bool {
        self.bodies.contains_key(&id)
    }

    /// The ids of all bodies.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = BodyId> + '_ {
        self.bodies.keys().copied()
    }

    /// All bodies.
    pub fn bodies(&self) -> impl ExactSizeIterator<Item = (BodyId, BodyView)> + '_ {
        self.bodies
            .iter()
            .map(|(id, entry)| (*id, self.view(entry)))
    }

    /// One body.
    pub fn body(&self, id: BodyId) -> Option<BodyView> {
        self.bodies.get(&id).map(|entry| self.view(entry))
    }

    /// As [`body`](Self::body), with a guess of its [`slot`](BodyView::slot).
    pub fn body_in(&self, slot: u32, id: BodyId) -> Option<BodyView> {
        match self.bodies.at(slot) {
            Some((at, entry)) if *at == id => Some(self.view(entry)),
            _ => self.body(id),
        }
    }

    /// Where a body is and how it moves: less work than the whole [`body`](Self::body).
    pub fn motion(&self, id: BodyId) -> Option<Motion> {
        self.bodies.get(&id).map(|entry| self.motion_of(entry))
    }

    /// All bodies' motions: less work than all [`bodies`](Self::bodies).
    pub fn motions(&self) -> impl ExactSizeIterator<Item = (BodyId, Motion)> + '_ {
        self.bodies
            .iter()
            .map(|(id, entry)| (*id, self.motion_of(entry)))
    }

    /// What stays the same during the body's life.
    pub fn form(&self, id: BodyId) -> Option<&BodyForm> {
        self.bodies.get(&id).map(|entry| &*entry.form)
    }

    /// Does the body sleep? `false` if it is not here.
    pub fn is_asleep(&self, id: BodyId) -> bool {
        self.bodies.get(&id).is_some_and(|entry| self.sleeps(entry))
    }

    pub(crate) fn sleeps(&self, entry: &Entry) -> bool {
        entry.dozes || self.physics.bodies[entry.handle].is_sleeping()
    }

    /// How many bodies are awake.
    pub fn awake_count(&self) -> usize {
        self.bodies
            .values()
            .filter(|entry| !self.sleeps(entry))
            .count()
    }

    /// How many bodies the engine steps: at once, where [`awake_count`](Self::awake_count) looks at every body.
    pub fn stepped_count(&self) -> usize {
        self.physics.islands.num_active_bodies()
    }

    /// The bodies tied to this one by joints, directly or through others, itself included, by ascending
    /// id. Empty if it is not here.
    pub fn assembly(&self, id: BodyId) -> &[BodyId] {
        if let Some(members) = self.joints.assembly(id) {
            return members;
        }
        match self.bodies.get_key_value(&id) {
            Some((id, _)) => std::slice::from_ref(id),
            None => &[],
        }
    }

    /// All joints, by ascending id.
    pub fn joints(&self) -> impl Iterator<Item = &Joint> {
        self.joints.all()
    }

    /// How many joints there are.
    pub fn joint_count(&self) -> usize {
        self.joints.len()
    }

    /// The bodies that were in contact with this one in the last step, by ascending id.
    pub fn touching(&self, id: BodyId) -> Vec<BodyId> {
        let mut others: Vec<BodyId> = self.neighbours(id).collect();
        others.sort_unstable();
        others.dedup();
        others
    }

    /// The contacts that began in the last step, by ids.
    pub fn contacts_begun(&self) -> &[ContactBegun] {
        &self.begun
    }

    pub(crate) fn motion_of(&self, entry: &Entry) -> Motion {
        self.motion_in(&self.physics.bodies[entry.handle])
    }

    pub(crate) fn motion_in(&self, rigid: &RigidBody) -> Motion {
        Motion {
            position: self.frame.world(rigid.translation()),
            rotation: *rigid.rotation(),
            linear_velocity: rigid.linvel(),
            angular_velocity: rigid.angvel(),
        }
    }

    fn view(&self, entry: &Entry) -> BodyView {
        self.view_within(entry, self.bounds_of(entry))
    }

    /// The view of a body whose bounds have just been computed.
    pub(crate) fn view_within(&self, entry: &Entry, bounds: Bounds) -> BodyView {
        BodyView {
            motion: self.motion_of(entry),
            asleep: self.sleeps(entry),
            radius: entry.radius,
            bounds,
            gravity_scale: entry.gravity_scale,
            spine: entry.spine,
            girth: entry.girth,
            slot: slot_of(entry.handle),
        }
    }

    pub(crate) fn bounds_of(&self, entry: &Entry) -> Bounds {
        // From the body's pose: a collider that has not been stepped yet does not know its place.
        let pose = self.physics.bodies[entry.handle].position();
        let aabb = entry.shape.compute_aabb(pose);
        Bounds {
            min: self.frame.world(aabb.mins),
            max: self.frame.world(aabb.maxs),
        }
    }
}
