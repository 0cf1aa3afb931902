//! One hostile client per test: it is refused, a metric counts it, and meanwhile the servers keep their tick rate and an honest client its updates.

#[allow(dead_code, reason = "shared with other tests")]
mod gateway_common;
#[allow(dead_code, reason = "shared with other tests")]
mod live_common;
#[allow(dead_code, reason = "shared with other tests")]
mod stalls;

use client::{Area, Client, Options, Spawn};
use client_protocol::{Answer, Command, MAX_CLIENT_MESSAGE, ToGateway};
use cluster::gateway::{Counters, GatewaySettings};
use cluster::names::Place;
use domain::{BodyId, Rect, Shape, SimTime};
use gateway_common::{Live, settings, until};
use glam::{DVec3, Vec3};
use live_common::world;
use stalls::Stalls;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// An attack lasts at least so long: shorter ones say nothing of the tick rate.
const ATTACK: Duration = Duration::from_millis(1500);
/// A region may be this far behind the clock at any moment on a busy machine; it makes up for it.
const BEHIND: f64 = 0.5;
const TICKS_PER_SEC: f64 = 60.0;
/// Updates a second that an honest client gets at the very least: every tenth frame is sent even if nothing moves.
const UPDATES_PER_SEC: f64 = 3.0;

/// A world of orbiting balls on two servers, an honest client, and someone who means no good.
struct Siege {
    live: Live,
    honest: Client,
    stalls: Stalls,
    start: Instant,
    ticks: BTreeMap<Place, u64>,
    counted: BTreeMap<&'static str, u64>,
}

impl Siege {
    async fn begin(settings: GatewaySettings, token: &str) -> Self {
        let live = Live::start(world("orbit", 2), 2, settings).await;
        let honest = Options {
            token: token.to_owned(),
            ..Options::default()
        };
        let mut honest = live.client_with(honest).await;
        until(5.0, "it runs", || honest.look(|scene| scene.frame()) > 30).await;
        honest.take_events();
        Self {
            start: Instant::now(),
            ticks: ticks(&live),
            counted: metrics(&live.counters),
            stalls: Stalls::watch(),
            live,
            honest,
        }
    }

    fn goes_on(&self) -> bool {
        self.start.elapsed() < ATTACK
    }

    fn counted(&self, metric: &str) -> u64 {
        metrics(&self.live.counters)[metric] - self.counted[metric]
    }

    /// It is over: so many refusals were counted, every region has stepped as many ticks as were due, and the honest client was served.
    async fn end(mut self, metric: &str, refusals: u64) {
        let elapsed = self.start.elapsed().as_secs_f64();
        let now = ticks(&self.live);
        let updates = self.honest.take_events();
        let updates = updates
            .iter()
            .filter(|event| matches!(event, client::Event::Updated { .. }))
            .count();
        assert_eq!(self.counted(metric), refusals, "{metric}");
        let stall = self.stalls.longest(self.start).unwrap_or_default();
        let behind = BEHIND + stall.as_secs_f64();
        for (place, before) in &self.ticks {
            let stepped = (now[place] - before) as f64;
            let due = (elapsed - behind) * TICKS_PER_SEC;
            assert!(stepped >= due, "{place}: {stepped} ticks in {elapsed} s");
        }
        assert!(!self.honest.is_closed());
        let due = (elapsed - behind) * UPDATES_PER_SEC;
        assert!(updates as f64 >= due, "{updates} updates in {elapsed} s");
        assert_eq!(self.honest.look(|scene| scene.bodies().len()), 6);
        self.live.stop().await;
    }

    /// Connects again and again and says something that costs the connection; returns how often it was thrown out.
    async fn annoy(&self, words: &[Vec<u8>]) -> u64 {
        let mut thrown_out = 0;
        for word in words.iter().cycle() {
            if !self.goes_on() && thrown_out >= words.len() as u64 {
                break;
            }
            let client = self.live.client().await;
            client.send_raw(word.clone()).await.expect("sent");
            until(5.0, "it is sent away", || client.is_closed()).await;
            thrown_out += 1;
        }
        thrown_out
    }
}

fn ticks(live: &Live) -> BTreeMap<Place, u64> {
    let regions = live.servers.iter().flat_map(|it| it.gauges.regions());
    let ticks: BTreeMap<Place, u64> = regions
        .map(|(place, _, gauges)| (place, gauges.tick.0))
        .collect();
    assert_eq!(ticks.len(), 2);
    ticks
}

fn metrics(counters: &Counters) -> BTreeMap<&'static str, u64> {
    let names = Counters::METRICS.iter().map(|((name, ..), _)| *name);
    let values = counters.all().into_iter().map(|(.., value)| value);
    names.zip(values).collect()
}

