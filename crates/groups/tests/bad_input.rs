//! Bad input: unknown objects, stale versions, votes from non-members, absurd pings are rejected, counted and change nothing.

use crate::common::*;
use domain::SimTime;
use glam::{DVec3, Vec3};
use groups::room::{COORDINATOR, Room};
use groups::*;

fn settled() -> Room {
    let far = |a: Address, b: Address| a == at(9) || b == at(9);
    let mut room = room(config(), 8, move |a, b| if far(a, b) { 50.0 } else { 2.0 });
    for i in 1..=3 {
        room.enter(at(i), MachineId(i));
    }
    room.run(5.0, step);
    room.enter(at(9), MachineId(9));
    room.enter_client(client_at(1), MachineId(1), vec![avatar()]);
    room.run(5.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2, 3], vec![9]]);
    room.act(
        client_at(1),
        1,
        moving(ObjectKey::persistent(1), 20.0, 10.0, 0.0),
    );
    room.run(1.0, step);
    let known = |node: u64| room.members[&at(node)].avatars(room.now).len();
    assert_eq!(
        (known(1), known(9)),
        (1, 1),
        "the avatar is known to all groups"
    );
    room
}

/// Takes every `name` with what is between the bracket it ends with and that bracket's fellow out of a text.
fn without(text: &str, name: &str) -> String {
    let mut parts = text.split(name);
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut depth = 1;
        let end = part.find(|c| {
            depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            depth == 0
        });
        left += &part[end.expect("brackets are closed") + 1..];
    }
    left
}

/// Everything a member knows, plans and waits for: objects, avatars, delays, allocations past, present and prepared, what gathers to be sent.
/// Only what was refused and when it last heard of whom are left out: a refused message is a sign of life all the same.
fn belief(room: &Room, node: u64) -> String {
    let text = format!("{:?}", room.members[&at(node)]);
    let text = without(&text, "rejections: Rejections {");
    without(&text, " heard: {")
}

/// The same of the coordinator, with the votes that run.
fn coordinators_belief(room: &Room) -> String {
    let text = format!("{:?}", room.coordinator);
    let text = without(&text, "rejections: Rejections {");
    without(&text, " heard: SimTime(")
}

/// Gives node 1 a message: it must be refused, counted, and neither change nor send anything.
fn refused(room: &mut Room, what: &str, from: Address, message: Message) {
    let (before, now) = (belief(room, 1), room.now);
    let member = room.members.get_mut(&at(1)).expect("there");
    let counted = member.rejections().total();
    member.handle_message(now, from, message);
    assert_eq!(member.poll_transmit(), None, "{what} is not passed on");
    assert_eq!(member.poll_event(), None, "{what} is no event");
    assert!(member.rejections().total() > counted, "{what} is counted");
    assert_eq!(belief(room, 1), before, "{what}");
}

/// The belief that is compared is not blind: it sees avatars, delays and votes.
#[test]
fn the_belief_shows_avatars_delays_and_votes() {
    let mut room = settled();
    let before = (belief(&room, 1), coordinators_belief(&room));
    for part in [
        "pinger: Pinger",
        "samples: [",
        "repository: {",
        "past: Past",
    ] {
        assert!(before.0.contains(part), "{part} of a member");
    }
    assert!(!before.0.contains("Rejections") && !before.1.contains("Rejections"));
    assert!(before.1.contains("votes: {}"), "none runs");
    let now = room.now;
    let request = Message::VoteRequest {
        kind: VoteKind::Rejection,
        about: NodeId(3),
    };
    room.coordinator.handle_message(now, at(1), request);
    assert!(!coordinators_belief(&room).contains("votes: {}"));
    let act = moving(ObjectKey::persistent(1), 21.0, 10.0, 0.0);
    room.act(client_at(1), 1, act);
    assert_ne!(belief(&room, 1), before.0, "the avatar has moved");
}

fn state(id: u64, x: f64) -> ObjectState {
    ObjectState {
        stamp: SimTime::from_secs(1000.0),
        version: Version {
            epoch: GroupEpoch(1000),
            count: 1,
            author: NodeId(2),
        },
        ..moving(ObjectKey::persistent(id), x, 1.0, 0.0)
    }
}

