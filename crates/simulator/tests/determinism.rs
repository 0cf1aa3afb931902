//! I7: same build, scene, seed and options: same state, tick by tick. Another seed: another run. On one server: the bits of the bare engine.

use crate::common::{network, parse, run, scene};
use domain::{Body, Joint, JointKind, Shape, SimTime};
use glam::Vec3;
use rapier3d::prelude::{
    ColliderBuilder, FixedJointBuilder, GenericJoint, PhysicsWorld, Pose, PrismaticJointBuilder,
    RevoluteJointBuilder, RigidBodyBuilder, RigidBodyHandle, SharedShape, SphericalJointBuilder,
    Vector,
};
use scenes::Scene;
use simulator::frames::FrameModel;
use simulator::{Outcome, SimOptions};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::Xxh3;

/// Everything of an outcome that must repeat; CPU times do not.
fn print(outcome: &Outcome) -> (String, String, u64, u64, u64) {
    (
        outcome.state_hash.clone(),
        outcome.history_hash.clone(),
        outcome.migrations,
        outcome.collisions,
        outcome.bytes.between_servers,
    )
}

/// I7: twice the same run, on several scenes, numbers of servers, networks and frame times, with a crash too.
#[test]
fn the_same_run_gives_the_same_bits() {
    for (name, seconds) in [
        ("islands", 4.0),
        ("wall-breaker", 2.0),
        ("ragdolls", 2.0),
        ("columns", 3.0),
    ] {
        let scene = scene(name);
        for (servers, net) in [
            (1, "perfect"),
            (2, "data_centre"),
            (4, "latency_ms=2,jitter_ms=1,loss=0.05,dup=0.02"),
        ] {
            for faults in [vec![], vec!["crash=0@1+0.3".parse().expect("a fault")]] {
                let options = SimOptions {
                    servers: Some(servers),
                    seconds: Some(seconds),
                    network: network(net),
                    frames: Some(FrameModel::Normal {
                        mean: 0.008,
                        deviation: 0.001,
                    }),
                    faults,
                    ..SimOptions::default()
                };
                let (one, other) = (run(&scene, &options), run(&scene, &options));
                assert_eq!(print(&one), print(&other), "{name} on {servers} servers");
            }
        }
    }
}

/// Another seed is another run: other spawns on one server, other phases and network on several.
#[test]
fn another_seed_gives_other_bits() {
    let run_of = |name: &str, servers: usize, seed: u64| {
        let options = SimOptions {
            servers: Some(servers),
            seconds: Some(3.0),
            seed: Some(seed),
            network: network("latency_ms=1,jitter_ms=0.5,loss=0.05"),
            ..SimOptions::default()
        };
        run(&scene(name), &options)
    };
    let (one, other) = (run_of("columns", 1, 1), run_of("columns", 1, 2));
    assert_ne!(one.state_hash, other.state_hash);
    let (one, other) = (run_of("columns", 4, 1), run_of("columns", 4, 2));
    assert_ne!(one.history_hash, other.history_hash);
    let (one, other) = (run_of("head-on", 2, 1), run_of("head-on", 2, 2));
    assert_ne!(
        one.bytes.between_servers, other.bytes.between_servers,
        "other datagrams are lost"
    );
}

/// A scene in the bare engine, as its manual says.
struct Plain {
    physics: PhysicsWorld,
    handles: Vec<RigidBodyHandle>,
}

fn plain_shape(shape: &Shape) -> SharedShape {
    match shape {
        Shape::Sphere { radius } => SharedShape::ball(*radius),
        Shape::Cuboid { size } => SharedShape::cuboid(size.x / 2.0, size.y / 2.0, size.z / 2.0),
        Shape::Capsule { radius, height } => SharedShape::capsule_y(height / 2.0 - radius, *radius),
        Shape::Convex { points } => SharedShape::convex_hull(points).expect("a hull"),
        Shape::Mesh {
            vertices,
            triangles,
        } => SharedShape::trimesh(vertices.to_vec(), triangles.to_vec()).expect("a mesh"),
        Shape::Compound { parts } => {
            let pose = |position, rotation| Pose::from_parts(position, rotation);
            let parts = parts
                .iter()
                .map(|part| (pose(part.position, part.rotation), plain_shape(&part.shape)));
            SharedShape::compound(parts.collect())
        }
        Shape::Plane => SharedShape::halfspace(Vector::Y),
    }
}

fn plain_joint(joint: &Joint) -> GenericJoint {
    let mut built: GenericJoint = match joint.kind {
        JointKind::Fixed => FixedJointBuilder::new().build().into(),
        JointKind::Revolute => RevoluteJointBuilder::new(joint.axis).build().into(),
        JointKind::Spherical => SphericalJointBuilder::new().build().into(),
        JointKind::Prismatic => PrismaticJointBuilder::new(joint.axis).build().into(),
    };
    built
        .set_local_anchor1(joint.anchor_a)
        .set_local_anchor2(joint.anchor_b)
        .set_contacts_enabled(false);
    built
}

impl Plain {
    fn of(scene: &Scene) -> Self {
        let mut physics = PhysicsWorld::new();
        physics.gravity = scene.gravity;
        physics.integration_parameters.dt = scene.step.as_secs() as f32;
        for scenery in &scene.statics {
            let collider = ColliderBuilder::new(plain_shape(&scenery.shape))
                .position(Pose::from_parts(
                    scenery.position.as_vec3(),
                    scenery.rotation,
                ))
                .friction(scenery.material.friction)
                .restitution(scenery.material.restitution);
            physics.insert_collider(collider, None);
        }
        let handles: Vec<_> = scene
            .bodies
            .iter()
            .map(|body| spawn(&mut physics, body))
            .collect();
        let ids = scene.bodies.iter().map(|body| body.id);
        let by_id: BTreeMap<_, _> = ids.zip(handles.iter().copied()).collect();
        for joint in &scene.joints {
            physics.insert_impulse_joint(by_id[&joint.a], by_id[&joint.b], plain_joint(joint));
        }
        Self { physics, handles }
    }

