//! Joining, grouping, voting, re-allocation: one test per sentence of the thesis we rely on.

use crate::common::*;
use domain::SimTime;
use groups::room::{COORDINATOR, Room};
use groups::*;

/// ST-27, ST-28, ST-33, ST-35: measured delays decide. Nodes 1..3 are near each other, 4 and 5 are near each other.
#[test]
fn st_28_measured_delays_decide_who_shares_a_group() {
    let far = |a: Address, b: Address| {
        if (a.0 <= 3) == (b.0 <= 3) || a.0 == 0 || b.0 == 0 {
            4.0
        } else {
            60.0
        }
    };
    let mut room = room(config(), 8, far);
    for i in 1..=5 {
        room.enter(at(i), MachineId(i));
    }
    room.run(6.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2, 3], vec![4, 5]]);
    for member in room.members.values() {
        assert!(!member.is_whole(), "{:?} works with its group", member.id());
        assert_eq!(
            member.is_leader(),
            [1, 4].contains(&member.id().expect("named").0),
            "the lowest id leads"
        );
    }
    // Each group simulates the whole world once.
    let holders: Vec<usize> = (0..8)
        .map(|id| {
            room.members
                .values()
                .filter(|m| m.holds(ObjectKey::persistent(id)))
                .count()
        })
        .collect();
    assert_eq!(holders, [2; 8], "one holder per group");
    // ST-26: near ones are pinged more often than far ones.
    let pings = |to: u64| {
        room.spoken
            .iter()
            .filter(|s| s.from == at(1) && s.to == at(to) && s.message.name() == "Ping")
            .count()
    };
    assert!(pings(2) > pings(4), "{} and {}", pings(2), pings(4));
    let one = &room.members[&at(1)];
    assert!(
        (one.delay_ms(NodeId(2)).expect("measured") - 8.0).abs() < 1e-6,
        "a round trip"
    );
}

/// ST-28: no group above the cap.
#[test]
fn st_28_a_cap_splits_a_crowd() {
    let mut room = room(
        GroupConfig {
            max_group: 2,
            ..config()
        },
        4,
        |_, _| 1.0,
    );
    for i in 1..=5 {
        room.enter(at(i), MachineId(i));
    }
    room.run(12.0, step);
    let sizes: Vec<usize> = groups_of(&room).iter().map(Vec::len).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 5);
    assert!(sizes.iter().all(|size| *size <= 2), "{sizes:?}");
}

/// ST-29, ST-31: a member that becomes slow is voted out, alone, and its group goes on without it. ST-30: when it is quick again, it
/// is voted in.
#[test]
fn st_31_a_slow_member_is_voted_out_and_st_30_in_again() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static SLOW: AtomicU64 = AtomicU64::new(0);
    let delay = |a: Address, b: Address| {
        let of_three = a == at(3) || b == at(3);
        let more = if of_three && a.0 != 0 && b.0 != 0 {
            SLOW.load(Ordering::Relaxed) as f64
        } else {
            0.0
        };
        3.0 + more
    };
    let mut room = room(config(), 8, delay);
    for i in 1..=3 {
        room.enter(at(i), MachineId(i));
    }
    room.run(6.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2, 3]]);
    SLOW.store(50, Ordering::Relaxed);
    room.run(12.0, step);
    assert_eq!(
        groups_of(&room),
        [vec![1, 2], vec![3]],
        "evicted into a group of its own"
    );
    let rejected = |(_, e): &(SimTime, CoordinatorEvent)| {
        matches!(
            e,
            CoordinatorEvent::Voted {
                kind: VoteKind::Rejection,
                about: NodeId(3),
                passed: true
            }
        )
    };
    assert_eq!(room.decided.iter().filter(|e| rejected(e)).count(), 1);
    let asked: Vec<Address> = room
        .spoken
        .iter()
        .filter(|s| s.message.name() == "VoteCast")
        .map(|s| s.from)
        .collect();
    assert!(!asked.contains(&at(3)), "the accused does not vote");
    SLOW.store(0, Ordering::Relaxed);
    room.run(20.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2, 3]], "voted in again");
    assert!(room.members.values().all(|m| !m.is_whole()));
    assert!(all_held_once(&room, 8));
}

