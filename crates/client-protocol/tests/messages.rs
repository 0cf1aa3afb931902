//! Every message means the same after a journey as bytes; no bytes do harm; the bytes are those of the protocol's page.

use client_protocol::*;
use domain::{
    BodyId, CompoundPart, Epoch, Layout, Material, Motion, Rect, RegionId, Shape, SimTime,
    StaticId, Tick, TickLength,
};
use glam::{DVec3, Quat, Vec3};
use proptest::prelude::*;

const RECT: Rect = Rect {
    min: [-1.0, -2.0],
    max: [3.0, 4.0],
};

const NETWORK: EmulatedNetwork = EmulatedNetwork {
    latency_ms: 20.0,
    jitter_ms: 5.0,
    loss: 0.01,
};

fn shapes() -> Vec<Shape> {
    let corners = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
    let ball = Shape::Sphere { radius: 0.5 };
    let part = CompoundPart {
        position: Vec3::X,
        rotation: Quat::IDENTITY,
        shape: ball.clone(),
    };
    vec![
        ball,
        Shape::Cuboid { size: Vec3::ONE },
        Shape::Capsule {
            radius: 0.3,
            height: 2.0,
        },
        Shape::Convex {
            points: corners.clone().into(),
        },
        Shape::Mesh {
            vertices: corners.into(),
            triangles: vec![[0, 1, 2], [1, 2, 3]].into(),
        },
        Shape::Compound {
            parts: vec![part].into(),
        },
        Shape::Plane,
    ]
}

fn commands() -> Vec<Command> {
    let position = DVec3::new(1.0, 2.0, 3.0);
    let body = BodyId(1 << 63 | 7);
    let mut commands = vec![
        Command::Impulse {
            body,
            impulse: Vec3::Y,
            at: None,
        },
        Command::Impulse {
            body,
            impulse: Vec3::Y,
            at: Some(position),
        },
        Command::Velocity {
            body,
            velocity: Vec3::X,
        },
        Command::Remove { body },
        Command::Reset,
        Command::SwitchScene(SceneChoice::BuiltIn("orbit".to_owned())),
        Command::SwitchScene(SceneChoice::Text("name = \"ü\"".to_owned())),
        Command::DefineRegions(RegionPlan::Layout {
            layout: Layout::Grid,
            count: 4,
        }),
        Command::DefineRegions(RegionPlan::Boxes(vec![RECT])),
        Command::Inject(Box::new(Injection {
            min: DVec3::ZERO,
            max: DVec3::ONE,
            rate: 20.0,
            secs: 5.0,
            velocity_min: Vec3::NEG_ONE,
            velocity_max: Vec3::ONE,
            shapes: shapes(),
        })),
        Command::Ray {
            origin: position,
            direction: Vec3::NEG_Y,
            reach: 10.0,
        },
        Command::KillServer {
            server: "server-2".to_owned(),
        },
        Command::SetNetwork(NETWORK),
        Command::StopInjections,
    ];
    for shape in shapes() {
        commands.push(Command::Spawn(Box::new(Spawn::new(
            shape.clone(),
            position,
        ))));
        commands.push(Command::Overlap {
            shape: shape.clone(),
            position,
            rotation: Quat::IDENTITY,
        });
        commands.push(Command::PutUp(Box::new(StaticPiece {
            shape,
            material: Material::default(),
            position,
            rotation: Quat::IDENTITY,
        })));
    }
    commands
}

fn from_client() -> Vec<ToGateway> {
    let mut messages = vec![
        ToGateway::Hello(Hello {
            version: VERSION,
            token: "secret".to_owned(),
            area: Area::Rect(RECT),
            rate: 10,
        }),
        ToGateway::Watch(Area::Nothing),
        ToGateway::Watch(Area::Everything),
        ToGateway::Ping { sent: SimTime(5) },
        ToGateway::Inspect(Inspect::default()),
        ToGateway::Inspect(Inspect {
            layers: Layers::ALL,
            picked: vec![BodyId(3), BodyId(1 << 63)],
        }),
        ToGateway::Anew,
    ];
    let commands = (1..).zip(commands());
    messages.extend(commands.map(|(id, command)| ToGateway::Command { id, command }));
    messages
}

fn sections() -> Vec<Section<'static>> {
    let body = BodyId(9);
    vec![
        Section::Begin {
            number: 3,
            frame: 40,
        },
        Section::Join(&[1, 2, 3]),
        Section::Packet(&[4, 5]),
        Section::Entered(vec![BodyEntry {
            body,
            form: 2,
            owner: RegionId(1),
        }]),
        Section::Left(vec![Departure {
            body,
            removed: true,
        }]),
        Section::Owners(vec![(body, RegionId(3))]),
        Section::Contacts(vec![(Vec3::Y, 2.5)]),
        Section::End,
    ]
}

