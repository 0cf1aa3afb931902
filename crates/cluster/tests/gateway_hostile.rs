//! Clients that mean no good are refused and counted; the others go on.

#[allow(dead_code, reason = "shared with other tests")]
mod gateway_common;
#[allow(dead_code, reason = "shared with other tests")]
mod live_common;

use client::{Client, ClientError, Goodbye, Options, RegionPlan, Spawn};
use client_protocol::{Command, Hello, SUBPROTOCOL, ToClient, ToGateway, VERSION};
use cluster::gateway::{Gateway, GatewaySettings};
use domain::{BodyId, Layout, Shape, SimTime};
use futures_util::{SinkExt, StreamExt};
use gateway_common::{Live, settings, until};
use glam::{DVec3, Vec3};
use live_common::world;
use std::io::Write;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

type Raw = WebSocketStream<MaybeTlsStream<TcpStream>>;

fn ball() -> Spawn {
    Spawn::new(Shape::Sphere { radius: 0.4 }, DVec3::new(2.0, 50.0, 2.0))
}

/// A connection that has not said hello.
async fn raw(url: &str, headers: &[(&str, &str)]) -> Result<Raw, Error> {
    let mut request = ClientRequestBuilder::new(url.parse().expect("an address"));
    if !headers.iter().any(|(name, _)| *name == "no-protocol") {
        request = request.with_sub_protocol(SUBPROTOCOL);
    }
    for (name, value) in headers {
        request = request.with_header(*name, *value);
    }
    let connected = tokio_tungstenite::connect_async(request).await;
    connected.map(|(socket, _)| socket)
}

/// Says something and waits for the goodbye.
async fn goodbye(url: &str, first: Message) -> Option<Goodbye> {
    let mut socket = raw(url, &[]).await.expect("connects");
    socket.send(first).await.expect("sent");
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Binary(bytes) = message
            && let Ok(ToClient::Goodbye { reason, .. }) = ToClient::decode(&bytes)
        {
            return Some(reason);
        }
    }
    None
}

fn hello(version: u16, token: &str) -> Message {
    let hello = ToGateway::Hello(Hello {
        version,
        token: token.to_owned(),
        ..Hello::default()
    });
    Message::Binary(hello.encode().into())
}

fn status(error: &Error) -> u16 {
    match error {
        Error::Http(response) => response.status().as_u16(),
        other => panic!("{other}"),
    }
}

