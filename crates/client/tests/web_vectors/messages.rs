//! Every message once, and what it means in the words of the TypeScript client. Numbers are chosen so that `f32` holds them exactly.

use crate::hex;
use client_protocol::*;
use domain::{
    BodyId, CompoundPart, Layout, Material, Rect, RegionId, Shape, SimTime, StaticId, Tick,
    TickLength,
};
use glam::{DVec3, Quat, Vec3};
use serde_json::{Value, json};

const RECT: Rect = Rect {
    min: [-1.5, -2.0],
    max: [3.0, 4.25],
};
pub const PLAYERS: u64 = 1 << 63 | 7;

/// A whole number of 64 bits, which JSON does not hold.
pub fn big(value: u64) -> Value {
    json!({ "big": value.to_string() })
}

fn rect() -> Value {
    json!({ "minX": -1.5, "minZ": -2.0, "maxX": 3.0, "maxZ": 4.25 })
}

fn material() -> (Material, Value) {
    let material = Material {
        density: 500.0,
        friction: 0.75,
        restitution: 0.25,
    };
    (
        material,
        json!({ "density": 500.0, "friction": 0.75, "restitution": 0.25 }),
    )
}

fn shapes() -> Vec<(Shape, Value)> {
    let corners = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
    let points = json!([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]);
    let part = CompoundPart {
        position: Vec3::X,
        rotation: Quat::from_xyzw(0.5, 0.5, 0.5, 0.5),
        shape: Shape::Sphere { radius: 0.5 },
    };
    vec![
        (
            Shape::Sphere { radius: 0.5 },
            json!({ "type": "sphere", "radius": 0.5 }),
        ),
        (
            Shape::Cuboid {
                size: Vec3::new(1.0, 2.0, 3.0),
            },
            json!({ "type": "cuboid", "size": [1, 2, 3] }),
        ),
        (
            Shape::Capsule {
                radius: 0.25,
                height: 2.0,
            },
            json!({ "type": "capsule", "radius": 0.25, "height": 2 }),
        ),
        (
            Shape::Convex {
                points: corners.clone().into(),
            },
            json!({ "type": "convex", "points": points }),
        ),
        (
            Shape::Mesh {
                vertices: corners.into(),
                triangles: vec![[0, 1, 2], [1, 2, 3]].into(),
            },
            json!({ "type": "mesh", "points": points, "triangles": [[0, 1, 2], [1, 2, 3]] }),
        ),
        (
            Shape::Compound {
                parts: vec![part].into(),
            },
            json!({ "type": "compound", "parts": [{
                "position": [1, 0, 0],
                "rotation": [0.5, 0.5, 0.5, 0.5],
                "shape": { "type": "sphere", "radius": 0.5 },
            }] }),
        ),
        (Shape::Plane, json!({ "type": "plane" })),
    ]
}