fn contents() -> Vec<Content> {
    let (body, tick, epoch) = (BodyId(9), Tick(600), Epoch(4));
    let place = DVec3::new(1.0, 2.0, 3.0);
    let flags = BodyFlags {
        asleep: true,
        homeless: true,
    };
    let cluster = |state| ClusterMark {
        body,
        cluster: BodyId(3),
        since: Tick(5),
        state,
    };
    let migration = |cause| MigrationMark {
        body,
        epoch,
        to: RegionId(2),
        tick,
        cause,
        place,
    };
    vec![
        Content::Auras(vec![AuraMark {
            body,
            centre: place,
            radius: 0.5,
            reach: 3.0,
            growth: 0.25,
            audience: vec![RegionId(1), RegionId(3)],
        }]),
        Content::Clusters(vec![
            cluster(NearBorder::Inside),
            cluster(NearBorder::AtBoundary),
            cluster(NearBorder::Outside),
        ]),
        Content::Bodies {
            whole: true,
            bodies: vec![BodyMark { body, epoch, flags }],
        },
        Content::Flight(vec![FlightMark {
            body,
            to: RegionId(1),
            epoch,
            left: tick,
            place,
        }]),
        Content::Migrations(vec![
            migration(Cause::Aura),
            migration(Cause::Traversal),
            migration(Cause::Centre),
        ]),
        Content::Crossings(vec![CrossingMark {
            bodies: [body, BodyId(10)],
            from: [RegionId(0), RegionId(1)],
            tick,
            speed: 2.5,
            place,
        }]),
        Content::Health(Box::new(Health {
            state: HealthState::Silent,
            term: 3,
            server: "server-1".to_owned(),
            standby: "server-2".to_owned(),
            silent_ms: 250,
            in_term_ms: 9_000,
            exceeded: [1, 2, 3],
        })),
        Content::Figures(Box::new(Figures {
            term: 3,
            ticks: 600,
            late_ticks: 1,
            cpu_ns: 5_000_000,
            longest_ns: 90_000,
            budget_ns: 16_666_667,
            bodies: 50,
            awake: 40,
            projecting: 12,
            auras: 9,
            in_flight: 1,
            arrived: 7,
            departed: 8,
            bytes_to_regions: 1000,
            bytes_to_others: 2000,
        })),
        Content::Truth(vec![TruthMark {
            body,
            owner: RegionId(1),
            epoch,
            tick,
            motion: Motion::at(place),
            flags,
        }]),
    ]
}

fn answers() -> Vec<Answer> {
    let hit = |struck| Hit {
        struck,
        distance: 2.0,
        point: DVec3::X,
        normal: Vec3::Y,
    };
    vec![
        Answer::Done {
            tick: Tick(7),
            about: 8,
        },
        Answer::NotFound,
        Answer::Refused("why".to_owned()),
        Answer::Forbidden("no".to_owned()),
        Answer::Hit(None),
        Answer::Hit(Some(hit(Struck::Body(BodyId(4))))),
        Answer::Hit(Some(hit(Struck::Static(StaticId(5))))),
        Answer::Touching(vec![BodyId(1), BodyId(2)]),
        Answer::NoAnswer,
    ]
}

fn from_gateway() -> Vec<ToClient> {
    let mut cell = SectionWriter::new(6);
    sections().iter().for_each(|section| cell.push(section));
    let mut messages = vec![
        ToClient::Welcome(Welcome {
            version: VERSION,
            session: 3,
            role: 2,
            clock: SimTime(1_000),
            tick: TickLength::default(),
            frame_ticks: 2,
            delay_frames: 1,
            tolerance_m: 0.01,
            tolerance_rad: 0.02,
        }),
        ToClient::World(WorldMessage {
            generation: 2,
            start: SimTime(9),
            name: "orbit".to_owned(),
            gravity: DVec3::NEG_Y,
            fastest: 20.0,
            extent: RECT,
            cells: [5, 5],
            regions: vec![RegionMark {
                rect: RECT,
                server: "s0".to_owned(),
            }],
        }),
        ToClient::Update {
            frame: 41,
            sections: Sections::new(&[&cell]),
        },
        ToClient::Pong {
            sent: SimTime(1),
            received: SimTime(2),
            replied: SimTime(3),
        },
        ToClient::Goodbye {
            reason: Goodbye::TooSlow,
            text: "read!".to_owned(),
        },
        ToClient::Features(Features {
            demo: true,
            network: NETWORK,
            scenes: vec![("orbit".to_owned(), "round and round".to_owned())],
        }),
    ];
    let parts = contents().into_iter().map(|content| Part {
        region: (content.kind() != 9).then_some(RegionId(2)),
        tick: Tick(601),
        content,
    });
    messages.push(ToClient::Inspection {
        frame: 300,
        parts: parts.collect(),
    });
    let pieces = (0..).zip(shapes()).map(|(id, shape)| Piece {
        id: StaticId(id),
        position: DVec3::Z,
        rotation: Quat::IDENTITY,
        material: Material::default(),
        shape,
    });
    messages.push(ToClient::Statics(pieces.collect()));
    let forms = (0..).zip(shapes());
    let forms = forms.map(|(number, shape)| FormEntry { number, shape });
    messages.push(ToClient::Forms(forms.collect()));
    let answers = (1..).zip(answers());
    messages.extend(answers.map(|(id, answer)| ToClient::Answer { id, answer }));
    messages
}