/// The first line of the answer to an opening handshake with these headers.
async fn handshake(url: &str, host: &str, origin: &str) -> String {
    let address = url.replace("ws://", "").replace("/ws", "");
    let mut stream = TcpStream::connect(address).await.expect("connects");
    let request = format!(
        "GET /ws HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next_line().await.expect("an answer");
    first.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_the_protocol_is_refused_and_counted_while_others_go_on() {
    let live = Live::scene("orbit", 2).await;
    let good = live.client().await;
    until(3.0, "it runs", || good.look(|scene| scene.frame()) > 30).await;
    let (start, first) = (Instant::now(), good.look(|scene| scene.frame()));
    let url = &live.url;

    // At the door.
    let elsewhere = raw(url, &[("Origin", "https://evil.example")]).await;
    assert_eq!(status(&elsewhere.expect_err("refused")), 403);
    // A page whose name was made to point to this machine.
    let (host, origin) = ("evil.example", "http://evil.example");
    assert_eq!(handshake(url, host, origin).await, "HTTP/1.1 403 Forbidden");
    let (host, origin) = ("localhost", "http://localhost");
    let opened = handshake(url, host, origin).await;
    assert_eq!(opened, "HTTP/1.1 101 Switching Protocols");
    let wordless = raw(url, &[("no-protocol", "1")]).await;
    assert_eq!(status(&wordless.expect_err("refused")), 400);
    let ours = url.replace("ws://", "http://").replace("/ws", "");
    raw(url, &[("Origin", &ours)]).await.expect("our own page");

    // At the first word.
    assert_eq!(goodbye(url, hello(9, "")).await, Some(Goodbye::Version));
    let text = Message::Text("hello".into());
    assert_eq!(goodbye(url, text).await, Some(Goodbye::Malformed));
    let junk = Message::Binary(vec![1, 2, 0, 255, 255].into());
    assert_eq!(goodbye(url, junk).await, Some(Goodbye::Malformed));
    let early = ToGateway::Ping { sent: SimTime(1) };
    let early = Message::Binary(early.encode().into());
    assert_eq!(goodbye(url, early).await, Some(Goodbye::Malformed));

    // Later.
    let spawn = ToGateway::Command {
        id: 1,
        command: Command::Spawn(Box::new(ball())),
    };
    let sound = spawn.encode();
    let nan = ToGateway::Command {
        id: 1,
        command: Command::Impulse {
            body: BodyId(1),
            impulse: Vec3::NAN,
            at: None,
        },
    };
    let again = ToGateway::Hello(Hello {
        version: VERSION,
        ..Hello::default()
    });
    for bad in [
        sound[..sound.len() - 1].to_vec(),
        [&sound[..], &[0]].concat(),
        nan.encode(),
        again.encode(),
        vec![0x77],
        Vec::new(),
        vec![0x04; 300 * 1024],
    ] {
        let client = live.client().await;
        client.send_raw(bad).await.expect("sent");
        until(3.0, "it is sent away", || client.is_closed()).await;
    }
    let counters = &live.counters;
    assert_eq!(counters.refused_origins.get(), 2);
    assert_eq!(counters.refused_versions.get(), 2);
    assert_eq!(counters.refused_malformed.get(), 3 + 7);

    // A command that comes again is not done again, and not answered.
    let client = live.client().await;
    let before = client.spawn(ball()).await.expect("the first");
    client.send_raw(sound.clone()).await.expect("sent");
    client.send_raw(sound).await.expect("sent");
    let after = client.spawn(ball()).await.expect("the second");
    assert_eq!(after.0, before.0 + 1, "nothing was spawned in between");
    assert_eq!(counters.refused_replays.get(), 2);

    // Too many messages.
    let ping = ToGateway::Ping { sent: SimTime(1) }.encode();
    for _ in 0..1000 {
        if client.send_raw(ping.clone()).await.is_err() {
            break;
        }
    }
    until(3.0, "it is sent away", || client.is_closed()).await;
    assert!(counters.refused_floods.get() >= 1);

    // And all the time the other one was served.
    let frames = good.look(|scene| scene.frame()) - first;
    let due = start.elapsed().as_secs_f64() * 30.0;
    assert!(!good.is_closed());
    assert!(frames as f64 > due * 0.5 - 15.0, "{frames} frames of {due}");
    assert_eq!(counters.too_slow.get(), 0);
    live.stop().await;
}

fn with_tokens(text: &str) -> (GatewaySettings, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    let mut settings = settings();
    settings.tokens = Some(file.path().to_owned());
    (settings, file)
}

const TOKENS: &str =
    "viewer-token view\nplayer-token play Ada\nother-token-2 play Bob\nadmin-token-1 admin\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_looks_a_player_plays_with_what_is_theirs_an_admin_does_anything() {
    let (settings, _file) = with_tokens(TOKENS);
    let live = Live::start(world("orbit", 2), 2, settings).await;
    let client = |token: &str| {
        let token = token.to_owned();
        live.client_with(Options {
            token,
            ..Options::default()
        })
    };
    for wrong in ["", "admin-token", "admin-token-1 "] {
        let options = Options {
            token: wrong.to_owned(),
            ..Options::default()
        };
        let refused = Client::connect(&live.url, options).await.err();
        let reason = match refused {
            Some(ClientError::Goodbye { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason, Goodbye::Token);
    }
    assert_eq!(live.counters.refused_tokens.get(), 3);

    let viewer = client("viewer-token").await;
    let (ada, bob) = (client("player-token").await, client("other-token-2").await);
    let admin = client("admin-token-1").await;
    let seen = |client: &Client| client.look(|scene| scene.bodies().len());
    until(3.0, "it is there", || seen(&viewer) == 6).await;
    let forbidden = |result: Result<(), ClientError>| {
        assert!(
            matches!(result, Err(ClientError::Forbidden(_))),
            "{result:?}"
        );
    };
    let scene_body = viewer.look(|scene| scene.bodies().next().map(|(id, _)| id));
    let scene_body = scene_body.expect("there are some");

    forbidden(viewer.spawn(ball()).await.map(drop));
    forbidden(viewer.impulse(scene_body, Vec3::Y).await);
    forbidden(viewer.remove(scene_body).await);
    forbidden(viewer.reset().await.map(drop));
    let down = viewer
        .ray(DVec3::new(0.0, 30.0, 0.0), Vec3::NEG_Y, 100.0)
        .await;
    assert!(down.is_ok(), "looking is fine");

    let hers = ada.spawn(ball()).await.expect("players spawn");
    forbidden(bob.impulse(hers, Vec3::Y).await);
    forbidden(bob.remove(hers).await);
    forbidden(ada.impulse(scene_body, Vec3::Y).await);
    forbidden(ada.reset().await.map(drop));
    let plan = RegionPlan::Layout {
        layout: Layout::Columns,
        count: 2,
    };
    forbidden(ada.define_regions(plan).await.map(drop));
    ada.impulse(hers, Vec3::Y).await.expect("it is hers");
    // Still hers when she comes back.
    drop(ada);
    let ada = client("player-token").await;
    ada.remove(hers).await.expect("it is hers");
    admin
        .impulse(scene_body, Vec3::Y * 0.01)
        .await
        .expect("anything");
    assert_eq!(admin.reset().await.expect("anything"), 2);
    assert_eq!(live.counters.refused_forbidden.get(), 9);
    live.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_with_a_reason() {
    let live = Live::scene("orbit", 2).await;
    let client = live.client().await;
    until(3.0, "it is there", || {
        client.look(|scene| scene.bodies().len()) == 6
    })
    .await;
    let refused = async |spawn: Spawn| match client.spawn(spawn).await {
        Err(ClientError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    let fast = Spawn {
        velocity: Vec3::X * 1e4,
        ..ball()
    };
    assert!(refused(fast).await.contains("faster"));
    let far = Spawn {
        position: DVec3::X * 1e6,
        ..ball()
    };
    assert!(refused(far).await.contains("outside"));
    for shape in [
        Shape::Sphere { radius: -1.0 },
        Shape::Sphere { radius: 90.0 },
        Shape::Plane,
        Shape::Convex {
            points: vec![Vec3::ZERO; 10].into(),
        },
        Shape::Mesh {
            vertices: vec![Vec3::ZERO, Vec3::X, Vec3::Y].into(),
            triangles: vec![[0, 1, 7]].into(),
        },
    ] {
        refused(Spawn { shape, ..ball() }).await;
    }
    let mut heavy = ball();
    heavy.material.density = f32::MAX;
    assert!(refused(heavy).await.contains("density"));
    assert_eq!(live.counters.refused_commands.get(), 8);
    // AP-41: geometry of the client's own, of several shapes.
    let corners = [0, 1, 2, 3, 4, 5, 6, 7].map(|i: u32| {
        let side = |bit: u32| if i >> bit & 1 == 1 { 0.4 } else { -0.4 };
        Vec3::new(side(0), side(1), side(2))
    });
    let convex = Shape::Convex {
        points: corners.to_vec().into(),
    };
    let part = |x: f32| domain::CompoundPart {
        position: Vec3::X * x,
        rotation: glam::Quat::IDENTITY,
        shape: convex.clone(),
    };
    let dumbbell = Shape::Compound {
        parts: vec![part(-1.0), part(1.0)].into(),
    };
    for (x, shape) in [(-4.0, convex.clone()), (4.0, dumbbell)] {
        let spawn = Spawn::new(shape.clone(), DVec3::new(x, 40.0, 6.0));
        let body = client.spawn(spawn).await.expect("fine");
        until(2.0, "it is there with its shape", || {
            client.look(|scene| scene.shape(body) == Some(&shape))
        })
        .await;
    }
    live.stop().await;
}

/// Ten thousand connections in a burst: the door takes as many as are allowed, those inside go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_connections_is_refused_at_the_door() {
    let mut settings = settings();
    settings.limits.connections = 20;
    settings.limits.hello = Duration::from_secs(1);
    let live = Live::start(world("orbit", 2), 2, settings).await;
    let mut good = live.client().await;
    until(3.0, "it runs", || good.look(|scene| scene.frame()) > 10).await;
    good.take_events();
    let address = live.url.replace("ws://", "").replace("/ws", "");
    let start = Instant::now();
    let mut held = Vec::new();
    for _ in 0..10_000 {
        if let Ok(stream) = TcpStream::connect(&address).await {
            // Those that are refused are closed at the other end; ours would run out of files.
            if held.len() < 200 {
                held.push(stream);
            }
        }
    }
    let took = start.elapsed().as_secs_f64();
    let updates = good.take_events();
    let updates = updates
        .iter()
        .filter(|event| matches!(event, client::Event::Updated { .. }));
    let updates = updates.count() as f64;
    assert!(!good.is_closed());
    // A busy machine answers a little later. Those who got in and say nothing must go after a second, so some of the many find room.
    until(10.0, "nearly all were answered at the door", || {
        let counters = &live.counters;
        counters.refused_connections.get() + counters.connections.get() > 9_000
    })
    .await;
    assert!(live.counters.refused_connections.get() > 100);
    // Orbit's balls give news in every frame, or every tenth is sent anyway.
    assert!(updates >= took * 3.0 - 2.0, "{updates} in {took} s");
    // Who says nothing must go; then there is room again.
    drop(held);
    let connected = async {
        while Client::connect(&live.url, Options::default())
            .await
            .is_err()
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let limit = Duration::from_secs(5);
    tokio::time::timeout(limit, connected).await.expect("room");
    live.stop().await;
}

/// A client that does not read costs a bounded queue, then it must go.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_sent_away() {
    let mut settings = settings();
    settings.limits.patience = Duration::from_secs(1);
    settings.limits.backlog = 8;
    let live = Live::start(world("avalanche", 2), 2, settings).await;
    let good = live.client().await;
    until(5.0, "it runs", || good.look(|scene| scene.frame()) > 10).await;
    let mut slow = raw(&live.url, &[]).await.expect("connects");
    slow.send(hello(VERSION, "")).await.expect("sent");
    // It wants everything again and again, and reads nothing.
    let areas = [client::Area::Everything, client::Area::Nothing];
    let asking = async {
        for area in areas.iter().cycle() {
            let watch = ToGateway::Watch(*area).encode();
            if slow.send(Message::Binary(watch.into())).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    };
    let gone = until(25.0, "it is sent away", || {
        live.counters.too_slow.get() + live.counters.skipped.get() > 0
            && live.counters.sessions.get() == 1
    });
    tokio::select! {
        () = gone => {}
        () = asking => {}
    }
    until(5.0, "only the other one is left", || {
        live.counters.sessions.get() == 1
    })
    .await;
    assert!(!good.is_closed());
    live.stop().await;
}

#[tokio::test]
async fn a_gateway_for_everyone_does_not_start_without_tokens() {
    let open = GatewaySettings::new("0.0.0.0:0".parse().expect("an address"));
    let refused = Gateway::bind(open).await.err();
    let why = refused.expect("refused").to_string();
    assert!(why.contains("tokens"), "{why}");
}
