//! What the improvements must show: no false hits, no missed ones, equal counts.

use super::super::arms::Arm;
use super::super::cells::{Cell, Grid};
use super::super::networks::Net;
use super::offenders;
use crate::result::Claim;
use scenes::encounters::Scenario;

pub(super) fn improvements(grid: &Grid, runs: u32) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (net, most) in [(Net::Good, 5), (Net::Moderate, 15)] {
        claims.push(false_hits(grid, net, most, runs));
    }
    let of_ours = |scenarios: &'static [Scenario]| grid.of(Arm::Improved, scenarios);
    let (holds, measured) = offenders(
        of_ours(&[Scenario::Clc, Scenario::Ccc]),
        |cell| cell.missed_hits() == 0,
        |cell| format!("{} runs", cell.missed_hits()),
    );
    claims.push(Claim::new(
        "ML-58",
        "ours misses no hit in CLC and CCC",
        holds,
        measured,
    ));
    let (holds, measured) = offenders(
        of_ours(&Scenario::CURVED),
        |cell| cell.consistent() == cell.runs.len(),
        |cell| format!("{:?}", cell.counts()),
    );
    claims.push(Claim::new(
        "ML-58",
        "ours is count-consistent in every run of all 12 C-cells",
        holds,
        measured,
    ));
    let (holds, measured) = offenders(
        of_ours(&[Scenario::Clc, Scenario::Ccc]),
        |cell| cell.correct() == cell.runs.len(),
        |cell| format!("{:?}", cell.counts()),
    );
    claims.push(Claim::new(
        "ML-58",
        "ours equals the virtual perfect station in every run of CLC and CCC",
        holds,
        measured,
    ));
    claims
}

fn false_hits(grid: &Grid, net: Net, most: u32, runs: u32) -> Claim {
    let limit = f64::from(most) * f64::from(runs) / 50.0;
    let cells = grid.of(Arm::Improved, &[Scenario::Clp, Scenario::Ccp]);
    let cells: Vec<&Cell> = cells.filter(|cell| cell.key.net == net).collect();
    let texts: Vec<String> = cells
        .iter()
        .map(|cell| {
            let published = grid.cell(Arm::MotionLock, net, cell.key.scenario);
            format!(
                "{} {} of {runs} (published motion-lock {})",
                cell.key.scenario.name(),
                cell.false_hits(),
                published.map_or(0, Cell::false_hits)
            )
        })
        .collect();
    Claim::new(
        "ML-58",
        format!(
            "ours: false hits in CLP and CCP in at most {most} of 50 runs each on the {} network",
            net.name()
        ),
        cells.iter().all(|cell| cell.false_hits() as f64 <= limit),
        texts.join(", "),
    )
}
