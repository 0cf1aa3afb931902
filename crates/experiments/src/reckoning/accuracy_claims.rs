//! What E1 must show.

use super::accuracy::{Case, DELAYS_MS};
use super::motion::Motion;
use super::relation::in_nearly_all;
use super::summary::Summary;
use super::watched::{NONE_M, Watched};
use crate::result::Claim;

/// BZFlag's tank, units.
const TANK_LENGTH: f64 = 6.0;

/// All claims of DR-38.
pub(super) fn all(cases: &[Case]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for motion in [Motion::Linear, Motion::Circular] {
        claims.extend([
            far_smaller(motion, cases),
            mostly_none(motion, cases),
            peaks_grow(motion, cases),
        ]);
    }
    claims.push(three_hundred(cases));
    for motion in [Motion::StopAndGo, Motion::Smooth] {
        claims.push(substantially_smaller(motion, cases));
    }
    claims.extend([
        none_becomes_rarer(cases),
        worse_at_stops(cases),
        already_at_hundred(cases),
    ]);
    claims
}

fn case(cases: &[Case], motion: Motion, delay_ms: f64) -> &Case {
    let found = cases
        .iter()
        .find(|case| case.motion == motion && case.delay_ms == delay_ms);
    found.expect("every motion is run at every delay")
}

/// Every seed of a motion at the three delays.
fn seeds(cases: &[Case], motion: Motion) -> Vec<[&Watched; 3]> {
    let runs = DELAYS_MS.map(|delay| &case(cases, motion, delay).runs);
    (0..runs[0].len())
        .map(|index| [&runs[0][index], &runs[1][index], &runs[2][index]])
        .collect()
}

/// "a / b / c" at 100, 300 and 800 ms, means over seeds.
fn by_delay(cases: &[Case], motion: Motion, of: impl Fn(&Watched) -> f64) -> String {
    let values = DELAYS_MS.map(|delay| {
        let runs = &case(cases, motion, delay).runs;
        format!("{:.2}", Summary::of(runs.iter().map(&of)).mean)
    });
    values.join(" / ")
}

fn claim(
    motion: Motion,
    cases: &[Case],
    text: &str,
    holds: impl Fn(&[&Watched; 3]) -> bool,
    measured: String,
) -> Claim {
    let seeds = seeds(cases, motion);
    let (holds, held) = in_nearly_all(&seeds, holds);
    let rate = Summary::of(seeds.iter().map(|run| run[0].triggers_per_sec)).mean;
    Claim::new(
        "DR-38",
        format!("{} ({rate:.1} triggers/s): {text}", motion.name()),
        holds,
        format!("{measured}; in {held} of {} seeds", seeds.len()),
    )
}

fn both_means(motion: Motion, cases: &[Case]) -> String {
    format!(
        "at 100 / 300 / 800 ms local {}, global {} units",
        by_delay(cases, motion, |run| run.local.mean()),
        by_delay(cases, motion, |run| run.global.mean())
    )
}

fn far_smaller(motion: Motion, cases: &[Case]) -> Claim {
    claim(
        motion,
        cases,
        "the global clock's error is far smaller than the local clock's (less than half) at every delay",
        |runs| {
            runs.iter()
                .all(|run| run.global.mean() < 0.5 * run.local.mean())
        },
        both_means(motion, cases),
    )
}

fn mostly_none(motion: Motion, cases: &[Case]) -> Claim {
    claim(
        motion,
        cases,
        "with the global clock the error is mostly 0, at every delay",
        |runs| runs.iter().all(|run| run.global.none() > 0.5),
        format!(
            "at most {NONE_M} units in {} of the time",
            by_delay(cases, motion, |run| run.global.none())
        ),
    )
}

fn peaks_grow(motion: Motion, cases: &[Case]) -> Claim {
    claim(
        motion,
        cases,
        "peaks of the global clock's error are the higher the longer the delay",
        |runs| {
            runs[0].global.most < runs[1].global.most && runs[1].global.most < runs[2].global.most
        },
        format!("{} units", by_delay(cases, motion, |run| run.global.most)),
    )
}

fn three_hundred(cases: &[Case]) -> Claim {
    let at = |of: fn(&Watched) -> f64| {
        Summary::of(case(cases, Motion::Linear, 300.0).runs.iter().map(of))
    };
    claim(
        Motion::Linear,
        cases,
        "at 300 ms the local error is one to two tank lengths (published: up to 2 tank units), the global one close to 0 (on average below a tenth of a length)",
        |runs| {
            (TANK_LENGTH..2.0 * TANK_LENGTH).contains(&runs[1].local.mean())
                && runs[1].global.mean() < 0.1 * TANK_LENGTH
        },
        format!(
            "local {:.2} on average, {:.2} at most; global {:.2} on average, 0 in {:.0} % of the time",
            at(|run| run.local.mean()).mean,
            at(|run| run.local.most).most,
            at(|run| run.global.mean()).mean,
            at(|run| 100.0 * run.global.none()).mean
        ),
    )
}

fn substantially_smaller(motion: Motion, cases: &[Case]) -> Claim {
    claim(
        motion,
        cases,
        "on average the global clock's error is substantially smaller than the local clock's (by a third or more) at every delay",
        |runs| {
            runs.iter()
                .all(|run| run.global.mean() < run.local.mean() * 2.0 / 3.0)
        },
        both_means(motion, cases),
    )
}

fn none_becomes_rarer(cases: &[Case]) -> Claim {
    claim(
        Motion::StopAndGo,
        cases,
        "the global clock's error reaches 0 often at 100 ms (more than half of the time), and more rarely the longer the delay",
        |runs| {
            let none = runs.map(|run| run.global.none());
            none[0] > 0.5 && none[0] > none[1] && none[1] > none[2]
        },
        format!(
            "at most {NONE_M} units in {} of the time",
            by_delay(cases, Motion::StopAndGo, |run| run.global.none())
        ),
    )
}

/// DR-11: the one case where a global clock is worse.
fn worse_at_stops(cases: &[Case]) -> Claim {
    claim(
        Motion::StopAndGo,
        cases,
        "at some instants the global clock's error is the larger one, mostly because the tank is slower than believed: it brakes, stops or reverses",
        |runs| {
            runs.iter()
                .all(|run| run.worse > 0.0 && run.worse_braking > 0.5)
        },
        format!(
            "in {} of the time, of which {} braking",
            by_delay(cases, Motion::StopAndGo, |run| run.worse),
            by_delay(cases, Motion::StopAndGo, |run| run.worse_braking)
        ),
    )
}

fn already_at_hundred(cases: &[Case]) -> Claim {
    let gains = super::accuracy::MOTIONS.map(|motion| {
        let runs = case(cases, motion, 100.0).runs.iter();
        Summary::of(runs.map(|run| run.local.mean() - run.global.mean()))
    });
    let holds = gains
        .iter()
        .all(|gain| gain.mean > gain.ci95.unwrap_or(f64::INFINITY));
    let texts: Vec<String> = super::accuracy::MOTIONS
        .iter()
        .zip(&gains)
        .map(|(motion, gain)| format!("{} {}", motion.name(), gain.text()))
        .collect();
    Claim::new(
        "DR-38",
        "the improvement is significant already at 100 ms: for every motion the 95 % interval of local less global lies above 0",
        holds,
        format!("{} units", texts.join(", ")),
    )
}