fn commands() -> Vec<(Command, Value)> {
    let position = DVec3::new(1.25, 2.5, -3.0);
    let at = json!([1.25, 2.5, -3.0]);
    let body = BodyId(PLAYERS);
    let mut all = vec![
        (
            Command::Impulse {
                body,
                impulse: Vec3::Y,
                at: None,
            },
            json!({ "type": "impulse", "body": big(PLAYERS), "impulse": [0, 1, 0] }),
        ),
        (
            Command::Impulse {
                body,
                impulse: Vec3::Y,
                at: Some(position),
            },
            json!({ "type": "impulse", "body": big(PLAYERS), "impulse": [0, 1, 0], "at": at }),
        ),
        (
            Command::Velocity {
                body,
                velocity: Vec3::X,
            },
            json!({ "type": "velocity", "body": big(PLAYERS), "velocity": [1, 0, 0] }),
        ),
        (
            Command::Remove { body },
            json!({ "type": "remove", "body": big(PLAYERS) }),
        ),
        (Command::Reset, json!({ "type": "reset" })),
        (
            Command::SwitchScene(SceneChoice::BuiltIn("orbit".to_owned())),
            json!({ "type": "switch-scene", "name": "orbit" }),
        ),
        (
            Command::SwitchScene(SceneChoice::Text("name = \"ü\"".to_owned())),
            json!({ "type": "switch-scene", "text": "name = \"ü\"" }),
        ),
        (
            Command::DefineRegions(RegionPlan::Boxes(vec![RECT])),
            json!({ "type": "define-regions", "boxes": [rect()] }),
        ),
        (
            Command::Ray {
                origin: position,
                direction: Vec3::NEG_Y,
                reach: 10.0,
            },
            json!({ "type": "ray", "origin": at, "direction": [0, -1, 0], "reach": 10 }),
        ),
    ];
    all.extend(of_demo());
    let layouts = [
        (Layout::Single, "single"),
        (Layout::Columns, "columns"),
        (Layout::Grid, "grid"),
        (Layout::Tree, "tree"),
        (Layout::ThesisThree, "thesis-3"),
        (Layout::ThesisSeven, "thesis-7"),
    ];
    for (layout, name) in layouts {
        let plan = RegionPlan::Layout { layout, count: 7 };
        let means = json!({ "type": "define-regions", "layout": name, "count": 7 });
        all.push((Command::DefineRegions(plan), means));
    }
    let (of, of_what) = material();
    let rotation = json!([0, 0, 0, 1]);
    for (shape, means) in shapes() {
        let mut spawn = Spawn::new(shape.clone(), position);
        spawn.material = of;
        spawn.velocity = Vec3::new(4.0, 5.0, 6.5);
        spawn.spin = Vec3::Z;
        spawn.continuous = true;
        all.push((
            Command::Spawn(Box::new(spawn)),
            json!({
                "type": "spawn", "position": at, "rotation": rotation, "velocity": [4, 5, 6.5], "spin": [0, 0, 1],
                "material": of_what, "swept": true, "shape": means,
            }),
        ));
        all.push((
            Command::Overlap {
                shape: shape.clone(),
                position,
                rotation: Quat::IDENTITY,
            },
            json!({ "type": "overlap", "position": at, "rotation": rotation, "shape": means }),
        ));
        all.push((
            Command::PutUp(Box::new(StaticPiece {
                shape,
                material: of,
                position,
                rotation: Quat::IDENTITY,
            })),
            json!({ "type": "put-up", "position": at, "rotation": rotation, "material": of_what, "shape": means }),
        ));
    }
    let (shapes, means): (Vec<_>, Vec<_>) = shapes().into_iter().unzip();
    all.push((
        Command::Inject(Box::new(Injection {
            min: DVec3::ZERO,
            max: DVec3::ONE,
            rate: 20.0,
            secs: 5.0,
            velocity_min: Vec3::NEG_ONE,
            velocity_max: Vec3::ONE,
            shapes,
        })),
        json!({
            "type": "inject", "min": [0, 0, 0], "max": [1, 1, 1], "rate": 20, "seconds": 5,
            "velocityMin": [-1, -1, -1], "velocityMax": [1, 1, 1], "shapes": means,
        }),
    ));
    all
}

fn of_demo() -> [(Command, Value); 3] {
    let network = EmulatedNetwork {
        latency_ms: 20.0,
        jitter_ms: 5.5,
        loss: 0.25,
    };
    [
        (
            Command::KillServer {
                server: "s1".to_owned(),
            },
            json!({ "type": "kill-server", "server": "s1" }),
        ),
        (
            Command::SetNetwork(network),
            json!({ "type": "set-network", "latencyMs": 20, "jitterMs": 5.5, "loss": 0.25 }),
        ),
        (
            Command::StopInjections,
            json!({ "type": "stop-injections" }),
        ),
    ]
}

