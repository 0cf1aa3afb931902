//! From text to [`Scene`]: the keys of the file's top level, and the order in which its parts are read.

use crate::problems::Problems;
use crate::reader::{Allowed, Table};
use crate::shapes::Meshes;
use crate::{MAX_FILE_BYTES, MAX_SECONDS, Scene, SceneErrors, Tolerances};
use crate::{bodies, injectors, joints, regions, shakes};
use domain::TickLength;
use glam::Vec3;
use std::path::Path;
use toml::de::DeTable;

pub(crate) const SCENE_KEYS: &[&str] = &[
    "name",
    "seconds",
    "seed",
    "gravity",
    "step_ms",
    "world",
    "regions",
    "tolerances",
    "static",
    "body",
    "grid",
    "injector",
    "joint",
    "command",
    "shake",
];
pub(crate) const TOLERANCE_KEYS: &[&str] = &["speed", "latency_ms", "frame_ms"];

impl Scene {
    /// Reads a scene from TOML text. Mesh files are looked for relative to `base_dir`; without one a
    /// scene cannot name files. Reports all mistakes of the text, or, if it is not even TOML, all
    /// mistakes of its syntax.
    pub fn parse(text: &str, base_dir: Option<&Path>) -> Result<Self, SceneErrors> {
        let problems = Problems::in_text(text);
        if text.len() > MAX_FILE_BYTES {
            let message = format!(
                "a scene has at most {MAX_FILE_BYTES} bytes, this one has {}",
                text.len()
            );
            problems.note(0..0, "", message);
            return Err(refused(problems));
        }
        let (document, syntax_errors) = DeTable::parse_recoverable(text);
        if !syntax_errors.is_empty() {
            for error in syntax_errors {
                problems.note(error.span().unwrap_or(0..0), "", error.message());
            }
            return Err(refused(problems));
        }
        let scene = read_scene(&Table::root(&problems, document.get_ref()), base_dir);
        problems.into_result()?;
        Ok(scene)
    }
}

fn refused(problems: Problems<'_>) -> SceneErrors {
    problems
        .into_result()
        .expect_err("a problem was just noted")
}

fn read_scene(root: &Table, base_dir: Option<&Path>) -> Scene {
    root.allow(&[SCENE_KEYS]);
    let number = |key, allowed, default| {
        root.field(key)
            .and_then(|f| f.number(allowed))
            .unwrap_or(default)
    };
    let seconds = number("seconds", Allowed::above(0.0).up_to(MAX_SECONDS), 10.0);
    let seed = root
        .field("seed")
        .and_then(|f| f.integer(0..=i64::MAX as u64));
    let gravity = root
        .field("gravity")
        .and_then(|f| f.vector(Allowed::within(1e4)));
    let step_ms = root
        .field("step_ms")
        .and_then(|f| f.number(Allowed::at_least(0.1).up_to(1000.0)));
    let name = root
        .field("name")
        .and_then(|f| f.text())
        .unwrap_or("unnamed");
    let world = regions::read_world(root);
    let meshes = Meshes::relative_to(base_dir);
    let statics = bodies::read_statics(root, &meshes);
    let cast = bodies::read_cast(root, &meshes);
    let joints = joints::read_joints(root, &cast);
    let pushes = shakes::read_shakes(root, seconds, seed.unwrap_or(0), &cast.bodies);
    let commands = joints::read_commands(root, &cast, pushes);
    Scene {
        name: name.to_owned(),
        seconds,
        seed: seed.unwrap_or(0),
        gravity: gravity.map_or(Vec3::new(0.0, -9.81, 0.0), |g: [f64; 3]| {
            Vec3::from_array(g.map(|v| v as f32))
        }),
        step: step_ms
            .and_then(|ms| TickLength::from_secs(ms * 1e-3))
            .unwrap_or_default(),
        world,
        regions: regions::read_regions(root, world),
        tolerances: read_tolerances(root),
        statics,
        joints,
        injectors: injectors::read_injectors(root, seconds, &meshes),
        commands,
        bodies: cast.bodies,
        names: cast.names,
    }
}

fn read_tolerances(root: &Table) -> Tolerances {
    let mut tolerances = Tolerances::default();
    let Some(table) = root.field("tolerances").and_then(|f| f.table()) else {
        return tolerances;
    };
    table.allow(&[TOLERANCE_KEYS]);
    let read = |key, max, into: &mut f64| {
        if let Some(value) = table
            .field(key)
            .and_then(|f| f.number(Allowed::above(0.0).up_to(max)))
        {
            *into = value;
        }
    };
    read("speed", 1e4, &mut tolerances.speed);
    read("latency_ms", 1e4, &mut tolerances.latency_ms);
    read("frame_ms", 1e4, &mut tolerances.frame_ms);
    tolerances
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = include_str!("../../../docs/scenes.md");

    #[test]
    fn the_example_of_the_reference_is_a_scene() {
        let (_, rest) = REFERENCE.split_once("```toml\n").unwrap();
        let (example, _) = rest.split_once("```").unwrap();
        let scene = Scene::parse(example, None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scene.bodies.len(), 82);
        assert_eq!(
            (
                scene.statics.len(),
                scene.joints.len(),
                scene.commands.len()
            ),
            (2, 1, 1)
        );
        assert_eq!(scene.injectors[0].total(), 1200);
    }

    #[test]
    fn the_reference_names_every_key_layout_and_joint() {
        let shapes = crate::shapes::SHAPE_KEYS;
        let mut words: Vec<&str> = [
            SCENE_KEYS,
            TOLERANCE_KEYS,
            bodies::PLACE_KEYS,
            bodies::SURFACE_KEYS,
            bodies::FORM_KEYS,
            bodies::MOTION_KEYS,
            bodies::GRID_KEYS,
            injectors::INJECTOR_KEYS,
            joints::JOINT_KEYS,
            joints::COMMAND_KEYS,
            shakes::SHAKE_KEYS,
        ]
        .concat();
        words.extend(
            shapes
                .iter()
                .flat_map(|(kind, keys)| [&[*kind], *keys].concat()),
        );
        words.extend(joints::JOINT_TYPES.iter().map(|(name, _)| *name));
        words.extend(domain::Layout::ALL.map(|layout| layout.name()));
        for word in words {
            let named = [format!("`{word}`"), format!("`{word} = ")];
            assert!(
                named.iter().any(|n| REFERENCE.contains(n)),
                "docs/scenes.md does not explain `{word}`"
            );
        }
        for key in regions::REGION_KEYS {
            assert!(REFERENCE.contains(&format!("`regions.{key}`")), "{key}");
        }
        for key in regions::WORLD_KEYS {
            assert!(REFERENCE.contains(&format!("`world.{key}`")), "{key}");
        }
    }
}
