//! What a tick of the fair server costs: 1,000 entities × 100 clients and 2,000 × 200, everything in everybody's scope. Then what it depends on:
//! 2,000 × 200 with a quarter in scope has as many pairs as the first and as many vectors as the second; 2,000 × 200 at half the bytes has
//! as many pairs as the second and as many vectors as the first. If the cost followed pairs these would be 1 and 4 times the first, if it follows vectors 2 and 1,
//! and more by what no longer fits into the processor's cache.
//!
//! `cargo run --release -p auramesh-reckoning --example fair_server`
//!
//! Only the server's own work is measured, in CPU time of its thread: vectors taken, acknowledgements, the tick, packets handed out. What comes
//! before it, comparing every entity with its last vector, is measured apart.

use cpu_time::ThreadTime;
use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::fairness::{FairServer, PacketSeq, ReceiverId, ServerSettings};
use reckoning::motion::{Driver, Thresholds, Trigger, TrueState, extrapolate};
use reckoning::{DrVector, Kind, Seq};
use std::collections::VecDeque;
use std::time::Duration;

const TICK_SECS: f64 = 1.0 / 60.0;
const TRIGGERS_PER_SEC: f64 = 7.0;
const VECTOR_BYTES: usize = 20;
const CLIENT_BYTES_PER_SEC: f64 = 60e3;
const WARM_UP_TICKS: u32 = 180;
const TICKS: u32 = 300;

struct Result {
    micros_per_tick: f64,
    sent_per_tick: f64,
    triggers_per_tick: f64,
    taken_per_sent: f64,
}

fn main() {
    println!(
        "entities clients    pairs  triggers/tick  sent/tick  taken/sent  CPU/tick  CPU/vector sent"
    );
    let small = row(1_000, 100, 1, CLIENT_BYTES_PER_SEC);
    let large = row(2_000, 200, 1, CLIENT_BYTES_PER_SEC);
    let partial = row(2_000, 200, 4, CLIENT_BYTES_PER_SEC);
    let slow = row(2_000, 200, 1, 0.5 * CLIENT_BYTES_PER_SEC);
    compare("4 times the pairs", &small, &large);
    compare("the same number of pairs", &small, &partial);
    compare("4 times the pairs", &small, &slow);
    let [one, two] = [1_000, 2_000].map(watch);
    println!(
        "triggers: {one:.0} µs per tick for 1,000 entities, {:.2} times that for 2,000 ({:.0} ns each)",
        two / one,
        1e3 * one / 1_000.0
    );
}

fn compare(what: &str, one: &Result, other: &Result) {
    let per_vector = |result: &Result| result.micros_per_tick / result.sent_per_tick;
    println!(
        "{what}, {:.2} times the vectors: {:.2} times the CPU, {:.2} times per vector sent",
        other.sent_per_tick / one.sent_per_tick,
        other.micros_per_tick / one.micros_per_tick,
        per_vector(other) / per_vector(one),
    );
}

/// Microseconds per tick for comparing all entities with their last vectors.
fn watch(entities: u64) -> f64 {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let end = SimTime::from_secs(f64::from(TICKS) * TICK_SECS);
    let drivers: Vec<Driver> = (0..entities)
        .map(|_| Driver::smooth(&mut rng, end))
        .collect();
    let mut triggers: Vec<Trigger> = (0..entities)
        .map(|id| Trigger::new(BodyId(id), Thresholds::bzflag()))
        .collect();
    let mut spent = Duration::ZERO;
    for tick in 0..TICKS {
        let now = SimTime::from_secs(f64::from(tick) * TICK_SECS);
        let states: Vec<TrueState> = drivers.iter().map(|driver| driver.state_at(now)).collect();
        let start = ThreadTime::now();
        for (trigger, state) in triggers.iter_mut().zip(&states) {
            std::hint::black_box(trigger.observe(now, state));
        }
        spent += start.elapsed();
    }
    spent.as_secs_f64() * 1e6 / f64::from(TICKS)
}

