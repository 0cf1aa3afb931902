//! One stream for many clients over a transport that loses nothing: whoever joins later sees what the others see.

use domain::{BodyId, Motion};
use glam::{DVec3, Quat, Vec3};
use reckoning::stream::{Exporter, Sample, StreamDecoder, StreamEncoder, StreamSettings};

fn sample(id: u64, tick: u64) -> Sample {
    let t = tick as f64 / 30.0;
    let phase = t * (1.0 + id as f64 * 0.1) + id as f64;
    Sample {
        id: BodyId(id),
        motion: Motion {
            position: DVec3::new(
                id as f64 + phase.sin(),
                1.0 + (phase * 3.0).sin().abs(),
                phase.cos(),
            ),
            rotation: Quat::from_rotation_y(phase as f32),
            linear_velocity: Vec3::ZERO,
            angular_velocity: Vec3::Y,
        },
        asleep: false,
    }
}

#[test]
fn a_late_joiner_follows_the_shared_stream_like_those_who_were_there_from_the_start() {
    let settings = StreamSettings {
        update_ticks: 1,
        delay_ticks: 1,
        max_packet_bytes: 400,
        ..StreamSettings::default()
    };
    let mut exporter = Exporter::new(settings);
    let mut shared = StreamEncoder::new(settings);
    let mut clients: Vec<(StreamDecoder, u64)> = vec![(StreamDecoder::new(settings), 0)];
    for tick in 0..400 {
        // Bodies come and go, so that slots are used again.
        let here = (0..60).filter(|id| (tick / 20 + id) % 5 != 0);
        exporter.observe(tick, here.map(|id| sample(id, tick)));
        shared.follow(&exporter);
        for packet in shared.update(tick, &[&exporter]) {
            for (client, _) in &mut clients {
                client.receive(&packet).expect("understood by everyone");
                client.acknowledge();
            }
        }
        shared.acknowledge_all(tick);
        if [1, 77, 150, 333].contains(&tick) {
            let (number, packets) = shared.join(tick);
            let mut late = StreamDecoder::joining(settings, number, tick);
            for packet in &packets {
                late.receive_join(packet).expect("sound");
                assert!(late.receive_join(packet).is_ok(), "repeating does no harm");
                assert!(late.receive_join(&packet[1..]).is_err());
            }
            clients.push((late, tick));
        }
        let (first, _) = &clients[0];
        let seen: Vec<_> = first.all_shown(tick as f64).collect();
        for (other, joined) in &clients[1..] {
            assert!(other.bodies().eq(first.bodies()), "joined at {joined}");
            let same: Vec<_> = other.all_shown(tick as f64).collect();
            assert_eq!(same, seen, "at {tick}, joined at {joined}");
        }
    }
    assert_eq!(clients.len(), 5);
}
