//! `ml-online`: one body against seven, round after round (Chen 2010, 5.4), under virtual time and over real sockets.

use super::arms::Arm;
use super::rounds::{A, B, BODIES, Field, M1, RoundPlayer};
use super::setup::Setup;
use super::{online_claims, online_udp, published};
use crate::reckoning::bars::Bars;
use crate::reckoning::{parallel, part};
use crate::result::{ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use crate::seeds;
use crate::table::Table;
use domain::{BodyId, SimTime};
use glam::DVec3;
use serde_json::{Value, json};
use simulator::stations::{
    Delay, Exit, LinkConditions, LockChecker, Measure, Monitor, Sample, Stage, StageOptions,
    Watcher,
};
use station::{Event, PairId, Settings, Station, StationId};
use std::collections::BTreeMap;

/// Positions are logged this often.
const LOG: SimTime = SimTime(20_000_000);
/// Bytes are counted per this time.
const WINDOW: SimTime = SimTime(1_000_000_000);

/// What the texts leave out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OnlineSetup {
    pub field: Field,
    /// One way; the thesis does not report it. Two residential lines in one metropolis.
    pub latency_ms: f64,
    /// Give or take this part of it, evenly.
    pub jitter: f64,
    pub loss: f64,
    /// Frames of A and B; they are not in step.
    pub frame_ms: [f64; 2],
    /// Where a replica may be off before its owner sends.
    pub threshold: f64,
    pub lock_ms: f64,
    pub secs: f64,
}

impl Default for OnlineSetup {
    fn default() -> Self {
        Self {
            field: Field::default(),
            latency_ms: 20.0,
            jitter: 0.5,
            loss: 0.01,
            frame_ms: [15.0, 16.0],
            threshold: 1.0,
            lock_ms: 100.0,
            secs: 1200.0,
        }
    }
}

impl OnlineSetup {
    /// An arm's settings here: messages share datagrams, as in any real program.
    pub fn settings(&self, arm: Arm, station: StationId) -> Settings {
        let setup = Setup {
            threshold: self.threshold,
            lock_ms: self.lock_ms,
            frame_ms: self.frame_ms[usize::from(station == B)],
            bundle: true,
            ..Setup::default()
        };
        arm.settings(&setup)
    }

    fn conditions(&self) -> LinkConditions {
        LinkConditions {
            delay: Delay::around(self.latency_ms, self.jitter),
            loss: self.loss,
        }
    }

    fn json(&self) -> Value {
        json!({
            "radius": self.field.radius,
            "box_half_width": self.field.half,
            "start_from_centre": self.field.start,
            "speed_per_s": self.field.speed,
            "steering_per_s2": self.field.steering,
            "aim_within": self.field.aim,
            "round_s": self.field.round_secs,
            "latency_ms": self.latency_ms,
            "jitter_part": self.jitter,
            "loss": self.loss,
            "frame_ms": self.frame_ms,
            "threshold": self.threshold,
            "t_lock_ms": self.lock_ms,
            "secs": self.secs,
        })
    }
}

/// What one protocol showed.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub arm: Arm,
    pub secs: f64,
    /// M1's replica, every 20 ms, master interpolated.
    pub deviation: Measure,
    /// Over M1 and its seven pairs, ms.
    pub interval: Measure,
    /// Hits that only one station knows of at the end.
    pub alone: u64,
    pub hits: [u64; 2],
    /// Pairs whose counters differ at the end.
    pub inconsistent: usize,
    /// kB/s at A.
    pub sent: Measure,
    pub received: Measure,
    /// Of A: given and lost to locks.
    pub commands: [u64; 2],
    pub penetration: f64,
    pub overlaps: u64,
    pub jumps: Measure,
    pub angle: Measure,
    pub gap: Measure,
    pub locks: u64,
    pub overlong: u64,
    pub longest_lock_ms: f64,
    pub longest_held_ms: f64,
}

impl Outcome {
    /// Share of commands lost to locks, %.
    pub fn discarded_pct(&self) -> f64 {
        100.0 * self.commands[1] as f64 / self.commands[0].max(1) as f64
    }
}