/// Every client has one entity in `every` in its scope.
fn row(entities: u64, clients: u32, every: u64, client_bytes: f64) -> Result {
    let result = measure(entities, clients, every, client_bytes);
    println!(
        "{entities:8} {clients:7} {:8}  {:13.0}  {:9.0}  {:10.2}  {:5.0} µs  {:12.0} ns",
        entities / every * u64::from(clients),
        result.triggers_per_tick,
        result.sent_per_tick,
        result.taken_per_sent,
        result.micros_per_tick,
        1e3 * result.micros_per_tick / result.sent_per_tick,
    );
    result
}

fn measure(entities: u64, clients: u32, every: u64, client_bytes: f64) -> Result {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut server = FairServer::new(ServerSettings {
        bytes_per_sec: client_bytes * f64::from(clients) * 0.8,
        ..ServerSettings::default()
    });
    let mut vectors: Vec<DrVector> = (0..entities).map(first_vector).collect();
    for vector in &vectors {
        server
            .handle_vector(*vector, VECTOR_BYTES)
            .expect("the first vector of its entity");
    }
    for client in (0..clients).map(ReceiverId) {
        server.join(client, client_bytes).expect("a new client");
        let offset = u64::from(client.0) % every;
        for entity in (offset..entities).step_by(every as usize).map(BodyId) {
            let relevance = rng.random_range(0.2..2.0);
            server
                .set_scope(SimTime::ZERO, client, entity, relevance)
                .expect("both are known");
        }
    }
    let mut acks: Vec<VecDeque<(SimTime, PacketSeq, SimTime)>> =
        vec![VecDeque::new(); clients as usize];
    let mut spent = Duration::ZERO;
    let mut before = server.counts();
    for tick in 1..=WARM_UP_TICKS + TICKS {
        if tick == WARM_UP_TICKS + 1 {
            (spent, before) = (Duration::ZERO, server.counts());
        }
        let now = SimTime::from_secs(f64::from(tick) * TICK_SECS);
        let mut triggered = Vec::new();
        for vector in &mut vectors {
            if rng.random::<f64>() < TRIGGERS_PER_SEC * TICK_SECS {
                *vector = next_vector(vector, now, &mut rng);
                triggered.push(*vector);
            }
        }
        let mut packets = Vec::new();
        let start = ThreadTime::now();
        for (client, waiting) in acks.iter_mut().enumerate() {
            while let Some((_, seq, at)) = waiting.pop_front_if(|(arrival, ..)| *arrival <= now) {
                server
                    .handle_ack(now, ReceiverId(client as u32), &[(seq, at)])
                    .expect("it was sent");
            }
        }
        for vector in triggered {
            server
                .handle_vector(vector, VECTOR_BYTES)
                .expect("it continues its path");
        }
        server.handle_tick(now);
        while let Some(packet) = server.poll_transmit() {
            packets.push(packet);
        }
        spent += start.elapsed();
        for packet in packets {
            let delay =
                SimTime::from_millis(20.0 + 380.0 * f64::from(packet.to.0) / f64::from(clients));
            acks[packet.to.0 as usize].push_back((now + delay + delay, packet.seq, now + delay));
        }
    }
    let counts = server.counts();
    let per_tick = |after: u64, before: u64| (after - before) as f64 / f64::from(TICKS);
    let sent_per_tick = per_tick(counts.sent, before.sent);
    Result {
        micros_per_tick: spent.as_secs_f64() * 1e6 / f64::from(TICKS),
        sent_per_tick,
        triggers_per_tick: per_tick(counts.triggers, before.triggers),
        taken_per_sent: per_tick(counts.taken, before.taken) / sent_per_tick,
    }
}

fn first_vector(entity: u64) -> DrVector {
    DrVector {
        entity: BodyId(entity),
        seq: Seq(1),
        time: SimTime::ZERO,
        kind: Kind::Linear,
        status: 0,
        position: DVec3::X * entity as f64,
        velocity: DVec3::ZERO,
        acceleration: DVec3::ZERO,
        rotation: DQuat::IDENTITY,
        spin: DVec3::ZERO,
    }
}

fn next_vector(last: &DrVector, now: SimTime, rng: &mut Pcg64Mcg) -> DrVector {
    let mut draw = || rng.random_range(-10.0..10.0);
    DrVector {
        seq: last.seq.next(),
        time: now,
        position: extrapolate(last, now).position,
        velocity: DVec3::new(draw(), draw(), draw()),
        ..*last
    }
}
