//! A region server starts again from its snapshot: what it believed to own and has since handed over is someone else's.

use crate::common::{Line, Setting, Stage, ball, envelope};
use domain::{BodyId, Epoch};
use glam::Vec3;
use wire::Message;

/// b2 belongs to region 1 when region 1 takes its snapshot at tick 100; then it goes over to b1's region 0 and falls asleep there.
fn b2_moves_after_the_snapshot() -> (Stage, Vec<Line>) {
    let mut setting = Setting::columns(2);
    setting.snapshot_ticks = Some(100);
    let mut stage = setting.stage();
    stage.place(0, &ball(1, [-0.9, 0.0], [0.0, 0.0]));
    stage.place(1, &ball(2, [1.5, 0.0], [0.0, 0.0]));
    let mut lines = stage.run(100);
    assert_eq!((stage.owner(1), stage.owner(2)), (Some(0), Some(1)));
    stage
        .region_mut(1)
        .set_velocity(BodyId(2), Vec3::new(-2.0, 0.0, 0.0))
        .expect("it is here");
    while stage.owner(2) != Some(0) {
        lines.extend(stage.tick());
        assert!(stage.now().0 < 150, "b1's aura calls b2");
    }
    stage
        .region_mut(0)
        .set_velocity(BodyId(2), Vec3::ZERO)
        .expect("it is here");
    lines.extend(stage.run(60));
    assert!(stage.region(0).world().is_asleep(BodyId(2)));
    (stage, lines)
}

fn crash_and_restart(stage: &mut Stage) -> Vec<Line> {
    stage.crash(1);
    stage.run(5);
    stage.restart(1);
    stage.run(20)
}

/// I2, I4: the restarted region gives up what has a newer owner.
#[test]
fn a_restarted_region_gives_up_what_it_has_handed_over() {
    let (mut stage, _) = b2_moves_after_the_snapshot();
    crash_and_restart(&mut stage);
    assert!(!stage.region(1).is_recovering());
    assert_eq!(stage.owner(2), Some(0));
    assert_eq!(stage.region(1).world().len(), 0);
}

/// I6, AP-7: the restarted region is told of every aura again, sleepers' too, also of those it believed to be its own.
#[test]
fn a_restarted_region_knows_the_sleepers_it_has_handed_over() {
    let (mut stage, _) = b2_moves_after_the_snapshot();
    crash_and_restart(&mut stage);
    let auras = stage.region(1).boundary().remote_auras();
    let auras: Vec<_> = auras.map(|(id, aura)| (id, aura.epoch)).collect();
    assert_eq!(auras, [(BodyId(1), Epoch(0)), (BodyId(2), Epoch(1))]);
}

/// A server's words from before its crash, heard again after its restart, change nobody's owner: epochs tell them from news. (Its old datagrams do not
/// get through at all; the channel knows its incarnations.)
#[test]
fn words_from_before_the_crash_change_no_owner() {
    let (mut stage, lines) = b2_moves_after_the_snapshot();
    crash_and_restart(&mut stage);
    let now = domain::SimTime::from_secs(10.0);
    let mut offers = 0;
    for line in &lines {
        let Line::Said { from, to, message } = line else {
            continue;
        };
        let is_handover = matches!(
            message,
            Message::Offer(_) | Message::Accept { .. } | Message::Release { .. }
        );
        offers += u32::from(matches!(message, Message::Offer(_)));
        if from.0 == 1 && is_handover {
            stage
                .region_mut(to.0)
                .handle_message(now, envelope(from.0, to.0, message.clone()));
        }
    }
    assert_eq!(offers, 1);
    stage.run(20);
    assert_eq!((stage.owner(1), stage.owner(2)), (Some(0), Some(0)));
    let epoch = stage
        .region(0)
        .boundary()
        .track(BodyId(2))
        .map(|track| track.epoch);
    assert_eq!(epoch, Some(Epoch(1)));
    assert_eq!(stage.region(1).world().len(), 0);
}

/// Two that die one after the other: the first has asked the second, which dies before it answers and comes back without having heard the question.
#[test]
fn a_question_that_was_forgotten_is_asked_again() {
    let mut setting = Setting::columns(2);
    setting.snapshot_ticks = Some(100);
    let mut stage = setting.stage();
    stage.place(0, &ball(1, [-20.0, 0.0], [0.0, 0.0]));
    stage.place(1, &ball(2, [20.0, 0.0], [0.0, 0.0]));
    stage.run(100);
    stage.crash(1);
    stage.run(5);
    stage.restart(1);
    stage.run(1);
    stage.crash(0);
    stage.run(5);
    stage.restart(0);
    stage.run(20);
    for region in [0, 1] {
        assert!(!stage.region(region).is_recovering(), "{region}");
    }
    assert_eq!((stage.owner(1), stage.owner(2)), (Some(0), Some(1)));
}

/// Its very question may be lost, when the one it asks does not listen yet or listens to someone before it.
#[test]
fn a_question_that_was_lost_is_asked_again() {
    let (mut stage, _) = b2_moves_after_the_snapshot();
    stage.crash(1);
    stage.run(5);
    stage.restart(1);
    stage.run(1);
    stage.lose_all();
    stage.run(20);
    assert!(stage.region(1).is_recovering());
    stage.run(30);
    assert!(!stage.region(1).is_recovering());
    assert_eq!(stage.owner(2), Some(0));
}

/// I1, I2: who has taken a body says so only when its own snapshot holds it. It dies right after the answer, and the one who asked has thrown its own away.
#[test]
fn an_answer_is_not_forgotten() {
    for later in 0..12 {
        let mut setting = Setting::columns(2);
        setting.snapshot_ticks = Some(100);
        let mut stage = setting.stage();
        stage.place(0, &ball(1, [-0.9, 0.0], [0.0, 0.0]));
        stage.place(1, &ball(2, [1.5, 0.0], [0.0, 0.0]));
        stage.run(100);
        let towards = Vec3::new(-2.0, 0.0, 0.0);
        stage
            .region_mut(1)
            .set_velocity(BodyId(2), towards)
            .expect("it is here");
        while stage.owner(2) != Some(0) {
            stage.tick();
        }
        // Region 0 has b2 in no snapshot; region 1's snapshot has it still.
        stage.crash(1);
        stage.run(1);
        stage.restart(1);
        stage.run(later);
        stage.crash(0);
        stage.run(3);
        stage.restart(0);
        stage.run(60);
        assert!(stage.owner(2).is_some(), "{later} ticks later");
    }
}
