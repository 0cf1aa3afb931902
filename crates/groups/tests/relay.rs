//! Avatars, leaders, clients with and without a node, both modes of operation, and what passes between groups.

use crate::common::*;
use domain::SimTime;
use glam::DVec3;
use groups::room::{COORDINATOR, COORDINATOR_MACHINE, Room};
use groups::*;

/// Two groups, 1+2 and 3+4, 60 ms apart; a client on every node's machine, and one on a machine of its own (105).
fn two_groups(config: GroupConfig, objects: u64) -> Room {
    let side = |a: Address| (a.0 % 100).div_ceil(2);
    let delay = move |a: Address, b: Address| match a.0 == 0 || b.0 == 0 || side(a) == side(b) {
        true => 3.0,
        false => 60.0,
    };
    let mut room = room(config, objects, delay);
    for i in 1..=4 {
        room.enter(at(i), MachineId(i));
    }
    room.run(4.0, step);
    for i in 1..=5 {
        room.enter_client(client_at(i), MachineId(i), vec![avatar()]);
    }
    room.run(1.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2], vec![3, 4]]);
    room
}

fn key_of(room: &Room, i: u64) -> ObjectKey {
    let id = room.clients[&client_at(i)].id().expect("it has joined");
    ObjectKey::of_client(id, 1).expect("small")
}

/// The user of client i walks.
fn act(room: &mut Room, i: u64, x: f64, vx: f32) {
    let now = room.now;
    let state = moving(ObjectKey::persistent(1), x, 10.0, vx);
    room.clients
        .get_mut(&client_at(i))
        .expect("there")
        .act(now, 1, state);
}

fn said<'a>(
    room: &'a Room,
    since: SimTime,
    name: &'a str,
) -> impl Iterator<Item = &'a groups::room::Spoken> {
    room.spoken
        .iter()
        .filter(move |s| s.at >= since && s.message.name() == name)
}

/// ST-36 (§2.9, 1 to 4), ST-40: a client tells its leader, its leader tells the coordinator, that one the other leaders, these their
/// members and clients; a client without a node tells and hears the coordinator.
#[test]
fn st_36_an_avatar_reaches_everyone() {
    let mut room = two_groups(config(), 2);
    assert_eq!(
        room.clients[&client_at(2)].home(),
        Some(at(1)),
        "the leader of its node's group"
    );
    assert_eq!(
        room.clients[&client_at(5)].home(),
        Some(COORDINATOR),
        "ST-40: no node, no leader"
    );
    for i in [2, 5] {
        let since = room.now;
        act(&mut room, i, 30.0, 0.0);
        room.run(1.0, step);
        let key = key_of(&room, i);
        for other in (1..=5).filter(|other| *other != i) {
            let heard = room.clients[&client_at(other)].other(key);
            assert_eq!(
                heard.map(|s| s.position.x),
                Some(30.0),
                "client {other} of client {i}"
            );
        }
        for member in [1, 3] {
            let known = room.members[&at(member)].state(room.now, key);
            assert_eq!(known.map(|s| s.position.x), Some(30.0), "leader {member}");
        }
        let ways: std::collections::BTreeSet<(u64, u64)> = said(&room, since, "AvatarUpdate")
            .map(|s| (s.from.0, s.to.0))
            .collect();
        assert!(
            ways.iter()
                .all(|(from, to)| from.div_ceil(2) == to.div_ceil(2)
                    || *from == 0
                    || *to == 0
                    || *from > 100
                    || *to > 100),
            "nodes of different groups never exchange objects directly: {ways:?}"
        );
    }
}

