//! A gateway's messages for many bodies that all move, in a file: what the viewer's performance is measured with.
//!
//! ```text
//! cargo run --release -p auramesh-client --example web_stream -- 5000 8 FILE
//! ```
//! Each body bounces on the ground, drifts and spins; its course and its spin change at every bounce, about once a second, and it migrates now and
//! then. The file holds messages of docs/protocols/client.md one after another, each after its length (`u32`, little-endian). The world's time begins at
//! 10¹⁸ ns; update n is due 1/30 s after update n − 1.

use client_protocol::{
    BodyEntry, FormEntry, Piece, RegionMark, Section, SectionWriter, Sections, ToClient, VERSION,
    Welcome, WorldMessage,
};
use domain::{BodyId, Material, Motion, Rect, RegionId, Shape, SimTime, StaticId, TickLength};
use glam::{DVec3, Quat, Vec3};
use reckoning::stream::{Exporter, Sample, StreamEncoder, StreamSettings};
use std::io::Write;

const START: SimTime = SimTime(1_000_000_000_000_000_000);
const FRAMES_PER_SEC: f64 = 30.0;
const HALF: f64 = 60.0;
const GRAVITY: f64 = 9.81;
/// Bodies per packet: one cell never has more.
const CELLS: u16 = 5;

/// A number from 0 to 1 that depends on nothing but these two.
fn chance(body: u64, what: u64) -> f64 {
    let mut x = body.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what.wrapping_mul(0xd1b5_4a32_d192_ed03);
    x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 32).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 11) as f64 / (1_u64 << 53) as f64
}

/// Back and forth within the world.
fn within(x: f64) -> f64 {
    let lap = (x + HALF).rem_euclid(4.0 * HALF);
    if lap < 2.0 * HALF {
        lap - HALF
    } else {
        3.0 * HALF - lap
    }
}

fn motion(body: u64, time: f64) -> Motion {
    // Up and down in `period`, with another spin after every bounce.
    let period = 0.7 + 0.6 * chance(body, 1);
    let phase = time / period + chance(body, 2);
    let (bounce, part) = (phase.floor(), phase.fract());
    let height = 0.5 + 0.5 * GRAVITY * period * period * part * (1.0 - part);
    let speed = |axis| 6.0 * chance(body, axis) - 3.0;
    let at = |axis| within(2.0 * HALF * chance(body, axis) - HALF + speed(axis + 1) * time);
    let spin = |axis: u64| (8.0 * chance(body, 100 + axis + 3 * bounce as u64) - 4.0) as f32;
    let axis = Vec3::new(spin(0), spin(1), spin(2));
    let angle = axis.length() * (part * period) as f32 + 2.0 * chance(body, 50) as f32;
    Motion {
        position: DVec3::new(at(10), height, at(20)),
        rotation: Quat::from_axis_angle(axis.normalize(), angle),
        linear_velocity: Vec3::ZERO,
        angular_velocity: axis,
    }
}

fn region_of(position: DVec3) -> RegionId {
    RegionId(u32::from(position.x >= 0.0) + 2 * u32::from(position.z >= 0.0))
}

fn cell_of(position: DVec3) -> u16 {
    let side = |x: f64| (((x + HALF) / (2.0 * HALF) * f64::from(CELLS)) as u16).min(CELLS - 1);
    side(position.z) * CELLS + side(position.x)
}

