//! Two groups that simulate one world each under the policy `replicate`, and the relay between them.

use boundary::Policy;
use boundary::replicate::MemberMode;
use domain::{Body, BodyForm, BodyId, Material, Motion, Shape};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use scenes::{Action, Command, Scene};
use simulator::SimOptions;
use simulator::network::NetworkConditions;
use simulator::replicate::{RelayOptions, Relayed, ReplicateOptions};

const DELAY_SECS: f64 = 0.05;
const RADIUS: f32 = 0.5;
const TICKS: u64 = 600;

const BALLS: u64 = 60;

/// Balls in a box, close enough that a small difference grows with every hit, and a user who pushes one of them about.
fn balls(heard_later_secs: f64) -> Scene {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let mut random =
        |reach: f64| -> [f64; 3] { std::array::from_fn(|_| rng.random_range(-reach..reach)) };
    let material = Material {
        restitution: 1.0,
        friction: 0.0,
        ..Material::default()
    };
    let form = BodyForm {
        material,
        ..BodyForm::of(Shape::Sphere { radius: RADIUS })
    };
    let bodies = (1..=BALLS).map(|id| {
        let motion = Motion {
            linear_velocity: DVec3::from_array(random(3.0)).as_vec3(),
            ..Motion::at(DVec3::from_array(random(4.0)))
        };
        Body::new(BodyId(id), form.clone(), motion)
    });
    let bodies = bodies.collect();
    let mut scene = Scene::closed_box("balls", 5.0, material, bodies);
    scene.seconds = TICKS as f64 / 60.0;
    for turn in 1..20 {
        let at = 0.5 * f64::from(turn) + heard_later_secs;
        let velocity = DVec3::from_array(random(5.0)).as_vec3();
        scene.commands.push(Command {
            at,
            body: BodyId(1),
            action: Action::Velocity(velocity),
        });
    }
    scene
}

fn group(members: usize, mode: MemberMode, scene: Scene) -> (Scene, SimOptions) {
    let options = SimOptions {
        policy: Policy::Replicate,
        servers: Some(members),
        network: NetworkConditions::data_centre(),
        replicate: ReplicateOptions {
            mode,
            ..ReplicateOptions::default()
        },
        ..SimOptions::default()
    };
    (scene, options)
}

fn relayed(sizes: [usize; 2], mode: MemberMode, later: f64, theta_inter: Option<f32>) -> Relayed {
    let groups = [
        group(sizes[0], mode, balls(0.0)),
        group(sizes[1], mode, balls(later)),
    ];
    let options = RelayOptions {
        theta_inter,
        delay_secs: DELAY_SECS,
    };
    Relayed::new(&groups, options).expect("a sound scene")
}

/// The mean distance over the second half of the run.
fn mean_apart(run: &mut Relayed) -> f64 {
    let mut sum = 0.0;
    let mut samples = 0.0;
    for tick in (TICKS / 2..=TICKS).step_by(10) {
        run.run_until(tick);
        let apart = run.apart(f64::from(RADIUS));
        assert_eq!(apart.bodies, BALLS, "every body is in both groups");
        sum += apart.mean_m;
        samples += 1.0;
    }
    sum / samples
}

/// ST-38: the leaders' own reports drive the relay, over lines with a delay. Without it groups of which one hears its users later drift apart; with it
/// they stay within about what θ_inter and the way to the relay allow. A group of one reports like any other.
#[test]
fn st_38_the_relay_keeps_groups_together() {
    for sizes in [[4, 3], [2, 1]] {
        let free = mean_apart(&mut relayed(sizes, MemberMode::Synchronised, 0.1, None));
        let mut run = relayed(sizes, MemberMode::Synchronised, 0.1, Some(0.5));
        let held = mean_apart(&mut run);
        let counts = run.counts();
        println!("{sizes:?}: {free:.3} m free, {held:.3} m held, {counts:?}");
        assert!(free > 0.5, "there is something to correct: {free}");
        assert!(held < 0.3 * free, "{held} of {free}");
        assert!(counts.corrections > 0 && counts.states > 0);
        assert_eq!(
            (counts.unreadable, counts.foreign, counts.unknown),
            (0, 0, 0)
        );
    }
}

/// Groups that hear the same at the same time compute the same: nothing is corrected, and the relay changes nothing.
#[test]
fn st_38_the_relay_leaves_equal_groups_alone() {
    let mut run = relayed([1, 1], MemberMode::Synchronised, 0.0, Some(0.5));
    run.run_until(TICKS);
    assert!(run.counts().states > 0, "leaders have reported");
    assert_eq!(run.counts().corrections, 0);
    assert_eq!(run.apart(0.0).max_m, 0.0);
}

/// A correction reaches all members of a group before the same tick: members that wait for each other still test every pair exactly once and have equal
/// copies, bit by bit, as long as corrections are small (a tenth of a body's extents). One that carries a body over a border into the part of a member that has no copy is heard of there a tick later.
#[test]
fn st_38_corrections_keep_copies_equal() {
    let mut run = relayed([4, 3], MemberMode::Synchronised, 0.1, Some(0.1));
    run.run_until(TICKS);
    assert!(run.counts().corrections > 10, "{:?}", run.counts());
    for outcome in run.finish() {
        assert!(outcome.is_clean(), "{outcome:#?}");
        let report = outcome.replicate.expect("the policy reports");
        assert!(report.pairs.could_touch > 100 && report.consistency.copies > 100);
        assert_eq!(report.consistency.different, 0);
    }
}

/// Same seed, same bits.
#[test]
fn i7_relayed_groups_are_reproducible() {
    let end = |mode| {
        let mut run = relayed([3, 2], mode, 0.1, Some(0.3));
        run.run_until(TICKS);
        (run.apart(0.2), run.counts(), run.bytes())
    };
    for mode in [MemberMode::Synchronised, MemberMode::Unsynchronised] {
        assert_eq!(end(mode), end(mode));
    }
}
