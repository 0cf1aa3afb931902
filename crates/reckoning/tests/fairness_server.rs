//! Fairness decided in the server for all clients at once (DR-51).

use crate::fairness_common::{linear, sampled_error, secs};
use domain::{BodyId, SimTime};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reckoning::fairness::{
    ExportedPath, FairServer, Measure, PacketSeq, ReceiverId, Reception, ServerError,
    ServerSettings, export_error, mean, population_sd,
};
use reckoning::motion::extrapolate;
use reckoning::{DrVector, Seq};
use std::collections::BTreeMap;

const BYTES: usize = 20;
const TICK: f64 = 1.0 / 60.0;

/// A server with wandering entities and clients at fixed delays; the truth is kept beside it.
struct World {
    server: FairServer,
    rng: Pcg64Mcg,
    now: SimTime,
    paths: BTreeMap<BodyId, ExportedPath>,
    delays: BTreeMap<ReceiverId, f64>,
    /// To the client or back; by time of arrival.
    to_clients: BTreeMap<(SimTime, u64), (ReceiverId, PacketSeq, Vec<DrVector>)>,
    to_server: BTreeMap<(SimTime, u64), (ReceiverId, PacketSeq, SimTime)>,
    messages: u64,
    received: BTreeMap<(ReceiverId, BodyId), Vec<Reception>>,
    bytes: BTreeMap<ReceiverId, usize>,
    loss: f64,
    triggers_per_sec: f64,
}

impl World {
    fn new(settings: ServerSettings, entities: u64, delays_ms: &[f64], bytes_per_sec: f64) -> Self {
        let mut world = Self {
            server: FairServer::new(settings),
            rng: Pcg64Mcg::seed_from_u64(1),
            now: SimTime::ZERO,
            paths: BTreeMap::new(),
            delays: BTreeMap::new(),
            to_clients: BTreeMap::new(),
            to_server: BTreeMap::new(),
            messages: 0,
            received: BTreeMap::new(),
            bytes: BTreeMap::new(),
            loss: 0.0,
            triggers_per_sec: 7.0,
        };
        for entity in 0..entities {
            world.generate(BodyId(entity));
        }
        for (id, &delay) in (0..).map(ReceiverId).zip(delays_ms) {
            world.join(id, delay, bytes_per_sec);
        }
        world
    }

    fn join(&mut self, id: ReceiverId, delay_ms: f64, bytes_per_sec: f64) {
        self.server.join(id, bytes_per_sec).unwrap();
        self.delays.insert(id, delay_ms * 1e-3);
        let entities: Vec<_> = self.paths.keys().copied().collect();
        for entity in entities {
            self.server.set_scope(self.now, id, entity, 1.0).unwrap();
        }
    }

    /// The entity goes on from where it is in another direction.
    fn generate(&mut self, entity: BodyId) {
        let path = self.paths.entry(entity).or_default();
        let (seq, position) = match path.newest() {
            Some(last) => (last.seq.next(), extrapolate(last, self.now).position),
            None => (Seq(1), DVec3::ZERO),
        };
        let mut draw = || self.rng.random_range(-10.0..10.0);
        let velocity = DVec3::new(draw(), draw(), draw());
        let vector = DrVector {
            entity,
            ..linear(seq.0, self.now, position, velocity)
        };
        path.push(vector).unwrap();
        self.server.handle_vector(vector, BYTES).unwrap();
    }

    fn tick(&mut self) {
        self.now += secs(TICK);
        self.deliver();
        let entities: Vec<_> = self.paths.keys().copied().collect();
        for entity in entities {
            if self.rng.random::<f64>() < self.triggers_per_sec * TICK {
                self.generate(entity);
            }
        }
        self.server.handle_tick(self.now);
        while let Some(packet) = self.server.poll_transmit() {
            let size = 12 + BYTES * packet.vectors.len();
            assert!(size <= 1200);
            *self.bytes.entry(packet.to).or_default() += size;
            if self.rng.random::<f64>() >= self.loss {
                let arrival = self.now + secs(self.delays[&packet.to]);
                self.messages += 1;
                let vectors = packet.vectors.iter().map(|vector| **vector).collect();
                self.to_clients
                    .insert((arrival, self.messages), (packet.to, packet.seq, vectors));
            }
        }
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.to_clients.first_entry() {
            let at = entry.key().0;
            if at > self.now {
                break;
            }
            let (client, seq, vectors) = entry.remove();
            for vector in vectors {
                let received = self.received.entry((client, vector.entity)).or_default();
                received.push(Reception { at, vector });
            }
            self.messages += 1;
            let back = at + secs(self.delays[&client]);
            self.to_server
                .insert((back, self.messages), (client, seq, at));
        }
        while let Some(entry) = self.to_server.first_entry() {
            let arrival = entry.key().0;
            if arrival > self.now {
                break;
            }
            let (client, seq, at) = entry.remove();
            self.server
                .handle_ack(arrival, client, &[(seq, at)])
                .unwrap();
        }
    }