fn command(id: u32, command: Command) -> Vec<u8> {
    ToGateway::Command { id, command }.encode()
}

fn ball() -> Spawn {
    Spawn::new(Shape::Sphere { radius: 0.4 }, DVec3::new(2.0, 50.0, 2.0))
}

const MALFORMED: &str = "auramesh_gateway_refused_malformed_total";

/// Larger than any message may be, by a byte and by a lot.
#[tokio::test(flavor = "multi_thread")]
async fn oversized() {
    let siege = Siege::begin(settings(), "").await;
    let words = [1, 20 * MAX_CLIENT_MESSAGE].map(|more| vec![4; MAX_CLIENT_MESSAGE + more]);
    let refused = siege.annoy(&words).await;
    siege.end(MALFORMED, refused).await;
}

/// Every beginning of a command that is none.
#[tokio::test(flavor = "multi_thread")]
async fn truncated() {
    let siege = Siege::begin(settings(), "").await;
    let whole = command(1, Command::Spawn(Box::new(ball())));
    let words: Vec<Vec<u8>> = (0..whole.len()).map(|n| whole[..n].to_vec()).collect();
    let refused = siege.annoy(&words).await;
    siege.end(MALFORMED, refused).await;
}

/// Numbers that are none, in every kind of command that has some.
#[tokio::test(flavor = "multi_thread")]
async fn not_a_number() {
    let siege = Siege::begin(settings(), "").await;
    let body = BodyId(1);
    let impulse = |impulse, at| Command::Impulse { body, impulse, at };
    let at = |position| Spawn { position, ..ball() };
    let thrown = |velocity| Spawn { velocity, ..ball() };
    let nowhere = DVec3::new(0.0, f64::NAN, 0.0);
    let mut words: Vec<Vec<u8>> = [
        impulse(Vec3::NAN, None),
        impulse(Vec3::splat(f32::INFINITY), None),
        impulse(Vec3::Y, Some(nowhere)),
        Command::Spawn(Box::new(at(nowhere))),
        Command::Spawn(Box::new(at(DVec3::NEG_INFINITY))),
        Command::Spawn(Box::new(thrown(Vec3::NAN))),
        Command::Ray {
            origin: nowhere,
            direction: Vec3::Y,
            reach: 1.0,
        },
        Command::Ray {
            origin: DVec3::ZERO,
            direction: Vec3::NAN,
            reach: 1.0,
        },
    ]
    .into_iter()
    .map(|bad| command(1, bad))
    .collect();
    let nowhere = Rect {
        min: [f64::NAN; 2],
        max: [1.0; 2],
    };
    words.push(ToGateway::Watch(Area::Rect(nowhere)).encode());
    let refused = siege.annoy(&words).await;
    siege.end(MALFORMED, refused).await;
}

