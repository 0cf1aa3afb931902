//! The bound of size `adaptive` against whatever can be drawn: a few bodies around a border or a corner, a thousand times as heavy as
//! others or as light, perfectly elastic, in rows that pass hits on, tied by joints, shot at from all sides.
//!
//! A thousand cases by default; `AURAMESH_CASES=100000 cargo test --workspace --release --test main bound -- --nocapture` for more.

use crate::common::parse;
use domain::{BodyId, Motion};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use simulator::facts::Fact;
use simulator::frames::FrameModel;
use simulator::{Outcome, SimOptions, Simulation};
use std::cell::Cell;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::rc::Rc;

const CASES: u64 = 1_000;
/// Slower bodies than this amplify nothing worth telling, m/s.
const SLOW: f32 = 1.0;

fn shape(rng: &mut Pcg64Mcg) -> String {
    let size = rng.random_range(0.1..0.35);
    match rng.random_range(0..3) {
        0 => format!("{{ type = \"sphere\", radius = {size:.3} }}"),
        1 => format!(
            "{{ type = \"cuboid\", size = [{size:.3}, {:.3}, {:.3}] }}",
            1.5 * size,
            2.0 * size
        ),
        _ => format!(
            "{{ type = \"capsule\", radius = {:.3}, height = {:.3} }}",
            0.5 * size,
            2.0 * size
        ),
    }
}

/// Rows of bodies 0.75 m apart around the middle of the world, where two or four regions meet. A few of them are fast.
fn scene_of(rng: &mut Pcg64Mcg) -> scenes::Scene {
    let (layout, servers) = match rng.random_bool(0.5) {
        true => ("columns", 2),
        false => ("grid", 4),
    };
    let mut text = format!(
        "name = \"a case\"\nseconds = 1.0\n[world]\nmin = [-60.0, -60.0]\nmax = [60.0, 60.0]\n\
         [regions]\nlayout = \"{layout}\"\nservers = {servers}\n[[static]]\nshape = {{ type = \"plane\" }}\nrestitution = 1.0\n"
    );
    let (across, along) = (rng.random_range(2..5), rng.random_range(1..4));
    let elastic = rng.random_bool(0.7);
    let restitution = if elastic {
        1.0
    } else {
        rng.random_range(0.0..1.0)
    };
    let shift = [0, 1].map(|_| rng.random_range(-0.4..0.4));
    for i in 0..across * along {
        let place = [i % across, i / across].map(f64::from);
        let count = [across, along].map(f64::from);
        let [x, z] =
            [0, 1].map(|axis| (place[axis] - 0.5 * (count[axis] - 1.0)) * 0.75 + shift[axis]);
        let mut velocity = [0.0; 3];
        if rng.random_bool(0.35) {
            let towards = (-x).signum() * rng.random_range(3.0..15.0);
            velocity = [
                towards,
                rng.random_range(-2.0..4.0),
                rng.random_range(-6.0..6.0),
            ];
        }
        let density = 10.0_f64.powf(rng.random_range(1.0..4.0));
        let _ = write!(
            text,
            "[[body]]\nname = \"{i}\"\nshape = {}\nposition = [{x:.3}, {:.3}, {z:.3}]\nvelocity = {velocity:.2?}\n\
             density = {density:.1}\nrestitution = {restitution:.2}\nfriction = {:.2}\n",
            shape(rng),
            rng.random_range(0.4..0.9),
            rng.random_range(0.0..1.0),
        );
    }
    for i in 1..across * along {
        if i % across != 0 && rng.random_bool(0.25) {
            let _ = write!(
                text,
                "[[joint]]\ntype = \"spherical\"\na = \"{}\"\nb = \"{i}\"\nanchor_a = [0.375, 0.0, 0.0]\nanchor_b = [-0.375, 0.0, 0.0]\n",
                i - 1
            );
        }
    }
    parse(&text)
}

/// By how much a step has made a body faster than anything was before it, at the most.
#[derive(Clone, Default)]
struct Amplification(Rc<Cell<f32>>);

impl Amplification {
    fn hear(&self, before: &mut Vec<f32>, region: usize, bodies: &[(BodyId, Motion)]) {
        let speeds = bodies
            .iter()
            .map(|(_, motion)| motion.linear_velocity.length());
        let fastest = speeds.fold(0.0_f32, f32::max);
        before.resize(before.len().max(region + 1), f32::INFINITY);
        // Of the whole world: a fast body that has come over is not a slow one that has become fast.
        let was = before.iter().copied().fold(SLOW, f32::max);
        before[region] = fastest;
        self.0.set(self.0.get().max(fastest / was));
    }
}

fn run(seed: u64, amplification: &Amplification) -> (Outcome, f64) {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let scene = scene_of(&mut rng);
    let promise_share = [1.0, 1.0, 0.3, 0.0][rng.random_range(0..4)];
    let options = SimOptions {
        seed: Some(seed),
        promise_share,
        frames: Some(FrameModel::Fixed(0.015)),
        aligned_steps: false,
        ..SimOptions::default()
    };
    let mut simulation =
        Simulation::new(&scene, &options).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let (amplification, mut before) = (amplification.clone(), Vec::new());
    simulation.watch(Box::new(move |_, fact| {
        if let Fact::Stepped { region, bodies, .. } = fact {
            amplification.hear(&mut before, region.0 as usize, bodies);
        }
        ControlFlow::Continue(())
    }));
    (simulation.run(|_| {}), promise_share)
}

/// I3 in every case, whatever bodies do to each other and however little they have promised.
#[test]
fn bound_holds_in_every_case() {
    let cases = std::env::var("AURAMESH_CASES").ok();
    let cases: u64 = cases.map_or(CASES, |cases| {
        cases.parse().expect("AURAMESH_CASES is a number")
    });
    let amplification = Amplification::default();
    let (mut held, mut migrations, mut longest, mut late) = (0, 0, 0, 0);
    for seed in 1..=cases {
        let (outcome, promise_share) = run(seed, &amplification);
        let errors = &outcome.errors;
        let first = outcome.first_violation.as_ref().map(ToString::to_string);
        let fine = match promise_share {
            1.0 => errors.total(),
            _ => errors.total() - errors.late_collisions,
        };
        assert_eq!(
            fine, 0,
            "seed {seed}, share {promise_share}: {errors:?} {first:?}"
        );
        late += errors.late_collisions;
        held += outcome.kept.held;
        migrations += outcome.migrations;
        if promise_share == 1.0 {
            longest = longest.max(outcome.kept.longest_ticks);
        }
    }
    println!(
        "{cases} cases: largest amplification in one step {:.2}; {migrations} migrations, {held} body ticks held, at most {longest} \
         in a row where all motion was promised; {late} late collisions where it was not",
        amplification.0.get()
    );
    assert!(held > 0 && migrations > cases / 10, "the cases are tame");
}
