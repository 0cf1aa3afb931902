//! E7: one server. What a collision looks like when nothing is distributed (thesis 5.2.2, Fig. 5.18). Beside it the
//! same speeds on two servers with size `adaptive`: nobody should see a difference.

use crate::campaign::{self, Cell, Outcome, Part};
use crate::head_on::Geometry;
use crate::never_wrong::never_wrong;
use crate::plot::{Chart, Line, LineStyle, OURS};
use crate::published::CONTROL_COLLISIONS;
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use crate::rows;
use crate::settings::CONTROL;
use crate::table::Table;
use crate::tally::Tally;
use crate::variants::Variant;
use serde_json::json;

/// Runs the control experiment.
pub(crate) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let grid = if options.quick {
        CONTROL.short_grid()
    } else {
        CONTROL.grid()
    };
    let mut cells = Vec::new();
    for variant in [Variant::Control, Variant::Adaptive] {
        for geometry in [Geometry::LARGE, Geometry::SMALL] {
            cells.extend(grid.iter().map(|value| Cell {
                part: Part::Grid,
                setting: CONTROL,
                value: *value,
                variant,
                geometry,
                speed_spread: 1.0,
                runs: options.runs_or(5),
            }));
        }
    }
    let all = campaign::run(cells, options.seed, progress)?;
    let points = rows::csv(&all);
    let (outcomes, adaptive): (Vec<Outcome>, Vec<Outcome>) = all
        .into_iter()
        .partition(|outcome| outcome.cell.variant == Variant::Control);
    let mut result = ExperimentResult::new(info, options.seed);
    let captions = [
        format!(
            "Control, one server, 1 to 64 m/s (published: {CONTROL_COLLISIONS} collisions, never above one step; no further numbers in the text)"
        ),
        "The same speeds over a border, two servers, size `adaptive`, tolerance 64 m/s".into(),
    ];
    for (caption, outcomes) in captions.into_iter().zip([&outcomes, &adaptive]) {
        add_table(&mut result, caption, outcomes);
    }
    result.claims.push(claim(&outcomes));
    result.claims.push(never_wrong(
        "AP-55",
        format!(
            "{}, two servers: no late, no missed and no thrashed run at any of these speeds",
            Variant::Adaptive.rules()
        ),
        adaptive.iter(),
    ));
    result.add_figure(
        "penetration.svg",
        "Penetration time at first contact on one server: least, mean and most of each speed, as in Fig. 5.18.",
        figure(&outcomes),
    );
    result.notes.push("Found before touching: the engine reports contacts up to a small distance ahead, as PhysX does (negative penetration).".into());
    result.notes.push(
        "A-10: the published count is that of 63 speeds; the stated grid of 64 is run.".into(),
    );
    result.add_data("points.csv", points);
    Ok(result)
}

fn add_table(result: &mut ExperimentResult, caption: String, outcomes: &[Outcome]) {
    let mut table = Table::new(
        caption,
        &[
            "Radius",
            "Collisions",
            "Above one step",
            "Missed",
            "Found before touching",
            "Mean, steps",
            "Worst, steps",
        ],
    );
    for geometry in [Geometry::LARGE, Geometry::SMALL] {
        add_row(result, &mut table, geometry, outcomes);
    }
    result.tables.push(table);
}

fn add_row(
    result: &mut ExperimentResult,
    table: &mut Table,
    geometry: Geometry,
    outcomes: &[Outcome],
) {
    let of_size = outcomes
        .iter()
        .filter(|outcome| outcome.cell.geometry == geometry);
    let early = of_size
        .clone()
        .filter(|outcome| outcome.tally.penetration.least < 0.0)
        .count();
    let points = of_size.clone().count();
    let sum = Tally::sum(of_size.map(|outcome| &outcome.tally));
    let p = &sum.penetration;
    table.push(vec![
        format!("{:.2} m", geometry.radius_m),
        sum.n().to_string(),
        sum.late.to_string(),
        sum.missed.to_string(),
        format!("at {early} of {points} speeds"),
        format!("{:.3}", p.mean()),
        format!("{:.3}", p.most),
    ]);
    let variant = outcomes[0].cell.variant;
    let published = (variant == Variant::Control)
        .then(|| json!({ "collisions": CONTROL_COLLISIONS, "late": 0 }));
    result.rows.push(json!({
        "table": "control",
        "variant": variant,
        "radius_m": geometry.radius_m,
        "collisions": sum.n(),
        "late": sum.late,
        "missed": sum.missed,
        "mean_penetration_steps": p.mean(),
        "least_penetration_steps": p.least,
        "worst_penetration_steps": p.most,
        "published": published,
    }));
}

fn claim(outcomes: &[Outcome]) -> Claim {
    let sum = Tally::sum(outcomes.iter().map(|outcome| &outcome.tally));
    Claim::new(
        "AP-53",
        "on one server the penetration time is never above one step, at any speed",
        sum.late + sum.missed == 0 && sum.n() > 0 && sum.penetration.most <= 1.0,
        format!(
            "{} collisions, worst {:.4} steps, {} missed",
            sum.n(),
            sum.penetration.most,
            sum.missed
        ),
    )
}

fn figure(outcomes: &[Outcome]) -> String {
    let large = outcomes
        .iter()
        .filter(|outcome| outcome.cell.geometry == Geometry::LARGE);
    let line = |name: &str, style, steps: &dyn Fn(&Tally) -> f64| Line {
        name: name.into(),
        colour: OURS,
        points: large
            .clone()
            .map(|outcome| (outcome.cell.value, steps(&outcome.tally)))
            .collect(),
        style,
    };
    Chart {
        title: "Control: one server".into(),
        x_label: "speed of each sphere, m/s".into(),
        y_label: "penetration time, steps".into(),
        marks: Vec::new(),
        limit: Some(1.0),
        y_least_top: 1.2,
        lines: vec![
            line("mean (thin: least and most)", LineStyle::Dotted, &|tally| {
                tally.penetration.mean()
            }),
            line("", LineStyle::Edge, &|tally| tally.penetration.least),
            line("", LineStyle::Edge, &|tally| tally.penetration.most),
        ],
    }
    .svg()
}