#[test]
fn every_message_means_the_same_after_a_journey() {
    for message in from_client() {
        let bytes = message.encode();
        assert_eq!(ToGateway::decode(&bytes), Ok(message));
    }
    for message in from_gateway() {
        let bytes = message.encode();
        assert_eq!(ToClient::decode(&bytes), Ok(message));
    }
}

#[test]
fn what_is_cut_off_or_too_long_is_refused() {
    for message in from_client() {
        let bytes = message.encode();
        for end in 0..bytes.len() {
            assert!(ToGateway::decode(&bytes[..end]).is_err(), "{message:?}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(ToGateway::decode(&longer).is_err(), "{message:?}");
    }
    for message in from_gateway() {
        let bytes = message.encode();
        // These may end between any two sections or parts.
        let open = matches!(
            message,
            ToClient::Update { .. } | ToClient::Inspection { .. }
        );
        if !open {
            for end in 0..bytes.len() {
                assert!(ToClient::decode(&bytes[..end]).is_err(), "{message:?}");
            }
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(ToClient::decode(&longer).is_err(), "{message:?}");
    }
}

#[test]
fn numbers_that_are_none_and_lists_that_cannot_be_are_refused() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let command = Command::Velocity {
            body: BodyId(1),
            velocity: Vec3::new(0.0, bad, 0.0),
        };
        let bytes = ToGateway::Command { id: 1, command }.encode();
        let error = ToGateway::decode(&bytes).expect_err("not a number");
        assert_eq!(error.why, Why::NotFinite);
    }
    // A convex shape of four billion points in twenty bytes.
    let spawn = Spawn::new(
        Shape::Convex {
            points: vec![Vec3::X].into(),
        },
        DVec3::ZERO,
    );
    let command = Command::Spawn(Box::new(spawn));
    let mut bytes = ToGateway::Command { id: 1, command }.encode();
    let at = bytes.len() - 16;
    bytes[at..at + 4].copy_from_slice(&[0xff; 4]);
    let error = ToGateway::decode(&bytes).expect_err("too many");
    assert_eq!(error.why, Why::TooMany(0xffff_ffff));
    // Bodies that cannot be picked, layers that do not exist.
    let mut bytes = ToGateway::Inspect(Inspect::default()).encode();
    bytes[3] = 17;
    let error = ToGateway::decode(&bytes).expect_err("too many");
    assert_eq!(error.why, Why::TooMany(17));
    let bytes = [&[0x05, 0, 0x80][..], &[0; 4]].concat();
    assert!(ToGateway::decode(&bytes).is_err());
    // A rotation that is none.
    let mut spawn = Spawn::new(Shape::Plane, DVec3::ZERO);
    spawn.rotation = Quat::from_xyzw(3.0, 0.0, 0.0, 0.0);
    let command = Command::Spawn(Box::new(spawn));
    let bytes = ToGateway::Command { id: 1, command }.encode();
    assert!(ToGateway::decode(&bytes).is_err());
}

/// Another version is understood so far that it can be told so.
#[test]
fn a_hello_of_another_version_tells_its_version() {
    let bytes = [&[0x01, 0x07, 0x00][..], b"whatever it says"].concat();
    let Ok(ToGateway::Hello(hello)) = ToGateway::decode(&bytes) else {
        panic!("a hello");
    };
    assert_eq!(hello.version, 7);
}

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

fn page() -> String {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/protocols/client.md"
    );
    std::fs::read_to_string(path).expect("the protocol's page")
}

