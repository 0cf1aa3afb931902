//! When the owner generates a vector (DR-4, DR-5), and of which kind.

use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reckoning::motion::{
    Cause, DistanceRule, Driver, Model, Placed, Thresholds, Trigger, TrueState, extrapolate,
};
use reckoning::{DrVector, Kind, Seq};

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

fn thresholds() -> Thresholds {
    Thresholds {
        distance_m: 0.1,
        angle_rad: 0.05,
        ..Thresholds::default()
    }
}

fn millis(ms: f64) -> SimTime {
    SimTime::from_millis(ms)
}

fn moving() -> TrueState {
    TrueState {
        velocity: DVec3::new(10.0, 0.0, 0.0),
        ..TrueState::default()
    }
}

/// A trigger that has just exported `state` at time zero.
fn primed(state: &TrueState, thresholds: Thresholds) -> Trigger {
    let mut trigger = Trigger::new(BodyId(7), thresholds);
    let first = trigger
        .observe(SimTime::ZERO, state)
        .expect("the first state");
    assert_eq!((first.entity, first.seq), (BodyId(7), Seq(1)));
    trigger
}

fn moved(state: &TrueState, secs: f64, by: DVec3) -> TrueState {
    TrueState {
        position: state.position + state.velocity * secs + by,
        ..*state
    }
}

// DR-4: fires above the distance threshold and not at it or below.
#[test]
fn distance_from_the_predicted_place() {
    let mut trigger = primed(&moving(), thresholds());
    let near = moved(&moving(), 0.5, DVec3::new(0.0, 0.0999, 0.0));
    assert_eq!(trigger.observe(millis(500.0), &near), None);
    let far = moved(&moving(), 0.5, DVec3::new(0.0, 0.1001, 0.0));
    let vector = trigger.observe(millis(500.0), &far).expect("too far");
    assert_eq!(trigger.last_cause(), Some(Cause::Distance));
    assert_eq!(
        (vector.seq, vector.time, vector.position),
        (Seq(2), millis(500.0), far.position)
    );
}

// DR-4: a slow drift that no two successive frames betray is measured against the last generated vector (C1, C2).
#[test]
fn slow_changes_add_up() {
    let mut trigger = primed(&TrueState::default(), thresholds());
    let fired = (1..50).find(|&n| {
        let creeping = TrueState {
            position: DVec3::new(0.0, 0.0, 0.003 * f64::from(n)),
            ..TrueState::default()
        };
        trigger.observe(millis(f64::from(n)), &creeping).is_some()
    });
    assert_eq!(
        fired,
        Some(34),
        "0.102 m after 34 steps of 3 mm along one axis"
    );
}

// DR-4: along the course a change of speed counts too, except for the rule that is known to miss it (C3).
#[test]
fn the_distance_rules() {
    let faster = moved(&moving(), 0.5, DVec3::new(0.2, 0.0, 0.0));
    let diagonal = moved(&moving(), 0.5, DVec3::new(0.08, 0.08, 0.0));
    let fires = |distance_rule, state: &TrueState| {
        let limits = Thresholds {
            distance_rule,
            ..thresholds()
        };
        primed(&moving(), limits)
            .observe(millis(500.0), state)
            .is_some()
    };
    assert!(fires(DistanceRule::Euclidean, &faster) && fires(DistanceRule::AnyAxis, &faster));
    assert!(!fires(DistanceRule::FromCourse, &faster));
    assert!(fires(DistanceRule::Euclidean, &diagonal), "0.113 m");
    assert!(
        !fires(DistanceRule::AnyAxis, &diagonal),
        "0.08 m on each axis"
    );
}

// DR-4: elapsed ≥ tΔ.
#[test]
fn time_since_the_last_vector() {
    let mut trigger = primed(&moving(), thresholds());
    let at = |secs: f64| moved(&moving(), secs, DVec3::ZERO);
    assert_eq!(
        trigger.observe(SimTime(999_999_999), &at(0.999_999_999)),
        None
    );
    assert!(trigger.observe(millis(1_000.0), &at(1.0)).is_some());
    assert_eq!(trigger.last_cause(), Some(Cause::Time));
    assert_eq!(
        trigger.observe(millis(1_999.0), &at(1.999)),
        None,
        "counted from the last vector (C4)"
    );
}