#[test]
fn members_refuse_count_and_change_nothing() {
    let mut room = settled();
    let epoch = room.members[&at(1)].epoch().expect("it has one");
    let other = room.members[&at(9)].epoch().expect("it has one");
    let old = GroupEpoch(epoch.0 - 1);
    let held = (0..8)
        .find(|id| room.members[&at(1)].holds(ObjectKey::persistent(*id)))
        .expect("some");
    let not_held = (0..8)
        .find(|id| !room.members[&at(1)].holds(ObjectKey::persistent(*id)))
        .expect("some");
    let known = room.members[&at(1)]
        .state(room.now, ObjectKey::persistent(not_held))
        .expect("known");
    let wild = ObjectState {
        velocity: Vec3::splat(f32::NAN),
        ..state(not_held, 1.0)
    };
    let far = ObjectState {
        position: DVec3::splat(1e12),
        ..state(not_held, 1.0)
    };
    let (walking, _) = room.members[&at(1)].avatars(room.now)[0];
    let stranger = Address(77);
    let one = |state| vec![state];
    let hostile: Vec<(&str, Address, Message)> = vec![
        (
            "an unknown object",
            at(2),
            Message::Replicate {
                epoch,
                states: one(state(99, 1.0)),
            },
        ),
        (
            "an unknown object",
            at(2),
            Message::Transfer {
                epoch,
                hand_off: false,
                states: one(state(99, 1.0)),
            },
        ),
        (
            "a stale version",
            at(2),
            Message::Replicate {
                epoch,
                states: one(ObjectState {
                    position: DVec3::ONE,
                    ..known
                }),
            },
        ),
        (
            "a stale version",
            at(2),
            Message::Transfer {
                epoch,
                hand_off: false,
                states: one(ObjectState {
                    version: Version::default(),
                    ..known
                }),
            },
        ),
        (
            "a replicate of what is ours",
            at(2),
            Message::Replicate {
                epoch,
                states: one(state(held, 1.0)),
            },
        ),
        (
            "a transfer of what is ours",
            at(2),
            Message::Transfer {
                epoch,
                hand_off: false,
                states: one(state(held, 1.0)),
            },
        ),
        (
            "a last word nobody waits for",
            at(2),
            Message::Transfer {
                epoch,
                hand_off: true,
                states: one(state(held, 1.0)),
            },
        ),
        (
            "no state at all",
            at(2),
            Message::Replicate {
                epoch,
                states: vec![wild, far],
            },
        ),
        (
            "an old epoch",
            at(2),
            Message::Replicate {
                epoch: old,
                states: one(state(not_held, 1.0)),
            },
        ),
        (
            "another group's epoch",
            at(9),
            Message::Replicate {
                epoch: other,
                states: one(state(not_held, 1.0)),
            },
        ),
        (
            "a node that is no member",
            at(9),
            Message::Replicate {
                epoch,
                states: one(state(not_held, 1.0)),
            },
        ),
        (
            "a node that is no member",
            at(9),
            Message::Transfer {
                epoch,
                hand_off: false,
                states: one(state(not_held, 1.0)),
            },
        ),
        (
            "a stranger",
            stranger,
            Message::Replicate {
                epoch,
                states: one(state(not_held, 1.0)),
            },
        ),
        (
            "a transfer of a time that was never ours",
            at(2),
            Message::Transfer {
                epoch: old,
                hand_off: false,
                states: one(state(not_held, 1.0)),
            },
        ),
        (
            "an avatar by one who does not lead",
            at(2),
            Message::Dispatch {
                epoch,
                iteration: 0,
                states: vec![(walking, true)],
            },
        ),
        ("a stranger's ping", stranger, Message::Ping { nonce: 1 }),
        (
            "an answer to no question",
            at(2),
            Message::Pong { nonce: 12345 },
        ),
        (
            "a start nobody prepared",
            at(2),
            Message::Start {
                epoch: epoch.next(),
            },
        ),
        (
            "a start by one who does not lead",
            at(3),
            Message::Start { epoch },
        ),
        ("ready for what is over", at(2), Message::Ready { epoch }),
        (
            "an allocation by a member",
            at(2),
            Message::Allocate {
                epoch: GroupEpoch(5000),
                group: GroupId(1),
                members: vec![NodeId(1)],
                objects: Vec::new(),
            },
        ),
        (
            "a dispatch by one who does not lead",
            at(2),
            Message::Dispatch {
                epoch,
                iteration: 9,
                states: Vec::new(),
            },
        ),
        (
            "a correction by one who does not lead",
            at(3),
            Message::Correction {
                epoch,
                states: one(state(held, 1.0)),
            },
        ),
        (
            "an update by one who does not lead",
            at(3),
            Message::NodeUpdate {
                epoch,
                states: one(state(not_held, 1.0)),
            },
        ),
        (
            "results of an unknown object",
            at(2),
            Message::Results {
                epoch,
                iteration: 0,
                states: one(state(99, 1.0)),
            },
        ),
        (
            "results of no state",
            at(2),
            Message::Results {
                epoch,
                iteration: 0,
                states: one(wild),
            },
        ),
        (
            "an old allocation",
            COORDINATOR,
            Message::Allocate {
                epoch: old,
                group: GroupId(1),
                members: vec![NodeId(1)],
                objects: Vec::new(),
            },
        ),
        (
            "an allocation without us",
            COORDINATOR,
            Message::Allocate {
                epoch: GroupEpoch(5000),
                group: GroupId(1),
                members: vec![NodeId(2)],
                objects: Vec::new(),
            },
        ),
        (
            "a coordinator's message that is none",
            COORDINATOR,
            Message::Join {
                machine: MachineId(1),
            },
        ),
        (
            "avatars of nobody",
            COORDINATOR,
            Message::AvatarUpdate {
                states: one(state(1, 1.0)),
            },
        ),
        (
            "avatars by a stranger",
            stranger,
            Message::AvatarUpdate {
                states: one(state(1, 1.0)),
            },
        ),
        (
            "an agreement past the coordinator",
            at(9),
            Message::Agreement {
                group: GroupId(2),
                bytes: vec![1],
            },
        ),
    ];
    for (what, from, message) in hostile {
        refused(&mut room, what, from, message);
    }
    // And the group goes on as if nothing had been.
    room.run(2.0, step);
    assert_eq!(groups_of(&room), [vec![1, 2, 3], vec![9]]);
}

