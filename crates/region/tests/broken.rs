//! Bodies that the engine cannot compute or build: they are taken out and reported, and nobody else suffers.

use crate::common::{Line, Setting, Stage, ball, envelope};
use domain::{
    Body, BodyId, Cluster, Epoch, Layout, Rect, RegionId, RegionMap, Shape, SimTime, Tick,
};
use glam::{DVec3, Vec3};
use region::{Region, RegionEvent, RegionSnapshot, TickRecord};
use wire::{HandoverCause, HandoverNumber, Member, Message, Offer, Unborn};

/// The end of all coordinates, metres.
const END_OF_THE_WORLD: f64 = 1e9;

/// Two columns that meet at x = 0, so far away that a body can leave the world along z.
fn at_the_end_of_the_world() -> Setting {
    let extent = Rect {
        min: [-30.0, END_OF_THE_WORLD - 30.0],
        max: [30.0, END_OF_THE_WORLD + 30.0],
    };
    let map = RegionMap::build(Layout::Columns, 2, extent).expect("a map");
    Setting {
        snapshot_ticks: Some(10),
        ..Setting::of(map)
    }
}

/// The engine overflows in its first step where gravity is as strong as in [`heavy`]: an absurd weight.
fn doomed(id: u64, at: [f64; 2]) -> Body {
    let mut body = ball(id, at, [0.0, 0.0]);
    body.form.gravity_scale = f32::MAX;
    body
}

fn heavy() -> Setting {
    Setting {
        gravity: Vec3::new(0.0, -1000.0, 0.0),
        statics: vec![crate::common::ground()],
        snapshot_ticks: Some(10),
        ..Setting::columns(2)
    }
}

fn broken(lines: &[Line]) -> Vec<(u32, u64)> {
    let broken = lines.iter().filter_map(|line| match line {
        Line::Happened {
            region,
            event: RegionEvent::Broken { body, .. },
        } => Some((region.0, body.0)),
        _ => None,
    });
    broken.collect()
}

fn not_born(lines: &[Line]) -> Vec<u64> {
    let unborn = lines.iter().filter_map(|line| match line {
        Line::Happened {
            event: RegionEvent::NotBorn { body, .. },
            ..
        } => Some(body.0),
        _ => None,
    });
    unborn.collect()
}

fn holds_aura(stage: &Stage, region: u32, body: u64) -> bool {
    let mut auras = stage.region(region).boundary().remote_auras();
    auras.any(|(id, _)| id == BodyId(body))
}

/// One that leaves the world while its neighbours know of it: they hear that it is over, and of the others they hear on. (The stage reads every envelope as its receiver
/// would: one bad number in it, and it panics.)
#[test]
fn a_body_beyond_all_coordinates_is_taken_out_and_its_aura_with_it() {
    let mut stage = at_the_end_of_the_world().stage();
    let z = END_OF_THE_WORLD - 1.5;
    stage.place(0, &ball(1, [-1.0, z], [0.0, 3.0]));
    stage.place(0, &ball(2, [-1.0, z - 10.0], [0.0, 0.5]));
    stage.run(20);
    assert!(holds_aura(&stage, 1, 1) && holds_aura(&stage, 1, 2));
    let lines = stage.run(30);
    assert_eq!(broken(&lines), [(0, 1)]);
    let ends: Vec<BodyId> = lines
        .iter()
        .filter_map(|line| line.delete().map(|(_, _, delete)| delete.body))
        .collect();
    assert_eq!(ends, [BodyId(1)]);
    assert!(!holds_aura(&stage, 1, 1) && holds_aura(&stage, 1, 2));
    assert_eq!((stage.owner(1), stage.owner(2)), (None, Some(0)));
    let told = stage.run(20);
    let told = told.iter().filter_map(Line::upsert);
    assert!(told.count() > 0, "neighbours hear of the other one");
}