// DR-4: a changed status.
#[test]
fn status() {
    let mut trigger = primed(&moving(), thresholds());
    let hit = TrueState {
        status: 3,
        ..moved(&moving(), 0.001, DVec3::ZERO)
    };
    let vector = trigger.observe(millis(1.0), &hit).expect("status changed");
    assert_eq!(
        (vector.status, trigger.last_cause()),
        (3, Some(Cause::Status))
    );
    assert_eq!(
        trigger.observe(millis(2.0), &moved(&hit, 0.001, DVec3::ZERO)),
        None
    );
}

// DR-4: orientation, extrapolated with the spin, which the thesis leaves out.
#[test]
fn angle_from_the_predicted_orientation() {
    let turning = TrueState {
        spin: DVec3::Y,
        ..TrueState::default()
    };
    let turned = |angle: f64| TrueState {
        rotation: DQuat::from_rotation_y(angle),
        ..turning
    };
    let mut trigger = primed(&turning, thresholds());
    assert_eq!(
        trigger.observe(millis(500.0), &turned(0.5)),
        None,
        "as predicted"
    );
    assert_eq!(trigger.observe(millis(500.0), &turned(0.549)), None);
    assert!(trigger.observe(millis(500.0), &turned(0.551)).is_some());
    assert_eq!(trigger.last_cause(), Some(Cause::Angle));
}

#[test]
fn a_body_in_contact_keeps_its_distance_in_time_but_news_does_not_wait() {
    let limits = Thresholds {
        min_spacing: millis(100.0),
        ..thresholds()
    };
    let pushed = TrueState {
        in_contact: true,
        position: DVec3::Y,
        ..moving()
    };
    let mut trigger = primed(&moving(), limits);
    assert_eq!(trigger.observe(millis(99.0), &pushed), None);
    assert!(trigger.observe(millis(100.0), &pushed).is_some());
    let alone = TrueState {
        in_contact: false,
        position: DVec3::ZERO,
        ..pushed
    };
    assert!(
        trigger.observe(millis(101.0), &alone).is_some(),
        "no spacing without contact"
    );
    let hit = TrueState {
        status: 1,
        ..pushed
    };
    assert!(
        trigger.observe(millis(102.0), &hit).is_some(),
        "status overrides"
    );
    let asleep = TrueState {
        resting: true,
        ..hit
    };
    let vector = trigger
        .observe(millis(103.0), &asleep)
        .expect("falling asleep overrides");
    assert_eq!(trigger.last_cause(), Some(Cause::Asleep));
    assert_eq!(
        (vector.kind, vector.velocity, vector.spin),
        (Kind::AtRest, DVec3::ZERO, DVec3::ZERO)
    );
}

#[test]
fn a_sleeper_is_repeated_rarely_and_wakes_by_moving() {
    let asleep = TrueState {
        resting: true,
        in_contact: true,
        ..TrueState::default()
    };
    let mut trigger = primed(&asleep, thresholds());
    assert_eq!(trigger.observe(millis(4_999.0), &asleep), None);
    assert!(trigger.observe(millis(5_000.0), &asleep).is_some());
    let awake = TrueState {
        resting: false,
        position: DVec3::X * 0.2,
        ..asleep
    };
    let vector = trigger.observe(millis(5_100.0), &awake).expect("it moved");
    assert_eq!(vector.kind, Kind::Linear);
}

#[test]
fn the_kind_follows_from_the_motion() {
    let flight = TrueState {
        acceleration: GRAVITY,
        spin: DVec3::new(3.0, 1.0, 20.0),
        ..moving()
    };
    assert_eq!(flight.kind(), Kind::Ballistic);
    assert_eq!(moving().kind(), Kind::Linear);
    assert_eq!(
        TrueState {
            resting: true,
            ..flight
        }
        .kind(),
        Kind::AtRest
    );
    let tank = Driver::circle().state_at(millis(700.0));
    assert_eq!(tank.kind(), Kind::Circular);
    assert_eq!(
        TrueState {
            in_contact: false,
            ..tank
        }
        .kind(),
        Kind::Circular,
        "a plane in a turn"
    );
    let reversing = Driver::steady(-12.5, 0.4).state_at(millis(700.0));
    assert_eq!(reversing.kind(), Kind::Circular);
    // A ball rolls along x: it spins about z, and its course is straight all the same.
    let ball = TrueState {
        spin: DVec3::new(0.0, 0.0, -20.0),
        in_contact: true,
        ..moving()
    };
    assert_eq!(ball.kind(), Kind::Linear);
    let falling_straight = TrueState {
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        ..flight
    };
    assert_eq!(falling_straight.kind(), Kind::Ballistic);
}

