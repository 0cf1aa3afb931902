//! Recordings: reproducible byte by byte, true to the simulation, readable when cut off, and what a live gateway shows can be recorded too.

use client::Scene as ClientScene;
use client_protocol::{Content, HealthState, Layers, ToClient};
use cluster::gateway::{Recorder, RecorderSettings};
use cluster::schema::{WorldOptions, WorldSpec};
use domain::{BodyId, Motion, SimTime};
use recording::{ChunkKind, Recording, SIMULATED_START};
use scenes::Scene;
use simulator::{SimOptions, Simulation};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};
use std::rc::Rc;

fn auramesh(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_auramesh"))
        .args(args)
        .output()
        .expect("it starts")
}

fn record(out: &Path, args: &[&str]) {
    let out = out.to_str().expect("a name");
    let output = auramesh(&[&["record", "--out", out], args].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
}

/// Same build, scene and seed: the same bytes; another seed: others.
#[test]
fn a_recording_is_reproducible() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let scenes: [&[&str]; 4] = [
        &["head-on", "--seconds", "4"],
        &["columns", "--servers", "4", "--seconds", "4"],
        &["ragdolls", "--seconds", "3", "--net", "lossy_mobile"],
        &["orbit", "--seconds", "6", "--faults", "crash=1@2+0.8"],
    ];
    for args in scenes {
        record(&file("one"), args);
        record(&file("two"), args);
        let one = std::fs::read(file("one")).expect("written");
        assert!(
            one == std::fs::read(file("two")).expect("written"),
            "{args:?}"
        );
        let recording = Recording::parse(&one).expect("sound");
        assert!(recording.is_complete() && recording.duration() > 2_500_000_000);
        record(&file("two"), &[args, &["--seed", "4711"]].concat());
        assert!(
            one != std::fs::read(file("two")).expect("written"),
            "{args:?}"
        );
    }
}

type Truth = BTreeMap<u64, BTreeMap<BodyId, Motion>>;

/// Records a scene in this process, and what really happened: where every body was at each frame.
fn record_with_truth(name: &str, seconds: f64) -> (Vec<cluster::gateway::RecordedFrame>, Truth) {
    let scene = Scene::load(name).expect("built in");
    let options = SimOptions {
        servers: Some(4),
        seconds: Some(seconds),
        checkers: false,
        ..SimOptions::default()
    };
    let text = scenes::builtin::text(name).expect("built in");
    let world = WorldOptions {
        regions: Some(4),
        ..WorldOptions::default()
    };
    let mut spec = WorldSpec::new(text, None, &world).expect("a world");
    spec.start_unix_ns = Some(SIMULATED_START);
    let settings = RecorderSettings::default();
    let feed_ticks = settings.feed_ticks;
    let recorder = Recorder::new(spec, settings).expect("a scene");
    let tape = Rc::new(RefCell::new((recorder, Vec::new(), Truth::new())));
    let mut simulation = Simulation::new(&scene, &options).expect("fits");
    let shared = Rc::clone(&tape);
    simulation.look(Box::new(move |look| {
        let (recorder, frames, truth) = &mut *shared.borrow_mut();
        let record = look.record;
        let events = [look.between, &record.before_step, &record.after_step];
        recorder.handle_tick(look.now, look.region, &events, look.bytes_sent);
        frames.extend(recorder.take_frames());
        let tick = look.region.tick().0;
        if tick.is_multiple_of(feed_ticks) {
            let there = truth.entry(tick / feed_ticks).or_default();
            there.extend(look.region.world().motions());
        }
    }));
    simulation.run(|_| {});
    let (_, frames, truth) = Rc::into_inner(tape)
        .expect("the run has ended")
        .into_inner();
    (frames, truth)
}

/// A decoder checks that every body of the simulator is shown, and within the tolerance; also when it begins in the middle.
#[test]
fn a_recording_shows_every_body_within_the_tolerance() {
    for (name, seconds) in [("playground", 8.0), ("corner-stacks", 5.0), ("orbit", 6.0)] {
        let (frames, truth) = record_with_truth(name, seconds);
        let keys: Vec<usize> = (0..frames.len()).filter(|at| frames[*at].is_key).collect();
        assert!(keys.len() as f64 >= seconds / 2.0 - 1.0, "{name}: {keys:?}");
        for begin in [0, keys[keys.len() / 2]] {
            check(name, &frames[begin..], &truth);
        }
    }
}

fn check(name: &str, frames: &[cluster::gateway::RecordedFrame], truth: &Truth) {
    let mut scene = ClientScene::new(true);
    let (mut compared, mut worst) = (0, 0.0_f64);
    let mut owners: BTreeSet<u32> = BTreeSet::new();
    for (count, frame) in frames.iter().enumerate() {
        for message in &frame.messages {
            let told = ToClient::decode(message).expect("a message");
            let taken = scene.handle_message(SimTime(0), message.len(), &told);
            taken.expect("makes sense");
        }
        // One frame later than it happened, as Welcome says; the first curves need two.
        if count < 3 {
            continue;
        }
        let welcome = scene.welcome().expect("it begins with it");
        let shown_frame = frame.frame - u64::from(welcome.delay_frames);
        for (body, motion) in truth.get(&shown_frame).into_iter().flatten() {
            // Bodies that came within the last frame have no past yet.
            let old = |frame: u64| truth.get(&frame).is_some_and(|all| all.contains_key(body));
            if !(shown_frame.saturating_sub(2)..shown_frame).all(old) {
                continue;
            }
            let shown = scene.pose(*body, shown_frame as f64);
            let shown = shown.unwrap_or_else(|| {
                let known = scene.body(*body);
                panic!("{name}: {body} is not shown in frame {shown_frame} of {}, {known:?}, {motion:?}", frame.frame)
            });
            let off = shown.position.distance(motion.position);
            worst = worst.max(off);
            compared += 1;
            assert!(
                off <= f64::from(welcome.tolerance_m) * 1.05,
                "{name}: {body} is shown {off} m off in frame {shown_frame}"
            );
        }
        owners.extend(scene.bodies().map(|(_, body)| body.owner.0));
    }
    assert!(compared > 500, "{name}: {compared}");
    assert_eq!(owners.len(), 4, "{name}: bodies of four owners");
    println!("{name}: {compared} poses compared, worst {worst:.4} m");
}

