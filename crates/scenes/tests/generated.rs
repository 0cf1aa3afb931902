//! The scenes that are written by rule: their names, their sizes, and what is said of a size that there is not.

use scenes::{Generated, LoadError, Scene, generated, text_of};

fn refused(name: &str) -> String {
    match Scene::load(name) {
        Err(LoadError::NoSuchSize(wrong)) => wrong.to_string(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_generated_scene_is_loaded_by_its_name() {
    let scene = Scene::load("e1-columns-4").unwrap();
    assert_eq!(
        (scene.name.as_str(), scene.regions.servers),
        ("e1-columns-4", 4)
    );
    assert_eq!(scene, Generated::E1Columns(4).scene());
    assert!(scene.warnings().is_empty());
}

#[test]
fn a_wrong_number_is_answered_with_what_is_allowed() {
    for name in [
        "e1-columns-0",
        "e1-columns-1025",
        "e1-columns-x",
        "e1-columns-",
        "e1-columns-04",
        "e1-columns-+4",
    ] {
        let expected =
            format!("there is no scene `{name}`: e1-columns-N takes an N from 1 to 1024");
        assert_eq!(refused(name), expected);
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_generated_ones_too() {
    let message = Scene::load("no-such-scene").unwrap_err().to_string();
    for (pattern, about) in generated::patterns() {
        assert!(message.contains(pattern), "{message}");
        assert!(about.len() > 20 && !about.contains('\n'));
    }
}

#[test]
fn texts_are_found_whoever_wrote_them() {
    assert!(
        text_of("orbit")
            .unwrap()
            .unwrap()
            .contains("name = \"orbit\"")
    );
    assert!(
        text_of("e1-columns-2")
            .unwrap()
            .unwrap()
            .contains("\n# Expect: ")
    );
    assert!(text_of("e1-columns-0").unwrap().is_err());
    assert!(text_of("orbit.toml").is_none());
}

/// The share of bodies that are awake at the end of so many seconds on one server.
fn awake_share(scene: &Scene, seconds: f64) -> f64 {
    let world = crate::builtin_runs::run(scene, seconds, |_| ());
    world.awake_count() as f64 / world.motions().count() as f64
}

#[test]
fn nonsense_is_answered_with_what_is_allowed() {
    let corners = "e1-corners-N takes one of these as N: 3, 4, 9, 16, 36";
    assert!(refused("e1-corners-5").ends_with(corners));
    assert!(refused("field-0").ends_with("field-N takes an N from 1 to 640000"));
    assert!(refused("weak--1").ends_with("weak-N takes an N from 1 to 1024"));
    assert!(refused("crowd-49").ends_with("crowd-N takes an N from 50 to 100000"));
    assert!(matches!(
        Scene::load("worst-3"),
        Err(LoadError::Unknown { .. })
    ));
}

/// A file may be called like a scene of a size that there is not.
#[test]
fn a_file_is_a_file() {
    let file = std::env::temp_dir().join(format!("weak-{}.toml", std::process::id()));
    std::fs::write(&file, "name = \"mine\"\n").unwrap();
    let scene = Scene::load(file.to_str().unwrap());
    std::fs::remove_file(&file).unwrap();
    assert_eq!(scene.unwrap().name, "mine");
}

#[test]
fn the_resting_world_sleeps_and_the_other_does_not() {
    let rest = Scene::load("rest").unwrap();
    let awake = awake_share(&rest, 4.0);
    assert!(awake > 0.005 && awake <= 0.01, "{awake}");
    let other = Scene::load("rest-awake").unwrap();
    let places =
        |scene: &Scene| -> Vec<_> { scene.bodies.iter().map(|b| b.motion.position).collect() };
    assert_eq!(places(&rest), places(&other), "the same world");
    assert_eq!(awake_share(&other, 4.0), 1.0);
}

#[test]
fn crowds_go_on_bouncing() {
    for (name, bodies, least) in [
        ("weak-1", 400, 0.5),
        ("worst", 1000, 0.9),
        ("crowd-400", 400, 0.5),
    ] {
        let scene = Scene::load(name).unwrap();
        assert_eq!(scene.bodies.len() + scene.spawns(3).len(), bodies);
        let awake = awake_share(&scene, scene.seconds);
        assert!(awake >= least, "{name}: {awake}");
    }
}

/// In the trench, at every tick, within what is told of it.
#[test]
fn nothing_leaves_the_trench() {
    let scene = Scene::load("worst").unwrap();
    crate::builtin_runs::run(&scene, 10.0, |world| {
        for (_, motion) in world.motions() {
            let near = motion.position.x.abs().min(motion.position.z.abs());
            let speed = f64::from(motion.linear_velocity.length());
            assert!(
                near <= 6.2 && speed <= scene.tolerances.speed,
                "{near} m, {speed} m/s"
            );
        }
    });
}

/// However many regions: the same bodies in each, none outside.
#[test]
fn weak_regions_have_equal_crowds() {
    for regions in [2, 5, 7, 16, 64] {
        let scene = Scene::load(&format!("weak-{regions}")).unwrap();
        let layout = scene.regions.layout;
        let map = domain::RegionMap::build(layout, regions, scene.world).unwrap();
        let mut counts = vec![0; regions];
        let injected = scene.spawns(3).into_iter().map(|spawn| spawn.body);
        for body in scene.bodies.iter().cloned().chain(injected) {
            let place = body.motion.position;
            assert!(scene.world.distance(place.x, place.z) == 0.0);
            counts[map.region_at(place.x, place.z).0 as usize] += 1;
        }
        assert_eq!(counts, vec![400; regions]);
    }
}

#[test]
fn the_large_world_has_a_million_bodies_and_a_tenth_moves() {
    let scene = Scene::load("megaworld").unwrap();
    let moving = scene
        .bodies
        .iter()
        .filter(|b| b.motion.linear_velocity.length() > 0.0)
        .count();
    assert!(scene.bodies.len() >= 1_000_000);
    assert!(10 * moving >= scene.bodies.len(), "{moving}");
    assert_eq!(scene.regions.servers, 256);
}

/// Nobody appears inside another, however many appear at once.
#[test]
fn crowds_appear_apart() {
    for name in ["worst", "weak-16", "crowd-4000"] {
        let scene = Scene::load(name).unwrap();
        let spawns = scene.spawns(scene.seed);
        let sphere = |spawn: &scenes::Spawn, now: f64| {
            let (motion, secs) = (spawn.body.motion, now - spawn.at);
            let fallen = scene.gravity.as_dvec3() * (0.5 * secs * secs);
            motion.position + motion.linear_velocity.as_dvec3() * secs + fallen
        };
        for (index, late) in spawns.iter().enumerate() {
            for early in &spawns[..index] {
                let apart = sphere(early, late.at).distance(late.body.motion.position);
                let [a, b] =
                    [early, late].map(|spawn| f64::from(spawn.body.form.shape.bounding_radius()));
                assert!(apart > a + b, "{name}: {apart} m");
            }
        }
    }
}
