//! The injectors, unrolled: every body that will appear, when and how, known before the run begins.
//!
//! Like a printed timetable: whoever holds the same scene and seed holds the same timetable, so one
//! server or nine create the same bodies with the same ids at the same times, and no server draws.
//! Each injector has its own stream of random numbers.
//!
//! A body should not appear inside another one: nobody could say which collision that is. The timetable
//! cannot know where bodies will lie, but it knows the parabola on which each still flies, and draws
//! another place if that one is taken.

use crate::{Injector, Scene};
use domain::{Body, BodyForm, BodyId, Motion, Shape};
use glam::{DVec3, Quat, Vec3};
use rand::rand_core::Rng;
use rand_pcg::Pcg64;

/// A body and the time at which it appears.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    /// Seconds since the start.
    pub at: f64,
    /// What appears; its id continues after the bodies of the start.
    pub body: Body,
}

/// How long a body is taken to fly freely, seconds.
const FLIGHT_SECS: f64 = 1.5;
/// The most bodies in flight a new one is compared with.
const MOST_IN_FLIGHT: usize = 20_000;
/// How often another place is drawn before the roomiest is taken.
const MOST_DRAWS: usize = 24;
/// Bodies should appear at least this far from each other, metres.
const CLEARANCE: f64 = 0.05;

impl Scene {
    /// All bodies that injectors add, by time and id. Runs normally give the scene's own `seed`.
    pub fn spawns(&self, seed: u64) -> Vec<Spawn> {
        let mut streams: Vec<Stream> = (self.injectors.iter().enumerate())
            .map(|(index, injector)| Stream::new(injector, seed, index))
            .collect();
        let mut times: Vec<(f64, usize)> = Vec::new();
        for (index, stream) in streams.iter().enumerate() {
            times.extend(stream.times().map(|at| (at, index)));
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut spawns: Vec<Spawn> = Vec::with_capacity(times.len());
        let mut flights: Vec<Flight> = Vec::with_capacity(times.len());
        for (at, index) in times {
            let id = BodyId((self.bodies.len() + spawns.len()) as u64 + 1);
            let (body, radius) = streams[index].draw(id, &in_flight(&flights, at));
            flights.push(Flight::of(at, &body, radius, self.gravity));
            spawns.push(Spawn { at, body });
        }
        spawns
    }
}

/// One injector and its random numbers.
struct Stream<'s> {
    injector: &'s Injector,
    rng: Pcg64,
    /// The bounding radius of each form: a hull of many points is measured once.
    radii: Vec<f64>,
    /// Which share of a period the first body waits, so that injectors of one rate do not fire together.
    phase: f64,
}

impl<'s> Stream<'s> {
    fn new(injector: &'s Injector, seed: u64, index: usize) -> Self {
        let mut rng = Pcg64::new(u128::from(seed), index as u128);
        let phase = unit(&mut rng);
        let radius = |form: &BodyForm| f64::from(form.shape.bounding_radius());
        Self {
            injector,
            rng,
            radii: injector.forms.iter().map(radius).collect(),
            phase,
        }
    }

    fn times(&self) -> impl Iterator<Item = f64> + use<'s> {
        let (injector, phase) = (self.injector, self.phase);
        (0..injector.total()).map(move |k| injector.from + (k as f64 + phase) / injector.rate)
    }

    /// A body and its bounding radius; `others` are the bounding spheres in which it should not appear.
    fn draw(&mut self, id: BodyId, others: &[(DVec3, f64)]) -> (Body, f64) {
        let (form, radius) = self.form();
        let position = self.roomy_place(|position| room(others, position, radius));
        let rotation = match form.shape {
            Shape::Sphere { .. } => Quat::IDENTITY,
            _ => uniform_rotation(&mut self.rng),
        };
        let (low, high) = (
            self.injector.velocity_min.as_dvec3(),
            self.injector.velocity_max.as_dvec3(),
        );
        let motion = Motion {
            position,
            rotation,
            linear_velocity: within(&mut self.rng, low, high).as_vec3(),
            angular_velocity: Vec3::ZERO,
        };
        (Body::new(id, form, motion), radius)
    }

    fn form(&mut self) -> (BodyForm, f64) {
        let forms = &self.injector.forms;
        let choice = (unit(&mut self.rng) * forms.len() as f64) as usize;
        let choice = choice.min(forms.len() - 1);
        (forms[choice].clone(), self.radii[choice])
    }

    /// A uniformly drawn place with enough room, or the roomiest of many.
    fn roomy_place(&mut self, room: impl Fn(DVec3) -> f64) -> DVec3 {
        let mut best = (f64::NEG_INFINITY, self.injector.min);
        for _ in 0..MOST_DRAWS {
            let position = within(&mut self.rng, self.injector.min, self.injector.max);
            let room = room(position);
            if room > best.0 {
                best = (room, position);
            }
            if room >= CLEARANCE {
                break;
            }
        }
        best.1
    }
}

/// The parabola of a body that has appeared and, as far as the timetable knows, still flies.
struct Flight {
    at: f64,
    position: DVec3,
    velocity: DVec3,
    pull: DVec3,
    radius: f64,
}

impl Flight {
    fn of(at: f64, body: &Body, radius: f64, gravity: Vec3) -> Self {
        Self {
            at,
            position: body.motion.position,
            velocity: body.motion.linear_velocity.as_dvec3(),
            pull: gravity.as_dvec3() * f64::from(body.form.gravity_scale),
            radius,
        }
    }

    /// Its bounding sphere at a later time.
    fn sphere(&self, now: f64) -> (DVec3, f64) {
        let secs = now - self.at;
        let place = self.position + self.velocity * secs + self.pull * (0.5 * secs * secs);
        (place, self.radius)
    }
}

/// The bounding spheres of all bodies that fly now.
fn in_flight(flights: &[Flight], now: f64) -> Vec<(DVec3, f64)> {
    let recent = flights.partition_point(|f| f.at < now - FLIGHT_SECS);
    let first = recent.max(flights.len().saturating_sub(MOST_IN_FLIGHT));
    flights[first..].iter().map(|f| f.sphere(now)).collect()
}

/// The distance from this sphere to the nearest other one.
fn room(others: &[(DVec3, f64)], position: DVec3, radius: f64) -> f64 {
    let distance = |(place, r): &(DVec3, f64)| place.distance(position) - radius - r;
    others.iter().map(distance).fold(f64::INFINITY, f64::min)
}

/// Uniform in [0, 1): the upper 53 bits, so that the same stream gives the same number everywhere.
pub(crate) fn unit(rng: &mut Pcg64) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

pub(crate) fn within(rng: &mut Pcg64, low: DVec3, high: DVec3) -> DVec3 {
    let share = DVec3::new(unit(rng), unit(rng), unit(rng));
    low + (high - low) * share
}

/// Uniform over all orientations: a point of the 4-ball, pushed out to its surface. Needs only a square
/// root, which has the same bits on every platform; sines do not.
fn uniform_rotation(rng: &mut Pcg64) -> Quat {
    loop {
        let [x, y, z, w] = std::array::from_fn(|_| 2.0 * unit(rng) - 1.0);
        let square = x * x + y * y + z * z + w * w;
        if (0.01..=1.0).contains(&square) {
            let scale = 1.0 / square.sqrt();
            return Quat::from_array([x, y, z, w].map(|v: f64| (v * scale) as f32));
        }
    }
}
