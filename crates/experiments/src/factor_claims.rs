//! What E8 to E11 must show.

use crate::campaign::{Outcome, Part};
use crate::head_on::Geometry;
use crate::never_wrong::never_wrong;
use crate::plot;
use crate::result::{Claim, ExperimentResult, PUBLISHED_RUNS, RunOptions};
use crate::rows;
use crate::settings::{Factor, Setting, thesis_aura};
use crate::tally::Tally;
use crate::variants::Variant;
use domain::TickLength;

/// Rules that promise something at every n.
const OURS: [Variant; 2] = [Variant::Ours, Variant::Adaptive];
/// Rules that are also tried beyond the tolerance.
pub(crate) const BEYOND_RULES: [Variant; 3] = [Variant::Thesis, Variant::Ours, Variant::Adaptive];

/// All claims about late, missed and thrashed runs.
pub(crate) fn all(settings: &[Setting], outcomes: &[Outcome], options: &RunOptions) -> Vec<Claim> {
    let mut claims = Vec::new();
    if !options.quick {
        claims.push(full_grids(settings, outcomes));
    }
    claims.extend(thesis_from_three_steps(outcomes));
    claims.extend(OURS.map(|variant| within_tolerance(variant, outcomes)));
    if outcomes
        .iter()
        .any(|outcome| outcome.cell.part == Part::EveryHop)
    {
        claims.extend(OURS.map(|variant| at_every_hop_count(variant, outcomes)));
    }
    claims.push(adaptive_beyond_tolerance(outcomes));
    if !options.quick {
        claims.extend(
            settings
                .iter()
                .flat_map(|setting| late_beyond(setting, outcomes)),
        );
    }
    claims
}

fn full_grids(settings: &[Setting], outcomes: &[Outcome]) -> Claim {
    let full = settings.iter().all(|setting| {
        BEYOND_RULES.iter().all(|variant| {
            let runs: u32 = outcomes
                .iter()
                .filter(|outcome| {
                    let cell = &outcome.cell;
                    cell.part == Part::Grid
                        && cell.setting == *setting
                        && cell.variant == *variant
                        && cell.geometry == Geometry::LARGE
                })
                .map(|outcome| outcome.tally.runs)
                .sum();
            runs as usize >= setting.grid().len() * PUBLISHED_RUNS as usize
        })
    });
    let points: Vec<String> = settings
        .iter()
        .map(|setting| format!("{}: {} points", setting.label(), setting.grid().len()))
        .collect();
    Claim::new(
        "AP-54",
        "every tolerance setting is run on the thesis's full grid, 50 runs per point",
        full,
        points.join(", "),
    )
}

/// AP-55, thesis size: n of three or more, frames exactly within the tolerance.
fn thesis_from_three_steps(outcomes: &[Outcome]) -> Option<Claim> {
    let tallies: Vec<&Tally> = outcomes
        .iter()
        .filter(|outcome| {
            let cell = &outcome.cell;
            cell.variant == Variant::ThesisExact && cell.is_below() && cell.setting.hop_steps() >= 3
        })
        .map(|outcome| &outcome.tally)
        .collect();
    if tallies.is_empty() {
        return None;
    }
    let sum = Tally::sum(tallies);
    Some(Claim::new(
        "AP-55",
        "thesis aura size, n >= 3, frames exactly within the tolerance: no late and no missed collision within the tolerance",
        sum.late + sum.missed == 0 && sum.n() > 0,
        format!(
            "{} late, {} missed of {} ({} thrashed apart)",
            sum.late,
            sum.missed,
            sum.n(),
            sum.thrashed
        ),
    ))
}

fn within_tolerance(variant: Variant, outcomes: &[Outcome]) -> Claim {
    let within = outcomes.iter().filter(|outcome| {
        let cell = &outcome.cell;
        cell.part == Part::Grid && cell.variant == variant && cell.is_below()
    });
    let text = "no late, no missed and no thrashed run within the tolerance, at any grid point";
    never_wrong("AP-55", format!("{}: {text}", variant.rules()), within)
}

fn at_every_hop_count(variant: Variant, outcomes: &[Outcome]) -> Claim {
    let cells = outcomes
        .iter()
        .filter(|outcome| outcome.cell.part == Part::EveryHop && outcome.cell.variant == variant);
    let text = "no late, no missed and no thrashed run at any n from 1 to 5, everything exactly at its tolerance";
    never_wrong("AP-55", format!("{}: {text}", variant.rules()), cells)
}

/// Nobody promises it; it is said how it is.
fn adaptive_beyond_tolerance(outcomes: &[Outcome]) -> Claim {
    let beyond = outcomes.iter().filter(|outcome| {
        let cell = &outcome.cell;
        cell.part == Part::Grid && cell.variant == Variant::Adaptive && !cell.is_below()
    });
    let text =
        "no late, no missed and no thrashed run beyond the tolerance either, up to twice as much";
    never_wrong(
        "AP-56",
        format!("{}: {text}", Variant::Adaptive.rules()),
        beyond,
    )
}

/// Up to this value the thesis's aura covers the factor: rounding up to whole steps leaves room.
pub(crate) fn predicted_threshold(setting: &Setting) -> f64 {
    let tolerances = setting.tolerances();
    let hop_ms = thesis_aura(&tolerances).hop_steps as f64 * TickLength::default().as_secs() * 1e3;
    match setting.factor {
        Factor::Latency => hop_ms - 2.0 * tolerances.frame_ms,
        Factor::FrameTime => (hop_ms - tolerances.latency_ms) / 2.0,
        Factor::Speed | Factor::Loss => setting.tolerance,
    }
}

