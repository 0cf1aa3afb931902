//! Messages to bytes and back; hostile bytes (issue 7, "bad input"; ST-50).

use domain::{Bounds, SimTime};
use glam::{DVec3, Quat, Vec3};
use groups::*;
use proptest::prelude::*;

fn state(id: u64) -> ObjectState {
    ObjectState {
        key: ObjectKey::persistent(id),
        stamp: SimTime::from_secs(12.5),
        version: Version {
            epoch: GroupEpoch(7),
            count: 300,
            author: NodeId(2),
        },
        position: DVec3::new(1.25, -3.5, 1e6),
        rotation: Quat::from_rotation_y(0.5),
        velocity: Vec3::new(0.0, -9.0, 1.0),
        spin: Vec3::new(0.1, 0.0, 0.0),
    }
}

/// An avatar's state with only what the light form keeps.
fn avatar(id: u64) -> ObjectState {
    ObjectState {
        key: ObjectKey::of_client(ClientId(4), id).expect("small"),
        version: Version::default(),
        position: DVec3::new(1.25, -3.5, 2.0),
        rotation: Quat::IDENTITY,
        spin: Vec3::ZERO,
        ..state(id)
    }
}

fn info(id: u64, class: ObjectClass) -> ObjectInfo {
    ObjectInfo {
        key: ObjectKey::persistent(id),
        class,
        kind: 3,
        extent_m: 0.5,
    }
}

fn population() -> Population {
    let node = NodeInfo {
        node: NodeId(1),
        address: Address(u64::MAX),
        machine: MachineId(9),
        group: GroupId(2),
    };
    let client = ClientInfo {
        client: ClientId(4),
        address: Address(5),
        machine: MachineId(9),
        host: Some(NodeId(1)),
    };
    let avatar = ObjectInfo {
        key: ObjectKey::of_client(ClientId(4), 1).expect("small"),
        ..info(1, ObjectClass::Avatar)
    };
    Population {
        nodes: vec![node],
        clients: vec![
            client,
            ClientInfo {
                host: None,
                ..client
            },
        ],
        avatars: vec![avatar],
    }
}

fn environment() -> Environment {
    let world = Bounds {
        min: DVec3::splat(-10.0),
        max: DVec3::splat(10.0),
    };
    let ai = AiParameters {
        seed: u64::MAX,
        speed: 2.0,
        every_ticks: 30,
    };
    Environment {
        world: 77,
        division: Division::new(world, Axes::Space).expect("good"),
        mode: Mode::Synchronised,
        dead_reckoning: true,
        objects: vec![
            info(1, ObjectClass::Physical),
            info(2, ObjectClass::Static),
            info(3, ObjectClass::Ai(ai)),
        ],
        population: population(),
    }
}

/// One of every kind.
fn all() -> Vec<Message> {
    let (epoch, states) = (GroupEpoch(300), vec![state(1), state(2)]);
    vec![
        Message::Join {
            machine: MachineId(9),
        },
        Message::Leave,
        Message::Alive,
        Message::Candidates {
            round: 5,
            delays: vec![(NodeId(1), 2.5), (NodeId(9), f32::INFINITY)],
        },
        Message::VoteRequest {
            kind: VoteKind::Rejection,
            about: NodeId(3),
        },
        Message::VoteCast {
            vote: VoteId(4),
            ballot: Ballot::Against,
        },
        Message::Started { epoch },
        Message::Welcome {
            node: NodeId(3),
            environment: environment(),
        },
        Message::Populate(population()),
        Message::AskCandidates { round: 5 },
        Message::Allocate {
            epoch,
            group: GroupId(2),
            members: vec![NodeId(1), NodeId(3)],
            objects: states.clone(),
        },
        Message::VoteCall {
            vote: VoteId(4),
            kind: VoteKind::Inclusion,
            about: NodeId(3),
        },
        Message::Unknown,
        Message::Exit,
        Message::Ready { epoch },
        Message::Start { epoch },
        Message::Results {
            epoch,
            iteration: 8,
            states: states.clone(),
        },
        Message::Dispatch {
            epoch,
            iteration: 8,
            states: vec![(avatar(1), true), (avatar(2), false)],
        },
        Message::NodeUpdate {
            epoch,
            states: states.clone(),
        },
        Message::Correction {
            epoch,
            states: states.clone(),
        },
        Message::Replicate {
            epoch,
            states: Vec::new(),
        },
        Message::Transfer {
            epoch,
            hand_off: true,
            states,
        },
        Message::Ping { nonce: u64::MAX },
        Message::Pong { nonce: 0 },
        Message::ClientJoin {
            machine: MachineId(1),
            avatars: vec![info(1, ObjectClass::Avatar)],
        },
        Message::ClientHome {
            client: ClientId(4),
            home: Address(6),
            machine: MachineId(7),
        },
        Message::AvatarUpdate {
            states: vec![avatar(1)],
        },
        Message::AvatarResult {
            states: vec![avatar(1), avatar(2)],
        },
        Message::Agreement {
            group: GroupId(300),
            bytes: vec![0, 1, 0xff],
        },
    ]
}