    fn run(&mut self, seconds: f64) {
        for _ in 0..(seconds / TICK).round() as u32 {
            self.tick();
        }
    }

    /// A client's true error, averaged over the entities.
    fn error(&self, client: u32, measure: &Measure) -> f64 {
        let errors: Vec<_> = self
            .paths
            .iter()
            .map(|(entity, path)| {
                let received = self.received.get(&(ReceiverId(client), *entity));
                let received = received.map_or(&[][..], Vec::as_slice);
                export_error(path, received, SimTime::ZERO, self.now, measure)
            })
            .collect();
        mean(&errors)
    }

    fn errors(&self) -> Vec<f64> {
        let clients = self.delays.keys();
        clients
            .map(|id| self.error(id.0, &Measure::default()))
            .collect()
    }
}

const DELAYS: [f64; 6] = [20.0, 50.0, 100.0, 150.0, 250.0, 400.0];

fn tight(exponent: f64) -> World {
    // 40 entities × 6 clients × 7 triggers/s × 20 bytes would be 34 kB/s; there is a third of it.
    let settings = ServerSettings {
        bytes_per_sec: 12e3,
        exponent,
        ..ServerSettings::default()
    };
    let mut world = World::new(settings, 40, &DELAYS, 20e3);
    world.run(60.0);
    world
}

// DR-51: at the same bytes the errors of clients at 20 to 400 ms come closer together, and the worst gets better.
#[test]
fn dr_51_the_server_equalises_its_clients_under_a_byte_budget() {
    let (unfair, fair) = (tight(0.0), tight(1.0));
    let (before, after) = (unfair.errors(), fair.errors());
    println!(
        "relevance only: {before:.1?} mean {:.1} SD {:.1}",
        mean(&before),
        population_sd(&before)
    );
    println!(
        "with fairness:  {after:.1?} mean {:.1} SD {:.1}",
        mean(&after),
        population_sd(&after)
    );
    let spent = |world: &World| world.bytes.values().sum::<usize>() as f64;
    assert!(
        (spent(&fair) / spent(&unfair) - 1.0).abs() < 0.02,
        "the same bytes"
    );
    assert!(population_sd(&after) < 0.75 * population_sd(&before));
    let worst = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
    assert!(worst(&after) < worst(&before));
    assert!(mean(&after) < 1.1 * mean(&before));
}

// DR-51: neither a client's nor the server's bytes are exceeded, and both are used.
#[test]
fn dr_51_byte_budgets_hold() {
    let world = tight(1.0);
    let total: usize = world.bytes.values().sum();
    assert!(
        (0.97..=1.0).contains(&(total as f64 / (12e3 * 60.0))),
        "{total}"
    );
    let settings = ServerSettings::default();
    let mut world = World::new(settings, 40, &DELAYS, 1e3);
    world.run(60.0);
    for bytes in world.bytes.values() {
        let part = *bytes as f64 / (1e3 * 60.0);
        assert!((0.9..=1.02).contains(&part), "{part}");
    }
}

// DR-51: the work is bounded by what is sent, whatever the number of pairs: measured in pairs looked at, not in time.
#[test]
fn dr_51_work_follows_vectors_sent_not_pairs() {
    for (bytes_per_sec, triggers_per_sec) in [(2e3, 7.0), (200e3, 7.0), (20e3, 0.5)] {
        let mut world = World::new(
            ServerSettings::default(),
            300,
            &[20.0, 80.0, 200.0, 300.0],
            bytes_per_sec,
        );
        world.triggers_per_sec = triggers_per_sec;
        world.run(20.0);
        let counts = world.server.counts();
        let pairs = 300 * 4;
        println!("{counts:?}");
        assert!(counts.sent > 1000);
        assert!(counts.taken <= 2 * counts.sent + pairs, "{counts:?}");
    }
}

