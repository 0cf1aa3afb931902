//! The models of motion against closed forms and numerical integration (DR-1, DR-2, DR-3).

use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use proptest::prelude::*;
use reckoning::motion::{BuiltIn, Model, Placed, extrapolate, extrapolate_by, signed_secs};
use reckoning::{DrVector, Kind, Seq};

fn any_vec(size: f64) -> impl Strategy<Value = DVec3> {
    [-size..size, -size..size, -size..size].prop_map(DVec3::from_array)
}

prop_compose! {
    fn any_vector()(
        position in any_vec(1e3),
        velocity in any_vec(50.0),
        acceleration in any_vec(10.0),
        spin in any_vec(3.0),
        turn in any_vec(2.0),
        nanos in 0..100_000_000_000_u64,
    ) -> DrVector {
        DrVector {
            entity: BodyId(1),
            seq: Seq(1),
            time: SimTime(nanos),
            kind: Kind::Linear,
            status: 0,
            position,
            velocity,
            acceleration,
            rotation: DQuat::from_scaled_axis(turn),
            spin,
        }
    }
}

fn of_kind(vector: DrVector, kind: Kind) -> DrVector {
    DrVector { kind, ..vector }
}

/// Composite Simpson of the velocity turned by the spin: an independent way to the position on a circle or helix.
fn integrate_turn(vector: &DrVector, secs: f64) -> DVec3 {
    let steps = 4_000;
    let h = secs / f64::from(steps);
    let velocity =
        |n: i32| DQuat::from_scaled_axis(vector.spin * (h * f64::from(n))) * vector.velocity;
    let inner: DVec3 = (1..steps)
        .map(|n| velocity(n) * if n % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    vector.position + (velocity(0) + inner + velocity(steps)) * (h / 3.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    // DR-1
    #[test]
    fn linear_is_p_plus_v_tau(vector in any_vector(), later in 0..100_000_000_000_u64) {
        let at = SimTime(later);
        let secs = (later as f64 - vector.time.0 as f64) * 1e-9;
        let placed = extrapolate(&vector, at);
        prop_assert!(placed.position.distance(vector.position + vector.velocity * secs) < 1e-9);
        prop_assert_eq!(placed.velocity, vector.velocity);
    }

    // DR-1 in the plane: no component of its own appears on the third axis.
    #[test]
    fn linear_in_the_plane_stays_in_it(vector in any_vector(), secs in -10.0..10.0) {
        let mut flat = vector;
        flat.position.y = 0.0;
        flat.velocity.y = 0.0;
        let placed = extrapolate_by(&flat, secs);
        prop_assert_eq!(placed.position.y, 0.0);
        prop_assert!((placed.position.x - (flat.position.x + flat.velocity.x * secs)).abs() < 1e-9);
    }

    // DR-2
    #[test]
    fn circular_agrees_with_integration(vector in any_vector(), secs in -2.0..2.0) {
        let vector = of_kind(vector, Kind::Circular);
        let placed = extrapolate_by(&vector, secs);
        prop_assert!(placed.position.distance(integrate_turn(&vector, secs)) < 1e-9);
        let turned = DQuat::from_scaled_axis(vector.spin * secs) * vector.velocity;
        prop_assert!(placed.velocity.distance(turned) < 1e-9);
    }

    // DR-2: the thesis's own formula (§2.1), forwards and reversing, both turn directions. Its y is our -z.
    #[test]
    fn circular_in_the_plane_is_the_formula_of_the_thesis(
        heading in -3.1..3.1_f64,
        speed in -25.0..25.0_f64,
        left in any::<bool>(),
        rate in 0.01..2.0_f64,
        secs in 0.0..5.0_f64,
    ) {
        let rate = if left { rate } else { -rate };
        let forward = DVec3::new(heading.cos(), 0.0, -heading.sin());
        let vector = DrVector {
            kind: Kind::Circular,
            position: DVec3::new(3.0, 0.0, -4.0),
            velocity: forward * speed,
            spin: DVec3::Y * rate,
            rotation: DQuat::from_rotation_y(heading),
            ..DR
        };
        let placed = extrapolate_by(&vector, secs);
        let radius = speed / rate;
        let (start, end) = (heading - std::f64::consts::FRAC_PI_2, heading - std::f64::consts::FRAC_PI_2 + rate * secs);
        let x = 3.0 + radius * (end.cos() - start.cos());
        let y = 4.0 + radius * (end.sin() - start.sin());
        // The thesis's form loses digits as the radius grows; ours is the more precise one.
        prop_assert!((placed.position.x - x).abs() < 1e-9 && (-placed.position.z - y).abs() < 1e-9);
        let azimuth = DQuat::from_rotation_y(heading + rate * secs);
        prop_assert!(placed.rotation.angle_between(azimuth) < 1e-7);
    }

    // DR-2: as the spin vanishes the circle becomes the straight line, without a step on the way.
    #[test]
    fn circular_runs_into_linear(vector in any_vector(), secs in -5.0..5.0, exponent in -300.0..-11.0_f64) {
        let slow = DrVector { spin: vector.spin * 10.0_f64.powf(exponent), ..vector };
        let curved = extrapolate_by(&of_kind(slow, Kind::Circular), secs);
        let straight = extrapolate_by(&of_kind(slow, Kind::Linear), secs);
        prop_assert!(curved.position.distance(straight.position) < 1e-7);
        let still = DrVector { spin: DVec3::ZERO, ..vector };
        prop_assert_eq!(
            extrapolate_by(&of_kind(still, Kind::Circular), secs).velocity,
            vector.velocity
        );
    }

    // DR-3
    #[test]
    fn ballistic_is_the_closed_form(vector in any_vector(), secs in -10.0..10.0) {
        let placed = extrapolate_by(&of_kind(vector, Kind::Ballistic), secs);
        for axis in 0..3 {
            let (p, v, a) = (vector.position[axis], vector.velocity[axis], vector.acceleration[axis]);
            prop_assert!((placed.position[axis] - (p + v * secs + a * secs * secs / 2.0)).abs() < 1e-9);
            prop_assert!((placed.velocity[axis] - (v + a * secs)).abs() < 1e-9);
        }
    }

    #[test]
    fn orientation_turns_with_the_spin(vector in any_vector(), secs in -2.0..2.0) {
        for kind in [Kind::Linear, Kind::Circular, Kind::Ballistic] {
            let placed = extrapolate_by(&of_kind(vector, kind), secs);
            // Many small turns, one after the other, against one large one.
            let small = DQuat::from_scaled_axis(vector.spin * (secs / 64.0));
            let expected = (0..64).fold(vector.rotation, |turned, _| small * turned);
            prop_assert!((placed.rotation * DVec3::X).distance(expected * DVec3::X) < 1e-9);
            prop_assert!((placed.rotation * DVec3::Y).distance(expected * DVec3::Y) < 1e-9);
            prop_assert!((placed.rotation.length() - 1.0).abs() < 1e-12);
        }
    }

    /// A curve followed to some time and back again ends where it began: earlier times are extrapolated backwards.
    #[test]
    fn backwards_undoes_forwards(vector in any_vector(), secs in -2.0..2.0) {
        for kind in [Kind::AtRest, Kind::Linear, Kind::Circular, Kind::Ballistic] {
            let vector = of_kind(vector, kind);
            let there = extrapolate_by(&vector, secs);
            let moved = DrVector {
                position: there.position,
                velocity: there.velocity,
                rotation: there.rotation,
                ..vector
            };
            let back = extrapolate_by(&moved, -secs);
            prop_assert!(back.position.distance(vector.position) < 1e-9);
            prop_assert!((back.rotation * DVec3::Z).distance(vector.rotation * DVec3::Z) < 1e-9);
        }
    }
}

const DR: DrVector = DrVector {
    entity: BodyId(1),
    seq: Seq(1),
    time: SimTime(10_000_000_000),
    kind: Kind::AtRest,
    status: 0,
    position: DVec3::new(1.0, 2.0, 3.0),
    velocity: DVec3::ZERO,
    acceleration: DVec3::ZERO,
    rotation: DQuat::IDENTITY,
    spin: DVec3::ZERO,
};

#[test]
fn at_rest_stays_whatever_else_the_vector_says() {
    let vector = DrVector {
        velocity: DVec3::ONE,
        spin: DVec3::ONE,
        ..DR
    };
    let placed = extrapolate(&vector, SimTime::from_secs(99.0));
    assert_eq!(placed.position, vector.position);
    assert_eq!(placed.rotation, vector.rotation);
    assert_eq!(placed.velocity, DVec3::ZERO);
}

#[test]
fn times_differ_with_a_sign_and_never_underflow() {
    assert_eq!(
        signed_secs(SimTime::from_secs(3.0), SimTime::from_secs(1.0)),
        -2.0
    );
    assert_eq!(
        signed_secs(SimTime::ZERO, SimTime(u64::MAX)),
        u64::MAX as f64 * 1e-9
    );
    for kind in [Kind::AtRest, Kind::Linear, Kind::Circular, Kind::Ballistic] {
        let vector = DrVector { kind, ..DR };
        let placed = extrapolate(&vector, SimTime::ZERO);
        assert_eq!(
            placed.position, DR.position,
            "{kind:?} without velocity stays"
        );
    }
}

/// A lift that goes up and down its shaft for ever: nothing the built-in curves know.
#[derive(Debug)]
struct Lift;

impl Model for Lift {
    fn extrapolate(&self, vector: &DrVector, at: SimTime) -> Placed {
        let mut placed = extrapolate(vector, at);
        placed.position.y = (placed.position.y % 4.0 - 2.0).abs();
        placed
    }
}

// DR-46: the extrapolator can be replaced, behind a trait object.
#[test]
fn an_application_may_bring_its_own_model() {
    let vector = DrVector {
        kind: Kind::Linear,
        position: DVec3::ZERO,
        velocity: DVec3::Y,
        ..DR
    };
    let models: [&dyn Model; 2] = [&BuiltIn, &Lift];
    let heights = models.map(|model| {
        model
            .extrapolate(&vector, SimTime::from_secs(13.0))
            .position
            .y
    });
    assert_eq!(heights, [3.0, 1.0]);
}
