//! `scale-rest`: what sleeps should cost next to nothing and say nothing.

use super::bench::{Bench, Job};
use super::layout_tables::short;
use super::measure::median;
use super::{SIZES, Scale, name, ours};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};
use crate::table::Table;
use boundary::AuraSize;
use scenes::{Generated, Scene};
use serde_json::json;
use simulator::Outcome;

const SERVERS: usize = 4;
/// The engine lets a body sleep after two seconds without motion; then its neighbours have to hear of it.
const SETTLED_AFTER_S: f64 = 4.0;
/// How far from the middle a quick look goes.
const QUICK_M: f64 = 30.0;
/// What a resting world may cost of the same world awake.
const MOST_SHARE: f64 = 0.05;

/// A run from when everything has settled.
#[derive(Clone, Copy, Debug, Default)]
struct Settled {
    /// CPU time per tick, all servers together, milliseconds.
    all_ms: f64,
    /// Between servers, per second.
    bytes_per_sec: f64,
    errors: u64,
}

impl Settled {
    fn of(outcome: &Outcome) -> Self {
        let from = (SETTLED_AFTER_S / outcome.step.as_secs()).round() as usize;
        let mut settled = Self {
            errors: outcome.errors.total() + u64::from(outcome.aborted.is_some()),
            ..Self::default()
        };
        for line in &outcome.timelines {
            let (ticks, bytes) = (&line.ticks_ms[from..], &line.bytes_sent[from..]);
            settled.all_ms +=
                ticks.iter().map(|ms| f64::from(*ms)).sum::<f64>() / ticks.len() as f64;
            let sent = bytes.last().copied().unwrap_or(0) - bytes.first().copied().unwrap_or(0);
            let seconds = (bytes.len() - 1) as f64 * outcome.step.as_secs();
            settled.bytes_per_sec += sent as f64 / seconds;
        }
        settled
    }
}

struct Row {
    size: AuraSize,
    rest: Vec<Settled>,
    awake: Vec<Settled>,
    /// A world without bodies: servers that say only that they are there.
    empty: Settled,
}

impl Row {
    /// The cost of rest as a share of that of the same world awake.
    fn share(&self) -> f64 {
        median(
            self.rest
                .iter()
                .zip(&self.awake)
                .map(|(rest, awake)| rest.all_ms / awake.all_ms),
        )
    }

    fn bytes(&self) -> f64 {
        self.rest
            .iter()
            .map(|run| run.bytes_per_sec)
            .fold(0.0, f64::max)
    }

    fn errors(&self) -> u64 {
        self.rest
            .iter()
            .chain(&self.awake)
            .map(|run| run.errors)
            .sum()
    }
}

pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let seconds = if scale.quick { 5.0 } else { 10.0 };
    let rounds = if scale.quick {
        1
    } else {
        scale.seeds * scale.rounds
    };
    let [rest, awake] =
        [Generated::Rest, Generated::RestAwake].map(|scene| part_of(scene.scene(), scale.quick));
    let empty = Scene {
        bodies: Vec::new(),
        ..rest.clone()
    };
    let mut bench = Bench::new(SIZES.len() * (2 * rounds as usize + 1), seconds, progress);
    let mut rows = Vec::new();
    for size in SIZES {
        let mut settled = |scene: &Scene, round: u32| {
            let job = Job {
                scene,
                servers: SERVERS,
                size: *size,
                seed: scale.seed_of(round),
                seconds,
                watched: true,
            };
            Ok::<_, ExperimentError>(Settled::of(&bench.outcome(&job)?))
        };
        let mut row = Row {
            size: *size,
            rest: Vec::new(),
            awake: Vec::new(),
            empty: settled(&empty, 0)?,
        };
        for round in 0..rounds {
            row.rest.push(settled(&rest, round)?);
            row.awake.push(settled(&awake, round)?);
        }
        rows.push(row);
    }
    let mut result = ExperimentResult::new(info, scale.seed);
    result
        .tables
        .push(table(&mut result.rows, &rows, rest.bodies.len()));
    for row in rows.iter().filter(|row| row.size == ours()) {
        result.claims.extend(claims(row, scale.quick));
    }
    result.notes.push(format!(
        "Measured from {SETTLED_AFTER_S} s on, when everything that will sleep does. \
        Heartbeats are the bytes of a world without bodies on the same servers."
    ));
    Ok(result)
}