/// Where errors begin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FirstLate {
    /// The factor's value.
    pub value: f64,
    /// "2 of 50".
    pub share: String,
}

/// The lowest value beyond the tolerance with a late or missed collision. Without `thrashed` only runs that did not thrash count, as in
/// the tables; with it also those that came late because they thrashed.
pub(crate) fn first_late(
    setting: &Setting,
    outcomes: &[Outcome],
    variant: Variant,
    thrashed: bool,
) -> Option<FirstLate> {
    let wrong =
        |tally: &Tally| tally.late + tally.missed + if thrashed { tally.thrashed_wrong } else { 0 };
    let of = |tally: &Tally| if thrashed { tally.runs } else { tally.n() };
    outcomes
        .iter()
        .filter(|Outcome { cell, tally }| {
            cell.setting == *setting
                && cell.variant == variant
                && cell.geometry == Geometry::LARGE
                && !cell.is_below()
                && wrong(tally) > 0
        })
        .min_by(|one, two| one.cell.value.total_cmp(&two.cell.value))
        .map(|Outcome { cell, tally }| FirstLate {
            value: cell.value,
            share: format!("{} of {}", wrong(tally), of(tally)),
        })
}

fn late_beyond(setting: &Setting, outcomes: &[Outcome]) -> Vec<Claim> {
    let unit = setting.factor.unit();
    let place = |value: f64| {
        let on_grid = value <= 2.0 * setting.tolerance + 1e-9;
        if on_grid {
            "on the thesis's grid"
        } else {
            "beyond the thesis's grid, which ends before"
        }
    };
    let claim = |variant: Variant| {
        let first = |thrashed| first_late(setting, outcomes, variant, thrashed);
        let describe = |first: Option<FirstLate>| match first {
            Some(FirstLate { value, share }) => format!(
                "first at {} {unit} ({share}), {}",
                rows::round(value),
                place(value)
            ),
            None => format!(
                "none found up to {} {unit}",
                last_tried(setting, outcomes, variant)
            ),
        };
        let text = format!(
            "{} tolerance {}, {}: beyond the aura's real threshold collisions are late",
            setting.factor.name(),
            setting.label(),
            variant.name()
        );
        let measured = format!(
            "thrashed runs included: {}; without them: {}; the thesis's formula covers {:.2} {unit}",
            describe(first(true)),
            describe(first(false)),
            predicted_threshold(setting)
        );
        Claim::new("AP-56", text, first(true).is_some(), measured)
    };
    // With adaptive auras spheres are held instead: where that ends is in the table.
    [Variant::Thesis, Variant::Ours].map(claim).to_vec()
}

fn last_tried(setting: &Setting, outcomes: &[Outcome], variant: Variant) -> f64 {
    let values = outcomes
        .iter()
        .filter(|outcome| outcome.cell.setting == *setting && outcome.cell.variant == variant)
        .map(|outcome| outcome.cell.value);
    rows::round(values.fold(0.0, f64::max))
}

/// E11: how often pairs thrash in the experiment with the longest frames (Fig. 5.42).
pub(crate) fn add_thrash_histogram(result: &mut ExperimentResult, outcomes: &[Outcome]) {
    let tallies = outcomes.iter().filter(|outcome| {
        let cell = &outcome.cell;
        cell.part == Part::Grid
            && cell.setting.tolerance == 32.0
            && cell.variant == Variant::Thesis
            && cell.geometry == Geometry::LARGE
    });
    let sum = Tally::sum(tallies.map(|outcome| &outcome.tally));
    let bars: Vec<(u32, u32)> = sum
        .times_thrashed
        .iter()
        .map(|(times, runs)| (*times, *runs))
        .collect();
    let mode = bars
        .iter()
        .max_by_key(|(times, runs)| (*runs, std::cmp::Reverse(*times)))
        .map(|bar| bar.0);
    let most = bars
        .iter()
        .map(|(times, runs)| format!("{times}: {runs}"))
        .collect::<Vec<_>>()
        .join(", ");
    result.claims.push(Claim::new(
        "AP-57",
        "most pairs that thrash do so once (mode of Fig. 5.42 is 1)",
        mode == Some(1),
        format!(
            "runs by times thrashed: {most}; {} of the {} thrashed runs were also late or missed",
            sum.thrashed_wrong, sum.thrashed
        ),
    ));
    result.add_figure(
        "thrash-histogram.svg",
        "How often a pair left the server on which it finally met, frame-time tolerance 32 ms, as in Fig. 5.42.",
        plot::histogram("Thrashing, frame-time tolerance 32 ms", "times thrashed", "runs", &bars),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{FRAME_TIMES, LATENCIES, SPEEDS};

    /// A-1, digest 2.2: the thresholds the thesis predicts follow from a step of 1/60 s.
    #[test]
    fn predicted_thresholds_are_those_of_the_thesis() {
        let thresholds: Vec<f64> = SPEEDS
            .iter()
            .chain(&LATENCIES)
            .chain(&FRAME_TIMES)
            .map(|setting| (predicted_threshold(setting) * 100.0).round() / 100.0)
            .collect();
        assert_eq!(
            thresholds,
            [
                16.0, 32.0, 48.0, 3.33, 20.0, 20.0, 15.67, 15.67, 32.33, 40.67
            ]
        );
    }
}
