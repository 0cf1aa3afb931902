//! The thesis's world (5.2): n objects that move freely in a cube whose volume grows with n, and one avatar per node.

use domain::{Body, BodyForm, BodyId, Material, Motion, Shape};
use glam::{DVec3, Quat, Vec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use scenes::{Action, Command, Scene, Tolerances};

/// The share of the world that objects fill.
pub(super) const COVERAGE: f64 = 0.0044;
/// An avatar changes its mind this often, seconds.
const AVATAR_SECS: f64 = 0.5;
const AVATAR_SPEED: f32 = 4.0;
/// Elastic collisions make some bodies faster than they began.
const FASTEST: f64 = 16.0;

/// ST-56: Volume = n · v / coverage; side = its cube root.
pub(super) fn side(objects: u64, volume: f64, coverage: f64) -> f64 {
    (objects as f64 * volume / coverage).cbrt()
}

/// What is in the box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gas {
    pub objects: u64,
    pub avatars: u64,
    pub coverage: f64,
    pub seed: u64,
    pub seconds: f64,
}

impl Gas {
    pub fn scene(&self) -> Scene {
        let mut rng = Pcg64Mcg::seed_from_u64(self.seed);
        let side = side(self.objects, 1.0, self.coverage);
        let half = side * 0.5;
        let form = BodyForm {
            material: MATERIAL,
            ..BodyForm::of(Shape::Cuboid { size: Vec3::ONE })
        };
        let bodies = (1..=self.objects + self.avatars)
            .map(|id| {
                let inside = half - 1.0;
                let place = std::array::from_fn(|_| rng.random_range(-inside..inside));
                let motion = Motion {
                    rotation: Quat::from_scaled_axis(direction(&mut rng) * 2.0),
                    linear_velocity: direction(&mut rng) * rng.random_range(1.0..5.0),
                    ..Motion::at(DVec3::from_array(place))
                };
                Body::new(BodyId(id), form.clone(), motion)
            })
            .collect();
        Scene {
            seconds: self.seconds,
            seed: self.seed,
            tolerances: Tolerances {
                speed: FASTEST,
                ..Tolerances::default()
            },
            commands: self.whims(&mut rng),
            ..Scene::closed_box(format!("{} cubes", self.objects), half, MATERIAL, bodies)
        }
    }

    /// What users do with their avatars.
    fn whims(&self, rng: &mut Pcg64Mcg) -> Vec<Command> {
        let mut commands = Vec::new();
        for turn in 1..(self.seconds / AVATAR_SECS) as u64 {
            for avatar in 1..=self.avatars {
                commands.push(Command {
                    at: turn as f64 * AVATAR_SECS,
                    body: BodyId(self.objects + avatar),
                    action: Action::Velocity(direction(rng) * AVATAR_SPEED),
                });
            }
        }
        commands
    }
}

const MATERIAL: Material = Material {
    density: 1000.0,
    friction: 0.0,
    restitution: 1.0,
};

fn direction(rng: &mut Pcg64Mcg) -> Vec3 {
    loop {
        let vector = Vec3::from_array(std::array::from_fn(|_| rng.random_range(-1.0..1.0)));
        if (0.01..1.0).contains(&vector.length_squared()) {
            return vector.normalize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ST-56: 100 unit cubes in a cube of 10 m cover 10 %; twice as many objects have twice the volume.
    #[test]
    fn st_56_the_world_grows_with_its_objects() {
        assert!((side(100, 1.0, 0.1) - 10.0).abs() < 1e-9);
        let ratio = side(2000, 1.0, COVERAGE) / side(1000, 1.0, COVERAGE);
        assert!((ratio.powi(3) - 2.0).abs() < 1e-9);
        let gas = Gas {
            objects: 300,
            avatars: 4,
            coverage: COVERAGE,
            seed: 1,
            seconds: 2.0,
        };
        let scene = gas.scene();
        assert_eq!((scene.bodies.len(), scene.statics.len()), (304, 6));
        assert_eq!(scene.commands.len(), 3 * 4);
        let reach = side(300, 1.0, COVERAGE) * 0.5;
        let inside = |body: &Body| body.motion.position.abs().max_element() < reach;
        assert!(scene.bodies.iter().all(inside));
    }
}
