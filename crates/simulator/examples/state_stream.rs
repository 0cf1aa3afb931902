//! What does a client's view cost? Bytes of the state stream and the errors it shows, on built-in scenes.
//!
//! ```text
//! cargo run --release -p auramesh-simulator --example state_stream                  the numbers of docs/protocols/state-stream.md
//! cargo run --release -p auramesh-simulator --example state_stream SCENE [SECONDS]  another scene
//! cargo run --release -p auramesh-simulator --example state_stream train            prints new tables for the coder
//! ```
//!
//! A scene is run once on one server and recorded; every variant streams the same recording to one client, with an update
//! each 1/30 s. The shown error is taken at *every* tick of the server, for every body: the client's pose for that
//! tick, at the moment when it shows it, against the server's.

use cpu_time::ThreadTime;
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::stream::{Exporter, Sample, StreamDecoder, StreamEncoder, StreamSettings};
use scenes::{Action, Scene};
use std::collections::VecDeque;
use world::{World, WorldConfig};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        None => {
            shaker(&Recording::of("shaker", None, None));
            columns(&Recording::of("columns", None, None));
        }
        Some("train") => train(),
        Some(scene) => {
            let seconds = args
                .get(1)
                .map(|text| text.parse().unwrap_or_else(|_| usage()));
            let recording = Recording::of(scene, seconds, None);
            recording.describe();
            measure(
                &recording,
                "100 ms behind",
                StreamSettings::default(),
                Link::PERFECT,
            )
            .print();
        }
    }
}

fn usage() -> ! {
    eprintln!("usage: state_stream [train | SCENE [SECONDS]]");
    std::process::exit(2);
}

fn shaker(recording: &Recording) {
    recording.describe();
    for (name, delay_ticks) in [
        ("100 ms behind", 6),
        ("33 ms behind", 2),
        ("0 ms behind", 0),
    ] {
        let settings = recording.settings(delay_ticks);
        measure(recording, name, settings, Link::PERFECT).print();
    }
    let settings = recording.settings(6);
    let far = Link {
        delay_ticks: 6,
        loss: 0.0,
    };
    measure(
        recording,
        "100 ms behind, link 100 ms each way",
        settings,
        far,
    )
    .print();
    let bad = Link { loss: 0.05, ..far };
    measure(
        recording,
        "100 ms behind, link 100 ms each way, 5 % lost",
        settings,
        bad,
    )
    .print();
}

fn columns(recording: &Recording) {
    recording.describe();
    let report = measure(
        recording,
        "100 ms behind",
        recording.settings(6),
        Link::PERFECT,
    );
    report.print();
    println!(
        "  every changed pose as 7 f32: {} bytes, {:.1} times as many",
        report.raw_bytes,
        report.raw_bytes as f64 / report.bytes as f64
    );
}

// ── the recording ──────────────────────────────────────────────────────────────────────────────────────────────────

struct Recording {
    name: String,
    gravity: DVec3,
    /// By tick, from 0, each in order of id.
    ticks: Vec<Vec<Sample>>,
    contacts: usize,
}

impl Recording {
    /// Runs a scene on one server; `seed` also moves where bodies start by a hair, so that a scene without randomness of
    /// its own goes another way.
    fn of(name: &str, seconds: Option<f64>, seed: Option<u64>) -> Self {
        let scene = Scene::load(name).unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(2);
        });
        let config = WorldConfig {
            gravity: scene.gravity,
            step: scene.step,
            ..WorldConfig::default()
        };
        let mut world = World::new(config, &scene.statics).expect("the scene was checked");
        let mut rng = Pcg64Mcg::seed_from_u64(seed.unwrap_or(0));
        for body in &scene.bodies {
            let mut body = body.clone();
            if seed.is_some() {
                body.motion.position.x += rng.random_range(-1e-3..1e-3);
            }
            world.spawn(&body).expect("the scene was checked");
        }
        for joint in &scene.joints {
            world.add_joint(joint).expect("the scene was checked");
        }
        let mut recording = Self {
            name: name.to_owned(),
            gravity: scene.gravity.as_dvec3(),
            ticks: vec![samples(&world)],
            contacts: 0,
        };
        let spawns = scene.spawns(seed.unwrap_or(scene.seed));
        let mut spawns = spawns.iter().peekable();
        let mut commands = scene.commands.iter().peekable();
        for tick in 0..scene.step.ticks_in(seconds.unwrap_or(scene.seconds)) {
            let now = tick as f64 * scene.step.as_secs();
            while let Some(spawn) = spawns.next_if(|spawn| spawn.at <= now) {
                world.spawn(&spawn.body).expect("the scene was checked");
            }
            while let Some(command) = commands.next_if(|command| command.at <= now) {
                match command.action {
                    Action::Impulse(push) => world.apply_impulse(command.body, push, None),
                    Action::Velocity(velocity) => world.set_velocity(command.body, velocity),
                };
            }
            world.step();
            recording.contacts += world.contacts_begun().len();
            recording.ticks.push(samples(&world));
        }
        recording
    }

    fn settings(&self, delay_ticks: u64) -> StreamSettings {
        StreamSettings {
            gravity: self.gravity,
            delay_ticks,
            ..StreamSettings::default()
        }
    }

    fn describe(&self) {
        let all = || self.ticks.iter().flatten();
        let count = all().count() as f64;
        let awake = all().filter(|sample| !sample.asleep).count() as f64;
        let speed: f64 = all()
            .map(|s| f64::from(s.motion.linear_velocity.length()))
            .sum();
        let spin: f64 = all()
            .map(|s| f64::from(s.motion.angular_velocity.length()))
            .sum();
        println!(
            "\n{}: {} bodies, {} ticks, {:.0} % awake, mean speed {:.2} m/s, mean spin {:.2} rad/s, {:.1} contacts begin per body and second",
            self.name,
            self.ticks.last().map_or(0, Vec::len),
            self.ticks.len() - 1,
            100.0 * awake / count,
            speed / count,
            spin / count,
            self.contacts as f64 * 2.0 / (count / 60.0)
        );
    }
}

