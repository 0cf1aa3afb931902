//! When a body projects an aura, who hears of it, and when it falls silent (digest 2.3 and 2.8).

use crate::common::{Line, Setting, Stage, ball, crate_};
use boundary::LifeState;
use domain::{Body, BodyForm, BodyId, Motion, RegionId, Shape};
use glam::{DVec3, Vec3};
use std::collections::BTreeSet;

/// Who heard an aura update in this tick.
fn told(lines: &[Line]) -> BTreeSet<u32> {
    lines
        .iter()
        .filter_map(Line::upsert)
        .map(|(_, to, _)| to.0)
        .collect()
}

/// Who was told that an aura is gone.
fn told_of_end(lines: &[Line]) -> BTreeSet<u32> {
    lines
        .iter()
        .filter_map(Line::delete)
        .map(|(_, to, _)| to.0)
        .collect()
}

fn depth_of_trigger(stage: &Stage) -> f64 {
    stage.region(0).boundary().geometry().trigger_depth_m
}

fn holds_aura(stage: &Stage, region: u32, body: u64) -> bool {
    stage
        .region(region)
        .boundary()
        .remote_auras()
        .any(|(id, _)| id == BodyId(body))
}

/// AP-5: the trigger boundary is as deep as the geometry says: a crate projects from the very tick in which its face, not
/// its bounding sphere, is that near to the border.
#[test]
fn a_body_projects_from_the_depth_of_the_trigger_boundary_on() {
    let mut stage = Setting::columns(2).stage();
    stage.place(0, &crate_(1, [-3.0, 0.0], [2.0, 0.0]));
    let depth = depth_of_trigger(&stage);
    assert!(
        (depth - 0.7).abs() < 1e-9,
        "seven steps of 0.1 m, is {depth}"
    );
    let mut outside = 0;
    for _ in 0..80 {
        let lines = stage.tick();
        let face = stage.motion(1).expect("it stays with region 0").position.x + 0.5;
        // The engine's boxes are a little larger than the shape; do not ask within a millimetre.
        if (face + depth).abs() > 1e-3 {
            assert_eq!(!told(&lines).is_empty(), face > -depth, "face at {face}");
        }
        outside += u64::from(face + 0.366 > -depth && face < -depth - 1e-3);
    }
    assert!(
        outside > 5,
        "there were ticks in which only the bounding sphere was near: {outside}"
    );
}

/// AP-5: a rod parallel to the border is judged by its true shape: its bounding sphere reaches over the border, it does not.
#[test]
fn a_rod_beside_the_border_does_not_project_for_its_length() {
    let rod = |id, x| {
        let shape = Shape::Cuboid {
            size: Vec3::new(0.2, 0.2, 4.0),
        };
        Body::new(
            BodyId(id),
            BodyForm::of(shape),
            Motion::at(DVec3::new(x, 0.5, 0.0)),
        )
    };
    let mut stage = Setting::columns(2).stage();
    stage.place(0, &rod(1, -1.0));
    assert_eq!(
        told(&stage.run(10)),
        BTreeSet::new(),
        "0.9 m from the border, bounding radius 2 m"
    );
    let mut stage = Setting::columns(2).stage();
    stage.place(0, &rod(1, -0.7));
    assert_eq!(
        told(&stage.run(10)),
        BTreeSet::from([1]),
        "0.6 m from the border"
    );
}

