//! Clients over TLS and over WebTransport.

#![cfg(feature = "tls")]

#[allow(dead_code, reason = "shared with other tests")]
mod certificates;
#[allow(dead_code, reason = "shared with other tests")]
mod gateway_common;
#[allow(dead_code, reason = "shared with other tests")]
mod live_common;

use certificates::Authority;
use client::{Area, Client, ClientError, Goodbye, Options, Spawn};
use client_protocol::{ToGateway, VERSION, frame, numbered};
use cluster::gateway::{Gateway, GatewaySettings, TlsFiles};
use domain::{Rect, Shape};
use gateway_common::{Live, settings, until};
use glam::{DVec3, Vec3};
use live_common::world;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

struct Secure {
    live: Live,
    authority: Authority,
}

impl Secure {
    async fn start(scene: &str, change: impl FnOnce(&mut GatewaySettings)) -> Self {
        let authority = Authority::new();
        let (certificate, key) = authority.issue("gateway");
        let mut settings = settings();
        settings.tls = Some(TlsFiles { certificate, key });
        change(&mut settings);
        let live = Live::start(world(scene, 2), 2, settings).await;
        Self { live, authority }
    }

    fn address(&self) -> String {
        self.live.url.replace("ws://", "").replace("/ws", "")
    }

    fn web_socket(&self) -> String {
        format!("wss://{}/ws", self.address())
    }

    fn web_transport(&self) -> String {
        format!("https://{}/wt", self.address())
    }

    fn options(&self) -> Options {
        let pem = std::fs::read(self.authority.certificate()).expect("written");
        Options {
            authority: Some(pem),
            ..Options::default()
        }
    }

    async fn connect(&self, url: &str) -> Client {
        let connected = Client::connect(url, self.options()).await;
        connected.unwrap_or_else(|error| panic!("{url}: {error}"))
    }
}

fn ball(x: f64) -> Spawn {
    Spawn::new(Shape::Sphere { radius: 0.4 }, DVec3::new(x, 50.0, 2.0))
}

/// Both see every body move, and both can act: whatever carries it, it is the same protocol.
#[tokio::test(flavor = "multi_thread")]
async fn clients_see_and_act_over_tls_and_over_webtransport() {
    let secure = Secure::start("orbit", |_| {}).await;
    assert!(secure.live.url.starts_with("ws://"));
    for url in [secure.web_socket(), secure.web_transport()] {
        let client = secure.connect(&url).await;
        until(5.0, "all bodies are there", || {
            client.look(|scene| scene.bodies().len()) >= 6
        })
        .await;
        let mine = client.spawn(ball(2.0)).await.expect("spawned");
        until(3.0, "its own body is there", || {
            client.look(|scene| scene.bodies().any(|(id, _)| id == mine))
        })
        .await;
        client.impulse(mine, Vec3::Y).await.expect("pushed");
        client.remove(mine).await.expect("removed");
        let first = client.look(|scene| scene.frame());
        until(10.0, "time goes on", || {
            client.look(|scene| scene.frame()) > first + 60
        })
        .await;
        assert!(!client.is_closed(), "{url}");
        assert_eq!(client.traffic().restarts, 0, "{url}");
    }
    let counters = &secure.live.counters;
    let datagrams = counters.datagrams_to_clients.get();
    assert!(datagrams > 30, "orbit's updates fit: {datagrams} datagrams");
    secure.live.stop().await;
}

/// Updates that do not fit a datagram, and those that do, come in one order. The client looks at more and at less of a world with many bodies.
#[tokio::test(flavor = "multi_thread")]
async fn large_updates_take_the_stream_and_small_ones_datagrams() {
    let secure = Secure::start("avalanche", |_| {}).await;
    let client = secure.connect(&secure.web_transport()).await;
    until(10.0, "bodies are there", || {
        client.look(|scene| scene.bodies().len()) > 50
    })
    .await;
    let counters = &secure.live.counters;
    let both = |since: (u64, u64)| {
        let datagrams = counters.datagrams_to_clients.get() - since.0;
        (
            datagrams,
            counters.messages_to_clients.get() - since.1 - datagrams,
        )
    };
    let extent = client.look(|scene| scene.world().map(|world| world.extent));
    let extent = extent.expect("told");
    let corner = Rect {
        min: extent.min,
        max: [extent.min[0] + 0.1, extent.min[1] + 0.1],
    };
    for area in [Area::Rect(corner), Area::Everything, Area::Rect(corner)] {
        client.subscribe(area).await.expect("connected");
        let first = client.look(|scene| scene.frame());
        until(10.0, "time goes on", || {
            client.look(|scene| scene.frame()) > first + 20
        })
        .await;
    }
    let (datagrams, stream) = both((0, 0));
    assert!(datagrams > 5, "{datagrams} datagrams");
    assert!(stream > 5, "{stream} on the stream");
    assert!(!client.is_closed());
    secure.live.stop().await;
}

