//! E2: groups of 1 to 8 (thesis 5.5, tables 5.2 to 5.6), and what the thesis could not measure.

use super::measure::{Cell, Loop, measure_both};
use super::published::{LEADER, MEAN, at};
use super::tables::{csv, find, grid, short};
use super::{Scale, against_aura, consistency};
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult};
use serde_json::json;

pub(super) fn run(
    info: &ExperimentInfo,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let (sizes, members): (Vec<u64>, Vec<u32>) = match scale.quick {
        true => (vec![500, 1000], vec![1, 2, 4, 8]),
        false => ((1..=8).map(|i| i * 500).collect(), (1..=8).collect()),
    };
    let cells: Vec<Cell> = sizes
        .iter()
        .flat_map(|objects| members.iter().map(|members| Cell::new(*objects, *members)))
        .collect();
    let (mut published, mut balanced) = (Vec::new(), Vec::new());
    for (done, cell) in cells.iter().enumerate() {
        let [middle, median] = measure_both(cell, scale)?;
        published.push(middle);
        balanced.push(median);
        progress(0.8 * (done + 1) as f64 / cells.len() as f64);
    }
    let mut result = ExperimentResult::new(info, scale.seed);
    add_tables(&mut result, &published, &balanced);
    add_claims(&mut result, scale, &published, &balanced);
    result.add_figure(
        "scale-up.svg",
        "Scale-up at the largest number of objects: time of one node over time of a member (figures 5.2 to 5.4 of the thesis are lost in the text we have).",
        figure(&published, &balanced),
    );
    result.add_data(
        "loops.csv",
        csv(&[("published cuts", &published), ("balanced cuts", &balanced)]),
    );
    consistency::add(&mut result, scale, &mut |share| {
        progress(0.8 + 0.15 * share)
    })?;
    against_aura::add(&mut result, scale, &mut |share| {
        progress(0.95 + 0.05 * share)
    })?;
    Ok(result)
}

fn alone(loops: &[Loop], cell: &Loop) -> f64 {
    find(loops, cell.objects, 1).map_or(f64::NAN, |one| one.mean_ms)
}

/// 100 · (GL − GM) / GL.
fn excess(leader: f64, mean: f64) -> f64 {
    100.0 * (leader - mean) / leader
}

fn add_tables(result: &mut ExperimentResult, published: &[Loop], balanced: &[Loop]) {
    for (cuts, loops) in [("published", published), ("balanced", balanced)] {
        for cell in loops {
            result.rows.push(json!({
                "table": "5.2-5.6", "cuts": cuts, "objects": cell.objects, "members": cell.members, "runs": cell.runs,
                "mean_ms": cell.mean_ms, "leader_ms": cell.leader_ms, "slowest_ms": cell.slowest_ms,
                "slowest_of_tick_ms": cell.slowest_of_tick_ms,
                "scale_up_mean": alone(loops, cell) / cell.mean_ms,
                "scale_up_leader": alone(loops, cell) / cell.leader_ms,
                "scale_up_slowest": alone(loops, cell) / cell.slowest_ms,
                "published_mean_ms": at(&MEAN, cell.objects, cell.members),
                "published_leader_ms": at(&LEADER, cell.objects, cell.members),
                "copies_per_body": cell.copies, "bytes_per_tick": cell.bytes,
            }));
        }
    }
    let (mean, leader) = (
        |cell: &Loop| at(&MEAN, cell.objects, cell.members),
        |cell: &Loop| at(&LEADER, cell.objects, cell.members),
    );
    let both = move |cell: &Loop| Some((leader(cell)?, mean(cell)?));
    let first = |cell: &Loop| at(&MEAN, cell.objects, 1);
    let nothing = |_: &Loop| None;
    let p = published;
    result.tables.extend([
        grid("Table 5.2: mean over members, ms per iteration, ours (thesis); published cuts", p, |c| c.mean_ms, mean),
        grid("Table 5.3: scale-up by the mean, ours (thesis)", p, |c| alone(p, c) / c.mean_ms, move |c| Some(first(c)? / mean(c)?)),
        grid("Table 5.4: the leader, ms per iteration, ours (thesis)", p, |c| c.leader_ms, leader),
        grid("Table 5.5: leader minus mean, ms, ours (thesis)", p, |c| c.leader_ms - c.mean_ms, move |c| both(c).map(|(l, m)| l - m)),
        grid("Table 5.6: 100 · (leader − mean) / leader, %, ours (thesis)", p, |c| excess(c.leader_ms, c.mean_ms), move |c| both(c).map(|(l, m)| excess(l, m))),
        grid("The slowest member, ms per iteration (the thesis does not give it); published cuts", p, |c| c.slowest_ms, nothing),
        grid("Scale-up by the slowest member; published cuts", p, |c| alone(p, c) / c.slowest_ms, nothing),
        grid("Scale-up by the slowest member; balanced cuts", balanced, |c| alone(balanced, c) / c.slowest_ms, nothing),
        grid("Scale-up by whoever is slowest in each iteration (what a synchronised group waits for); balanced cuts", balanced, |c| alone(balanced, c) / c.slowest_of_tick_ms, nothing),
        grid("100 · (leader − mean) / leader, %; balanced cuts", balanced, |c| excess(c.leader_ms, c.mean_ms), nothing),
        grid("Bytes between members per iteration, all together; published cuts", p, |c| c.bytes, nothing),
        grid("Copies per body; published cuts", p, |c| c.copies, nothing),
    ]);
}