/// ST-37: the members responsible for an avatar hear of it, and those who were, so that they let go.
#[test]
fn st_37_previously_responsible_members_let_go() {
    let mut room = two_groups(config(), 2);
    let key = key_of(&room, 1);
    act(&mut room, 1, 20.0, 0.0);
    room.run(0.5, step);
    assert!(
        room.members[&at(1)].holds(key) && !room.members[&at(2)].holds(key),
        "x < 40 is node 1's"
    );
    act(&mut room, 1, 60.0, 0.0);
    room.run(0.5, step);
    assert!(!room.members[&at(1)].holds(key) && room.members[&at(2)].holds(key));
    act(&mut room, 1, 40.1, 0.0);
    room.run(0.5, step);
    assert!(
        room.members[&at(1)].holds(key) && room.members[&at(2)].holds(key),
        "it reaches into both"
    );
    act(&mut room, 1, 60.0, 0.0);
    room.run(0.5, step);
    assert!(room.members[&at(2)].holds(key));
    let since = room.now;
    act(&mut room, 1, 20.0, 0.0);
    room.run(0.5, step);
    assert!(
        room.members[&at(1)].holds(key) && !room.members[&at(2)].holds(key),
        "node 2, who does not lead, has let go"
    );
    let told = said(&room, since, "Dispatch").any(|s| {
        let no_longer = |(state, yours): &(ObjectState, bool)| state.key == key && !yours;
        let Message::Dispatch { states, .. } = &s.message else {
            return false;
        };
        s.from == at(1) && s.to == at(2) && states.iter().any(no_longer)
    });
    assert!(
        told,
        "because its leader has told it where the avatar is now"
    );
}

/// ST-25: an object that decides for itself is simulated by both groups, each for itself, and takes the same way in both: its parameters were replicated, not
/// its decisions.
#[test]
fn st_25_an_ai_object_takes_the_same_way_in_both_groups() {
    let mut room = two_groups(config(), 0);
    let key = ObjectKey::persistent(7);
    let ai = AiParameters {
        seed: 11,
        speed: 1.0,
        every_ticks: 50,
    };
    let info = ObjectInfo {
        class: ObjectClass::Ai(ai),
        ..ball(7)
    };
    let now = room.now;
    // In the middle of a part: nobody within a group has another opinion of it either.
    let start = moving(key, 20.0, 20.0, 0.0);
    assert!(room.coordinator.add_object(now, info, start));
    let holder_of = |room: &Room, group: [u64; 2]| {
        let holder = group.into_iter().find(|i| room.members[&at(*i)].holds(key));
        let holder = holder.expect("someone of the group has it");
        room.members[&at(holder)]
            .state(room.now, key)
            .expect("held")
    };
    room.run(1.0, wander);
    let (since, mut ways) = (room.now, std::collections::BTreeSet::new());
    for _ in 0..50 {
        room.run(0.1, wander);
        let [one, other] = [[1, 2], [3, 4]].map(|group| holder_of(&room, group));
        assert_eq!(
            (one.position, one.velocity),
            (other.position, other.velocity)
        );
        ways.insert(format!("{:?}", one.velocity));
    }
    assert!(ways.len() > 5, "it has changed its mind: {ways:?}");
    let corrected = CoordinatorEvent::Corrected(key);
    assert!(room.decided.iter().all(|(_, event)| *event != corrected));
    let corrections = said(&room, since, "Correction").count();
    assert_eq!(corrections, 0, "nobody told the groups where it is");
}

/// Steps like `step`, and lets AI objects decide, a hundred ticks a second.
fn wander(member: &mut Member, now: SimTime) {
    let minds: Vec<(ObjectState, AiParameters)> = member
        .simulated()
        .filter_map(|(state, info)| match info.class {
            ObjectClass::Ai(ai) => Some((*state, ai)),
            _ => None,
        })
        .collect();
    for (state, ai) in minds {
        let velocity = ai.wander((now.as_secs() * 100.0).round() as u64);
        let changed = velocity != state.velocity;
        member.put(ObjectState { velocity, ..state }, changed);
    }
    step(member, now);
}

