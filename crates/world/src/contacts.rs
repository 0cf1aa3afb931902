//! Contacts that begin: collected while the engine steps, before its solver acts on them.

use crate::seeds::Seeds;
use domain::{BodyId, ContactEnd, StaticId};
use rapier3d::prelude::{
    Collider, ColliderSet, CollisionEvent, ContactPair, EventHandler, Real, RigidBody,
    RigidBodySet, SoftBodySet, SoftBodyTearEvent,
};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// Two things began to touch (or to be so near that the engine solves them as touching).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContactBegun {
    /// The body; of two bodies the one with the lower id.
    pub a: BodyId,
    /// What it met.
    pub b: ContactEnd,
    /// How deep they overlapped when the engine noticed, metres; negative: the gap that was left.
    pub depth_m: f32,
    /// How fast they approached along the contact's normal before the solver acted, m/s; negative:
    /// they were parting.
    pub approach_speed: f32,
    /// Their full relative speed at the contact, m/s.
    pub relative_speed: f32,
    /// They were already touching before a handover brought them here.
    pub restored: bool,
}

/// What a collider's user data says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Body(BodyId),
    Static(StaticId),
}

const STATIC_BIT: u128 = 1 << 64;

impl Tag {
    pub(crate) fn pack(self) -> u128 {
        match self {
            Self::Body(id) => u128::from(id.0),
            Self::Static(id) => STATIC_BIT | u128::from(id.0),
        }
    }

    pub(crate) fn of(collider: &Collider) -> Self {
        let data = collider.user_data;
        if data & STATIC_BIT == 0 {
            Self::Body(BodyId(data as u64))
        } else {
            Self::Static(StaticId(data as u32))
        }
    }

    pub(crate) fn end(self) -> ContactEnd {
        match self {
            Self::Body(id) => ContactEnd::Body(id),
            Self::Static(id) => ContactEnd::Static(id),
        }
    }
}

/// Listens to one step. The engine tells its listeners through `&self`, hence the lock.
pub(crate) struct Collector<'a> {
    seeds: &'a Seeds,
    begun: Mutex<Vec<ContactBegun>>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(seeds: &'a Seeds) -> Self {
        Self {
            seeds,
            begun: Mutex::default(),
        }
    }

    /// What was heard, by ids.
    pub(crate) fn finish(self) -> Vec<ContactBegun> {
        let mut begun = self.begun.into_inner().unwrap_or_else(|e| e.into_inner());
        begun.sort_unstable_by_key(|contact| (contact.a, contact.b));
        begun
    }

    fn note(&self, bodies: &RigidBodySet, one: &Collider, two: &Collider, pair: &ContactPair) {
        let Some((a, b)) = ends(one, two) else {
            return;
        };
        let Some((manifold, point)) = pair.find_deepest_contact() else {
            return;
        };
        let pose = match manifold.subshape_pos1() {
            Some(part) => *one.position() * *part,
            None => *one.position(),
        };
        let place = pose * point.local_p1;
        let velocity = |collider: &Collider| {
            let body: Option<&RigidBody> = collider.parent().and_then(|h| bodies.get(h));
            body.map(|body| body.velocity_at_point(place))
                .unwrap_or_default()
        };
        let relative = velocity(one) - velocity(two);
        let normal = pose.rotation * manifold.local_n1;
        let contact = ContactBegun {
            a,
            b,
            depth_m: -point.dist,
            approach_speed: relative.dot(normal),
            relative_speed: relative.length(),
            restored: self.seeds.remembers(ContactEnd::Body(a), b),
        };
        let mut begun = self.begun.lock().unwrap_or_else(|e| e.into_inner());
        begun.push(contact);
    }
}

/// The two sides in canonical order; `None` for two statics.
fn ends(one: &Collider, two: &Collider) -> Option<(BodyId, ContactEnd)> {
    match (Tag::of(one), Tag::of(two)) {
        (Tag::Body(p), Tag::Body(q)) => Some((p.min(q), ContactEnd::Body(p.max(q)))),
        (Tag::Body(body), Tag::Static(scenery)) | (Tag::Static(scenery), Tag::Body(body)) => {
            Some((body, ContactEnd::Static(scenery)))
        }
        (Tag::Static(_), Tag::Static(_)) => None,
    }
}

impl EventHandler for Collector<'_> {
    fn handle_collision_event(
        &self,
        bodies: &RigidBodySet,
        colliders: &ColliderSet,
        event: CollisionEvent,
        pair: Option<&ContactPair>,
    ) {
        if let (CollisionEvent::Started(one, two, _), Some(pair)) = (event, pair)
            && let (Some(one), Some(two)) = (colliders.get(one), colliders.get(two))
        {
            self.note(bodies, one, two, pair);
        }
    }

    fn handle_contact_force_event(
        &self,
        _: Real,
        _: &RigidBodySet,
        _: &ColliderSet,
        _: &ContactPair,
        _: Real,
    ) {
    }

    fn handle_soft_body_tear_event(&self, _: &SoftBodySet, _: &SoftBodyTearEvent) {}
}
