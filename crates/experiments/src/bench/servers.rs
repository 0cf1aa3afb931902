//! `servers`: the thesis's columns at their published size, one server against several.

use super::{Extent, no_errors};
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS};
use crate::result::{ExperimentError, ExperimentInfo, ExperimentResult};
use crate::scale::bench::{Bench, Cell, Job};
use crate::scale::layout_tables::{runs_csv, short};
use crate::scale::measure::{Measured, median};
use crate::scale::{ours, published};
use crate::table::Table;
use plotters::style::RGBColor;
use scenes::{Generated, Scene};
use serde_json::json;

const COUNTS: &[usize] = &[2, 4, 8, 16];
const QUICK_COUNTS: &[usize] = &[2, 4];
const SECONDS: f64 = 60.0;
const QUICK_SECONDS: f64 = 3.0;
const IDEAL: RGBColor = RGBColor(150, 150, 150);

/// So many servers against one.
struct Count {
    cell: Cell,
    /// What the checkers found.
    errors: u64,
}

pub(super) fn run(
    info: &ExperimentInfo,
    extent: &Extent,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let counts = measure(extent, progress)?;
    let mut result = ExperimentResult::new(info, extent.seed);
    result.rows.extend(counts.iter().map(row));
    result.tables.push(table(&counts));
    let errors = counts.iter().map(|count| count.errors).sum();
    result.claims.push(no_errors("servers", errors));
    let caption = "Times faster than one server, by the slowest server's mean CPU time per tick.";
    let cells: Vec<Cell> = counts.into_iter().map(|count| count.cell).collect();
    result.add_figure("factor.svg", caption, figure(&cells));
    result.add_data("runs.csv", runs_csv(&cells));
    result.notes.push(FACTOR.into());
    Ok(result)
}

const FACTOR: &str = "Factor: the scene for n servers, run on one and on n of them in turn, mean CPU time per tick of \
    the one over that of the slowest of the n; the median over pairs, with least and most. The thesis's factors are \
    those of its text (5.1.4), on its machines and with its engine. `experiment run ap-columns` has more sizes, seeds \
    and servers.";

fn measure(extent: &Extent, progress: &mut dyn FnMut(f64)) -> Result<Vec<Count>, ExperimentError> {
    let (counts, seconds) = if extent.quick {
        (QUICK_COUNTS, QUICK_SECONDS)
    } else {
        (COUNTS, SECONDS)
    };
    let scenes: Vec<(usize, Scene)> = counts
        .iter()
        .map(|servers| (*servers, Generated::E1Columns(*servers).scene()))
        .collect();
    let jobs = || {
        scenes.iter().map(|(servers, scene)| Job {
            scene,
            servers: *servers,
            size: ours(),
            seed: extent.seed,
            seconds,
            watched: false,
        })
    };
    let runs = counts.len() * (1 + 2 * extent.rounds as usize);
    let mut bench = Bench::new(runs, seconds, progress);
    let mut counts = Vec::new();
    for job in jobs() {
        // Checkers push everything else out of the caches: its times do not count.
        let watched = bench.run(&Job {
            watched: true,
            ..job
        })?;
        counts.push(Count {
            cell: Cell {
                servers: job.servers,
                size: job.size,
                ones: Vec::new(),
                many: Vec::new(),
            },
            errors: watched.errors.unwrap_or(0),
        });
    }
    for _ in 0..extent.rounds {
        for (Count { cell, .. }, job) in counts.iter_mut().zip(jobs()) {
            cell.ones.push(bench.run(&Job { servers: 1, ..job })?);
            cell.many.push(bench.run(&job)?);
        }
    }
    Ok(counts)
}

fn one_ms(cell: &Cell) -> f64 {
    median(cell.ones.iter().map(|run| run.slowest_ms))
}

fn imbalance(run: &Measured) -> f64 {
    run.slowest_ms / run.mean_ms
}

fn row(count: &Count) -> serde_json::Value {
    let cell = &count.cell;
    json!({
        "table": "servers", "servers": cell.servers, "pairs": cell.many.len(), "factor": cell.factor(),
        "factors": cell.factors(), "published_factor": published::factor(cell.servers), "one_ms": one_ms(cell),
        "slowest_ms": cell.median(|run| run.slowest_ms), "p99_ms": cell.median(|run| run.p99_ms),
        "imbalance": cell.median(imbalance), "overhead": cell.median(|run| run.overhead),
        "largest_cluster": cell.median(|run| run.largest_cluster as f64),
        "migrations": cell.median(|run| run.migrations as f64), "bytes": cell.median(|run| run.bytes as f64),
        "bodies": cell.median(|run| run.bodies_at_end as f64), "errors": count.errors,
    })
}