/// The examples on the page are what we send.
#[test]
fn the_page_shows_our_bytes() {
    let page = page();
    let push = Command::Impulse {
        body: BodyId(7),
        impulse: Vec3::new(0.0, 50.0, 0.0),
        at: None,
    };
    let mut cell = SectionWriter::new(12);
    cell.push(&Section::Entered(vec![BodyEntry {
        body: BodyId(7),
        form: 3,
        owner: RegionId(1),
    }]));
    cell.push(&Section::Packet(&[0x51, 0x00]));
    let examples = [
        ToGateway::Hello(Hello {
            version: 2,
            token: "tell".to_owned(),
            area: Area::Everything,
            rate: 0,
        })
        .encode(),
        ToGateway::Command {
            id: 1,
            command: push,
        }
        .encode(),
        ToClient::Answer {
            id: 1,
            answer: Answer::Done {
                tick: Tick(600),
                about: 7,
            },
        }
        .encode(),
        ToClient::Update {
            frame: 300,
            sections: Sections::new(&[&cell]),
        }
        .encode(),
        ToGateway::Inspect(Inspect {
            layers: Layers::AURAS.with(Layers::TRUTH),
            picked: vec![BodyId(7)],
        })
        .encode(),
        ToClient::Inspection {
            frame: 300,
            parts: vec![Part {
                region: Some(RegionId(1)),
                tick: Tick(600),
                content: Content::Auras(vec![AuraMark {
                    body: BodyId(7),
                    centre: DVec3::new(1.0, 0.5, 0.0),
                    radius: 0.5,
                    reach: 4.0,
                    growth: 0.25,
                    audience: vec![RegionId(0), RegionId(3)],
                }]),
            }],
        }
        .encode(),
    ];
    for example in examples {
        let line = hex(&example);
        assert!(page.contains(&line), "not on the page: {line}");
    }
}

/// Every kind is on the page under its number, and the page has no others.
#[test]
fn the_page_lists_all_kinds() {
    let page = page();
    let tables = [
        ("client to gateway", FROM_CLIENT_KINDS),
        ("gateway to client", FROM_GATEWAY_KINDS),
        ("commands", COMMAND_KINDS),
        ("answers", ANSWER_KINDS),
        ("sections", SECTION_KINDS),
        ("parts", PART_KINDS),
        ("goodbyes", GOODBYE_REASONS),
    ];
    for (title, kinds) in tables {
        let start = format!("<!-- kinds: {title} -->");
        let after = page.split(&start).nth(1);
        let table = after.unwrap_or_else(|| panic!("no table of {title}"));
        let table = table.trim_start().split("\n\n").next().unwrap_or_default();
        let listed: Vec<String> = table
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.split('|').take(3).collect::<Vec<_>>().join("|"))
            .collect();
        let known: Vec<String> = kinds
            .iter()
            .map(|(number, name)| format!("| `{number:02x}` | {name} "))
            .collect();
        assert_eq!(listed, known, "{title}");
    }
}

/// The lists of kinds are those that the decoders know.
#[test]
fn the_kinds_are_those_that_are_read() {
    let first = |bytes: Vec<u8>| bytes[0];
    let sent: std::collections::BTreeSet<u8> =
        from_client().iter().map(|m| first(m.encode())).collect();
    let listed = FROM_CLIENT_KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(sent, listed);
    let sent: std::collections::BTreeSet<u8> =
        from_gateway().iter().map(|m| first(m.encode())).collect();
    let listed = FROM_GATEWAY_KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(sent, listed);
    let at = |message: &ToGateway, index: usize| message.encode()[index];
    let sent: std::collections::BTreeSet<u8> = commands()
        .into_iter()
        .map(|command| at(&ToGateway::Command { id: 1, command }, 5))
        .collect();
    let listed = COMMAND_KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(sent, listed);
    let sent: std::collections::BTreeSet<u8> = answers()
        .into_iter()
        .map(|answer| ToClient::Answer { id: 1, answer }.encode()[5])
        .collect();
    let listed = ANSWER_KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(sent, listed);
    let sent: std::collections::BTreeSet<u8> = sections()
        .iter()
        .map(|section| {
            let mut cell = SectionWriter::new(0);
            cell.push(section);
            cell.bytes()[0]
        })
        .collect();
    let listed = SECTION_KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(sent, listed);
    let sent: std::collections::BTreeSet<u8> = contents().iter().map(Content::kind).collect();
    let listed = PART_KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(sent, listed);
    let layers = contents().into_iter().map(|content| content.layer());
    assert_eq!(layers.fold(Layers::NONE, Layers::with), Layers::ALL);
}

proptest! {
    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }

    /// Sound messages with some bytes changed: they get further into the decoder.
    #[test]
    fn no_damaged_message_does_harm(which in 0_usize..200, at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut all: Vec<Vec<u8>> = from_client().iter().map(ToGateway::encode).collect();
        all.extend(from_gateway().iter().map(ToClient::encode));
        let mut bytes = all[which % all.len()].clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        check(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        check(&bytes);
    }
}

/// What can be read can be written, and means the same.
fn check(bytes: &[u8]) {
    if let Ok(message) = ToGateway::decode(bytes) {
        let again = message.encode();
        let same = ToGateway::decode(&again).expect("what was read can be written");
        assert_eq!(same.encode(), again);
    }
    if let Ok(message) = ToClient::decode(bytes) {
        let again = message.encode();
        let same = ToClient::decode(&again).expect("what was read can be written");
        assert_eq!(same.encode(), again);
    }
}