/// Bytes per window at A.
#[derive(Default)]
struct Bytes {
    sent: BTreeMap<u64, u64>,
    received: BTreeMap<u64, u64>,
}

impl Bytes {
    fn rate(windows: &BTreeMap<u64, u64>, secs: f64) -> Measure {
        let count = (secs / WINDOW.as_secs()).ceil() as u64;
        let bytes = (0..count).map(|window| windows.get(&window).copied().unwrap_or(0));
        bytes
            .map(|bytes| bytes as f64 / 1000.0 / WINDOW.as_secs())
            .collect()
    }
}

struct Eyes {
    monitor: Monitor,
    locks: LockChecker,
    bytes: Bytes,
}

impl Watcher for Eyes {
    fn frame(&mut self, now: SimTime, station: &Station) {
        self.monitor.frame(now, station);
        self.locks.frame(now, station);
    }
    fn event(&mut self, now: SimTime, station: StationId, event: &Event) {
        self.monitor.event(now, station, event);
        self.locks.event(now, station, event);
    }
    fn sent(&mut self, now: SimTime, from: StationId, to: StationId, bytes: usize) {
        self.monitor.sent(now, from, to, bytes);
        if from == A {
            *self.bytes.sent.entry(now.0 / WINDOW.0).or_default() += bytes as u64;
        }
    }
    fn exit(&mut self, from: StationId, to: StationId, exit: &Exit) {
        self.monitor.exit(from, to, exit);
        if to == A && !exit.lost {
            let window = exit.at.0 / WINDOW.0;
            *self.bytes.received.entry(window).or_default() += exit.bytes.len() as u64;
        }
    }
}

/// Plays one protocol under virtual time.
pub(super) fn play(arm: Arm, setup: &OnlineSetup, seed: u64) -> Outcome {
    let mut stage = Stage::new(StageOptions {
        seed: seeds::derive(seed, &[51]),
        conditions: setup.conditions(),
        faults: Vec::new(),
    });
    for (id, first_ms) in [(A, 0.0), (B, 3.0)] {
        let settings = setup.settings(arm, id);
        let station = setup.field.station(id, 1, settings);
        let station = station.expect("eight bodies with numbers that are finite");
        let player = RoundPlayer::new(setup.field, seed, id);
        stage.add(
            station,
            Box::new(player),
            SimTime::from_millis(first_ms),
            settings.frame,
        );
    }
    let longest_frame = setup.frame_ms[0].max(setup.frame_ms[1]);
    let mut eyes = Eyes {
        monitor: Monitor::following([M1]),
        locks: LockChecker::new(
            SimTime::from_millis(setup.lock_ms),
            SimTime::from_millis(longest_frame),
        ),
        bytes: Bytes::default(),
    };
    stage.run(SimTime::from_secs(setup.secs), &mut eyes, &mut |_| false);
    outcome(arm, setup, &stage, &eyes)
}

fn outcome(arm: Arm, setup: &OnlineSetup, stage: &Stage, eyes: &Eyes) -> Outcome {
    let monitor = &eyes.monitor;
    let stations: Vec<&Station> = stage.stations().collect();
    let (interval, alone) = monitor.intervals(A, B);
    let commands = stations[0].commands();
    let pairs = (2..=BODIES).filter_map(|other| PairId::new(M1, BodyId(other)));
    let counted = |station: &Station, pair| station.counters(pair).unwrap_or_default().c;
    let inconsistent = pairs.filter(|pair| counted(stations[0], *pair) != counted(stations[1], *pair));
    Outcome {
        arm,
        secs: setup.secs,
        deviation: logged_deviation(monitor.samples(A, M1), monitor.samples(B, M1)),
        interval,
        alone,
        hits: [A, B].map(|station| monitor.hits(station).len() as u64),
        inconsistent: inconsistent.count(),
        sent: Bytes::rate(&eyes.bytes.sent, setup.secs),
        received: Bytes::rate(&eyes.bytes.received, setup.secs),
        commands: [commands.given, commands.discarded],
        penetration: monitor.penetration,
        overlaps: monitor.overlaps,
        jumps: monitor.jumps,
        angle: monitor.angles(A, B),
        gap: monitor.gaps(B),
        locks: eyes.locks.locks,
        overlong: eyes.locks.overlong.len() as u64,
        longest_lock_ms: eyes.locks.longest.as_millis(),
        longest_held_ms: eyes.locks.longest_held.as_millis(),
    }
}