fn to_gateway() -> Vec<(ToGateway, Value)> {
    let mut all = vec![
        (
            ToGateway::Hello(Hello {
                version: VERSION,
                token: "secret".to_owned(),
                area: Area::Rect(RECT),
                rate: 10,
            }),
            json!({ "type": "hello", "token": "secret", "area": rect(), "rate": 10 }),
        ),
        (
            ToGateway::Watch(Area::Nothing),
            json!({ "type": "watch", "area": "nothing" }),
        ),
        (
            ToGateway::Watch(Area::Everything),
            json!({ "type": "watch", "area": "everything" }),
        ),
        (
            ToGateway::Ping { sent: SimTime(5) },
            json!({ "type": "ping", "sent": big(5) }),
        ),
        (
            ToGateway::Inspect(Inspect {
                layers: Layers::AURAS.with(Layers::TRUTH),
                picked: vec![BodyId(3), BodyId(PLAYERS)],
            }),
            json!({ "type": "inspect", "layers": 0x101, "picked": [big(3), big(PLAYERS)] }),
        ),
        (ToGateway::Anew, json!({ "type": "anew" })),
    ];
    for (id, (command, means)) in (1..).zip(commands()) {
        all.push((
            ToGateway::Command { id, command },
            json!({ "type": "command", "id": id, "command": means }),
        ));
    }
    all
}

fn update() -> (ToClient, Value) {
    let body = BodyId(PLAYERS);
    let sections = [
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
        Section::Contacts(vec![(Vec3::new(0.5, 1.0, -2.0), 4.5)]),
        Section::End,
    ];
    let mut writer = SectionWriter::new(9);
    for section in &sections {
        writer.push(section);
    }
    let of = |means: Value| {
        let mut means = means;
        means["cell"] = json!(9);
        means
    };
    let means = json!({ "type": "update", "frame": 300, "sections": [
        of(json!({ "type": "begin", "packet": 3, "frame": 40 })),
        of(json!({ "type": "join", "bytes": { "hex": "010203" } })),
        of(json!({ "type": "packet", "bytes": { "hex": "0405" } })),
        of(json!({ "type": "entered", "bodies": [{ "body": big(PLAYERS), "form": 2, "owner": 1 }] })),
        of(json!({ "type": "left", "bodies": [{ "body": big(PLAYERS), "removed": true }] })),
        of(json!({ "type": "owners", "bodies": [{ "body": big(PLAYERS), "owner": 3 }] })),
        of(json!({ "type": "contacts", "contacts": [{ "place": [0.5, 1.0, -2.0], "speed": 4.5 }] })),
        of(json!({ "type": "end" })),
    ] });
    let sections = Sections::new(&[&writer]);
    (
        ToClient::Update {
            frame: 300,
            sections,
        },
        means,
    )
}

fn answers() -> Vec<(Answer, Value)> {
    let hit = Hit {
        struck: Struck::Body(BodyId(PLAYERS)),
        distance: 2.5,
        point: DVec3::new(1.0, 2.0, 3.5),
        normal: Vec3::Y,
    };
    vec![
        (
            Answer::Done {
                tick: Tick(600),
                about: PLAYERS,
            },
            json!({ "type": "done", "tick": big(600), "about": big(PLAYERS) }),
        ),
        (Answer::NotFound, json!({ "type": "not-found" })),
        (
            Answer::Refused("no".to_owned()),
            json!({ "type": "refused", "why": "no" }),
        ),
        (
            Answer::Forbidden("never".to_owned()),
            json!({ "type": "forbidden", "why": "never" }),
        ),
        (Answer::Hit(None), json!({ "type": "hit", "hit": null })),
        (
            Answer::Hit(Some(hit)),
            json!({ "type": "hit", "hit": {
                "scenery": false, "id": big(PLAYERS), "distance": 2.5, "point": [1, 2, 3.5], "normal": [0, 1, 0],
            } }),
        ),
        (
            Answer::Touching(vec![BodyId(3), BodyId(PLAYERS)]),
            json!({ "type": "touching", "bodies": [big(3), big(PLAYERS)] }),
        ),
        (Answer::NoAnswer, json!({ "type": "no-answer" })),
    ]
}

