//! E1 to E6 as rows and tables, published numbers beside ours.

use super::bench::Cell;
use super::layouts::{Family, Study};
use super::moments::{Moment, moments};
use super::{SIZES, name, published};
use crate::result::ExperimentResult;
use crate::table::Table;
use boundary::AuraSize;
use serde_json::json;
use std::fmt::Write as _;

pub(super) fn add(result: &mut ExperimentResult, study: &Study) {
    for cell in &study.cells {
        result.rows.push(row(study, cell));
    }
    result.tables.push(factors(study));
    result.tables.push(asymptotes(study));
    let (e1, figures) = match study.family {
        Family::Columns => ("E1", ["Figs 5.1, 5.2", "Fig. 5.6", "Fig. 5.8"]),
        Family::Corners => ("E2", ["Figs 5.3 to 5.5", "Fig. 5.7", "Fig. 5.9"]),
    };
    for size in SIZES {
        let over_time = |what: &str, of: &dyn Fn(&Moment) -> String| {
            let caption = format!(
                "{what}; most of any server, mean over runs; auras `{}`",
                name(*size)
            );
            windows(study, *size, caption, of)
        };
        result.tables.extend([
            over_time(
                &format!("{e1} ({}): longest tick in each window, ms", figures[0]),
                &|m| short(m.longest_ms),
            ),
            over_time(
                &format!("E3 ({}): migrations since the start", figures[1]),
                &|m| format!("{:.0}", m.migrations),
            ),
            over_time(
                &format!("E4 ({}): aura updates sent in each window", figures[2]),
                &|m| format!("{:.0}", m.auras),
            ),
            over_time("Bytes sent in each window (the thesis has none)", &|m| {
                format!("{:.0}", m.bytes)
            }),
        ]);
    }
    result.tables.push(cheapest(study));
    result.add_data("windows.csv", windows_csv(study));
    result.add_data("runs.csv", runs_csv(&study.cells));
}

/// Three digits that matter.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or("-".into(), short)
}

fn row(study: &Study, cell: &Cell) -> serde_json::Value {
    let factors = cell.factors();
    json!({
        "table": "factor", "layout": study.family.name(), "servers": cell.servers, "aura": name(cell.size),
        "pairs": factors.len(),
        "factor": cell.factor(), "factors": factors, "published_factor": published::factor(cell.servers),
        "factor_by_fit": study.by_fit(cell),
        "one_ms": super::measure::median(cell.ones.iter().map(|run| run.slowest_ms)),
        "slowest_ms": cell.median(|run| run.slowest_ms), "mean_ms": cell.median(|run| run.mean_ms),
        "p50_ms": cell.median(|run| run.p50_ms), "p99_ms": cell.median(|run| run.p99_ms),
        "imbalance": cell.median(|run| run.slowest_ms / run.mean_ms), "overhead": cell.median(|run| run.overhead),
        "border_cost_ms": study.border_cost(cell), "migrations": cell.mean(|run| run.migrations as f64),
        "migrations_per_body_minute": cell.mean(|run| run.restlessness()), "thrashed": cell.thrashed().0,
        "bytes": cell.mean(|run| run.bytes as f64), "bodies": cell.mean(|run| run.bodies_at_end as f64),
        "errors": cell.errors(),
        "windows": moments(&cell.many).iter().map(|m| json!({
            "until_s": m.until_secs, "longest_ms": m.longest_ms, "migrations": m.migrations, "auras": m.auras,
            "bytes": m.bytes, "bodies": m.bodies,
        })).collect::<Vec<_>>(),
    })
}

/// The headline: every number of servers, every size.
fn factors(study: &Study) -> Table {
    let mut table = Table::new(
        format!(
            "Times faster than one server ({}), by the slowest server's mean CPU time",
            study.family.name()
        ),
        &[
            "Servers",
            "Auras",
            "Factor",
            "Thesis",
            "P(n) by fit",
            "Slowest, ms",
            "Slowest/mean",
            "Overhead %",
            "Border cost, ms (E5)",
            "Migrations",
            "per body, minute",
            "Thrashed",
            "MB",
            "Errors",
        ],
    );
    for cell in &study.cells {
        table.push(vec![
            cell.servers.to_string(),
            name(cell.size),
            cell.factor_text(),
            or_dash(published::factor(cell.servers).filter(|_| study.family == Family::Columns)),
            or_dash(study.by_fit(cell)),
            short(cell.median(|run| run.slowest_ms)),
            short(cell.median(|run| run.slowest_ms / run.mean_ms)),
            format!("{:.1}", 100.0 * cell.median(|run| run.overhead)),
            or_dash(study.border_cost(cell)),
            format!("{:.0}", cell.mean(|run| run.migrations as f64)),
            short(cell.mean(|run| run.restlessness())),
            cell.thrashed().0.to_string(),
            format!("{:.1}", 1e-6 * cell.mean(|run| run.bytes as f64)),
            cell.errors().to_string(),
        ]);
    }
    table
}