/// What is in the log: the first frame at or after each 20 ms.
fn logged(samples: &[Sample]) -> Vec<Sample> {
    let mut next = SimTime::ZERO;
    let mut kept = Vec::new();
    for sample in samples {
        if sample.at >= next {
            kept.push(*sample);
            next = SimTime((sample.at.0 / LOG.0 + 1) * LOG.0);
        }
    }
    kept
}

/// ML-51: both stations log every 20 ms; afterwards the master is interpolated to the times of the replica's log.
pub(super) fn logged_deviation(master: &[Sample], replica: &[Sample]) -> Measure {
    let truth = logged(master);
    let position = |at: SimTime| -> Option<DVec3> {
        let after = truth.partition_point(|sample| sample.at < at);
        let next = truth.get(after)?;
        if next.at == at {
            return Some(next.position);
        }
        let before = truth.get(after.checked_sub(1)?)?;
        let share = at.since(before.at).as_secs() / next.at.since(before.at).as_secs();
        Some(before.position.lerp(next.position, share))
    };
    let shown = logged(replica);
    let apart = shown.iter();
    let apart = apart.filter_map(|one| Some(position(one.at)?.distance(one.position)));
    apart.collect()
}

/// Runs it.
pub(super) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let setup = OnlineSetup {
        secs: if options.quick { 60.0 } else { 1200.0 },
        ..OnlineSetup::default()
    };
    let mut result = ExperimentResult::new(info, options.seed);
    let outcomes = parallel::map(
        &Arm::ONLINE,
        |arm| play(*arm, &setup, options.seed),
        &mut part(progress, 0.0, 0.4),
    );
    add_tables(&mut result, &outcomes);
    result
        .claims
        .extend(online_claims::all(&outcomes, setup.lock_ms));
    add_figures(&mut result, &outcomes);
    let others = add_sensitivity(&mut result, options, &setup, &mut part(progress, 0.4, 0.7));
    result.tables.push(others);
    online_udp::add(&mut result, options, &setup, &mut part(progress, 0.7, 1.0))?;
    result.notes.extend([
        format!("Free parameters (the texts omit them), chosen once: {}. Deviations are in the world's units.", setup.json()),
        "Published: two machines over the Internet between Montreal and Longueuil, residential lines, latency not reported, NetZ's sample game. Absolute numbers cannot be compared; relations can.".into(),
        "Every frame of a master is one steering command: towards the centre at the beginning of each round of 3 s, homewards after it has hit something or passed the centre.".into(),
        "Bytes: payload of the datagrams at A, kB/s, in windows of 1 s; messages of a frame share a datagram in all protocols. The thesis prints kByte, the paper kBPS.".into(),
        "Overlaps: shown overlaps of a master and a replica deeper than half a radius. Jumps: shown replicas that moved by more than a radius in a way their velocity does not explain.".into(),
    ]);
    Ok(result)
}

fn three(measure: &Measure) -> String {
    format!(
        "{:.2} / {:.2} / {:.2}",
        measure.avg(),
        measure.std(),
        measure.max()
    )
}

