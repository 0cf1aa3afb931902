//! E12: packets are lost, everything else is at its tolerance (thesis 5.2.5, Figs 5.43 and 5.44).
//!
//! Aura Projection itself has no cure for loss: the channel sends again, so loss becomes delay. How soon it sends again decides.

use crate::campaign::{self, Cell, Outcome, Part};
use crate::head_on::Geometry;
use crate::never_wrong::never_wrong;
use crate::plot::{ADAPTIVE, Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::published::HALF_LATE_AT_LOSS_PCT;
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use crate::rows::{self, share};
use crate::settings::LOSS;
use crate::table::Table;
use crate::tally::{Tally, percent};
use crate::variants::Variant;
use plotters::style::RGBColor;
use serde_json::json;

const RULES: [(Variant, RGBColor); 4] = [
    (Variant::Thesis, THESIS),
    (Variant::OursSlowResend, THIRD),
    (Variant::Ours, OURS),
    (Variant::Adaptive, ADAPTIVE),
];
/// Runs per point of a quick run: a share of one in ten must be seen.
const QUICK_RUNS: u32 = 20;

/// Runs the loss experiment.
pub(crate) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let grid = if options.quick {
        LOSS.short_grid()
    } else {
        LOSS.grid()
    };
    let mut cells = Vec::new();
    for geometry in [Geometry::LARGE, Geometry::SMALL] {
        for (variant, _) in RULES {
            cells.extend(grid.iter().map(|value| Cell {
                part: Part::Grid,
                setting: LOSS,
                value: *value,
                variant,
                geometry,
                speed_spread: 1.0,
                runs: options.runs_or(QUICK_RUNS),
            }));
        }
    }
    let outcomes = campaign::run(cells, options.seed, progress)?;
    let mut result = ExperimentResult::new(info, options.seed);
    for geometry in [Geometry::LARGE, Geometry::SMALL] {
        add_table(&mut result, geometry, &outcomes);
    }
    result.claims.extend(claims(&outcomes, options));
    result.add_figure(
        "late.svg",
        "Late collisions against packet loss, as in Fig. 5.43.",
        late(&outcomes),
    );
    result.add_figure(
        "penetration.svg",
        "Penetration at first contact against packet loss, mean and mean ± 2 sd, as in Fig. 5.44 (A-28: one setting).",
        penetration(&outcomes),
    );
    result.notes.extend([
        "The text gives no table for this experiment, only: late above zero already without loss; misses begin above 1 % loss and rise more slowly than late ones; about half of the late collisions are still prevented at 15 %.".into(),
        "`thesis` and `ours-slow-resend` send a lost packet again after 100 ms (the thesis's library; its timer is \
         not published), `ours` and `adaptive` as soon as the answer is overdue."
            .into(),
    ]);
    result.add_data("points.csv", rows::csv(&outcomes));
    Ok(result)
}

fn at(
    outcomes: &[Outcome],
    variant: Variant,
    geometry: Geometry,
) -> impl Iterator<Item = (f64, &Tally)> + Clone {
    outcomes
        .iter()
        .filter(move |Outcome { cell, .. }| cell.variant == variant && cell.geometry == geometry)
        .map(|outcome| (outcome.cell.value, &outcome.tally))
}

fn add_table(result: &mut ExperimentResult, geometry: Geometry, outcomes: &[Outcome]) {
    let mut table = Table::new(
        format!(
            "Packet loss, all factors at tolerance (32 m/s, 2 ms, 15 ms), spheres of {:.2} m",
            geometry.radius_m
        ),
        &[
            "Loss %",
            "Rules",
            "N",
            "Late %",
            "Miss %",
            "Thrashing",
            "Worst, steps",
        ],
    );
    for (variant, _) in RULES {
        for (loss, tally) in at(outcomes, variant, geometry) {
            result.rows.push(json!({
                "table": "loss",
                "loss_pct": loss,
                "variant": variant,
                "radius_m": geometry.radius_m,
                "runs": tally.runs,
                "n": tally.n(),
                "late": tally.late,
                "late_pct": percent(tally.late, tally.n()),
                "missed": tally.missed,
                "thrashing": tally.thrashed,
                "worst_penetration_steps": tally.penetration.most,
            }));
            table.push(vec![
                loss.to_string(),
                variant.name().into(),
                tally.n().to_string(),
                share(tally.late, tally.n()),
                share(tally.missed, tally.n()),
                tally.thrashed.to_string(),
                format!("{:.2}", tally.penetration.most),
            ]);
        }
    }
    result.tables.push(table);
}

