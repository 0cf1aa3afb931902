//! Rapier and nothing else: what somebody would write who has one server.
//!
//! No books about bodies, no memory of contacts to be handed over, no listening for contacts. This is what everything
//! else is compared with, so it must not carry any of our work; it takes the domain's types only so that the same scene
//! can be given to both. The bodies move as in a [`World`](crate::World), bit by bit.

use crate::check;
use crate::config::{WorldConfig, WorldError};
use crate::frame::Frame;
use crate::shapes;
use crate::world::build_shape;
use domain::{Body, BodyId, Motion, Static};
use rapier3d::prelude::{ColliderBuilder, PhysicsWorld, RigidBodyBuilder, RigidBodyHandle};

/// The bare engine with a scene in it.
pub struct Bare {
    physics: PhysicsWorld,
    frame: Frame,
    /// Only for looking: the engine's step does not know of it.
    handles: Vec<(BodyId, RigidBodyHandle)>,
}

impl Bare {
    /// The engine with its scenery.
    pub fn new(config: &WorldConfig, statics: &[Static]) -> Result<Self, WorldError> {
        check::check_config(config)?;
        let mut physics = PhysicsWorld::new();
        physics.gravity = config.gravity;
        physics.integration_parameters.dt = config.step.as_secs() as f32;
        let frame = Frame {
            origin: config.origin,
        };
        for scenery in statics {
            check::check_static(scenery)?;
            let shape = shapes::build(&scenery.shape).map_err(|cause| WorldError::BadStatic {
                id: scenery.id,
                cause,
            })?;
            let collider = ColliderBuilder::new(shape)
                .position(frame.local_pose(scenery.position, scenery.rotation))
                .friction(scenery.material.friction)
                .restitution(scenery.material.restitution);
            physics.insert_collider(collider, None);
        }
        Ok(Self {
            physics,
            frame,
            handles: Vec::new(),
        })
    }

    /// Adds a body. That no id comes twice is the caller's care: the engine has no ids.
    pub fn spawn(&mut self, body: &Body) -> Result<(), WorldError> {
        check::check_numbers(body)?;
        let (form, motion) = (&body.form, &body.motion);
        let rigid = RigidBodyBuilder::dynamic()
            .pose(self.frame.local_pose(motion.position, motion.rotation))
            .linvel(motion.linear_velocity)
            .angvel(motion.angular_velocity)
            .gravity_scale(form.gravity_scale)
            .linear_damping(form.linear_damping)
            .angular_damping(form.angular_damping)
            .ccd_enabled(form.continuous);
        let collider = ColliderBuilder::new(build_shape(body.id, form)?)
            .density(form.material.density)
            .friction(form.material.friction)
            .restitution(form.material.restitution);
        let (handle, _) = self.physics.insert(rigid, collider);
        self.handles.push((body.id, handle));
        Ok(())
    }

    /// Moves all bodies by one step.
    pub fn step(&mut self) {
        self.physics.step();
    }

    /// All bodies' motions, in the order in which they came.
    pub fn motions(&self) -> impl ExactSizeIterator<Item = (BodyId, Motion)> + '_ {
        self.handles.iter().map(|(id, handle)| {
            let rigid = &self.physics.bodies[*handle];
            let motion = Motion {
                position: self.frame.world(rigid.translation()),
                rotation: *rigid.rotation(),
                linear_velocity: rigid.linvel(),
                angular_velocity: rigid.angvel(),
            };
            (*id, motion)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;
    use domain::{BodyForm, Material, Shape, StaticId};
    use glam::{DVec3, Quat, Vec3};

    fn scenery() -> Vec<Static> {
        let ground = Static {
            id: StaticId(0),
            shape: Shape::Plane,
            position: DVec3::ZERO,
            rotation: Quat::IDENTITY,
            material: Material {
                restitution: 0.8,
                ..Material::default()
            },
        };
        let block = Static {
            id: StaticId(1),
            shape: Shape::Cuboid {
                size: Vec3::new(2.0, 3.0, 2.0),
            },
            position: DVec3::new(41.0, 1.5, 1.0),
            ..ground.clone()
        };
        vec![ground, block]
    }

    /// A heap of three shapes, some of them fast.
    fn body(index: u64) -> Body {
        let shape = match index % 3 {
            0 => Shape::Sphere { radius: 0.3 },
            1 => Shape::Cuboid {
                size: Vec3::new(0.5, 0.4, 0.6),
            },
            _ => Shape::Capsule {
                radius: 0.25,
                height: 1.0,
            },
        };
        let mut form = BodyForm::of(shape);
        form.material.restitution = 0.1 * (index % 5) as f32;
        form.angular_damping = 0.5;
        form.continuous = index.is_multiple_of(7);
        let place = DVec3::new(
            40.0 + 0.7 * (index % 4) as f64,
            1.0 + 0.9 * (index / 16) as f64,
            0.7 * (index / 4 % 4) as f64,
        );
        let mut body = Body::new(BodyId(index), form, Motion::at(place));
        body.motion.linear_velocity = Vec3::new(0.0, 0.0, (index % 6) as f32);
        body.motion.rotation = Quat::from_rotation_z(0.2 * index as f32);
        body
    }

    /// Whatever a `World` costs more than this, it costs for the same motion.
    #[test]
    fn bodies_move_as_in_a_world() {
        let config = WorldConfig {
            origin: DVec3::new(37.0, 0.0, -2.0),
            ..WorldConfig::default()
        };
        let mut world = World::new(config, &scenery()).expect("sound");
        let mut bare = Bare::new(&config, &scenery()).expect("sound");
        for tick in 0..400_u64 {
            // Not all at once: what comes later must find the same world, too.
            if tick % 4 == 0 && tick < 240 {
                let body = body(tick / 4);
                world.spawn(&body).expect("sound");
                bare.spawn(&body).expect("sound");
            }
            world.step();
            bare.step();
            assert!(world.motions().eq(bare.motions()), "tick {tick}");
        }
        assert_eq!(bare.motions().len(), 60);
    }

    #[test]
    fn nonsense_is_refused_as_by_a_world() {
        let mut bare = Bare::new(&WorldConfig::default(), &scenery()).expect("sound");
        let mut bad = body(1);
        bad.motion.position.x = f64::NAN;
        assert!(bare.spawn(&bad).is_err());
        assert_eq!(bare.motions().len(), 0);
    }
}
