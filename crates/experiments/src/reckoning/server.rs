//! Fairness decided in the server for all clients and entities at once, against sending equally often, at the same bytes (beyond
//! the thesis; DR-51).

use super::motion::Motion;
use super::relation::in_nearly_all;
use super::summary::Summary;
use super::trace::{Trace, frames};
use super::{Scale, parallel};
use crate::result::{Claim, ExperimentResult};
use crate::seeds;
use crate::table::Table;
use domain::{BodyId, SimTime};
use reckoning::DrVector;
use reckoning::fairness::{
    ExportedPath, FairServer, Measure, PacketSeq, ReceiverId, Reception, ServerSettings,
    export_error, mean, population_sd,
};
use serde_json::json;
use std::collections::BTreeMap;

const ENTITIES: u64 = 24;
const DELAYS_MS: [f64; 6] = [20.0, 50.0, 100.0, 150.0, 250.0, 400.0];
const VECTOR_BYTES: usize = 20;
const PACKET_OVERHEAD: usize = 12;
/// About a third of what all vectors to all clients would take at 7 triggers/s.
const BYTES_PER_SEC: f64 = 10e3;
/// Power of the error in the weight: 0 is equal rates.
const EXPONENTS: [(f64, &str); 3] = [(0.0, "equal rates"), (1.0, "fair"), (2.0, "fair, squared")];

/// What the clients of one run saw.
#[derive(Clone, Debug)]
struct Seen {
    /// By client, averaged over the entities.
    errors: Vec<f64>,
    bytes: f64,
    vectors: f64,
    triggers_per_sec: f64,
}

/// What is under way.
#[derive(Debug)]
enum Message {
    Packet(ReceiverId, PacketSeq, Vec<DrVector>),
    Ack(ReceiverId, PacketSeq, SimTime),
}

#[derive(Default)]
struct Wire {
    in_flight: BTreeMap<(SimTime, u64), Message>,
    posted: u64,
}

impl Wire {
    fn post(&mut self, at: SimTime, message: Message) {
        self.posted += 1;
        self.in_flight.insert((at, self.posted), message);
    }

    fn due(&mut self, now: SimTime) -> Option<(SimTime, Message)> {
        let entry = self.in_flight.first_entry()?;
        (entry.key().0 <= now).then(|| {
            let ((at, _), message) = entry.remove_entry();
            (at, message)
        })
    }
}

fn delay(client: ReceiverId) -> SimTime {
    SimTime::from_millis(DELAYS_MS[client.0 as usize])
}

fn watch(exponent: f64, motion: Motion, seed: u64, secs: f64) -> Seen {
    let traces: Vec<Trace> = (0..ENTITIES)
        .map(|entity| {
            Trace::record(
                motion,
                BodyId(entity),
                seeds::derive(seed, &[14, entity]),
                secs,
            )
        })
        .collect();
    let mut server = FairServer::new(ServerSettings {
        bytes_per_sec: BYTES_PER_SEC,
        exponent,
        packet_overhead_bytes: PACKET_OVERHEAD,
        history: 64,
        ..ServerSettings::default()
    });
    for trace in &traces {
        let first = trace.vectors[0];
        server
            .handle_vector(first, VECTOR_BYTES)
            .expect("the first of its entity");
    }
    for client in (0..DELAYS_MS.len() as u32).map(ReceiverId) {
        server.join(client, BYTES_PER_SEC).expect("a new client");
        for entity in (0..ENTITIES).map(BodyId) {
            server
                .set_scope(SimTime::ZERO, client, entity, 1.0)
                .expect("both are known");
        }
    }
    let mut wire = Wire::default();
    let mut received: BTreeMap<(ReceiverId, BodyId), Vec<Reception>> = BTreeMap::new();
    let mut next = vec![1_usize; traces.len()];
    let mut bytes = 0;
    for now in frames(SimTime::from_secs(secs)) {
        while let Some((at, message)) = wire.due(now) {
            match message {
                Message::Packet(client, packet, vectors) => {
                    for vector in vectors {
                        let path = received.entry((client, vector.entity)).or_default();
                        path.push(Reception { at, vector });
                    }
                    wire.post(at + delay(client), Message::Ack(client, packet, at));
                }
                Message::Ack(client, packet, arrived) => server
                    .handle_ack(now, client, &[(packet, arrived)])
                    .expect("it was sent"),
            }
        }
        for (trace, next) in traces.iter().zip(&mut next) {
            while let Some(vector) = trace.vectors.get(*next).filter(|vector| vector.time <= now) {
                server
                    .handle_vector(*vector, VECTOR_BYTES)
                    .expect("it continues its path");
                *next += 1;
            }
        }
        server.handle_tick(now);
        while let Some(packet) = server.poll_transmit() {
            bytes += PACKET_OVERHEAD + VECTOR_BYTES * packet.vectors.len();
            let vectors = packet.vectors.iter().map(|vector| **vector).collect();
            wire.post(
                now + delay(packet.to),
                Message::Packet(packet.to, packet.seq, vectors),
            );
        }
    }
    Seen {
        errors: true_errors(&traces, &received, secs),
        bytes: bytes as f64,
        vectors: server.counts().sent as f64,
        triggers_per_sec: mean(&traces.iter().map(Trace::rate).collect::<Vec<_>>()),
    }
}

