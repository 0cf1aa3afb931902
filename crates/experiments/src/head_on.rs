//! Two spheres straight at each other over a border (thesis 5.2.1).
//!
//! ```text
//!        region 0              ┊              region 1
//!                              ┊
//!      (  A  )──v──►           ┊                ◄──v──(  B  )
//!                          (  A┊ )(  B  )        at contact: the point where they touch lies
//!                              ┊──►│             `contact_offset_m` past the border
//! ```
//!
//! No gravity, no drag. Each has the nominal speed less a random 0..1 m/s, so that one of them has just been handed over when
//! they meet. The first contact tells everything: a centralised run finds it at most one step of relative motion deep.
//! The thesis does not say how large its spheres are nor where exactly they meet (A-9), so both are parameters.

use crate::observation::{Observation, Sighting};
use crate::variants::Variant;
use domain::{Body, BodyForm, BodyId, Motion, Rect, Shape, TickLength};
use glam::{DVec3, Vec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use scenes::{Regions, Scene, Tolerances};
use simulator::{SimError, Simulation};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The sphere on region 0.
pub(crate) const A: BodyId = BodyId(1);
/// The sphere on region 1.
pub(crate) const B: BodyId = BodyId(2);
/// Slower spheres would be taken for still and put to sleep by the engine, m/s.
const SLOWEST: f64 = 0.25;
/// Half the width of the world, metres: the engine's zeros lie near the border.
const HALF_WIDTH_M: f64 = 60.0;

/// What the thesis does not give (A-9).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Of both spheres, metres.
    pub radius_m: f64,
    /// How far past the border they touch, metres.
    pub contact_offset_m: f64,
}

impl Geometry {
    /// Reproduces the thesis's thrash column (digest 8.2): at contact one sphere is centred on the border.
    pub const LARGE: Self = Self {
        radius_m: 2.75,
        contact_offset_m: 2.75,
    };
    /// Small enough that a collision can be missed: above 80 m/s two such spheres can pass each other within one step.
    pub const SMALL: Self = Self {
        radius_m: 2.0 / 3.0,
        contact_offset_m: 2.0 / 3.0,
    };

    /// As in tables.
    pub fn name(&self) -> &'static str {
        if *self == Self::SMALL {
            "r=0.67"
        } else {
            "r=2.75"
        }
    }
}

/// The three factors as they really are in a run, and what the network loses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Nominal speed of each sphere, m/s.
    pub speed: f64,
    /// Each sphere is slower than that by a random part of this, m/s (the thesis: 1).
    pub speed_spread: f64,
    /// One-way latency, milliseconds.
    pub latency_ms: f64,
    /// Target frame time, milliseconds.
    pub frame_ms: f64,
    /// Share of datagrams lost, 0 to 1.
    pub loss: f64,
}

impl Conditions {
    /// All three factors at their tolerances, nothing lost.
    pub fn at(tolerances: &Tolerances) -> Self {
        Self {
            speed: tolerances.speed,
            speed_spread: 1.0,
            latency_ms: tolerances.latency_ms,
            frame_ms: tolerances.frame_ms,
            loss: 0.0,
        }
    }
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encounter {
    /// Size and place.
    pub geometry: Geometry,
    /// What the auras are made for.
    pub tolerances: Tolerances,
    /// What happens.
    pub conditions: Conditions,
    /// By which rules.
    pub variant: Variant,
    /// Everything random.
    pub seed: u64,
}

/// How a collision came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Found within one step of relative motion.
    Correct,
    /// Found deeper than that.
    Late,
    /// Never found.
    Missed,
}

/// What one run showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// How the collision came out.
    pub verdict: Verdict,
    /// At the first contact, m/s; zero if missed.
    pub relative_speed: f64,
    /// How deep along their path, metres; negative: found before they touched.
    pub penetration_m: f64,
    /// Changes of owner before the first contact, counted per sphere.
    pub migrations: u32,
    /// Migrations away from the server on which they finally met (Fig. 5.42).
    pub times_thrashed: u32,
    /// Had a sphere been received since the step before (A-22)?
    pub just_migrated: bool,
    /// Were they in each other at some tick at which they had different owners (F1)?
    pub overlapped_across: bool,
    /// Was a sphere put back at some tick to where it had promised to be (size `adaptive`)?
    pub held: bool,
}