/// A client that trusts someone else does not connect; what is not TLS is counted; a wrong certificate keeps a gateway from starting.
#[tokio::test(flavor = "multi_thread")]
async fn without_trust_there_is_no_connection() {
    let secure = Secure::start("orbit", |_| {}).await;
    let stranger = Authority::new();
    let pem = std::fs::read(stranger.certificate()).expect("written");
    for url in [secure.web_socket(), secure.web_transport()] {
        for authority in [None, Some(pem.clone())] {
            let options = Options {
                authority,
                ..Options::default()
            };
            let refused = Client::connect(&url, options).await;
            assert!(refused.is_err(), "{url}");
        }
    }
    let counters = &secure.live.counters;
    let before = counters.refused_tls.get();
    let mut plain = TcpStream::connect(secure.address()).await.expect("open");
    plain
        .write_all(b"GET /ws HTTP/1.1\r\n\r\n")
        .await
        .expect("sent");
    until(5.0, "it is counted", || counters.refused_tls.get() > before).await;
    secure.live.stop().await;

    let (certificate, _) = secure.authority.issue("one");
    let (_, key) = secure.authority.issue("two");
    for (certificate, key, names) in [
        (certificate.clone(), key, "certificate"),
        (certificate, "no-such-file".into(), "no-such-file"),
    ] {
        let mut settings = settings();
        settings.tls = Some(TlsFiles { certificate, key });
        let why = Gateway::bind(settings).await.err().expect("refused");
        assert!(why.to_string().contains(names), "{why}");
    }
}

/// The rules of WebSockets hold: tokens, pages from elsewhere, messages that are none, silence, too many connections.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_webtransport_clients_are_refused_and_counted() {
    let secure = Secure::start("orbit", |settings| {
        settings.limits.connections = 8;
        settings.limits.hello = Duration::from_secs(1);
    })
    .await;
    let good = secure.connect(&secure.web_transport()).await;
    until(5.0, "it runs", || good.look(|scene| scene.frame()) > 10).await;
    let counters = &secure.live.counters;

    let elsewhere = raw(&secure, "/wt", Some("https://evil.example")).await;
    assert!(elsewhere.is_err());
    assert_eq!(counters.refused_origins.get(), 1);
    assert!(raw(&secure, "/elsewhere", None).await.is_err());

    // Too long, truncated, not in its place.
    let early = ToGateway::Ping {
        sent: domain::SimTime(1),
    };
    let too_long = (u32::MAX).to_le_bytes().to_vec();
    for bad in [
        too_long,
        frame(&early.encode()),
        frame(&[1, VERSION as u8, 0, 255, 255]),
    ] {
        let before = counters.refused_malformed.get();
        let (connection, (mut sender, _receiver)) = raw(&secure, "/wt", None)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        sender.write_all(&bad).await.expect("sent");
        until(5.0, "it is counted", || {
            counters.refused_malformed.get() > before
        })
        .await;
        let _ = tokio::time::timeout(Duration::from_secs(5), connection.closed())
            .await
            .expect("and it must go");
    }
    // Nonsense about what is missing.
    let silent = counters.silent.get();
    let noisy = raw(&secure, "/wt", None).await;
    let (connection, _streams) = noisy.unwrap_or_else(|error| panic!("{error}"));
    let before = counters.refused_malformed.get();
    connection.send_datagram(numbered(7, b"x")).expect("sent");
    until(3.0, "it is counted", || {
        counters.refused_malformed.get() > before
    })
    .await;
    // It says nothing else, so it must go.
    until(5.0, "silence is counted", || counters.silent.get() > silent).await;

    // More than there is room for.
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(raw(&secure, "/wt", None).await);
    }
    assert!(held.iter().any(Result::is_err));
    assert!(counters.refused_connections.get() > 0);
    drop(held);
    assert!(!good.is_closed());
    let (start, first) = (Instant::now(), good.look(|scene| scene.frame()));
    until(10.0, "the good one goes on", || {
        good.look(|scene| scene.frame()) > first + 15
    })
    .await;
    println!("15 frames in {:?}", start.elapsed());
    secure.live.stop().await;
}

