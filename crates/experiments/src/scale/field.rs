//! `scale-field`: many stacks that have nothing to do with each other. Fixed auras reach from one to the next and
//! weld them into one cluster with one owner.

use super::bench::{Bench, Job};
use super::layout_tables::short;
use super::measure::{Measured, median};
use super::{SIZES, Scale, name, ours};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};
use crate::table::Table;
use boundary::AuraSize;
use domain::RegionMap;
use scenes::{Generated, Scene};
use serde_json::json;
use simulator::{Outcome, SimError};

/// How much more than the mean the slowest server may work.
const MOST_IMBALANCE: f64 = 1.5;

/// How large a field on how many servers, how long.
#[derive(Clone, Copy, Debug)]
struct Plot {
    stacks: usize,
    servers: usize,
    seconds: f64,
}

const LARGE: Plot = Plot {
    stacks: 10_000,
    servers: 64,
    seconds: 10.0,
};
/// Where all sizes are compared: a welded field of 10,000 takes hours.
const SMALL: Plot = Plot {
    stacks: 900,
    servers: 9,
    seconds: 5.0,
};
const QUICK: Plot = Plot {
    stacks: 100,
    servers: 4,
    seconds: 2.0,
};
/// Long enough for everybody to have heard of everybody.
const CALM_SECS: f64 = 2.0;

struct Row {
    plot: Plot,
    size: AuraSize,
    /// Bodies that, although nothing moved, were on another server than the one in whose region they stand, or went
    /// there.
    misplaced: u64,
    runs: Vec<Measured>,
}

impl Row {
    fn imbalance(&self) -> f64 {
        median(self.runs.iter().map(|run| run.slowest_ms / run.mean_ms))
    }

    fn errors(&self) -> u64 {
        self.runs.iter().filter_map(|run| run.errors).sum()
    }
}

pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let compared = if scale.quick { QUICK } else { SMALL };
    let mut asked: Vec<(Plot, AuraSize)> = SIZES.iter().map(|size| (compared, *size)).collect();
    if !scale.quick {
        asked.push((LARGE, ours()));
    }
    let mut bench = Bench::new(
        asked.len() * (scale.seeds as usize + 1),
        compared.seconds,
        progress,
    );
    let rows: Result<Vec<Row>, ExperimentError> = asked
        .iter()
        .map(|(plot, size)| measure(&mut bench, *plot, *size, scale))
        .collect();
    let rows = rows?;
    let mut result = ExperimentResult::new(info, scale.seed);
    result.tables.push(table(&mut result.rows, &rows));
    for row in rows.iter().filter(|row| row.size == ours()) {
        result.claims.extend(claims(row, scale.quick));
    }
    Ok(result)
}

fn measure(
    bench: &mut Bench,
    plot: Plot,
    size: AuraSize,
    scale: &Scale,
) -> Result<Row, ExperimentError> {
    let rain = Generated::Field(plot.stacks).scene();
    let calm = Scene {
        injectors: Vec::new(),
        ..rain.clone()
    };
    let job = Job {
        scene: &rain,
        servers: plot.servers,
        size,
        seed: scale.seed,
        seconds: plot.seconds,
        watched: true,
    };
    let still = Job {
        scene: &calm,
        seconds: CALM_SECS,
        watched: false,
        ..job
    };
    let misplaced = misplaced(&calm, &bench.outcome(&still)?)?;
    let runs = (0..scale.seeds).map(|index| {
        bench.run(&Job {
            seed: scale.seed_of(index),
            ..job
        })
    });
    Ok(Row {
        plot,
        size,
        misplaced,
        runs: runs.collect::<Result<_, _>>()?,
    })
}

