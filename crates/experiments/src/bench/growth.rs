//! `bodies`, `density`, `speed`, `delay`: what a body costs on four servers as one thing grows.

use super::growth_plans::{Plan, Point, SERVERS, plan};
use super::spent::{CSV_HEAD, Spent, csv_line, middle};
use super::trial::{Company, Place, Runner, Trial};
use super::{Extent, no_errors};
use crate::plot::{Chart, Line, LineStyle, OURS, THIRD};
use crate::result::{ExperimentError, ExperimentInfo, ExperimentResult};
use crate::scale::layout_tables::short;
use crate::table::Table;
use plotters::style::RGBColor;
use serde_json::json;
use std::fmt::Write as _;

const SECONDS: f64 = 8.0;
const QUICK_SECONDS: f64 = 2.0;

/// All rounds of one point.
struct Cell {
    value: f64,
    side_m: f64,
    /// What the checkers found.
    errors: u64,
    runs: Vec<Spent>,
}

impl Cell {
    fn middle(&self, of: impl Fn(&Spent) -> f64) -> f64 {
        middle(&self.runs, of)
    }
}

pub(super) fn run(
    info: &ExperimentInfo,
    extent: &Extent,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let plan = plan(info.id, extent.quick);
    let cells = measure(&plan, extent, progress)?;
    let mut result = ExperimentResult::new(info, extent.seed);
    result
        .rows
        .extend(cells.iter().map(|cell| row(info.id, cell)));
    result.tables.push(table(&plan, &cells));
    let errors = cells.iter().map(|cell| cell.errors).sum();
    result.claims.push(no_errors(info.id, errors));
    let caption = format!(
        "CPU time per body and tick on {SERVERS} servers, all together, and what of it is the engine's own step; {}.",
        plan.stays
    );
    result.add_figure(
        &format!("{}.svg", info.id),
        caption,
        figure(info, &plan, &cells),
    );
    result.add_data("runs.csv", csv(&cells));
    Ok(result)
}