/// ST-36 (§2.9, 5 to 7): the three cases of a hit on an avatar, and the suppression of other groups' answers.
#[test]
fn st_36_the_coordinators_three_cases() {
    let mut room = two_groups(config(), 2);
    for i in [1, 3, 5] {
        act(&mut room, i, 20.0, 0.0);
    }
    room.run(1.0, step);
    let hit = |room: &mut Room, node: u64, key: ObjectKey, y: f64| {
        let (now, member) = (room.now, room.members.get_mut(&at(node)).expect("there"));
        let state = member.state(now, key).expect("known");
        assert!(member.holds(key), "the node is responsible");
        member.put(
            ObjectState {
                position: state.position.with_y(y),
                stamp: now,
                ..state
            },
            true,
        );
        room.run(0.5, step);
    };
    // Its client is with this group: client and all others hear it.
    let key = key_of(&room, 1);
    hit(&mut room, 1, key, 5.0);
    assert_eq!(
        room.clients[&client_at(1)].own(1).map(|s| s.position.y),
        Some(5.0)
    );
    assert_eq!(
        room.members[&at(3)]
            .state(room.now, key)
            .map(|s| s.position.y),
        Some(5.0),
        "the other group, too"
    );
    // Its client is with another group: nobody outside hears it.
    let key = key_of(&room, 3);
    hit(&mut room, 1, key, 6.0);
    assert_eq!(
        room.clients[&client_at(3)].own(1).map(|s| s.position.y),
        Some(1.0)
    );
    assert_eq!(
        room.members[&at(3)]
            .state(room.now, key)
            .map(|s| s.position.y),
        Some(1.0)
    );
    assert_eq!(
        room.members[&at(1)]
            .state(room.now, key)
            .map(|s| s.position.y),
        Some(6.0),
        "until its client says more"
    );
    act(&mut room, 3, 21.0, 0.0);
    room.run(0.5, step);
    assert_eq!(
        room.members[&at(1)]
            .state(room.now, key)
            .map(|s| s.position.y),
        Some(1.0)
    );
    // Its client is with nobody: the coordinator tells it.
    let key = key_of(&room, 5);
    hit(&mut room, 1, key, 7.0);
    assert_eq!(
        room.clients[&client_at(5)].own(1).map(|s| s.position.y),
        Some(7.0)
    );
}

/// ST-51: an update that is older than what is known, or the same, changes nothing.
#[test]
fn st_51_old_news_are_no_news() {
    let mut room = two_groups(config(), 2);
    act(&mut room, 1, 20.0, 0.0);
    room.run(0.5, step);
    let key = key_of(&room, 1);
    let known = room.members[&at(1)].state(room.now, key).expect("known");
    let before = room.members[&at(1)].rejections().stale_state;
    let stamp = room.members[&at(1)].last_heard(key).expect("known");
    for stamp in [stamp, SimTime(stamp.0 - 1)] {
        let old = ObjectState {
            position: DVec3::new(1.0, 1.0, 1.0),
            stamp,
            ..known
        };
        room.say(
            client_at(1),
            at(1),
            Message::AvatarUpdate { states: vec![old] },
        );
    }
    assert_eq!(room.members[&at(1)].rejections().stale_state, before + 2);
    assert_eq!(
        room.members[&at(1)]
            .state(room.now, key)
            .expect("known")
            .position
            .x,
        20.0
    );
}

/// ST-46: with dead reckoning, members extrapolate, and updates everyone could guess are held back; without, neither.
#[test]
fn st_46_dead_reckoning_saves_updates() {
    let mut sent = Vec::new();
    for dead_reckoning in [true, false] {
        let mut room = two_groups(
            GroupConfig {
                dead_reckoning,
                ..config()
            },
            2,
        );
        let since = room.now;
        for step_number in 0..100 {
            act(&mut room, 1, 45.0 + 0.1 * f64::from(step_number), 2.0);
            room.run(0.05, step);
        }
        sent.push(said(&room, since, "Dispatch").count());
        let key = key_of(&room, 1);
        let leader = &room.members[&at(1)];
        assert_eq!(leader.suppressed_updates() > 0, dead_reckoning);
        let member = &room.members[&at(2)];
        let shown = member.state(room.now, key).expect("known");
        let truth = 45.0 + 0.1 * 100.0;
        assert!(
            (shown.position.x - truth).abs() < 0.25,
            "{} for {truth}",
            shown.position.x
        );
        assert_eq!(
            shown.stamp == room.now,
            dead_reckoning,
            "extrapolated to now, or as last heard"
        );
    }
    assert!(sent[0] * 3 < sent[1], "{sent:?} dispatches");
}