fn from_gateway() -> Vec<(ToClient, Value)> {
    let mut all = vec![
        (
            ToClient::Welcome(Welcome {
                version: VERSION,
                session: 77,
                role: 1,
                clock: SimTime(1_800_000_000_123_456_789),
                tick: TickLength::default(),
                frame_ticks: 2,
                delay_frames: 1,
                tolerance_m: 0.25,
                tolerance_rad: 0.125,
            }),
            json!({
                "type": "welcome", "version": VERSION, "session": big(77), "role": "play", "clock": big(1_800_000_000_123_456_789),
                "tick": TickLength::default().as_secs(), "frameTicks": 2, "delayFrames": 1, "toleranceM": 0.25, "toleranceRad": 0.125,
            }),
        ),
        (
            ToClient::World(WorldMessage {
                generation: 4,
                start: SimTime(1_800_000_000_000_000_000),
                name: "Würfel".to_owned(),
                gravity: DVec3::new(0.0, -9.81, 0.0),
                fastest: 12.5,
                extent: RECT,
                cells: [5, 4],
                regions: vec![RegionMark {
                    rect: RECT,
                    server: "s0".to_owned(),
                }],
            }),
            json!({
                "type": "world", "generation": 4, "start": big(1_800_000_000_000_000_000), "name": "Würfel",
                "gravity": [0.0, -9.81, 0.0], "fastest": 12.5, "extent": rect(), "cells": [5, 4],
                "regions": [{ "rect": rect(), "server": "s0" }],
            }),
        ),
        update(),
        super::inspection::message(),
        (
            ToClient::Features(Features {
                demo: true,
                network: EmulatedNetwork {
                    latency_ms: 20.0,
                    jitter_ms: 5.5,
                    loss: 0.25,
                },
                scenes: vec![("orbit".to_owned(), "Balls".to_owned())],
            }),
            json!({
                "type": "features", "demo": true, "network": { "latencyMs": 20, "jitterMs": 5.5, "loss": 0.25 },
                "scenes": [{ "name": "orbit", "about": "Balls" }],
            }),
        ),
        (
            ToClient::Pong {
                sent: SimTime(5),
                received: SimTime(6),
                replied: SimTime(7),
            },
            json!({ "type": "pong", "sent": big(5), "received": big(6), "replied": big(7) }),
        ),
    ];
    let (of, of_what) = material();
    let (mut pieces, mut pieces_mean) = (Vec::new(), Vec::new());
    let (mut forms, mut forms_mean) = (Vec::new(), Vec::new());
    for (number, (shape, means)) in (1..).zip(shapes()) {
        pieces_mean.push(json!({
            "id": number, "position": [1, 2, 3.5], "rotation": [0.5, 0.5, 0.5, 0.5], "material": of_what, "shape": means,
        }));
        pieces.push(Piece {
            id: StaticId(number),
            position: DVec3::new(1.0, 2.0, 3.5),
            rotation: Quat::from_xyzw(0.5, 0.5, 0.5, 0.5),
            material: of,
            shape: shape.clone(),
        });
        forms_mean.push(json!({ "number": number, "shape": means }));
        forms.push(FormEntry { number, shape });
    }
    all.push((
        ToClient::Statics(pieces),
        json!({ "type": "statics", "pieces": pieces_mean }),
    ));
    all.push((
        ToClient::Forms(forms),
        json!({ "type": "forms", "forms": forms_mean }),
    ));
    for (answer, means) in answers() {
        all.push((
            ToClient::Answer { id: 12, answer },
            json!({ "type": "answer", "id": 12, "answer": means }),
        ));
    }
    let reasons = [
        (Goodbye::Version, "version"),
        (Goodbye::Token, "token"),
        (Goodbye::Malformed, "malformed"),
        (Goodbye::Flooding, "flooding"),
        (Goodbye::TooSlow, "too-slow"),
        (Goodbye::Silent, "silent"),
        (Goodbye::Stopping, "stopping"),
    ];
    for (reason, name) in reasons {
        all.push((
            ToClient::Goodbye {
                reason,
                text: "bye".to_owned(),
            },
            json!({ "type": "goodbye", "reason": name, "text": "bye" }),
        ));
    }
    all
}

/// One value per message.
pub fn all() -> Vec<Value> {
    let sent = to_gateway().into_iter().map(|(message, means)| {
        let bytes = message.encode();
        json!({ "to": "gateway", "hex": hex(&bytes), "means": means })
    });
    let received = from_gateway().into_iter().map(|(message, means)| {
        let bytes = message.encode();
        assert_eq!(ToClient::decode(&bytes).as_ref(), Ok(&message));
        json!({ "to": "client", "hex": hex(&bytes), "means": means })
    });
    sent.chain(received).collect()
}