fn claims(outcomes: &[Outcome], options: &RunOptions) -> Vec<Claim> {
    let pooled = |variant, from: f64, to: f64| {
        let tallies =
            at(outcomes, variant, Geometry::LARGE).filter(|(loss, _)| (from..=to).contains(loss));
        Tally::sum(tallies.map(|(_, tally)| tally))
    };
    let text = |tally: &Tally| {
        format!(
            "{} late of {} ({} thrashed apart)",
            tally.late,
            tally.n(),
            tally.thrashed
        )
    };
    let (little, much) = (
        pooled(Variant::Thesis, 0.0, 2.0),
        pooled(Variant::Thesis, 15.0, 20.0),
    );
    let mut claims = vec![Claim::new(
        "AP-58",
        "thesis rules: late collisions grow with loss",
        percent(much.late, much.n()) > percent(little.late, little.n()),
        format!("0 to 2 %: {}; 15 to 20 %: {}", text(&little), text(&much)),
    )];
    let at_15 = |variant| pooled(variant, HALF_LATE_AT_LOSS_PCT, HALF_LATE_AT_LOSS_PCT);
    if !options.quick {
        let thesis = at_15(Variant::Thesis);
        let late_pct = percent(thesis.late, thesis.n());
        claims.push(Claim::new(
            "AP-58",
            "thesis rules: about half of the collisions are late at 15 % loss, as published (between 35 and 65 %)",
            (35.0..=65.0).contains(&late_pct),
            format!("{}; late or thrashed: {} of {} runs", text(&thesis), thesis.late + thesis.missed + thesis.thrashed, thesis.runs),
        ));
    }
    for variant in [Variant::Ours, Variant::Adaptive] {
        let ours = Tally::sum([Geometry::LARGE, Geometry::SMALL].into_iter().flat_map(
            |geometry| {
                let tallies = at(outcomes, variant, geometry)
                    .filter(|(loss, _)| *loss == HALF_LATE_AT_LOSS_PCT);
                tallies.map(|(_, tally)| tally)
            },
        ));
        claims.push(Claim::new(
            "AP-58",
            format!(
                "{}: at most 10 % of the collisions are late or missed at 15 % loss",
                variant.rules()
            ),
            percent(ours.late + ours.missed, ours.n()) <= 10.0 && ours.n() > 0,
            format!("{}, {} missed", text(&ours), ours.missed),
        ));
    }
    let missed: u32 = RULES
        .iter()
        .map(|(variant, _)| pooled(*variant, 0.0, 1.0).missed)
        .sum();
    claims.push(Claim::new(
        "AP-58",
        "no collision is missed up to 1 % loss, by any rules",
        missed == 0,
        format!("{missed} missed"),
    ));
    claims.extend(adaptive_claims(outcomes));
    claims
}

/// Loss is beyond every tolerance: it is said how it is.
fn adaptive_claims(outcomes: &[Outcome]) -> [Claim; 2] {
    [(true, "without loss"), (false, "at any loss up to 20 %")].map(|(below, place)| {
        let cells = outcomes.iter().filter(move |Outcome { cell, .. }| {
            cell.variant == Variant::Adaptive && cell.is_below() == below
        });
        let text = format!(
            "{}: no late, no missed and no thrashed run {place}",
            Variant::Adaptive.rules()
        );
        never_wrong(if below { "AP-55" } else { "AP-56" }, text, cells)
    })
}

fn chart(title: &str, y_label: &str) -> Chart {
    Chart {
        title: title.into(),
        x_label: "packet loss, %".into(),
        y_label: y_label.into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 10.0,
        lines: Vec::new(),
    }
}

fn late(outcomes: &[Outcome]) -> String {
    let mut chart = chart("Late collisions under packet loss", "late, % of N");
    for (variant, colour) in RULES {
        let points = at(outcomes, variant, Geometry::LARGE);
        chart.lines.push(Line {
            name: variant.name().into(),
            colour,
            points: points
                .map(|(loss, tally)| (loss, percent(tally.late, tally.n())))
                .collect(),
            style: LineStyle::Dotted,
        });
    }
    chart.svg()
}

fn penetration(outcomes: &[Outcome]) -> String {
    let mut chart = chart("Penetration under packet loss", "penetration time, steps");
    chart.limit = Some(1.0);
    chart.y_least_top = 1.2;
    for (variant, colour) in [RULES[0], RULES[2], RULES[3]] {
        let line = |deviations: f64, style| Line {
            name: format!("{}, mean (thin: ± 2 sd)", variant.name()),
            colour,
            points: at(outcomes, variant, Geometry::LARGE)
                .map(|(loss, tally)| {
                    (
                        loss,
                        tally.penetration.mean() + deviations * tally.penetration.deviation(),
                    )
                })
                .collect(),
            style,
        };
        chart.lines.extend([
            line(0.0, LineStyle::Dotted),
            line(-2.0, LineStyle::Edge),
            line(2.0, LineStyle::Edge),
        ]);
    }
    chart.svg()
}