    /// The digest as the simulator computes it: id, pose, velocities, sleep.
    fn hash(&self, scene: &Scene) -> String {
        let mut digest = Xxh3::new();
        for (body, handle) in scene.bodies.iter().zip(&self.handles) {
            let rigid = &self.physics.bodies[*handle];
            let floats = |v: Vec3| v.to_array().map(f32::to_le_bytes).concat();
            digest.update(&body.id.0.to_le_bytes());
            let place = rigid
                .translation()
                .as_dvec3()
                .to_array()
                .map(f64::to_le_bytes);
            digest.update(&place.concat());
            digest.update(&rigid.rotation().to_array().map(f32::to_le_bytes).concat());
            digest.update(&floats(rigid.linvel()));
            digest.update(&floats(rigid.angvel()));
            digest.update(&[u8::from(rigid.is_sleeping())]);
        }
        format!("{:016x}", digest.digest())
    }
}

fn spawn(physics: &mut PhysicsWorld, body: &Body) -> RigidBodyHandle {
    let form = &body.form;
    let rigid = RigidBodyBuilder::dynamic()
        .pose(Pose::from_parts(
            body.motion.position.as_vec3(),
            body.motion.rotation,
        ))
        .linvel(body.motion.linear_velocity)
        .angvel(body.motion.angular_velocity)
        .gravity_scale(form.gravity_scale)
        .linear_damping(form.linear_damping)
        .angular_damping(form.angular_damping)
        .ccd_enabled(form.continuous);
    let collider = ColliderBuilder::new(plain_shape(&form.shape))
        .density(form.material.density)
        .friction(form.material.friction)
        .restitution(form.material.restitution);
    physics.insert(rigid, collider).0
}

/// What the built-in scenes do not have: a mesh as floor, and a slider with hulls and compounds at its ends.
const WORKSHOP: &str = r#"
name = "workshop"

[[static]]
shape = { type = "mesh", vertices = [[-9, 0, -9], [-9, 0.5, 9], [9, 0, 9], [9, 0.5, -9]], triangles = [[0, 1, 2], [0, 2, 3]] }

[[body]]
name = "stone"
shape = { type = "convex", points = [[0.6, 0, 0], [-0.5, 0, 0.1], [0, 0.6, 0], [0, -0.4, 0], [0, 0, 0.5], [0, 0.1, -0.5]] }
position = [0, 3, 0]
spin = [90, 0, 40]

[[body]]
name = "hammer"
shape = { type = "compound", parts = [
    { shape = { type = "cuboid", size = [0.2, 1.4, 0.2] } },
    { shape = { type = "capsule", radius = 0.2, height = 0.9 }, position = [0, 0.8, 0], rotation = [0, 0, 90] }] }
position = [1.5, 3, 0]

[[joint]]
type = "prismatic"
a = "stone"
b = "hammer"
axis = [1, 0, 0]

[[grid]]
shape = { type = "compound", parts = [
    { shape = { type = "sphere", radius = 0.3 }, position = [0.3, 0, 0] },
    { shape = { type = "convex", points = [[0, 0.3, 0], [-0.6, 0.2, 0.2], [-0.5, -0.3, 0], [0, 0, -0.4], [-0.2, 0, 0.4]] } }] }
origin = [-2, 2, -2]
count = [3, 2, 3]
spacing = [1.6, 1.5, 1.6]
"#;

/// Answers how many collisions there were.
fn assert_bits_of_the_bare_engine(scene: &Scene, seconds: f64) -> u64 {
    let name = &scene.name;
    let middle = scene.world.min[0] + scene.world.max[0];
    assert_eq!(middle, 0.0, "{name}: the region's own frame is the world's");
    let first_command = scene
        .commands
        .iter()
        .map(|command| command.at)
        .fold(f64::INFINITY, f64::min);
    assert!(first_command > seconds, "{name}: nobody interferes");
    let mut plain = Plain::of(scene);
    for _ in 0..scene.step.ticks_in(seconds) {
        plain.physics.step();
    }
    let options = SimOptions {
        servers: Some(1),
        seconds: Some(seconds),
        ..SimOptions::default()
    };
    let outcome = run(scene, &options);
    assert_eq!(
        outcome.state_hash,
        plain.hash(scene),
        "{name} after {}",
        SimTime::from_secs(seconds)
    );
    outcome.collisions
}

/// The reference run is the bare engine: one server gives, bit by bit, what Rapier gives without us.
#[test]
fn one_server_gives_the_bits_of_the_bare_engine() {
    for (name, seconds) in [
        ("head-on", 10.0),
        ("group-efg", 12.0),
        ("stacks", 6.0),
        ("wall-breaker", 6.0),
        ("islands", 5.0),
    ] {
        assert_bits_of_the_bare_engine(&scene(name), seconds);
    }
}

/// The same with every kind of shape and joint: ragdolls have capsules and three kinds of joints, the avalanche has hulls and
/// compounds.
#[test]
fn one_server_gives_the_bits_of_the_bare_engine_with_every_shape_and_joint() {
    for (scene, seconds) in [
        (scene("ragdolls"), 4.0),
        (scene("avalanche"), 2.0),
        (parse(WORKSHOP), 6.0),
    ] {
        let collisions = assert_bits_of_the_bare_engine(&scene, seconds);
        assert!(collisions > 0, "{}: bodies meet", scene.name);
    }
}
