//! The scenes we ship, run on one server: they stay within their own tolerances and world, and do what
//! their comments say.

use domain::{BodyId, Motion};
use scenes::{Action, Scene, builtin};
use world::{World, WorldConfig};

fn load(name: &str) -> Scene {
    Scene::load(name).unwrap_or_else(|e| panic!("{e}"))
}

/// The reference run: one world, the scene's own injectors and commands. `watch` sees every tick.
pub(crate) fn run(scene: &Scene, seconds: f64, mut watch: impl FnMut(&World)) -> World {
    let config = WorldConfig {
        gravity: scene.gravity,
        step: scene.step,
        ..WorldConfig::default()
    };
    let mut world = World::new(config, &scene.statics).unwrap();
    scene.bodies.iter().for_each(|b| world.spawn(b).unwrap());
    scene
        .joints
        .iter()
        .for_each(|j| world.add_joint(j).unwrap());
    let spawns = scene.spawns(scene.seed);
    let (mut spawned, mut commanded) = (0, 0);
    for tick in 0..scene.step.ticks_in(seconds) {
        let now = tick as f64 * scene.step.as_secs();
        while let Some(spawn) = spawns.get(spawned).filter(|s| s.at <= now) {
            world.spawn(&spawn.body).unwrap();
            spawned += 1;
        }
        while let Some(command) = scene.commands.get(commanded).filter(|c| c.at <= now) {
            let Action::Impulse(impulse) = command.action else {
                panic!("built-ins only push")
            };
            let pushed = world.apply_impulse(command.body, impulse, None);
            pushed.expect("a push that makes sense");
            commanded += 1;
        }
        world.step();
        watch(&world);
    }
    world
}

fn run_all(scene: &Scene) -> World {
    run(scene, scene.seconds, |_| ())
}

fn motion(world: &World, scene: &Scene, name: &str) -> Motion {
    world.motion(scene.names[name]).unwrap()
}

/// Highest speed and farthest distance from the world's extent during a run.
fn extremes(scene: &Scene, seconds: f64) -> (f64, f64) {
    let (mut speed, mut outside) = (0.0_f64, 0.0_f64);
    run(scene, seconds, |world| {
        for (_, motion) in world.motions() {
            speed = speed.max(f64::from(motion.linear_velocity.length()));
            outside = outside.max(scene.world.distance(motion.position.x, motion.position.z));
        }
    });
    (speed, outside)
}

fn assert_within_limits(name: &str, scene: &Scene, seconds: f64) {
    let (speed, outside) = extremes(scene, seconds);
    assert!(
        speed <= scene.tolerances.speed,
        "{name}: {speed} m/s, tolerance {}",
        scene.tolerances.speed
    );
    assert!(
        outside <= 1.0,
        "{name}: a body is {outside} m outside the world"
    );
}

/// The two large scenes have a test of their own.
const LARGE: [&str; 2] = ["avalanche", "pile"];

#[test]
fn bodies_stay_below_the_speed_tolerance_and_in_the_world() {
    for name in builtin::names().filter(|name| !LARGE.contains(name)) {
        let scene = load(name);
        assert_within_limits(name, &scene, scene.seconds);
    }
}

#[test]
fn large_scenes_stay_within_limits_for_three_seconds() {
    for name in LARGE {
        assert_within_limits(name, &load(name), 3.0);
    }
}

#[test]
#[ignore = "half a minute; run with --ignored after changing a large scene"]
fn large_scenes_stay_within_limits_to_the_end() {
    for name in LARGE {
        let scene = load(name);
        assert_within_limits(name, &scene, scene.seconds);
    }
}

#[test]
fn head_on_spheres_meet_on_the_border_after_2_4_seconds() {
    let scene = load("head-on");
    let mut contacts = Vec::new();
    let mut tick = 0;
    run(&scene, scene.seconds, |world| {
        tick += 1;
        contacts.extend(world.contacts_begun().iter().map(|_| tick));
    });
    assert_eq!(contacts.len(), 1);
    assert!((140..=146).contains(&contacts[0]), "tick {contacts:?}");
}

