//! A random scene around the borders and corners of a map: loose bodies, stacks, chains, injectors, commands.
//!
//! What makes errors is bodies that meet near borders, so most of them start at a *hot spot*, a corner of a region
//! inside the world, and fly towards it. No two bodies start inside each other: nobody could say whose error that is.

use super::{draws, space};
use boundary::AuraGeometry;
use domain::{
    Body, BodyForm, BodyId, Joint, JointId, JointKind, Material, Motion, Rect, Shape, Static,
    StaticId, TickLength,
};
use glam::{DVec3, Quat, Vec3};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use scenes::{Action, Command, Injector, Regions, Scene, Tolerances};
use std::collections::BTreeMap;

/// The share of the speed tolerance at which bodies start, at most; collisions and falls add to it.
const START_SPEED: f32 = 0.35;
/// The share of the speed tolerance that a fall may lead to.
const FALL_SPEED: f64 = 0.45;
/// Injected bodies float down like snow, so that they can come from above everything else and still be slow.
const SNOW_GRAVITY: f32 = 0.2;
/// Without gravity things drift to all sides for as long as the run lasts, but not as far as this.
const FAR_ABOVE_M: f64 = 200.0;
/// Free room between two bodies at the start.
const CLEARANCE_M: f64 = 0.05;
const G: f64 = 9.81;

/// Draws a scene for this world.
pub(super) fn draw(
    rng: &mut Pcg64Mcg,
    seed: u64,
    seconds: f64,
    regions: Regions,
    world: Rect,
    tolerances: Tolerances,
    geometry: &AuraGeometry,
) -> Scene {
    let has_gravity = rng.random_bool(0.7);
    let mut cast = Cast {
        hot_spots: hot_spots(&regions, world),
        spread_m: geometry.trigger_depth_m * 1.5,
        top_speed: tolerances.speed as f32 * START_SPEED,
        drop_m: match has_gravity {
            true => (tolerances.speed * FALL_SPEED).powi(2) / (2.0 * G),
            false => 2.0 * geometry.trigger_depth_m,
        },
        has_gravity,
        world,
        taken: Vec::new(),
        bodies: Vec::new(),
        joints: Vec::new(),
        rng,
    };
    cast.add_stacks();
    cast.add_chains();
    cast.add_loose_bodies();
    let injectors = cast.injectors(seconds);
    let commands = cast.commands(seconds);
    Scene {
        name: format!("soak {seed}"),
        seconds,
        seed,
        gravity: Vec3::new(0.0, if has_gravity { -G as f32 } else { 0.0 }, 0.0),
        step: TickLength::default(),
        world,
        regions,
        tolerances,
        statics: statics(has_gravity),
        bodies: cast.bodies,
        joints: cast.joints,
        injectors,
        commands,
        names: BTreeMap::new(),
    }
}

struct Cast<'r> {
    rng: &'r mut Pcg64Mcg,
    hot_spots: Vec<[f64; 2]>,
    /// How far around a hot spot things start.
    spread_m: f64,
    top_speed: f32,
    /// From how high a body may fall.
    drop_m: f64,
    has_gravity: bool,
    world: Rect,
    /// Spheres where something already is.
    taken: Vec<(DVec3, f64)>,
    bodies: Vec<Body>,
    joints: Vec<Joint>,
}

