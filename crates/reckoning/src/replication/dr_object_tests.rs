use super::*;
use crate::Kind;
use crate::codec::{BitReader, BitWriter, Limits, read_vector, write_vector};
use glam::{DQuat, DVec3};

fn ms(millis: f64) -> SimTime {
    SimTime::from_millis(millis)
}

fn thresholds() -> Thresholds {
    Thresholds {
        distance_m: 0.1,
        time: SimTime::from_secs(1.0),
        ..Thresholds::default()
    }
}

fn moving(position: [f64; 3], velocity: [f64; 3]) -> TrueState {
    TrueState {
        position: DVec3::from_array(position),
        velocity: DVec3::from_array(velocity),
        ..TrueState::default()
    }
}

/// Feeds a path at 50 Hz; returns when vectors were generated.
fn triggers(object: &mut DrObject, secs: f64, path: impl Fn(f64) -> TrueState) -> Vec<f64> {
    let loops = (secs * 50.0) as u32;
    (0..loops)
        .map(|i| f64::from(i) / 50.0)
        .filter(|t| {
            let vector = object.observe(SimTime::from_secs(*t), &path(*t));
            vector.expect("a sane state").is_some()
        })
        .collect()
}

fn object() -> DrObject {
    DrObject::owned(BodyId(1), thresholds())
}

// C1: the thesis's `x != && y !=` took motion along an axis for rest.
#[test]
fn c1_motion_along_one_axis_is_motion() {
    for axis in 0..3 {
        let mut object = object();
        let mut velocity = [0.0; 3];
        velocity[axis] = 10.0;
        let generated = triggers(&mut object, 0.5, |_| moving([0.0; 3], velocity));
        // It claims to move and does not: after 0.1 m the claim is noticed.
        assert!(generated.len() > 10, "axis {axis}: {generated:?}");
        assert_eq!(object.vector().map(|v| v.kind), Some(Kind::Linear));
    }
}

// C2: compared with the previous frame a slow turn never triggers.
#[test]
fn c2_a_slow_turn_is_noticed_although_no_frame_differs_much_from_the_last() {
    let mut object = object();
    let path = |t: f64| {
        let angle = 0.02 * t;
        let velocity = [10.0 * angle.cos(), 0.0, 10.0 * angle.sin()];
        moving(
            [500.0 * angle.sin(), 0.0, 500.0 * (1.0 - angle.cos())],
            velocity,
        )
    };
    let generated = triggers(&mut object, 10.0, path);
    let placed_error = |t: f64| {
        let believed = object.place(SimTime::from_secs(t)).expect("moves").position;
        believed.distance(path(t).position)
    };
    assert!(generated.len() >= 10, "{generated:?}");
    assert!(placed_error(9.98) < 0.11);
}

// C3: the distance from the line misses a change of speed along it.
#[test]
fn c3_a_change_of_speed_along_the_course_is_noticed() {
    let mut object = object();
    let path = |t: f64| {
        // Brakes from 10 m/s to a stand at t = 0.5 s, straight ahead.
        let s = if t < 0.5 { 10.0 * t } else { 5.0 };
        moving([s, 0.0, 0.0], [if t < 0.5 { 10.0 } else { 0.0 }, 0.0, 0.0])
    };
    let generated = triggers(&mut object, 0.9, path);
    assert_eq!(
        generated,
        [0.0, 0.52],
        "one frame after braking it is 0.2 m off"
    );
}

// C4: `lastSendTime` was set by time triggers only.
#[test]
fn c4_every_trigger_puts_off_the_next_time_trigger() {
    let mut object = object();
    let path = |t: f64| {
        let jumped = if t >= 0.5 { 5.0 } else { 0.0 };
        moving([jumped, 0.0, 0.0], [0.0; 3])
    };
    let generated = triggers(&mut object, 2.0, path);
    assert_eq!(generated, [0.0, 0.5, 1.5], "1 s after the jump, not at 1.0");
}