fn add_tables(result: &mut ExperimentResult, outcomes: &[Outcome]) {
    let minutes = outcomes.first().map_or(0.0, |one| one.secs / 60.0);
    let mut deviation = Table::new(
        format!("Table 5.4: deviation of M1's replica, {minutes} minutes; in brackets as published (20 minutes)"),
        &["Protocol", "Sum", "Avg", "Std", "Max"],
    );
    let mut interval = Table::new(
        "Table 5.5: Δt_col over M1 and its seven pairs, ms; published averages, deviations and maxima in brackets",
        &["Protocol", "Avg", "Std", "Max", "Hits A/B", "Alone", "Pairs that differ at the end"],
    );
    let mut bytes = Table::new(
        "Tables 5.6 and 5.7: kB/s at A, avg / std / max; published in brackets",
        &["Protocol", "Sent", "Received"],
    );
    let mut commands = Table::new(
        "Section 5.4.4: commands to M1 lost to locks",
        &["Protocol", "Given", "Lost", "%", "Published", "Locks", "Longest, ms", "Body held at most, ms"],
    );
    let mut seen = Table::new(
        "ML-54: what the thesis judges by eye (5.4.3)",
        &["Protocol", "Deepest overlap", "Overlaps", "Jumps", "Largest jump", "Gap at a bounce (B) avg/max", "Angle avg/max, °"],
    );
    for one in outcomes {
        let published = published::online(one.arm);
        let bracket = |of: &dyn Fn(&published::Online) -> String| {
            published.as_ref().map_or(String::new(), |row| format!(" [{}]", of(row)))
        };
        let name = one.arm.name().to_string();
        deviation.push(vec![
            name.clone(),
            format!("{:.0}{}", one.deviation.sum(), bracket(&|row| row.deviation_sum.to_string())),
            format!("{:.3}{}", one.deviation.avg(), bracket(&|row| row.deviation_avg.to_string())),
            format!("{:.2}{}", one.deviation.std(), bracket(&|row| row.deviation_std.to_string())),
            format!("{:.1}{}", one.deviation.max(), bracket(&|row| row.deviation_max.to_string())),
        ]);
        let at = |index: usize| {
            bracket(&|row| row.interval_ms.map_or("unbounded".into(), |ms| ms[index].to_string()))
        };
        interval.push(vec![
            name.clone(),
            format!("{:.2}{}", one.interval.avg(), at(0)),
            format!("{:.2}{}", one.interval.std(), at(1)),
            format!("{:.0}{}", one.interval.max(), at(2)),
            format!("{}/{}", one.hits[0], one.hits[1]),
            one.alone.to_string(),
            one.inconsistent.to_string(),
        ]);
        let triple = |values: [f64; 3]| values.map(|value| value.to_string()).join(" / ");
        bytes.push(vec![
            name.clone(),
            format!("{}{}", three(&one.sent), bracket(&|row| triple(row.sent))),
            format!("{}{}", three(&one.received), bracket(&|row| triple(row.received))),
        ]);
        let lost = published.as_ref().and_then(|row| row.commands);
        commands.push(vec![
            name.clone(),
            one.commands[0].to_string(),
            one.commands[1].to_string(),
            format!("{:.2}", one.discarded_pct()),
            lost.map_or("-".into(), |(all, lost)| {
                format!("{lost} of {all} ({:.2} %)", 100.0 * f64::from(lost) / f64::from(all))
            }),
            one.locks.to_string(),
            format!("{:.0}", one.longest_lock_ms),
            format!("{:.0}", one.longest_held_ms),
        ]);
        seen.push(vec![
            name,
            format!("{:.1}", one.penetration),
            one.overlaps.to_string(),
            one.jumps.count().to_string(),
            format!("{:.0}", one.jumps.max()),
            format!("{:.1} / {:.0}", one.gap.avg(), one.gap.max()),
            format!("{:.0} / {:.0}", one.angle.avg(), one.angle.max()),
        ]);
        result.rows.push(row_json(one, "virtual"));
    }
    result.tables.extend([deviation, interval, bytes, commands, seen]);
}

pub(super) fn row_json(one: &Outcome, network: &str) -> Value {
    json!({
        "table": "5.4-5.7",
        "network": network,
        "protocol": one.arm,
        "secs": one.secs,
        "deviation": one.deviation.json(),
        "interval_ms": one.interval.json(),
        "hits": one.hits,
        "hits_alone": one.alone,
        "pairs_inconsistent": one.inconsistent,
        "sent_kb_s": one.sent.json(),
        "received_kb_s": one.received.json(),
        "commands": one.commands[0],
        "commands_discarded": one.commands[1],
        "commands_discarded_pct": one.discarded_pct(),
        "penetration": one.penetration,
        "overlaps": one.overlaps,
        "jumps": one.jumps.json(),
        "angle_deg": one.angle.json(),
        "gap": one.gap.json(),
        "locks": one.locks,
        "locks_too_long": one.overlong,
        "longest_lock_ms": one.longest_lock_ms,
        "longest_held_ms": one.longest_held_ms,
        "published": published::online(one.arm),
    })
}