impl Cast<'_> {
    // ── what there is ──────────────────────────────────────────────────────────────────────────────────────────

    /// Towers and walls of equal boxes, standing on or near a border.
    fn add_stacks(&mut self) {
        if !self.has_gravity {
            return;
        }
        for _ in 0..self.rng.random_range(0..=2) {
            let edge: f32 = self.rng.random_range(0.4..0.8);
            let most_high = ((self.drop_m / f64::from(edge)) as u32).clamp(1, 5);
            let count = [
                self.rng.random_range(1..=4),
                self.rng.random_range(1..=most_high),
                self.rng.random_range(1..=2),
            ];
            let spot = self.place();
            self.add_stack(spot, edge, count);
        }
    }

    fn add_stack(&mut self, spot: DVec3, edge: f32, count: [u32; 3]) {
        let size = Vec3::splat(edge);
        let pitch = f64::from(edge) * 1.02;
        let form = draws::form(self.rng, Shape::Cuboid { size });
        let at = |[x, y, z]: [u32; 3]| {
            let level = f64::from(edge) * (f64::from(y) + 0.5);
            DVec3::new(
                spot.x + pitch * f64::from(x),
                level,
                spot.z + pitch * f64::from(z),
            )
        };
        let half = f64::from(edge) * 0.5;
        let last = at(count.map(|n| n - 1));
        let middle = (at([0; 3]) + last) * 0.5;
        let radius = middle.distance(last) + half * 3f64.sqrt();
        if !self.is_free(middle, radius) {
            return;
        }
        self.taken.push((middle, radius));
        for y in 0..count[1] {
            for x in 0..count[0] {
                for z in 0..count[2] {
                    self.push(form.clone(), Motion::at(at([x, y, z])));
                }
            }
        }
    }

    /// Chains of capsules or balls, thrown as a whole.
    fn add_chains(&mut self) {
        for _ in 0..self.rng.random_range(0..=3) {
            let links: u32 = self.rng.random_range(2..=5);
            let length: f32 = self.rng.random_range(0.5..0.9);
            let radius = f64::from(length) * f64::from(links) * 0.5 + 0.1;
            let kind = [JointKind::Spherical, JointKind::Revolute, JointKind::Fixed]
                [self.rng.random_range(0..3)];
            if let Some(middle) = self.free_place(radius) {
                let velocity = self.velocity_towards_a_hot_spot(middle);
                self.add_chain(middle, links, length, kind, velocity);
            }
        }
    }

    /// Lying along x; each link a box, its ends tied to its neighbours'.
    fn add_chain(
        &mut self,
        middle: DVec3,
        links: u32,
        length: f32,
        kind: JointKind,
        velocity: Vec3,
    ) {
        let size = Vec3::new(length * 0.8, length * 0.25, length * 0.25);
        let form = draws::form(self.rng, Shape::Cuboid { size });
        let first_x = middle.x - f64::from(length) * (f64::from(links) - 1.0) * 0.5;
        let reach = Vec3::X * length * 0.5;
        for link in 0..links {
            let x = first_x + f64::from(length) * f64::from(link);
            let motion = Motion {
                linear_velocity: velocity,
                ..Motion::at(DVec3::new(x, middle.y, middle.z))
            };
            let id = self.push(form.clone(), motion);
            if link > 0 {
                self.joints.push(Joint {
                    id: JointId(self.joints.len() as u64 + 1),
                    kind,
                    a: BodyId(id.0 - 1),
                    b: id,
                    anchor_a: reach,
                    anchor_b: -reach,
                    axis: Vec3::Z,
                });
            }
        }
    }

    fn add_loose_bodies(&mut self) {
        for _ in 0..self.rng.random_range(8..=45) {
            let shape = draws::shape(self.rng);
            let radius = f64::from(shape.bounding_radius());
            let Some(position) = self.free_place(radius) else {
                continue;
            };
            let motion = Motion {
                position,
                rotation: draws::rotation(self.rng),
                linear_velocity: self.velocity_towards_a_hot_spot(position),
                angular_velocity: draws::within(self.rng, Vec3::splat(2.0)),
            };
            let form = draws::form(self.rng, shape);
            self.push(form, motion);
        }
    }

    fn injectors(&mut self, seconds: f64) -> Vec<Injector> {
        let count = self.rng.random_range(0..=2);
        (0..count)
            .map(|index| self.injector(seconds, index))
            .collect()
    }

    /// Above everything else, and above the injector before it.
    fn injector(&mut self, seconds: f64, index: u32) -> Injector {
        let spot = self.place();
        let low = match self.has_gravity {
            true => self.drop_m + 3.0 + 4.0 * f64::from(index),
            false => FAR_ABOVE_M * f64::from(index + 1),
        };
        let half = DVec3::new(self.spread_m, 1.0, self.spread_m);
        let middle = DVec3::new(spot.x, low + half.y, spot.z);
        let speed = Vec3::new(self.top_speed, self.top_speed * 0.2, self.top_speed) * 0.55;
        let forms = (0..3).map(|_| {
            let shape = draws::shape(self.rng);
            BodyForm {
                gravity_scale: SNOW_GRAVITY,
                ..draws::form(self.rng, shape)
            }
        });
        Injector {
            forms: forms.collect(),
            min: middle - half,
            max: middle + half,
            rate: self.rng.random_range(2.0..8.0),
            from: 0.1,
            until: seconds - 0.4,
            velocity_min: -speed,
            velocity_max: Vec3::new(speed.x, 0.0, speed.z),
        }
    }

    /// A user gives a few bodies another direction.
    fn commands(&mut self, seconds: f64) -> Vec<Command> {
        let count = if self.bodies.is_empty() {
            0
        } else {
            self.rng.random_range(0..=4)
        };
        let mut commands: Vec<Command> = (0..count)
            .map(|_| Command {
                at: self.rng.random_range(0.1..seconds),
                body: BodyId(self.rng.random_range(1..=self.bodies.len() as u64)),
                action: Action::Velocity(draws::within(
                    self.rng,
                    Vec3::new(0.55, 0.1, 0.55) * self.top_speed,
                )),
            })
            .collect();
        commands.sort_by(|a, b| a.at.total_cmp(&b.at));
        commands
    }

    // ── how things are ─────────────────────────────────────────────────────────────────────────────────────────

    fn push(&mut self, form: BodyForm, motion: Motion) -> BodyId {
        let id = BodyId(self.bodies.len() as u64 + 1);
        self.bodies.push(Body::new(id, form, motion));
        id
    }

    // ── where things are ───────────────────────────────────────────────────────────────────────────────────────

    /// Mostly around a hot spot, sometimes anywhere; on the ground.
    fn place(&mut self) -> DVec3 {
        let spot = if self.rng.random_bool(0.75) {
            self.hot_spot()
        } else {
            None
        };
        let Rect { min, max } = self.world;
        let (rng, spread) = (&mut *self.rng, self.spread_m);
        let mut at = |axis: usize| {
            let place = match spot {
                Some(spot) => spot[axis] + rng.random_range(-spread..spread),
                None => rng.random_range(min[axis]..max[axis]),
            };
            place.clamp(min[axis], max[axis] - 0.01)
        };
        DVec3::new(at(0), 0.0, at(1))
    }

    fn free_place(&mut self, radius: f64) -> Option<DVec3> {
        for _ in 0..30 {
            let low = if self.has_gravity {
                radius + 0.02
            } else {
                -self.drop_m
            };
            let mut place = self.place();
            place.y = self.rng.random_range(low..=low.max(self.drop_m));
            if self.is_free(place, radius) {
                self.taken.push((place, radius));
                return Some(place);
            }
        }
        None
    }

    fn is_free(&self, place: DVec3, radius: f64) -> bool {
        let apart = |(other, r): &(DVec3, f64)| place.distance(*other) > radius + r + CLEARANCE_M;
        self.taken.iter().all(apart)
    }

    fn velocity_towards_a_hot_spot(&mut self, from: DVec3) -> Vec3 {
        let scatter = draws::within(self.rng, Vec3::new(0.4, 0.15, 0.4) * self.top_speed);
        let Some(spot) = self.hot_spot() else {
            return scatter;
        };
        let there = (DVec3::new(spot[0], from.y, spot[1]) - from).as_vec3();
        let straight = there.normalize_or_zero() * self.top_speed * self.rng.random_range(0.0..0.6);
        straight + scatter
    }

    fn hot_spot(&mut self) -> Option<[f64; 2]> {
        let index = self.rng.random_range(0..self.hot_spots.len().max(1));
        self.hot_spots.get(index).copied()
    }
}

fn statics(has_gravity: bool) -> Vec<Static> {
    let ground = Static {
        id: StaticId(0),
        shape: Shape::Plane,
        position: DVec3::ZERO,
        rotation: Quat::IDENTITY,
        material: Material::default(),
    };
    if has_gravity {
        vec![ground]
    } else {
        Vec::new()
    }
}

/// Corners of regions inside the world, and the middles of their low sides.
fn hot_spots(regions: &Regions, world: Rect) -> Vec<[f64; 2]> {
    let map = space::map(regions, world);
    let mut spots = Vec::new();
    for region in map.regions() {
        let Rect { min, max } = map.finite_rect(region);
        if min[0] > world.min[0] {
            spots.push([min[0], (min[1] + max[1]) * 0.5]);
        }
        if min[1] > world.min[1] {
            spots.push([(min[0] + max[0]) * 0.5, min[1]]);
        }
        if min[0] > world.min[0] && min[1] > world.min[1] {
            spots.push(min);
        }
    }
    spots
}