// C5: thresholds are set and read, the time of generation is used, spin is part of the state.
#[test]
fn c5_thresholds_hold_and_spin_and_time_are_exported() {
    let mut object = object();
    let finer = Thresholds {
        distance_m: 0.01,
        ..thresholds()
    };
    object.set_thresholds(finer).unwrap();
    assert_eq!(object.thresholds(), Some(&finer));
    let state = TrueState {
        spin: DVec3::new(0.0, 2.0, 0.0),
        ..moving([1.0, 2.0, 3.0], [1.0, 0.0, 0.0])
    };
    let vector = object
        .observe(ms(40.0), &state)
        .unwrap()
        .expect("the first");
    assert_eq!(vector.time, ms(40.0));
    assert_eq!(vector.spin, state.spin);
    let mut ghost = DrObject::ghost(BodyId(1));
    ghost.receive(ms(100.0), &vector, None).unwrap();
    let placed = ghost.place(ms(540.0)).expect("received");
    let turned = placed.rotation.angle_between(DQuat::IDENTITY);
    assert!((turned - 1.0).abs() < 1e-3, "2 rad/s for 0.5 s: {turned}");
}

// C6: a late vector is still right, since it says when it was true.
#[test]
fn c6_a_vector_that_was_lost_and_sent_again_is_as_right_as_one_in_time() {
    let mut owner = object();
    let vector = owner.observe(ms(0.0), &moving([0.0; 3], [10.0, 0.0, 0.0]));
    let vector = vector.unwrap().expect("the first");
    let mut ghost = DrObject::ghost(BodyId(1));
    ghost.receive(ms(900.0), &vector, None).unwrap();
    let x = ghost.place(ms(900.0)).expect("received").position.x;
    assert!((x - 9.0).abs() < 1e-9, "{x}");
    // The thesis's way: projected by the usual delay of 50 ms, it would be 8.5 m behind for ever.
    let mut projected = DrObject::ghost(BodyId(1));
    projected
        .receive(ms(900.0), &vector, Some(ms(50.0)))
        .unwrap();
    let x = projected.place(ms(900.0)).expect("received").position.x;
    assert!((x - 0.5).abs() < 1e-9, "{x}");
}

// C7: without a time stamp a server must move the vector on to the moment it packs it.
#[test]
fn c7_without_time_stamps_waiting_in_the_server_costs_nothing() {
    let mut owner = object();
    let vector = owner.observe(ms(0.0), &moving([0.0; 3], [10.0, 0.0, 0.0]));
    let vector = vector.unwrap().expect("the first");
    let mut server = DrObject::ghost(BodyId(1));
    server.receive(ms(40.0), &vector, Some(ms(40.0))).unwrap();
    // It waits for 300 ms in the server, then takes 60 ms to the client.
    let packed = server.vector_to_send(ms(340.0), Timing::OneWayDelay);
    let mut client = DrObject::ghost(BodyId(1));
    let delay = Some(ms(60.0));
    client
        .receive(ms(400.0), &packed.expect("known"), delay)
        .unwrap();
    let x = client.place(ms(500.0)).expect("received").position.x;
    assert!((x - 5.0).abs() < 1e-3, "DR-12: {x}");
}

// C8: adding up per frame drifts; a place depends on the vector and the time only.
#[test]
fn c8_the_frame_rate_makes_no_difference() {
    let mut owner = object();
    let state = TrueState {
        spin: DVec3::new(0.0, 0.7, 0.0),
        acceleration: DVec3::new(0.0, 0.7, 0.0).cross(DVec3::new(7.0, 0.0, 0.0)),
        ..moving([0.0; 3], [7.0, 0.0, 0.0])
    };
    let vector = owner.observe(ms(0.0), &state).unwrap().expect("the first");
    let mut ghost = DrObject::ghost(BodyId(1));
    ghost.receive(ms(10.0), &vector, None).unwrap();
    let at_once = ghost.place(ms(5_000.0));
    for frame in 0..720 {
        ghost.place(ms(f64::from(frame) * 1000.0 / 144.0));
    }
    assert_eq!(ghost.place(ms(5_000.0)), at_once);
}

