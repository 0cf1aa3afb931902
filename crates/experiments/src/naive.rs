//! The contrast: E8's speeds with ownership by centre and no auras (thesis 3.2 argues it on paper; the measurement is ours).

use crate::campaign::{self, Cell, Outcome, Part};
use crate::head_on::Geometry;
use crate::plot::{Chart, Line, LineStyle, OURS, THESIS, THIRD};
use crate::result::{Claim, ExperimentError, ExperimentInfo, ExperimentResult, RunOptions};
use crate::rows::{self, share};
use crate::settings::SPEEDS;
use crate::table::Table;
use crate::tally::{Tally, percent};
use crate::variants::Variant;
use serde_json::json;

/// Runs per grid point of a quick run.
const QUICK_RUNS: u32 = 10;

/// Runs the naive baseline.
pub(crate) fn run(
    info: &ExperimentInfo,
    options: &RunOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let mut cells = Vec::new();
    for setting in &SPEEDS {
        let grid = if options.quick {
            setting.short_grid()
        } else {
            setting.grid()
        };
        for geometry in [Geometry::LARGE, Geometry::SMALL] {
            for variant in [Variant::Naive, Variant::Ours] {
                cells.extend(grid.iter().map(|value| Cell {
                    part: Part::Grid,
                    setting: *setting,
                    value: *value,
                    variant,
                    geometry,
                    speed_spread: 1.0,
                    runs: options.runs_or(QUICK_RUNS),
                }));
            }
        }
    }
    let outcomes = campaign::run(cells, options.seed, progress)?;
    let mut result = ExperimentResult::new(info, options.seed);
    add_table(&mut result, &outcomes);
    result.claims.push(claim(&outcomes));
    result.add_figure(
        "late-or-missed.svg",
        "Late and missed collisions against speed, grid of the 48 m/s setting. No published figure: the thesis argues it on paper (3.2).",
        figure(&outcomes),
    );
    result.notes.extend([
        "Every run counts here, however often its spheres changed servers: two spheres that swap servers and pass each other are what this policy does wrong.".into(),
        "An overlap across owners (F1) is counted once per run: at some tick the spheres were in each other (by more than the engine's margin of about 1 mm) and had different owners. Fast small spheres can pass each other between two ticks and be missed without one.".into(),
        "The tolerances play no role for this policy; the three settings differ in their grids and seeds.".into(),
    ]);
    result.add_data("points.csv", rows::csv(&outcomes));
    Ok(result)
}

fn sum_of(outcomes: &[Outcome], wanted: impl Fn(&Cell) -> bool) -> Tally {
    Tally::sum(
        outcomes
            .iter()
            .filter(|outcome| wanted(&outcome.cell))
            .map(|outcome| &outcome.tally),
    )
}

fn add_table(result: &mut ExperimentResult, outcomes: &[Outcome]) {
    let mut table = Table::new(
        "Naive ownership beside ours, E8's speeds up to the tolerance and beyond it",
        &[
            "Tolerance",
            "Side",
            "Rules",
            "Radius",
            "Runs",
            "N",
            "Late %",
            "Miss %",
            "Overlaps across owners",
            "Thrashing",
            "Worst, steps",
        ],
    );
    for geometry in [Geometry::LARGE, Geometry::SMALL] {
        for setting in &SPEEDS {
            for below in [true, false] {
                for variant in [Variant::Naive, Variant::Ours] {
                    let tally = sum_of(outcomes, |cell| {
                        cell.setting == *setting
                            && cell.is_below() == below
                            && cell.variant == variant
                            && cell.geometry == geometry
                    });
                    let side = if below { "within" } else { "beyond" };
                    result.rows.push(json!({
                        "table": "naive",
                        "tolerance": setting.tolerance,
                        "side": side,
                        "variant": variant,
                        "radius_m": geometry.radius_m,
                        "runs": tally.runs,
                        "n": tally.n(),
                        "late": tally.late,
                        "missed": tally.missed,
                        "overlaps_across_owners": tally.overlapped_across,
                        "thrashing": tally.thrashed,
                        "worst_penetration_steps": tally.penetration.most,
                    }));
                    table.push(vec![
                        setting.label(),
                        side.into(),
                        variant.name().into(),
                        format!("{:.2} m", geometry.radius_m),
                        tally.runs.to_string(),
                        tally.n().to_string(),
                        share(tally.late, tally.n()),
                        share(tally.missed, tally.n()),
                        tally.overlapped_across.to_string(),
                        tally.thrashed.to_string(),
                        format!("{:.2}", tally.penetration.most),
                    ]);
                }
            }
        }
    }
    result.tables.push(table);
}

fn claim(outcomes: &[Outcome]) -> Claim {
    let naive = sum_of(outcomes, |cell| cell.variant == Variant::Naive);
    let ours = sum_of(outcomes, |cell| {
        cell.variant == Variant::Ours && cell.is_below()
    });
    Claim::new(
        "AP-60",
        "ownership by centre lets bodies of two owners overlap (F1), is late (F2) and misses collisions (F3) on E8's grid; ours, on the same encounters within the tolerance, does none of it",
        naive.overlapped_across > 0
            && naive.late > 0
            && naive.missed > 0
            && ours.overlapped_across + ours.late + ours.missed == 0,
        format!("naive: {}; ours: {}", counts(&naive), counts(&ours)),
    )
}

fn counts(tally: &Tally) -> String {
    format!(
        "{} overlaps across owners, {} late, {} missed of {}",
        tally.overlapped_across,
        tally.late,
        tally.missed,
        tally.n()
    )
}

fn figure(outcomes: &[Outcome]) -> String {
    let line = |name: &str,
                colour,
                variant: Variant,
                geometry: Geometry,
                count: &dyn Fn(&Tally) -> u32| Line {
        name: name.into(),
        colour,
        points: outcomes
            .iter()
            .filter(|Outcome { cell, .. }| {
                cell.setting == SPEEDS[2] && cell.variant == variant && cell.geometry == geometry
            })
            .map(|outcome| {
                (
                    outcome.cell.value,
                    percent(count(&outcome.tally), outcome.tally.n()),
                )
            })
            .collect(),
        style: LineStyle::Dotted,
    };
    Chart {
        title: "Ownership by centre".into(),
        x_label: "speed of each sphere, m/s".into(),
        y_label: "% of runs".into(),
        marks: Vec::new(),
        limit: None,
        y_least_top: 10.0,
        lines: vec![
            line(
                "naive, late (2.75 m)",
                THESIS,
                Variant::Naive,
                Geometry::LARGE,
                &|tally| tally.late,
            ),
            line(
                "naive, missed (0.67 m)",
                THIRD,
                Variant::Naive,
                Geometry::SMALL,
                &|tally| tally.missed,
            ),
            line(
                "ours, late or missed (0.67 m)",
                OURS,
                Variant::Ours,
                Geometry::SMALL,
                &|tally| tally.late + tally.missed,
            ),
        ],
    }
    .svg()
}
