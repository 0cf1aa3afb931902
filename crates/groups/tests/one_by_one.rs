//! Nodes that come one after the other.

use crate::common::*;
use groups::room::Room;
use groups::*;

/// Farther from the coordinator than from each other: a node is pinged by those who have heard of the newcomer before it has heard of them.
fn delay(a: Address, b: Address) -> f64 {
    match (a.0, b.0) {
        (0, i) | (i, 0) => 15.0 + 10.0 * i as f64,
        (i, k) if (i - 1) / 3 == (k - 1) / 3 => 3.0 + 2.0 * ((i + k) % 4) as f64,
        _ => 70.0,
    }
}

/// The usual settings: pings every 5 s, and nobody is moved by a vote within the first 10 s.
fn arrived(nodes: u64, every_secs: f64) -> Room {
    let mut room = room(GroupConfig::default(), 4, delay);
    for i in 1..=nodes {
        room.enter(at(i), MachineId(i));
        room.run(every_secs, step);
    }
    room
}

/// ST-27: the last of three comes while the coordinator is about to ask: it is asked about when it has been measured, not left to a vote.
#[test]
fn st_27_who_comes_just_before_the_question_is_asked_about_again() {
    for every_secs in [0.0, 0.1, 0.3, 0.49, 0.7] {
        let mut room = arrived(3, every_secs);
        room.run(2.0, step);
        assert_eq!(
            groups_of(&room),
            [vec![1, 2, 3]],
            "one every {every_secs} s"
        );
        assert!(all_held_once(&room, 4));
    }
}

/// Who drives the cores must not take a newcomer's first group, itself alone, for what was measured.
#[test]
fn st_27_a_newcomer_is_placed_when_everyone_was_asked_about_it() {
    let mut room = arrived(1, 3.0);
    let placed = |room: &Room| {
        let node = |i: u64| room.coordinator.node_at(at(i));
        [1, 4].map(|i| node(i).is_some_and(|node| room.coordinator.is_placed(node)))
    };
    assert_eq!(
        placed(&room),
        [true, false],
        "alone, and that is all there is"
    );
    room.enter(at(4), MachineId(4));
    room.run(0.9, step);
    assert_eq!(
        placed(&room),
        [true, false],
        "it has joined, but is not settled"
    );
    room.run(0.5, step);
    assert_eq!(
        placed(&room),
        [true, true],
        "far away, and that was measured"
    );
    assert_eq!(groups_of(&room), [vec![1], vec![4]]);
    assert!(!room.coordinator.is_placed(NodeId(77)));
}

/// ST-27, ST-28: six nodes of two places come 0.3 s apart; two seconds after the last they are in two groups, without a single vote.
#[test]
fn st_27_nodes_that_come_one_after_the_other_find_their_groups() {
    let mut room = arrived(6, 0.3);
    room.run(2.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2, 3], vec![4, 5, 6]]);
    let votes = room
        .decided
        .iter()
        .filter(|(_, event)| matches!(event, CoordinatorEvent::Voted { .. }));
    assert_eq!(votes.count(), 0, "first measurements were enough");
}
