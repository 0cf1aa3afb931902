//! `auramesh duel`: two stations over UDP, and what both saw side by side in a recording (issue 6, Deliver 5; ML-42).

use recording::{ChunkKind, Recording};
use serde_json::Value;
use std::process::Command;

fn auramesh(args: &[&str]) -> std::process::Output {
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