/// ST-30: a node of the larger group is not voted into the smaller one.
#[test]
fn st_30_only_into_a_group_at_least_as_large() {
    let mut room = room(config(), 2, |a, b| {
        if (a.0 <= 2) == (b.0 <= 2) || a.0 == 0 || b.0 == 0 {
            2.0
        } else {
            60.0
        }
    });
    for i in 1..=3 {
        room.enter(at(i), MachineId(i));
    }
    room.run(8.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2], vec![3]]);
    let calls = |room: &groups::room::Room| {
        room.spoken
            .iter()
            .filter(|s| s.message.name() == "VoteCall")
            .count()
    };
    let before = calls(&room);
    room.say(
        at(3),
        COORDINATOR,
        Message::VoteRequest {
            kind: VoteKind::Inclusion,
            about: NodeId(1),
        },
    );
    assert_eq!(calls(&room), before, "1 is in the larger group");
    room.say(
        at(1),
        COORDINATOR,
        Message::VoteRequest {
            kind: VoteKind::Inclusion,
            about: NodeId(3),
        },
    );
    assert_eq!(
        calls(&room),
        before + 2,
        "both members of the larger group are asked"
    );
    room.run(3.0, step);
    assert_eq!(
        groups_of(&room),
        [vec![1, 2], vec![3]],
        "they are against it: 3 is far"
    );
}

/// ST-32: one vote per node at a time, a minimum stay, and a cap on requests.
#[test]
fn st_32_votes_are_stabilised() {
    let stabilisers = Stabilisers {
        min_stay_secs: 30.0,
        votes_per_period: 2,
        period_secs: 100.0,
        strikes: 3,
    };
    let mut room = room(
        GroupConfig {
            stabilisers,
            ..config()
        },
        2,
        |_, _| 2.0,
    );
    for i in 1..=3 {
        room.enter(at(i), MachineId(i));
    }
    room.run(5.0, step);
    let calls = |room: &groups::room::Room| {
        room.spoken
            .iter()
            .filter(|s| s.message.name() == "VoteCall")
            .count()
            / 2
    };
    let ask = |room: &mut groups::room::Room| {
        room.say(
            at(1),
            COORDINATOR,
            Message::VoteRequest {
                kind: VoteKind::Rejection,
                about: NodeId(3),
            },
        )
    };
    ask(&mut room);
    assert_eq!(calls(&room), 0, "it has only just come");
    room.run(30.0, step);
    ask(&mut room);
    ask(&mut room);
    assert_eq!(calls(&room), 1, "one at a time");
    room.run(3.0, step);
    ask(&mut room);
    assert_eq!(calls(&room), 2);
    room.run(3.0, step);
    ask(&mut room);
    assert_eq!(calls(&room), 2, "two in a hundred seconds are enough");
    assert_eq!(groups_of(&room), [vec![1, 2, 3]], "nobody is against 3");
}

/// ST-33, ST-34, ST-53: a member dies. The others simulate everything themselves as soon as they notice, the coordinator gives it up, and
/// the group goes on with every object held once.
#[test]
fn st_53_a_dead_member_is_given_up_and_its_part_taken_over() {
    let mut room = room(config(), 8, |_, _| 2.0);
    for i in 1..=3 {
        room.enter(at(i), MachineId(i));
    }
    room.run(5.0, step);
    assert!(all_held_once(&room, 8));
    let lost: Vec<u64> = (0..8)
        .filter(|id| holder(&room, *id) == Some(NodeId(3)))
        .collect();
    assert!(!lost.is_empty());
    room.kill(at(3));
    room.run(1.5, step);
    for i in [1, 2] {
        let member = &room.members[&at(i)];
        assert!(member.is_whole(), "{i} has noticed the silence");
        assert!(
            lost.iter()
                .all(|id| member.simulates(ObjectKey::persistent(*id)))
        );
    }
    room.run(4.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2]]);
    assert!(room.members.values().all(|m| !m.is_whole()));
    assert!(all_held_once(&room, 8));
}

/// ST-35, ST-41: the leader dies; the next lowest is promoted and begins with what the coordinator knows.
#[test]
fn st_41_a_new_leader_is_seeded_by_the_coordinator() {
    let mut room = room(config(), 8, |_, _| 2.0);
    for i in 1..=3 {
        room.enter(at(i), MachineId(i));
    }
    room.run(5.0, |member, now| {
        // Node 3's objects go somewhere else than they began.
        step(member, now);
        if member.id() == Some(NodeId(3)) {
            let held: Vec<ObjectState> = member
                .simulated()
                .map(|(s, _)| *s)
                .filter(|s| member.holds(s.key))
                .collect();
            held.into_iter().for_each(|s| {
                member.put(
                    ObjectState {
                        position: s.position.with_y(7.0),
                        ..s
                    },
                    true,
                )
            });
        }
    });
    let moved: Vec<ObjectKey> = (0..8)
        .map(ObjectKey::persistent)
        .filter(|key| room.members[&at(3)].holds(*key))
        .collect();
    assert!(!moved.is_empty());
    room.kill(at(1));
    room.run(6.0, step);
    assert_eq!(groups_of(&room), [vec![2, 3]]);
    assert!(room.members[&at(2)].is_leader());
    assert!(
        room.happened
            .iter()
            .any(|(_, who, e)| *who == at(2) && *e == MemberEvent::Promoted)
    );
    let list = room.spoken.iter().rev().find_map(|s| match &s.message {
        Message::Allocate { objects, .. } if s.to == at(2) => Some(objects.clone()),
        _ => None,
    });
    let list = list.expect("it was allocated");
    for key in moved {
        let state = list
            .iter()
            .find(|s| s.key == key)
            .expect("the list has every object");
        assert_eq!(
            state.position.y, 7.0,
            "as node 3 last told, by way of the dead leader"
        );
        assert_eq!(
            room.members[&at(2)]
                .state(room.now, key)
                .expect("known")
                .position
                .y,
            7.0
        );
    }
    assert!(all_held_once(&room, 8));
}

