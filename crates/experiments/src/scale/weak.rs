//! `scale-weak`: more servers with the same work each. Nobody should notice how many others there are.

use super::bench::{Bench, Cell, Job};
use super::layout_tables::{runs_csv, short};
use super::{SIZES, Scale, name, ours};
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};
use crate::table::Table;
use boundary::AuraSize;
use scenes::Generated;
use serde_json::json;

/// How much slower the slowest of 64 may be than the slowest of 4.
const MOST_GROWTH: f64 = 1.15;
/// Sizes that are only compared with ours go up to here: welded crowds take hours.
const MOST_COMPARED: usize = 16;
const COUNTS: [usize; 5] = [1, 4, 16, 64, 256];
const QUICK_COUNTS: [usize; 2] = [1, 4];

pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let cells = measure(scale, progress)?;
    let mut result = ExperimentResult::new(info, scale.seed);
    result.tables.push(table(&mut result.rows, &cells));
    add_claims(&mut result, &cells, scale.quick);
    let caption = "CPU time per tick of the slowest server, the same crowd in every region.";
    result.add_figure("weak.svg", caption, figure(&cells));
    result.add_data("runs.csv", runs_csv(&cells));
    result.notes.push(format!(
        "Sizes other than the default are run up to {MOST_COMPARED} servers and once per seed."
    ));
    Ok(result)
}

fn measure(scale: &Scale, progress: &mut dyn FnMut(f64)) -> Result<Vec<Cell>, ExperimentError> {
    let (counts, seconds): (&[usize], f64) = if scale.quick {
        (&QUICK_COUNTS, 3.0)
    } else {
        (&COUNTS, 20.0)
    };
    let scenes: Vec<_> = counts
        .iter()
        .map(|servers| (*servers, Generated::Weak(*servers).scene()))
        .collect();
    let mut cells: Vec<Cell> = Vec::new();
    for size in SIZES {
        let few = counts
            .iter()
            .filter(|servers| *size == ours() || **servers <= MOST_COMPARED);
        cells.extend(few.map(|servers| Cell {
            servers: *servers,
            size: *size,
            ones: Vec::new(),
            many: Vec::new(),
        }));
    }
    let (seeds, rounds) = (scale.seeds as usize, scale.rounds as usize);
    let total: usize = cells
        .iter()
        .map(|cell| {
            if cell.size == ours() {
                seeds * rounds
            } else {
                seeds
            }
        })
        .sum();
    let mut bench = Bench::new(total, seconds, progress);
    for index in 0..scale.seeds {
        for round in 0..scale.rounds {
            for cell in cells
                .iter_mut()
                .filter(|cell| cell.size == ours() || round == 0)
            {
                let (_, scene) = scenes
                    .iter()
                    .find(|(servers, _)| *servers == cell.servers)
                    .expect("made above");
                let job = Job {
                    scene,
                    servers: cell.servers,
                    size: cell.size,
                    seed: scale.seed_of(index),
                    seconds,
                    watched: round == 0,
                };
                cell.many.push(bench.run(&job)?);
            }
        }
    }
    Ok(cells)
}

fn slowest(cell: &Cell) -> f64 {
    cell.median(|run| run.slowest_ms)
}

fn table(rows: &mut Vec<serde_json::Value>, cells: &[Cell]) -> Table {
    let header = [
        "Servers",
        "Auras",
        "Bodies",
        "Slowest, ms",
        "p99, ms",
        "Mean, ms",
        "Overhead %",
        "Migrations",
        "Bytes/s per server",
        "Errors",
    ];
    let mut table = Table::new("The same crowd in every region: CPU time per tick", &header);
    for cell in cells {
        let seconds = cell.mean(|run| {
            run.windows
                .last()
                .map_or(f64::NAN, |window| window.until_secs)
        });
        let bytes = cell.mean(|run| run.bytes as f64) / seconds / cell.servers as f64;
        rows.push(json!({
            "servers": cell.servers, "aura": name(cell.size), "runs": cell.many.len(), "slowest_ms": slowest(cell),
            "mean_ms": cell.median(|run| run.mean_ms), "p99_ms": cell.median(|run| run.p99_ms),
            "overhead": cell.median(|run| run.overhead),
            "migrations": cell.mean(|run| run.migrations as f64), "bytes_per_second_and_server": bytes,
            "bodies": cell.mean(|run| run.bodies_at_end as f64), "errors": cell.errors(),
        }));
        table.push(vec![
            cell.servers.to_string(),
            name(cell.size),
            format!("{:.0}", cell.mean(|run| run.bodies_at_end as f64)),
            short(slowest(cell)),
            short(cell.median(|run| run.p99_ms)),
            short(cell.median(|run| run.mean_ms)),
            format!("{:.1}", 100.0 * cell.median(|run| run.overhead)),
            format!("{:.0}", cell.mean(|run| run.migrations as f64)),
            format!("{bytes:.0}"),
            cell.errors().to_string(),
        ]);
    }
    table
}

fn add_claims(result: &mut ExperimentResult, cells: &[Cell], quick: bool) {
    let of = |size: AuraSize| cells.iter().filter(move |cell| cell.size == size);
    let errors: u64 = of(ours()).map(Cell::errors).sum();
    result.claims.push(Claim::new(
        "scale-weak",
        "no error of any kind",
        errors == 0,
        format!("{errors} errors"),
    ));
    let at = |servers: usize| of(ours()).find(|cell| cell.servers == servers).map(slowest);
    if let (false, Some(few), Some(many)) = (quick, at(4), at(64)) {
        let text = format!(
            "the slowest of 64 servers works at most {MOST_GROWTH} times as much as the slowest of 4"
        );
        result.claims.push(Claim::new(
            "scale-weak",
            text,
            many <= MOST_GROWTH * few,
            format!("{:.2} ms, {:.2} ms: {:.2}", few, many, many / few),
        ));
    }
}

fn figure(cells: &[Cell]) -> String {
    let line = |(index, size): (usize, &AuraSize)| Line {
        name: format!("auras `{}`", name(*size)),
        colour: if *size == ours() {
            OURS
        } else {
            [THESIS, THIRD][index % 2]
        },
        points: cells
            .iter()
            .filter(|cell| cell.size == *size)
            .map(|cell| (cell.servers as f64, slowest(cell)))
            .collect(),
        style: LineStyle::Dotted,
    };
    Chart {
        title: "Constant work per server".into(),
        x_label: "servers".into(),
        y_label: "slowest server, ms per tick".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 0.01,
        lines: SIZES.iter().enumerate().map(line).collect(),
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::measure::Measured;

    fn growth(many_ms: f64) -> bool {
        let cell = |servers: usize, slowest_ms: f64| Cell {
            servers,
            size: ours(),
            ones: Vec::new(),
            many: vec![Measured {
                slowest_ms,
                errors: Some(0),
                ..Measured::default()
            }],
        };
        let mut result = ExperimentResult::new(&crate::scale::ALL[2], 7);
        add_claims(&mut result, &[cell(4, 1.0), cell(64, many_ms)], false);
        assert_eq!(result.claims.len(), 2);
        result.holds()
    }

    #[test]
    fn the_slowest_of_many_is_held_to_the_slowest_of_few() {
        assert!(growth(1.14) && !growth(1.16));
    }
}