impl Record {
    /// More than the one migration that is needed?
    pub fn is_thrashed(&self) -> bool {
        self.migrations > 1
    }

    /// Penetration over relative speed, in steps; at most one if all is well.
    pub fn penetration_steps(&self, step: TickLength) -> f64 {
        self.penetration_m / (self.relative_speed * step.as_secs())
    }
}

/// Speeds and the instant of contact of one run.
struct Plan {
    speed_a: f64,
    speed_b: f64,
    contact_secs: f64,
    seconds: f64,
    run_seed: u64,
}

impl Encounter {
    /// Runs it to the first contact, or until the spheres have passed each other.
    pub fn run(&self) -> Result<Record, SimError> {
        let plan = self.plan();
        let scene = self.scene(&plan);
        let mut options = self.variant.options(&self.conditions);
        options.seed = Some(plan.run_seed);
        let mut simulation = Simulation::new(&scene, &options)?;
        let closing = plan.speed_a + plan.speed_b;
        // The two servers may be a little apart in time; past means past in both their times.
        let passed_m = 2.0 * self.geometry.radius_m + 0.2 * closing;
        let observation = Rc::new(RefCell::new(Observation::new(
            self.geometry.radius_m,
            passed_m,
        )));
        let watcher = observation.clone();
        simulation.watch(Box::new(move |_, fact| {
            let mut observation = watcher.borrow_mut();
            observation.note(fact);
            if observation.is_over() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }));
        let outcome = simulation.run(|_| {});
        let held = outcome.kept.held > 0;
        let record = self.judge(&observation.borrow(), held, scene.step);
        Ok(record)
    }

    fn plan(&self) -> Plan {
        let mut rng = Pcg64Mcg::seed_from_u64(self.seed);
        let Conditions {
            speed,
            speed_spread,
            ..
        } = self.conditions;
        let mut draw = || (speed - speed_spread * rng.random_range(0.0..1.0)).max(SLOWEST);
        let (speed_a, speed_b) = (draw(), draw());
        let closing = speed_a + speed_b;
        let hop = (2.0 * self.conditions.frame_ms + self.conditions.latency_ms) * 1e-3;
        let Geometry {
            radius_m,
            contact_offset_m,
        } = self.geometry;
        // Far enough apart to have different owners, on their own sides, and time for the first words.
        let apart = self.variant.link_m(&self.tolerances) / closing;
        let own_side = (contact_offset_m - radius_m + 0.5).max(0.0) / speed_a;
        let step = TickLength::default().as_secs();
        let phase = rng.random_range(0.0..2.0) * step;
        let contact_secs = apart.max(own_side) + 4.0 * hop + 12.0 * step + phase;
        let passing = (4.0 * radius_m + 1.0) / closing;
        Plan {
            speed_a,
            speed_b,
            contact_secs,
            seconds: contact_secs + passing + 20.0 * hop + 1.5,
            run_seed: rng.random(),
        }
    }

