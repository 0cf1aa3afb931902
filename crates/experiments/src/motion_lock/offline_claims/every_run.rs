//! What must hold in every single run: the grid is whole, runs end when they should, no lock outlives its time, the same seed gives the same bits.

use super::super::arms::Arm;
use super::super::bits;
use super::super::cells::Grid;
use super::super::encounter::{AFTER_HIT, LONGEST, Record};
use super::super::networks::Net;
use super::super::setup::Setup;
use crate::result::Claim;
use scenes::encounters::Scenario;

pub(super) fn complete(grid: &Grid, runs: u32) -> Claim {
    let wanted = Arm::OFFLINE.len() * Net::ALL.len() * Scenario::PUBLISHED.len();
    let cells = grid
        .all()
        .filter(|cell| Scenario::PUBLISHED.contains(&cell.key.scenario))
        .filter(|cell| cell.runs.len() == runs as usize);
    let have = cells.count();
    Claim::new(
        "ML-46",
        "LLC, LLP, CLC, CLP, CCC and CCP on three networks with all protocols, from one command",
        have == wanted,
        format!("{have} of {wanted} cells of {runs} runs"),
    )
}

/// ML-47.
pub(super) fn terminated(grid: &Grid, frame_ms: f64) -> Claim {
    let runs = || grid.all().flat_map(|cell| &cell.runs);
    let wanted = |run: &Record| match run.first_hit_secs {
        Some(hit) => hit + AFTER_HIT.as_secs(),
        None => LONGEST.as_secs(),
    };
    let right = |run: &&Record| (run.secs - wanted(run)).abs() < frame_ms * 1e-3;
    let (all, good) = (runs().count(), runs().filter(right).count());
    Claim::new(
        "ML-47",
        "a run ends 500 ms after its first hit, or after 3 s without one",
        all == good,
        format!("{good} of {all} runs"),
    )
}

pub(super) fn in_every_run(grid: &Grid, seed: u64, setup: &Setup) -> Vec<Claim> {
    let runs = || grid.all().flat_map(|cell| &cell.runs);
    let [locks, overlong] = grid.locks();
    let longest = runs().map(|run| run.longest_lock_ms).fold(0.0, f64::max);
    let limit = setup.lock_ms + setup.frame_ms;
    let broken = bits::faults(seed, setup, 2);
    let (differ, twice) = bits::differing(seed, setup, 2);
    vec![
        Claim::new(
            "ML-23",
            format!("no lock lasts longer than T_lock and one frame ({limit} ms) in any run"),
            overlong == 0 && locks > 0,
            format!("{overlong} of {locks} locks; the longest {longest:.0} ms"),
        ),
        Claim::new(
            "ML-60",
            "nor if the other station crashes or the link is cut while it is held; and none is left behind",
            broken.overlong == 0 && broken.left == 0 && broken.locks > 0,
            format!(
                "{} of {} locks in {} runs with a fault; the longest {:.0} ms; {} left behind",
                broken.overlong, broken.locks, broken.runs, broken.longest_ms, broken.left
            ),
        ),
        Claim::new(
            "ML-36",
            "the same seed gives the same log, bit for bit",
            differ == 0 && twice > 0,
            format!("{differ} of {twice} runs differ from their repetition"),
        ),
    ]
}
