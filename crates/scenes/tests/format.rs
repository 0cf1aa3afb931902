//! What a good file means: defaults, units, order, names, meshes, loading.

use domain::{Body, BodyId, JointKind, Layout, Rect, Shape};
use glam::{DVec3, Vec3};
use scenes::{Action, LoadError, Scene, Tolerances};
use std::path::PathBuf;

fn parse(text: &str) -> Scene {
    Scene::parse(text, None).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn an_empty_file_is_a_scene_of_defaults() {
    let scene = parse("");
    assert_eq!((scene.seconds, scene.seed), (10.0, 0));
    assert_eq!(scene.gravity, Vec3::new(0.0, -9.81, 0.0));
    assert_eq!(scene.step.as_secs(), 1.0 / 60.0);
    assert_eq!(
        scene.tolerances,
        Tolerances {
            speed: 32.0,
            latency_ms: 2.0,
            frame_ms: 15.0
        }
    );
    assert_eq!(
        (scene.regions.layout, scene.regions.servers),
        (Layout::Single, 1)
    );
    assert_eq!(
        scene.world,
        Rect {
            min: [-100.0; 2],
            max: [100.0; 2]
        }
    );
}

#[test]
fn bodies_and_grids_get_ids_in_file_order() {
    let scene = parse(
        "[[grid]]\nname = \"row\"\nshape = { type = \"sphere\", radius = 0.1 }\norigin = [0, 1, 0]\ncount = [2, 2, 1]\n\
         spacing = [1, 2, 3]\nstagger = [0.5, 0, 0]\n\
         [[body]]\nname = \"one\"\nshape = { type = \"cuboid\", size = [1, 2, 3] }\n\
         [[grid]]\nshape = { type = \"sphere\", radius = 0.1 }\ncount = [1, 1, 2]\nspacing = [1, 1, 1]\n",
    );
    let ids: Vec<u64> = scene.bodies.iter().map(|b| b.id.0).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(scene.names["one"], BodyId(5));
    assert_eq!(scene.names["row[1,1,0]"], BodyId(4));
    assert_eq!(scene.bodies[3].motion.position, DVec3::new(1.5, 3.0, 0.0));
    assert_eq!(scene.bodies[6].motion.position, DVec3::new(0.0, 0.0, 1.0));
}

#[test]
fn every_key_of_a_body_arrives() {
    let scene = parse(
        "[[body]]\nshape = { type = \"capsule\", radius = 0.2, height = 1 }\nposition = [1, 2, 3]\nrotation = [0, 90, 0]\n\
         velocity = [1, 0, 0]\nspin = [0, 180, 0]\ndensity = 500\nfriction = 0.1\nrestitution = 0.9\ncontinuous = true\n\
         gravity_scale = 0.5\nlinear_damping = 0.25\nangular_damping = 0.75\n",
    );
    let Body { form, motion, .. } = &scene.bodies[0];
    assert_eq!(
        form.shape,
        Shape::Capsule {
            radius: 0.2,
            height: 1.0
        }
    );
    assert_eq!(motion.position, DVec3::new(1.0, 2.0, 3.0));
    assert!((motion.rotation * Vec3::X - Vec3::NEG_Z).length() < 1e-6);
    assert!((motion.angular_velocity - Vec3::Y * std::f32::consts::PI).length() < 1e-6);
    let m = form.material;
    assert_eq!((m.density, m.friction, m.restitution), (500.0, 0.1, 0.9));
    assert!(form.continuous);
    assert_eq!(
        (
            form.gravity_scale,
            form.linear_damping,
            form.angular_damping
        ),
        (0.5, 0.25, 0.75)
    );
}

#[test]
fn a_common_anchor_is_turned_into_both_frames() {
    let scene = parse(
        "[[body]]\nname = \"a\"\nshape = { type = \"sphere\", radius = 0.1 }\nposition = [1, 0, 0]\n\
         [[body]]\nname = \"b\"\nshape = { type = \"sphere\", radius = 0.1 }\nposition = [3, 0, 0]\nrotation = [0, 0, 90]\n\
         [[joint]]\ntype = \"spherical\"\na = \"a\"\nb = \"b\"\nanchor = [2, 0, 0]\n",
    );
    let joint = scene.joints[0];
    assert_eq!(
        (joint.kind, joint.a, joint.b),
        (JointKind::Spherical, BodyId(1), BodyId(2))
    );
    assert!((joint.anchor_a - Vec3::X).length() < 1e-6);
    assert!(
        (joint.anchor_b - Vec3::Y).length() < 1e-6,
        "{}",
        joint.anchor_b
    );
}

#[test]
fn commands_are_sorted_by_time() {
    let scene = parse(
        "[[body]]\nname = \"a\"\nshape = { type = \"sphere\", radius = 0.1 }\n\
         [[command]]\nat = 2\nbody = \"a\"\nimpulse = [0, 1, 0]\n\
         [[command]]\nat = 1\nbody = \"a\"\nvelocity = [0, 2, 0]\n",
    );
    assert_eq!(scene.commands[0].action, Action::Velocity(Vec3::Y * 2.0));
    assert_eq!(scene.commands[1].action, Action::Impulse(Vec3::Y));
}

#[test]
fn every_layout_has_a_name() {
    for layout in Layout::ALL {
        let servers = layout.fixed_servers().unwrap_or(2);
        let boxes = "boxes = [{ min = [-100, -100], max = [0, 100] }, { min = [0, -100], max = [100, 100] }]";
        let boxes = if layout == Layout::Boxes { boxes } else { "" };
        let scene = parse(&format!(
            "[regions]\nlayout = \"{layout}\"\nservers = {servers}\n{boxes}\n"
        ));
        assert_eq!(
            (scene.regions.layout, scene.regions.servers),
            (layout, servers)
        );
    }
}

/// A directory of this test alone, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("auramesh-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn mesh_files_are_found_beside_the_scene_and_their_mistakes_named() {
    let dir = Scratch::new("meshes");
    dir.write(
        "tetra.obj",
        "v 0 0 0\nv 1 0 0\nv 0 0 1\nv 0 1 0\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n",
    );
    let scene = "[[static]]\nshape = { type = \"mesh\", file = \"tetra.obj\", scale = 2 }\n";
    let good = Scene::load(&dir.write("good.toml", scene)).unwrap();
    let Shape::Mesh {
        vertices,
        triangles,
    } = &good.statics[0].shape
    else {
        panic!("not a mesh")
    };
    assert_eq!((vertices[1], triangles.len()), (Vec3::X * 2.0, 4));

    dir.write("broken.obj", "v 0 0 0\nv 1 0\n");
    let broken = dir.write("bad.toml", scene.replace("tetra", "broken"));
    let message = Scene::load(&broken).unwrap_err().to_string();
    assert!(message.contains("bad.toml:2:"), "{message}");
    assert!(
        message.contains("broken.obj:2: a vertex needs three"),
        "{message}"
    );

    let absent = dir.write("absent.toml", scene.replace("tetra", "nowhere"));
    let message = Scene::load(&absent).unwrap_err().to_string();
    assert!(
        message.contains("static[0].shape.file: cannot read") && message.contains("nowhere.obj"),
        "{message}"
    );

    let directory = dir.write("directory.toml", scene.replace("tetra.obj", "."));
    assert!(
        Scene::load(&directory)
            .unwrap_err()
            .to_string()
            .contains("not a file")
    );
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let error = Scene::load("hed-on").unwrap_err();
    assert!(matches!(&error, LoadError::Unknown { nearest, .. } if *nearest == Some("head-on")));
    assert!(error.to_string().contains("orbit"), "lists all: {error}");

    let dir = Scratch::new("loads");
    let binary = dir.write("binary.toml", [0xff, 0xfe, 0x00]);
    assert!(matches!(Scene::load(&binary), Err(LoadError::Read { .. })));
    let large = dir.write("large.toml", vec![b'#'; scenes::MAX_FILE_BYTES + 1]);
    assert!(matches!(
        Scene::load(&large),
        Err(LoadError::TooLarge { .. })
    ));
    let wrong = dir.write("wrong.toml", "seconds = 0\n");
    let error = Scene::load(&wrong).unwrap_err().to_string();
    assert!(
        error.starts_with(&wrong) && error.contains(":1:11: seconds:"),
        "{error}"
    );
    assert!(matches!(
        Scene::load(dir.0.to_str().unwrap()),
        Err(LoadError::Read { .. })
    ));
}

#[test]
fn the_summary_counts_everything() {
    let summary = Scene::load("avalanche").unwrap().summary();
    for part in [
        "2000 (600 capsule",
        "160 convex",
        "600 sphere",
        "40 compound",
        "4 (columns)",
        "20 s (1200 ticks)",
        "24 m/s",
    ] {
        assert!(summary.contains(part), "{part} missing in\n{summary}");
    }
}

#[test]
fn suspicious_but_allowed_things_are_warned_of() {
    let scene = parse(
        "[tolerances]\nspeed = 5\n[[body]]\nshape = { type = \"sphere\", radius = 1 }\nposition = [500, 0, 0]\nvelocity = [6, 0, 0]\n\
         [[injector]]\nmin = [0, 0, 0]\nmax = [0, 0, 0]\nrate = 1\nvelocity_min = [0, -7, 0]\nvelocity_max = [0, 0, 0]\n\
         shapes = [{ type = \"sphere\", radius = 1 }]\n",
    );
    let warnings = scene.warnings().join("\n");
    for part in [
        "1 bodies start faster",
        "1 bodies start outside",
        "injector[0] may start bodies at 7.0 m/s",
    ] {
        assert!(warnings.contains(part), "{warnings}");
    }
}
