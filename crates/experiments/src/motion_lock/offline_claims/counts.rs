//! R1 to R4: who counts how many hits.

use super::super::arms::Arm;
use super::super::cells::{Cell, Grid};
use super::super::networks::Net;
use super::super::published;
use super::offenders;
use crate::result::Claim;
use scenes::encounters::Scenario;

/// Those that agree on hits.
const AGREEING: [Arm; 3] = [Arm::SuperNode, Arm::PostCollision, Arm::MotionLock];
/// Control's published counts differ from ours by at most this part of all that could differ. Set before the first run: the digest's
/// prototype came to 6.4 %.
const BAND: f64 = 0.10;

pub(super) fn r1_counts(grid: &Grid, runs: u32) -> Claim {
    let straight = [Scenario::Llc, Scenario::Llp];
    let cells = grid
        .all()
        .filter(|cell| straight.contains(&cell.key.scenario))
        // Never measured in the thesis, and made to fail when there is no time for three messages.
        .filter(|cell| cell.key.arm != Arm::PreCollision);
    let (holds, measured) = offenders(
        cells,
        |cell| cell.counts() == (cell.truth * runs, cell.truth * runs),
        |cell| format!("{:?}", cell.counts()),
    );
    Claim::new(
        "R1",
        "LLC: every run one hit at A and B, LLP: none, all protocols and networks (published: 50/50 and 0/0)",
        holds,
        measured,
    )
}

pub(super) fn r1_clean(grid: &Grid) -> Claim {
    let arms = [Arm::Control, Arm::PostCollision, Arm::MotionLock];
    let clean = |cell: &Cell| cell.interval().max() == 0.0 && cell.deviation(0).max() < 1.0;
    let llc = grid.all().filter(|cell| cell.key.scenario == Scenario::Llc);
    let cells: Vec<&Cell> = llc.filter(|cell| arms.contains(&cell.key.arm)).collect();
    let (holds, measured) = offenders(cells.into_iter(), clean, |cell| {
        format!(
            "Δt_col up to {:.0} ms, deviation up to {:.1} px",
            cell.interval().max(),
            cell.deviation(0).max()
        )
    });
    let late = grid.of(Arm::SuperNode, &[Scenario::Llc]);
    let late: Vec<(f64, f64)> = late
        .map(|cell| (cell.interval().avg(), cell.deviation(0).avg()))
        .collect();
    let slow = late.iter().all(|(ms, px)| *ms > 0.0 && *px > 1.0);
    let late: Vec<String> = late
        .iter()
        .map(|(ms, px)| format!("{ms:.0} ms, {px:.0} px"))
        .collect();
    Claim::new(
        "R1",
        "LLC is clean: Δt_col 0 and no deviation (below 1 px in the sum) but for super-node, which is late (Figs 5.10, 5.15)",
        holds && slow,
        format!(
            "{measured}; super-node on good / moderate / congested: {}",
            late.join(" / ")
        ),
    )
}

pub(super) fn r2(grid: &Grid) -> Claim {
    let cells = AGREEING
        .iter()
        .flat_map(|arm| grid.of(*arm, &Scenario::CURVED));
    let (holds, measured) = offenders(
        cells,
        |cell| cell.counts().0 == cell.counts().1 && cell.consistent() == cell.runs.len(),
        |cell| format!("{:?}", cell.counts()),
    );
    Claim::new(
        "R2",
        "super-node, post-collision and motion-lock count alike at A and B in all 12 C-cells",
        holds,
        measured,
    )
}

/// The count a station has at the end may be a message short; a second later it may not.
pub(super) fn r2_settled(grid: &Grid) -> Claim {
    let cells = AGREEING
        .iter()
        .flat_map(|arm| grid.of(*arm, &Scenario::CURVED));
    let (holds, measured) = offenders(
        cells,
        |cell| cell.settled() == cell.runs.len(),
        |cell| format!("{} of {} runs", cell.settled(), cell.runs.len()),
    );
    Claim::new(
        "R2",
        "every hit that one of them has registered when a run ends (500 ms after the first hit) is known to both a second later, in all 12 C-cells",
        holds,
        measured,
    )
}

pub(super) fn r3(grid: &Grid, runs: u32) -> Claim {
    let mut difference = 0.0;
    let mut rows = Vec::new();
    for net in Net::ALL {
        let mut row = Vec::new();
        for scenario in Scenario::CURVED {
            let (Some(cell), Some((a, b))) = (
                grid.cell(Arm::Control, net, scenario),
                published::counts(net, Arm::Control, scenario),
            ) else {
                continue;
            };
            let ours = cell.counts();
            let scale = 50.0 / f64::from(runs);
            let apart =
                |ours: u32, theirs: u32| (f64::from(ours) * scale - f64::from(theirs)).abs();
            difference += apart(ours.0, a) + apart(ours.1, b);
            row.push(format!("{}/{} [{a}/{b}]", ours.0, ours.1));
        }
        rows.push(format!("{} {}", net.name(), row.join(" ")));
    }
    let most = 50.0 * 24.0;
    Claim::new(
        "R3",
        format!(
            "control's counts differ from the published ones by at most {:.0} % of the 1200 that could differ",
            100.0 * BAND
        ),
        difference <= BAND * most,
        format!(
            "{difference:.0} of 1200 ({:.1} %); ours [published] in {runs} runs: {}",
            100.0 * difference / most,
            rows.join("; ")
        ),
    )
}

pub(super) fn r4(grid: &Grid, runs: u32) -> Claim {
    let cells = grid.of(Arm::MotionLock, &[Scenario::Clp, Scenario::Ccp]);
    let cells: Vec<&Cell> = cells.collect();
    let (holds, measured) = offenders(
        cells.into_iter(),
        |cell| cell.false_hits() == runs as usize && cell.consistent() == runs as usize,
        |cell| {
            format!(
                "{:?}, false in {} of {runs} runs",
                cell.counts(),
                cell.false_hits()
            )
        },
    );
    Claim::new(
        "R4",
        "published motion-lock agrees on a false hit in every run of CLP and CCP, on all networks (published: 50/50, congested CCP 51/51)",
        holds,
        measured,
    )
}