/// ST-33: a polite leave needs no timeout.
#[test]
fn st_33_leaving_is_quick() {
    let mut room = room(config(), 8, |_, _| 2.0);
    for i in 1..=2 {
        room.enter(at(i), MachineId(i));
    }
    room.run(5.0, step);
    let now = room.now;
    room.members.get_mut(&at(2)).expect("there").leave(now);
    room.run(0.05, step);
    room.kill(at(2));
    room.run(0.2, step);
    assert_eq!(groups_of(&room), [vec![1]]);
    assert!(all_held_once(&room, 8));
}

/// ST-34: between an allocation and its start everyone simulates everything and still serves the old allocation; epochs never mix.
#[test]
fn st_34_nothing_is_unsimulated_while_a_newcomer_is_taken_in() {
    let mut room = room(config(), 8, |a, b| 5.0 + (a.0 * 7 + b.0 * 3) as f64 % 9.0);
    for i in 1..=2 {
        room.enter(at(i), MachineId(i));
    }
    room.run(5.0, step);
    room.enter(at(3), MachineId(3));
    let mut preparing = 0;
    for _ in 0..400 {
        room.run(0.01, step);
        for (address, member) in &room.members {
            preparing += u32::from(member.is_preparing());
            if member.epoch().is_none() {
                continue;
            }
            for key in (0..8).map(ObjectKey::persistent) {
                let epoch = member.epoch().expect("it has one");
                let by_others = room.members.values().any(|o| o.serves(epoch, key));
                assert!(
                    member.simulates(key) || by_others,
                    "{key} in the view of {address}"
                );
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        for member in room.members.values() {
            for key in (0..8)
                .map(ObjectKey::persistent)
                .filter(|key| member.holds(*key))
            {
                assert!(seen.insert((member.epoch(), key)), "{key} has two holders");
            }
        }
    }
    assert!(preparing > 0, "it was looked at while it happened");
    // ST-35: who leads before and after keeps on leading; nobody has to find it again.
    let leader = (1..=3)
        .map(at)
        .find(|a| room.members[a].is_leader())
        .expect("someone leads");
    let count = |event| {
        room.happened
            .iter()
            .filter(|(_, who, e)| *who == leader && *e == event)
            .count()
    };
    assert_eq!(
        (count(MemberEvent::Promoted), count(MemberEvent::Demoted)),
        (1, 0)
    );
    assert_eq!(groups_of(&room), [vec![1, 2, 3]]);
}

/// ST-20, ST-52: objects that cross are transferred, at every moment by one holder at most, and none is lost.
#[test]
fn st_20_objects_change_hands_as_they_move() {
    let mut room = room(config(), 0, |_, _| 5.0);
    for id in 0..6 {
        let state = moving(ObjectKey::persistent(id), 5.0 + 10.0 * id as f64, 20.0, 8.0);
        assert!(room.coordinator.add_object(SimTime::ZERO, ball(id), state));
    }
    for i in 1..=4 {
        room.enter(at(i), MachineId(i));
    }
    room.run(5.0, step);
    let mut owners = std::collections::BTreeSet::new();
    for _ in 0..2000 {
        room.run(0.01, step);
        for id in 0..6 {
            let holders = room
                .members
                .values()
                .filter(|m| m.holds(ObjectKey::persistent(id)))
                .count();
            assert!(holders <= 1, "{id} has {holders} holders at {}", room.now);
            owners.insert((id, holder(&room, id)));
        }
    }
    assert!(owners.len() > 12, "they were handed over often: {owners:?}");
    room.run(0.2, |_, _| {});
    assert!(
        (0..6).all(|id| holder(&room, id).is_some()),
        "and none is lost"
    );
}

/// ST-32: bounded jitter below the thresholds' distance changes nothing, near the thresholds or not.
#[test]
fn st_32_no_flapping_under_bounded_jitter() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static DICE: AtomicU64 = AtomicU64::new(1);
    // Round trips between 20 and 70 ms, 45 in the mean, for nodes 1 and 2 against 3 and 4; within each pair 10 to 34, 22 in the mean. Single ones are on the wrong side of
    // inclusion (30) and rejection (60); the averages are not.
    let delay = |a: Address, b: Address| {
        let dice = DICE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed) >> 40;
        let jitter = dice as f64 / (1_u64 << 24) as f64;
        let near = (a.0 <= 2) == (b.0 <= 2) || a.0 == 0 || b.0 == 0;
        if near {
            5.0 + 12.0 * jitter
        } else {
            10.0 + 25.0 * jitter
        }
    };
    let mut room = room(config(), 4, delay);
    for i in 1..=4 {
        room.enter(at(i), MachineId(i));
    }
    room.run(8.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2], vec![3, 4]]);
    let before = room.decided.len();
    room.run(120.0, step);
    let changes = room.decided[before..].iter().filter(|(_, e)| {
        matches!(
            e,
            CoordinatorEvent::Allocated { .. } | CoordinatorEvent::Voted { .. }
        )
    });
    assert_eq!(changes.count(), 0);
}