/// All of it; or the middle, where the borders cross, for a quick look.
fn part_of(mut scene: Scene, quick: bool) -> Scene {
    if quick {
        let middle = |place: glam::DVec3| place.x.abs().max(place.z.abs()) < QUICK_M;
        scene.bodies.retain(|body| middle(body.motion.position));
    }
    scene
}

fn claims(row: &Row, quick: bool) -> Vec<Claim> {
    let (errors, bytes, heartbeats) = (row.errors(), row.bytes(), row.empty.bytes_per_sec);
    let mut claims = vec![
        Claim::new(
            "scale-rest",
            "no error of any kind",
            errors == 0,
            format!("{errors} errors"),
        ),
        Claim::new(
            "scale-rest",
            "a settled world sends nothing between servers beyond heartbeats",
            bytes <= heartbeats,
            format!("{bytes:.0} bytes/s, heartbeats {heartbeats:.0}"),
        ),
    ];
    if !quick {
        let text = format!(
            "a settled world costs at most {:.0} % of the same world awake",
            100.0 * MOST_SHARE
        );
        claims.push(Claim::new(
            "scale-rest",
            text,
            row.share() <= MOST_SHARE,
            format!("{:.1} %", 100.0 * row.share()),
        ));
    }
    claims
}

fn table(rows_out: &mut Vec<serde_json::Value>, rows: &[Row], boxes: usize) -> Table {
    let header = [
        "Auras",
        "At rest, ms",
        "Awake, ms",
        "Share %",
        "At rest, bytes/s",
        "Heartbeats, bytes/s",
        "Awake, bytes/s",
        "Errors",
    ];
    let mut table = Table::new(
        format!("{boxes} boxes on {SERVERS} servers, all servers together"),
        &header,
    );
    for row in rows {
        let rest_ms = median(row.rest.iter().map(|run| run.all_ms));
        let awake_ms = median(row.awake.iter().map(|run| run.all_ms));
        let awake_bytes = median(row.awake.iter().map(|run| run.bytes_per_sec));
        rows_out.push(json!({
            "aura": name(row.size), "runs": row.rest.len(), "rest_ms": rest_ms, "awake_ms": awake_ms,
            "share": row.share(),
            "rest_bytes_per_second": row.bytes(), "heartbeat_bytes_per_second": row.empty.bytes_per_sec,
            "awake_bytes_per_second": awake_bytes, "errors": row.errors(),
        }));
        table.push(vec![
            name(row.size),
            short(rest_ms),
            short(awake_ms),
            format!("{:.1}", 100.0 * row.share()),
            format!("{:.0}", row.bytes()),
            format!("{:.0}", row.empty.bytes_per_sec),
            format!("{awake_bytes:.0}"),
            row.errors().to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_must_be_cheap_and_silent() {
        let run = |all_ms: f64, bytes_per_sec: f64| Settled {
            all_ms,
            bytes_per_sec,
            errors: 0,
        };
        let row = |ms: f64, bytes: f64| Row {
            size: ours(),
            rest: vec![run(ms, bytes)],
            awake: vec![run(10.0, 5000.0)],
            empty: run(0.1, 80.0),
        };
        let holds = |row: &Row| {
            claims(row, false)
                .iter()
                .map(|claim| claim.holds)
                .collect::<Vec<_>>()
        };
        assert_eq!(holds(&row(0.5, 80.0)), [true, true, true]);
        assert_eq!(holds(&row(0.6, 81.0)), [true, false, false]);
    }
}
