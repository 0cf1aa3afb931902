//! E3: how large a group (thesis 5.6, table 5.7).

use super::Scale;
use super::measure::{Cell, Loop, measure, measure_both};
use super::published::GROUP_SIZE;
use super::tables::{csv, find, grid, short};
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};
use boundary::replicate::MemberMode;
use serde_json::json;

pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let (sizes, members): (&[u64], &[u32]) = match scale.quick {
        true => (&[1000, 2000], &[1, 8, 32]),
        false => (&[1000, 2000, 3000], &[1, 2, 4, 8, 16, 32]),
    };
    let cells: Vec<Cell> = sizes
        .iter()
        .flat_map(|objects| members.iter().map(|members| Cell::new(*objects, *members)))
        .collect();
    let mut variants: [Vec<Loop>; 3] = Default::default();
    for (done, cell) in cells.iter().enumerate() {
        let free = Cell {
            mode: MemberMode::Unsynchronised,
            ..*cell
        };
        let [published, balanced] = measure_both(cell, scale)?;
        let free = measure(&free, scale)?;
        for (variant, cell) in variants.iter_mut().zip([published, balanced, free]) {
            variant.push(cell);
        }
        progress((done + 1) as f64 / cells.len() as f64);
    }
    let [published, balanced, free] = &variants;
    let mut result = ExperimentResult::new(info, scale.seed);
    add_tables(&mut result, published, balanced, free);
    result.claims.push(best_sizes(sizes, published));
    if !scale.quick {
        add_scale_ups(&mut result, sizes, published, balanced);
    }
    result.add_figure(
        "group-size.svg",
        "Scale-up by the slowest member against the size of the group (figure 5.5 of the thesis is lost in the text we have; its mean over members from table 5.7).",
        figure(balanced),
    );
    result.add_data(
        "loops.csv",
        csv(&[
            ("published cuts", published),
            ("balanced cuts", balanced),
            ("published cuts, unsynchronised", free),
        ]),
    );
    Ok(result)
}

fn theirs(objects: u64, members: u32) -> Option<f64> {
    let row = GROUP_SIZE.get((objects / 1000) as usize - 1)?;
    row.get(members.ilog2() as usize).copied()
}

fn alone(loops: &[Loop], cell: &Loop) -> f64 {
    find(loops, cell.objects, 1).map_or(f64::NAN, |one| one.mean_ms)
}

fn add_tables(result: &mut ExperimentResult, published: &[Loop], balanced: &[Loop], free: &[Loop]) {
    for (variant, loops) in [
        ("published", published),
        ("balanced", balanced),
        ("unsynchronised", free),
    ] {
        for cell in loops {
            result.rows.push(json!({
                "table": "5.7", "variant": variant, "objects": cell.objects, "members": cell.members, "runs": cell.runs,
                "mean_ms": cell.mean_ms, "leader_ms": cell.leader_ms, "slowest_ms": cell.slowest_ms,
                "scale_up_slowest": alone(loops, cell) / cell.slowest_ms,
                "published_mean_ms": theirs(cell.objects, cell.members),
                "copies_per_body": cell.copies, "bytes_per_tick": cell.bytes,
            }));
        }
    }
    let nothing = |_: &Loop| None;
    let mean = |cell: &Loop| theirs(cell.objects, cell.members);
    result.tables.extend([
        grid(
            "Table 5.7: mean over members, ms per iteration, ours (thesis); published cuts",
            published,
            |c| c.mean_ms,
            mean,
        ),
        grid(
            "Scale-up by the mean, ours (thesis); published cuts",
            published,
            |c| alone(published, c) / c.mean_ms,
            |c| Some(theirs(c.objects, 1)? / theirs(c.objects, c.members)?),
        ),
        grid(
            "Scale-up by the slowest member; published cuts",
            published,
            |c| alone(published, c) / c.slowest_ms,
            nothing,
        ),
        grid(
            "Scale-up by the slowest member; balanced cuts",
            balanced,
            |c| alone(balanced, c) / c.slowest_ms,
            nothing,
        ),
        grid(
            "Scale-up by the slowest member; published cuts, unsynchronised",
            free,
            |c| alone(free, c) / c.slowest_ms,
            nothing,
        ),
        grid(
            "Copies per body; published cuts",
            published,
            |c| c.copies,
            nothing,
        ),
    ]);
}

