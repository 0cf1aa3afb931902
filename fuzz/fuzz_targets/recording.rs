//! Whatever a file is, reading it as a recording does not panic; and whatever its messages say, neither does a client that believes them.

#![no_main]

use client_protocol::ToClient;
use domain::SimTime;
use libfuzzer_sys::fuzz_target;
use recording::{Header, Recording, Writer};

fuzz_target!(|body: &[u8]| {
    read(body);
    // The same bytes as messages of a sound file, each with its length in front.
    let mut writer = Writer::new(Vec::new(), &Header::default()).expect("memory takes everything");
    let track = writer.track("world").expect("the first one");
    let (mut rest, mut time) = (body, 0);
    while let Some((length, after)) = rest.split_first() {
        let (message, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        time += u64::from(*length);
        let written = match length % 2 {
            0 => writer.key(track, time, &[message]),
            _ => writer.messages(track, time, &[message]),
        };
        written.expect("memory takes everything");
    }
    let file = writer.finish().expect("memory takes everything");
    assert!(read(&file), "what was written is complete");
    // And cut off somewhere.
    read(&file[..file.len() * 2 / 3]);
});

fn read(file: &[u8]) -> bool {
    let Ok(recording) = Recording::parse(file) else {
        return false;
    };
    let mut scene = client::Scene::new(true);
    for chunk in recording.up_to(0, recording.duration()) {
        for message in chunk.messages() {
            if let Ok(message) = ToClient::decode(message) {
                let _ = scene.handle_message(SimTime(1_000_000_000), 0, &message);
            }
        }
    }
    let _ = scene.poses(scene.shown_frame(SimTime(2_000_000_000))).count();
    recording.is_complete()
}
