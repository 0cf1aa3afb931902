//! R6 and the conflict rule: how far replicas are from their masters after a hit.

use super::super::arms::Arm;
use super::super::cells::{Cell, Grid};
use super::offenders;
use crate::result::Claim;
use scenes::encounters::Scenario;
use simulator::stations::Measure;

pub(super) fn r6(grid: &Grid, arm: Arm, hits_only: bool) -> Claim {
    let of = |cell: &Cell| match hits_only {
        true => cell.deviation_of_hits(0),
        false => cell.deviation(0),
    };
    let others = [Arm::Control, Arm::PostCollision];
    let other = |cell: &Cell, arm: Arm| {
        let there = grid.cell(arm, cell.key.net, cell.key.scenario);
        there.map(of).filter(|one| one.count() > 0)
    };
    let cells = grid.of(arm, &[Scenario::Clc, Scenario::Clp]);
    let cells: Vec<&Cell> = cells.collect();
    let (holds, measured) = offenders(
        cells.into_iter(),
        |cell| {
            let ours = of(cell).avg();
            let below = |arm: &Arm| other(cell, *arm).is_none_or(|there| ours < there.avg());
            others.iter().all(below)
        },
        |cell| {
            let texts = others.map(|arm| {
                let there = other(cell, arm);
                there.map_or("no hits".into(), |one| format!("{:.0}", one.avg()))
            });
            format!(
                "{:.0} px against {} (control) and {} (post-collision)",
                of(cell).avg(),
                texts[0],
                texts[1]
            )
        },
    );
    let what = if hits_only {
        "of runs with a hit"
    } else {
        "over all runs"
    };
    Claim::new(
        "R6",
        format!(
            "post-collision deviation {what}: {} below control and post-collision in CLC and CLP (Figs 5.16, 5.17)",
            arm.name()
        ),
        holds,
        measured,
    )
}

/// ML-57: the conflict rule alone, run by run under the same seeds.
pub(super) fn tie_break(grid: &Grid) -> Claim {
    let (mut differences, mut cells) = (Vec::new(), Vec::new());
    for cell in grid.of(Arm::TieBreak, &Scenario::CURVED) {
        let Some(published) = grid.cell(Arm::MotionLock, cell.key.net, cell.key.scenario) else {
            continue;
        };
        let pairs = cell.runs.iter().zip(&published.runs);
        differences.extend(pairs.map(|(ours, theirs)| ours.deviation[0] - theirs.deviation[0]));
        cells.push(format!(
            "{} {} {:.0}→{:.0}",
            cell.key.net.name(),
            cell.key.scenario.name(),
            published.deviation(0).avg(),
            cell.deviation(0).avg()
        ));
    }
    let measure: Measure = differences.iter().copied().collect();
    let error = 1.96 * measure.std() / (measure.count().max(1) as f64).sqrt();
    Claim::new(
        "ML-57",
        "one trajectory set per hit instead of local priority lowers the post-collision deviation, paired by seed over the C-cells (95 % interval below 0)",
        measure.avg() + error < 0.0,
        format!(
            "{:.0} ± {error:.0} px per run; {}",
            measure.avg(),
            cells.join(", ")
        ),
    )
}

pub(super) fn below_control(grid: &Grid, arm: Arm) -> Claim {
    let control = |cell: &Cell| {
        let control = grid.cell(Arm::Control, cell.key.net, cell.key.scenario);
        control.map_or(Measure::default(), |one| one.deviation(0))
    };
    let (holds, measured) = offenders(
        grid.of(arm, &Scenario::CURVED),
        |cell| cell.deviation(0).avg() < control(cell).avg(),
        |cell| {
            format!(
                "{:.0} against {:.0} px",
                cell.deviation(0).avg(),
                control(cell).avg()
            )
        },
    );
    let text = match arm {
        Arm::TieBreak => {
            "published motion-lock with our conflict rule and nothing else of ours: the same (cannot hold where control hardly ever hits, and straight foresight always: good CLP and CCP)"
        }
        Arm::Stretches => {
            "published motion-lock with our conflict rule and the owner's stretches of free motion: the same"
        }
        _ => {
            "as we ship it, our conflict rule included: post-collision deviation below control's in every C-cell"
        }
    };
    Claim::new("ML-57", text, holds, measured)
}