    fn scene(&self, plan: &Plan) -> Scene {
        let Geometry {
            radius_m,
            contact_offset_m,
        } = self.geometry;
        let ball = |id, x: f64, speed: f64| {
            let mut motion = Motion::at(DVec3::new(x, 0.0, 0.0));
            motion.linear_velocity = Vec3::new(speed as f32, 0.0, 0.0);
            let shape = Shape::Sphere {
                radius: radius_m as f32,
            };
            Body::new(id, BodyForm::of(shape), motion)
        };
        let a = contact_offset_m - radius_m - plan.speed_a * plan.contact_secs;
        let b = contact_offset_m + radius_m + plan.speed_b * plan.contact_secs;
        Scene {
            name: "head-on".into(),
            seconds: plan.seconds,
            seed: self.seed,
            gravity: Vec3::ZERO,
            step: TickLength::default(),
            world: Rect {
                min: [-HALF_WIDTH_M; 2],
                max: [HALF_WIDTH_M; 2],
            },
            regions: Regions {
                layout: self.variant.layout(),
                servers: self.variant.servers(),
                boxes: Vec::new(),
            },
            tolerances: self.tolerances,
            statics: Vec::new(),
            bodies: vec![ball(A, a, plan.speed_a), ball(B, b, -plan.speed_b)],
            joints: Vec::new(),
            injectors: Vec::new(),
            commands: Vec::new(),
            names: Default::default(),
        }
    }

    fn judge(&self, seen: &Observation, held: bool, step: TickLength) -> Record {
        let migrations = seen.departures();
        let Some(sighting) = seen.contact() else {
            return Record {
                verdict: Verdict::Missed,
                relative_speed: 0.0,
                penetration_m: 0.0,
                migrations,
                times_thrashed: migrations.saturating_sub(1),
                just_migrated: false,
                overlapped_across: seen.overlapped_across(),
                held,
            };
        };
        let Sighting { relative_speed, .. } = sighting;
        let penetration_m = sighting.penetration_m(self.geometry.radius_m);
        Record {
            verdict: verdict(penetration_m, relative_speed, step),
            relative_speed,
            penetration_m,
            migrations,
            times_thrashed: sighting.times_thrashed,
            just_migrated: sighting.just_migrated,
            overlapped_across: seen.overlapped_across(),
            held,
        }
    }
}

/// What the engine's `f32` may add, metres.
const EPSILON_M: f64 = 1e-4;

/// Late is deeper than one step of relative motion (5.2.1, A-23).
fn verdict(penetration_m: f64, relative_speed: f64, step: TickLength) -> Verdict {
    if penetration_m <= relative_speed * step.as_secs() + EPSILON_M {
        Verdict::Correct
    } else {
        Verdict::Late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encounter(variant: Variant, seed: u64) -> Encounter {
        let tolerances = Tolerances::default();
        Encounter {
            geometry: Geometry::LARGE,
            tolerances,
            conditions: Conditions::at(&tolerances),
            variant,
            seed,
        }
    }

    /// 5.2.1: exactly one step of relative motion is still correct; the relative speed counts (A-23).
    #[test]
    fn late_is_deeper_than_one_step() {
        let step = TickLength::default();
        assert_eq!(verdict(-0.01, 60.0, step), Verdict::Correct);
        assert_eq!(verdict(1.0, 60.0, step), Verdict::Correct);
        assert_eq!(verdict(1.01, 60.0, step), Verdict::Late);
    }

    #[test]
    fn the_same_seed_gives_the_same_record() {
        for variant in [Variant::Thesis, Variant::Ours, Variant::Adaptive] {
            let run = |seed| encounter(variant, seed).run().expect("sound");
            assert_eq!(run(3), run(3));
            assert_ne!(run(3), run(4));
        }
    }

    /// AP-53: the sub-step phase of the contact is drawn evenly, or late collisions would hide between the steps.
    #[test]
    fn penetrations_of_a_control_run_fill_the_whole_step() {
        let mut tenths = [0; 10];
        for seed in 0..200 {
            let record = encounter(Variant::Control, seed).run().expect("sound");
            let steps = record.penetration_steps(TickLength::default());
            assert!(steps <= 1.0, "{steps}");
            tenths[(steps.max(0.0) * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| *count > 5), "{tenths:?}");
    }

    /// The spheres start with two owners and one of them moves over.
    #[test]
    fn one_sphere_migrates_before_they_meet() {
        for variant in [Variant::Ours, Variant::Adaptive] {
            for seed in 0..20 {
                let record = encounter(variant, seed).run().expect("sound");
                assert_eq!((record.migrations, record.verdict), (1, Verdict::Correct));
            }
        }
    }
}