/// ST-32: node 2 is near 1 and 3, which are about as far from each other as rejection. Somebody is for 3, and 1 abstains while its average is just below: 3 comes in. When it is
/// just above, 3 goes, and that is that, until it is clearly nearer. (Found by the group soak's runs near the thresholds: 3 went in and out for ever.)
#[test]
fn st_32_no_flapping_about_a_node_that_only_some_are_near() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static APART_MS: AtomicU64 = AtomicU64::new(29);
    let delay = |a: Address, b: Address| match (a.0.min(b.0), a.0.max(b.0)) {
        (1, 3) => APART_MS.load(Ordering::Relaxed) as f64,
        _ => 12.0,
    };
    let mut room = room(config(), 4, delay);
    for i in 1..=3 {
        room.enter(at(i), MachineId(i));
    }
    room.run(15.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2, 3]], "1 abstains at 58 ms");
    for round in 0..20 {
        APART_MS.store(29 + 2 * (round % 2), Ordering::Relaxed);
        room.run(15.0, step);
    }
    let votes = |room: &Room, kind: VoteKind| {
        let passed = |(_, event): &&(SimTime, CoordinatorEvent)| matches!(event, CoordinatorEvent::Voted { kind: k, passed: true, .. } if *k == kind);
        room.decided.iter().filter(passed).count()
    };
    assert_eq!(votes(&room, VoteKind::Rejection), 1, "{:?}", room.decided);
    assert_eq!(votes(&room, VoteKind::Inclusion), 1, "before that");
    assert_eq!(groups_of(&room).len(), 2);
    APART_MS.store(21, Ordering::Relaxed);
    room.run(40.0, step);
    assert_eq!(
        groups_of(&room),
        [vec![1, 2, 3]],
        "42 ms is near enough again"
    );
}

/// ST-21: the state in a transfer may have been heard already, by way of the leader, while the transfer was resent. It is taken all the
/// same. (Found by seed 256 of the group soak: the object was nobody's from then on.)
#[test]
fn st_21_a_transfer_that_was_heard_of_before_is_taken() {
    let mut room = room(config(), 8, |_, _| 2.0);
    for i in 1..=2 {
        room.enter(at(i), MachineId(i));
    }
    room.run(5.0, step);
    let key = (0..8)
        .map(ObjectKey::persistent)
        .find(|key| room.members[&at(1)].holds(*key))
        .expect("some");
    let (now, epoch) = (room.now, room.members[&at(1)].epoch().expect("it works"));
    let state = room.members[&at(1)].state(now, key).expect("it holds it");
    // It goes over the border, and what goes to node 2 directly is late.
    room.shut(at(1), at(2), true);
    let one = room.members.get_mut(&at(1)).expect("there");
    one.put(
        ObjectState {
            position: state.position.with_x(60.0),
            ..state
        },
        true,
    );
    one.finish_step(now);
    let gone = one.state(now, key).expect("known");
    room.run(0.01, |_, _| {});
    room.shut(at(1), at(2), false);
    assert!(holder(&room, key.id).is_none(), "on its way");
    room.say(
        at(1),
        at(2),
        Message::NodeUpdate {
            epoch,
            states: vec![gone],
        },
    );
    room.say(
        at(1),
        at(2),
        Message::Transfer {
            epoch,
            hand_off: false,
            states: vec![gone],
        },
    );
    assert!(room.members[&at(2)].holds(key));
    // Twice is once, and an older one is none.
    room.say(
        at(1),
        at(2),
        Message::Transfer {
            epoch,
            hand_off: false,
            states: vec![gone],
        },
    );
    assert_eq!(holder(&room, key.id), room.members[&at(2)].id());
}
