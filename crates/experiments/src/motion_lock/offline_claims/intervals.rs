//! R5 and the paper's headline: how far apart in time the two stations register the same hit.

use super::super::arms::Arm;
use super::super::cells::{Cell, Grid};
use super::offenders;
use crate::result::Claim;
use scenes::encounters::Scenario;
use simulator::stations::Measure;

pub(super) fn r5(grid: &Grid, frame_ms: f64) -> Claim {
    let cells = grid.of(Arm::MotionLock, &Scenario::CURVED);
    let post = |cell: &Cell| {
        let post = grid.cell(Arm::PostCollision, cell.key.net, cell.key.scenario);
        post.map(Cell::interval).filter(|one| one.count() > 0)
    };
    let (holds, measured) = offenders(
        cells,
        |cell| {
            let ours = cell.interval();
            let below_post = post(cell).is_none_or(|post| ours.avg() <= post.avg() + frame_ms);
            below_post && ours.avg() < cell.key.net.latency_ms()
        },
        |cell| {
            let post = post(cell).map_or("no hits".into(), |post| format!("{:.0}", post.avg()));
            format!(
                "{:.0} ms against {post} of post-collision",
                cell.interval().avg()
            )
        },
    );
    Claim::new(
        "R5",
        "mean Δt_col of motion-lock is at most post-collision's plus a frame in every C-cell, and below the latency (Figs 5.11 to 5.14)",
        holds,
        measured,
    )
}

/// ML-28, seen from outside: never worse than telling afterwards.
pub(super) fn worst_case(grid: &Grid, frame_ms: f64) -> Claim {
    let cells = grid.of(Arm::MotionLock, &Scenario::CURVED);
    let post = |cell: &Cell| {
        let post = grid.cell(Arm::PostCollision, cell.key.net, cell.key.scenario);
        post.map_or(Measure::default(), Cell::interval)
    };
    let (holds, measured) = offenders(
        cells,
        |cell| post(cell).count() == 0 || cell.interval().max() <= post(cell).max() + frame_ms,
        |cell| {
            format!(
                "at most {:.0} ms against {:.0}",
                cell.interval().max(),
                post(cell).max()
            )
        },
    );
    Claim::new(
        "ML-28",
        "the longest Δt_col of motion-lock is at most post-collision's longest plus a frame, same seeds, in every C-cell where both hit",
        holds,
        measured,
    )
}

/// All intervals of an arm over the C-cells, pooled.
fn pooled(grid: &Grid, arm: Arm) -> Measure {
    let cells = grid.of(arm, &Scenario::CURVED);
    cells
        .flat_map(|cell| cell.runs.iter().flat_map(|run| run.intervals.clone()))
        .collect()
}

fn mean_of_cells(grid: &Grid, arm: Arm) -> f64 {
    let cells = grid.of(arm, &Scenario::CURVED);
    let means = cells
        .map(Cell::interval)
        .filter(|one| one.count() > 0)
        .map(|one| one.avg());
    means.collect::<Measure>().avg()
}

/// The paper's headline ("about half of naive-send on average"), of what we ship and of what was published.
///
/// Three means, and all must be at most half: over all hits of the C-cells, over the cells' means (post-collision has hardly any hit in some
/// cells), and over the runs in which both protocols have a hit that both stations know of (ours has none in the near misses).
pub(super) fn headline(grid: &Grid) -> Vec<Claim> {
    let arms = [
        (
            Arm::Improved,
            "the paper's headline, with motion-lock as we ship it: mean Δt_col is at most half of post-collision's over the C-cells",
        ),
        (
            Arm::Repeat,
            "the same with the published foresight and lock, and only the defects of the agreement repaired (one outcome per hit, the notice repeated: D13, D15)",
        ),
        (
            Arm::SecondReading,
            "the same with published motion-lock in the second reading of its conflict rule (of two commits to one hit the earlier one counts)",
        ),
        (
            Arm::MotionLock,
            "the same with published motion-lock to the letter (the paper says: about half)",
        ),
    ];
    arms.map(|(arm, text)| {
        let means = |of: Arm| [pooled(grid, of).avg(), mean_of_cells(grid, of)];
        let (ours, post) = (means(arm), means(Arm::PostCollision));
        let paired = same_runs(grid, [arm, Arm::PostCollision]);
        let pairs = [
            ("all hits", ours[0], post[0]),
            ("mean of cells", ours[1], post[1]),
            ("runs in which both hit", paired[0], paired[1]),
        ];
        let texts = pairs.map(|(what, ours, post)| {
            let share = 100.0 * ours / post.max(1e-9);
            format!("{what}: {ours:.1} ms against {post:.1} ({share:.0} %)")
        });
        let holds = pairs.iter().all(|(_, ours, post)| *ours <= 0.5 * post);
        Claim::new("ML-49", text, holds, texts.join("; "))
    })
    .into()
}

/// The mean of the first hit's interval with each of two protocols, over the runs of the C-cells in which both have one under the same seed.
fn same_runs(grid: &Grid, arms: [Arm; 2]) -> [f64; 2] {
    let mut measures = [Measure::default(); 2];
    for cell in grid.of(arms[0], &Scenario::CURVED) {
        let Some(other) = grid.cell(arms[1], cell.key.net, cell.key.scenario) else {
            continue;
        };
        for (one, other) in cell.runs.iter().zip(&other.runs) {
            if let (Some(one), Some(other)) = (one.intervals.first(), other.intervals.first()) {
                measures[0].add(*one);
                measures[1].add(*other);
            }
        }
    }
    measures.map(|measure| measure.avg())
}

pub(super) fn interval(grid: &Grid) -> Claim {
    let of = |arm: Arm| (pooled(grid, arm).avg(), mean_of_cells(grid, arm));
    let (ours, published) = (of(Arm::Improved), of(Arm::MotionLock));
    let hits = [Scenario::Clc, Scenario::Ccc];
    let cells: Vec<String> = grid
        .of(Arm::Improved, &hits)
        .map(|cell| {
            let published = grid.cell(Arm::MotionLock, cell.key.net, cell.key.scenario);
            format!(
                "{} {} {:.0}→{:.0}",
                cell.key.net.name(),
                cell.key.scenario.name(),
                published.map_or(0.0, |one| one.interval().avg()),
                cell.interval().avg()
            )
        })
        .collect();
    Claim::new(
        "ML-58",
        "ours: mean Δt_col over the C-cells no worse than published motion-lock's under the same seeds",
        ours.0 <= published.0 && ours.1 <= published.1,
        format!(
            "all hits {:.1} against {:.1} ms, mean of cells {:.1} against {:.1} ms; where there is a hit: {} ms",
            ours.0,
            published.0,
            ours.1,
            published.1,
            cells.join(", ")
        ),
    )
}
