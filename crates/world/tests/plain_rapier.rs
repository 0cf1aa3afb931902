//! A world of one region computes what plain Rapier computes, bit by bit: neither the memory of contacts
//! nor the listening for contacts changes anything while nobody is handed over.

use crate::common::{spawn_all, world_at};
use domain::{Body, BodyForm, BodyId, Joint, JointId, JointKind, Motion, Shape};
use glam::{DVec3, Quat, Vec3};
use rapier3d::prelude::{
    ColliderBuilder, PhysicsWorld, Pose, RigidBodyBuilder, RigidBodyHandle, SharedShape,
    SphericalJointBuilder, Vector,
};
use world::World;

fn shape(i: u64) -> Shape {
    match i % 4 {
        0 => Shape::Cuboid {
            size: Vec3::new(1.0, 0.6, 0.8),
        },
        1 => Shape::Sphere { radius: 0.4 },
        2 => Shape::Capsule {
            radius: 0.25,
            height: 1.2,
        },
        _ => Shape::Cuboid { size: Vec3::ONE },
    }
}

fn rapier_shape(shape: &Shape) -> SharedShape {
    match shape {
        Shape::Cuboid { size } => SharedShape::cuboid(size.x / 2.0, size.y / 2.0, size.z / 2.0),
        Shape::Sphere { radius } => SharedShape::ball(*radius),
        Shape::Capsule { radius, height } => SharedShape::capsule_y(height / 2.0 - radius, *radius),
        other => panic!("no {other:?} in this scene"),
    }
}

/// A pile of 80 bodies that fall onto each other.
fn pile() -> Vec<Body> {
    (0..80)
        .map(|i| {
            let place = DVec3::new(
                (i % 4) as f64 * 0.9,
                1.0 + (i / 16) as f64 * 1.3,
                (i / 4 % 4) as f64 * 0.9,
            );
            let mut form = BodyForm::of(shape(i));
            form.angular_damping = 2.0;
            let mut body = Body::new(BodyId(i), form, Motion::at(place));
            body.motion.rotation = Quat::from_rotation_y(0.1 * i as f32);
            body.motion.linear_velocity = Vec3::new(0.3, 0.0, -0.2);
            body
        })
        .collect()
}

/// A chain of 8 links, swinging from its own weight.
fn chain() -> (Vec<Body>, Vec<Joint>) {
    let links: Vec<Body> = (0..8)
        .map(|i| {
            let link = Shape::Cuboid {
                size: Vec3::new(0.6, 0.2, 0.2),
            };
            let place = DVec3::new(10.0 + 0.7 * i as f64, 4.0, 0.0);
            Body::new(BodyId(100 + i), BodyForm::of(link), Motion::at(place))
        })
        .collect();
    let joints = (0..7)
        .map(|i| Joint {
            id: JointId(i),
            kind: JointKind::Spherical,
            a: BodyId(100 + i),
            b: BodyId(101 + i),
            anchor_a: Vec3::new(0.35, 0.0, 0.0),
            anchor_b: Vec3::new(-0.35, 0.0, 0.0),
            axis: Vec3::X,
        })
        .collect();
    (links, joints)
}

struct Plain {
    physics: PhysicsWorld,
    bodies: Vec<(BodyId, RigidBodyHandle)>,
}

impl Plain {
    fn new() -> Self {
        let mut physics = PhysicsWorld::new();
        physics.integration_parameters.dt = (1.0f64 / 60.0) as f32;
        let plane = ColliderBuilder::new(SharedShape::halfspace(Vector::Y)).friction(0.5);
        physics.insert_collider(plane, None);
        Self {
            physics,
            bodies: Vec::new(),
        }
    }

    fn spawn(&mut self, body: &Body) {
        let motion = &body.motion;
        let pose = Pose::from_parts(motion.position.as_vec3(), motion.rotation);
        let (handle, _) = self.physics.insert(
            RigidBodyBuilder::dynamic()
                .pose(pose)
                .linvel(motion.linear_velocity)
                .angvel(motion.angular_velocity)
                .angular_damping(body.form.angular_damping),
            ColliderBuilder::new(rapier_shape(&body.form.shape))
                .density(1000.0)
                .friction(0.5)
                .restitution(0.0),
        );
        self.bodies.push((body.id, handle));
    }

    fn handle(&self, id: BodyId) -> RigidBodyHandle {
        let found = self.bodies.iter().find(|(other, _)| *other == id);
        found.expect("the body was spawned").1
    }

    fn join(&mut self, joint: &Joint) {
        let (a, b) = (self.handle(joint.a), self.handle(joint.b));
        let built = SphericalJointBuilder::new()
            .local_anchor1(joint.anchor_a)
            .local_anchor2(joint.anchor_b)
            .contacts_enabled(false);
        self.physics.insert_impulse_joint(a, b, built);
    }
}

fn assert_same(world: &World, plain: &Plain, tick: usize) {
    for (id, handle) in &plain.bodies {
        let view = world.body(*id).expect("both have it");
        let rigid = &plain.physics.bodies[*handle];
        let ours = view.motion;
        assert_eq!(
            ours.position,
            rigid.translation().as_dvec3(),
            "{id} at tick {tick}"
        );
        assert_eq!(ours.rotation, *rigid.rotation(), "{id} at tick {tick}");
        assert_eq!(ours.linear_velocity, rigid.linvel(), "{id} at tick {tick}");
        assert_eq!(ours.angular_velocity, rigid.angvel(), "{id} at tick {tick}");
        assert_eq!(view.asleep, rigid.is_sleeping(), "{id} at tick {tick}");
    }
}

#[test]
fn one_region_gives_the_bits_of_plain_rapier() {
    let mut world = world_at(DVec3::ZERO);
    let mut plain = Plain::new();
    let (links, joints) = chain();
    let bodies: Vec<Body> = pile().into_iter().chain(links).collect();
    spawn_all(&mut world, &bodies);
    bodies.iter().for_each(|body| plain.spawn(body));
    for joint in &joints {
        world.add_joint(joint).expect("the joint is fine");
        plain.join(joint);
    }
    let mut slept = 0;
    for tick in 0..900 {
        if tick == 700 {
            // Something falls onto the sleeping pile, something is kicked.
            let ball = Body::new(
                BodyId(200),
                BodyForm::of(shape(1)),
                Motion::at(DVec3::new(1.0, 6.0, 1.0)),
            );
            world.spawn(&ball).expect("the ball is fine");
            plain.spawn(&ball);
            let pushed = world.apply_impulse(BodyId(103), Vec3::new(0.0, 90.0, 20.0), None);
            pushed.expect("it is here");
            let kicked = plain.handle(BodyId(103));
            plain.physics.bodies[kicked].apply_impulse(Vector::new(0.0, 90.0, 20.0), true);
        }
        world.step();
        plain.physics.step();
        assert_same(&world, &plain, tick);
        slept = slept.max(world.len() - world.awake_count());
    }
    assert!(slept > 80, "the scene has a sleeping phase ({slept} slept)");
}
