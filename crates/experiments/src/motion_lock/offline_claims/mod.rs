//! What `ml-offline` must show: the digest's R1 to R6, the acceptance of motion-lock and of what we added.

mod counts;
mod deviations;
mod every_run;
mod intervals;
mod ours;
mod visual;

use super::arms::Arm;
use super::cells::{Cell, Grid};
use super::setup::Setup;
use crate::result::Claim;
use counts::{r1_clean, r1_counts, r2, r2_settled, r3, r4};
use deviations::{below_control, r6, tie_break};
use every_run::{complete, in_every_run, terminated};
use intervals::{headline, interval, r5, worst_case};
use ours::improvements;
use visual::visual;

/// All of them. Claims about counts of 50 hold for any number of runs: they are scaled.
pub(super) fn all(grid: &Grid, runs: u32, seed: u64, setup: &Setup) -> Vec<Claim> {
    let frame = setup.frame_ms;
    let mut claims = vec![
        complete(grid, runs),
        terminated(grid, frame),
        r1_counts(grid, runs),
        r1_clean(grid),
        r2(grid),
        r2_settled(grid),
        r3(grid, runs),
        r4(grid, runs),
        r5(grid, frame),
        r6(grid, Arm::MotionLock, false),
        r6(grid, Arm::MotionLock, true),
        r6(grid, Arm::SecondReading, false),
        worst_case(grid, frame),
    ];
    claims.extend(headline(grid));
    claims.extend(visual(grid));
    claims.push(tie_break(grid));
    let with_our_rule = [Arm::Improved, Arm::TieBreak, Arm::Stretches];
    claims.extend(with_our_rule.map(|arm| below_control(grid, arm)));
    claims.extend(improvements(grid, runs));
    claims.push(interval(grid));
    claims.extend(in_every_run(grid, seed, setup));
    claims
}

fn name(cell: &Cell) -> String {
    let key = &cell.key;
    format!(
        "{} {} {}",
        key.arm.name(),
        key.net.name(),
        key.scenario.name()
    )
}

/// The cells for which something does not hold, by name, and how many were asked.
fn offenders<'a>(
    cells: impl Iterator<Item = &'a Cell>,
    holds: impl Fn(&Cell) -> bool,
    text: impl Fn(&Cell) -> String,
) -> (bool, String) {
    let (mut asked, mut wrong) = (0, Vec::new());
    for cell in cells {
        asked += 1;
        if !holds(cell) {
            wrong.push(format!("{}: {}", name(cell), text(cell)));
        }
    }
    let held = asked - wrong.len();
    let list = if wrong.is_empty() {
        String::new()
    } else {
        format!("; not in {}", wrong.join("; "))
    };
    (
        wrong.is_empty() && asked > 0,
        format!("in {held} of {asked} cells{list}"),
    )
}
