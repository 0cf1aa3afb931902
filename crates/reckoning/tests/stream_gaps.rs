//! Ticks that the exporter does not see: a gateway whose regions were silent for a while goes on with a later frame.

use domain::{BodyId, Motion};
use glam::{DVec3, Vec3};
use reckoning::stream::{Exporter, Sample, StreamSettings};

fn sample(position: DVec3, velocity: Vec3, asleep: bool) -> Sample {
    let mut motion = Motion::at(position);
    motion.linear_velocity = velocity;
    motion.angular_velocity = velocity;
    Sample {
        id: BodyId(1),
        motion,
        asleep,
    }
}

/// A body that fell asleep in the gap: its old curves moved, its new ones rest where it is.
#[test]
fn a_body_that_fell_asleep_unseen_rests_where_it_is() {
    for delay_ticks in 0..6 {
        let settings = StreamSettings {
            update_ticks: 1,
            delay_ticks,
            ..StreamSettings::default()
        };
        let mut exporter = Exporter::new(settings);
        for tick in 1..20 {
            let place = DVec3::X * (tick as f64 * 0.1);
            exporter.observe(tick, [sample(place, Vec3::X * 6.0, false)]);
        }
        let place = DVec3::new(50.0, 1.0, 0.0);
        // Another gap, and then as long as clients are behind.
        for tick in [40].into_iter().chain(60..=60 + delay_ticks) {
            exporter.observe(tick, [sample(place, Vec3::ZERO, true)]);
        }
        let body = exporter.body(BodyId(1)).expect("still there");
        let (flight, _) = body.curves().expect("exported");
        let shown = flight.position(1000.0, DVec3::ZERO);
        assert!(shown.distance(place) <= settings.tolerance_m, "{shown}");
    }
}