// DR-51: whatever is sent once comes through: after loss the server sends again what a client lacks, and everybody ends up with the newest vector.
#[test]
fn dr_51_a_lost_packet_is_made_good() {
    let mut world = World::new(ServerSettings::default(), 30, &DELAYS, 50e3);
    world.loss = 0.3;
    world.run(10.0);
    world.triggers_per_sec = 0.0;
    world.run(10.0);
    assert!(world.server.counts().lost_packets > 100);
    for ((client, entity), received) in &world.received {
        let newest = received.iter().map(|reception| reception.vector.seq).max();
        assert_eq!(
            newest,
            world.paths[entity].newest().map(|vector| vector.seq),
            "{client:?} {entity}"
        );
    }
    assert_eq!(world.received.len(), 30 * DELAYS.len());
    let before = world.server.counts();
    world.run(5.0);
    let after = world.server.counts();
    assert_eq!(
        (before.sent, before.taken),
        (after.sent, after.taken),
        "a world at rest costs nothing"
    );
}

// DR-34, DR-51: nobody starves, a newcomer neither. The longest wait of any pair is bounded: 16 times the average at most.
#[test]
fn dr_51_nobody_starves_and_a_newcomer_is_served_at_once() {
    let settings = ServerSettings {
        bytes_per_sec: 12e3,
        ..ServerSettings::default()
    };
    let mut world = World::new(settings, 40, &DELAYS, 20e3);
    world.run(30.0);
    let joined = world.now;
    world.join(ReceiverId(9), 100.0, 20e3);
    world.run(30.0);
    // 12 kB/s for 280 pairs: each about every 0.5 s.
    let mut longest: f64 = 0.0;
    for received in world.received.values() {
        let times: Vec<_> = received
            .iter()
            .map(|reception| reception.at)
            .chain([world.now])
            .collect();
        let gaps = times
            .windows(2)
            .map(|pair| pair[1].since(pair[0]).as_secs());
        longest = gaps.fold(longest, f64::max);
    }
    println!("longest gap {longest:.2} s");
    assert!(longest < 5.0, "{longest}");
    for entity in world.paths.keys() {
        let first = world.received[&(ReceiverId(9), *entity)][0].at;
        assert!(first.since(joined) < secs(3.0), "{entity}: {first}");
    }
}

// DR-51: relevance multiplies: what matters three times as much is sent about three times as often.
#[test]
fn dr_51_relevance_decides_between_entities() {
    let settings = ServerSettings {
        exponent: 0.0,
        ..ServerSettings::default()
    };
    let mut world = World::new(settings, 60, &[50.0], 3e3);
    for entity in 0..20 {
        world
            .server
            .set_scope(world.now, ReceiverId(0), BodyId(entity), 3.0)
            .unwrap();
    }
    world.triggers_per_sec = 30.0;
    world.run(60.0);
    let sent = |entities: std::ops::Range<u64>| -> usize {
        entities
            .map(|entity| world.received[&(ReceiverId(0), BodyId(entity))].len())
            .sum()
    };
    let ratio = sent(0..20) as f64 / sent(20..40) as f64;
    assert!((2.7..3.3).contains(&ratio), "{ratio}");
}

// The account in constant memory is close to the true, decayed error.
#[test]
fn dr_51_the_servers_accounts_are_close_to_the_truth() {
    let world = tight(1.0);
    let measure = Measure {
        half_life_secs: Some(10.0),
        ..Measure::default()
    };
    for client in 0..6 {
        let id = ReceiverId(client);
        let believed: Vec<_> = world
            .paths
            .keys()
            .map(|&entity| world.server.error(world.now, id, entity).unwrap())
            .collect();
        let truth = world.error(client, &measure);
        let off = mean(&believed) / truth - 1.0;
        assert!(off.abs() < 0.1, "client {client}: {off}");
    }
    // And the exact sum is what sampling says, so that the truth is one.
    let (key, received) = world.received.iter().next().unwrap();
    let path = &world.paths[&key.1];
    let exact = export_error(
        path,
        received,
        SimTime::ZERO,
        secs(5.0),
        &Measure::default(),
    );
    let sampled = sampled_error(path, received, SimTime::ZERO, secs(5.0), 500);
    assert!((exact / sampled - 1.0).abs() < 1e-5);
}

