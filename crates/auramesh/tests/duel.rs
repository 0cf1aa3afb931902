//! `auramesh duel`: two stations over UDP, and what both saw side by side in a recording (issue 6, Deliver 5; ML-42).

use recording::{ChunkKind, Recording};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn auramesh(args: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_auramesh"))
        .args(args)
        .output();
    command.expect("the program runs")
}

#[test]
fn both_sides_agree_and_can_be_seen_side_by_side() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("duel.aurarec");
    let name = file.to_str().expect("plain");
    let output = auramesh(&[
        "duel",
        "--seconds",
        "6",
        "--json",
        "--record",
        name,
        "--net",
        "latency_ms=40,jitter_ms=5,loss=0.1",
    ]);
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(told["agree"], true, "{told}");
    assert!(told["sides"][0]["hits"].as_u64() > Some(0), "{told}");
    let bytes = std::fs::read(&file).expect("written");
    let recording = Recording::parse(&bytes).expect("sound");
    assert!(recording.is_complete());
    let count = |kind: ChunkKind, track: u16| {
        let chunks = recording.chunks().iter();
        chunks
            .filter(|chunk| chunk.kind == kind && chunk.track == track)
            .count()
    };
    for track in 0..2 {
        assert!(count(ChunkKind::Messages, track) > 60, "track {track}");
        assert!(count(ChunkKind::Note, track) > 0, "track {track}");
    }
}

#[test]
fn what_cannot_be_emulated_is_said() {
    let output = auramesh(&["duel", "--net", "dup=0.5"]);
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("latency_ms, jitter_ms, loss"), "{words}");
}

/// Two ports that were free a moment ago.
fn free_addresses() -> [SocketAddr; 2] {
    let sockets = [0, 1].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"));
    sockets.map(|socket| socket.local_addr().expect("bound"))
}

fn side(name: &str, [listen, peer]: [SocketAddr; 2], more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_auramesh"));
    let (listen, peer) = (listen.to_string(), peer.to_string());
    command
        .args(["duel", "--side", name, "--listen", &listen, "--peer", &peer])
        .args(["--json", "--net", "latency_ms=40,jitter_ms=5,loss=0.1"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn told(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn tracks(file: &Path) -> usize {
    let bytes = std::fs::read(file).expect("written");
    let recording = Recording::parse(&bytes).expect("sound");
    assert!(recording.is_complete());
    let chunks = recording.chunks().iter();
    let messages = chunks.filter(|chunk| chunk.kind == ChunkKind::Messages);
    let tracks: std::collections::BTreeSet<u16> = messages.map(|chunk| chunk.track).collect();
    tracks.len()
}

/// Issue 6, Deliver 5: two processes, each with its own avatar, started one after the other, count the same hits.
#[test]
fn two_processes_agree() {
    let [one, other] = free_addresses();
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("first.aurarec");
    let record = ["--seconds", "7", "--record", file.to_str().expect("plain")];
    let first = side("first", [one, other], &record).spawn();
    let first = first.expect("the program runs");
    // The first one waits: it plays with nobody's ghost meanwhile.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let second = side("second", [other, one], &["--seconds", "7"]).output();
    let second = told(&second.expect("the program runs"));
    let first = told(&first.wait_with_output().expect("it ends"));
    let hits = |told: &Value| told["sides"][0]["hits"].as_u64();
    assert!(hits(&first) > Some(0), "{first}");
    assert_eq!(hits(&first), hits(&second), "{first}\n{second}");
    assert_eq!(first["sides"][0]["datagrams_refused"], 0);
    assert_eq!(tracks(&file), 1);
}

#[test]
fn a_side_that_waits_in_vain_says_what_it_knows() {
    let [one, other] = free_addresses();
    let alone = side("first", [one, other], &["--wait", "0.5"]).output();
    let alone = alone.expect("the program runs");
    assert_eq!(alone.status.code(), Some(2));
    let words = String::from_utf8_lossy(&alone.stderr);
    assert!(words.contains("nothing has arrived"), "{words}");
    // Both are there, but they do not share a secret.
    let [one, other] = free_addresses();
    let more = ["--wait", "4", "--secret"];
    let first = side("first", [one, other], &[&more[..], &["ours"]].concat()).spawn();
    let first = first.expect("the program runs");
    let second = side("second", [other, one], &[&more[..], &["guess"]].concat()).output();
    second.expect("the program runs");
    let first = first.wait_with_output().expect("it ends");
    let words = String::from_utf8_lossy(&first.stderr);
    assert_eq!(first.status.code(), Some(2), "{words}");
    assert!(words.contains("same secret"), "{words}");
}
