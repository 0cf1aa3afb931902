//! Streaming a recording to one client over a link, and what comes of it.

use super::recording::Recording;
use cpu_time::ThreadTime;
use domain::BodyId;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::stream::{
    Exporter, Sample, StreamDecoder, StreamEncoder, StreamSettings, StreamStats,
};
use std::collections::{BTreeMap, VecDeque};

/// The network between server and client.
#[derive(Clone, Copy)]
pub struct Link {
    /// Each way.
    pub delay_ticks: u64,
    /// Share of packets, and of acknowledgements, that are lost.
    pub loss: f64,
}

impl Link {
    /// Nothing takes time, nothing is lost.
    pub const PERFECT: Self = Self {
        delay_ticks: 0,
        loss: 0.0,
    };
}

/// What a run came to.
#[derive(Default)]
pub struct Report {
    name: String,
    /// Bodies times updates.
    pub body_updates: u64,
    /// All bytes sent to the client, headers of packets included.
    pub bytes: u64,
    /// What every changed pose as 7 f32 would have taken.
    pub raw_bytes: u64,
    stats: StreamStats,
    /// Shown errors, one per body and tick.
    pub off_m: Vec<f32>,
    pub off_degrees: Vec<f32>,
    /// How long each body has been shown wrongly by now, in ticks, and how long each such time lasted.
    wrong_for: BTreeMap<BodyId, u64>,
    pub wrong_ticks: Vec<u64>,
    seconds: f64,
    export_cpu: f64,
    encode_cpu: f64,
    decode_cpu: f64,
}

/// Streams a recording.
pub fn measure(recording: &Recording, name: &str, settings: StreamSettings, link: Link) -> Report {
    measure_with(
        recording,
        name,
        settings,
        link,
        &mut StreamEncoder::new(settings),
    )
}

/// Streams a recording with an encoder of the caller's.
pub fn measure_with(
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
            self.note_spell(sample.id, off > 0.01 || turned.to_degrees() > 1.0);
            self.off_m.push(off as f32);
            self.off_degrees.push(turned.to_degrees() as f32);
        }
    }

    fn note_spell(&mut self, id: BodyId, wrong: bool) {
        if wrong {
            *self.wrong_for.entry(id).or_default() += 1;
        } else if let Some(ticks) = self.wrong_for.remove(&id) {
            self.wrong_ticks.push(ticks);
        }
    }

    /// For people.
    pub fn print(&self) {
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
        if !self.wrong_ticks.is_empty() {
            let mut sorted = self.wrong_ticks.clone();
            sorted.sort_unstable();
            let millis = |part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize] * 50 / 3;
            println!(
                "  wrong {} times: half of them for at most {} ms, 95 % {} ms, longest {} ms",
                sorted.len(),
                millis(0.5),
                millis(0.95),
                millis(1.0)
            );
        }
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