/// ST-38: members of one group that tell different states of an object are corrected above θ_intra; groups above θ_inter.
#[test]
fn st_38_leader_and_coordinator_correct() {
    let mut room = two_groups(config(), 8);
    let key = ObjectKey::persistent(3);
    let y = |room: &Room, node: u64| {
        room.members[&at(node)]
            .state(room.now, key)
            .expect("known")
            .position
            .y
    };
    // Object 3 (x = 35) is node 1's in the first group, node 3's in the second. By less than half an extent: left alone.
    let lift = |room: &mut Room, node: u64, by: f64| {
        let (now, member) = (room.now, room.members.get_mut(&at(node)).expect("there"));
        let state = member.state(now, key).expect("known");
        member.put(
            ObjectState {
                position: state.position.with_y(by),
                stamp: now,
                ..state
            },
            true,
        );
        room.run(2.5, step);
    };
    lift(&mut room, 1, 1.4);
    assert_eq!(
        (y(&room, 1), y(&room, 3)),
        (1.4, 1.0),
        "0.4 m of 1 m is tolerated"
    );
    lift(&mut room, 1, 2.0);
    assert_eq!(
        (y(&room, 1), y(&room, 3)),
        (1.5, 1.5),
        "two groups of two: the middle"
    );
    assert!(
        room.decided
            .iter()
            .any(|(_, e)| *e == CoordinatorEvent::Corrected(key))
    );
}

/// ST-38 within a group: an object that reaches into two parts, hit in both.
#[test]
fn st_38_opinions_within_a_group() {
    let mut room = two_groups(config(), 0);
    let key = ObjectKey::persistent(1);
    let now = room.now;
    assert!(
        room.coordinator
            .add_object(now, ball(1), moving(key, 39.8, 20.0, 0.0))
    );
    room.run(1.0, step);
    assert!(
        room.members[&at(1)].holds(key),
        "its middle is on node 1's side"
    );
    assert!(
        room.members[&at(2)].simulates(key) && !room.members[&at(2)].holds(key),
        "a replica"
    );
    let now = room.now;
    for (node, y) in [(1, 1.0), (2, 1.3)] {
        let member = room.members.get_mut(&at(node)).expect("there");
        let state = member.state(now, key).expect("known");
        member.put(
            ObjectState {
                position: state.position.with_y(y),
                stamp: now,
                ..state
            },
            true,
        );
        member.finish_step(now);
    }
    let since = room.now;
    room.run(0.5, |_, _| {});
    assert!(said(&room, since, "Correction").any(|s| s.from == at(1) && s.to == at(2)));
    let y = room.members[&at(1)]
        .state(room.now, key)
        .expect("known")
        .position
        .y;
    assert!((y - 1.1).abs() < 1e-6, "the holder counts twice: {y}");
}

/// ST-39: a new member hears what it does not hold.
#[test]
fn st_39_a_new_member_hears_the_groups_view() {
    let mut room = room(config(), 8, |_, _| 2.0);
    room.enter(at(1), MachineId(1));
    room.run(2.0, step);
    room.enter(at(2), MachineId(2));
    let since = room.now;
    room.run(5.0, step);
    assert!(said(&room, since, "NodeUpdate").any(|s| s.from == at(1) && s.to == at(2)));
    let member = &room.members[&at(2)];
    assert!((0..8).all(|id| member.state(room.now, ObjectKey::persistent(id)).is_some()));
}

