//! The targets of the state stream, on the scenes they are stated for; the benchmark `state_stream` prints the numbers.

#[allow(dead_code)] // The benchmark also prints.
#[path = "../examples/state_stream/recording.rs"]
mod recording;
#[allow(dead_code)]
#[path = "../examples/state_stream/streaming.rs"]
mod streaming;

use recording::Recording;
use streaming::{Link, Report, measure};

fn assert_within_tolerances(report: &Report) {
    assert!(report.off_m.len() > 10_000);
    assert!(report.off_m.iter().all(|off| *off <= 0.01));
    assert!(report.off_degrees.iter().all(|off| *off <= 1.0));
}

#[test]
fn shaker_takes_at_most_four_bytes_per_body_and_update() {
    let recording = Recording::of("shaker", Some(6.0), None);
    for (delay_ticks, link_ticks, most) in [(6, 0, 2.5), (2, 0, 4.0), (6, 6, 4.5)] {
        let link = Link {
            delay_ticks: link_ticks,
            loss: 0.0,
        };
        let report = measure(&recording, "shaker", recording.settings(delay_ticks), link);
        let bytes = report.bytes as f64 / report.body_updates as f64;
        assert!(
            bytes < most,
            "{bytes}: {delay_ticks} behind, link {link_ticks}"
        );
        assert_within_tolerances(&report);
    }
}

#[test]
fn shaker_never_rests() {
    let recording = Recording::of("shaker", None, None);
    assert_eq!(recording.ticks.last().map(Vec::len), Some(250));
    for (tick, samples) in recording.ticks.iter().enumerate().skip(30) {
        let moving = |s: &&reckoning::stream::Sample| s.motion.linear_velocity.length() > 0.05;
        let moving = samples.iter().filter(moving).count();
        assert!(moving > 200, "tick {tick}: only {moving} of 250 move");
        // One that is jammed between others may doze off until its next kick.
        let asleep = samples.iter().filter(|s| s.asleep).count();
        assert!(asleep <= 3, "tick {tick}: {asleep} asleep");
        let inside = |s: &reckoning::stream::Sample| {
            let place = s.motion.position;
            place.x.abs() < 3.0 && place.z.abs() < 3.0 && (0.0..4.0).contains(&place.y)
        };
        assert!(
            samples.iter().all(inside),
            "tick {tick}: one got out of the box"
        );
    }
}

#[test]
fn columns_takes_a_tenth_of_sending_every_changed_pose() {
    let recording = Recording::of("columns", Some(10.0), None);
    let report = measure(&recording, "columns", recording.settings(6), Link::PERFECT);
    assert!(
        report.bytes * 10 < report.raw_bytes,
        "{} {}",
        report.bytes,
        report.raw_bytes
    );
    assert_within_tolerances(&report);
}