fn add_claims(result: &mut ExperimentResult, scale: &Scale, published: &[Loop], balanced: &[Loop]) {
    let geometry = |members: u32| {
        let whole = f64::from(1_u32 << members.ilog2());
        100.0 * (1.0 - whole / f64::from(members))
    };
    let largest = published.iter().map(|cell| cell.objects).max().unwrap_or(0);
    if !scale.quick {
        let least = published
            .iter()
            .filter(|cell| cell.members == 8 && cell.objects >= 2000)
            .map(|cell| alone(published, cell) / cell.mean_ms)
            .fold(f64::INFINITY, f64::min);
        result.claims.push(Claim::new(
            "ST-58",
            "the mean over 8 members is at least 6 times faster than one node, from 2000 objects on (thesis: 7.8 to 9.4)",
            least >= 6.0,
            format!("at least {least:.2}"),
        ));
        let worst = published
            .iter()
            .filter(|cell| cell.objects >= 2000)
            .map(|cell| (excess(cell.leader_ms, cell.mean_ms) - geometry(cell.members)).abs())
            .fold(0.0, f64::max);
        result.claims.push(Claim::new(
            "ST-59",
            "with published cuts the leader's excess over the mean is what its share of space predicts (0, 0, 33, 0, 20, 33, 43, 0 % for 1 to 8 members), within 15 points, from 2000 objects on",
            worst <= 15.0,
            format!("at most {worst:.1} points off"),
        ));
    }
    let overhead = |loops: &[Loop]| {
        loops
            .iter()
            .filter(|cell| cell.members > 1 && cell.members.is_power_of_two())
            .filter(|cell| scale.quick || cell.objects >= 2000)
            .map(|cell| excess(cell.leader_ms, cell.mean_ms))
            .fold(f64::NEG_INFINITY, f64::max)
    };
    let (worst, worst_published) = (overhead(balanced), overhead(published));
    result.claims.push(Claim::new(
        "ST-59",
        "at powers of two the leader takes at most 10 % more than the mean, balanced cuts, from 2000 objects on (thesis: up to 27 %)",
        worst <= 10.0,
        format!("at most {worst:.1} % with balanced, {worst_published:.1} % with published cuts"),
    ));
    for (cuts, loops) in [("balanced", balanced), ("published", published)] {
        let Some(cell) = find(loops, largest, 8) else {
            continue;
        };
        let up = alone(loops, cell) / cell.slowest_ms;
        let by_leader = alone(loops, cell) / cell.leader_ms;
        result.claims.push(Claim::new(
            "ST-59",
            format!("{cuts} cuts: 8 members handle {largest} objects at least 7 times faster than one, by the slowest member (thesis: 6.3 by the leader)"),
            up >= 7.0,
            format!("{up:.2} by the slowest, {by_leader:.2} by the leader, {:.2} by the mean; {} copies per body", alone(loops, cell) / cell.mean_ms, short(cell.copies)),
        ));
    }
}

fn figure(published: &[Loop], balanced: &[Loop]) -> String {
    let largest = published.iter().map(|cell| cell.objects).max().unwrap_or(0);
    let line = |name: &str, colour, points: Vec<(f64, f64)>| Line {
        name: name.into(),
        colour,
        points,
        style: LineStyle::Dotted,
    };
    let up = |loops: &[Loop], of: fn(&Loop) -> f64| -> Vec<(f64, f64)> {
        let cells = loops.iter().filter(|cell| cell.objects == largest);
        cells
            .map(|cell| (f64::from(cell.members), alone(loops, cell) / of(cell)))
            .collect()
    };
    let thesis = (1..=8).filter_map(|members| {
        let leader = at(&LEADER, largest, members)?;
        Some((f64::from(members), at(&MEAN, largest, 1)? / leader))
    });
    Chart {
        title: format!("{largest} objects: scale-up"),
        x_label: "members".into(),
        y_label: "times faster than one node".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 8.0,
        lines: vec![
            line(
                "balanced, slowest member",
                OURS,
                up(balanced, |c| c.slowest_ms),
            ),
            line(
                "published, slowest member",
                THIRD,
                up(published, |c| c.slowest_ms),
            ),
            line("thesis, leader", THESIS, thesis.collect()),
        ],
    }
    .svg()
}