#[test]
fn steady_motion_of_each_kind_triggers_by_time_alone() {
    let dropped = |secs: f64| TrueState {
        position: moving().velocity * secs + GRAVITY * (0.5 * secs * secs),
        velocity: moving().velocity + GRAVITY * secs,
        rotation: DQuat::from_scaled_axis(DVec3::ONE * secs),
        spin: DVec3::ONE,
        acceleration: GRAVITY,
        ..TrueState::default()
    };
    let (straight, circle) = (Driver::straight(), Driver::circle());
    let motions: [(&str, &dyn Fn(SimTime) -> TrueState); 3] = [
        ("straight", &|t| straight.state_at(t)),
        ("circle", &|t| circle.state_at(t)),
        ("flight", &|t: SimTime| dropped(t.as_secs())),
    ];
    for (name, motion) in motions {
        let mut trigger = Trigger::new(BodyId(1), thresholds());
        let times = (0..500).map(|n| SimTime(n * 20_000_000));
        let count = times
            .filter(|&t| trigger.observe(t, &motion(t)).is_some())
            .count();
        assert_eq!(count, 10, "{name}: one at the start of each second");
    }
}

// DR-5: numbers rise by one, times are those of generation, whoever owns the entity.
#[test]
fn a_new_owner_goes_on_counting() {
    let mut old = primed(&moving(), thresholds());
    let hit = TrueState {
        status: 1,
        ..moving()
    };
    let last = old.observe(millis(1.0), &hit).expect("status changed");
    let mut new = Trigger::resume(last, thresholds());
    assert_eq!(
        new.observe(millis(2.0), &moved(&hit, 0.001, DVec3::ZERO)),
        None,
        "nothing new to say"
    );
    let vector = new
        .observe(millis(3.0), &moving())
        .expect("status changed back");
    assert_eq!(
        (vector.entity, vector.seq, vector.time),
        (BodyId(7), Seq(3), millis(3.0))
    );
}

#[test]
fn a_state_that_is_not_finite_is_not_exported() {
    let mut trigger = primed(&moving(), thresholds());
    let last = trigger.last().copied();
    let broken = TrueState {
        position: DVec3::NAN,
        status: 9,
        ..moving()
    };
    assert_eq!(trigger.observe(millis(10.0), &broken), None);
    assert_eq!(trigger.last().copied(), last);
}

/// Believes everything to be ten metres above.
#[derive(Debug)]
struct Lofty;

impl Model for Lofty {
    fn extrapolate(&self, vector: &DrVector, at: SimTime) -> Placed {
        let mut placed = extrapolate(vector, at);
        placed.position.y += 10.0;
        placed
    }
}

// DR-46: the trigger compares with what the application's model makes of the vector.
#[test]
fn the_model_in_use_decides() {
    let mut trigger = primed(&TrueState::default(), thresholds());
    let same = TrueState::default();
    assert!(trigger.observe_with(&Lofty, millis(1.0), &same).is_some());
    assert_eq!(trigger.observe(millis(2.0), &same), None);
}

// DR-4: between triggers the exported path is never farther from the real one than the threshold.
#[test]
fn the_exported_path_stays_within_the_threshold() {
    let duration = SimTime::from_secs(120.0);
    for (name, rate) in [("smooth", 5.0..9.0), ("stop-and-go", 1.2..2.4)] {
        let (mut triggers, seeds) = (0, 10);
        for seed in 0..seeds {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let driver = match name {
                "smooth" => Driver::smooth(&mut rng, duration),
                _ => Driver::stop_and_go(&mut rng, duration),
            };
            let mut trigger = Trigger::new(BodyId(1), Thresholds::bzflag());
            for now in (0..6_000).map(|n| SimTime(n * 20_000_000)) {
                let state = driver.state_at(now);
                triggers += u32::from(trigger.observe(now, &state).is_some());
                let believed = extrapolate(trigger.last().expect("exported"), now);
                assert!((believed.position - state.position).abs().max_element() <= 0.09);
            }
        }
        let per_second = f64::from(triggers) / (120.0 * seeds as f64);
        println!("{name}: {per_second:.2} triggers per second");
        assert!(rate.contains(&per_second), "{name}: {per_second}");
    }
}
