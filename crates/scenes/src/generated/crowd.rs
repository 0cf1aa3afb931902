//! A crowd of any size, density and speed, for measurements that change one thing and leave the others as they are.
//!
//! ```text
//!    ·   ·    ·           · half of the bodies bounce, for long: they slide and are elastic, as are ground and walls
//!  ▫ · ▫   ▫ · ▫   ▫      ▫ half of them are boxes that stand in rows
//! ▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔     on a square that is as large as the density asks for
//! ```
//!
//! The same everywhere: near borders the crowd is as dense as elsewhere, however the square is cut.

use super::crowds::{ELASTIC, FILLED_AFTER_S, SHAPES, WALL_M};
use super::writer::{Head, Rows, Volume, Writer};
use crate::{Scene, Tolerances};
use domain::{Layout, Rect};
use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::RangeInclusive;

/// How many bodies a crowd may have: fewer stand on a square that is too small for four regions, more are
/// untried.
pub(super) const SIZES: RangeInclusive<usize> = 50..=100_000;
const SECONDS: f64 = 10.0;
/// Where what bounces appears, above what stands.
const HEIGHTS_M: [f64; 2] = [3.0, 12.0];

/// A crowd on a square. [`Generated::Crowd`](super::Generated::Crowd) is the default one of any size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crowd {
    /// How many bodies (default 4,000): 50 to 100,000.
    pub bodies: usize,
    /// Bodies per square metre of ground (default 1/9, as in `weak-N`). More: a smaller square, and more contacts.
    pub bodies_per_m2: f64,
    /// How fast at most what bounces is across the ground when it appears, m/s (default 7). It falls from up to 12 m.
    pub speed: f64,
    /// How many regions the square is cut into (default 4).
    pub servers: usize,
    /// What auras allow for (default as everywhere).
    pub tolerances: Tolerances,
}

impl Default for Crowd {
    fn default() -> Self {
        Self {
            bodies: 4000,
            bodies_per_m2: 1.0 / 9.0,
            speed: 7.0,
            servers: 4,
            tolerances: Tolerances::default(),
        }
    }
}

impl Crowd {
    /// The side of its square, metres.
    pub fn side_m(&self) -> f64 {
        (self.bodies as f64 / self.bodies_per_m2).sqrt()
    }

    /// The crowd as a scene file.
    pub fn text(&self) -> String {
        let half = 0.5 * self.side_m();
        let world = Rect {
            min: [-half; 2],
            max: [half; 2],
        };
        let mut writer = Writer::new(&Head {
            name: &format!("crowd-{}", self.bodies),
            comment: &format!(
                "{} bodies on a square of {:.1} m, half of them bouncing, at up to {} m/s across the ground.\n\
                 Expect: what a body costs does not depend on how many others there are.",
                self.bodies,
                self.side_m(),
                self.speed
            ),
            seconds: SECONDS,
            world,
            layout: Layout::Grid,
            servers: self.servers,
        });
        writer.tolerances(&self.tolerances);
        writer.plane(ELASTIC);
        writer.walls(world, WALL_M, ELASTIC);
        self.write_standing(&mut writer);
        self.write_bouncing(&mut writer, half);
        writer.finish()
    }

    /// The crowd as a scene.
    ///
    /// # Panics
    /// If a number is out of the range that a scene file allows.
    pub fn scene(&self) -> Scene {
        Scene::parse(&self.text(), None).unwrap_or_else(|wrong| panic!("{self:?}: {wrong}"))
    }

    /// Boxes along each side: as many in all as a square of them allows, at most half of the crowd.
    fn along(&self) -> usize {
        (self.bodies / 2).isqrt()
    }

    fn write_standing(&self, writer: &mut Writer) {
        let along = self.along();
        let apart = self.side_m() / along as f64;
        let first = 0.5 * (apart - self.side_m());
        let rows = Rows {
            origin: [first, 0.3, first],
            count: [along, 1, along],
            spacing: [apart, 1.0, apart],
        };
        let shape = "{ type = \"cuboid\", size = [0.6, 0.6, 0.6] }";
        writer.grid(shape, &rows, "friction = 0.5\nrestitution = 0.5");
    }

    fn write_bouncing(&self, writer: &mut Writer, half: f64) {
        let bouncing = self.bodies - self.along() * self.along();
        let [bottom, top] = HEIGHTS_M;
        let volume = Volume {
            min: [1.0 - half, bottom, 1.0 - half],
            max: [half - 1.0, top, half - 1.0],
        };
        // The fastest are those that go along a diagonal.
        let axis = self.speed * FRAC_1_SQRT_2;
        let [low, high] = [[-axis, 0.0, -axis], [axis, 0.0, axis]];
        let rest = format!(
            "until = {FILLED_AFTER_S:?}\nvelocity_min = {low:?}\nvelocity_max = {high:?}\n{ELASTIC}\n\
             shapes = [\n    {},\n]",
            SHAPES.join(",\n    ")
        );
        writer.injector(&volume, bouncing as f64 / FILLED_AFTER_S, &rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One thing changes, the others stay: that is what a crowd is for.
    #[test]
    fn a_crowd_is_what_was_asked_for() {
        for crowd in [
            Crowd::default(),
            Crowd {
                bodies: 250,
                ..Crowd::default()
            },
            Crowd {
                bodies: 999,
                bodies_per_m2: 0.8,
                speed: 30.0,
                servers: 8,
                tolerances: Tolerances {
                    speed: 64.0,
                    latency_ms: 60.5,
                    frame_ms: 12.0,
                },
            },
        ] {
            let scene = crowd.scene();
            let spawns = scene.spawns(3);
            assert_eq!(scene.bodies.len() + spawns.len(), crowd.bodies);
            let half_of_them = scene.bodies.len() as f64 / crowd.bodies as f64;
            assert!((0.4..=0.5).contains(&half_of_them), "{half_of_them}");
            let area = (scene.world.max[0] - scene.world.min[0]).powi(2);
            assert!((crowd.bodies as f64 / area - crowd.bodies_per_m2).abs() < 1e-9);
            let across = |v: glam::Vec3| f64::from(v.x.hypot(v.z));
            let fastest = spawns
                .iter()
                .map(|spawn| across(spawn.body.motion.linear_velocity))
                .fold(0.0, f64::max);
            assert!(
                fastest <= 1.001 * crowd.speed && fastest >= 0.8 * crowd.speed,
                "{fastest}"
            );
            assert_eq!(scene.tolerances, crowd.tolerances);
            assert_eq!(scene.regions.servers, crowd.servers);
        }
    }

    #[test]
    fn every_allowed_size_can_be_read() {
        for bodies in [*SIZES.start(), *SIZES.end()] {
            let crowd = Crowd {
                bodies,
                ..Crowd::default()
            };
            let scene = crowd.scene();
            let injected: usize = scene.injectors.iter().map(|i| i.total()).sum();
            assert_eq!(scene.bodies.len() + injected, bodies);
        }
    }
}
