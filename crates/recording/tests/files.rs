//! Recordings are read as they were written; cut off or damaged, as far as they are sound; and no bytes do harm.

use client::Scene;
use client_protocol::{RegionMark, ToClient};
use domain::{BodyId, Motion, Rect, RegionId, Shape, SimTime, TickLength};
use glam::{DVec3, Vec3};
use proptest::prelude::*;
use recording::{
    ChunkKind, Header, MOST_TRACKS, Pose, PoseSettings, PoseTrack, Recording, RecordingError,
    WriteError, Writer,
};

const EXTENT: Rect = Rect {
    min: [-10.0, -10.0],
    max: [10.0, 10.0],
};

fn header() -> Header {
    Header {
        start: 7,
        title: "täst".to_owned(),
        about: vec![("seed".to_owned(), "1".to_owned())],
    }
}

fn sample() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).expect("written");
    let a = writer.track("A").expect("room");
    let b = writer.track("B").expect("room");
    writer.key(a, 0, &[&[1, 2][..], &[3]]).expect("written");
    writer.key(b, 0, &[&[9]]).expect("written");
    writer.messages(a, 5, &[&[4]]).expect("written");
    writer.note(b, 6, "look").expect("written");
    writer.key(a, 10, &[&[5]]).expect("written");
    writer.messages(a, 12, &[&[6], &[7]]).expect("written");
    writer.finish().expect("written")
}

fn told(recording: &Recording, track: u16, time: u64) -> Vec<u8> {
    let chunks = recording.up_to(track, time);
    chunks
        .flat_map(|chunk| chunk.messages().flatten().copied())
        .collect()
}

#[test]
fn what_was_written_is_read() {
    let bytes = sample();
    let recording = Recording::parse(&bytes).expect("sound");
    assert_eq!(recording.header, header());
    assert_eq!(recording.tracks, ["A", "B"]);
    assert!(recording.is_complete());
    assert_eq!(recording.duration(), 12);
    assert_eq!(told(&recording, 0, 0), [1, 2, 3]);
    assert_eq!(told(&recording, 0, 9), [1, 2, 3, 4]);
    assert_eq!(told(&recording, 0, 11), [5], "from the last key");
    assert_eq!(told(&recording, 0, 12), [5, 6, 7]);
    assert_eq!(told(&recording, 1, 99), [9]);
    let notes: Vec<_> = recording.chunks().iter().filter_map(|c| c.note()).collect();
    assert_eq!(notes, ["look"]);
}

/// A truncated file is readable up to its end.
#[test]
fn a_file_that_was_cut_off_is_read_as_far_as_it_goes() {
    let bytes = sample();
    let whole = Recording::parse(&bytes).expect("sound");
    let ends: Vec<usize> = whole
        .chunks()
        .iter()
        .skip(1)
        .map(|c| c.offset as usize)
        .collect();
    let mut most = 0;
    for length in 0..bytes.len() {
        let Ok(cut) = Recording::parse(&bytes[..length]) else {
            assert!(length < whole.chunks()[0].offset as usize);
            continue;
        };
        assert!(!cut.is_complete());
        let complete = ends.iter().filter(|end| length >= **end).count();
        assert!(cut.chunks().len() >= complete, "of {length} bytes");
        assert_eq!(cut.chunks(), &whole.chunks()[..cut.chunks().len()]);
        most = most.max(cut.chunks().len());
    }
    assert_eq!(most, whole.chunks().len());
}

/// A damaged byte is noticed wherever it is: what comes before it is read, it itself never.
#[test]
fn damage_is_noticed() {
    let bytes = sample();
    let whole = Recording::parse(&bytes).expect("sound");
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        match Recording::parse(&damaged) {
            Ok(recording) => {
                assert!(!recording.is_complete(), "byte {at}");
                let read = recording.chunks();
                assert_eq!(read.len(), whole.chunks()[..read.len()].len());
                for (read, written) in read.iter().zip(whole.chunks()) {
                    assert_eq!(read, written, "byte {at}");
                }
            }
            Err(error) => assert!(at < whole.chunks()[0].offset as usize, "{error}"),
        }
    }
}

#[test]
fn other_files_and_versions_are_refused() {
    assert_eq!(
        Recording::parse(b"").err(),
        Some(RecordingError::NotARecording)
    );
    assert_eq!(
        Recording::parse(b"<!doctype html>").err(),
        Some(RecordingError::NotARecording)
    );
    let mut later = sample();
    later[8] = 2;
    assert_eq!(
        Recording::parse(&later).err(),
        Some(RecordingError::Version(2))
    );
}

#[test]
fn writers_have_limits() {
    let mut writer = Writer::new(Vec::new(), &header())
        .expect("written")
        .with_limit(200);
    let track = writer.track("A").expect("room");
    let many = vec![0; 500];
    let full = writer.messages(track, 1, &[&many]);
    assert!(matches!(full, Err(WriteError::Full(_))), "{full:?}");
    writer.messages(track, 1, &[&[1]]).expect("still room");
    let back = writer.messages(track, 0, &[&[1]]);
    assert!(
        matches!(back, Err(WriteError::TimeGoesBack { .. })),
        "{back:?}"
    );
    let bytes = writer.finish().expect("the index comes on top");
    assert!(Recording::parse(&bytes).expect("sound").is_complete());

    let mut writer = Writer::new(Vec::new(), &header()).expect("written");
    for _ in 0..MOST_TRACKS {
        writer.track("one more").expect("room");
    }
    assert!(matches!(
        writer.track("too many"),
        Err(WriteError::TooManyTracks)
    ));
}