/// A transfer that arrives after its allocation is passed on as a last word, if its sender was a member under it. Another's is not: anyone could
/// have its states sent round as a member's.
#[test]
fn late_transfers_count_from_members_of_that_time_only() {
    let mut room = settled();
    let before = room.members[&at(1)].epoch().expect("it has one");
    let now = room.now;
    let extra = moving(ObjectKey::persistent(20), 5.0, 10.0, 0.0);
    assert!(room.coordinator.add_object(now, ball(20), extra));
    room.run(2.0, step);
    assert_ne!(room.members[&at(1)].epoch(), Some(before), "a new time");
    let others = (0..8).find(|id| holder_in(&room, [2, 3], *id));
    let states = vec![state(others.expect("some"), 1.0)];
    let late = |epoch, states| Message::Transfer {
        epoch,
        hand_off: false,
        states,
    };
    let stranger = room.members[&at(1)].rejections().stranger;
    let not_a_member = late(before, states.clone());
    refused(&mut room, "another group's node", at(9), not_a_member);
    assert_eq!(room.members[&at(1)].rejections().stranger, stranger + 1);
    let wild = ObjectState {
        velocity: Vec3::splat(f32::NAN),
        ..states[0]
    };
    let no_state = late(before, vec![wild]);
    refused(&mut room, "no state at all", at(2), no_state);
    // A member of that time, and its own states: passed on to whoever has the object now.
    let now = room.now;
    let member = room.members.get_mut(&at(1)).expect("there");
    member.handle_message(now, at(2), late(before, states.clone()));
    let sent = member.poll_transmit().expect("passed on").message;
    let Message::Transfer {
        hand_off: true,
        states: passed_on,
        ..
    } = sent
    else {
        panic!("a last word, not {sent:?}")
    };
    assert_eq!(passed_on, states);
}