fn measure(
    plan: &Plan,
    extent: &Extent,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Cell>, ExperimentError> {
    let places: Vec<(&Point, Place)> = plan
        .points
        .iter()
        .map(|point| (point, Place::of(point.crowd)))
        .collect();
    let trials = || {
        places.iter().map(|(point, place)| Trial {
            place,
            servers: SERVERS,
            network: point.network,
            seed: extent.seed,
            seconds: if extent.quick { QUICK_SECONDS } else { SECONDS },
            watched: false,
            company: Company::Alone,
        })
    };
    let rounds = f64::from(extent.rounds);
    let work = trials().map(|trial| trial.watched().work() + rounds * trial.work());
    let mut runner = Runner::new(work.sum(), progress);
    let mut cells: Vec<Cell> = plan
        .points
        .iter()
        .map(|point| Cell {
            value: point.value,
            side_m: point.crowd.side_m(),
            errors: 0,
            runs: Vec::new(),
        })
        .collect();
    for (cell, trial) in cells.iter_mut().zip(trials()) {
        cell.errors = runner.run(&trial.watched())?.errors();
    }
    for _ in 0..extent.rounds {
        for (cell, trial) in cells.iter_mut().zip(trials()) {
            cell.runs.push(runner.run(&trial)?);
        }
    }
    Ok(cells)
}

fn row(id: &str, cell: &Cell) -> serde_json::Value {
    json!({
        "table": id, "value": cell.value, "servers": SERVERS, "rounds": cell.runs.len(),
        "bodies": cell.middle(|run| run.bodies), "side_m": cell.side_m,
        "us_per_body_and_tick": cell.middle(Spent::us_per_body),
        "step_us_per_body_and_tick": cell.middle(Spent::step_us_per_body),
        "overhead": cell.middle(Spent::overhead), "slowest_ms": cell.middle(|run| run.slowest_ms),
        "imbalance": cell.middle(Spent::imbalance), "near_borders": cell.middle(|run| run.near_borders),
        "migrations_per_body_minute": cell.middle(Spent::restlessness),
        "bytes_per_second": cell.middle(|run| run.bytes_per_sec),
        "largest_cluster": cell.middle(|run| run.largest_cluster as f64),
        "tolerances_exceeded": cell.middle(|run| run.exceeded as f64), "errors": cell.errors,
    })
}

fn table(plan: &Plan, cells: &[Cell]) -> Table {
    let header = [
        plan.what,
        "Side of the world, m",
        "µs per body, tick",
        "of it the step",
        "Overhead %",
        "Slowest/mean",
        "Near borders",
        "Migrations per body, minute",
        "kB/s",
        "Largest cluster",
        "Tolerances exceeded",
        "Errors",
    ];
    let mut table = Table::new(
        format!("A crowd on {SERVERS} servers; {}", plan.stays),
        &header,
    );
    for cell in cells {
        table.push(vec![
            cell.value.to_string(),
            format!("{:.0}", cell.side_m),
            short(cell.middle(Spent::us_per_body)),
            short(cell.middle(Spent::step_us_per_body)),
            format!("{:.1}", 100.0 * cell.middle(Spent::overhead)),
            short(cell.middle(Spent::imbalance)),
            format!("{:.0}", cell.middle(|run| run.near_borders)),
            short(cell.middle(Spent::restlessness)),
            format!("{:.1}", 1e-3 * cell.middle(|run| run.bytes_per_sec)),
            format!("{:.0}", cell.middle(|run| run.largest_cluster as f64)),
            format!("{:.0}", cell.middle(|run| run.exceeded as f64)),
            cell.errors.to_string(),
        ]);
    }
    table
}

fn figure(info: &ExperimentInfo, plan: &Plan, cells: &[Cell]) -> String {
    let line = |name: &str, colour: RGBColor, of: fn(&Spent) -> f64| Line {
        name: name.into(),
        colour,
        points: cells
            .iter()
            .map(|cell| (cell.value, cell.middle(of)))
            .collect(),
        style: LineStyle::Dotted,
    };
    let chart = Chart {
        title: format!("{} on {SERVERS} servers", info.title),
        x_label: plan.axis.into(),
        y_label: "µs per body and tick".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 0.01,
        lines: vec![
            line("everything", OURS, Spent::us_per_body),
            line("the engine's step", THIRD, Spent::step_us_per_body),
        ],
    };
    match plan.points.first().filter(|_| plan.doubles) {
        Some(first) => chart.svg_doubling(first.value),
        None => chart.svg(),
    }
}

fn csv(cells: &[Cell]) -> String {
    let mut text = format!("value,round,{CSV_HEAD}\n");
    for cell in cells {
        for (round, run) in cell.runs.iter().enumerate() {
            let _ = writeln!(text, "{},{round},{}", cell.value, csv_line(run));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::list;

    fn cells() -> Vec<Cell> {
        let run = |all_ms| Spent {
            servers: SERVERS,
            slowest_ms: 0.25 * all_ms,
            all_ms,
            step_ms: 0.5 * all_ms,
            bodies: 1000.0,
            ..Spent::default()
        };
        let cell = |value: f64| Cell {
            value,
            side_m: 95.0,
            errors: 3,
            runs: vec![run(1.0), run(2.0), run(9.0)],
        };
        [0.025, 0.05].map(cell).into()
    }

    #[test]
    fn the_middle_round_is_told() {
        let plan = plan("density", false);
        let text = table(&plan, &cells()).markdown();
        assert!(text.starts_with("| Bodies per m² |"), "{text}");
        assert!(text.contains("| 0.025 "), "{text}");
        let first = row("density", &cells()[0]);
        assert_eq!(first["us_per_body_and_tick"], json!(2.0));
        assert_eq!(
            (&first["overhead"], &first["errors"]),
            (&json!(1.0), &json!(3))
        );
    }

    #[test]
    fn every_run_is_a_line_of_data() {
        let text = csv(&cells());
        assert_eq!(text.lines().count(), 7);
        let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(columns.iter().all(|count| *count == columns[0]), "{text}");
    }

    #[test]
    fn every_plan_can_be_drawn() {
        for info in list()
            .iter()
            .filter(|info| !["bare", "servers"].contains(&info.id))
        {
            let svg = figure(info, &plan(info.id, false), &cells());
            assert!(svg.contains("everything") && svg.contains(info.title));
        }
    }
}
