//! ML-54: what the thesis judges by eye.

use super::super::arms::Arm;
use super::super::cells::{Cell, Grid};
use super::super::encounter::Record;
use super::super::networks::Net;
use crate::result::Claim;
use scenes::encounters::Scenario;
use simulator::stations::Measure;

/// Over the C-cells of a network.
fn over(grid: &Grid, arm: Arm, net: Net, of: impl Fn(&Record) -> f64) -> Measure {
    let cells = grid
        .of(arm, &Scenario::CURVED)
        .filter(|cell| cell.key.net == net);
    let runs: Vec<&Record> = cells.flat_map(|cell| &cell.runs).collect();
    runs.into_iter().filter(|run| run.hit()).map(of).collect()
}

/// Of the runs of the C-cells of a network in which both protocols hit, under the same seeds: the averages of the two.
fn paired(grid: &Grid, arms: [Arm; 2], net: Net, of: fn(&Record) -> f64) -> [f64; 2] {
    let mut measures = [Measure::default(); 2];
    for scenario in Scenario::CURVED {
        let cells = arms.map(|arm| grid.cell(arm, net, scenario));
        let [Some(one), Some(other)] = cells else {
            continue;
        };
        let both = one.runs.iter().zip(&other.runs);
        for (one, other) in both.filter(|(one, other)| one.hit() && other.hit()) {
            measures[0].add(of(one));
            measures[1].add(of(other));
        }
    }
    measures.map(|measure| measure.avg())
}

pub(super) fn visual(grid: &Grid) -> Vec<Claim> {
    let lower = |text: &str, of: fn(&Record) -> f64, unit: &str| {
        let against =
            |arm: Arm| Net::ALL.map(|net| paired(grid, [arm, Arm::PostCollision], net, of));
        let (published, ours) = (against(Arm::MotionLock), against(Arm::Improved));
        let show = |pairs: [[f64; 2]; 3]| {
            let texts = pairs.map(|[lock, post]| format!("{lock:.1} against {post:.1}"));
            texts.join(" / ")
        };
        Claim::new(
            "ML-54",
            format!("{text} (same seeds, runs of the C-cells in which both hit)"),
            published.iter().all(|[lock, post]| lock <= post),
            format!(
                "good / moderate / congested: {} {unit}; ours: {}",
                show(published),
                show(ours)
            ),
        )
    };
    let wide = Net::ALL.map(|net| {
        let gaps = over(grid, Arm::PostCollision, net, |run| {
            f64::from(run.gap > 20.0)
        });
        gaps.sum()
    });
    let sharp = Net::ALL.map(|net| {
        let angles = over(grid, Arm::PostCollision, net, |run| {
            f64::from(run.angle > 90.0)
        });
        angles.sum()
    });
    let pulled = |arm: Arm| {
        let cells = grid.of(arm, &[Scenario::Clp, Scenario::Ccp]);
        cells.map(Cell::false_hits).sum::<usize>()
    };
    vec![
        lower(
            "the gap at a bounce is on average smaller with motion-lock than with post-collision",
            |run| run.gap,
            "px",
        ),
        lower(
            "shown jumps of more than a radius are on average rarer with motion-lock than with post-collision",
            |run| run.jumps as f64,
            "per run",
        ),
        lower(
            "directions after the same hit differ on average less with motion-lock than with post-collision",
            |run| run.angle,
            "degrees",
        ),
        Claim::new(
            "ML-54",
            "post-collision bounces with gaps above 2r and directions apart by more than 90°, on the congested network",
            wide[2] > 0.0 && sharp[2] > 0.0,
            format!(
                "runs with a hit on good / moderate / congested: gap {} / {} / {}, angle {} / {} / {}",
                wide[0], wide[1], wide[2], sharp[0], sharp[1], sharp[2]
            ),
        ),
        Claim::new(
            "ML-54",
            "\"pulling together\": published motion-lock makes near misses into hits, more than control does",
            pulled(Arm::MotionLock) > pulled(Arm::Control),
            format!(
                "runs of CLP and CCP with a false hit: {} against {}; with ours {}",
                pulled(Arm::MotionLock),
                pulled(Arm::Control),
                pulled(Arm::Improved)
            ),
        ),
    ]
}
