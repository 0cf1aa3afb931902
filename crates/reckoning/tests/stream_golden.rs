//! A conversation byte by byte, as docs/protocols/state-stream.md prints it: other implementations can check themselves
//! against it.

use domain::{BodyId, Motion};
use glam::{DVec3, Quat, Vec3};
use reckoning::stream::{Exporter, Sample, StreamDecoder, StreamEncoder, StreamSettings};
use std::fmt::Write;

const REFERENCE: &str = include_str!("../../../docs/protocols/state-stream.md");

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x} ").expect("a string takes everything");
    }
    text.trim_end().to_owned()
}

/// Body 7 rests at (1, 2, 3), turned by a quarter about y; at tick 6 it is found to move at 3 m/s along x.
fn sample(tick: u64) -> Sample {
    let mut motion = Motion::at(DVec3::new(1.0, 2.0, 3.0));
    motion.rotation = Quat::from_xyzw(0.0, 0.5_f32.sqrt(), 0.0, 0.5_f32.sqrt());
    if tick > 6 {
        motion.position.x += (tick - 6) as f64 * 0.05;
        motion.linear_velocity = Vec3::new(3.0, 0.0, 0.0);
    }
    Sample {
        id: BodyId(7),
        motion,
        asleep: false,
    }
}

#[test]
fn the_bytes_are_those_of_the_reference() {
    let settings = StreamSettings {
        delay_ticks: 2,
        ..StreamSettings::default()
    };
    let mut exporter = Exporter::new(settings);
    let mut encoder = StreamEncoder::new(settings);
    let mut decoder = StreamDecoder::new(settings);
    let mut said = Vec::new();
    for tick in 0..=12 {
        if exporter.observe(tick, [sample(tick)]) {
            encoder.follow(&exporter);
            for packet in encoder.update(tick, &[&exporter]) {
                decoder.receive(&packet).expect("an honest server");
                let ack = decoder.acknowledge();
                encoder.acknowledge(tick, &ack).expect("an honest client");
                said.extend([
                    format!("packet {}", hex(&packet)),
                    format!("ack    {}", hex(&ack)),
                ]);
            }
        }
    }
    assert_eq!(said.len(), 4, "{said:#?}");
    said.retain(|line| !REFERENCE.contains(line));
    assert!(said.is_empty(), "not in the reference: {said:#?}");
    let (flight, turn) = decoder.curves(BodyId(7)).expect("it is known");
    let told = format!("{flight:?} {turn:?}");
    assert_eq!(
        (flight.position, flight.velocity, turn.spin),
        ([256, 512, 768], [13 * 32, 0, 0], [0; 3]),
        "{told}"
    );
    assert_eq!(flight.start, 6, "{told}");
}