/// Is exactly one of these nodes the holder, in the view of all of them?
fn holder_in(room: &Room, nodes: [u64; 2], id: u64) -> bool {
    let key = ObjectKey::persistent(id);
    nodes.iter().any(|node| room.members[&at(*node)].holds(key))
}

/// Who has changed groups lives in another world: what comes late from the old one does not overwrite it.
#[test]
fn late_transfers_do_not_follow_into_another_group() {
    let mut room = settled();
    let before = room.members[&at(1)].epoch().expect("it has one");
    let objects: Vec<ObjectState> = (0..8)
        .map(|id| moving(ObjectKey::persistent(id), 5.0 + id as f64, 20.0, 0.0))
        .collect();
    let elsewhere = Message::Allocate {
        epoch: GroupEpoch(500),
        group: GroupId(77),
        members: vec![room.members[&at(1)].id().expect("named")],
        objects,
    };
    room.say(COORDINATOR, at(1), elsewhere);
    assert_eq!(room.members[&at(1)].group(), Some(GroupId(77)));
    let late = Message::Transfer {
        epoch: before,
        hand_off: false,
        states: vec![state(3, 70.0)],
    };
    refused(&mut room, "a word from the world before", at(2), late);
}

/// A transfer under an allocation we prepare is kept until it starts, if a member of it sends it; else refused at once.
#[test]
fn early_transfers_are_kept_from_members_only() {
    let mut room = settled();
    let ids = [1, 2, 3].map(|i| room.members[&at(i)].id().expect("named"));
    let epoch = GroupEpoch(500);
    let prepared = Message::Allocate {
        epoch,
        group: room.members[&at(1)].group().expect("it has one"),
        members: ids.to_vec(),
        objects: Vec::new(),
    };
    room.say(COORDINATOR, at(1), prepared);
    assert!(room.members[&at(1)].is_preparing());
    let early = Message::Transfer {
        epoch,
        hand_off: false,
        states: vec![state(3, 70.0)],
    };
    refused(&mut room, "no member of it", at(9), early.clone());
    let before = belief(&room, 1);
    let now = room.now;
    let member = room.members.get_mut(&at(1)).expect("there");
    member.handle_message(now, at(2), early);
    assert_ne!(belief(&room, 1), before, "it is kept");
}

#[test]
fn the_coordinator_refuses_counts_and_changes_nothing() {
    let mut room = settled();
    let epoch = room.members[&at(1)].epoch().expect("it has one");
    room.run(0.1, step);
    let vote = VoteId(999);
    let hostile: Vec<(&str, Address, Message)> = vec![
        (
            "a ballot in no vote",
            at(1),
            Message::VoteCast {
                vote,
                ballot: Ballot::Against,
            },
        ),
        (
            "a vote about a stranger",
            at(1),
            Message::VoteRequest {
                kind: VoteKind::Rejection,
                about: NodeId(99),
            },
        ),
        (
            "a vote about oneself",
            at(1),
            Message::VoteRequest {
                kind: VoteKind::Rejection,
                about: NodeId(1),
            },
        ),
        (
            "a rejection by a non-member",
            at(9),
            Message::VoteRequest {
                kind: VoteKind::Rejection,
                about: NodeId(1),
            },
        ),
        (
            "an inclusion of a member",
            at(1),
            Message::VoteRequest {
                kind: VoteKind::Inclusion,
                about: NodeId(2),
            },
        ),
        (
            "a stranger's vote",
            Address(77),
            Message::VoteRequest {
                kind: VoteKind::Rejection,
                about: NodeId(1),
            },
        ),
        (
            "an answer to no question",
            at(1),
            Message::Candidates {
                round: 5,
                delays: vec![(NodeId(2), f32::NAN)],
            },
        ),
        (
            "results by one who does not lead",
            at(2),
            Message::Results {
                epoch,
                iteration: 0,
                states: vec![state(1, 1.0)],
            },
        ),
        (
            "results of another time",
            at(1),
            Message::Results {
                epoch: GroupEpoch(1),
                iteration: 0,
                states: vec![state(1, 1.0)],
            },
        ),
        (
            "results of an unknown object",
            at(1),
            Message::Results {
                epoch,
                iteration: 0,
                states: vec![state(99, 1.0)],
            },
        ),
        (
            "results that are old",
            at(1),
            Message::Results {
                epoch,
                iteration: 0,
                states: vec![ObjectState {
                    version: Version::default(),
                    ..state(1, 1.0)
                }],
            },
        ),
        (
            "started by one who does not lead",
            at(2),
            Message::Started { epoch },
        ),
        ("started twice", at(1), Message::Started { epoch }),
        (
            "someone's avatar by a node",
            at(1),
            Message::AvatarUpdate {
                states: vec![state(1, 1.0)],
            },
        ),
        (
            "an unknown client's avatar",
            at(1),
            Message::AvatarUpdate {
                states: vec![ObjectState {
                    key: ObjectKey { client: 5, id: 1 },
                    ..state(1, 1.0)
                }],
            },
        ),
        ("a leader's message", at(1), Message::Start { epoch }),
    ];
    for (what, from, message) in hostile {
        let (before, counted) = (
            coordinators_belief(&room),
            room.coordinator.rejections().total(),
        );
        let now = room.now;
        room.coordinator.handle_message(now, from, message);
        assert_eq!(room.coordinator.poll_transmit(), None, "{what}");
        assert_eq!(room.coordinator.poll_event(), None, "{what}");
        assert_eq!(coordinators_belief(&room), before, "{what}");
        assert!(
            room.coordinator.rejections().total() > counted,
            "{what} is counted"
        );
    }
}

