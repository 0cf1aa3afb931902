//! `auramesh replay`: a recording in the viewer.

use crate::Status;
use crate::args::ReplayArgs;
use crate::cluster_process::{block_on, ended, start_logging, stop_signal};
use crate::output::print;
use cluster::gateway::ReplayServer;
use recording::Recording;
use std::net::SocketAddr;

/// Shows it until Ctrl-C.
pub fn run(args: &ReplayArgs) -> Status {
    start_logging("warn");
    ended(block_on(replay(args)).and_then(|result| result))
}

async fn replay(args: &ReplayArgs) -> Result<(), String> {
    let name = args.file.display();
    let bytes =
        std::fs::read(&args.file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let recording = Recording::parse(&bytes).map_err(|error| format!("{name}: {error}"))?;
    let secs = recording.duration() as f64 * 1e-9;
    let tracks = recording.tracks.join(", ");
    let mut about = format!(
        "{}: {secs:.1} s, tracks: {tracks}\n",
        recording.header.title
    );
    for (key, value) in &recording.header.about {
        about.push_str(&format!("{key}: {value}\n"));
    }
    if !recording.is_complete() {
        let (sound, all) = (recording.sound_bytes(), bytes.len());
        about.push_str(&format!(
            "It was cut off or damaged: {sound} of {all} bytes are shown.\n"
        ));
    }
    drop(bytes);
    let bind = SocketAddr::from(([127, 0, 0, 1], args.port));
    let server = ReplayServer::bind(bind, args.file.clone(), None)
        .await
        .map_err(|error| format!("{error} (--port chooses another one, 0 any that is free)"))?;
    print(&format!("{about}{}\nCtrl-C ends it.\n", server.url()));
    let served = server.run(stop_signal()).await;
    served.map_err(|error| format!("cannot serve: {error}"))
}