fn samples(world: &World) -> Vec<Sample> {
    let sample = |(id, motion)| Sample {
        id,
        motion,
        asleep: world.is_asleep(id),
    };
    world.motions().map(sample).collect()
}

// ── streaming it ───────────────────────────────────────────────────────────────────────────────────────────────────

/// The network between server and client.
#[derive(Clone, Copy)]
struct Link {
    /// Each way.
    delay_ticks: u64,
    /// Share of packets, and of acknowledgements, that are lost.
    loss: f64,
}

impl Link {
    const PERFECT: Self = Self {
        delay_ticks: 0,
        loss: 0.0,
    };
}

#[derive(Default)]
struct Report {
    name: String,
    body_updates: u64,
    bytes: u64,
    raw_bytes: u64,
    stats: reckoning::stream::StreamStats,
    off_m: Vec<f32>,
    off_degrees: Vec<f32>,
    seconds: f64,
    export_cpu: f64,
    encode_cpu: f64,
    decode_cpu: f64,
}

fn measure(recording: &Recording, name: &str, settings: StreamSettings, link: Link) -> Report {
    measure_with(
        recording,
        name,
        settings,
        link,
        &mut StreamEncoder::new(settings),
    )
}

fn measure_with(
    recording: &Recording,
    name: &str,
    settings: StreamSettings,
    link: Link,
    encoder: &mut StreamEncoder,
) -> Report {
    let mut report = Report {
        name: name.to_owned(),
        seconds: recording.ticks.len() as f64 / 60.0,
        ..Report::default()
    };
    let mut exporter = Exporter::new(settings);
    let mut decoder = StreamDecoder::new(settings);
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let mut down: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
    let mut up: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
    for (tick, samples) in recording.ticks.iter().enumerate() {
        let tick = tick as u64;
        let clock = ThreadTime::now();
        let update = exporter.observe(tick, samples.iter().copied());
        report.export_cpu += clock.elapsed().as_secs_f64();
        while let Some((_, ack)) = up.pop_front_if(|(at, _)| *at <= tick) {
            encoder
                .acknowledge(tick, &ack)
                .expect("our own client is honest");
        }
        if update {
            report.body_updates += samples.len() as u64;
            report.raw_bytes += 28 * changed(recording, tick, settings.update_ticks);
            let clock = ThreadTime::now();
            encoder.follow(&exporter);
            let packets = encoder.update(tick, &[&exporter]);
            report.encode_cpu += clock.elapsed().as_secs_f64();
            for packet in packets {
                report.bytes += packet.len() as u64;
                if !rng.random_bool(link.loss) {
                    down.push_back((tick + link.delay_ticks, packet));
                }
            }
        }
        let clock = ThreadTime::now();
        while let Some((_, packet)) = down.pop_front_if(|(at, _)| *at <= tick) {
            decoder.receive(&packet).expect("our own server is honest");
            let ack = decoder.acknowledge().to_vec();
            if !rng.random_bool(link.loss) {
                up.push_back((tick + link.delay_ticks, ack));
            }
        }
        report.decode_cpu += clock.elapsed().as_secs_f64();
        if let Some(at) = tick.checked_sub(settings.delay_ticks + link.delay_ticks) {
            report.compare(&recording.ticks[at as usize], &decoder, at);
        }
    }
    report.stats = encoder.stats().clone();
    report
}

/// Bodies whose pose is not that of the update before.
fn changed(recording: &Recording, tick: u64, update_ticks: u64) -> u64 {
    let Some(before) = tick.checked_sub(update_ticks) else {
        return recording.ticks[tick as usize].len() as u64;
    };
    let before = &recording.ticks[before as usize];
    let differs = |sample: &&Sample| {
        let old = before.binary_search_by_key(&sample.id, |old| old.id);
        old.map_or(true, |at| {
            let (old, new) = (&before[at].motion, &sample.motion);
            old.position != new.position || old.rotation != new.rotation
        })
    };
    recording.ticks[tick as usize]
        .iter()
        .filter(differs)
        .count() as u64
}

