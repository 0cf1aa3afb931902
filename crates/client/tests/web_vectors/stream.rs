//! A stream that two clients follow: one from its beginning, one that joins late.

use crate::hex;
use domain::{BodyId, Motion, TickLength};
use glam::{DVec3, Quat, Vec3};
use reckoning::stream::{Exporter, Sample, StreamDecoder, StreamEncoder, StreamSettings};
use serde_json::{Value, json};

const TICKS: u64 = 90;
const JOINS_AT: u64 = 40;

/// Bodies that rest, glide, fall, bounce and spin; ids of all lengths.
fn sample(number: u64, tick: u64) -> Sample {
    let id = match number {
        0 => 1,
        1 => 1 << 63 | 7,
        2 => u64::MAX,
        3 => 1 << 40,
        n => n * n * 1000,
    };
    let t = tick as f64 / 30.0;
    let phase = t * (0.7 + number as f64 * 0.3);
    let bounce = phase.fract();
    let height = 0.5 + number as f64 * bounce * (1.0 - bounce);
    let turn = (number as f64 * t * 0.5 + phase.floor() * 0.3) as f32;
    Sample {
        id: BodyId(id),
        motion: Motion {
            position: DVec3::new(number as f64 * 1.7 - 9.0, height, phase.sin() * 3.0),
            rotation: Quat::from_axis_angle(
                Vec3::new(1.0, number as f32, -2.0).normalize(),
                if number.is_multiple_of(3) { 0.4 } else { turn },
            ),
            linear_velocity: Vec3::ZERO,
            angular_velocity: Vec3::ZERO,
        },
        asleep: number.is_multiple_of(5) && tick > 30,
    }
}

fn shown(decoder: &StreamDecoder, tick: u64) -> Value {
    let all = decoder.all_shown(tick as f64).map(|(id, shown)| {
        let (p, q) = (shown.position, shown.rotation);
        json!([id.0.to_string(), p.x, p.y, p.z, q.x, q.y, q.z, q.w])
    });
    all.collect()
}

/// One value per tick: packets, perhaps a join, and who is where by then.
pub fn all() -> Vec<Value> {
    let settings = StreamSettings {
        tick: TickLength::from_secs(1.0 / 30.0).expect("a length"),
        update_ticks: 1,
        delay_ticks: 1,
        max_packet_bytes: 300,
        ..StreamSettings::default()
    };
    let mut exporter = Exporter::new(settings);
    let mut encoder = StreamEncoder::new(settings);
    let mut decoder = StreamDecoder::new(settings);
    let mut lines = vec![json!({
        "tick": settings.tick.as_secs(),
        "gravity": settings.gravity.to_array(),
    })];
    for tick in 0..TICKS {
        // Some come and go, so that slots are used again.
        let here = (0..14).filter(|number| number % 4 != 1 || (tick / 15 + number) % 3 != 0);
        let here = here.map(|number| {
            let at = if number % 5 == 0 { tick.min(30) } else { tick };
            Sample {
                asleep: sample(number, tick).asleep,
                ..sample(number, at)
            }
        });
        exporter.observe(tick, here);
        encoder.follow(&exporter);
        let packets = encoder.update(tick, &[&exporter]);
        for packet in &packets {
            decoder.receive(packet).expect("sound");
            decoder.acknowledge();
        }
        encoder.acknowledge_all(tick);
        let mut line = json!({
            "frame": tick,
            "packets": packets.iter().map(|packet| hex(packet)).collect::<Vec<_>>(),
        });
        if tick == JOINS_AT {
            let (number, packets) = encoder.join(tick);
            let packets: Vec<_> = packets.iter().map(|packet| hex(packet)).collect();
            line["join"] = json!({ "number": number, "packets": packets });
        }
        if tick % 10 == 9 {
            line["shown"] = shown(&decoder, tick - 1);
        }
        lines.push(line);
    }
    lines
}