/// A running vote: neither a non-member's ballot nor the accused's nor a second one counts.
#[test]
fn ballots_count_once_and_from_members_only() {
    let mut room = settled();
    room.run(3.0, step);
    let now = room.now;
    room.coordinator.handle_message(
        now,
        at(1),
        Message::VoteRequest {
            kind: VoteKind::Rejection,
            about: NodeId(3),
        },
    );
    let mut vote = None;
    while let Some(transmit) = room.coordinator.poll_transmit() {
        if let Message::VoteCall { vote: id, .. } = transmit.message {
            vote = Some(id);
        }
    }
    let vote = vote.expect("it was called");
    let before = room.coordinator.rejections().bad_ballot;
    let against = Message::VoteCast {
        vote,
        ballot: Ballot::Against,
    };
    room.coordinator.handle_message(now, at(9), against.clone());
    room.coordinator.handle_message(now, at(3), against.clone());
    room.coordinator.handle_message(
        now,
        at(1),
        Message::VoteCast {
            vote,
            ballot: Ballot::For,
        },
    );
    room.coordinator.handle_message(now, at(1), against.clone());
    assert_eq!(room.coordinator.rejections().bad_ballot, before + 3);
    room.coordinator.handle_message(
        now,
        at(2),
        Message::VoteCast {
            vote,
            ballot: Ballot::For,
        },
    );
    assert_eq!(groups_of(&room), [vec![1, 2, 3], vec![9]]);
}

/// Candidate lists with absurd delays: those entries do not count, the others do.
#[test]
fn absurd_delays_in_a_candidate_list_are_counted() {
    let mut room = room(config(), 1, |_, _| 2.0);
    room.enter(at(1), MachineId(1));
    room.enter(at(2), MachineId(2));
    room.run(0.5, step);
    room.shut(at(1), COORDINATOR, true);
    room.run(config().settle_secs, step);
    room.shut(at(1), COORDINATOR, false);
    let round = room.spoken.iter().find_map(|s| match s.message {
        Message::AskCandidates { round } => Some(round),
        _ => None,
    });
    let round = round.expect("it was asked");
    let delays = vec![
        (NodeId(2), f32::NAN),
        (NodeId(2), -1.0),
        (NodeId(2), f32::INFINITY),
        (NodeId(99), 1.0),
    ];
    let now = room.now;
    room.coordinator
        .handle_message(now, at(1), Message::Candidates { round, delays });
    assert_eq!(room.coordinator.rejections().absurd_ping, 3);
    room.run(0.5, step);
    assert_eq!(
        groups_of(&room),
        [vec![1], vec![2]],
        "1 has not said that 2 is near (votes will have their say later)"
    );
}
