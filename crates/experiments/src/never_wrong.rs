//! The claim that matters most: by these rules nothing is late, missed or thrashed.

use crate::campaign::Outcome;
use crate::result::Claim;
use crate::rows;
use crate::tally::Tally;
use crate::variants::Variant;

/// Claims it of these grid points; the first that do not agree are named.
pub(crate) fn never_wrong<'a>(
    id: &'static str,
    text: impl Into<String>,
    outcomes: impl Iterator<Item = &'a Outcome> + Clone,
) -> Claim {
    let sum = Tally::sum(outcomes.clone().map(|outcome| &outcome.tally));
    let mut measured = format!(
        "{} late, {} missed, {} thrashed in {} runs; worst penetration {:.3} steps",
        sum.late, sum.missed, sum.thrashed, sum.runs, sum.penetration.most
    );
    // Who is held is not late, but meets the other later than it would have.
    if outcomes
        .clone()
        .any(|outcome| outcome.cell.variant == Variant::Adaptive)
    {
        measured += &format!("; a sphere was held in {} runs", sum.held);
    }
    for Outcome { cell, tally } in outcomes.filter(|outcome| outcome.tally.wrong() > 0).take(5) {
        let seeds: Vec<String> = tally
            .offences
            .iter()
            .map(|offence| offence.seed.to_string())
            .collect();
        measured += &format!(
            "; {} tolerance {} at {}, {}: encounter seeds {}",
            cell.setting.factor.name(),
            cell.setting.label(),
            rows::round(cell.value),
            cell.geometry.name(),
            seeds.join(" ")
        );
    }
    Claim::new(id, text, sum.wrong() == 0 && sum.runs > 0, measured)
}
