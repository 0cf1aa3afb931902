//! A remote aura calls and never pushes (digest 2.4).

use crate::common::{Setting, Stage, ball, crate_, ground};
use domain::BodyId;
use glam::Vec3;

/// A heap of crates that falls apart in the interior of region 0.
fn heap(stage: &mut Stage) {
    for i in 0..12 {
        let mut body = crate_(
            10 + i,
            [-15.0 + 0.4 * (i % 3) as f64, 0.3 * (i / 3) as f64],
            [0.0, 0.0],
        );
        body.motion.position.y = 1.0 + 0.9 * i as f64;
        stage.place(0, &body);
    }
}

fn with_ground() -> Stage {
    let mut setting = Setting::columns(2);
    setting.gravity = Vec3::new(0.0, -9.81, 0.0);
    setting.statics = vec![ground()];
    setting.stage()
}

/// AP-10: a region that holds remote auras computes, bit by bit, what it computes without.
#[test]
fn a_remote_aura_changes_no_bit() {
    let mut alone = with_ground();
    heap(&mut alone);
    let mut visited = with_ground();
    heap(&mut visited);
    for i in 0..5 {
        visited.place(1, &ball(30 + i, [0.6, -8.0 + 4.0 * i as f64], [0.0, 0.0]));
    }
    for tick in 0..240 {
        alone.tick();
        visited.tick();
        let (one, other) = (alone.region(0).world(), visited.region(0).world());
        assert_eq!(one.state_hash(), other.state_hash(), "tick {tick}");
    }
    assert_eq!(visited.region(0).boundary().remote_auras().count(), 5);
    assert_eq!(alone.region(0).boundary().remote_auras().count(), 0);
}

/// AP-10: not even a body that flies right through an aura is touched by it. (It may do so where the tie-break lets it stay and the other
/// one is slow to come: here words take far longer than the tolerance.)
#[test]
fn a_body_inside_an_aura_flies_straight_on() {
    let path = |with_other: bool| {
        let mut setting = Setting::columns(2);
        setting.delay_ticks = 12;
        let mut stage = setting.stage();
        stage.place(0, &ball(1, [-0.6, 0.0], [0.0, 2.0]));
        if with_other {
            let mut other = ball(2, [0.6, 1.0], [0.0, 0.0]);
            other.motion.position.y = 2.2;
            stage.place(1, &other);
        }
        let mut inside = 0;
        let mut path = Vec::new();
        for _ in 0..60 {
            stage.tick();
            let region = stage.region(0);
            let at = region
                .world()
                .motion(BodyId(1))
                .expect("the longer-known one stays");
            let auras = region.boundary().remote_auras();
            inside += auras
                .filter(|(_, aura)| aura.centre.distance(at.position) < 2.2)
                .count();
            path.push((at.position, at.linear_velocity));
        }
        (path, inside)
    };
    let ((alone, never), (visited, inside)) = (path(false), path(true));
    assert_eq!(never, 0);
    assert!(inside > 5, "it was inside the aura for {inside} ticks");
    assert_eq!(alone, visited);
}