#[test]
fn every_message_comes_back() {
    for message in all() {
        let bytes = encode(&message);
        assert_eq!(decode(&bytes).as_ref(), Ok(&message), "{}", message.name());
    }
}

/// ST-50: the light forms leave out what does not change.
#[test]
fn st_50_light_forms_are_lighter() {
    let full = encode(&Message::Welcome {
        node: NodeId(3),
        environment: environment(),
    })
    .len();
    let light = encode(&Message::Populate(population())).len();
    assert!(
        light * 2 < full,
        "{light} of {full} bytes: no bounds, no name, no objects of the system"
    );
    let full = encode(&Message::Replicate {
        epoch: GroupEpoch(1),
        states: vec![avatar(1)],
    })
    .len();
    let light = encode(&Message::AvatarUpdate {
        states: vec![avatar(1)],
    })
    .len();
    assert!(light * 10 < full * 7, "{light} of {full} bytes");
}

#[test]
fn every_cut_and_every_extra_byte_is_an_error() {
    for message in all() {
        let bytes = encode(&message);
        for end in 0..bytes.len() {
            assert!(
                decode(&bytes[..end]).is_err(),
                "{} cut at {end}",
                message.name()
            );
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(
            decode(&longer).is_err(),
            "{} with a byte more",
            message.name()
        );
    }
}

#[test]
fn other_versions_kinds_and_sizes_are_refused() {
    assert!(decode(&[]).is_err());
    assert!(decode(&[VERSION + 1, 1]).is_err());
    assert!(decode(&[VERSION, 29]).is_err());
    let mut huge = encode(&Message::Leave);
    huge.resize(MAX_MESSAGE_BYTES + 1, 0);
    assert!(decode(&huge).is_err());
    // A list that promises more than there are bytes, and more than is allowed.
    let promise = [VERSION, 20, 1, 0xff, 0xff, 0xff, 0xff, 0x0f];
    assert!(decode(&promise).is_err());
    let too_many = Message::Replicate {
        epoch: GroupEpoch(1),
        states: vec![state(1); MAX_STATES + 1],
    };
    assert!(decode(&encode(&too_many)).is_err());
    let too_long = Message::Agreement {
        group: GroupId(1),
        bytes: vec![0; MAX_AGREEMENT_BYTES + 1],
    };
    assert!(decode(&encode(&too_long)).is_err());
}

#[test]
fn states_no_object_can_have_are_refused() {
    let bad = [
        ObjectState {
            position: DVec3::new(f64::NAN, 0.0, 0.0),
            ..state(1)
        },
        ObjectState {
            position: DVec3::new(1e9, 0.0, 0.0),
            ..state(1)
        },
        ObjectState {
            velocity: Vec3::splat(f32::INFINITY),
            ..state(1)
        },
        ObjectState {
            rotation: Quat::from_xyzw(0.0, 0.0, 0.0, 3.0),
            ..state(1)
        },
        ObjectState {
            key: ObjectKey { client: -2, id: 1 },
            ..state(1)
        },
    ];
    for state in bad {
        let message = Message::Replicate {
            epoch: GroupEpoch(1),
            states: vec![state],
        };
        assert!(decode(&encode(&message)).is_err(), "{state:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Any bytes: an answer, no panic; what is read can be written again and read the same.
    #[test]
    fn any_bytes_are_read_without_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), tag in 0u8..30) {
        if bytes.len() >= 2 {
            bytes[0] = VERSION;
            bytes[1] = tag;
        }
        if let Ok(message) = decode(&bytes) {
            let _ = encode(&message);
        }
    }

    /// Good messages with a few bytes changed.
    #[test]
    fn damaged_messages_are_read_without_panic(which in 0usize..29, at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = encode(&all()[which]);
        let at = at.index(bytes.len());
        bytes[at] = to;
        let _ = decode(&bytes);
    }
}
