//! A cluster changes hands: gone here at once, there at the next update, bit by bit the same, and never twice.

use crate::common::{Line, Setting, Stage, ball, crate_, envelope, ground};
use boundary::HandoverMode;
use domain::{Body, BodyForm, BodyId, Cluster, Epoch, Motion, Shape, Static, StaticId, Tick};
use glam::{DVec3, Quat, Vec3};
use region::RegionEvent;
use wire::{Envelope, HandoverNumber, Message, Offer};

/// Runs until an offer is made and returns it; also a copy of what the sender had one tick before.
fn until_offer(stage: &mut Stage) -> Offer {
    for _ in 0..200 {
        let lines = stage.tick();
        if let Some((_, _, offer)) = lines.iter().find_map(Line::offer) {
            return offer.clone();
        }
    }
    panic!("nothing was offered");
}

/// AP-19: what is offered is gone from the sender's world in the same tick, stands in the receiver's world at the receiver's next update
/// after the words have arrived, and the receiver drops its remote aura of it. Nobody has it twice at any tick.
#[test]
fn a_body_leaves_at_once_and_enters_at_the_next_update() {
    for delay in 1..=4 {
        let mut setting = Setting::columns(2);
        setting.delay_ticks = delay;
        let mut stage = setting.stage();
        stage.place(0, &ball(1, [-0.5, 0.0], [3.0, 0.0]));
        let offer = until_offer(&mut stage);
        assert_eq!(offer.tick, stage.now());
        assert_eq!(stage.owner(1), None, "in flight");
        let had_aura = |stage: &Stage| stage.region(1).boundary().remote_auras().count();
        for _ in 1..delay {
            stage.tick();
            assert_eq!(
                (stage.owner(1), had_aura(&stage)),
                (None, 1),
                "still in flight"
            );
        }
        stage.tick();
        assert_eq!(
            (stage.owner(1), had_aura(&stage)),
            (Some(1), 0),
            "delay {delay}"
        );
    }
}

/// AP-12: a ring of balls, every one near two others, moves as one cluster: each ball once, in one offer, and the search ends.
#[test]
fn a_ring_moves_whole_and_each_body_once() {
    let mut stage = Setting::columns(2).stage();
    for i in 0..12 {
        let angle = i as f64 * std::f64::consts::TAU / 12.0;
        stage.place(
            1,
            &ball(
                1 + i,
                [6.0 + 3.0 * angle.cos(), 3.0 * angle.sin()],
                [-2.0, 0.0],
            ),
        );
    }
    stage.place(0, &ball(50, [-0.2, 0.0], [0.0, 0.0]));
    let offer = until_offer(&mut stage);
    let ids: Vec<u64> = offer.cluster.bodies.iter().map(|body| body.id.0).collect();
    assert_eq!(ids, (1..=12).collect::<Vec<_>>());
    stage.tick();
    assert!((1..=12).all(|body| stage.owner(body) == Some(0)));
    assert!(
        stage.run(30).iter().all(|line| line.offer().is_none()),
        "and it stays together"
    );
}

/// A body with nothing ordinary about it.
fn odd_body() -> Body {
    let shape = Shape::Capsule {
        radius: 0.23,
        height: 1.1,
    };
    let mut form = BodyForm::of(shape);
    form.material.density = 777.0;
    form.material.friction = 0.31;
    form.material.restitution = 0.27;
    form.continuous = true;
    form.gravity_scale = 0.9;
    form.linear_damping = 0.013;
    form.angular_damping = 0.017;
    let mut body = Body::new(BodyId(7), form, Motion::at(DVec3::new(-0.61, 1.7, 0.33)));
    body.motion.rotation = Quat::from_euler(glam::EulerRot::XYZ, 0.3, 0.5, 0.7);
    body.motion.linear_velocity = Vec3::new(3.1, 0.2, -0.3);
    body.motion.angular_velocity = Vec3::new(0.4, -0.9, 1.3);
    body
}

/// AP-20: form, pose, velocities and rest pass through offer, wire and insertion without losing a bit. Only the place is rounded once, when
/// the receiver's own frame is entered: by less than a micrometre.
#[test]
fn a_migration_reproduces_the_body() {
    let mut setting = Setting::columns(2);
    setting.boundary.handover = HandoverMode::Freeze;
    let mut stage = setting.stage();
    stage.place(0, &odd_body());
    let mut before = Cluster::default();
    let offer = loop {
        // One step ahead of the sender: the same world, stepped in a copy.
        before.clone_from(&stage.region(0).world().copy(&[BodyId(7)]));
        let lines = stage.tick();
        if let Some((_, _, offer)) = lines.iter().find_map(Line::offer) {
            break offer.clone();
        }
    };
    let mut twin = world::World::new(twin_config(&stage), &[]).expect("a world");
    twin.insert(&before).expect("a sound body");
    twin.step();
    assert_eq!(
        offer.cluster,
        twin.copy(&[BodyId(7)]),
        "the offer is the body after its last step"
    );
    assert_eq!(offer.cluster.bodies[0].form, odd_body().form);
    // The receiver inserts it and steps it once in the same tick: compare with a twin that does so.
    stage.tick();
    let mut config = twin_config(&stage);
    config.origin = stage.region(1).world().origin();
    let mut twin = world::World::new(config, &[]).expect("a world");
    twin.insert(&offer.cluster).expect("a sound body");
    let entered = twin.copy(&[BodyId(7)]).bodies.remove(0);
    let offered = &offer.cluster.bodies[0];
    assert_eq!(entered.form, offered.form);
    assert_eq!(entered.rest, offered.rest);
    assert_eq!(entered.motion.rotation, offered.motion.rotation);
    assert_eq!(
        entered.motion.linear_velocity,
        offered.motion.linear_velocity
    );
    assert_eq!(
        entered.motion.angular_velocity,
        offered.motion.angular_velocity
    );
    assert!(entered.motion.position.distance(offered.motion.position) < 1e-6);
    twin.step();
    assert_eq!(stage.region(1).world().state_hash(), twin.state_hash());
}