// A client that reports every packet late: clamped to the arrival of its acknowledgement.
#[test]
fn dr_51_a_client_that_lies_about_times_is_not_believed() {
    let run = |lie: f64, admitted: Option<SimTime>| {
        let settings = ServerSettings {
            bytes_per_sec: 12e3,
            admitted_delay: admitted,
            ..ServerSettings::default()
        };
        let mut world = World::new(settings, 40, &[100.0; 4], 20e3);
        for _ in 0..1800 {
            world.tick();
            for (_, (client, _, at)) in world.to_server.iter_mut() {
                // Each report is forged once, when it is posted: honest times are never in the future.
                if client.0 == 0 && lie > 0.0 && *at <= world.now {
                    *at += secs(lie);
                }
            }
        }
        world.bytes[&ReceiverId(0)] as f64 * 4.0 / world.bytes.values().sum::<usize>() as f64
    };
    let (honest, lying, strict) = (
        run(0.0, None),
        run(1000.0, None),
        run(1000.0, Some(secs(0.1))),
    );
    println!(
        "share of a fair quarter: honest {honest:.2}, lying {lying:.2}, lying with 100 ms admitted {strict:.2}"
    );
    assert!((honest - 1.0).abs() < 0.05);
    assert!(lying < 1.5, "{lying}");
    assert!((strict - 1.0).abs() < 0.05, "{strict}");
}

// Handover: the errors go with the entity, and a client finds its own again.
#[test]
fn dr_51_an_entity_moves_to_another_server_with_its_errors() {
    let world = tight(1.0);
    let entity = BodyId(3);
    let handover = world.server.hand_over(world.now, entity).unwrap();
    assert_eq!(handover.errors.len(), 6);
    let mut other = FairServer::new(ServerSettings::default());
    other.take_over(handover.clone()).unwrap();
    for (client, error) in &handover.errors {
        other.join(*client, 1e4).unwrap();
        other.set_scope(world.now, *client, entity, 1.0).unwrap();
        let there = other.error(world.now, *client, entity).unwrap();
        assert!((there - error).abs() < 1e-9 && *error > 0.0);
    }
    let mut damaged = handover;
    damaged.errors[0].1 = f64::NAN;
    damaged.vector.entity = BodyId(99);
    assert!(matches!(
        other.take_over(damaged),
        Err(ServerError::NotPositive(_))
    ));
    assert_eq!(
        other.leave_scope(ReceiverId(0), BodyId(99)),
        Err(ServerError::UnknownEntity(BodyId(99)))
    );
}

#[test]
fn comings_and_goings_and_nonsense() {
    let mut world = World::new(ServerSettings::default(), 20, &DELAYS, 20e3);
    world.run(2.0);
    let server = &mut world.server;
    let (client, entity) = (ReceiverId(2), BodyId(5));
    assert_eq!(
        server
            .set_scope(world.now, client, entity, f64::NAN)
            .unwrap_err()
            .to_string(),
        "NaN is not a finite number above zero"
    );
    assert_eq!(
        server.set_scope(world.now, client, BodyId(77), 1.0),
        Err(ServerError::UnknownEntity(BodyId(77)))
    );
    assert_eq!(
        server.join(client, 1.0),
        Err(ServerError::AlreadyJoined(client))
    );
    assert_eq!(
        server.handle_ack(world.now, ReceiverId(50), &[]),
        Err(ServerError::UnknownClient(ReceiverId(50)))
    );
    let never = PacketSeq(u32::MAX);
    assert_eq!(
        server.handle_ack(world.now, client, &[(never, world.now)]),
        Err(ServerError::NeverSent(never))
    );
    let nan = DrVector {
        entity,
        ..linear(9999, world.now, DVec3::NAN, DVec3::X)
    };
    assert!(matches!(
        server.handle_vector(nan, BYTES),
        Err(ServerError::Path(_))
    ));
    let vector = DrVector {
        entity,
        ..linear(9999, world.now, DVec3::X, DVec3::X)
    };
    assert_eq!(
        server.handle_vector(vector, 5000),
        Err(ServerError::TooLarge(5000))
    );
    server.leave_scope(client, entity).unwrap();
    assert_eq!(server.error(world.now, client, entity), None);
    server.remove_entity(entity).unwrap();
    assert_eq!(
        server.remove_entity(entity),
        Err(ServerError::UnknownEntity(entity))
    );
    world.paths.remove(&entity);
    world.run(2.0);
    let late = world
        .received
        .iter()
        .filter(|((_, id), _)| *id == entity)
        .flat_map(|(_, received)| received);
    assert!(late.map(|reception| reception.at).max().unwrap() < secs(2.5));
    // It comes back, as another one of the same name.
    world.generate(entity);
    for id in 0..6 {
        world
            .server
            .set_scope(world.now, ReceiverId(id), entity, 1.0)
            .unwrap();
    }
    world.server.leave(client).unwrap();
    let packets = std::mem::take(&mut world.to_server);
    world.to_server = packets
        .into_iter()
        .filter(|(_, message)| message.0 != client)
        .collect();
    world.to_clients.retain(|_, message| message.0 != client);
    world.run(2.0);
    assert!(world.received[&(ReceiverId(0), entity)].last().unwrap().at > secs(5.0));
}
