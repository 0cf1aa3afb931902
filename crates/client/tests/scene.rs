//! A scene against a gateway made of nothing but the stream's own parts.

use client::{Event, Scene};
use client_protocol::{
    BodyEntry, Departure, FormEntry, RegionMark, Section, SectionWriter, Sections, ToClient,
    Welcome, WorldMessage,
};
use domain::{BodyId, Motion, Rect, RegionId, Shape, SimTime, TickLength};
use glam::DVec3;
use proptest::prelude::*;
use reckoning::stream::{Exporter, Sample, StreamEncoder, StreamSettings};

const BODY: BodyId = BodyId(7);
const NOW: SimTime = SimTime(1);

fn settings() -> StreamSettings {
    StreamSettings {
        tick: TickLength::from_secs(1.0 / 30.0).expect("a length"),
        update_ticks: 1,
        delay_ticks: 1,
        ..StreamSettings::default()
    }
}

fn opening(generation: u32) -> [ToClient; 3] {
    let extent = Rect {
        min: [-10.0, -10.0],
        max: [10.0, 10.0],
    };
    [
        ToClient::Welcome(Welcome {
            version: 1,
            session: 1,
            role: 0,
            clock: NOW,
            tick: TickLength::default(),
            frame_ticks: 2,
            delay_frames: 1,
            tolerance_m: 0.01,
            tolerance_rad: 0.0175,
        }),
        ToClient::World(WorldMessage {
            generation,
            start: SimTime(0),
            name: "test".to_owned(),
            gravity: settings().gravity,
            fastest: 0.0,
            extent,
            cells: [2, 1],
            regions: vec![RegionMark {
                rect: extent,
                server: "s0".to_owned(),
            }],
        }),
        ToClient::Forms(vec![FormEntry {
            number: 0,
            shape: Shape::Sphere { radius: 1.0 },
        }]),
    ]
}

fn tell(scene: &mut Scene, message: &ToClient) {
    let bytes = message.encode();
    let message = ToClient::decode(&bytes).expect("sound");
    scene
        .handle_message(NOW, bytes.len(), &message)
        .expect("understood");
}

fn entered() -> Section<'static> {
    Section::Entered(vec![BodyEntry {
        body: BODY,
        form: 0,
        owner: RegionId(0),
    }])
}

/// A body glides along x from cell 0 to cell 1, as the gateway would tell it.
#[test]
fn a_body_that_crosses_from_cell_to_cell_never_leaves_sight() {
    let mut scene = Scene::new(true);
    opening(1)
        .iter()
        .for_each(|message| tell(&mut scene, message));
    let mut exporter = Exporter::new(settings());
    let mut cells = [0, 1].map(|_| StreamEncoder::new(settings()));
    for frame in 0..60_u64 {
        let x = -3.0 + frame as f64 * 0.1;
        let motion = Motion::at(DVec3::new(x, 1.0, 0.0));
        let asleep = false;
        let id = BODY;
        exporter.observe(frame, [Sample { id, motion, asleep }]);
        let mut writers = [SectionWriter::new(0), SectionWriter::new(1)];
        if frame == 0 {
            for writer in &mut writers {
                writer.push(&Section::Begin {
                    number: 0,
                    frame: 0,
                });
            }
            cells[0].enter(BODY);
            writers[0].push(&entered());
        }
        if frame == 30 {
            cells[1].enter(BODY);
            writers[1].push(&entered());
        }
        if frame == 34 {
            cells[0].leave(BODY);
            writers[0].push(&Section::Left(vec![Departure {
                body: BODY,
                removed: false,
            }]));
        }
        for (cell, writer) in cells.iter_mut().zip(&mut writers) {
            for packet in cell.update(frame, &[&exporter]) {
                writer.push(&Section::Packet(&packet));
            }
            cell.acknowledge_all(frame);
        }
        let sections = Sections::new(&[&writers[0], &writers[1]]);
        tell(&mut scene, &ToClient::Update { frame, sections });
        let shown = scene.pose(BODY, frame as f64 - 1.0).expect("in sight");
        let expected = if frame == 0 { x } else { x - 0.1 };
        assert!((shown.position.x - expected).abs() < 0.011, "{frame}");
        for event in scene.take_events() {
            assert!(!matches!(event, Event::Left { .. }), "at {frame}");
            let first = matches!(event, Event::Entered(_));
            assert!(!first || frame == 0, "at {frame}");
        }
    }
    assert_eq!(scene.shape(BODY), Some(&Shape::Sphere { radius: 1.0 }));
    // Another world: nothing is left of this one.
    tell(&mut scene, &opening(2)[1]);
    assert_eq!(scene.bodies().len(), 0);
    assert_eq!(scene.take_events(), [Event::World { generation: 2 }]);
}

#[test]
fn packets_of_a_cell_that_has_not_begun_are_refused() {
    let mut scene = Scene::new(true);
    let mut writer = SectionWriter::new(3);
    writer.push(&Section::Packet(&[0x51; 20]));
    let sections = Sections::new(&[&writer]);
    let update = ToClient::Update { frame: 1, sections };
    assert!(scene.handle_message(NOW, 0, &update).is_err());
    let mut writer = SectionWriter::new(3);
    let (number, frame) = (u64::MAX, u64::MAX);
    writer.push(&Section::Begin { number, frame });
    let sections = Sections::new(&[&writer]);
    let update = ToClient::Update { frame: 1, sections };
    assert!(scene.handle_message(NOW, 0, &update).is_err(), "too early");
    opening(1)
        .iter()
        .for_each(|message| tell(&mut scene, message));
    assert!(scene.handle_message(NOW, 0, &update).is_err(), "absurd");
}

proptest! {
    /// Whatever sections say, nothing panics and what is shown is finite.
    #[test]
    fn no_gateway_can_harm_a_client(parts in proptest::collection::vec((1_u8..9, 0_u16..3, proptest::collection::vec(any::<u8>(), 0..40)), 0..20)) {
        let mut scene = Scene::new(true);
        opening(1).iter().for_each(|message| tell(&mut scene, message));
        for (kind, cell, bytes) in parts {
            let mut message = client_protocol::begin_update(1);
            message.push(kind);
            message.extend(cell.to_le_bytes());
            message.extend((bytes.len() as u32).to_le_bytes());
            message.extend(bytes);
            if let Ok(update) = ToClient::decode(&message) {
                let _ = scene.handle_message(NOW, message.len(), &update);
            }
        }
        for (_, pose) in scene.poses(1.0) {
            prop_assert!(pose.position.is_finite());
        }
    }
}
