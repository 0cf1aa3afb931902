//! A relation the thesis states, tried on every seed.

use super::plans::Plan;
use super::summary::Summary;
use super::trial::{Group, Lane, Outcome};
use crate::result::Claim;

/// In at least this part of the seeds a relation must hold: 19 of 20.
const NEARLY_ALL: f64 = 0.95;

/// Of so many seeds at least this many.
pub(super) fn enough(seeds: usize) -> usize {
    (NEARLY_ALL * seeds as f64).ceil() as usize
}

/// Does it hold in nearly all of these cases?
pub(super) fn in_nearly_all<T>(cases: &[T], holds: impl Fn(&T) -> bool) -> (bool, usize) {
    let held = cases.iter().filter(|case| holds(case)).count();
    (held >= enough(cases.len()) && held > 0, held)
}

/// A claim about every run of a group; `measured` gives the numbers.
pub(super) fn claim(
    id: &'static str,
    text: &str,
    group: &Group,
    holds: impl Fn(&Outcome) -> bool,
    measured: impl Into<String>,
) -> Claim {
    let (holds, held) = in_nearly_all(&group.outcomes, holds);
    let place = place(group);
    let verdict = if holds { "" } else { ": not reproduced here" };
    Claim::new(
        id,
        format!("{place}: {text}"),
        holds,
        format!(
            "{}; in {held} of {} seeds{verdict}",
            measured.into(),
            group.outcomes.len()
        ),
    )
}

/// Where a group was measured: regime, rate and variance.
pub(super) fn place(group: &Group) -> String {
    let rate = Summary::of(group.outcomes.iter().map(|one| one.triggers_per_sec)).mean;
    let variance = match group.setup.spread_ms() {
        0.0 => "fixed delays".into(),
        spread => format!("± {spread} ms"),
    };
    let loss = group.setup.links.first().map_or(0.0, |link| link.loss);
    let loss = match loss {
        0.0 => String::new(),
        loss => format!(", {:.0} % lost", 100.0 * loss),
    };
    format!(
        "{} ({rate:.1} triggers/s), {variance}{loss}",
        group.setup.motion.name()
    )
}

/// A quantity of one policy as a multiple of another's, over the seeds.
pub(super) fn ratio(
    group: &Group,
    plan: &Plan,
    reference: &Plan,
    of: impl Fn(&Lane) -> f64,
) -> Summary {
    let runs = group.outcomes.iter();
    Summary::of(runs.map(|run| of(run.lane(plan)) / of(run.lane(reference))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nineteen_of_twenty() {
        assert_eq!([1, 3, 10, 20, 40].map(enough), [1, 3, 10, 19, 38]);
        let cases: Vec<u32> = (0..20).collect();
        assert_eq!(in_nearly_all(&cases, |case| *case > 0), (true, 19));
        assert_eq!(in_nearly_all(&cases, |case| *case > 1), (false, 18));
        assert_eq!(in_nearly_all::<u32>(&[], |_| true), (false, 0));
    }
}