fn asymptotes(study: &Study) -> Table {
    let caption = format!(
        "E6 (Figs 5.14 to 5.17): where P(n) ends, by self-starting asymptotic regression (thesis: {})",
        published::ASYMPTOTE
    );
    let mut table = Table::new(caption, &["Auras", "by the factor", "by the thesis's fit"]);
    let end = |fit: Option<super::fits::Asymptotic>| match fit {
        Some(fit) => format!("{} (rate {})", short(fit.asymptote), short(fit.rate)),
        None => "does not bend".into(),
    };
    for size in SIZES {
        table.push(vec![
            name(*size),
            end(study.asymptote(*size, |cell| Some(cell.factor()))),
            end(study.asymptote(*size, |cell| study.by_fit(cell))),
        ]);
    }
    table
}

/// A line per window, a column per number of servers.
fn windows(
    study: &Study,
    size: AuraSize,
    caption: String,
    of: &dyn Fn(&Moment) -> String,
) -> Table {
    let runs: Vec<(usize, Vec<Moment>)> = [(1, moments(&study.alone))]
        .into_iter()
        .chain(
            study
                .cells_of(size)
                .map(|cell| (cell.servers, moments(&cell.many))),
        )
        .collect();
    let names: Vec<String> = runs
        .iter()
        .map(|(servers, _)| servers.to_string())
        .collect();
    let header: Vec<&str> = ["Until, s"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    let mut table = Table::new(caption, &header);
    for index in 0..runs[0].1.len() {
        let mut row = vec![short(runs[0].1[index].until_secs)];
        row.extend(
            runs.iter()
                .map(|(_, moments)| moments.get(index).map_or("-".into(), of)),
        );
        table.push(row);
    }
    table
}

/// E6: CPU time per object on one server and on several, and at how many objects it is least.
fn cheapest(study: &Study) -> Table {
    let caption = format!(
        "E6: longest tick per object on a server, µs, where it is least (thesis: at about {} objects)",
        published::CHEAPEST_OBJECTS
    );
    let mut table = Table::new(
        caption,
        &[
            "Servers",
            "Auras",
            "Objects on a server",
            "µs per object",
            "µs at the end",
        ],
    );
    let mut add = |servers: usize, size: &str, moments: &[Moment]| {
        let costs: Vec<(f64, f64)> = moments
            .iter()
            .filter(|m| m.bodies > 0.0)
            .map(|m| cost_per_object(m, servers))
            .collect();
        let Some(least) = costs.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return;
        };
        let last = costs[costs.len() - 1].1;
        table.push(vec![
            servers.to_string(),
            size.into(),
            format!("{:.0}", least.0),
            short(least.1),
            short(last),
        ]);
    };
    add(1, "-", &moments(&study.alone));
    for cell in &study.cells {
        add(cell.servers, &name(cell.size), &moments(&cell.many));
    }
    table
}

/// Objects on a server, and the microseconds that each of them costs.
pub(super) fn cost_per_object(moment: &Moment, servers: usize) -> (f64, f64) {
    let objects = moment.bodies / servers as f64;
    (objects, 1e3 * moment.longest_ms / objects)
}

fn windows_csv(study: &Study) -> String {
    let mut text = String::from("servers,aura,until_s,longest_ms,migrations,auras,bytes,bodies\n");
    let mut add = |servers: usize, size: &str, moments: Vec<Moment>| {
        for m in moments {
            let Moment {
                until_secs,
                longest_ms,
                migrations,
                auras,
                bytes,
                bodies,
            } = m;
            let _ = writeln!(
                text,
                "{servers},{size},{until_secs:.1},{longest_ms:.4},{migrations:.1},{auras:.1},{bytes:.0},{bodies:.1}"
            );
        }
    };
    add(1, "-", moments(&study.alone));
    for cell in &study.cells {
        add(cell.servers, &name(cell.size), moments(&cell.many));
    }
    text
}

/// Every run, as data for other figures.
pub(crate) fn runs_csv(cells: &[Cell]) -> String {
    let mut text = String::from(
        "of,servers,aura,seed,slowest_ms,mean_ms,p50_ms,p99_ms,overhead,migrations,thrashed,errors,bytes,bodies\n",
    );
    for cell in cells {
        for run in cell.ones.iter().chain(&cell.many) {
            let aura = run
                .size
                .filter(|_| run.servers > 1)
                .map_or("-".into(), name);
            let errors = run.errors.map_or("-".into(), |errors| errors.to_string());
            let _ = writeln!(
                text,
                "{},{},{aura},{},{:.4},{:.4},{:.4},{:.4},{:.4},{},{},{errors},{},{}",
                cell.servers,
                run.servers,
                run.seed,
                run.slowest_ms,
                run.mean_ms,
                run.p50_ms,
                run.p99_ms,
                run.overhead,
                run.migrations,
                run.thrashed,
                run.bytes,
                run.bodies_at_end
            );
        }
    }
    text
}