/// The page lists the kinds of chunks that there are.
#[test]
fn the_page_lists_all_kinds() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/protocols/recording.md"
    );
    let page = std::fs::read_to_string(path).expect("the format's page");
    let table = page
        .split("<!-- kinds: chunks -->")
        .nth(1)
        .expect("a table");
    let table = table.trim_start().split("\n\n").next().unwrap_or_default();
    let listed: Vec<String> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').take(3).collect::<Vec<_>>().join("|"))
        .collect();
    let known = recording::CHUNK_KINDS.iter();
    let known: Vec<String> = known
        .map(|(number, name)| format!("| `{number:02x}` | {name} "))
        .collect();
    assert_eq!(listed, known);
}

/// Bytes that must not change: the header, a track and a message.
#[test]
fn the_bytes_are_those_of_version_1() {
    let header = Header {
        start: 1,
        title: "t".to_owned(),
        about: Vec::new(),
    };
    let mut writer = Writer::new(Vec::new(), &header).expect("written");
    let track = writer.track("w").expect("room");
    writer.messages(track, 2, &[&[7]]).expect("written");
    let hex: String = writer
        .finish()
        .expect("written")
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let golden = include_str!("golden.hex");
    assert_eq!(hex, golden.split_whitespace().collect::<String>());
}

fn pose(body: u64, frame: u64, owner: u32) -> Pose {
    let t = frame as f64 / 30.0;
    let (sin, cos) = t.sin_cos();
    let mut motion = Motion::at(DVec3::new(3.0 * cos, body as f64, 3.0 * sin));
    motion.linear_velocity = Vec3::new(-3.0 * sin as f32, 0.0, 3.0 * cos as f32);
    Pose {
        body: BodyId(body),
        owner: RegionId(owner),
        motion,
        shape: Shape::Sphere { radius: 0.5 },
    }
}

/// Two stations side by side: each track shows its poses within the tolerance, from every key on, with comings, goings and changes of owner.
#[test]
fn a_track_of_poses_shows_them() {
    let settings = PoseSettings {
        name: "circle".to_owned(),
        frame: TickLength::from_secs(1.0 / 30.0).expect("positive"),
        gravity: DVec3::ZERO,
        extent: EXTENT,
        owners: ["A", "B"]
            .map(|name| RegionMark {
                rect: EXTENT,
                server: name.to_owned(),
            })
            .to_vec(),
        scenery: Vec::new(),
        tolerance_m: 0.01,
        key_frames: 30,
        start: recording::SIMULATED_START,
    };
    let mut writer = Writer::new(Vec::new(), &header()).expect("written");
    let mut a = PoseTrack::new(&mut writer, "A", settings.clone()).expect("room");
    let mut b = PoseTrack::new(&mut writer, "B", settings).expect("room");
    for frame in 0..100 {
        let owner = u32::from(frame >= 50);
        let mut poses = vec![pose(1, frame, owner)];
        if (20..70).contains(&frame) {
            poses.push(pose(2, frame, 0));
        }
        a.frame(&mut writer, &poses).expect("written");
        b.frame(&mut writer, &[pose(1, frame + 3, 0)])
            .expect("written");
    }
    let bytes = writer.finish().expect("written");
    let recording = Recording::parse(&bytes).expect("sound");
    let keys = recording
        .chunks()
        .iter()
        .filter(|c| c.kind == ChunkKind::Key);
    assert_eq!(keys.count(), 2 * 4);
    let scene_at = |track: u16, frame: u64| {
        let time = (frame as f64 / 30.0 * 1e9).round() as u64;
        let mut scene = Scene::new(true);
        for message in recording
            .up_to(track, time)
            .flat_map(|chunk| chunk.messages())
        {
            let told = ToClient::decode(message).expect("a message");
            scene
                .handle_message(SimTime(0), message.len(), &told)
                .expect("makes sense");
        }
        scene
    };
    for frame in (2..100).step_by(7) {
        for (track, ahead) in [(0, 0), (1, 3)] {
            let scene = scene_at(track, frame);
            let shown = scene.pose(BodyId(1), frame as f64 - 1.0).expect("in sight");
            let truth = pose(1, frame - 1 + ahead, 0).motion.position;
            let off = shown.position.distance(truth);
            assert!(off < 0.011, "track {track} frame {frame}: {off}");
        }
        let scene = scene_at(0, frame);
        let second = scene.body(BodyId(2)).is_some();
        assert_eq!(second, (20..70).contains(&frame), "frame {frame}");
        let owner = scene.body(BodyId(1)).expect("in sight").owner;
        assert_eq!(owner, RegionId(u32::from(frame >= 50)), "frame {frame}");
    }
}

proptest! {
    #[test]
    fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
        read(&bytes);
        let mut file = sample();
        let at = at.index(file.len());
        file.splice(at..at, bytes.iter().copied());
        read(&file);
    }
}

fn read(bytes: &[u8]) {
    if let Ok(recording) = Recording::parse(bytes) {
        let messages = recording
            .chunks()
            .iter()
            .map(|chunk| chunk.messages().count());
        let _ = messages.sum::<usize>();
    }
}