/// ST-55: what is on one machine needs no network. Pings do go out: they measure.
#[test]
fn st_55_the_same_machine_is_bypassed() {
    let mut room = two_groups(config(), 2);
    let since = room.now;
    act(&mut room, 1, 20.0, 0.0);
    act(&mut room, 2, 20.0, 0.0);
    room.run(0.5, step);
    let updates = |from: Address| {
        said(&room, since, "AvatarUpdate")
            .filter(move |s| s.from == from)
            .map(|s| s.local)
            .collect::<Vec<_>>()
    };
    assert!(
        updates(client_at(1)).iter().all(|local| *local),
        "client and leader on machine 1"
    );
    assert!(
        updates(client_at(2)).iter().all(|local| !*local),
        "its leader is on another machine"
    );
    assert!(!updates(client_at(1)).is_empty() && !updates(client_at(2)).is_empty());
}

/// ST-40: machines without a client, and a world without clients, work; see also `st_36_an_avatar_reaches_everyone`.
#[test]
fn st_40_nodes_without_clients() {
    let mut room = room(config(), 4, |_, _| 2.0);
    room.enter(at(1), MachineId(1));
    room.enter(at(2), COORDINATOR_MACHINE);
    room.run(5.0, step);
    assert!(all_held_once(&room, 4));
    assert!(
        said(&room, SimTime::ZERO, "Alive").any(|s| s.from == at(2) && s.local),
        "beside the coordinator"
    );
}

/// ST-47: everything but administration is gathered: between two flushes at most one message per way and kind.
#[test]
fn st_47_states_travel_in_batches() {
    let mut room = two_groups(config(), 0);
    for id in 0..40 {
        let now = room.now;
        let state = moving(ObjectKey::persistent(id), 38.0 + 0.1 * id as f64, 20.0, 0.0);
        assert!(room.coordinator.add_object(now, ball(id), state));
    }
    room.run(2.0, step);
    let since = room.now;
    room.run(2.0, step);
    // Replicates go both ways; results go to the leader, who is node 1.
    for (name, from, to) in [
        ("Replicate", 1, 2),
        ("Replicate", 2, 1),
        ("Results", 2, 1),
        ("Results", 1, 0),
    ] {
        let ways: Vec<_> = said(&room, since, name)
            .filter(|s| s.from == at(from) && s.to == at(to))
            .collect();
        assert!(!ways.is_empty(), "{name} {from} -> {to}");
        let flushes = 2.0 / config().flush_secs;
        assert!(
            ways.len() as f64 <= flushes + 1.0,
            "{} {name} in {flushes} flushes",
            ways.len()
        );
        for spoken in &ways {
            if let Message::Replicate { states, .. } | Message::Results { states, .. } =
                &spoken.message
            {
                let keys: std::collections::BTreeSet<_> = states.iter().map(|s| s.key).collect();
                assert_eq!(keys.len(), states.len(), "ST-23: one state per object");
            }
        }
    }
    let carried = said(&room, since, "Replicate")
        .filter(|s| matches!(&s.message, Message::Replicate { states, .. } if states.len() >= 5));
    assert!(carried.count() > 0, "many states, few messages");
}

/// ST-44: a synchronised group steps when all have reported and something new has come, and not otherwise.
#[test]
fn st_44_synchronised_iterations() {
    let mut room = two_groups(
        GroupConfig {
            mode: Mode::Synchronised,
            ..config()
        },
        4,
    );
    let steps = |room: &mut Room, acting: bool| {
        let mut count = std::collections::BTreeMap::<NodeId, u32>::new();
        for i in 0..50 {
            if acting {
                act(room, 1, 10.0 + f64::from(i), 0.0);
            }
            room.run(0.02, |member, now| {
                if member.may_step() {
                    *count.entry(member.id().expect("named")).or_default() += 1;
                }
                step(member, now);
            });
        }
        count
    };
    steps(&mut room, true);
    room.run(1.0, step);
    let idle = steps(&mut room, false);
    assert!(
        idle.values().all(|n| *n <= 1),
        "nothing new, no iteration: {idle:?}"
    );
    let busy = steps(&mut room, true);
    assert_eq!(
        busy.len(),
        4,
        "both groups go on with the same news: {busy:?}"
    );
    for pair in [[1, 2], [3, 4]] {
        let [a, b] = pair.map(|i| busy[&room.coordinator.node_at(at(i)).expect("there")]);
        assert!(
            a.abs_diff(b) <= 1 && a > 5,
            "members of one group step together: {busy:?}"
        );
    }
    let since = room.now;
    room.run(0.5, step);
    assert!(
        said(&room, since, "Dispatch").all(|s| s.from == at(1) || s.from == at(3)),
        "leaders dispatch"
    );
}

