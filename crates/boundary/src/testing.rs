//! A plain list of balls that stands for a region's world in the tests of this crate.

use crate::config::{AuraSize, BoundaryConfig};
use crate::view::{AwakeBody, Bodies, BodyView};
use domain::{BodyId, Bounds, Rect};
use glam::DVec3;
use std::collections::BTreeMap;

/// Size `safe`, whose auras are the same for all bodies.
pub fn safe() -> BoundaryConfig {
    BoundaryConfig {
        aura: AuraSize::Safe,
        ..BoundaryConfig::default()
    }
}

/// A ball on the ground plane.
pub fn ball(id: u64, x: f64, z: f64, radius: f64) -> BodyView {
    BodyView {
        id: BodyId(id),
        centre: DVec3::new(x, 0.0, z),
        rotation: glam::Quat::IDENTITY,
        radius,
        spine: glam::Vec3::ZERO,
        girth: radius,
        ground: Rect {
            min: [x - radius, z - radius],
            max: [x + radius, z + radius],
        },
        velocity: DVec3::ZERO,
        surge: 0.0,
        pull: 0.0,
        asleep: false,
        slot: id as u32,
    }
}

/// Bodies in a map; every query is a scan.
#[derive(Clone, Debug, Default)]
pub struct Balls {
    pub by_id: BTreeMap<BodyId, BodyView>,
    pub assemblies: Vec<Vec<BodyId>>,
}

impl Balls {
    pub fn of(views: impl IntoIterator<Item = BodyView>) -> Self {
        Self {
            by_id: views.into_iter().map(|view| (view.id, view)).collect(),
            assemblies: Vec::new(),
        }
    }

    pub fn put(&mut self, view: BodyView) {
        self.by_id.insert(view.id, view);
    }

    pub fn remove(&mut self, id: BodyId) -> Option<BodyView> {
        self.by_id.remove(&id)
    }
}

impl Bodies for Balls {
    fn view(&self, id: BodyId) -> Option<BodyView> {
        self.by_id.get(&id).copied()
    }

    fn view_in(&self, _: u32, id: BodyId) -> Option<BodyView> {
        self.view(id)
    }

    fn not_within(&self, inner: &Rect, out: &mut Vec<BodyView>) {
        let bodies = self.by_id.values();
        out.extend(bodies.filter(|view| !inner.contains(&view.ground)));
    }

    fn touching(&self, boxes: &[Bounds], out: &mut Vec<BodyId>) {
        out.extend(
            self.by_id
                .values()
                .filter(|view| {
                    let bounds = Bounds::of_sphere(view.centre, view.radius);
                    boxes.iter().any(|other| other.touches(&bounds))
                })
                .map(|view| view.id),
        );
    }

    fn for_each_awake(&self, inner: &Rect, slow: f64, f: &mut impl FnMut(AwakeBody)) {
        let is_outside = |view: &&BodyView| !inner.holds(view.centre.x, view.centre.z);
        let awake = self.by_id.values().filter(|view| !view.asleep);
        for view in awake.filter(is_outside) {
            f(AwakeBody {
                id: view.id,
                centre: view.centre,
                surge: Some(view.surge).filter(|surge| *surge > slow),
                radius: view.radius,
                slot: view.slot,
            });
        }
    }

    fn sleeps_any(&self) -> bool {
        self.by_id.values().any(|view| view.asleep)
    }

    fn awake(&self) -> u64 {
        self.by_id.values().filter(|view| !view.asleep).count() as u64
    }

    fn widest_radius(&self) -> f64 {
        self.by_id
            .values()
            .map(|view| view.radius)
            .fold(0.0, f64::max)
    }

    fn assembly(&self, id: BodyId, out: &mut Vec<BodyId>) {
        for assembly in self.assemblies.iter().filter(|a| a.contains(&id)) {
            out.extend(assembly);
        }
    }
}