/// Found by an audit: a lever of 1e300 m, and stuff so light that any push is too hard for it, made numbers in the engine that were none. The region's snapshots could not be restored
/// then, and its neighbours did not hear it any more. What the gateway lets through the region refuses; afterwards its neighbours have understood every word, and its regions can move
/// to the other server, with everything in them.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_would_break_the_engine() {
    let mut siege = Siege::begin(settings(), "").await;
    let client = siege.live.client().await;
    let ball = client.spawn(ball()).await.expect("a ball");
    let light = |density: f32, radius: f32| {
        let mut spawn = Spawn::new(Shape::Sphere { radius }, DVec3::new(-2.0, 60.0, 2.0));
        spawn.material.density = density;
        spawn
    };
    let feather = client.spawn(light(1e-3, 0.01)).await.expect("a feather");
    let push = |body, impulse, at| Command::Impulse { body, impulse, at };
    let mut refused = 0;
    while siege.goes_on() {
        for vapour in [light(1e-32, 0.4), light(9e-4, 0.4), light(1e3, 1e-12)] {
            client.spawn(vapour).await.expect_err("it would break");
        }
        for lever in [DVec3::X * 1e300, DVec3::Y * 1e30, DVec3::Z * -1e9] {
            let answer = client.command(push(ball, Vec3::Y, Some(lever))).await;
            let answer = answer.expect("an answer");
            assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
        }
        refused += 6;
        // The gateway knows nothing of weights.
        let lever = Some(DVec3::new(2.0, 60.0, 100.0));
        for (body, impulse, at) in [(feather, Vec3::X * 9e6, None), (feather, Vec3::Y, lever)] {
            let answer = client.command(push(body, impulse, at)).await;
            let answer = answer.expect("an answer");
            assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for body in [ball, feather] {
        client.remove(body).await.expect("it is still there");
    }
    let honest = &siege.honest;
    let bodies = || honest.look(|scene| scene.bodies().len());
    until(5.0, "only the scene's bodies are left", || bodies() == 6).await;
    let regions = siege.live.servers.iter();
    for (place, _, gauges) in regions.flat_map(|server| server.gauges.regions()) {
        let trouble = (gauges.failures, gauges.refused, gauges.broken);
        assert_eq!(trouble, (0, 0, 0), "{place}");
    }
    let leaving = siege.live.servers.pop().expect("there are two");
    leaving.leave().await;
    let gauges = siege.live.servers[0].gauges.clone();
    until(5.0, "its region goes on elsewhere", || {
        let regions = gauges.regions();
        let of_all = regions.iter().map(|(.., gauges)| gauges.bodies);
        regions.len() == 2 && of_all.sum::<u32>() == 6
    })
    .await;
    siege
        .end("auramesh_gateway_refused_commands_total", refused)
        .await;
}

/// As many messages as the network takes, again and again.
#[tokio::test(flavor = "multi_thread")]
async fn flooding() {
    let siege = Siege::begin(settings(), "").await;
    let ping = ToGateway::Ping { sent: SimTime(1) }.encode();
    let mut thrown_out = 0;
    while siege.goes_on() || thrown_out == 0 {
        let client = siege.live.client().await;
        while !client.is_closed() && client.send_raw(ping.clone()).await.is_ok() {}
        until(5.0, "it is sent away", || client.is_closed()).await;
        thrown_out += 1;
    }
    siege
        .end("auramesh_gateway_refused_floods_total", thrown_out)
        .await;
}

/// A command that someone has recorded, played back: it is not done again.
#[tokio::test(flavor = "multi_thread")]
async fn replayed() {
    let siege = Siege::begin(settings(), "").await;
    let client = siege.live.client().await;
    let before = client.spawn(ball()).await.expect("the first");
    client.remove(before).await.expect("it is ours");
    // The client counts its commands from 1: this is the one it gave first.
    let recorded = command(1, Command::Spawn(Box::new(ball())));
    let mut played = 0;
    while siege.goes_on() {
        client.send_raw(recorded.clone()).await.expect("sent");
        played += 1;
        // Below what is a flood.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let metric = "auramesh_gateway_refused_replays_total";
    until(5.0, "all are refused", || siege.counted(metric) == played).await;
    assert!(!client.is_closed());
    siege.end(metric, played).await;
}

/// Whoever may only look, and wants more.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_role() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    let tokens = b"viewer-token view\nadmin-token-1 admin\n";
    file.write_all(tokens).expect("written");
    let mut settings = settings();
    settings.tokens = Some(file.path().to_owned());
    let siege = Siege::begin(settings, "admin-token-1").await;
    let options = Options {
        token: "viewer-token".to_owned(),
        ..Options::default()
    };
    let viewer = siege.live.client_with(options).await;
    let body = siege
        .honest
        .look(|scene| scene.bodies().next().map(|(id, _)| id));
    let body = body.expect("there are some");
    let mut refused = 0;
    while siege.goes_on() {
        viewer.spawn(ball()).await.expect_err("only looks");
        viewer.impulse(body, Vec3::Y).await.expect_err("only looks");
        viewer.remove(body).await.expect_err("only looks");
        viewer.reset().await.expect_err("only looks");
        refused += 4;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    siege
        .end("auramesh_gateway_refused_forbidden_total", refused)
        .await;
}

/// Ten thousand connections, as fast as they can be made: the door lets in as many as are allowed.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_connections() {
    let mut settings = settings();
    settings.limits.connections = 20;
    // Nobody who was let in must go, and make room, before it is over.
    settings.limits.hello = Duration::from_secs(120);
    let siege = Siege::begin(settings, "").await;
    let address = siege.live.url.replace("ws://", "").replace("/ws", "");
    let mut made = 0;
    let mut held = Vec::new();
    while made < 10_000 {
        if let Ok(stream) = TcpStream::connect(&address).await {
            made += 1;
            // Those that are refused are closed at the other end; ours would run out of files.
            if held.len() < 100 {
                held.push(stream);
            }
        }
    }
    let (let_in, refused) = (19, 10_000 - 19);
    let connections = "auramesh_gateway_connections_total";
    let door = "auramesh_gateway_refused_connections_total";
    until(20.0, "all are answered", || {
        siege.counted(connections) + siege.counted(door) == 10_000
    })
    .await;
    assert_eq!(siege.counted(connections), let_in);
    siege.end(door, refused).await;
}
