//! The scenes we ship: they read, are described, start without overlaps and leave room for auras.

use domain::{Layout, Motion, RegionMap, Shape};
use glam::{DVec3, Quat};
use scenes::{Scene, builtin};
use world::ShapeCache;

fn all() -> impl Iterator<Item = (&'static str, Scene)> {
    builtin::names().map(|name| (name, load(name)))
}

fn load(name: &str) -> Scene {
    Scene::load(name).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_scene_reads_without_warnings_and_is_described() {
    for (name, scene) in all() {
        assert!(
            scene.warnings().is_empty(),
            "{name}: {:?}",
            scene.warnings()
        );
        assert!(
            builtin::about(name).is_some_and(|about| about.len() > 20 && !about.contains('\n'))
        );
        assert!(
            builtin::text(name).unwrap().contains("\n# Expect: "),
            "{name} says what to expect"
        );
    }
    assert_eq!(builtin::names().count(), 19);
    assert_eq!(builtin::text("no-such-scene"), None);
}

type Pose = (DVec3, Quat);

/// The parts of a compound, each with its place in the world; otherwise the shape itself.
fn parts(shape: &Shape, (position, rotation): Pose) -> Vec<(Shape, Pose)> {
    let Shape::Compound { parts } = shape else {
        return vec![(shape.clone(), (position, rotation))];
    };
    let place = |part: &domain::CompoundPart| {
        let offset = rotation.as_dquat() * part.position.as_dvec3();
        (
            part.shape.clone(),
            (position + offset, rotation * part.rotation),
        )
    };
    parts.iter().map(place).collect()
}

/// Bodies of different owners must not overlap (I3), so none may begin that way.
#[test]
fn nothing_overlaps_at_the_start() {
    for (name, scene) in all() {
        let mut cache = ShapeCache::default();
        let mut pieces = Vec::new();
        for body in &scene.bodies {
            let Motion {
                position, rotation, ..
            } = body.motion;
            for (shape, pose) in parts(&body.form.shape, (position, rotation)) {
                pieces.push((body.id, cache.get(&shape).unwrap(), pose));
            }
        }
        for scenery in &scene.statics {
            let (prepared, pose) = (
                cache.get(&scenery.shape).unwrap(),
                (scenery.position, scenery.rotation),
            );
            for (id, shape, shape_pose) in &pieces {
                let depth = prepared.penetration(pose, shape, *shape_pose);
                assert!(depth < 1e-3, "{name}: {id} is {depth} m in {}", scenery.id);
            }
        }
        for (i, (id, shape, pose)) in pieces.iter().enumerate() {
            for (other_id, other, other_pose) in
                pieces[i + 1..].iter().filter(|(other, ..)| other != id)
            {
                let depth = shape.penetration(*pose, other, *other_pose);
                assert!(depth < 1e-3, "{name}: {id} is {depth} m in {other_id}");
            }
        }
    }
}

/// With nine servers each region still has room for auras on all sides.
#[test]
fn regions_are_wide_enough_for_one_to_nine_servers() {
    for (name, scene) in all() {
        let needed = 4.0 * scene.tolerances.speed * 0.2;
        for servers in [1, 2, 4, 9] {
            let map = RegionMap::build(Layout::Grid, servers, scene.world).unwrap();
            map.check_size(needed)
                .unwrap_or_else(|e| panic!("{name} on {servers} servers: {e}"));
        }
        let [width, depth] = scene.world.size();
        assert!(
            width.min(depth) / 3.0 >= needed,
            "{name}: {width} x {depth} m, needs {needed} m for each of three"
        );
    }
}

// AP-47: the two demonstration scenes of the thesis.
#[test]
fn corner_scenes_have_what_the_figures_show() {
    let stacks = load("corner-stacks");
    assert_eq!(
        (stacks.regions.layout, stacks.regions.servers),
        (Layout::Grid, 4)
    );
    assert_eq!(
        stacks.injectors.len(),
        8,
        "both sides of each of four borders"
    );
    let near = stacks
        .bodies
        .iter()
        .filter(|b| b.motion.position.length() < 12.0)
        .count();
    assert_eq!(
        near,
        stacks.bodies.len(),
        "the stacks stand near the corner"
    );
    let building = load("corner-building");
    let house = building
        .statics
        .iter()
        .find(|s| s.position.x == 0.0 && s.position.z == 0.0 && s.position.y > 0.0);
    assert!(house.is_some(), "the building stands on the corner");
}
