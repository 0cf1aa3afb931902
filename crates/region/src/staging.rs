//! A scene put on regions: who starts with what. Every server works this out for itself, and all come to the same result.

use crate::{Region, RegionConfig, RegionError};
use boundary::{BodyView, BoundaryConfig, Tolerances, initial};
use domain::{
    Body, BodyId, Joint, Layout, Motion, RegionId, RegionMap, RegionMapError, Shape, Static,
};
use glam::{DVec3, Vec3};
use rustc_hash::{FxHashMap, FxHashSet};
use scenes::Scene;
use std::collections::BTreeMap;
use std::sync::Arc;
use world::{World, WorldConfig};

/// Can the engine build everything in the scene? A scene is read without building its hulls, and a server that finds out in the middle of a run can only leave
/// bodies out.
pub fn check(scene: &Scene) -> Result<(), RegionError> {
    let config = WorldConfig {
        gravity: scene.gravity,
        step: scene.step,
        ..WorldConfig::default()
    };
    World::new(config, &scene.statics)?;
    let injected = scene.injectors.iter().flat_map(|injector| &injector.forms);
    let injected = injected.map(|form| Body::new(BodyId(0), form.clone(), Motion::at(DVec3::ZERO)));
    let mut built = FxHashSet::default();
    for body in scene.bodies.iter().cloned().chain(injected) {
        // Rows of bodies share one shape.
        let kind = (
            address(&body.form.shape),
            body.form.material.density.to_bits(),
        );
        if kind.0.is_none() || built.insert(kind) {
            world::check_body(&body)?;
        }
    }
    Ok(())
}

/// Where the large part of a shape is, if it has one.
fn address(shape: &Shape) -> Option<usize> {
    match shape {
        Shape::Convex { points } => Some(Arc::as_ptr(points).cast::<()>().addr()),
        Shape::Mesh { vertices, .. } => Some(Arc::as_ptr(vertices).cast::<()>().addr()),
        Shape::Compound { parts } => Some(Arc::as_ptr(parts).cast::<()>().addr()),
        _ => None,
    }
}

/// The map of a scene, unless told to use another layout or number of regions. A scene's own boxes fit its own number only.
pub fn region_map(
    scene: &Scene,
    layout: Option<Layout>,
    regions: Option<usize>,
) -> Result<RegionMap, RegionMapError> {
    let count = regions.unwrap_or(scene.regions.servers);
    let layout = match (layout, scene.regions.layout) {
        (Some(layout), _) => layout,
        (None, own) if count == scene.regions.servers => own,
        (None, own @ (Layout::Columns | Layout::Tree)) => own,
        (None, _) => Layout::Grid,
    };
    match layout {
        Layout::Boxes => RegionMap::boxes(&scene.regions.boxes, scene.world),
        layout => RegionMap::build(layout, count, scene.world),
    }
}

/// A scene's tolerances as the boundary wants them: seconds instead of milliseconds.
pub fn tolerances(scene: &Scene) -> Tolerances {
    Tolerances {
        speed: scene.tolerances.speed,
        latency_secs: scene.tolerances.latency_ms * 1e-3,
        frame_secs: scene.tolerances.frame_ms * 1e-3,
    }
}

/// Everything that all regions of a run have in common at its start.
#[derive(Clone, Debug)]
pub struct Staging {
    /// The regions.
    pub map: RegionMap,
    /// Policy, sizes, tolerances, step.
    pub boundary: BoundaryConfig,
    /// Bodies tied by joints: of each assembly's first body all its bodies, ascending. No entry for a body that is tied to none.
    pub assemblies: BTreeMap<BodyId, Vec<BodyId>>,
    /// The first owner of each body.
    pub owners: BTreeMap<BodyId, RegionId>,
    gravity: Vec3,
    statics: Arc<[Static]>,
}

impl Staging {
    /// Finds the first owner of every body of the scene.
    pub fn new(scene: &Scene, map: RegionMap, boundary: BoundaryConfig) -> Self {
        let assemblies = assemblies(&scene.bodies, &scene.joints);
        let assembly_of: FxHashMap<BodyId, &Vec<BodyId>> = assemblies
            .values()
            .flat_map(|group| group.iter().map(move |id| (*id, group)))
            .collect();
        let assembly = |id: BodyId, out: &mut Vec<BodyId>| {
            out.extend(assembly_of.get(&id).into_iter().copied().flatten());
        };
        let gravity = f64::from(scene.gravity.length());
        let start_view = |body: &Body| BodyView {
            asleep: false,
            ..boundary::nursery::live_view_of(body, gravity)
        };
        let views = scene.bodies.iter().map(start_view).collect();
        let owners = initial::owners(views, &map, &boundary, &assembly);
        Self {
            map,
            boundary,
            assemblies,
            owners,
            gravity: scene.gravity,
            statics: scene.statics.clone().into(),
        }
    }

    /// The configuration of one region.
    pub fn config(&self, id: RegionId, snapshot_ticks: Option<u64>) -> RegionConfig {
        RegionConfig {
            id,
            map: self.map.clone(),
            boundary: self.boundary,
            gravity: self.gravity,
            statics: self.statics.clone(),
            snapshot_ticks,
        }
    }

    /// The bodies that the region starts with.
    pub fn bodies_of<'a>(
        &'a self,
        scene: &'a Scene,
        region: RegionId,
    ) -> impl Iterator<Item = &'a Body> {
        let is_its = move |body: &&Body| self.owners[&body.id] == region;
        scene.bodies.iter().filter(is_its)
    }

    /// Puts into a region what it starts with, joints included.
    pub fn furnish(&self, scene: &Scene, region: &mut Region) -> Result<(), RegionError> {
        let id = region.id();
        for body in self.bodies_of(scene, id) {
            region.place(body)?;
        }
        for joint in &scene.joints {
            if self.owners[&joint.a] == id {
                region.tie(joint)?;
            }
        }
        Ok(())
    }
}

fn assemblies(bodies: &[Body], joints: &[Joint]) -> BTreeMap<BodyId, Vec<BodyId>> {
    let mut root: BTreeMap<BodyId, BodyId> = bodies.iter().map(|body| (body.id, body.id)).collect();
    fn find(root: &BTreeMap<BodyId, BodyId>, mut id: BodyId) -> BodyId {
        while root[&id] != id {
            id = root[&id];
        }
        id
    }
    for joint in joints {
        let (a, b) = (find(&root, joint.a), find(&root, joint.b));
        root.insert(a.max(b), a.min(b));
    }
    let mut groups: BTreeMap<BodyId, Vec<BodyId>> = BTreeMap::new();
    for body in bodies {
        groups
            .entry(find(&root, body.id))
            .or_default()
            .push(body.id);
    }
    groups.retain(|_, group| group.len() > 1);
    groups
}