// DR-46: owner and receiver believe the same, bit for bit.
#[test]
fn dr_46_what_the_owner_exports_is_exactly_what_others_read() {
    let mut owner = object();
    let state = TrueState {
        rotation: DQuat::from_rotation_y(0.3) * DQuat::from_rotation_x(1.1),
        ..moving([0.123_456, -7.7, 1e5 + 0.3], [3.3, -0.01, 0.2])
    };
    let vector = owner.observe(ms(17.0), &state).unwrap().expect("the first");
    let mut out = BitWriter::new();
    write_vector(&mut out, &vector, SimTime::ZERO, true).unwrap();
    let bytes = out.into_bytes();
    let read = read_vector(
        &mut BitReader::new(&bytes),
        SimTime::ZERO,
        &Limits::ANY_TIME,
    );
    assert_eq!(read, Ok(vector));
    assert_eq!(owner.vector(), Some(&vector));
}

/// A weight that hangs on a spring and swings about height 0.
#[derive(Debug)]
struct Spring;

impl Model for Spring {
    fn extrapolate(&self, vector: &DrVector, at: SimTime) -> Placed {
        let secs = crate::motion::signed_secs(vector.time, at);
        let (sin, cos) = secs.sin_cos();
        Placed {
            position: vector.position * cos + vector.velocity * sin,
            rotation: vector.rotation,
            velocity: vector.velocity * cos - vector.position * sin,
        }
    }
}

#[test]
fn dr_46_the_extrapolator_can_be_replaced() {
    let path = |t: f64| moving([0.0, t.sin(), 0.0], [0.0, t.cos(), 0.0]);
    let mut plain = object();
    let mut spring = object().with_model(Arc::new(Spring));
    let plain = triggers(&mut plain, 3.0, path).len();
    let spring_triggers = triggers(&mut spring, 3.0, path).len();
    assert_eq!(
        (spring_triggers, plain),
        (3, 6),
        "by time only; by distance too"
    );
    let mut ghost = DrObject::ghost(BodyId(1)).with_model(Arc::new(Spring));
    let vector = *spring.vector().expect("exported");
    ghost.receive(ms(2_990.0), &vector, None).unwrap();
    assert_eq!(ghost.place(ms(4_000.0)), spring.place(ms(4_000.0)));
}

#[test]
fn absurd_states_are_refused_and_leave_the_object_as_it_was() {
    let mut object = object();
    object
        .observe(ms(0.0), &moving([0.0; 3], [0.0; 3]))
        .unwrap();
    let before = *object.vector().expect("the first");
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let refused = object.observe(ms(20.0), &moving([bad, 0.0, 0.0], [0.0; 3]));
        assert!(matches!(refused, Err(ObjectError::Unsendable(_))), "{bad}");
        assert_eq!(object.vector(), Some(&before));
    }
}

#[test]
fn each_side_refuses_what_is_the_others() {
    let mut ghost = DrObject::ghost(BodyId(1));
    let observed = ghost.observe(ms(0.0), &TrueState::default());
    assert_eq!(observed, Err(ObjectError::NotOwned(BodyId(1))));
    assert!(ghost.set_thresholds(thresholds()).is_err());
    let mut owner = object();
    let vector = owner.observe(ms(0.0), &TrueState::default()).unwrap();
    let vector = vector.expect("the first");
    assert!(owner.receive(ms(1.0), &vector, None).is_err());
}

// DR-47: 31 bits for the application, bit 0 is not one of them.
#[test]
fn dr_47_application_state_has_bits_1_to_31() {
    let mut object = object();
    for bit in 1..32 {
        assert_eq!(object.set_state(bit, vec![bit]), Ok(StateBits(1 << bit)));
        assert_eq!(
            object.set_state(bit, vec![bit]),
            Ok(StateBits::NONE),
            "the same"
        );
    }
    assert_eq!(object.bits(), StateBits(u32::MAX - 1), "no vector yet");
    assert_eq!(object.set_state(0, vec![1]), Err(ObjectError::BadBit(0)));
    assert_eq!(object.set_state(32, vec![1]), Err(ObjectError::BadBit(32)));
    let large = vec![0; MAX_STATE_BYTES + 1];
    let refused = object.set_state(1, large);
    assert_eq!(refused, Err(ObjectError::TooLarge(MAX_STATE_BYTES + 1)));
    assert_eq!(object.state(1), Some(&[1_u8][..]));
}