fn twin_config(stage: &Stage) -> world::WorldConfig {
    world::WorldConfig {
        gravity: stage.setting.gravity,
        step: stage.setting.boundary.step,
        origin: stage.region(0).world().origin(),
    }
}

/// AP-35: the scenery is on every server: a pile that hangs over into the neighbour's region, owned from afar, stands on the scenery there.
#[test]
fn a_cluster_outside_its_region_stands_on_the_scenery() {
    let mut setting = Setting::columns(2);
    setting.gravity = Vec3::new(0.0, -9.81, 0.0);
    let table = Static {
        id: StaticId(1),
        shape: Shape::Cuboid {
            size: Vec3::new(4.0, 1.0, 4.0),
        },
        position: DVec3::new(3.0, 0.5, 0.0),
        rotation: Quat::IDENTITY,
        material: Default::default(),
    };
    setting.statics = vec![ground(), table];
    let mut stage = setting.stage();
    // b1 stands in region 0 by the border and keeps b2, which falls onto the table in region 1, with region 0.
    stage.place(0, &crate_(1, [-0.3, 0.0], [0.0, 0.0]));
    let mut falling = crate_(2, [1.6, 0.0], [0.0, 0.0]);
    falling.motion.position.y = 2.0;
    stage.place(0, &falling);
    let lines = stage.run(90);
    let lands = lines.iter().any(|line| {
        matches!(line, Line::Happened { region, event: RegionEvent::Contact { contact, .. } }
            if region.0 == 0
                && contact.a == BodyId(2)
                && contact.b == domain::ContactEnd::Static(StaticId(1)))
    });
    assert!(lands, "region 0 sees b2 land on the table in region 1");
    assert_eq!((stage.owner(1), stage.owner(2)), (Some(0), Some(0)));
    let height = stage.motion(2).expect("owned").position.y;
    assert!(
        (height - 1.5).abs() < 0.01,
        "it stands on the table, at {height}"
    );
}

/// I4, AP-22: every word of a finished handover said again, in any order, by anyone, changes nothing.
#[test]
fn old_words_change_nothing() {
    let mut stage = Setting::columns(2).stage();
    stage.place(0, &ball(1, [-0.5, 0.0], [3.0, 0.0]));
    let said: Vec<(u32, u32, Message)> = stage
        .run(60)
        .into_iter()
        .filter_map(|line| match line {
            Line::Said { from, to, message } => Some((from.0, to.0, message)),
            Line::Happened { .. } => None,
        })
        .collect();
    assert!(
        said.iter()
            .any(|(_, _, message)| matches!(message, Message::Offer(_)))
    );
    assert_eq!(stage.owner(1), Some(1));
    let epoch = stage
        .region(1)
        .boundary()
        .track(BodyId(1))
        .expect("owned")
        .epoch;
    assert_eq!(epoch, Epoch(1));
    let now = domain::SimTime::from_secs(1.0);
    for (from, to, message) in said.iter().chain(said.iter().rev()) {
        stage
            .region_mut(*to)
            .handle_message(now, envelope(*from, *to, message.clone()));
    }
    let after = stage.run(30);
    assert_eq!(stage.owner(1), Some(1));
    assert_eq!(
        stage
            .region(1)
            .boundary()
            .track(BodyId(1))
            .expect("owned")
            .epoch,
        Epoch(1)
    );
    for region in stage.regions() {
        assert_eq!(
            region.boundary().remote_auras().count(),
            0,
            "{} revived an aura",
            region.id()
        );
        assert_eq!(region.boundary().in_flight().count(), 0);
    }
    // Old offers are answered again, politely; nothing else happens.
    for line in after {
        let polite = matches!(
            &line,
            Line::Said {
                message: Message::Accept { .. },
                ..
            }
        );
        assert!(polite, "{line:?}");
    }
}

/// An offer that the engine could not carry out is refused whole and nothing changes.
#[test]
fn an_offer_that_makes_no_sense_is_refused() {
    let mut stage = Setting::columns(2).stage();
    let mut body = ball(1, [0.0, 0.0], [0.0, 0.0]);
    body.form.material.density = f32::NAN;
    let offer = Offer {
        handover: HandoverNumber(1),
        tick: Tick::ZERO,
        cause: wire::HandoverCause::BoundaryTraversal,
        members: vec![wire::Member {
            epoch: Epoch(1),
            projecting_since: None,
            rank: None,
        }],
        cluster: Cluster {
            bodies: vec![body],
            ..Cluster::default()
        },
        unborn: Vec::new(),
        told: Vec::new(),
        bonds: Vec::new(),
    };
    let said: Envelope = envelope(0, 1, Message::Offer(Box::new(offer)));
    stage
        .region_mut(1)
        .handle_message(domain::SimTime::ZERO, said);
    let lines = stage.run(3);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(matches!(
        &lines[0],
        Line::Happened {
            event: RegionEvent::Refused { .. },
            ..
        }
    ));
    assert_eq!(stage.owner(1), None);
}