/// Datagrams are messages, too: who sends more of them than it may say must go. One that misses something now and then stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_datagrams_ends_the_session() {
    let secure = Secure::start("orbit", |_| {}).await;
    let good = secure.connect(&secure.web_transport()).await;
    until(5.0, "it runs", || good.look(|scene| scene.frame()) > 10).await;
    let counters = &secure.live.counters;
    let session = raw(&secure, "/wt", None).await;
    let (connection, (mut sender, _receiver)) = session.unwrap_or_else(|error| panic!("{error}"));
    let hello = ToGateway::Hello(client_protocol::Hello {
        version: VERSION,
        ..Default::default()
    });
    sender
        .write_all(&frame(&hello.encode()))
        .await
        .expect("sent");
    until(5.0, "it is let in", || counters.sessions.get() == 2).await;
    let missing = client_protocol::encode_missing(&[1, 2, 3]);
    for _ in 0..40 {
        connection.send_datagram(&missing).expect("sent");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(counters.refused_floods.get(), 0, "that was no flood");
    for _ in 0..2000 {
        if connection.send_datagram(&missing).is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let closed = tokio::time::timeout(Duration::from_secs(10), connection.closed()).await;
    let why = closed.expect("it must go").to_string();
    assert!(why.contains("too many datagrams"), "{why}");
    assert_eq!(counters.refused_floods.get(), 1);
    until(5.0, "only the good one is left", || {
        counters.sessions.get() == 1
    })
    .await;
    assert!(!good.is_closed());
    secure.live.stop().await;
}

/// A wrong token is answered with the reason, over WebTransport too.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_answered_over_webtransport() {
    let tokens = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(tokens.path(), "viewer-token view\n").expect("written");
    let secure = Secure::start("orbit", |settings| {
        settings.tokens = Some(tokens.path().to_owned());
    })
    .await;
    let refused = Client::connect(&secure.web_transport(), secure.options()).await;
    match refused.err() {
        Some(ClientError::Goodbye { reason, .. }) => assert_eq!(reason, Goodbye::Token),
        other => panic!("{other:?}"),
    }
    let options = Options {
        token: "viewer-token".to_owned(),
        ..secure.options()
    };
    let viewer = Client::connect(&secure.web_transport(), options).await;
    let refused = viewer.expect("let in").spawn(ball(1.0)).await;
    assert!(matches!(refused, Err(ClientError::Forbidden(_))));
    secure.live.stop().await;
}

type Streams = (wtransport::SendStream, wtransport::RecvStream);

/// A session that has said nothing yet.
async fn raw(
    secure: &Secure,
    path: &str,
    origin: Option<&str>,
) -> Result<(wtransport::Connection, Streams), String> {
    use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject};
    let pem = std::fs::read(secure.authority.certificate()).expect("written");
    let mut roots = tokio_rustls::rustls::RootCertStore::empty();
    let certificate = CertificateDer::from_pem_slice(&pem).expect("ours");
    roots.add(certificate).expect("sound");
    let tls = wtransport::tls::client::build_default_tls_config(roots.into(), None);
    let config = wtransport::ClientConfig::builder()
        .with_bind_default()
        .with_custom_tls(tls)
        .build();
    let endpoint = wtransport::Endpoint::client(config).expect("opened");
    let url = format!("https://{}{path}", secure.address());
    let mut request = wtransport::endpoint::ConnectOptions::builder(&url);
    if let Some(origin) = origin {
        request = request.add_header("origin", origin);
    }
    let connection = endpoint.connect(request.build()).await;
    let connection = connection.map_err(|error| error.to_string())?;
    let opening = connection.open_bi().await;
    let opening = opening.map_err(|error| error.to_string())?;
    let streams = opening.await.map_err(|error| error.to_string())?;
    Ok((connection, streams))
}
