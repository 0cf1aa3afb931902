//! What does a client's view cost? Bytes of the state stream and the errors it shows, on built-in scenes.
//!
//! ```text
//! cargo run --release -p auramesh-simulator --example state_stream                  the numbers of docs/protocols/state-stream.md
//! cargo run --release -p auramesh-simulator --example state_stream SCENE [SECONDS]  another scene
//! cargo run --release -p auramesh-simulator --example state_stream train            prints new tables for the coder
//! ```
//!
//! A scene is run once on one server and recorded; every variant streams the same recording to one client, with an update
//! each 1/30 s. The shown error is taken at *every* tick of the server, for every body: the client's pose for that
//! tick, at the moment when it shows it, against the server's.

mod recording;
mod streaming;
mod training;

use recording::Recording;
use streaming::{Link, measure};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        None => {
            shaker(&Recording::of("shaker", None, None));
            columns(&Recording::of("columns", None, None));
        }
        Some("train") => training::train(),
        Some(scene) => {
            let seconds = args
                .get(1)
                .map(|text| text.parse().unwrap_or_else(|_| usage()));
            let recording = Recording::of(scene, seconds, None);
            recording.describe();
            measure(
                &recording,
                "100 ms behind",
                recording.settings(6),
                Link::PERFECT,
            )
            .print();
        }
    }
}

fn usage() -> ! {
    eprintln!("usage: state_stream [train | SCENE [SECONDS]]");
    std::process::exit(2);
}

fn shaker(recording: &Recording) {
    recording.describe();
    for (name, delay_ticks) in [
        ("100 ms behind", 6),
        ("33 ms behind", 2),
        ("0 ms behind", 0),
    ] {
        let settings = recording.settings(delay_ticks);
        measure(recording, name, settings, Link::PERFECT).print();
    }
    let settings = recording.settings(6);
    let far = Link {
        delay_ticks: 6,
        loss: 0.0,
    };
    measure(
        recording,
        "100 ms behind, link 100 ms each way",
        settings,
        far,
    )
    .print();
    let bad = Link { loss: 0.05, ..far };
    measure(
        recording,
        "100 ms behind, link 100 ms each way, 5 % lost",
        settings,
        bad,
    )
    .print();
}

fn columns(recording: &Recording) {
    recording.describe();
    let report = measure(
        recording,
        "100 ms behind",
        recording.settings(6),
        Link::PERFECT,
    );
    report.print();
    println!(
        "  every changed pose as 7 f32: {} bytes, {:.1} times as many",
        report.raw_bytes,
        report.raw_bytes as f64 / report.bytes as f64
    );
}
