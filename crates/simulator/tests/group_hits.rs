//! Avatars of two groups meet: a hit both groups agree on before it happens (issue 7, deliver 5).

use domain::{Bounds, SimTime};
use glam::{DVec3, Vec3};
use groups::room::Room;
use groups::{
    Address, Axes, Division, GroupConfig, GroupId, MachineId, MemberEvent, ObjectClass, ObjectInfo,
    ObjectKey, ObjectState, PingConfig,
};
use simulator::groups::{AvatarAgreement, Word, in_metres};
use station::{Command, Event, Hit, Protocol, Settings, State};

const FRAME: SimTime = SimTime(20_000_000);

/// Two nodes too far apart for one group, a client on each machine.
fn two_groups() -> Room {
    let world = Bounds {
        min: DVec3::splat(-50.0),
        max: DVec3::splat(50.0),
    };
    let config = GroupConfig {
        pings: PingConfig {
            shortest_secs: 1.0,
            longest_secs: 5.0,
            ..PingConfig::default()
        },
        flush_secs: 0.02,
        ..GroupConfig::default()
    };
    let division = Division::new(world, Axes::Ground).expect("a good world");
    let delay = |a: Address, b: Address| match (a.0, b.0) {
        (0, 1 | 101) | (1 | 101, 0) => 30.0,
        (0, _) | (_, 0) => 35.0,
        _ => 50.0,
    };
    let mut room = Room::new(config, division, SimTime::from_millis(5.0), move |a, b| {
        SimTime::from_millis(delay(a, b))
    });
    let info = ObjectInfo {
        key: ObjectKey::persistent(1),
        class: ObjectClass::Avatar,
        kind: 0,
        extent_m: 0.5,
    };
    for i in 1..=2 {
        room.enter(Address(i), MachineId(i));
        room.enter_client(Address(100 + i), MachineId(i), vec![info]);
        room.run(1.0, |_, _| {});
    }
    room.run(4.0, |_, _| {});
    assert_eq!(
        room.coordinator.groups().count(),
        2,
        "50 ms each way: above every threshold"
    );
    room
}

struct Walker {
    node: Address,
    client: Address,
    key: ObjectKey,
    home: GroupId,
    start: DVec3,
    velocity: DVec3,
}

fn walker(room: &Room, i: u64, start: DVec3, velocity: DVec3) -> Walker {
    let client = Address(100 + i);
    let id = room.clients[&client].id().expect("it has joined");
    let home = room.members[&Address(i)].group().expect("it has a group");
    Walker {
        node: Address(i),
        client,
        key: ObjectKey::of_client(id, 1).expect("small"),
        home,
        start,
        velocity,
    }
}

#[test]
fn a_hit_between_avatars_of_two_groups_is_agreed() {
    for settings in [
        Settings::published(Protocol::MotionLock),
        Settings::improved(),
    ]
    .map(in_metres)
    {
        let mut room = two_groups();
        let walkers = [
            walker(
                &room,
                1,
                DVec3::new(-6.0, 1.0, 0.0),
                DVec3::new(3.0, 0.0, 0.0),
            ),
            walker(
                &room,
                2,
                DVec3::new(6.0, 1.0, 0.0),
                DVec3::new(-3.0, 0.0, 0.0),
            ),
        ];
        let groups = walkers.each_ref().map(|walker| walker.home);
        let mut agreement = AvatarAgreement::new(&groups, 1, &settings);
        for walker in &walkers {
            assert!(agreement.add(
                walker.key,
                walker.home,
                0.5,
                State::moving(walker.start, walker.velocity)
            ));
        }
        let begin = room.now;
        let mut hits: Vec<(GroupId, Hit)> = Vec::new();
        let mut frame = 0_u64;
        while hits.len() < 2 && frame < 200 {
            frame += 1;
            let now = SimTime(FRAME.0 * frame);
            for walker in &walkers {
                // Until it is hit, the user walks on; where its avatar is, is what its group and the others are told.
                let position = walker.start + walker.velocity * now.as_secs();
                if hits.is_empty() {
                    let wanted = State::moving(position, walker.velocity);
                    agreement.command(walker.key, Command::Follow(wanted));
                }
                let shown = agreement
                    .view(walker.home, walker.key)
                    .expect("it is there")
                    .physics;
                let state = ObjectState {
                    velocity: shown.velocity.as_vec3(),
                    ..ObjectState::at_rest(ObjectKey::persistent(1), shown.position)
                };
                room.act(walker.client, 1, state);
            }
            let (events, words) = agreement.frame(now);
            hits.extend(events.into_iter().filter_map(|(group, event)| match event {
                Event::Hit(hit) => Some((group, hit)),
                _ => None,
            }));
            // Leader to coordinator to leader: 30 and 35 ms.
            for word in words {
                let leader = walkers.iter().find(|walker| walker.home == word.from);
                let leader = room.members.get_mut(&leader.expect("one of two").node);
                assert!(leader.expect("there").tell_group(word.to, word.bytes));
            }
            let since = room.happened.len();
            room.run(FRAME.as_secs(), |_, _| {});
            for (_, at, event) in &room.happened[since..] {
                if let MemberEvent::Agreement { from, bytes } = event {
                    let word = Word {
                        from: *from,
                        to: room.members[at].group().expect("it has one"),
                        bytes: bytes.clone(),
                    };
                    agreement.hear(now + FRAME, &word);
                }
            }
        }
        let [(one, first), (other, second)] = hits[..] else {
            panic!("both groups register one hit: {hits:?}");
        };
        assert_ne!(one, other, "each group its own");
        assert_eq!(
            (first.pair, first.index),
            (second.pair, second.index),
            "the same hit"
        );
        let apart = first
            .scheduled
            .max(second.scheduled)
            .since(first.scheduled.min(second.scheduled));
        assert!(
            apart <= FRAME,
            "at the same time: {} and {}",
            first.scheduled,
            second.scheduled
        );
        for (a, b) in first.velocities.iter().zip(second.velocities) {
            assert!(a.distance(b) < 0.2, "with the same outcome: {a} and {b}");
        }
        assert!(
            first
                .velocities
                .iter()
                .any(|v| v.as_vec3().dot(Vec3::X) < 0.0),
            "they turn back"
        );
        // 11 m between their surfaces at 6 m/s: 1.83 s. Both walk straight on, so that either foresees it exactly.
        let ideal = 11.0 / 6.0;
        let late = first.scheduled.as_secs() - ideal;
        println!("{:?}: {late:+.3} s", settings.protocol);
        assert!(late.abs() < FRAME.as_secs(), "{}", first.scheduled);
        assert!(room.now > begin);
        // Meanwhile the relay has told each group of the other's avatar.
        for (i, walker) in walkers.iter().enumerate() {
            let other = &room.members[&Address(2 - i as u64)];
            assert!(other.last_heard(walker.key).is_some(), "relayed");
        }
    }
}
