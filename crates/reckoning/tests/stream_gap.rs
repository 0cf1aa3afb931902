//! Ticks that nobody told the exporter of: a gateway that was late. The past says nothing then, and the present is enough.

use domain::{BodyId, Motion};
use glam::{DVec3, Quat, Vec3};
use reckoning::stream::{Exporter, Sample, StreamDecoder, StreamEncoder, StreamSettings};

fn sample(position: DVec3, asleep: bool) -> Sample {
    Sample {
        id: BodyId(1),
        motion: Motion {
            position,
            rotation: Quat::from_rotation_y(position.x as f32),
            linear_velocity: Vec3::ZERO,
            angular_velocity: Vec3::ZERO,
        },
        asleep,
    }
}

/// Every length of gap, with a body that goes on and with one that fell asleep meanwhile; both with the gateway's settings and with the defaults.
#[test]
fn a_gap_is_bridged_whatever_the_body_did_meanwhile() {
    let gateways = StreamSettings {
        update_ticks: 1,
        delay_ticks: 1,
        ..StreamSettings::default()
    };
    for settings in [gateways, StreamSettings::default()] {
        for gap in 1..12 {
            for asleep in [false, true] {
                let mut exporter = Exporter::new(settings);
                let mut encoder = StreamEncoder::new(settings);
                let mut decoder = StreamDecoder::new(settings);
                let ticks = (0..20).chain(20 + gap..60 + gap);
                for tick in ticks {
                    let rests = asleep && tick >= 20;
                    let x = if rests { 3.0 } else { tick as f64 * 0.1 };
                    exporter.observe(tick, [sample(DVec3::new(x, 1.0, 0.0), rests)]);
                    encoder.follow(&exporter);
                    for packet in encoder.update(tick, &[&exporter]) {
                        decoder.receive(&packet).expect("sound");
                        decoder.acknowledge();
                    }
                    encoder.acknowledge_all(tick);
                }
                let last = 59 + gap - settings.delay_ticks;
                let shown = decoder.shown(BodyId(1), last as f64).expect("there");
                let x = if asleep { 3.0 } else { last as f64 * 0.1 };
                let off = shown.position.distance(DVec3::new(x, 1.0, 0.0));
                assert!(off < 0.011, "gap {gap}, asleep {asleep}: {off}");
            }
        }
    }
}