fn opening() -> Vec<ToClient> {
    let square = |x: f64, z: f64| Rect {
        min: [x, z],
        max: [x + HALF, z + HALF],
    };
    let regions = [(-HALF, -HALF), (0.0, -HALF), (-HALF, 0.0), (0.0, 0.0)];
    let regions = regions.iter().enumerate().map(|(n, (x, z))| RegionMark {
        rect: square(*x, *z),
        server: format!("s{n}"),
    });
    let shapes = [
        Shape::Sphere { radius: 0.5 },
        Shape::Cuboid {
            size: Vec3::splat(0.8),
        },
        Shape::Capsule {
            radius: 0.3,
            height: 1.2,
        },
    ];
    let form = |(number, shape): (usize, &Shape)| FormEntry {
        number: number as u32,
        shape: shape.clone(),
    };
    vec![
        ToClient::Welcome(Welcome {
            version: VERSION,
            session: 1,
            role: 0,
            clock: START,
            tick: TickLength::default(),
            frame_ticks: 2,
            delay_frames: 1,
            tolerance_m: 0.01,
            tolerance_rad: 0.017,
        }),
        ToClient::World(WorldMessage {
            generation: 1,
            start: START,
            name: "many moving bodies".to_owned(),
            gravity: DVec3::new(0.0, -GRAVITY, 0.0),
            fastest: 0.0,
            extent: Rect {
                min: [-HALF; 2],
                max: [HALF; 2],
            },
            cells: [CELLS; 2],
            regions: regions.collect(),
        }),
        ToClient::Statics(vec![Piece {
            id: StaticId(0),
            position: DVec3::ZERO,
            rotation: Quat::IDENTITY,
            material: Material::default(),
            shape: Shape::Plane,
        }]),
        ToClient::Forms(shapes.iter().enumerate().map(form).collect()),
    ]
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bodies, seconds, path] = arguments.as_slice() else {
        eprintln!("web_stream BODIES SECONDS FILE");
        std::process::exit(2);
    };
    let bodies: u64 = bodies.parse().expect("a number of bodies");
    let seconds: u64 = seconds.parse().expect("a number of seconds");
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut write = |message: &ToClient| {
        let bytes = message.encode();
        file.write_all(&(bytes.len() as u32).to_le_bytes())?;
        file.write_all(&bytes)
    };
    for message in opening() {
        write(&message)?;
    }
    let settings = StreamSettings {
        tick: TickLength::from_secs(1.0 / FRAMES_PER_SEC).expect("a length"),
        gravity: DVec3::new(0.0, -GRAVITY, 0.0),
        update_ticks: 1,
        delay_ticks: 1,
        max_packet_bytes: 65_000,
        ..StreamSettings::default()
    };
    // Bodies stay in the cell where they began: what crossing costs is another question.
    let cell = |body: u64| cell_of(motion(body, 0.0).position);
    let mut cells: Vec<_> = (0..CELLS * CELLS)
        .map(|number| {
            let members: Vec<u64> = (1..=bodies).filter(|body| cell(*body) == number).collect();
            (
                number,
                members,
                Exporter::new(settings),
                StreamEncoder::new(settings),
            )
        })
        .collect();
    let mut owners: Vec<RegionId> = (0..=bodies)
        .map(|b| region_of(motion(b, 0.0).position))
        .collect();
    for frame in 0..seconds * FRAMES_PER_SEC as u64 {
        let time = frame as f64 / FRAMES_PER_SEC;
        let mut writers = Vec::new();
        for (number, members, exporter, encoder) in &mut cells {
            let mut writer = SectionWriter::new(*number);
            if frame == 0 {
                writer.push(&Section::Begin {
                    number: 0,
                    frame: 0,
                });
                let entry = |body: &u64| BodyEntry {
                    body: BodyId(*body),
                    form: (*body % 3) as u32,
                    owner: owners[*body as usize],
                };
                writer.push(&Section::Entered(members.iter().map(entry).collect()));
            }
            let samples = members.iter().map(|body| Sample {
                id: BodyId(*body),
                motion: motion(*body, time),
                asleep: false,
            });
            exporter.observe(frame, samples);
            encoder.follow(exporter);
            for packet in encoder.update(frame, &[exporter]) {
                writer.push(&Section::Packet(&packet));
            }
            encoder.acknowledge_all(frame);
            let mut migrated = Vec::new();
            for body in members.iter() {
                let now = region_of(motion(*body, time).position);
                if owners[*body as usize] != now {
                    owners[*body as usize] = now;
                    migrated.push((BodyId(*body), now));
                }
            }
            if !migrated.is_empty() {
                writer.push(&Section::Owners(migrated));
            }
            writers.push(writer);
        }
        let parts: Vec<&SectionWriter> = writers.iter().collect();
        let sections = Sections::new(&parts);
        write(&ToClient::Update { frame, sections })?;
    }
    file.flush()
}