/// Whatever broke, the snapshots taken since can be restored, with all the others in them.
#[test]
fn a_region_comes_back_after_a_body_broke() {
    let mut stage = heavy().stage();
    stage.place(0, &ball(1, [-3.0, 0.0], [0.0, 0.0]));
    stage.place(0, &ball(2, [-9.0, 0.0], [0.0, 0.0]));
    stage.run(15);
    stage.place(0, &doomed(3, [-6.0, 0.0]));
    stage.place(0, &doomed(4, [-1.0, 5.0]));
    let lines = stage.run(16);
    assert_eq!(broken(&lines), [(0, 3), (0, 4)]);
    stage.crash(0);
    stage.run(2);
    stage.restart(0);
    let lines = stage.run(30);
    assert_eq!(broken(&lines), []);
    let owned: Vec<BodyId> = stage.region(0).world().ids().collect();
    assert_eq!(owned, [1, 2].map(BodyId));
}

/// What watchers are told adds up: it was there before the step, and not after it.
#[test]
fn a_broken_body_is_gone_before_the_step_that_broke_it() {
    let setting = heavy();
    let mut region = Region::new(setting.region(RegionId(0))).expect("a region");
    region.place(&doomed(1, [-6.0, 0.0])).expect("sound so far");
    region
        .place(&ball(2, [-9.0, 0.0], [0.0, 0.0]))
        .expect("sound");
    region.handle_tick(SimTime::ZERO, Tick(1));
    let record = TickRecord::of(&mut region);
    let expected = RegionEvent::Broken {
        tick: Tick(0),
        body: BodyId(1),
        epoch: Epoch(0),
        why: String::new(),
    };
    let events: Vec<RegionEvent> = record.before_step.into_iter().map(without_why).collect();
    assert_eq!(events, [expected]);
    let stepped: Vec<BodyId> = record.bodies.iter().flatten().map(|(id, _)| *id).collect();
    assert_eq!(stepped, [BodyId(2)]);
}

fn without_why(mut event: RegionEvent) -> RegionEvent {
    if let RegionEvent::Broken { why, .. } = &mut event {
        assert!(!why.is_empty());
        why.clear();
    }
    event
}

fn offer(bodies: Vec<Body>, unborn: Vec<Body>) -> Message {
    let unborn = unborn.into_iter().map(|body| Unborn {
        body,
        since: Tick::ZERO,
        epoch: Epoch(1),
    });
    Message::Offer(Box::new(Offer {
        handover: HandoverNumber(1),
        tick: Tick::ZERO,
        cause: HandoverCause::BoundaryTraversal,
        members: bodies
            .iter()
            .map(|_| Member {
                epoch: Epoch(1),
                projecting_since: None,
                rank: None,
            })
            .collect(),
        cluster: Cluster {
            bodies,
            ..Cluster::default()
        },
        unborn: unborn.collect(),
        told: Vec::new(),
        bonds: Vec::new(),
    }))
}

/// Handed over in good order, broken while it is caught up: the rest of its cluster enters.
#[test]
fn a_body_that_breaks_on_its_way_does_not_take_the_others_with_it() {
    let mut stage = heavy().stage();
    stage.run(3);
    let cluster = vec![doomed(1, [5.0, 0.0]), ball(2, [9.0, 0.0], [0.0, 0.0])];
    let said = envelope(0, 1, offer(cluster, Vec::new()));
    stage.region_mut(1).handle_message(SimTime::ZERO, said);
    let lines = stage.run(3);
    assert_eq!(broken(&lines), [(1, 1)]);
    let arrived = lines.iter().find_map(|line| match line {
        Line::Happened {
            event: RegionEvent::Arrived { members, .. },
            ..
        } => Some(members.len()),
        _ => None,
    });
    assert_eq!(arrived, Some(2), "it came, and then it broke");
    assert_eq!((stage.owner(1), stage.owner(2)), (None, Some(1)));
    assert!(stage.region(1).boundary().track(BodyId(1)).is_none());
}