/// The layers that a live client can ask for are in it; a crash is visible as such.
#[test]
fn a_recording_shows_auras_migrations_and_a_crash() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("crash.aurarec");
    record(
        &file,
        &[
            "orbit",
            "--seconds",
            "6",
            "--faults",
            "crash=1@2+0.8",
            "--pick",
            "1,2",
        ],
    );
    let bytes = std::fs::read(&file).expect("written");
    let recording = Recording::parse(&bytes).expect("sound");
    let mut layers = Layers::NONE;
    let mut states = BTreeSet::new();
    let mut terms = BTreeSet::new();
    for chunk in recording.chunks() {
        for message in chunk.messages() {
            let told = ToClient::decode(message).expect("a message");
            let ToClient::Inspection { parts, .. } = told else {
                continue;
            };
            for part in parts {
                layers = layers.with(part.content.layer());
                if let Content::Health(health) = part.content {
                    states.insert(health.state as u8);
                    terms.insert(health.term);
                }
            }
        }
    }
    // Balls that keep to their circles do not meet.
    let expected = Layers::ALL.0 & !Layers::CROSSINGS.0;
    assert_eq!(layers.0 & expected, expected, "{:04x}", layers.0);
    for state in [HealthState::Running, HealthState::Silent] {
        assert!(states.contains(&(state as u8)), "{state:?}: {states:?}");
    }
    assert_eq!(terms, BTreeSet::from([1, 2]));
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("x");
    let out = out.to_str().expect("a name");
    let refused: [(&[&str], &str); 6] = [
        (&["record", "--out", out], "SCENE"),
        (&["record", "no-such-scene", "--out", out], "no-such-scene"),
        (
            &["record", "orbit", "--out", "/no/such/folder/x"],
            "/no/such/folder/x",
        ),
        (
            &["record", "--connect", "http://127.0.0.1:9/", "--out", out],
            "cannot connect",
        ),
        (&["replay", "/no/such/file"], "/no/such/file"),
        (&["replay", env!("CARGO_MANIFEST_PATH")], "not a recording"),
    ];
    for (args, hint) in refused {
        let output = auramesh(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(hint), "{args:?}: {error}");
    }
}

/// A recording that becomes too long ends there, and says so; what there is can be read.
#[test]
fn a_recording_is_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("long");
    let out = file.to_str().expect("a name");
    let output = auramesh(&[
        "record",
        "shaker",
        "--seconds",
        "20",
        "--max-mb",
        "1",
        "--out",
        out,
    ]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("--max-mb"), "{error}");
    let bytes = std::fs::read(&file).expect("written");
    assert!(bytes.len() < 1_100_000);
    let recording = Recording::parse(&bytes).expect("sound");
    assert!(recording.is_complete());
    let keys = recording.chunks().iter();
    assert!(keys.filter(|chunk| chunk.kind == ChunkKind::Key).count() > 0);
}

/// One request, as a browser makes it: the status and the body.
fn get(address: &str, host: &str, path: &str) -> (u16, Vec<u8>) {
    use std::io::{Read, Write};
    let mut socket = std::net::TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("answered");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.expect("a header");
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    assert!(
        !head.to_lowercase().contains("transfer-encoding: chunked"),
        "{head}"
    );
    (status.expect("a status"), answer.split_off(end + 4))
}

/// `replay` serves the page and the file, on this machine and to nobody else, and ends with Ctrl-C.
#[test]
fn a_recording_is_served_to_the_viewer() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("two words.aurarec");
    record(&file, &["head-on", "--seconds", "3"]);
    let bytes = std::fs::read(&file).expect("written");
    let mut child = Command::new(env!("CARGO_BIN_EXE_auramesh"))
        .args(["replay", "--port", "0"])
        .arg(&file)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut lines = lines.map(|line| line.expect("text"));
    let url = lines
        .find(|line| line.starts_with("http://"))
        .expect("the URL is alone on a line");
    let rest = url.strip_prefix("http://").expect("found by it");
    let (address, path) = rest.split_once("/?recording=").expect("{url}");
    assert_eq!(path, "/recordings/two%20words.aurarec");
    let (status, served) = get(address, address, path);
    assert_eq!((status, served == bytes), (200, true));
    assert_eq!(get(address, address, "/").0, 200, "the page");
    assert_eq!(get(address, address, "/recordings/other").0, 404);
    assert_eq!(get(address, "evil.example", path).0, 403);
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("it was started").code(), Some(0));
}