/// AP-6: an aura begins on entry, is told again in every tick in which the body moves, and ends when it leaves inwards.
#[test]
fn an_aura_is_told_while_the_body_moves_and_ends_inwards() {
    let mut stage = Setting::columns(2).stage();
    stage.place(0, &ball(1, [-2.0, 0.0], [3.0, 0.0]));
    let approach = stage.run(16);
    assert!(
        approach.iter().all(|line| line.upsert().is_none()),
        "not before it enters"
    );
    for tick in 17..=30 {
        let lines = stage.tick();
        let updates: Vec<_> = lines.iter().filter_map(Line::upsert).collect();
        assert_eq!(updates.len(), 1, "one update at tick {tick}");
        let seen = updates[0].2.centre;
        let is = stage.motion(1).expect("owned").position;
        assert!(
            seen.distance(is) < 1e-3,
            "it says where the body is: {seen} {is}"
        );
    }
    stage
        .region_mut(0)
        .set_velocity(BodyId(1), Vec3::new(-3.0, 0.0, 0.0))
        .expect("it is here");
    let retreat = stage.run(40);
    let ends: Vec<_> = retreat.iter().filter_map(Line::delete).collect();
    assert_eq!(ends.len(), 1, "the end is told once");
    assert_eq!(ends[0].2.moved_to, None, "it has not moved to anyone");
    let end = retreat
        .iter()
        .position(|line| line.delete().is_some())
        .expect("found");
    assert!(
        retreat[end..].iter().all(|line| line.upsert().is_none()),
        "silence after the end"
    );
    assert!(!holds_aura(&stage, 1, 1));
}

/// AP-7: a sleeping body says nothing at all, and the neighbour keeps its last aura unchanged; when it is woken, it speaks again.
#[test]
fn a_sleeping_body_is_silent_and_its_aura_stays() {
    let mut stage = Setting::columns(2).stage();
    stage.place(0, &ball(1, [-0.9, 0.0], [0.0, 0.0]));
    stage.run(60);
    assert!(stage.region(0).world().is_asleep(BodyId(1)));
    let aura_at = |stage: &Stage| {
        let mut auras = stage.region(1).boundary().remote_auras();
        auras
            .find(|(id, _)| *id == BodyId(1))
            .map(|(_, aura)| *aura)
            .expect("the aura is known")
    };
    let before = aura_at(&stage);
    assert_eq!(stage.run(600), [], "ten seconds without a word");
    assert_eq!(aura_at(&stage), before);
    stage
        .region_mut(0)
        .apply_impulse(BodyId(1), Vec3::new(0.0, 0.0, 500.0), None)
        .expect("it is here");
    assert_eq!(told(&stage.tick()), BTreeSet::from([1]));
}

/// AP-7, digest 10.5: a sleeping body in a new aura is called over like any other, and goes on sleeping.
#[test]
fn a_sleeping_body_is_called_by_an_aura() {
    let mut stage = Setting::columns(2).stage();
    stage.place(0, &ball(1, [-2.2, 0.0], [0.0, 0.0]));
    stage.run(60);
    assert!(stage.region(0).world().is_asleep(BodyId(1)));
    stage.place(1, &ball(2, [1.0, 0.0], [-2.0, 0.0]));
    let called = (0..60).any(|_| {
        stage.tick();
        stage.owner(1) == Some(1)
    });
    assert!(called, "called over in its sleep");
    assert!(
        stage.region(1).world().is_asleep(BodyId(1)),
        "nothing has touched it yet"
    );
}

/// AP-9: in a 2×2 grid a body at one border is heard of by all three others, the one over the corner included; so is its end.
#[test]
fn all_neighbours_of_a_four_way_corner_hear_of_an_aura() {
    let mut stage = Setting::grid(4).stage();
    // Far from the corner: 15 m along the border between regions 0 and 1.
    stage.place(0, &ball(1, [-2.0, -15.0], [3.0, 0.0]));
    let lines = stage.run(20);
    assert_eq!(told(&lines), BTreeSet::from([1, 2, 3]));
    assert!((1..4).all(|region| holds_aura(&stage, region, 1)));
    stage
        .region_mut(0)
        .set_velocity(BodyId(1), Vec3::new(-3.0, 0.0, 0.0))
        .expect("it is here");
    assert_eq!(told_of_end(&stage.run(20)), BTreeSet::from([1, 2, 3]));
    assert!((1..4).all(|region| !holds_aura(&stage, region, 1)));
}

