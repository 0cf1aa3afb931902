//! `scale-worst`: everything moves, and nothing is ever more than six metres from a border.

use super::bench::{Bench, Cell, Job};
use super::layout_tables::{runs_csv, short};
use super::layouts::compare;
use super::{SIZES, Scale, name, ours};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};
use crate::table::Table;
use scenes::Generated;
use serde_json::json;

const SERVERS: usize = 4;
const WANTED: f64 = 2.0;

pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let scene = Generated::Worst.scene();
    let seconds = if scale.quick { 3.0 } else { scene.seconds };
    let runs = scale.seeds as usize * (2 * scale.rounds as usize + SIZES.len() - 1);
    let mut bench = Bench::new(runs, seconds, progress);
    let job = Job {
        scene: &scene,
        servers: SERVERS,
        size: ours(),
        seed: 0,
        seconds,
        watched: true,
    };
    let cells = compare(&mut bench, &job, scale)?;
    let mut result = ExperimentResult::new(info, scale.seed);
    result.tables.push(table(&mut result.rows, &cells));
    for cell in cells.iter().filter(|cell| cell.size == ours()) {
        result.claims.extend(claims(cell, scale.quick));
    }
    result.add_data("runs.csv", runs_csv(&cells));
    Ok(result)
}

fn claims(cell: &Cell, quick: bool) -> Vec<Claim> {
    let errors = cell.errors();
    let mut claims = vec![Claim::new(
        "scale-worst",
        "no error of any kind",
        errors == 0,
        format!("{errors} errors"),
    )];
    if !quick {
        let text = format!(
            "where everything is near a border, {SERVERS} servers are at least {WANTED} times faster than one"
        );
        claims.push(Claim::new(
            "scale-worst",
            text,
            cell.factor() >= WANTED,
            cell.factor_text(),
        ));
    }
    claims
}

fn table(rows: &mut Vec<serde_json::Value>, cells: &[Cell]) -> Table {
    let header = [
        "Auras",
        "Factor",
        "Slowest, ms",
        "Slowest/mean",
        "Overhead %",
        "Migrations",
        "per body, minute",
        "Thrashed",
        "MB",
        "Errors",
    ];
    let mut table = Table::new(
        format!("1,000 bodies in a trench along the borders of {SERVERS} regions"),
        &header,
    );
    for cell in cells {
        rows.push(json!({
            "servers": cell.servers, "aura": name(cell.size), "factor": cell.factor(), "factors": cell.factors(),
            "slowest_ms": cell.median(|run| run.slowest_ms),
            "imbalance": cell.median(|run| run.slowest_ms / run.mean_ms),
            "overhead": cell.median(|run| run.overhead), "migrations": cell.mean(|run| run.migrations as f64),
            "migrations_per_body_minute": cell.mean(|run| run.restlessness()), "thrashed": cell.thrashed().0,
            "bytes": cell.mean(|run| run.bytes as f64), "errors": cell.errors(),
        }));
        table.push(vec![
            name(cell.size),
            cell.factor_text(),
            short(cell.median(|run| run.slowest_ms)),
            short(cell.median(|run| run.slowest_ms / run.mean_ms)),
            format!("{:.1}", 100.0 * cell.median(|run| run.overhead)),
            format!("{:.0}", cell.mean(|run| run.migrations as f64)),
            short(cell.mean(|run| run.restlessness())),
            cell.thrashed().0.to_string(),
            format!("{:.1}", 1e-6 * cell.mean(|run| run.bytes as f64)),
            cell.errors().to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::measure::Measured;

    #[test]
    fn four_must_be_twice_as_fast() {
        let run = |slowest_ms| Measured {
            slowest_ms,
            errors: Some(0),
            ..Measured::default()
        };
        let cell = |ms| Cell {
            servers: 4,
            size: ours(),
            ones: vec![run(4.0)],
            many: vec![run(ms)],
        };
        assert!(claims(&cell(2.0), false).iter().all(|claim| claim.holds));
        assert!(!claims(&cell(2.1), false)[1].holds);
        assert_eq!(claims(&cell(9.0), true).len(), 1);
    }
}
