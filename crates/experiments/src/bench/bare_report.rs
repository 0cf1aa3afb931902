//! What `bare` has to tell: tables, the crossover, a figure.

use super::bare::{Cell, SERVERS, Size};
use super::crossover::Crossover;
use super::spent::{CSV_HEAD, Spent, csv_line, middle};
use crate::plot::{ADAPTIVE, Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::ExperimentResult;
use crate::scale::layout_tables::short;
use crate::scale::measure::median;
use crate::table::Table;
use plotters::style::RGBColor;
use serde_json::json;
use std::fmt::Write as _;

const COLOURS: [RGBColor; 4] = [THIRD, OURS, ADAPTIVE, THESIS];
const BARE_COLOUR: RGBColor = RGBColor(60, 60, 60);
/// What stands first below the figure's axis.
const DOUBLED_FROM: f64 = 125.0;

const BARE: &str = "Bare Rapier is the engine with the same bodies and nothing else: no events, no books, no boundary. \
    It has the thread to itself, as the run of one, two, four or eight servers after it has; a ratio is one of the \
    same round. In turn: one region and bare Rapier step one after the other, tick by tick, and share the caches. Two \
    threads for bare Rapier need another build of the engine: `bench/two-threads`.";

pub(super) fn add(result: &mut ExperimentResult, sizes: &[Size]) {
    for size in sizes {
        let rows = size.cells.iter().map(|cell| row(size, cell));
        result.rows.extend(rows);
    }
    result.tables.push(ratios(sizes));
    result.tables.push(totals(sizes));
    add_crossovers(result, sizes);
    let caption = "The slowest server's tick as a multiple of bare Rapier's with the same bodies, over their number.";
    result.add_figure("bare.svg", caption, figure(sizes));
    result.add_data("runs.csv", csv(sizes));
    result.notes.push(BARE.into());
}

fn row(size: &Size, cell: &Cell) -> serde_json::Value {
    let of = |value: &dyn Fn(&Spent) -> f64| middle(&cell.runs, value);
    json!({
        "table": "bare", "bodies": size.bodies, "servers": cell.servers, "rounds": cell.runs.len(),
        "bare_ms": size.bare(), "slowest_ms": of(&|run| run.slowest_ms), "ratio": size.ratio(cell),
        "ratios": size.ratios(cell, |run| run.slowest_ms),
        "ratio_in_turn": (cell.servers == 1).then(|| size.ratio_in_turn()),
        "all_ms": of(&|run| run.all_ms), "all_ratio": median(size.ratios(cell, |run| run.all_ms)),
        "overhead": of(&Spent::overhead),
        "migrations_per_second": of(&|run| run.migrations_per_sec), "bytes_per_second": of(&|run| run.bytes_per_sec),
        "largest_cluster": of(&|run| run.largest_cluster as f64), "errors": cell.errors,
    })
}

/// A line per number of bodies, what bare Rapier takes in front, then a column per number of servers.
fn by_bodies(
    caption: &str,
    sizes: &[Size],
    of: impl Fn(&Size, &Cell) -> String,
    last: (&str, fn(&Size) -> String),
) -> Table {
    let names = SERVERS.map(|servers| match servers {
        1 => "1 server".into(),
        several => format!("{several} servers"),
    });
    let header: Vec<&str> = ["Bodies", "Bare Rapier, ms"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .chain([last.0])
        .collect();
    let mut table = Table::new(caption, &header);
    for size in sizes {
        let mut row = vec![size.bodies.to_string(), format!("{:.3}", size.bare())];
        let text = |servers| size.cell(servers).map_or("-".into(), |cell| of(size, cell));
        row.extend(SERVERS.map(text));
        row.push(last.1(size));
        table.push(row);
    }
    table
}

fn ratios(sizes: &[Size]) -> Table {
    let caption = "The slowest server's tick, ms, and as a multiple of bare Rapier's in the same round (least to most)";
    let of = |size: &Size, cell: &Cell| {
        let ratios = size.ratios(cell, |run| run.slowest_ms);
        format!(
            "{:.3}: {:.2} ({:.2} to {:.2})",
            middle(&cell.runs, |run| run.slowest_ms),
            size.ratio(cell),
            ratios.iter().copied().fold(f64::INFINITY, f64::min),
            ratios.iter().copied().fold(0.0, f64::max)
        )
    };
    let in_turn = |size: &Size| format!("{:.3}", size.ratio_in_turn());
    by_bodies(caption, sizes, of, ("1 server, in turn", in_turn))
}

fn totals(sizes: &[Size]) -> Table {
    let caption = "All servers' work together as a multiple of bare Rapier's, and everything but the step as a share \
        of the step";
    let of = |size: &Size, cell: &Cell| {
        format!(
            "{:.2}, {:.1} %",
            median(size.ratios(cell, |run| run.all_ms)),
            100.0 * middle(&cell.runs, Spent::overhead)
        )
    };
    let us = |size: &Size| short(1e3 * size.bare() / size.bodies as f64);
    by_bodies(caption, sizes, of, ("Bare Rapier, µs per body", us))
}

/// Said as rows, as a table, and in its caption, which is also printed where notes are not.
fn add_crossovers(result: &mut ExperimentResult, sizes: &[Size]) {
    let header = [
        "Servers n",
        "Faster than bare Rapier from",
        "n/2 times as fast from",
        "Times as fast at the most bodies",
    ];
    let (mut sentence, mut rows) = (String::new(), Vec::new());
    for servers in SERVERS.into_iter().filter(|servers| *servers > 1) {
        let ratio = |size: &Size| Some((size.bodies, size.ratio(size.cell(servers)?)));
        let ratios: Vec<(usize, f64)> = sizes.iter().filter_map(ratio).collect();
        let [crossover, half] = [1.0, 2.0 / servers as f64].map(|bar| Crossover::of(&ratios, bar));
        let (Some(crossover), Some(half), Some((most, last))) = (crossover, half, ratios.last())
        else {
            continue;
        };
        result.rows.push(json!({
            "table": "crossover", "servers": servers, "bodies": crossover.bodies(), "text": crossover.text(),
            "half_efficient_bodies": half.bodies(), "half_efficient_text": half.text(),
            "most_bodies": most, "times_as_fast_at_most_bodies": 1.0 / last,
        }));
        let _ = write!(sentence, " {servers} servers: {}.", crossover.text());
        let at_most = short(1.0 / last);
        rows.push(vec![
            servers.to_string(),
            crossover.text(),
            half.text(),
            at_most,
        ]);
    }
    let caption = format!(
        "The crossover, from where on the slowest server is faster than bare Rapier.{sentence}"
    );
    result.notes.push(caption.clone());
    let mut table = Table::new(caption, &header);
    rows.into_iter().for_each(|row| table.push(row));
    result.tables.push(table);
}

fn figure(sizes: &[Size]) -> String {
    let line = |(servers, colour): (usize, RGBColor)| Line {
        name: match servers {
            1 => "1 server".into(),
            several => format!("slowest of {several}"),
        },
        colour,
        points: sizes
            .iter()
            .filter_map(|size| Some((size.bodies as f64, size.ratio(size.cell(servers)?))))
            .collect(),
        style: LineStyle::Dotted,
    };
    let bare = Line {
        name: "bare Rapier".into(),
        colour: BARE_COLOUR,
        points: sizes.iter().map(|size| (size.bodies as f64, 1.0)).collect(),
        style: LineStyle::Plain,
    };
    let lines = SERVERS.into_iter().zip(COLOURS).map(line);
    Chart {
        title: "Several servers against bare Rapier on one".into(),
        x_label: "bodies".into(),
        y_label: "tick, as a multiple of bare Rapier's".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 1.2,
        lines: [bare].into_iter().chain(lines).collect(),
    }
    .svg_doubling(DOUBLED_FROM)
}

/// What stood beside a run is in its column `bare_ms`, what the engine took by itself in the same round in front.
fn csv(sizes: &[Size]) -> String {
    let mut text = format!("round,bare_alone_ms,{CSV_HEAD}\n");
    for size in sizes {
        let cells = size.cells.iter().map(|cell| &cell.runs);
        for runs in cells.chain([&size.in_turn]) {
            for (round, (run, alone)) in runs.iter().zip(&size.bare_ms).enumerate() {
                let _ = writeln!(text, "{round},{alone:.5},{}", csv_line(run));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::bare::tests::sizes;
    use crate::bench::list;

    fn cells_of(table: &Table) -> Vec<Vec<String>> {
        let text = table.markdown();
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
        text.lines().skip(2).map(cells).collect()
    }

    #[test]
    fn what_there_is_no_room_for_is_left_out() {
        let mut sizes = sizes(true);
        sizes[0].cells.pop();
        let rows = cells_of(&ratios(&sizes));
        assert_eq!(
            rows[0][1..4],
            ["250", "1.100", "1.155: 1.05 (1.05 to 1.05)"]
        );
        assert_eq!(rows[0][6..8], ["-", "1.050"]);
        assert_eq!(rows[1][6], "0.220: 0.20 (0.20 to 0.20)");
        assert_eq!(cells_of(&totals(&sizes))[1][6..8], ["1.60, 25.0 %", "2.20"]);
    }

    #[test]
    fn crossovers_are_rows_a_table_and_a_sentence() {
        let mut result = ExperimentResult::new(&list()[0], 7);
        add_crossovers(&mut result, &sizes(true));
        let of = |key: &str| -> Vec<_> { result.rows.iter().map(|row| row[key].clone()).collect() };
        assert_eq!(of("bodies"), [json!(500), json!(null), json!(500)]);
        assert_eq!(
            of("half_efficient_bodies"),
            [json!(500), json!(null), json!(500)]
        );
        let caption = &result.tables[0].caption;
        assert!(
            caption.contains("4 servers: more than 500 bodies."),
            "{caption}"
        );
        assert!(result.notes.contains(caption));
    }

    #[test]
    fn the_figure_names_everyone() {
        let svg = figure(&sizes(true));
        for word in ["bare Rapier", "1 server", "slowest of 8"] {
            assert!(svg.contains(word), "{word}");
        }
    }

    #[test]
    fn every_run_is_a_line_of_data() {
        let text = csv(&sizes(true));
        assert_eq!(text.lines().count(), 1 + 2 * (3 * SERVERS.len() + 1));
        let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(columns.iter().all(|count| *count == columns[0]), "{text}");
    }
}