/// AP-9, AP-31: in a 3×3 grid a body of the middle is heard of by all eight, one of a corner region by its three neighbours only.
#[test]
fn in_a_grid_of_nine_neighbours_hear_and_nobody_else() {
    let mut stage = Setting::grid(9).stage();
    stage.place(4, &ball(1, [-9.0, 0.0], [0.0, 0.0]));
    stage.place(0, &ball(2, [-11.0, -20.0], [0.0, 0.0]));
    let lines = stage.run(10);
    let audience = |body| -> BTreeSet<u32> {
        let upserts = lines.iter().filter_map(Line::upsert);
        upserts
            .filter(|(_, _, u)| u.body == BodyId(body))
            .map(|(_, to, _)| to.0)
            .collect()
    };
    assert_eq!(audience(1), BTreeSet::from([0, 1, 2, 3, 5, 6, 7, 8]));
    assert_eq!(audience(2), BTreeSet::from([1, 3, 4]));
    for line in &lines {
        if let Line::Said { from, to, .. } = line {
            assert!(
                stage.setting.map.are_neighbours(*from, *to),
                "{from} speaks to {to}"
            );
        }
    }
}

/// AP-18: over a corner and back, the host aura exists exactly while the body touches a boundary or is outside; the list of boundaries
/// says how many it touches.
#[test]
fn the_host_aura_exists_while_a_boundary_is_touched() {
    let mut stage = Setting::grid(4).stage();
    // b2 is a companion that keeps b1 from becoming an island when it is outside.
    stage.place(0, &ball(1, [-2.5, -0.9], [2.0, 0.0]));
    stage.place(0, &ball(2, [-0.4, -2.2], [0.0, 0.0]));
    let mut counts = BTreeSet::new();
    let mut traversed = false;
    for tick in 0..220 {
        if tick == 110 {
            stage
                .region_mut(0)
                .set_velocity(BodyId(1), Vec3::new(-2.0, 0.0, 0.0))
                .expect("it is here");
        }
        stage.tick();
        let boundary = stage.region(0).boundary();
        let track = boundary.track(BodyId(1)).expect("it stays with region 0");
        let projects = boundary.projecting().any(|(id, _)| id == BodyId(1));
        let outside = track.state == LifeState::BoundaryTraversed;
        assert_eq!(
            projects,
            !track.boundaries.is_empty() || outside,
            "tick {tick}"
        );
        assert_eq!(projects, track.state.projects(), "tick {tick}");
        assert_eq!(projects, !track.audience.is_empty(), "tick {tick}");
        counts.insert(track.boundaries.len());
        traversed |= outside;
    }
    // The border to region 2 alone, then the corner with all three, and back.
    assert!(counts.contains(&1) && counts.contains(&3), "{counts:?}");
    assert!(traversed, "it was wholly outside for a while");
}

/// AP-21: who migrates leaves no aura of the old ownership behind, anywhere.
#[test]
fn after_a_migration_everyone_knows_the_new_owner_only() {
    let mut stage = Setting::grid(4).stage();
    stage.place(0, &ball(1, [-1.0, -1.0], [3.0, 3.0]));
    let mut migrated = None;
    for _ in 0..60 {
        let lines = stage.tick();
        if let Some((from, to, _)) = lines.iter().find_map(Line::offer) {
            migrated = Some((from, to));
            let ends: Vec<_> = lines.iter().filter_map(Line::delete).collect();
            assert_eq!(ends.len(), 3, "all neighbours of the old owner hear of it");
            assert!(
                ends.iter()
                    .all(|(_, _, end)| end.moved_to.map(|new| new.region) == Some(to))
            );
        }
    }
    assert_eq!(migrated, Some((RegionId(0), RegionId(3))));
    assert_eq!(stage.owner(1), Some(3));
    assert!(
        stage.region(3).boundary().projecting().next().is_none(),
        "it is well inside by now"
    );
    for region in stage.regions() {
        assert_eq!(
            region.boundary().remote_auras().count(),
            0,
            "{} holds an orphan",
            region.id()
        );
    }
}
