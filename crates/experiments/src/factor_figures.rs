//! Figures of E8 to E10: the share of late collisions, and how deep contacts were found.

use crate::campaign::{Outcome, Part};
use crate::factor_claims::predicted_threshold;
use crate::head_on::Geometry;
use crate::plot::{ADAPTIVE, Chart, Line, LineStyle, OURS, THESIS};
use crate::result::ExperimentResult;
use crate::settings::{Factor, Setting};
use crate::tally::{Tally, percent};
use crate::variants::Variant;
use plotters::style::RGBColor;

const RULES: [(Variant, RGBColor); 3] = [
    (Variant::Thesis, THESIS),
    (Variant::Ours, OURS),
    (Variant::Adaptive, ADAPTIVE),
];

/// Adds both figures of every setting.
pub(crate) fn add(result: &mut ExperimentResult, settings: &[Setting], outcomes: &[Outcome]) {
    for (index, setting) in settings.iter().enumerate() {
        let tolerance = setting.label();
        let name = format!("{}", setting.tolerance);
        let figure = |base: u32| match setting.factor {
            // The fourth frame time is ours alone.
            Factor::FrameTime if index == 3 => "as Fig. 5.38 and 5.41 would be for 33.33 ms".into(),
            _ => format!("as in Fig. 5.{}", base + index as u32),
        };
        let (late_base, depth_base) = match setting.factor {
            Factor::Speed => (22, 25),
            Factor::Latency => (29, 32),
            _ => (36, 39),
        };
        result.add_figure(
            &format!("late-{name}.svg"),
            format!(
                "Late collisions, tolerance {tolerance}, {} (the thesis plots late/correct).",
                figure(late_base)
            ),
            late(setting, outcomes).svg(),
        );
        result.add_figure(
            &format!("penetration-{name}.svg"),
            format!("Penetration at first contact in steps, mean and mean ± 2 sd, tolerance {tolerance}, {}.", figure(depth_base)),
            penetration(setting, outcomes).svg(),
        );
    }
}

fn points<'a>(
    setting: &'a Setting,
    outcomes: &'a [Outcome],
    variant: Variant,
) -> impl Iterator<Item = (f64, &'a Tally)> + Clone {
    outcomes
        .iter()
        .filter(move |Outcome { cell, .. }| {
            cell.part == Part::Grid
                && cell.setting == *setting
                && cell.variant == variant
                && cell.geometry == Geometry::LARGE
        })
        .map(|outcome| (outcome.cell.value, &outcome.tally))
}

fn chart(setting: &Setting, what: &str, y_label: &str) -> Chart {
    let predicted = predicted_threshold(setting);
    let mut marks = vec![(setting.tolerance, "tolerance".to_string())];
    if predicted > setting.tolerance
        && setting.factor != Factor::Speed
        && predicted < 2.0 * setting.tolerance
    {
        marks.push((predicted, "thesis's aura covers this".into()));
    }
    Chart {
        title: format!(
            "{what}, {} tolerance {}",
            setting.factor.name().to_lowercase(),
            setting.label()
        ),
        x_label: format!(
            "{}, {}",
            setting.factor.name().to_lowercase(),
            setting.factor.unit()
        ),
        y_label: y_label.into(),
        marks,
        limit: None,
        y_least_top: 10.0,
        lines: Vec::new(),
    }
}

fn late(setting: &Setting, outcomes: &[Outcome]) -> Chart {
    let mut chart = chart(setting, "Late collisions", "late, % of N");
    for (variant, colour) in RULES {
        let points = points(setting, outcomes, variant)
            .filter(|(_, tally)| tally.n() > 0)
            .map(|(value, tally)| (value, percent(tally.late, tally.n())));
        chart.lines.push(Line {
            name: variant.name().into(),
            colour,
            points: points.collect(),
            style: LineStyle::Dotted,
        });
    }
    let thrashed = points(setting, outcomes, Variant::Thesis)
        .map(|(value, tally)| (value, percent(tally.thrashed, tally.runs)));
    chart.lines.push(Line {
        name: "thesis: thrashed, % of all".into(),
        colour: crate::plot::THIRD,
        points: thrashed.collect(),
        style: LineStyle::Plain,
    });
    chart
}

fn penetration(setting: &Setting, outcomes: &[Outcome]) -> Chart {
    let mut chart = chart(setting, "Penetration", "penetration time, steps");
    chart.limit = Some(1.0);
    chart.y_least_top = 1.2;
    for (variant, colour) in RULES {
        let found =
            points(setting, outcomes, variant).filter(|(_, tally)| tally.penetration.count() > 0);
        let line = |deviations: f64, style| Line {
            name: format!("{}, mean (thin: ± 2 sd)", variant.name()),
            colour,
            points: found
                .clone()
                .map(|(value, tally)| {
                    let p = &tally.penetration;
                    (value, p.mean() + deviations * p.deviation())
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
    chart
}
