//! Motion-lock: the experiments of Chen's thesis (2010) and of Chen and Verbrugge's paper, and what lies beyond them.
//!
//! ```text
//!   Scenario × Net × Arm × seed ─► Encounter ─► Stage (simulator) ─► Monitor, LockChecker ─► Record ─► Cell ─► rows, claims, figures
//!                                                  ▲
//!                                     the same station::Station that plays over sockets
//! ```

mod arms;
mod bits;
mod cells;
mod encounter;
mod held_out;
mod lock_sweep;
mod networks;
mod offline;
mod offline_claims;
mod offline_figures;
mod online;
mod online_claims;
mod online_play;
mod online_udp;
mod player;
mod published;
mod rounds;
mod sensitivity;
mod setup;

use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};

/// The experiments, in the order of the thesis.
pub(crate) const ALL: [ExperimentInfo; 3] = [
    ExperimentInfo {
        id: "ml-offline",
        title: "Motion-lock: pairs of bodies on three bad networks (Tables 5.1 to 5.3, Figs 5.10 to 5.19)",
        what: "Two stations, a body each, that meet or miss each other on lines and circles; every protocol on three networks.",
    },
    ExperimentInfo {
        id: "ml-online",
        title: "Motion-lock: one body against seven, round after round (Tables 5.4 to 5.7)",
        what: "Eight spheres of two stations meet in the centre of an arena every three seconds for twenty minutes; also over real sockets.",
    },
    ExperimentInfo {
        id: "ml-lock-sweep",
        title: "Motion-lock: how long to lock",
        what: "T_lock from 0 to 200 ms: how early the other station knows, against false hits and lost commands.",
    },
];

/// ML-23 of many runs: how many locks there were, and how many of them lasted too long.
fn locks_claim(which: &str, [locks, overlong]: [u64; 2]) -> Claim {
    Claim::new(
        "ML-23",
        format!("no lock lasts longer than T_lock and one frame in any run {which}"),
        overlong == 0 && locks > 0,
        format!("{overlong} of {locks} locks"),
    )
}

/// Runs one of [`ALL`].
pub(crate) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    match info.id {
        "ml-offline" => Ok(offline::run(info, options, progress)),
        "ml-online" => online::run(info, options, progress),
        "ml-lock-sweep" => Ok(lock_sweep::run(info, options, progress)),
        other => unreachable!("{other} is listed but has no code"),
    }
}
