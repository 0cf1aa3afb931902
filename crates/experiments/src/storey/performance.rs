//! E1: one node, 500 to 5000 objects (thesis 5.4, table 5.1).

use super::Scale;
use super::measure::{Cell, Loop, log_slope, measure};
use super::published::ONE_NODE;
use super::tables::{csv, short};
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};
use crate::table::Table;
use serde_json::json;

/// One iteration at 60 Hz, milliseconds.
const FRAME_MS: f64 = 1000.0 / 60.0;

pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let sizes: Vec<u64> = match scale.quick {
        true => vec![500, 1000, 2000, 5000],
        false => (1..=10).map(|i| i * 500).collect(),
    };
    let mut variants: [Vec<Loop>; 3] = Default::default();
    for (done, objects) in sizes.iter().enumerate() {
        let cell = Cell::new(*objects, 1);
        let cells = [
            cell,
            Cell {
                triangles: true,
                ..cell
            },
            Cell {
                responds: false,
                ..cell
            },
        ];
        for (variant, cell) in variants.iter_mut().zip(cells) {
            variant.push(measure(&cell, scale)?);
        }
        progress((done + 1) as f64 / sizes.len() as f64);
    }
    let [ours, triangles, detection] = &variants;
    let mut result = ExperimentResult::new(info, scale.seed);
    add_table(&mut result, ours, triangles, detection);
    add_claims(&mut result, ours, detection);
    result.add_figure("time.svg", "CPU time of one iteration on one node (ours); figure 5.1 of the thesis shows the same for its prototype, in hundreds of milliseconds, and is lost in the text we have.", figure(ours, triangles));
    result.add_data(
        "loops.csv",
        csv(&[
            ("parry", ours),
            ("triangles", triangles),
            ("detection only", detection),
        ]),
    );
    result.notes.push("Collisions: the thesis counts about 0.0175 per object. Bodies that bounce apart are in contact for one or two iterations only; without response (they pass through each other, as its numbers suggest) overlaps of boxes last, and are what compares with its column. The coverage was inferred for upright cubes; boxes around turned ones are about 1.5 m wide, so overlaps are some three times as many.".into());
    result.notes.push("Triangles: the thesis's own narrow phase, trees of triangles walked together (ST-11), instead of Parry's manifolds; on cubes of 12 triangles.".into());
    Ok(result)
}

fn add_table(result: &mut ExperimentResult, ours: &[Loop], triangles: &[Loop], detection: &[Loop]) {
    let mut table = Table::new(
        "Table 5.1: one node; milliseconds per iteration, collisions per iteration",
        &[
            "Objects",
            "Time, thesis",
            "Time",
            "99 %",
            "Time, triangles",
            "Collisions, thesis",
            "Overlaps without response",
            "Contacts",
        ],
    );
    for (index, cell) in ours.iter().enumerate() {
        let (time, collisions) = ONE_NODE[(cell.objects / 500) as usize - 1];
        let (mesh, ghosts) = (&triangles[index], &detection[index]);
        result.rows.push(json!({
            "table": "5.1", "objects": cell.objects, "runs": cell.runs,
            "published_ms": time, "ms": cell.mean_ms, "p99_ms": cell.p99_ms, "triangles_ms": mesh.mean_ms,
            "published_collisions": collisions, "overlaps_without_response": ghosts.pairs, "contacts": cell.collisions,
        }));
        table.push(vec![
            cell.objects.to_string(),
            short(time),
            short(cell.mean_ms),
            short(cell.p99_ms),
            short(mesh.mean_ms),
            collisions.to_string(),
            short(ghosts.pairs),
            short(cell.collisions),
        ]);
    }
    result.tables.push(table);
}

fn add_claims(result: &mut ExperimentResult, ours: &[Loop], detection: &[Loop]) {
    let times: Vec<(f64, f64)> = ours
        .iter()
        .map(|cell| (cell.objects as f64, cell.mean_ms))
        .collect();
    let slope = log_slope(&times);
    result.claims.push(Claim::new(
        "ST-57",
        "time grows nearly linearly with the number of objects in a world that grows with them: slope of the logarithms 0.8 to 1.2 (thesis: 0.84)",
        (0.8..=1.2).contains(&slope),
        format!("slope {slope:.2}"),
    ));
    let overlaps: Vec<(f64, f64)> = detection
        .iter()
        .map(|cell| (cell.objects as f64, cell.pairs))
        .collect();
    let slope = log_slope(&overlaps);
    let per_object: f64 =
        overlaps.iter().map(|(n, pairs)| pairs / n).sum::<f64>() / overlaps.len() as f64;
    result.claims.push(Claim::new(
        "ST-57",
        "collisions grow linearly: slope 0.9 to 1.1 (thesis: 1.03)",
        (0.9..=1.1).contains(&slope),
        format!(
            "slope {slope:.2}; {per_object:.4} overlaps per object (thesis: 0.0175 collisions)"
        ),
    ));
    let largest = ours.last().expect("there are sizes");
    result.claims.push(Claim::new(
        "ST-57",
        format!("one node handles {} bodies at 60 Hz: detection and response within {FRAME_MS:.1} ms of CPU time, in 99 of 100 iterations", largest.objects),
        largest.p99_ms <= FRAME_MS,
        format!("{} ms on average, {} ms (99 %)", short(largest.mean_ms), short(largest.p99_ms)),
    ));
}

fn figure(ours: &[Loop], triangles: &[Loop]) -> String {
    let line = |name: &str, colour, points: Vec<(f64, f64)>| Line {
        name: name.into(),
        colour,
        points,
        style: LineStyle::Dotted,
    };
    let of = |loops: &[Loop]| {
        loops
            .iter()
            .map(|cell| (cell.objects as f64, cell.mean_ms))
            .collect()
    };
    let published = ours.iter().map(|cell| {
        (
            cell.objects as f64,
            ONE_NODE[(cell.objects / 500) as usize - 1].0 / 1000.0,
        )
    });
    Chart {
        title: "One node".into(),
        x_label: "objects".into(),
        y_label: "ms per iteration".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 0.1,
        lines: vec![
            line("ours, Parry", OURS, of(ours)),
            line("ours, triangles", THIRD, of(triangles)),
            line("thesis, in seconds", THESIS, published.collect()),
        ],
    }
    .svg()
}