/// ST-42, ST-44: streams keep no order between them. A leader's first iteration that overtakes its start is done all the same: the leader waits for it.
#[test]
fn st_44_an_iteration_that_overtakes_its_start_is_not_lost() {
    let mut room = two_groups(
        GroupConfig {
            mode: Mode::Synchronised,
            ..config()
        },
        4,
    );
    let member = &room.members[&at(2)];
    let (group, epoch) = (member.group().expect("it has one"), GroupEpoch(500));
    let members = member.members();
    let prepared = Message::Allocate {
        epoch,
        group,
        members,
        objects: Vec::new(),
    };
    room.say(COORDINATOR, at(2), prepared);
    let first = |epoch| Message::Dispatch {
        epoch,
        iteration: 1,
        states: Vec::new(),
    };
    let refused = room.members[&at(2)].rejections().total();
    room.say(at(1), at(2), first(epoch));
    assert_eq!(room.members[&at(2)].rejections().total(), refused, "kept");
    room.say(at(3), at(2), first(epoch));
    assert!(
        room.members[&at(2)].rejections().total() > refused,
        "not of someone who does not lead"
    );
    room.say(at(1), at(2), Message::Start { epoch });
    let member = &room.members[&at(2)];
    assert!(
        !member.is_whole() && member.may_step(),
        "the first iteration"
    );
}

/// ST-45: an unsynchronised group steps freely, with or without news.
#[test]
fn st_45_unsynchronised_members_run_freely() {
    let mut room = two_groups(config(), 4);
    assert_eq!(GroupConfig::default().mode, Mode::Unsynchronised);
    let mut steps = 0;
    room.run(1.0, |member, now| {
        steps += u32::from(member.may_step());
        step(member, now);
    });
    assert_eq!(steps, 4 * 100, "every tick of every node");
}

/// ST-53: avatars of a machine that dies disappear, or are kept for when it comes back.
#[test]
fn st_53_avatars_of_the_dead() {
    for lost_avatars in [LostAvatars::Remove, LostAvatars::Keep] {
        let mut room = two_groups(
            GroupConfig {
                lost_avatars,
                ..config()
            },
            2,
        );
        act(&mut room, 2, 33.0, 0.0);
        room.run(1.0, step);
        let key = key_of(&room, 2);
        room.kill(at(2));
        room.kill(client_at(2));
        room.run(7.0, step);
        assert!(
            room.members[&at(1)].state(room.now, key).is_none(),
            "gone from the world"
        );
        room.enter_client(client_at(2), MachineId(2), vec![avatar()]);
        room.enter(at(2), MachineId(2));
        room.run(6.0, step);
        let again = key_of(&room, 2);
        assert_ne!(again, key, "names are never given twice");
        let known = room.members[&at(1)]
            .state(room.now, again)
            .map(|s| s.position.x);
        let expected = (lost_avatars == LostAvatars::Keep).then_some(33.0);
        assert_eq!(known, expected, "{lost_avatars:?}");
    }
}