fn true_errors(
    traces: &[Trace],
    received: &BTreeMap<(ReceiverId, BodyId), Vec<Reception>>,
    secs: f64,
) -> Vec<f64> {
    let paths: Vec<ExportedPath> = traces
        .iter()
        .map(|trace| {
            let mut path = ExportedPath::default();
            for vector in &trace.vectors {
                path.push(*vector).expect("a trace is a path");
            }
            path
        })
        .collect();
    let error = |client: u32, entity: usize| {
        let key = (ReceiverId(client), BodyId(entity as u64));
        let received = received.get(&key).map_or(&[][..], Vec::as_slice);
        let end = SimTime::from_secs(secs);
        export_error(
            &paths[entity],
            received,
            SimTime::ZERO,
            end,
            &Measure::default(),
        )
    };
    (0..DELAYS_MS.len() as u32)
        .map(|client| {
            let errors: Vec<f64> = (0..paths.len())
                .map(|entity| error(client, entity))
                .collect();
            mean(&errors)
        })
        .collect()
}

/// Adds the table and its claim.
pub(super) fn add(result: &mut ExperimentResult, scale: &Scale, progress: &mut dyn FnMut(f64)) {
    let motion = Motion::Smooth;
    let mut jobs = Vec::new();
    for (exponent, _) in EXPONENTS {
        jobs.extend((0..scale.seeds).map(|run| (exponent, run)));
    }
    let work = |(exponent, run): &(f64, u32)| {
        watch(
            *exponent,
            motion,
            motion.seed(scale.seed, *run),
            scale.crowd_secs,
        )
    };
    let seen = parallel::map(&jobs, work, progress);
    let cases: Vec<&[Seen]> = seen.chunks(scale.seeds as usize).collect();
    let mut table = Table::new(
        format!(
            "Beyond the thesis: {ENTITIES} entities, 6 clients at 20 to 400 ms, {BYTES_PER_SEC} bytes/s for all; true error per client, unit·s"
        ),
        &[
            "Server",
            "Triggers/s and entity",
            "Vectors",
            "kB sent",
            "Mean",
            "SD",
            "Worst",
        ],
    );
    let worst = |seen: &Seen| seen.errors.iter().copied().fold(0.0, f64::max);
    for ((exponent, name), runs) in EXPONENTS.iter().zip(&cases) {
        let over = |of: &dyn Fn(&Seen) -> f64| Summary::of(runs.iter().map(of));
        let means = over(&|seen| mean(&seen.errors));
        let (sd, worst) = (over(&|seen| population_sd(&seen.errors)), over(&worst));
        let bytes = over(&|seen| seen.bytes / 1e3);
        let vectors = over(&|seen| seen.vectors);
        let rate = over(&|seen| seen.triggers_per_sec);
        result.rows.push(json!({
            "table": "server",
            "regime": motion,
            "server": name,
            "exponent": exponent,
            "seeds": scale.seeds,
            "triggers_per_sec": rate.json(),
            "vectors_sent": vectors.json(),
            "kilobytes": bytes.json(),
            "mean_error": means.json(),
            "sd_error": sd.json(),
            "worst_error": worst.json(),
            "published": null,
        }));
        table.push(vec![
            (*name).into(),
            format!("{:.1}", rate.mean),
            format!("{:.0}", vectors.mean),
            bytes.text(),
            means.text(),
            sd.text(),
            worst.text(),
        ]);
    }
    result.tables.push(table);
    let pairs: Vec<(&Seen, &Seen)> = cases[0].iter().zip(cases[1]).collect();
    let ratio = |of: &dyn Fn(&Seen) -> f64| {
        Summary::of(pairs.iter().map(|(equal, fair)| of(fair) / of(equal))).range()
    };
    let fairer = in_nearly_all(&pairs, |(equal, fair)| {
        (fair.bytes / equal.bytes - 1.0).abs() < 0.02
            && population_sd(&fair.errors) < population_sd(&equal.errors)
            && worst(fair) < worst(equal)
    });
    let kept = in_nearly_all(&pairs, |(equal, fair)| {
        mean(&fair.errors) < 1.1 * mean(&equal.errors)
    });
    let claim = |text: &str, (holds, held): (bool, usize), measured: String| {
        let measured = format!("{measured}; in {held} of {} seeds", pairs.len());
        Claim::new("DR-51", text, holds, measured)
    };
    result.claims.push(claim(
        "fairness decided in the server: at the same bytes (within 2 %) SD between clients and the worst client's error are lower than with equal rates",
        fairer,
        format!(
            "bytes × {}, SD × {}, worst × {}",
            ratio(&|seen| seen.bytes),
            ratio(&|seen| population_sd(&seen.errors)),
            ratio(&worst)
        ),
    ));
    result.claims.push(claim(
        "fairness decided in the server costs at most 10 % of the mean error",
        kept,
        format!("mean × {}", ratio(&|seen| mean(&seen.errors))),
    ));
}