impl Report {
    fn compare(&mut self, truth: &[Sample], decoder: &StreamDecoder, tick: u64) {
        for sample in truth {
            let Some(shown) = decoder.shown(sample.id, tick as f64) else {
                continue;
            };
            let off = shown.position.distance(sample.motion.position);
            let true_rotation = sample.motion.rotation.as_dquat().normalize();
            let turned = (shown.rotation * true_rotation.conjugate())
                .to_scaled_axis()
                .length();
            let turned = turned.min(std::f64::consts::TAU - turned);
            self.off_m.push(off as f32);
            self.off_degrees.push(turned.to_degrees() as f32);
        }
    }

    fn print(&self) {
        let per = self.bytes as f64 / self.body_updates as f64;
        println!("{}:", self.name);
        println!(
            "  {per:.3} bytes per body and update, {:.2} kB/s ({:.2} with UDP/IPv4 headers), {} packets, {:.1} bytes per record, {:.3} records per body and update",
            self.bytes as f64 / self.seconds / 1e3,
            (self.bytes + 28 * self.stats.packets) as f64 / self.seconds / 1e3,
            self.stats.packets,
            self.bytes as f64 / self.stats.records as f64,
            self.stats.records as f64 / self.body_updates as f64,
        );
        print!(
            "  of these: headers {:.3}",
            self.stats.header_bytes as f64 / self.body_updates as f64
        );
        for (part, bytes) in self.stats.breakdown() {
            print!(", {part} {:.3}", bytes / self.body_updates as f64);
        }
        println!();
        print_errors("position, mm", &self.off_m, 1000.0, 10.0);
        print_errors("rotation, degrees", &self.off_degrees, 1.0, 1.0);
        println!(
            "  CPU per update: export {:.0} µs, encode {:.0} µs, decode {:.0} µs",
            self.export_cpu / self.seconds / 30.0 * 1e6,
            self.encode_cpu / self.seconds / 30.0 * 1e6,
            self.decode_cpu / self.seconds / 30.0 * 1e6
        );
    }
}

fn print_errors(what: &str, errors: &[f32], scale: f64, limit: f64) {
    let mut sorted: Vec<f64> = errors.iter().map(|e| f64::from(*e) * scale).collect();
    sorted.sort_by(f64::total_cmp);
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let share = |part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize];
    let over = sorted.len() - sorted.partition_point(|e| *e <= limit);
    println!(
        "  shown error, {what}: mean {mean:.2}, 99.9 % {:.2}, max {:.2}; above {limit}: {:.4} % of {}",
        share(0.999),
        share(1.0),
        100.0 * over as f64 / sorted.len() as f64,
        sorted.len()
    );
}

// ── training ───────────────────────────────────────────────────────────────────────────────────────────────────────

/// Counts symbols over scenes, with other seeds than those measured, and prints the tables.
fn train() {
    println!("pub(crate) const TRAINED: [&[u8]; 2] = [");
    for link_ticks in [0, 6] {
        let mut sums: Vec<[f64; 2]> = Vec::new();
        for (scene, seconds, delay_ticks) in [
            ("shaker", 8.0, 6),
            ("shaker", 2.0, 2),
            ("shaker", 1.0, 0),
            ("columns", 10.0, 6),
            ("ragdolls", 10.0, 6),
            ("wall-breaker", 10.0, 6),
        ] {
            let recording = Recording::of(scene, Some(seconds), Some(1001));
            let link = Link {
                delay_ticks: link_ticks,
                loss: 0.01,
            };
            add_counts(&mut sums, &recording, recording.settings(delay_ticks), link);
        }
        print_table(&sums);
    }
    println!("];");
}

fn add_counts(
    sums: &mut Vec<[f64; 2]>,
    recording: &Recording,
    settings: StreamSettings,
    link: Link,
) {
    let mut encoder = StreamEncoder::new(settings);
    encoder.count_symbols();
    measure_with(recording, "", settings, link, &mut encoder);
    let counts = encoder.symbol_counts().expect("it counts");
    sums.resize(counts.len(), [0.0; 2]);
    for (sum, count) in sums.iter_mut().zip(counts) {
        sum[0] += count[0] as f64;
        sum[1] += count[1] as f64;
    }
}

fn print_table(sums: &[[f64; 2]]) {
    println!("    &[");
    for line in sums.chunks(20) {
        let chance = |[zeros, ones]: &[f64; 2]| {
            let chance = (ones + 0.5) / (zeros + ones + 1.0);
            ((chance * 256.0) as u8).clamp(1, 254).to_string()
        };
        let line: Vec<_> = line.iter().map(chance).collect();
        println!("        {},", line.join(", "));
    }
    println!("    ],");
}