/// ST-43: the components of a node, each seen at work: admin, object receiver (a leader's), object broker and peer communication,
/// group member listen, ping, group leader. Here they are methods of one value; threads are the driver's.
#[test]
fn st_43_the_components_of_a_node() {
    let mut room = two_groups(config(), 8);
    act(&mut room, 3, 60.0, 0.0);
    let since = room.now;
    room.run(3.0, step);
    let heard = |to: u64, name: &str| {
        room.spoken
            .iter()
            .any(|s| s.to == at(to) && s.message.name() == name)
    };
    assert!(heard(2, "Allocate"), "administration");
    assert!(
        heard(1, "AvatarUpdate") && !heard(2, "AvatarUpdate"),
        "object receiver: leaders only"
    );
    assert!(
        heard(2, "Replicate") && heard(1, "Replicate"),
        "peer communication and object broker"
    );
    assert!(
        heard(2, "Dispatch") && heard(2, "NodeUpdate") && !heard(1, "Dispatch"),
        "group member listen, not on the leader"
    );
    assert!(said(&room, since, "Ping").count() > 0 && said(&room, since, "Pong").count() > 0);
    assert!(heard(1, "Results") && !heard(2, "Results"), "group leader");
}

/// ST-42: every message has its stream; that none waits behind another stream's is seen where they travel (`simulator::groups`,
/// `st_42_a_ballot_passes_a_huge_transfer`).
#[test]
fn st_42_streams_are_separate() {
    let messages = [
        (Message::Alive, Stream::Admin),
        (
            Message::Results {
                epoch: GroupEpoch(1),
                iteration: 0,
                states: Vec::new(),
            },
            Stream::Object,
        ),
        (
            Message::Transfer {
                epoch: GroupEpoch(1),
                hand_off: false,
                states: Vec::new(),
            },
            Stream::Peer,
        ),
        (Message::Ping { nonce: 1 }, Stream::Ping),
    ];
    for (message, stream) in messages {
        assert_eq!(message.stream(), stream);
    }
    // A lost results message does not hold an admin message back: they share no order unless both are reliable.
    let choice = TransportChoice::default();
    let results = Message::Results {
        epoch: GroupEpoch(1),
        iteration: 0,
        states: Vec::new(),
    };
    assert_eq!(
        (results.delivery(choice), Message::Alive.delivery(choice)),
        (Delivery::Unreliable, Delivery::Reliable)
    );
}

/// What leaders agree on travels by way of the coordinator, only between leaders, and changes nothing else.
#[test]
fn agreements_pass_between_leaders() {
    let mut room = two_groups(config(), 2);
    let group = |room: &Room, i: u64| room.members[&at(i)].group().expect("it has one");
    let (here, there) = (group(&room, 1), group(&room, 3));
    let mut tell = |from: u64, to: GroupId, bytes: Vec<u8>| {
        let sent = room.members.get_mut(&at(from)).expect("there");
        let sent = sent.tell_group(to, bytes);
        let (since, before) = (
            room.happened.len(),
            room.coordinator.rejections().misdirected,
        );
        room.run(0.2, step);
        let heard: Vec<_> = room.happened[since..]
            .iter()
            .filter(|(_, _, event)| matches!(event, MemberEvent::Agreement { .. }))
            .map(|(_, at, event)| (*at, event.clone()))
            .collect();
        (
            sent,
            heard,
            room.coordinator.rejections().misdirected - before,
        )
    };
    let passed_on = MemberEvent::Agreement {
        from: here,
        bytes: vec![1, 2, 3],
    };
    assert_eq!(
        tell(1, there, vec![1, 2, 3]),
        (true, vec![(at(3), passed_on)], 0)
    );
    let refused = (false, Vec::new(), 0);
    assert_eq!(tell(2, there, vec![1]), refused, "it does not lead");
    let too_long = vec![0; MAX_AGREEMENT_BYTES + 1];
    assert_eq!(tell(1, there, too_long), refused);
    let nobody = (true, Vec::new(), 1);
    assert_eq!(tell(1, GroupId(999), vec![1]), nobody);
    assert_eq!(tell(1, here, vec![1]), nobody, "with oneself");
    // A member that says it all the same is not heard.
    let message = Message::Agreement {
        group: there,
        bytes: vec![1],
    };
    let before = room.coordinator.rejections().misdirected;
    room.coordinator.handle_message(room.now, at(2), message);
    assert_eq!(room.coordinator.rejections().misdirected, before + 1);
}
