//! The figures of 5.1, drawn from our numbers: the thesis's own are lost in the text we have.

use super::layout_tables::cost_per_object;
use super::layouts::{Family, Study};
use super::moments::{Moment, moments};
use super::{SIZES, name, ours, published};
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::ExperimentResult;
use plotters::style::RGBColor;

/// One colour per number of servers, from red over green to blue, few to many.
const COLOURS: [RGBColor; 12] = [
    RGBColor(120, 0, 0),
    RGBColor(200, 60, 20),
    RGBColor(235, 130, 30),
    RGBColor(220, 180, 40),
    RGBColor(160, 180, 40),
    RGBColor(90, 160, 60),
    RGBColor(30, 140, 90),
    RGBColor(20, 150, 150),
    RGBColor(30, 120, 190),
    RGBColor(40, 80, 200),
    RGBColor(80, 50, 180),
    RGBColor(130, 30, 150),
];
const IDEAL: RGBColor = RGBColor(150, 150, 150);

pub(super) fn add(result: &mut ExperimentResult, study: &Study) {
    let layout = study.family.name();
    result.add_figure(
        "factor.svg",
        format!("Times faster than one server, {layout}; by the slowest server's mean CPU time."),
        factor(study),
    );
    let size = name(ours());
    let over_time = [
        (
            "e1.svg",
            "Longest tick of any server",
            "ms",
            (&|m: &Moment| m.longest_ms) as &dyn Fn(&Moment) -> f64,
        ),
        (
            "e3.svg",
            "Migrations since the start, most of any server",
            "migrations",
            &|m| m.migrations,
        ),
        (
            "e4.svg",
            "Aura updates per window, most of any server",
            "updates",
            &|m| m.auras,
        ),
    ];
    for (file, title, unit, of) in over_time {
        let caption =
            format!("{title}; {layout}, auras `{size}`, by number of servers, mean over runs.");
        result.add_figure(file, caption, time_chart(study, title, unit, of));
    }
    let caption =
        format!("E6: cost per object over the objects on a server; {layout}, auras `{size}`.");
    result.add_figure("e6.svg", caption, cost_chart(study));
}

fn line(
    name: impl Into<String>,
    colour: RGBColor,
    points: Vec<(f64, f64)>,
    style: LineStyle,
) -> Line {
    Line {
        name: name.into(),
        colour,
        points,
        style,
    }
}

fn chart(title: String, x_label: &str, y_label: &str, lines: Vec<Line>) -> String {
    Chart {
        title,
        x_label: x_label.into(),
        y_label: y_label.into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 0.01,
        lines,
    }
    .svg()
}

fn factor(study: &Study) -> String {
    let mut lines = Vec::new();
    for (index, size) in SIZES.iter().enumerate() {
        let cells = study
            .cells_of(*size)
            .map(|cell| (cell.servers as f64, cell.factor()));
        let points = [(1.0, 1.0)].into_iter().chain(cells).collect();
        let colour = if *size == ours() {
            OURS
        } else {
            [THIRD, COLOURS[10]][index % 2]
        };
        lines.push(line(
            format!("auras `{}`", name(*size)),
            colour,
            points,
            LineStyle::Dotted,
        ));
    }
    if study.family == Family::Columns {
        let theirs = published::FACTORS
            .iter()
            .map(|(n, factor)| (*n as f64, *factor));
        let points = [(1.0, 1.0)].into_iter().chain(theirs).collect();
        lines.push(line("thesis, published", THESIS, points, LineStyle::Dotted));
    }
    let most = study
        .cells
        .iter()
        .map(|cell| cell.servers)
        .max()
        .unwrap_or(1) as f64;
    lines.push(line(
        "as many as servers",
        IDEAL,
        vec![(1.0, 1.0), (most, most)],
        LineStyle::Plain,
    ));
    chart(
        format!("Factor, {}", study.family.name()),
        "servers",
        "times faster than one",
        lines,
    )
}

/// One line per number of servers.
fn by_servers(study: &Study, points: impl Fn(usize, &[Moment]) -> Vec<(f64, f64)>) -> Vec<Line> {
    let alone = [(1, moments(&study.alone))];
    let cells = study
        .cells_of(ours())
        .map(|cell| (cell.servers, moments(&cell.many)));
    let runs = alone.into_iter().chain(cells).enumerate();
    runs.map(|(index, (servers, moments))| {
        let colour = COLOURS[index % COLOURS.len()];
        let label = if servers == 1 {
            "1 server".into()
        } else {
            format!("{servers} servers")
        };
        line(label, colour, points(servers, &moments), LineStyle::Dotted)
    })
    .collect()
}

fn time_chart(study: &Study, title: &str, unit: &str, of: &dyn Fn(&Moment) -> f64) -> String {
    let lines = by_servers(study, |_, moments| {
        moments.iter().map(|m| (m.until_secs, of(m))).collect()
    });
    chart(title.into(), "time, s", unit, lines)
}

fn cost_chart(study: &Study) -> String {
    let lines = by_servers(study, |servers, moments| {
        let there = moments.iter().filter(|m| m.bodies > 0.0);
        there.map(|m| cost_per_object(m, servers)).collect()
    });
    chart(
        "Cost per object".into(),
        "objects on a server",
        "µs per object",
        lines,
    )
}