fn table(counts: &[Count]) -> Table {
    let header = [
        "Servers",
        "Factor",
        "Thesis",
        "One, ms",
        "Slowest, ms",
        "p99, ms",
        "Slowest/mean",
        "Overhead %",
        "Largest cluster",
        "Migrations",
        "MB",
        "Errors",
    ];
    let mut table = Table::new(
        "Times faster than one server, the thesis's columns, by the slowest server's mean CPU time per tick",
        &header,
    );
    for Count { cell, errors } in counts {
        table.push(vec![
            cell.servers.to_string(),
            cell.factor_text(),
            published::factor(cell.servers).map_or("-".into(), short),
            short(one_ms(cell)),
            short(cell.median(|run| run.slowest_ms)),
            short(cell.median(|run| run.p99_ms)),
            short(cell.median(imbalance)),
            format!("{:.1}", 100.0 * cell.median(|run| run.overhead)),
            format!("{:.0}", cell.median(|run| run.largest_cluster as f64)),
            format!("{:.0}", cell.median(|run| run.migrations as f64)),
            format!("{:.1}", 1e-6 * cell.median(|run| run.bytes as f64)),
            errors.to_string(),
        ]);
    }
    table
}

fn figure(cells: &[Cell]) -> String {
    let line = |name: &str, colour, points: Vec<(f64, f64)>, style| Line {
        name: name.into(),
        colour,
        points: [(1.0, 1.0)].into_iter().chain(points).collect(),
        style,
    };
    let measured = cells
        .iter()
        .map(|cell| (cell.servers as f64, cell.factor()))
        .collect();
    let theirs = published::FACTORS
        .iter()
        .map(|(servers, factor)| (*servers as f64, *factor))
        .collect();
    let most = cells.iter().map(|cell| cell.servers).max().unwrap_or(1) as f64;
    let bodies = cells
        .iter()
        .map(|cell| cell.median(|run| run.bodies_at_end as f64));
    let bodies = bodies.fold(0.0, f64::max);
    Chart {
        title: format!("One world of {bodies:.0} bodies on several servers"),
        x_label: "servers".into(),
        y_label: "times faster than one".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 2.0,
        lines: vec![
            line("perfect", IDEAL, vec![(most, most)], LineStyle::Plain),
            line("Auramesh", OURS, measured, LineStyle::Dotted),
            line("thesis (2020)", THESIS, theirs, LineStyle::Dotted),
        ],
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Vec<Count> {
        let run = |slowest_ms| Measured {
            slowest_ms,
            mean_ms: slowest_ms,
            largest_cluster: 27,
            bodies_at_end: 9600,
            ..Measured::default()
        };
        [(2, 5.0), (16, 0.7)]
            .map(|(servers, slowest_ms)| Count {
                cell: Cell {
                    servers,
                    size: ours(),
                    ones: vec![run(10.0)],
                    many: vec![run(slowest_ms)],
                },
                errors: 2,
            })
            .into()
    }

    #[test]
    fn published_factors_stand_beside_ours() {
        let text = table(&counts()).markdown();
        let columns = |line: &str| -> Vec<String> {
            line.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let rows: Vec<Vec<String>> = text.lines().skip(2).map(columns).collect();
        assert_eq!(rows[0][2..4], ["2.00 (2.00 to 2.00, 1 pairs)", "1.74"]);
        assert_eq!(rows[1][2..4], ["14.29 (14.29 to 14.29, 1 pairs)", "-"]);
        let rows: Vec<_> = counts().iter().map(row).collect();
        assert_eq!(rows[0]["published_factor"], json!(1.74));
        assert_eq!(rows[1]["published_factor"], json!(null));
        assert_eq!(rows[1]["largest_cluster"], json!(27.0));
        assert_eq!(rows[1]["errors"], json!(2));
    }

    #[test]
    fn the_figure_has_the_ideal_and_the_thesis() {
        let cells: Vec<Cell> = counts().into_iter().map(|count| count.cell).collect();
        let svg = figure(&cells);
        for word in ["perfect", "Auramesh", "thesis (2020)", "9600 bodies"] {
            assert!(svg.contains(word), "{word}");
        }
    }
}