fn add_figures(result: &mut ExperimentResult, outcomes: &[Outcome]) {
    let bars = |title: &str, label: &str, of: &dyn Fn(&Outcome) -> Measure| {
        let measures: Vec<Measure> = outcomes.iter().map(of).collect();
        Bars {
            title: title.into(),
            y_label: label.into(),
            series: vec!["ours".into()],
            groups: outcomes
                .iter()
                .zip(&measures)
                .map(|(one, measure)| (one.arm.name().to_string(), vec![measure.avg()]))
                .collect(),
            spreads: measures.iter().map(|measure| vec![measure.std()]).collect(),
        }
        .svg()
    };
    let deviation = bars("Deviation of M1's replica", "units", &|one| one.deviation);
    result.add_figure(
        "deviation.svg",
        "Average and standard deviation of M1's replica's deviation (Table 5.4).",
        deviation,
    );
    let interval = bars("Collision inconsistency interval", "ms", &|one| one.interval);
    result.add_figure(
        "interval.svg",
        "Average and standard deviation of Δt_col over M1's seven pairs (Table 5.5).",
        interval,
    );
}

/// The relations on other networks, frames and rounds.
fn add_sensitivity(
    result: &mut ExperimentResult,
    options: &RunOptions,
    setup: &OnlineSetup,
    progress: &mut dyn FnMut(f64),
) -> Table {
    let base = OnlineSetup {
        secs: if options.quick { 30.0 } else { 300.0 },
        ..*setup
    };
    let mut all = vec![("as chosen", base)];
    if !options.quick {
        let field = base.field;
        all.extend([
            ("10 ms", OnlineSetup { latency_ms: 10.0, ..base }),
            ("50 ms, 5 % lost", OnlineSetup { latency_ms: 50.0, loss: 0.05, ..base }),
            ("100 ms, 10 % lost", OnlineSetup { latency_ms: 100.0, loss: 0.1, ..base }),
            ("speed 75", OnlineSetup { field: Field { speed: 75.0, ..field }, ..base }),
            ("speed 250", OnlineSetup { field: Field { speed: 250.0, ..field }, ..base }),
            ("rounds of 4.5 s", OnlineSetup { field: Field { round_secs: 4.5, ..field }, ..base }),
            ("frames in step, 20 ms", OnlineSetup { frame_ms: [20.0, 20.0], ..base }),
            ("threshold 0.3", OnlineSetup { threshold: 0.3, ..base }),
        ]);
    }
    let mut table = Table::new(
        format!(
            "Sensitivity to the free parameters, {} s each: deviation avg · Δt_col avg/max ms · commands lost % · overlaps",
            base.secs
        ),
        &["Choice", "Control", "Post-collision", "Motion-lock", "+ buckets", "Ours", "Ours + buckets"],
    );
    let jobs: Vec<(usize, Arm)> = (0..all.len())
        .flat_map(|index| Arm::ONLINE.into_iter().map(move |arm| (index, arm)))
        .collect();
    let work = |job: &(usize, Arm)| play(job.1, &all[job.0].1, options.seed);
    let outcomes = parallel::map(&jobs, work, progress);
    for (index, (name, setup)) in all.iter().enumerate() {
        let mut row = vec![(*name).to_string()];
        let own = &outcomes[index * Arm::ONLINE.len()..][..Arm::ONLINE.len()];
        for one in own {
            row.push(format!(
                "{:.2} · {:.0}/{:.0} · {:.1} · {}",
                one.deviation.avg(),
                one.interval.avg(),
                one.interval.max(),
                one.discarded_pct(),
                one.overlaps
            ));
            let mut json = row_json(one, name);
            json["table"] = "sensitivity".into();
            json["setup"] = setup.json();
            result.rows.push(json);
        }
        table.push(row);
    }
    table
}