/// The size with the shortest time, by the slowest member.
fn best(loops: &[Loop], objects: u64) -> u32 {
    let cells = loops.iter().filter(|cell| cell.objects == objects);
    cells
        .min_by(|a, b| a.slowest_ms.total_cmp(&b.slowest_ms))
        .map_or(0, |cell| cell.members)
}

fn best_sizes(sizes: &[u64], published: &[Loop]) -> Claim {
    let bests: Vec<u32> = sizes.iter().map(|size| best(published, *size)).collect();
    Claim::new(
        "ST-60",
        "the best size of a group does not shrink with more objects (thesis: 16, 32, 32; the largest it had was 32)",
        bests.is_sorted(),
        format!("{bests:?} members for {sizes:?} objects, by the slowest member"),
    )
}

fn add_scale_ups(
    result: &mut ExperimentResult,
    sizes: &[u64],
    published: &[Loop],
    balanced: &[Loop],
) {
    let largest = *sizes.last().expect("there are sizes");
    for (cuts, loops) in [("balanced", balanced), ("published", published)] {
        let Some(cell) = find(loops, largest, 32) else {
            continue;
        };
        let up = alone(loops, cell) / cell.slowest_ms;
        result.claims.push(Claim::new(
            "ST-60",
            format!("{cuts} cuts: 32 members handle {largest} objects at least 20 times faster than one, by the slowest member (thesis: 21.7 by the mean)"),
            up >= 20.0,
            format!("{up:.1} by the slowest, {:.1} by the mean; {} copies per body", alone(loops, cell) / cell.mean_ms, short(cell.copies)),
        ));
    }
}

fn figure(balanced: &[Loop]) -> String {
    let largest = balanced.iter().map(|cell| cell.objects).max().unwrap_or(0);
    let least = balanced.iter().map(|cell| cell.objects).min().unwrap_or(0);
    let up = |objects: u64| -> Vec<(f64, f64)> {
        let cells = balanced.iter().filter(|cell| cell.objects == objects);
        cells
            .map(|cell| {
                (
                    f64::from(cell.members),
                    alone(balanced, cell) / cell.slowest_ms,
                )
            })
            .collect()
    };
    let thesis = [1, 2, 4, 8, 16, 32].iter().filter_map(|members| {
        Some((
            f64::from(*members),
            theirs(largest, 1)? / theirs(largest, *members)?,
        ))
    });
    let line = |name: String, colour, points: Vec<(f64, f64)>| Line {
        name,
        colour,
        points,
        style: LineStyle::Dotted,
    };
    Chart {
        title: "Scale-up by the size of the group".into(),
        x_label: "members".into(),
        y_label: "times faster than one node".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 8.0,
        lines: vec![
            line(format!("{largest} objects, slowest"), OURS, up(largest)),
            line(format!("{least} objects, slowest"), THIRD, up(least)),
            line(format!("thesis, {largest}, mean"), THESIS, thesis.collect()),
        ],
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ST-60: a best size that shrinks with more objects is said to be one.
    #[test]
    fn st_60_a_best_size_that_shrinks_does_not_hold() {
        let cell = |objects, members, slowest_ms| Loop {
            objects,
            members,
            slowest_ms,
            ..Loop::default()
        };
        let grows = [
            cell(1000, 1, 3.0),
            cell(1000, 8, 1.0),
            cell(1000, 32, 2.0),
            cell(2000, 1, 6.0),
            cell(2000, 8, 3.0),
            cell(2000, 32, 2.0),
        ];
        assert!(best_sizes(&[1000, 2000], &grows).holds);
        let mut shrinks = grows;
        shrinks[3].slowest_ms = 0.5;
        assert!(!best_sizes(&[1000, 2000], &shrinks).holds);
    }
}