/// Its sender's engine had it; ours makes nothing of it. It is lost, but the server is not, nor is its heir, to whom it would be offered again.
#[test]
fn a_handed_over_hull_that_cannot_be_built_is_not_the_end() {
    for late in [0, 3] {
        let mut stage = heavy().stage();
        stage.run(late);
        let cluster = vec![impossible(1, [15.0, 0.0]), ball(2, [9.0, 0.0], [0.0, 0.0])];
        let said = envelope(0, 1, offer(cluster, Vec::new()));
        stage.region_mut(1).handle_message(SimTime::ZERO, said);
        assert_eq!(broken(&stage.run(3)), [(1, 1)]);
        assert_eq!((stage.owner(1), stage.owner(2)), (None, Some(1)));
    }
}

/// A snapshot with a body in it that no engine takes: as it is, it is refused; mended, everyone else comes back.
#[test]
fn a_mended_snapshot_lacks_only_what_was_wrong_with_it() {
    let setting = heavy();
    let mut stage = setting.clone().stage();
    for id in 1..=4 {
        stage.place(0, &ball(id, [-3.0 * id as f64, 0.0], [0.0, 0.0]));
    }
    stage.run(30);
    let mut snapshot = stage.region_mut(0).make_snapshot();
    snapshot.bodies.bodies[2].motion.angular_velocity = Vec3::NAN;
    let bytes = snapshot.to_bytes();
    let read = || RegionSnapshot::from_bytes(&bytes).expect("it can be read");
    let config = setting.region(RegionId(0));
    assert!(Region::restore(config.clone(), read(), 1).is_err());
    let mut mended = read();
    let out: Vec<BodyId> = mended.mend().into_iter().map(|(body, _)| body).collect();
    assert_eq!(out, [BodyId(3)]);
    let region = Region::restore(config, mended, 1).expect("mended");
    assert!(region.world().ids().eq([1, 2, 4].map(BodyId)));
    assert!(region.boundary().track(BodyId(3)).is_none());
}

/// Sound numbers, of which the engine's builder makes no hull.
const NO_HULL: [[f32; 3]; 11] = [
    [3e-5, 10.00003, 3e-5],
    [-3e-5, -9.99997, -1e-5],
    [2e-5, -7.33337, -0.66666],
    [3e-5, 9.99996, -4e-5],
    [0.6667, -4.33332, -0.33332],
    [4e-5, -10.00004, -3e-5],
    [3e-5, 10.00001, 4e-5],
    [-1e-5, -9.99996, 4e-5],
    [0.0, 10.00002, -5e-5],
    [0.33332, 9.33333, -0.33334],
    [4e-5, -9.99999, 0.0],
];

fn impossible(id: u64, at: [f64; 2]) -> Body {
    let mut body = ball(id, at, [0.0, 0.0]);
    body.form.shape = Shape::Convex {
        points: NO_HULL.map(Vec3::from_array).to_vec().into(),
    };
    body
}

/// Near a border a spawn is announced and born later, when nobody waits for an answer any more: what cannot be is refused at once.
#[test]
fn a_hull_that_cannot_be_built_is_refused_when_it_is_ordered() {
    let mut stage = Setting::columns(2).stage();
    for x in [-1.0, -20.0] {
        let refused = stage.region_mut(0).spawn(&impossible(1, [x, 0.0]));
        assert!(refused.is_err(), "at {x}");
    }
    stage
        .region_mut(0)
        .spawn_or_report(&impossible(2, [-1.0, 0.0]));
    let unborn = envelope(0, 1, offer(Vec::new(), vec![impossible(3, [1.0, 0.0])]));
    stage.region_mut(1).handle_message(SimTime::ZERO, unborn);
    let lines = stage.run(100);
    assert_eq!(not_born(&lines), [2]);
    let refused = lines.iter().filter(|line| {
        let Line::Happened { event, .. } = line else {
            return false;
        };
        matches!(event, RegionEvent::Refused { .. })
    });
    assert_eq!(refused.count(), 1, "{lines:?}");
    assert!((1..4).all(|id| stage.owner(id).is_none()));
    assert_eq!(stage.region(0).boundary().unborn(), 0);
}