/// How many of a field's bodies are not where they stand. Each of them is missing at one server and too many at
/// another.
fn misplaced(calm: &Scene, outcome: &Outcome) -> Result<u64, ExperimentError> {
    let map = RegionMap::build(calm.regions.layout, outcome.servers, calm.world)
        .map_err(SimError::from)?;
    let mut surplus = vec![0_i64; map.len()];
    for (region, line) in outcome.timelines.iter().enumerate() {
        surplus[region] += i64::from(line.bodies.last().copied().unwrap_or(0));
    }
    for body in &calm.bodies {
        let place = body.motion.position;
        surplus[map.region_at(place.x, place.z).0 as usize] -= 1;
    }
    let elsewhere: u64 = surplus.iter().map(|count| count.unsigned_abs()).sum();
    Ok(outcome.migrations.max(elsewhere / 2))
}

fn claims(row: &Row, quick: bool) -> Vec<Claim> {
    let Plot {
        stacks, servers, ..
    } = row.plot;
    let (errors, calm, imbalance) = (row.errors(), row.misplaced, row.imbalance());
    let mut claims = vec![
        Claim::new(
            "scale-field",
            format!("{stacks} stacks: no error of any kind"),
            errors == 0,
            format!("{errors} errors"),
        ),
        Claim::new(
            "scale-field",
            format!(
                "{stacks} stacks: without rain none is moved because of another that it cannot touch"
            ),
            calm == 0,
            format!("{calm} boxes on another server than the one in whose region they stand"),
        ),
    ];
    if !quick {
        claims.push(Claim::new(
            "scale-field",
            format!("{stacks} stacks: the slowest of {servers} servers works at most {MOST_IMBALANCE} times as \
                much as the mean"),
            imbalance <= MOST_IMBALANCE,
            format!("{imbalance:.2}"),
        ));
    }
    claims
}

fn table(rows_out: &mut Vec<serde_json::Value>, rows: &[Row]) -> Table {
    let header = [
        "Stacks",
        "Servers",
        "Auras",
        "Slowest/mean",
        "Slowest, ms",
        "p99, ms",
        "Overhead %",
        "Migrations",
        "Misplaced without rain",
        "MB",
        "Errors",
    ];
    let mut table = Table::new(
        "Stacks of five boxes, 8 m apart, in a rain of balls",
        &header,
    );
    for row in rows {
        let of = |value: &dyn Fn(&Measured) -> f64| median(row.runs.iter().map(value));
        rows_out.push(json!({
            "stacks": row.plot.stacks, "servers": row.plot.servers, "aura": name(row.size),
            "runs": row.runs.len(), "imbalance": row.imbalance(),
            "slowest_ms": of(&|run| run.slowest_ms), "p99_ms": of(&|run| run.p99_ms),
            "overhead": of(&|run| run.overhead),
            "migrations": of(&|run| run.migrations as f64), "misplaced_without_rain": row.misplaced,
            "bytes": of(&|run| run.bytes as f64), "errors": row.errors(),
        }));
        table.push(vec![
            row.plot.stacks.to_string(),
            row.plot.servers.to_string(),
            name(row.size),
            short(row.imbalance()),
            short(of(&|run| run.slowest_ms)),
            short(of(&|run| run.p99_ms)),
            format!("{:.1}", 100.0 * of(&|run| run.overhead)),
            format!("{:.0}", of(&|run| run.migrations as f64)),
            row.misplaced.to_string(),
            format!("{:.1}", 1e-6 * of(&|run| run.bytes as f64)),
            row.errors().to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_must_be_shared_and_left_alone() {
        let row = |slowest_ms: f64, misplaced: u64| Row {
            plot: LARGE,
            size: ours(),
            misplaced,
            runs: vec![Measured {
                slowest_ms,
                mean_ms: 1.0,
                errors: Some(0),
                ..Measured::default()
            }],
        };
        let holds = |row: &Row| {
            claims(row, false)
                .iter()
                .map(|claim| claim.holds)
                .collect::<Vec<_>>()
        };
        assert_eq!(holds(&row(1.5, 0)), [true, true, true]);
        assert_eq!(holds(&row(1.6, 1)), [true, false, false]);
    }
}
