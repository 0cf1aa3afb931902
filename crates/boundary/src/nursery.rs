//! Spawns near a border, before they are born.
//!
//! A body that appears out of nothing obeys no speed limit: the moment before, it was infinitely far away. Born
//! within reach of a neighbour's body it could touch it before either server can act. So a spawn near a border is *announced* first: its
//! aura is projected from the place where it will appear, whoever touches it comes over (or the spawn goes to them, by
//! the usual rules), and it is born when nothing foreign can be near any more. Elsewhere it is born at once.

use crate::projection::Regions;
use crate::view::BodyView;
use domain::{Body, BodyId, Epoch, Rect, Tick};
use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wire::ClusterKey;

/// Waiting has an end, or a crowded border would starve a spawn: after this many announcement times it is born anyway.
const PATIENCE: u64 = 20;

/// A spawn that is announced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ghost {
    /// What will be born.
    pub body: Body,
    /// Since when it is announced here.
    pub since: Tick,
    /// Since when it was announced anywhere.
    pub first: Tick,
    /// Its ownership; it rises when the announcement is handed over, as a body's does.
    pub epoch: Epoch,
    /// Who has been told.
    pub audience: Regions,
    /// The rank of its cluster, as they were told (size `adaptive`).
    pub rank: Option<ClusterKey>,
}

impl Ghost {
    /// As the boundary sees it: a sleeping body at that place.
    pub fn view(&self) -> BodyView {
        view_of(&self.body)
    }

    /// As it will move once it is born.
    pub fn live_view(&self, pull: f64) -> BodyView {
        live_view_of(&self.body, pull)
    }

    /// Its rank in the tie-break.
    pub fn key(&self) -> ClusterKey {
        ClusterKey {
            class: 0,
            since: self.first,
            body: self.body.id,
        }
    }

    /// May it be born now? `called` says that it touches a foreign aura.
    pub fn is_due(&self, now: Tick, announce_ticks: u64, called: bool) -> bool {
        self.is_announced(now, announce_ticks) && (!called || self.is_tired(now, announce_ticks))
    }

    /// Has everybody heard of it?
    pub fn is_announced(&self, now: Tick, announce_ticks: u64) -> bool {
        now.since(self.since) >= announce_ticks
    }

    /// Has it waited for too long?
    pub fn is_tired(&self, now: Tick, announce_ticks: u64) -> bool {
        now.since(self.first) >= PATIENCE * announce_ticks
    }
}

/// A body to be as the boundary sees it.
pub fn view_of(body: &Body) -> BodyView {
    let centre = body.motion.position;
    let radius = f64::from(body.form.shape.bounding_radius());
    let (spine, girth) = body.form.shape.spine();
    BodyView {
        id: body.id,
        centre,
        rotation: body.motion.rotation,
        radius,
        spine: body.motion.rotation * spine,
        girth: girth.into(),
        ground: Rect {
            min: [centre.x - radius, centre.z - radius],
            max: [centre.x + radius, centre.z + radius],
        },
        velocity: DVec3::ZERO,
        surge: 0.0,
        pull: 0.0,
        asleep: true,
        slot: u32::MAX,
    }
}

/// A body as the boundary will see it in the world, where gravity has this strength (m/s²).
pub fn live_view_of(body: &Body, gravity: f64) -> BodyView {
    let view = view_of(body);
    let motion = &body.motion;
    let velocity = motion.linear_velocity.as_dvec3();
    let asleep = body.rest.asleep;
    BodyView {
        velocity,
        surge: surge(motion.linear_velocity, motion.angular_velocity, view.spine),
        pull: gravity * f64::from(body.form.gravity_scale).abs(),
        asleep,
        slot: u32::MAX,
        ..view
    }
}

/// The speed of the fastest point of a body's line.
pub fn surge(velocity: Vec3, spin: Vec3, spine: Vec3) -> f64 {
    (velocity.length() + spin.cross(spine).length()).into()
}

/// All announced spawns of a region, in body order.
pub type Nursery = BTreeMap<BodyId, Ghost>;