// AP-15: E must still touch the left region, F and G must have left it.
#[test]
fn chain_efg_stops_halfway() {
    let scene = load("group-efg");
    let end = run_all(&scene);
    let x = |name| motion(&end, &scene, name).position.x;
    assert!((-0.45..0.0).contains(&x("E")), "E ends at {}", x("E"));
    assert!(x("F") > 0.55 && x("G") > 0.55);
}

// AP-15: H, I and J must have left the left region.
#[test]
fn chain_hij_leaves_its_region() {
    let scene = load("group-hij");
    let end = run_all(&scene);
    for name in ["H", "I", "J"] {
        let position = motion(&end, &scene, name).position;
        assert!(
            position.x > 1.0 && position.z > 1.0,
            "{name} ends at {position}"
        );
    }
}

// AP-16: K comes within 0.6 m of both, while L and M are 2 m apart.
#[test]
fn k_ends_between_l_and_m() {
    let scene = load("group-klm");
    let end = run_all(&scene);
    let at = |name| motion(&end, &scene, name).position;
    assert!(at("K").distance(at("L")) < 1.6 && at("K").distance(at("M")) < 1.6);
    assert!((at("L").distance(at("M")) - 3.0).abs() < 1e-6);
}

// AP-17: before the push N and O lie wholly in the left region, their companions still touch their own.
#[test]
fn n_and_o_meet_in_the_left_region() {
    let scene = load("group-no");
    let before = run(&scene, 5.9, |_| ());
    for (name, companion) in [("N", "N2"), ("O", "O2")] {
        assert!(motion(&before, &scene, name).position.x < -0.5);
        assert!((-0.5..0.5).contains(&motion(&before, &scene, companion).position.x));
    }
    let gap = |w: &World| {
        motion(w, &scene, "N")
            .position
            .distance(motion(w, &scene, "O").position)
            - 1.0
    };
    assert!(gap(&before) > 2.9, "too far apart to know each other");
    let after = run_all(&scene);
    assert!(
        (0.05..0.6).contains(&gap(&after)),
        "within each other's auras: {}",
        gap(&after)
    );
}

#[test]
fn stacks_stay_standing() {
    let scene = load("stacks");
    let end = run_all(&scene);
    for body in &scene.bodies {
        let moved = end
            .motion(body.id)
            .unwrap()
            .position
            .distance(body.motion.position);
        assert!(moved < 0.05, "{} moved {moved} m", body.id);
    }
}

#[test]
fn orbit_keeps_circling_for_two_minutes() {
    let scene = load("orbit");
    let quadrant = |m: &Motion| (m.position.x < 0.0, m.position.z < 0.0);
    let mut last: Vec<(bool, bool)> = scene.bodies.iter().map(|b| quadrant(&b.motion)).collect();
    let mut crossings = vec![0; scene.bodies.len()];
    let end = run(&scene, 120.0, |world| {
        for (i, (_, motion)) in world.motions().enumerate() {
            crossings[i] += usize::from(quadrant(&motion) != last[i]);
            last[i] = quadrant(&motion);
        }
    });
    // Ten laps of four borders each, give or take the borders next to start and end.
    assert!(
        crossings.iter().all(|n| (38..=41).contains(n)),
        "{crossings:?}"
    );
    assert!(
        end.motions()
            .all(|(_, m)| (m.linear_velocity.length() - 6.0).abs() < 0.1)
    );
}

#[test]
fn the_ball_goes_through_the_wall() {
    let scene = load("wall-breaker");
    let end = run_all(&scene);
    assert!(motion(&end, &scene, "ball").position.x > 5.0);
    let fallen = |id: &BodyId| end.motion(*id).unwrap().position.x.abs() > 2.0;
    let bricks = scene.names.values().filter(|id| fallen(id)).count();
    assert!(bricks > 10, "{bricks} bricks fell far");
}

#[test]
fn ragdolls_hold_together() {
    let scene = load("ragdolls");
    assert_eq!((scene.bodies.len(), scene.joints.len()), (66, 60));
    let end = run_all(&scene);
    for joint in &scene.joints {
        let point = |id, anchor: glam::Vec3| {
            let m = end.motion(id).unwrap();
            m.position + m.rotation.as_dquat() * anchor.as_dvec3()
        };
        let gap = point(joint.a, joint.anchor_a).distance(point(joint.b, joint.anchor_b));
        assert!(gap < 0.05, "{} is {gap} m open", joint.id);
    }
}
