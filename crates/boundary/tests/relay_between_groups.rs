//! The relay between groups that simulate one world each.

use boundary::replicate::{Correction, Relay, RelayConfig, RelayCounts};
use domain::{Body, BodyForm, BodyId, Epoch, Motion, RegionId, Shape, Tick};
use glam::{DVec3, Vec3};
use wire::replicate::{BodyState, settled};

const BALL: BodyId = BodyId(7);

fn relay_of(members: &[u32], driven_in: Option<u32>) -> Relay {
    let config = RelayConfig::new(Vec3::ZERO, 0.1);
    let mut relay = Relay::new(config, members);
    let form = BodyForm::of(Shape::Sphere { radius: 1.0 });
    let body = Body::new(BALL, form, moving(0.0, 1.0));
    relay
        .learn(Tick(0), &body, driven_in)
        .expect("a sound ball");
    relay
}

fn relay(members: &[u32]) -> Relay {
    relay_of(members, None)
}

fn moving(x: f64, speed: f32) -> Motion {
    Motion {
        linear_velocity: Vec3::X * speed,
        ..Motion::at(DVec3::X * x)
    }
}

fn said(body: BodyId, motion: Motion) -> Vec<u8> {
    let state = BodyState {
        body,
        epoch: Epoch(0),
        version: 1,
        author: RegionId(0),
        home: RegionId(0),
        frozen: false,
        motion,
        base: None,
    };
    settled([state].iter())
}

fn corrections(relay: &mut Relay, now: u64) -> Vec<Correction> {
    relay.handle_tick(Tick(now));
    std::iter::from_fn(|| relay.poll_correction()).collect()
}

/// ST-38: what only one group has seen makes them differ; both get the mean, by their sizes, flown to the tick from which on it holds.
#[test]
fn st_38_groups_that_differ_are_told_the_same() {
    let mut relay = relay(&[3, 1]);
    // In group 1 it has stopped at tick 10, at 1 m; in group 0 it flies on at 1 m/s.
    relay.handle_report(1, Tick(10), &said(BALL, moving(1.0, 0.0)));
    assert_eq!(corrections(&mut relay, 15), [], "others may still speak");
    // At tick 10 both are at 1 m; in a tenth of a second 0.1 m lie between them: below half a radius.
    assert_eq!(corrections(&mut relay, 16), []);
    relay.handle_report(1, Tick(40), &said(BALL, moving(1.0, 0.0)));
    let made = corrections(&mut relay, 46);
    assert_eq!(made.len(), 1, "4 m and 1 m");
    let Correction { before, motion, .. } = made[0];
    // (3 * 4 m + 1 m) / 4 and 0.75 m/s at tick 40; then 11 ticks of flight.
    assert_eq!(before, Tick(52));
    assert!((motion.position.x - (3.25 + 0.75 * 1.1)).abs() < 1e-5);
    assert!((motion.linear_velocity.x - 0.75).abs() < 1e-6);
    let later = relay.postponed(made[0], Tick(54));
    assert!((later.motion.position.x - motion.position.x - 0.15).abs() < 1e-5);
}

/// ST-38: below θ_inter groups are left alone.
#[test]
fn st_38_below_theta_inter_nothing_happens() {
    let mut relay = relay(&[1, 1]);
    relay.handle_report(0, Tick(10), &said(BALL, moving(1.4, 1.0)));
    assert_eq!(corrections(&mut relay, 30), []);
    relay.handle_report(0, Tick(40), &said(BALL, moving(4.6, 1.0)));
    assert_eq!(corrections(&mut relay, 60).len(), 1);
}

/// What was said of a time before a correction holds is of a world that is no more.
#[test]
fn st_51_reports_from_before_a_correction_change_nothing() {
    let mut relay = relay(&[1, 1]);
    relay.handle_report(0, Tick(10), &said(BALL, moving(9.0, 1.0)));
    assert_eq!(corrections(&mut relay, 16).len(), 1);
    relay.handle_report(1, Tick(18), &said(BALL, moving(-5.0, 1.0)));
    assert_eq!(corrections(&mut relay, 40), []);
    assert_eq!(relay.counts().stale, 1);
}

/// Bad input is counted and changes nothing.
#[test]
fn st_22_what_makes_no_sense_is_counted() {
    let mut relay = relay(&[1, 1]);
    relay.handle_report(2, Tick(10), &said(BALL, moving(9.0, 1.0)));
    relay.handle_report(0, Tick(10), &said(BodyId(8), moving(9.0, 1.0)));
    relay.handle_report(0, Tick(10), &said(BALL, moving(f64::NAN, 1.0)));
    relay.handle_report(0, Tick(10), &[1, 2, 3]);
    assert_eq!(corrections(&mut relay, 40), []);
    let expected = RelayCounts {
        foreign: 1,
        unknown: 1,
        unreadable: 2,
        ..RelayCounts::default()
    };
    assert_eq!(relay.counts(), expected);
}

/// ST-36, ST-38: a body that a user drives is as the user's own group has it, which is told nothing; the others hear it.
#[test]
fn st_36_the_users_own_group_knows_better() {
    let mut relay = relay_of(&[1, 5], Some(0));
    relay.handle_report(0, Tick(10), &said(BALL, moving(3.0, 2.0)));
    let made = corrections(&mut relay, 16);
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].except, Some(0));
    assert!((made[0].motion.position.x - (3.0 + 0.2 * 11.0)).abs() < 1e-5);
    // What it says meanwhile counts; the others' reports of before do not.
    relay.handle_report(0, Tick(18), &said(BALL, moving(9.0, 2.0)));
    relay.handle_report(1, Tick(18), &said(BALL, moving(1.8, 1.0)));
    assert_eq!(relay.counts().stale, 1);
    assert_eq!(corrections(&mut relay, 30).len(), 1);
}
