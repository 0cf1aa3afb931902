//! A scene, run once on one server and recorded tick by tick.

use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::stream::{Sample, StreamSettings};
use scenes::{Action, Scene};
use world::{World, WorldConfig};

/// Everything the server knew of its bodies.
pub struct Recording {
    name: String,
    gravity: DVec3,
    /// By tick, from 0, each in order of id.
    pub ticks: Vec<Vec<Sample>>,
    contacts: usize,
}

impl Recording {
    /// Runs a scene on one server; `seed` also moves where bodies start by a hair, so that a scene without randomness of
    /// its own goes another way.
    pub fn of(name: &str, seconds: Option<f64>, seed: Option<u64>) -> Self {
        let scene = Scene::load(name).unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(2);
        });
        let config = WorldConfig {
            gravity: scene.gravity,
            step: scene.step,
            ..WorldConfig::default()
        };
        let mut world = World::new(config, &scene.statics).expect("the scene was checked");
        let mut rng = Pcg64Mcg::seed_from_u64(seed.unwrap_or(0));
        for body in &scene.bodies {
            let mut body = body.clone();
            if seed.is_some() {
                body.motion.position.x += rng.random_range(-1e-3..1e-3);
            }
            world.spawn(&body).expect("the scene was checked");
        }
        for joint in &scene.joints {
            world.add_joint(joint).expect("the scene was checked");
        }
        let mut recording = Self {
            name: name.to_owned(),
            gravity: scene.gravity.as_dvec3(),
            ticks: vec![samples(&world)],
            contacts: 0,
        };
        let spawns = scene.spawns(seed.unwrap_or(scene.seed));
        let mut spawns = spawns.iter().peekable();
        let mut commands = scene.commands.iter().peekable();
        for tick in 0..scene.step.ticks_in(seconds.unwrap_or(scene.seconds)) {
            let now = tick as f64 * scene.step.as_secs();
            while let Some(spawn) = spawns.next_if(|spawn| spawn.at <= now) {
                world.spawn(&spawn.body).expect("the scene was checked");
            }
            while let Some(command) = commands.next_if(|command| command.at <= now) {
                // What would be too fast is not done, in any run of the scene.
                let _ = match command.action {
                    Action::Impulse(push) => world.apply_impulse(command.body, push, None),
                    Action::Velocity(velocity) => world.set_velocity(command.body, velocity),
                };
            }
            world.step();
            recording.contacts += world.contacts_begun().len();
            recording.ticks.push(samples(&world));
        }
        recording
    }

    /// The stream settings for this scene, this many ticks behind the server.
    pub fn settings(&self, delay_ticks: u64) -> StreamSettings {
        StreamSettings {
            gravity: self.gravity,
            delay_ticks,
            ..StreamSettings::default()
        }
    }

    /// How lively the scene is.
    pub fn describe(&self) {
        let all = || self.ticks.iter().flatten();
        let count = all().count() as f64;
        let awake = all().filter(|sample| !sample.asleep).count() as f64;
        let speed: f64 = all()
            .map(|s| f64::from(s.motion.linear_velocity.length()))
            .sum();
        let spin: f64 = all()
            .map(|s| f64::from(s.motion.angular_velocity.length()))
            .sum();
        println!(
            "\n{}: {} bodies, {} ticks, {:.0} % awake, mean speed {:.2} m/s, mean spin {:.2} rad/s, {:.1} contacts begin per body and second",
            self.name,
            self.ticks.last().map_or(0, Vec::len),
            self.ticks.len() - 1,
            100.0 * awake / count,
            speed / count,
            spin / count,
            self.contacts as f64 * 2.0 / (count / 60.0)
        );
    }
}

fn samples(world: &World) -> Vec<Sample> {
    let sample = |(id, motion)| Sample {
        id,
        motion,
        asleep: world.is_asleep(id),
    };
    world.motions().map(sample).collect()
}