/// The height of a tetrahedron. Without it, it is flat.
const HEIGHT: f32 = 0.716_257_1;

/// An announced spawn in a snapshot is not checked again: an heir that cannot give birth to it goes on without it, and so do those who have heard of it.
#[test]
fn an_heir_lives_on_if_an_announced_spawn_cannot_be_born() {
    let setting = Setting::columns(2);
    let mut stage = setting.clone().stage();
    let mut body = ball(1, [-1.0, 0.0], [0.0, 0.0]);
    body.form.shape = Shape::Convex {
        points: vec![Vec3::ZERO, Vec3::X, Vec3::Z, Vec3::new(0.3, HEIGHT, 0.3)].into(),
    };
    stage.region_mut(0).spawn(&body).expect("a hull");
    stage.run(1);
    assert_eq!(stage.region(0).boundary().unborn(), 1, "announced");
    let mut bytes = stage.region_mut(0).make_snapshot().to_bytes();
    let height = HEIGHT.to_le_bytes();
    let place = bytes.windows(4).position(|window| window == height);
    let place = place.expect("its height is in there");
    bytes[place..place + 4].fill(0);
    stage.crash(0);
    stage.start(0, &bytes);
    let lines = stage.run(100);
    assert_eq!(not_born(&lines), [1]);
    assert_eq!(stage.owner(1), None);
    assert!(!holds_aura(&stage, 1, 1), "and its aura is gone");
    assert_eq!(stage.region(0).boundary().unborn(), 0);
}

/// A user takes back a spawn before it is born: whoever was told of it hears that it is over.
#[test]
fn an_announced_spawn_that_is_removed_leaves_no_aura() {
    let mut stage = Setting::columns(2).stage();
    let body = ball(1, [-1.0, 0.0], [0.0, 0.0]);
    stage.region_mut(0).spawn(&body).expect("sound");
    stage.run(2);
    assert!(holds_aura(&stage, 1, 1), "it was announced");
    stage.region_mut(0).remove(BodyId(1));
    stage.run(3);
    assert!(!holds_aura(&stage, 1, 1));
    stage.run(60);
    assert_eq!(stage.owner(1), None);
}

/// Whatever is let in near a border is born there: no promise is broken when its time comes.
#[test]
fn whatever_is_announced_is_born() {
    let mut stage = Setting::columns(2).stage();
    let mut seed = 3_u64;
    let mut unit = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let (mut accepted, mut refused) = (Vec::new(), 0);
    for id in 1..=120 {
        let thin = 10f32.powf(-4.0 * (unit() + 0.5));
        let count = 4 + (unit().abs() * 40.0) as usize;
        let points: Vec<Vec3> = (0..count)
            .map(|_| Vec3::new(unit(), unit() * thin, unit()))
            .collect();
        let mut body = ball(id, [-1.2, -28.0 + 0.45 * id as f64], [0.0, 0.0]);
        body.motion.position += DVec3::Y * 2.0 * (id % 7) as f64;
        body.form.shape = Shape::Convex {
            points: points.into(),
        };
        match stage.region_mut(0).spawn(&body) {
            Ok(()) => accepted.push(id),
            Err(_) => refused += 1,
        }
    }
    assert!(accepted.len() > 20 && refused > 5, "{accepted:?} {refused}");
    assert!(stage.region(0).boundary().unborn() > 20);
    let lines = stage.run(400);
    assert_eq!(not_born(&lines), []);
    for id in accepted {
        assert!(stage.owner(id).is_some(), "b{id} was promised");
    }
}
